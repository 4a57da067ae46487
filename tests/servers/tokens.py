"""A bot behind OAuth 2.0 client credentials, and the endpoint that issues its tokens."""

import asyncio
import json
from base64 import b64decode
from typing import Any
from urllib.parse import parse_qsl, unquote_plus

from aiohttp import web

from tests.servers.bot import bot_reply
from tests.servers.faults import Reply
from tests.servers.loopback import LoopbackServer, dumps

CLIENT, SECRET = "desk app", "s3cret/+%client"


class TokenServer(LoopbackServer):
    """POST /token gives a token to the right client; POST /chat answers who brings a live one.

    `life` is what a token's `expires_in` says (None: nothing); with `repeats` the token is always the
    same; `failure` replaces the token endpoint's answer; tokens in `revoked` are refused. `forms` keeps
    what clients sent for a token.
    """

    path = "/chat"

    def __init__(self, *, life: float | None = 3600, latency: float = 0.0) -> None:
        super().__init__()
        self.life, self.latency = life, latency
        self.failure: Reply | None = None
        self.forms: list[dict[str, str]] = []
        self.revoked: set[str] = set()
        self.refuses_all, self.repeats = False, False

    @property
    def token_url(self) -> str:
        """Where tokens are given."""
        return self.url.replace(self.path, "/token")

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        """Give a token, or answer a question."""
        raw = await request.read()
        if request.path == "/token":
            await asyncio.sleep(self.latency)
            return self._token(request, dict(parse_qsl(raw.decode())))
        self.keep(request, raw, json.loads(raw))
        scheme, _, token = request.headers.get("Authorization", "").partition(" ")
        live = token.startswith("token-") and token not in self.revoked and not self.refuses_all
        if scheme != "Bearer" or not live:
            return web.Response(status=401, text=f"no access with {token}")
        return web.Response(body=dumps(bot_reply(f"with {token}")), content_type="application/json")

    def _token(self, request: web.BaseRequest, form: dict[str, str]) -> web.Response:
        self.forms.append(form)
        if self.failure:
            return web.Response(status=self.failure.status, body=self.failure.body)
        if self._client(request, form) != (CLIENT, SECRET) or form["grant_type"] != "client_credentials":
            return web.json_response({"error": "invalid_client"}, status=401)
        number = 1 if self.repeats else len(self.forms)
        told: dict[str, Any] = {"access_token": f"token-{number}-abcdef", "token_type": "Bearer"}
        return web.json_response(told | ({"expires_in": self.life} if self.life is not None else {}))

    @staticmethod
    def _client(request: web.BaseRequest, form: dict[str, str]) -> tuple[str, str]:
        scheme, _, pair = request.headers.get("Authorization", "").partition(" ")
        if scheme != "Basic":
            return form.get("client_id", ""), form.get("client_secret", "")
        name, _, secret = b64decode(pair).decode().partition(":")
        return unquote_plus(name), unquote_plus(secret)
