"""The room of comparison in pairs: a judge reads the answers of two runs beside each other."""

import asyncio
from collections.abc import Sequence
from typing import Any

from simulator.cli.forecast import spent_json
from simulator.core.settings import Settings
from simulator.lab.compare import command
from simulator.lab.compare.comparison import Comparison, as_json
from simulator.plugins import Plugin


def compare(runs: Sequence[str], settings: Settings) -> dict[str, Any]:
    """What `compare --json` prints of two runs."""
    comparison = Comparison(runs, settings)
    outcomes = asyncio.run(comparison.judged(lambda *_unused: None))
    return {**as_json(comparison.result(outcomes)), **spent_json(comparison.ledger)}


PLUGIN = Plugin(name="compare", commands={"compare": command.command}, comparing=compare)
