"""Reads people's verdicts from files, workbooks and Google Sheets.

A source is a function that returns entries, each with its place in the file or worksheet; everything after
that (checking against the run, storing, comparing) is the same for all of them.
"""

import json
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import JsonValue

from simulator.core.errors import CaseFileError, InputError
from simulator.core.messages import Message, _, message_of, safe_text, shown
from simulator.core.types import HumanVerdict, Language, Results
from simulator.data.files import plain_suffix, printable, quote
from simulator.data.rows import read_rows
from simulator.data.values import Row, is_empty, normalised
from simulator.sheets.merge import EditedSheets
from simulator.sheets.model import PulledRow, layouts
from simulator.sheets.titles import CHOICES, TABS
from simulator.stats.figures import Summary
from simulator.stats.review import SampledTurn, blind_sample

LOWEST, HIGHEST = 1, 5
LABEL = "human"

# What a column holds, then the headers that it may have.
_HEADERS = {
    "conversation": "conversation conversation_id 会話 会話ID",
    "turn": "turn turn_index ターン ターン番号",
    "reviewer": "reviewer annotator 採点者 評価者 レビュアー 名前",
    "grade": "grade score rating 人の評価 評価 採点 点数",
    "comment": "comment note コメント 備考 メモ",
    "stratum": "stratum 層",
    "sampled": "sampled sampling_rate 抽出率",
    "id": "id",
    "labels": "labels",
    "annotators": "annotators",
    "scale": "scale",
    "meta": "meta",
}
_FIELDS = {normalised(name): field for field, names in _HEADERS.items() for name in names.split()}
_SCALE = re.compile(r"\s*1\s*(?:-|–|〜|~|\.\.)\s*5\s*|\s*1\|2\|3\|4\|5\s*")
_ADDRESS = re.compile(r"https?://[^?#]*/spreadsheets/")


class Entry(NamedTuple):
    """A verdict and its place; or with `fault` why it cannot be used.

    `other_run` marks a row about another run, `note` is about no turn; an entry with a place only is empty.
    """

    place: Message | str
    verdict: HumanVerdict | None = None
    fault: Message | str = ""
    other_run: bool = False
    note: Message | str = ""


Source = Callable[[], Iterable[Entry]]


class _Unusable(Exception):
    """Why a row cannot be used."""


def label_file(path: Path) -> Source:
    """Blind grades in a JSONL or CSV file (also TSV, Excel, `.gz`, Shift_JIS).

    Either the columns conversation, turn, reviewer, grade (1-5) and comment, a grade in each row; or labelled
    answers with the id "<conversation>/<turn>" and `labels`: {"human": [4, 5]}.
    """
    return lambda: _entries(path)


def source_of(name: str, target: "ReviewTarget") -> Source:
    """The source that `--from` names: sheet, sheet:KEY_OR_URL, or a file.

    A workbook of `--to xlsx` is recognised by its worksheets; any other file is a table of blind grades.
    """
    if name == SHEET or name.startswith(f"{SHEET}:") or _ADDRESS.match(name):
        return sheet_source(name, target)
    return workbook_source(Path(name), target) or label_file(Path(name))


def _entries(path: Path) -> Iterator[Entry]:
    read = datetime.now(UTC)
    for number, row in enumerate(read_rows(path, _fits)):
        if not number and not _fits(row.values, whole=row.cells):
            raise _unknown_columns(path, row)
        yield from _entries_of_row(row, read)


