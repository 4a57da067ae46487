"""`fixes RUN`: what to fix first, ranked by how much it would improve the score."""

import asyncio
import sys
from pathlib import Path
from typing import Any

from simulator.cli.destinations import write_atomically
from simulator.cli.options import RUN, option, takes
from simulator.cli.publish import report_language
from simulator.cli.terminal import (
    DONE,
    print_json,
    say,
    stdout_to_stderr,
    unread_output_allowed,
)
from simulator.core.document import Report
from simulator.core.messages import Message, _, shown
from simulator.core.settings import Settings, load_settings, stored_settings
from simulator.core.types import LEXICAL, Results
from simulator.diagnosis.ask_again import MOST_PAIRS, ask_again, missed_searches
from simulator.diagnosis.focus import case_file, failed_cases, replay_options, rerun_options
from simulator.diagnosis.recommendations import Fix, Improvements, improvements_of_run
from simulator.diagnosis.recommendations import as_json as fixes_json
from simulator.diagnosis.root_cause import articles_of, stored_checks
from simulator.report.fixes import fixes_report
from simulator.report.painters.console import print_report
from simulator.report.painters.markdown import markdown
from simulator.report.tables import anchors_of
from simulator.stats.figures import Summary
from simulator.stats.summary import figures_of
from simulator.storage.results import without_superseded
from simulator.storage.run_file import find_run, read_run

# Fixes that a terminal shows without --top.
TOP = 10
# Articles that the bot is asked about at most.
MOST_ARTICLES = 20

# What today's command line may change; the rest stays as in the run.
OPTIONS = ("knowledge", "offline", "timeout", "runs", "json_output")


@takes(*OPTIONS)
def command(  # noqa: PLR0917 - one for each option
    flags: dict[str, Any],
    run: str = RUN,
    ask_again: bool = option(
        "--ask-again",
        "Ask the bot a few questions in the words of its articles, to learn whether search misses "
        "them or only the customer's wording; once per run.",
    ),
    focus: Path | None = option(
        "--focus FILE",
        "Write the failed questions to FILE (.csv, .jsonl or .yaml), for a short run of only these.",
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
    path = find_run(run, Path(today.runs))
    results = without_superseded(read_run(path))
    changed = {name: getattr(today, name) for name in OPTIONS if flags[name] not in (None, False)}
    settings = stored_settings({**results.run.settings, **changed})
    if ask_again:
        _ask_again(path, results, settings)
        results = without_superseded(read_run(path))
    view = _FixesView(results, settings, top)
    with unread_output_allowed():
        view.show(path, as_json=today.json_output)
    if focus:
        view.write_focus(focus, today.runs)
    if markdown:
        view.write_markdown(markdown)
    return DONE


class _FixesView:
    """The fixes of a run, in the language of most of its cases."""

    def __init__(self, results: "Results", settings: Settings, top: int | None) -> None:

        self.results, self.top, self.language = results, top, report_language(results)
        self.summary: Summary = figures_of(results, settings)
        self.improvements: Improvements = improvements_of_run(results, self.summary, settings)

    @property
    def chosen(self) -> "tuple[Fix, ...]":
        """All fixes, or the best of them."""
        return self.improvements.fixes[: self.top]

    def show(self, path: Path, *, as_json: bool) -> None:
        """Prints them; with `--json` one object on stdout, and the rest on stderr."""
        report = self._report(self.top or TOP)
        print_report(report, as_json=as_json)
        if as_json:
            fixes = fixes_json(self.improvements, self.chosen, anchors_of(self.results), report.text)
            page = str(path.with_name("report.html"))
            print_json({"run": self.results.run.id, "store": str(path), "page": page, **fixes})

    def _report(self, top: int | None) -> "Report":

        return fixes_report(self.improvements, self.results.run.id, self.summary, self.language, top)

    def write_focus(self, file: Path, runs: str) -> None:
        """Writes the failed questions, and says how to ask only these again."""
        cases = failed_cases(self.results, self.chosen)
        if not cases:
            self._say(_("No question failed: {path} was not written.", path=file))
            return
        write_atomically(file, case_file(cases, file))
        n = len(cases)
        self._say(
            _("Failed questions written to {path}: {n}. Once fixed, ask only these again:", path=file, n=n)
        )
        sys.stderr.write(f"  python run.py {rerun_options(self.results, self.chosen, file)}\n")
        self._say(_("To repeat the very same lines (all conversations):"))
        sys.stderr.write(f"  python run.py {replay_options(self.results, runs)}\n")

    def write_markdown(self, file: Path) -> None:
        """Writes all fixes, or the best of them."""
        write_atomically(file, markdown(self._report(self.top)))
        self._say(_("Written to {path}.", path=file))

    def _say(self, message: Message) -> None:
        say(shown(message, self.language, "rows" if self.summary.rows else ""))


def _ask_again(path: Path, results: "Results", settings: Settings) -> None:
    """Says how often it will ask the bot, asks it, and stores the answers."""
    language, asked_before = report_language(results), stored_checks(results).keys()
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
    with stdout_to_stderr():
        asyncio.run(ask_again(path, _with_models(results, settings), limit=MOST_ARTICLES))
    kept = _("The bot's answers are kept in the run file; it will not be asked the same again.")
    say(shown(kept, language))


def _with_models(results: "Results", settings: Settings) -> Settings:
    """With the models of the run, so that the bot is the one that was rehearsed."""
    models = {f"{role}_model": model or LEXICAL for role, model in results.run.models.items()}
    return settings.model_copy(update={**models, "replay": None, "script": None})
