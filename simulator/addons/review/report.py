"""The review of a run on a terminal: what the team says of it, then people's blind grades beside the judge's.

In words first, then the figures, then what to look at.
"""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from simulator.addons.review.figures import blind_sections, team_sections
from simulator.addons.review.sources import HIGHEST, LABEL, LOWEST
from simulator.addons.review.words import WORDS, words_in
from simulator.core.document import wrap
from simulator.core.translations import plain, points, words_of
from simulator.core.types import Conversation, HumanVerdict, Language, Results, Turn
from simulator.report.context import corrected_line, notes_of_people
from simulator.report.listing import Section
from simulator.stats.figures import Summary
from simulator.stats.gate import Gate
from simulator.stats.review import Findings, Review

_ALARM, _SOFT = "bold red", "dim"


class Read(NamedTuple):
    """What was read: the name of the source, and how many verdicts were new and known.

    Rows: `empty` ones, `skipped` as unusable, and those of `other_runs`. `review` and `blind` count the
    verdicts of either kind; a file of grades has blind ones only.
    """

    name: str
    new: int
    known: int
    empty: int
    skipped: int
    other_runs: int = 0
    review: int = 0
    blind: int = 0


class ReviewReport(NamedTuple):
    """All that is painted; `read` is None when only what the run had already was compared."""

    summary: Summary
    gate: Gate
    review: Review | None
    read: Read | None
    language: Language
    page: Path
    findings: Findings | None = None


def paint(shown: ReviewReport, console: Console) -> None:
    """Prints the whole review; everything as text, never as markup."""
    _Painter(shown, console).everything()


class _Painter:
    """One review on one console."""

    def __init__(self, shown: ReviewReport, console: Console) -> None:
        self.shown, self.console, self.say = shown, console, words_in(shown.language)

    def everything(self) -> None:
        """What was read, what the team says, how far people and judge agree, what was missed, the score."""
        shown, found = self.shown, self.shown.findings
        self._line("")
        self._line(self.say("title", run=shown.summary.run), "bold underline")
        for line in self._read():
            self._line(line)
        title = self.say("blind_title") if found else ""
        team = team_sections(found, shown.language) if found else ()
        for section in (*team, *blind_sections(shown.review, shown.language, title)):
            self._section(section)
        if shown.review:
            self._score()

    def _read(self) -> Iterator[str]:
        read = self.shown.read
        if read:
            team = bool(read.review or read.other_runs)
            kind, empty = ("read_team", "empty_team") if team else ("read", "empty")
            known = {"new": read.new, "known": read.known, "review": read.review, "blind": read.blind}
            yield self.say(kind, name=plain(read.name), **known)
            counts = {empty: read.empty, "other_runs": read.other_runs, "skipped": read.skipped}
            yield from (self.say(key, n=n) for key, n in counts.items() if n)

    def _section(self, section: Section) -> None:
        """One part of the review."""
        self._line("")
        if section.title:
            self._line(section.title, "bold underline")
        if section.lead:
            self._line(section.lead, "bold" if section.facts else "")
        self._named(section.facts)
        self._table(section.table)
        for number, item in enumerate(section.items, 1):
            self._item(f"{number}.", item.text, 3, _ALARM if section.alarm else "")
            for name, text in item.beneath:
                self._item("", f"{name}: {text}", 3)
        if section.more:
            self._line(self.say("more_items", n=section.more), _SOFT)
        if section.aside:
            self._line(section.aside, _SOFT)

    def _named(self, facts: Sequence[tuple[str, str]]) -> None:
        """Facts below each other, each behind its name."""
        column = max((cell_len(name) for name, _ in facts), default=0) + 2
        for name, value in facts:
            self._item(name, value, column, _SOFT)

    def _table(self, rows: Sequence[Sequence[str]]) -> None:
        """Columns as wide as their widest cell, counts to the right."""
        shown = [[self._fit(" ".join(cell.split())) for cell in row] for row in rows]
        widths = [max(map(cell_len, column)) for column in zip(*shown, strict=True)]
        for number, (head, *row) in enumerate(shown):
            cells = [" " * (w - cell_len(cell)) + cell for cell, w in zip(row, widths[1:], strict=True)]
            line = "  ".join([head + " " * (widths[0] - cell_len(head)), *cells])
            self.console.print(Text(line, style="" if number else _SOFT), highlight=False, no_wrap=True)

    def _score(self) -> None:
        """The corrected score, or how many more grades it takes."""
        shown = self.shown
        words = words_of(shown.summary, shown.language)
        line = corrected_line(shown.summary, shown.gate.target, words)
        if line and shown.summary.corrected:
            by = words("corrected_by", n=shown.summary.corrected.n)
            score = f"{line}   {by}"
        else:
            score = f"{points(shown.summary.score)} {words('of_hundred')}"
        self._line("")
        self._line(f"{self.say('score')} {score}", "bold")
        for note in notes_of_people(shown.summary, words):
            self._item("-", note.text, 2)
        self._line(self.say("next", path=shown.page))

    def _line(self, text: str, style: str = "") -> None:
        for line in wrap(self._fit(text), self.console.width) if text else [""]:
            self.console.print(Text(line, style=style), highlight=False)

    def _item(self, marker: str, text: str, indent: int, style: str = "") -> None:
        """A paragraph that hangs from its marker, `indent` cells from the left."""
        head = self._fit(marker) + " " * max(1, indent - cell_len(self._fit(marker)))
        for line in wrap(self._fit(text), self.console.width - cell_len(head)):
            self.console.print(Text(head, style).append(line), highlight=False)
            head = " " * cell_len(head)

    def _fit(self, text: str) -> str:
        """The text without control codes, and without what this console's encoding does not have."""
        encoding = self.console.encoding
        return plain(text).encode(encoding, "replace").decode(encoding)


