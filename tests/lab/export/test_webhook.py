"""`--to https://...`: the verdict and a link in a chat, from the command line."""

import json
import re
import shutil
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from simulator import open_run
from simulator.api.outputs import RunOutputs
from simulator.core.settings import Settings
from simulator.lab.export.webhook import notice, payload
from simulator.storage.run_file import find_run
from tests.commands import Command, held_once
from tests.servers.loopback import LoopbackServer, on_thread

RUN = ("--offline", "--persona", "calm", "--limit", "3", "--turns", "1", "--language", "en")
SECRET = "/services/T0/B0/s3cr3t-of-the-hook"


class Hook(LoopbackServer):
    """Takes a message, or answers with a status and a text."""

    path = SECRET
    status, text = 200, "ok"

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        """Keep a message."""
        raw = await request.read()
        self.keep(request, raw, json.loads(raw))
        return web.Response(status=self.status, text=self.text)


@pytest.fixture(scope="module")
def held(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a finished run."""
    return held_once(tmp_path_factory, RUN)


@pytest.fixture
def run(held: Path) -> None:
    """That run, where the test stands."""
    shutil.copytree(held, Path(), dirs_exist_ok=True)


@pytest.fixture
def hook() -> Iterator[Hook]:
    """A webhook on loopback."""
    with on_thread(Hook()) as hook:
        yield hook


def test_the_verdict_and_a_link_are_posted(
    command: Command, hook: Hook, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No question and no answer, unless the address ends with #red; the link is that of the job."""
    done = command(*RUN, "--target", "90", "--to", hook.url)
    run = open_run()
    (posted,) = (request.body for request in hook.requests)
    assert posted["run"] == run.run.id
    assert posted["verdict"].startswith(f"Rehearsal {run.run.id}: Trial, ")
    assert posted["trial"] is True
    assert posted["link"].endswith("report.html")
    assert posted["red"] > 0
    assert posted["score"] == round(posted["score"], 4)
    assert run.conversations[0].turns[0].user not in json.dumps(posted)
    assert f"http://127.0.0.1:{hook.port}/***\n" in done.err

    monkeypatch.setenv("CI_JOB_URL", "https://ci.example.com/jobs/7")
    command("report", "--to", f"{hook.url}#red")
    posted = hook.requests[-1].body
    assert posted["link"] == "https://ci.example.com/jobs/7"
    assert len(posted["red_answers"]) == posted["red"]
    assert hook.requests[-1].path == SECRET


@pytest.mark.parametrize(
    ("status", "text", "code", "said"),
    [
        (500, "<html>sorry</html>", 3, "answered with 500. The run is safe"),
        (404, "no_service", 2, "answered with 404. no_service The run is safe"),
        (302, "", 2, "answered with 302."),
    ],
)
def test_a_webhook_that_refuses_is_one_line(
    command: Command, run: None, hook: Hook, *, status: int, text: str, code: int, said: str
) -> None:
    """The run is unharmed, its page is there, and the address is nowhere."""
    hook.status, hook.text = status, text
    done = command("report", "--to", hook.url)

    assert done.code == code
    assert said in done.error
    assert "s3cr3t" not in done.err + done.out
    files = [path for path in Path("runs").rglob("*") if path.is_file()]
    assert any(path.name == "report.html" for path in files)
    assert not any(b"s3cr3t" in path.read_bytes() for path in files)


@pytest.mark.parametrize("host", ["127.0.0.1", "a" * 70])
def test_a_webhook_that_is_away_is_one_line(command: Command, run: None, host: str) -> None:
    """Nothing listens there, or no name is that long; the rest is as before."""
    with on_thread(Hook()) as hook:
        address = hook.url.replace("127.0.0.1", host)
    done = command("report", "--to", address)
    assert done.code == 3
    assert re.search(r"no answer \(.+\)\. The run is safe: send it again with `report`\.", done.error)
    assert "s3cr3t" not in done.err


@pytest.mark.parametrize(
    "address", ["https://", "http://127.0.0.1:port/s3cr3t", "http://127.0.0.1/s3cr3t it", "http://a/s3cr3tあ"]
)
def test_what_is_no_address_is_said_before_the_run(command: Command, address: str) -> None:
    """Exit code 2, and nothing was held."""
    done = command(*RUN, "--to", address)
    assert (done.code, done.err.count("\n")) == (2, 1)
    assert "s3cr3t" not in done.err
    assert not Path("runs").exists()


@pytest.mark.parametrize(
    "reply",
    [b"220 mail \x1b[2J\r\n\r\n", b"HTTP/1.1 500 \x1b[2J\r\nTransfer-Encoding: chunked\r\n\r\nno chunk\r\n"],
)
def test_a_server_that_speaks_no_http_is_one_line(command: Command, run: None, reply: bytes) -> None:
    """As one that is away: exit code 3, and its words are text."""
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def answer() -> None:
            connection, _address = listening.accept()
            with connection:
                connection.recv(65536)
                connection.sendall(reply)

        thread = threading.Thread(target=answer)
        thread.start()
        done = command("report", "--to", f"http://127.0.0.1:{listening.getsockname()[1]}{SECRET}")
        thread.join()
    assert done.code == 3
    assert "The run is safe: send it again with `report`." in done.error
    assert "\x1b" not in done.err
    assert "s3cr3t" not in done.err


def texts(value: Any) -> list[str]:
    """All texts under the key "text", in their order."""
    if isinstance(value, dict):
        own = [value["text"]] if isinstance(value.get("text"), str) else []
        return [
            *own,
            *(text for key, item in value.items() if key != "text" or not own for text in texts(item)),
        ]
    return [text for item in value for text in texts(item)] if isinstance(value, list) else []


@pytest.mark.parametrize(
    ("address", "kind"),
    [
        ("https://hooks.slack.com/services/T/B/x", "plain_text"),
        ("https://contoso.webhook.office.com/webhookb2/x", "TextRun"),
        ("https://prod-1.westeurope.logic.azure.com:443/workflows/x", "TextRun"),
    ],
)
def test_slack_and_teams_have_their_own_forms(run: None, address: str, kind: str) -> None:
    """Known by the address; what bot and customers said is plain text there, and no link or mention."""
    context = RunOutputs(find_run("latest", Path("runs")), Settings()).context
    said = notice(context, red=True)._replace(red=("<!channel> *bold* [a](http://x)",))
    body = payload(address, said, context)

    assert json.dumps(body).count(kind) >= 4
    assert "<!channel> *bold* [a](http://x)" in texts(body)
    assert any("Answers that need review: " in text for text in texts(body))
    if kind == "plain_text":
        assert "<" not in str(body["text"])
