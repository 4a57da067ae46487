"""Makes test questions from articles and from logs: a model writes and one checks, or rules make them."""

from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from simulator.addons.testset.checks import (
    Acceptance,
    RejectedQuestion,
    TestSet,
    fault_of_check,
    fault_of_form,
)
from simulator.addons.testset.logs import Logs, for_each, save_personas
from simulator.addons.testset.plan import (
    OUT_OF_SCOPE,
    Article,
    Index,
    Kind,
    Plan,
    Task,
    Wording,
    chosen_kinds,
    chosen_wordings,
    read_articles,
    tags,
)
from simulator.addons.testset.prompts import (
    Check,
    Comparison,
    Draft,
    FollowUpDraft,
    Prompts,
    check_form,
    draft_form,
)
from simulator.addons.testset.rules import RuleBasedTestSet
from simulator.core import shelves
from simulator.core.errors import AccessDenied, ModelFailure
from simulator.core.messages import Message as Sentence
from simulator.core.messages import _
from simulator.core.roles import LEXICAL, endpoints
from simulator.core.settings import Settings
from simulator.core.templates import stable_int
from simulator.core.types import Case, Facts, Language, Message, Role, Spending
from simulator.models.client import Connections, Model
from simulator.models.limiter import GRADING
from simulator.models.pricing import Ledger, total_spending
from simulator.models.providers import Models
from simulator.runner.estimate import ANSWER
from simulator.runner.estimate import tokens as prompt_tokens

# An out-of-scope question is checked against its own article and so many of the nearest others.
NEAREST = 4
# Rejected questions are made up for by further tasks, in so many rounds at most.
ROUNDS = 3
# Temperatures: writing wants variety, checking does not.
WRITING, CHECKING = 0.8, 0.0


class Writer:
    """Writes and checks questions; those that were finished are kept, also after a failure."""

    def __init__(
        self, writes: Model, checks: Model, index: Index, prompts: Prompts, *, seed: int, calls: int
    ) -> None:
        """`writes` and `checks` may be different models; at most `calls` are in flight."""
        self.writes, self.checks, self.index, self.prompts = writes, checks, index, prompts
        self.seed, self.calls = seed, calls
        self._acceptance = Acceptance()

    @property
    def made(self) -> TestSet:
        """The questions so far."""
        return self._acceptance.test_set()

    async def make(self, tasks: Sequence[Task], progress: Callable[[], None] = lambda: None) -> TestSet:
        """Works on every task, many at once; questions are accepted in the tasks' order, so always the same.

        Raises AccessDenied and BudgetSpent, after which `made` has what was finished before.
        """
        results: dict[str, tuple[Case, RejectedQuestion | None] | str] = {}

        async def one(task: Task) -> None:
            try:
                results[task.id] = await self._question(task)
            except AccessDenied:
                raise
            except ModelFailure as error:
                results[task.id] = error.failure.kind
            progress()

        try:
            await for_each(tasks, one, self.calls)
        finally:
            for task in tasks:
                result = results.get(task.id)
                if isinstance(result, str):
                    self._acceptance.failed(task.id, result)
                elif result is not None:
                    self._acceptance.consider(*result)
        return self.made

    async def _question(self, task: Task) -> tuple[Case, RejectedQuestion | None]:
        """One question, and why it is rejected; raises ModelFailure."""

        def again(problem: str) -> str:
            return self.prompts.again(task.language, problem)

        seed = stable_int(self.seed, task.id)
        draft = await self.writes.ask(self.prompts.write(task), draft_form(task.kind), again, seed=seed)
        case = case_of(task, draft)
        fault = fault_of_form(case, task.kind, task.articles, name=task.name)
        if fault is not None:
            return case, fault
        articles = task.articles
        if task.kind in OUT_OF_SCOPE:
            # Everything that might answer it after all.
            near = self.index.nearest(case.question, NEAREST)
            articles = tuple({article.id: article for article in (*articles, *near)}.values())
        messages = self.prompts.check(case, task.kind, articles)
        check = await self.checks.ask(messages, check_form(task.kind), again, seed=seed)
        fault = fault_of_check(case, check)
        if fault is not None and fault.why == "differs" and isinstance(check, Check) and check.answer.strip():
            # Counting recognises few ways to say the same: a reader of both answers decides.
            messages = self.prompts.compare(case, check.answer.strip())
            if (await self.checks.ask(messages, Comparison, again, seed=seed)).same:
                fault = None
        return case, fault


