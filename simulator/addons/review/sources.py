"""Reads people's verdicts from files, workbooks and Google Sheets.

Each source gives entries, with their places in the file or worksheet; everything after that (checking
against the run, storing, comparing) is the same for all of them.
"""

import json
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import JsonValue

from simulator.core.document import Text
from simulator.core.errors import CaseFileError, InputError
from simulator.core.messages import _, message_of, safe_text, shown
from simulator.core.types import HumanVerdict, Language, Results
from simulator.data.files import plain_suffix, printable, quote
from simulator.data.rows import read_rows
from simulator.data.values import is_empty, normalised
from simulator.sheets.merge import EditedSheets
from simulator.sheets.model import CHOICES, TABS, PulledRow, layouts
from simulator.stats.figures import Summary
from simulator.stats.review import blind_sample

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

    place: Text
    verdict: HumanVerdict | None = None
    fault: Text = ""
    other_run: bool = False
    note: Text = ""


class _Unusable(Exception):
    """Why a row cannot be used."""


def entries_of(name: str, target: "ReviewTarget") -> Iterable[Entry]:
    """What stands in the source that `--from` names: sheet, sheet:KEY_OR_URL, or a file.

    A workbook of `--to xlsx` is recognised by its worksheets; any other file is a table of blind grades.
    """
    if name == SHEET or name.startswith(f"{SHEET}:") or _ADDRESS.match(name):
        return sheet_entries(name, target)
    workbook = workbook_entries(Path(name), target)
    return label_file(Path(name)) if workbook is None else workbook


def label_file(path: Path) -> Iterator[Entry]:
    """Blind grades in a JSONL or CSV file (also TSV, Excel, `.gz`, Shift_JIS).

    Either the columns conversation, turn, reviewer, grade (1-5) and comment, a grade in each row; or labelled
    answers with the id "<conversation>/<turn>" and `labels`: {"human": [4, 5]}.
    """
    given = datetime.now(UTC)
    for number, row in enumerate(read_rows(path, _fits)):
        if not number and not _fits(row.values, whole=row.cells):
            msg = _(
                "{path}, {place}: no columns conversation, turn and grade, nor id and labels (there are:"
                " {there}). Name the columns like that.",
                path=path,
                place=row.place,
                there=", ".join(printable(name) for name in list(row.values)[:8]),
            )
            raise CaseFileError(msg)
        try:
            verdicts = _verdicts_of(row.values, given)
        except _Unusable as error:
            yield Entry(row.place, fault=message_of(error))
            continue
        yield from (Entry(row.place, verdict) for verdict in verdicts or (None,))


def _field(header: str) -> str | None:
    return _FIELDS.get(normalised(header))


def _fits(headers: Iterable[str], *, whole: bool = True) -> bool:
    """Whether the columns name a turn and its grade; a JSON object may leave out the grade (not `whole`)."""
    fields = set(map(_field, headers))
    graded = {"conversation", "turn", "grade"} if whole else {"conversation", "turn"}
    return graded <= fields or {"id", "labels"} <= fields


def _verdicts_of(row: Mapping[str, JsonValue], given: datetime) -> list[HumanVerdict]:
    """The grade of a row, or those of a labelled answer, one for each of its annotators; none while empty."""
    values: dict[str, JsonValue] = {}
    for header, value in row.items():
        # Of several columns for one field the first that is not empty counts.
        if (field := _field(header)) and is_empty(values.get(field)):
            values[field] = value
    if "labels" in values:
        conversation, turn, grades = _labelled(values)
        values = dict(_object(values.get("meta")))
    else:
        conversation, turn = plain_text(values.get("conversation")), values.get("turn")
        grades = [
            (values.get("grade"), plain_text(values.get("reviewer")), plain_text(values.get("comment")))
        ]
    grades = [each for each in grades if not is_empty(each[0])]
    if not grades:
        return []
    number = _number(turn)
    if number is None or number != int(number):
        raise _Unusable(_("turn {turn} is not a whole number", turn=quote(plain_text(turn))))
    sampled = values.get("sampled")
    rate = None if is_empty(sampled) else _number(sampled)
    if not is_empty(sampled) and (rate is None or not 0 < rate <= 1):
        raise _Unusable(_("sampled {sampled} is not between 0 and 1", sampled=quote(sampled)))
    return [
        HumanVerdict(
            conversation=conversation,
            turn=int(number),
            source="blind",
            given=given,
            stratum=plain_text(values.get("stratum")),
            sampled=rate,
            grade=_grade(grade),
            reviewer=reviewer,
            comment=comment,
        )
        for grade, reviewer, comment in grades
    ]


