"""Combines embeddings that are requested at nearly the same time into one request.

A turn needs one request for two short texts, and hundreds of turns are graded at once: together they take a
few requests, each hardly slower than a single one. Equal texts are sent once.

    ["a"], ["bbb", "a"]   within 5 ms   ->   one request for ["a", "bbb"]; of 10 tokens, 2 and 8 are theirs

A request that fails for a reason that one text may be the cause of is halved until the texts at fault are
alone. Where both halves are embedded, it was their number that the endpoint refused, and no later request has
as many: some take ten texts, some only one. A refused key, or patience that is over, is nobody's text: then
all of them fail at once. An endpoint without embeddings is asked once; no request goes out before the first
one is over.
"""

import asyncio
import base64
import itertools
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, NamedTuple

from simulator.core.answers import kind
from simulator.core.errors import AccessDenied, ModelFailure, OutOfPatience
from simulator.core.messages import _

# Seconds that a request waits for others; little compared with the 50 ms and more that embeddings take.
TICK = 0.005
# Texts and characters of one request, well below what endpoints take (OpenAI: 2,048 texts, 300,000 tokens),
# so that a slow one of one's own answers in time.
MOST_TEXTS, MOST_CHARACTERS = 64, 60_000
# The kinds of failure after which a smaller request may succeed: one of the texts was too long, or empty.
_SPLIT = ("error", "malformed", "refused", "timeout")


class NoEmbeddings(ModelFailure):
    """An endpoint that has no embeddings, or none by this model."""


class Embeddings(NamedTuple):
    """Embeddings as received, in the order of the texts, and their tokens."""

    rows: Sequence[Any]
    tokens: int


Send = Callable[[list[str]], Awaitable[Embeddings]]


class _PendingCall(NamedTuple):
    texts: list[str]
    reply: asyncio.Future[Embeddings]


