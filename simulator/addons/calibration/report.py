"""`calibrate`: a judge compared with labels, and its report for a terminal in Japanese or English."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from simulator.addons.calibration.grade import LabelComparison, compare, domain_of
from simulator.core.document import wrap
from simulator.core.errors import UnknownName
from simulator.core.messages import _
from simulator.core.roles import LEXICAL, endpoints
from simulator.core.settings import Settings
from simulator.core.templates import Texts
from simulator.core.translations import safe_text
from simulator.core.types import Language, Score, Spending
from simulator.grading.rubric import Rubric
from simulator.models.pricing import Ledger
from simulator.runner.context import RunContext
from simulator.runner.labelled_answers import (
    Dimension,
    GradedRow,
    GraderKind,
    JudgeName,
    LabelFile,
    LabelledAnswer,
    LabelledGrading,
    grading_estimate,
    judge_settings,
    labelled_context,
    read_dimension,
    read_labels,
    reference_separator,
    sample_rows,
    score_name,
)
from simulator.stats import judge_trust
from simulator.stats.calibration import ENOUGH_ROWS, TRIVIAL, FigureInterval, Figures, Scorer, figures_json
from simulator.stats.intervals import RESAMPLES
from simulator.stats.judge_trust import Calibration, short_number

WORDS = Texts(Path(__file__).with_name("calibration.toml"))
# The longest bar of a histogram, in marks of two cells.
_BAR = 12
_ALARM, _SOFT = "bold red", "dim"


class CalibrationReport(NamedTuple):
    """What is printed: the stored calibration, what it was made from, and how."""

    calibration: Calibration
    compared: LabelComparison
    label: Dimension
    domain: str
    seed: int
    grader: GraderKind
    path: Path | None = None


class CalibrationRequest(NamedTuple):
    """What to compare: the file, the judge (`turn.completeness`: a part of its verdict), the label."""

    file: str
    judge: str
    label: str
    good: str | None = None
    by: str | None = None
    precision: float = 0.9
    limit: int | None = None


class CalibrationRun:
    """One calibration. Making it reads all input, so that errors show before anything is paid."""

    def __init__(
        self, request: CalibrationRequest, settings: Settings, folder: Path = judge_trust.FOLDER
    ) -> None:
        """Reads labels and judge without connecting to anything; calibrations are stored in `folder`."""
        self.request, self.name, self.folder = request, JudgeName.of(request.judge), folder
        self.file: LabelFile = read_labels(request.file)
        self.label: Dimension = read_dimension(self.file, request.label, request.good)
        self.domain = domain_of(self.file, request.by)
        labelled = [row for row in self.file.rows if self.label.human_grade(row)]
        self.rows: list[LabelledAnswer] = sample_rows(labelled, request.limit, settings.seed)
        known = endpoints(settings)
        self.settings = judge_settings(settings, self.name.judge, by_model=known["judge"] is not None)
        self.context = RunContext(self.settings, known, (), Ledger.of(self.settings))
        self.judge = score_name(self.context, self.name.judge)
        self._check_field()

    @property
    def title(self) -> str:
        """The name of the calibration: the judge, and the part that is compared."""
        return str(JudgeName(self.judge, self.name.field))

    @property
    def language(self) -> Language:
        """The language of most rows; Japanese on a tie."""
        english = sum(row.case.language == "en" for row in self.rows)
        return "en" if english > len(self.rows) / 2 else "ja"

    @property
    def file_name(self) -> str:
        """What the calibration is called in its folder."""
        return judge_trust.calibration_file_name(self.title, self.label.name, self.file.dataset)

    @property
    def separator(self) -> str:
        """The mark between acceptable answers, where the file has them in one text."""
        return reference_separator(self.file.rows)

    def runner(self) -> LabelledGrading:
        """Grades with the judge; a model's grades are kept in a partial file until the result is stored."""
        return LabelledGrading(self.context, self.judge, self.folder / f".{self.file_name}.partial.jsonl")

    async def grade(self, runner: LabelledGrading, progress: Callable[[Score], None]) -> list[GradedRow]:
        """All rows graded, and every connection closed."""
        try:
            return await runner.grade(self.rows, separator=self.separator, progress=progress)
        finally:
            await self.context.close(None)

    def compare(self, graded: list[GradedRow]) -> LabelComparison:
        """The figures."""
        return compare(
            self.file,
            graded,
            self.label,
            field=self.name.field,
            by=self.request.by,
            precision=self.request.precision,
            seed=self.settings.seed,
            separator=self.separator,
        )

    def grader(self) -> tuple[GraderKind, str]:
        """Who graded, and its name: a model, a stand-in, or a function without one."""
        models = self.context.models()
        if isinstance(self.context.judges[self.judge], Rubric):
            return ("by_stand_in" if models["judge"] == LEXICAL else "by_model"), models["judge"]
        asked = [models[role] for role in self.context.ledger.roles]
        return ("by_model", ", ".join(dict.fromkeys(asked))) if asked else ("by_function", LEXICAL)

    def calibration(self, compared: LabelComparison) -> Calibration:
        """What is stored."""
        return Calibration(
            judge=self.title,
            label=self.label.name,
            dataset=self.file.dataset,
            n=compared.figures.n,
            rubric=compared.rubric,
            model=self.grader()[1],
            language=self.language,
            good=self.label.good,
            date=judge_trust.today(),
            file=str(self.file.path),
            sha256=self.file.sha256,
            figures=figures_json(compared.figures),
            rows=tuple((grade.row.case.id, round(grade.value, 6)) for grade in compared.grades),
            scale=compared.figures.scale,
        )

    def forecast(self, runner: LabelledGrading) -> Spending:
        """Calls, tokens and dollars at most, from the real prompts; nothing where no model grades."""
        return grading_estimate(self.context, runner.panel, [labelled_context(row) for row in self.rows])

    def _check_field(self) -> None:
        """A part that the form does not have is values before it is paid for; stand-ins have their own."""
        judge, field = self.context.judges[self.judge], self.name.field
        by_model = self.context.models()["judge"] != LEXICAL
        if field and by_model and isinstance(judge, Rubric) and field not in judge.fields:
            raise UnknownName(_("part of {judge}", judge=self.judge), field, judge.fields)


