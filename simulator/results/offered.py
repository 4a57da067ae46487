"""Figures of plug-ins that a target may name, beside the program's own and the judges'."""

from collections.abc import Callable, Iterable, Mapping

from simulator.core.messages import Message
from simulator.core.types import Results

# Of a run: values from 0 to 1, each with the id of its question. The figure is their mean; more is better.
GateFigure = Callable[[Results], Iterable[tuple[float, str]]]

ReadFigures = Callable[[], Mapping[str, GateFigure]]
ReadTitle = Callable[[str], Message | None]

_READERS: list[tuple[ReadFigures, ReadTitle]] = []


def offer_figures(read: ReadFigures, title: ReadTitle) -> None:
    """Makes the figures of plug-ins and their titles known; said by whoever starts the program."""
    _READERS[:] = [(read, title)]


def further_figures() -> dict[str, GateFigure]:
    """The figures of plug-ins by name."""
    return {name: figure for read, _title in _READERS for name, figure in read().items()}


def further_title(name: str) -> Message | None:
    """What people read for a figure of a plug-in; None where it has no title."""
    return next((title(name) for _read, title in _READERS), None)
