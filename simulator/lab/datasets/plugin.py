"""The room of data sets with labels: from which score on an answer is right."""

from simulator.lab.datasets import command
from simulator.plugins import Plugin, Subcommands

PLUGIN = Plugin(
    name="datasets", commands={"thresholds": Subcommands(about=command.ABOUT, commands=command.COMMANDS)}
)
