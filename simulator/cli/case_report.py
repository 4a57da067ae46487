"""What came of `cases make`: the files, the sheet, the summary."""

import sys
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from simulator.addons.testset import report
from simulator.addons.testset.grade import FROM_LOGS
from simulator.addons.testset.plan import KINDS, WHYS, WORDINGS, RejectedQuestion, TestSet
from simulator.cli.sinks import write_atomically
from simulator.core.templates import read_toml, render
from simulator.core.types import Case, Language
from simulator.privacy.patterns import mask

if TYPE_CHECKING:
    from simulator.addons.testset.grade import TestSetRun

WORDS = report.WORDS


class Outcome:
    """Questions, what was rejected, failures, and where all of it went."""

    def __init__(self, path: Path) -> None:
        """Nothing has come yet."""
        self.path = path
        self.cases: list[Case] = []
        self.rejected: list[RejectedQuestion] = []
        self.failures: list[tuple[str, str]] = []
        self.stopped = self.no_personas = ""
        self.personas: list[Path] = []
        self.proposed: report.ProposedCases | None = None
        self.written = False

    def add(self, made: TestSet) -> None:
        """What was made of articles, or of logs."""
        self.cases += made.cases
        self.rejected += made.rejected
        self.failures += made.failures

    @property
    def language(self) -> Language:
        """That of most questions."""
        spoken = Counter(case.language for case in [*self.cases, *(each.case for each in self.rejected)])
        return "en" if spoken["en"] > spoken["ja"] else "ja"

    @property
    def rejected_path(self) -> Path:
        """Where the rejected ones are, beside the others."""
        return self.path.with_name(f"{self.path.name}.rejected.csv")

    def write(self) -> None:
        """The files; without a question, or a rejected one, there is none."""
        if self.cases:
            write_atomically(self.path, report.content_of(self.cases, self.path))
            self.written = True
        if self.rejected:
            words = _Words(self.language)
            told = report.rejected_of(self.rejected, lambda each: words("why", each.why))
            write_atomically(self.rejected_path, told)
        else:
            self.rejected_path.unlink(missing_ok=True)

    def propose(self, sheet: str, worksheet: str) -> None:
        """Into the team's worksheet, unapproved."""
        self.proposed = report.propose(self.cases, sheet, worksheet, self.language)

    def counts(self) -> dict[str, dict[str, int]]:
        """How many of each kind, of each wording, and rejected for each reason."""
        kinds, wordings = (*KINDS, FROM_LOGS), WORDINGS
        tags = Counter(tag for case in self.cases for tag in case.tags)
        why = Counter(each.why for each in self.rejected)
        return {
            "kinds": {kind: tags[kind] for kind in kinds if tags[kind]},
            "wordings": {wording: tags[wording] for wording in wordings if tags[wording]},
            "why": {reason: why[reason] for reason in WHYS if why[reason]},
        }

    def as_json(self, work: "TestSetRun") -> dict[str, Any]:
        """The one object of `--json`."""
        counts = self.counts()
        spent = work.ledger
        return {
            "cases": len(self.cases),
            "file": str(self.path) if self.written else None,
            "answerable": sum(case.answerable is True for case in self.cases),
            "out_of_scope": sum(case.answerable is False for case in self.cases),
            "kinds": counts["kinds"],
            "wordings": counts["wordings"],
            "rejected": [_rejected(each) for each in self.rejected],
            "failures": dict(Counter(kind for _, kind in self.failures)),
            "by_rule": work.by_rule,
            "passages": len(work.articles),
            "dialogues": len(work.logs.dialogues) if work.logs else 0,
            "redacted": work.logs.counts if work.logs else {},
            "personas": [str(path) for path in self.personas],
            "sheet": self.proposed
            and {"url": self.proposed.url, "added": self.proposed.added, "near": self.proposed.near},
            "models": work.models,
            "prompts": work.prompts.fingerprint(),
            "calls": {role: used.calls for role, used in spent.roles.items()},
            "cost_usd": None if spent.cost_usd is None else round(spent.cost_usd, 4),
            "stopped": self.stopped or None,
        }


def show(work: "TestSetRun", outcome: Outcome) -> None:
    """The summary, in the language of most questions; on stderr where stdout is for JSON."""
    words = _Words(outcome.language)
    stream = sys.stderr if work.settings.json_output else sys.stdout
    for line in _lines(work, outcome, words):
        stream.write(_printable(line) + "\n")


