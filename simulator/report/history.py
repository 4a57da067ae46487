"""What is said of how runs developed, as sentences and rows that terminal and page share."""

from collections.abc import Iterator
from dataclasses import dataclass

from markupsafe import Markup
from rich.console import Console

from simulator.core.document import local
from simulator.core.translations import points
from simulator.core.types import Language
from simulator.report import html
from simulator.report.comparison import TEXTS, ConsoleLines, Said, ends, signed
from simulator.report.html_charts import Segment, across, segments
from simulator.stats.history import FEWEST, Fall, History, PastRun

COLUMNS = ("date", "score", "interval", "red", "graded", "model", "bot", "note", "run")
_BARS = "▁▂▃▄▅▆▇█"
_LEAST_SPAN = 0.07


class HistoryReport:
    """The history of some runs in one language."""

    def __init__(self, history: History, language: Language) -> None:
        self.history, self.language = history, language
        self._followed = frozenset(history.followed)

    def say(self, key: str, /, **values: object) -> str:
        """A text of changes.toml."""
        shown = {name: f"{v:,}" if isinstance(v, int) else str(v) for name, v in values.items()}
        return TEXTS(self.language, key, **shown)

    def sentences(self) -> Iterator[Said]:
        """The trend, falls, and what could not be read."""
        history = self.history
        if history.runs:
            yield self._trend()
        for key, fall in (("dropped", history.dropped), ("eroded", history.eroded)):
            if fall:
                yield from self._fall(key, fall)
        if history.runs and len(history.followed) < len(history.runs):
            yield Said(self.say("of_them", n=len(history.followed)))
        if history.unread:
            names = self.say("comma").join(history.unread[:5])
            yield Said(self.say("unread", n=len(history.unread), names=names), "alarm")

    def _trend(self) -> Said:
        found = self.history.trend
        if found is None:
            return Said(self.say("trend_few", needed=FEWEST, n=len(self.history.followed)))
        key, tone = {"falling": ("decline", "alarm"), "rising": ("rise", "good")}.get(
            self.history.direction, ("steady", "")
        )
        return Said(self.say(f"trend_{key}", slope=signed(found.slope), **ends(found.interval)), tone)

    def _fall(self, key: str, fall: Fall) -> Iterator[Said]:
        by = points(fall.by)
        if key == "dropped":
            yield Said(self.say(key, run=fall.later, by=by), "alarm")
        else:
            yield Said(self.say(key, run=fall.earlier, best=points(fall.best), by=by), "alarm")
        yield Said(self.say("compare", before=fall.earlier, after=fall.later))

    def columns(self) -> list[str]:
        """The titles of the table."""
        return [self.say(key) for key in COLUMNS]

    def rows(self) -> list[list[str]]:
        """The runs, the newest first."""
        return [self._row(run) for run in reversed(self.history.runs)]

    def _row(self, run: PastRun) -> list[str]:
        interval = "–".join(map(points, run.interval)) if run.interval else "–"
        score = "–" if run.score is None else f"{100 * run.score:.1f}"
        figures = [score, interval, f"{run.red:,}/{run.turns:,}", f"{run.graded:,}"]
        return [date(run), *figures, run.model, run.adapter, self._note(run), run.run]

    def _note(self, run: PastRun) -> str:
        notes = [
            ("note_replay", run.replay_of),
            ("note_other", run.run not in self._followed),
            ("note_offline", run.offline),
            ("note_unfinished", run.status != "finished"),
            ("note_stopped", run.stopped_early),
        ]
        return self.say("comma").join(self.say(key) for key, holds in notes if holds)

    def sparkline(self) -> str:
        """The scores of the comparable runs as a row of bars; a step of one bar is at least a point."""
        scores = [run.score for run in self.followed() if run.score is not None]
        if len(scores) < 2:
            return ""
        # Between the lowest and the highest score, but not so near that nothing looks like a cliff.
        span = max(max(scores) - min(scores), _LEAST_SPAN)
        low = (max(scores) + min(scores) - span) / 2
        steps = [round((score - low) / span * (len(_BARS) - 1)) for score in scores]
        bars = "".join(_BARS[step] for step in steps)
        return f"{points(scores[0])} {bars} {points(scores[-1])}"

    def followed(self) -> list[PastRun]:
        """The comparable runs, oldest first."""
        return [run for run in self.history.runs if run.run in self._followed]


