"""What a comparison says, as a report and as JSON."""

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import Any

from simulator.addons.compare.comparison import Overall, PairwiseResult
from simulator.addons.compare.figures import Duel, PersonaShare, Share
from simulator.addons.compare.grade import WORDS, Outcome
from simulator.core.document import (
    Block,
    Cell,
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
)
from simulator.core.roles import LEXICAL
from simulator.core.types import Value

# Clear wins shown of each run, and how many characters of each text.
EXAMPLES, LONGEST = 3, 160
# With fewer pairs nothing is said about bias.
FEW = 8


def pairwise_report(result: PairwiseResult) -> Report:
    """The comparison, from the verdict to the details."""
    return _Builder(result).report()


class _Builder:
    """One comparison in its language."""

    def __init__(self, result: PairwiseResult) -> None:
        self.result, self.figures, self.duels = result, result.figures, result.figures.duels
        self.say = partial(WORDS, result.language)
        # A, B, C ... in the order in which the runs were named.
        self.letters = {run: chr(ord("A") + at) for at, run in enumerate(self.figures.runs)}

    def report(self) -> Report:
        """All parts."""
        return Report(
            title=self.say("title", letters=" / ".join(self.letters.values())),
            language=self.result.language,
            lead=(Notes(tuple(self._about())),),
            sections=tuple(self._sections()),
        )

    def _about(self) -> Iterator[Line]:
        """The runs, the judge, and how many pairs there were."""
        say, figures, model = self.say, self.figures, self.result.model
        for run, letter in self.letters.items():
            yield Line(say("run", letter=letter, run=run))
        yield Line(say("by_stand_in") if model == LEXICAL else say("by_model", model=model))
        ruled = figures.pairs - figures.asked
        yield Line(say("pairs", pairs=figures.pairs, asked=figures.asked, ruled=ruled))
        if figures.failed:
            yield Line(say("failed_line", failed=figures.failed, problem=figures.problem), "alarm")

    def _sections(self) -> Iterator[Section]:
        say = self.say
        yield Section("duels", say("duels_title"), tuple(self._wins()))
        if len(self.figures.runs) > 2:
            note = Line(say("ratings_note"), "soft")
            yield Section("ratings", say("ratings_title"), (self._ratings(), note))
        bias = Facts((self._position(), *self._length()))
        yield Section("bias", say("bias_title"), (bias,))
        if personas := tuple(self._personas(duel) for duel in self.duels if duel.personas):
            yield Section("personas", say("personas_title"), personas)
        yield from self._examples()
        if apart := [duel for duel in self.duels if duel.differing or duel.alone]:
            hint = Line(say("apart_hint", run=apart[0].a), "soft")
            yield Section("apart", say("apart"), (Notes(tuple(map(self._apart, apart))), hint))

    def _against(self, duel: Duel) -> str:
        return self.say("against", a=self.letters[duel.a], b=self.letters[duel.b])

    def _columns(self, duel: Duel) -> tuple[str, ...]:
        """The titles of the figures of two runs."""
        say, a, b = self.say, self.letters[duel.a], self.letters[duel.b]
        return say("wins_of", letter=a), say("ties"), say("wins_of", letter=b), say("share_of", letter=b)

    def _wins(self) -> Iterator[Block]:
        """Who is better, and the wins of each."""
        say, duels = self.say, self.duels
        for duel in duels:
            yield Line(self._verdict(duel), "strong")
        if len(duels) == 1:
            columns = ("", *self._columns(duels[0]))
        else:
            columns = (say("duel"), say("left_wins"), say("ties"), say("right_wins"), say("right_share"))
        if decided := [duel for duel in duels if any(_counts(duel))]:
            yield self._chart(decided)
        yield _table("", columns, [(self._against(duel), duel) for duel in duels])
        yield Line(say("share_note"), "soft")

    def _verdict(self, duel: Duel) -> str:
        say, a, b = self.say, self.letters[duel.a], self.letters[duel.b]
        if duel.cases == 1:
            return f"{self._against(duel)}: {say('too_few')}"
        if duel.lead == "level":
            return say("level", a=a, b=b)
        return f"{self._against(duel)}: {say('better', winner=b if duel.lead == 'b' else a)}"

    def _chart(self, duels: Sequence[Duel]) -> Chart:
        """A bar for every two runs."""
        names = [self._columns(duel)[:3] for duel in duels]
        labels = [
            " / ".join(f"{name} {n:,}" for name, n in zip(of, _counts(duel), strict=True))
            for of, duel in zip(names, duels, strict=True)
        ]
        return Chart(
            kind="shares",
            title="",
            description=self.say("duels_title"),
            labels=tuple(labels),
            series=tuple(Series("", values) for values in zip(*map(_counts, duels), strict=True)),
        )

    def _ratings(self) -> Table:
        rows = []
        for rating in self.figures.ratings:
            points = "-" if rating.rating is None else f"{rating.rating:.0f}"
            if rating.low is not None and rating.high is not None:
                points += f" [{rating.low:.0f}, {rating.high:.0f}]"
            texts = (self.letters[rating.run], points, f"{rating.wins}-{rating.ties}-{rating.losses}")
            rows.append(tuple(Cell(text=text) for text in texts))
        columns = (self.say("run_head"), self.say("rating"), self.say("record"))
        return Table(name="ratings", title="", columns=columns, rows=tuple(rows))

    def _position(self) -> Fact:
        """Whether the judge prefers what stands first."""
        say, position = self.say, self.figures.position
        if position is None:
            read = say("position_none") if self.result.model == LEXICAL else say("position_unread")
            return Fact(say("position"), read)
        line = say("position_line", first=bounded(position.first), disagreed=bounded(position.disagreed))
        return Fact(say("position"), line, (say("position_biased"),) if _is_off(position.first) else ())

    def _length(self) -> Iterator[Fact]:
        """Whether the judge prefers longer answers, or shorter ones."""
        say, length = self.say, self.figures.length
        if not length.longer.n:
            yield Fact(say("length"), say("length_none"))
        else:
            correlation = "-" if length.correlation is None else f"{length.correlation:+.2f}"
            longer = bounded(length.longer)
            line = say("length_line", n=length.longer.n, longer=longer, correlation=correlation)
            biased = say("length_biased") if (length.longer.value or 0) > 0.5 else say("short_biased")
            yield Fact(say("length"), line, (biased,) if _is_off(length.longer) else ())
        if length.even is not None:
            letter = self.letters[self.figures.runs[1]]
            yield Fact(say("even"), say("even_line", letter=letter, share=percent(length.even)))

    def _personas(self, duel: Duel) -> Table:
        names = self.result.names
        rows = [(names.get(part.name, part.name), part) for part in duel.personas]
        title = self._against(duel) if len(self.duels) > 1 else ""
        return _table(title, (self.say("persona"), *self._columns(duel)), rows)

    def _examples(self) -> Iterator[Section]:
        """The clearest wins of each run over each other."""
        say, letters, single = self.say, self.letters, len(self.duels) == 1
        for duel in self.duels:
            outcomes = [each for each in self.result.outcomes if (each.a, each.b) == (duel.a, duel.b)]
            note = Line(say("examples_note", a=letters[duel.a], b=letters[duel.b]), "soft")
            for side, run in (("b", duel.b), ("a", duel.a)):
                title = say("examples_title", letter=letters[run])
                wins = clearest(outcomes, side, self.result.overall)[: EXAMPLES if single else 1]
                examples = Items(tuple(map(self._example, wins)))
                yield Section(
                    f"wins-{letters[duel.a]}-{letters[duel.b]}-{side}",
                    title if single else f"{self._against(duel)}: {title}",
                    (examples, note) if wins else (Line(say("no_examples", letter=letters[run])),),
                    folded=not single,
                )

    def _example(self, outcome: Outcome) -> Item:
        say, persona = self.say, self.result.names.get(outcome.persona, outcome.persona)
        one, other = map(cut, outcome.answers)
        return Item(
            say("example", case=outcome.case, persona=persona, turn=outcome.turn),
            facts=(
                Fact(say("customer"), cut(outcome.question)),
                Fact(say("reason"), cut(outcome.reason)),
            ),
            sides=((Fact(self.letters[outcome.a], one), Fact(self.letters[outcome.b], other)),),
        )

    def _apart(self, duel: Duel) -> Line:
        a, b = self.letters[duel.a], self.letters[duel.b]
        return Line(self.say("apart_line", a=a, b=b, differing=duel.differing, alone=duel.alone))


