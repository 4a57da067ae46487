"""How consistent the answers of a run are: which answers to the same question disagree, and how often."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations
from typing import Literal

from simulator.addons.consistency.disagreement import Disagreement, across_languages, disagreement
from simulator.core.types import Case, Conversation, Results, Turn, Value
from simulator.stats.intervals import interval_of_mean

# Why two conversations must agree: the same case; the same question in other words or another language; or,
# of different questions, the same gold passages. Those of the last kind count only where they disagree.
Link = Literal["same_case", "same_question", "same_passages"]
VARIANT = "variant:"
SEED = 42
_LANGUAGE_PART = re.compile(r"[-_./](?:ja|en)(?=$|[-_./])|^(?:ja|en)[-_./]")


class Clash(Value):
    """Two answers that cannot both hold, with the statements word for word."""

    link: Link
    one: str
    one_turn: int
    other: str
    other_turn: int
    found: Disagreement


class CaseConsistency(Value):
    """The pairs of conversations about one question, and those among them that disagree."""

    case: str
    pairs: int
    clashes: tuple[Clash, ...] = ()

    @property
    def share(self) -> float:
        """The share (0..1) of pairs that agree."""
        return 1 - len(self.clashes) / self.pairs if self.pairs else 1.0


class Consistency(Value):
    """The consistency of a run: the mean share of agreeing pairs over its questions, 0..1.

    `low` and `high` are its 95 % interval over questions; None for too few of them. `beside` are
    disagreements between different questions on the same passages: they are shown, not counted.
    """

    cases: tuple[CaseConsistency, ...] = ()
    beside: tuple[Clash, ...] = ()
    low: float | None = None
    high: float | None = None

    @property
    def share(self) -> float | None:
        """The mean over the questions; None when nothing was asked twice."""
        return sum(case.share for case in self.cases) / len(self.cases) if self.cases else None

    @property
    def clashes(self) -> tuple[Clash, ...]:
        """Every disagreement, those between different questions last."""
        return (*(clash for case in self.cases for clash in case.clashes), *self.beside)


def consistency(results: Results) -> Consistency:
    """Compares a run's answers to the same questions; asks no bot and no model."""
    groups: dict[str, list[Conversation]] = defaultdict(list)
    for conversation in results.conversations:
        if any(_is_answered(turn) for turn in conversation.turns):
            groups[subject(conversation.case)].append(conversation)
    cases = tuple(_case(case, members) for case, members in groups.items() if len(members) > 1)
    shares, names = [case.share for case in cases], [case.case for case in cases]
    low, high = interval_of_mean(shares, names, seed=SEED) or (None, None)
    return Consistency(cases=cases, beside=tuple(_same_passages(groups.values())), low=low, high=high)


def subject(case: Case) -> str:
    """What a case asks, the same for its wordings: its tag `variant:ID`, or its id without the language."""
    tagged = next((tag.removeprefix(VARIANT) for tag in case.tags if tag.startswith(VARIANT)), "")
    return tagged or _LANGUAGE_PART.sub("", case.id) or case.id


def _case(case: str, members: Sequence[Conversation]) -> CaseConsistency:
    pairs = list(combinations(members, 2))
    clashes = (_clash(one, other) for one, other in pairs)
    return CaseConsistency(case=case, pairs=len(pairs), clashes=tuple(clash for clash in clashes if clash))


def _clash(one: Conversation, other: Conversation) -> Clash | None:
    """The first disagreement of two conversations about the same question."""
    link: Link = "same_case" if one.case.id == other.case.id else "same_question"
    if one.case.language == other.case.language:
        return next(_clashes(one, other, link), None)
    turn, against = one.turns[0], other.turns[0]
    if not (_is_answered(turn) and _is_answered(against)):
        return None
    expected = (*one.case.references_at(1), *other.case.references_at(1))
    found = across_languages(turn.answer.text, against.answer.text, expected)
    return (
        None
        if found is None
        else Clash(
            link=link, one=one.id, one_turn=turn.index, other=other.id, other_turn=against.index, found=found
        )
    )


def _clashes(one: Conversation, other: Conversation, link: Link) -> Iterator[Clash]:
    """Turns of the same number first: they are most likely to be about the same."""
    pairs = [
        (turn, against)
        for turn in one.turns
        for against in other.turns
        if _is_answered(turn) and _is_answered(against)
    ]
    for turn, against in sorted(pairs, key=lambda pair: abs(pair[0].index - pair[1].index)):
        if found := disagreement(turn.answer.text, against.answer.text):
            yield Clash(
                link=link,
                one=one.id,
                one_turn=turn.index,
                other=other.id,
                other_turn=against.index,
                found=found,
            )


def _same_passages(groups: Iterable[Sequence[Conversation]]) -> Iterator[Clash]:
    """Different questions whose gold passages are the same: one clash for each pair of questions."""
    by_passages: dict[tuple[str, ...], list[Sequence[Conversation]]] = defaultdict(list)
    for members in groups:
        languages = {
            (conversation.case.language, *sorted(conversation.case.passages))
            for conversation in members
            if conversation.case.passages
        }
        for key in sorted(languages):
            by_passages[key].append(
                [conversation for conversation in members if conversation.case.language == key[0]]
            )
    for sharing in by_passages.values():
        for one, other in combinations(sharing, 2):
            clashes = (clash for a in one for b in other for clash in _clashes(a, b, "same_passages"))
            if clash := next(clashes, None):
                yield clash


def _is_answered(turn: Turn) -> bool:
    return turn.answer.error is None and bool(turn.answer.text.strip())