def say_exported(path: Path, turns: int, shown: ReviewReport) -> str:
    """Where the labels are, and what they are good for."""
    said = WORDS(shown.language, "saved", path=plain(str(path)), n=f"{turns:,}")
    how = WORDS(shown.language, "calibrate", path=plain(str(path)), judge=plain(shown.summary.primary))
    return f"{said}\n  {how}\n"


def say_excerpt(path: Path, shown: ReviewReport) -> str:
    """Where the Markdown is."""
    return WORDS(shown.language, "markdown_saved", path=plain(str(path))) + "\n"


def labelled_answers(results: Results) -> Iterator[dict[str, Any]]:
    """A row for each turn that people graded blind, in the order of the run; rows of one case are a group."""
    given: dict[tuple[str, int], list[HumanVerdict]] = {}
    for verdict in results.verdicts:
        if verdict.source == "blind" and verdict.grade is not None:
            given.setdefault((verdict.conversation, verdict.turn), []).append(verdict)
    for conversation in results.conversations:
        for turn in conversation.turns:
            if verdicts := given.get((conversation.id, turn.index)):
                yield _row(results.run.id, conversation, turn, verdicts)


def as_lines(results: Results) -> str:
    """The rows as JSON lines."""
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in labelled_answers(results))


def _row(run: str, conversation: Conversation, turn: Turn, verdicts: list[HumanVerdict]) -> dict[str, Any]:
    case, said = conversation.case, turn.answer
    references = case.references_at(turn.index)
    return {
        "id": f"{conversation.id}/{turn.index}",
        "dataset": run,
        "language": case.language,
        "group": case.id,
        "history": _history(conversation, turn),
        "question": turn.user,
        "contexts": [passage.text for passage in said.passages],
        "context_ids": [passage.id for passage in said.passages],
        "answer": said.text,
        "reference": list(references) if len(references) > 1 else next(iter(references), None),
        **_expected(conversation),
        "labels": {LABEL: [_plain(verdict.grade or 0.0) for verdict in verdicts]},
        "scale": {LABEL: f"{LOWEST}-{HIGHEST}"},
        "annotators": {LABEL: [verdict.reviewer for verdict in verdicts]},
        "meta": _meta(conversation, verdicts),
    }


def _expected(conversation: Conversation) -> dict[str, Any]:
    """What a judge knows of the case besides, where it says anything."""
    case = conversation.case
    found = {"answerable": case.answerable, "goal": case.goal}
    if case.handover != "optional":
        found["handover"] = case.handover
    return {key: value for key, value in found.items() if value is not None}


def _history(conversation: Conversation, turn: Turn) -> list[dict[str, str]]:
    """What was said before the turn; an answer that did not come leaves no line."""
    lines = [message.model_dump() for message in conversation.case.history]
    for before in conversation.turns:
        if before.index < turn.index:
            lines.append({"role": "user", "content": before.user})
            if before.answer.text.strip():
                lines.append({"role": "assistant", "content": before.answer.text})
    return lines


def _meta(conversation: Conversation, verdicts: list[HumanVerdict]) -> dict[str, Any]:
    found: dict[str, Any] = {"persona": conversation.persona}
    if any(verdict.comment for verdict in verdicts):
        found["comments"] = [verdict.comment for verdict in verdicts]
    sampled = next((verdict for verdict in verdicts if verdict.stratum or verdict.sampled), None)
    if sampled:
        found |= {"stratum": sampled.stratum, "sampled": sampled.sampled}
    return found


def _plain(grade: float) -> int | float:
    return int(grade) if grade == int(grade) else grade
