"""What the models of one process share: clients, limits, rates, and what was learnt of each model."""

import asyncio
import importlib
import math
import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import parse_qsl

from tenacity import AsyncRetrying, RetryCallState, retry_if_exception
from tenacity.wait import wait_base

from simulator.cache import ResponseCache
from simulator.core.roles import Endpoint
from simulator.core.settings import Settings
from simulator.embedding import Batches, Send
from simulator.exchange import http_client, may_pass
from simulator.limits import Limiter, RetryAfter
from simulator.patience import Notices, Patience
from simulator.rates import REQUESTS, TOKENS, Rates, Window

if TYPE_CHECKING:
    from openai import AsyncOpenAI

T = TypeVar("T")
ATTEMPTS = 6
# Seconds that an idle connection is kept: many servers hang up after five.
IDLE = 4.0
# Seconds that the bot is given to be asked before the client is imported beside it.
HEAD_START = 0.1
CLIENT = "openai"
FORMATS = ("schema", "json", "text")


@dataclass
class Abilities:
    """What one model at one endpoint has been found to understand."""

    reply_format: str = FORMATS[0]
    refused: set[str] = field(default_factory=set)


class Connections:
    """The clients, limits and known abilities of one process; closed once, at the end."""

    def __init__(
        self,
        *,
        calls: int,
        timeout: float,
        cache: ResponseCache,
        patience: float = 120.0,
        wait: wait_base | None = None,
    ) -> None:
        """At most `calls` in flight per endpoint, given `timeout` seconds an attempt, `patience` in all."""
        self.calls, self.timeout, self.patience, self.cache = calls, timeout, patience, cache
        self.attempts = ATTEMPTS
        self.wait = wait or RetryAfter(longest=math.inf)
        self.notices = Notices()
        self._clients: dict[tuple[str, str], AsyncOpenAI] = {}
        self._limiters: dict[tuple[str, str], Limiter] = {}
        self._abilities: dict[tuple[str, str], Abilities] = {}
        self._windows: dict[tuple[str, str, int, int], Window] = {}
        self._rates: dict[tuple[str, str, str, int | None, int | None], Rates] = {}
        self._batches: dict[tuple[str, str, str], Batches] = {}
        self._importing: asyncio.Task[Any] | None = None

    @classmethod
    def of(cls, settings: Settings, cache: ResponseCache | None = None) -> "Connections":
        """As the settings say; `cache` in place of theirs."""
        return cls(
            calls=settings.calls,
            timeout=settings.timeout,
            patience=settings.patience,
            cache=cache or ResponseCache(settings.cache),
        )

    def prepare(self) -> "asyncio.Task[Any]":
        """Starts to import the client on a thread: it takes a while, and the bot can be asked meanwhile."""
        if self._importing is None:
            self._importing = asyncio.create_task(self._import())
        return self._importing

    async def _import(self) -> None:
        """The thread would slow down those who ask the bot just now; while its answers come it is welcome."""
        if CLIENT not in sys.modules:
            await asyncio.sleep(HEAD_START)
            await asyncio.to_thread(importlib.import_module, CLIENT)

    def client(self, endpoint: Endpoint) -> "AsyncOpenAI":
        """The one client of this address and key; making one costs 18 ms of CPU."""
        where = (endpoint.url, endpoint.key.get_secret_value())
        if where not in self._clients:
            self._clients[where] = client_of(endpoint, self.timeout, self.calls)
        return self._clients[where]

    def limiter(self, endpoint: Endpoint) -> Limiter:
        """The limit that all roles at this address and key share."""
        where = (endpoint.url, endpoint.key.get_secret_value())
        if where not in self._limiters:
            why = f"{endpoint.address} takes no more calls within this minute"
            said = partial(self.notices.waiting, endpoint.address, why=why)
            self._limiters[where] = Limiter(self.calls, said)
        return self._limiters[where]

    def dialogue(self, *, goes_on: bool) -> None:
        """Whether conversations are still held; when they are over, grades have all places."""
        for limiter in self._limiters.values():
            limiter.dialogue(goes_on=goes_on)

    def rates(self, endpoint: Endpoint) -> Rates:
        """The requests and tokens a minute of this model; what is given counts all models at the address."""
        url, key = endpoint.url, endpoint.key.get_secret_value()
        where = (url, key, endpoint.model, endpoint.rpm, endpoint.tpm)
        if where not in self._rates:
            given = [
                (kind, most) for kind, most in ((REQUESTS, endpoint.rpm), (TOKENS, endpoint.tpm)) if most
            ]
            windows = [self._windows.setdefault((url, key, *each), Window(*each)) for each in given]
            self._rates[where] = Rates(windows)
        return self._rates[where]

    def batches(self, endpoint: Endpoint, send: Send) -> Batches:
        """Where texts for this embedding model are gathered; `send` is the first one's who asks."""
        where = (endpoint.url, endpoint.key.get_secret_value(), endpoint.model)
        return self._batches.setdefault(where, Batches(send))

    def abilities(self, endpoint: Endpoint) -> Abilities:
        """What this model has refused so far."""
        return self._abilities.setdefault((endpoint.url, endpoint.model), Abilities())

    async def persistently(
        self,
        patience: Patience,
        before_wait: Callable[[RetryCallState], None],
        call: Callable[..., Awaitable[T]],
        *given: Any,
    ) -> T:
        """What the call gives, at the first attempt or a later one; nearly all succeed at the first."""
        try:
            return await call(*given)
        except Exception as error:
            if not may_pass(error):
                raise
            first = [error]

        async def again() -> T:
            if first:
                raise first.pop()
            return await call(*given)

        attempts = AsyncRetrying(
            stop=lambda state: state.attempt_number >= self.attempts or patience.is_over(state),
            wait=self.wait,
            retry=retry_if_exception(may_pass),
            sleep=patience.sleep,
            before_sleep=before_wait,
            reraise=True,
        )
        return await attempts(again)

    async def close(self) -> None:
        """Closes every client, and the cache."""
        for limiter in self._limiters.values():
            limiter.close()
        await asyncio.gather(*(batches.close() for batches in self._batches.values()))
        if self._importing is not None:
            await self._importing
        await asyncio.gather(*(client.close() for client in self._clients.values()))
        self.cache.close()


def client_of(endpoint: Endpoint, timeout: float, calls: int) -> "AsyncOpenAI":
    """A client with as many connections as there can be calls."""
    from httpx2 import Limits
    from openai import AsyncOpenAI  # half a second: only for runs with a model

    # What stands behind a ? belongs to every request: the client would put its paths behind it.
    address, _, query = endpoint.url.partition("?")
    # Every call in flight has its connection, and keeps it for the next call.
    pool = Limits(max_connections=calls, max_keepalive_connections=calls, keepalive_expiry=IDLE)
    return AsyncOpenAI(
        api_key=endpoint.key.get_secret_value(),
        base_url=address,
        default_query=dict(parse_qsl(query)),
        max_retries=0,
        timeout=timeout,
        http_client=http_client(timeout=timeout, limits=pool),
    )
