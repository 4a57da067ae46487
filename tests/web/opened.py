"""Runs as files, their pages served, and what a stranger sends."""

import contextlib
import http.client
import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from simulator.core.types import Conversation, Results, Utterance
from simulator.storage.run_file import RunFile
from simulator.web.server import Pages
from tests.sample_runs import rehearsed
from tests.servers.loopback import on_thread


def stored(results: Results, runs: Path) -> Path:
    """A run in its file; it is over."""
    folder = runs / results.run.id
    with contextlib.closing(
        RunFile.create(folder, results.run, results.conversations, results.personas)
    ) as file:
        for talk in results.conversations:
            hold(file, talk, results)
        file.finish("finished", 1.0)
        return file.path


def hold(file: RunFile, talk: Conversation, results: Results) -> None:
    """Saves a conversation as if it were held now, with its grades."""
    for turn in talk.turns:
        file.save_utterance(talk.id, turn.index, Utterance(text=turn.user))
        file.save_answer(talk.id, turn.index, turn.answer)
    file.save_scores(score for score in results.scores if score.conversation == talk.id)
    if talk.ended:
        file.save_ending(talk.id, talk.ended, talk.reason, talk.closing)


class Opened(NamedTuple):
    """A run and its page."""

    path: Path
    pages: Pages

    @property
    def address(self) -> str:
        """The page of the run."""
        return self.pages.address(self.path.parent.name)

    @property
    def rows(self) -> list[dict[str, Any]]:
        """Every row of what people said, oldest first."""
        with contextlib.closing(sqlite3.connect(self.path)) as file:
            return [json.loads(body) for (body,) in file.execute("SELECT body FROM verdicts ORDER BY id")]

    def ask(self, path: str = "", method: str = "GET", body: Any = None, **headers: str) -> "Reply":
        """A request as its sender likes; `path` is below the page, or begins with a slash."""
        place = urlsplit(self.address)
        connection = http.client.HTTPConnection("127.0.0.1", self.pages.port)
        sent = {"Host": place.netloc, **({"Content-Type": "application/json"} if body is not None else {})}
        if method == "POST":
            sent["Origin"] = f"http://{place.netloc}"
        sent |= {name.replace("_", "-"): value for name, value in headers.items()}
        with contextlib.closing(connection):
            connection.putrequest(method, path if path.startswith("/") else place.path + path, skip_host=True)
            content = json.dumps(body).encode() if body is not None else b""
            for name, value in {**sent, "Content-Length": str(len(content))}.items():
                if value:
                    connection.putheader(name, value)
            connection.endheaders(content)
            answer = connection.getresponse()
            return Reply(answer.status, dict(answer.getheaders()), answer.read().decode())


class Reply(NamedTuple):
    """What was answered."""

    status: int
    headers: dict[str, str]
    text: str

    @property
    def json(self) -> Any:
        """The object in it."""
        return json.loads(self.text)


@contextlib.contextmanager
def opened(runs: Path, results: Results | None = None) -> Iterator[Opened]:
    """The page of a run, as long as the block goes on."""
    path = stored(results or rehearsed(), runs)
    with on_thread(Pages(runs)) as pages:
        yield Opened(path, pages)


def word(**changes: tuple[Any, Any]) -> dict[str, Any]:
    """What a page sends about the gravest answer of the rehearsed run."""
    fields = {name: {"was": was, "now": now} for name, (was, now) in changes.items()}
    return {"conversation": "angry/cancel-03-ja#0", "turn": 1, "by": "Sato", "changes": fields}
