"""What `--target` may say: a number, or conditions such as `turn >= 0.9 and severity_major == 0`."""

import math
import re
import unicodedata
from collections.abc import Iterable
from typing import Literal, get_args

from simulator.errors import UnknownName
from simulator.types import Value

Comparison = Literal[">=", "<=", "==", ">", "<"]
# How a figure is measured: a share or mean 0..1, a count of turns, seconds of answering, or dollars.
Measure = Literal["share", "count", "seconds", "cost"]

# Beside them every judge of the run is a name: the mean of its grades, 0..1.
FIGURES: dict[str, Measure] = {
    "score": "share",
    "answered_correctly": "share",
    "refused_correctly": "share",
    "handover_correctly": "share",
    "red": "share",
    "failed": "share",
    "major": "share",
    "severity_major": "count",
    "severity_moderate": "count",
    "severity_minor": "count",
    "p95_seconds": "seconds",
    "latency_p95": "seconds",
    "cost_usd": "cost",
}
# Shares of what went wrong; of every other share, and of every judge's grades, more is better.
WRONGS = frozenset({"red", "failed", "major"})
# The share of questions with a major turn, which every target limits: to this, where nobody says otherwise.
MAJOR, MAX_MAJOR = "major", 0.2
EXAMPLE = "turn >= 0.9 and severity_major == 0"

_TERM = re.compile(r"([^\s<>=!()]+)\s*(>=|<=|==|>|<)\s*([-+.\d]+(?:e[-+]?\d+)?)", re.IGNORECASE)
# People write 90% or 90点 for 90.
_PERCENT = re.compile(r"(?<=\d)\s*[%％点]$")
_AND = re.compile(r"\s+and\s+", re.IGNORECASE)


class Condition(Value):
    """One comparison of a figure of the run with a threshold; shares are 0..1."""

    name: str
    comparison: Comparison
    threshold: float

    @property
    def measure(self) -> Measure:
        """What kind of figure it is about."""
        return FIGURES.get(self.name, "share")

    @property
    def rises(self) -> bool:
        """Whether more is better."""
        return self.comparison in (">=", ">")

    @property
    def text(self) -> str:
        """The condition as it is written."""
        return f"{self.name} {self.comparison} {self.threshold:.10g}"

    def holds(self, value: float) -> bool:
        """Whether a figure meets the threshold; what differs by a rounding error is equal."""
        apart = value - self.threshold
        if abs(apart) < 1e-9:
            return self.comparison in (">=", "<=", "==")
        return self.comparison != "==" and (apart > 0) == self.rises


def read_target(given: object) -> float | str | None:
    """A target as it was set: a share (90 means 0.9) or the text of its conditions; ValueError if neither."""
    if given is None:
        return None
    text = _PERCENT.sub("", given.strip()) if isinstance(given, str) else given
    try:
        number = math.nan if isinstance(text, bool) else float(text)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return " and ".join(condition.text for condition in conditions(str(text)))
    return _share(number)


def conditions(text: str) -> tuple[Condition, ...]:
    """The conditions of an expression, each once; ValueError says what is wrong with it."""
    plain = unicodedata.normalize("NFKC", text).replace("≥", ">=").replace("≤", "<=").strip()
    return tuple(dict.fromkeys(_condition(part) for part in _AND.split(plain)))


def _condition(part: str) -> Condition:
    found = _TERM.fullmatch(part.strip())
    if found is None:
        msg = f"'{part.strip()}' is no condition; write a number (0.9, 90) or some joined by and: {EXAMPLE}"
        raise ValueError(msg)
    name, comparison, number = found.groups()
    try:
        threshold = float(number)
    except ValueError:
        msg = f"'{number}' is no number"
        raise ValueError(msg) from None
    (same,) = (each for each in get_args(Comparison) if each == comparison)
    return _sensible(Condition(name=name, comparison=same, threshold=threshold))


def _sensible(condition: Condition) -> Condition:
    """The condition with its threshold on the scale of its figure."""
    name, comparison, threshold = condition.name, condition.comparison, condition.threshold
    if condition.measure == "share":
        _right_way(condition)
        return condition.model_copy(update={"threshold": threshold and _share(threshold)})
    if threshold < 0 or (condition.measure == "count" and threshold % 1):
        msg = f"{name} is {_KINDS[condition.measure]}, and {threshold:g} is none"
        raise ValueError(msg)
    if condition.rises or (condition.measure != "count" and comparison == "=="):
        msg = f"{name} can only be limited: write {name} <= {threshold:g}"
        raise ValueError(msg)
    return condition


def _right_way(condition: Condition) -> None:
    """Refuses a share that would pass for being bad, and one that would have to be hit exactly."""
    name, threshold, limited = condition.name, condition.threshold, condition.name in WRONGS
    written = f"write {name} {'<=' if limited else '>='} {threshold:g}"
    if condition.comparison == "==" and (threshold or not limited):
        msg = f"{name} is a share: {written}"
        raise ValueError(msg)
    if condition.rises == limited and condition.comparison != "==":
        msg = f"{condition.text} points the wrong way, {'less' if limited else 'more'} is better: {written}"
        raise ValueError(msg)


_KINDS = {"count": "a number of turns", "seconds": "a time in seconds", "cost": "an amount of dollars"}


def _share(value: float) -> float:
    """90 means 0.9; 1.2 and what is outside 0..100 are mistakes."""
    if not (0 < value <= 1 or 2 <= value <= 100):
        msg = "must be between 0 and 1, or a percentage from 2 to 100"
        raise ValueError(msg)
    return value / 100 if value > 1 else value


def read_confidence(given: object) -> float | None:
    """A certainty as it was set: 95 and 95% mean 0.95, off none at all; ValueError if it is no certainty."""
    text = unicodedata.normalize("NFKC", given).strip().casefold() if isinstance(given, str) else given
    if text is None or text == "off":
        return None
    try:
        number = float(text.removesuffix("%") if isinstance(text, str) else text)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        number = math.nan
    share = number / 100 if number > 1 else number
    if isinstance(given, bool) or not 0.5 < share < 1:
        msg = "must lie between 0.5 and 1: 0.95 (or 95, 95%) is usual, off asks for none"
        raise ValueError(msg)
    return share


def asked(target: float | str | None) -> tuple[Condition, ...]:
    """The conditions that a target stands for; a number is asked of the run's score."""
    if target is None:
        return ()
    if isinstance(target, str):
        return conditions(target)
    return (Condition(name="score", comparison=">=", threshold=target),)


def check_names(target: float | str | None, judges: Iterable[str]) -> None:
    """Raises UnknownName for a condition about something that the run will not have."""
    known = {*FIGURES, *judges}
    for condition in asked(target):
        if condition.name not in known:
            raise UnknownName("figure in --target", condition.name, sorted(known))
