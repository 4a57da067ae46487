"""Reads what people say of a run, from workbooks and Google Sheets.

    --from sheet, sheet:KEY, an address     the run's Google Sheet: worksheets Review and Blind
    --from report.xlsx                      a workbook of `--to xlsx`, with the same worksheets

What stands in a sheet or workbook is a `Written`, wherever it was read. Whatever the source is, its rows are
handed with their places to a `Taken`, which holds them against the run. A row or cell that cannot be used is
named with its place and its reason, and all else is taken: people sort, copy and overwrite, and a slip must
not lose a morning's work. Reading the same source again adds nothing.

Rows of ours are known by their keys. `RUN/CONVERSATION/TURN` names one turn; the key of a review row names an
answer, and stands for every turn of this run in which it was given.
"""

import json
import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import JsonValue

from simulator.core.document import Text
from simulator.core.errors import InputError
from simulator.core.messages import Message, _, printable, quote, safe_text, shown
from simulator.core.types import Conversation, HumanVerdict, Language, ReleaseDecision, Results, Turn
from simulator.results.figures import Summary
from simulator.results.review import blind_sample, blind_verdicts, turns_of_answers
from simulator.results.rows import Key
from simulator.sheets.excel import read_edited
from simulator.sheets.google_api import Target
from simulator.sheets.google_api import target as target_sheet
from simulator.sheets.google_sheets import pull
from simulator.sheets.merge import EditedSheets, replaced_line
from simulator.sheets.model import (
    CHOICES,
    COLUMNS,
    DESK_QUESTION,
    RED,
    TABS,
    PulledRow,
    is_answer_key,
    layouts,
)
from simulator.storage.results import select_turns
from simulator.storage.words import WORDS, Replaced

LOWEST, HIGHEST = 1, 5
# The label of blind grades in what `--export` writes.
LABEL = "human"

# A grade such as "4", "４", "4.5" or "4点". An address of a Google Sheet, wherever its key stands.
_POINTS = re.compile(r"(\d(?:\.\d+)?)\s*点?")
_ADDRESS = re.compile(r"https?://[^?#]*/spreadsheets/")

# What `--from` calls the sheet that the run was pushed to; the note in a run about it: {"key": ...,
# "worksheet": ...}.
SHEET = NOTE = "sheet"
# The worksheets that hold verdicts.
NAMES = ("review", "blind")
# Those that hold the team's decision: on this run, and on runs whose place a later one has taken.
DECIDED = ("summary", "archive")
# The key of the row in which it stands; the archive names the worksheet from which a row came before it.
_DECISION_KEY = re.compile(r"(?:summary/)?(?P<run>[^/]+)/decision")
# The key of the row in which the lead is asked what the desk wants, behind that of its turn.
_DESK_KEY = re.compile(rf"(?:summary/)?(?P<turn>.+)/{DESK_QUESTION}", re.DOTALL)
# The columns of a decision by the field of its value.
DECISION_COLUMNS = {"verdict": "decision", "by": "approver", "on": "decided", "reason": "why"}
# The Blind worksheet has two columns for grades and two for comments.
REVIEWERS = ("1", "2")
# The team's columns of either worksheet; the program never writes into them.
TEAM = ("judge_is", "correct_answer", "cause", "comment", "assignee", "status", "make_test")
_BLIND = ("grade_1", "comment_1", "grade_2", "comment_2")
# The key of a turn; a conversation's id may hold slashes and line breaks of its own.
_KEY = re.compile(r"(?P<run>[^/]+)/.+/\d+", re.DOTALL)
_LEAST_COLUMNS = 5


class ReviewTarget(NamedTuple):
    """The run that verdicts are for.

    `asked` is the sheet named on the command line (key or address, suffix of its worksheets); `usual` is that
    of the settings, for a run that was pushed to none.
    """

    results: Results
    summary: Summary
    language: Language
    asked: tuple[str | None, str | None] = (None, None)
    usual: tuple[str | None, str | None] = (None, None)


class Taken:
    """The verdicts of a source that fit the run; `faults` are the places of the others, and why not.

    `empty` counts the rows in which nobody wrote, `other_runs` rows about other runs; `notes` are about the
    source as a whole. `decision` is what the team decided about the run, None where nobody wrote that down.
    `closed` are the keys of rows of the review that were made tests, and went to the archive because they are
    right now. `document` names the sheet or workbook, `read` is when its rows were read.
    """

    def __init__(self, document: str) -> None:
        """Nothing is taken yet."""
        self.document, self.read = document, datetime.now(UTC)
        self.verdicts: list[HumanVerdict] = []
        self.empty = self.other_runs = 0
        self.decision: ReleaseDecision | None = None
        self.closed = frozenset[str]()
        self.faults: list[tuple[Text, Text]] = []
        self.notes: list[tuple[Text, Text]] = []

    def add(self, at: Key, **said: Any) -> None:
        """Takes a verdict on a turn."""
        self.verdicts.append(HumanVerdict(conversation=at[0], turn=at[1], given=self.read, **said))


