"""Workers hold the very conversations that one process holds, whoever of them is lost on the way."""

import asyncio
import json
import os
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from simulator.cli.app import main
from simulator.core.errors import InputError
from simulator.core.settings import dollars
from simulator.core.types import Ended, Results
from simulator.storage.run_file import read_run
from tests.lab.dask.clusters import (
    SLOW,
    Acting,
    FailingProxy,
    Machines,
    kill,
    offline,
    rehearsed,
    resumed,
    wait_for,
)
from tests.paths import ROOT
from tests.runner.test_run import played
from tests.servers.openai import OpenAIServer

pytestmark = [
    pytest.mark.skipif(find_spec("distributed") is None, reason="the extra 'dask' is not installed"),
    pytest.mark.timeout(120),
]
JUDGE = """
from words import BAD
from simulator import GradingContext, Score

def strict(exhibit: GradingContext) -> Score:
    said = exhibit.turn.answer.text
    return Score(
        judge="strict", conversation=exhibit.conversation, turn=exhibit.turn.index, state="scored",
        value=0.0 if BAD in said else 1.0, raw=0.0, scale=(0, 1), reason="travelled",
    )
"""
KEY = "sk-never-to-be-seen-1234567890"
BUDGET = 0.3
LIGHT: dict[str, Any] = {"judges": ("fluency",), "adapter": "bot.py:answer", "set": {}}


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machines]:
    """The processes that the tests here share."""
    machines = Machines(tmp_path_factory.mktemp("machines"))
    yield machines
    machines.end()


