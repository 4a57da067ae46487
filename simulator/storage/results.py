"""Rows of a run file as values again, in as little memory as they can stand in.

A run of 10,000 conversations has a quarter of a million of them: what many have in common (a case, a
passage, the name of a judge) is kept once, and none carries a dict or a list of its fields of its own.
"""

import functools
import json
import sqlite3
import weakref
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from typing import Any, TypeVar, cast, overload

from simulator.core.types import (
    SCRIPTED,
    SUPERSEDED,
    Answer,
    Case,
    Conversation,
    Ended,
    HumanVerdict,
    Passage,
    Persona,
    Results,
    Run,
    Score,
    Spending,
    Turn,
    Usage,
    Utterance,
    compact,
)
from simulator.storage import schema

_TALK = 'SELECT id, persona, repeat, "case", ended, reason, closing FROM conversations'
# Of a score, what it shares with many others.
_REPEATED = ("judge", "conversation", "rubric", "scale", "value", "raw", "reason")
_TURNS = "SELECT conversation, turn, utterance, answer FROM turns WHERE answer IS NOT NULL"
# A single-turn data set of more rows is not held in memory: its rows are read again by whoever looks at them.
LARGE = 5_000
# So many are read at a time.
_AT_ONCE = 250

# The scores of a conversation, by turn and judge.
ByTurn = dict[int, dict[str, Score]]


def results_of(file: sqlite3.Connection) -> Results:
    """Everything in the file; of a large single-turn data set rows and scores as they are asked for.

    For as long as these are looked at, the file has to stay open.
    """
    if is_large(file):
        return _made(file, StoredConversations(file), Scores(file))
    reading = Reading()
    turns: dict[str, list[Turn]] = {}
    for conversation, turn in reading.turns(file.execute(f"{_TURNS} ORDER BY conversation, turn")):
        turns.setdefault(conversation, []).append(turn)
    rows = file.execute(f"{_TALK} ORDER BY position")
    conversations = tuple(reading.conversation(row, turns.pop(row[0], ())) for row in rows)
    scores = file.execute("SELECT body FROM scores ORDER BY conversation, turn, judge")
    return _made(file, conversations, tuple(reading.scores(scores)))


def is_large(file: sqlite3.Connection) -> bool:
    """Whether this is a data set that is not held in memory."""
    (planned,) = file.execute("SELECT count(*) FROM conversations").fetchone()
    return planned > LARGE and run_of(file).asks_once


def _made(
    file: sqlite3.Connection, conversations: Sequence[Conversation], scores: Sequence[Score]
) -> Results:
    return Results.model_construct(  # made of values that were checked one by one
        run=run_of(file),
        planned=len(conversations),
        personas=tuple(Persona.model_validate(p) for p in json.loads(about(file, "personas"))),
        conversations=cast("tuple[Conversation, ...]", conversations),
        scores=cast("tuple[Score, ...]", scores),
        spending=_spending(file),
        usage=_usage(file),
        judging=_judging(file),
        verdicts=_verdicts(file),
        notes=_notes(file),
    )


