"""The words and the chart of a load rehearsal, for every report."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from simulator.addons.load.figures import SPANS, Level, Load, Span, Times, load_of
from simulator.core.templates import Texts
from simulator.core.translations import Words, points
from simulator.core.types import Language, Results
from simulator.report.extras import LoadFact, LoadText
from simulator.stats.figures import Summary

TEXT = Texts(Path(__file__).with_name("load.toml"))
# The rehearsal's own lateness is reported above this share of the answer times.
MUCH = 0.1


def seconds_text(value: float) -> str:
    """Seconds with as many decimals as say something: 0.042, 0.42, 4.2, 42."""
    return f"{value:.3f}" if value < 0.1 else f"{value:.2f}" if value < 10 else f"{value:.1f}"


def load_text(results: Results, summary: Summary, words: Words) -> LoadText | None:
    """What reports say about a load rehearsal; None for any other run."""
    load, language = load_of(results, summary), words.language
    if load is None:
        return None
    return LoadText(
        title=TEXT(language, "title"),
        headline=headline(load, language),
        note=TEXT(language, "note"),
        facts=tuple(_fact(load, key, name, value, language) for key, name, value in facts(load, words)),
        cautions=tuple(cautions(load, language)),
    )


def _fact(load: Load, key: str, name: str, value: str, language: Language) -> LoadFact:
    times, item = getattr(load, key, None), TEXT(language, "item", name=name)
    if not isinstance(times, Times):
        return LoadFact(key, name, value, item)
    return LoadFact(key, name, value, item, times.p95, seconds_text(times.p95))


def headline(load: Load, language: Language) -> str:
    """How many customers there were, and how they arrived."""
    key = "who_arrival" if load.arrival else "who"
    who = TEXT(
        language, key, customers=str(load.customers), **({"arrival": load.arrival} if load.arrival else {})
    )
    return who if load.think is None else TEXT(language, "who_think", who=who, think=f"{load.think:g}")


def facts(load: Load, words: Words) -> Iterator[tuple[str, str, str]]:
    """Keys, names and values of the figures, most important first."""
    language = words.language
    for name in ("answers", "scheduled", "queued", "waiting"):
        if (times := getattr(load, name)) and (name in ("answers", "scheduled") or times.longest >= 0.01):
            yield name, TEXT(language, name), _times(times, language)
    yield "throughput", TEXT(language, "throughput"), _throughput(load, language)
    yield "failures", TEXT(language, "failures"), _failures(load, words)
    if load.quiet and load.busy:
        yield "levels", TEXT(language, "levels"), _levels(load.quiet, load.busy, language)
    if load.quick and load.slow:
        yield "slow", TEXT(language, "slow"), _slow(load.quick, load.slow, language)


def cautions(load: Load, language: Language) -> list[str]:
    """Reasons to be careful with the figures."""
    texts = []
    if load.most_in_flight < load.customers / 2:
        figures = {"customers": str(load.customers), "most": str(load.most_in_flight)}
        texts.append(TEXT(language, "fewer", **figures))
    if load.late and load.answers and load.late.p95 > max(0.05, MUCH * load.answers.p50):
        texts.append(TEXT(language, "behind", late=seconds_text(load.late.p95)))
    if load.sittings > 1:
        texts.append(TEXT(language, "sittings", n=str(load.sittings)))
    if load.failures.get("timeout"):
        texts.append(TEXT(language, "timeouts", timeout=f"{load.timeout:g}"))
    return texts


def _times(times: Times, language: Language) -> str:
    values = {key: seconds_text(getattr(times, key)) for key in ("p50", "p95", "p99", "longest")}
    return TEXT(language, "times", n=f"{times.n:,}", **values)


def _throughput(load: Load, language: Language) -> str:
    return TEXT(
        language,
        "throughput_line",
        rate=f"{load.throughput:.3g}",
        asked=f"{load.asked:,}",
        seconds=f"{load.seconds:.1f}",
        most=str(load.most_in_flight),
        mean=f"{load.mean_in_flight:.1f}",
    )


def _failures(load: Load, words: Words) -> str:
    language, n = words.language, sum(load.failures.values())
    if not n:
        return TEXT(language, "none")
    kinds = [f"{words.name('failure', kind)} {count:,}" for kind, count in load.failures.items()]
    share = f"{100 * n / load.asked:.1f}"
    return TEXT(language, "failures_line", n=f"{n:,}", share=share, kinds=TEXT(language, "comma").join(kinds))


def _levels(quiet: Level, busy: Level, language: Language) -> str:
    texts = {name: _range(each, language, "{:.0f}") for name, each in (("quiet", quiet), ("busy", busy))}
    for name, each in (("quiet_told", quiet), ("busy_told", busy)):
        texts[name] = TEXT(
            language,
            "level",
            p95=seconds_text(each.times.p95) if each.times else "–",
            score=_score(each, language),
            failed=str(each.failed),
            turns=str(each.turns),
        )
    return TEXT(language, "levels_line", **texts)


def _slow(quick: Level, slow: Level, language: Language) -> str:
    texts = {}
    for name, each in (("quick", quick), ("slow", slow)):
        texts[name] = TEXT(language, "range", least=seconds_text(each.least), most=seconds_text(each.most))
        score = _score(each, language)
        texts[f"{name}_told"] = TEXT(language, "slow_level", score=score, turns=str(each.turns))
    return TEXT(language, "slow_line", **texts)


def _range(level: Level, language: Language, form: str) -> str:
    least, most = form.format(level.least), form.format(level.most)
    return least if least == most else TEXT(language, "range", least=least, most=most)


def _score(level: Level, language: Language) -> str:
    if level.score is None:
        return TEXT(language, "level_none")
    if level.interval is None:
        return TEXT(language, "level_plain", score=points(level.score))
    low, high = map(points, level.interval)
    return TEXT(language, "level_score", score=points(level.score), low=low, high=high)


WIDTH, HEIGHT = 680, 200
LEFT = 56
_RIGHT, _TOP, _BOTTOM, _GAP = 12, 14, 22, 14
# Lines in flight take this share of the height, below the answer times.
_SHARE = 0.3


@dataclass(frozen=True, slots=True)
class Curve:
    """The chart: lines as SVG paths, marks of the scales, and the same as a sentence (`told`)."""

    told: str
    p50: str
    p95: str
    in_flight: str
    marks: list[tuple[float, str]]
    ends: list[tuple[float, str, str]]


@dataclass(frozen=True, slots=True)
class LoadBlock:
    """The block of the HTML page."""

    title: str
    headline: str
    note: str
    facts: list[tuple[str, str]]
    cautions: list[str]
    curve: Curve | None
    size: tuple[int, int, int]
    say: Callable[..., str]


def block(results: Results, summary: Summary, words: Words) -> LoadBlock | None:
    """The block of the HTML page; None for any other run."""
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
    spans = [span for span in load.curve if span.p95 is not None]
    if len(spans) < 2:
        return None
    longest, most = max(span.p95 or 0.0 for span in spans) or 1.0, max(s.in_flight for s in load.curve) or 1
    floor = HEIGHT - _BOTTOM
    middle = _TOP + (floor - _TOP) * (1 - _SHARE)

    def slow(value: float) -> float:
        return round(middle - value / longest * (middle - _TOP), 1)

    def busy(value: float) -> float:
        return round(floor - value / most * (floor - middle - _GAP), 1)

    language = words.language
    end = load.curve[-1].at + load.curve[1].at
    return Curve(
        told=_sentence(load, spans, words),
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


def _sentence(load: Load, spans: Sequence[Span], words: Words) -> str:
    middles = [span.p50 for span in spans if span.p50 is not None]
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