def case_of(task: Task, draft: Draft | FollowUpDraft) -> Case:
    """The draft as a case."""
    inside = task.kind not in OUT_OF_SCOPE
    history: tuple[Message, ...] = ()
    if isinstance(draft, FollowUpDraft):
        history = (
            Message(role="user", content=_unquoted(draft.earlier_question)),
            Message(role="assistant", content=draft.earlier_answer.strip()),
        )
    return Case(
        id=task.id,
        question=_unquoted(draft.question) or "-",
        language=task.language,
        history=history,
        references=((draft.reference.strip(),),) if draft.reference.strip() else (),
        passages=tuple(article.id for article in task.articles) if inside else (),
        answerable=inside,
        goal=draft.goal.strip() or None,
        facts=Facts(knows=tuple(filter(None, map(str.strip, draft.knows)))),
        tags=tags(task.kind, task.wording),
    )


def _unquoted(text: str) -> str:
    """The text without the quotation marks that models put around it."""
    plain = text.strip()
    for opening, closing in ("「」", '""', "“”", "''"):
        inside = plain[1:-1]
        if len(plain) > 2 and plain[0] == opening and plain[-1] == closing and closing not in inside:
            plain = inside.strip()
    return plain


class TestSetRequest(NamedTuple):
    """What the user asks for; `knowledge` or `logs` is given, or both."""

    knowledge: str | None = None
    number: int = 40
    kinds: Sequence[str] = ()
    wordings: Sequence[str] = ()
    language: Language | None = None
    logs: str | None = None
    patterns: Sequence[str] = ()


