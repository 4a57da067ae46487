"""Which answers a cross-examination takes up, and what it will cost at most."""

from collections.abc import Collection, Iterator, Sequence
from itertools import zip_longest
from typing import Literal, get_args

from simulator.addons.consistency.disagreement import checkable
from simulator.addons.consistency.grade import Examiner, FollowUp, Target
from simulator.core.types import Results, Role, Spending
from simulator.models.pricing import Prices
from simulator.runner.context import RunContext
from simulator.runner.estimate import ANSWER, PASSAGE, PASSAGES, prompt_tokens, tokens

Which = Literal["specific", "red", "all"]
WHICH: tuple[Which, ...] = get_args(Which)
# Tokens of a reply: each question of an examiner, the verdict of a comparer.
QUESTION, VERDICT = 90, 220


def targets(
    results: Results, limit: int, *, which: Which = "specific", red: Collection[tuple[str, int]] = ()
) -> tuple[Target, ...]:
    """At most `limit` answered turns, those with most amounts, dates and numbers first.

    Every question's best answer comes before any second one, and an answer that was given word for word
    twice is examined once. `specific` takes only answers with something checkable.
    """
    candidates, seen = [], set[tuple[str, str]]()
    for conversation in results.conversations:
        for turn in conversation.turns:
            answer = (conversation.case.id, turn.answer.text)
            is_chosen = which != "red" or (conversation.id, turn.index) in red
            if turn.answer.error or not is_chosen or answer in seen or not turn.answer.text.strip():
                continue
            seen.add(answer)
            if which != "specific" or _details(turn.answer.text):
                candidates.append(Target(conversation=conversation, turn=turn))
    return tuple(_best_of_each_case(candidates))[:limit]


def _details(answer: str) -> int:
    """How many different amounts, dates, times and numbers an answer has."""
    return len({detail.canonical for detail in checkable(answer)})


def _best_of_each_case(candidates: Sequence[Target]) -> Iterator[Target]:
    """The best of every case, then the second best of every case, and so on."""
    ranked = sorted(candidates, key=lambda target: -_details(target.turn.answer.text))
    by_case: dict[str, list[Target]] = {}
    for target in ranked:
        by_case.setdefault(target.conversation.case.id, []).append(target)
    for level in zip_longest(*by_case.values()):
        yield from (target for target in level if target is not None)


def estimate(context: RunContext, examiner: Examiner, chosen: Sequence[Target]) -> dict[Role, Spending]:
    """Calls, tokens and dollars per role, when every answer gets all its questions."""
    totals: dict[Role, list[int]] = {}
    for target in chosen:
        for role, calls, each_in, each_out in _calls(context, examiner, target):
            total = totals.setdefault(role, [0, 0, 0])
            for place, amount in enumerate((calls, calls * each_in, calls * each_out)):
                total[place] += amount
    prices = Prices.of(context.settings)
    models = {role: endpoint.model if (endpoint := context.endpoints[role]) else "" for role in totals}
    return {role: prices.spending(models[role], *total) for role, total in totals.items()}


def _calls(context: RunContext, examiner: Examiner, target: Target) -> list[tuple[Role, int, int, int]]:
    """(role, calls, tokens in per call, tokens out per call) of one turn."""
    count, language = examiner.questions, target.conversation.case.language
    calls: list[tuple[Role, int, int, int]] = []
    answer = ("あ" if language == "ja" else "a") * ANSWER[language]
    if examiner.asking is not None:
        messages = examiner.prompts.examiner(target, count)
        calls.append(("user", 1, prompt_tokens(messages), count * QUESTION))
    if examiner.comparing is not None:
        claim = FollowUp(claim=target.turn.user, question=target.turn.user)
        messages = examiner.prompts.comparer(target, claim, answer)
        calls.append(("judge", count, prompt_tokens(messages), VERDICT))
    if context.endpoints["demo"] and context.settings.adapter == "demo":
        passage = ("あ" if language == "ja" else "a") * PASSAGE[language]
        answer_tokens = tokens(answer)
        calls.append(("demo", count, PASSAGES * tokens(passage) + answer_tokens + 200, answer_tokens))
    return calls
