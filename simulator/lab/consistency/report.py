"""The report of a cross-examination and of consistency, and the line about it in a run's own report.

Clashes of the same two statements are shown once, however many pairs of customers heard them; the share is
over all pairs. What models call contradictions comes first, because each of them has a quotation from both
answers.
"""

from collections.abc import Iterator, Sequence

from simulator.core.document import Block, Fact, Item, Items, Line, Report, Section, Text
from simulator.core.messages import Message, _, ngettext, safe_text
from simulator.core.types import Language, Results
from simulator.lab.consistency.figures import Clash, Consistency, consistency
from simulator.lab.consistency.grade import FollowUpCheck, Outcome, TurnFollowUps, outcome_counts

# At most so many of each kind are shown; the JSON has all.
SHOWN = 20
# The worst first. What is not proven by quotations is shown and not counted: models see contradictions in a
# detail that was merely left out.
_OUTCOMES: dict[Outcome, Message] = {
    "contradicts": _("contradicts itself"),
    "corrects": _("corrects itself"),
    "evades": _("evades"),
    "unproven": _("not proven by quotes (not counted)"),
    "no_answer": _("no answer"),
    "consistent": _("consistent"),
}


def consistency_line(results: Results) -> Message | None:
    """One sentence for a report where customers were told different things; None where they were not."""
    cases = [case for case in consistency(results).cases if case.clashes]
    if not cases:
        return None
    first = cases[0].clashes[0]
    return _(
        "Different customers got different facts for the same question ({n} found; {case} "
        'and others): "{one}" / "{other}"',
        n=sum(len(case.clashes) for case in cases),
        case=safe_text(cases[0].case),
        one=safe_text(first.one_answer),
        other=safe_text(first.other_answer),
    )


def consistency_report(
    run: str, language: Language, figures: Consistency, examined: Sequence[TurnFollowUps]
) -> Report:
    """What the bot said about its own claims, and whether the run told every customer the same."""
    title = _("Consistency (the same question, the same answer?)")
    blocks = tuple(_consistency(figures))
    if not examined:
        return Report(title, language, blocks)
    return Report(
        title=_("Cross-examination  {run}", run=run),
        language=language,
        lead=tuple(_examination(examined)),
        sections=(Section("consistency", title, blocks),),
    )


def _examination(examined: Sequence[TurnFollowUps]) -> Iterator[Block]:
    checks = [check for turn in examined for check in turn.crossings]
    asked = ngettext(
        "{questions} about {n} answer. Asked and compared by: {by}",
        "{questions} about {n} answers. Asked and compared by: {by}",
        n=len(examined),
        questions=ngettext("{n} follow-up question", "{n} follow-up questions", n=len(checks)),
        by=tuple(sorted({turn.by for turn in examined})),
    )
    parts = tuple(
        _("{name} {n}", name=_OUTCOMES[outcome], n=n) for outcome, n in outcome_counts(checks).items() if n
    )
    yield from (Line(asked), Line(_("{parts}", parts=parts)))
    # Evasions and unproven ones are counted above; there is nothing in them to be read.
    grave = [check for check in checks if check.verdict.outcome in ("contradicts", "corrects")]
    yield from _listed([_check(check) for check in sorted(grave, key=lambda check: check.verdict.outcome)])


def _check(check: FollowUpCheck) -> Item:
    verdict, where = check.verdict, _turn(check.conversation, check.turn)
    title = _("{outcome}: {where}", outcome=_OUTCOMES[verdict.outcome], where=where)
    facts = (
        (_("earlier"), verdict.first_quote),
        (_("follow-up"), check.asked.question),
        (_("later"), verdict.later_quote),
        (_("why"), verdict.reason),
    )
    return _item(title, *facts)


def _consistency(figures: Consistency) -> Iterator[Block]:
    if figures.share is None:
        none = _(
            "No question was asked twice and compared by a model. Use more customers (--persona) or"
            " --repeats, and a judge's model."
        )
        yield Line(none)
    else:
        interval: Text = ""
        if figures.low is not None and figures.high is not None:
            low, high = _percent(figures.low), _percent(figures.high)
            interval = _(" (95% interval {low} to {high}%)", low=low, high=high)
        line = ngettext(
            "{n} question, {pairs} compared: {share}% agree{interval}",
            "{n} questions, {pairs} compared: {share}% agree{interval}",
            n=len(figures.cases),
            pairs=ngettext("{n} pair", "{n} pairs", n=sum(case.pairs for case in figures.cases)),
            share=_percent(figures.share),
            interval=interval,
        )
        yield Line(line)
        if figures.judged:
            yield Line(_("The first answers were compared by {models}.", models=figures.judged), "soft")
    # Of clashes with the same two answers the first.
    distinct: dict[frozenset[str], Clash] = {}
    for clash in figures.clashes:
        distinct.setdefault(frozenset((clash.one_answer, clash.other_answer)), clash)
    items = [
        _item(
            _("the same question"),
            (_turn(clash.one, 1), clash.one_answer),
            (_turn(clash.other, 1), clash.other_answer),
            (_("why"), clash.reason),
        )
        for clash in distinct.values()
    ]
    yield from _listed(items)
    if not items and figures.share is not None:
        yield Line(_("No disagreement was found."))


def _turn(conversation: str, turn: int) -> Message:
    return _("{conversation} answer {n}", conversation=conversation, n=turn)


def _item(title: Message, *facts: tuple[Message, str]) -> Item:
    """What contradicts what; facts without a text are left out."""
    lines = ((name, " ".join(text.split())) for name, text in facts)
    return Item(title, tuple(Fact(name, line) for name, line in lines if line), "alarm")


def _listed(items: Sequence[Item]) -> Iterator[Items]:
    if items:
        yield Items.first(SHOWN, items, _("{n} more with --json."))


def _percent(share: float) -> str:
    """In whole per cent; 99.9 where it is not quite all, so that 0.9996 does not read as all of them."""
    rounded = round(100 * share)
    return f"{99.9 if rounded == 100 and share < 1 else rounded:g}"
