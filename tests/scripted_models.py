"""A role's model at a fake endpoint, for tests: the real client, no waits between attempts."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from pydantic import SecretStr

from simulator.core import replies
from simulator.core.replies import FIELD_KINDS
from simulator.core.roles import Endpoint
from simulator.core.types import Role
from simulator.models.cache import ResponseCache
from simulator.models.client import Messages, Model
from simulator.models.connections import Connections
from simulator.models.pricing import Ledger
from tests.servers.openai import OpenAIServer

KEY = "sk-very-secret"
VERDICT = replies.create_form(
    "verdict", {"reason": FIELD_KINDS["text"].type, "grade": FIELD_KINDS["grade"].type}
)
GOOD = '{"reason": "資料と合う。", "grade": 4}'
ASKED: Messages = [{"role": "user", "content": "Grade this in JSON."}]


def waiting(seconds: float) -> Callable[[BaseException, int], float]:
    """So long between any two attempts."""
    return lambda _error, _tries: seconds


AT_ONCE = waiting(0.0)


@asynccontextmanager
async def connected(
    *,
    calls: int = 8,
    timeout: float = 10,
    cache: ResponseCache | None = None,
    wait: Callable[[BaseException, int], float] = AT_ONCE,
) -> AsyncIterator[Connections]:
    """Connections that retry at once and are closed at the end."""
    made = Connections(calls=calls, timeout=timeout, cache=cache or ResponseCache("off"), wait=wait)
    try:
        yield made
    finally:
        await made.close()


def model_at(
    server: OpenAIServer | str,
    connections: Connections,
    *,
    role: Role = "judge",
    name: str = "fake-chat",
    ledger: Ledger | None = None,
    **options: Any,
) -> Model:
    """The model of a role at that server."""
    url = server if isinstance(server, str) else server.url
    endpoint = Endpoint(role=role, model=name, url=url, key=SecretStr(KEY))
    return Model(endpoint, connections, ledger or Ledger({}), **options)


async def verdict(model: Model, **options: Any) -> dict[str, Any]:
    """One form filled in by the model."""
    return (await model.ask(ASKED, VERDICT, str, **options)).model_dump()
