"""The report of `doctor --customers`: how every persona reacts to six bots whose behaviour is known."""

from collections.abc import Iterable, Sequence

from simulator.core.document import (
    Fact,
    FactList,
    Line,
    Report,
    Section,
)
from simulator.core.messages import Language, Message, _, ngettext
from simulator.core.titles import Titles
from simulator.lab.likeness.reactions import BOTS, Reacted

# The bots that every persona is played with, by `BOTS` of reactions.py.
_BOTS: dict[str, Message] = {
    "perfect": _("Perfect"),
    "useless": _("Useless"),
    "rude": _("Rude"),
    "inventing": _("Inventing"),
    "asking": _("Only asks back"),
    "wrong": _("Plausibly wrong"),
}


def reactions_report(
    reactions: Sequence[Reacted], wrong: Iterable[tuple[str, Message]], titles: Titles, language: Language
) -> Report:
    """A line for each persona and bot: how they left it, after how many turns, with what feelings and grade.

    A line: "Rude  Gave up · 3 turns · -1 → -2 → -2 · 20 of 100". `wrong` are personas with what is wrong
    about them, such as one that leaves a useless bot content.
    """
    lines: dict[str, dict[str, Message]] = {}
    for reaction in reactions:
        parts: list[Message | str] = [
            titles("ended", reaction.conversation.ended.value if reaction.conversation.ended else ""),
            ngettext("{n} answer", "{n} answers", n=len(reaction.conversation.turns)),
        ]
        if reaction.feelings:
            parts.append(" → ".join(f"{feeling:+d}" if feeling else "0" for feeling in reaction.feelings))
        if reaction.bot == "asking" and (asked := len(reaction.conversation.turns) - 1):
            parts.append(_("tells {n} of {of}", n=reaction.told, of=asked))
        if reaction.grade is not None:
            parts.append(_("{n} of 100", n=f"{100 * reaction.grade:.0f}"))
        lines.setdefault(reaction.persona, {})[reaction.bot] = _("{parts:dots}", parts=tuple(parts))
    customers = [
        FactList(tuple(Fact(_BOTS[bot], said[bot]) for bot in BOTS if bot in said), titles("persona", who))
        for who, said in lines.items()
    ]
    facts = tuple(Fact(titles("persona", who), what) for who, what in wrong)
    verdict = _("Every customer reacts as it should.")
    if facts:
        verdict = ngettext(
            "{n} finding: these customers do not react as they should.",
            "{n} findings: these customers do not react as they should.",
            n=len(facts),
        )
    note = _(
        "How each left, after how many answers, how the feeling moved (-2 to 2), how many questions of the"
        " bot that asks back got an answer (tells), and the grade where a model judges."
    )
    listed = (FactList(facts),) if facts else ()
    blocks = (Line(verdict, "alarm" if facts else "good"), *listed, *customers, Line(note, "soft"))
    return Report(_("Do the customers react?"), language, sections=(Section("reactions", "", blocks),))
