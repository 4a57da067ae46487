"""An OpenAI-compatible endpoint over real HTTP, with deterministic answers and faults on demand.

On a test's own loop: `async with OpenAIServer(script([Reply(status=429)])) as server`.
On a thread of its own: `with serve(latency=0.2) as server`.
In a process of its own: `python -m tests.servers.openai --latency 0.2`; there GET /v1/stats tells the counts,
and POST /v1/stats starts them anew, with other latencies if it carries any.
"""

import argparse
import asyncio
import base64
import contextlib
import json
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import AbstractContextManager
from functools import lru_cache
from typing import Any

import numpy as np
from aiohttp import web
from numpy.typing import NDArray

from tests.servers.bad_requests import objection_to
from tests.servers.faults import FAULTS, Answerer, Faults, Reply, as_reply, error, script
from tests.servers.logprobs import completion, content
from tests.servers.loopback import LoopbackServer, dumps, on_thread, reset, until_killed
from tests.servers.replies import ChatRequest, play, text_of
from tests.servers.streaming import trickled

__all__ = ["FAULTS", "Faults", "OpenAIServer", "Reply", "error", "ngram_vector", "play", "script", "serve"]

Embedder = Callable[[ChatRequest], Sequence[Sequence[float]] | Reply]
DIMENSIONS = 256


