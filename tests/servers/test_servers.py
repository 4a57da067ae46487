"""The fake endpoint keeps the shapes of the real one."""

import asyncio
import json
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Literal, cast

import httpx2
import numpy as np
import openai
import pytest
from pydantic import BaseModel, ConfigDict, Field

from tests.paths import ROOT
from tests.servers.faults import BAD_GATEWAY
from tests.servers.openai import FAULTS, OpenAIServer, Reply, error, ngram_vector, script, tokens

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


async def test_chat_answer_has_openai_shape() -> None:
    """The client reads text, model, finish reason and counted usage."""
    async with OpenAIServer() as server:
        answer = await ask(server)
    choice = answer.choices[0]
    assert (answer.model, choice.finish_reason, choice.message.role) == ("fake-chat", "stop", "assistant")
    assert answer.usage.prompt_tokens == tokens(f"desk{QUESTION}")
    assert answer.usage.total_tokens == answer.usage.prompt_tokens + answer.usage.completion_tokens


async def test_json_schema_answer_fits_the_schema() -> None:
    """A strict pydantic schema with a reference is filled in declared order, `next` with stay."""
    async with OpenAIServer() as server:
        answers = [await ask(server, f"{QUESTION}{n}", response_format=STRICT) for n in range(20)]
    texts = [answer.choices[0].message.content for answer in answers]
    verdicts = [Verdict.model_validate_json(text) for text in texts]
    assert list(json.loads(texts[0])) == list(Verdict.model_fields)
    assert {verdict.next for verdict in verdicts} == {"stay"}
    assert {verdict.overall for verdict in verdicts} == {1, 2, 3, 4, 5}


@pytest.mark.parametrize("usage", [True, False])
async def test_stream_brings_the_same_text_in_chunks(usage: bool) -> None:
    """The chunks add up to the plain answer; usage comes last when asked for."""
    options = {"stream_options": {"include_usage": True}} if usage else {}
    async with OpenAIServer() as server, client(server) as made:
        whole = await ask(server)
        messages: Any = [{"role": "system", "content": "desk"}, {"role": "user", "content": QUESTION}]
        create: Any = made.chat.completions.create
        chunks = [each async for each in await create(model="m", messages=messages, stream=True, **options)]
    text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
    assert len(chunks) > 4
    assert text == whole.choices[0].message.content
    assert (chunks[-1].usage == whole.usage) if usage else (chunks[-1].choices[0].finish_reason == "stop")


@pytest.mark.parametrize("form", ["float", "base64", None])
async def test_embeddings_come_in_either_encoding(form: str | None) -> None:
    """Whatever encoding the client asks for, the vectors are those of the hashed n-grams, in order."""
    texts = [QUESTION, "返品の期限はいつですか。", "The weather is fine."]
    options: Any = {"encoding_format": form} if form else {}
    async with OpenAIServer() as server, client(server) as made:
        answer = await made.embeddings.create(model="fake-embedding", input=texts, **options)
    rows = [row.embedding for row in answer.data]
    if form == "base64":
        rows = [
            list(np.frombuffer(__import__("base64").b64decode(cast(Any, row)), np.float32)) for row in rows
        ]
    assert np.allclose(rows, [ngram_vector(text) for text in texts])
    assert np.dot(rows[0], rows[1]) > np.dot(rows[0], rows[2]) + 0.3
    assert answer.usage.prompt_tokens > 0


async def test_wrong_key_is_401() -> None:
    """With a key set, another one is an authentication error; Bearer and api-key are both read."""
    async with OpenAIServer(key="secret") as server, client(server, api_key="other") as made:
        await ask(server)
        with pytest.raises(openai.AuthenticationError) as met:
            await made.models.list()
        azure = openai.AsyncAzureOpenAI(
            azure_endpoint=server.url[:-3], api_key="secret", api_version="2024-10-21"
        )
        async with azure:
            await azure.chat.completions.create(model="m", messages=[{"role": "user", "content": "a"}])
    assert met.value.code == "invalid_api_key"


FAULTY = [
    (Reply(status=429, headers={"retry-after": "0"}), openai.RateLimitError, "rate_limit_exceeded"),
    (FAULTS["quota"](""), openai.RateLimitError, "insufficient_quota"),
    (FAULTS["context"](""), openai.BadRequestError, "context_length_exceeded"),
    (Reply(status=404), openai.NotFoundError, "model_not_found"),
    (error(403, "no", code="forbidden"), openai.PermissionDeniedError, "forbidden"),
    (Reply("overloaded", status=503), openai.InternalServerError, None),
    (BAD_GATEWAY, openai.InternalServerError, None),
    (Reply(close=True), openai.APIConnectionError, None),
]


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


async def test_refusal_and_cut_answers_are_told_apart() -> None:
    """A refusal has no content; a cut answer ends for its length."""
    async with OpenAIServer(
        script([FAULTS["refusal"](""), FAULTS["cut"]("0123456789"), FAULTS["empty"]("")])
    ) as server:
        refusal, cut, empty = [(await ask(server)).choices[0] for _ in range(3)]
    assert (refusal.message.content, bool(refusal.message.refusal)) == (None, True)
    assert (cut.message.content, cut.finish_reason) == ("01234", "length")
    assert empty.message.content == ""


async def test_requests_counts_and_flights_are_kept() -> None:
    """Path, lower-case headers, body, counts and the most calls in flight can be read afterwards."""
    async with OpenAIServer(latency=0.05) as server:
        await asyncio.gather(*(ask(server, str(n)) for n in range(5)))
        server.latency, server.record = 0.0, False
        await ask(server)
    seen = server.requests[0]
    assert (seen.path, seen.headers["authorization"]) == ("/v1/chat/completions", "Bearer secret")
    assert seen.body["messages"][1]["role"] == "user"
    assert (len(server.requests), server.counts["chat"], server.max_in_flight) == (5, 6, 5)
    assert server.statuses == {200: 6}


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
