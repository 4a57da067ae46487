"""How runs developed: sentences and rows that terminal and page share, and both of these."""

from collections.abc import Iterator
from dataclasses import dataclass

from markupsafe import Markup
from rich.console import Console

from simulator.core.document import local_time
from simulator.core.translations import points
from simulator.core.types import Language
from simulator.report import html
from simulator.report.comparison import TEXTS, ConsoleLines, Sentence, ends, signed
from simulator.report.html_charts import Segment, across, segments
from simulator.stats.history import MIN_RUNS, Fall, History, PastRun

COLUMNS = ("date", "score", "interval", "red", "graded", "model", "bot", "note", "run")
_BARS = "▁▂▃▄▅▆▇█"
_LEAST_SPAN = 0.07


class HistoryReport:
    """The history of some runs in one language."""

    def __init__(self, history: History, language: Language) -> None:
        self.history, self.language = history, language
        self._comparable = frozenset(history.followed)

    def say(self, key: str, /, **values: object) -> str:
        """A text of changes.toml."""
        shown = {name: f"{v:,}" if isinstance(v, int) else str(v) for name, v in values.items()}
        return TEXTS(self.language, key, **shown)

    def sentences(self) -> Iterator[Sentence]:
        """The trend, falls, and what could not be read."""
        history = self.history
        if history.runs:
            yield self._trend()
        for key, fall in (("dropped", history.dropped), ("eroded", history.eroded)):
            if fall:
                yield from self._fall(key, fall)
        if history.runs and len(history.followed) < len(history.runs):
            yield Sentence(self.say("of_them", n=len(history.followed)))
        if history.unread:
            names = self.say("comma").join(history.unread[:5])
            yield Sentence(self.say("unread", n=len(history.unread), names=names), "alarm")

    def _trend(self) -> Sentence:
        trend = self.history.trend
        if trend is None:
            return Sentence(self.say("trend_few", needed=MIN_RUNS, n=len(self.history.followed)))
        key, tone = {"falling": ("decline", "alarm"), "rising": ("rise", "good")}.get(
            self.history.direction, ("steady", "")
        )
        return Sentence(self.say(f"trend_{key}", slope=signed(trend.slope), **ends(trend.interval)), tone)

    def _fall(self, key: str, fall: Fall) -> Iterator[Sentence]:
        by = points(fall.by)
        if key == "dropped":
            yield Sentence(self.say(key, run=fall.later, by=by), "alarm")
        else:
            yield Sentence(self.say(key, run=fall.earlier, best=points(fall.best), by=by), "alarm")
        yield Sentence(self.say("compare", before=fall.earlier, after=fall.later))

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
            ("note_other", run.run not in self._comparable),
            ("note_offline", run.offline),
            ("note_unfinished", run.status != "finished"),
            ("note_stopped", run.stopped_early),
        ]
        return self.say("comma").join(self.say(key) for key, holds in notes if holds)

    def sparkline(self) -> str:
        """The scores of the comparable runs as a row of bars; a step of one bar is at least a point."""
        scores = [run.score for run in self.comparable() if run.score is not None]
        if len(scores) < 2:
            return ""
        # From the lowest to the highest score, but never so narrow that a small change looks like a cliff.
        span = max(max(scores) - min(scores), _LEAST_SPAN)
        low = (max(scores) + min(scores) - span) / 2
        steps = [round((score - low) / span * (len(_BARS) - 1)) for score in scores]
        bars = "".join(_BARS[step] for step in steps)
        return f"{points(scores[0])} {bars} {points(scores[-1])}"

    def comparable(self) -> list[PastRun]:
        """The comparable runs, oldest first."""
        return [run for run in self.history.runs if run.run in self._comparable]


def date(run: PastRun) -> str:
    """When a run began, in the reader's own time zone."""
    return f"{local_time(run.created):%Y/%m/%d %H:%M}"


_STYLES = {"alarm": "bold red", "good": "bold green"}
# Columns that a narrow terminal (in cells) leaves out.
_HIDDEN_WHEN_NARROW = ("model", "interval", "graded", "bot")
_NARROW = 100


def paint(report: HistoryReport, console: Console, page: str = "") -> None:
    """Prints the trend, then the runs, the newest first."""
    lines = ConsoleLines(console)
    lines.title(report.say("history", n=len(report.history.runs)))
    if not report.history.runs:
        lines.line(report.say("history_none"))
    for sentence in report.sentences():
        marker = "! " if sentence.tone == "alarm" else "- "
        lines.item(marker, sentence.text, _STYLES.get(sentence.tone, ""))
    if line := report.sparkline():
        lines.line("")
        lines.line(f"{report.say('history_title')}  {line}")
    if report.history.runs:
        hidden = _HIDDEN_WHEN_NARROW if console.width < _NARROW else ()
        shown = [place for place, key in enumerate(COLUMNS) if key not in hidden]
        columns, rows = report.columns(), report.rows()
        lines.line("")
        lines.grid([columns[at] for at in shown], [[row[at] for at in shown] for row in rows])
    if page:
        lines.line("")
        lines.line(report.say("history_page", path=page))


AXIS, HEIGHT = 36, 240
# Styles of this page beside those of a run's report.
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
    description: str


def page(report: HistoryReport) -> str:
    """The whole page as one string of HTML; it needs no network and runs no script."""
    style = f"{html.part('report.css')}\n{_STYLE}"
    return html.template("history.html.j2").render(
        say=report.say,
        language=report.language,
        sentences=list(report.sentences()),
        picture=_picture(report),
        columns=report.columns(),
        rows=report.rows(),
        style=Markup(style),  # noqa: S704 - ours
        policy=html.policy(style, script=""),
        figures=FIGURES,
    )


def _picture(report: HistoryReport) -> Picture | None:
    """The scores of the comparable runs; None for fewer than two."""
    runs = report.comparable()
    if len(runs) < 2:
        return None
    dots = [_dot(place, len(runs), run) for place, run in enumerate(runs)]
    scores = [report.say("chart_point", date=dot.date, score=dot.text) for dot in dots]
    return Picture(
        axis=AXIS,
        height=HEIGHT,
        dots=dots,
        path=segments([dot.y for dot in dots]),
        ticks=[(_y(mark), points(mark)) for mark in (0, 0.25, 0.5, 0.75, 1)],
        description=report.say("chart_told", told=report.say("comma").join(scores)),
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
