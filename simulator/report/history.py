"""How runs developed, as a report: the trend, falls, and the runs."""

from collections.abc import Iterator

from simulator.core.document import (
    Chart,
    Line,
    Notes,
    Report,
    Section,
    Series,
    Table,
    Text,
    local_time,
    page_section,
    points,
)
from simulator.core.messages import Message, _, pgettext
from simulator.core.types import Language
from simulator.report.comparison import ends
from simulator.report.tables import signed_points
from simulator.stats.history import MIN_RUNS, Fall, History, PastRun

_MARKS = (0, 0.25, 0.5, 0.75, 1)


def history_report(history: History, language: Language, page: str = "") -> Report:
    """The trend first, then the runs, the newest first; `page` is where it is written as a page."""
    comparable = [run for run in history.runs if run.run in set(history.followed)]
    table = Table.listing(
        "runs",
        reversed(history.runs),
        {
            _("Date"): _date,
            _("Score"): lambda run: None if run.score is None else f"{100 * run.score:.1f}",
            _("95 % interval"): lambda run: "–".join(map(points, run.interval)) if run.interval else None,
            _("Red"): lambda run: f"{run.red:,}/{run.turns:,}",
            _("Conv."): lambda run: run.graded,
            pgettext("the model that grades", "Judge"): lambda run: run.model,
            _("Bot"): lambda run: run.adapter,
            _("Note"): lambda run: _note(run, history),
            _("Run"): lambda run: run.run,
        },
        words=frozenset({5, 6, 7, 8}),
        spared=frozenset({2, 4, 5, 6}),
    )
    block = table if history.runs else Line(_("There are no runs."))
    runs = Section("runs", _("Runs so far ({n})", n=len(history.runs)), (block,))
    return Report(
        title=_("How the score developed"),
        language=language,
        lead=(Notes.of(_notes(history)), *([_chart(comparable)] if len(comparable) > 1 else [])),
        sections=(runs, *page_section(page)),
    )


def _notes(history: History) -> Iterator[Text | Line]:
    """The trend, falls, and what could not be read."""
    if history.runs:
        yield _trend(history)
    if fall := history.dropped:
        dropped = _(
            "{run} fell by {by} points from the run before, more than chance.",
            run=fall.later,
            by=points(fall.by),
        )
        yield Line(dropped, "alarm")
        yield _compare(fall)
    if fall := history.eroded:
        eroded = _(
            "Each step was within chance, but the newest run is {by} points below the best one, {run}"
            " ({best}).",
            by=points(fall.by),
            run=fall.earlier,
            best=points(fall.best),
        )
        yield Line(eroded, "alarm")
        yield _compare(fall)
    if history.runs and len(history.followed) < len(history.runs):
        yield _(
            "The trend is over the {n} runs with the cases, bot and rubric of the newest one that went on to"
            " its end.",
            n=len(history.followed),
        )
    if unread := history.unread:
        yield Line(_("Runs that cannot be read: {n} ({names})", n=len(unread), names=unread[:5]), "alarm")


def _trend(history: History) -> Text | Line:
    if history.trend is None:
        return _(
            "A trend takes at least {needed} comparable runs (now {n}).",
            needed=MIN_RUNS,
            n=len(history.followed),
        )
    slope = {"slope": signed_points(history.trend.slope), **ends(history.trend.interval)}
    if history.direction == "falling":
        return Line(
            _("Slowly falling: {slope} points per run (95 % interval {low} to {high}).", **slope), "alarm"
        )
    if history.direction == "rising":
        return Line(_("Rising: {slope} points per run (95 % interval {low} to {high}).", **slope), "good")
    return _(
        "Neither rising nor falling can be said: {slope} points per run (95 % interval {low} to {high}).",
        **slope,
    )


def _compare(fall: Fall) -> Message:
    return _("Compare them: python run.py diff {before} {after}", before=fall.earlier, after=fall.later)


def _chart(runs: list[PastRun]) -> Chart:
    """The scores of comparable runs, oldest first."""
    dates, texts = tuple(map(_date, runs)), tuple(points(run.score) for run in runs)
    scores = tuple(
        _("{date} {score}", date=date, score=text) for date, text in zip(dates, texts, strict=True)
    )
    low, high = zip(*(run.interval or (None, None) for run in runs), strict=True)
    return Chart(
        kind="lines",
        title=_("How the score developed"),
        description=_("Score by run: {scores}", scores=scores),
        labels=dates,
        series=(Series("", tuple(run.score for run in runs), texts, low, high),),
        marks=tuple((mark, points(mark)) for mark in _MARKS),
    )


def _note(run: PastRun, history: History) -> Message:
    """What sets a run apart from the others."""
    notes = (
        (_("replay"), run.replay_of),
        (_("other set-up"), run.run not in history.followed),
        (_("stand-in"), run.offline),
        (_("unfinished"), run.status != "finished"),
        (_("stopped early"), run.stopped_early),
    )
    return _("{parts}", parts=tuple(note for note, holds in notes if holds))


def _date(run: PastRun) -> str:
    """When a run began, in the reader's own time zone."""
    return f"{local_time(run.created):%Y/%m/%d %H:%M}"
