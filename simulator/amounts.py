"""Calls and tokens of a plan by role and model, added up conversation by conversation."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import NamedTuple

from simulator.core.types import Case, Conversation, Language, Role
from simulator.sizes import CaseSizes, Guess, Lengths, Sizes, embeds, usual, wants_references
from simulator.stage import Stage

Who = tuple[Role, str]
# A judge that embeds what a model filled in compares so many texts with what the customer said.
FILLED_TEXTS = 3


@dataclass(slots=True)
class Amounts:
    """Calls and tokens of one model in one role; expected values need not be whole."""

    calls: float = 0.0
    tokens_in: float = 0.0
    tokens_out: float = 0.0

    def add(self, calls: float, tokens_in: float, tokens_out: float) -> None:
        """So many calls, with the tokens of all of them."""
        self.calls += calls
        self.tokens_in += tokens_in
        self.tokens_out += tokens_out


class Course(NamedTuple):
    """How far a conversation comes: its turns, and the share (0..1) of customers who leave after each."""

    turns: int
    leaving: float = 0.0


@cache
def _shares(course: Course) -> tuple[float, ...]:
    """How likely each turn is to be reached."""
    return tuple((1 - course.leaving) ** turn for turn in range(course.turns))


class Way(NamedTuple):
    """One way in which a run may go: how long things are, and how far each conversation comes."""

    guess: Guess = Guess()
    course: Callable[[Conversation], Course] | None = None


def amounts(stage: Stage, plan: Sequence[Conversation], way: Way) -> dict[Who, Amounts]:
    """Calls and tokens of the whole plan, if it goes that way; without a course all take all their turns."""
    return amounts_of_each(stage, plan, [way])[0]


def amounts_of_each(
    stage: Stage, plan: Sequence[Conversation], ways: Sequence[Way]
) -> list[dict[Who, Amounts]]:
    """The same for several ways, for which a long plan is read but once, and once for its references."""
    if stage.grading.outputs:
        stage.grading.outputs.expect(talk.case for talk in plan)

    @cache
    def usually(language: Language) -> Lengths:
        return usual(language, (talk.case for talk in plan))

    countings = [_Counting(stage, usually, way.guess) for way in ways]
    for talk in plan:
        turns, plays = stage.turns(talk)
        for way, counting in zip(ways, countings, strict=True):
            counting.count(talk, way.course(talk) if way.course else Course(turns), plays=plays)
    return [{who: each for who, each in found.found.items() if each.calls} for found in countings]


@dataclass(slots=True)
class _Turns:
    """Expected numbers over the turns of a conversation that have, or lack, a reference."""

    number: float = 0.0
    words: float = 0.0  # tokens said by both sides before each of these turns, and the question
    before: float = 0.0  # turns before each of these turns
    references: float = 0.0

    def __add__(self, other: "_Turns") -> "_Turns":
        return _Turns(
            self.number + other.number,
            self.words + other.words,
            self.before + other.before,
            self.references + other.references,
        )


@dataclass
class _Counting:
    stage: Stage
    usually: Callable[[Language], Lengths]
    guess: Guess
    found: dict[Who, Amounts] = field(default_factory=dict)
    _sizes: dict[Language, Sizes] = field(default_factory=dict)
    _last: tuple[Case, CaseSizes] | None = None

    def count(self, talk: Conversation, course: Course, *, plays: bool) -> None:
        """All calls of one conversation."""
        sizes = self._in(talk.case.language)
        if self._last is None or self._last[0] is not talk.case:  # all about a case stand together
            self._last = talk.case, sizes.case(talk.case)
        case = self._last[1]
        referenced, bare = _turns(case, sizes, _shares(course))
        every = referenced + bare
        if self._user is not None and plays:
            self._customer(self._user, talk, case, every)
        if self._demo is not None:
            told = sizes.bot + case.passages + case.history
            self._demo.add(every.number, every.number * told + every.words, every.number * case.answer)
        if self._judging:
            self._grades(sizes, case, referenced, with_reference=True)
            self._grades(sizes, case, bare, with_reference=False)
        if self._embed is not None:
            for compares in self._embedding:
                self._embed.add(*_embedded(sizes, case, referenced if compares else every, compares), 0)

    def _in(self, language: Language) -> Sizes:
        if language not in self._sizes:
            self._sizes[language] = Sizes(self.stage, language, self.usually(language), self.guess)
        return self._sizes[language]

    def _customer(self, user: Amounts, talk: Conversation, case: CaseSizes, every: _Turns) -> None:
        sizes = self._in(talk.case.language)
        system = sizes.customer(talk.persona) + case.question + case.goal + case.facts + case.history
        reply = sizes.lengths.line + sizes.lengths.leaving
        # A customer has heard the answer of the turn itself, too.
        user.add(every.number, every.number * (system + case.answer) + every.words, every.number * reply)
        if self.stage.settings.voice_opening:
            user.add(1, sizes.opening(talk) + case.question, reply)

    def _grades(self, sizes: Sizes, case: CaseSizes, turns: _Turns, *, with_reference: bool) -> None:
        if not turns.number:
            return
        around = turns.number * (case.passages + case.history)
        around += turns.words + turns.references + turns.before * sizes.before
        rubrics, forms = sizes.grading(
            referenced=with_reference, passages=case.passages > 0, tells=case.tells
        )
        votes = self.stage.settings.votes
        for judge, asked, times in (
            *((judge, rubrics, votes) for judge in self._judging),
            (self._judging[0], forms, 1),
        ):
            judge.add(
                times * turns.number * asked.calls,
                times
                * (
                    turns.number * (asked.prompts + asked.calls * case.answer)
                    + (asked.calls - asked.apart) * around
                ),
                times * turns.number * asked.replies,
            )

    @cached_property
    def _user(self) -> Amounts | None:
        return self._of("user")

    @cached_property
    def _demo(self) -> Amounts | None:
        return self._of("demo") if self.stage.settings.adapter == "demo" else None

    @cached_property
    def _embed(self) -> Amounts | None:
        return self._of("embed") if self._embedding else None

    @cached_property
    def _embedding(self) -> list[bool]:
        """The judges that embed: whether they compare with references, so that they need some."""
        return [wants_references(judge) for _, judge in self.stage.grading.asked if embeds(judge)]

    @cached_property
    def _judging(self) -> list[Amounts]:
        """The judge's model, and the further ones of the panel."""
        first = self._of("judge")
        beside = [self._at("judge", each.model) for each in self.stage.grading.panelists]
        return [first, *beside] if first else []

    def _of(self, role: Role) -> Amounts | None:
        endpoint = self.stage.endpoints[role]
        return self._at(role, endpoint.model) if endpoint else None

    def _at(self, role: Role, model: str) -> Amounts:
        return self.found.setdefault((role, model), Amounts())


def _turns(case: CaseSizes, sizes: Sizes, shares: Sequence[float]) -> tuple[_Turns, _Turns]:
    """The turns that have a reference, and those that have none."""
    referenced, bare = _Turns(), _Turns()
    first = case.references[0] if case.references else 0.0
    exchange = sizes.lengths.line + case.answer
    for before, share in enumerate(shares):
        reference = case.references[before] if before < len(case.references) else 0.0
        turns = referenced if reference else bare
        turns.number += share
        turns.words += share * (case.question + before * exchange)
        turns.before += share * before
        # Without one of its own a later turn shows the first question with its reference.
        turns.references += share * (reference or (first and case.question + first))
    return referenced, bare


def _embedded(sizes: Sizes, case: CaseSizes, turns: _Turns, compares: bool) -> tuple[float, float]:
    """Calls and tokens of a judge that embeds an answer and its references, or questions."""
    if compares:
        return turns.number, turns.number * case.answer + turns.references
    return turns.number, turns.number * (case.question + FILLED_TEXTS * sizes.lengths.line)
