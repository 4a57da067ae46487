"""How consistent the answers of a run are: which answers to the same question disagree, and how often."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations, product
from typing import Any, Literal

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

    def as_json(self) -> dict[str, Any]:
        """The figures for `--json`, with every disagreement."""
        return {
            "share": self.share,
            "low": self.low,
            "high": self.high,
            "cases": [{"case": case.case, "pairs": case.pairs, "share": case.share} for case in self.cases],
            "disagreements": [clash.model_dump(mode="json") for clash in self.clashes],
        }


def consistency(results: Results) -> Consistency:
    """Compares a run's answers to the same questions; asks no bot and no model."""
    groups: dict[str, list[Conversation]] = defaultdict(list)
    for conversation in results.conversations:
        if _answered(conversation):
            groups[subject(conversation.case)].append(conversation)
    cases = []
    for case, members in groups.items():
        pairs = list(combinations(members, 2))
        clashes = tuple(clash for one, other in pairs if (clash := _clash(one, other)))
        if pairs:
            cases.append(CaseConsistency(case=case, pairs=len(pairs), clashes=clashes))
    shares, names = [case.share for case in cases], [case.case for case in cases]
    low, high = interval_of_mean(shares, names, seed=SEED) or (None, None)
    return Consistency(cases=tuple(cases), beside=tuple(_same_passages(groups.values())), low=low, high=high)


def subject(case: Case) -> str:
    """What a case asks, the same for its wordings: its tag `variant:ID`, or its id without the language."""
    tagged = next((tag.removeprefix(VARIANT) for tag in case.tags if tag.startswith(VARIANT)), "")
    return tagged or _LANGUAGE_PART.sub("", case.id) or case.id


def _clash(one: Conversation, other: Conversation, link: Link = "same_question") -> Clash | None:
    """The first disagreement of two conversations; turns of the same number first, which are most alike.

    In two languages only the first answers are compared: they are the ones to the same question.
    """
    if one.case.id == other.case.id:
        link = "same_case"
    pairs = list(product(_answered(one), _answered(other)))
    expected = None
    if one.case.language != other.case.language:
        pairs = [(a, b) for a, b in pairs if a is one.turns[0] and b is other.turns[0]]
        expected = (*one.case.references_at(1), *other.case.references_at(1))
    for turn, against in sorted(pairs, key=lambda pair: abs(pair[0].index - pair[1].index)):
        texts = turn.answer.text, against.answer.text
        found = disagreement(*texts) if expected is None else across_languages(*texts, expected)
        if found:
            turns = {"one_turn": turn.index, "other_turn": against.index}
            return Clash(link=link, one=one.id, other=other.id, found=found, **turns)
    return None


def _same_passages(groups: Iterable[Sequence[Conversation]]) -> Iterator[Clash]:
    """Different questions whose gold passages are the same: one clash for each pair of questions."""
    by_passages: dict[tuple[str, ...], list[Sequence[Conversation]]] = defaultdict(list)
    for members in groups:
        cases = [conversation.case for conversation in members if conversation.case.passages]
        for language, *passages in sorted({(case.language, *sorted(case.passages)) for case in cases}):
            sharing = [conversation for conversation in members if conversation.case.language == language]
            by_passages[language, *passages].append(sharing)
    for sharing_groups in by_passages.values():
        for one, other in combinations(sharing_groups, 2):
            clashes = (_clash(a, b, "same_passages") for a, b in product(one, other))
            if clash := next(filter(None, clashes), None):
                yield clash


def _answered(conversation: Conversation) -> list[Turn]:
    return [turn for turn in conversation.turns if not turn.answer.error and turn.answer.text.strip()]
