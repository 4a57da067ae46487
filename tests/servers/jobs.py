"""A bot that accepts a question as a job, which the client polls until it is done."""

import json
from collections import Counter
from collections.abc import Sequence
from typing import Any

from aiohttp import web

from tests.servers.bot import bot_reply
from tests.servers.faults import Reply
from tests.servers.loopback import LoopbackServer, dumps

COURSE = (
    {"status": "queued"},
    {"status": "running", "progress": 50},
    {"status": "completed", "result": bot_reply("990円です。", "料金表")["data"]},
)


class JobServer(LoopbackServer):
    """POST /jobs gives `accepted`; each GET of /jobs/<id> the next step of `course`, the last one for ever.

    In both, `{id}` stands for the job's id. `asked` counts the GETs per job.
    """

    path = "/jobs"

    def __init__(self, course: Sequence[dict[str, Any] | Reply] = COURSE) -> None:
        super().__init__()
        self.course, self.accepted = course, {"id": "{id}", "status": "queued"}
        self.asked: Counter[str] = Counter()
        self.jobs = 0

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        """Take a question, or say how a job stands."""
        raw = await request.read()
        self.keep(request, raw, json.loads(raw) if raw else None)
        if request.method == "POST" and request.path == self.path:
            self.jobs += 1
            return self._response(self.accepted, f"job/{self.jobs}", 202)
        name = request.rel_url.raw_path.removeprefix(f"{self.path}/").replace("%2F", "/")
        if request.method != "GET" or not name.startswith("job/"):
            return web.Response(status=404, text="not found")
        step = self.course[min(self.asked[name], len(self.course) - 1)]
        self.asked[name] += 1
        return self._response(step, name, 200)

    @staticmethod
    def _response(step: dict[str, Any] | Reply, name: str, status: int) -> web.Response:
        if isinstance(step, Reply):
            return web.Response(status=step.status, body=step.body, content_type="application/json")
        text = dumps(step).decode().replace("{id}", name)
        return web.Response(status=status, text=text, content_type="application/json")
