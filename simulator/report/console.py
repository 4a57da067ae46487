"""The summary for a terminal: score, verdict, what is red, what it cost and what to do next.

Everything is printed as text, never as markup: what bots and models write cannot colour, move or
rewrite a terminal. Widths are cells, so that Japanese lines up.
"""

import re
import shlex
from collections.abc import Iterable, Iterator
from pathlib import Path

from rich.cells import cell_len
from rich.console import Console

from simulator.core.document import Section, Table
from simulator.core.settings import Settings
from simulator.core.translations import Words, points, target_points, words_of
from simulator.core.types import Language, Results, Run
from simulator.diagnosis.recommendations import Improvements, improvements_of
from simulator.report import answerable, customers
from simulator.report.comparison import ConsoleLines
from simulator.report.context import corrected_line, counts_text, lowest_score, notes, verdict
from simulator.report.extras import LoadText, load_text
from simulator.report.fixes import FIXES, Item, all_items, red_rows, summary_items
from simulator.report.gate import conditions_table
from simulator.report.judges import UNKNOWN, Block, JudgeTrusts, blocks, heading, with_notes
from simulator.report.painters import console as painters
from simulator.report.sections import sections
from simulator.report.tables import money, personas_table, spent_by
from simulator.stats.figures import Summary
from simulator.stats.gate import Gate

# The first column is at least this wide, and no wider than its longest word up to the second figure.
_LABEL, _WORD = 10, 32
# A judge's name that is wider than this has a line of its own.
_TITLE = 24
_ASCII = re.compile(r"[!-~]+")
_RED, _GOOD, _SOFT = "bold red", "bold green", "dim"


def paint(  # noqa: PLR0917 - the five things shown, where, and one more to name
    summary: Summary,
    gate: Gate,
    results: Results,
    language: Language,
    console: Console,
    page: Path | str = "",
    trusts: JudgeTrusts = UNKNOWN,
    improvements: Improvements | None = None,
) -> None:
    """Prints the summary of a run; `page` is where its report was written.

    `improvements` is what to fix where that is known already; otherwise it is worked out from the run alone.
    """
    words = words_of(summary, language)
    improvements = improvements or improvements_of(results, summary, language)
    _Painter(console, words, trusts).everything(summary, gate, results, str(page), improvements)


def paint_fixes(
    found: Improvements, run: str, words: Words, console: Console, *, top: int, offline: bool = False
) -> None:
    """Prints at most `top` fixes with their examples; `offline`: stand-ins judged."""
    painter = _Painter(console, words, UNKNOWN)
    painter.title(f"{FIXES(words.language, 'all_title')}  {run}")
    if offline:
        painter.items([Item(f"{words('standin')}: {words('standin_why')}", indent=0, loud=True)])
    painter.items(all_items(found, words, top))


