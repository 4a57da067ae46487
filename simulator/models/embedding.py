"""Embeddings that are asked for at nearly the same time go out as one request."""

import asyncio
import itertools
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, NamedTuple

from simulator.core.errors import AccessDenied, ModelFailure, OutOfPatience

# Seconds that a request waits for others; nothing beside the 50 ms and more that embeddings take.
TICK = 0.005
MOST_TEXTS, MOST_CHARACTERS = 64, 60_000
# After these a smaller request may succeed: one text of many was too long, or no text at all.
_SPLIT = ("error", "malformed", "refused", "timeout")


class Embeddings(NamedTuple):
    """Embeddings as they came, in the order of the texts, and the tokens they took."""

    rows: Sequence[Any]
    tokens: int


Send = Callable[[list[str]], Awaitable[Embeddings]]


class _Ask(NamedTuple):
    texts: list[str]
    reply: asyncio.Future[Embeddings]


class Batches:
    """Gathers what is asked within one tick; a request that fails is split, so that only its cause fails."""

    def __init__(self, send: Send, tick: float = TICK) -> None:
        """`send` makes one request for all texts it is given."""
        self.send, self.tick = send, tick
        self._asks: list[_Ask] = []
        self._timer: asyncio.TimerHandle | None = None
        self._sending: set[asyncio.Task[None]] = set()

    async def __call__(self, texts: list[str]) -> Embeddings:
        """The embeddings of these texts, with their share of the tokens of the request."""
        loop = asyncio.get_running_loop()
        ask = _Ask(texts, loop.create_future())
        if self._asks and not _fits([*self._asks, ask]):
            self._flush()
        self._asks.append(ask)
        if self._timer is None:
            self._timer = loop.call_later(self.tick, self._flush)
        return await ask.reply

    async def close(self) -> None:
        """Gives up what is still under way."""
        if self._timer is not None:
            self._timer.cancel()
        for task in self._sending:
            task.cancel()
        await asyncio.gather(*self._sending, return_exceptions=True)

    def _flush(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        asks = [ask for ask in self._asks if not ask.reply.done()]  # without those that were cancelled
        self._asks = []
        if asks:
            task = asyncio.get_running_loop().create_task(self._deliver(asks))
            self._sending.add(task)
            task.add_done_callback(self._sending.discard)

    async def _deliver(self, asks: Sequence[_Ask]) -> None:
        texts = list(dict.fromkeys(text for ask in asks for text in ask.texts))
        try:
            embedded = await self.send(texts)
        except ModelFailure as error:
            is_final = isinstance(error, AccessDenied | OutOfPatience)
            if len(asks) > 1 and not is_final and error.failure.kind in _SPLIT:
                half = len(asks) // 2
                await asyncio.gather(self._deliver(asks[:half]), self._deliver(asks[half:]))
            else:
                _fail(asks, error)
        except asyncio.CancelledError:
            for ask in asks:
                ask.reply.cancel()
            raise
        except BaseException as error:  # ours to hand on, whatever it is: somebody waits for it
            _fail(asks, error)
        else:
            _share_out(asks, texts, embedded)


def _fits(asks: Sequence[_Ask]) -> bool:
    texts = [text for ask in asks for text in ask.texts]
    return len(texts) <= MOST_TEXTS and sum(map(len, texts)) <= MOST_CHARACTERS


def _fail(asks: Sequence[_Ask], error: BaseException) -> None:
    for ask in asks:
        if not ask.reply.done():
            ask.reply.set_exception(error)


def _share_out(asks: Sequence[_Ask], texts: Sequence[str], embedded: Embeddings) -> None:
    """To each the rows of its texts, and tokens by their length; the shares add up to the whole."""
    rows = dict(zip(texts, embedded.rows, strict=True))
    lengths = list(itertools.accumulate(1 + sum(map(len, ask.texts)) for ask in asks))
    ends = [embedded.tokens * length // lengths[-1] for length in lengths]
    for ask, (start, end) in zip(asks, itertools.pairwise([0, *ends]), strict=True):
        if not ask.reply.done():
            ask.reply.set_result(Embeddings([rows[text] for text in ask.texts], end - start))
