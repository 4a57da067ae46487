"""A run that is being held by `simulate`, read and reviewed at the same time on several pages."""

import contextlib
import http.client
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from simulator.storage.run_file import read_run
from simulator.web.server import Pages
from tests.paths import ROOT
from tests.servers.loopback import on_thread
from tests.web.opened import Opened

# Its second answer waits until somebody opens the gate.
BOT = """
from itertools import count

calls = count(1)


def answer(question):
    if next(calls) > 1:
        open("gate").read()
    return "手数料は440円です。"
"""


@contextlib.contextmanager
def news(page: Opened) -> Iterator[Iterator[dict[str, Any]]]:
    """What the server sends of a run, as it changes."""
    place = urlsplit(page.address)
    connection = http.client.HTTPConnection("127.0.0.1", page.pages.port, timeout=120)
    with contextlib.closing(connection):
        connection.request("GET", f"{place.path}events", headers={"Host": place.netloc})
        with connection.getresponse() as lines:
            yield (json.loads(line.removeprefix(b"data: ")) for line in lines if line.startswith(b"data: "))


def test_a_run_is_reviewed_while_it_is_held(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each page follows it and has the other's words at once; the run ends as if nobody had looked."""
    monkeypatch.chdir(tmp_path)
    Path("bot.py").write_text(BOT, encoding="utf-8")
    os.mkfifo("gate")
    plan = ["--adapter", "bot.py:answer", "--limit", "2", "--persona", "angry", "--turns", "1", "--offline"]
    command = [sys.executable, str(ROOT / "run.py"), *plan, "--concurrency", "1", "--language", "ja"]
    with (
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as held,
        on_thread(Pages(tmp_path / "runs")) as one,
        on_thread(Pages(tmp_path / "runs")) as two,
    ):
        gate = os.open("gate", os.O_WRONLY)  # opens once the bot waits for it
        (path,) = (tmp_path / "runs").glob("*/run.sqlite")
        mine, theirs = Opened(path, one), Opened(path, two)
        with news(mine) as first, news(theirs) as second:
            half = next(each for each in first if each["ended"] == 1)
            talk = next(iter(read_run(path).conversations.select("begun")))
            shown = mine.ask(""), mine.ask("/".join(["", *mine.address.split("/")[3:4], ""]))
            written = {
                "conversation": talk.id,
                "turn": 1,
                "by": "佐藤",
                "changes": {"judge_is": {"was": None, "now": "wrong"}},
            }
            said = mine.ask("words", "POST", written)
            seen = next(each for each in second if each["words"])
            os.close(gate)
            over = next(each for each in first if not each["running"])
        held.communicate()
    results = read_run(path)

    assert (half["running"], half["planned"]) == (True, 2)
    assert [reply.status for reply in (*shown, said)] == [200, 200, 200]
    assert [(word["by"], word["judge_is"]) for word in seen["words"]] == [("佐藤", "wrong")]
    assert (over["ended"], results.run.status) == (2, "finished")
    assert [word.judge_is for word in results.verdicts] == ["wrong"]
    assert len(list(results.conversations.select("begun"))) == 2
