"""`grade RUN --batch`: requests go to the provider's batch API, which answers within a day at half the price.

A model of a batch is asked as any other: cache, forms and the reading of replies are the same, and so are the
keys of the cache. Only the request does not go out by itself. It waits until no other one has come for a
moment (`_QUIET`); then all that wait are written to a file, uploaded, and submitted as one batch:

    POST /files (purpose=batch)     a line of JSON for each request, with the key of its cache entry as its id
    POST /batches                   for /v1/chat/completions; the id goes into the run file at once
    GET  /batches/ID                until it is over, every few seconds and later once a minute
    GET  /files/ID/content          of its output, and of its errors

What a batch leaves unanswered goes into the next one, as does what has to be asked for once more; after
`_ROUNDS` it is a failed grade. A grading that was interrupted finds its batches in the note `batch` of the
run file: whatever it asks for again is taken from these, and only the rest is submitted.
"""

import asyncio
import contextlib
import json
import sys
from collections.abc import Coroutine, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar
from urllib.parse import parse_qsl

from pydantic import BaseModel, TypeAdapter

from simulator.core.errors import InputError, Outage
from simulator.core.messages import Message, _, localised, ngettext, say, system_error
from simulator.core.roles import Endpoint
from simulator.core.types import Usage
from simulator.models.cache import request_key
from simulator.models.client import CHAT, Body, Learnt, Model
from simulator.models.connections import Connections
from simulator.models.exchange import AGENT
from simulator.models.failures import failure_at, failure_of
from simulator.models.pricing import Ledger
from simulator.models.refusals import Refused
from simulator.storage.run_file import RunFile

if TYPE_CHECKING:  # half a second, and only where a batch is sent
    from openai import AsyncOpenAI, Omit

Result = TypeVar("Result")
NOTE = "batch"
# What providers ask for a request in a batch, of the usual price.
HALF = 0.5
# So many turns are graded together, and requests and bytes of one file; OpenAI takes 50,000 and 200 MB.
AT_ONCE, _MOST, _LARGEST = 10_000, 20_000, 100 * 2**20
# Seconds without a further request after which a batch goes out, and between looks at one.
_QUIET, FIRST, _LONGEST = 0.3, 1.0, 60.0
# Batches that a request may be part of.
_ROUNDS = 3
# The states of a batch that is over.
_OVER = frozenset({"completed", "failed", "expired", "cancelled"})


class Submitted(BaseModel):
    """A batch that was submitted, as it stands in the run file."""

    id: str
    url: str
    model: str


_NOTED = TypeAdapter(list[Submitted])


class Answered(NamedTuple):
    """What a batch has for one request: the status and the body of an answer."""

    status: int
    body: Any


@dataclass
class _Request:
    body: Body
    answer: "asyncio.Future[Answered]"
    rounds: int = 0


@dataclass
class _Queue:
    """The requests to one model at one endpoint that wait for a batch, by the ids of their lines."""

    endpoint: Endpoint
    waiting: dict[str, _Request] = field(default_factory=dict)
    task: "asyncio.Task[None] | None" = None
    added: asyncio.Event = field(default_factory=asyncio.Event)


