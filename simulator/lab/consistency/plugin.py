"""The room that asks whether a bot tells every customer the same."""

from simulator.lab.consistency.command import command
from simulator.lab.consistency.report import remarks
from simulator.plugins import Plugin

PLUGIN = Plugin(name="consistency", commands={"consistency": command}, remarks=(remarks,))
