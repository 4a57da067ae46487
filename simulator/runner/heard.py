"""What a bot is like, learnt by asking it a few questions before the rehearsal: nobody else is asked."""

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice

from simulator.core.errors import BotFailure
from simulator.core.types import Answer, Case, Conversation, Language, Query
from simulator.runner.context import RunContext
from simulator.runner.conversation import ask
from simulator.runner.estimate import SampledAnswers, TokenRange, tokens

# So many questions of each language are asked, the first ones of the plan, which has so many to look through.
QUESTIONS, LOOKED_AT = 3, 10_000


async def hear(context: RunContext, plan: Sequence[Conversation]) -> dict[Language, SampledAnswers]:
    """Asks the bot, one question after another, and measures its answers by language.

    Raises BotFailure where not one question of a language is answered.
    """
    bot = await context.bot(plan)
    answers: dict[Language, list[Answer]] = {}
    try:
        for case in first_cases(plan):
            query = Query(
                text=case.question, history=case.history, session=f"dry-run-{case.id}",
                case=case.id, language=case.language,
            )  # fmt: skip
            answers.setdefault(case.language, []).append(await ask(bot, query, context.settings.timeout))
    finally:
        await context.close(bot)
    return {language: heard(given, context.settings.adapter) for language, given in answers.items()}


def first_cases(plan: Sequence[Conversation]) -> Iterator[Case]:
    """The first questions of each language."""
    taken: Counter[Language] = Counter()
    known: set[str] = set()
    for conversation in islice(plan, LOOKED_AT):
        if taken[conversation.case.language] < QUESTIONS and conversation.case.id not in known:
            known.add(conversation.case.id)
            taken[conversation.case.language] += 1
            yield conversation.case


def heard(answers: Sequence[Answer], adapter: str) -> SampledAnswers:
    """These answers, measured; those that failed are left out."""
    good = [answer for answer in answers if answer.error is None]
    if not good and (error := answers[0].error):
        raise BotFailure(error.kind, f"{adapter}: {error.message}")
    passages = [sum(tokens(passage.text) for passage in answer.passages) for answer in good]
    return SampledAnswers(
        answer=_bounds([tokens(answer.text) for answer in good]),
        passages=_bounds(passages),
        number=round(sum(len(answer.passages) for answer in good) / len(good)),
        tells=any(answer.passages or answer.shows_passages for answer in good),
        asked=len(answers),
    )


def _bounds(found: Sequence[float]) -> TokenRange:
    if len(found) == 1:  # it may be half or twice as much another time
        return TokenRange(found[0] / 2, found[0], found[0] * 2)
    return TokenRange(min(found), sum(found) / len(found), max(found))
