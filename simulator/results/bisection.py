"""Where a condition stops holding, to within a billionth."""

from collections.abc import Callable


def bisected(low: float, high: float, is_below: Callable[[float], bool], steps: int) -> float:
    """The largest value found between two for which a condition holds that holds below some value.

    Each step halves what is left: 30 of them take an interval of length 1 to a billionth. Where the condition
    holds nowhere it is `low`.
    """
    for _ in range(steps):
        middle = (low + high) / 2
        low, high = (middle, high) if is_below(middle) else (low, middle)
    return low
