"""What a condition of the gate is about, measured question by question."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple

import numpy as np

from simulator.analysis.answerability import answerability, handovers
from simulator.analysis.bounds import Clusters, clusters
from simulator.analysis.figures import Summary
from simulator.analysis.intervals import ends_of
from simulator.analysis.red import worst
from simulator.analysis.spoken import turn_failure
from simulator.core.settings import Condition
from simulator.core.types import Conversation, Results, Turn
from simulator.storage.results import counted

# The share of answers that may be slower than `p95_seconds`.
QUICK = 0.95

# A value with the question it belongs to.
Pairs = list[tuple[float, str]]


class Measured(NamedTuple):
    """A figure of the run as it is shown, and the 0..1 values behind it, by question.

    `n` counts `of` what it was measured; `failed` could not be. `found` is missing where nothing was there.
    For seconds the values say whether an answer was quick enough, and `goal` which share has to be. `least`
    is what a share will be at least, however the questions go that nobody has asked yet.
    """

    value: float | None
    found: Clusters | None
    n: int
    failed: int = 0
    goal: float | None = None
    talks: int = 0
    least: float | None = None

    @property
    def cases(self) -> int:
        """On how many questions the figure rests."""
        return 0 if self.found is None else len(self.found.sizes)


def measured(condition: Condition, results: Results, summary: Summary) -> Measured:
    """The figure that a condition is about."""
    held = _Held(counted(results), summary)
    if condition.name in ("score", summary.primary):
        return held.score()
    if condition.name in summary.judges:
        return held.judge(condition.name)
    return _FIGURES[condition.name](held, condition)


class _Held:
    """The turns of a run that count, beside its summary."""

    def __init__(self, results: Results, summary: Summary) -> None:
        played = summary.simulator.customers
        self.left_out = frozenset(played.spoilt) if played.handling == "exclude" else frozenset()
        self.results, self.summary = results, summary
        self.talks = {talk.id: talk for talk in results.conversations if talk.turns}

    def turns(self) -> Iterator[tuple[Conversation, Turn]]:
        """Every turn whose grade counts; a silent bot always does."""
        for talk in self.talks.values():
            for turn in talk.turns:
                if (talk.id, turn.index) not in self.left_out or turn_failure(turn):
                    yield talk, turn

    def score(self) -> Measured:
        """The run's score: the mean over conversations."""
        scores = self.summary.conversation_scores
        pairs = [(value, self.talks[talk].case.id) for talk, value in scores.items() if talk in self.talks]
        graded = self.summary.judges.get(self.summary.primary)
        failed = self.summary.missing if graded is None else max(self.summary.missing, graded.failed)
        return _shares(pairs, self._floor(self.summary.primary), failed, len(pairs))

    def judge(self, name: str) -> Measured:
        """The mean of a judge's grades over turns."""
        counts = {(talk.id, turn.index): talk.case.id for talk, turn in self.turns()}
        pairs = [
            (score.value, counts[score.conversation, score.turn])
            for score in self.results.scores
            if score.judge == name and score.state == "scored" and score.value is not None
            and (score.conversation, score.turn) in counts
        ]  # fmt: skip
        talks = len({talk for talk, _ in counts})
        return _shares(pairs, self._floor(name), self.summary.judges[name].failed, talks)

    def _floor(self, judge: str) -> float:
        """The lowest value that a judge can give, or gave."""
        scored = [s for s in self.results.scores if s.judge == judge and s.value is not None]
        return min([ends_of(scored)[0], *(s.value or 0.0 for s in scored)])

    def of_turns(self, value: Callable[[Conversation, Turn], float | None]) -> Measured:
        """The share of turns of which something is true."""
        known = [(value(talk, turn), talk.case.id) for talk, turn in self.turns()]
        pairs = [(each, case) for each, case in known if each is not None]
        return _shares(pairs, 0.0, len(known) - len(pairs), len(self.talks))

    def of_talks(self, tally: Callable[[Results], tuple[int, int]]) -> Measured:
        """The share of conversations of which something is true, where it can be said."""
        pairs: Pairs = []
        for talk in self.talks.values():
            hits, n = tally(self.results.model_copy(update={"conversations": (talk,), "scores": ()}))
            pairs += [(hits / n, talk.case.id)] if n else []
        return _shares(pairs, 0.0, 0, len(pairs))


