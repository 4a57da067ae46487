"""What can be counted about one turn: how far its passages support it, and how far it says what is right."""

import re
from collections.abc import Iterable
from functools import cached_property

from simulator.core.types import GradingContext, Language
from simulator.text.acts import apologises, negated_words, parts, passes_on
from simulator.text.courtesies import declines, statements
from simulator.text.entities import (
    Specific,
    details_of,
    follows,
    is_said,
    lacking,
    located,
    matters,
    numbers_in,
)
from simulator.text.entity_meaning import Measure, Token
from simulator.text.evidence import (
    ANSWERED,
    SAYS_PART,
    Agreement,
    ExpectedResponse,
    Support,
    agreement,
    all_references,
    best_agreement,
    expected_response,
    support,
)
from simulator.text.segments import normalise, sentences
from simulator.text.wording import wording

# What somebody speaks of who cannot answer.
_KNOWING = re.compile(
    r"情報|案内|記載|資料|お?答え|回答|返答|返事|わか|分か|判り|見つ|見当た|確認|存じ|把握|手元|申し上げ|お伝え|できかね"
    r"|\b(?:info\w*|know\w*|details?|answer\w*|tell|say\w*|said|find|found|see|sure|help|guess|advi[sc]e\w*|speak"
    r"|anything|nothing|article|listed|listing|mention\w*|record\w*|look\w*|confirm|check|idea|have"
    r"|materials?|documents?|pages?)\b"
)
# How often what was worked out is worked with in turn.
STEPS = 3
# A day that a date may be counted from.
_SOME_DAY = re.compile(
    r"[月火水木金土日]曜|本日|今日|明日|明後日|昨日|来週|先週|今週|来月|先月|今月|月末"
    r"|\b(?:(?:mon|tues|wednes|thurs|fri|satur|sun)days?|today|tonight|tomorrow|tmrw|yesterday|now)\b"
    r"|\b(?:next|last|this) (?:week|month|year|weekend)"
)


def declines_wrongly(answer: str, wanted: Iterable[str], agreed: Agreement, language: Language) -> bool:
    """Whether an answer declines where the right ones do not.

    Where a right answer is to ask somebody else, saying so is no refusal; nor is a no where no is right.
    """
    if not declines(answer, language) or agreed.recall >= SAYS_PART:
        return False
    refers = names_contact(answer, language)
    return not any(
        (refers and declines(each, language))
        or any(isinstance(e.meaning, Token) and located(e, [answer]) is not None for e in details_of(each))
        or (negated_words(next(iter(sentences(each)), "")) and not _does_not_know(answer, language))
        for each in wanted
    )


def _does_not_know(answer: str, language: Language) -> bool:
    """Whether it is knowing or saying that an answer denies: "not something we pay for" may be a right no."""
    refusals = [part.text for part in parts(answer, language) if part.act == "refusal"]
    return not refusals or any(_KNOWING.search(normalise(text)) for text in refusals)


def names_contact(answer: str, language: Language) -> bool:
    """Whether an answer names somebody to turn to."""
    return any(part.act in {"contact", "referral", "handover"} for part in parts(answer, language))