class OpenAIServer(LoopbackServer):
    """The endpoint, with what it saw: `requests`, `counts` by kind, `statuses`, `max_in_flight`.

    Args:
        reply: Answers a chat request; may return a str or a Reply.
        embed: Answers an embeddings request in place of the hashed n-grams: vectors, or a Reply.
        key: The API key every request must carry, as Bearer token or `api-key` header.
        latency: Seconds per chat call; may be changed while running.
        embeddings_latency: Seconds per embeddings call; likewise.
        refuses: Parameters answered with 400; `json_schema` and `json_object` stand for one response format.
        port: 0 for any free one.
        record: Whether `requests` is kept.
        echoes: Whether /completions is there, and tells how likely the tokens of a prompt are.

    """

    path = "/v1"

    def __init__(
        self,
        reply: Answerer = play,
        *,
        embed: Embedder | None = None,
        key: str | None = None,
        latency: float = 0.0,
        embeddings_latency: float = 0.0,
        refuses: Collection[str] = (),
        port: int = 0,
        record: bool = True,
        echoes: bool = False,
    ) -> None:
        super().__init__(port=port, record=record)
        self.echoes = echoes
        self.reply, self.embed, self.key, self.refuses = reply, embed, key, refuses
        self.latency, self.embeddings_latency = latency, embeddings_latency
        self.counts: Counter[str] = Counter()
        self.statuses: Counter[int] = Counter()
        self.in_flight = self.max_in_flight = 0

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer one request and count it."""
        if request.path.endswith("/stats"):
            return await self._stats(request)
        self.in_flight += 1
        self.max_in_flight = max(self.max_in_flight, self.in_flight)
        try:
            response = await self._route(request)
        finally:
            self.in_flight -= 1
        self.statuses[response.status] += 1
        return response

    async def _route(self, request: web.BaseRequest) -> web.StreamResponse:
        path, raw = request.path, await request.read()
        try:
            body = json.loads(raw) if raw else None
        except ValueError:
            return _failure(request, error(400, "We could not parse the JSON body of your request."))
        self.keep(request, raw, body)
        if not self._admitted(request):
            return _failure(request, error(401))
        if request.method == "POST" and isinstance(body, dict):
            return await self._answer(request, path, body)
        return _failure(request, error(404, f"Invalid URL ({request.method} {path})", code="unknown_url"))

    async def _answer(self, request: web.BaseRequest, path: str, body: ChatRequest) -> web.StreamResponse:
        if path.endswith("/chat/completions"):
            return await self._chat(request, body)
        if path.endswith("/completions") and self.echoes:
            self.counts["completions"] += 1
            return _json(completion(body))
        if path.endswith("/embeddings"):
            return await self._embeddings(request, body)
        return _failure(request, error(404, f"Invalid URL (POST {path})", code="unknown_url"))

    async def _stats(self, request: web.BaseRequest) -> web.Response:
        told = {"counts": self.counts, "statuses": self.statuses, "max_in_flight": self.max_in_flight}
        response = _json(told)
        if request.method == "POST":
            changes = json.loads(await request.read() or b"{}")
            self.latency = changes.get("latency", self.latency)
            self.embeddings_latency = changes.get("embeddings_latency", self.embeddings_latency)
            self.counts.clear()
            self.statuses.clear()
            self.max_in_flight = 0
        return response

    def _admitted(self, request: web.BaseRequest) -> bool:
        bearer, plain = request.headers.get("authorization"), request.headers.get("api-key")
        return self.key is None or bearer == f"Bearer {self.key}" or plain == self.key

    async def _chat(self, request: web.BaseRequest, body: ChatRequest) -> web.StreamResponse:
        self.counts["chat"] += 1
        reply = objection_to(body, self.refuses) or as_reply(self.reply(body), body)
        await _pause(self.latency if reply.delay is None else reply.delay)
        if not reply.speaks:
            return _failure(request, reply)
        if body.get("stream"):
            return await self._stream(request, body, reply)
        if reply.close:
            return reset(request)
        message: dict[str, Any] = {"role": "assistant", "refusal": reply.refusal, "annotations": []}
        message["content"] = reply.text if reply.refusal is None else None
        told = content(reply.likely, body["top_logprobs"]) if reply.likely and body.get("logprobs") else None
        choice = {"index": 0, "message": message, "logprobs": told, "finish_reason": reply.finish_reason}
        whole = self._envelope("chat.completion", body) | {"choices": [choice]} | _usage(body, reply)
        if reply.pace or reply.half:
            return await trickled(request, dumps(whole), pace=reply.pace, half=reply.half)
        return _json(whole, reply)

    def _envelope(self, kind: str, body: ChatRequest) -> dict[str, Any]:
        called = {"id": f"chatcmpl-{self.counts['chat']}", "object": kind, "created": int(time.time())}
        return called | {"model": body["model"], "service_tier": "default", "system_fingerprint": "fp_fake"}

    async def _stream(self, request: web.BaseRequest, body: ChatRequest, reply: Reply) -> web.StreamResponse:
        response = web.StreamResponse(headers={"content-type": "text/event-stream", **reply.headers})
        await response.prepare(request)
        events = list(self._events(body, reply))
        for event in events[: len(events) // 2] if reply.close else events:
            await response.write(b"data: " + event + b"\n\n")
        if reply.close:
            reset(request)
        return response

    def _events(self, body: ChatRequest, reply: Reply) -> Iterator[bytes]:
        envelope = self._envelope("chat.completion.chunk", body)
        counted = bool((body.get("stream_options") or {}).get("include_usage"))
        key, text = ("content", reply.text or "") if reply.refusal is None else ("refusal", reply.refusal)
        pieces = [{key: text[at : at + 8]} for at in range(0, len(text), 8)]
        for piece in ({"role": "assistant", key: ""}, *pieces, {}):
            finish = None if piece else reply.finish_reason
            choice = {"index": 0, "delta": piece, "logprobs": None, "finish_reason": finish}
            yield dumps(envelope | {"choices": [choice]} | ({"usage": None} if counted else {}))
        if counted:
            yield dumps(envelope | {"choices": []} | _usage(body, reply))
        yield b"[DONE]"

    async def _embeddings(self, request: web.BaseRequest, body: ChatRequest) -> web.StreamResponse:
        self.counts["embeddings"] += 1
        texts = _inputs(body)
        if not texts or "" in texts:
            return _failure(request, error(400, "'$.input' is invalid. Please check the API reference."))
        given = self.embed(body) if self.embed is not None else None
        if isinstance(given, Reply):
            await _pause(self.embeddings_latency if given.delay is None else given.delay)
            return _failure(request, given)
        await _pause(self.embeddings_latency)
        packed, size = body.get("encoding_format") == "base64", body.get("dimensions") or DIMENSIONS
        if given is None:
            vectors = [_hashed(text, size, packed) for text in texts]
        else:
            vectors = [_encoded(np.asarray(vector, dtype=np.float32), packed) for vector in given]
        return _vectors(body, texts, vectors)


def _failure(request: web.BaseRequest, reply: Reply) -> web.Response:
    """The answer to a reply that is no message: an error, a raw body, a reset."""
    if reply.close:
        return reset(request)
    body = reply.body if reply.body is not None else error(reply.status, reply.text).body
    response = web.Response(body=body, status=reply.status, content_type="application/json")
    response.headers.update(reply.headers)
    return response


def _json(body: dict[str, Any], reply: Reply | None = None) -> web.Response:
    response = web.Response(body=dumps(body), content_type="application/json")
    if reply is not None and reply.headers:
        response.headers.update(reply.headers)
    return response


def _usage(body: ChatRequest, reply: Reply) -> dict[str, Any]:
    if reply.usage is not None:
        return {"usage": reply.usage} if reply.usage else {}
    asked = tokens("".join(text_of(message) for message in body["messages"]))
    said = tokens(reply.text or reply.refusal or "")
    counted = {"prompt_tokens": asked, "completion_tokens": said, "total_tokens": asked + said}
    return {"usage": counted | {"prompt_tokens_details": {"cached_tokens": 0}}}


def tokens(text: str) -> int:
    """3.75 bytes of UTF-8 a token: on this project's prompts within 13 % of o200k_base, in both languages."""
    return len(text.encode("utf-8", "surrogatepass")) * 4 // 15 + 1


