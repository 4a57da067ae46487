"""Makes test questions from articles and from logs: one request writes a question, another checks it.

The reader of the check has the gold passages and the question, not the right answer; a question that it
cannot answer, or answers otherwise, is rejected. Tasks come from `plan`, prompts and replies from `prompts`,
what is rejected and why from `checks`, recorded dialogues from `logs`.

    cases make kb/ --number 40
        plan      40 tasks: which articles, which kind, which wording, by --seed
        write     a draft: fact, question, right answer, goal
        form      rejected without a call: too long, wrong language
        check     a reader answers from the passages alone; out of scope, from the nearest articles as well
        compare   only where counting finds another answer: a reader of both decides
        consider  accepted, unless an earlier question asks the same

What was rejected is made up for by further tasks, in at most `ROUNDS` rounds. Rejected questions are kept
with the reason, failures of the model with their kind; nothing disappears. Accepted ones are proposals: they
carry the tag `made`, and a person reads them before they decide anything.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from simulator.core import shelves
from simulator.core.errors import HOPELESS, InputError, ModelFailure
from simulator.core.messages import Message, _, sentences
from simulator.core.roles import Endpoint, endpoints
from simulator.core.settings import Settings
from simulator.core.templates import stable_int
from simulator.core.types import Case, ChatMessage, Facts, Language, Role, Spending
from simulator.models.by_role import Models
from simulator.models.client import Messages, Model
from simulator.models.limiter import GRADING
from simulator.models.pricing import Ledger, total_spending
from simulator.runner.estimate import ANSWER, prompt_tokens, tokens
from simulator.testset.checks import RejectedQuestion, TestSet, bare, fault_of_check, fault_of_form
from simulator.testset.logs import Logs, SavedPersonas, save_personas
from simulator.testset.plan import (
    MADE,
    OUT_OF_SCOPE,
    Article,
    Index,
    QuestionPlan,
    Task,
    chosen,
    quotas,
    read_articles,
)
from simulator.testset.prompts import (
    AnswerComparison,
    Check,
    FollowUpDraft,
    QuestionDraft,
    QuestionPrompts,
    check_form,
    draft_form,
)

# An out-of-scope question is checked against its own article and so many of the nearest others.
NEAREST = 4
# Rejected questions are made up for by further tasks, in so many rounds at most.
ROUNDS = 3
# Temperatures: writing wants variety, checking does not.
WRITING, CHECKING = 0.8, 0.0
_NO_MODEL = _(
    "cases make needs a model that writes the questions and checks them: set OPENAI_API_KEY or"
    " REHEARSAL_JUDGE_URL."
)


class TestSetRequest(NamedTuple):
    """What the user asks for; `knowledge` or `logs` is given, or both.

    `number` counts questions from articles alone: of logs each dialogue gives one. Without `kinds` all of
    them are made; `only` are articles that get one simple question each. `patterns` are what to mask in logs
    beside what is found anyway.
    """

    knowledge: str | None = None
    number: int = 40
    kinds: Sequence[str] = ()
    language: Language | None = None
    logs: str | None = None
    patterns: Sequence[str] = ()
    only: frozenset[str] | None = None


class TestSetRun:
    """Makes one set of test questions; `made` has those so far, also after a failure."""

    def __init__(self, request: TestSetRequest, settings: Settings) -> None:
        """Reads the articles and the logs, and connects to nothing yet.

        Raises InputError for an invalid request, and where no model is configured.
        """
        self.request, self.settings = request, settings
        # One passage and one check: no question costs less.
        kinds = request.kinds or (["simple"] if request.only is not None else [])
        self.kinds = chosen(kinds)
        endpoints_by_role = endpoints(settings)
        # Two roles, so that another model may check than the one that writes: nobody should mark their own
        # work.
        writes, checks = endpoints_by_role["user"], endpoints_by_role["judge"]
        if writes is None or checks is None:
            raise InputError(sentences(_NO_MODEL, _("Leave out --offline.") if settings.offline else None))
        self.endpoints: dict[Role, Endpoint] = {"user": writes, "judge": checks}
        self.articles: tuple[Article, ...] = ()
        if request.knowledge is not None:
            self.articles = read_articles(request.knowledge, request.language)
        self.logs = None
        if request.logs:
            self.logs = Logs(request.logs, request.language, request.patterns, settings.columns)
        self.index = Index(self.articles)
        self.prompts = QuestionPrompts()
        self.ledger = Ledger.of(settings)
        self.made = TestSet()
        self._models = Models(endpoints_by_role, settings, self.ledger)

    @property
    def models(self) -> dict[str, str]:
        """The names of the models that write (`user`) and check (`judge`)."""
        return {role: endpoint.model for role, endpoint in self.endpoints.items()}

    def forecast(self) -> Spending:
        """Calls, tokens and dollars, from the real prompts, if every question is accepted at once.

        A draft is counted as two answers, a check as one. Rejections cost more than this says: each of them
        is a further task, up to `ROUNDS` times.
        """
        spendings: list[Spending] = []

        def count(role: Role, messages: Messages, answers: int, language: Language) -> None:
            # As long as an answer of the language usually is.
            answer = tokens(("あ" if language == "ja" else "a") * ANSWER[language])
            model, prices = self.models[role], self.ledger.prices
            spendings.append(prices.spending(model, 1, prompt_tokens(messages), answers * answer))

        for task in self._plan().take(quotas(self.kinds, self.request.number)) if self.articles else ():
            messages = self.prompts.write(task)
            count("user", messages, 2, task.language)
            count("judge", messages, 1, task.language)  # the check reads the same passages
        for dialogue in self.logs.dialogues if self.logs else ():
            messages = self.prompts.distil(dialogue.lines, dialogue.language)
            count("judge", messages, 1, dialogue.language)
        return total_spending(spendings)

    async def make(self, progress: Callable[[int, int], None] = lambda *_: None) -> None:
        """Adds all questions from the articles to `made`, in rounds until there are enough.

        Raises AccessDenied, Outage and BudgetSpent.
        """
        plan = self._plan()
        counts = quotas(self.kinds, self.request.number)
        for _round in range(ROUNDS if self.articles else 0):
            tasks = {task.id: task for task in plan.take(counts)}
            await self.made.collect(tasks, self._question, self.settings.calls, progress)
            # What was rejected is made up for; failures are not tried again, they stay failures.
            good = {case.id for case in self.made.cases} | {id_ for id_, _kind in self.made.failures}
            # By kind: a set of forty must not end up as thirty simple questions because those are rarely
            # rejected.
            counts = Counter(task.kind for task in tasks.values() if task.id not in good)

    async def distil(self, progress: Callable[[int, int], None] = lambda *_: None) -> None:
        """Adds all questions from the logs to `made`. Raises AccessDenied, Outage and BudgetSpent."""
        if self.logs is not None:
            seed, calls = self.settings.seed, self.settings.calls
            await self.logs.distil(
                self._checks, self.prompts, self.made, seed=seed, calls=calls, progress=progress
            )

    async def personas(self, folder: Path) -> tuple[SavedPersonas, Message | str]:
        """The files of those who speak in the logs and of their mix, or why there are none.

        Raises AccessDenied.
        """
        if self.logs is None:
            return SavedPersonas([]), ""
        shelf = shelves.customers()
        try:
            kinds = await self.logs.kinds(self._checks, self.prompts, sorted(shelf), self.settings.seed)
        except HOPELESS:
            raise
        except ModelFailure as error:
            return SavedPersonas([]), error.failure.kind
        if not kinds:
            return SavedPersonas([]), _("nothing is known of how they speak")
        return save_personas(kinds, folder, shelf), ""

    async def close(self) -> None:
        """Closes the models' connections."""
        await self._models.close()

    def _plan(self) -> QuestionPlan:
        return QuestionPlan(self.index, self.settings.seed, self.request.only)

    @cached_property
    def _writes(self) -> Model:
        return self._models.at(self.endpoints["user"], temperature=WRITING, priority=GRADING)

    @cached_property
    def _checks(self) -> Model:
        return self._models.at(self.endpoints["judge"], temperature=CHECKING, priority=GRADING)

    async def _question(self, task: Task) -> tuple[Case, RejectedQuestion | None]:
        """One question, and why it is rejected; raises ModelFailure.

        The order saves calls: what its form shows is rejected before anybody reads it, and two answers are
        compared by a model only where counting says that they differ.
        """
        # The seed is the task's, so that a resumed or repeated making asks, and caches, the same.
        again, seed = self.prompts.again(task.language), stable_int(self.settings.seed, task.id)
        draft = await self._writes.ask(self.prompts.write(task), draft_form(task.kind), again, seed=seed)
        case = case_of(task, draft)
        fault = fault_of_form(case)
        if fault is not None:
            return case, fault
        articles = task.articles
        if task.kind in OUT_OF_SCOPE:
            # Everything that might answer it after all.
            near = self.index.nearest(case.question, NEAREST)
            articles = tuple({article.id: article for article in (*articles, *near)}.values())
        messages = self.prompts.check(case, task.kind, articles)
        check = await self._checks.ask(messages, check_form(task.kind), again, seed=seed)
        fault = fault_of_check(case, check)
        if fault is not None and fault.why == "differs" and isinstance(check, Check) and check.answer.strip():
            # Counting recognises few ways to say the same: a reader of both answers decides.
            messages = self.prompts.compare(case, check.answer.strip())
            if (await self._checks.ask(messages, AnswerComparison, again, seed=seed)).same:
                fault = None
        return case, fault


def case_of(task: Task, draft: QuestionDraft | FollowUpDraft) -> Case:
    """The draft as a case."""
    # Out of scope there is no gold: its article is what the question only seems to be about.
    inside = task.kind not in OUT_OF_SCOPE
    history: tuple[ChatMessage, ...] = ()
    if isinstance(draft, FollowUpDraft):
        history = (
            ChatMessage(role="user", content=bare(draft.earlier_question)),
            ChatMessage(role="assistant", content=draft.earlier_answer.strip()),
        )
    return Case(
        id=task.id,
        question=bare(draft.question) or "-",
        language=task.language,
        history=history,
        references=((draft.reference.strip(),),) if draft.reference.strip() else (),
        passages=tuple(article.id for article in task.articles) if inside else (),
        answerable=inside,
        goal=bare(draft.goal) or None,
        facts=Facts(knows=tuple(filter(None, map(str.strip, draft.knows)))),
        tags=(MADE, task.kind, task.wording),
    )