class EmbeddingBatcher:
    """Collects the calls of one tick; a request that fails is split, so that only the calls at fault fail."""

    def __init__(self, send: Send, tick: float = TICK) -> None:
        """`send` makes one request for all its texts."""
        self.send, self.tick, self.most = send, tick, MOST_TEXTS
        self._calls: list[_PendingCall] = []
        self._timer: asyncio.TimerHandle | None = None
        self._sending: set[asyncio.Task[None]] = set()
        self._first: asyncio.Event | None = None  # set once the first request is over
        self._none: NoEmbeddings | None = None

    async def __call__(self, texts: list[str]) -> Embeddings:
        """The embeddings of these texts, with their share of the request's tokens."""
        loop = asyncio.get_running_loop()
        call = _PendingCall(texts, loop.create_future())
        # A call is never divided: one that is too large by itself goes out alone.
        if self._calls and not _fits([*self._calls, call]):
            self._flush()
        self._calls.append(call)
        if self._timer is None:
            self._timer = loop.call_later(self.tick, self._flush)
        return await call.reply

    async def close(self) -> None:
        """Cancels what waits to be sent, and what is in flight."""
        for call in self._calls:
            call.reply.cancel()
        for task in self._sending:
            task.cancel()
        await asyncio.gather(*self._sending, return_exceptions=True)

    def _flush(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        calls = [call for call in self._calls if not call.reply.done()]  # without those that were cancelled
        self._calls = []
        if calls:
            task = asyncio.get_running_loop().create_task(self._deliver(calls))
            self._sending.add(task)
            task.add_done_callback(self._sending.discard)

    async def _deliver(self, calls: Sequence[_PendingCall]) -> None:
        texts = list(dict.fromkeys(text for call in calls for text in call.texts))
        try:
            rows, tokens = await self._rows(texts)
        except asyncio.CancelledError:
            for call in calls:
                call.reply.cancel()
            raise
        except BaseException as error:  # callers wait for the result, so every error goes to them
            _fail(calls, error)
        else:
            _share_out(calls, rows, tokens)

    async def _rows(self, texts: Sequence[str]) -> tuple[dict[str, Any], int]:
        """The row of each text, or the failure that it met, and the tokens of all."""
        if len(texts) > self.most:
            pieces = [texts[at : at + self.most] for at in range(0, len(texts), self.most)]
            return _merged(await asyncio.gather(*map(self._rows, pieces)))
        try:
            embedded = await self._request(list(texts))
        except ModelFailure as error:
            is_final = isinstance(error, (AccessDenied, OutOfPatience, NoEmbeddings))
            if len(texts) == 1 or is_final or error.failure.kind not in _SPLIT:
                return dict.fromkeys(texts, error), 0
        else:
            return dict(zip(texts, embedded.rows, strict=True)), embedded.tokens
        # One half after the other: what the first one learns saves the second one its refusals.
        half = (len(texts) + 1) // 2
        rows, tokens = _merged([await self._rows(texts[:half]), await self._rows(texts[half:])])
        if not any(isinstance(row, ModelFailure) for row in rows.values()):
            self.most = min(self.most, half)
        return rows, tokens

    async def _request(self, texts: list[str]) -> Embeddings:
        if self._first is not None:
            await self._first.wait()
            if self._none:
                raise NoEmbeddings(self._none.failure.kind, self._none.message)
            return await self.send(texts)
        self._first = asyncio.Event()
        try:
            return await self.send(texts)
        except NoEmbeddings as error:
            self._none = error
            raise
        finally:
            self._first.set()


def _merged(parts: Sequence[tuple[dict[str, Any], int]]) -> tuple[dict[str, Any], int]:
    rows = {text: row for part, _unused in parts for text, row in part.items()}
    return rows, sum(tokens for _unused, tokens in parts)


def _fits(calls: Sequence[_PendingCall]) -> bool:
    texts = [text for call in calls for text in call.texts]
    return len(texts) <= MOST_TEXTS and sum(map(len, texts)) <= MOST_CHARACTERS


def _fail(calls: Sequence[_PendingCall], error: BaseException) -> None:
    for call in calls:
        if not call.reply.done():
            call.reply.set_exception(error)


def _share_out(calls: Sequence[_PendingCall], rows: Mapping[str, Any], tokens: int) -> None:
    """Gives each call the rows of its texts, or the failure of one of them.

    And a share of the tokens by the length of the texts; shares add up.
    """
    embedded: list[_PendingCall] = []
    for call in calls:
        failure = next((rows[text] for text in call.texts if isinstance(rows[text], ModelFailure)), None)
        if failure is None:
            embedded.append(call)
        else:
            _fail([call], failure)
    lengths = list(itertools.accumulate(1 + sum(map(len, call.texts)) for call in embedded))
    # Rounded at the ends and not by the share, so that nothing is lost between them.
    ends = [tokens * length // lengths[-1] for length in lengths]
    for call, (start, end) in zip(embedded, itertools.pairwise([0, *ends]), strict=True):
        if not call.reply.done():
            call.reply.set_result(Embeddings([rows[text] for text in call.texts], end - start))


def rows_of(data: Any, count: int) -> list[Any]:
    """The embeddings of a reply in the order of the texts; raises ValueError unless there are `count`."""
    rows = data.get("data") if isinstance(data, dict) else None
    if not isinstance(rows, list) or not all(isinstance(row, dict) and "embedding" in row for row in rows):
        raise ValueError(_("no embeddings in the reply: it {kind}", kind=kind(data)))
    if len(rows) != count:
        raise ValueError(_("{n} embeddings for {count} texts", n=len(rows), count=count))
    # Endpoints may answer in another order, and say so by the index. Some leave it out, some only where it
    # is 0, as protocol buffers do.
    places = [row.get("index") for row in rows]
    if places.count(None) == count:
        return [row["embedding"] for row in rows]
    try:
        numbers = [int(place or 0) for place in places]
    except (TypeError, ValueError):
        numbers = []
    if not numbers or places.count(None) > 1 or (None in places and numbers.count(0) > 1):
        raise ValueError(_("embeddings without an index"))
    return [rows[at]["embedding"] for at in sorted(range(count), key=numbers.__getitem__)]


def vectors_of(embeddings: Sequence[Any]) -> list[list[float]]:
    """The floats of embeddings, sent as lists or as base64 of little-endian float32, all of one length.

    Raises ValueError, also for zeros alone, which are like no text.
    """
    vectors = list(map(_vector_of, embeddings))
    lengths = sorted({len(vector) for vector in vectors})
    if len(lengths) > 1:
        raise ValueError(
            _("embeddings of different lengths: {lengths}", lengths=", ".join(map(str, lengths)))
        )
    return vectors


def _vector_of(embedding: Any) -> list[float]:
    import numpy as np  # only for runs with an embedding model

    try:
        if isinstance(embedding, str):
            # Far fewer bytes than a list of numbers, and quicker to read.
            vector = np.frombuffer(base64.b64decode(embedding), dtype="<f4").astype(float)
        else:
            vector = np.asarray(embedding, dtype=float)
    except (TypeError, ValueError, OverflowError):
        vector = np.empty(0)
    if vector.ndim != 1 or not np.isfinite(vector).all() or not vector.any():
        raise ValueError(_("an embedding in the reply is no vector of numbers, or zeros alone"))
    return vector.tolist()  # type: ignore[no-any-return]
