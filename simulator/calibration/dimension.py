"""One dimension of people's labels as numbers: its scale, and from where on an answer is good."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from simulator.calibration.labels import LabelFile, Labelled
from simulator.core.errors import InputError, UnknownName
from simulator.data.files import shown
from simulator.data.values import fault

_NUMBER = r"-?\d+(?:\.\d+)?"
_RANGE = re.compile(rf"\s*({_NUMBER})\s*(?:-|–|〜|~|\.\.)\s*({_NUMBER})")
_LISTED = re.compile(rf"\s*{_NUMBER}(?:\s*\|\s*{_NUMBER})+")
# Texts that a label may hold are listed up to here.
_LISTED_TEXTS = 12
_MOST_LEVELS = 101


class Said(NamedTuple):
    """What people said of one answer: their mean, and each vote, higher being better."""

    mean: float
    votes: tuple[float, ...]
    annotators: tuple[str, ...]


class Dimension(NamedTuple):
    """How a label is read. `text` is the one that is good; `flipped`: of 0 and 1, 0 is good."""

    name: str
    levels: tuple[float, ...]
    good_from: float
    text: str | None = None
    flipped: bool = False

    @property
    def good(self) -> str:
        """What counts as good, as people would write it."""
        if self.text is not None:
            return f"{self.name} = {self.text}"
        return f"{self.name} = 0" if self.flipped else f"{self.name} >= {self.good_from:g}"

    @property
    def scale(self) -> str:
        """The levels, in short."""
        if self.text is not None:
            return "0-1"
        steps = {round(b - a, 9) for a, b in zip(self.levels, self.levels[1:], strict=False)}
        if len(self.levels) > 2 and steps != {1.0}:
            return "|".join(f"{level:g}" for level in self.levels)
        return f"{self.levels[0]:g}-{self.levels[-1]:g}"

    def said(self, row: Labelled) -> Said | None:
        """What people said of a row; None where nobody labelled it."""
        given = row.labels.get(self.name)
        if not given:
            return None
        if self.text is not None:
            votes = tuple(float(_text(vote) == self.text) for vote in given)
        else:
            votes = tuple(1 - float(vote) if self.flipped else float(vote) for vote in given)
        names = row.annotators.get(self.name, ())
        return Said(sum(votes) / len(votes), votes, names if len(names) == len(votes) else ())


def dimension(file: LabelFile, name: str, good: str | None = None) -> Dimension:
    """The dimension of that name; `good` is a limit, or the text that is good.

    Without `good`, a label is good that rounds to the top of its scale; for texts it has to be said.
    """
    if name not in file.dimensions:
        raise UnknownName(f"label in {file.path}", name, file.dimensions)
    rows = [row for row in file.rows if name in row.labels]
    if any(isinstance(vote, str) for row in rows for vote in row.labels[name]):
        return _of_texts(name, rows, good)
    levels = _levels(file, name, rows)
    votes = {float(vote) for row in rows for vote in row.labels[name]}
    if good is None:
        return Dimension(name, levels, (levels[-1] + levels[-2]) / 2)
    try:
        limit = float(good)
    except ValueError:
        msg = (
            f"--good {shown(good)}: the labels of {name} are numbers on a scale {levels[0]:g}-{levels[-1]:g}."
        )
        raise InputError(msg) from None
    if limit == 0 and votes <= {0.0, 1.0}:
        return Dimension(name, (0.0, 1.0), 0.5, flipped=True)
    return Dimension(name, levels, limit)


def _of_texts(name: str, rows: Sequence[Labelled], good: str | None) -> Dimension:
    texts = dict.fromkeys(_text(vote) for row in rows for vote in row.labels[name])
    if good is None:
        known = ", ".join(shown(text) for text in list(texts)[:_LISTED_TEXTS])
        msg = f"the labels of {name} are texts: say which is good with --good. There are: {known}."
        raise InputError(msg)
    if good not in texts:
        raise UnknownName(f"value of label {name}", good, list(texts)[:_LISTED_TEXTS])
    return Dimension(name, (0.0, 1.0), 0.5, text=good)


def _text(vote: float | str) -> str:
    return vote if isinstance(vote, str) else f"{vote:g}"


def _levels(file: LabelFile, name: str, rows: Sequence[Labelled]) -> tuple[float, ...]:
    """The levels that the file names; otherwise 0-1 or 1-5 if that holds all labels, else their range."""
    written = next((text for row in rows if (text := row.scales.get(name) or row.scales.get(""))), "")
    levels = _written(written)
    votes = [float(vote) for row in rows for vote in row.labels[name]]
    if levels is None:
        low, high = min(votes), max(votes)
        usual = next((s for s in ((0.0, 1.0), (1.0, 5.0)) if s[0] <= low and high <= s[1]), (low, high))
        return _steps(*usual)
    for row in rows:
        for vote in row.labels[name]:
            if not levels[0] <= float(vote) <= levels[-1]:
                what = f"label {shown(name)} is {vote:g}, outside its scale {levels[0]:g}-{levels[-1]:g}."
                raise fault(file.path, row.row, what)
    return levels


def _written(scale: str) -> tuple[float, ...] | None:
    if listed := _LISTED.match(scale):
        return tuple(sorted({float(text) for text in listed[0].split("|")}))
    if found := _RANGE.match(scale):
        return _steps(float(found[1]), float(found[2]))
    return None


def _steps(low: float, high: float) -> tuple[float, ...]:
    """Every whole number of a scale; only its ends where there are none, or too many."""
    whole = low.is_integer() and high.is_integer() and 0 < high - low < _MOST_LEVELS
    return tuple(map(float, range(int(low), int(high) + 1))) if whole else _ends(low, high)


def _ends(*both: float) -> tuple[float, ...]:
    low, high = sorted(both)
    return (low, high if high > low else low + 1)
