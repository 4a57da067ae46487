"""How a part of a run (`2/5`), a sample (`200:7`), arrivals (`2/s`, `ramp 60s`) and patterns are written."""

import re
from typing import Any, Literal, NamedTuple

_SHARD = re.compile(r"(\d{1,6})\s*/\s*(\d{1,6})")
_SAMPLE = re.compile(r"(\d{1,9})(?:\s*:\s*(\d{1,18}))?")
_RATE = re.compile(r"(\d+(?:\.\d+)?)\s*/\s*(s|sec|second|m|min|minute|h|hour)", re.IGNORECASE)
_RAMP = re.compile(r"ramp[\s:]*(\d+(?:\.\d+)?)\s*(s|m|h|)", re.IGNORECASE)
_SECONDS = {"s": 1.0, "m": 60.0, "h": 3600.0, "": 1.0}


class Shard(NamedTuple):
    """Part `number` (from 1) out of `parts` of a plan."""

    number: int
    parts: int

    @property
    def text(self) -> str:
        """As it is written."""
        return f"{self.number}/{self.parts}"


class Sample(NamedTuple):
    """So many rows by lot, as `random.Random(seed).sample` draws them."""

    size: int
    seed: int = 0

    @property
    def text(self) -> str:
        """As it is written."""
        return f"{self.size}:{self.seed}"


class Arrival(NamedTuple):
    """How customers come: so many a second at random (`rate`), or all within so many seconds (`ramp`)."""

    kind: Literal["rate", "ramp"]
    amount: float

    @property
    def text(self) -> str:
        """As it is written."""
        return f"{self.amount:.10g}/s" if self.kind == "rate" else f"ramp {self.amount:.10g}s"


def read_shard(given: str) -> Shard:
    """Part and parts of `2/5`; ValueError says what is wrong with it."""
    found = _SHARD.fullmatch(given.strip())
    shard = Shard(*map(int, found.groups())) if found else None
    if shard is None or not 1 <= shard.number <= shard.parts:
        msg = "write 2/5 for the second of five"
        raise ValueError(msg)
    return shard


def read_sample(given: str) -> Sample:
    """Size and seed of `200` or `200:7`; ValueError says what is wrong with it."""
    found = _SAMPLE.fullmatch(given.strip())
    if found is None or not int(found[1]):
        msg = "write 200 for 200 rows, or 200:7 with a seed of your own"
        raise ValueError(msg)
    return Sample(int(found[1]), int(found[2] or 0))


def read_arrival(given: str) -> Arrival:
    """`2/s`, `30/min` or `ramp 60s`; ValueError says what is wrong with it."""
    text = given.strip()
    arrival = None
    if found := _RATE.fullmatch(text):
        number, unit = found.groups()
        arrival = Arrival("rate", float(number) / _SECONDS[unit[0].lower()])
    elif found := _RAMP.fullmatch(text):
        number, unit = found.groups()
        arrival = Arrival("ramp", float(number) * _SECONDS[unit.lower()])
    if arrival is None or not 0 < arrival.amount < 1e6:
        msg = "write how many customers come (2/s, 30/min), or within how long all of them do (ramp 60s)"
        raise ValueError(msg)
    return arrival


def read_patterns(given: Any) -> Any:
    """One regular expression or several, commas and all; ValueError names the one that is none."""
    patterns = (given,) if isinstance(given, str) else given
    for pattern in patterns if isinstance(patterns, (list, tuple)) else ():
        try:
            re.compile(pattern)
        except (re.error, TypeError) as error:
            msg = f"{pattern!r} is no regular expression ({error})"
            raise ValueError(msg) from None
    return patterns


def read_columns(given: Any) -> Any:
    """`references=answer,question=Q` as pairs, our column first; ValueError says what is wrong with it."""
    items = [given] if isinstance(given, str) else given
    if not isinstance(items, (list, tuple)):
        return given
    found: dict[str, str] = {}
    for item in (part.strip() for each in items for part in str(each).split(",")):
        ours, equals, theirs = (part.strip() for part in item.partition("="))
        if not (ours and equals and theirs):
            msg = f"'{item}' is not CASE=FILE; write references=answer, our column first"
            raise ValueError(msg)
        found[ours] = theirs
    return found