@pytest.fixture
def machines(running: Machines, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Machines:
    """A scheduler and two workers, unless told otherwise; none of them has been asked anything."""
    if running.scheduler is None:
        running.start()
    running.at_least(getattr(request, "param", 2))
    running.asked.write_text("", encoding="utf-8")
    monkeypatch.chdir(running.folder)  # workers play where they were started
    shutil.rmtree("runs", ignore_errors=True)
    monkeypatch.setenv("ASKED", str(running.asked))
    return running


def write(name: str, text: str) -> None:
    """A file where the test stands."""
    Path(name).write_text(text, encoding="utf-8")


def read(name: str) -> str:
    """What such a file holds."""
    return Path(name).read_text(encoding="utf-8")


def holds(text: str, folder: Path) -> list[Path]:
    """The files below a folder that hold a text."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    return [path for path in files if text.encode() in path.read_bytes()]


def is_alive(pid: int) -> bool:
    """Whether there is such a process."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def asked_of(machines: Machines) -> Counter[str]:
    """How often each question of each conversation was asked."""
    return Counter(machines.asked.read_text(encoding="utf-8").split("\n")[:-1])


def twice(results: Results, asked: Counter[str]) -> set[str]:
    """The cases of which a question was asked more than once."""
    assert {line.split()[0] for line in asked} == {
        conversation.case.id for conversation in results.conversations
    }
    return {line.split()[0] for line, count in asked.items() if count > 1}


async def test_two_workers_hold_the_very_run_of_one_process(machines: Machines) -> None:
    """The same lines, answers, endings and grades by the same seed, and the same progress."""
    here, _ = await rehearsed(offline(limit=3, persona=("angry", "calm")))
    progress = Acting(0, lambda: None)
    spread = {"scheduler": machines.address, "workers": 2}
    there, stopped = await rehearsed(offline(limit=3, persona=("angry", "calm"), **spread), progress)

    assert stopped is None
    assert there.run.status == "finished"
    assert played(there) == played(here)
    assert progress.over == 6
    assert (
        progress.turns
        == sum(len(conversation.turns) for conversation in there.conversations)
        == len({(conversation, turn) for conversation, turn, _count in progress.grades})
    )


async def test_workers_play_with_their_own_copy_of_the_bot(
    machines: Machines, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As it is at the start of each run, where the workers were started; another copy is refused by name."""
    write("窓口.py", "from words import BAD\ndef answer(query):\n    return BAD + '、承知しました。'\n")
    write("mine.py", JUDGE)
    settings = offline(
        limit=1, turns=1, adapter="窓口.py:answer", judges=("mine.py:strict",),
        scheduler=machines.address, workers=2,
    )  # fmt: skip
    for word in ("はい", "もしもし"):
        write("words.py", f"BAD = {word!r}\n")
        sys.modules.pop("words", None)
        results, stopped = await rehearsed(settings)

        assert stopped is None
        assert [t.answer.text for t in results.conversations[0].turns] == [f"{word}、承知しました。"]
        assert [(score.value, score.reason) for score in results.scores] == [(0.0, "travelled")]
    monkeypatch.chdir(tmp_path)
    for name in ("mine.py", "words.py"):
        shutil.copy(machines.folder / name, name)
    write("窓口.py", "def answer(query):\n    return 'はい。'\n")

    with pytest.raises(InputError, match=r"worker tcp://127.0.0.1:[0-9]+: it has 窓口.py [0-9a-f]{8}, this"):
        await rehearsed(settings)


def test_workers_fill_in_the_prompt_of_each_row(
    machines: Machines, capsys: pytest.CaptureFixture[str]
) -> None:
    """As one process does: the bot is asked with the prompt, and answers to it."""
    write("upper.py", "def answer(question):\n    return question.upper()\n")
    write("rows.csv", "question,reference\na,SAY A\nb,SAY B\n")
    write("p.toml", 'version = "1"\n[en]\nuser = "say $question"\n')
    options = "--prompt ./p.toml --adapter upper.py:answer --language en --judges em --offline --json"

    assert main(["evaluate", "rows.csv", *options.split(), "--scheduler", machines.address]) == 0
    assert json.loads(capsys.readouterr().out)["score"] == 1.0


async def test_a_killed_worker_costs_only_its_batch(machines: Machines) -> None:
    """Another one plays that; nothing that was written is asked again, the grades are the same."""
    write("bot.py", SLOW)
    # Not as it returns a batch, but while it plays the next.
    worker = machines.workers[0]
    progress = Acting(3, lambda: asyncio.get_running_loop().call_later(0.2, kill, worker))
    settings = offline(limit=12, concurrency=12, **LIGHT)
    spread = offline(limit=12, concurrency=4, scheduler=machines.address, workers=2, **LIGHT)
    results, stopped = await rehearsed(spread, progress)
    asked = asked_of(machines)
    here, _ = await rehearsed(settings)

    assert stopped is None
    assert played(results) == played(here)
    assert twice(results, asked).isdisjoint(progress.before)
    assert len(twice(results, asked)) <= 2 * 2  # a batch: two at a time, two for each
    assert max(asked.values()) <= 2


async def test_workers_that_cannot_play_are_named_before_anything_is_paid(
    machines: Machines, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One without the key, by role and models; one without the program. No run is left."""
    there = {"scheduler": machines.address}
    with monkeypatch.context() as patch:
        patch.setenv("OPENAI_API_KEY", KEY)
        with pytest.raises(
            InputError, match=r"lexical would play the role user there, here it is gpt-4\.1-mini"
        ):
            await rehearsed(offline(offline=False, limit=1, judges=("turn",), **there))
    third = machines.worker(None)
    try:
        with pytest.raises(InputError, match=r"worker tcp://127.0.0.1:[0-9]+: cannot load the program"):
            await rehearsed(offline(limit=1, workers=3, **there))
    finally:
        kill(third)

    assert "runs" not in os.listdir()  # noqa: PTH208 - a test of files, and not of speed


@pytest.mark.parametrize("machines", [1], indirect=True)
async def test_a_connection_lost_while_an_answer_is_fetched_is_a_line_too(machines: Machines) -> None:
    """And nothing that was written down is lost."""
    write("bot.py", SLOW)
    async with FailingProxy(machines.address, b"gather", allowed=2) as proxy:
        spread = offline(limit=12, concurrency=4, scheduler=proxy.address, **LIGHT)
        broken, why = await rehearsed(spread)
    finished, stopped = await resumed(broken, offline(limit=12, concurrency=12, **LIGHT))

    assert why == f"the scheduler at {proxy.address} is lost; any engine can finish the run."
    assert broken.run.status == "stopped"
    assert 0 < sum(held.ended not in (None, Ended.INTERRUPTED) for held in broken.conversations) < 12
    assert stopped is None
    assert all(held.ended not in (None, Ended.INTERRUPTED) for held in finished.conversations)


@pytest.mark.parametrize("machines", [1], indirect=True)
async def test_a_lost_scheduler_leaves_a_run_for_any_engine(machines: Machines) -> None:
    """One line says so; the rest is held here, and what was said there is not asked again."""
    write("bot.py", SLOW)
    assert machines.scheduler is not None
    progress = Acting(3, lambda: kill(machines.scheduler))  # type: ignore[arg-type]
    settings = offline(limit=12, concurrency=12, **LIGHT)
    spread = offline(limit=12, concurrency=4, scheduler=machines.address, **LIGHT)
    broken, why = await rehearsed(spread, progress)
    machines.end()
    done = {
        conversation.id
        for conversation in broken.conversations
        if conversation.ended not in (None, Ended.INTERRUPTED)
    }
    finished, stopped = await resumed(broken, settings)
    asked = asked_of(machines)
    here, _ = await rehearsed(settings)

    assert why is not None
    assert "the scheduler at tcp://127.0.0.1" in why
    assert "is lost" in why
    assert (broken.run.status, len(done) >= 3, len(done) < 12) == ("stopped", True, True)
    assert stopped is None
    assert played(finished) == played(here)
    known = {conversation.case.id for conversation in finished.conversations if conversation.id in done}
    assert twice(finished, asked).isdisjoint(known)


def test_a_driver_that_is_killed_takes_its_workers_along(monkeypatch: pytest.MonkeyPatch) -> None:
    """No process goes on asking the bot, and any engine finishes the run."""
    monkeypatch.setenv("ASKED", "asked")
    write("bot.py", SLOW)
    settings = offline(limit=20, concurrency=20, **LIGHT)
    driver = subprocess.Popen(
        [
            sys.executable, str(ROOT / "run.py"), "--offline", "--cache", "off", "--persona", "angry",
            "--limit", "20", "--concurrency", "2", "--judges", "fluency", "--adapter", "bot.py:answer",
            "--workers", "1",
        ],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    wait_for(lambda: Path("asked").is_file() and read("asked").count("\n") > 20, 60)
    kill(driver)
    wait_for(lambda: not any(is_alive(int(pid)) for pid in read("asked.pids").split()))
    broken = read_run(next(Path("runs").glob("*/run.sqlite")))
    done = sum(conversation.ended not in (None, Ended.INTERRUPTED) for conversation in broken.conversations)
    finished, stopped = asyncio.run(resumed(broken, settings))
    here, _ = asyncio.run(rehearsed(settings))

    assert broken.run.status == "running"
    assert 0 < done < 20
    assert stopped is None
    assert played(finished) == played(here)


async def test_a_conversation_that_ends_every_worker_is_named() -> None:
    """A new worker gets it again, a bounded number of times; then the run stops. --shard changes nothing."""
    import dask

    write("bot.py", "import os\ndef answer(query):\n    os._exit(1)\n")
    with dask.config.set({"distributed.scheduler.allowed-failures": 1}):
        results, stopped = await rehearsed(offline(limit=1, workers=1, shard="1/1", **LIGHT))

    assert stopped is not None
    assert f"lost again and again with {results.conversations[0].id}" in stopped
    assert results.run.status == "stopped"


async def test_the_budget_holds_for_all_workers_and_no_key_is_written(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It stops below the budget, goes on with a larger one, and asks for nothing that was paid before."""
    price = {"input": 10.0, "output": 10.0}
    known: dict[str, Any] = {
        "offline": False, "limit": 6, "turns": 2, "judges": ("turn", "fluency"),
        "workers": 2,
        "adapter": "bot.py:answer", "user_model": "u", "judge_model": "j", "embed_model": "lexical",
        "demo_model": "lexical", "prices": {"u": price, "j": price}, "concurrency": 4,
    }  # fmt: skip
    write("bot.py", "def answer(query):\n    return 'はい。'\n")
    async with OpenAIServer() as server:
        monkeypatch.setenv("REHEARSAL_JUDGE_URL", server.url)
        monkeypatch.setenv("REHEARSAL_JUDGE_KEY", KEY)
        stopped, why = await rehearsed(offline(**known, budget=BUDGET))
        spent = sum(role.cost_usd or 0.0 for role in stopped.spending.values())
        finished, _ = await resumed(stopped, offline(**known | {"workers": None}))
        asked = dict(server.counts)

    assert why is not None
    assert f"the budget of {dollars(BUDGET)} USD" in why
    assert 0 < spent <= BUDGET
    assert stopped.run.status == "stopped"
    assert finished.run.status == "finished"
    assert asked["chat"] == sum(role.calls for role in finished.spending.values())
    assert (
        len(finished.scores)
        == 2 * sum(len(conversation.turns) for conversation in finished.conversations)
        > 0
    )
    assert not holds(KEY, Path("runs"))
