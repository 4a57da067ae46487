"""Reads the tables of a run file into `Results`, in little memory.

A run of 10,000 conversations has a quarter of a million values: what many have in common (a case, a
passage, the name of a judge) exists once, and no value carries its own dict of fields. A large single-turn
data set is not loaded at all: its `Results` hold sequences that read the file when they are looked at.
"""

import functools
import json
import sqlite3
import weakref
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from typing import Any, TypeVar, cast, overload

from simulator.core.messages import _
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

_CONVERSATIONS = 'SELECT id, persona, repeat, "case", ended, reason, closing FROM conversations'
# Fields of a score whose values repeat in many others.
_REPEATED = ("judge", "conversation", "rubric", "scale", "value", "raw", "reason")
_TURNS = "SELECT conversation, turn, utterance, answer FROM turns WHERE answer IS NOT NULL"
_HAS_TURN = "id IN (SELECT conversation FROM turns WHERE answer IS NOT NULL)"
# A single-turn data set with more rows is not loaded into memory: its rows are read whenever they are needed.
LARGE = 5_000
# How many conversations or scores are read at a time.
_BATCH = 250

# The scores of a conversation, by turn, then by judge.
TurnScores = dict[int, dict[str, Score]]


def results_of(file: sqlite3.Connection) -> Results:
    """Everything in the file; for a large single-turn data set, with sequences that read on access.

    The file has to stay open for as long as these sequences are used.
    """
    conversations: Sequence[Conversation]
    scores: Sequence[Score]
    if is_large(file):
        conversations, scores = StoredConversations(file), StoredScores(file)
    else:
        reader = RowReader()
        turns: dict[str, list[Turn]] = {}
        for conversation, turn in reader.turns(file.execute(f"{_TURNS} ORDER BY conversation, turn")):
            turns.setdefault(conversation, []).append(turn)
        rows = file.execute(f"{_CONVERSATIONS} ORDER BY position")
        conversations = tuple(reader.conversation(row, turns.pop(row[0], ())) for row in rows)
        bodies = file.execute("SELECT body FROM scores ORDER BY conversation, turn, judge")
        scores = tuple(reader.scores(bodies))
    notes = file.execute("SELECT key, body FROM about WHERE key LIKE 'note:%'")
    return Results.model_construct(  # the values were validated one by one
        run=run_of(file),
        planned=len(conversations),
        personas=tuple(Persona.model_validate(p) for p in json.loads(read_about(file, "personas"))),
        conversations=cast("tuple[Conversation, ...]", conversations),
        scores=cast("tuple[Score, ...]", scores),
        spending={role: spending for (role,), spending in _spending(file, "role")},
        usage=_usage(file),
        judging=_judging(file),
        verdicts=_verdicts(file),
        notes={key.removeprefix("note:"): json.loads(body) for key, body in notes},
    )


def is_large(file: sqlite3.Connection) -> bool:
    """Whether the file holds a single-turn data set that is too large to load."""
    (planned,) = file.execute("SELECT count(*) FROM conversations").fetchone()
    return planned > LARGE and run_of(file).asks_once


def run_of(file: sqlite3.Connection) -> Run:
    """How the run was started, and its current status."""
    return Run.model_validate_json(read_about(file, "run"))


def read_about(file: sqlite3.Connection, key: str) -> str:
    """An entry about the whole run, as JSON. Raises ValueError when it is missing."""
    row = file.execute("SELECT body FROM about WHERE key = ?", (key,)).fetchone()
    if row is None:
        msg = _("'{key}' is missing", key=key)
        raise ValueError(msg)
    return str(row[0])


def scores_of(file: sqlite3.Connection, conversation: str) -> Iterator[Score]:
    """The scores of one conversation, in the order of turns and judges."""
    rows = file.execute(
        "SELECT body FROM scores WHERE conversation = ? ORDER BY turn, judge", (conversation,)
    )
    return RowReader().scores(rows)


