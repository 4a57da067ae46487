"""Reads the tables of a run file into `Results`.

The rows of a small run are read at once; those of a large one stay in the file, and are read in batches
whenever they are looked at. Whoever looks at them need not know which.

    results = read_run(path)                          ConversationTuple up to 12 MB, else StoredConversations
    len(results.conversations)                        no row is read
    for conversation in results.conversations: ...    a hundred at a time
    results.conversations.select("english")           a query; in memory a look at each
    results.scores.of_judge("turn")                   a query

Whoever wants a conversation with its scores uses `conversations_with_scores`, which reads both in batches:
one query for each of 10,000 conversations would be what a report takes most of its time for.

A reader takes one snapshot of the file: it sees the run as it was when it was opened, while another process
may go on writing it.
"""

import contextlib
import functools
import json
import sqlite3
import sys
import weakref
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, TypeVar, overload

from simulator.core.messages import _
from simulator.core.types import (
    OPEN,
    Answer,
    Case,
    Conversation,
    Conversations,
    ConversationTuple,
    Ended,
    Language,
    Passage,
    Persona,
    Reaction,
    Results,
    Run,
    Score,
    Scores,
    ScoreTuple,
    Selection,
    Spending,
    State,
    StoredArticle,
    Turn,
    TurnScores,
    Usage,
    Utterance,
    scores_by_conversation,
    turn_of,
)
from simulator.storage import schema
from simulator.storage.words import newest_verdicts

# The conditions of `Conversations.select` on the columns of the table `conversations`.
_SELECTED: dict[Selection, str] = {
    "begun": "id IN (SELECT conversation FROM turns WHERE answer IS NOT NULL)",
    "unfinished": f"ended IS NULL OR ended IN {tuple(map(str, sorted(OPEN)))}",
    "english": """json_extract("case", '$.language') = 'en'""",
    "with_passages": """id IN
      (SELECT conversation FROM turns WHERE json_array_length(answer, '$.passages') > 0)""",
}
_ORDER = "ORDER BY conversation, turn, judge"
# The rows of a run file of so many bytes or less are read at once; in memory they take six times as much.
MAX_LOADED = 12 * 2**20
# How many conversations or scores are read at a time; below the number of variables that SQLite takes in a
# query.
_BATCH = 100
# How many cases and passages are remembered: conversations near each other share them.
_SHARED = 250


class RunReader:
    """Reads a run file; the file of one that `closes_file` is closed when nothing uses the reader any more.

    Conversations and scores of a large run share one reader and outlive the function that opened the file. So
    nobody has to close `Results`, and a report can look at a run of a million rows again and again.
    """

    def __init__(self, file: sqlite3.Connection, *, closes_file: bool = False) -> None:
        """`file` has to stay open for as long as this is used."""
        self.execute = file.execute
        if closes_file:
            weakref.finalize(self, file.close)


def results_of(file: sqlite3.Connection, *, closes_file: bool = False) -> Results:
    """Everything in the file, which has to stay open as for `RunReader`."""
    reader = RunReader(file, closes_file=closes_file)
    conversations: Conversations = StoredConversations(reader)
    scores: Scores = StoredScores(reader)
    # By the database and not the file, whose write-ahead log may hold most of it.
    size = "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size"
    if file.execute(size).fetchone() <= (MAX_LOADED,):
        conversations, scores = ConversationTuple(conversations), ScoreTuple(scores)
    notes = file.execute("SELECT key, body FROM about WHERE key LIKE 'note:%'")
    # Summed by SQLite: a run has many more calls than conversations.
    usage: dict[str, dict[str, Spending]] = {}
    for (role, model), spending in _spending(file, "role", "model"):
        usage.setdefault(role, {})[model] = spending
    return Results(
        run=run_of(file),
        planned=len(conversations),
        personas=tuple(Persona.model_validate(p) for p in json.loads(read_about(file, "personas"))),
        conversations=conversations,
        scores=scores,
        spending={role: spending for (role,), spending in _spending(file, "role")},
        usage=usage,
        verdicts=newest_verdicts(file),
        notes={key.removeprefix("note:"): json.loads(body) for key, body in notes},
        articles=tuple(
            StoredArticle(id=id_, title=title, digest=digest, packed=packed)
            for id_, title, digest, packed in file.execute(
                "SELECT id, title, digest, packed FROM articles ORDER BY rowid"
            )
        ),
    )


def run_of(file: sqlite3.Connection) -> Run:
    """How the run was started, and its current status."""
    return Run.model_validate_json(read_about(file, "run"))