class StoredConversations(Sequence[Conversation]):
    """The conversations of a file, in the plan's order; none is held here."""

    def __init__(self, file: sqlite3.Connection, condition: str = "TRUE") -> None:
        """Knows the ids; `condition` says of which, in the words of the file's own tables."""
        self._file = file
        query = f"SELECT id FROM conversations WHERE {condition} ORDER BY position"  # noqa: S608 - ours
        self.ids = [key for (key,) in file.execute(query)]

    def __len__(self) -> int:
        """How many there are."""
        return len(self.ids)

    @overload
    def __getitem__(self, at: int) -> Conversation: ...

    @overload
    def __getitem__(self, at: slice) -> list[Conversation]: ...

    def __getitem__(self, at: int | slice) -> Conversation | list[Conversation]:
        """One of them, or some, as far as they have come."""
        meant = self.ids[at]
        return self._some([meant], keeping=True)[0] if isinstance(meant, str) else list(self.some(meant))

    def __iter__(self) -> Iterator[Conversation]:
        """All of them, a few at a time."""
        for part in _parts(self.ids):
            yield from self._some(part, keeping=False)

    def some(self, keys: Sequence[str]) -> Iterator[Conversation]:
        """Those with these ids, in this order."""
        for part in _parts(keys):
            yield from self._some(part, keeping=True)

    def with_scores(self, keys: Sequence[str] | None = None) -> Iterator[tuple[Conversation, ByTurn]]:
        """All of them, or those with these ids, each with its scores."""
        for part in _parts(self.ids if keys is None else keys):
            found: dict[str, ByTurn] = {}
            rows = self._of(
                "SELECT body FROM scores WHERE conversation IN", part, "conversation, turn, judge"
            )
            for score in map(Score.model_validate_json, (body for (body,) in rows)):
                found.setdefault(score.conversation, {}).setdefault(score.turn, {})[score.judge] = score
            for conversation in self._some(part, keeping=keys is not None):
                yield conversation, found.get(conversation.id, {})

    def count(self, condition: str) -> int:
        """How many there are of which this is true, in the words of the file's own tables."""
        query = f"SELECT count(*) FROM conversations WHERE {condition}"  # noqa: S608 - all of it is ours
        return int(self._file.execute(query).fetchone()[0])

    def unfinished(self) -> "StoredConversations":
        """Those that are to be held: new ones, and those that were cut off."""
        return StoredConversations(
            self._file, f"ended IS NULL OR ended IN ('{Ended.INTERRUPTED}', '{Ended.BUDGET}')"
        )

    def begun(self) -> "StoredConversations":
        """Those with a turn."""
        return StoredConversations(
            self._file, "id IN (SELECT conversation FROM turns WHERE answer IS NOT NULL)"
        )

    def skipped_by(self, judge: str) -> "StoredConversations":
        """Those with a turn that this judge skipped."""
        skipped = (
            "SELECT conversation FROM scores WHERE judge = '{}' AND json_extract(body, '$.state') = 'skipped'"
        )
        return StoredConversations(self._file, f"id IN ({skipped.format(judge)})")

    def usages(self) -> Iterator[Usage]:
        """What the bot's models took for each answer; of a chain, link by link."""
        told = "SELECT answer FROM turns WHERE instr(answer, '\"usage\"')"
        for (body,) in self._file.execute(told):
            answer = json.loads(body)
            for found in answer.get("steps") or (answer,):
                if usage := found.get("usage"):
                    yield Usage.model_construct(**usage)

    @property
    def cases(self) -> "Cases":
        """What these conversations are about: the rows of a single-turn data set."""
        return Cases(self._file, self)

    def _some(self, keys: Sequence[str], *, keeping: bool) -> list[Conversation]:
        reading, turns = Reading(keeping=keeping), dict[str, list[Turn]]()
        spoken = self._of(f"{_TURNS} AND conversation IN", keys, "conversation, turn")
        for conversation, turn in reading.turns(spoken):
            turns.setdefault(conversation, []).append(turn)
        rows = {row[0]: row for row in self._of(f"{_TALK} WHERE id IN", keys, "id")}
        return [reading.conversation(rows[key], turns.get(key, ())) for key in keys]

    def _of(self, query: str, keys: Sequence[str], order: str) -> list[Any]:
        places = ",".join("?" * len(keys))
        return self._file.execute(f"{query} ({places}) ORDER BY {order}", keys).fetchall()


class Cases(Sequence[Case]):
    """The rows of a single-turn data set that is being held; none is held here."""

    def __init__(self, file: sqlite3.Connection, conversations: StoredConversations) -> None:
        """Of these conversations."""
        self._file, self._talks = file, conversations

    def __len__(self) -> int:
        """How many there are, repeats counted."""
        return len(self._talks)

    @overload
    def __getitem__(self, at: int) -> Case: ...

    @overload
    def __getitem__(self, at: slice) -> list[Case]: ...

    def __getitem__(self, at: int | slice) -> Case | list[Case]:
        """One of them, or some."""
        return (
            [conversation.case for conversation in self._talks[at]]
            if isinstance(at, slice)
            else self._talks[at].case
        )

    def of_id(self, key: str) -> Case | None:
        """The one of this id, if there is one."""
        conversation = f"{SCRIPTED}/{key}#1"
        row = self._file.execute('SELECT "case" FROM conversations WHERE id = ?', (conversation,)).fetchone()
        return row and Case.model_validate_json(row[0])


