"""Where people's verdicts come from. A source gives entries: a verdict each, or why there is none.

A source is a function that gives entries with a place that its reader finds again; everything after that
(checking against the run, storing, comparing) is the same for files, worksheets and workbooks.
"""

import json
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from pydantic import JsonValue

from simulator.core.errors import CaseFileError
from simulator.core.translations import plain
from simulator.core.types import HumanVerdict
from simulator.data.files import printable, shown
from simulator.data.tables import read_rows
from simulator.data.values import Row, is_empty, normalised

if TYPE_CHECKING:
    from simulator.review.pulled import Wanted

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


def source_of(name: str, wanted: "Wanted") -> Source:
    """The source that is meant by what stands after --from: sheet, sheet:KEY_OR_URL, or a file.

    A workbook of `--to xlsx` is known by its worksheets; any other file holds a table of blind grades.
    """
    from simulator.review import pulled  # reads reports; a plain table needs none

    if name == pulled.SHEET or name.startswith(f"{pulled.SHEET}:") or _ADDRESS.match(name):
        return pulled.sheet_source(name, wanted)
    return pulled.workbook_source(Path(name), wanted) or label_file(Path(name))


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
