"""The fake endpoint with a batch API: files, batches, and what may become of them."""

import json
from collections.abc import Callable
from typing import Any

from aiohttp import web
from aiohttp.web_request import FileField

from tests.servers.openai import OpenAIServer

# Of a batch, from 1, and of the body of a request in it: the status of its answer.
Fate = Callable[[int, dict[str, Any]], int]


class BatchServer(OpenAIServer):
    """Takes files and batches beside chat requests; a batch is over when it was looked at `looks` times.

    `fate` is the status of each answer: what is not 200 stands in the file of errors, 0 in neither. `states`
    are what becomes of the batches, in their order; those after are `completed`. `looks_of` has
    other `looks` by id. `at_first_look` is called with the id of a batch when it is looked at for the first
    time. Batches and files whose ids are in `lost` were deleted.
    """

    def __init__(
        self,
        *args: Any,
        looks: int = 1,
        states: tuple[str, ...] = (),
        fate: Fate = lambda *_: 200,
        **more: Any,
    ) -> None:
        super().__init__(*args, **more)
        self.looks, self.fate, self.states = looks, fate, list[str]()
        self.takes_batches = True
        self.lost: set[str] = set()
        self.looks_of: dict[str, int] = {}
        self.at_first_look: Callable[[str], object] = lambda _: None
        self.headers: list[dict[str, str]] = []
        self.queries: set[str] = set()
        self.files: dict[str, bytes] = {}
        self.batches: dict[str, dict[str, Any]] = {}

    async def _route(self, request: web.BaseRequest) -> web.StreamResponse:
        parts = request.path.removeprefix("/v1/").split("/")
        if parts[0] not in {"files", "batches"}:
            return await super()._route(request)
        self.headers.append({name.lower(): value for name, value in request.headers.items()})
        self.queries.add(request.query_string)
        is_lost = not self.takes_batches or not self.lost.isdisjoint(parts)
        if is_lost or not self._admitted(request):
            return web.json_response({"error": {"message": "No."}}, status=404 if is_lost else 401)
        if request.method == "POST" and parts == ["files"]:
            upload = (await request.post())["file"]
            assert isinstance(upload, FileField)
            return web.json_response(self._file(upload.file.read()))
        if parts[0] == "files":
            return web.Response(body=self.files[parts[1]], content_type="application/octet-stream")
        if request.method == "POST" and parts == ["batches"]:
            return web.json_response(await self._submitted(request))
        batch = self.batches[parts[1]]
        if parts[2:] == ["cancel"]:
            if batch["status"] in {"completed", "cancelled"}:
                raise web.HTTPBadRequest(text=f"Cannot cancel a batch with status '{batch['status']}'.")
            batch["status"] = "cancelled"
        elif batch["status"] == "in_progress":
            await self._looked_at(request, batch)
        return web.json_response(batch)

    async def _looked_at(self, request: web.BaseRequest, batch: dict[str, Any]) -> None:
        batch["looks"] += 1
        if batch["looks"] == 1:
            self.at_first_look(batch["id"])
        if batch["looks"] > self.looks_of.get(batch["id"], self.looks):
            await self._over(request, batch)

    def _file(self, content: bytes) -> dict[str, Any]:
        name = f"file-{len(self.files) + 1}"
        self.files[name] = content
        return {"id": name, "object": "file", "bytes": len(content), "created_at": 0, "purpose": "batch"}

    async def _submitted(self, request: web.BaseRequest) -> dict[str, Any]:
        asked = await request.json()
        assert asked["endpoint"] == "/v1/chat/completions"
        batch = {
            "id": f"batch_{len(self.batches) + 1}",
            "object": "batch",
            "status": "in_progress",
            "looks": 0,
        }
        self.batches[str(batch["id"])] = batch | {"input_file_id": asked["input_file_id"]}
        return self.batches[str(batch["id"])]

    async def _over(self, request: web.BaseRequest, batch: dict[str, Any]) -> None:
        """Answers the requests of a batch, as it would have answered them one by one."""
        batch["status"] = self.states.pop(0) if self.states else "completed"
        if batch["status"] == "failed":
            batch["errors"] = {"object": "list", "data": [{"code": "x", "message": "The file is not valid."}]}
            return
        number, good, bad = int(batch["id"].removeprefix("batch_")), list[bytes](), list[bytes]()
        for raw in self.files[batch["input_file_id"]].splitlines():
            line = json.loads(raw)
            status = self.fate(number, line["body"])
            if not status:
                continue
            if status == 200:
                answer = await self._answer(request, "/v1/chat/completions", line["body"])
                body = json.loads(answer.body)  # type: ignore[attr-defined]
            else:
                body = {"error": {"message": "The server had an error.", "type": "server_error"}}
            response = {"status_code": status, "request_id": "r", "body": body}
            said = {"id": "b", "custom_id": line["custom_id"], "response": response, "error": None}
            (good if status == 200 else bad).append(json.dumps(said, ensure_ascii=False).encode())
        for lines, name in ((good, "output_file_id"), (bad, "error_file_id")):
            batch[name] = self._file(b"\n".join(lines))["id"] if lines else None
