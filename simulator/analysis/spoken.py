"""The turns of a run with what their judges say, gathered in one pass and in little memory."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from simulator.analysis.figures import Customers
from simulator.analysis.red import Mark, is_unanswered, red_marks
from simulator.core.types import Conversation, Ended, RedRules, Results, Score, Turn, compact
from simulator.storage.results import StoredConversations, with_scores

Scores = Mapping[str, Score]

# Of a large data set, so many red rows are quoted; of the others it is known where they are, and why.
QUOTED = 2_000
# What figures need of a score's detail.
_DETAILS = ("kind", "output", "passed", "conflicts")


@dataclass(frozen=True, slots=True)
class Held:
    """One conversation that began, without its turns; `broken` are the guard's rules, message by message."""

    id: str
    case: str
    question: str
    persona: str
    ended: Ended | None
    broken: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class Spoken:
    """One turn with its scores, and what the deciding judge says of it; large data sets leave out `said`."""

    talk: str
    case: str
    persona: str
    turn: int
    scores: Scores
    value: float | None
    marks: tuple[Mark, ...]
    failure: str | None
    said: Turn | None
    excluded: bool = False
    unrecorded: bool = False


@dataclass(slots=True)
class Gathered:
    """A whole run: what was held, what was spoken in it, how many were not begun, who graded, who voted."""

    held: list[Held] = field(default_factory=list)
    spoken: list[Spoken] = field(default_factory=list)
    unbegun: int = 0
    judges: set[str] = field(default_factory=set)
    voted: list[Score] = field(default_factory=list)


def gathered(results: Results, rules: RedRules, primary: str) -> Gathered:
    """Every turn of the run, with the scores that belong to it; `primary` is the judge that decides."""
    found, slim = Gathered(), _Slim() if isinstance(results.conversations, StoredConversations) else None
    for talk, by_turn in with_scores(results):
        if not (talk.turns or talk.ended):
            found.unbegun += talk.ended is None
            continue
        before = len(found.spoken)
        for turn in talk.turns:
            scores = by_turn.get(turn.index, {})
            found.judges |= scores.keys()
            found.voted += [s for s in scores.values() if isinstance(s.detail.get("votes"), list)]
            one = _one(talk, turn, scores, rules, primary)
            found.spoken.append(slim(one) if slim else one)
        red = any(s.marks for s in found.spoken[before:])
        found.held.append(_held(talk, talk.case.question if red or not slim else ""))
    return found


def _held(talk: Conversation, question: str) -> Held:
    broken = tuple(turn.broken_rules for turn in talk.turns if turn.broken_rules)
    return Held(talk.id, talk.case.id, question, talk.persona, talk.ended, broken)


def _one(talk: Conversation, turn: Turn, scores: Scores, rules: RedRules, primary: str) -> Spoken:
    """A turn whose answer failed is red even while its grades are still missing."""
    failure = turn_failure(turn)
    verdict = scores.get(primary)
    marks = red_marks(talk.id, scores.values(), rules, primary)
    if failure and not any(is_unanswered(s) for s in scores.values()):
        marks = (Mark(kind="no_answer", severity="major", reason=f"no answer: {failure}"),)
    value = verdict.value if verdict else None
    about = (talk.id, talk.case.id, talk.persona, turn.index)
    return Spoken(*about, scores, value, marks, failure, turn, unrecorded=turn.unrecorded)


class _Slim:
    """What many rows have in common, kept once: grades without their reasons, and marks without."""

    def __init__(self) -> None:
        self._known: dict[Any, Any] = {}

    def __call__(self, one: Spoken) -> Spoken:
        """The same turn, for figures only."""
        scores = tuple(map(self._score, one.scores.values()))
        by_judge = self._once(scores and tuple(map(id, scores)), {s.judge: s for s in scores})
        marks = tuple(Mark(kind=m.kind, severity=m.severity) for m in one.marks)
        return replace(one, scores=by_judge, marks=self._once(("marks", *map(str, marks)), marks), said=None)

    def _score(self, score: Score) -> Score:
        kept = score.reason if score.state == "failed" else ""
        detail = {key: score.detail[key] for key in _DETAILS if key in score.detail}
        shown = (score.judge, score.state, score.value, score.raw, score.rubric, score.by_rule)
        key = (*shown, kept, str(detail))
        if key not in self._known:
            self._known[key] = compact(score, conversation="", reason=kept, detail=detail)
        return self._known[key]  # type: ignore[no-any-return]

    def _once(self, key: Any, value: Any) -> Any:
        return self._known.setdefault(key, value)


def without_spoilt(spoken: Iterable[Spoken], customers: Customers) -> list[Spoken]:
    """The turns, those that a customer spoilt without grade and mark; a silent bot is the bot's own fault."""
    spoilt = frozenset(customers.spoilt)
    return [
        replace(s, scores={}, value=None, marks=(), excluded=True)
        if (s.talk, s.turn) in spoilt and not s.failure
        else s
        for s in spoken
    ]


def turn_failure(turn: Turn) -> str | None:
    """The kind of the bot's failure in a turn; None when it answered, or when a log does not tell."""
    if turn.unrecorded:
        return None
    if turn.answer.error:
        return turn.answer.error.kind
    return None if turn.answer.text.strip() else "empty"


def quoted(results: Results, red: Sequence[Spoken], rules: RedRules, primary: str) -> Iterator[Spoken]:
    """The red turns with what was said in them; of a large data set only the first ones have it."""
    talks = results.conversations
    if not isinstance(talks, StoredConversations):
        yield from red
        return
    whole = {
        (talk.id, turn.index): _one(talk, turn, by_turn.get(turn.index, {}), rules, primary)
        for talk, by_turn in talks.with_scores([s.talk for s in red[:QUOTED]])
        for turn in talk.turns
    }
    yield from (whole.get((s.talk, s.turn), s) for s in red)
