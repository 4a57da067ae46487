"""Which requests are answered: those of the browser that was sent here, and no others.

Only who has the token in the address may read and write the runs of the folder: nobody else on this machine,
no other web page, nobody on a network. So:

- the server listens on 127.0.0.1, and there is no option for another address;
- every address begins with a random token; without it there is nothing to be found. The browser is opened
  with a ticket that is good once: others may read with which words a program was started;
- Host must be ours (a name that somebody else points here is not), and Origin, where one is sent;
- only POST changes anything, with our Origin, as JSON, which no form of another page can send;
- a run is one of the names that the folder has, a file one of those below: no path is made of a request;
- pages load our own script and style alone (`served` in painters/html.py), and are kept nowhere.
"""

import asyncio
import contextlib
import hmac
import json
import os
import secrets
import zlib
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Self, TypeVar
from urllib.parse import quote

from aiohttp import web
from pydantic import BaseModel, ValidationError

from simulator.api.again import ask_again, cost_again, prepare_again
from simulator.api.outputs import BESIDE
from simulator.core.concurrency import on_a_thread
from simulator.core.document import Line, Report, Section
from simulator.core.errors import RehearsalError
from simulator.core.messages import _, language_of, localised, shown
from simulator.core.settings import load_settings
from simulator.report.painters import html
from simulator.storage.run_file import RUN_FILE
from simulator.storage.words import OtherWord
from simulator.web.blind import WrittenGrade, blind_report, blind_state, save_grade
from simulator.web.review import (
    Compared,
    RunReview,
    WrittenAgain,
    WrittenDecision,
    WrittenWords,
    current_json,
)
from simulator.web.runs import Runs

HOST = "127.0.0.1"
ASSETS = {"open.js": "text/javascript", "open.css": "text/css", "blind.js": "text/javascript"}
# The page of a run for blind grades.
BLIND = "blind.html"
# Bytes of what a page may send.
LARGEST = 2**18
# Seconds between two looks at whether a run has changed.
LOOK = 0.5
# Of these the usual one of a folder is taken if it is free, so that a browser knows the page again. They are
# below those that systems give to connections.
_PORTS = range(20_000, 32_768)
_HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "frame-ancestors 'none'",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}

