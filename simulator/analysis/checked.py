"""One condition of the gate, decided: passed, missed, or too close to tell.

With a level of confidence a condition has passed only when the one-sided bound of its figure reaches the
threshold. All conditions have to hold, so each may be tested at the full level: that all pass although one
does not hold is no likelier than that this one passes (intersection-union test; Berger, 1982).
"""

import math
from typing import Literal

from simulator.analysis.bounds import Clusters, doubt, lower, upper
from simulator.analysis.corrected import Corrected
from simulator.analysis.measured import Measured
from simulator.core.settings import MAJOR, Condition
from simulator.core.types import Value

Decision = Literal["passed", "missed", "undecided"]
# Why a condition could not be decided: too close, or too little to go by.
Lack = Literal["close", "few", "nothing", "ungraded", ""]

# On fewer questions nothing is decided, whatever they say.
MIN_CASES = 5
# More questions than this nobody asks: what they could settle is not worth settling.
MOST = 10_000
_SAME = 1e-9
_USUAL_Z = 1.959964


class More(Value):
    """How many more questions, and conversations about them, would settle a condition at today's figures.

    `repeats` says whether asking the same questions more often could settle it, too; None where each was
    asked once, so that nobody knows.
    """

    questions: int
    conversations: int
    repeats: bool | None


class Checked(Value):
    """A condition with its figure (`n` values of `cases` questions), its one-sided bounds, and its verdict.

    The bounds are those of the figure, but of seconds those of the share that is quick enough, and of a
    count those of the share of turns. A `fact` is decided by what was seen; bounds only show how far it goes.
    """

    condition: Condition
    decision: Decision
    value: float | None
    low: float | None = None
    high: float | None = None
    n: int = 0
    cases: int = 0
    fact: bool = False
    by_default: bool = False
    lack: Lack = ""
    failed: int = 0
    more: More | None = None

    def is_score(self, primary: str) -> bool:
        """Whether it is about the run's score, by that name or that of the deciding judge."""
        return self.condition.name in ("score", primary)

    def as_json(self) -> dict[str, object]:
        """The object that `--json` prints of it, figures rounded to 4 decimals."""
        more = self.more and {k: getattr(self.more, k) for k in ("questions", "conversations")}
        return {
            "condition": self.condition.text,
            "decision": self.decision,
            "value": _rounded(self.value),
            "bounds": [_rounded(self.low), _rounded(self.high)],
            "n": self.n,
            "cases": self.cases,
            "by_default": self.by_default,
            "more": more,
        }


def is_fact(condition: Condition, level: float | None) -> bool:
    """Whether what was seen decides: without a level, for counts, costs, `== 0` and questions gone wrong."""
    seen = condition.measure in ("count", "cost") or condition.name == MAJOR
    return level is None or seen or condition.comparison == "=="


def check(condition: Condition, found: Measured, level: float | None, max_failed: float) -> Checked:
    """The condition decided at a one-sided level of confidence; without one the figure itself decides."""
    fact = is_fact(condition, level)
    checked = Checked(
        condition=condition,
        decision="undecided",
        value=found.value,
        n=found.n,
        cases=found.cases,
        fact=fact,
        failed=found.failed,
        lack=_lack(condition, found, max_failed),
    )
    if level is not None and found.found is not None:
        ends = {"low": lower(found.found, level), "high": upper(found.found, level)}
        checked = checked.model_copy(update=ends)
    if found.value is not None and _exceeded(condition, found):
        return checked.model_copy(update={"decision": "missed", "lack": ""})
    if checked.lack or found.value is None:
        return checked
    if fact and found.least is not None and not condition.holds(found.value):
        return checked.model_copy(update={"lack": "close"})  # those that are not asked yet may go well
    if fact:
        return checked.model_copy(update={"decision": _of_facts(condition, found.value)})
    return checked.model_copy(update=_by_bound(condition, found, 1 - (level or 0)))


