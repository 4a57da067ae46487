"""Where a condition stops holding, to within a billionth."""

from collections.abc import Callable


def bisected(low: float, high: float, is_below: Callable[[float], bool]) -> float:
    """The largest value found between two for which a condition holds that holds below some value.

    Each step halves what is left. Where the condition holds nowhere it is `low`.
    """
    while high - low > 1e-9:
        middle = (low + high) / 2
        low, high = (middle, high) if is_below(middle) else (low, middle)
    return low