def _shares(pairs: Pairs, floor: float, failed: int, talks: int) -> Measured:
    if not pairs:
        return Measured(None, None, 0, failed)
    found = clusters([value for value, _ in pairs], [case for _, case in pairs], floor)
    return Measured(found.mean, found, len(pairs), failed, talks=talks)


def _red(held: _Held, _: Condition) -> Measured:
    red = {(turn.conversation, turn.turn) for turn in held.summary.reddest}
    return held.of_turns(lambda talk, turn: float((talk.id, turn.index) in red))


def _failed(held: _Held, _: Condition) -> Measured:
    return held.of_turns(lambda _, turn: float(turn_failure(turn) is not None))


def major_cases(summary: Summary) -> dict[str, bool]:
    """The questions that were asked, each with whether a turn of it has a major mark."""
    major = {turn.case for turn in summary.reddest if worst(turn.marks) == "major"}
    return {each.case: each.case in major for each in summary.cases if each.turns}


def _major(held: _Held, _: Condition) -> Measured:
    found = major_cases(held.summary)
    share = _shares([(float(hit), case) for case, hit in found.items()], 0.0, 0, len(held.talks))
    planned = {talk.case.id for talk in held.results.conversations}
    return share._replace(least=sum(found.values()) / len(planned) if planned else None)


def _severity(held: _Held, condition: Condition) -> Measured:
    """A count of turns; the share of turns stands behind it."""
    severity = condition.name.removeprefix("severity_")
    red = {(t.conversation, t.turn) for t in held.summary.reddest if worst(t.marks) == severity}
    share = held.of_turns(lambda talk, turn: float((talk.id, turn.index) in red))
    return share._replace(value=None if share.found is None else len(red))


def _seconds(held: _Held, condition: Condition) -> Measured:
    """The 95th percentile of the bot's seconds; no answer is slower than any."""

    def taken(turn: Turn) -> float | None:
        if turn.unrecorded:
            return None
        return float("inf") if turn_failure(turn) else turn.answer.seconds

    times = [seconds for _, turn in held.turns() if (seconds := taken(turn)) is not None]
    share = held.of_turns(
        lambda _, turn: None if (seconds := taken(turn)) is None else float(seconds <= condition.threshold)
    )
    value = float(np.quantile(times, QUICK, method="higher")) if times else None
    return share._replace(value=value, goal=QUICK)


def _cost(held: _Held, _: Condition) -> Measured:
    return Measured(held.summary.cost_usd, None, len(held.talks))


def _answered(results: Results) -> tuple[int, int]:
    found = answerability(results)
    return found.answered_answerable, found.answered_answerable + found.refused_answerable


def _refused(results: Results) -> tuple[int, int]:
    found = answerability(results)
    return found.refused_unanswerable, found.refused_unanswerable + found.answered_unanswerable


def _handed(results: Results) -> tuple[int, int]:
    found = handovers(results)
    right, wrong = found.handed_required + found.kept_forbidden, found.kept_required + found.handed_forbidden
    return right, right + wrong


_FIGURES: Mapping[str, Callable[[_Held, Condition], Measured]] = {
    "red": _red,
    "failed": _failed,
    "major": _major,
    "severity_major": _severity,
    "severity_moderate": _severity,
    "severity_minor": _severity,
    "p95_seconds": _seconds,
    "latency_p95": _seconds,
    "cost_usd": _cost,
    "answered_correctly": lambda held, _: held.of_talks(_answered),
    "refused_correctly": lambda held, _: held.of_talks(_refused),
    "handover_correctly": lambda held, _: held.of_talks(_handed),
}


def unheard(results: Results, summary: Summary) -> tuple[str, ...]:
    """The personas that were planned, and of whom no conversation was graded."""
    heard = {talk.persona for talk in results.conversations if talk.id in summary.conversation_scores}
    planned: Iterable[str] = (persona.id for persona in results.personas)
    return tuple(name for name in planned if name not in heard)
