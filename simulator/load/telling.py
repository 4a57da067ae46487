"""What a load rehearsal came to, in words for every report."""

from collections.abc import Iterator
from pathlib import Path

from simulator.core.templates import Texts
from simulator.core.translations import Words, points
from simulator.core.types import Language, Results
from simulator.load.figures import Level, Load, Times, load_of
from simulator.report.extras import LoadFact, LoadText
from simulator.stats.figures import Summary

TEXT = Texts(Path(__file__).with_name("words.toml"))
# The rehearsal's own lateness is told where it is more than this share of the answer times.
MUCH = 0.1


def seconds_text(value: float) -> str:
    """Seconds with as many decimals as say something: 0.042, 0.42, 4.2, 42."""
    return f"{value:.3f}" if value < 0.1 else f"{value:.2f}" if value < 10 else f"{value:.1f}"


def load_text(results: Results, summary: Summary, words: Words) -> LoadText | None:
    """All that reports say of a load rehearsal; None for any other run."""
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
    """How many customers there were, and how they came."""
    key = "who_arrival" if load.arrival else "who"
    who = TEXT(
        language, key, customers=str(load.customers), **({"arrival": load.arrival} if load.arrival else {})
    )
    return who if load.think is None else TEXT(language, "who_think", who=who, think=f"{load.think:g}")


def facts(load: Load, words: Words) -> Iterator[tuple[str, str, str]]:
    """Keys, names and values, most important first."""
    language = words.language
    for name in ("answers", "scheduled", "queued", "waiting"):
        if (found := getattr(load, name)) and (name in ("answers", "scheduled") or found.longest >= 0.01):
            yield name, TEXT(language, name), _times(found, language)
    yield "throughput", TEXT(language, "throughput"), _throughput(load, language)
    yield "failures", TEXT(language, "failures"), _failures(load, words)
    if load.quiet and load.busy:
        yield "levels", TEXT(language, "levels"), _levels(load.quiet, load.busy, language)
    if load.quick and load.slow:
        yield "slow", TEXT(language, "slow"), _slow(load.quick, load.slow, language)


def cautions(load: Load, language: Language) -> list[str]:
    """What makes the figures say less than they seem to."""
    found = []
    if load.most_in_flight < load.customers / 2:
        figures = {"customers": str(load.customers), "most": str(load.most_in_flight)}
        found.append(TEXT(language, "fewer", **figures))
    if load.late and load.answers and load.late.p95 > max(0.05, MUCH * load.answers.p50):
        found.append(TEXT(language, "behind", late=seconds_text(load.late.p95)))
    if load.sittings > 1:
        found.append(TEXT(language, "sittings", n=str(load.sittings)))
    if load.failures.get("timeout"):
        found.append(TEXT(language, "timeouts", timeout=f"{load.timeout:g}"))
    return found


def _times(found: Times, language: Language) -> str:
    shown = {key: seconds_text(getattr(found, key)) for key in ("p50", "p95", "p99", "longest")}
    return TEXT(language, "times", n=f"{found.n:,}", **shown)


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
    told = {name: _range(each, language, "{:.0f}") for name, each in (("quiet", quiet), ("busy", busy))}
    for name, each in (("quiet_told", quiet), ("busy_told", busy)):
        told[name] = TEXT(
            language,
            "level",
            p95=seconds_text(each.times.p95) if each.times else "–",
            score=_score(each, language),
            failed=str(each.failed),
            turns=str(each.turns),
        )
    return TEXT(language, "levels_line", **told)


def _slow(quick: Level, slow: Level, language: Language) -> str:
    told = {}
    for name, each in (("quick", quick), ("slow", slow)):
        told[name] = TEXT(language, "range", least=seconds_text(each.least), most=seconds_text(each.most))
        score = _score(each, language)
        told[f"{name}_told"] = TEXT(language, "slow_level", score=score, turns=str(each.turns))
    return TEXT(language, "slow_line", **told)


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
