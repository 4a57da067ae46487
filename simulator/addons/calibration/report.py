"""The report of a calibration: how far a judge agrees with labels, and what to know before relying on it."""

from collections.abc import Iterator
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
    Text,
    Tone,
)
from simulator.core.messages import Message, _, ngettext
from simulator.runner.labelled_answers import Dimension, GraderKind
from simulator.stats.calibration import ENOUGH_ROWS, FigureInterval, Figures, Scorer, Threshold
from simulator.stats.intervals import RESAMPLES
from simulator.stats.judge_trust import Calibration, short_number

_GRADED_BY = {
    "by_stand_in": _("Graded by an offline stand-in (word overlap, no language model)"),
    "by_function": _("Computed, no language model"),
}
_TRIVIAL = {
    "length": _("length of the answer"),
    "token_precision": _("words found in contexts"),
    "token_recall": _("reference words found"),
    "rouge_l": _("ROUGE-L (reference)"),
}


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
    """The rows, the scorers, agreement and thresholds, the grades, the domains, and how to read it."""
    c, figures = outcome.calibration, outcome.compared.figures
    scale = outcome.label.scale
    sections = [Section("grades", _("Grades given"), (_histogram(figures),))]
    if figures.parts:
        sections.append(Section("domains", "", (_domains(figures, outcome.domain),)))
    drawn = _(
        "[ ] is the 95 % interval (bootstrap over groups, {draws} draws, seed {seed:d}).",
        draws=RESAMPLES,
        seed=outcome.seed,
    )
    notes = Notes((*_notes(figures, outcome.compared.own_reference), Line(drawn, "soft")))
    saved = (Line(_("Saved: {path}", path=outcome.path)),) if outcome.path else ()
    sections.append(Section("reading", _("How to read this"), (notes, *saved)))
    return Report(
        title=_(
            "Calibration  {judge} x {label} ({dataset})", judge=c.judge, label=c.label, dataset=c.dataset
        ),
        language=c.language,
        lead=(*map(Line, _origin(outcome)), _scorers(figures, c.judge), Facts(tuple(_facts(figures, scale)))),
        sections=tuple(sections),
    )


def _origin(outcome: CalibrationOutcome) -> Iterator[Message]:
    """Who graded, and what became of the rows."""
    counts, c, figures = outcome.compared.counts, outcome.calibration, outcome.compared.figures
    yield _GRADED_BY.get(outcome.grader) or _("Graded by {model}", model=c.model)
    yield _("Rubric: {rubric}", rubric=c.rubric or "-")
    n, groups = figures.n, figures.groups
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
    """The judge, people, trivial scorers and published ones on the same rows."""
    scorers: list[tuple[Text, Scorer]] = [(judge, figures.judge)]
    if figures.humans:
        scorers.append((_("people (one and the rest)"), figures.humans.scorer))
    scorers += [(_name(scorer.name), scorer) for scorer in figures.scorers]
    rows = list[list[Cell]]()
    for name, scorer in scorers:
        ranks = (with_interval(scorer.spearman), short_number(scorer.kendall), with_interval(scorer.auroc))
        tone: Tone = "" if rows else "strong"
        rows.append([Cell(text=text, tone=tone) for text in (name, f"{scorer.n:,}", *ranks)])
    return Table.of("scorers", (_("Scorer"), "n", "Spearman", "Kendall", "AUROC"), rows)


def _name(scorer: str) -> Message:
    return _TRIVIAL.get(scorer) or _("published {name}", name=scorer)


def _facts(figures: Figures, scale: str) -> Iterator[Fact]:
    """Kappa, leniency and thresholds."""
    people, by = figures.humans, figures.leniency
    kappa: Text = with_interval(figures.kappa)
    if people and people.kappa is not None:
        kappa = _(
            "{kappa}  people {people} ({annotators} annotators, {pairs} pairs)",
            kappa=kappa,
            people=short_number(people.kappa),
            annotators=people.annotators,
            pairs=people.pairs,
        )
    line = _(
        "{kappa}\nGrades and labels moved linearly to the levels {scale} and to the nearest of them,"
        " halves up.",
        kappa=kappa,
        scale=scale,
    )
    yield Fact(_("Kappa (quadratic)"), line)
    way = _("no clear difference")
    if by.value is not None and by.low is not None and by.high is not None and not by.low <= 0 <= by.high:
        way = _("milder than people") if by.value > 0 else _("stricter than people")
    line = _(
        "{leniency}  {way}\nDifference of the means on a scale 0 to 1: judge {judge}, people {people}.",
        leniency=with_interval(by, signed=True),
        way=way,
        judge=short_number(figures.judge_mean),
        people=short_number(figures.people_mean),
    )
    yield Fact(_("Leniency (judge - people)"), line)
    if not figures.one_kind:
        best, precise = _best(figures.threshold), _precise(figures.precise)
        yield Fact(_("Passing grade"), best)
        yield Fact(_("For precision {wanted}", wanted=short_number(figures.wanted_precision)), precise)


