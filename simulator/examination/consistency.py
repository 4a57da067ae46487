"""Whether the bot tells every customer the same: one question by others, again, in other words, languages."""

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Literal

from simulator.core.types import Case, Conversation, Results, Turn, Value
from simulator.examination.disagreements import Disagreement, across_languages, disagreement
from simulator.stats.intervals import interval_of_mean

# Why two conversations must agree: the same case; the same question in other words or another language; or,
# of different questions, the same gold passages. Those of the last kind count only where they disagree.
Link = Literal["same_case", "same_question", "same_passages"]
VARIANT = "variant:"
SEED = 42
_Said = tuple[Conversation, Turn]
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

    `low` and `high` bound it in 95 of 100 samples of questions; None for fewer than two. `beside` are
    disagreements between different questions on the same passages: they are told, not counted.
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
    """What a run's answers to the same questions have in common; asks nobody."""
    talks = [talk for talk in results.conversations if any(_is_said(turn) for turn in talk.turns)]
    groups: dict[str, list[Conversation]] = defaultdict(list)
    for talk in talks:
        groups[subject(talk.case)].append(talk)
    cases = tuple(_of_group(case, members) for case, members in groups.items() if len(members) > 1)
    low, high = _interval(cases)
    return Consistency(cases=cases, beside=tuple(_beside(list(groups.values()))), low=low, high=high)


def subject(case: Case) -> str:
    """What a case asks, the same for its wordings: its tag `variant:ID`, or its id without the language."""
    tagged = next((tag.removeprefix(VARIANT) for tag in case.tags if tag.startswith(VARIANT)), "")
    return tagged or _LANGUAGE_PART.sub("", case.id) or case.id


def _of_group(case: str, members: Sequence[Conversation]) -> CaseConsistency:
    pairs = list(combinations(members, 2))
    found = (_clash(one, other) for one, other in pairs)
    return CaseConsistency(case=case, pairs=len(pairs), clashes=tuple(clash for clash in found if clash))


def _clash(one: Conversation, other: Conversation) -> Clash | None:
    """The first disagreement of two conversations about the same question."""
    link: Link = "same_case" if one.case.id == other.case.id else "same_question"
    if one.case.language == other.case.language:
        return next(_statements(one, other, link), None)
    here, there = one.turns[0], other.turns[0]
    if not (_is_said(here) and _is_said(there)):
        return None
    expected = (*one.case.references_at(1), *other.case.references_at(1))
    found = across_languages(here.answer.text, there.answer.text, expected)
    return _clashing((one, here), (other, there), link, found) if found else None


def _statements(one: Conversation, other: Conversation, link: Link) -> Iterator[Clash]:
    """Answers to the same question first: they are most likely to tell the same."""
    pairs = [
        (here, there) for here in one.turns for there in other.turns if _is_said(here) and _is_said(there)
    ]
    for here, there in sorted(pairs, key=lambda pair: abs(pair[0].index - pair[1].index)):
        if found := disagreement(here.answer.text, there.answer.text):
            yield _clashing((one, here), (other, there), link, found)


def _clashing(one: _Said, other: _Said, link: Link, found: Disagreement) -> Clash:
    (here, turn), (there, other_turn) = one, other
    return Clash(
        link=link,
        one=here.id,
        one_turn=turn.index,
        other=there.id,
        other_turn=other_turn.index,
        found=found,
    )


def _beside(groups: Sequence[Sequence[Conversation]]) -> Iterator[Clash]:
    """Different questions whose gold passages are the same: one clash for each pair of questions."""
    by_passages: dict[tuple[str, ...], list[Sequence[Conversation]]] = defaultdict(list)
    for members in groups:
        languages = {
            (talk.case.language, *sorted(talk.case.passages)) for talk in members if talk.case.passages
        }
        for key in sorted(languages):
            by_passages[key].append([talk for talk in members if talk.case.language == key[0]])
    for sharing in by_passages.values():
        for one, other in combinations(sharing, 2):
            found = (clash for a in one for b in other for clash in _statements(a, b, "same_passages"))
            if clash := next(found, None):
                yield clash


def _interval(cases: Sequence[CaseConsistency]) -> tuple[float | None, float | None]:
    """Of the mean share, by question."""
    shares, names = [case.share for case in cases], [case.case for case in cases]
    return interval_of_mean(shares, names, seed=SEED) or (None, None)


def _is_said(turn: Turn) -> bool:
    return turn.answer.error is None and bool(turn.answer.text.strip())
