"""OAuth 2.0 client credentials (RFC 6749, section 4.4): fetches, caches and renews a token."""

import asyncio
import base64
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import quote_plus

from rag_adapters._environment import Environment
from rag_adapters._json import kind
from rag_adapters._request import checked_address, host_of
from rag_adapters._wire import Wire, refusal, text_of
from simulator import BotFailure, InputError, _

if TYPE_CHECKING:
    from aiohttp import ClientSession

# A token is renewed early, by this share of its lifetime but at most half a minute.
_MARGIN, _LONGEST_MARGIN = 0.1, 30.0


@dataclass(frozen=True)
class TokenRequest:
    """The request to the token endpoint; `in_body`: client id and secret are in the body, not a header."""

    url: str
    client: str
    secret: str = field(repr=False)
    fields: Mapping[str, str]
    in_body: bool = False

    def arguments(self) -> dict[str, Any]:
        """The request as arguments of aiohttp's `request`."""
        form = {"grant_type": "client_credentials", **self.fields}
        headers = {"Accept": "application/json"}
        if self.in_body:
            form |= {"client_id": self.client, "client_secret": self.secret}
        else:
            # The standard requires percent-encoding of both before they are joined.
            pair = f"{quote_plus(self.client)}:{quote_plus(self.secret)}"
            headers["Authorization"] = f"Basic {base64.b64encode(pair.encode()).decode()}"
        return {"method": "POST", "url": self.url, "data": form, "headers": headers, "allow_redirects": False}


def token_request(settings: Mapping[str, str], environment: Environment) -> TokenRequest:
    """The token request of these settings. Raises InputError for invalid ones."""
    if not settings["client_id"] or not settings["client_secret"]:
        msg = _("token_url needs client_id and client_secret beside it, the secret as ${{VARIABLE}}.")
        raise InputError(msg)
    filled = {name: environment.filled(text) for name, text in settings.items()}
    if filled["client_secret"] == settings["client_secret"]:
        msg = _(
            "client_secret: write it as ${{VARIABLE}}: settings are stored with the run, secrets must not be."
        )
        raise InputError(msg)
    place = settings["token_auth"]
    if place not in ("basic", "body"):
        msg = _("token_auth={place}: use basic or body.", place=place)
        raise InputError(msg)
    return TokenRequest(
        checked_address("token_url", filled["token_url"]),
        filled["client_id"],
        filled["client_secret"],
        {name: filled[name] for name in ("scope", "audience") if filled[name]},
        in_body=place == "body",
    )


class Credentials:
    """The token for all requests; fetched once, however many wait for it."""

    def __init__(self, request: TokenRequest) -> None:
        self.request = request
        self._lock = asyncio.Lock()
        self._token, self._until = "", 0.0

    async def token(self, wire: Wire, session: "ClientSession", refused: str = "") -> str:
        """A token that is valid and not the `refused` one. Raises BotFailure."""
        async with self._lock:
            if not self._token or self._token == refused or time.monotonic() >= self._until:
                self._token, self._until = await self._fetch(wire, session)
                wire.environment.learn(self._token)
            return self._token

    async def _fetch(self, wire: Wire, session: "ClientSession") -> tuple[str, float]:
        from aiohttp import ClientError  # imported late: listing adapters does not need it

        host = host_of(self.request.url)
        try:
            async with session.request(**self.request.arguments()) as response:
                text = await text_of(response)
                if response.status >= 300:
                    raise self._refused(response.status, wire.environment.masked(text))
                reply = wire.parsed(response, text)
        except ClientError as error:
            raise wire.failure(error, host) from None
        token = reply.get("access_token") if isinstance(reply, dict) else None
        if not isinstance(token, str) or not token:
            raise BotFailure(
                "malformed", _("{host} gives no access_token: the reply {kind}", host=host, kind=kind(reply))
            )
        return token, time.monotonic() + _life(reply.get("expires_in"))

    def _refused(self, status: int, text: str) -> BotFailure:
        """The failure of a token request; 400 is final like 401: the standard uses it for a wrong client."""
        failure = refusal(401 if status == 400 else status, text)
        reason = str(failure.failure.message).replace("HTTP 401", f"HTTP {status}", 1)
        message = _("no token from {host}: {reason}", host=host_of(self.request.url), reason=reason)
        return type(failure)(failure.failure.kind, message)


def _life(expires_in: Any) -> float:
    """The seconds for which a token is used; infinite without a lifetime, until it is refused."""
    try:
        seconds = float(expires_in)
    except (TypeError, ValueError):
        return float("inf")
    return seconds - min(_LONGEST_MARGIN, seconds * _MARGIN)
