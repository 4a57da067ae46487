"""Different answers to one question, compared by the judge of whole conversations.

It is called once for each question that got more than one answer:

    calm     "How long does it take?"   "Within 9 to 18 hours."
    angry    the same question          "Within 24 hours."

become a dialogue of two turns. The judge reports that turn 2 contradicts turn 1, and everybody who was told
the one clashes with everybody who was told the other.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from itertools import product
from typing import NamedTuple

from pydantic import TypeAdapter

from simulator.core.concurrency import for_each
from simulator.core.replies import Lapse
from simulator.core.types import CONVERSATION, Answer, Conversation, GradingContext, Results, Score, Turn
from simulator.lab.consistency.figures import NOTE, Clash, JudgedQuestion, first_answers
from simulator.runner.context import RunContext
from simulator.storage.run_file import RunFile

# So many different answers to one question are compared, the first ones: more of them are a long dialogue,
# and what eight do not show, the ninth hardly will.
MOST = 8


class Question(NamedTuple):
    """A question that got different answers: what is judged, and who got the answer of each turn."""

    context: GradingContext
    told: Sequence[Sequence[Conversation]]

    @property
    def conversations(self) -> tuple[str, ...]:
        """Everybody who got one of the compared answers."""
        return tuple(sorted(conversation.id for those in self.told for conversation in those))


def questions(results: Results, judged: Sequence[JudgedQuestion] = ()) -> Iterator[Question]:
    """The questions of a run with at least two different first answers, without those `judged` before."""
    done = {question.conversations for question in judged}
    for case, answers in first_answers(results).items():
        compared = answers[:MOST]
        turns = tuple(
            Turn(index=at, user=those[0].turns[0].user, answer=Answer(text=those[0].turns[0].answer.text))
            for at, those in enumerate(compared, 1)
        )
        if len(turns) < 2:
            continue
        first = compared[0][0]
        context = GradingContext(
            conversation=f"consistency/{case}",
            case=first.case,
            persona=first.persona,
            turn=turns[-1],
            earlier=turns[:-1],
            closing="",
        )
        # Known by who was told what: after new conversations the question is judged anew.
        if (question := Question(context, compared)).conversations not in done:
            yield question


async def compare(
    asked: Sequence[Question],
    context: RunContext,
    keep: Callable[[JudgedQuestion], None],
    progress: Callable[..., None],
) -> list[str]:
    """Has the judge compare the answers to each question; `keep` gets each verdict as soon as it is there.

    Returns why each question failed that could not be judged, and closes every connection. Raises
    AccessDenied and BudgetSpent.
    """
    failures: list[str] = []
    by = context.models()["judge"]

    async def judged(question: Question) -> None:
        scores = await context.panel.grade(question.context)
        score = next(score for score in scores if score.judge == CONVERSATION)
        if score.state == "scored":
            clashes, case = tuple(_clashes(question, score)), question.context.case.id
            keep(JudgedQuestion(by=by, case=case, conversations=question.conversations, clashes=clashes))
        else:
            failures.append(score.reason)
        progress(score)

    try:
        await for_each(asked, judged, context.settings.calls)
    finally:
        await context.close(None)
    return failures


def kept_in(file: RunFile, earlier: Sequence[JudgedQuestion]) -> Callable[[JudgedQuestion], None]:
    """What writes the verdict on a question to the run file, beside the `earlier` ones."""
    rows = [question.model_dump(mode="json") for question in earlier]

    def keep(judged: JudgedQuestion) -> None:
        rows.append(judged.model_dump(mode="json"))
        file.save_note(NOTE, json.dumps(rows, ensure_ascii=False))

    return keep


def _clashes(question: Question, score: Score) -> Iterator[Clash]:
    """Every pair of conversations whose answers the judge says cannot both hold."""
    for row in TypeAdapter(list[Lapse]).validate_python(score.detail["lapses"]):
        # A judge may name a turn that does not exist; such a row is left out.
        former, other = sorted((row.earlier, row.turn))
        if row.kind != "contradictions" or not 1 <= former < other <= len(question.told):
            continue
        for first, second in product(question.told[former - 1], question.told[other - 1]):
            texts = {
                side: c.turns[0].answer.text for side, c in (("one_answer", first), ("other_answer", second))
            }
            yield Clash(one=first.id, other=second.id, reason=row.what, **texts)
