"""Where people's verdicts come from. A source gives entries: a verdict each, or why there is none.

A source is a function that gives entries with a place that its reader finds again; everything after that
(checking against the run, storing, comparing) is the same for files, worksheets and workbooks.
"""

import json
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from pydantic import JsonValue

from simulator.core.errors import CaseFileError, InputError
from simulator.core.translations import plain
from simulator.core.types import HumanVerdict, Language, Results
from simulator.data.files import plain_suffix, printable, shown
from simulator.data.readers import read_rows
from simulator.data.values import Row, is_empty, normalised
from simulator.sheets.model import PulledRow, SheetWords, title_ids
from simulator.stats.figures import Summary
from simulator.stats.review import SampledTurn, blind_sample

if TYPE_CHECKING:
    pass

LOWEST, HIGHEST = 1, 5
LABEL = "human"

# What a column means, then the headers that mean it.
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
    """One thing that was said of a turn, and where; `fault` says why it cannot be used.

    `other_run` is about a turn of another run, `note` about no turn; with nothing but a place it is empty.
    """

    place: str
    verdict: HumanVerdict | None = None
    fault: str = ""
    other_run: bool = False
    note: str = ""


Source = Callable[[], Iterable[Entry]]


class _Unusable(Exception):
    """Why a row cannot be used."""


def label_file(path: Path) -> Source:
    """Blind grades in a JSONL or CSV file (also TSV, Excel, `.gz`, Shift_JIS).

    Either the columns conversation, turn, reviewer, grade (1-5) and comment, a grade in each row; or labelled
    answers with the id "<conversation>/<turn>" and `labels`: {"human": [4, 5]}.
    """
    return lambda: _entries(path)


def source_of(name: str, wanted: "ReviewTarget") -> Source:
    """The source that is meant by what stands after --from: sheet, sheet:KEY_OR_URL, or a file.

    A workbook of `--to xlsx` is known by its worksheets; any other file holds a table of blind grades.
    """
    pass  # reads reports; a plain table needs none

    if name == SHEET or name.startswith(f"{SHEET}:") or _ADDRESS.match(name):
        return sheet_source(name, wanted)
    return workbook_source(Path(name), wanted) or label_file(Path(name))


def _entries(path: Path) -> Iterator[Entry]:
    read = datetime.now(UTC)
    for number, row in enumerate(read_rows(path, _fits)):
        if not number and not _fits(row.values, whole=row.cells):
            raise _unknown_columns(path, row)
        yield from _of_row(row, _by_field(row.values), read)