class StoredConversations(Sequence[Conversation]):
    """The conversations of a file in the order of the plan, each read when it is accessed."""

    def __init__(self, file: sqlite3.Connection, condition: str = "TRUE") -> None:
        """Reads the ids only. `condition` is SQL on the columns of the table `conversations`."""
        self._file = file
        query = f"SELECT id FROM conversations WHERE {condition} ORDER BY position"  # noqa: S608 - ours
        self.ids = [key for (key,) in file.execute(query)]

    def __len__(self) -> int:
        """How many there are; no conversation is read."""
        return len(self.ids)

    @overload
    def __getitem__(self, index: int) -> Conversation: ...

    @overload
    def __getitem__(self, index: slice) -> list[Conversation]: ...

    def __getitem__(self, index: int | slice) -> Conversation | list[Conversation]:
        """One conversation or several, with the turns that the file holds by now."""
        ids = self.ids[index]
        return self._read([ids], compacted=True)[0] if isinstance(ids, str) else list(self.with_ids(ids))

    def __iter__(self) -> Iterator[Conversation]:
        """All conversations, read in batches."""
        for batch in _batches(self.ids):
            yield from self._read(batch, compacted=False)

    def with_ids(self, ids: Sequence[str]) -> Iterator[Conversation]:
        """The conversations with these ids, in this order."""
        for batch in _batches(ids):
            yield from self._read(batch, compacted=True)

    def with_scores(self, ids: Sequence[str] | None = None) -> Iterator[tuple[Conversation, TurnScores]]:
        """The conversations with these ids (None: all of them), each with its scores."""
        for batch in _batches(self.ids if ids is None else ids):
            query = "SELECT body FROM scores WHERE conversation IN"
            rows = self._select(query, batch, "conversation, turn, judge")
            scores = _by_conversation(Score.model_validate_json(body) for (body,) in rows)
            for conversation in self._read(batch, compacted=ids is not None):
                yield conversation, scores.get(conversation.id, {})

    def count(self, condition: str) -> int:
        """How many conversations of the file fulfil `condition`, SQL on the table `conversations`."""
        query = f"SELECT count(*) FROM conversations WHERE {condition}"  # noqa: S608 - all of it is ours
        return int(self._file.execute(query).fetchone()[0])

    def unfinished(self) -> "StoredConversations":
        """Those still to be held: the ones without a turn, and the ones that were interrupted."""
        return StoredConversations(
            self._file, f"ended IS NULL OR ended IN ('{Ended.INTERRUPTED}', '{Ended.BUDGET}')"
        )

    def begun(self) -> "StoredConversations":
        """Those with a turn."""
        return StoredConversations(self._file, _HAS_TURN)

    def skipped_by(self, judge: str) -> "StoredConversations":
        """Those with at least one turn that this judge skipped."""
        skipped = (
            "SELECT conversation FROM scores WHERE judge = '{}' AND json_extract(body, '$.state') = 'skipped'"
        )
        return StoredConversations(self._file, f"id IN ({skipped.format(judge)})")

    def usages(self) -> Iterator[Usage]:
        """The tokens that the bot's models used for each answer; for a chain, those of each step."""
        query = "SELECT answer FROM turns WHERE instr(answer, '\"usage\"')"
        for (body,) in self._file.execute(query):
            answer = json.loads(body)
            for step in answer.get("steps") or (answer,):
                if usage := step.get("usage"):
                    yield Usage.model_construct(**usage)

    @property
    def cases(self) -> "StoredCases":
        """The cases of these conversations: the rows of a single-turn data set."""
        return StoredCases(self._file, self)

    def _read(self, ids: Sequence[str], *, compacted: bool) -> list[Conversation]:
        reader, turns = RowReader(compacted=compacted), dict[str, list[Turn]]()
        turn_rows = self._select(f"{_TURNS} AND conversation IN", ids, "conversation, turn")
        for conversation, turn in reader.turns(turn_rows):
            turns.setdefault(conversation, []).append(turn)
        rows = {row[0]: row for row in self._select(f"{_CONVERSATIONS} WHERE id IN", ids, "id")}
        return [reader.conversation(rows[key], turns.get(key, ())) for key in ids]

    def _select(self, query: str, ids: Sequence[str], order: str) -> list[Any]:
        placeholders = ",".join("?" * len(ids))
        return self._file.execute(f"{query} ({placeholders}) ORDER BY {order}", ids).fetchall()


