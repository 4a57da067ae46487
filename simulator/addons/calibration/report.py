"""The report of a calibration: how far a judge agrees with labels, and what to know before relying on it."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple

from simulator.addons.calibration.grade import LabelComparison
from simulator.core.document import (
    Cell,
    Chart,
    Fact,
    Facts,
    Line,
    Notes,
    Report,
    Section,
    Series,
    Table,
    count_cell,
)
from simulator.core.templates import Texts
from simulator.runner.labelled_answers import Dimension, GraderKind
from simulator.stats.calibration import ENOUGH_ROWS, TRIVIAL, FigureInterval, Figures, Scorer
from simulator.stats.intervals import RESAMPLES
from simulator.stats.judge_trust import Calibration, short_number

TEXTS = Texts(Path(__file__).with_name("calibration.toml"))


class CalibrationOutcome(NamedTuple):
    """What is reported: the stored calibration, what it was made from, and how."""

    calibration: Calibration
    compared: LabelComparison
    label: Dimension
    domain: str
    seed: int
    grader: GraderKind
    path: Path | None = None


def calibration_report(outcome: CalibrationOutcome) -> Report:
    """From the compared rows to the warnings, in the language of the rows."""
    return _Builder(outcome).report()


class _Builder:
    """One calibration in the language of its rows."""

    def __init__(self, outcome: CalibrationOutcome) -> None:
        self.outcome, self.calibration = outcome, outcome.calibration
        self.figures: Figures = outcome.compared.figures
        self.say = partial(TEXTS, outcome.calibration.language)

    def report(self) -> Report:
        """The rows, the scorers, agreement and thresholds, the grades, the domains, and how to read it."""
        c, say = self.calibration, self.say
        drawn = say("interval_note", draws=RESAMPLES, seed=str(self.outcome.seed))
        saved = (Line(say("saved", path=self.outcome.path)),) if self.outcome.path else ()
        sections = [Section("grades", say("histogram"), (self._histogram(),))]
        if self.figures.parts:
            sections.append(Section("domains", "", (self._domains(),)))
        reading = Notes((*self._notes(), Line(drawn, "soft")))
        return Report(
            title=say("title", judge=c.judge, label=c.label, dataset=c.dataset),
            language=c.language,
            lead=(*map(Line, self._origin()), self._scorers(), Facts(tuple(self._facts()))),
            sections=(*sections, Section("reading", say("reading"), (reading, *saved))),
        )

    def _origin(self) -> Iterator[str]:
        """Who graded, and what became of the rows."""
        counts, c, say = self.outcome.compared.counts, self.calibration, self.say
        by_model = self.outcome.grader == "by_model"
        yield say("by_model", model=c.model) if by_model else say(self.outcome.grader)
        yield say("rubric", rubric=c.rubric or "-")
        parts = [say("rows", n=self.figures.n, all=counts.rows, groups=self.figures.groups)]
        if counts.skipped:
            parts.append(say("skipped", count=counts.skipped, reason=counts.reason))
        if counts.failed:
            parts.append(say("failed", count=counts.failed))
        if counts.unlabelled:
            parts.append(say("unlabelled", count=counts.unlabelled))
        yield "  ".join(parts)
        yield say("good", good=c.good, n=self.figures.good, all=self.figures.n)

    def _scorers(self) -> Table:
        """The judge, people, trivial scorers and published ones on the same rows."""
        scorers = [(self._name(scorer.name), scorer) for scorer in self.figures.scorers]
        if self.figures.humans:
            scorers.insert(0, (self.say("people"), self.figures.humans.scorer))
        rows = (_scorer_cells(name, scorer) for name, scorer in scorers)
        judge = _scorer_cells(self.calibration.judge, self.figures.judge)
        strong = tuple(cell.model_copy(update={"tone": "strong"}) for cell in judge)
        columns = (self.say("scorer"), "n", "Spearman", "Kendall", "AUROC")
        return Table(name="scorers", title="", columns=columns, rows=(strong, *rows))

    def _name(self, name: str) -> str:
        return self.say(name) if name in TRIVIAL else self.say("published", name=name)

    def _facts(self) -> Iterator[Fact]:
        """Kappa, leniency and thresholds."""
        figures, people, say = self.figures, self.figures.humans, self.say
        kappa = [with_interval(figures.kappa)]
        if people and people.kappa is not None:
            values = {"annotators": people.annotators, "pairs": people.pairs}
            kappa.append(say("kappa_people", kappa=short_number(people.kappa), **values))
        note = say("kappa_note", scale=self.outcome.label.scale)
        yield Fact(say("kappa"), f"{'  '.join(kappa)}\n{note}")
        means = {"judge": short_number(figures.judge_mean), "people": short_number(figures.people_mean)}
        leniency = f"{with_interval(figures.leniency, signed=True)}  {self._leaning()}"
        yield Fact(say("leniency"), f"{leniency}\n{say('leniency_note', **means)}")
        if not figures.one_kind:
            yield Fact(say("threshold"), self._best())
            yield Fact(say("precise", wanted=short_number(figures.wanted_precision)), self._precise())

    def _leaning(self) -> str:
        by = self.figures.leniency
        if by.value is None or by.low is None or by.high is None or by.low <= 0 <= by.high:
            return self.say("level")
        return self.say("lenient") if by.value > 0 else self.say("strict")

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
        return self.say(
            "precise_found",
            grade=f"{cut.grade:g}",
            precision=short_number(cut.precision),
            recall=short_number(cut.recall),
            rows=cut.rows,
        )

    def _histogram(self) -> Chart:
        """A bar for each grade."""
        n, bars = self.figures.n, self.figures.histogram.bars
        shares = tuple(self.say("share", count=count, percent=f"{100 * count / n:.0f}") for _, count in bars)
        series = Series("", tuple(float(count) for _, count in bars), shares)
        labels = tuple(f"{grade:g}" for grade, _ in bars)
        return Chart("bars", "", self.say("histogram"), labels, (series,))

    def _domains(self) -> Table:
        """The agreement within each domain, the lowest marked."""
        lowest, rows = self.figures.lowest(ENOUGH_ROWS), []
        for part in self.figures.parts:
            mark = self.say("lowest") if part is lowest else ""
            figures = (short_number(part.spearman), short_number(part.auroc), signed_short(part.leniency))
            texts = (part.name or "-", f"{part.n:,}", *figures, mark)
            rows.append(tuple(Cell(text=text, tone="alarm" if mark else "") for text in texts))
        first = self.say("domains", field=self.outcome.domain)
        columns = (first, "n", "Spearman", "AUROC", self.say("leniency"), "")
        return Table(name="domains", title="", columns=columns, rows=tuple(rows), words=frozenset({5}))

    def _notes(self) -> Iterator[Line]:
        """What the reader must know before relying on the figures."""
        figures, rho, say = self.figures, self.figures.judge.spearman, self.say
        if figures.n < ENOUGH_ROWS:
            yield Line(say("few", n=figures.n), "alarm")
        if figures.histogram.poor:
            percent = f"{100 * figures.histogram.share:.0f}"
            yield Line(say("poor", grade=f"{figures.histogram.commonest:g}", percent=percent), "alarm")
        if rho.value is None:
            yield Line(say("constant"), "alarm")
        if rho.value is not None and rho.value < 0 and set(figures.levels) == {0, 1}:
            yield Line(say("against"), "alarm")
        if figures.one_kind:
            yield Line(say("no_auroc"), "alarm")
        if figures.groups == 1:
            yield Line(say("one_group"))
        if figures.advantage:
            scorer = self._name(figures.best_trivial)
            difference = with_interval(figures.advantage, signed=True)
            if figures.advantage.low is not None and figures.advantage.low > 0:
                yield Line(say("beats", scorer=scorer, difference=difference))
            else:
                yield Line(say("not_better", scorer=scorer, difference=difference), "alarm")
        if self.outcome.compared.own_reference:
            yield Line(say("own_reference", n=self.outcome.compared.own_reference))


def _scorer_cells(name: str, scorer: Scorer) -> tuple[Cell, ...]:
    figures = (with_interval(scorer.spearman), short_number(scorer.kendall), with_interval(scorer.auroc))
    return (Cell(text=name), count_cell(scorer.n), *(Cell(text=figure) for figure in figures))


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