def _labelled(values: Mapping[str, JsonValue]) -> tuple[str, JsonValue, list[tuple[JsonValue, str, str]]]:
    """Conversation and turn of a labelled answer; each annotator's grade, name and comment."""
    conversation, slash, turn = plain_text(values.get("id")).rpartition("/")
    if not slash:
        raise _Unusable(_("id {id} is not <conversation>/<turn>", id=quote(plain_text(values.get("id")))))
    labels = _object(values.get("labels"))
    name = LABEL if LABEL in labels or len(labels) != 1 else next(iter(labels))
    votes = _list(labels.get(name))
    if labels and name not in labels:
        msg = _("labels has no '{label}' among {labels}", label=LABEL, labels=tuple(map(quote, labels)))
        raise _Unusable(msg)
    # On another scale the same grade means something else.
    scale = _object(values.get("scale")).get(name) or values.get("scale")
    if isinstance(scale, str) and scale.strip() and not _SCALE.fullmatch(scale):
        raise _Unusable(_("its scale is {scale}; only grades from 1 to 5 are read", scale=quote(scale)))
    names = _per_vote(votes, _object(values.get("annotators")).get(name))
    comments = _per_vote(votes, _object(values.get("meta")).get("comments"))
    if len(votes) > 1 and not any(names):
        names = [str(number) for number in range(1, len(votes) + 1)]
    return conversation, turn, list(zip(votes, names, comments, strict=True))


def _per_vote(votes: Sequence[JsonValue], value: JsonValue) -> list[str]:
    """A text for each vote; all empty where their number differs."""
    texts = list(map(plain_text, _list(value)))
    return texts if len(texts) == len(votes) else [""] * len(votes)


def _grade(value: JsonValue) -> float:
    grade = grade_of(plain_text(value))
    if grade is None:
        msg = _(
            "grade {grade} is not between {lowest} and {highest}",
            grade=quote(plain_text(value)),
            lowest=LOWEST,
            highest=HIGHEST,
        )
        raise _Unusable(msg)
    return grade


def grade_of(text: str) -> float | None:
    """A grade 1..5 as people write it (4, ４, 4点); None for anything else."""
    match = _POINTS.fullmatch(unicodedata.normalize("NFKC", text).strip())
    grade = float(match[1]) if match else 0.0
    return grade if LOWEST <= grade <= HIGHEST else None


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


def sheet_entries(name: str, run: ReviewTarget) -> Iterator[Entry]:
    """The verdicts in the run's Google Sheet as it is now."""
    from simulator.sheets.google_api import target  # gspread: only where a sheet is named
    from simulator.sheets.google_sheets import pull

    key, suffix = sheet_of(name, run)
    pulled = pull(target(key, suffix), NAMES)
    if not pulled.rows:
        msg = _(
            "sheet {key}: neither {titles} is in it; write them with: report --to sheets",
            key=printable(key),
            titles=" nor ".join(shown(TABS[name], run.language) for name in NAMES),
        )
        raise InputError(msg)
    yield from verdicts(pulled.rows, run)
    yield from _notes(pulled)
    for missing in (name for name in NAMES if name not in pulled.sheets):
        yield Entry(missing, note=_("there is no such worksheet"))


def workbook_entries(path: Path, target: ReviewTarget) -> Iterable[Entry] | None:
    """The verdicts in a workbook that was written by `--to xlsx`; None for any other file."""
    if plain_suffix(path) not in _WORKBOOKS or not path.is_file():
        return None
    from simulator.sheets.excel import read_edited

    edited = read_edited(path)
    sheets = [edited.sheets[name] for name in NAMES if name in edited.sheets]
    if not any("key" in sheet.columns or len(sheet.columns) >= _LEAST_COLUMNS for sheet in sheets):
        return None
    return chain(verdicts(edited.rows, target), _notes(edited))


