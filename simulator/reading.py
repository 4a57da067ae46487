"""Rows of a run file as values again, in as little memory as they can stand in.

A run of 10,000 conversations has a quarter of a million of them: what many have in common (a case, a
passage, the name of a judge) is kept once, and none carries a dict or a list of its fields of its own.
"""

import json
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, overload

from simulator import schema
from simulator.compact import compact
from simulator.types import (
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
    Utterance,
)

_TALK = 'SELECT id, persona, repeat, "case", ended, reason, closing FROM conversations'
# Of a score, what it shares with many others.
_REPEATED = ("judge", "conversation", "rubric", "scale", "value", "raw")
_TURNS = "SELECT conversation, turn, utterance, answer FROM turns WHERE answer IS NOT NULL"


def results_of(file: sqlite3.Connection) -> Results:
    """Everything in the file."""
    reading = Reading()
    turns: dict[str, list[Turn]] = {}
    for conversation, turn in reading.turns(file.execute(f"{_TURNS} ORDER BY conversation, turn")):
        turns.setdefault(conversation, []).append(turn)
    rows = file.execute(f"{_TALK} ORDER BY position")
    conversations = tuple(reading.conversation(row, turns.pop(row[0], ())) for row in rows)
    scores = file.execute("SELECT body FROM scores ORDER BY conversation, turn, judge")
    return Results.model_construct(  # made of values that were checked one by one
        run=run_of(file),
        planned=len(conversations),
        personas=tuple(Persona.model_validate(p) for p in json.loads(about(file, "personas"))),
        conversations=conversations,
        scores=tuple(reading.scores(scores)),
        spending=_spending(file),
        usage=_usage(file),
        verdicts=_verdicts(file),
        notes=_notes(file),
    )


class Talks(Sequence[Conversation]):
    """The conversations of a file, in the plan's order; none is held here."""

    def __init__(self, file: sqlite3.Connection) -> None:
        """Knows the ids."""
        self._file = file
        self._ids = [key for (key,) in file.execute("SELECT id FROM conversations ORDER BY position")]

    def __len__(self) -> int:
        """How many there are."""
        return len(self._ids)

    @overload
    def __getitem__(self, at: int) -> Conversation: ...

    @overload
    def __getitem__(self, at: slice) -> list[Conversation]: ...

    def __getitem__(self, at: int | slice) -> Conversation | list[Conversation]:
        """One of them, or some, as far as they have come."""
        meant = self._ids[at]
        return self._one(meant) if isinstance(meant, str) else [self._one(key) for key in meant]

    def _one(self, key: str) -> Conversation:
        reading = Reading()
        query = f"{_TURNS} AND conversation = ? ORDER BY turn"
        turns = [turn for _, turn in reading.turns(self._file.execute(query, (key,)))]
        return reading.conversation(self._file.execute(f"{_TALK} WHERE id = ?", (key,)).fetchone(), turns)


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

    def __init__(self) -> None:
        """Nothing yet."""
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
            yield conversation, compact(turn)

    def conversation(self, row: tuple[Any, ...], turns: Iterable[Turn]) -> Conversation:
        """A conversation with its turns; those about the same case hold the same case."""
        key, persona, repeat, case, ended, reason, closing = row
        talk = Conversation(
            id=self._once(key),
            case=self._cases.get(case) or self._case(case),
            persona=self._once(persona),
            repeat=repeat,
            turns=tuple(turns),
            ended=Ended(ended) if ended else None,
            reason=reason,
            closing=closing,
        )
        return compact(talk)

    def scores(self, rows: Iterable[tuple[str]]) -> Iterator[Score]:
        """Scores; names, and a reason that is also in the detail, are held once."""
        once = self._once
        for (body,) in rows:
            read = Score.model_validate_json(body)
            own = {name: once(getattr(read, name)) for name in _REPEATED}
            reason = next((text for text in read.detail.values() if text == read.reason), read.reason)
            yield compact(read, **own, reason=reason)

    def _case(self, body: str) -> Case:
        self._cases[body] = compact(Case.model_validate_json(body))
        return self._cases[body]

    def _answer(self, answer: Answer) -> Answer:
        return compact(answer, passages=tuple(map(self._passage, answer.passages)))

    def _passage(self, passage: Passage) -> Passage:
        key = (passage.id, passage.text, passage.source, passage.score)
        if key not in self._passages:
            names = {"text": self._once(passage.text), "id": self._once(passage.id)}
            self._passages[key] = compact(passage, **names)
        return self._passages[key]

    def _once(self, word: Any) -> Any:
        return self._words.setdefault(word, word)


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