class Batches:
    """The batches of one grading: makes the models that are asked by them."""

    share = HALF
    at_once = AT_ONCE

    def __init__(self, file: RunFile) -> None:
        """`file` is that of the run, which says what is under way."""
        self._file = file
        self._noted = _NOTED.validate_python(file.results().notes.get(NOTE) or [])
        # Those of an earlier grading are looked through once, before anything is submitted.
        self._earlier = list(self._noted)
        self._queues: dict[tuple[str, str], _Queue] = {}

    def __call__(
        self, endpoint: Endpoint, connections: Connections, ledger: Ledger, **options: Any
    ) -> "BatchModel":
        """The model of a batch. Raises InputError for one that is reached through LangChain."""
        if endpoint.of_provider:
            msg = _(
                "--batch takes an OpenAI-compatible endpoint; {model} is asked through its own package.",
                model=endpoint.model,
            )
            raise InputError(msg)
        return BatchModel(self, endpoint, connections, ledger, **options)

    async def answer(self, endpoint: Endpoint, body: Body) -> Answered:
        """The answer to a request, once its batch is over. Raises ModelFailure where there is none."""
        where = endpoint.url, endpoint.model
        queue = self._queues.setdefault(where, _Queue(endpoint))
        key = request_key(endpoint.url, body)
        if key not in queue.waiting:
            queue.waiting[key] = _Request(body, asyncio.get_running_loop().create_future())
            queue.added.set()
        request = queue.waiting[key]
        if queue.task is None or queue.task.done():
            queue.task = asyncio.create_task(self._answer_all(queue))
        return await asyncio.shield(request.answer)

    async def close(self, *, finished: bool) -> None:
        """Stops waiting; what was `finished` is under way no more."""
        for task in [queue.task for queue in self._queues.values() if queue.task]:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task
        if finished:
            self._note([])

    def interrupted(self) -> Message:
        """What becomes of the batches under way: somebody at a terminal is asked whether to cancel them."""
        if not self._noted:
            return _("interrupted")
        endpoints = [queue.endpoint for queue in self._queues.values()]
        if endpoints and sys.stdin.isatty():
            sys.stderr.write(localised(_("Cancel the batch at the endpoint? [y/N] ")))
            sys.stderr.flush()
            with contextlib.suppress(KeyboardInterrupt):
                if sys.stdin.readline().strip().lower() in {"y", "yes", "はい"}:
                    return self.cancel(endpoints[0])
        ids = ", ".join(noted.id for noted in self._noted)
        return _("interrupted; batch {ids} goes on at the endpoint (--cancel-batch ends it)", ids=ids)

    def cancel(self, endpoint: Endpoint | None) -> Message:
        """Cancels the batches of the run. Raises InputError where there are none, or at another endpoint."""
        mine = [noted for noted in self._noted if endpoint and noted.url == endpoint.url]

        async def cancel_all(endpoint: Endpoint) -> list[Submitted]:
            """Cancels those that are not over: of one that is, the answers are there to be used."""
            headers, under_way = _headers(endpoint), list[Submitted]()
            async with _client(endpoint) as client:
                for noted in mine:
                    with contextlib.suppress(_Unknown):  # one that was deleted is forgotten
                        look = client.batches.retrieve(noted.id, extra_headers=headers)
                        if (await _sent(endpoint, look, noted.id)).status in _OVER:
                            continue
                        call = client.batches.cancel(noted.id, extra_headers=headers)
                        await _sent(endpoint, call, noted.id)
                    under_way.append(noted)
            return under_way

        cancelled = asyncio.run(cancel_all(endpoint)) if endpoint and mine else []
        if not cancelled:
            raise InputError(_("no batch of this run is under way at the judge's endpoint."))
        self._note([noted for noted in self._noted if noted not in cancelled])
        return _("batch {ids} was cancelled", ids=", ".join(noted.id for noted in cancelled))

    def _note(self, under_way: list[Submitted]) -> None:
        if under_way != self._noted:
            self._noted = under_way
            self._file.save_note(NOTE, _NOTED.dump_json(under_way).decode())
            self._file.commit()

    async def _answer_all(self, queue: _Queue) -> None:
        """Answers all requests that wait, batch by batch; a failure is that of each of them."""
        try:
            async with _client(queue.endpoint) as client:
                while queue.waiting:
                    await self._quiet(queue)
                    await self._answer_some(queue, client)
        except Exception as error:  # each request has the failure; a mistake of our own, too
            for request in queue.waiting.values():
                if not request.answer.done():
                    request.answer.set_exception(error)
            queue.waiting.clear()

    async def _quiet(self, queue: _Queue) -> None:
        """Waits until no further request has come for a moment."""
        while len(queue.waiting) < _MOST:
            queue.added.clear()
            try:
                async with asyncio.timeout(_QUIET):
                    await queue.added.wait()
            except TimeoutError:
                return

    async def _answer_some(self, queue: _Queue, client: "AsyncOpenAI") -> None:
        """One batch: one that is under way already, else a new one."""
        endpoint = queue.endpoint
        where = endpoint.url, endpoint.model
        if noted := next((n for n in self._earlier if (n.url, n.model) == where), None):
            self._earlier.remove(noted)
            say(_("Batch {id} is under way: its answers are waited for.", id=noted.id))
            sent = dict(queue.waiting)
        else:
            sent = dict(_fitting(queue.waiting))
            noted = await self._submit(endpoint, client, sent)
        ended = await self._over(endpoint, client, noted.id)
        answers: list[tuple[str, Answered]] = []
        for id_ in filter(None, (ended.output_file_id, ended.error_file_id)):
            with contextlib.suppress(_Unknown):  # deleted since: its requests have no answer
                call = client.files.content(id_, extra_headers=_headers(endpoint))
                answers += _lines(await _sent(endpoint, call, id_))
        for key, answered in answers:
            # Whatever may pass is asked for again, as long as there are rounds.
            request = queue.waiting.get(key)
            if request and not (answered.status != 200 and request.rounds < _ROUNDS and _may_pass(answered)):
                request.answer.set_result(answered)
                del queue.waiting[key]
        left = [key for key in sent if key in queue.waiting]
        if ended.status != "completed":
            # What was answered is used; the rest is asked for when somebody grades again.
            self._note([n for n in self._noted if n != noted])
            raise Outage("error", _why(ended, len(sent), len(left)))
        for key in left:
            if (request := queue.waiting[key]).rounds >= _ROUNDS:
                request.answer.set_exception(
                    failure_at(endpoint, "error", _("the batch has no answer to it"))
                )
                del queue.waiting[key]

    async def _submit(
        self, endpoint: Endpoint, client: "AsyncOpenAI", requests: dict[str, _Request]
    ) -> Submitted:
        """Uploads the requests and submits them as a batch."""
        lines = [_line(key, request.body) for key, request in requests.items()]
        for request in requests.values():
            request.rounds += 1
        headers = _headers(endpoint)
        upload = ("rehearsal.jsonl", b"\n".join(lines), "application/jsonl")
        file = await _sent(endpoint, client.files.create(file=upload, purpose="batch", extra_headers=headers))
        batch = await _sent(
            endpoint,
            client.batches.create(
                input_file_id=file.id,
                endpoint="/v1/chat/completions",
                completion_window="24h",
                extra_headers=headers,
            ),
        )
        noted = Submitted(id=batch.id, url=endpoint.url, model=endpoint.model)
        self._note([*self._noted, noted])
        submitted = ngettext(
            "Batch {id}: {n} request to {model} was submitted. It takes up to a day; after Ctrl-C the same"
            " command goes on waiting.",
            "Batch {id}: {n} requests to {model} were submitted. It takes up to a day; after Ctrl-C the same"
            " command goes on waiting.",
            n=len(requests), id=batch.id, model=endpoint.model,
        )  # fmt: skip
        say(submitted)
        return noted

    @staticmethod
    async def _over(endpoint: Endpoint, client: "AsyncOpenAI", id_: str) -> Any:
        """The batch once it is over. Raises ModelFailure where nobody can say any more how it is."""
        pause = FIRST
        while True:
            batch = await _sent(endpoint, client.batches.retrieve(id_, extra_headers=_headers(endpoint)), id_)
            if batch.status in _OVER:
                return batch
            await asyncio.sleep(pause)
            pause = min(_LONGEST, pause * 1.5)