class Scores(Sequence[Score]):
    """The scores of a file; none is held here."""

    def __init__(self, file: sqlite3.Connection) -> None:
        """Reads nothing yet."""
        self._file = file

    def __len__(self) -> int:
        """How many there are."""
        return int(self._file.execute("SELECT count(*) FROM scores").fetchone()[0])

    @overload
    def __getitem__(self, at: int) -> Score: ...

    @overload
    def __getitem__(self, at: slice) -> list[Score]: ...

    def __getitem__(self, at: int | slice) -> Score | list[Score]:
        """One of them, or some; all are gone through for it."""
        return list(self)[at]

    def __iter__(self) -> Iterator[Score]:
        """All of them, in the order of conversations, turns and judges."""
        rows = self._file.execute("SELECT body FROM scores ORDER BY conversation, turn, judge")
        while part := rows.fetchmany(_AT_ONCE):
            yield from (Score.model_validate_json(body) for (body,) in part)

    @property
    def judges(self) -> set[str]:
        """Who gave them."""
        return {judge for (judge,) in self._file.execute("SELECT DISTINCT judge FROM scores")}


def with_scores(results: Results) -> Iterator[tuple[Conversation, ByTurn]]:
    """Every conversation of a run with its scores."""
    if isinstance(results.conversations, StoredConversations):
        yield from results.conversations.with_scores()
        return
    found: dict[str, ByTurn] = {}
    for score in results.scores:
        found.setdefault(score.conversation, {}).setdefault(score.turn, {})[score.judge] = score
    for conversation in results.conversations:
        yield conversation, found.get(conversation.id, {})


def judges_of(results: Results) -> set[str]:
    """Everyone who graded something in a run."""
    scores = results.scores
    return scores.judges if isinstance(scores, Scores) else {score.judge for score in scores}


def _parts(keys: Sequence[str]) -> Iterator[Sequence[str]]:
    for start in range(0, len(keys), _AT_ONCE):
        yield keys[start : start + _AT_ONCE]


def scores_of(file: sqlite3.Connection, conversation: str) -> Iterator[Score]:
    """The scores of one conversation."""
    rows = file.execute(
        "SELECT body FROM scores WHERE conversation = ? ORDER BY turn, judge", (conversation,)
    )
    return Reading().scores(rows)


def run_of(file: sqlite3.Connection) -> Run:
    """What the run was started with, and how it stands."""
    return Run.model_validate_json(about(file, "run"))


def about(file: sqlite3.Connection, key: str) -> str:
    """What the file says of the whole run; raises ValueError where it says nothing."""
    row = file.execute("SELECT body FROM about WHERE key = ?", (key,)).fetchone()
    if row is None:
        msg = f"'{key}' is missing"
        raise ValueError(msg)
    return str(row[0])


