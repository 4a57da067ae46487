"""A model writes each question, another request checks it against the passages alone."""

import asyncio
import random
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import TypeVar

from simulator.core.errors import AccessDenied, ModelFailure
from simulator.core.templates import stable_int
from simulator.core.types import Case, Facts, Message
from simulator.making.acceptance import Acceptance, tags
from simulator.making.articles import Article
from simulator.making.asking import Prompts, check_form, draft_form
from simulator.making.checks import fault_of_check, fault_of_form
from simulator.making.forms import Check, Comparison, Draft, FollowUpDraft
from simulator.making.index import Index
from simulator.making.kinds import OUT_OF_SCOPE, Made, Rejected
from simulator.making.plan import Task
from simulator.making.wording import mistyped
from simulator.models.client import Model
from simulator.runner.labelled import worst_of

Item = TypeVar("Item")
# What an out-of-scope question is checked against: its own article and the nearest of all others.
NEAREST = 4


class Writer:
    """Makes and checks questions; what is made is kept, also when the rest cannot be."""

    def __init__(
        self, writes: Model, checks: Model, index: Index, prompts: Prompts, *, seed: int, calls: int
    ) -> None:
        """`writes` and `checks` may be different models; `calls` are in flight at most."""
        self.writes, self.checks, self.index, self.prompts = writes, checks, index, prompts
        self.seed, self.calls = seed, calls
        self._taken = Acceptance()

    @property
    def made(self) -> Made:
        """What there is so far."""
        return self._taken.made()

    async def make(self, tasks: Sequence[Task], progress: Callable[[], None] = lambda: None) -> Made:
        """Every task, in any order; what comes of them is taken in theirs, so that it is always the same.

        Raises AccessDenied and BudgetSpent, after which `made` has what was finished before.
        """
        found: dict[str, tuple[Case, Rejected | None] | str] = {}

        async def one(task: Task) -> None:
            try:
                found[task.id] = await self._one(task)
            except AccessDenied:
                raise
            except ModelFailure as error:
                found[task.id] = error.failure.kind
            progress()

        try:
            await each_of(tasks, one, self.calls)
        finally:
            self._take(tasks, found)
        return self.made

    def _take(self, tasks: Sequence[Task], found: dict[str, tuple[Case, Rejected | None] | str]) -> None:
        for task in tasks:
            outcome = found.get(task.id)
            if isinstance(outcome, str):
                self._taken.failed(task.id, outcome)
            elif outcome is not None:
                self._taken.consider(*outcome)

    async def _one(self, task: Task) -> tuple[Case, Rejected | None]:
        def again(problem: str) -> str:
            return self.prompts.again(task.language, problem)

        seed = stable_int(self.seed, task.id)
        draft = await self.writes.ask(self.prompts.write(task), draft_form(task.kind), again, seed=seed)
        case = case_of(task, draft)
        fault = fault_of_form(case, task.kind, task.articles, name=task.name)
        if fault is not None:
            return case, fault
        articles = self._before_the_reader(case, task)
        messages = self.prompts.check(case, task.kind, articles)
        check = await self.checks.ask(messages, check_form(task.kind), again, seed=seed)
        fault = fault_of_check(case, check)
        if fault is not None and fault.why == "differs" and isinstance(check, Check) and check.answer.strip():
            # Counting knows few ways to say the same: a reader of both answers has the last word.
            messages = self.prompts.compare(case, check.answer.strip())
            if (await self.checks.ask(messages, Comparison, again, seed=seed)).same:
                fault = None
        return self._typed(case, task), fault

    def _before_the_reader(self, case: Case, task: Task) -> tuple[Article, ...]:
        """The gold passages; for what should be out of scope, all that might answer it after all."""
        if task.kind not in OUT_OF_SCOPE:
            return task.articles
        near = self.index.nearest(case.question, NEAREST)
        return tuple({article.id: article for article in (*task.articles, *near)}.values())

    def _typed(self, case: Case, task: Task) -> Case:
        """Mistyped last: what is checked is what is meant."""
        if task.wording != "typed":
            return case
        draw = random.Random(stable_int(self.seed, task.id, "typed"))  # noqa: S311 - a choice, no secret
        return case.model_copy(update={"question": mistyped(case.question, case.language, draw)})


async def each_of(items: Iterable[Item], work: Callable[[Item], Awaitable[None]], at_once: int) -> None:
    """Works on every item, so many at once; the first unexpected error ends all and is raised."""
    waiting = iter(items)

    async def worker() -> None:
        for item in waiting:
            await work(item)

    try:
        async with asyncio.TaskGroup() as group:
            for _ in range(max(1, at_once)):
                group.create_task(worker())
    except BaseExceptionGroup as group_error:
        raise worst_of(group_error) from None


def case_of(task: Task, draft: Draft | FollowUpDraft) -> Case:
    """The draft as a case of a question file."""
    inside = task.kind not in OUT_OF_SCOPE
    history: tuple[Message, ...] = ()
    if isinstance(draft, FollowUpDraft):
        history = (
            Message(role="user", content=_line(draft.earlier_question)),
            Message(role="assistant", content=draft.earlier_answer.strip()),
        )
    return Case(
        id=task.id,
        question=_line(draft.question) or "-",
        language=task.language,
        history=history,
        references=((draft.reference.strip(),),) if draft.reference.strip() else (),
        passages=tuple(article.id for article in task.articles) if inside else (),
        answerable=inside,
        goal=draft.goal.strip() or None,
        facts=Facts(knows=tuple(filter(None, map(str.strip, draft.knows)))),
        tags=tags(task.kind, task.wording),
    )


def _line(text: str) -> str:
    """A question without the quotation marks that models put around it."""
    plain = text.strip()
    for opening, closing in ("「」", '""', "“”", "''"):
        inside = plain[1:-1]
        if len(plain) > 2 and plain[0] == opening and plain[-1] == closing and closing not in inside:
            plain = inside.strip()
    return plain