def _vectors(body: ChatRequest, texts: list[str], vectors: list[str]) -> web.Response:
    # Joined by hand: the vectors, nearly all of the body, are ready JSON already.
    rows = (f'{{"object":"embedding","index":{at},"embedding":{each}}}' for at, each in enumerate(vectors))
    asked = tokens("".join(texts))
    usage = f'{{"prompt_tokens":{asked},"total_tokens":{asked}}}'
    head = f'{{"object":"list","model":{json.dumps(body.get("model"))},"usage":{usage},"data":['
    return web.Response(body=f"{head}{','.join(rows)}]}}".encode(), content_type="application/json")


def _inputs(body: ChatRequest) -> list[str]:
    given = body.get("input") or []
    # Token numbers stand for a text here too, by their digits.
    if isinstance(given, str) or isinstance(given[0] if given else "", int):
        given = [given]
    return [each if isinstance(each, str) else str(each) for each in given]


@lru_cache(4096)
def _hashed(text: str, size: int, packed: bool) -> str:
    return _encoded(ngram_vector(text, size), packed)


def ngram_vector(text: str, size: int = DIMENSIONS) -> NDArray[np.float32]:
    """A unit vector of hashed character 2- and 3-grams: texts that share words are near each other."""
    codes = np.frombuffer(f" {text} ".encode("utf-32-le", "surrogatepass"), np.uint32).astype(np.uint64)
    pairs = codes[:-1] * np.uint64(0x9E3779B97F4A7C15) + codes[1:] * np.uint64(0xC2B2AE3D27D4EB4F)
    triples = pairs[:-1] * np.uint64(0x165667B19E3779F9) + codes[2:] * np.uint64(0xD6E8FEB86659FD93)
    places = (np.concatenate((pairs, triples)) >> np.uint64(40)) % np.uint64(size)
    counts = np.bincount(places.astype(np.int64), minlength=size).astype(np.float32)
    unit: NDArray[np.float32] = counts / np.linalg.norm(counts)
    return unit


def _encoded(vector: NDArray[np.float32], packed: bool) -> str:
    if packed:
        return f'"{base64.b64encode(vector.tobytes()).decode()}"'
    return json.dumps(vector.tolist())


async def _pause(seconds: float) -> None:
    if seconds > 0:
        await asyncio.sleep(seconds)


def serve(reply: Answerer = play, **options: Any) -> AbstractContextManager[OpenAIServer]:
    """An OpenAIServer with these options on a daemon thread, for callers without an event loop."""
    return on_thread(OpenAIServer(reply, **options))


def _rate(text: str) -> tuple[str, float]:
    name, _, share = text.partition("=")
    if name not in FAULTS:
        raise argparse.ArgumentTypeError(f"{name!r} is none of {', '.join(FAULTS)}")
    return name, float(share)


def main() -> None:
    """Serve until killed; the address is the first line of standard output."""
    parser = argparse.ArgumentParser(prog="python -m tests.servers.openai", description=main.__doc__)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--latency", type=float, default=0.0, help="seconds per chat call")
    parser.add_argument("--embeddings-latency", type=float, default=0.0, help="seconds per embeddings call")
    parser.add_argument("--key", help="the API key requests must carry")
    parser.add_argument("--refuse", action="append", default=[], help="a parameter to answer with 400")
    parser.add_argument("--fault", type=_rate, action="append", default=[], help="NAME=SHARE, e.g. 429=0.05")
    parser.add_argument("--seed", type=int, default=42, help="of the faults")
    given = vars(parser.parse_args())
    faults, seed, refuses = dict(given.pop("fault")), given.pop("seed"), given.pop("refuse")
    reply = Faults(faults, seed=seed) if faults else play
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(until_killed(OpenAIServer(reply, refuses=refuses, record=False, **given)))


if __name__ == "__main__":
    main()
