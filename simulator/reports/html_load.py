"""The block of a load rehearsal on the page: its figures, and answer times over the run as a picture."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from simulator.core.translations import Words
from simulator.core.types import Results
from simulator.load.figures import SPANS, Load, Span, load_of
from simulator.load.telling import TEXT, cautions, facts, headline, seconds_text
from simulator.stats.figures import Summary

WIDTH, HEIGHT = 680, 200
LEFT = 56
_RIGHT, _TOP, _BOTTOM, _GAP = 12, 14, 22, 14
# What is in flight takes this share of the height, below the answer times.
_SHARE = 0.3


@dataclass(frozen=True, slots=True)
class Curve:
    """The picture: lines as paths, marks of the scales, and the same in a sentence (`told`)."""

    told: str
    p50: str
    p95: str
    in_flight: str
    marks: list[tuple[float, str]]
    ends: list[tuple[float, str, str]]


@dataclass(frozen=True, slots=True)
class LoadBlock:
    """What the page shows of it."""

    title: str
    headline: str
    note: str
    facts: list[tuple[str, str]]
    cautions: list[str]
    curve: Curve | None
    size: tuple[int, int, int]
    say: Callable[..., str]


def block(results: Results, summary: Summary, words: Words) -> LoadBlock | None:
    """What the page shows, or nothing for any other run."""
    load, language = load_of(results, summary), words.language
    if load is None:
        return None
    return LoadBlock(
        title=TEXT(language, "title"),
        headline=headline(load, language),
        note=TEXT(language, "note"),
        facts=[(name, value) for _, name, value in facts(load, words)],
        cautions=cautions(load, language),
        curve=_curve(load, words),
        size=(WIDTH, HEIGHT, LEFT),
        say=partial(TEXT, language),
    )


def _curve(load: Load, words: Words) -> Curve | None:
    known = [span for span in load.curve if span.p95 is not None]
    if len(known) < 2:
        return None
    longest, most = max(span.p95 or 0.0 for span in known) or 1.0, max(s.in_flight for s in load.curve) or 1
    floor = HEIGHT - _BOTTOM
    middle = _TOP + (floor - _TOP) * (1 - _SHARE)

    def slow(value: float) -> float:
        return round(middle - value / longest * (middle - _TOP), 1)

    def busy(value: float) -> float:
        return round(floor - value / most * (floor - middle - _GAP), 1)

    language = words.language
    end = load.curve[-1].at + load.curve[1].at
    return Curve(
        told=_told(load, known, words),
        p50=_path([(i, slow(s.p50)) for i, s in enumerate(load.curve) if s.p50 is not None]),
        p95=_path([(i, slow(s.p95)) for i, s in enumerate(load.curve) if s.p95 is not None]),
        in_flight=_path([(i, busy(s.in_flight)) for i, s in enumerate(load.curve)]),
        marks=[
            (slow(longest), TEXT(language, "axis_seconds", n=seconds_text(longest))),
            (slow(0), "0"),
            (busy(most), str(most)),
            (busy(0), "0"),
        ],
        ends=[
            (_x(0), "start", "0"),
            (_x(len(load.curve) - 1), "end", TEXT(language, "axis_seconds", n=f"{end:.1f}")),
        ],
    )


def _told(load: Load, known: Sequence[Span], words: Words) -> str:
    middles = [span.p50 for span in known if span.p50 is not None]
    return TEXT(
        words.language,
        "chart_told",
        title=TEXT(words.language, "chart"),
        seconds=f"{load.seconds:.1f}",
        low=seconds_text(min(middles)),
        high=seconds_text(max(middles)),
        most=str(load.most_in_flight),
    )


def _x(at: int) -> float:
    return round(LEFT + at * (WIDTH - LEFT - _RIGHT) / (SPANS - 1), 1)


def _path(points: Sequence[tuple[int, float]]) -> str:
    return "".join(f"{'L' if place else 'M'}{_x(at)} {y}" for place, (at, y) in enumerate(points))