def paint(report: CalibrationReport, console: Console) -> None:
    """Prints the whole calibration; everything as text, never as markup."""
    _Painter(report, console).everything()


class _Painter:
    """One calibration on one console."""

    def __init__(self, report: CalibrationReport, console: Console) -> None:
        self.report, self.console = report, console
        self.figures: Figures = report.compared.figures

    def say(self, key: str, **values: object) -> str:
        """A text in the language of the rows."""
        texts = {name: f"{v:,}" if isinstance(v, int) else str(v) for name, v in values.items()}
        return WORDS(self.report.calibration.language, key, **texts)

    def everything(self) -> None:
        """Prints the report from the compared rows to the warnings."""
        c = self.report.calibration
        self._line("")
        self._line(self.say("title", judge=c.judge, label=c.label, dataset=c.dataset), "bold underline")
        for line in self._made_of():
            self._line(line)
        self._line("")
        self._scorers()
        self._line(self.say("interval_note", draws=RESAMPLES, seed=self.report.seed), _SOFT)
        self._line("")
        self._facts()
        self._histogram()
        self._domains()
        notes = list(self._notes())
        if notes:
            self._line("")
        for alarm, note in notes:
            self._item("!" if alarm else "-", note, _ALARM if alarm else "")
        if self.report.path:
            self._line("")
            self._line(self.say("saved", path=self.report.path))

    def _made_of(self) -> Iterator[str]:
        """Who graded, and what became of the rows."""
        counts, c = self.report.compared.counts, self.report.calibration
        yield self.say(self.report.grader, **({"model": c.model} if self.report.grader == "by_model" else {}))
        yield self.say("rubric", rubric=c.rubric or "-")
        parts = [self.say("rows", n=self.figures.n, all=counts.rows, groups=self.figures.groups)]
        if counts.skipped:
            parts.append(self.say("skipped", count=counts.skipped, reason=counts.reason))
        if counts.failed:
            parts.append(self.say("failed", count=counts.failed))
        if counts.unlabelled:
            parts.append(self.say("unlabelled", count=counts.unlabelled))
        yield "  ".join(parts)
        yield self.say("good", good=c.good, n=self.figures.good, all=self.figures.n)

    def _scorers(self) -> None:
        """The judge, people, trivial scorers and published ones on the same rows."""
        grid = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False)
        grid.add_column(Text(self.say("scorer"), _SOFT))
        grid.add_column(Text("n", _SOFT), justify="right")
        for title in ("Spearman", "Kendall", "AUROC"):
            grid.add_column(Text(title, _SOFT), no_wrap=True)
        grid.add_row(*self._row(self.report.calibration.judge, self.figures.judge, "bold"))
        if self.figures.humans:
            grid.add_row(*self._row(self.say("people"), self.figures.humans.scorer))
        for scorer in self.figures.scorers:
            grid.add_row(*self._row(self._name(scorer.name), scorer))
        self.console.print(grid, highlight=False)

    def _row(self, name: str, scorer: Scorer, style: str = "") -> list[Text]:
        cells = (
            name,
            f"{scorer.n:,}",
            with_interval(scorer.spearman),
            short_number(scorer.kendall),
            with_interval(scorer.auroc),
        )
        return [Text(self._fit(cell), style) for cell in cells]

    def _name(self, name: str) -> str:
        return self.say(name) if name in TRIVIAL else self.say("published", name=name)

    def _facts(self) -> None:
        """Kappa, leniency and thresholds, as names and values."""
        rows = list(self._figures())
        column = max(cell_len(self._fit(name)) for name, _unused in rows) + 2
        for name, value in rows:
            self._item(name, value, indent=column)

    def _figures(self) -> Iterator[tuple[str, str]]:
        figures = self.figures
        people = figures.humans
        kappa = [with_interval(figures.kappa)]
        if people and people.kappa is not None:
            values = {"annotators": people.annotators, "pairs": people.pairs}
            kappa.append(self.say("kappa_people", kappa=short_number(people.kappa), **values))
        note = self.say("kappa_note", scale=self.report.label.scale)
        yield self.say("kappa"), f"{'  '.join(kappa)}\n{note}"
        means = {"judge": short_number(figures.judge_mean), "people": short_number(figures.people_mean)}
        leaning = f"{with_interval(figures.leniency, signed=True)}  {self.say(_leaning(figures.leniency))}"
        yield self.say("leniency"), f"{leaning}\n{self.say('leniency_note', **means)}"
        if figures.one_kind:
            return
        yield self.say("threshold"), self._best()
        yield self.say("precise", wanted=short_number(figures.wanted_precision)), self._precise()

    def _best(self) -> str:
        cut = self.figures.threshold
        if cut is None:
            return self.say("threshold_none")
        return self.say(
            "threshold_best",
            grade=f"{cut.grade:g}",
            accuracy=short_number(cut.balanced_accuracy),
            precision=short_number(cut.precision),
            recall=short_number(cut.recall),
        )

    def _precise(self) -> str:
        cut = self.figures.precise
        if cut is None:
            return self.say("precise_none")
        values = {
            "grade": f"{cut.grade:g}",
            "precision": short_number(cut.precision),
            "recall": short_number(cut.recall),
        }
        return self.say("precise_found", rows=cut.rows, **values)

    def _histogram(self) -> None:
        """A bar for each grade."""
        bars = self.figures.histogram.bars
        most = max(count for _unused, count in bars)
        self._line("")
        self._line(self.say("histogram"), _SOFT)
        for grade, count in bars:
            values = self.say("share", count=count, percent=f"{100 * count / self.figures.n:.0f}")
            self._line(f"{grade:>5g}  {'■' * round(_BAR * count / most)} {values}")

    def _domains(self) -> None:
        """The agreement within each domain, the lowest marked."""
        if not self.figures.parts:
            return
        lowest = self.figures.lowest(ENOUGH_ROWS)
        grid = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False)
        grid.add_column(Text(self.say("domains", field=self.report.domain), _SOFT))
        for title in ("n", "Spearman", "AUROC", self.say("leniency"), ""):
            grid.add_column(Text(title, _SOFT), justify="right" if title == "n" else "left")
        for part in self.figures.parts:
            mark = self.say("lowest") if part is lowest else ""
            figures = (short_number(part.spearman), short_number(part.auroc), signed_short(part.leniency))
            cells = (part.name or "-", f"{part.n:,}", *figures, mark)
            grid.add_row(*(Text(self._fit(cell), _ALARM if mark else "") for cell in cells))
        self._line("")
        self.console.print(grid, highlight=False)

    def _notes(self) -> Iterator[tuple[bool, str]]:
        """What the reader must know before relying on the figures."""
        figures, rho = self.figures, self.figures.judge.spearman
        if figures.n < ENOUGH_ROWS:
            yield True, self.say("few", n=figures.n)
        if figures.histogram.poor:
            values = {"percent": f"{100 * figures.histogram.share:.0f}"}
            yield True, self.say("poor", grade=f"{figures.histogram.commonest:g}", **values)
        if rho.value is None:
            yield True, self.say("constant")
        if rho.value is not None and rho.value < 0 and set(figures.levels) == {0, 1}:
            yield True, self.say("against")
        if figures.one_kind:
            yield True, self.say("no_auroc")
        if figures.groups == 1:
            yield False, self.say("one_group")
        if figures.advantage:
            better = figures.advantage.low is not None and figures.advantage.low > 0
            values = {"difference": with_interval(figures.advantage, signed=True)}
            key = "beats" if better else "not_better"
            yield not better, self.say(key, scorer=self._name(figures.best_trivial), **values)
        if self.report.compared.own_reference:
            yield False, self.say("own_reference", n=self.report.compared.own_reference)

    def _line(self, text: str, style: str = "") -> None:
        for line in wrap(self._fit(text), self.console.width):
            self.console.print(Text(line, style=style), highlight=False)

    def _item(self, marker: str, text: str, style: str = "", indent: int = 0) -> None:
        """A paragraph that hangs from its marker, `indent` cells from the left."""
        head = marker + " " * max(1, indent - cell_len(marker))
        for line in wrap(self._fit(text), self.console.width - cell_len(head)):
            self.console.print(Text(head, style).append(line), highlight=False)
            head = " " * cell_len(head)

    def _fit(self, text: str) -> str:
        """The text without control codes, and without what this console's encoding does not have."""
        encoding = self.console.encoding
        return safe_text(text).encode(encoding, "replace").decode(encoding)


def with_interval(bounds: FigureInterval, *, signed: bool = False) -> str:
    """`.83 [.77, .88]`; with its sign where it is a difference."""
    show = signed_short if signed else short_number
    if bounds.low is None or bounds.high is None:
        return show(bounds.value)
    return f"{show(bounds.value)} [{show(bounds.low)}, {show(bounds.high)}]"


def signed_short(value: float | None) -> str:
    """`+.05`, `-.12`; what rounds to nothing has no sign."""
    if value is None or abs(value) < 0.005:
        return short_number(value and abs(value))
    return f"{'+' if value > 0 else ''}{short_number(value)}"


def _leaning(bounds: FigureInterval) -> str:
    if bounds.value is None or bounds.low is None or bounds.high is None or bounds.low <= 0 <= bounds.high:
        return "level"
    return "lenient" if bounds.value > 0 else "strict"