def _best(cut: Threshold | None) -> Message:
    if cut is None:
        return _("No grade separates better than chance.")
    return _(
        "{grade:g} and above (balanced accuracy {accuracy}, precision {precision}, recall {recall})",
        grade=cut.grade,
        accuracy=short_number(cut.balanced_accuracy),
        precision=short_number(cut.precision),
        recall=short_number(cut.recall),
    )


def _precise(cut: Threshold | None) -> Message:
    if cut is None:
        return _("Not reachable from any grade on.")
    return ngettext(
        "{grade:g} and above (precision {precision}, recall {recall}, {n} answer)",
        "{grade:g} and above (precision {precision}, recall {recall}, {n} answers)",
        grade=cut.grade,
        precision=short_number(cut.precision),
        recall=short_number(cut.recall),
        n=cut.rows,
    )


def _histogram(figures: Figures) -> Chart:
    """A bar for each grade."""
    bars = figures.histogram.bars
    shares = tuple(_("{n}  {share:.0f} %", n=n, share=100 * n / figures.n) for _grade, n in bars)
    series = Series("", tuple(float(n) for _grade, n in bars), shares)
    return Chart("bars", "", _("Grades given"), tuple(f"{grade:g}" for grade, _n in bars), (series,))


def _domains(figures: Figures, field: str) -> Table:
    """The agreement within each domain, the lowest marked."""
    lowest, rows = figures.lowest(ENOUGH_ROWS), []
    for part in figures.parts:
        mark = _("<- lowest") if part is lowest else ""
        ranks = (short_number(part.spearman), short_number(part.auroc), signed_short(part.leniency))
        texts = (part.name or "-", f"{part.n:,}", *ranks, mark)
        rows.append([Cell(text=text, tone="alarm" if mark else "") for text in texts])
    first = _("By domain ({field})", field=field)
    columns = (first, "n", "Spearman", "AUROC", _("Leniency (judge - people)"), "")
    return Table.of("domains", columns, rows, words=frozenset({5}))


def _notes(figures: Figures, own_reference: int) -> Iterator[Line]:
    """What the reader must know before relying on the figures."""
    n, rho, advantage = figures.n, figures.judge.spearman.value, figures.advantage
    if n < ENOUGH_ROWS:
        few = ngettext(
            "Only {n} answer: too few to conclude anything.",
            "Only {n} answers: too few to conclude anything.",
            n=n,
        )
        yield Line(few, "alarm")
    if figures.histogram.poor:
        poor = _(
            "Poor discrimination: {share:.0f} % of the grades are {grade:g}. They hardly tell good from bad.",
            share=100 * figures.histogram.share,
            grade=figures.histogram.commonest,
        )
        yield Line(poor, "alarm")
    if rho is None:
        constant = _("All grades or all labels are the same, so there is no agreement of ranks.")
        yield Line(constant, "alarm")
    elif rho < 0 and set(figures.levels) == {0, 1}:
        against = _("Grades and labels point in opposite directions. If 0 is the good one, add --good 0.")
        yield Line(against, "alarm")
    if figures.one_kind:
        no_auroc = _("No AUROC and no passing grade: all answers are good, or none is. Look at --good.")
        yield Line(no_auroc, "alarm")
    if figures.groups == 1:
        yield Line(_("There is only one group, so there are no intervals."))
    if advantage:
        better = advantage.low is not None and advantage.low > 0
        text = _("Rho beyond {scorer}: {difference}. Not shown to be better than the trivial scorer.")
        if better:
            text = _("Rho beyond {scorer}: {difference}. Better than the trivial scorer.")
        text = text.format(
            scorer=_name(figures.best_trivial), difference=with_interval(advantage, signed=True)
        )
        yield Line(text, "" if better else "alarm")
    if own_reference:
        own = ngettext(
            "{n} answer is its own reference: it flatters whatever compares with it.",
            "{n} answers are their own reference: they flatter whatever compares with it.",
            n=own_reference,
        )
        yield Line(own)


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