def _notes(edited: EditedSheets) -> Iterator[Entry]:
    """What could not be read; a missing column is no fault of a row, and copied rows are faults already."""
    for name in NAMES:
        for note in edited.sheets[name].notes if name in edited.sheets else ():
            if note.about == "column":
                yield Entry(note.place, note=note.why)
            elif note.about == "cell":
                yield Entry(note.place, fault=note.why)


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
                continue
            verdict = partial(HumanVerdict, conversation=at[0], turn=at[1], given=read)
            if name == "review":
                yield from _review(row.cells, place, verdict)
            elif at in sample:
                sampling = {"stratum": sample[at].stratum, "sampled": sample[at].sampled}
                yield from _blind(row.cells, place, partial(verdict, **sampling))
            else:
                yield from _blind(row.cells, place, verdict)


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


def _review(cells: Mapping[str, str], place: str, verdict: Callable[..., HumanVerdict]) -> Iterator[Entry]:
    texts = {column: text for column in _TEAM if (text := plain_text(cells.get(column)))}
    choice = texts.pop("judge_is", "")
    picked = layouts()["review"].choice("judge_is", choice)
    judge_is = picked if picked in CHOICES["judge_is"] else None
    if choice and judge_is is None:
        yield Entry(place, fault=_("judge_is {choice} is not one of the choices", choice=quote(choice)))
    if texts or judge_is:
        yield Entry(place, verdict(source="review", judge_is=judge_is, **texts))
    elif not choice:
        yield Entry(place)


def _blind(cells: Mapping[str, str], place: str, verdict: Callable[..., HumanVerdict]) -> Iterator[Entry]:
    """One verdict for each reviewer who wrote something; a comment counts without a grade, too."""
    written = {
        n: (plain_text(cells.get(f"grade_{n}")), plain_text(cells.get(f"comment_{n}"))) for n in REVIEWERS
    }
    for reviewer, (text, comment) in written.items():
        grade = grade_of(text)
        if text and grade is None:
            fault = _(
                "grade_{reviewer} {text} is not between {lowest} and {highest}",
                reviewer=reviewer,
                text=quote(text),
                lowest=LOWEST,
                highest=HIGHEST,
            )
            yield Entry(place, fault=fault)
        elif text or comment:
            yield Entry(place, verdict(source="blind", reviewer=reviewer, grade=grade, comment=comment))
    if not any(map(any, written.values())):
        yield Entry(place)


@dataclass
class Taken:
    """The verdicts of a source that fit the run; `faults` are the places of the others, and why not.

    `empty` counts rows in which nobody wrote, `other_runs` rows about other runs; `notes` are about the
    source as a whole.
    """

    verdicts: list[HumanVerdict] = field(default_factory=list)
    empty: int = 0
    other_runs: int = 0
    faults: list[tuple[Text, Text]] = field(default_factory=list)
    notes: list[tuple[Text, Text]] = field(default_factory=list)


def take(entries: Iterable[Entry], results: Results) -> Taken:
    """Sorts entries by whether they fit the run; of one reviewer's two grades for a turn the first fits."""
    turns = {
        conversation.id: {turn.index for turn in conversation.turns} for conversation in results.conversations
    }
    taken, places = Taken(), dict[tuple[str, int, str, str], Text]()
    for entry in entries:
        verdict, why = entry.verdict, entry.fault
        if verdict:
            key = verdict.conversation, verdict.turn, verdict.source, verdict.reviewer
            why = why or _why_not(verdict, turns, places.get(key))
            if not why:
                places[key] = entry.place
                taken.verdicts.append(verdict)
        if why:
            taken.faults.append((entry.place, why))
        elif entry.note:
            taken.notes.append((entry.place, entry.note))
        elif entry.other_run:
            taken.other_runs += 1
        elif not verdict:
            taken.empty += 1
    return taken


def _why_not(verdict: HumanVerdict, turns: Mapping[str, set[int]], first: Text | None) -> Text:
    """Why a verdict does not fit the run; `first` is the place of an earlier one by the same reviewer."""
    if verdict.conversation not in turns:
        return _("no conversation {conversation} in this run", conversation=quote(verdict.conversation))
    if verdict.turn not in turns[verdict.conversation]:
        return _(
            "conversation {conversation} has no turn {turn:d}",
            conversation=quote(verdict.conversation),
            turn=verdict.turn,
        )
    if not first:
        return ""
    if not verdict.reviewer:
        return _("a second grade for the same turn; the first is on {place}", place=first)
    return _(
        "a second grade by {reviewer} for the same turn; the first is on {place}",
        reviewer=quote(verdict.reviewer),
        place=first,
    )
