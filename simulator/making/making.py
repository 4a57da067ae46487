"""Test questions from a knowledge base: read, planned, made by a model or by rule, checked."""

from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from simulator.core import shelves
from simulator.core.errors import AccessDenied, ModelFailure
from simulator.core.roles import LEXICAL, endpoints
from simulator.core.settings import Settings
from simulator.core.types import Language, Role, Spending
from simulator.making.articles import Article, read_articles
from simulator.making.asking import Prompts
from simulator.making.byrule import RuleMade
from simulator.making.index import Index
from simulator.making.kinds import Kind, Made, Wording, chosen_kinds, chosen_wordings
from simulator.making.logs import Logs
from simulator.making.personas import save_personas
from simulator.making.plan import Plan, Task
from simulator.making.writing import Writer
from simulator.models.client import Connections, Model
from simulator.models.limiter import GRADING
from simulator.models.pricing import Ledger, Prices, together
from simulator.models.providers import Models
from simulator.runner.estimate import ANSWER, tokens

# How often what was rejected or failed is made up for with further tasks.
ROUNDS = 3
# A model that writes speaks freely, one that checks does not.
WRITING, CHECKING = 0.8, 0.0


class MakingWish(NamedTuple):
    """What the user asks for; one of `knowledge` and `logs` there is."""

    knowledge: str | None = None
    number: int = 40
    kinds: Sequence[str] = ()
    wordings: Sequence[str] = ()
    language: Language | None = None
    logs: str | None = None
    patterns: Sequence[str] = ()


class Making:
    """One order for test questions; whatever is wrong with it shows before anything is paid."""

    def __init__(self, wish: MakingWish, settings: Settings) -> None:
        """Reads the articles and the logs; connects to nothing yet."""
        self.wish, self.settings = wish, settings
        self.prompts = Prompts()
        self.ledger = Ledger.of(settings)
        known = endpoints(settings)
        roles: tuple[Role, ...] = ("user", "judge")
        self.endpoints = {role: known[role] for role in roles}
        self.by_rule = self.endpoints["user"] is None or self.endpoints["judge"] is None
        self.kinds: tuple[Kind, ...] = chosen_kinds(wish.kinds, by_rule=self.by_rule)
        self.wordings: tuple[Wording, ...] = chosen_wordings(wish.wordings)
        self.articles: tuple[Article, ...] = ()
        if wish.knowledge is not None:
            self.articles = read_articles(wish.knowledge, wish.language)
        self.index = Index(self.articles)
        self.logs = Logs(wish.logs, wish.language, wish.patterns) if wish.logs else None
        self.barren = 0
        self._ruled = Made(())
        connections = Connections.of(settings)
        self._models = Models(known, connections, self.ledger)

    @property
    def models(self) -> dict[str, str]:
        """Who writes and who checks."""
        return {role: at.model if at else LEXICAL for role, at in self.endpoints.items()}

    def forecast(self) -> Spending:
        """Calls, tokens and dollars, from the real prompts, if every question is made at the first go."""
        if self.by_rule:
            return Spending()
        totals: Counter[tuple[str, str]] = Counter()
        for task in self._plan().take(self.kinds, self.wish.number) if self.articles else ():
            self._count(totals, task)
        for language, size in self.logs.sizes(self.prompts) if self.logs else ():
            totals["judge", "calls"] += 1
            totals["judge", "in"] += size
            totals["judge", "out"] += tokens(_letters(language))
        return _together(totals, self.models, self.ledger.prices)

    async def make(self, progress: Callable[[int, int], None] = lambda *_: None) -> Made:
        """All questions from the articles, in rounds until there are enough.

        Raises AccessDenied and BudgetSpent; `made` then has what there is.
        """
        if not self.articles:
            return Made(())
        if self.by_rule:
            ruled = RuleMade(self.articles, self.index, self.wordings, self.settings.seed)
            self.barren = ruled.barren
            self._ruled = ruled.make(self.kinds, self.wish.number)
            return self._ruled
        plan = self._plan()
        tasks = plan.take(self.kinds, self.wish.number)
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
    def made(self) -> Made:
        """What there is so far, also after an interruption."""
        return self._ruled if self.by_rule or not self.articles else self.writer.made

    async def distil(self, progress: Callable[[int, int], None] = lambda *_: None) -> Made:
        """All questions from the logs. Raises AccessDenied and BudgetSpent."""
        if self.logs is None:
            return Made(())
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

    async def personas(self, folder: Path) -> tuple[list[Path], str]:
        """Persona files of those who speak in the logs, or why there are none. Raises AccessDenied."""
        model = self._model("judge", CHECKING)
        if model is None or self.logs is None:
            return [], "no model"
        shelf = {name: shelves.persona(name) for name in shelves.persona_names()}
        try:
            speakers = await self.logs.speakers(model, self.prompts, sorted(shelf), self.settings.seed)
        except AccessDenied:
            raise
        except ModelFailure as error:
            return [], error.failure.kind
        return save_personas(
            speakers, folder, shelf
        ), "" if speakers else "nothing is known of how they speak"

    def _model(self, role: Role, temperature: float) -> Model | None:
        return None if self.by_rule else self._models.role(role, temperature=temperature, priority=GRADING)

    @property
    def writer(self) -> Writer:
        """Who writes and checks by model."""
        if not hasattr(self, "_writer"):
            writes, checks = self._model("user", WRITING), self._model("judge", CHECKING)
            if writes is None or checks is None:
                msg = "there is no model; rules make the questions"
                raise RuntimeError(msg)
            calls, seed = self.settings.calls, self.settings.seed
            self._writer = Writer(writes, checks, self.index, self.prompts, seed=seed, calls=calls)
        return self._writer

    async def close(self) -> None:
        """Closes the models' connections."""
        await self._models.connections.close()

    def _plan(self) -> Plan:
        return Plan(self.articles, self.index, self.wordings, self.settings.seed)

    def _short(self, made: Made, tasks: Sequence[Task]) -> dict[Kind, int]:
        """What was rejected of these tasks, by kind: failures are not tried again, they stay failures."""
        good = {case.id for case in made.cases} | {id_ for id_, _ in made.failures}
        return dict(Counter(task.kind for task in tasks if task.id not in good))

    def _count(self, totals: Counter[tuple[str, str]], task: Task) -> None:
        letters = tokens(_letters(task.language))
        asked = sum(tokens(message["content"]) for message in self.prompts.write(task))
        totals["user", "calls"] += 1
        totals["user", "in"] += asked
        totals["user", "out"] += 2 * letters
        totals["judge", "calls"] += 1
        totals["judge", "in"] += asked
        totals["judge", "out"] += letters


def _letters(language: Language) -> str:
    return ("あ" if language == "ja" else "a") * ANSWER[language]


def _together(totals: Counter[tuple[str, str]], models: dict[str, str], prices: Prices) -> Spending:
    return together(
        [
            prices.spending(model, totals[role, "calls"], totals[role, "in"], totals[role, "out"])
            for role, model in models.items()
            if totals[role, "calls"]
        ]
    )
