"""The articles that the questions of a run did not test, for which questions are to be made."""

from pathlib import Path

from simulator.core.errors import InputError
from simulator.core.messages import _
from simulator.core.types import TURN, RedRules
from simulator.results.coverage import coverage_of
from simulator.results.turns import run_turns
from simulator.storage.run_file import find_run, read_run


def knowledge_of(run: str, runs: Path) -> str | None:
    """The folder of articles that a run named; None where it named none."""
    knowledge = read_run(find_run(run, runs)).run.settings.get("knowledge")
    return str(knowledge) if knowledge else None


def untested_articles(run: str, runs: Path) -> frozenset[str]:
    """The ids of the articles that no question of a run needs.

    Raises InputError where the run does not know the bot's articles, and where all are tested.
    """
    results = read_run(find_run(run, runs))
    coverage = coverage_of(results, run_turns(results, RedRules(), TURN))
    if not coverage.complete:
        raise InputError(
            _("{run} does not know the bot's articles: make it with --knowledge.", run=results.run.id)
        )
    if not coverage.untested:
        raise InputError(_("{run}: no article is untested.", run=results.run.id))
    return frozenset(coverage.untested)
