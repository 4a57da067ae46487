"""One request to an OpenAI-compatible endpoint; whatever comes of it that is no answer is one of two errors.

An endpoint's refusal is the client's APIStatusError. Everything else that the client, its transport, TLS or a
decoder raises is NoAnswer: only here, so that mistakes of our own still surface as what they are.
"""

import asyncio
import json
from typing import TYPE_CHECKING, Any

from simulator.core.bodies import ACCEPTED, BodyError, unpacked

if TYPE_CHECKING:
    import httpx2
    from openai import APIStatusError, AsyncOpenAI


# What is shown of a client's words, which may repeat the whole answer.
_LONGEST = 120


class NoAnswer(Exception):
    """No HTTP answer that could be read; `kind` as in a failure, `may_pass` if another call may succeed."""

    def __init__(
        self, kind: str, message: str, *, may_pass: bool = True, cause: Exception | None = None
    ) -> None:
        super().__init__(message)
        self.kind, self.may_pass = kind, may_pass
        # What a client's own error says of status and headers.
        self.status_code = getattr(cause, "status_code", None)
        self.response = getattr(cause, "response", None)


def http_client(**options: Any) -> "httpx2.AsyncClient":
    """The transport of the models' client: bodies are counted as they come, redirects are not followed."""
    from httpx2 import AsyncByteStream, Request, Response
    from openai import DefaultAioHttpClient  # half a second: only for runs with a model

    class Counted(AsyncByteStream):
        def __init__(self, response: Response) -> None:
            self.response = response

        async def __aiter__(self) -> Any:
            async for piece in unpacked(
                self.response.aiter_raw(), self.response.headers.get("content-encoding")
            ):
                yield piece

        async def aclose(self) -> None:
            await self.response.aclose()

    class CountingClient(DefaultAioHttpClient):
        async def send(self, request: Request, *, stream: bool = False, **given: Any) -> Response:
            # A redirect is an answer like any other: the key goes nowhere but to where the user sends it.
            raw = await super().send(request, stream=True, **{**given, "follow_redirects": False})
            headers = [pair for pair in raw.headers.raw if pair[0].lower() != b"content-encoding"]
            response = Response(
                raw.status_code,
                headers=headers,
                stream=Counted(raw),
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

    return CountingClient(headers={"Accept-Encoding": ACCEPTED}, **options)


async def posted(client: "AsyncOpenAI", path: str, body: Any, seconds: float) -> "httpx2.Response":
    """The whole answer in time: one that comes drop by drop never meets the client's own limit."""
    from httpx2 import Response
    from openai import APIConnectionError, APIStatusError

    try:
        async with asyncio.timeout(seconds):
            # The reply is read here: building the SDK's response objects would double the CPU of a call.
            return await client.post(path, body=body, cast_to=Response)
    except APIStatusError:
        raise
    except BodyError as error:
        raise NoAnswer("malformed", str(error), may_pass=False) from error
    except Exception as error:  # of whatever is foreign
        if _has_timed_out(error):
            raise NoAnswer("timeout", f"no reply within {seconds:g} s") from error
        if isinstance(error, APIConnectionError):
            said = f"no connection ({client_words(error.__cause__ or error)})"
        else:
            said = f"no valid HTTP answer ({client_words(error)})"
        raise NoAnswer("unreachable", said) from error


def may_pass(error: BaseException) -> bool:
    """Worth another attempt: no answer, a time-out, 408, 409, 429 or 5xx; not an empty account."""
    from openai import APIStatusError  # see Connections.prepare

    if isinstance(error, APIStatusError):
        transient = error.status_code in (408, 409, 429) or error.status_code >= 500
        return transient and getattr(error, "code", "") != "insufficient_quota"
    return isinstance(error, NoAnswer) and error.may_pass


def json_of(response: "httpx2.Response") -> Any:
    """The body; None when it is no JSON, which whoever reads it will say."""
    try:
        return json.loads(response.content)
    except (ValueError, RecursionError):
        return None


def reason_of(error: "APIStatusError") -> str:
    """What an endpoint says of its refusal; of a redirect, where it leads."""
    if 300 <= error.status_code < 400:
        moved = error.response.headers.get("location", "").partition("?")[0] or "another address"
        return f"the endpoint has moved to {moved}, which is not followed."
    body = error.body
    message = body.get("message") if isinstance(body, dict) else None
    return str(message or error.message)


def client_words(error: BaseException) -> str:
    """What a client says is wrong, without what it shows of its own objects."""
    said = " ".join(str(getattr(error, "message", "") or error).split()).replace(" ssl:default", "")
    if said.startswith("<RawResponseMessage"):
        return "the connection was closed within the headers"
    return said[:_LONGEST] or type(error).__name__


def _has_timed_out(error: BaseException | None) -> bool:
    """Told by what is at the bottom: the transport calls every lost connection a time-out."""
    while error is not None and not isinstance(error, TimeoutError):
        error = error.__cause__
    return error is not None