def _batches(ids: Sequence[str]) -> Iterator[Sequence[str]]:
    for start in range(0, len(ids), _BATCH):
        yield ids[start : start + _BATCH]


def _by_conversation(scores: Iterable[Score]) -> dict[str, TurnScores]:
    grouped: dict[str, TurnScores] = {}
    for score in scores:
        grouped.setdefault(score.conversation, {}).setdefault(score.turn, {})[score.judge] = score
    return grouped


class StoredCases(Sequence[Case]):
    """The cases of stored conversations, each read when it is accessed."""

    def __init__(self, file: sqlite3.Connection, conversations: StoredConversations) -> None:
        self._file, self._conversations = file, conversations

    def __len__(self) -> int:
        """One for each conversation, so a repeated case counts more than once."""
        return len(self._conversations)

    @overload
    def __getitem__(self, index: int) -> Case: ...

    @overload
    def __getitem__(self, index: slice) -> list[Case]: ...

    def __getitem__(self, index: int | slice) -> Case | list[Case]:
        """One case or several."""
        if isinstance(index, slice):
            return [conversation.case for conversation in self._conversations[index]]
        return self._conversations[index].case

    def of_id(self, key: str) -> Case | None:
        """The case with this id, or None."""
        conversation = f"{SCRIPTED}/{key}#1"
        row = self._file.execute('SELECT "case" FROM conversations WHERE id = ?', (conversation,)).fetchone()
        return row and Case.model_validate_json(row[0])


class StoredScores(Sequence[Score]):
    """The scores of a file, in the order of conversations, turns and judges, read on every access."""

    def __init__(self, file: sqlite3.Connection) -> None:
        self._file = file

    def __len__(self) -> int:
        """How many there are; no score is read."""
        return int(self._file.execute("SELECT count(*) FROM scores").fetchone()[0])

    @overload
    def __getitem__(self, index: int) -> Score: ...

    @overload
    def __getitem__(self, index: slice) -> list[Score]: ...

    def __getitem__(self, index: int | slice) -> Score | list[Score]:
        """One score or several; slow, because all of them are read."""
        return list(self)[index]

    def __iter__(self) -> Iterator[Score]:
        """All scores, read in batches."""
        rows = self._file.execute("SELECT body FROM scores ORDER BY conversation, turn, judge")
        while batch := rows.fetchmany(_BATCH):
            yield from (Score.model_validate_json(body) for (body,) in batch)

    @property
    def judges(self) -> set[str]:
        """The judges that gave at least one score."""
        return {judge for (judge,) in self._file.execute("SELECT DISTINCT judge FROM scores")}


