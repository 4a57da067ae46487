"""A cross-examination at work: questions about the bot's claims, the bot asked anew, answers compared."""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from simulator.core.errors import AccessDenied, ModelFailure
from simulator.core.templates import stable_int
from simulator.core.types import Message, Query, Rag
from simulator.examination import stand_in
from simulator.examination.crossing import Crossing, Examined, FollowUp, Target, Verdict
from simulator.examination.forms import Comparison, Prompts, Questions, follow_ups, verdict_of
from simulator.models.client import Model
from simulator.runner.context import RunContext
from simulator.runner.conversation import ask

# What plays both parts where there is no model.
STAND_IN = "stand-in"
Form = TypeVar("Form", Questions, Comparison)


class Examiner:
    """Writes the questions and compares the answers: by models, or by rule where there are none."""

    def __init__(self, stage: RunContext, questions: int) -> None:
        """`questions` is the most that are asked about one answer."""
        self.questions, self.seed = questions, stage.settings.seed
        self.prompts = Prompts()
        # As a customer would: in the customer model's words. The judge's model reads both answers.
        self.asking = stage.model("user", temperature=stage.settings.user_temperature)
        self.comparing = stage.model("judge", temperature=stage.settings.judge_temperature)

    @property
    def name(self) -> str:
        """Who asks and who compares."""
        parts = [model.endpoint.model if model else STAND_IN for model in (self.asking, self.comparing)]
        return parts[0] if parts[0] == parts[1] else " / ".join(parts)

    async def follow_ups(self, target: Target) -> tuple[FollowUp, ...]:
        """The questions about one answer; raises ModelFailure."""
        if self.asking is None:
            return stand_in.follow_ups(target, self.questions)
        messages = self.prompts.examiner(target, self.questions)
        reply = await self._ask(self.asking, messages, Questions, target, "questions")
        return follow_ups(reply, target.turn.answer.text, self.questions)

    async def compare(self, target: Target, asked: FollowUp, later: str) -> Verdict:
        """How the answer to a follow-up question goes with the examined one; raises ModelFailure."""
        if self.comparing is None:
            return stand_in.compare(target, asked, later)
        messages = self.prompts.comparer(target, asked, later)
        reply = await self._ask(self.comparing, messages, Comparison, target, asked.question)
        return verdict_of(reply, target.turn.answer.text, later)

    async def _ask(
        self, model: Model, messages: list[dict[str, str]], form: type[Form], target: Target, about: str
    ) -> Form:
        language = target.talk.case.language
        return await model.ask(
            messages,
            form,
            lambda problem: self.prompts.again(language, problem),
            seed=stable_int(self.seed, *target.key, about),
        )


class Examining:
    """The turns of one sitting; `kept` is told of each as soon as it is whole."""

    def __init__(
        self, examiner: Examiner, rag: Rag, stage: RunContext, kept: Callable[[Examined], None]
    ) -> None:
        self.examiner, self.rag, self.kept = examiner, rag, kept
        self.timeout = stage.settings.timeout
        self._places = asyncio.Semaphore(stage.settings.concurrency)

    async def all(self, chosen: Sequence[Target]) -> list[ModelFailure]:
        """Examines these turns, several at a time; gives the failures of models, which cost only their turn.

        Raises AccessDenied and BudgetSpent.
        """
        failures: list[ModelFailure] = []

        async def one(target: Target) -> None:
            async with self._places:
                try:
                    self.kept(await self.examined(target))
                except AccessDenied:
                    raise
                except ModelFailure as error:
                    failures.append(error)

        try:
            async with asyncio.TaskGroup() as tasks:
                for target in chosen:
                    tasks.create_task(one(target))
        except ExceptionGroup as group:
            raise group.exceptions[0] from None
        return failures

    async def examined(self, target: Target) -> Examined:
        """One turn: every follow-up question in a session of its own, after the same earlier dialogue."""
        crossings = []
        for number, asked in enumerate(await self.examiner.follow_ups(target), 1):
            answer = await ask(self.rag, query(target, asked.question, number), self.timeout)
            if answer.error is None:
                verdict = await self.examiner.compare(target, asked, answer.text)
            else:
                verdict = Verdict(outcome="no_answer", reason=answer.error.message)
            crossings.append(
                Crossing(
                    conversation=target.talk.id,
                    turn=target.turn.index,
                    number=number,
                    language=target.talk.case.language,
                    asked=asked,
                    answer=answer.text,
                    verdict=verdict,
                )
            )
        conversation, turn = target.key
        return Examined(
            conversation=conversation, turn=turn, by=self.examiner.name, crossings=tuple(crossings)
        )


def query(target: Target, question: str, number: int) -> Query:
    """What the bot is asked: the dialogue up to and with the examined answer, then the question."""
    history = list(target.talk.case.history)
    for turn in (*target.earlier, target.turn):
        history.append(Message(role="user", content=turn.user))
        history.append(Message(role="assistant", content=turn.answer.text))
    return Query(
        text=question,
        history=tuple(history),
        session=f"cross-examine/{target.talk.id}/{target.turn.index}/{number}",
        case=target.talk.case.id,
        language=target.talk.case.language,
    )


def crossings(examined: Iterable[Examined]) -> tuple[Crossing, ...]:
    """All questions of all examined turns."""
    return tuple(crossing for each in examined for crossing in each.crossings)
