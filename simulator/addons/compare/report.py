"""What a comparison says, as a report and as JSON."""

from collections.abc import Iterator, Sequence
from string import ascii_uppercase

from simulator.addons.compare.comparison import PairwiseResult
from simulator.addons.compare.figures import Duel, PersonaShare, Share
from simulator.addons.compare.grade import Outcome
from simulator.core.document import (
    Block,
    Chart,
    Fact,
    Facts,
    Item,
    Items,
    Line,
    Notes,
    Report,
    Section,
    Series,
    Table,
    Text,
)
from simulator.core.messages import Message, _
from simulator.core.types import LEXICAL
from simulator.stats.summary import excerpt

# Clear wins shown of each run.
EXAMPLES = 3
# With fewer pairs nothing is said about bias.
FEW = 8


def pairwise_report(result: PairwiseResult) -> Report:
    """The comparison, from the verdict to the details."""
    builder = _Builder(result)
    return Report(
        title=_("Comparison of runs  {letters}", letters=" / ".join(builder.letters.values())),
        language=result.language,
        lead=(Notes.of(builder.about()),),
        sections=tuple(builder.sections()),
    )


class _Builder:
    """One comparison, its runs called A, B, C ... in the order in which they were named."""

    def __init__(self, result: PairwiseResult) -> None:
        self.result, self.figures, self.duels = result, result.figures, result.figures.duels
        self.letters = dict(zip(self.figures.runs, ascii_uppercase, strict=False))

    def about(self) -> Iterator[Text | Line]:
        """The runs, the judge, and how many pairs there were."""
        figures, model = self.figures, self.result.model
        for run, letter in self.letters.items():
            yield _("{letter} = {run}", letter=letter, run=run)
        judge = _("Judge: {model} (each pair twice, in both orders; disagreement is a tie)", model=model)
        if model == LEXICAL:
            judge = _(
                "Judge: an offline stand-in (common words, no language model; blind to order and length)"
            )
        yield judge
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

    def sections(self) -> Iterator[Section]:
        """Wins, bias, customers, examples, and what could not be compared."""
        yield Section("duels", _("Wins and losses"), tuple(self._wins()))
        yield Section("bias", _("Bias of the judge"), (Facts(tuple(self._bias())),))
        if personas := tuple(self._personas(duel) for duel in self.duels if duel.personas):
            yield Section("personas", _("By kind of customer"), personas)
        for duel in self.duels:
            for side in ("b", "a"):
                yield self._examples(duel, side)
        if apart := [duel for duel in self.duels if duel.differing or duel.alone or duel.unjudged]:
            hint = _(
                "To have customers say the same after the first question, run with --replay {run}.",
                run=apart[0].a,
            )
            notes = Notes.of(map(self._apart, apart))
            yield Section("apart", _("Not compared"), (notes, Line(hint, "soft")))

    def _sides(self, duel: Duel) -> dict[str, str]:
        return {"a": self.letters[duel.a], "b": self.letters[duel.b]}

    def _columns(self, duel: Duel) -> tuple[Text, ...]:
        """The titles of the figures of two runs."""
        a, b = self._sides(duel).values()
        wins = (_("{letter} wins", letter=a), _("Ties"), _("{letter} wins", letter=b))
        return (*wins, _("Win rate of {letter}", letter=b))

    def _wins(self) -> Iterator[Block]:
        """Who is better, and the wins of each."""
        for duel in self.duels:
            sides = self._sides(duel)
            verdict = _("No clear difference between {a} and {b}.", **sides)
            if duel.cases == 1:
                verdict = _("{a} vs {b}: There is only one question, too few to show a difference.", **sides)
            elif duel.lead != "level":
                verdict = _("{a} vs {b}: {winner} is better beyond chance.", **sides, winner=sides[duel.lead])
            yield Line(verdict, "strong")
        if decided := [duel for duel in self.duels if duel.share.n]:
            counts = [{"wins_a": duel.wins_a, "ties": duel.ties, "wins_b": duel.wins_b} for duel in decided]
            yield Chart(
                kind="shares",
                title="",
                description=_("Wins and losses"),
                labels=tuple(
                    _("{a} wins {wins_a} / Ties {ties} / {b} wins {wins_b}", **self._sides(duel), **wins)
                    for duel, wins in zip(decided, counts, strict=True)
                ),
                series=tuple(Series("", tuple(wins[part] for wins in counts)) for part in counts[0]),
            )
        columns: tuple[Text, ...] = ("", *self._columns(self.duels[0]))
        if len(self.duels) > 1:
            columns = (_("Pair"), _("Left wins"), _("Ties"), _("Right wins"), _("Win rate, right"))
        yield _table("", columns, [(_("{a} vs {b}", **self._sides(duel)), duel) for duel in self.duels])
        note = _(
            "A tie counts half. [ ] is the 95 % interval (by question; it takes five); there is a difference"
            " when it leaves out 50 % and the sign test over questions is below 5 %."
        )
        yield Line(note, "soft")

    def _bias(self) -> Iterator[Fact]:
        """Whether the judge prefers what stands first, or answers of some length."""
        position, length = self.figures.position, self.figures.length
        line, warnings = _("No pair needed the judge."), tuple[Text, ...]()
        if self.result.model == LEXICAL:
            line = _("The stand-in does not see the order, so it has no such bias.")
        elif position is not None:
            line = _(
                "The answer shown first was chosen in {first} (50 % without bias). Verdicts that changed with"
                " the order: {disagreed}",
                first=bounded(position.first),
                disagreed=bounded(position.disagreed),
            )
            if _is_off(position.first):
                warnings = (_("Order decides much of it. Do not rely on this judge; try another model."),)
        yield Fact(_("Order"), line, warnings)
        line = _("No pair had both a winner and answers of different length.")
        if length.longer.n:
            line = _(
                "Pairs with a winner: {n}. The longer answer won {longer}; rank correlation of length ratio"
                " and outcome: {correlation}",
                n=length.longer.n,
                longer=bounded(length.longer),
                correlation="-" if length.correlation is None else f"{length.correlation:+.2f}",
            )
        warning = _("Shorter answers often win. The examples below show whether they lack something.")
        if (length.longer.value or 0) > 0.5:
            warning = _("Longer answers often win. The examples below show whether they are better.")
        yield Fact(_("Length"), line, (warning,) if _is_off(length.longer) else ())

    def _personas(self, duel: Duel) -> Table:
        names = self.result.names
        rows = [(names.get(part.name, part.name), part) for part in duel.personas]
        title = _("{a} vs {b}", **self._sides(duel)) if len(self.duels) > 1 else ""
        return _table(title, (_("Persona"), *self._columns(duel)), rows)

    def _examples(self, duel: Duel, side: str) -> Section:
        """The clearest wins of one run over another, each of another case; what a judge read stands first."""
        sides, single = self._sides(duel), len(self.duels) == 1

        def clearness(outcome: Outcome) -> tuple[bool, float]:
            places = ((run, outcome.conversation, outcome.turn) for run in (outcome.a, outcome.b))
            one, other = map(self.result.overall.get, places)
            lead = 0.0 if one is None or other is None else other - one
            return outcome.how != "rule", outcome.margin or (lead if side == "b" else -lead)

        by_case: dict[str, list[Outcome]] = {}
        for outcome in sorted(self.result.outcomes, key=clearness, reverse=True):
            if (outcome.a, outcome.b, outcome.verdict) == (duel.a, duel.b, side):
                alike = by_case.setdefault(outcome.case, [])
                if not alike or alike[0].same_texts(outcome):
                    alike.append(outcome)
        title = _("Clear wins of {letter}", letter=sides[side])
        if not single:
            title = _("{a} vs {b}: Clear wins of {letter}", **sides, letter=sides[side])
        blocks: tuple[Block, ...] = (Line(_("{letter} won no pair.", letter=sides[side])),)
        if items := [self._example(each) for each in list(by_case.values())[: EXAMPLES if single else 1]]:
            note = _("In the reasons answer 1 is {a} and answer 2 is {b}.", **sides)
            blocks = Items(tuple(items)), Line(note, "soft")
        return Section("-".join(("wins", *sides.values(), side)), title, blocks, folded=not single)

    def _example(self, alike: Sequence[Outcome]) -> Item:
        """One win, with everybody who asked the same and was told the same."""
        outcome = alike[0]
        personas = tuple(self.result.names.get(p, p) for p in dict.fromkeys(each.persona for each in alike))
        question, reason = excerpt(outcome.question), excerpt(outcome.reason)
        one, other = map(excerpt, outcome.answers)
        return Item(
            _("{case} ({persona}, turn {turn})", case=outcome.case, persona=personas, turn=outcome.turn),
            facts=(Fact(_("Customer"), question), Fact(_("Reason"), reason)),
            sides=((Fact(self.letters[outcome.a], one), Fact(self.letters[outcome.b], other)),),
        )

    def _apart(self, duel: Duel) -> Message:
        apart = _(
            "{a} vs {b}: the customer said something else: {n}; answers without a partner: {alone}",
            **self._sides(duel),
            n=duel.differing,
            alone=duel.alone,
        )
        unjudged = _(
            "{apart}; without reference and passages, which takes a model: {n}", apart=apart, n=duel.unjudged
        )
        return unjudged if duel.unjudged else apart


def _table(title: Text, columns: tuple[Text, ...], rows: Sequence[tuple[Text, Duel | PersonaShare]]) -> Table:
    """Wins, ties, and the share of the second run, by the name of the row."""
    cells = ((name, *map(str, (of.wins_a, of.ties, of.wins_b)), bounded(of.share)) for name, of in rows)
    return Table.of("wins", columns, cells, title)


def _is_off(share: Share) -> bool:
    """Whether the interval leaves out one half by more than a little; never with a few pairs."""
    if share.low is None or share.high is None or share.n < FEW:
        return False
    return share.low > 0.55 or share.high < 0.45


def bounded(share: Share) -> str:
    """`58% [51, 66]`; a hyphen for None."""
    text = "-" if share.value is None else f"{100 * share.value:.0f}%"
    if share.low is None or share.high is None:
        return text
    return f"{text} [{100 * share.low:.0f}, {100 * share.high:.0f}]"