class Reading:
    """One pass over a file, and what it has come across already."""

    def __init__(self, *, keeping: bool = True) -> None:
        """Nothing yet. `keeping`: what is read is held, and so made small; else it is let go at once."""
        self._small: Callable[..., Any] = compact if keeping else _as_it_is
        self._cases: dict[str, Case] = {}
        self._passages: dict[tuple[Any, ...], Passage] = {}
        self._words: dict[Any, Any] = {}

    def turns(self, rows: Iterable[tuple[Any, ...]]) -> Iterator[tuple[str, Turn]]:
        """Answered turns, each with the id of its conversation."""
        for conversation, index, utterance, answer in rows:
            said = Utterance.model_validate_json(utterance)
            heard = self._answer(Answer.model_validate_json(answer))
            turn = Turn(
                index=index, user=said.text, answer=heard, broken_rules=said.broken_rules, clean=said.clean
            )
            yield conversation, self._small(turn)

    def conversation(self, row: tuple[Any, ...], turns: Iterable[Turn]) -> Conversation:
        """A conversation with its turns; those about the same case hold the same case."""
        key, persona, repeat, case, ended, reason, closing = row
        conversation = Conversation(
            id=self._once(key),
            case=self._cases.get(case) or self._case(case),
            persona=self._once(persona),
            repeat=repeat,
            turns=tuple(turns),
            ended=Ended(ended) if ended else None,
            reason=reason,
            closing=closing,
        )
        return self._small(conversation)  # type: ignore[no-any-return]

    def scores(self, rows: Iterable[tuple[str]]) -> Iterator[Score]:
        """Scores; names, and what judges say again and again, are held once."""
        once = self._once
        for (body,) in rows:
            read = Score.model_validate_json(body)
            own = {name: once(getattr(read, name)) for name in _REPEATED}
            detail = {key: once(told) if isinstance(told, str) else told for key, told in read.detail.items()}
            yield compact(read, **own, detail=detail)

    def _case(self, body: str) -> Case:
        self._cases[body] = self._small(Case.model_validate_json(body))
        return self._cases[body]

    def _answer(self, answer: Answer) -> Answer:
        if not answer.passages:
            return self._small(answer)  # type: ignore[no-any-return]
        return compact(answer, passages=tuple(map(self._passage, answer.passages)))

    def _passage(self, passage: Passage) -> Passage:
        key = (passage.id, passage.text, passage.source, passage.score)
        if key not in self._passages:
            names = {"text": self._once(passage.text), "id": self._once(passage.id)}
            self._passages[key] = compact(passage, **names)
        return self._passages[key]

    def _once(self, word: Any) -> Any:
        return self._words.setdefault(word, word)


def _as_it_is(value: Any) -> Any:
    return value


def _verdicts(file: sqlite3.Connection) -> tuple[HumanVerdict, ...]:
    """The newest of each reviewer about each turn; files of version 1 have none."""
    if schema.version_of(file) < 2:
        return ()
    rows = file.execute(
        """SELECT body FROM verdicts WHERE id IN
          (SELECT max(id) FROM verdicts GROUP BY conversation, turn, source, reviewer) ORDER BY id"""
    )
    return tuple(HumanVerdict.model_validate_json(row[0]) for row in rows)


def _notes(file: sqlite3.Connection) -> dict[str, Any]:
    rows = file.execute("SELECT key, body FROM about WHERE key LIKE 'note:%'")
    return {key.removeprefix("note:"): json.loads(body) for key, body in rows}


def _spending(file: sqlite3.Connection) -> dict[str, Spending]:
    query = """SELECT role, sum(NOT cached), sum(cached), sum(tokens_in * NOT cached),
      sum(tokens_out * NOT cached), CASE WHEN count(*) = count(cost_usd) THEN sum(cost_usd) END
      FROM calls GROUP BY role"""
    return {
        role: Spending(calls=calls, cached=cached, tokens_in=i, tokens_out=o, cost_usd=cost)
        for role, calls, cached, i, o, cost in file.execute(query)
    }


def _judging(file: sqlite3.Connection) -> dict[str, Spending]:
    """What each judge has used; files before version 3 do not tell."""
    if schema.version_of(file) < 3:
        return {}
    query = """SELECT judge, sum(NOT cached), sum(cached), sum(tokens_in * NOT cached),
      sum(tokens_out * NOT cached), CASE WHEN count(*) = count(cost_usd) THEN sum(cost_usd) END
      FROM calls WHERE judge <> '' GROUP BY judge"""
    return {
        judge: Spending(calls=calls, cached=cached, tokens_in=i, tokens_out=o, cost_usd=cost)
        for judge, calls, cached, i, o, cost in file.execute(query)
    }


def _usage(file: sqlite3.Connection) -> dict[str, dict[str, Spending]]:
    """What each model has used in each role."""
    query = """SELECT role, model, sum(NOT cached), sum(cached), sum(tokens_in * NOT cached),
      sum(tokens_out * NOT cached), CASE WHEN count(*) = count(cost_usd) THEN sum(cost_usd) END
      FROM calls GROUP BY role, model"""
    found: dict[str, dict[str, Spending]] = {}
    for role, model, calls, cached, i, o, cost in file.execute(query):
        spent = Spending(calls=calls, cached=cached, tokens_in=i, tokens_out=o, cost_usd=cost)
        found.setdefault(role, {})[model] = spent
    return found


