"""What every report says of a load rehearsal.

A headline (how many customers, how they came), percentiles of both times, throughput and failures; then what
to be careful with: fewer lines in flight than customers were asked for, a rehearsal that was late itself,
several sessions, timeouts.
"""

from collections.abc import Iterator

from simulator.core.document import (
    Block,
    Cell,
    Fact,
    FactList,
    Line,
    Notes,
    Section,
    Table,
)
from simulator.core.messages import Message, _, ngettext
from simulator.core.settings import Settings
from simulator.core.titles import title
from simulator.core.types import Results
from simulator.lab.load.figures import Load, as_json, load_of
from simulator.results.figures import Summary

# The rehearsal's own lateness (p95) is reported above this share of the median answer time, and above 0.05 s:
# from there on the figures are partly this machine's.
MUCH = 0.1


def section(results: Results, _summary: Summary, _settings: Settings) -> Section | None:
    """What reports say about a load rehearsal; None for any other run."""
    load = load_of(results)
    if load is None:
        return None
    note = _(
        "Grading began when the last customer had left. Answer times run from the sending of "
        "a message; times from schedule run from when it was due, so that waiting to send "
        "counts too (coordinated omission)."
    )
    blocks: tuple[Block, ...] = (
        Line(headline(load), "strong"),
        *_times_tables(load),
        FactList(tuple(_facts(load))),
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
            "{customers} customers were requested, but at most {most} messages were in flight. "
            "For more load: more --repeats, a higher --arrival, or a shorter --think.",
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


def _times_tables(load: Load) -> Iterator[Table]:
    """Percentiles of answer times, in seconds; none where nothing was answered."""
    times = ((_("Answer time"), load.answers), (_("From schedule"), load.scheduled))
    rows = [
        (name, _cell(seconds.p50), _cell(seconds.p95), _cell(seconds.p99), _cell(seconds.longest), seconds.n)
        for name, seconds in times
        if seconds
    ]
    if rows:
        yield Table.of("times", ("", "p50", "p95", "p99", _("longest"), _("lines")), rows)


def _facts(load: Load) -> Iterator[Fact]:
    """What else was measured."""
    n = sum(load.failures.values())
    throughput = _(
        "{rate} answers a second ({asked} in {seconds} s)   in flight: {most} at most",
        rate=f"{load.throughput:.3g}",
        asked=load.asked - n,
        seconds=f"{load.seconds:.1f}",
        most=load.most_in_flight,
    )
    yield Fact(_("Throughput"), throughput)
    kinds = [_("{kind} {n}", kind=title("failure", kind), n=count) for kind, count in load.failures.items()]
    share = f"{100 * n / load.asked:.1f}"
    yield Fact(
        _("No answer"), _("{n} ({share} %): {kinds}", n=n, share=share, kinds=kinds) if n else _("none")
    )


def _cell(seconds: float) -> Cell:
    return Cell(text=_("{n} s", n=_seconds(seconds)), number=seconds)


def _seconds(value: float) -> str:
    """Seconds with as many decimals as say something: 0.042, 0.42, 4.2, 42."""
    return f"{value:.3f}" if value < 0.1 else f"{value:.2f}" if value < 10 else f"{value:.1f}"
