"""Parts of a run for tests: a question, a turn to grade, models at the fake endpoint, a run file."""

import json
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any, get_args

import pytest
from pydantic import SecretStr

from simulator import plugins
from simulator.core import shelves
from simulator.core.roles import Endpoint
from simulator.core.settings import Settings
from simulator.core.types import (
    Answer,
    Case,
    ChatMessage,
    Conversation,
    Facts,
    GradingContext,
    Language,
    Passage,
    Query,
    Results,
    Role,
    Run,
    Score,
    Turn,
)
from simulator.grading.model_judge import ModelJudge
from simulator.grading.rubric import PromptFrame, Rubric
from simulator.models.cache import ResponseCache
from simulator.models.client import Model
from simulator.models.connections import Connections
from simulator.models.pricing import Ledger
from simulator.runner.context import RunContext
from simulator.storage.run_file import RunFile
from simulator.users.base import UserPrompts
from simulator.users.persona import PersonaUser
from tests.scripted_models import AT_ONCE
from tests.servers.openai import OpenAIServer, serve

RUBRICS = ("turn", "relevance", "groundedness", "similarity", "fluency")
SAYS: dict[Language, dict[str, str]] = {
    "ja": {
        "id": "fees-1",
        "question": "マンションで光を使うと月いくらですか",
        "reference": "マンション1ギガは、税込みで月額4,180円です。",
        "goal": "毎月の料金を知りたい。",
        "knows": "マンションの3階に住んでいること",
        "unknown": "建物の配線方式",
        "hello": "もしもし。",
        "earlier": "はい、ご用件をどうぞ。",
        "answer": "マンション1ギガの月額は4,180円でございます。",
        "passage": "マンション1ギガは、税込み月額4,180円です。",
        "next": "それって、ずっと同じ値段ですか。",
    },
    "en": {
        "id": "fees-1",
        "question": "How much is fibre a month in a flat?",
        "reference": "Apartment 1 Giga costs 4,180 yen a month including tax.",
        "goal": "I want to know what I pay every month.",
        "knows": "The flat is on the third floor",
        "unknown": "How the building is wired",
        "hello": "Hello?",
        "earlier": "Yes, how can we help?",
        "answer": "Apartment 1 Giga is 4,180 yen a month.",
        "passage": "Apartment 1 Giga costs 4,180 yen a month, including tax.",
        "next": "Does it stay at that price?",
    },
}


def a_case(language: Language = "ja", **changes: Any) -> Case:
    """A question with a reference for its first turn."""
    says = SAYS[language]
    known = {"id": says["id"], "question": says["question"], "references": ((says["reference"],),)}
    return Case(**(known | {"language": language} | changes))


def a_rich_case(language: Language = "ja") -> Case:
    """A case that fills every place of the prompts."""
    says = SAYS[language]
    history = (
        ChatMessage(role="user", content=says["hello"]),
        ChatMessage(role="assistant", content=says["earlier"]),
    )
    facts = Facts(knows=(says["knows"],), unknown=(says["unknown"],))
    return a_case(language, goal=says["goal"], facts=facts, history=history)


def a_turn(index: int = 1, language: Language = "ja", **answer: Any) -> Turn:
    """The question (or the next line) and an answer from one passage."""
    says = SAYS[language]
    passage = Passage(id="fibre", text=says["passage"], source="fibre.md", score=0.9)
    told = Answer(**({"text": says["answer"], "passages": (passage,)} | answer))
    return Turn(index=index, user=says["question" if index == 1 else "next"], answer=told)


def a_talk(case: Case | None = None, *turns: Turn, persona: str = "angry") -> Conversation:
    """A conversation that holds these turns."""
    case = case or a_case()
    return Conversation(id=f"{persona}/{case.id}#1", case=case, persona=persona, repeat=1, turns=turns)


def an_exhibit(case: Case | None = None, *earlier: Turn, turn: Turn | None = None) -> GradingContext:
    """A turn put before a judge."""
    case = case or a_case()
    shown = turn or a_turn(len(earlier) + 1, case.language)
    return GradingContext(
        conversation=f"angry/{case.id}#1", case=case, persona="angry", turn=shown, earlier=earlier
    )


def answered(
    text: str,
    user: str = "送料はいくらですか",
    *,
    earlier: Sequence[Turn] = (),
    persona: str = "calm",
    **known: Any,
) -> GradingContext:
    """An answer put before a judge; `known` is of the case, and in `told` what else the bot told."""
    answer = Answer.model_validate({"text": text, **known.pop("told", {})})
    case = Case(**({"id": "c", "question": user or "？", "language": "ja"} | known))
    turn = Turn(index=len(earlier) + 1, user=user, answer=answer)
    key = f"{persona}/{case.id}#1"
    return GradingContext(conversation=key, case=case, persona=persona, turn=turn, earlier=tuple(earlier))


@cache
def prompts() -> UserPrompts:
    """How personas are played."""
    return UserPrompts(shelves.PERSONAS / "_user.toml")


@cache
def frame() -> PromptFrame:
    """What the judges share."""
    return PromptFrame(shelves.JUDGES / "_frame.toml", shelves.JUDGES / "_guidelines.toml")


