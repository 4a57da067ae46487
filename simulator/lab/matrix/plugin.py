"""The room of matrices: data sets, prompts and models beside each other."""

from simulator.lab.matrix.command import evaluate
from simulator.plugins import Plugin

PLUGIN = Plugin(name="matrix", evaluation=evaluate)