def taken_from(source: str, target: ReviewTarget) -> Taken:
    """What stands in the source that `--from` names: sheet, sheet:KEY_OR_URL, or a workbook of `--to xlsx`.

    Raises InputError where it has none of our worksheets.
    """
    if source == SHEET or source.startswith(f"{SHEET}:") or _ADDRESS.match(source):
        key, suffix = sheet_of(source, target)
        sheet = target_sheet(key, suffix)
        document, edited, kind = document_of(sheet), pull(sheet, (*NAMES, *DECIDED)), "sheets"
    else:
        path = Path(source)
        document, edited, kind = document_of(path), read_edited(path), "xlsx"
    ours = [sheet for name, sheet in edited.sheets.items() if name in NAMES]
    # A worksheet may have lost its keys; somebody's own table of that title has fewer of our columns.
    if not any("key" in sheet.columns or len(sheet.columns) >= _LEAST_COLUMNS for sheet in ours):
        msg = _(
            "{source}: neither {titles} is in it; write them with: report --to {kind}",
            source=printable(source),
            titles=" nor ".join(shown(TABS[name], target.language) for name in NAMES),
            kind=kind,
        )
        raise InputError(msg)
    taken = Written.of(edited, document).taken(target)
    taken.notes += [(TABS[name], _("no such worksheet")) for name in NAMES if name not in edited.sheets]
    # A missing column is no fault of a row.
    for note in (note for sheet in ours for note in sheet.notes):
        if note.about == "column":
            taken.notes.append((note.place, note.why))
        elif note.about == "cell":
            taken.faults.append((note.place, note.why))
    return taken


def grade_of(text: str) -> float | None:
    """A grade 1..5 as people write it (4, ４, 4点); None for anything else."""
    match = _POINTS.fullmatch(unicodedata.normalize("NFKC", text).strip())
    grade = float(match[1]) if match else 0.0
    return grade if LOWEST <= grade <= HIGHEST else None


def plain_text(value: JsonValue) -> str:
    """A text without control codes except line breaks."""
    return "" if value is None else safe_text(str(value)).strip()


# --- a sheet or a workbook of ours ---


def sheet_of(name: str, target: ReviewTarget) -> tuple[str, str]:
    """Key (or address) and suffix of the sheet meant by `sheet`, `sheet:KEY_OR_URL` or an address.

    Raises InputError for `sheet` where none is named anywhere, and no push has left a note in the run.
    """
    note = target.results.notes.get(NOTE)
    pushed = (note.get("key"), note.get("worksheet")) if isinstance(note, dict) else (None, None)
    # The key on the command line goes before the note of the push, and that before the settings.
    key = ("" if name == SHEET else name.removeprefix(f"{SHEET}:").strip()) or target.asked[0]
    for there, suffix in (pushed, target.usual):
        # A sheet that is known has its own suffix, however it was named.
        if there and (not key or str(there) in key):
            return str(key or there), str(target.asked[1] or suffix or "")
    if not key:
        msg = _("{run} was pushed to no sheet: name one with --sheet KEY_OR_URL.", run=target.results.run.id)
        raise InputError(msg)
    return key, str(target.asked[1] or "")


def document_of(source: Path | Target) -> str:
    """The name of a workbook, with its folder, or of a sheet: what it said last is known by it."""
    if isinstance(source, Path):
        place = source.resolve()
        return f"{place.parent.name}/{place.name}"
    return f"{source.key}{source.suffix}"


