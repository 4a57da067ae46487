"""What `cases make` writes and prints: the question file, the rejected ones, the sheet, the summary."""

import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from simulator.addons.testset import files
from simulator.addons.testset.checks import REASONS, RejectedQuestion, TestSet
from simulator.addons.testset.logs import FROM_LOGS
from simulator.addons.testset.plan import KINDS, WORDINGS
from simulator.cli.destinations import write_atomically
from simulator.core.messages import Message, localised
from simulator.core.templates import read_toml, render
from simulator.core.translations import safe_text
from simulator.core.types import Case, Language
from simulator.privacy.patterns import mask

if TYPE_CHECKING:
    from simulator.addons.testset.make import TestSetRun


class Outcome:
    """The questions that were made, those that were rejected or failed, and where they were written."""

    def __init__(self, path: Path) -> None:
        """`path` is the file for the questions; nothing is made yet."""
        self.path = path
        self.cases: list[Case] = []
        self.rejected: list[RejectedQuestion] = []
        self.failures: list[tuple[str, str]] = []
        self.no_personas: Message | str = ""
        self.stopped: Message | str = ""
        self.personas: list[Path] = []
        self.proposed: files.ProposedCases | None = None
        self.written = False

    def add(self, questions: TestSet) -> None:
        """Adds what was made from articles, or from logs."""
        self.cases += questions.cases
        self.rejected += questions.rejected
        self.failures += questions.failures

    @property
    def language(self) -> Language:
        """The language of most questions; Japanese on a tie."""
        cases = [*self.cases, *(question.case for question in self.rejected)]
        languages = Counter(case.language for case in cases)
        return "en" if languages["en"] > languages["ja"] else "ja"

    @property
    def rejected_path(self) -> Path:
        """The file of the rejected questions, beside the other."""
        return self.path.with_name(f"{self.path.name}.rejected.csv")

    def write(self) -> None:
        """Writes both files, each only if it would hold a question."""
        if self.cases:
            write_atomically(self.path, files.content_of(self.cases, self.path))
            self.written = True
        if self.rejected:
            words = _Words(self.language)
            table = files.rejected_of(self.rejected, lambda question: words("why", question.why))
            write_atomically(self.rejected_path, table)
        else:
            self.rejected_path.unlink(missing_ok=True)

    def propose(self, sheet: str, worksheet: str) -> None:
        """Adds the questions to the team's worksheet, unapproved."""
        self.proposed = files.propose(self.cases, sheet, worksheet, self.language)

    def counts(self) -> dict[str, dict[str, int]]:
        """How many questions there are of each kind and wording, and rejected ones for each reason."""
        kinds, wordings = (*KINDS, FROM_LOGS), WORDINGS
        tags = Counter(tag for case in self.cases for tag in case.tags)
        why = Counter(question.why for question in self.rejected)
        return {
            "kinds": {kind: tags[kind] for kind in kinds if tags[kind]},
            "wordings": {wording: tags[wording] for wording in wordings if tags[wording]},
            "why": {reason: why[reason] for reason in REASONS if why[reason]},
        }

    def as_json(self, run: "TestSetRun") -> dict[str, Any]:
        """The object that `--json` prints."""
        counts = self.counts()
        ledger = run.ledger
        return {
            "cases": len(self.cases),
            "file": str(self.path) if self.written else None,
            "answerable": sum(case.answerable is True for case in self.cases),
            "out_of_scope": sum(case.answerable is False for case in self.cases),
            "kinds": counts["kinds"],
            "wordings": counts["wordings"],
            "rejected": [_rejected_json(question) for question in self.rejected],
            "failures": dict(Counter(kind for _, kind in self.failures)),
            "by_rule": run.by_rule,
            "passages": len(run.articles),
            "dialogues": len(run.logs.dialogues) if run.logs else 0,
            "redacted": run.logs.counts if run.logs else {},
            "personas": [str(path) for path in self.personas],
            "sheet": self.proposed
            and {"url": self.proposed.url, "added": self.proposed.added, "near": self.proposed.near},
            "models": run.models,
            "prompts": run.prompts.fingerprint(),
            "calls": {role: used.calls for role, used in ledger.roles.items()},
            "cost_usd": None if ledger.cost_usd is None else round(ledger.cost_usd, 4),
            "stopped": self.stopped or None,
        }