def cases_of(path: Path) -> dict[str, Case]:
    """The case of each conversation of a run that has an answer, by the conversation's id."""
    with schema.snapshot(path) as file, contextlib.closing(file):
        rows = file.execute(f'SELECT id, "case" FROM conversations WHERE {_SELECTED["begun"]}').fetchall()  # noqa: S608 - ours
        cases = {text: Case.model_validate_json(text) for text in {text for _id, text in rows}}
        return {id_: cases[text] for id_, text in rows}


class ArticleUse(NamedTuple):
    """The ids that the questions of a run name, and id and source of the passages that came."""

    needed: frozenset[str]
    retrieved: frozenset[tuple[str, str]]


def article_use(file: sqlite3.Connection) -> ArticleUse:
    """Which articles a run named and retrieved, without reading its conversations."""
    named = """SELECT DISTINCT value FROM conversations, json_each("case", '$.passages')
      WHERE conversations.id IN (SELECT conversation FROM turns WHERE answer IS NOT NULL)"""
    came = """SELECT DISTINCT json_extract(value, '$.id'), coalesce(json_extract(value, '$.source'), '')
      FROM turns, json_each(answer, '$.passages')"""
    return ArticleUse(
        frozenset(str(id_) for (id_,) in file.execute(named)),
        frozenset((str(id_), str(source)) for id_, source in file.execute(came)),
    )


def read_about(file: sqlite3.Connection, key: str) -> str:
    """An entry about the whole run, as JSON. Raises ValueError when it is missing."""
    if (body := schema.get(file, key)) is None:
        raise ValueError(_("'{key}' is missing", key=key))
    return body


class StoredConversations(Conversations):
    """The conversations of a file in the order of the plan, each read when it is accessed."""

    def __init__(self, file: RunReader, ids: Sequence[str] | None = None) -> None:
        """Reads the ids only, unless `ids` are some of them in the order of the plan."""
        self._file = file
        self._ids = _column(file, "SELECT id FROM conversations ORDER BY position") if ids is None else ids
        # Conversations of one case follow one another; each case is read once.
        self._case = functools.lru_cache(_SHARED)(Case.model_validate_json)
        # Equal passages become one: the first of them.
        self._passage: Callable[[Passage], Passage] = functools.lru_cache(_SHARED)(lambda passage: passage)

    @property
    def ids(self) -> Sequence[str]:
        """Their ids, in the same order."""
        return self._ids

    def __len__(self) -> int:
        """How many there are; no conversation is read."""
        return len(self._ids)

    @overload
    def __getitem__(self, index: int) -> Conversation: ...

    @overload
    def __getitem__(self, index: slice) -> list[Conversation]: ...

    def __getitem__(self, index: int | slice) -> Conversation | list[Conversation]:
        """One conversation or several, with the turns that the file holds by now."""
        ids = self._ids[index]
        return self._read([ids])[0] if isinstance(ids, str) else list(self.with_ids(ids))

    def __iter__(self) -> Iterator[Conversation]:
        """All conversations, read in batches."""
        return self.with_ids(self._ids)

    def with_ids(self, ids: Sequence[str]) -> Iterator[Conversation]:
        """The conversations with these ids, in the order of `ids`."""
        for batch in _batches(ids):
            yield from self._read(batch)

    def select(self, which: Selection) -> "StoredConversations":
        """Those that fulfil this; no conversation is read."""
        query = f"SELECT id FROM conversations WHERE {_SELECTED[which]} ORDER BY position"  # noqa: S608 - ours
        # The query is about all of the file, this may be a part of it.
        selected, members = _column(self._file, query), self._members
        return StoredConversations(self._file, [key for key in selected if key in members])

    def without(self, ids: Collection[str]) -> "StoredConversations":
        """Those with other ids."""
        return StoredConversations(self._file, [key for key in self._ids if key not in ids])

    def lengths(self) -> Counter[int]:
        """How many conversations have how many turns; those without a turn count as 0."""
        query = "SELECT conversation, count(*) FROM turns WHERE answer IS NOT NULL GROUP BY conversation"
        members = self._members
        lengths = Counter(length for key, length in self._file.execute(query) if key in members)
        if unbegun := len(members) - lengths.total():
            lengths[0] = unbegun
        return lengths

    def usages(self) -> Iterator[Usage]:
        """The tokens that the bot's model used for each answer."""
        query, members = (
            "SELECT conversation, answer FROM turns WHERE instr(answer, '\"usage\"')",
            self._members,
        )
        for key, body in self._file.execute(query):
            if key in members and (usage := json.loads(body).get("usage")):
                yield Usage.model_construct(**usage)

    @property
    def reasoned(self) -> int:
        """How many answers began with what the bot's model thought aloud, which was left out of them."""
        query, members = "SELECT conversation FROM turns WHERE instr(answer, '\"reasoning\"')", self._members
        return sum(key in members for (key,) in self._file.execute(query))

    @property
    def _members(self) -> set[str]:
        return set(self._ids)

    def _read(self, ids: Sequence[str]) -> list[Conversation]:
        those = f"({','.join('?' * len(ids))})"
        turns: dict[str, list[Turn]] = {}
        query = f"""SELECT conversation, turn, utterance, answer FROM turns
          WHERE answer IS NOT NULL AND conversation IN {those} ORDER BY conversation, turn"""  # noqa: S608 - ours
        for key, index, utterance_json, answer_json in self._file.execute(query, ids):
            line = Utterance.model_validate_json(utterance_json)
            answer = Answer.model_validate_json(answer_json)
            if answer.passages:
                answer = answer.model_copy(update={"passages": tuple(map(self._passage, answer.passages))})
            turns.setdefault(key, []).append(turn_of(index, line, answer))
        # What is no text in a damaged file is an error of SQLite's then.
        query = f"""SELECT id, CAST(persona AS TEXT), repeat, "case", ended, reason, closing, reaction,
          CAST(user_model AS TEXT) FROM conversations WHERE id IN {those}"""  # noqa: S608 - ours
        by_id = {
            key: Conversation(
                id=key,
                case=self._case(case),
                persona=sys.intern(persona),  # of a large run, the same in every row
                repeat=repeat,
                turns=tuple(turns.get(key, ())),
                ended=Ended(ended) if ended else None,
                reason=reason,
                closing=closing,
                reaction=Reaction.model_validate_json(reaction) if reaction else None,
                user_model=sys.intern(model),
            )
            for key, persona, repeat, case, ended, reason, closing, reaction, model in self._file.execute(
                query, ids
            )
        }
        # SQLite gives them in any order.
        return [by_id[key] for key in ids]


