"""Our judges at the answers of a task: many answers at a time, each answer once."""

import asyncio
import functools
from collections.abc import Mapping, Sequence
from typing import Any, Self

from simulator.core.errors import RehearsalError
from simulator.core.settings import Settings
from simulator.core.types import Answer, Case, Conversation, Failure, GradingContext, Score, Turn
from simulator.grading.outputs import object_within, text_at
from simulator.grading.panel import Grading
from simulator.harness.documents import SCRIPTED, row_of
from simulator.harness.naming import metric_name
from simulator.harness.rows import OF_A_TASK
from simulator.harness.session import Session, current, say
from simulator.runner.run import first_of

Asked = tuple[Mapping[str, Any], str]


class Extracted(str):
    """A part of an answer, which knows of which output it is and what the whole answer was."""

    output: str
    whole: str

    @classmethod
    def of(cls, whole: str, output: str) -> Self:
        """The output's text; empty where the answer has none."""
        made = cls(text_at(object_within(whole, (output,)) or {}, output) or "")
        made.whole, made.output = whole, output
        return made


class Grader:
    """The judges of one task. What it graded is kept, with reasons and all, until the process ends."""

    def __init__(self, task: str, settings: Settings) -> None:
        """`settings` are the task's own; models, money and limits are those of the session."""
        self.task, self.settings = task, settings
        self.scores: dict[tuple[str, str], list[Score]] = {}
        self._grading: tuple[Session, Grading] | None = None

    def grade(self, asked: Sequence[Asked]) -> None:
        """Grades what has not been graded yet, as many answers at a time as there may be calls."""
        waiting = {self._key(doc, text): (doc, text) for doc, text in asked}
        still = [each for key, each in waiting.items() if key not in self.scores]
        if still:
            current().run(self._grade(still))
            self._say_failures(still)

    def metrics(self, doc: Mapping[str, Any], text: str) -> dict[str, float]:
        """The grades of an answer (of its filter's output), or of part of it, by judge."""
        if self._key(doc, text) not in self.scores:
            self.grade([(doc, text)])
        values: dict[str, list[float]] = {}
        for score in self.scores[self._key(doc, text)]:
            if score.state == "scored" and score.value is not None and (name := self._name(score, text)):
                values.setdefault(name, []).append(score.value)
        return {name: sum(each) / len(each) for name, each in values.items()}

    def graded(self, doc: Mapping[str, Any], text: str) -> list[Score]:
        """The grades themselves; none where nobody has graded this answer."""
        return self.scores.get(self._key(doc, text), [])

    def names(self, filters: Sequence[str]) -> list[str]:
        """What the grades come to be called with these filters: outputs have one each."""
        outputs = self.grading.outputs
        named = outputs.file.named if outputs else {}
        whole = [name for name in filters if name not in named]
        found = [metric_name(each, name) for name in whole for each in self.grading.names]
        return found + [f"{name}.{metric.filed}" for name in filters for metric in named.get(name, ())]

    def _key(self, doc: Mapping[str, Any], text: str) -> tuple[str, str]:
        return str(doc["id"]), text.whole if isinstance(text, Extracted) else str(text)

    @property
    def grading(self) -> Grading:
        """The judges, at the models of the session of this process."""
        session = current()
        if self._grading is None or self._grading[0] is not session:
            own = {name: getattr(self.settings, name) for name in OF_A_TASK}
            settings = session.settings.model_copy(update=own)
            self._grading = (session, Grading(settings, session.stage.models_of))
        return self._grading[1]

    async def _grade(self, asked: Sequence[Asked]) -> None:
        waiting = iter(asked)

        async def one_after_the_other() -> None:
            for doc, text in waiting:
                self.scores[self._key(doc, text)] = await self._graded(doc, text)

        try:
            async with asyncio.TaskGroup() as tasks:
                for _ in range(self.grading.settings.calls):
                    tasks.create_task(one_after_the_other())
        except ExceptionGroup as group:
            raise first_of(group) from None

    async def _graded(self, doc: Mapping[str, Any], text: str) -> list[Score]:
        whole = text.whole if isinstance(text, Extracted) else str(text)
        scores: list[Score] = []
        for exhibit in exhibits(doc, whole):
            scores += await self.grading.panel.grade(exhibit)
        return scores

    def _name(self, score: Score, text: str) -> str:
        """What a grade is called in the filter of this text; "" where it belongs to another one."""
        output = str(score.detail.get("output", ""))
        if isinstance(text, Extracted):
            return score.judge.removeprefix(f"{output}.") if output == text.output else ""
        return "" if output in self._filtered else score.judge

    @functools.cached_property
    def _filtered(self) -> frozenset[str]:
        """The outputs that have a filter of their own."""
        outputs = self.grading.outputs
        return frozenset(outputs.file.named) if outputs else frozenset()

    def _say_failures(self, asked: Sequence[Asked]) -> None:
        found = [score for doc, text in asked for score in self.graded(doc, text)]
        failed = sum(score.state == "failed" for score in found)
        if failed and failed == sum(score.state != "skipped" for score in found):
            why = next(score.reason for score in found if score.state == "failed")
            msg = f"{self.task}: no judge could grade anything: {why}"
            raise RehearsalError(msg)
        if failed:
            say(f"{self.task}: {failed:,} of {len(found):,} grades failed; they are in no mean.")


def exhibits(doc: Mapping[str, Any], text: str) -> list[GradingContext]:
    """An answer before its judges: with its passages and earlier turns where the bot was asked here."""
    row = row_of(doc)
    talk = current().of_rows.get(row) if row else None
    if talk is None:
        talk = _told(doc, text)
    last = talk.turns[-1]
    cut = last.model_copy(update={"answer": last.answer.model_copy(update={"text": text})})
    turns = (*talk.turns[:-1], cut)
    return [
        GradingContext(
            conversation=talk.id, case=talk.case, persona=talk.persona, turn=turn, earlier=turns[:at]
        )
        for at, turn in enumerate(turns)
    ]


def _told(doc: Mapping[str, Any], text: str) -> Conversation:
    """What any other model of lm_eval said."""
    case = Case.model_validate_json(doc["case"])
    silent = None if text.strip() else Failure(kind="empty", message="empty answer")
    answer = Answer(text=text, shows_passages=False, error=silent)
    turns = (Turn(index=1, user=case.question, answer=answer),)
    return Conversation(id=f"{SCRIPTED}/{case.id}#1", case=case, persona=SCRIPTED, repeat=1, turns=turns)


_GRADERS: dict[str, Grader] = {}


def new_grader(task: str, settings: Settings) -> Grader:
    """The judges of a task from now on."""
    _GRADERS[task] = Grader(task, settings)
    return _GRADERS[task]


def grader_of(doc: Mapping[str, Any]) -> Grader:
    """The judges of the task that a document belongs to."""
    return _GRADERS[str(doc["task"])]


def names_of_task(task: str, filters: Sequence[str]) -> list[str] | None:
    """What the grades of a task of ours are called; None for a task of others."""
    grader = _GRADERS.get(task)
    return grader.names(filters) if grader else None


def graded_of(doc: Mapping[str, Any], text: str) -> list[Score]:
    """The grades of an answer to a row of ours; none where it was not our judges who graded."""
    grader = _GRADERS.get(str(doc["task"]))
    return grader.graded(doc, text) if grader else []