class _Unknown(Outage):
    """The endpoint does not know a batch or a file, or not with this key."""


class BatchModel(Model):
    """A chat model whose requests go out in batches; embeddings are asked for at once."""

    def __init__(
        self,
        batches: Batches,
        endpoint: Endpoint,
        connections: Connections,
        ledger: Ledger,
        **options: Any,
    ) -> None:
        super().__init__(endpoint, connections, ledger, **options)
        self._of = batches

    async def _send(self, path: str, body: Body) -> tuple[Any, Usage]:
        """The reply of a batch, charged at its price."""
        if path != CHAT:
            return await super()._send(path, body)
        role = self.endpoint.role
        async with self.ledger.room(role, body, HALF):
            answered = await self._of.answer(self.endpoint, body)
            if answered.status == 200:
                usage = self._usage(answered.body)
                self.ledger.charge(role, usage, sent=body, share=HALF)
                return answered.body, usage
        error = _refused(answered)
        if self._abilities.learn(error.refusal, body):
            raise Learnt from error
        raise failure_of(self.endpoint, error)


def _client(endpoint: Endpoint) -> "AsyncOpenAI":
    """OpenAI's own client, for the endpoint of a model; it tries again by itself what may pass."""
    from openai import AsyncOpenAI

    address, _mark, query = endpoint.url.partition("?")
    return AsyncOpenAI(
        api_key=endpoint.key.get_secret_value(),
        base_url=address,
        default_headers={"User-Agent": AGENT},
        default_query=dict(parse_qsl(query)),
        max_retries=5,
    )


