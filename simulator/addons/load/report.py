"""What every report says of a load rehearsal."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from simulator.addons.load.figures import Level, Load, Span, Times, as_json, load_of
from simulator.core.document import (
    Block,
    Cell,
    Chart,
    Fact,
    Facts,
    Line,
    Notes,
    Section,
    Series,
    Table,
    count_cell,
)
from simulator.core.templates import Texts
from simulator.core.translations import Words, points, words_of
from simulator.core.types import Language, Results
from simulator.stats.figures import Summary

TEXT = Texts(Path(__file__).with_name("load.toml"))
# The rehearsal's own lateness is reported above this share of the answer times.
MUCH = 0.1


def seconds_text(value: float) -> str:
    """Seconds with as many decimals as say something: 0.042, 0.42, 4.2, 42."""
    return f"{value:.3f}" if value < 0.1 else f"{value:.2f}" if value < 10 else f"{value:.1f}"


def section(results: Results, summary: Summary, language: Language) -> Section | None:
    """What reports say about a load rehearsal; None for any other run."""
    load = load_of(results, summary)
    if load is None:
        return None
    words = words_of(summary, language)
    remarks = [Line(text, "alarm") for text in cautions(load, language)]
    blocks: list[Block] = [
        Line(headline(load, language), "strong"),
        *_charts(load, language),
        _times_table(load, language),
        Facts(tuple(facts(load, words))),
        Notes((*remarks, Line(TEXT(language, "note"), "soft"))),
    ]
    return Section("load", TEXT(language, "title"), tuple(blocks), as_json(load))


def headline(load: Load, language: Language) -> str:
    """How many customers there were, and how they arrived."""
    key = "who_arrival" if load.arrival else "who"
    who = TEXT(
        language, key, customers=str(load.customers), **({"arrival": load.arrival} if load.arrival else {})
    )
    return who if load.think is None else TEXT(language, "who_think", who=who, think=f"{load.think:g}")


def _times_table(load: Load, language: Language) -> Table:
    """Percentiles of answer times and waits, in seconds; waits only where somebody waited."""
    waits = [
        (TEXT(language, "queued"), load.queued),
        (TEXT(language, "waiting"), load.waiting),
    ]
    rows = [
        (TEXT(language, "answers"), load.answers),
        (TEXT(language, "scheduled"), load.scheduled),
        *((name, times) for name, times in waits if times and times.longest >= 0.01),
    ]
    return Table(
        name="times",
        title="",
        columns=("", "p50", "p95", "p99", TEXT(language, "longest"), TEXT(language, "n")),
        rows=tuple((Cell(text=name), *_times_cells(times, language)) for name, times in rows if times),
        counts=2,
    )


def _times_cells(times: Times, language: Language) -> Iterator[Cell]:
    for value in (times.p50, times.p95, times.p99, times.longest):
        yield Cell(text=TEXT(language, "seconds", n=seconds_text(value)), number=value)
    yield count_cell(times.n)


def facts(load: Load, words: Words) -> Iterator[Fact]:
    """What else was measured."""
    language = words.language
    yield Fact(TEXT(language, "throughput"), _throughput(load, language))
    yield Fact(TEXT(language, "failures"), _failures(load, words))
    if load.quiet and load.busy:
        yield Fact(TEXT(language, "levels"), _levels(load.quiet, load.busy, language))
    if load.quick and load.slow:
        yield Fact(TEXT(language, "slow"), _slow(load.quick, load.slow, language))


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


def _charts(load: Load, language: Language) -> Iterator[Chart]:
    """Answer times over the run, and the lines in flight; none where it was too short to be a curve."""
    answered = [span for span in load.curve if span.p50 is not None]
    if len(answered) < 2:
        return
    middles, slow = (tuple(getattr(span, name) or 0.0 for span in answered) for name in ("p50", "p95"))
    longest, most = max(slow) or 1.0, max(span.in_flight for span in load.curve) or 1
    yield Chart(
        kind="lines",
        title=TEXT(language, "chart"),
        description=_description(load, middles, language),
        labels=_moments(answered, language),
        series=(Series("p50", middles, tuple(map(seconds_text, middles))), Series("p95", slow)),
        marks=((0, "0"), (longest, TEXT(language, "seconds", n=seconds_text(longest)))),
    )
    in_flight = tuple(span.in_flight for span in load.curve)
    yield Chart(
        kind="lines",
        title=TEXT(language, "in_flight"),
        description=TEXT(language, "in_flight_most", n=str(most)),
        labels=_moments(load.curve, language),
        series=(Series("", in_flight, tuple(map(str, in_flight))),),
        marks=((0, "0"), (most, str(most))),
    )


def _moments(spans: Sequence[Span], language: Language) -> tuple[str, ...]:
    return tuple(TEXT(language, "seconds", n=f"{span.at:.1f}") for span in spans)


def _description(load: Load, middles: Sequence[float], language: Language) -> str:
    return TEXT(
        language,
        "chart_told",
        title=TEXT(language, "chart"),
        seconds=f"{load.seconds:.1f}",
        low=seconds_text(min(middles)),
        high=seconds_text(max(middles)),
        most=str(load.most_in_flight),
    )
