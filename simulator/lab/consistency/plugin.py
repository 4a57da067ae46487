"""The room that asks whether a bot tells every customer the same."""

from collections.abc import Iterator

from simulator.core.document import Line
from simulator.core.types import Results
from simulator.lab.consistency import command
from simulator.lab.consistency.report import consistency_line
from simulator.plugins import Plugin


def remarks(results: Results) -> Iterator[Line]:
    """An alarm where customers were told different things."""
    if apart := consistency_line(results):
        yield Line(apart, "alarm")


PLUGIN = Plugin(
    name="consistency",
    commands={"consistency": command.command},
    remarks=(remarks,),
)
