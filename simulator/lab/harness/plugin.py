"""The room of lm-evaluation-harness: its tasks asked of the bot, as a run with reports."""

from simulator.core.document import Section
from simulator.core.settings import Settings
from simulator.core.types import Results
from simulator.lab.harness import command, report
from simulator.plugins import Plugin
from simulator.results.figures import Summary


def section(results: Results, _summary: Summary, _settings: Settings) -> Section | None:
    """Tasks and groups with their metrics."""
    return report.section(results)


PLUGIN = Plugin(name="harness", commands={"harness": command.command}, sections=(section,))