class RowReader:
    """Turns the rows of one pass over a file into values; equal cases, passages and names exist once."""

    def __init__(self, *, compacted: bool = True) -> None:
        """`compacted` values take less memory; it does not pay for values that are dropped at once."""
        self._compacted: Callable[..., Any] = compact if compacted else lambda value: value
        self._cases: dict[str, Case] = {}
        self._passages: dict[tuple[Any, ...], Passage] = {}
        self._interned: dict[Any, Any] = {}

    def turns(self, rows: Iterable[tuple[Any, ...]]) -> Iterator[tuple[str, Turn]]:
        """Answered turns, each with the id of its conversation."""
        for conversation, index, utterance_json, answer_json in rows:
            utterance = Utterance.model_validate_json(utterance_json)
            answer = Answer.model_validate_json(answer_json)
            if answer.passages:
                answer = compact(answer, passages=tuple(map(self._passage, answer.passages)))
            else:
                answer = self._compacted(answer)
            turn = Turn(
                index=index,
                user=utterance.text,
                answer=answer,
                broken_rules=utterance.broken_rules,
                clean=utterance.clean,
            )
            yield conversation, self._compacted(turn)

    def conversation(self, row: tuple[Any, ...], turns: Iterable[Turn]) -> Conversation:
        """A conversation with its turns; conversations about the same case share one Case."""
        key, persona, repeat, case, ended, reason, closing = row
        if case not in self._cases:
            self._cases[case] = self._compacted(Case.model_validate_json(case))
        conversation = Conversation(
            id=self._intern(key),
            case=self._cases[case],
            persona=self._intern(persona),
            repeat=repeat,
            turns=tuple(turns),
            ended=Ended(ended) if ended else None,
            reason=reason,
            closing=closing,
        )
        return self._compacted(conversation)  # type: ignore[no-any-return]

    def scores(self, rows: Iterable[tuple[str]]) -> Iterator[Score]:
        """Scores; names, and texts that judges repeat, exist once."""
        intern = self._intern
        for (body,) in rows:
            score = Score.model_validate_json(body)
            fields = {name: intern(getattr(score, name)) for name in _REPEATED}
            detail = {
                key: intern(value) if isinstance(value, str) else value for key, value in score.detail.items()
            }
            yield compact(score, **fields, detail=detail)

    def _passage(self, passage: Passage) -> Passage:
        key = (passage.id, passage.text, passage.source, passage.score)
        if key not in self._passages:
            texts = {"text": self._intern(passage.text), "id": self._intern(passage.id)}
            self._passages[key] = compact(passage, **texts)
        return self._passages[key]

    def _intern(self, value: Any) -> Any:
        return self._interned.setdefault(value, value)


def _verdicts(file: sqlite3.Connection) -> tuple[HumanVerdict, ...]:
    """The newest verdict of each reviewer on each turn; empty for files of version 1."""
    if schema.version_of(file) < 2:
        return ()
    rows = file.execute(
        """SELECT body FROM verdicts WHERE id IN
          (SELECT max(id) FROM verdicts GROUP BY conversation, turn, source, reviewer) ORDER BY id"""
    )
    return tuple(HumanVerdict.model_validate_json(row[0]) for row in rows)


def _judging(file: sqlite3.Connection) -> dict[str, Spending]:
    """The spending on each judge; empty for files before version 3."""
    if schema.version_of(file) < 3:
        return {}
    return {judge: spending for (judge,), spending in _spending(file, "judge") if judge}


def _usage(file: sqlite3.Connection) -> dict[str, dict[str, Spending]]:
    """The spending on each model, by role."""
    usage: dict[str, dict[str, Spending]] = {}
    for (role, model), spending in _spending(file, "role", "model"):
        usage.setdefault(role, {})[model] = spending
    return usage


def _spending(file: sqlite3.Connection, *columns: str) -> Iterator[tuple[tuple[str, ...], Spending]]:
    """The calls and tokens by these columns; the cost is None when that of some call is unknown."""
    group = ", ".join(columns)
    query = f"""SELECT sum(NOT cached), sum(cached),
      sum(tokens_in * NOT cached), sum(tokens_out * NOT cached),
      CASE WHEN count(*) = count(cost_usd) THEN sum(cost_usd) END, {group}
      FROM calls GROUP BY {group}"""  # noqa: S608 - our own column names
    for calls, cached, tokens_in, tokens_out, cost_usd, *key in file.execute(query):
        yield (
            tuple(key),
            Spending(
                calls=calls, cached=cached, tokens_in=tokens_in, tokens_out=tokens_out, cost_usd=cost_usd
            ),
        )


Value = TypeVar("Value")


def cache_latest(function: Callable[[Results], Value]) -> Callable[[Results], Value]:
    """A decorator that keeps the result for the `Results` that the function was last called with."""
    latest: list[tuple[weakref.ref[Results], Value]] = []

    @functools.wraps(function)
    def cached(results: Results) -> Value:
        if not latest or latest[0][0]() is not results:
            latest[:] = [(weakref.ref(results), function(results))]
        return latest[0][1]

    return cached