class TurnEvidence:
    """What can be counted about one turn, cached by text so that judges share it."""

    def __init__(self, context: GradingContext) -> None:
        """Nothing is counted before it is asked for."""
        self.context, self.case = context, context.case
        self.language = context.case.language
        self.answer = context.turn.answer.text
        self.passages = tuple(passage.text for passage in context.turn.answer.passages)
        self.say = wording(self.language)

    @cached_property
    def refused(self) -> bool:
        """Whether the answer refuses, is nothing but a handover, or sends the customer elsewhere."""
        return declines_wrongly(self.answer, self.wanted, self.agreed, self.language)

    @cached_property
    def handed_over(self) -> bool:
        """Whether the bot passes the customer on to a person."""
        return passes_on(self.answer, self.language)

    @cached_property
    def apologises(self) -> bool:
        """Whether it says sorry."""
        return apologises(self.answer, self.language)

    @cached_property
    def has_contact(self) -> bool:
        """Whether it names somebody to turn to."""
        return names_contact(self.answer, self.language)

    @cached_property
    def only_asks(self) -> bool:
        """Whether it asks back and states nothing."""
        acts = {part.act for part in parts(self.answer, self.language)}
        return "question" in acts and acts <= {"question", "courtesy"}

    @cached_property
    def hints_at_refusal(self) -> bool:
        """Whether it may decline in unlisted words: it asks, refuses in part, or gives an address."""
        found = parts(self.answer, self.language)
        contacts = [each.text for each in found if each.act in {"contact", "referral", "lead", "handover"}]
        gives = any(isinstance(each.meaning, Token) for text in contacts for each in details_of(text))
        return gives or any(each.act in {"question", "refusal", "no_handover"} for each in found)

    @cached_property
    def support(self) -> Support:
        """How far this turn's passages support the answer, its courtesies apart.

        Its numbers are those that matter and that nothing bears out: they stand neither there nor in anything
        else that is known, and follow from none of it.
        """
        body = "\n".join(statements(self.answer, self.language)) or self.answer
        found = support(body, self.passages, self.context.turn.user)
        known = (*self.known, *self.wanted, *self._said_before)
        said = [each for each in found.numbers if any(is_said(each, text) for text in known)]
        unknown = [each for each in found.numbers if matters(each) and each not in said]
        for _step in range(STEPS):
            said += [each for each in unknown if self._follows(each, said)]
            unknown = [each for each in unknown if each not in said]
        return found._replace(numbers=tuple(unknown))

    def _follows(self, detail: Specific, said: Iterable[Specific] = ()) -> bool:
        """Whether a figure can be worked out, where there is something to work out."""
        asked, known = self.context.turn.user, (*self.known, *self.wanted, *(each.text for each in said))
        reckons = bool(numbers_in(asked)) or any(lacking(each, self.known) for each in self.wanted)
        if not isinstance(detail.meaning, Measure):
            return (reckons or bool(_SOME_DAY.search(normalise(asked)))) and follows(detail, known)
        return follows(detail, known, "\n".join((asked, *self.wanted, self.answer)), sums=reckons)

    @property
    def _said_before(self) -> list[str]:
        """What the customer said before, and what was retrieved; the bot may have made up what it said."""
        history = [message.content for message in self.case.history]
        passages = [passage.text for turn in self.context.earlier for passage in turn.answer.passages]
        return [*history, *(turn.user for turn in self.context.earlier), *passages]

    @cached_property
    def differs(self) -> bool:
        """Whether figures show that the answer says something else than the reference.

        It gives another one in its place, or not the one that had to be worked out, or none and little else.
        """
        found = self.agreed
        unknown = (each for each in found.open_details if located(each, self.known) is None)
        if found.instead or any(map(self._follows, unknown)):
            return True
        is_little = found.recall < SAYS_PART and not found.right
        return bool(found.lacks) and is_little and not self._works_out_a_time

    @property
    def _works_out_a_time(self) -> bool:
        """Whether it says for this customer when that is, which the reference says for all."""
        own = (each for each in lacking(self.answer, self.passages) if each.kind in {"date", "time", "hours"})
        return any(self._follows(each) or located(each, [self.context.turn.user]) is not None for each in own)

    @cached_property
    def known(self) -> tuple[str, ...]:
        """The passages and the question."""
        return (*self.passages, self.context.turn.user)

    @cached_property
    def agreement(self) -> Agreement:
        """How far it says what the nearest reference of this turn says."""
        return self._agreed(self.context.references)

    @cached_property
    def agreed(self) -> Agreement:
        """The same of the references of all turns, where this turn has none of its own."""
        return self._agreed(self.wanted)

    def _agreed(self, references: Iterable[str]) -> Agreement:
        asked = "\n".join(turn.user for turn in (*self.context.earlier, self.context.turn))
        found = (agreement(self.answer, each, self.language, self.known, asked) for each in references)
        return max(found, key=lambda each: each.score, default=Agreement(0.0, 0.0))

    @cached_property
    def expected(self) -> ExpectedResponse:
        """What a right answer does."""
        return expected_response(self.case)

    @property
    def wanted(self) -> tuple[str, ...]:
        """The references of this turn; where it has none of its own, those of all turns of the case."""
        return self.context.references or all_references(self.case)

    @cached_property
    def already_answered(self) -> bool:
        """Whether an earlier turn gave the answer that the case's reference gives."""
        earlier = (turn.answer.text for turn in self.context.earlier)
        known = all_references(self.case)
        return any(best_agreement(text, known, self.language).score >= ANSWERED for text in earlier)
