"""What the models of one process share: connections, limits, the cache, and what endpoints have shown.

How much is shared depends on what it is about:

    a host                    the calls in flight: judge and customer at one server compete for it
    an address and a model    what it supports, whether it answers anybody, how it counts tokens
    the same, with a key      pauses after a 429, for accounts are limited by key; joined embeddings
    ... and the headers       the connections themselves: two keys must not meet in one
"""

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

from simulator.core.messages import _
from simulator.core.roles import Endpoint
from simulator.core.settings import Settings
from simulator.models.abilities import Abilities
from simulator.models.cache import ResponseCache
from simulator.models.context import ContextWindow
from simulator.models.embedding import EmbeddingBatcher, Send
from simulator.models.exchange import Transport
from simulator.models.limiter import Limiter, Pause
from simulator.models.network import check_way
from simulator.models.patience import Availability, Notices, wait_after

# Tries of one request in all, as long as others are answered, with random waits of at most 1, 2, 4, 8 and
# 16 s between them. Where nobody is, it is tried for as long as --patience lasts.
ATTEMPTS = 6


class ModelRecord(NamedTuple):
    """What one model has shown: what it supports, whether it answers anybody, how it counts tokens."""

    abilities: Abilities
    availability: Availability
    context_window: ContextWindow


class Connections:
    """The connections, limits and known abilities of one process; closed once, at the end."""

    def __init__(
        self,
        *,
        calls: int,
        timeout: float,
        cache: ResponseCache,
        patience: float = 120.0,
        wait: Callable[[BaseException, int], float] = wait_after,
    ) -> None:
        """At most `calls` in flight per endpoint; `timeout` seconds per attempt, `patience` per call.

        `wait` tells the seconds after an error of so many attempts.
        """
        self.calls, self.timeout, self.patience, self.cache = calls, timeout, patience, cache
        self.attempts, self.wait = ATTEMPTS, wait
        self.notices = Notices()
        self._transports: dict[tuple[Any, ...], Transport] = {}
        self._checked: set[str] = set()
        self._limiters: dict[str, Limiter] = {}
        self._models: dict[tuple[str, str], ModelRecord] = {}
        self._pauses: dict[tuple[str, str, str], Pause] = {}
        self._batches: dict[tuple[str, str, str], EmbeddingBatcher] = {}

    @classmethod
    def of(cls, settings: Settings) -> "Connections":
        """With the limits of these settings, and their cache."""
        return cls(
            calls=settings.calls,
            timeout=settings.timeout,
            patience=settings.patience,
            cache=ResponseCache(settings.cache),
        )

    def transport(self, endpoint: Endpoint) -> Transport:
        """The shared connections to this address with this key."""
        key = endpoint.key.get_secret_value()
        where = (endpoint.url, key, tuple(endpoint.sent_headers.items()))
        if where not in self._transports:
            self._transports[where] = Transport(endpoint.url, key, self.calls, endpoint.sent_headers)
        return self._transports[where]

    def check(self, endpoint: Endpoint) -> None:
        """Raises InputError for a proxy or certificates of the environment that cannot be used."""
        if endpoint.url not in self._checked and not endpoint.of_provider:
            check_way(endpoint.url)
            self._checked.add(endpoint.url)

    def limiter(self, endpoint: Endpoint) -> Limiter:
        """The limit that all calls to this host share, whichever their keys and paths."""
        where = endpoint.host
        if where not in self._limiters:
            why = _("{address} takes no more calls within this minute", address=endpoint.address)
            on_wait = partial(self.notices.waiting, endpoint.address, why=why)
            self._limiters[where] = Limiter(self.calls, on_wait, timeout=self.timeout)
        return self._limiters[where]

    def pause(self, endpoint: Endpoint) -> Pause:
        """For how long this model is left alone; accounts are limited by key."""
        where = (endpoint.url, endpoint.key.get_secret_value(), endpoint.model)
        return self._pauses.setdefault(where, Pause())

    def batches(self, endpoint: Endpoint, send: Send) -> EmbeddingBatcher:
        """The shared batcher of this embedding model; the first caller's `send` is used."""
        where = (endpoint.url, endpoint.key.get_secret_value(), endpoint.model)
        return self._batches.setdefault(where, EmbeddingBatcher(send))

    def record(self, endpoint: Endpoint) -> ModelRecord:
        """What the model there has shown of itself, to whichever role."""
        where = (endpoint.url, endpoint.model)
        if where not in self._models:
            availability = Availability(endpoint.address, self.patience, self.notices.waiting)
            self._models[where] = ModelRecord(Abilities(), availability, ContextWindow())
        return self._models[where]

    async def back(self) -> None:
        """Waits while one of the models answers nobody. Raises Outage where that outlasts --patience."""
        for record in tuple(self._models.values()):
            await record.availability.back()

    async def close(self) -> None:
        """Closes all connections, and the cache."""
        for limiter in self._limiters.values():
            limiter.close()
        await asyncio.gather(*(batches.close() for batches in self._batches.values()))
        await asyncio.gather(*(transport.close() for transport in self._transports.values()))
        self.cache.close()
