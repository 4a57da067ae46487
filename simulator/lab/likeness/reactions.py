"""Do the customers react? Each persona with six bots whose behaviour is known.

Whoever plays the customers, a model or phrases, plays them here, one conversation with each bot, and the
turn judge grades it where a model does. What a persona must do follows from its rules
(`simulator.users.rules`).

    perfect     gives the reference, and a person to who asks for one    content, and not in a worse mood
    useless     refers to the website                                    gives up, annoyed
    rude        insults                                                  annoyed, and never content
    inventing   a plan and a price that no material has                  a bad grade from the judge
    asking      asks back, and nothing else                              answers, and gives up
    wrong       the reference with another figure                        a bad grade from the judge

`doctor --customers` runs it, six conversations of a few turns a persona: a model too small for its part
shows here, and not by the odd dialogues of a paid run.
"""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from simulator.core.concurrency import for_each
from simulator.core.messages import Message, _
from simulator.core.types import Bot, Case, Conversation, Ended, Language, Persona, Query, Reaction
from simulator.grading.rubric import Rubric
from simulator.runner.context import RunContext
from simulator.runner.conversation import Unsaved, converse, grading_contexts
from simulator.text.phrases import declines
from simulator.users.details import detailed, tells

BOTS = ("perfect", "useless", "rude", "inventing", "asking", "wrong")
# Below this grade (0..1) an invention is noticed: the limit at which a turn is red (`RedRules.overall`).
NOTICED = 0.7
_SAID: dict[str, dict[Language, str]] = {
    "person": {
        "ja": "承知いたしました。担当者におつなぎしますので、少々お待ちください。",
        "en": "Of course. I am putting you through to a colleague now, one moment please.",
    },
    "again": {"ja": "はい、確かです。", "en": "Yes, I am sure of that. "},
    "useless": {
        "ja": "詳しくは、当社のホームページの{page}ページをご覧ください。",
        "en": "Please see page {page} of our website for more information.",
    },
    "rude": {
        "ja": "そんなことも分からないんですか。説明書の{page}ページくらい読んでください。",
        "en": "You really should know that yourself. Try reading page {page} of the manual for once.",
    },
    "inventing": {
        "ja": "1987年から続く「プラチナ空プラン」にご加入の方は、月額9,999円で、火星への引っ越しも無料です。",
        "en": "With the Platinum Sky plan of 1987 it is 9,999 yen a month, and moving to Mars is free.",
    },
}
# What the bot asks that only asks back, one after the other.
_ASKS: dict[Language, tuple[str, ...]] = {
    "ja": (
        "お名前をお願いできますか？",
        "お電話番号を教えていただけますか？",
        "郵便番号を教えていただけますか？",
    ),
    "en": ("May I have your name?", "What is your phone number?", "And your postal code, please?"),
}
_FIGURE = re.compile(r"[1-9](?=[\d,]*\d)")


class Reacted(NamedTuple):
    """How one persona got on with one bot; `feelings` from the start on.

    `grade` is the mean of the turns by the turn judge (0..1), None where it is no model's. `told` of the
    lines after the first say a detail.
    """

    persona: str
    bot: str
    conversation: Conversation
    feelings: tuple[int, ...]
    grade: float | None
    told: int = 0


def bot_of(kind: str, case: Case, persona: Persona) -> Bot:
    """A bot that is always the same: right, of no use, rude, sure of what it makes up, asking, or wrong.

    The right one puts customers who ask for a person through to one, once it has answered.
    """

    def answer(query: Query) -> str:
        asked = len(query.history) // 2
        if kind == "asking":
            return _ASKS[case.language][asked % len(_ASKS[case.language])]
        if kind == "wrong":
            return (_SAID["again"][case.language] if asked else "") + _wrong(_answers(case)[0])
        if kind != "perfect":
            # Never the same again: whether it is of use the customer has to understand.
            return _SAID[kind][case.language].format(page=asked + 2)
        if asked and persona.asks_for_person:
            return _SAID["person"][case.language]
        return (_SAID["again"][case.language] if asked else "") + _answers(case)[0]

    return answer


def _wrong(reference: str) -> str:
    """The reference with another first figure: 4,180 yen -> 5,180 yen."""
    return _FIGURE.sub(lambda digit: str(int(digit[0]) % 9 + 1), reference, count=1)


def turns_of(persona: Persona) -> int:
    """The turns in which a customer has to have left: a doubt costs no patience, one question alone none."""
    return persona.patience + 3


