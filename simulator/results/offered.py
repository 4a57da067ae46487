"""Figures of plug-ins that a target may name, beside the program's own and the judges'."""

from collections.abc import Callable, Iterable, Mapping

from simulator.core.types import Results

# Of a run: values from 0 to 1, each with the id of its question. The figure is their mean; more is better.
GateFigure = Callable[[Results], Iterable[tuple[float, str]]]

_READERS: list[Callable[[], Mapping[str, GateFigure]]] = []


def offer_figures(read: Callable[[], Mapping[str, GateFigure]]) -> None:
    """Makes the figures of plug-ins known; said by whoever starts the program."""
    _READERS[:] = [read]


def further_figures() -> dict[str, GateFigure]:
    """The figures of plug-ins by name."""
    return {name: figure for read in _READERS for name, figure in read().items()}
