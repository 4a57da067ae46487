"""Figures as people read them: on a scale to 100."""

import math


def points(value: float | None, *, against: float | None = None) -> str:
    """A value 0..1 on the scale to 100, with decimals only where it must not look like `against`."""
    if value is None:
        return "–"
    for places in range(4):
        text = f"{math.floor(value * 100 * 10**places + 0.5 + 1e-9) / 10**places:.{places}f}"
        if against is None or value >= against - 1e-9 or float(text) < against * 100 - 1e-7:
            break
    return text


def goal(target: float) -> str:
    """A target on the scale to 100, exactly as it was set."""
    return f"{100 * target:.6g}"