def _column(file: RunReader, query: str) -> list[str]:
    return [value for (value,) in file.execute(query)]


def _batches(ids: Sequence[str]) -> Iterator[Sequence[str]]:
    for start in range(0, len(ids), _BATCH):
        yield ids[start : start + _BATCH]


class StoredScores(Scores):
    """The scores of a file, in the order of conversations, turns and judges, read on every access."""

    def __init__(self, file: RunReader, without: Collection[str] = ()) -> None:
        """`without` are conversations whose scores are left out."""
        self._file, self._without = file, json.dumps(sorted(without))

    def __len__(self) -> int:
        """How many there are; no score is read."""
        (count,) = self._query("count(*)").fetchone()
        return int(count)

    @overload
    def __getitem__(self, index: int) -> Score: ...

    @overload
    def __getitem__(self, index: slice) -> list[Score]: ...

    def __getitem__(self, index: int | slice) -> Score | list[Score]:
        """One score or several, in the order of the file."""
        if isinstance(index, slice):
            return list(self)[index]
        # Slow for a large run, and needed by hardly anybody: scores are looked up by conversation.
        return next(self._read(f"{_ORDER} LIMIT 1 OFFSET {range(len(self))[index]}"))

    def __iter__(self) -> Iterator[Score]:
        """All scores, read in batches."""
        return self._read(_ORDER)

    @property
    def judges(self) -> set[str]:
        """The judges that gave at least one score."""
        return {judge for (judge,) in self._query("DISTINCT judge")}

    def of_judge(self, judge: str, state: State | None = None) -> Iterator[Score]:
        """The scores of one judge in the order of the run, `state` None: in any state."""
        if state is None:
            return self._read(f"AND judge = ? {_ORDER}", judge)
        return self._read(f"AND judge = ? AND json_extract(body, '$.state') = ? {_ORDER}", judge, state)

    def of_conversations(self, ids: Sequence[str]) -> Mapping[str, TurnScores]:
        """The scores of these conversations, by conversation; one without scores is missing."""
        scores: dict[str, TurnScores] = {}
        for batch in _batches(ids):
            placeholders = ",".join("?" * len(batch))
            scores |= scores_by_conversation(
                self._read(f"AND conversation IN ({placeholders}) {_ORDER}", *batch)
            )
        return scores

    def without(self, conversations: Collection[str]) -> "StoredScores":
        """The scores of other conversations."""
        return StoredScores(self._file, {*json.loads(self._without), *conversations})

    def _read(self, rest: str, *values: str) -> Iterator[Score]:
        rows = self._query("body", rest, *values)
        while batch := rows.fetchmany(_BATCH):
            yield from (Score.model_validate_json(body) for (body,) in batch)

    def _query(self, what: str, rest: str = "", *values: str) -> sqlite3.Cursor:
        # As one JSON text, for any number of them.
        left_out = "conversation NOT IN (SELECT value FROM json_each(?))"
        query = f"SELECT {what} FROM scores WHERE {left_out} {rest}"  # noqa: S608 - ours
        return self._file.execute(query, (self._without, *values))


