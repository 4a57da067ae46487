"""What to mend, of a stored run: its causes are looked up, the bot is never asked."""

from simulator.blame.attribute import blames
from simulator.blame.of_run import articles_of, found_before
from simulator.core.settings import Settings
from simulator.core.types import Language, Results
from simulator.fixes.fix import Improvements
from simulator.fixes.improve import improvements
from simulator.stats.figures import Summary
from simulator.storage.results import retrieves


def improvements_of_run(
    results: Results, summary: Summary, settings: Settings, language: Language | None = None
) -> Improvements:
    """With the bot's own articles, where the settings name them, and what it said when it was asked again.

    Raises InputError when the knowledge that `--knowledge` names cannot be read.
    """
    if summary.rows and not retrieves(results):
        return _none(summary, language or "ja")
    articles = (articles_of(settings) or ()) if summary.reddest else ()
    found = blames(results, summary, articles=articles or None, found=found_before(results))
    return improvements(results, summary, found, articles=articles, language=language)


def improvements_of(results: Results, summary: Summary, language: Language | None = None) -> Improvements:
    """From the run alone: what depends on the knowledge base is told as likely."""
    if summary.rows and not retrieves(results):
        return _none(summary, language or "ja")
    return improvements(results, summary, blames(results, summary), language=language)


# Where nothing was retrieved for any row, there is neither an article nor a search to mend.
def _none(summary: Summary, language: Language) -> Improvements:
    return Improvements(language=language, score=summary.score, goal=1.0, unsearched=bool(summary.reddest))
