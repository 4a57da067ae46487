"""What people say of a run, written into its file at any time: also while the run is being held.

A word is what the team says of an answer: whether the judge is right, the cause, the right answer and so on
(WORDS). Sheets and workbooks say all of it at once, the page of `open` one field at a time. Each is a row of
the table `verdicts`, and no row is ever changed. What counts is made of an answer's rows in their order,
field by field (`words_of`):

    page    says how all fields are from now on
    sheet   says what stands in its row. A field that says something else than when this sheet or workbook was
            last read or written was changed there by a person, and counts; every other one leaves alone what
            was said elsewhere meanwhile. A copy that was never read is held against what was read last, and
            its empty fields say nothing.

    row                                            counts
    1  sheet  judge right, cause tone              right, tone
    2  page   judge wrong, cause tone              wrong, tone
    3  sheet  judge right, cause tone, owner Ito   wrong, tone, Ito    what was read before undoes nothing
    4  sheet  judge unsure, cause tone, owner Ito  unsure, tone, Ito   somebody has changed it there

Undoing is a further row, too. A write takes no lock of the run: a short transaction that begins with the
right to write (BEGIN IMMEDIATE) waits for others of its kind, and reads nothing that another one changes.
"""

import contextlib
import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

from pydantic import JsonValue

from simulator.core.errors import RunFileError
from simulator.core.messages import _
from simulator.core.types import RELEASE_DECISION, HumanVerdict, ReleaseDecision, Run, Status
from simulator.storage import schema

Word = Literal["judge_is", "cause", "status", "correct_answer", "expect", "comment", "assignee", "make_test"]
WORDS: tuple[Word, ...] = get_args(Word)
# The decision, and what of it was last read from or written to a document, which is no note of the run.
DECISION, DECISION_READ = f"note:{RELEASE_DECISION}", f"read:{RELEASE_DECISION}:"
# The note with the conversations that were held once more (api/again.py), which change no score.
AGAIN = "again"
# Seconds that a write waits for those of others: a run in progress writes in milliseconds.
PATIENCE = 10
# A turn, by its conversation and number.
Place = tuple[str, int]
_LATEST = """SELECT body FROM verdicts
  WHERE conversation = ? AND turn = ? AND source = ? AND reviewer = ? ORDER BY id DESC LIMIT 1"""
_INSERT = "INSERT INTO verdicts VALUES (NULL, ?, ?, ?, ?, ?)"


class Edit(NamedTuple):
    """A field that somebody changes: what they saw in it, and what it is to be."""

    was: JsonValue
    now: JsonValue


class OtherWord(Exception):
    """Somebody else wrote meanwhile, so nothing was written; `current` is what is there, None for nothing."""

    def __init__(self, current: HumanVerdict | ReleaseDecision | None) -> None:
        super().__init__()
        self.current = current


@contextlib.contextmanager
def writing(path: Path) -> Iterator[sqlite3.Connection]:
    """A transaction on a run file, whoever else writes it; an exception leaves the file as it was.

    Raises RunFileError where it cannot be written.
    """
    schema.check(path)
    with contextlib.closing(sqlite3.connect(path, isolation_level=None, timeout=PATIENCE)) as file:
        try:
            file.execute("PRAGMA synchronous=FULL")  # a word that is shown as saved outlives a power cut
            file.execute("BEGIN IMMEDIATE")
            yield file
            file.execute("COMMIT")
        except sqlite3.Error as error:
            raise RunFileError(_("{path}: cannot be written ({error}).", path=path, error=error)) from None


class Spoken(NamedTuple):
    """What counts of the words about a turn.

    Source, reviewer and time of `word` are those of the last row that changed something; `by` has, for each
    field that was ever filled, the row that changed it last; `read` has, by document, what it said when it
    was last read or written, the last one last.
    """

    word: HumanVerdict
    by: Mapping[Word, HumanVerdict]
    read: Mapping[str, HumanVerdict]


