"""How good the customers are: whether they resemble real ones, and react to how a bot answers.

The first is a section of a run, worked out in `stats/likeness.py`; the second a report of its own, of `doctor
--customers`, which plays every persona with four bots whose behaviour is known (`runner/reactions.py`).
"""

from collections.abc import Iterable, Sequence

from simulator.core.document import (
    PAGE,
    TERMINAL,
    Block,
    Cell,
    Fact,
    Facts,
    Line,
    Report,
    Section,
    Table,
    Text,
)
from simulator.core.messages import Language, Message, _, ngettext, sentences
from simulator.core.titles import Titles, title
from simulator.runner.reactions import BOTS, Reacted
from simulator.stats.likeness import MEDIANS, SIZES, Likeness

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


def likeness_section(found: Likeness) -> Section:
    """The figure or why there is none, the three largest differences, the table, definition and sources.

    The definition stands in the report itself: 100 is not "human", but as like the reference as other people
    are to it.
    """
    if found.composite is None or found.interval is None:
        head = _(
            "No likeness figure: it takes {least} lines after the first from these customers and from the"
            " reference; these have {n}.",
            least=SIZES[-1],
            n=found.lines,
        )
    else:
        low, high = (f"{end:.0f}" for end in found.interval)
        head = _(
            "Likeness {value} of 100 (95 % interval {low}–{high}); real people among themselves reach 100.",
            value=f"{found.composite:.0f}",
            low=low,
            high=high,
        )
    apart = []
    for largest in found.largest:
        ours, people = (f"{100 * (share or 0):.0f}" for share in found.shares[largest])
        apart.append(
            _("{name}: {ours} %, people {people} %", name=_SHARES[largest], ours=ours, people=people)
        )
    columns = (_("Figure"), _("These customers"), _("People"))
    rows: list[tuple[Text | Cell, ...]] = []
    for key, sides in found.shares.items():
        ended = key.removeprefix("ended_")
        name = _SHARES[key] if ended == key else _("Ended: {how}", how=title("ended", ended))
        rows.append((name, *(_cell(key, side) for side in sides)))
    notes: list[Text] = [
        _("Compared with {reference}.", reference=found.reference),
        _("Shares are of lines after the first; lengths are in characters (Japanese) or words (English)."),
        _("Other desks have other customers: features of wording say nothing of what somebody wants."),
    ]
    if found.n:
        notes.insert(0, _DEFINITION.format(n=found.n))
    blocks: list[Block] = [Line(head)]
    if apart:
        blocks.append(Line(_("Largest differences from people: {parts:clauses}.", parts=tuple(apart))))
    blocks.append(Table.of("likeness", columns, rows))
    blocks += [Line(sentences(*notes), "soft"), *(Line(source, "soft") for source in found.sources)]
    head = _("Likeness to real customers")
    return Section("likeness", head, tuple(blocks), views=PAGE | TERMINAL, folded=True)


def _cell(key: str, value: float | None) -> Cell:
    if value is None:
        return Cell(text="–")
    if key in MEDIANS:
        return Cell(text=f"{value:.3g}", number=round(value, 1))
    return Cell(text=_("{n} %", n=f"{100 * value:.0f}"), number=round(100 * value, 1))


# The bots that every persona is played with, by `BOTS` of runner/reactions.py.
_BOTS: dict[str, Message] = {
    "perfect": _("Perfect"),
    "useless": _("Useless"),
    "rude": _("Rude"),
    "inventing": _("Inventing"),
}


def reactions_report(
    found: Sequence[Reacted], wrong: Iterable[tuple[str, Message]], titles: Titles, language: Language
) -> Report:
    """A row for each persona: how they left each bot, after how many turns, with what feelings and grade.

    A cell: "Gave up · 3 turns · -1 → -2 → -2 · 20 of 100". `wrong` are personas with what is wrong about
    them, such as one that leaves a useless bot content.
    """
    rows: dict[str, dict[str, Cell]] = {}
    for each in found:
        parts: list[Message | str] = [
            titles("ended", each.conversation.ended.value if each.conversation.ended else ""),
            ngettext("{n} turn", "{n} turns", n=len(each.conversation.turns)),
        ]
        if each.feelings:
            parts.append(" → ".join(f"{feeling:+d}" if feeling else "0" for feeling in each.feelings))
        if each.grade is not None:
            parts.append(_("{n} of 100", n=f"{100 * each.grade:.0f}"))
        rows.setdefault(each.persona, {})[each.bot] = Cell(text=_("{parts:dots}", parts=tuple(parts)))
    table = Table.of(
        "reactions",
        (_("Persona"), *(_BOTS[bot] for bot in BOTS)),
        [[Cell(text=titles("persona", who)), *(cells[bot] for bot in BOTS)] for who, cells in rows.items()],
    )
    facts = tuple(Fact(titles("persona", who), what) for who, what in wrong)
    verdict = _("Every persona reacts as it should.")
    if facts:
        verdict = ngettext(
            "{n} finding: these customers do not react as they should.",
            "{n} findings: these customers do not react as they should.",
            n=len(facts),
        )
    note = _(
        "How each left, after how many turns, how the feeling moved (-2 to 2), and the grade where a model"
        " judges."
    )
    listed = (Facts(facts),) if facts else ()
    blocks = (Line(verdict, "alarm" if facts else "good"), *listed, table, Line(note, "soft"))
    return Report(_("Do the customers react?"), language, sections=(Section("reactions", "", blocks),))
