"""What a cross-examination will take at most, before a cent is spent."""

from collections.abc import Collection, Iterator, Sequence
from itertools import zip_longest
from typing import Literal, get_args

from simulator.addons.consistency.figures import checkable
from simulator.addons.consistency.grade import Examiner, FollowUp, Target
from simulator.core.types import Language, Results, Role, Spending
from simulator.models.pricing import Prices
from simulator.runner.context import RunContext
from simulator.runner.estimate import ANSWER, PASSAGE, PASSAGES, tokens

# Tokens of a filled-in form: the questions of an examiner, the verdict of a comparer.
QUESTION, VERDICT = 90, 220


def estimate(context: RunContext, examiner: Examiner, chosen: Sequence[Target]) -> dict[Role, Spending]:
    """Calls, tokens and dollars per role, when every answer gets all its questions."""
    totals: dict[Role, list[int]] = {}
    for target in chosen:
        for role, calls, each_in, each_out in _calls(context, examiner, target):
            total = totals.setdefault(role, [0, 0, 0])
            for place, amount in enumerate((calls, calls * each_in, calls * each_out)):
                total[place] += amount
    return {role: _spending(context, role, *total) for role, total in totals.items()}


def _calls(context: RunContext, examiner: Examiner, target: Target) -> list[tuple[Role, int, int, int]]:
    """(role, calls, tokens in per call, tokens out per call) of one turn."""
    count, language = examiner.questions, target.conversation.case.language
    found: list[tuple[Role, int, int, int]] = []
    answered = tokens(_letters(ANSWER, language))
    if examiner.asking is not None:
        asked = examiner.prompts.examiner(target, count)
        found.append(("user", 1, _size(asked), count * QUESTION))
    if examiner.comparing is not None:
        claim = FollowUp(claim=target.turn.user, question=target.turn.user)
        compared = examiner.prompts.comparer(target, claim, _letters(ANSWER, language))
        found.append(("judge", count, _size(compared), VERDICT))
    if context.endpoints["demo"] and context.settings.adapter == "demo":
        retrieved = PASSAGES * tokens(_letters(PASSAGE, language))
        found.append(("demo", count, retrieved + answered + 200, answered))
    return found


def _letters(length: dict[str, int], language: Language) -> str:
    return ("あ" if language == "ja" else "a") * length[language]


def _size(messages: list[dict[str, str]]) -> int:
    return sum(tokens(message["content"]) for message in messages)


def _spending(context: RunContext, role: Role, calls: int, tokens_in: int, tokens_out: int) -> Spending:
    endpoint = context.endpoints[role]
    model = endpoint.model if endpoint else ""
    return Prices.of(context.settings).spending(model, calls, tokens_in, tokens_out)


Which = Literal["specific", "red", "all"]
WHICH: tuple[Which, ...] = get_args(Which)


def targets(
    results: Results, limit: int, *, which: Which = "specific", red: Collection[tuple[str, int]] = ()
) -> tuple[Target, ...]:
    """At most `limit` answered turns, those that tell most amounts, dates and numbers first.

    Every question's best answer comes before any second one, and an answer that was given word for word
    twice is examined once. `specific` takes only turns that tell something checkable.
    """
    found, seen = [], set[tuple[str, str]]()
    for conversation in results.conversations:
        for turn in conversation.turns:
            said = (conversation.case.id, turn.answer.text)
            wanted = turn.answer.error is None and (which != "red" or (conversation.id, turn.index) in red)
            if not wanted or said in seen or not turn.answer.text.strip():
                continue
            seen.add(said)
            if which != "specific" or told(turn.answer.text):
                found.append(Target(conversation=conversation, turn=turn))
    return tuple(_spread(found))[:limit]


def told(answer: str) -> int:
    """How many different amounts, dates, times and numbers an answer tells."""
    return len({each.canonical for each in checkable(answer)})


def _spread(found: Sequence[Target]) -> Iterator[Target]:
    """The best of every case, then the second best of every case, and so on."""
    ranked = sorted(found, key=lambda target: -told(target.turn.answer.text))
    by_case: dict[str, list[Target]] = {}
    for target in ranked:
        by_case.setdefault(target.conversation.case.id, []).append(target)
    for level in zip_longest(*by_case.values()):
        yield from (target for target in level if target is not None)
