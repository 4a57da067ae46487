"""`fixes RUN`: what to mend first, by what it would bring."""

import asyncio
import contextlib
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from simulator.cli.app import may_stop_reading
from simulator.cli.options import Run, takes
from simulator.core.settings import Settings, from_run, load

if TYPE_CHECKING:
    from simulator.core.translations import Words
    from simulator.core.types import Results
    from simulator.diagnosis.recommendations import Fix, Improvements
    from simulator.stats.figures import Summary

DONE = 0
# Shown on a terminal, unless --top says otherwise.
SHOWN = 10
# Articles that a bot is asked about at most.
MOST_ASKED = 20

AskAgain = Annotated[
    bool,
    typer.Option(
        "--ask-again",
        help="Ask the bot a few questions in its articles' own words, to tell what is not found from what is "
        "worded differently; once for a run.",
    ),
]
Focus = Annotated[
    Path | None,
    typer.Option(
        "--focus",
        metavar="FILE",
        help="Write the failed questions (.csv, .jsonl or .yaml) for a short run of these alone.",
        show_default=False,
    ),
]
Top = Annotated[
    int | None,
    typer.Option("--top", metavar="N", min=1, help="Only the N best. [default: 10]", show_default=False),
]
Markdown = Annotated[
    Path | None,
    typer.Option(
        "--markdown", metavar="FILE", help="Write all of it as Markdown, to hand on.", show_default=False
    ),
]
# What today adds; everything else stays as the run was held.
OPTIONS = ("knowledge", "offline", "timeout", "runs", "json_output")


@takes(*OPTIONS)
def command(  # noqa: PLR0917 - the run, and what the command line may add
    flags: dict[str, Any],
    run: Run = "latest",
    ask_again: AskAgain = False,
    focus: Focus = None,
    top: Top = None,
    markdown: Markdown = None,
) -> int:
    """What to fix first: red turns grouped by what mends them, and what that brings.

    python run.py fixes latest --focus failed.csv
    """
    from simulator.storage.results import counted
    from simulator.storage.run_file import find_run, read_run

    given = load(flags)
    _check(focus)
    path = find_run(run, Path(given.runs))
    results = counted(read_run(path))
    settings = _settings(results, flags, given)
    if ask_again:
        _ask_again(path, results, settings)
        results = counted(read_run(path))
    shown = _FixesView(results, settings, top)
    with may_stop_reading():
        shown.show(path, as_json=given.json_output)
    if focus:
        shown.focus(focus, given.runs)
    if markdown:
        shown.markdown(markdown)
    return DONE


def _check(focus: Path | None) -> None:
    """A file of a kind that cannot be written is told before anything is asked."""
    from simulator.diagnosis.focus import case_file

    if focus:
        case_file((), focus)


def _settings(results: "Results", flags: dict[str, Any], given: Settings) -> Settings:
    """The run's own settings, with what was given today."""
    today = {name: getattr(given, name) for name in OPTIONS if flags[name] not in (None, False)}
    return from_run({**results.run.settings, **today})


class _FixesView:
    """The fixes of a run, in the language of most of its conversations."""

    def __init__(self, results: "Results", settings: Settings, top: int | None) -> None:
        from simulator.cli.publish import report_language
        from simulator.core.translations import words_of
        from simulator.diagnosis.recommendations import improvements_of_run
        from simulator.stats.outcome import figures_of

        self.results, self.top = results, top
        self.summary: Summary = figures_of(results, settings)
        language = report_language(results)
        self.words: Words = words_of(self.summary, language)
        self.found: Improvements = improvements_of_run(results, self.summary, settings, language)

    @property
    def chosen(self) -> "tuple[Fix, ...]":
        """All fixes, or the best of them."""
        return self.found.fixes[: self.top]

    def show(self, path: Path, *, as_json: bool) -> None:
        """On the terminal; with `--json` one object on stdout, and the rest on stderr."""
        from rich.console import Console

        from simulator.report.console import paint_fixes

        console, most = Console(stderr=as_json), self.top or SHOWN
        run, offline = self.results.run.id, self.summary.offline
        paint_fixes(self.found, run, self.words, console, top=most, offline=offline)
        if as_json:
            sys.stdout.write(json.dumps(self._as_json(path), ensure_ascii=False) + "\n")

    def _as_json(self, path: Path) -> dict[str, Any]:
        from simulator.diagnosis.recommendations import as_json
        from simulator.report.html_conversations import anchors_of

        return {
            "run": self.results.run.id,
            "store": str(path),
            "page": str(path.with_name("report.html")),
            **as_json(self.found, self.chosen, anchors_of(self.results)),
        }

    def focus(self, file: Path, runs: str) -> None:
        """The failed questions, and how to ask only these again."""
        from simulator.cli.sinks import write_atomically
        from simulator.diagnosis.focus import again, case_file, failed_cases, replayed

        cases = failed_cases(self.results, self.chosen)
        if not cases:
            self._say("focus_none", path=str(file))
            return
        write_atomically(file, case_file(cases, file))
        self._say("focus_saved", path=str(file), n=f"{len(cases):,}")
        sys.stderr.write(f"  python run.py {again(self.results, self.chosen, file)}\n")
        self._say("focus_replay")
        sys.stderr.write(f"  python run.py {replayed(self.results, runs)}\n")

    def markdown(self, file: Path) -> None:
        """All of it, or the best, to hand on."""
        from simulator.cli.sinks import write_atomically
        from simulator.report.fixes import fixes_markdown

        run, offline = self.results.run.id, self.summary.offline
        write_atomically(file, fixes_markdown(self.found, run, self.words, self.top, offline=offline))
        self._say("markdown_saved", path=str(file))

    def _say(self, key: str, **values: str) -> None:
        from simulator.core.translations import plain
        from simulator.report.fixes import FIXES

        sys.stderr.write(plain(FIXES(self.words.language, key, **values)) + "\n")


def _ask_again(path: Path, results: "Results", settings: Settings) -> None:
    """Asks the bot what is worth asking, says before how often, and stores what came."""
    from simulator.cli.publish import report_language
    from simulator.diagnosis.ask_again import MOST_PAIRS, ask_again, sought
    from simulator.diagnosis.root_cause import articles_of, found_before
    from simulator.report.fixes import FIXES
    from simulator.stats.outcome import figures_of

    language, known = report_language(results), found_before(results).keys()
    missed = sought(results, figures_of(results, settings), articles_of(settings))
    articles = min(sum(not set(each.turns) <= known for each in missed), MOST_ASKED)
    most = f"{articles * (1 + MOST_PAIRS):,}"
    key = "forecast" if articles else "ask_nothing"
    sys.stderr.write(FIXES(language, key, n=most, articles=f"{articles:,}") + "\n")
    if articles:
        with contextlib.redirect_stdout(sys.stderr):  # what a bot's own code prints
            asyncio.run(ask_again(path, _as_held(results, settings), limit=MOST_ASKED))
        sys.stderr.write(FIXES(language, "asked") + "\n")


def _as_held(results: "Results", settings: Settings) -> Settings:
    """With the models of the run, so that the bot is the one that was rehearsed."""
    from simulator.core.roles import LEXICAL

    models = {f"{role}_model": model or LEXICAL for role, model in results.run.models.items()}
    return settings.model_copy(update={**models, "replay": None, "script": None})
