"""Scripted and random answers of the fake endpoint, and the ways in which real endpoints fail."""

import json
from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from tests.servers.logprobs import Likely
from tests.servers.replies import ChatRequest, draw, play


@dataclass(frozen=True)
class Reply:
    """One answer of the endpoint; `text` None means what `play` would say.

    Args:
        text: The message; with `stream` it is cut into chunks.
        status: HTTP status; from 400 on the body is OpenAI's error object unless `body` is given.
        headers: Extra response headers.
        usage: In place of the counted tokens; an empty one is left out of the answer.
        finish_reason: Why the model stopped.
        delay: Seconds before answering, in place of the server's latency.
        body: Raw bytes in place of everything else.
        refusal: A refusal in place of the message.
        close: Reset the connection; a stream whose `text` is given is reset half-way.
        pace: Seconds between one byte of the answer and the next.
        half: Close the connection after half of the answer.
        likely: The tokens of the message with their log-likelihoods, told to those who ask for `logprobs`.

    """

    text: str | None = None
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    usage: Mapping[str, Any] | None = None
    finish_reason: str = "stop"
    delay: float | None = None
    body: bytes | None = None
    refusal: str | None = None
    close: bool = False
    pace: float = 0.0
    half: bool = False
    likely: Likely = ()

    @property
    def speaks(self) -> bool:
        """Whether it is a message rather than an error, raw bytes or a reset."""
        silent = self.text is None and self.refusal is None
        return self.status < 400 and self.body is None and not silent


Answerer = Callable[[ChatRequest], str | Reply]
Script = Callable[[ChatRequest], Any]  # of chat replies, or of replies and vectors for the embeddings

_ERRORS = {  # status: (type, code, message)
    400: ("invalid_request_error", None, "The request is not valid."),
    401: ("invalid_request_error", "invalid_api_key", "Incorrect API key provided."),
    404: ("invalid_request_error", "model_not_found", "The model does not exist."),
    429: ("requests", "rate_limit_exceeded", "Rate limit reached for requests."),
}
_SERVER_ERROR = ("server_error", None, "The server had an error while processing your request.")


def error(
    status: int,
    message: str | None = None,
    *,
    param: str | None = None,
    code: str | None = None,
    headers: Mapping[str, str] | None = None,
) -> Reply:
    """A Reply with OpenAI's error object; type, code and message default to the status's usual ones."""
    kind, usual, said = _ERRORS.get(status, _SERVER_ERROR)
    if code == "insufficient_quota":
        kind = code
    told = {"message": message or said, "type": kind, "param": param, "code": code or usual}
    body = json.dumps({"error": told}, ensure_ascii=False).encode()
    return Reply(status=status, headers=headers or {}, body=body, delay=0)


def script(replies: Iterable[Reply | str], then: Callable[[ChatRequest], Any] = play) -> Script:
    """The given replies, one per call in order of arrival, and `then` for every call after them."""
    waiting = deque(replies)

    def answer(request: ChatRequest) -> Any:
        return waiting.popleft() if waiting else then(request)

    return answer


def as_reply(answer: str | Reply, request: ChatRequest) -> Reply:
    """An answerer's result as a Reply whose text is filled in."""
    reply = Reply(answer) if isinstance(answer, str) else answer
    open_ = reply.status < 400 and reply.body is None and not reply.close
    return replace(reply, text=play(request)) if reply.text is None and open_ else reply


def _off_scale(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _off_scale(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_off_scale(each) for each in value]
    return 11 if isinstance(value, int | float) and not isinstance(value, bool) else value


def _grades_off_scale(text: str) -> Reply:
    try:
        return Reply(json.dumps(_off_scale(json.loads(text)), ensure_ascii=False))
    except ValueError:
        return Reply(text)


BAD_GATEWAY = Reply(
    status=502,
    headers={"content-type": "text/html; charset=utf-8"},
    body=b"<html><head><title>502 Bad Gateway</title></head><body><h1>502 Bad Gateway</h1></body></html>",
)
# Bytes of an answer that is far too long.
HUGE = 10_000_000
FAULTS: dict[str, Callable[[str], Reply]] = {
    "quota": lambda _: error(429, "You exceeded your current quota.", code="insufficient_quota"),
    "context": lambda _: error(
        400, "The maximum context length is exceeded.", code="context_length_exceeded"
    ),
    "429": lambda _: Reply(status=429, headers={"retry-after": "0"}),
    "500": lambda _: Reply(status=500),
    "502": lambda _: BAD_GATEWAY,
    "stall": lambda text: Reply(text, delay=3600),
    "cut": lambda text: Reply(text[: len(text) // 2], finish_reason="length"),
    "prose": lambda _: Reply("I would say that the answer is quite good, maybe a four."),
    "fenced": lambda text: Reply(f"Here you are:\n```json\n{text}\n```"),
    "off_scale": _grades_off_scale,
    "refusal": lambda _: Reply(refusal="I'm sorry, but I can't assist with that request."),
    "empty": lambda _: Reply(""),
    "reset": lambda _: Reply(close=True),
    "half": lambda text: Reply(text, half=True),
    "drip": lambda text: Reply(text, pace=0.05),
    "garbage": lambda _: Reply(body=bytes(range(256)) * 16),
    "huge": lambda _: Reply("とても長い。" * (HUGE // 18)),
}


@dataclass
class Faults:
    """Random faults: each named one of FAULTS meets its share (0..1) of the calls, `then` answers the rest.

    Whether a call fails depends on the seed, the request and how often it was made before, not on the order
    of arrival: concurrent runs meet the same faults, and a retry can succeed.
    """

    rates: Mapping[str, float]
    seed: int = 42
    then: Answerer = play
    met: Counter[str] = field(default_factory=Counter)
    _asked: Counter[str] = field(default_factory=Counter)

    def __call__(self, request: ChatRequest) -> str | Reply:
        """The answer to this call."""
        sound = as_reply(self.then(request), request)
        fault = self._fault(request)
        if fault is None or not sound.speaks:
            return sound
        self.met[fault] += 1
        return FAULTS[fault](sound.text or "")

    def _fault(self, request: ChatRequest) -> str | None:
        what = str(draw(json.dumps(request, sort_keys=True), ""))
        place = draw(f"{self.seed}/{what}", f"/{self._asked[what]}") / 2**48
        self._asked[what] += 1
        for name, rate in self.rates.items():
            if place < rate:
                return name
            place -= rate
        return None