def spoken_of(rows: Iterable[HumanVerdict]) -> Spoken | None:
    """What counts of the words about one turn, in their order; None without any."""
    word: HumanVerdict | None = None
    by, read = dict[Word, HumanVerdict](), dict[str, HumanVerdict]()
    for row in rows:
        said = {name: getattr(row, name) for name in WORDS if name not in row.silent}
        if row.source == "review":
            last = read.pop(row.document, None)
            before = last or next(reversed(read.values()), None) or _nothing(row)
            said = {
                name: value for name, value in said.items()
                if value != getattr(before, name) and (last or value)
            }  # fmt: skip
            unread: dict[str, Any] = {name: getattr(last or _nothing(row), name) for name in row.silent}
            read[row.document] = row.model_copy(update=unread)
        if word is None:
            word, said = row, {name: value for name, value in said.items() if value}
            by = dict.fromkeys(said, row)
        elif said := {name: value for name, value in said.items() if value != getattr(word, name)}:
            kept: dict[str, Any] = {name: said.get(name, getattr(word, name)) for name in WORDS}
            red = row.red if "judge_is" in said else word.red
            word = row.model_copy(update={**kept, "red": red})
            by |= dict.fromkeys(said, row)
    return Spoken(word, by, read) if word else None


def words_of(rows: Iterable[HumanVerdict]) -> HumanVerdict | None:
    """The word that counts of those about one turn, in their order; None without any."""
    spoken = spoken_of(rows)
    return spoken and spoken.word


def _nothing(row: HumanVerdict) -> HumanVerdict:
    """What a document says of a turn before anybody wrote in it."""
    return HumanVerdict(conversation=row.conversation, turn=row.turn, source="review", document=row.document)


def newest_verdicts(file: sqlite3.Connection) -> tuple[HumanVerdict, ...]:
    """What counts for each turn: the words of the team as one verdict, and each reviewer's blind grade."""
    blind: dict[tuple[str, int, str], HumanVerdict] = {}
    for (body,) in file.execute("SELECT body FROM verdicts WHERE source = 'blind' ORDER BY id"):
        verdict = HumanVerdict.model_validate_json(body)
        blind[verdict.conversation, verdict.turn, verdict.reviewer] = verdict
    return (*(spoken.word for spoken in _spoken(file).values()), *blind.values())


class Replaced(NamedTuple):
    """A word that a document replaced: its turn, its field, what it was, who wrote it, and what it is now."""

    place: Place
    name: Word
    before: JsonValue
    by: str
    after: JsonValue


class Saved(NamedTuple):
    """The verdicts that were new or changed, and the words from elsewhere that they replaced."""

    added: tuple[HumanVerdict, ...]
    replaced: tuple[Replaced, ...]


def save_verdicts(path: Path, verdicts: Iterable[HumanVerdict]) -> Saved:
    """Saves what people say about turns.

    A sheet is read time and again: what it says as it did before is no new verdict.
    """
    added, replaced = list[HumanVerdict](), list[Replaced]()
    with writing(path) as file:
        for verdict in verdicts:
            if verdict.source == "blind":
                before = [_latest(file, verdict)]
            else:
                rows = list(_rows(file, verdict.key))
                spoken = spoken_of(rows)
                before = [*spoken.read.values()] if spoken else []
                replaced += _replaced(spoken, spoken_of([*rows, verdict])) if spoken else ()
            if not any(verdict.same_as(read) for read in before if read):
                _insert(file, verdict)
                # A copy of a workbook says nothing new.
                where: dict[str, Any] = {"document": verdict.document}
                if not any(verdict.same_as(read.model_copy(update=where)) for read in before if read):
                    added.append(verdict)
    return Saved(tuple(added), tuple(replaced))


def _replaced(before: Spoken, after: Spoken | None) -> Iterator[Replaced]:
    """The words that somebody wrote elsewhere, and that are no longer what counts."""
    for name, row in before.by.items():
        was, now = (getattr(spoken.word, name) if spoken else None for spoken in (before, after))
        is_elsewhere = after and row.document != after.by[name].document
        if was and was != now and is_elsewhere:
            yield Replaced(row.key, name, was, row.reviewer, now)


