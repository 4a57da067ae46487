"""The adapter of JSON endpoints whose answers are fetched."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
from simulator.shelves.rag_adapters.http import connect

from simulator import Passage
from simulator.runner.conversation import ask
from tests.asking import FIRST, answered, failure
from tests.servers.faults import Reply
from tests.servers.jobs import COURSE, JobServer
from tests.servers.malformed import RawServer, bomb, ok


@pytest.fixture
async def server() -> AsyncIterator[JobServer]:
    """A bot whose jobs are done at the third look."""
    async with JobServer() as running:
        yield running


def settings_of(server: JobServer, **settings: Any) -> dict[str, Any]:
    """The settings that fit the server, and a test's own."""
    usual = {"answer": "result.reply", "passages": "result.sources", "job": "id", "poll": "$url/$job"}
    return {"url": server.url, **usual, "until": "status=completed", "interval": 0.01, **settings}


async def asked(server: JobServer, **settings: Any) -> Any:
    """One question to a bot with these settings."""
    return await answered(connect(**settings_of(server, **settings)))


async def test_a_job_is_asked_after_until_it_is_done(server: JobServer) -> None:
    """The question goes out once; its job, whatever its name, is asked after with the same headers."""
    answer = await asked(server, headers="X-Session: $session", url=f"{server.url}?tenant=1")

    assert answer.text == "990円です。"
    assert answer.passages == (Passage(id="faq-1", text="料金表", score=0.9),)
    assert server.asked == {"job/1": 3}
    assert [request.headers["x-session"] for request in server.requests] == ["s1"] * 4
    assert server.requests[0].body == {"message": "料金は？", "session": "s1"}


@pytest.mark.parametrize(
    ("accepted", "poll", "job"),
    [
        ({"links": {"status": "/jobs/job%2F1"}}, "$job", "links.status"),
        ({"id": 1}, "/jobs/job%2F$job", "id"),
        ({"id": "{id}"}, "http://127.0.0.1:{port}/jobs/${job}", "id"),
    ],
)
async def test_the_address_of_a_job(server: JobServer, accepted: Any, poll: str, job: str) -> None:
    """Given whole by the bot, beside the address asked, or written out."""
    server.accepted = accepted
    answer = await asked(server, poll=poll.replace("{port}", str(server.port)), job=job)

    assert answer.text == "990円です。"


async def test_a_bot_that_is_done_at_once_is_not_asked_again(server: JobServer) -> None:
    """The reply to the question may be the answer."""
    server.accepted = {**COURSE[-1], "id": "{id}"}

    assert (await asked(server)).text == "990円です。"
    assert not server.asked


async def test_an_empty_reply_means_not_yet(server: JobServer) -> None:
    """204, or 202 without a body."""
    server.course = (Reply(status=204), Reply(status=202), *COURSE)

    assert (await asked(server)).text == "990円です。"
    assert server.asked == {"job/1": 5}


@pytest.mark.parametrize(
    ("course", "settings", "kind", "said"),
    [
        ({"status": "failed", "why": "no model"}, {}, "error", "the job ended with status=failed: {"),
        ({"status": "ERROR"}, {"until": ""}, "error", "the job ended with status=ERROR"),
        ({"state": "cancelled"}, {"until": "result"}, "error", "the job ended with state=cancelled"),
        (Reply(status=500, body=b"oops"), {}, "error", "HTTP 500: oops"),
        (Reply(status=404), {}, "error", "HTTP 404"),
        (Reply(status=200, body=b"<html>"), {}, "malformed", "the reply is not JSON"),
        ({"status": "completed"}, {}, "malformed", "no 'result' in the reply, which has the keys status"),
    ],
)
async def test_a_job_that_fails_says_how(
    server: JobServer, course: Any, settings: dict[str, str], kind: str, said: str
) -> None:
    """It is not asked after until the time is over."""
    server.course = (COURSE[0], course)
    found = await failure(connect(**settings_of(server, **settings)))

    assert found[0] == kind
    assert found[1].startswith(said)


@pytest.mark.parametrize(
    ("accepted", "poll", "said"),
    [
        ({"ticket": 1}, "$url/$job", "no 'id' in the reply, which has the keys ticket"),
        ({"id": None}, "$url/$job", "the value at id is not a name"),
        ({"id": {"a": 1}}, "$url/$job", "the value at id is not a name"),
        (
            {"id": "http://elsewhere.example/jobs/1"},
            "$job",
            "the job at id has no address at the host of url",
        ),
        ({"id": "//elsewhere.example/jobs/1"}, "$job", "the job at id has no address at the host of url"),
        ({"id": "http://[::1"}, "$job", "the job at id has no address at the host of url"),
        (
            {"id": ".elsewhere.example"},
            "http://127.0.0.1$job/",
            "the job at id has no address at the host of url",
        ),
    ],
)
async def test_a_job_without_a_place_is_malformed(
    server: JobServer, accepted: Any, poll: str, said: str
) -> None:
    """The keys in the headers are not sent to wherever a bot points."""
    server.accepted = accepted

    assert await failure(connect(**settings_of(server, poll=poll))) == ("malformed", said)


async def test_a_job_that_never_ends_is_given_up(server: JobServer) -> None:
    """After --timeout, as any answer that does not come."""
    server.course = COURSE[:1]
    bot = connect(**settings_of(server))
    answer = await ask(bot, FIRST, 0.2)
    await bot.aclose()

    assert answer.error is not None
    assert answer.error.kind == "timeout"
    assert 0 < server.asked["job/1"] <= 20


async def test_a_job_that_ends_in_a_bomb_is_not_unpacked() -> None:
    """What comes at the last look is read within the limits of any answer."""
    async with RawServer(
        lambda request: ok(b'{"id": 1}') if request.startswith(b"POST") else bomb("gzip")
    ) as server:
        bot = connect(url=server.url, answer="a", job="id", poll="$url/$job", interval=0.01)
        assert await failure(bot) == ("malformed", "the answer is longer than 8 MB")
