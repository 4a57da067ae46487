"""The room about customers: how closely they resemble people, whether they react to what a bot answers."""

from simulator.core.document import Section
from simulator.core.messages import _
from simulator.core.settings import Settings
from simulator.core.types import Results
from simulator.lab.likeness.command import reacting
from simulator.lab.likeness.figures import by_case, measured
from simulator.lab.likeness.section import likeness_section
from simulator.plugins import Plugin
from simulator.results.figures import Summary


def section(results: Results, _summary: Summary, _settings: Settings) -> Section | None:
    """How closely the customers resemble real ones; None for rows, which nobody asks."""
    return None if results.run.asks_once else likeness_section(measured(results))


PLUGIN = Plugin(
    name="likeness",
    figures={"likeness": by_case},
    titles={"likeness": _("Likeness")},
    sections=(section,),
    reacting=reacting,
)
