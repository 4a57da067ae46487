"""The fake endpoint keeps the shapes of the real one."""

import json
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Literal, cast

import httpx2
import openai
import pytest
from pydantic import BaseModel, ConfigDict, Field

from tests.paths import ROOT
from tests.servers.openai import OpenAIServer

QUESTION = "返品の期限を教えてください。"


class Claim(BaseModel):
    model_config = ConfigDict(extra="forbid")
    text: str
    supported: bool


class Verdict(BaseModel):
    model_config = ConfigDict(extra="forbid")
    reason: str
    claims: list[Claim]
    overall: int = Field(ge=1, le=5)
    relevance: Literal[1, 2, 3, 4, 5]
    share: float = Field(ge=0, le=1)
    note: str | None
    next: Literal["satisfied", "gave_up", "stay"]


STRICT: dict[str, Any] = {
    "type": "json_schema",
    "json_schema": {
        "name": "verdict",
        "strict": True,
        "schema": openai.lib._pydantic.to_strict_json_schema(Verdict),
    },
}


@asynccontextmanager
async def client(server: OpenAIServer, **options: Any) -> AsyncIterator[openai.AsyncOpenAI]:
    """A client of the server that neither retries nor waits long."""
    given: Any = {"base_url": server.url, "api_key": "secret", "max_retries": 0, "timeout": 10, **options}
    async with openai.AsyncOpenAI(**given) as made:
        yield made


async def ask(server: OpenAIServer, text: str = QUESTION, *, system: str = "desk", **options: Any) -> Any:
    """One chat call through the openai client."""
    messages = [{"role": "system", "content": system}, {"role": "user", "content": text}]
    async with client(server) as made:
        return await made.chat.completions.create(model="fake-chat", messages=cast(Any, messages), **options)


async def refused(server: OpenAIServer, **options: Any) -> openai.BadRequestError:
    """The 400 which a chat call meets."""
    with pytest.raises(openai.BadRequestError) as met:
        await ask(server, **options)
    return met.value


async def test_json_schema_answer_fits_the_schema() -> None:
    """A strict pydantic schema with a reference is filled in declared order, `next` with stay."""
    async with OpenAIServer() as server:
        answers = [await ask(server, f"{QUESTION}{n}", response_format=STRICT) for n in range(20)]
    texts = [answer.choices[0].message.content for answer in answers]
    verdicts = [Verdict.model_validate_json(text) for text in texts]
    assert list(json.loads(texts[0])) == list(Verdict.model_fields)
    assert {verdict.next for verdict in verdicts} == {"stay"}
    assert {verdict.overall for verdict in verdicts} == {1, 2, 3, 4, 5}


async def test_requests_real_endpoints_refuse_are_refused() -> None:
    """Open or optional objects in strict mode, JSON mode without the word, no messages: 400."""
    loose = {"name": "v", "strict": True, "schema": Verdict.model_json_schema() | {"required": ["reason"]}}
    async with OpenAIServer() as server, client(server) as made:
        schema = await refused(server, response_format={"type": "json_schema", "json_schema": loose})
        mode = await refused(server, response_format={"type": "json_object"})
        with pytest.raises(openai.BadRequestError):
            await made.chat.completions.create(model="m", messages=[])
        with pytest.raises(openai.NotFoundError):
            await made.completions.create(model="m", prompt="a")
    assert "'required' is required" in schema.message
    assert "'json'" in mode.message


def test_process_prints_its_address_and_tells_its_counts() -> None:
    """The module serves as a process of its own, with faults, and its counters can be read and reset."""
    command = [sys.executable, "-m", "tests.servers.openai", "--port", "0", "--fault", "500=1"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, encoding="utf-8") as process:
        try:
            url = cast(Any, process.stdout).readline().strip()
            with (
                openai.OpenAI(base_url=url, api_key="x", max_retries=0) as made,
                pytest.raises(openai.InternalServerError),
            ):
                made.chat.completions.create(model="m", messages=[{"role": "user", "content": "a"}])
            with httpx2.Client() as plain:
                told = plain.post(f"{url}/stats").json()
            assert told == {"counts": {"chat": 1}, "statuses": {"500": 1}, "max_in_flight": 1}
        finally:
            process.kill()
