"""How closely the customers resemble real ones: a section of a run, worked out in figures.py."""

from simulator.core.document import (
    PAGE,
    TERMINAL,
    Block,
    Cell,
    Line,
    Section,
    Table,
    Text,
)
from simulator.core.messages import Message, _, sentences
from simulator.core.settings import Settings
from simulator.core.titles import title
from simulator.core.types import Results
from simulator.lab.likeness.figures import (
    LEAST_CONVERSATIONS,
    LEAST_LINES,
    MEDIANS,
    PEOPLE,
    Likeness,
    Range,
    measured,
)
from simulator.results.figures import Summary

# Features of wording and behaviour, by their keys in `--json`. Shares are of lines after the first, for that
# is the case's question whoever asks it; from the greeting on they are of conversations.
_SHARES: dict[str, Message] = {
    "length": _("Length of a line (median)"),
    "short": _("Short replies"),
    "asks": _("Lines that ask"),
    "polite": _("Polite words"),
    "thanks": _("Thanks"),
    "reacts": _("Begins by reacting to the answer"),
    "glad": _("Glad words"),
    "upset": _("Upset words"),
    "quotes_itself": _("Says the first line again"),
    "repeats_itself": _("Says an earlier line again"),
    "opens_greeting": _("Greets in the first line"),
    "turns": _("Lines until leaving (median)"),
    "leaves_thanking": _("Leaves with thanks"),
    "leaves_upset": _("Upset words in the last line"),
}
_DEFINITION = _(
    "A line could be a person's where it lies within {people} of 100 lines of people, in the direction in"
    " which these customers differ from them most (a cross-validated linear discriminant over features of"
    " wording and the number of lines). What real desks differ in costs less, and the interval allows for"
    " other desks."
)


def section(results: Results, _summary: Summary, _settings: Settings) -> Section | None:
    """The figure or why there is none, what others reach, the table, definition.

    None for rows, which nobody asks.
    """
    if results.run.asks_once:
        return None
    likeness = measured(results)
    blocks: list[Block] = [Line(_head(likeness))]
    if likeness.composite is not None and likeness.scale:
        scale = {name: f"{value:.0f}" for name, value in likeness.scale.items()}
        blocks.append(
            Line(
                _(
                    "On this scale real people of other desks reach {other}, people with half of their lines"
                    " in assistant prose {half}, and such prose alone {all}.",
                    **scale,
                )
            )
        )
    columns = (_("Figure"), _("These customers"), _("People"))
    rows: list[tuple[Text | Cell, ...]] = []
    for key, (ours, people) in likeness.shares.items():
        ended = key.removeprefix("ended_")
        name = _SHARES[key] if ended == key else _("Ended: {how}", how=title("ended", ended))
        rows.append((name, _cell(key, (ours, ours)), _cell(key, people)))
    notes: list[Text] = [] if likeness.composite is None else [_DEFINITION.format(people=PEOPLE)]
    notes += [
        _("Compared with {reference}: the lowest and highest of these sets.", reference=likeness.reference),
        _("Shares are of lines after the first; lengths are in characters (Japanese) or words (English)."),
        _("Other desks have other customers: features of wording say nothing of what somebody wants."),
    ]
    blocks.append(Table.of("likeness", columns, rows))
    blocks += [Line(sentences(*notes), "soft"), *(Line(source, "soft") for source in likeness.sources)]
    head = _("Likeness to real customers")
    return Section("likeness", head, tuple(blocks), likeness.as_json(), views=PAGE | TERMINAL, folded=True)


def _head(likeness: Likeness) -> Message:
    if likeness.composite is None or likeness.interval is None:
        return _(
            "Likeness undecided: it takes {lines} lines after the first from {conversations} conversations;"
            " here are {n} from {of}.",
            lines=LEAST_LINES,
            conversations=LEAST_CONVERSATIONS,
            n=likeness.lines,
            of=likeness.conversations,
        )
    low, high = (f"{end:.0f}" for end in likeness.interval)
    return _(
        "Likeness {value} (95 % interval {low}–{high}): that many of 100 lines of these customers could be a"
        " person's; of people's own lines it is {people}.",
        value=f"{likeness.composite:.0f}",
        low=low,
        high=high,
        people=PEOPLE,
    )


def _cell(key: str, ends: Range | None) -> Cell:
    """The lowest and highest figure, once where they are alike."""
    if ends is None:
        return Cell(text="–")
    factor, form = (1, "{:.3g}") if key in MEDIANS else (100, "{:.0f}")
    shown = "–".join(dict.fromkeys(form.format(factor * end) for end in ends))
    text: Text = shown if key in MEDIANS else _("{n} %", n=shown)
    return Cell(text=text, number=round(factor * ends[0], 1) if ends[0] == ends[1] else None)