def _by_field(values: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """What a row holds, by meaning; of several columns that mean the same, the first that is not empty."""
    found: dict[str, JsonValue] = {}
    for header, value in values.items():
        if (field := _field(header)) and is_empty(found.get(field)):
            found[field] = value
    return found


def _of_row(row: Row, values: Mapping[str, JsonValue], read: datetime) -> Iterator[Entry]:
    try:
        verdicts = _labelled(values) if "labels" in values else _graded(values)
    except _Unusable as error:
        yield Entry(row.place, fault=str(error))
        return
    for verdict in verdicts:
        yield Entry(row.place, verdict.model_copy(update={"given": read}))
    if not verdicts:
        yield Entry(row.place)


def _field(header: str) -> str | None:
    return _FIELDS.get(normalised(header))


def _fits(headers: Iterable[str], *, whole: bool = True) -> bool:
    """Whether there is what it takes to tell a turn and its grade, which an object may leave out."""
    found = set(map(_field, headers))
    graded = {"conversation", "turn", "grade"} if whole else {"conversation", "turn"}
    return graded <= found or {"id", "labels"} <= found


def _unknown_columns(path: Path, row: Row) -> CaseFileError:
    there = ", ".join(printable(name) for name in list(row.values)[:8])
    msg = (
        f"{path}, {row.place}: no columns conversation, turn and grade, nor id and labels"
        f" (there are: {there}). Name the columns like that."
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
        msg = f"id {shown(plain_text(values.get('id')))} is not <conversation>/<turn>"
        raise _Unusable(msg)
    labels = _object(values.get("labels"))
    name = LABEL if LABEL in labels or len(labels) != 1 else next(iter(labels))
    votes = _list(labels.get(name))
    if labels and name not in labels:
        msg = f"labels has no '{LABEL}' among {', '.join(map(shown, labels))}"
        raise _Unusable(msg)
    _check_scale(_object(values.get("scale")).get(name) or values.get("scale"))
    meta = _object(values.get("meta"))
    names = _beside(votes, _object(values.get("annotators")).get(name))
    comments = _beside(votes, meta.get("comments"))
    if votes and not any(names):
        names = [str(number) for number in range(1, len(votes) + 1)] if len(votes) > 1 else [""]
    at = {"conversation": conversation, "turn": _turn(turn), "source": "blind"} | _sampling(meta)
    return [
        HumanVerdict(**at, reviewer=who, grade=_grade(vote), comment=comment)
        for vote, who, comment in zip(votes, names, comments, strict=True)
        if not is_empty(vote)
    ]


def _check_scale(scale: JsonValue) -> None:
    """Grades on another scale would pass for worse ones."""
    if isinstance(scale, str) and scale.strip() and not _SCALE.fullmatch(scale):
        msg = f"its scale is {shown(scale)}; only grades from 1 to 5 are read"
        raise _Unusable(msg)


def _beside(votes: Sequence[JsonValue], given: JsonValue) -> list[str]:
    """A text for each vote, empty where none belongs to it."""
    texts = list(map(plain_text, _list(given)))
    return texts if len(texts) == len(votes) else [""] * len(votes)


def _sampling(values: Mapping[str, JsonValue]) -> dict[str, Any]:
    sampled = values.get("sampled")
    if is_empty(sampled):
        return {"stratum": plain_text(values.get("stratum"))}
    rate = _number(sampled)
    if rate is None or not 0 < rate <= 1:
        msg = f"sampled {shown(sampled)} is not between 0 and 1"
        raise _Unusable(msg)
    return {"stratum": plain_text(values.get("stratum")), "sampled": rate}


def _turn(value: JsonValue) -> int:
    number = _number(value)
    if number is None or number != int(number):
        msg = f"turn {shown(plain_text(value))} is no whole number"
        raise _Unusable(msg)
    return int(number)


def _grade(value: JsonValue) -> float:
    number = _number(value)
    if number is None or not LOWEST <= number <= HIGHEST:
        msg = f"grade {shown(plain_text(value))} is not between {LOWEST} and {HIGHEST}"
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
    """A text without control codes but line breaks."""
    return "" if value is None else plain(str(value)).strip()


def _object(value: JsonValue) -> Mapping[str, JsonValue]:
    """An object, or one that is written inside a cell."""
    value = _inside(value)
    return value if isinstance(value, dict) else {}


def _list(value: JsonValue) -> Sequence[JsonValue]:
    """A list, or a single value as one of one."""
    value = _inside(value)
    return value if isinstance(value, list) else [] if is_empty(value) else [value]


def _inside(value: JsonValue) -> Any:
    if isinstance(value, str) and value.lstrip()[:1] in {"{", "["}:
        try:
            return json.loads(value)
        except (ValueError, RecursionError):
            return value
    return value


SHEET = "sheet"
# The worksheets in which the team says something of turns.
NAMES = ("review", "blind")
REVIEWERS = ("1", "2")
# What the run knows of the sheet it was pushed to: {"key": ..., "worksheet": ...}.
NOTE = "sheet"
_TEAM = ("judge_is", "correct_answer", "cause", "comment", "assignee", "checked", "status")
_KEY = re.compile(r"(?P<run>[^/]+)/.+/\d+", re.DOTALL)
_POINTS = re.compile(r"(\d(?:\.\d+)?)\s*点?")
# How notes of the readers end: that the row does not count is said of all faults alike.
_ENDING = re.compile(r"(?:[;,] (?:passed over|left out))?\.?$")
_WORKBOOKS = frozenset({".xlsx", ".xlsm"})
# Our worksheet may have lost its keys; somebody's own table of that title has fewer of our columns.
_OURS = 5


class ReviewTarget(NamedTuple):
    """The run that verdicts are meant for.

    `asked` is the sheet that was named, with the suffix of its worksheets; `usual` is the one to take where
    none was named and the run knows of none.
    """

    results: Results
    summary: Summary
    language: Language
    asked: tuple[str | None, str | None] = (None, None)
    usual: tuple[str | None, str | None] = (None, None)


def sheet_of(name: str, wanted: ReviewTarget) -> tuple[str, str]:
    """Key (or address) and suffix of the sheet meant by `sheet`, `sheet:KEY_OR_URL` or an address.

    Raises InputError where `sheet` is meant and no push has left a note in the run.
    """
    note = wanted.results.notes.get(NOTE)
    told = note if isinstance(note, dict) else {}
    pushed = str(told.get("key") or ""), str(told.get("worksheet") or "")
    key, suffix = wanted.asked
    key = ("" if name == SHEET else name.removeprefix(f"{SHEET}:").strip()) or key
    known = [each for each in (pushed, wanted.usual) if each[0]]
    if not key and not known:
        msg = f"{wanted.results.run.id} was pushed to no sheet: name one with --sheet KEY_OR_URL."
        raise InputError(msg)
    # A sheet that is known has its own suffix, however it was named.
    there = next(((k, s) for k, s in known if not key or str(k) in key), (key, ""))
    return str(key or there[0]), str(suffix or there[1] or "")


def sheet_source(name: str, wanted: ReviewTarget) -> Source:
    """What stands in the run's Google Sheet now."""
    key, suffix = sheet_of(name, wanted)

    def read() -> Iterator[Entry]:
        from simulator.sheets.google_api import target  # gspread: only where a sheet is named
        from simulator.sheets.google_pull import pull

        found = pull(target(key, suffix), NAMES)
        if not found.rows:
            words = SheetWords(wanted.language)
            there = " nor ".join(words("sheet", each) for each in NAMES)
            msg = f"sheet {printable(key)}: neither {there} is in it; write them with: report --to sheets"
            raise InputError(msg)
        yield from verdicts(found.rows, wanted)
        yield from map(_remark, found.notes)

    return read


def workbook_source(path: Path, wanted: ReviewTarget) -> Source | None:
    """What stands in a workbook that was written by `--to xlsx`; None where it is another workbook."""
    if plain_suffix(path) not in _WORKBOOKS or not path.is_file():
        return None
    from simulator.sheets.excel_read import read_edited

    edited = read_edited(path)
    sheets = {name: sheet for name, sheet in edited.sheets.items() if name in NAMES}
    if not any("key" in sheet.columns or len(sheet.columns) >= _OURS for sheet in sheets.values()):
        return None
    rows = {name: [row.pulled for row in sheet.rows] for name, sheet in sheets.items()}
    remarks = [_remark(note) for note in edited.notes if _concerns(note)]

    def read() -> Iterator[Entry]:
        yield from verdicts(rows, wanted)
        yield from remarks

    return read


def _concerns(note: str) -> bool:
    """Whether a workbook's note is about a worksheet that is read, and says what is not said again."""
    from simulator.sheets.model import folded, layouts

    tab = folded(re.split(r"[:,]", note)[0])
    others = {title for name, layout in layouts().items() if name not in NAMES for title in layout.tabs}
    return tab not in others and "added row" not in note


def _remark(note: str) -> Entry:
    """A line of a reader's about what it passed over; what people deleted as a whole is no fault of a row."""
    place, _, why = _ENDING.sub("", note).partition(": ")
    if "no column" in why or "no such worksheet" in why:
        return Entry(place, note=why)
    return Entry(place, fault=why or "passed over")


@dataclass(frozen=True)
class _RowLocation:
    """Where a row stands, and which turn it is about."""

    place: str
    conversation: str
    turn: int
    read: datetime

    def verdict(self, **said: Any) -> Entry:
        """A verdict on that turn."""
        at = {"conversation": self.conversation, "turn": self.turn, "given": self.read}
        return Entry(self.place, HumanVerdict(**at, **said))


def verdicts(rows: Mapping[str, Sequence[PulledRow]], wanted: ReviewTarget) -> Iterator[Entry]:
    """What the rows of the worksheets `review` and `blind` say of the run, and what is wrong with them."""
    results, words, read = wanted.results, SheetWords(wanted.language), datetime.now(UTC)
    run = results.run.id
    turns = {f"{run}/{c.id}/{t.index}": (c.id, t.index) for c in results.conversations for t in c.turns}
    drawn = {(d.conversation, d.turn): d for d in blind_sample(results, wanted.summary)}
    for name in NAMES:
        for row in rows.get(name, ()):
            place = f"{words('sheet', name)} row {row.number}"
            at = turns.get(row.key.strip())
            if at is None:
                yield from _stranger(row, place, run)
            elif name == "review":
                yield from _review(row.cells, _RowLocation(place, *at, read))
            else:
                yield from _blind(row.cells, _RowLocation(place, *at, read), drawn.get(at))


def _stranger(row: PulledRow, place: str, run: str) -> Iterator[Entry]:
    """A row that is about no turn of this run."""
    key = row.key.strip()
    found = _KEY.fullmatch(key)
    if found and found["run"] != run:
        yield Entry(place, other_run=True)
    elif key:
        yield Entry(place, fault=f"its key {shown(key)} names no turn of this run")
    elif any(row.cells.get(column) for column in (*_TEAM, "grade_1", "comment_1", "grade_2", "comment_2")):
        yield Entry(place, fault="it has no key of its own (a row that was added or copied)")


def _review(cells: Mapping[str, str], at: _RowLocation) -> Iterator[Entry]:
    said = {column: text for column in _TEAM if (text := plain_text(cells.get(column)))}
    judged = title_ids("judge_is").get(said.get("judge_is", ""))
    if "judge_is" in said and judged is None:
        what = f"judge_is {shown(said['judge_is'])} is none of the choices"
        yield Entry(at.place, fault=what)
    said.pop("judge_is", None)
    if said or judged:
        yield at.verdict(source="review", judge_is=judged, **said)
    elif not cells.get("judge_is", "").strip():
        yield Entry(at.place)


def _blind(cells: Mapping[str, str], at: _RowLocation, drawn: SampledTurn | None) -> Iterator[Entry]:
    """One verdict for each reviewer who wrote something; a comment counts without a grade, too."""
    sampled = {"stratum": drawn.stratum, "sampled": drawn.sampled} if drawn else {}
    empty = True
    for reviewer in REVIEWERS:
        given = plain_text(cells.get(f"grade_{reviewer}"))
        comment = plain_text(cells.get(f"comment_{reviewer}"))
        grade = grade_of(given)
        if given and grade is None:
            what = f"grade_{reviewer} {shown(given)} is not between {LOWEST} and {HIGHEST}"
            yield Entry(at.place, fault=what)
        elif given or comment:
            yield at.verdict(source="blind", reviewer=reviewer, grade=grade, comment=comment, **sampled)
        empty = empty and not (given or comment)
    if empty:
        yield Entry(at.place)


def grade_of(text: str) -> float | None:
    """A grade 1..5 as people type it (4, ４, 4点); None for anything else."""
    found = _POINTS.fullmatch(unicodedata.normalize("NFKC", text).strip())
    grade = float(found[1]) if found else 0.0
    return grade if LOWEST <= grade <= HIGHEST else None


class Fault(NamedTuple):
    """Something that cannot be used: where it stands, and why."""

    place: str
    why: str


@dataclass
class Taken:
    """What a source came to: verdicts that fit the run, rows in which nobody wrote, and faults.

    `other_runs` counts rows about other runs; `notes` are about the source as a whole.
    """

    verdicts: list[HumanVerdict] = field(default_factory=list)
    empty: int = 0
    other_runs: int = 0
    faults: list[Fault] = field(default_factory=list)
    notes: list[Fault] = field(default_factory=list)


def take(entries: Iterable[Entry], results: Results) -> Taken:
    """What fits the run, and what does not; of two grades for one turn by one reviewer the first fits."""
    turns = {
        conversation.id: {turn.index for turn in conversation.turns} for conversation in results.conversations
    }
    taken, known = Taken(), dict[tuple[str, int, str, str], str]()
    for entry in entries:
        why = entry.fault or (_why_not(entry.verdict, turns, known) if entry.verdict else "")
        if why:
            taken.faults.append(Fault(entry.place, why))
        elif entry.note:
            taken.notes.append(Fault(entry.place, entry.note))
        elif entry.verdict is None:
            taken.other_runs += entry.other_run
            taken.empty += not entry.other_run
        else:
            known[_key(entry.verdict)] = entry.place
            taken.verdicts.append(entry.verdict)
    return taken


def _why_not(
    verdict: HumanVerdict, turns: dict[str, set[int]], known: dict[tuple[str, int, str, str], str]
) -> str:
    if verdict.conversation not in turns:
        return f"no conversation {shown(verdict.conversation)} in this run"
    if verdict.turn not in turns[verdict.conversation]:
        return f"conversation {shown(verdict.conversation)} has no turn {verdict.turn}"
    if first := known.get(_key(verdict)):
        who = f" by {shown(verdict.reviewer)}" if verdict.reviewer else ""
        return f"a second grade{who} for the same turn; the first is on {first}"
    return ""


def _key(verdict: HumanVerdict) -> tuple[str, int, str, str]:
    return verdict.conversation, verdict.turn, verdict.source, verdict.reviewer
