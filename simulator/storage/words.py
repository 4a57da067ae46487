"""What people say of a run, written into its file at any time: also while the run is being held.

A word is what the team says of an answer: whether the judge is right, the cause, the right answer and so on
(WORDS). Sheets and workbooks say all of it at once, the page of `open` one field at a time. Each is a row of
the table `verdicts`, and no row is ever changed. What counts is made of an answer's rows in their order,
field by field (`words_of`):

    page    says how all fields are from now on
    sheet   says what stands in its row. A field that says something else than when the sheet was last read or
            written was changed there by a person, and counts; every other one leaves alone what was said
            elsewhere meanwhile.

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

Word = Literal[
    "judge_is", "cause", "status", "correct_answer", "expect", "comment", "assignee", "checked", "make_test"
]
WORDS: tuple[Word, ...] = get_args(Word)
# The decision, and what of it was last read from a sheet or workbook, which is no note of the run.
DECISION, DECISION_READ = f"note:{RELEASE_DECISION}", f"read:{RELEASE_DECISION}"
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


def words_of(rows: Iterable[HumanVerdict]) -> HumanVerdict | None:
    """What counts of the words about one turn, in their order; None without any.

    Source, reviewer and time are those of the last row that changed something.
    """
    counted: HumanVerdict | None = None
    read: HumanVerdict | None = None
    for row in rows:
        said = {name: getattr(row, name) for name in WORDS}
        if row.source == "review":
            before = read or HumanVerdict(conversation=row.conversation, turn=row.turn, source="review")
            said = {name: value for name, value in said.items() if value != getattr(before, name)}
            read = row
        if counted is None:
            counted = row
        elif any(value != getattr(counted, name) for name, value in said.items()):
            kept: dict[str, Any] = {name: said.get(name, getattr(counted, name)) for name in WORDS}
            red = row.red if "judge_is" in said else counted.red
            counted = row.model_copy(update={**kept, "red": red})
    return counted


def newest_verdicts(file: sqlite3.Connection) -> tuple[HumanVerdict, ...]:
    """What counts for each turn: the words of the team as one verdict, and each reviewer's blind grade."""
    words: dict[Place, list[HumanVerdict]] = {}
    blind: dict[tuple[str, int, str], HumanVerdict] = {}
    for (body,) in file.execute("SELECT body FROM verdicts ORDER BY id"):
        verdict = HumanVerdict.model_validate_json(body)
        if verdict.source == "blind":
            blind[verdict.conversation, verdict.turn, verdict.reviewer] = verdict
        else:
            words.setdefault((verdict.conversation, verdict.turn), []).append(verdict)
    return (*filter(None, map(words_of, words.values())), *blind.values())


def has_words(path: Path) -> bool:
    """Whether the team said anything of an answer of a run."""
    with schema.snapshot(path) as file, contextlib.closing(file):
        return file.execute("SELECT 1 FROM verdicts WHERE source <> 'blind' LIMIT 1").fetchone() is not None


def save_verdicts(path: Path, verdicts: Iterable[HumanVerdict]) -> int:
    """Saves what people say about turns; returns how many verdicts are new or changed.

    A sheet is read time and again: what it says as it did before is no new verdict.
    """
    added = 0
    with writing(path) as file:
        for verdict in verdicts:
            latest = _latest(file, verdict)
            if latest is None or not verdict.same_as(latest):
                _insert(file, verdict)
                added += 1
    return added


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
            verdict = HumanVerdict.model_validate(fields)
            _insert(file, verdict)
            saved.append(verdict)
    return saved


def _rows(file: sqlite3.Connection, place: Place) -> Iterator[HumanVerdict]:
    query = "SELECT body FROM verdicts WHERE conversation = ? AND turn = ? AND source <> 'blind' ORDER BY id"
    for (body,) in file.execute(query, place):
        yield HumanVerdict.model_validate_json(body)


def note_written(path: Path) -> None:
    """Notes that a sheet or workbook has been given what counts now, in cells that were empty.

    When it is read, this is nothing that a person has changed there.
    """
    with writing(path) as file:
        for word in newest_verdicts(file):
            rows = list(_rows(file, (word.conversation, word.turn)))
            read = next((row for row in reversed(rows) if row.source == "review"), None)
            if word.source == "blind":
                continue
            before = read or HumanVerdict(conversation=word.conversation, turn=word.turn, source="review")
            update: dict[str, Any] = {name: getattr(before, name) or getattr(word, name) for name in WORDS}
            written = before.model_copy(update={**update, "expect": before.expect, "red": word.red})
            if not written.same_as(before):
                _insert(file, written)


def add_to_note(path: Path, name: str, entry: JsonValue) -> None:
    """Adds an entry to a note of the run that is a list."""
    with writing(path) as file:
        schema.put(file, f"note:{name}", json.dumps([*_listed(file, name), entry], ensure_ascii=False))


def _listed(file: sqlite3.Connection, name: str) -> list[JsonValue]:
    row = file.execute("SELECT body FROM about WHERE key = ?", (f"note:{name}",)).fetchone()
    return list(json.loads(row[0])) if row else []


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
        (run,) = file.execute("SELECT body FROM about WHERE key = 'run'").fetchone()
        planned, ended = file.execute("SELECT count(*), count(ended) FROM conversations").fetchone()
        status = Run.model_validate_json(run).status
        decision, again = _decision(file, DECISION), _listed(file, AGAIN)
        return News(newest_verdicts(file), decision, status, planned, ended, again)


def save_release_decision(path: Path, decision: ReleaseDecision) -> bool:
    """Saves what a sheet says that the team decided; returns whether it is new.

    What the sheet said when it was read before undoes nothing that was decided elsewhere since.
    """
    with writing(path) as file:
        if _decision(file, DECISION_READ) == decision:
            return False
        is_new = _decision(file, DECISION) != decision
        for key in (DECISION, DECISION_READ):
            schema.put(file, key, decision.model_dump_json())
    return is_new


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
    row = file.execute("SELECT body FROM about WHERE key = ?", (key,)).fetchone()
    return ReleaseDecision.model_validate_json(row[0]) if row else None