def _by_field(values: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """The values of a row by field; of several columns for one field, the first that is not empty."""
    by_field: dict[str, JsonValue] = {}
    for header, value in values.items():
        if (field := _field(header)) and is_empty(by_field.get(field)):
            by_field[field] = value
    return by_field


def _entries_of_row(row: Row, read: datetime) -> Iterator[Entry]:
    values = _by_field(row.values)
    try:
        verdicts = _labelled(values) if "labels" in values else _graded(values)
    except _Unusable as error:
        yield Entry(row.place, fault=message_of(error))
        return
    for verdict in verdicts:
        yield Entry(row.place, verdict.model_copy(update={"given": read}))
    if not verdicts:
        yield Entry(row.place)


def _field(header: str) -> str | None:
    return _FIELDS.get(normalised(header))


def _fits(headers: Iterable[str], *, whole: bool = True) -> bool:
    """Whether the columns name a turn and its grade; a JSON object may leave out the grade (not `whole`)."""
    fields = set(map(_field, headers))
    graded = {"conversation", "turn", "grade"} if whole else {"conversation", "turn"}
    return graded <= fields or {"id", "labels"} <= fields


def _unknown_columns(path: Path, row: Row) -> CaseFileError:
    there = ", ".join(printable(name) for name in list(row.values)[:8])
    msg = _(
        "{path}, {place}: no columns conversation, turn and grade, nor id and labels (there are:"
        " {there}). Name the columns like that.",
        path=path,
        place=row.place,
        there=there,
    )
    return CaseFileError(msg)


def _graded(values: Mapping[str, JsonValue]) -> list[HumanVerdict]:
    """A row with one grade; none when it is still empty."""
    if is_empty(values.get("grade")):
        return []
    return [
        HumanVerdict(
            conversation=plain_text(values.get("conversation")),
            turn=_turn(values.get("turn")),
            source="blind",
            reviewer=plain_text(values.get("reviewer")),
            grade=_grade(values.get("grade")),
            comment=plain_text(values.get("comment")),
            **_sampling(values),
        )
    ]


def _labelled(values: Mapping[str, JsonValue]) -> list[HumanVerdict]:
    """A labelled answer: one grade for each of its annotators."""
    conversation, slash, turn = plain_text(values.get("id")).rpartition("/")
    if not slash:
        msg = _("id {id} is not <conversation>/<turn>", id=quote(plain_text(values.get("id"))))
        raise _Unusable(msg)
    labels = _object(values.get("labels"))
    name = LABEL if LABEL in labels or len(labels) != 1 else next(iter(labels))
    votes = _list(labels.get(name))
    if labels and name not in labels:
        msg = _("labels has no '{label}' among {labels}", label=LABEL, labels=tuple(map(quote, labels)))
        raise _Unusable(msg)
    _check_scale(_object(values.get("scale")).get(name) or values.get("scale"))
    meta = _object(values.get("meta"))
    names = _per_vote(votes, _object(values.get("annotators")).get(name))
    comments = _per_vote(votes, meta.get("comments"))
    if votes and not any(names):
        names = [str(number) for number in range(1, len(votes) + 1)] if len(votes) > 1 else [""]
    fields = {"conversation": conversation, "turn": _turn(turn), "source": "blind"} | _sampling(meta)
    return [
        HumanVerdict(**fields, reviewer=reviewer, grade=_grade(vote), comment=comment)
        for vote, reviewer, comment in zip(votes, names, comments, strict=True)
        if not is_empty(vote)
    ]


def _check_scale(scale: JsonValue) -> None:
    """Raises for another scale, on which the same grade means something else."""
    if isinstance(scale, str) and scale.strip() and not _SCALE.fullmatch(scale):
        msg = _("its scale is {scale}; only grades from 1 to 5 are read", scale=quote(scale))
        raise _Unusable(msg)


def _per_vote(votes: Sequence[JsonValue], value: JsonValue) -> list[str]:
    """A text for each vote; all empty where their number differs."""
    texts = list(map(plain_text, _list(value)))
    return texts if len(texts) == len(votes) else [""] * len(votes)


def _sampling(values: Mapping[str, JsonValue]) -> dict[str, Any]:
    sampled = values.get("sampled")
    if is_empty(sampled):
        return {"stratum": plain_text(values.get("stratum"))}
    rate = _number(sampled)
    if rate is None or not 0 < rate <= 1:
        msg = _("sampled {sampled} is not between 0 and 1", sampled=quote(sampled))
        raise _Unusable(msg)
    return {"stratum": plain_text(values.get("stratum")), "sampled": rate}


def _turn(value: JsonValue) -> int:
    number = _number(value)
    if number is None or number != int(number):
        msg = _("turn {turn} is not a whole number", turn=quote(plain_text(value)))
        raise _Unusable(msg)
    return int(number)


def _grade(value: JsonValue) -> float:
    number = _number(value)
    if number is None or not LOWEST <= number <= HIGHEST:
        msg = _(
            "grade {grade} is not between {lowest} and {highest}",
            grade=quote(plain_text(value)),
            lowest=LOWEST,
            highest=HIGHEST,
        )
        raise _Unusable(msg)
    return number


def _number(value: JsonValue) -> float | None:
    """A finite number, also in full-width digits."""
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return None
    try:
        number = float(unicodedata.normalize("NFKC", str(value)).strip())
    except ValueError:
        return None
    return number if abs(number) < 1e9 else None  # also not for NaN, which no comparison holds for


def plain_text(value: JsonValue) -> str:
    """A text without control codes except line breaks."""
    return "" if value is None else safe_text(str(value)).strip()


def _object(value: JsonValue) -> Mapping[str, JsonValue]:
    """An object, or one that is written as JSON in a cell; {} for anything else."""
    value = _from_json(value)
    return value if isinstance(value, dict) else {}


def _list(value: JsonValue) -> Sequence[JsonValue]:
    """A list, or one that is written as JSON in a cell; a single value as a list of one."""
    value = _from_json(value)
    return value if isinstance(value, list) else [] if is_empty(value) else [value]


def _from_json(value: JsonValue) -> Any:
    if isinstance(value, str) and value.lstrip()[:1] in {"{", "["}:
        try:
            return json.loads(value)
        except (ValueError, RecursionError):
            return value
    return value


SHEET = "sheet"
# The worksheets that hold verdicts.
NAMES = ("review", "blind")
REVIEWERS = ("1", "2")
# The note in a run about the sheet it was pushed to: {"key": ..., "worksheet": ...}.
NOTE = "sheet"
_TEAM = ("judge_is", "correct_answer", "cause", "comment", "assignee", "checked", "status")
_KEY = re.compile(r"(?P<run>[^/]+)/.+/\d+", re.DOTALL)
_POINTS = re.compile(r"(\d(?:\.\d+)?)\s*点?")
_WORKBOOKS = frozenset({".xlsx", ".xlsm"})
# A worksheet of ours may have lost its keys; somebody's own table of that title has fewer of our columns.
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


def sheet_of(name: str, target: ReviewTarget) -> tuple[str, str]:
    """Key (or address) and suffix of the sheet meant by `sheet`, `sheet:KEY_OR_URL` or an address.

    Raises InputError for `sheet` where none is named anywhere, and no push has left a note in the run.
    """
    note = target.results.notes.get(NOTE)
    pushed_to = note if isinstance(note, dict) else {}
    pushed = str(pushed_to.get("key") or ""), str(pushed_to.get("worksheet") or "")
    key, suffix = target.asked
    key = ("" if name == SHEET else name.removeprefix(f"{SHEET}:").strip()) or key
    known = [sheet for sheet in (pushed, target.usual) if sheet[0]]
    if not key and not known:
        msg = _("{run} was pushed to no sheet: name one with --sheet KEY_OR_URL.", run=target.results.run.id)
        raise InputError(msg)
    # A sheet that is known has its own suffix, however it was named.
    sheet = next(((k, s) for k, s in known if not key or str(k) in key), (key, ""))
    return str(key or sheet[0]), str(suffix or sheet[1] or "")


def sheet_source(name: str, run: ReviewTarget) -> Source:
    """The verdicts in the run's Google Sheet as it is now."""
    key, suffix = sheet_of(name, run)

    def read() -> Iterator[Entry]:
        from simulator.sheets.google_api import target  # gspread: only where a sheet is named
        from simulator.sheets.google_pull import pull

        pulled = pull(target(key, suffix), NAMES)
        if not pulled.rows:
            titles = " nor ".join(shown(TABS[name], run.language) for name in NAMES)
            msg = _(
                "sheet {key}: neither {titles} is in it; write them with: report --to sheets",
                key=printable(key),
                titles=titles,
            )
            raise InputError(msg)
        yield from verdicts(pulled.rows, run)
        yield from _notes(pulled)
        for missing in (name for name in NAMES if name not in pulled.sheets):
            yield Entry(missing, note=_("there is no such worksheet"))

    return read


def workbook_source(path: Path, target: ReviewTarget) -> Source | None:
    """The verdicts in a workbook that was written by `--to xlsx`; None for any other file."""
    if plain_suffix(path) not in _WORKBOOKS or not path.is_file():
        return None
    from simulator.sheets.excel_read import read_edited

    edited = read_edited(path)
    sheets = {name: sheet for name, sheet in edited.sheets.items() if name in NAMES}
    if not any("key" in sheet.columns or len(sheet.columns) >= _LEAST_COLUMNS for sheet in sheets.values()):
        return None
    return lambda: chain(verdicts(edited.rows, target), _notes(edited))


def _notes(edited: EditedSheets) -> Iterator[Entry]:
    """What could not be read; a missing column is no fault of a row, and copied rows are faults already."""
    for name in NAMES:
        for note in edited.sheets[name].notes if name in edited.sheets else ():
            if note.about == "column":
                yield Entry(note.place, note=note.why)
            elif note.about == "cell":
                yield Entry(note.place, fault=note.why)


@dataclass(frozen=True)
class _RowLocation:
    """The place of a row, the turn it is about, and when it was read."""

    place: Message | str
    conversation: str
    turn: int
    read: datetime

    def verdict(self, **fields: Any) -> Entry:
        """A verdict on that turn."""
        turn = {"conversation": self.conversation, "turn": self.turn, "given": self.read}
        return Entry(self.place, HumanVerdict(**turn, **fields))


def verdicts(rows: Mapping[str, Sequence[PulledRow]], target: ReviewTarget) -> Iterator[Entry]:
    """The verdicts in rows of the worksheets `review` and `blind`, and what is wrong with them."""
    results, read = target.results, datetime.now(UTC)
    run = results.run.id
    turns = {f"{run}/{c.id}/{t.index}": (c.id, t.index) for c in results.conversations for t in c.turns}
    sample = {(d.conversation, d.turn): d for d in blind_sample(results, target.summary)}
    for name in NAMES:
        for row in rows.get(name, ()):
            place = f"{shown(TABS[name], target.language)} row {row.number}"
            at = turns.get(row.key.strip())
            if at is None:
                yield from _unknown_turn(row, place, run)
            elif name == "review":
                yield from _review(row.cells, _RowLocation(place, *at, read))
            else:
                yield from _blind(row.cells, _RowLocation(place, *at, read), sample.get(at))


def _unknown_turn(row: PulledRow, place: str, run: str) -> Iterator[Entry]:
    """A row that is about no turn of this run."""
    key = row.key.strip()
    match = _KEY.fullmatch(key)
    if match and match["run"] != run:
        yield Entry(place, other_run=True)
    elif key:
        yield Entry(place, fault=_("its key {key} names no turn of this run", key=quote(key)))
    elif any(row.cells.get(column) for column in (*_TEAM, "grade_1", "comment_1", "grade_2", "comment_2")):
        yield Entry(place, fault=_("it has no key of its own (a row that was added or copied)"))


def _review(cells: Mapping[str, str], at: _RowLocation) -> Iterator[Entry]:
    texts = {column: text for column in _TEAM if (text := plain_text(cells.get(column)))}
    choice = texts.pop("judge_is", "")
    picked = layouts()["review"].choice("judge_is", choice)
    judge_is = picked if picked in CHOICES["judge_is"] else None
    if choice and judge_is is None:
        fault = _("judge_is {choice} is not one of the choices", choice=quote(choice))
        yield Entry(at.place, fault=fault)
    if texts or judge_is:
        yield at.verdict(source="review", judge_is=judge_is, **texts)
    elif not cells.get("judge_is", "").strip():
        yield Entry(at.place)


def _blind(cells: Mapping[str, str], at: _RowLocation, sampled: SampledTurn | None) -> Iterator[Entry]:
    """One verdict for each reviewer who wrote something; a comment counts without a grade, too."""
    sampling = {"stratum": sampled.stratum, "sampled": sampled.sampled} if sampled else {}
    empty = True
    for reviewer in REVIEWERS:
        text = plain_text(cells.get(f"grade_{reviewer}"))
        comment = plain_text(cells.get(f"comment_{reviewer}"))
        grade = grade_of(text)
        if text and grade is None:
            fault = _(
                "grade_{reviewer} {text} is not between {lowest} and {highest}",
                reviewer=reviewer,
                text=quote(text),
                lowest=LOWEST,
                highest=HIGHEST,
            )
            yield Entry(at.place, fault=fault)
        elif text or comment:
            yield at.verdict(source="blind", reviewer=reviewer, grade=grade, comment=comment, **sampling)
        empty = empty and not (text or comment)
    if empty:
        yield Entry(at.place)


def grade_of(text: str) -> float | None:
    """A grade 1..5 as people type it (4, ４, 4点); None for anything else."""
    match = _POINTS.fullmatch(unicodedata.normalize("NFKC", text).strip())
    grade = float(match[1]) if match else 0.0
    return grade if LOWEST <= grade <= HIGHEST else None


class Fault(NamedTuple):
    """Something that cannot be used: its place, and why."""

    place: Message | str
    why: Message | str


@dataclass
class Taken:
    """The verdicts of a source that fit the run, and the faults of the others.

    `empty` counts rows in which nobody wrote, `other_runs` rows about other runs; `notes` are about the
    source as a whole.
    """

    verdicts: list[HumanVerdict] = field(default_factory=list)
    empty: int = 0
    other_runs: int = 0
    faults: list[Fault] = field(default_factory=list)
    notes: list[Fault] = field(default_factory=list)


def take(entries: Iterable[Entry], results: Results) -> Taken:
    """Sorts entries by whether they fit the run; of one reviewer's two grades for a turn the first fits."""
    turns = {
        conversation.id: {turn.index for turn in conversation.turns} for conversation in results.conversations
    }
    taken, places = Taken(), dict[tuple[str, int, str, str], Message | str]()
    for entry in entries:
        why = entry.fault or (_why_not(entry.verdict, turns, places) if entry.verdict else "")
        if why:
            taken.faults.append(Fault(entry.place, why))
        elif entry.note:
            taken.notes.append(Fault(entry.place, entry.note))
        elif entry.verdict is None:
            taken.other_runs += entry.other_run
            taken.empty += not entry.other_run
        else:
            places[_key(entry.verdict)] = entry.place
            taken.verdicts.append(entry.verdict)
    return taken


def _why_not(
    verdict: HumanVerdict, turns: dict[str, set[int]], places: dict[tuple[str, int, str, str], Message | str]
) -> Message | str:
    if verdict.conversation not in turns:
        return _("no conversation {conversation} in this run", conversation=quote(verdict.conversation))
    if verdict.turn not in turns[verdict.conversation]:
        return _(
            "conversation {conversation} has no turn {turn:d}",
            conversation=quote(verdict.conversation),
            turn=verdict.turn,
        )
    if first := places.get(_key(verdict)):
        if not verdict.reviewer:
            return _("a second grade for the same turn; the first is on {place}", place=first)
        return _(
            "a second grade by {reviewer} for the same turn; the first is on {place}",
            reviewer=quote(verdict.reviewer),
            place=first,
        )
    return ""


def _key(verdict: HumanVerdict) -> tuple[str, int, str, str]:
    return verdict.conversation, verdict.turn, verdict.source, verdict.reviewer
