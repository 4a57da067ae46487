"""What `cases make` writes and prints: the question file, the rejected ones, the sheet, the summary."""

import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from simulator.addons.testset import files
from simulator.addons.testset.checks import RejectedQuestion, TestSet
from simulator.addons.testset.logs import FROM_LOGS
from simulator.addons.testset.make import TestSetRun
from simulator.cli.forecast import spent_json
from simulator.cli.show import write_atomically
from simulator.core.messages import (
    Message,
    _,
    as_called,
    language_of_most,
    pgettext,
    safe_text,
    shown,
)
from simulator.core.types import Case, Language
from simulator.privacy.patterns import mask

# By their tags and ids, in the order of the summary.
KIND_TITLES: dict[str, Message] = {
    "simple": _("simple"),
    "number": _("number or date"),
    "procedure": _("procedure"),
    "two-passages": _("two passages"),
    "comparison": _("comparison"),
    "follow-up": pgettext("a kind of question", "follow-up"),
    "complaint": _("complaint that hides a question"),
    "false-fact": _("false fact taken for granted"),
    "neighbour": _("neighbouring topic"),
    "competitor": _("competitor"),
    "private": _("private data"),
    "small-talk": _("small talk"),
    FROM_LOGS: _("from logs"),
}
WORDING_TITLES: dict[str, Message] = {
    "plain": _("plain"),
    "keigo": _("polite"),
    "casual": _("casual"),
    "keywords": _("keywords"),
    "typed": _("mistyped"),
}
REASON_TITLES: dict[str, Message] = {
    "empty": _("no question or no right answer"),
    "long": _("too long"),
    "language": _("not in the documents' language"),
    "document": _("mentions the document itself"),
    "copied": _("copies the document"),
    "unanswerable": _("the documents do not answer it"),
    "differs": _("the documents give another answer"),
    "one_passage": _("one passage is enough"),
    "alone": _("needs no earlier turn"),
    "no_number": _("no number in the right answer"),
    "unsupported": _("figures of the right answer are not in the documents"),
    "answered": _("meant to be out of scope, but the documents answer it"),
    "no_name": _("does not name the invented company"),
    "duplicate": _("nearly the same as another"),
}


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
        self.mix: Path | None = None
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
        return language_of_most(case.language for case in cases)

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
            table = files.rejected_of(
                self.rejected, lambda question: shown(REASON_TITLES[question.why], self.language)
            )
            write_atomically(self.rejected_path, table)
        else:
            self.rejected_path.unlink(missing_ok=True)

    def propose(self, sheet: str, worksheet: str) -> None:
        """Adds the questions to the team's worksheet, unapproved."""
        self.proposed = files.propose(self.cases, sheet, worksheet, self.language)

    def counts(self) -> dict[str, dict[str, int]]:
        """How many questions there are of each kind and wording, and rejected ones for each reason."""
        tags = Counter(tag for case in self.cases for tag in case.tags)
        why: Counter[str] = Counter(question.why for question in self.rejected)
        return {
            "kinds": {kind: tags[kind] for kind in KIND_TITLES if tags[kind]},
            "wordings": {wording: tags[wording] for wording in WORDING_TITLES if tags[wording]},
            "why": {reason: why[reason] for reason in REASON_TITLES if why[reason]},
        }

    def as_json(self, run: TestSetRun) -> dict[str, Any]:
        """The object that `--json` prints."""
        counts = self.counts()
        return {
            "cases": len(self.cases),
            "file": str(self.path) if self.written else None,
            "answerable": sum(case.answerable is True for case in self.cases),
            "out_of_scope": sum(case.answerable is False for case in self.cases),
            "kinds": counts["kinds"],
            "wordings": counts["wordings"],
            "rejected": [_rejected_json(question) for question in self.rejected],
            "failures": dict(Counter(kind for _id, kind in self.failures)),
            "passages": len(run.articles),
            "dialogues": len(run.logs.dialogues) if run.logs else 0,
            "redacted": run.logs.counts if run.logs else {},
            "personas": [str(path) for path in self.personas],
            "mix": str(self.mix) if self.mix else None,
            "sheet": self.proposed
            and {"url": self.proposed.url, "added": self.proposed.added, "near": self.proposed.near},
            "models": run.models,
            "prompts": run.prompts.fingerprint(),
            **spent_json(run.ledger),
            "stopped": self.stopped or None,
        }


def show(run: TestSetRun, outcome: Outcome) -> None:
    """Prints the summary, in the language of most questions; on stderr where stdout is for JSON."""
    stream = sys.stderr if run.settings.json_output else sys.stdout
    for line in _lines(run, outcome):
        stream.write(safe_text(shown(line, outcome.language)).replace("\n", " ") + "\n")


def _lines(run: TestSetRun, outcome: Outcome) -> Iterator[Message | str]:
    counts = outcome.counts()
    if outcome.cases:
        yield _("Questions made: {n} ({path})", n=len(outcome.cases), path=outcome.path)
        yield _("Kinds: {counts}", counts=_named(KIND_TITLES, counts["kinds"]))
        if counts["wordings"]:
            yield _("Wordings: {counts}", counts=_named(WORDING_TITLES, counts["wordings"]))
    else:
        yield _("No question could be made.")
    if n := len(outcome.rejected):
        yield _("{n} rejected: {counts}", n=n, counts=_named(REASON_TITLES, counts["why"]))
        yield _("What was rejected, and why: {path}", path=outcome.rejected_path)
    if outcome.failures:
        kinds = tuple(f"{kind} {n}" for kind, n in Counter(kind for _id, kind in outcome.failures).items())
        yield _("Failures of the model: {kinds}", kinds=kinds)
    yield from _lines_of_logs(run, outcome)
    if outcome.proposed:
        yield from _lines_of_sheet(outcome.proposed)
    if outcome.cases and outcome.proposed:
        yield _("Next: review them in the sheet, set the good ones to Approved, then use them:")
        yield as_called(f"  python run.py --cases sheet:{run.settings.sheet} --adapter bot.py:answer")
    elif outcome.cases:
        yield _("Next: have people review and correct them, then use them:")
        yield as_called(f"  python run.py --cases {outcome.path} --adapter bot.py:answer")


def _lines_of_sheet(sheet: files.ProposedCases) -> Iterator[Message | str]:
    yield _(
        "Added to the sheet's test questions, not yet approved: {n} ({url})", n=sheet.added, url=sheet.url
    )
    if sheet.near:
        yield _("Not added, because a question like it is there already: {n}", n=sheet.near)
    yield from sheet.notes


def _lines_of_logs(run: TestSetRun, outcome: Outcome) -> Iterator[Message]:
    if run.logs is None:
        return
    counts = sorted(run.logs.counts.items())
    masks = tuple(f"{mask(kind, outcome.language).strip('[]')} {n}" for kind, n in counts)
    yield _("Masked in the logs: {counts}", counts=masks or _("nothing"))
    if outcome.personas:
        yield _("Personas written: {names}", names=tuple(map(str, outcome.personas)))
    elif outcome.no_personas:
        yield _("No personas were made ({why}).", why=outcome.no_personas)


def _named(titles: Mapping[str, Message], counts: Mapping[str, int]) -> tuple[Message, ...]:
    """Numbers behind the titles of what they count."""
    return tuple(_("{name} {n}", name=titles[key], n=n) for key, n in counts.items())


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
