"""The room of load rehearsals: many customers at the same time, and what that does to the bot."""

from simulator.lab.load.pace import LoadRunner, check_load
from simulator.lab.load.report import section
from simulator.lab.load.settings import LoadSettings
from simulator.plugins import Plugin

PLUGIN = Plugin(name="load", settings=LoadSettings, sections=(section,), runner=LoadRunner, check=check_load)
