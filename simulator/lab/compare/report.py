"""What a comparison says, as a report: the verdict, whether the judge can be believed, wins to read.

Runs are A and B throughout, because their ids are too long for tables; which is which stands at the top.
Examples are wins of either run, B's first, each of another question; what a judge read comes before what a
rule decided.
"""

from collections.abc import Iterator, Sequence

from simulator.core.document import (
    Block,
    Fact,
    FactList,
    Item,
    Items,
    Line,
    Notes,
    Report,
    Section,
    Table,
    Text,
    excerpt,
)
from simulator.core.messages import _
from simulator.lab.compare.comparison import Duel, PairwiseResult, ShareOfPairs
from simulator.lab.compare.grade import PairOutcome, Side

# Wins shown of each run.
EXAMPLES = 3
# With fewer pairs nothing is said about bias: seven of eight are p = 0.07.
FEW = 8


def pairwise_report(result: PairwiseResult) -> Report:
    """The comparison of two runs, A and B: from the verdict to the details."""
    duel = result.figures.duel
    # From who is better to whether the judge can be believed, then what to read for oneself.
    sections = [
        Section("duels", _("Wins and losses"), tuple(_wins(duel))),
        Section("bias", _("Bias of the judge"), (FactList(tuple(_bias(result))),)),
    ]
    sections += [_examples(result, side) for side in ("b", "a")]
    if duel.differing or duel.alone:
        sections.append(Section("apart", _("Not compared"), tuple(_apart(duel))))
    return Report(
        title=_("Comparison of runs  A / B"),
        language=result.language,
        lead=(Notes.of(_about(result)),),
        sections=tuple(sections),
    )


def _about(result: PairwiseResult) -> Iterator[Text | Line]:
    """The runs, the judge, and how many pairs there were."""
    figures = result.figures
    # Which is which comes first: everything below says A and B.
    for letter, run in (("A", figures.duel.a), ("B", figures.duel.b)):
        yield _("{letter} = {run}", letter=letter, run=run)
    yield _("Judge: {model} (each pair twice, in both orders; disagreement is a tie)", model=result.model)
    yield _(
        "Pairs of answers compared: {n} ({asked} read by the judge, {ruled} settled by rule)",
        n=figures.pairs,
        asked=figures.asked,
        ruled=figures.pairs - figures.asked,
    )
    if figures.failed:
        failed = _(
            "Failed verdicts: {failed} ({problem}). They count neither as ties nor as losses.",
            failed=figures.failed,
            problem=figures.problem,
        )
        yield Line(failed, "alarm")


def _wins(duel: Duel) -> Iterator[Block]:
    """Who is better, and the wins of each."""
    # "No clear difference" is not "equal": too few questions look the same.
    verdict = _("No clear difference between {a} and {b}.", a="A", b="B")
    if duel.cases == 1:
        verdict = _("There is only one question, too few to show a difference.")
    elif duel.lead != "level":
        verdict = _("{a} vs {b}: {winner} is better beyond chance.", a="A", b="B", winner=duel.lead.upper())
    yield Line(verdict, "strong")
    columns = (
        "",
        _("{letter} wins", letter="A"),
        _("Ties"),
        _("{letter} wins", letter="B"),
        _("Win rate of {letter}", letter="B"),
    )
    wins = (duel.wins_a, duel.ties, duel.wins_b)
    row: list[Text] = [_("{a} vs {b}", a="A", b="B"), *map(str, wins), bounded(duel.share)]
    yield Table.of("wins", columns, [row])
    note = _(
        "A tie counts half. [ ] is the 95 % interval (by question; it takes five); there is a difference"
        " when it leaves out 50 % and the sign test over questions is below 5 %."
    )
    yield Line(note, "soft")


def _bias(result: PairwiseResult) -> Iterator[Fact]:
    """Whether the judge prefers what stands first: a model chose that in some share of its preferences."""
    position = result.figures.position
    line, warnings = _("No pair needed the judge."), tuple[Text, ...]()
    if position is not None:
        line = _(
            "The answer shown first was chosen in {first} (50 % without bias). Verdicts that changed with"
            " the order: {disagreed}",
            first=bounded(position.first),
            disagreed=bounded(position.disagreed),
        )
        if _is_off(position.first):
            warnings = (_("Order decides much of it. Do not rely on this judge; try another model."),)
    yield Fact(_("Order"), line, warnings)


def _examples(result: PairwiseResult, side: Side) -> Section:
    """Wins of one run, each of another case; what a judge read stands before what a rule decided."""
    by_case: dict[str, list[PairOutcome]] = {}
    # Of each question the first win, with everybody who was told the same two answers.
    for outcome in sorted(result.outcomes, key=lambda outcome: outcome.how == "rule"):
        if outcome.verdict == side:
            alike = by_case.setdefault(outcome.case, [])
            if not alike or alike[0].same_texts(outcome):
                alike.append(outcome)
    letter = side.upper()
    blocks: tuple[Block, ...] = (Line(_("{letter} won no pair.", letter=letter)),)
    if shown := list(by_case.values())[:EXAMPLES]:
        blocks = (Items(tuple(_example(result, group) for group in shown)),)
        # Reasons of rules name no answer.
        if any(group[0].how == "model" for group in shown):
            note = _("In the reasons answer 1 is {a} and answer 2 is {b}.", a="A", b="B")
            blocks += (Line(note, "soft"),)
    return Section(f"wins-{side}", _("Clear wins of {letter}", letter=letter), blocks)


def _example(result: PairwiseResult, alike: Sequence[PairOutcome]) -> Item:
    """One win, with everybody who asked the same and was told the same."""
    outcome = alike[0]
    personas = tuple(
        result.names.get(p, p) for p in dict.fromkeys(outcome_alike.persona for outcome_alike in alike)
    )
    first, other = map(excerpt, outcome.answers)
    return Item(
        _("{case} ({persona}, answer {turn})", case=outcome.case, persona=personas, turn=outcome.turn),
        facts=(Fact(_("Customer"), excerpt(outcome.question)), Fact(_("Reason"), excerpt(outcome.reason))),
        sides=((Fact("A", first), Fact("B", other)),),
    )


def _apart(duel: Duel) -> Iterator[Line]:
    apart = _(
        "{a} vs {b}: the customer said something else: {n}; answers without a partner: {alone}",
        a="A",
        b="B",
        n=duel.differing,
        alone=duel.alone,
    )
    yield Line(apart)
    hint = _("To have customers say the same after the first question, run with --replay {run}.", run=duel.a)
    yield Line(hint, "soft")


def _is_off(share: ShareOfPairs) -> bool:
    """Whether the interval leaves out one half by more than a little; never with a few pairs.

    Nearly every judge leans somewhere; five points of it decide nothing.
    """
    if share.low is None or share.high is None or share.n < FEW:
        return False
    return share.low > 0.55 or share.high < 0.45


def bounded(share: ShareOfPairs) -> str:
    """`58% [51, 66]`; a hyphen for None."""
    text = "-" if share.value is None else f"{100 * share.value:.0f}%"
    if share.low is None or share.high is None:
        return text
    return f"{text} [{100 * share.low:.0f}, {100 * share.high:.0f}]"
