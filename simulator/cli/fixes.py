"""`fixes RUN`: what to fix first, ranked by how much it would improve the score.

Causes are named by rule from what the run has (`diagnosis/`). Two options ask more, once per run, and keep
the answers in the run file: --ask-again the bot, to tell "not found" from "worded differently"; --ask-judge
the judge's model, for red turns whose cause no rule proves. --focus writes the failed questions, and says how
to ask only these:

    Failed questions written to failed.csv: 2. Once fixed, ask only these again:
      python run.py --cases failed.csv --persona angry --adapter demo --offline
"""

import asyncio
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from simulator.cli.options import RUN, option, settings_of_run, takes
from simulator.cli.publish import report_language
from simulator.cli.show import show_report, write_atomically, write_for_user
from simulator.cli.terminal import ExitCode, say, stdout_to_stderr, unread_output_allowed
from simulator.core.document import Report
from simulator.core.messages import Message, _, as_called, shown
from simulator.core.roles import models_named
from simulator.core.settings import Settings, load_settings
from simulator.core.types import Results
from simulator.diagnosis.asking import MOST_PAIRS, ask_again, missed_searches
from simulator.diagnosis.asking import ask_judge as ask_model
from simulator.diagnosis.focus import case_file, failed_cases, replay_options, rerun_options
from simulator.diagnosis.recommendations import Fix, improvements_of_run
from simulator.diagnosis.recommendations import as_json as fixes_json
from simulator.diagnosis.root_cause import articles_of, stored_checks
from simulator.report.fixes import fixes_report
from simulator.report.painters.markdown import markdown as as_markdown
from simulator.report.tables import anchors_of
from simulator.stats.summary import figures_of
from simulator.storage.results import without_superseded
from simulator.storage.run_file import find_run, read_run

# Fixes that a terminal shows without --top; --json and --markdown have all.
TOP = 10
# Articles that the bot is asked about at most, with --ask-again: each takes up to `1 + MOST_PAIRS` questions.
MOST_ARTICLES = 20


@takes("knowledge", "offline", "timeout", "runs", "json_output")
def command(  # noqa: PLR0917 - one for each option
    flags: dict[str, Any],
    run: str = RUN,
    ask_again: bool = option(
        "--ask-again",
        "Ask the bot a few questions in the words of its articles, to learn whether search misses "
        "them or only the customer's wording; once per run.",
    ),
    ask_judge: bool = option(
        "--ask-judge",
        "Ask the judge's model for the cause of each red turn that no rule proves, from the same "
        "evidence; once per run.",
    ),
    focus: Path | None = option(
        "--focus FILE",
        "Write the failed questions to FILE (.csv or .jsonl), for a short run of only these.",
    ),
    top: int | None = option("--top N", "Show only the N best fixes. [default: 10]", min=1),
    markdown: Path | None = option("--markdown FILE", "Write all fixes as Markdown, to pass on."),
) -> int:
    """Show what to fix first: red turns grouped by their fix, and what each fix would bring.

    python run.py fixes latest --focus failed.csv
    """
    today = load_settings(flags)
    if focus:  # a file of a kind that cannot be written is refused before anything is asked
        case_file((), focus)
    path = find_run(run, today.runs)
    results = without_superseded(read_run(path))
    settings = settings_of_run(results.run.settings, flags, today)
    if ask_again:
        _ask_again(path, results, settings)
    if ask_judge:
        _ask_judge(path, results, settings)
    if ask_again or ask_judge:
        results = without_superseded(read_run(path))
    summary = figures_of(results, settings)
    improvements = improvements_of_run(results, summary, settings)
    chosen, language = improvements.fixes[:top], report_language(results)

    # On a terminal the best ten, in Markdown as many as were asked for.
    def report_of(most: int | None) -> Report:
        return fixes_report(improvements, results.run.id, summary, language, most)

    shown_report = report_of(top or TOP)
    fixes = fixes_json(improvements, chosen, anchors_of(results), shown_report.text)
    where = {"run": results.run.id, "store": str(path), "page": str(path.with_name("report.html"))}
    with unread_output_allowed():
        show_report(shown_report, where | fixes, as_json=today.json_output)
    if focus:
        for line in _write_focus(focus, results, chosen, today.runs):
            say(shown(line, language, "rows" if summary.rows else ""))
    if markdown:
        write_for_user(markdown, as_markdown(report_of(top)))
    return ExitCode.DONE


def _write_focus(file: Path, results: Results, fixes: Sequence[Fix], runs: Path) -> Iterator[Message | str]:
    """Writes the failed questions, and says how to ask only these again.

    The options are those of the run that matter for its answers: bot, knowledge, customers, language. The
    short run is no comparison with the whole one; for that there is --replay, which it names as well.
    """
    cases = failed_cases(results, fixes)
    if not cases:
        yield _("No question failed: {path} was not written.", path=file)
        return
    write_atomically(file, case_file(cases, file))
    n = len(cases)
    yield _("Failed questions written to {path}: {n}. Once fixed, ask only these again:", path=file, n=n)
    yield as_called(f"  python run.py {rerun_options(results, fixes, file)}")
    yield _("To repeat the very same lines (all conversations):")
    yield as_called(f"  python run.py {replay_options(results, runs)}")


def _ask_again(path: Path, results: Results, settings: Settings) -> None:
    """Says how often it will ask the bot, asks it, and stores the answers."""
    language, asked_before = report_language(results), stored_checks(results).keys()
    # Articles that a red turn needed and did not get: asked for in their own words, they are either found, so
    # that wording is the cause, or not, so that search is.
    missed = missed_searches(results, figures_of(results, settings), articles_of(settings))
    articles = min(sum(not set(article.turns) <= asked_before for article in missed), MOST_ARTICLES)
    if not articles:
        nothing = _("There is nothing to ask (the articles are not known, or it was asked before).")
        say(shown(nothing, language))
        return
    forecast = _(
        "To tell what is not found from what is worded differently, the bot is asked at most {n} times, about"
        " articles that it did not find: {articles}.",
        n=articles * (1 + MOST_PAIRS),
        articles=articles,
    )
    say(shown(forecast, language))
    # The bot is the one that was rehearsed.
    models = models_named(results.run.models)
    settings = settings.model_copy(update={**models, "replay": None, "script": None})
    with stdout_to_stderr():
        asyncio.run(ask_again(path, settings, limit=MOST_ARTICLES))
    kept = _("The bot's answers are kept in the run file; it will not be asked the same again.")
    say(shown(kept, language))


def _ask_judge(path: Path, results: Results, settings: Settings) -> None:
    """Has the judge's model name causes, which are stored; says what it could not name.

    What rules call certain is not asked about: it rests on evidence that a model could only contradict.
    """
    language = report_language(results)
    models = models_named(results.run.models)
    with stdout_to_stderr():
        asked, failed = asyncio.run(ask_model(path, settings.model_copy(update=models)))
    kept = _(
        "The judge's model was asked about red turns: {n}. Its answers are kept in the run file.", n=asked
    )
    say(shown(kept, language))
    if failed:
        none = _("It named no cause for {n}: the rules' cause stands. Asking once more may help.", n=failed)
        say(shown(none, language))