@cache
def rubric(name: str) -> Rubric:
    """A rubric of the shelf."""
    return Rubric(shelves.JUDGES / f"{name}.toml")


def endpoint(server: OpenAIServer, role: Role, key: str = "key") -> Endpoint:
    """A role at the fake endpoint, with a model of its own name."""
    return Endpoint(role=role, model=f"{role}-model", url=server.url, key=SecretStr(key))


@asynccontextmanager
async def at(
    server: OpenAIServer, key: str = "key", cache: ResponseCache | None = None
) -> AsyncIterator[Callable[[Role], Model]]:
    """Models at the fake endpoint by role; retries do not wait."""
    connections = Connections(calls=16, timeout=5, cache=cache or ResponseCache("off"), wait=AT_ONCE)
    ledger = Ledger({})
    try:
        yield lambda role: Model(endpoint(server, role, key), connections, ledger, temperature=0.2)
    finally:
        await connections.close()


def player(model: Model, persona: str = "angry", turns: int = 3, language: Language = "ja") -> PersonaUser:
    """A persona of the shelf, played by a model."""
    told = prompts()
    return PersonaUser(shelves.persona(persona), told, model, seed=7, turns=turns)


def grader(model: Model, names: Sequence[str] = RUBRICS, *, alone: bool = False) -> ModelJudge:
    """Rubrics of the shelf, graded by a model."""
    return ModelJudge([rubric(name) for name in names], frame(), model, seed=42, alone=alone)


def a_stage(server: OpenAIServer | None = None, key: str = "key", **settings: Any) -> RunContext:
    """Everyone a run needs: models at the fake endpoint, or stand-ins."""
    plugins.offer()
    added = {name: settings.pop(name) for name in set(settings) - Settings.model_fields.keys()}
    told = Settings(**({"cache": "off", "judges": RUBRICS, "added": added} | settings))
    roles: tuple[Role, ...] = get_args(Role)
    endpoints = {role: endpoint(server, role, key) if server else None for role in roles}
    for role, known in endpoints.items():
        named = told.user_model[0] if role == "user" and told.user_model else getattr(told, f"{role}_model")
        if known and named:
            endpoints[role] = known.model_copy(update={"model": named})
    personas = [shelves.persona(name) for name in ("angry", "calm", "beginner")]
    context = RunContext(told, personas, Ledger({}, told.budget), by_role=endpoints)
    context.connections.wait = AT_ONCE
    return context


def a_run(folder: Path, plan: Sequence[Conversation], name: str = "20261121-090400-angry-0001") -> RunFile:
    """A new run file with this plan."""
    run = Run(id=name, created=datetime(2026, 11, 21, tzinfo=UTC), settings={})
    return RunFile.create(folder / name, run, plan, [shelves.persona("angry")])


class Quiet:
    """Progress that only counts."""

    def __init__(self) -> None:
        self.turns = self.over = 0
        self.grades: list[tuple[str, int, int]] = []

    def turn(self, conversation: Conversation) -> None:
        """A new turn is there."""
        self.turns += 1

    def graded(self, context: GradingContext, scores: Sequence[Score]) -> None:
        """A turn has been graded."""
        self.grades.append((context.conversation, context.turn.index, len(scores)))

    def ended(self, conversation: Conversation) -> None:
        """A conversation is over."""
        self.over += 1


async def echo(query: Query) -> str:
    """A bot that says back what it was asked."""
    return f"「{query.text}」ですね。" if query.language == "ja" else f"You asked: {query.text}"


def a_run_of_rows(
    rows: Sequence[tuple[Case, str]], graded: Callable[[Conversation], Iterable[Score]], **settings: object
) -> Results:
    """A finished run of rows of a data set, each with the answer to it; `graded` gives the scores of one."""
    talks = [
        Conversation(
            id=f"scripted/{at}#1", case=case, persona="scripted",
            turns=(Turn(index=1, user=case.question, answer=Answer(text=text)),),
        )
        for at, (case, text) in enumerate(rows)
    ]  # fmt: skip
    created = datetime(2026, 1, 1, tzinfo=UTC)
    run = Run(id="r", created=created, settings=dict(settings), status="finished")
    scores = tuple(score for talk in talks for score in graded(talk))
    return Results(run=run, planned=len(talks), conversations=tuple(talks), scores=scores)


# Evaluates the rows of `judged_rows`.
RECORDED = ("evaluate", "rows.jsonl", "--adapter", "recorded")


@contextmanager
def judged_rows(
    rows: Sequence[Mapping[str, Any]], judge: Callable[[dict[str, Any]], str], monkeypatch: pytest.MonkeyPatch
) -> Iterator[None]:
    """The rows are in a file where the test stands, and a model at an endpoint grades as `judge` says."""
    lines = (json.dumps(row, ensure_ascii=False) for row in rows)
    Path("rows.jsonl").write_text("\n".join(lines), encoding="utf-8")
    with serve(judge) as server:
        monkeypatch.setenv("REHEARSAL_JUDGE_URL", server.url)
        monkeypatch.setenv("REHEARSAL_JUDGE_MODEL", "judge-model")
        yield
