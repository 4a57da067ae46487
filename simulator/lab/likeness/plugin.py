"""The room about customers: how closely they resemble people, whether they react to what a bot answers."""

from simulator.core.messages import _
from simulator.lab.likeness.command import reacting
from simulator.lab.likeness.figures import by_case
from simulator.lab.likeness.section import section
from simulator.plugins import Plugin

PLUGIN = Plugin(
    name="likeness",
    figures={"likeness": by_case},
    titles={"likeness": _("Likeness")},
    sections=(section,),
    reacting=reacting,
)