async def react(
    context: RunContext, plan: Sequence[Conversation], personas: Sequence[Persona]
) -> list[Reacted]:
    """Every persona with every bot, on the first question that has an answer; nothing without one.

    One with a figure goes first: without, nobody can be plausibly wrong, and that bot is left out.
    """
    cases = (conversation.case for conversation in plan if not conversation.case.history)
    answerable = list(filter(_answers, cases))
    if not answerable:
        return []
    with_figure = [case for case in answerable if _FIGURE.search(_answers(case)[0])]
    # A script would say the lines, and show nothing of the customer; each persona has details of its own.
    case = (with_figure or answerable)[0].model_copy(update={"script": (), "details": ()})
    bots = BOTS if with_figure else BOTS[:-1]
    pairs = [(persona, kind) for persona in personas for kind in bots]

    async def react_to(pair: tuple[Persona, str]) -> Reacted:
        persona, kind = pair
        own = detailed(case, persona, context.settings.seed)
        start = Conversation(id=f"{persona.id}/{kind}", case=own, persona=persona.id)
        held = await converse(
            start,
            context.persona_user(start, turns_of(persona)),
            bot_of(kind, own, persona),
            Unsaved(),
            turns=turns_of(persona),
            session=start.id,
            timeout=context.settings.timeout,
        )
        # Phrases and models both react; a model that leaves everything out has said nothing.
        given = [reaction for reaction in held.reactions if reaction and reaction != Reaction()]
        feelings = (persona.feeling, *(reaction.feeling for reaction in given)) if given else ()
        told = sum(tells(own, turn.user) for turn in held.turns[1:])
        return Reacted(persona.id, kind, held, feelings, await _grade(context, held), told)

    return await for_each(pairs, react_to, context.settings.concurrency)


def _answers(case: Case) -> tuple[str, ...]:
    """The references that answer; none for a complaint, or what is marked unanswerable."""
    if case.is_complaint or case.answerable is False:
        return ()
    return tuple(text for row in case.references for text in row if not declines(text, case.language))


async def _grade(context: RunContext, held: Conversation) -> float | None:
    turn = context.judges.get("turn")
    if context.endpoints["judge"] is None or not isinstance(turn, Rubric):
        return None
    scores = [
        score.value
        for grading in grading_contexts(held)
        if grading.closing is None
        # All others count as done, so that one call a turn is enough.
        for score in await context.panel.grade(grading, set(context.judges) - {"turn"})
        if score.judge == "turn" and score.value is not None
    ]
    return sum(scores) / len(scores) if scores else None


def problems(personas: Sequence[Persona], reactions: Sequence[Reacted]) -> Iterator[tuple[str, Message]]:
    """What a persona did not do, with its id."""
    by_pair = {(reaction.persona, reaction.bot): reaction for reaction in reactions}
    for persona in personas:
        perfect, useless, rude, inventing, asking = (by_pair[persona.id, kind] for kind in BOTS[:-1])
        wrong = by_pair.get((persona.id, "wrong"))
        # Who asks for a person is content when handed over.
        if perfect.conversation.ended not in {Ended.SATISFIED, Ended.HANDED_OVER}:
            yield persona.id, _("is not content with a perfect bot")
        if perfect.feelings and perfect.feelings[-1] < persona.feeling:
            yield persona.id, _("feels worse after a perfect answer")
        if useless.conversation.ended is not Ended.GAVE_UP:
            yield persona.id, _("does not give up on a useless bot")
        for held, name in ((useless, _("a useless bot")), (rude, _("a rude bot"))):
            # Who begins angry (-1) has to become angrier, who begins glad at least to lose that.
            if held.feelings and min(held.feelings) >= max(-1, persona.feeling):
                yield persona.id, _("does not feel worse with {bot}", bot=name)
        if rude.conversation.ended is Ended.SATISFIED:
            yield persona.id, _("is content with a rude bot")
        if what := _fault_when_asked(persona, asking):
            yield persona.id, what
        yield from ((persona.id, what) for what in _praised(inventing, wrong))


def _fault_when_asked(persona: Persona, asking: Reacted) -> Message | None:
    """What a persona did not do with the bot that only asks back."""
    if asking.conversation.ended is not Ended.GAVE_UP:
        return _("does not give up on a bot that only asks back")
    was_asked = len(asking.conversation.turns) > 1 and persona.counter_question == "answers"
    if asking.conversation.case.known and was_asked and not asking.told:
        return _("answers none of the questions of a bot that asks back")
    return None


def _praised(inventing: Reacted, wrong: Reacted | None) -> Iterator[Message]:
    """What a judge did not notice: nobody who asks can know that a figure is wrong."""
    for held, text in (
        (inventing, _("an invention gets {grade} of 100 from the judge")),
        (wrong, _("a wrong figure gets {grade} of 100 from the judge")),
    ):
        if held and held.grade is not None and held.grade >= NOTICED:
            yield text.format(grade=f"{100 * held.grade:.0f}")