class _Painter(ConsoleLines):
    """Prints the parts of a summary in the words of one language."""

    def __init__(self, console: Console, words: Words, trusts: JudgeTrusts) -> None:
        super().__init__(console)
        self._words, self._trusts = words, trusts

    def everything(
        self, summary: Summary, gate: Gate, results: Results, page: str, improvements: Improvements
    ) -> None:
        """The whole summary, most important first."""
        self._verdict(summary, gate, results.run)
        for note in with_notes(notes(summary, gate, self._words), self._trusts):
            self._item("!" if note.alarm else "-", note.text, "" if note.alarm else _SOFT)
        if conditions := conditions_table(gate, self._words):
            self.title(conditions.title)
            self._grid(conditions)
        if summary.personas or summary.rows:
            self._grid(personas_table(summary, self._words.language))
            self._legend(summary, results)
            self._trust(blocks(self._trusts, self._words))
        self._facts([*_facts(summary, self._words), *answerable.facts(results, self._words.language)])
        for section in sections(results, self._words.language):
            painters.paint_sections([section], self._console)
        if load := load_text(results, summary, self._words):
            self._load(load)
        if improvements.fixes or improvements.customer:
            self.title(self._words("fix_first"))
            self.items(summary_items(improvements, _run_argument(page, results.run.id), self._words))
        elif summary.rows and summary.reddest:
            self.title(self._words("reddest_short"))
            self.items(red_rows(summary, self._words))
        self.title(self._words("next"))
        for step in _next(summary, gate, self._words, page):
            self._item("-", step)

    def _verdict(self, summary: Summary, gate: Gate, run: Run) -> None:
        """The score with its interval, and how it stands to the target."""
        words = self._words
        self.title(f"{words('title')}  {run.id}")
        if summary.offline:
            models = [f"{words.name('role', role)} {name}" for role, name in models_of(run)]
            self.line("  ".join([words("standin"), words("comma").join(models)]).strip(), "bold yellow")
            self.line(words("standin_why"), "yellow")
        self.line("   ".join(self._scores(summary, gate)), "bold")
        style = {True: _GOOD, False: _RED, None: ""}[gate.passed]
        red = f"▲ {words('red_turns')} {summary.red:,} {words('of_turns', turns=summary.turns)}"
        self.line(f"{verdict(gate, summary.score, words)}   {red}", style)

    def _scores(self, summary: Summary, gate: Gate) -> Iterator[str]:
        """The score with its interval, the corrected one where people's grades made it, and its coverage."""
        words = self._words
        if summary.corrected:
            yield f"{words('score')} {corrected_line(summary, gate.target, words)}"
            yield words("corrected_by", n=summary.corrected.n)
        else:
            score = f"{points(summary.score, against=gate.target)} {words('of_hundred')}"
            yield f"{words('score')} {score if summary.score is not None else words('no_score')}"
            if summary.interval:
                low, high = map(points, summary.interval)
                yield words("interval", low=low, high=high)
            elif summary.score is not None:
                yield words("no_interval")
        yield words("graded_of", n=summary.graded, planned=summary.planned)

    def _load(self, load: LoadText) -> None:
        """The figures of a load rehearsal, with its cautions."""
        self.title(load.title)
        self.line(load.headline)
        self._facts((fact.name, fact.value) for fact in load.facts)
        for caution in load.cautions:
            self._item("!", caution)
        self._item("-", load.note, _SOFT)

    def items(self, items: Iterable[Item]) -> None:
        """Paragraphs; loud ones are bold, soft ones are dim."""
        for item in items:
            style = "bold" if item.loud else _SOFT if item.soft else ""
            if item.text and not item.indent:
                self.line(item.text, style)
            elif item.text:
                self._item(item.marker, item.text, style, indent=item.indent)
            else:
                self._console.print()

    def _item(self, marker: str, text: str, style: str = "", marker_style: str = "", indent: int = 0) -> None:
        """A paragraph that hangs from its marker, `indent` cells from the left."""
        padding = " " * max(1, indent - cell_len(self._fit(marker)))
        self.item(marker + padding, text, marker_style or style, style)

    def _facts(self, facts: Iterable[tuple[str, str]]) -> None:
        """Names and values in two columns."""
        rows = list(facts)
        column = max(cell_len(self._fit(name)) for name, _ in rows) + 2
        for name, value in rows:
            self._item(name, value, marker_style=_SOFT, indent=column)

    def _legend(self, summary: Summary, results: Results) -> None:
        """The limit below which a figure is marked, and how low a score can be."""
        limit, lowest = summary.rules.overall, lowest_score(results, summary)
        sentences = [] if limit is None else [self._words("low_key", limit=target_points(limit))]
        sentences += [] if lowest is None else [self._words("lowest", n=target_points(lowest))]
        if sentences:
            self.line(("" if self._words.language == "ja" else " ").join(sentences), _SOFT)
            self._console.print()

    def _trust(self, trust_blocks: list[Block]) -> None:
        """How far each judge agrees with people, and warnings about it."""
        if not trust_blocks:
            return
        self.line(heading(self._words.language), _SOFT)
        column = min(_TITLE, max(cell_len(self._fit(block.title)) for block in trust_blocks)) + 2
        for block in trust_blocks:
            title = block.title
            if cell_len(self._fit(title)) > _TITLE:
                self.line(title, _SOFT)
                title = ""
            self._item(title, block.text, marker_style=_SOFT, indent=column)
            for warning in block.warnings:
                self._item(" " * (column - 2) + "!", warning, _RED, indent=column)
        self._console.print()

    def _grid(self, table: Table) -> None:
        """A table without its title."""
        untitled = table.model_copy(update={"title": ""})
        painters.paint_sections([Section("", "", (untitled,))], self._console)


