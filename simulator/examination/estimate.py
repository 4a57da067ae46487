"""What a cross-examination will take at most, before a cent is spent."""

from collections.abc import Sequence

from simulator.core.types import Language, Role, Spending
from simulator.examination.crossing import FollowUp, Target
from simulator.examination.examining import Examiner
from simulator.models.pricing import Prices
from simulator.runner.context import RunContext
from simulator.runner.estimate import ANSWER, PASSAGE, PASSAGES, tokens

# Tokens of a filled-in form: the questions of an examiner, the verdict of a comparer.
QUESTION, VERDICT = 90, 220


def estimate(stage: RunContext, examiner: Examiner, chosen: Sequence[Target]) -> dict[Role, Spending]:
    """Calls, tokens and dollars per role, when every answer gets all its questions."""
    totals: dict[Role, list[int]] = {}
    for target in chosen:
        for role, calls, each_in, each_out in _calls(stage, examiner, target):
            total = totals.setdefault(role, [0, 0, 0])
            for place, amount in enumerate((calls, calls * each_in, calls * each_out)):
                total[place] += amount
    return {role: _spending(stage, role, *total) for role, total in totals.items()}


def _calls(stage: RunContext, examiner: Examiner, target: Target) -> list[tuple[Role, int, int, int]]:
    """(role, calls, tokens in per call, tokens out per call) of one turn."""
    count, language = examiner.questions, target.talk.case.language
    found: list[tuple[Role, int, int, int]] = []
    answered = tokens(_letters(ANSWER, language))
    if examiner.asking is not None:
        asked = examiner.prompts.examiner(target, count)
        found.append(("user", 1, _size(asked), count * QUESTION))
    if examiner.comparing is not None:
        claim = FollowUp(claim=target.turn.user, question=target.turn.user)
        compared = examiner.prompts.comparer(target, claim, _letters(ANSWER, language))
        found.append(("judge", count, _size(compared), VERDICT))
    if stage.endpoints["demo"] and stage.settings.adapter == "demo":
        retrieved = PASSAGES * tokens(_letters(PASSAGE, language))
        found.append(("demo", count, retrieved + answered + 200, answered))
    return found


def _letters(length: dict[str, int], language: Language) -> str:
    return ("あ" if language == "ja" else "a") * length[language]


def _size(messages: list[dict[str, str]]) -> int:
    return sum(tokens(message["content"]) for message in messages)


def _spending(stage: RunContext, role: Role, calls: int, tokens_in: int, tokens_out: int) -> Spending:
    endpoint = stage.endpoints[role]
    model = endpoint.model if endpoint else ""
    return Prices.of(stage.settings).spending(model, calls, tokens_in, tokens_out)
