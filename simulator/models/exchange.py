"""One request to an OpenAI-compatible endpoint, with two errors.

A refusal of the endpoint is the client's APIStatusError. Any other exception of the client, its transport,
TLS or a decoder becomes NoAnswer, only here, so that our own bugs are not hidden.
"""

import asyncio
import json
from typing import TYPE_CHECKING, Any

from simulator.core.bodies import ACCEPTED, BodyError, unpacked
from simulator.core.messages import Message, _

if TYPE_CHECKING:
    import httpx2
    from openai import APIStatusError, AsyncOpenAI


# Characters of a client's error message, which may repeat the whole answer.
_LONGEST = 120


class NoAnswer(Exception):
    """No readable HTTP answer. `kind` is that of a Failure; `is_transient`: another attempt may succeed."""

    def __init__(
        self, kind: str, message: Message | str, *, is_transient: bool = True, cause: Exception | None = None
    ) -> None:
        super().__init__(message)
        self.kind, self.is_transient = kind, is_transient
        # Status and headers, if the client's error has them.
        self.status_code = getattr(cause, "status_code", None)
        self.response = getattr(cause, "response", None)


def http_client(**options: Any) -> "httpx2.AsyncClient":
    """An HTTP client that limits the size of bodies while they arrive, and follows no redirects."""
    from httpx2 import AsyncByteStream, Request, Response
    from openai import DefaultAioHttpClient  # half a second: only for runs with a model

    class LimitedStream(AsyncByteStream):
        def __init__(self, response: Response) -> None:
            self.response = response

        async def __aiter__(self) -> Any:
            async for piece in unpacked(
                self.response.aiter_raw(), self.response.headers.get("content-encoding")
            ):
                yield piece

        async def aclose(self) -> None:
            await self.response.aclose()

    class LimitedClient(DefaultAioHttpClient):
        async def send(self, request: Request, *, stream: bool = False, **options: Any) -> Response:
            # A redirect is an answer like any other: the key is sent to no other address.
            raw = await super().send(request, stream=True, **{**options, "follow_redirects": False})
            headers = [pair for pair in raw.headers.raw if pair[0].lower() != b"content-encoding"]
            response = Response(
                raw.status_code,
                headers=headers,
                stream=LimitedStream(raw),
                request=request,
                extensions=raw.extensions,
            )
            try:
                if not stream:
                    await response.aread()
            except BaseException:
                await response.aclose()
                raise
            return response

    return LimitedClient(headers={"Accept-Encoding": ACCEPTED}, **options)


async def post(client: "AsyncOpenAI", path: str, body: Any, seconds: float) -> "httpx2.Response":
    """Posts a body, and reads the whole answer within `seconds`.

    The client's own timeout does not apply to an answer that arrives slowly, piece by piece.
    """
    from httpx2 import Response
    from openai import APIConnectionError, APIStatusError

    try:
        async with asyncio.timeout(seconds):
            # As a plain response: building the SDK's objects would double the CPU time of a call.
            return await client.post(path, body=body, cast_to=Response)
    except APIStatusError:
        raise
    except BodyError as error:
        raise NoAnswer("malformed", str(error), is_transient=False) from error
    except Exception as error:  # of any library
        if _has_timed_out(error):
            message = _("no reply within {seconds:g} s", seconds=round(seconds, 2))
            raise NoAnswer("timeout", message) from error
        if isinstance(error, APIConnectionError):
            message = _("no connection ({reason})", reason=client_words(error.__cause__ or error))
        else:
            message = _("no valid HTTP answer ({reason})", reason=client_words(error))
        raise NoAnswer("unreachable", message) from error


def is_transient(error: BaseException) -> bool:
    """Whether another attempt may succeed: after no answer, a timeout, 408, 409, 429 or 5xx.

    An empty account (`insufficient_quota`) is not transient.
    """
    from openai import APIStatusError

    if isinstance(error, APIStatusError):
        transient = error.status_code in (408, 409, 429) or error.status_code >= 500
        return transient and getattr(error, "code", "") != "insufficient_quota"
    return isinstance(error, NoAnswer) and error.is_transient


def json_of(response: "httpx2.Response") -> Any:
    """The body as JSON, or None when it is not valid."""
    try:
        return json.loads(response.content)
    except (ValueError, RecursionError):
        return None


def reason_of(error: "APIStatusError") -> Message | str:
    """The endpoint's reason for a refusal; for a redirect, its target."""
    if 300 <= error.status_code < 400:
        moved = error.response.headers.get("location", "").partition("?")[0] or _("another address")
        return _("the endpoint has moved to {address}, which is not followed.", address=moved)
    body = error.body
    message = body.get("message") if isinstance(body, dict) else None
    return str(message or error.message)


def client_words(error: BaseException) -> Message | str:
    """The message of a client's error, short and without representations of its objects."""
    message = " ".join(str(getattr(error, "message", "") or error).split()).replace(" ssl:default", "")
    if message.startswith("<RawResponseMessage"):
        return _("the connection was closed within the headers")
    return message[:_LONGEST] or type(error).__name__


def _has_timed_out(error: BaseException | None) -> bool:
    # The first cause decides: the transport calls every lost connection a timeout.
    while error is not None and not isinstance(error, TimeoutError):
        error = error.__cause__
    return error is not None
