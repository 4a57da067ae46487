"""How the bot developed over its runs, in words: a fall, a chart, and the runs, the newest first.

What is followed and what counts as a fall is worked out in `results/history.py`. All times are those of one
clock, which the heading of their column names.
"""

from collections.abc import Iterator, Sequence

from simulator.core.document import (
    Cell,
    Chart,
    Line,
    Notes,
    Report,
    Section,
    Table,
    Text,
    local_time,
    page_section,
    points,
)
from simulator.core.messages import Message, _, listed, pgettext
from simulator.core.types import LEXICAL, Language
from simulator.report.context import NOTHING_LEFT
from simulator.report.gate import verdict_tone, verdict_word
from simulator.report.people import decision_text
from simulator.results.history import History, PastRun

# The whole scale, always: a chart that begins at the lowest score makes every change look like a fall.
_SCALE = (0, 0.25, 0.5, 0.75, 1)


def history_report(history: History, language: Language, page: str = "", *, commands: bool = True) -> Report:
    """The scores first, then the runs, the newest first; `page` is where it is written as a page.

    With `commands` it says how two runs are compared on a command line.

    Runs that cannot be compared with the newest (other questions, bot or rubric, or one that did not go on to
    its end) are listed with a note, and are no part of the line.
    """
    table = Table.listing(
        "runs",
        reversed(history.runs),
        {
            time_heading(history.runs): lambda run: run_time(run, history.runs),
            _("Score"): lambda run: None if run.score is None else points(run.score),
            _("95 % interval"): _interval,
            _("To review"): lambda run: f"{run.questions:,}/{len(run.cases):,}",
            pgettext("the model that grades", "Judge"): _model,
            _("Bot"): lambda run: run.kind.adapter,
            _("Verdict"): run_verdict,
            _("Release decision"): run_decision,
            _("Note"): lambda run: _note(run, history),
            _("Run"): lambda run: run.run,
        },
        words=frozenset({4, 5, 6, 7, 8, 9}),
    )
    block = table if history.runs else Line(_("There are no runs."))
    return Report(
        title=_("Runs so far ({n})", n=len(history.runs)),
        language=language,
        lead=(
            Notes.of(_history_notes(history, commands=commands)),
            *([_history_chart(history.line)] if history.is_line else []),
        ),
        sections=(Section("runs", "", (block,)), *page_section(page)),
    )


def time_heading(runs: Sequence[PastRun]) -> Message:
    """The heading of a column of `run_time`, with the zone of this machine: "Date (JST)"."""
    zone = f"{local_time(runs[-1].created):%Z}" if runs else ""
    return _("Date ({zone})", zone=zone)


def run_time(run: PastRun, runs: Sequence[PastRun]) -> str:
    """When a run began, on the clock of the newest of `runs`: in summer, too, in the zone of the heading."""
    return f"{run.created.astimezone(local_time(runs[-1].created).tzinfo):%Y/%m/%d %H:%M}"


def _history_notes(history: History, *, commands: bool) -> Iterator[Text | Line]:
    """A fall, with the command that compares both runs, and what could not be read."""
    n = len(history.followed)
    if fall := history.fall:
        text = _(
            "{later} is {by} points below the best run, {run} ({best}): more than chance.",
            later=fall.later,
            by=points(fall.by),
            run=fall.earlier,
            best=points(fall.best),
        )
        yield Line(text, "alarm")
        if commands:
            yield _(
                "Compare them: python run.py diff {before} {after}", before=fall.earlier, after=fall.later
            )
    if 1 < n < len(history.runs):
        yield _(
            "The line is over the {n} runs with the same questions, customers, bot and rubric; a single try"
            " with others, or with a limit, is left out.",
            n=n,
        )
    if apart := history.apart:
        text = _(
            "Left out of the line: {n} questions with another reference answer, expectation or mark than in"
            " an earlier run ({cases}).",
            n=len(apart),
            cases=listed(apart, 10),
        )
        yield Line(text if history.is_line else NOTHING_LEFT, "alarm")
    if unread := history.unread:
        yield Line(_("Runs that cannot be read: {n} ({names})", n=len(unread), names=unread[:5]), "alarm")


def _history_chart(runs: Sequence[PastRun]) -> Chart:
    """The scores of comparable runs, oldest first."""
    scores = tuple(_("{date} {score}", date=run_time(run, runs), score=points(run.score)) for run in runs)
    return Chart(
        kind="line",
        title=_("How the score developed"),
        description=_("Score by run: {scores}", scores=scores),
        labels=tuple(run_time(run, runs) for run in runs),
        values=tuple(run.score for run in runs),
        texts=tuple(points(run.score) for run in runs),
        low=tuple(run.interval and run.interval[0] for run in runs),
        high=tuple(run.interval and run.interval[1] for run in runs),
        marks=tuple((mark, points(mark)) for mark in _SCALE),
    )


def run_verdict(run: PastRun) -> Cell | None:
    """The verdict by the run's own target, in a word; None without one."""
    if run.gate is None or run.gate.decision is None:
        return None
    return Cell(text=verdict_word(run.gate, trial=run.trial), tone=verdict_tone(run.gate, trial=run.trial))


def run_decision(run: PastRun) -> Message | None:
    """What the team decided; None where nobody has."""
    return decision_text(run.release_decision) if run.release_decision else None


def _note(run: PastRun, history: History) -> Message:
    """What sets a run apart from the others: "replay, unfinished"; empty for an ordinary one."""
    notes = (
        (_("replay"), run.replay_of),
        (_("other set-up"), run.run not in history.followed),
        (_("unfinished"), run.status != "finished"),
    )
    return _("{parts}", parts=tuple(note for note, holds in notes if holds))


def _interval(run: PastRun) -> Message | None:
    """Between what the score may lie."""
    if run.interval is None:
        return None
    low, high = map(points, run.interval)
    return _("{low}–{high}", low=low, high=high)


def _model(run: PastRun) -> Message | str:
    """The model that graded."""
    return _("simple scoring") if run.model == LEXICAL else run.model