class Written(NamedTuple):
    """What stands in a sheet or workbook, whose name is `document`: the rows of its worksheets.

    Of the columns in `silent`, which somebody deleted, the review says nothing.
    """

    document: str
    rows: Mapping[str, Sequence[PulledRow]]
    silent: frozenset[str] = frozenset()

    @classmethod
    def of(cls, edited: EditedSheets, document: str) -> "Written":
        """Without the rows of a worksheet whose column of keys is gone, for they are about nothing."""
        sheets, review = edited.sheets, edited.sheets.get("review")
        rows = {name: rows if "key" in sheets[name].columns else () for name, rows in edited.rows.items()}
        return cls(document, rows, frozenset(c for c in TEAM if review and c not in review.columns))

    @property
    def decisions(self) -> dict[str, ReleaseDecision]:
        """What the team decided, by run; a row in which nobody wrote says nothing, and takes nothing back."""
        decisions: dict[str, ReleaseDecision] = {}
        for row in self._decided:
            cells = {field: plain_text(row.cells.get(column)) for field, column in DECISION_COLUMNS.items()}
            if (match := _DECISION_KEY.fullmatch(row.key.strip())) and any(cells.values()):
                decisions[match["run"]] = ReleaseDecision(**cells)
        return decisions

    @property
    def _decided(self) -> Iterator[PulledRow]:
        """The rows about runs; the summary last: it is newer than what went to the archive."""
        return (row for name in reversed(DECIDED) for row in self.rows.get(name, ()))

    @property
    def by_run(self) -> dict[str, "Written"]:
        """What stands in the rows in which the team wrote about answers, by the run that a row names."""
        rows: dict[str, dict[str, list[PulledRow]]] = {}
        for name, columns in (("review", TEAM), ("blind", _BLIND)):
            for row in self.rows.get(name, ()):
                if any(map(row.cells.get, columns)):
                    match = _KEY.fullmatch(row.key.strip()) if name == "blind" else None
                    run = match["run"] if match else row.cells.get("run", "")
                    rows.setdefault(run, {"review": [], "blind": []})[name].append(row)
        return {run: self._replace(rows={**self.rows, **of_run}) for run, of_run in rows.items()}

    def _placed(self, name: str) -> Iterator[tuple[Text, PulledRow]]:
        """The rows of a worksheet with their places."""
        for row in self.rows.get(name, ()):
            yield _("{tab}, row {number:d}", tab=TABS[name], number=row.number), row

    def taken(self, target: ReviewTarget) -> Taken:
        """The verdicts in the worksheets `review` and `blind`, and what is wrong with them."""
        results, run = target.results, target.results.run.id
        taken = Taken(self.document)
        turns = {f"{run}/{c.id}/{t.index}": (c.id, t.index) for c in results.conversations for t in c.turns}
        taken.decision = self.decisions.get(run)
        taken.closed = frozenset(
            row.key.strip().partition("/")[2]
            for row in self.rows.get("archive", ())
            if row.cells.get("outcome") == "right" and row.cells.get("make_test") == "yes"
        )
        answers, wanted = turns_of_answers(results, target.summary), self._desk_answers(turns)
        # Rows of other runs, which sheets keep, are counted; of others somebody lost or made up the key.
        for place, row in self._placed("review"):
            if same := answers.get(row.key.strip()):
                expected = {at: wanted.pop(at) for at in same if at in wanted}
                self._take_review(row, place, same, taken, expected)
            else:
                _leave_out(row, place, run, taken)
        # The worksheet has no sampling rates, because these would tell what is red; the lot is drawn again.
        drawn = blind_sample(results, target.summary) if self.rows.get("blind") else {}
        for place, row in self._placed("blind"):
            if at := turns.get(row.key.strip()):
                _take_blind(row, place, at, drawn.get(at), taken)
            else:
                _leave_out(row, place, run, taken)
        silent = frozenset(WORDS) - {"expect"}
        for at, text in wanted.items():
            taken.add(at, source="review", expect=text, document=self.document, silent=silent)
        return taken

    def _desk_answers(self, turns: Mapping[str, Key]) -> dict[Key, str]:
        """What the lead says that the desk wants of answers, by turn."""
        answers: dict[Key, str] = {}
        for row in self._decided:
            match, text = _DESK_KEY.fullmatch(row.key.strip()), plain_text(row.cells.get("why"))
            if match and text and (at := turns.get(match["turn"])):
                answers[at] = text
        return answers

    def _take_review(
        self,
        row: PulledRow,
        place: Text,
        turns: Mapping[Key, bool],
        taken: Taken,
        expected: Mapping[Key, str],
    ) -> None:
        """A verdict for each of the turns; what is said of the mark counts only for those that are True.

        `expected` is what the lead wants of an answer about which reviewers differ.
        """
        texts = {column: text for column in TEAM if (text := plain_text(row.cells.get(column)))}
        choices = {column: texts.pop(column, "") for column in ("judge_is", "make_test")}
        picked = {column: _picked(column, text, place, taken) for column, text in choices.items()}
        make_test, is_red = picked["make_test"] == "yes", row.key.strip().endswith(RED)
        # A cell that cannot be read says nothing.
        silent = self.silent | {column for column, text in choices.items() if text and not picked[column]}
        taken.empty += not (texts or any(choices.values()))
        for at, has_mark in turns.items():
            words: dict[str, Any] = {**texts, "judge_is": picked["judge_is"] if has_mark else None}
            words |= {"make_test": make_test, "expect": expected.get(at, "")}
            if any(words.values()):
                words |= {"red": is_red if words["judge_is"] else None, "silent": silent}
                taken.add(at, source="review", document=self.document, **words)