def save_blind_grade(path: Path, verdict: HumanVerdict, seen: tuple[int | None, str]) -> None:
    """Saves a blind grade in the place of the one (with its comment) that its reviewer saw.

    Raises OtherWord, and writes nothing, where that name has graded the answer elsewhere meanwhile.
    """
    with writing(path) as file:
        latest = _latest(file, verdict)
        current = (latest.grade, latest.comment) if latest else (None, "")
        if current not in (seen, (verdict.grade, verdict.comment)):
            raise OtherWord(latest)
        _insert(file, verdict)


def _latest(file: sqlite3.Connection, verdict: HumanVerdict) -> HumanVerdict | None:
    """What the same reviewer said before of the same turn, in the same kind of place."""
    row = file.execute(_LATEST, _key(verdict)).fetchone()
    return HumanVerdict.model_validate_json(row[0]) if row else None


def _insert(file: sqlite3.Connection, verdict: HumanVerdict) -> None:
    file.execute(_INSERT, (*_key(verdict), verdict.model_dump_json()))


def _key(verdict: HumanVerdict) -> tuple[str, int, str, str]:
    return verdict.conversation, verdict.turn, verdict.source, verdict.reviewer


def save_words(
    path: Path,
    places: Mapping[Place, bool],
    changes: Mapping[Word, Edit],
    by: str,
    *,
    red: bool | None = None,
) -> list[HumanVerdict]:
    """Changes fields of what is said of an answer; returns what counts then at each of its places.

    `places` are all that have this answer, the first of them the one that was looked at. What is said of the
    mark (`judge_is`) counts only for places that are True: those with the same mark. `red` says which.

    Raises OtherWord, and writes nothing, where a field no longer says what was seen and would change.
    """
    given, saved = datetime.now(UTC), list[HumanVerdict]()
    with writing(path) as file:
        counted = {place: words_of(_rows(file, place)) for place in places}
        first = next(iter(counted.values()))
        for name, change in changes.items():
            current = getattr(first, name) if first else HumanVerdict.model_fields[name].default
            if current not in (change.was, change.now):
                raise OtherWord(first)
        for (conversation, turn), same_mark in places.items():
            row = counted[conversation, turn] or HumanVerdict(
                conversation=conversation, turn=turn, source="page"
            )
            said = {name: change.now for name, change in changes.items() if same_mark or name != "judge_is"}
            mark = red if "judge_is" in said else row.red
            fields = row.model_dump() | said | {"source": "page", "reviewer": by, "given": given, "red": mark}
            fields |= {"document": "", "silent": ()}
            verdict = HumanVerdict.model_validate(fields)
            _insert(file, verdict)
            saved.append(verdict)
    return saved


def _rows(file: sqlite3.Connection, place: Place) -> Iterator[HumanVerdict]:
    query = "SELECT body FROM verdicts WHERE conversation = ? AND turn = ? AND source <> 'blind' ORDER BY id"
    for (body,) in file.execute(query, place):
        yield HumanVerdict.model_validate_json(body)


class InDocument(NamedTuple):
    """What counts of a run, and what a document said of it when it was last read or written."""

    words: Mapping[Place, Spoken]
    decision: ReleaseDecision | None
    decision_read: ReleaseDecision | None
    document: str


def in_document(path: Path, document: str) -> InDocument:
    """What counts now, and what a sheet or workbook said last."""
    with schema.snapshot(path) as file, contextlib.closing(file), schema.undamaged(path):
        return InDocument(
            _spoken(file), _decision(file, DECISION), _decision(file, f"{DECISION_READ}{document}"), document
        )


def note_written(path: Path, document: str) -> None:
    """Notes that a sheet or workbook has been given what counts now.

    When it is read, this is nothing that a person has changed there.
    """
    with writing(path) as file:
        for spoken in _spoken(file).values():
            before = spoken.read.get(document) or _nothing(spoken.word).model_copy(
                update={"document": document}
            )
            update: dict[str, Any] = {name: getattr(spoken.word, name) for name in WORDS}
            update |= {"expect": before.expect, "red": spoken.word.red, "silent": frozenset()}
            written = before.model_copy(update=update)
            if not written.same_as(before):
                _insert(file, written)
        decision = _decision(file, DECISION) or ReleaseDecision()
        schema.put(file, f"{DECISION_READ}{document}", decision.model_dump_json())


