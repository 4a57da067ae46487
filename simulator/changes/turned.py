"""What turned red or green between two runs, turn by turn, and what must not have."""

from collections import Counter
from collections.abc import Mapping, Sequence

from simulator.analysis.summary import excerpt
from simulator.changes.exact import mcnemar
from simulator.changes.pairs import PairedTurn, Pairs, Side
from simulator.core.types import Score, Value


class TurnChange(Value):
    """A turn that the customer began alike and that is red in only one of the runs; texts are excerpts."""

    conversation: str
    turn: int
    case: str
    persona: str
    question: str
    before: str
    after: str
    was: float | None
    became: float | None
    why_before: str
    why_after: str
    guarded: bool


class Broken(Value):
    """A case that must not break: green throughout before, red somewhere now."""

    case: str
    question: str
    turns: tuple[tuple[str, int], ...]
    why: str


class Reds(Value):
    """Comparable turns by colour before and now; over the cases with more and with less red, McNemar's p."""

    turned_red: int
    turned_green: int
    still_red: int
    still_green: int
    cases_worse: int
    cases_better: int
    p: float

    @property
    def redder(self) -> bool:
        """Whether more cases turned red than green."""
        return self.cases_worse > self.cases_better


def reds(turns: Sequence[PairedTurn]) -> Reds:
    """The comparable turns by colour, and whether more cases changed one way than the other."""
    seen = Counter((bool(t.was), bool(t.became)) for t in turns)
    net = Counter[str]()
    for t in turns:
        net[t.later.case.id] += bool(t.became) - bool(t.was)
    worse, better = sum(n > 0 for n in net.values()), sum(n < 0 for n in net.values())
    return Reds(
        turned_red=seen[False, True],
        turned_green=seen[True, False],
        still_red=seen[True, True],
        still_green=seen[False, False],
        cases_worse=worse,
        cases_better=better,
        p=mcnemar(worse, better),
    )


def turned(pairs: Pairs, *, red: bool) -> tuple[TurnChange, ...]:
    """The turns that turned red (or green), those of guarded cases first, then by how much."""
    primary = pairs.after.summary.primary
    scores = [_scores(side, primary) for side in (pairs.before, pairs.after)]
    found = [t for t in pairs.turns if bool(t.was) != bool(t.became) and bool(t.became) == red]
    told = [_turn(t, scores, pairs.guarded) for t in found]
    # What fell (or rose) most comes first.
    return tuple(sorted(told, key=lambda c: (not c.guarded, _by(c) if red else -_by(c))))


def _by(change: TurnChange) -> float:
    return 0.0 if change.was is None or change.became is None else round(change.became - change.was, 9)


def _scores(side: Side, primary: str) -> dict[tuple[str, int], Score]:
    return {(s.conversation, s.turn): s for s in side.results.scores if s.judge == primary}


def _turn(
    t: PairedTurn, scores: Sequence[Mapping[tuple[str, int], Score]], guarded: Sequence[str]
) -> TurnChange:
    one, other = scores[0].get((t.earlier.id, t.before.index)), scores[1].get((t.later.id, t.after.index))
    return TurnChange(
        conversation=t.later.id,
        turn=t.after.index,
        case=t.later.case.id,
        persona=t.later.persona,
        question=excerpt(t.after.user),
        before=excerpt(t.before.answer.text),
        after=excerpt(t.after.answer.text),
        was=one.value if one else None,
        became=other.value if other else None,
        why_before=excerpt((t.was.reason if t.was else "") or (one.reason if one else "")),
        why_after=excerpt((t.became.reason if t.became else "") or (other.reason if other else "")),
        guarded=t.later.case.id in guarded,
    )


def broken(pairs: Pairs) -> tuple[Broken, ...]:
    """The guarded cases with no red turn before and at least one now."""
    red_before = {red.case for red in pairs.reds[0].values()}
    known = {c.case.id for c in pairs.earlier.values() if c.turns}
    found = []
    for case in pairs.guarded:
        red = [r for r in pairs.after.summary.reddest if r.case == case]
        if red and case in known and case not in red_before:
            question = next(c.case.question for c in pairs.later.values() if c.case.id == case)
            places = tuple((r.conversation, r.turn) for r in red)
            found.append(Broken(case=case, question=excerpt(question), turns=places, why=red[0].reason))
    return tuple(found)


def unchecked(pairs: Pairs) -> tuple[str, ...]:
    """The guarded cases that only one of the runs has: nobody knows whether they broke."""
    first, second = ({c.case.id for c in held.values() if c.turns} for held in (pairs.earlier, pairs.later))
    return tuple(case for case in pairs.guarded if case not in first & second)
