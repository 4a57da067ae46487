"""Which answers a cross-examination takes up, and what it will cost at most."""

from collections import defaultdict
from collections.abc import Sequence
from itertools import zip_longest

from simulator.addons.consistency.across import Question
from simulator.addons.consistency.disagreement import checkable
from simulator.addons.consistency.grade import Examiner, FollowUp
from simulator.core.types import CONVERSATION, GradingContext, Results, Role, Spending
from simulator.models.pricing import Prices, total_spending
from simulator.runner.context import RunContext
from simulator.runner.conversation import grading_context
from simulator.runner.estimate import ANSWER, grading_estimate, prompt_tokens

# Tokens of a reply: each question of an examiner, the verdict of a comparer.
QUESTION, VERDICT = 90, 220


def targets(results: Results, limit: int) -> tuple[GradingContext, ...]:
    """At most `limit` answered turns, those with most amounts, dates and numbers first.

    Every question's best answer comes before any second one, and an answer that was given word for word
    twice is examined once.
    """
    candidates: list[tuple[int, GradingContext]] = []
    seen: set[tuple[str, str]] = set()
    for conversation in results.conversations:
        for turn in conversation.turns:
            said = (conversation.case.id, turn.answer.text)
            if turn.answer.error or said in seen or not turn.answer.text.strip():
                continue
            seen.add(said)
            if details := {detail.canonical for detail in checkable(turn.answer.text)}:
                candidates.append((len(details), grading_context(conversation, turn.index)))
    by_case: dict[str, list[GradingContext]] = {}
    for _details, target in sorted(candidates, key=lambda candidate: -candidate[0]):
        by_case.setdefault(target.case.id, []).append(target)
    levels = zip_longest(*by_case.values())
    return tuple(target for level in levels for target in level if target is not None)[:limit]


def estimate(
    context: RunContext, examiner: Examiner, chosen: Sequence[GradingContext], compared: Sequence[Question]
) -> dict[Role, Spending]:
    """Calls, tokens and dollars of customer and judge, when every answer gets all its questions.

    `compared` are the questions whose answers a judge compares.
    """
    totals: dict[Role, list[int]] = defaultdict(lambda: [0, 0, 0])

    def add(role: Role, calls: int, tokens_in: int, tokens_out: int) -> None:
        for place, amount in enumerate((calls, calls * tokens_in, calls * tokens_out)):
            totals[role][place] += amount

    count = examiner.questions
    for target in chosen:
        language = target.case.language
        answer = ("あ" if language == "ja" else "a") * ANSWER[language]
        add("user", 1, prompt_tokens(examiner.prompts.examiner(target, count)), count * QUESTION)
        claim = FollowUp(claim=target.turn.user, question=target.turn.user)
        add("judge", count, prompt_tokens(examiner.prompts.comparer(target, claim, answer)), VERDICT)
    prices, models = Prices.of(context.settings), context.models()
    if examiner.asking is not None:  # of several customers' models, the first
        models = models | {"user": examiner.asking.endpoint.model}
    spending = {role: prices.spending(models[role], *total) for role, total in totals.items()}
    if compared:
        judging = grading_estimate(context, {CONVERSATION}, [question.context for question in compared])
        spending["judge"] = total_spending([spending.get("judge", Spending()), judging])
    return spending