def _counts(part: Duel | PersonaShare) -> tuple[int, int, int]:
    return part.wins_a, part.ties, part.wins_b


def _table(title: str, columns: tuple[str, ...], rows: Iterable[tuple[str, Duel | PersonaShare]]) -> Table:
    """Wins, ties, and the share of the second run, by the name of the row."""
    cells = (
        tuple(Cell(text=text) for text in (name, *map(str, _counts(part)), bounded(part.share)))
        for name, part in rows
    )
    return Table(name="wins", title=title, columns=columns, rows=tuple(cells))


def _is_off(share: Share) -> bool:
    """Whether the interval leaves out one half by more than a little; never with a few pairs."""
    if share.low is None or share.high is None or share.n < FEW:
        return False
    return share.low > 0.55 or share.high < 0.45


def clearest(outcomes: Sequence[Outcome], side: str, overall: Overall) -> list[Outcome]:
    """The clearest wins of one side, each of another case: those that a judge read before those by rule."""

    def clearness(outcome: Outcome) -> tuple[bool, float]:
        at = (outcome.conversation, outcome.turn)
        one, other = (overall.get(run, {}).get(at) for run in (outcome.a, outcome.b))
        difference = 0.0 if one is None or other is None else other - one
        return outcome.how != "rule", outcome.margin or (difference if side == "b" else -difference)

    by_case: dict[str, Outcome] = {}
    wins = [outcome for outcome in outcomes if outcome.verdict == side]
    for outcome in sorted(wins, key=clearness, reverse=True):
        by_case.setdefault(outcome.case, outcome)
    return list(by_case.values())[:EXAMPLES]