def _lack(condition: Condition, found: Measured, max_failed: float) -> Lack:
    """What is missing to decide at all."""
    if found.value is None:
        return "nothing"
    if found.failed > (found.n + found.failed) * max_failed + _SAME:
        return "ungraded"
    return "few" if condition.measure != "cost" and found.cases < MIN_CASES else ""


def _exceeded(condition: Condition, found: Measured) -> bool:
    """Whether it is missed already, however few were asked: what has happened does not go away with more."""
    if found.least is not None:
        return not condition.holds(found.least)
    grows = condition.measure in ("count", "cost") or condition.comparison == "=="
    return grows and found.value is not None and not condition.holds(found.value)


def _of_facts(condition: Condition, value: float) -> Decision:
    return "passed" if condition.holds(value) else "missed"


def _by_bound(condition: Condition, found: Measured, alpha: float) -> dict[str, object]:
    """Passed or missed when the bound on that side says so; otherwise what would settle it."""
    good, bad, target = _sides(condition, found)
    if doubt(good, target) <= alpha:
        return {"decision": "passed"}
    if doubt(bad, 1 - target) <= alpha:
        return {"decision": "missed"}
    towards, aim = (good, target) if good.mean > target else (bad, 1 - target)
    questions = _more_questions(towards, aim, alpha)
    if questions is None:
        return {"lack": "close"}
    each = max(1.0, found.talks / found.cases)
    asked_again = towards.scatter is not None and found.talks > found.cases
    repeats = doubt(towards.without_scatter(), aim) <= alpha if asked_again else None
    more = More(questions=questions, conversations=math.ceil(questions * each), repeats=repeats)
    return {"lack": "close", "more": more}


def _sides(condition: Condition, found: Measured) -> tuple[Clusters, Clusters, float]:
    """The values whose mean has to be high, the same turned round, and how high it has to be."""
    values = found.found
    assert values is not None  # noqa: S101 - without values nothing was decided before
    if found.goal is not None or condition.rises:
        return values, values.turned(), condition.threshold if found.goal is None else found.goal
    return values.turned(), values, 1 - condition.threshold


def _more_questions(found: Clusters, target: float, alpha: float) -> int | None:
    """How many more questions it takes if they go like those that were asked; None if no sensible number."""
    asked = len(found.sizes)
    low, high = 1.0, 2.0
    while doubt(found, target, high) > alpha:
        low, high = high, 2 * high
        if high * asked > MOST:
            return None
    while (high - low) * asked > 0.5:
        middle = (low + high) / 2
        low, high = (middle, high) if doubt(found, target, middle) > alpha else (low, middle)
    return max(1, math.ceil((high - 1) * asked - 0.5))


def check_corrected(checked: Checked, corrected: Corrected, level: float | None) -> Checked:
    """The run's score as people's blind grades correct it decides in place of the judge's own.

    Its interval of 95 % has more than 95 % on one side; for a higher level it is widened as a normal one.
    """
    wider = 1.0 if level is None else max(1.0, _z(level) / _USUAL_Z)
    low, high = (corrected.score + wider * (end - corrected.score) for end in corrected.interval)
    goal, rises = checked.condition.threshold, checked.condition.rises
    good, bad = (low >= goal - _SAME, high < goal - _SAME) if rises else (high <= goal + _SAME, low > goal)
    decision: Decision = "passed" if good else "missed" if bad else "undecided"
    changes: dict[str, object] = {"value": corrected.score, "low": max(0.0, low), "high": min(1.0, high)}
    if checked.lack in ("", "close"):
        changes |= {"decision": decision, "lack": "close" if decision == "undecided" else "", "more": None}
    return checked.model_copy(update=changes)


def _z(level: float) -> float:
    from statistics import NormalDist

    return NormalDist().inv_cdf(level)


def _rounded(value: float | None) -> float | None:
    return None if value is None or math.isinf(value) else round(value, 4)
