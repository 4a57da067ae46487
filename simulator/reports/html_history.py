"""The history of runs as one page: the score by run with its interval, and every run in a table."""

from dataclasses import dataclass

from markupsafe import Markup

from simulator.core.translations import points
from simulator.reports import html_page
from simulator.reports.history_words import Told, date
from simulator.reports.html_plot import Segment, across, segments
from simulator.stats.history import PastRun

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


def page(told: Told) -> str:
    """The whole page as one string of HTML; it needs no network and runs no script."""
    style = f"{html_page.part('report.css')}\n{_STYLE}"
    # The policy names a script, too: there is none on this page.
    return html_page.template("history.html.j2").render(
        told=told,
        say=told.say,
        language=told.language,
        sentences=list(told.sentences()),
        picture=_picture(told),
        columns=told.columns(),
        rows=told.rows(),
        style=Markup(style),  # noqa: S704 - ours
        policy=html_page.policy(style, ""),
        figures=FIGURES,
    )


def _picture(told: Told) -> Picture | None:
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