def _spoken(file: sqlite3.Connection) -> dict[Place, Spoken]:
    """What counts of the team's words, by turn."""
    spoken = {place: spoken_of(rows) for place, rows in _all_rows(file).items()}
    return {place: words for place, words in spoken.items() if words}


def _all_rows(file: sqlite3.Connection) -> dict[Place, list[HumanVerdict]]:
    rows: dict[Place, list[HumanVerdict]] = {}
    for (body,) in file.execute("SELECT body FROM verdicts WHERE source <> 'blind' ORDER BY id"):
        row = HumanVerdict.model_validate_json(body)
        rows.setdefault(row.key, []).append(row)
    return rows


def all_words(path: Path) -> dict[Place, list[HumanVerdict]]:
    """All that was ever said of each turn of a run, blind grades aside."""
    with schema.snapshot(path) as file, contextlib.closing(file):
        return _all_rows(file)


def carry(path: Path, words: Mapping[Place, Iterable[HumanVerdict]]) -> None:
    """Writes what was said of the same answers in an earlier run, for turns of which nothing is said yet."""
    with writing(path) as file:
        said = _all_rows(file)
        for place, rows in words.items():
            for row in rows if place not in said else ():
                _insert(file, row.model_copy(update={"conversation": place[0], "turn": place[1]}))


def add_to_note(path: Path, name: str, entry: JsonValue) -> None:
    """Adds an entry to a note of the run that is a list."""
    with writing(path) as file:
        schema.put(file, f"note:{name}", json.dumps([*_listed(file, name), entry], ensure_ascii=False))


def _listed(file: sqlite3.Connection, name: str) -> list[JsonValue]:
    return list(json.loads(schema.get(file, f"note:{name}") or "[]"))


class News(NamedTuple):
    """What may change in a run while somebody looks at it; `planned` and `ended` count conversations.

    `again` are conversations that were held once more, oldest first.
    """

    verdicts: tuple[HumanVerdict, ...]
    decision: ReleaseDecision | None
    status: Status
    planned: int
    ended: int
    again: list[JsonValue]


def read_news(path: Path) -> News:
    """What people say of a run at this moment, and how far it has come."""
    with schema.snapshot(path) as file, contextlib.closing(file), schema.undamaged(path):
        planned, ended = file.execute("SELECT count(*), count(ended) FROM conversations").fetchone()
        status = Run.model_validate_json(schema.get(file, "run") or "").status
        decision, again = _decision(file, DECISION), _listed(file, AGAIN)
        return News(newest_verdicts(file), decision, status, planned, ended, again)


def save_release_decision(path: Path, decision: ReleaseDecision, document: str) -> ReleaseDecision | None:
    """Saves what a sheet or workbook says that the team decided; returns the decision that it replaced.

    What it said when it was read before undoes nothing that was decided elsewhere since. None where nothing
    is replaced.
    """
    with writing(path) as file:
        read, current = _decision(file, f"{DECISION_READ}{document}"), _decision(file, DECISION)
        if read == decision:
            return None
        for key in (DECISION, f"{DECISION_READ}{document}"):
            schema.put(file, key, decision.model_dump_json())
    return current if current != decision else None


def decide_release(path: Path, seen: ReleaseDecision, decision: ReleaseDecision) -> None:
    """Saves a decision in the place of the one that was seen; raises OtherWord where it is no longer that."""
    with writing(path) as file:
        current = _decision(file, DECISION)
        if (current or ReleaseDecision()) not in (seen, decision):
            raise OtherWord(current)
        if decision == ReleaseDecision():  # taken back
            file.execute("DELETE FROM about WHERE key = ?", (DECISION,))
        else:
            schema.put(file, DECISION, decision.model_dump_json())


def _decision(file: sqlite3.Connection, key: str) -> ReleaseDecision | None:
    body = schema.get(file, key)
    return ReleaseDecision.model_validate_json(body) if body else None