def _leave_out(row: PulledRow, place: Text, run: str, taken: Taken) -> None:
    """Counts a row of another run; of one whose key somebody lost or made up says so."""
    key = row.key.strip()
    if is_answer_key(key) or ((match := _KEY.fullmatch(key)) and match["run"] != run):
        taken.other_runs += 1
    elif key:
        taken.faults.append((place, _("its key {key} names no answer of this run", key=quote(key))))
    elif any(map(row.cells.get, (*TEAM, *_BLIND))):
        taken.faults.append((place, _("it has no key (a row that was added or copied)")))


def replaced_lines(results: Results, replaced: Sequence[Replaced]) -> Iterator[Message]:
    """What a sheet or workbook replaced, and whose word it was: a line for an answer, however often given."""
    turns = select_turns(results, {word.place for word in replaced})
    questions = {(talk.id, turn.index): quote(talk.case.question) for talk, turn in turns}
    for place, name, before, by, after in {(questions[w.place], *w[1:]): None for w in replaced}:
        what = _("{row}, column {title}", row=place, title=COLUMNS[name].title)
        yield replaced_line(what, _text(name, before), by, _text(name, after), "")


def _text(name: str, value: JsonValue) -> Text:
    """What people read for the value of a field."""
    value = ("yes" if value else "") if isinstance(value, bool) else str(value or "")
    return CHOICES.get(name, {}).get(value, value)


def _picked(column: str, text: str, place: Text, taken: Taken) -> str | None:
    """The id of what was picked in a cell; another word is named, and the rest of its row is taken."""
    picked = layouts()["review"].choice(column, text)
    if picked in CHOICES[column]:
        return picked
    if text:
        choices = tuple(CHOICES[column].values())
        why = _("{choice} is none of the choices ({choices})", choice=quote(text), choices=choices)
        taken.faults.append((_cell(place, column), why))
    return None


def _cell(row: Text, column: str) -> Message:
    """The place of a cell, by the heading of its column; the rest of its row is taken."""
    return _("{row}, column {title}", row=row, title=COLUMNS[column].title)


def _take_blind(row: PulledRow, place: Text, at: Key, sampled: float | None, taken: Taken) -> None:
    """One verdict for each reviewer who wrote something; a comment counts without a grade, too."""
    cells = {column: plain_text(row.cells.get(column)) for column in _BLIND}
    taken.empty += not any(cells.values())
    for reviewer in REVIEWERS:
        text, comment = cells[f"grade_{reviewer}"], cells[f"comment_{reviewer}"]
        grade = grade_of(text)
        if text and grade is None:
            why = _(
                "grade {text} is not between {lowest} and {highest}",
                text=quote(text),
                lowest=LOWEST,
                highest=HIGHEST,
            )
            taken.faults.append((_cell(place, f"grade_{reviewer}"), why))
        elif text or comment:
            said = {"reviewer": reviewer, "grade": grade, "comment": comment, "sampled": sampled}
            taken.add(at, source="blind", **said)


def as_lines(results: Results) -> str:
    """The turns that people graded blind as JSON lines for `calibrate`, in the order of the run."""
    by_turn = blind_verdicts(results.verdicts)
    rows = (
        _row(conversation, turn, by_turn[conversation.id, turn.index])
        for conversation in results.conversations
        for turn in conversation.turns
        if (conversation.id, turn.index) in by_turn
    )
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def _row(conversation: Conversation, turn: Turn, verdicts: list[HumanVerdict]) -> dict[str, Any]:
    """What a judge had before it when it graded this turn, with the grades; rows of one case are a group."""
    case, answer = conversation.case, turn.answer
    references = case.references_at(turn.index)
    history = [message.model_dump() for message in case.history]
    for before in (earlier for earlier in conversation.turns if earlier.index < turn.index):
        history.append({"role": "user", "content": before.user})
        # A missing answer leaves no message.
        if before.answer.text.strip():
            history.append({"role": "assistant", "content": before.answer.text})
    return {
        "id": f"{conversation.id}/{turn.index}",
        "language": case.language,
        "group": case.id,
        "history": history,
        "question": turn.user,
        "contexts": [passage.text for passage in answer.passages],
        "answer": answer.text,
        "reference": list(references) if len(references) > 1 else next(iter(references), None),
        # What else a judge knows of the case, as far as the case says anything.
        **({} if case.answerable is None else {"answerable": case.answerable}),
        **({} if case.goal is None else {"goal": case.goal}),
        **({} if case.handover == "optional" else {"handover": case.handover}),
        "labels": {LABEL: [verdict.grade for verdict in verdicts]},
        "meta": {"comments": [verdict.comment for verdict in verdicts if verdict.comment]},
    }