def _facts(summary: Summary, words: Words) -> Iterator[tuple[str, str]]:
    """The figures below the table, as names and values."""
    if summary.total.value is not None:
        total = words("total_of", value=f"{summary.total.value:.1f}", of=summary.total.of)
        graded = [
            f"{words.name('judge', n)} {j.n:,}/{j.planned:,}"
            for n, j in summary.judges.items()
            if j.failed or j.skipped
        ]
        name = words("total", n=summary.total.n)
        yield name, f"{total}{'   ' + words('comma').join(graded) if graded else ''}"
    if not summary.rows:
        yield from _conversation_facts(summary, words)
    yield words("bot_failures"), counts_text(summary.bot_failures, "failure", words) or words("none")
    yield words("cost_line"), _cost(summary, words)


def _conversation_facts(summary: Summary, words: Words) -> Iterator[tuple[str, str]]:
    """How conversations ended, and how their customers were played."""
    yield words("endings"), counts_text(summary.ended, "ended", words) or words("none")
    simulator = summary.simulator
    guarded = words("guard_line", n=simulator.guarded, turns=summary.turns, failed=simulator.failed)
    yield words("simulator"), "\n".join([guarded, *customers.sentences(simulator, words.language)])


def _cost(summary: Summary, words: Words) -> str:
    """Money, and the tokens of every role and model; or that no model was called."""
    if not any(spent.calls or spent.cached for spent in summary.spending.values()):
        return words("no_calls")
    roles = [
        words(
            "role_line",
            **{"role": role, "calls": spent.calls, "in": spent.tokens_in, "out": spent.tokens_out},
        )
        + (words("role_cached", n=spent.cached) if spent.cached else "")
        for role, spent in spent_by(summary, words)
    ]
    amount = (
        words("unknown_cost")
        if summary.cost_usd is None
        else words("dollars", amount=money(summary.cost_usd, words))
    )
    return "\n".join([amount, *roles, *_per_turn(summary, words)])


def _per_turn(summary: Summary, words: Words) -> Iterator[str]:
    """The tokens of grading one turn: those of uncached calls, divided by the graded turns."""
    judge, spent = summary.judges.get(summary.primary), summary.spending.get("judge")
    if judge and judge.n and spent and spent.calls:
        tokens = {"in": round(spent.tokens_in / judge.n), "out": round(spent.tokens_out / judge.n)}
        yield words("per_turn", **tokens)


def _run_argument(page: str, run: str) -> str:
    """The run as an argument of a command: its id in the usual folder, its path elsewhere."""
    folder = Path(page).parent
    usual = not page or folder.parent.resolve() == Path(Settings().runs).resolve()
    return run if usual else shlex.quote(str(folder))


def _next(summary: Summary, gate: Gate, words: Words, page: str) -> Iterator[str]:
    """What the reader can do now."""
    if page:
        yield words("next_open", path=page)
    run = _run_argument(page, summary.run)
    if summary.finished + summary.spared < summary.planned or summary.status != "finished":
        yield words("next_resume", run=run)
    elif summary.red:
        yield words("next_again", run=run)
    if gate.passed is None:
        yield words("next_target")
    if summary.offline:
        yield words("next_model")


def models_of(run: Run) -> Iterator[tuple[str, str]]:
    """Roles and their models; the demo bot's is left out where another bot was tested."""
    for role, name in run.models.items():
        if role != "demo" or run.settings.get("adapter", "demo") == "demo":
            yield role, name