Told = TypeVar("Told")


def once(look: Callable[[Results], Told]) -> Callable[[Results], Told]:
    """The same function, which does not look twice at the run that it looked at last."""
    latest: list[tuple[weakref.ref[Results], Told]] = []

    @functools.wraps(look)
    def looked(results: Results) -> Told:
        if not latest or latest[0][0]() is not results:
            latest[:] = [(weakref.ref(results), look(results))]
        return latest[0][1]

    return looked


def counted(results: Results) -> Results:
    """The run without the conversations that were held once more because of their customer."""
    held_again = results.notes.get(SUPERSEDED)
    if not isinstance(held_again, dict) or not held_again:
        return results
    conversations = tuple(
        conversation for conversation in results.conversations if conversation.id not in held_again
    )
    scores = tuple(score for score in results.scores if score.conversation not in held_again)
    gone = len(results.conversations) - len(conversations)
    left = {"planned": results.planned - gone, "conversations": conversations, "scores": scores}
    return results.model_copy(update=left) if gone else results


def english_share(results: Results) -> float:
    """The share (0..1) of conversations that are in English; 0 of none."""
    conversations = results.conversations
    if not conversations:
        return 0.0
    if isinstance(conversations, StoredConversations):
        return conversations.count("""json_extract("case", '$.language') = 'en'""") / len(conversations)
    return sum(conversation.case.language == "en" for conversation in conversations) / len(conversations)


def retrieves(results: Results) -> bool:
    """Whether any answer came with passages."""
    conversations = results.conversations
    if isinstance(conversations, StoredConversations):
        some = "SELECT conversation FROM turns WHERE json_array_length(answer, '$.passages') > 0"
        return conversations.count(f"id IN ({some})") > 0
    return any(turn.answer.passages for conversation in conversations for turn in conversation.turns)


def marks(results: Results) -> bool:
    """Whether any row says that it can, or cannot, be answered, or whether it is to be handed over."""
    conversations = results.conversations
    if isinstance(conversations, StoredConversations):
        answerable = """json_extract("case", '$.answerable') IS NOT NULL"""
        handover = """coalesce(json_extract("case", '$.handover'), 'optional') <> 'optional'"""
        return conversations.count(f"{answerable} OR {handover}") > 0
    return any(
        conversation.case.answerable is not None or conversation.case.handover != "optional"
        for conversation in conversations
    )


def begun(results: Results) -> int:
    """How many conversations have a turn."""
    conversations = results.conversations
    if isinstance(conversations, StoredConversations):
        return conversations.count("id IN (SELECT conversation FROM turns WHERE answer IS NOT NULL)")
    return sum(bool(conversation.turns) for conversation in conversations)


def picked(results: Results, keys: Container[str]) -> Iterator[tuple[int, Conversation]]:
    """The conversations with these ids, in the plan's order, each with its number in it, from 1."""
    conversations = results.conversations
    if isinstance(conversations, StoredConversations):
        numbers = [number for number, key in enumerate(conversations.ids, 1) if key in keys]
        yield from zip(
            numbers, conversations.some([conversations.ids[number - 1] for number in numbers]), strict=True
        )
        return
    yield from (
        (number, conversation)
        for number, conversation in enumerate(conversations, 1)
        if conversation.id in keys
    )


def overview_scores_of(results: Results, keys: Container[str]) -> Iterator[Score]:
    """The scores of the conversations with these ids."""
    conversations = results.conversations
    if isinstance(conversations, StoredConversations):
        wanted: Sequence[str] = [key for key in conversations.ids if key in keys]
        for _, by_turn in conversations.with_scores(wanted):
            yield from (score for by_judge in by_turn.values() for score in by_judge.values())
        return
    yield from (score for score in results.scores if score.conversation in keys)