class TestSetRun:
    """Makes one set of test questions; an invalid request is refused before anything is paid."""

    def __init__(self, request: TestSetRequest, settings: Settings) -> None:
        """Reads the articles and the logs; connects to nothing yet."""
        self.request, self.settings = request, settings
        self.prompts = Prompts()
        self.ledger = Ledger.of(settings)
        known = endpoints(settings)
        roles: tuple[Role, ...] = ("user", "judge")
        self.endpoints = {role: known[role] for role in roles}
        self.by_rule = self.endpoints["user"] is None or self.endpoints["judge"] is None
        self.kinds: tuple[Kind, ...] = chosen_kinds(request.kinds, by_rule=self.by_rule)
        self.wordings: tuple[Wording, ...] = chosen_wordings(request.wordings)
        self.articles: tuple[Article, ...] = ()
        if request.knowledge is not None:
            self.articles = read_articles(request.knowledge, request.language)
        self.index = Index(self.articles)
        self.logs = Logs(request.logs, request.language, request.patterns) if request.logs else None
        self.without_questions = 0
        self._ruled = TestSet(())
        connections = Connections.of(settings)
        self._models = Models(known, connections, self.ledger)

    @property
    def models(self) -> dict[str, str]:
        """The models that write (`user`) and check (`judge`), or `lexical`."""
        return {role: at.model if at else LEXICAL for role, at in self.endpoints.items()}

    def forecast(self) -> Spending:
        """Calls, tokens and dollars, from the real prompts, if every question is accepted at once."""
        if self.by_rule:
            return Spending()
        totals: Counter[tuple[str, str]] = Counter()
        for task in self._plan().take(self.kinds, self.request.number) if self.articles else ():
            self._count(totals, task)
        for language, size in self.logs.sizes(self.prompts) if self.logs else ():
            totals["judge", "calls"] += 1
            totals["judge", "in"] += size
            totals["judge", "out"] += _answer_tokens(language)
        return total_spending(
            [
                self.ledger.prices.spending(
                    model, totals[role, "calls"], totals[role, "in"], totals[role, "out"]
                )
                for role, model in self.models.items()
                if totals[role, "calls"]
            ]
        )

    async def make(self, progress: Callable[[int, int], None] = lambda *_: None) -> TestSet:
        """All questions from the articles, in rounds until there are enough.

        Raises AccessDenied and BudgetSpent; `made` then has those finished before.
        """
        if not self.articles:
            return TestSet(())
        if self.by_rule:
            ruled = RuleBasedTestSet(self.articles, self.index, self.wordings, self.settings.seed)
            self.without_questions = ruled.without_questions
            self._ruled = ruled.make(self.kinds, self.request.number)
            return self._ruled
        plan = self._plan()
        tasks = plan.take(self.kinds, self.request.number)
        for number in range(ROUNDS):
            total = len(self.writer.made.cases) + len(tasks)
            done = Counter[str]()

            def step(total: int = total, done: Counter[str] = done) -> None:
                done["done"] += 1
                progress(done["done"], total)

            made = await self.writer.make(tasks, step)
            short = self._short(made, tasks) if number < ROUNDS - 1 else {}
            if not short:
                break
            tasks = plan.take_each(short)
        return self.writer.made

    @property
    def made(self) -> TestSet:
        """The questions so far, also after an interruption."""
        return self._ruled if self.by_rule or not self.articles else self.writer.made

    async def distil(self, progress: Callable[[int, int], None] = lambda *_: None) -> TestSet:
        """All questions from the logs. Raises AccessDenied and BudgetSpent."""
        if self.logs is None:
            return TestSet(())
        model = self._model("judge", CHECKING)
        if model is None:
            return self.logs.by_rule()
        done = Counter[str]()
        total = len(self.logs.dialogues)

        def step() -> None:
            done["done"] += 1
            progress(done["done"], total)

        seed, calls = self.settings.seed, self.settings.calls
        return await self.logs.distil(model, self.prompts, seed=seed, calls=calls, progress=step)

    async def personas(self, folder: Path) -> tuple[list[Path], Sentence | str]:
        """The paths of persona files of those who speak in the logs, or why there are none.

        Raises AccessDenied.
        """
        model = self._model("judge", CHECKING)
        if model is None or self.logs is None:
            return [], _("no model")
        shelf = {name: shelves.persona(name) for name in shelves.persona_names()}
        try:
            speakers = await self.logs.speakers(model, self.prompts, sorted(shelf), self.settings.seed)
        except AccessDenied:
            raise
        except ModelFailure as error:
            return [], error.failure.kind
        why = "" if speakers else _("nothing is known of how they speak")
        return save_personas(speakers, folder, shelf), why

    def _model(self, role: Role, temperature: float) -> Model | None:
        return None if self.by_rule else self._models.role(role, temperature=temperature, priority=GRADING)

    @property
    def writer(self) -> Writer:
        """Writes and checks questions by models; only where there are models."""
        if not hasattr(self, "_writer"):
            writes, checks = self._model("user", WRITING), self._model("judge", CHECKING)
            if writes is None or checks is None:
                msg = _("there is no model; rules make the questions")
                raise RuntimeError(msg)
            calls, seed = self.settings.calls, self.settings.seed
            self._writer = Writer(writes, checks, self.index, self.prompts, seed=seed, calls=calls)
        return self._writer

    async def close(self) -> None:
        """Closes the models' connections."""
        await self._models.connections.close()

    def _plan(self) -> Plan:
        return Plan(self.articles, self.index, self.wordings, self.settings.seed)

    def _short(self, made: TestSet, tasks: Sequence[Task]) -> dict[Kind, int]:
        """What was rejected of these tasks, by kind: failures are not tried again, they stay failures."""
        good = {case.id for case in made.cases} | {id_ for id_, _ in made.failures}
        return dict(Counter(task.kind for task in tasks if task.id not in good))

    def _count(self, totals: Counter[tuple[str, str]], task: Task) -> None:
        answer_tokens = _answer_tokens(task.language)
        prompt = sum(prompt_tokens(message["content"]) for message in self.prompts.write(task))
        totals["user", "calls"] += 1
        totals["user", "in"] += prompt
        totals["user", "out"] += 2 * answer_tokens
        totals["judge", "calls"] += 1
        totals["judge", "in"] += prompt
        totals["judge", "out"] += answer_tokens


def _answer_tokens(language: Language) -> int:
    return prompt_tokens(("あ" if language == "ja" else "a") * ANSWER[language])
