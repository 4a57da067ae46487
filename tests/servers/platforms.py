"""Bots as platforms offer them: Dify's chat API, and gateways in front of Amazon Bedrock."""

import json
from typing import Any

from aiohttp import web

from tests.servers.loopback import LoopbackServer, dumps
from tests.servers.streaming import event

KEY = "app-0123456789"
CONTENT = "マンションプランの料金は月額4,180円です。"
RESOURCE = {
    "position": 1, "dataset_name": "faq", "document_id": "d-1", "document_name": "料金.md",
    "segment_id": "seg-1", "score": 0.98, "content": CONTENT,
}  # fmt: skip


class PlatformServer(LoopbackServer):
    """A bot that names its conversations itself, and counts the questions of each.

    What it is not asked as its platform wants to be asked, it answers with 400, 401 or 404.
    """

    def __init__(self) -> None:
        super().__init__()
        self.conversations: dict[str, int] = {}

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer one question."""
        raw = await request.read()
        body = json.loads(raw)
        self.keep(request, raw, body)
        if request.path != self.path or request.method != "POST":
            return self.refused(404, "not_found")
        return await self.answered(request, body)

    async def answered(self, request: web.BaseRequest, body: dict[str, Any]) -> web.StreamResponse:
        """The platform's reply."""
        raise NotImplementedError

    def counted(self, named: str | None) -> tuple[str, int] | None:
        """The conversation that is meant, a new one when none is named, and its questions so far."""
        if named and named not in self.conversations:
            return None
        name = named or f"conversation-{len(self.conversations) + 1}"
        self.conversations[name] = self.conversations.get(name, 0) + 1
        return name, self.conversations[name]

    @staticmethod
    def refused(status: int, code: str) -> web.Response:
        """An error as JSON."""
        return web.json_response({"code": code, "message": f"{code}!", "status": status}, status=status)


class DifyServer(PlatformServer):
    """POST /v1/chat-messages, blocking and streaming; `agent` refuses to block, as agents do.

    `fails` breaks the stream off with an error event.
    """

    path = "/v1/chat-messages"

    def __init__(self, *, agent: bool = False, fails: bool = False) -> None:
        super().__init__()
        self.agent, self.fails = agent, fails

    async def answered(self, request: web.BaseRequest, body: dict[str, Any]) -> web.StreamResponse:
        """The whole answer, or its pieces."""
        if request.headers.get("Authorization") != f"Bearer {KEY}":
            return self.refused(401, "unauthorized")
        streaming = body.get("response_mode") == "streaming"
        if not body.get("query") or not body.get("user") or "inputs" not in body:
            return self.refused(400, "invalid_param")
        if self.agent and not streaming:
            return self.refused(400, "invalid_param")
        counted = self.counted(body.get("conversation_id"))
        if counted is None:
            return self.refused(404, "conversation_not_exists")
        name, nth = counted
        told = {"task_id": "t", "message_id": f"m-{nth}", "conversation_id": name}
        if streaming:
            return await self._streamed(request, told, f"{nth}番目: {body['query']}")
        reply = {**told, "event": "message", "mode": "chat", "answer": f"{nth}番目: {body['query']}"}
        return web.json_response({**reply, "metadata": {"retriever_resources": [RESOURCE]}}, dumps=_dumps)

    async def _streamed(
        self, request: web.BaseRequest, told: dict[str, Any], answer: str
    ) -> web.StreamResponse:
        response = web.StreamResponse(headers={"content-type": "text/event-stream; charset=utf-8"})
        await response.prepare(request)
        await response.write(b"event: ping\n\n")
        await response.write(event({**told, "event": "workflow_started", "data": {"id": "w"}}))
        kind = "agent_message" if self.agent else "message"
        for character in answer:
            await response.write(event({**told, "event": kind, "answer": character}))
        if self.fails:
            await response.write(event({**told, "event": "error", "status": 503, "message": "no model"}))
            return response
        ended = {**told, "event": "message_end", "metadata": {"retriever_resources": [RESOURCE]}}
        await response.write(event(ended))
        await response.write(event({**told, "event": "tts_message_end", "audio": ""}))
        return response


class BedrockGateway(PlatformServer):
    """A gateway with an API key that passes on the fields of InvokeAgent, or of RetrieveAndGenerate."""

    path = "/prod/chat"

    async def answered(self, request: web.BaseRequest, body: dict[str, Any]) -> web.StreamResponse:
        """The reply of whichever operation the fields are of."""
        if request.headers.get("x-api-key") != KEY:
            return web.json_response({"message": "Forbidden"}, status=403)
        session = body.get("sessionId")
        if session is not None and not 2 <= len(session) <= 100:
            return self.refused(400, "ValidationException")
        counted = self.counted(session)
        if counted is None:
            return self.refused(400, "ValidationException")
        asked = body.get("inputText") or body["input"]["text"]
        place = {"type": "S3", "s3Location": {"uri": "s3://faq/fees.md"}}
        cited = {"content": {"text": CONTENT}, "location": place, "metadata": {}}
        reply: dict[str, Any] = {
            "sessionId": counted[0],
            "citations": [{"retrievedReferences": [cited]}, {"retrievedReferences": [cited]}, {}],
        }
        answer = f"{counted[1]}番目: {asked}"
        reply |= {"completion": answer} if "inputText" in body else {"output": {"text": answer}}
        return web.json_response(reply, dumps=_dumps)


def _dumps(body: Any) -> str:
    return dumps(body).decode()
