"""The room about customers: whether they react to how a bot answers, as people would."""

from simulator.lab.likeness.command import reacting
from simulator.plugins import Plugin

PLUGIN = Plugin(name="likeness", reacting=reacting)