def bounded(share: Share) -> str:
    """`58% [51, 66]`."""
    if share.value is None:
        return "-"
    if share.low is None or share.high is None:
        return percent(share.value)
    return f"{percent(share.value)} [{100 * share.low:.0f}, {100 * share.high:.0f}]"


def percent(share: float) -> str:
    """A share as a whole percentage."""
    return f"{100 * share:.0f}%"


def cut(text: str) -> str:
    """The text in one line of at most LONGEST characters."""
    line = " ".join(text.split())
    return line if len(line) <= LONGEST else line[: LONGEST - 1] + "…"


def as_json(result: PairwiseResult) -> dict[str, Any]:
    """The figures, then every pair that was compared; numbers with four decimals."""
    figures = result.figures
    return {
        "runs": list(figures.runs),
        "judge": result.model,
        "offline": result.model == LEXICAL,
        "pairs": figures.pairs,
        "asked": figures.asked,
        "failed": figures.failed,
        "duels": [{**_as_json(duel), "lead": duel.lead} for duel in figures.duels],
        "ratings": [_as_json(rating) for rating in figures.ratings],
        "position": figures.position and _as_json(figures.position),
        "length": _as_json(figures.length),
        "outcomes": [
            {
                **_as_json(outcome, exclude={"question", "answers"}),
                "disagreed": outcome.disagreed,
                "lengths": [len("".join(text.split())) for text in outcome.answers],
            }
            for outcome in result.outcomes
        ],
    }


def _as_json(value: Value, exclude: set[str] | None = None) -> Any:
    return _rounded(value.model_dump(mode="json", exclude=exclude))


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return round(value, 4)
    if isinstance(value, dict):
        return {key: _rounded(item) for key, item in value.items()}
    return [_rounded(item) for item in value] if isinstance(value, list) else value
