"""Asks the bot a few questions before an estimate, so that the length of its answers is not guessed."""

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice

from simulator.core.errors import BotFailure
from simulator.core.messages import _
from simulator.core.types import Answer, Case, Conversation, Language, Query
from simulator.runner.context import RunContext
from simulator.runner.conversation import ask
from simulator.runner.estimate import SampledAnswers, TokenRange, tokens

# Questions asked in each language, and how many conversations of the plan are searched for them.
QUESTIONS, SEARCHED = 3, 10_000


async def sample_bot(context: RunContext, plan: Sequence[Conversation]) -> dict[Language, SampledAnswers]:
    """Asks the bot one question after another and returns the measured answers by language.

    Raises BotFailure if every question of a language fails.
    """
    bot = await context.bot(plan)
    answers: dict[Language, list[Answer]] = {}
    try:
        for case in sampled_cases(plan):
            query = Query(
                text=case.question, history=case.history, session=f"dry-run-{case.id}",
                case=case.id, language=case.language,
            )  # fmt: skip
            answers.setdefault(case.language, []).append(await ask(bot, query, context.settings.timeout))
    finally:
        await context.close(bot)
    return {language: measure_answers(each, context.settings.adapter) for language, each in answers.items()}


def sampled_cases(plan: Sequence[Conversation]) -> Iterator[Case]:
    """The first cases of each language, in the order of the plan."""
    counts: Counter[Language] = Counter()
    ids: set[str] = set()
    for case in (conversation.case for conversation in islice(plan, SEARCHED)):
        if counts[case.language] < QUESTIONS and case.id not in ids:
            ids.add(case.id)
            counts[case.language] += 1
            yield case


def measure_answers(answers: Sequence[Answer], adapter: str) -> SampledAnswers:
    """The sizes of these answers without failed ones; raises BotFailure if all failed."""
    good = [answer for answer in answers if answer.error is None]
    if not good and (error := answers[0].error):
        raise BotFailure(error.kind, _("{adapter}: {reason}", adapter=adapter, reason=error.message))
    passages = [sum(tokens(passage.text) for passage in answer.passages) for answer in good]
    return SampledAnswers(
        answer=_range([tokens(answer.text) for answer in good]),
        passages=_range(passages),
        number=round(sum(len(answer.passages) for answer in good) / len(good)),
        reports_retrieval=any(answer.passages or answer.shows_passages for answer in good),
        asked=len(answers),
    )


def _range(sizes: Sequence[float]) -> TokenRange:
    if len(sizes) == 1:  # another answer may be half or twice as long
        return TokenRange(sizes[0] / 2, sizes[0], sizes[0] * 2)
    return TokenRange(min(sizes), sum(sizes) / len(sizes), max(sizes))