def _headers(endpoint: Endpoint) -> "dict[str, str | Omit]":
    """The headers of each call: only there the client lets one leave out the key."""
    from openai import Omit

    return {name: Omit() if text is None else text for name, text in endpoint.sent_headers.items()}


async def _sent(endpoint: Endpoint, call: Coroutine[Any, Any, Result], asked_for: str = "") -> Result:
    """What a call of the client returns. Raises AccessDenied or Outage, which end the grading.

    `asked_for` is the id of a batch or file that was there.
    """
    from openai import APIConnectionError, APIStatusError

    try:
        return await call
    except APIStatusError as error:
        refused = Refused(error.status_code, error.response.headers, error.response.text)
        if error.status_code == 404 and asked_for:
            msg = _(
                "{address} does not know {id} (404): it was deleted, or made with another key. With"
                " --cancel-batch the run forgets it.",
                address=endpoint.address,
                id=asked_for,
            )
            raise _Unknown("denied", msg) from None
        if error.status_code in {404, 405, 501}:
            msg = _(
                "{address} takes no batches ({code}): grade without --batch.",
                address=endpoint.address,
                code=error.status_code,
            )
            raise Outage("denied", msg) from None
        failure = failure_of(endpoint, refused)
        raise (failure if failure.failure.kind == "denied" else Outage("error", failure.message)) from None
    except APIConnectionError as error:
        failure = failure_at(endpoint, "unreachable", system_error(error.__cause__ or error))
        raise Outage("unreachable", failure.message) from None


def _fitting(waiting: dict[str, _Request]) -> Iterator[tuple[str, _Request]]:
    """As many of the requests as fit into one file."""
    size = 0
    for key, request in list(waiting.items())[:_MOST]:
        size += len(_line(key, request.body))
        if size > _LARGEST:
            return
        yield key, request


def _line(key: str, body: Body) -> bytes:
    line = {"custom_id": key, "method": "POST", "url": "/v1/chat/completions", "body": body}
    return json.dumps(line).encode()


def _lines(content: Any) -> Iterator[tuple[str, Answered]]:
    """The answers in a file of a batch, by the ids of their requests; lines that are none are left out."""
    # By line feeds alone: a text may hold other separators of lines.
    for line in content.text.split("\n"):
        with contextlib.suppress(ValueError, KeyError, TypeError, AttributeError):
            said = json.loads(line)
            response, error = said.get("response") or {}, said.get("error")
            status = int(response.get("status_code") or 500) if not error else 500
            yield str(said["custom_id"]), Answered(status, response.get("body") or {"error": error})


def _refused(answered: Answered) -> Refused:
    return Refused(answered.status, {}, json.dumps(answered.body, ensure_ascii=False))


def _may_pass(answered: Answered) -> bool:
    return _refused(answered).refusal.is_transient


def _why(batch: Any, n: int, left: int) -> Message:
    """Why a batch that is over is not complete."""
    errors = getattr(batch.errors, "data", None) or []
    said = " ".join(str(getattr(error, "message", "") or "").strip() for error in errors[:1])[:300]
    sentences: dict[str, Message] = {
        "expired": _("batch {id} expired at the endpoint with {left} of {n} requests unanswered"),
        "cancelled": _("batch {id} was cancelled with {left} of {n} requests unanswered"),
    }
    why = sentences.get(batch.status, _("batch {id} failed at the endpoint: {said}"))
    return why.format(id=batch.id, n=n, left=left, said=said or batch.status)