def date(run: PastRun) -> str:
    """When a run began, in the reader's own time zone."""
    return f"{local(run.created):%Y/%m/%d %H:%M}"


_STYLES = {"alarm": "bold red", "good": "bold green"}
# Columns that a narrow terminal does without, in this order.
_SPARED = ("model", "interval", "graded", "bot")
_NARROW = 100


def paint(told: HistoryReport, console: Console, page: str = "") -> None:
    """Prints what the runs say, then the runs, the newest first."""
    lines = ConsoleLines(console)
    lines.title(told.say("history", n=len(told.history.runs)))
    if not told.history.runs:
        lines.line(told.say("history_none"))
    for said in told.sentences():
        lines.item("! " if said.tone == "alarm" else "- ", said.text, _STYLES.get(said.tone, ""))
    if line := told.sparkline():
        lines.line("")
        lines.line(f"{told.say('history_title')}  {line}")
    if told.history.runs:
        spared = _SPARED if console.width < _NARROW else ()
        shown = [place for place, key in enumerate(COLUMNS) if key not in spared]
        columns, rows = told.columns(), told.rows()
        lines.line("")
        lines.grid([columns[at] for at in shown], [[row[at] for at in shown] for row in rows])
    if page:
        lines.line("")
        lines.line(told.say("history_page", path=page))


AXIS, HEIGHT = 36, 240
# What this page has beyond a run's report.
_STYLE = (
    ".reach { stroke: var(--accent); stroke-width: 9; opacity: .25; }"
    " .notes + figure { margin-top: 1.25rem; }"
)
_TOP, _BOTTOM = 20, 34
# Of more runs than this, only the first and the last have their figure beside the dot.
FIGURES = 12


@dataclass(frozen=True, slots=True)
class Dot:
    """One run: where it stands (x in percent), up to where its interval reaches, and its label."""

    x: float
    y: float
    low: float
    high: float
    text: str
    date: str


@dataclass(frozen=True, slots=True)
class Picture:
    """The line of the scores, with a text alternative."""

    axis: int
    height: int
    dots: list[Dot]
    path: list[Segment]
    ticks: list[tuple[float, str]]
    told: str


def page(told: HistoryReport) -> str:
    """The whole page as one string of HTML; it needs no network and runs no script."""
    style = f"{html.part('report.css')}\n{_STYLE}"
    # The policy names a script, too: there is none on this page.
    return html.template("history.html.j2").render(
        told=told,
        say=told.say,
        language=told.language,
        sentences=list(told.sentences()),
        picture=_picture(told),
        columns=told.columns(),
        rows=told.rows(),
        style=Markup(style),  # noqa: S704 - ours
        policy=html.policy(style, ""),
        figures=FIGURES,
    )


def _picture(told: HistoryReport) -> Picture | None:
    """None where fewer than two runs can be followed."""
    runs = told.followed()
    if len(runs) < 2:
        return None
    dots = [_dot(place, len(runs), run) for place, run in enumerate(runs)]
    points_told = [told.say("chart_point", date=dot.date, score=dot.text) for dot in dots]
    return Picture(
        axis=AXIS,
        height=HEIGHT,
        dots=dots,
        path=segments([dot.y for dot in dots]),
        ticks=[(_y(mark), points(mark)) for mark in (0, 0.25, 0.5, 0.75, 1)],
        told=told.say("chart_told", told=told.say("comma").join(points_told)),
    )


def _dot(place: int, runs: int, run: PastRun) -> Dot:
    score = run.score or 0.0
    low, high = run.interval or (score, score)
    return Dot(
        x=across(place, runs),
        y=_y(score),
        low=_y(low),
        high=_y(high),
        text=points(score),
        date=date(run),
    )


def _y(value: float) -> float:
    """Pixels from the top."""
    return round(HEIGHT - _BOTTOM - value * (HEIGHT - _TOP - _BOTTOM), 1)
