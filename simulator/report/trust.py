"""How far a judge agrees with people, as every report of a run shows it."""

from typing import Literal

from pydantic import Field

from simulator.core.document import Line, Text
from simulator.core.shelves import canonical_judge
from simulator.core.types import PASSED, Value

# These compare with the row by rule, and claim no more.
BY_RULE = frozenset((
    "exact_match", "contains", "token_f1", "rouge_l", "meteor", "chrf", "label", "choice", PASSED,
))  # fmt: skip
# How well a judge agrees with people: the first four by its agreement (`report/judges.py`), `few` where fewer
# answers were compared than that takes, `not_calibrated` where nobody compared any with this rubric and
# model.
TrustLevel = Literal["well", "fair", "weak", "doubtful", "few", "not_calibrated"]


class JudgeTrust(Value):
    """One judge: `calibration` words its agreement with people (None: not calibrated).

    `warnings` are what is known to sway it, and that its grades have drifted since it was calibrated.
    """

    calibration: Text | None
    level: TrustLevel
    warnings: tuple[Text, ...] = ()


class JudgeTrusts(Value):
    """The trust in each judge of a run by name, and notes that every report of the run shows."""

    judges: dict[str, JudgeTrust] = Field(default_factory=dict)
    notes: tuple[Line, ...] = ()


# Nobody has looked: of stand-ins, whose grades are worth nothing, nothing is said.
UNKNOWN = JudgeTrusts()


def by_rule(name: str) -> bool:
    """Whether a judge compares by rule and needs no calibration; `path.em` is such a judge of one output."""
    judge = name.partition("@")[0]
    return canonical_judge(judge) in BY_RULE or canonical_judge(judge.rpartition(".")[2]) in BY_RULE
