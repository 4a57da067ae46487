"""Figures as people read them: on a scale to 100."""

import math


def points(value: float | None, *, against: float | None = None) -> str:
    """A value 0..1 on the scale to 100; decimals only where it would else be beyond `against`."""
    if value is None:
        return "–"
    below = against is not None and value < against - 1e-9
    for places in range(4):
        text = f"{math.floor(value * 100 * 10**places + 0.5 + 1e-9) / 10**places:.{places}f}"
        if against is None or (float(text) < against * 100 - 1e-7) == below:
            break
    return text


def goal(target: float) -> str:
    """A target on the scale to 100, exactly as it was set."""
    return f"{100 * target:.6g}"
