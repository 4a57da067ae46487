"""What every report says of a load rehearsal."""

from collections.abc import Iterator

from simulator.addons.load.figures import Level, Load, as_json, load_of
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
    Text,
    points,
)
from simulator.core.messages import Message, _, ngettext
from simulator.core.titles import title
from simulator.core.types import Results
from simulator.stats.figures import Summary

# The rehearsal's own lateness is reported above this share of the answer times.
MUCH = 0.1


def section(results: Results, summary: Summary) -> Section | None:
    """What reports say about a load rehearsal; None for any other run."""
    load = load_of(results, summary)
    if load is None:
        return None
    note = _(
        "Grading began when the last customer had left. Answer times run from the sending of a line; times"
        " from schedule run from when it was due, so that time spent waiting to send counts too (coordinated"
        " omission)."
    )
    blocks: tuple[Block, ...] = (
        Line(headline(load), "strong"),
        *_charts(load),
        _times_table(load),
        Facts(tuple(_facts(load))),
        Notes.of((*cautions(load), Line(note, "soft")), "alarm"),
    )
    return Section("load", _("Load rehearsal"), blocks, as_json(load))


def headline(load: Load) -> Message:
    """How many customers there were, how they arrived, and how long they thought."""
    n = load.customers
    who = ngettext("{n} customer at the same time", "{n} customers at the same time", n=n)
    if load.arrival:
        who = ngettext(
            "{n} customer at the same time, arriving {arrival}",
            "{n} customers at the same time, arriving {arrival}",
            n=n,
            arrival=load.arrival,
        )
    if load.think is None:
        return who
    return _("{who}, thinking for {think} s (median)", who=who, think=f"{load.think:g}")


def cautions(load: Load) -> Iterator[Message]:
    """Reasons to be careful with the figures."""
    if load.most_in_flight < load.customers / 2:
        yield _(
            "{customers} customers were requested, but at most {most} lines were in flight. For more load:"
            " more --repeats, or a shorter --think.",
            customers=load.customers,
            most=load.most_in_flight,
        )
    if load.late and load.answers and load.late.p95 > max(0.05, MUCH * load.answers.p50):
        yield _(
            "The rehearsal itself was {late} s late (p95): the customers' model or this machine does not"
            " keep up.",
            late=_seconds(load.late.p95),
        )
    if load.sittings > 1:
        yield _(
            "The run was interrupted and resumed ({n} sessions); its load differs from that of an"
            " uninterrupted run.",
            n=load.sittings,
        )
    if load.failures.get("timeout"):
        yield _("Timeouts count with the full {timeout} s.", timeout=f"{load.timeout:g}")


def _times_table(load: Load) -> Table:
    """Percentiles of answer times and waits, in seconds; waits only where somebody waited."""
    waits = ((_("Wait to begin"), load.queued), (_("Wait for a place"), load.waiting))
    times = (
        (_("Answer time"), load.answers),
        (_("From schedule"), load.scheduled),
        *((name, times) for name, times in waits if times and times.longest >= 0.01),
    )

    def cell(value: float) -> Cell:
        return Cell(text=_("{n} s", n=_seconds(value)), number=value)

    rows = (
        (name, cell(each.p50), cell(each.p95), cell(each.p99), cell(each.longest), each.n)
        for name, each in times
        if each
    )
    return Table.of("times", ("", "p50", "p95", "p99", _("longest"), _("lines")), rows, counts=2)


def _facts(load: Load) -> Iterator[Fact]:
    """What else was measured."""
    throughput = _(
        "{rate} answers a second ({asked} in {seconds} s)   in flight: {most} at most, {mean} on average",
        rate=f"{load.throughput:.3g}",
        asked=load.asked,
        seconds=f"{load.seconds:.1f}",
        most=load.most_in_flight,
        mean=f"{load.mean_in_flight:.1f}",
    )
    yield Fact(_("Throughput"), throughput)
    n = sum(load.failures.values())
    kinds = [_("{kind} {n}", kind=title("failure", kind), n=count) for kind, count in load.failures.items()]
    share = f"{100 * n / load.asked:.1f}"
    yield Fact(
        _("No answer"), _("{n} ({share} %): {kinds}", n=n, share=share, kinds=kinds) if n else _("none")
    )
    if load.quiet and load.busy:
        levels = _(
            "quiet ({quiet} in flight): {quiet_level}   busy ({busy} in flight): {busy_level}",
            quiet=_range(load.quiet),
            quiet_level=_level(load.quiet),
            busy=_range(load.busy),
            busy_level=_level(load.busy),
        )
        yield Fact(_("Quality under load"), levels)


def _level(level: Level) -> Message:
    return ngettext(
        "p95 {p95} s, {score}, {failed} without answer ({n} turn)",
        "p95 {p95} s, {score}, {failed} without answer ({n} turns)",
        n=level.turns,
        p95=_seconds(level.times.p95) if level.times else "–",
        score=_score(level),
        failed=level.failed,
    )


def _score(level: Level) -> Message:
    score = points(level.score)
    if level.score is None:
        return _("no grades")
    if level.interval is None:
        return _("score {score}", score=score)
    low, high = map(points, level.interval)
    return _("score {score} ({low} to {high})", score=score, low=low, high=high)


def _range(level: Level) -> Text:
    least, most = level.least, level.most
    return f"{least}" if least == most else _("{least} to {most}", least=least, most=most)


def _seconds(value: float) -> str:
    """Seconds with as many decimals as say something: 0.042, 0.42, 4.2, 42."""
    return f"{value:.3f}" if value < 0.1 else f"{value:.2f}" if value < 10 else f"{value:.1f}"


def _charts(load: Load) -> Iterator[Chart]:
    """Answer times over the run; none where it was too short to be a curve."""
    answered = [span for span in load.curve if span.p50 is not None]
    if len(answered) < 2:
        return
    middles, slow = (tuple(getattr(span, name) or 0.0 for span in answered) for name in ("p50", "p95"))
    longest = max(slow) or 1.0
    name = _("Answer times over the run")
    yield Chart(
        kind="lines",
        title=name,
        description=_(
            "{title}: {seconds} s. The p50 of answer times is {low} to {high} s; at most {most} lines were"
            " in flight.",
            title=name,
            seconds=f"{load.seconds:.1f}",
            low=_seconds(min(middles)),
            high=_seconds(max(middles)),
            most=load.most_in_flight,
        ),
        labels=tuple(_("{n} s", n=f"{span.at:.1f}") for span in answered),
        series=(Series("p50", middles, tuple(map(_seconds, middles))), Series("p95", slow)),
        marks=((0, "0"), (longest, _("{n} s", n=_seconds(longest)))),
    )
