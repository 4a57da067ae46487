"""Answers by polling: a question starts a job, which is polled until it is done."""

import asyncio
from typing import Any
from urllib.parse import quote, urljoin, urlsplit

from rag_adapters._environment import Environment
from rag_adapters._json import Condition, JsonPath, as_json
from rag_adapters._wire import Wire, shortened, text_of
from simulator import BotFailure, _

# The states of a job that has failed.
_FAILED = ("failed", "failure", "error", "cancelled", "canceled", "expired", "aborted", "rejected")
_STATUS = (JsonPath("", "status"), JsonPath("", "state"))
_WHOLE_ADDRESS = ("$job", "${job}")


class Polling:
    """Polls a job every `interval` seconds until a condition holds.

    In the address `$job` is the job's name and `$url` the address that the question went to.
    """

    def __init__(
        self, address: str, job: JsonPath, until: Condition, interval: float, environment: Environment
    ) -> None:
        self.address, self.job, self.until, self.interval = address, job, until, interval
        self.environment = environment
        self._told_at = (until.path,) if until.values else _STATUS

    async def replies(self, wire: Wire, arguments: dict[str, Any]) -> list[Any]:
        """The one reply of the finished job."""
        return [await self._done(wire, arguments)]

    async def _done(self, wire: Wire, arguments: dict[str, Any]) -> Any:
        """The reply that meets the condition; the run's --timeout limits the time."""
        reply = await wire.json(arguments)
        if self.until.holds(reply):
            return reply
        kept = {key: each for key, each in arguments.items() if key not in ("data", "params")}
        asked = {**kept, "method": "GET", "url": self.place(arguments["url"], self._named(reply))}
        while not self.until.holds(reply):
            self._check(reply)
            await asyncio.sleep(self.interval)
            reply = await self._now(wire, asked)
        return reply

    async def _now(self, wire: Wire, arguments: dict[str, Any]) -> Any:
        """The state of the job; None while the endpoint sends an empty reply."""
        async with wire.response(arguments) as response:
            text = await text_of(response)
            return None if response.status in (202, 204) and not text.strip() else wire.parsed(response, text)

    def place(self, url: str, job: str) -> str:
        """The address of a job; a whole address from the bot must be at the same host.

        The keys in the headers are sent to no other host.
        """
        base = urlsplit(url)._replace(query="").geturl().rstrip("/")
        if self.address not in _WHOLE_ADDRESS:
            told = self.environment.filled(self.address, url=base, job=quote(job, safe=""))
            return urljoin(url, told)
        try:
            place = urljoin(url, job)
            same = urlsplit(place)[:2] == urlsplit(url)[:2]
        except ValueError:
            same = False
        if not same:
            raise BotFailure(
                "malformed", _("the job at {job} has no address at the host of url", job=self.job.text)
            )
        return place

    def _named(self, reply: Any) -> str:
        named = self.job.of(reply)
        if named is None or isinstance(named, (dict, list)) or named == "":
            raise BotFailure("malformed", _("what stands at {job} names no job", job=self.job.text))
        return str(named)

    def _check(self, reply: Any) -> None:
        for path in self._told_at:
            status = path.within(reply)
            if isinstance(status, str) and status.lower() in _FAILED:
                told = shortened(self.environment.masked(as_json(reply)))
                raise BotFailure(
                    "error",
                    _(
                        "the job ended with {path}={status:d}: {answer}",
                        path=path.text,
                        status=status,
                        answer=told,
                    ),
                )
