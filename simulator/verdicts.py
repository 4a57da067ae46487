"""What a function judge may return (a Score, yes or no, a number on its scale, either with a reason)."""

import math
from numbers import Real
from typing import Any

from simulator.errors import ModelFailure
from simulator.kinds import share_of
from simulator.types import Score

Scale = tuple[float, float]


def score_of(verdict: Any, scale: Scale, *, declared: bool) -> Score:
    """The verdict as a score on the judge's scale; raises ModelFailure, in one line, for what is none.

    `declared`: the module has a SCALE, and a Score on another one contradicts it.
    """
    if isinstance(verdict, Score):
        return _sound(verdict, scale, declared=declared)
    if isinstance(verdict, tuple) and len(verdict) == 2 and isinstance(verdict[1], str):
        return _graded(verdict[0], verdict[1], scale)
    return _graded(verdict, "", scale)


def _graded(verdict: Any, reason: str, scale: Scale) -> Score:
    """Yes is the top of the scale, no its bottom."""
    if type(verdict).__module__ == "numpy":  # its scalars are no numbers and no bool of Python's
        verdict = verdict.item()
    if isinstance(verdict, bool):
        raw = scale[verdict]
    elif isinstance(verdict, Real):
        raw = float(verdict)
    else:
        msg = (
            f"the judge returned {type(verdict).__name__}, not a Score, a number, True or False,"
            " or one of these with a reason"
        )
        raise ModelFailure("malformed", msg)
    if not scale[0] <= raw <= scale[1]:  # not a number is on no scale, either
        msg = f"the judge returned {raw:g}, which is not on {scale[0]:g} to {scale[1]:g}"
        raise ModelFailure("off_scale", msg)
    return Score(state="scored", value=share_of(raw, scale), raw=raw, scale=scale, reason=reason)


def _sound(score: Score, scale: Scale, *, declared: bool) -> Score:
    """The judge's own Score, on the module's scale where it names none."""
    if not math.isfinite(score.value or 0.0):  # stored, it would be no value at all
        raise ModelFailure("off_scale", f"the judge returned {score.value}")
    if score.state == "scored" and score.value is None:
        msg = f"the judge returned a Score that is {score.state} and has no value"
        raise ModelFailure("malformed", msg)
    if score.state != "scored" and score.value is not None:
        msg = f"the judge returned a Score that is {score.state} and has the value {score.value:g}"
        raise ModelFailure("malformed", msg)
    if "scale" not in score.model_fields_set:
        return score.model_copy(update={"scale": scale})
    if declared and score.scale != scale and score.state == "scored":
        (low, high), (lowest, highest) = score.scale, scale
        msg = (
            f"the judge's Score is on {low:g} to {high:g},"
            f" but SCALE of its module is {lowest:g} to {highest:g}"
        )
        raise ModelFailure("malformed", msg)
    return score