def without_superseded(results: Results) -> Results:
    """The run without the conversations that were held again because their customer broke the rules."""
    superseded = results.notes.get(SUPERSEDED)
    if not isinstance(superseded, dict) or not superseded:
        return results
    conversations = tuple(c for c in results.conversations if c.id not in superseded)
    removed = len(results.conversations) - len(conversations)
    if not removed:
        return results
    scores = tuple(score for score in results.scores if score.conversation not in superseded)
    changes = {"planned": results.planned - removed, "conversations": conversations, "scores": scores}
    return results.model_copy(update=changes)


def conversations_with_scores(results: Results) -> Iterator[tuple[Conversation, TurnScores]]:
    """Every conversation of a run with its scores."""
    if isinstance(results.conversations, StoredConversations):
        yield from results.conversations.with_scores()
        return
    scores = _by_conversation(results.scores)
    for conversation in results.conversations:
        yield conversation, scores.get(conversation.id, {})


def select_conversations(results: Results, ids: Container[str]) -> Iterator[tuple[int, Conversation]]:
    """The conversations with these ids, in the order of the plan, each with its number in it (from 1)."""
    conversations = results.conversations
    if isinstance(conversations, StoredConversations):
        numbers = [number for number, key in enumerate(conversations.ids, 1) if key in ids]
        selected = conversations.with_ids([conversations.ids[number - 1] for number in numbers])
        yield from zip(numbers, selected, strict=True)
        return
    for number, conversation in enumerate(conversations, 1):
        if conversation.id in ids:
            yield number, conversation


def select_scores(results: Results, ids: Container[str]) -> Iterator[Score]:
    """The scores of the conversations with these ids."""
    conversations = results.conversations
    if isinstance(conversations, StoredConversations):
        for _unused, by_turn in conversations.with_scores([key for key in conversations.ids if key in ids]):
            yield from (score for by_judge in by_turn.values() for score in by_judge.values())
        return
    yield from (score for score in results.scores if score.conversation in ids)


def judges_of(results: Results) -> set[str]:
    """The judges that gave at least one score of a run."""
    scores = results.scores
    return scores.judges if isinstance(scores, StoredScores) else {score.judge for score in scores}


def count_begun(results: Results) -> int:
    """How many conversations have a turn."""
    conversations = results.conversations
    if isinstance(conversations, StoredConversations):
        return conversations.count(_HAS_TURN)
    return sum(bool(conversation.turns) for conversation in conversations)


def english_share(results: Results) -> float:
    """The share (0..1) of conversations that are in English; 0 for a run without conversations."""
    conversations = results.conversations
    if not conversations:
        return 0.0
    if isinstance(conversations, StoredConversations):
        return conversations.count("""json_extract("case", '$.language') = 'en'""") / len(conversations)
    return sum(conversation.case.language == "en" for conversation in conversations) / len(conversations)


def has_passages(results: Results) -> bool:
    """Whether any answer came with passages."""
    conversations = results.conversations
    if isinstance(conversations, StoredConversations):
        with_passages = "SELECT conversation FROM turns WHERE json_array_length(answer, '$.passages') > 0"
        return conversations.count(f"id IN ({with_passages})") > 0
    return any(turn.answer.passages for conversation in conversations for turn in conversation.turns)


def has_expectations(results: Results) -> bool:
    """Whether any case says if it is answerable, or if the bot has to hand it over."""
    conversations = results.conversations
    if isinstance(conversations, StoredConversations):
        answerable = """json_extract("case", '$.answerable') IS NOT NULL"""
        handover = """coalesce(json_extract("case", '$.handover'), 'optional') <> 'optional'"""
        return conversations.count(f"{answerable} OR {handover}") > 0
    return any(
        conversation.case.answerable is not None or conversation.case.handover != "optional"
        for conversation in conversations
    )
