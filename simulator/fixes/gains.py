"""What mending a turn would bring the run's score.

A run's score is the mean over its conversations, and a conversation's the mean over its graded turns. A
mended turn is taken to be graded as the turns of this run that are not red are graded on average, by the
judge that decides the score; where the bot should have refused, with the full mark: such an answer is right
or wrong, and nothing in between. Every turn's gain is its own share of the score, and every turn belongs to
one fix: gains add up, and together they never exceed 1 - score. With fewer than five such turns
nothing is forecast; gains then only put in order what is to be mended.
"""

from collections import Counter
from collections.abc import Collection
from math import fsum

from simulator.blame.cause import Cause
from simulator.core.shelves import our_name
from simulator.core.types import PASSED, Results
from simulator.stats.figures import Summary

# Four of five: the lowest grade that is usually not red. Taken for the order where every turn of a run is.
ACCEPTABLE = 0.8
FULL: frozenset[Cause] = frozenset({"should_refuse"})
# By these judges an answer is right, 1, or wrong, 0.
RIGHT_OR_WRONG = frozenset({"label", "choice", "exact_match", "contains", PASSED})

Key = tuple[str, int]


class Gains:
    """The gain of each turn, looked up once for a run."""

    def __init__(self, results: Results, summary: Summary) -> None:
        """Only what stands behind the summary's score counts."""
        red = {(turn.conversation, turn.turn) for turn in summary.reddest}
        self._values = _values(results, summary, red)
        self._graded = Counter(conversation for conversation, _ in self._values)
        judge = our_name(summary.primary.rpartition(".")[2])  # of one output, the judge alone
        good = [value for key, value in self._values.items() if key not in red]
        self.green = len(good)
        self.goal = fsum(good) / len(good) if good else 1.0 if judge in RIGHT_OR_WRONG else ACCEPTABLE

    def of(self, key: Key, cause: Cause) -> float:
        """How much the run's score (0..1) gains when this turn is mended; 0 for one without a grade."""
        value = self._values.get(key)
        if value is None:
            return 0.0
        missing = (1.0 if cause in FULL else self.goal) - value
        return max(0.0, missing) / (self._graded[key[0]] * len(self._graded))


def _values(results: Results, summary: Summary, red: Collection[Key]) -> dict[Key, float]:
    """What the deciding judge gave the turns that count."""
    spoken = {(talk.id, turn.index) for talk in results.conversations for turn in talk.turns}
    customers = summary.simulator.customers
    left_out = set(customers.spoilt) - set(red) if customers.handling == "exclude" else set()
    counted = spoken - left_out
    return {
        key: score.value
        for score in results.scores
        if score.judge == summary.primary
        and score.value is not None
        and (key := (score.conversation, score.turn)) in counted
        and score.conversation in summary.conversation_scores
    }