Written = TypeVar("Written", bound=BaseModel)
Result = TypeVar("Result")
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class Pages:
    """The pages of the runs of a folder, to be worked on."""

    def __init__(self, runs: Path) -> None:
        """Nothing is served yet."""
        self.runs, self.port = runs, 0
        self._token, self._ticket = secrets.token_urlsafe(24), secrets.token_urlsafe(24)
        self._list, self._reviews = Runs(runs), dict[str, RunReview]()
        self._streams: set[asyncio.Task[Any]] = set()
        # One thing after the other: a report keeps what it has worked out.
        self._worker = ThreadPoolExecutor(1, "pages")

    def address(self, run: str = "", page: str = "", *, once: bool = False) -> str:
        """Of a page of a run, or of the first one; `once`: a ticket in the place of the token."""
        place = f"{quote(run, safe='')}/{page}" if run else ""
        return f"http://{HOST}:{self.port}/{self._ticket if once else self._token}/{place}"

    async def __aenter__(self) -> Self:
        """Answers requests from here on."""
        app = web.Application(middlewares=[self._guard], client_max_size=LARGEST)
        run = "/{token}/{run}"
        app.add_routes([
            web.get("/{token}/", self._first),
            *(web.get(f"/{{token}}/{name}", self._asset) for name in ASSETS),
            web.get(f"{run}/", self._page),
            web.get(f"{run}/report.html", self._page),  # as pages of two runs call it
            web.get(f"{run}/{BESIDE}", self._beside),
            *(web.get(f"{run}/{name}", self._asset) for name in ASSETS),
            web.get(f"{run}/{BLIND}", self._blind_page),
            web.get(f"{run}/blind", self._blind),
            web.get(f"{run}/state", self._state),
            web.get(f"{run}/events", self._events),
            web.post(f"{run}/words", self._written(WrittenWords, self._write)),
            web.post(f"{run}/grades", self._written(WrittenGrade, save_grade)),
            web.post(f"{run}/decision", self._written(WrittenDecision, RunReview.decide)),
            web.post(f"{run}/difference", self._written(Compared, RunReview.difference)),
            web.post(f"{run}/again", self._again),
        ])  # fmt: skip
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
        await self._runner.setup()
        await self._listen(self._runner)
        return self

    async def __aexit__(self, *_: object) -> None:
        for stream in self._streams:
            stream.cancel()
        await self._runner.cleanup()
        self._worker.shutdown()

    async def _listen(self, runner: web.AppRunner) -> None:
        usual = _PORTS[zlib.crc32(str(self.runs.resolve()).encode()) % len(_PORTS)]
        try:
            await web.TCPSite(runner, HOST, usual).start()
        except OSError:  # taken: whichever is free
            await web.TCPSite(runner, HOST, 0).start()
        self.port = runner.addresses[0][1]

    @web.middleware
    async def _guard(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Lets through what may be answered, and words what went wrong."""
        response = self._refused(request) or await self._answer(request, handler)
        if not response.prepared:
            response.headers.update(_HEADERS)
        return response

    def _refused(self, request: web.Request) -> web.Response | None:
        """What is answered to a stranger; None for our own browser."""
        here = f"{HOST}:{self.port}"
        # A browser names the origin of every POST, and of what another page asks for.
        usual = f"http://{here}" if request.method == "POST" else None
        if request.headers.get("Host") != here or request.headers.get("Origin", usual and "") not in (
            usual, f"http://{here}",
        ):  # fmt: skip
            return web.Response(status=403)
        token = request.match_info.get("token", "")
        if self._ticket and _same(token, self._ticket):
            self._ticket = ""
            place = request.rel_url.raw_path.replace(token, self._token, 1)
            return web.Response(status=303, headers={"Location": place})
        return None if _same(token, self._token) else web.Response(status=404)

    async def _answer(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        try:
            return await handler(request)
        except web.HTTPException as error:
            return web.Response(status=error.status)
        except ValidationError as error:
            return web.json_response({"error": str(error.errors()[0]["msg"])}, status=400)
        except OtherWord as other:
            return web.json_response({"current": current_json(other.current)}, status=409)
        except RehearsalError as error:
            if "text/html" in request.headers.get("Accept", ""):  # a page was asked for
                return _html(_error_page(error), status=400)
            return web.json_response({"error": localised(error.message)}, status=400)

    # --- What is asked for ---

    async def _first(self, _request: web.Request) -> web.Response:
        return _html(await self._apart(lambda: html.page(self._list.report()).encode()))

    async def _beside(self, request: web.Request) -> web.Response:
        review = self._review(request)
        if not (page := await self._apart(lambda: review.reading.beside)):
            raise web.HTTPNotFound
        return _html(page)

    async def _asset(self, request: web.Request) -> web.Response:
        name = request.path.rpartition("/")[2]
        text = Path(__file__).with_name(name).read_text(encoding="utf-8")
        return web.Response(text=text, content_type=ASSETS[name])

    async def _page(self, request: web.Request) -> web.Response:
        review = self._review(request)
        return _html(html.served(await self._apart(lambda: review.reading.page), "open.js", "open.css"))

    async def _blind_page(self, request: web.Request) -> web.Response:
        review = self._review(request)
        page = await self._apart(lambda: html.page(blind_report(review)).encode())
        return _html(html.served(page, "blind.js", "open.css"))

    async def _blind(self, request: web.Request) -> web.Response:
        review, by = self._review(request), request.query.get("by", "")
        return web.json_response(await self._apart(lambda: blind_state(review, by)))

    async def _state(self, request: web.Request) -> web.Response:
        return web.json_response(await self._apart(self._review(request).state))

    def _written(
        self, kind: type[Written], work: Callable[[RunReview, Written], dict[str, Any] | None]
    ) -> Handler:
        """What does something with what a page sent, and answers with what comes of it."""

        async def handler(request: web.Request) -> web.Response:
            review, written = self._review(request), await _read(request, kind)
            return web.json_response(await self._apart(lambda: work(review, written)) or {})

        return handler

    def _write(self, review: RunReview, written: WrittenWords) -> dict[str, Any]:
        return {"words": review.write(written, load_settings({"runs": self.runs}).tests)}

    async def _again(self, request: web.Request) -> web.Response:
        """Says what it costs to hold a conversation once more; on a further request, holds it."""
        review, asked = self._review(request), await _read(request, WrittenAgain)
        today = load_settings({"runs": self.runs})
        again = await self._apart(lambda: prepare_again(review.path, asked.conversation, today))
        if not asked.agreed:
            language = review.reading.language
            return web.json_response({"cost": shown(await self._apart(lambda: cost_again(again)), language)})
        # A bot that blocks its event loop, or loads slowly, holds up no page.
        await on_a_thread(asyncio.run, ask_again(again), name="ask again")
        return web.json_response({})

    async def _events(self, request: web.Request) -> web.StreamResponse:
        """What changes in a run, as it changes (server-sent events)."""
        review = self._review(request)
        stream = web.StreamResponse(headers={**_HEADERS, "Content-Type": "text/event-stream"})
        await stream.prepare(request)
        if task := asyncio.current_task():
            self._streams.add(task)
            task.add_done_callback(self._streams.discard)
        seen: tuple[int, ...] = ()
        with contextlib.suppress(ConnectionError):
            while True:
                if (mark := review.mark) != seen:
                    seen = mark
                    with contextlib.suppress(RehearsalError):  # purged meanwhile
                        news = json.dumps(await self._apart(review.news), ensure_ascii=False)
                        await stream.write(f"data: {news}\n\n".encode())
                await asyncio.sleep(LOOK)
        return stream

    def _review(self, request: web.Request) -> RunReview:
        """The run that is asked for; nothing but the name of a run of the folder is found."""
        name = request.match_info["run"]
        if name not in {path.parent.name for path in self.runs.glob(f"*/{RUN_FILE}")}:
            raise web.HTTPNotFound
        return self._reviews.setdefault(name, RunReview(self.runs / name / RUN_FILE))

    async def _apart(self, work: Callable[[], Result]) -> Result:
        """The result of what takes a while, on a thread of its own."""
        return await asyncio.get_running_loop().run_in_executor(self._worker, work)


def _html(page: bytes, status: int = 200) -> web.Response:
    return web.Response(body=page, content_type="text/html", charset="utf-8", status=status)


def _error_page(error: RehearsalError) -> bytes:
    """A page that says what is wrong, in the language of the terminal."""
    section = Section("error", "", (Line(error.message),))
    title = _("The page cannot be shown")
    return html.page(Report(title=title, language=language_of(os.environ), sections=(section,))).encode()


def _same(token: str, secret: str) -> bool:
    return hmac.compare_digest(token.encode(), secret.encode())


async def _read(request: web.Request, kind: type[Written]) -> Written:
    """What a page sent; nothing but JSON of this kind is read."""
    if request.content_type != "application/json":
        raise web.HTTPUnsupportedMediaType
    return kind.model_validate_json(await request.read())
