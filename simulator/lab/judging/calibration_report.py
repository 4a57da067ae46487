"""The report of a calibration: how far a judge agrees with labels.

A calibration is read from above: who graded, the table in which the judge stands above people, then kappa,
leniency and the passing grade, and at last what warns of the figures. Shares are printed as in papers,
`.83 [.77, .88]`.
"""

from collections.abc import Iterator
from pathlib import Path

from simulator.core.document import (
    Cell,
    Fact,
    FactList,
    Line,
    Notes,
    Report,
    Section,
    Table,
    Text,
)
from simulator.core.messages import Message, _, ngettext
from simulator.lab.judging.calibration import CalibrationRun, LabelComparison
from simulator.lab.judging.figures import ENOUGH_ROWS, FigureInterval, Figures, Scorer
from simulator.lab.judging.rows import graded_by
from simulator.lab.judging.stored import Calibration, short_number
from simulator.results.draws import RESAMPLES
from simulator.runner.labelled_answers import Dimension


def calibration_report(
    run: CalibrationRun, c: Calibration, compared: LabelComparison, path: Path | None
) -> Report:
    """The rows, the scorers, agreement and the passing grade, and how to read it; `path` is where it is."""
    figures = compared.figures
    drawn = _(
        "[ ] is the 95 % interval (bootstrap over groups, {draws} draws, seed {seed:d}).",
        draws=RESAMPLES,
        seed=run.settings.seed,
    )
    # Warnings first; how intervals are made is for whoever asks.
    notes = Notes.of((*_notes(figures, run.label), Line(drawn, "soft")), "alarm")
    saved = (Line(_("Saved: {path}", path=path)),) if path else ()
    return Report(
        title=_(
            "Calibration  {judge} x {label} ({dataset})", judge=c.judge, label=c.label, dataset=c.dataset
        ),
        language=c.language,
        lead=(
            *map(Line, _origin(run, c, compared)),
            _scorers(figures, c.judge),
            FactList(tuple(_facts(figures))),
        ),
        sections=(Section("reading", _("How to read this"), (notes, *saved)),),
    )


def _origin(run: CalibrationRun, c: Calibration, compared: LabelComparison) -> Iterator[Message]:
    """Who graded, and what became of the rows."""
    counts, figures = compared.counts, compared.figures
    yield graded_by(run.grader()[0], c.model)
    n, groups = figures.n, figures.groups
    # What is missing is only named where something is.
    parts = [_("Answers compared: {n} of {all} ({groups} groups)", n=n, all=counts.rows, groups=groups)]
    if counts.skipped:
        parts.append(_("{n} not gradable ({reason})", n=counts.skipped, reason=counts.reason))
    if counts.failed:
        parts.append(_("{n} failed", n=counts.failed))
    if counts.unlabelled:
        parts.append(_("{n} without this label", n=counts.unlabelled))
    yield _("{parts}", parts=tuple(parts))
    yield _("Good answers: {good} ({n} of {all})", good=c.good, n=figures.good, all=n)


def _scorers(figures: Figures, judge: str) -> Table:
    """The judge and people on the same rows."""
    scorers: list[tuple[Text, Scorer]] = [(judge, figures.judge)]
    if figures.humans:
        scorers.append((_("people (one and the rest)"), figures.humans))
    return Table.listing(
        "scorers",
        scorers,
        # The judge's own row stands out; all rows have their own n, for a scorer may lack some answers.
        {
            _("Scorer"): lambda scorer: Cell(
                text=scorer[0], tone="strong" if scorer[1] is figures.judge else ""
            ),
            "n": lambda scorer: f"{scorer[1].n:,}",
            "AUROC": lambda scorer: with_interval(scorer[1].auroc),
        },
    )


def _facts(figures: Figures) -> Iterator[Fact]:
    """Kappa, leniency and thresholds."""
    # Both are moved linearly to the levels of the label, and to the nearest of them.
    yield Fact(_("Kappa (quadratic)"), with_interval(figures.kappa))
    if red := figures.red:
        line = _(
            "{rows} of {all} answers, {bad} of them rightly; {bad} of {of} bad answers are found",
            rows=red.rows,
            all=figures.n,
            bad=red.bad,
            of=red.of,
        )
        yield Fact(_("Needs review by the rule of runs"), line)
    else:
        yield Fact(_("Leniency (judge - people)"), _leniency(figures))
    # With labels of one kind there is nothing to part.
    if figures.one_kind:
        return
    best: Text = _("No grade separates better than chance.")
    if figures.passing is not None:
        best = _("{grade:g} and above", grade=figures.passing)
    yield Fact(_("Passing grade"), best)


def _leniency(figures: Figures) -> Message:
    way, by = _("no clear difference"), figures.leniency
    if by.value is not None and by.low is not None and by.high is not None and not by.low <= 0 <= by.high:
        way = _("milder than people") if by.value > 0 else _("stricter than people")
    return _(
        "{leniency}  {way}\nDifference of the means on a scale 0 to 1: judge {judge}, people {people}.",
        leniency=with_interval(by, signed=True),
        way=way,
        judge=short_number(figures.judge_mean),
        people=short_number(figures.people_mean),
    )


def _notes(figures: Figures, label: Dimension) -> Iterator[Message]:
    """What the reader must know before relying on the figures."""
    n, area = figures.n, figures.judge.auroc
    if n < ENOUGH_ROWS:
        yield ngettext(
            "Only {n} answer: too few to conclude anything.",
            "Only {n} answers: too few to conclude anything.",
            n=n,
        )
    if figures.poor:
        yield _(
            "Poor discrimination: {share:.0f} % of the grades are {grade:g}. They hardly tell good from bad.",
            share=100 * figures.share,
            grade=figures.commonest,
        )
    # A label "hallucinated" of 1 for bad answers turns everything round. Of labels with degrees it takes
    # certainty.
    if area.value is not None and area.value < 0.5 and (label.is_binary or (area.high or 1) < 0.5):
        yield _(
            "Grades and labels point in opposite directions. If the other labels are the good ones, say so"
            " with --good."
        )
    if figures.one_kind:
        yield _("No AUROC and no passing grade: all answers are good, or none is. Look at --good.")


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
