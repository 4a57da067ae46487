"""The report of consistency, and the line about it in a run's own report.

Clashes of the same two statements are shown once, however many pairs of customers heard them; the share is
over all pairs.
"""

from collections.abc import Iterator

from simulator.core.document import Block, Fact, Item, Items, Line, Report, Text
from simulator.core.messages import _, ngettext, safe_text
from simulator.core.types import Language, Results
from simulator.lab.consistency.figures import Clash, Consistency, consistency

# At most so many are shown; the JSON has all.
SHOWN = 20


def remarks(results: Results) -> Iterator[Line]:
    """An alarm for a run's own report where customers were told different things."""
    cases = [case for case in consistency(results).cases if case.clashes]
    if not cases:
        return
    first = cases[0].clashes[0]
    apart = _(
        "Different customers got different facts for the same question ({n} found; {case} "
        'and others): "{one}" / "{other}"',
        n=sum(len(case.clashes) for case in cases),
        case=safe_text(cases[0].case),
        one=safe_text(first.one_answer),
        other=safe_text(first.other_answer),
    )
    yield Line(apart, "alarm")


def consistency_report(language: Language, figures: Consistency) -> Report:
    """Whether the run told every customer the same."""
    return Report(_("Consistency (the same question, the same answer?)"), language, tuple(_blocks(figures)))


def _blocks(figures: Consistency) -> Iterator[Block]:
    if figures.share is None:
        none = _(
            "No question was asked twice and compared by a model. Use more customers (--persona) or"
            " --repeats, and a judge's model."
        )
        yield Line(none)
        return
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
    if distinct:
        yield Items.first(SHOWN, list(map(_item, distinct.values())), _("{n} more with --json."))
    else:
        yield Line(_("No disagreement was found."))


def _item(clash: Clash) -> Item:
    """Two answers that contradict each other, and why."""
    facts: tuple[tuple[Text, str], ...] = (
        (clash.one, clash.one_answer),
        (clash.other, clash.other_answer),
        (_("why"), clash.reason),
    )
    lines = tuple(Fact(name, " ".join(text.split())) for name, text in facts if text.strip())
    return Item(_("the same question"), lines, "alarm")


def _percent(share: float) -> str:
    """In whole per cent; 99.9 where it is not quite all, so that 0.9996 does not read as all of them."""
    rounded = round(100 * share)
    return f"{99.9 if rounded == 100 and share < 1 else rounded:g}"