def _lines(work: "TestSetRun", outcome: Outcome, words: "_Words") -> list[str]:
    counts, language = outcome.counts(), outcome.language
    if not outcome.cases:
        lines = [words("text", "none")]
    else:
        lines = [
            words("text", "made", n=len(outcome.cases), path=outcome.path),
            words("text", "kinds", counts=_counted(counts["kinds"], "kind", words)),
        ]
        if counts["wordings"]:
            told = _counted(counts["wordings"], "wording", words)
            lines.append(words("text", "wordings", counts=told))
    if outcome.rejected:
        told = _counted(counts["why"], "why", words)
        lines.append(words("text", "rejected", n=len(outcome.rejected), counts=told))
        lines.append(words("text", "rejected_file", path=outcome.rejected_path))
    if outcome.failures:
        kinds = Counter(kind for _, kind in outcome.failures)
        told = ("、" if language == "ja" else ", ").join(f"{kind} {n}" for kind, n in kinds.items())
        lines.append(words("text", "failures", n=len(outcome.failures), counts=told))
    lines += [*_of_rules(work, outcome, words), *_of_logs(work, outcome, words), *_of_sheet(outcome, words)]
    if outcome.cases:
        where = f"--cases sheet:{work.settings.sheet}" if outcome.proposed else f"--cases {outcome.path}"
        lines += [
            words("text", "next_sheet" if outcome.proposed else "next"),
            f"  python run.py {where} --adapter bot.py:answer",
        ]
    return lines


def _of_rules(work: "TestSetRun", outcome: Outcome, words: "_Words") -> list[str]:
    if not work.by_rule or not work.articles:
        return []
    lines = [words("text", "by_rule")]
    if work.barren:
        lines.append(words("text", "barren", n=work.barren))
    own = sum(FROM_LOGS not in case.tags for case in outcome.cases)
    if own < work.wish.number:
        lines.append(words("text", "only", wanted=work.wish.number))
    return lines


def _of_logs(work: "TestSetRun", outcome: Outcome, words: "_Words") -> list[str]:
    if work.logs is None:
        return []
    mark = "、" if outcome.language == "ja" else ", "
    told = mark.join(
        f"{mask(kind, outcome.language).strip('[]')} {count}"
        for kind, count in sorted(work.logs.counts.items())
    )
    lines = [words("text", "redacted", counts=told) if told else words("text", "redacted_none")]
    if work.by_rule:
        lines.append(words("text", "logs_by_rule"))
    if outcome.personas:
        names = mark.join(map(str, outcome.personas))
        lines.append(words("text", "personas", n=len(outcome.personas), names=names))
    elif outcome.no_personas:
        lines.append(words("text", "no_personas", why=outcome.no_personas))
    return lines


def _of_sheet(outcome: Outcome, words: "_Words") -> list[str]:
    if outcome.proposed is None:
        return []
    done = outcome.proposed
    lines = [words("text", "sheet" if done.added else "sheet_same", n=done.added, url=done.url)]
    if done.near:
        lines.append(words("text", "sheet_near", n=done.near))
    return [*lines, *done.notes]


class _Words:
    """The words of one language: `words("why", "copied")`."""

    def __init__(self, language: Language) -> None:
        self._table = read_toml(WORDS)[language]

    def __call__(self, table: str, key: str, /, **values: object) -> str:
        texts = self._table if table == "text" else self._table[table]
        return render(texts[key], **{name: str(value) for name, value in values.items()})


def _counted(counts: Mapping[str, int], table: str, words: _Words) -> str:
    mark = "、" if words("kind", "private") == "個人情報" else ", "
    return mark.join(f"{words(table, key)} {count}" for key, count in counts.items())


def _rejected(each: RejectedQuestion) -> dict[str, Any]:
    case = each.case
    return {
        "id": case.id,
        "question": case.question,
        "references": list(case.references_at(1)),
        "passages": list(case.passages),
        "tags": list(case.tags),
        "why": each.why,
        "detail": each.detail,
    }


def _printable(line: str) -> str:
    from simulator.core.translations import plain

    return plain(line).replace("\n", " ")
