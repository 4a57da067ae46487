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
from simulator.core.titles import title
from simulator.lab.likeness.figures import MEDIANS, SIZES, Likeness

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
    "leaves_upset": _("Leaves upset"),
}
_DEFINITION = _(
    "100 when these customers' lines can be told from people's no better than people's lines from other"
    " people's: 100 × mean LIKE (customers, people) ÷ mean LIKE (people, other people), where LIKE"
    " is 100 × (1 − max(0, 2 × AUC − 1)) and AUC that of a linear discriminant over features of the wording"
    " of lines after the first, cross-validated, with as many lines on either side ({n})."
)


def likeness_section(likeness: Likeness) -> Section:
    """The figure or why there is none, the three largest differences, the table, definition and sources.

    The definition stands in the report itself: 100 is not "human", but as like the reference as other people
    are to it.
    """
    if likeness.composite is None or likeness.interval is None:
        head = _(
            "No likeness figure: it takes {least} lines after the first from these customers and from the"
            " reference; these have {n}.",
            least=SIZES[-1],
            n=likeness.lines,
        )
    else:
        low, high = (f"{end:.0f}" for end in likeness.interval)
        head = _(
            "Likeness {value} of 100 (95 % interval {low}–{high}); real people among themselves reach 100.",
            value=f"{likeness.composite:.0f}",
            low=low,
            high=high,
        )
    apart = []
    for largest in likeness.largest:
        ours, people = (f"{100 * (share or 0):.0f}" for share in likeness.shares[largest])
        apart.append(
            _("{name}: {ours} %, people {people} %", name=_SHARES[largest], ours=ours, people=people)
        )
    columns = (_("Figure"), _("These customers"), _("People"))
    rows: list[tuple[Text | Cell, ...]] = []
    for key, sides in likeness.shares.items():
        ended = key.removeprefix("ended_")
        name = _SHARES[key] if ended == key else _("Ended: {how}", how=title("ended", ended))
        rows.append((name, *(_cell(key, side) for side in sides)))
    notes: list[Text] = [
        _("Compared with {reference}.", reference=likeness.reference),
        _("Shares are of lines after the first; lengths are in characters (Japanese) or words (English)."),
        _("Other desks have other customers: features of wording say nothing of what somebody wants."),
    ]
    if likeness.n:
        notes.insert(0, _DEFINITION.format(n=likeness.n))
    blocks: list[Block] = [Line(head)]
    if apart:
        blocks.append(Line(_("Largest differences from people: {parts:clauses}.", parts=tuple(apart))))
    blocks.append(Table.of("likeness", columns, rows))
    blocks += [Line(sentences(*notes), "soft"), *(Line(source, "soft") for source in likeness.sources)]
    head = _("Likeness to real customers")
    return Section("likeness", head, tuple(blocks), likeness.as_json(), views=PAGE | TERMINAL, folded=True)


def _cell(key: str, value: float | None) -> Cell:
    if value is None:
        return Cell(text="–")
    if key in MEDIANS:
        return Cell(text=f"{value:.3g}", number=round(value, 1))
    return Cell(text=_("{n} %", n=f"{100 * value:.0f}"), number=round(100 * value, 1))
