"""The room of lm-evaluation-harness: its tasks asked of the bot, as a run with reports."""

from simulator.lab.harness import command, report
from simulator.plugins import Plugin

PLUGIN = Plugin(name="harness", commands={"harness": command.command}, sections=(report.section,))