def _spending(file: sqlite3.Connection, *columns: str) -> Iterator[tuple[tuple[str, ...], Spending]]:
    """The calls and tokens by these columns; the cost is None when that of some call is unknown."""
    group = ", ".join(columns)
    # Of calls that were paid for; those from our own cache took no tokens anew.
    query = f"""SELECT sum(NOT cached), sum(cached),
      sum(tokens_in * NOT cached), sum(tokens_out * NOT cached), sum(tokens_cached * NOT cached),
      CASE WHEN count(*) = count(cost_usd) THEN sum(cost_usd) END, sum(cost_usd),
      sum(NOT cached AND cost_usd IS NULL AND tokens_in + tokens_out = 0), {group}
      FROM calls GROUP BY {group}"""  # noqa: S608 - our own column names
    rows = file.execute(query)
    for calls, cached, tokens_in, tokens_out, from_cache, cost_usd, known_usd, uncounted, *key in rows:
        spending = Spending(
            calls=calls,
            cached=cached,
            tokens_in=tokens_in,
            tokens_out=tokens_out,
            tokens_cached=from_cache,
            cost_usd=cost_usd,
            known_usd=0.0 if cost_usd is not None else known_usd or 0.0,
            uncounted=uncounted,
        )
        yield tuple(key), spending


Value = TypeVar("Value")


def cache_latest(function: Callable[[Results], Value]) -> Callable[[Results], Value]:
    """A decorator that keeps the result for the `Results` that the function was last called with.

    Several sections of a report ask for the same figures of the same run. By identity and weakly: results are
    not compared, which would read them, nor kept alive.
    """
    latest: list[tuple[weakref.ref[Results], Value]] = []

    @functools.wraps(function)
    def cached(results: Results) -> Value:
        if not latest or latest[0][0]() is not results:
            latest[:] = [(weakref.ref(results), function(results))]
        return latest[0][1]

    return cached


def conversations_with_scores(
    results: Results, ids: Sequence[str] | None = None
) -> Iterator[tuple[Conversation, TurnScores]]:
    """The conversations with these ids (None: all of a run), each with its scores."""
    for batch in _batches(results.conversations.ids if ids is None else ids):
        scores = results.scores.of_conversations(batch)
        for conversation in results.conversations.with_ids(batch):
            yield conversation, scores.get(conversation.id, {})


def turns_with_scores(
    results: Results, keys: Collection[tuple[str, int]]
) -> Iterator[tuple[Conversation, Turn, Mapping[str, Score]]]:
    """The turns with these keys (conversation, number), each with its conversation and its scores by judge.

    They come in the order of the plan, so that each conversation is read once.
    """
    ids = {conversation for conversation, _ in keys}
    selected = [key for key in results.conversations.ids if key in ids]
    for conversation, by_turn in conversations_with_scores(results, selected):
        for turn in conversation.turns:
            if (conversation.id, turn.index) in keys:
                yield conversation, turn, by_turn.get(turn.index, {})


def select_turns(results: Results, keys: Collection[tuple[str, int]]) -> Iterator[tuple[Conversation, Turn]]:
    """The turns with these keys (conversation, number), each with its conversation, as they were planned."""
    ids = {conversation for conversation, _ in keys}
    selected = [key for key in results.conversations.ids if key in ids]
    for conversation in results.conversations.with_ids(selected):
        for turn in conversation.turns:
            if (conversation.id, turn.index) in keys:
                yield conversation, turn


def report_language(results: Results) -> Language:
    """The language of a run's reports: that it was started with, or of most of its conversations, else ja."""
    named = results.run.settings.get("language")
    if named in ("ja", "en"):
        return "en" if named == "en" else "ja"
    return "en" if 2 * len(results.conversations.select("english")) > len(results.conversations) else "ja"