def show(run: "TestSetRun", outcome: Outcome) -> None:
    """Prints the summary, in the language of most questions; on stderr where stdout is for JSON."""
    stream = sys.stderr if run.settings.json_output else sys.stdout
    for line in _lines(run, outcome):
        stream.write(safe_text(line).replace("\n", " ") + "\n")


def _lines(run: "TestSetRun", outcome: Outcome) -> Iterator[str]:
    counts, words = outcome.counts(), _Words(outcome.language)
    if not outcome.cases:
        yield words("text", "none")
    else:
        yield words("text", "made", n=len(outcome.cases), path=outcome.path)
        yield words("text", "kinds", counts=words.counts("kind", counts["kinds"]))
        if counts["wordings"]:
            yield words("text", "wordings", counts=words.counts("wording", counts["wordings"]))
    if outcome.rejected:
        yield words("text", "rejected", n=len(outcome.rejected), counts=words.counts("why", counts["why"]))
        yield words("text", "rejected_file", path=outcome.rejected_path)
    if outcome.failures:
        kinds = Counter(kind for _, kind in outcome.failures)
        listed = words.comma.join(f"{kind} {n}" for kind, n in kinds.items())
        yield words("text", "failures", n=len(outcome.failures), counts=listed)
    yield from _lines_of_rules(run, outcome, words)
    yield from _lines_of_logs(run, outcome, words)
    if sheet := outcome.proposed:
        yield words("text", "sheet" if sheet.added else "sheet_same", n=sheet.added, url=sheet.url)
        if sheet.near:
            yield words("text", "sheet_near", n=sheet.near)
        yield from sheet.notes
    if outcome.cases:
        yield words("text", "next_sheet" if outcome.proposed else "next")
        cases = f"sheet:{run.settings.sheet}" if outcome.proposed else str(outcome.path)
        yield f"  python run.py --cases {cases} --adapter bot.py:answer"


def _lines_of_rules(run: "TestSetRun", outcome: Outcome, words: "_Words") -> Iterator[str]:
    if not run.by_rule or not run.articles:
        return
    yield words("text", "by_rule")
    if run.without_questions:
        yield words("text", "barren", n=run.without_questions)
    if sum(FROM_LOGS not in case.tags for case in outcome.cases) < run.request.number:
        yield words("text", "only", wanted=run.request.number)


def _lines_of_logs(run: "TestSetRun", outcome: Outcome, words: "_Words") -> Iterator[str]:
    if run.logs is None:
        return
    masks = words.comma.join(
        f"{mask(kind, outcome.language).strip('[]')} {count}"
        for kind, count in sorted(run.logs.counts.items())
    )
    yield words("text", "redacted", counts=masks) if masks else words("text", "redacted_none")
    if run.by_rule:
        yield words("text", "logs_by_rule")
    if outcome.personas:
        names = words.comma.join(map(str, outcome.personas))
        yield words("text", "personas", n=len(outcome.personas), names=names)
    elif outcome.no_personas:
        yield words("text", "no_personas", why=localised(outcome.no_personas))


class _Words:
    """The texts of one language by table and key: `words("why", "copied")`."""

    def __init__(self, language: Language) -> None:
        self._texts = read_toml(files.WORDS)[language]
        self.comma = "、" if language == "ja" else ", "

    def __call__(self, table: str, key: str, /, **values: object) -> str:
        texts = self._texts if table == "text" else self._texts[table]
        return render(texts[key], **{name: str(value) for name, value in values.items()})

    def counts(self, table: str, counts: Mapping[str, int]) -> str:
        """Numbers behind the names that a table has for them."""
        return self.comma.join(f"{self(table, key)} {count}" for key, count in counts.items())


def _rejected_json(question: RejectedQuestion) -> dict[str, Any]:
    case = question.case
    return {
        "id": case.id,
        "question": case.question,
        "references": list(case.references_at(1)),
        "passages": list(case.passages),
        "tags": list(case.tags),
        "why": question.why,
        "detail": question.detail,
    }
