"""Workers hold the very conversations that one process holds, whoever of them is lost on the way."""

import asyncio
import os
import shutil
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from simulator.core.errors import InputError
from simulator.core.types import Ended, Results
from simulator.storage.run_file import read_run
from tests.clusters import SLOW, Acting, Machines, kill, offline, rehearsed, resumed, wait_for
from tests.paths import ROOT
from tests.runner.test_run import played

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
LIGHT: dict[str, Any] = {"judges": ("fluency",), "adapter": "bot.py:answer", "set": {}}


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machines]:
    """The processes that the tests here share."""
    machines = Machines(tmp_path_factory.mktemp("machines"))
    yield machines
    machines.end()


@pytest.fixture
def machines(running: Machines, monkeypatch: pytest.MonkeyPatch) -> Machines:
    """A scheduler and two workers; none of them has been asked anything."""
    if running.scheduler is None:
        running.start()
    running.two()
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


async def test_two_workers_hold_the_very_run_of_one_process() -> None:
    """The same lines, answers, endings and grades by the same seed, and the same progress."""
    here, _ = await rehearsed(offline(limit=3, persona=("angry", "calm")))
    progress = Acting(0, lambda: None)
    there, stopped = await rehearsed(
        offline(limit=3, persona=("angry", "calm"), engine="dask", workers=2), progress
    )

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
    """The bot and the judges stand where the workers were started; another copy is refused by its name."""
    write("窓口.py", "from words import BAD\ndef answer(query):\n    return BAD + '、承知しました。'\n")
    write("mine.py", JUDGE)
    write("words.py", "BAD = 'もしもし'\n")
    settings = offline(
        limit=1, turns=1, adapter="窓口.py:answer", judges=("mine.py:strict",), engine="dask",
        scheduler=machines.address, workers=2,
    )  # fmt: skip
    results, stopped = await rehearsed(settings)
    monkeypatch.chdir(tmp_path)
    for name in ("mine.py", "words.py"):
        shutil.copy(machines.folder / name, name)
    write("窓口.py", "def answer(query):\n    return 'はい。'\n")

    assert stopped is None
    assert [t.answer.text for t in results.conversations[0].turns] == ["もしもし、承知しました。"]
    assert [(score.value, score.reason) for score in results.scores] == [(0.0, "travelled")]
    with pytest.raises(InputError, match=r"worker tcp://127.0.0.1:[0-9]+: it has 窓口.py [0-9a-f]{8}, this"):
        await rehearsed(settings)


async def test_other_programs_are_refused_before_anything_is_paid(machines: Machines, tmp_path: Path) -> None:
    """A worker with other files of the program, and one without it, in one line each; no run is left."""
    other = tmp_path / "other"
    for folder in ("simulator", "judges", "personas", "rag_adapters"):
        shutil.copytree(ROOT / folder, other / folder, ignore=shutil.ignore_patterns("__pycache__"))
    with (other / "judges" / "fluency.toml").open("a", encoding="utf-8") as file:
        file.write("# another version\n")
    settings = offline(limit=1, engine="dask", scheduler=machines.address, workers=3)
    for path, said in ((other, "it runs other files of the program"), (None, "cannot load the program")):
        third = machines.worker(path)
        try:
            with pytest.raises(InputError, match=f"worker tcp://127.0.0.1:[0-9]+: {said}"):
                await rehearsed(settings)
        finally:
            kill(third)

    assert "runs" not in os.listdir()  # noqa: PTH208 - a test of files, and not of speed


async def test_a_killed_worker_costs_only_what_it_had_in_hands(machines: Machines) -> None:
    """The other one holds it anew; nothing that was over is held again, and the grades are the same."""
    write("bot.py", SLOW)
    progress = Acting(6, lambda: kill(machines.workers[0]))
    settings = offline(limit=24, concurrency=4, **LIGHT)
    spread = settings.model_copy(update={"engine": "dask", "scheduler": machines.address, "workers": 2})
    results, stopped = await rehearsed(spread, progress)
    asked = asked_of(machines)
    here, _ = await rehearsed(settings)

    assert stopped is None
    assert played(results) == played(here)
    assert twice(results, asked).isdisjoint(progress.before)
    assert len(twice(results, asked)) <= 6  # what one of two has in hands, or had in the last tenth second
    assert max(asked.values()) <= 2


async def test_a_lost_scheduler_leaves_a_run_for_any_engine(machines: Machines) -> None:
    """One line says so; the rest is held here, and what was said there is not asked again."""
    write("bot.py", SLOW)
    assert machines.scheduler is not None
    progress = Acting(5, lambda: kill(machines.scheduler))  # type: ignore[arg-type]
    settings = offline(limit=24, concurrency=4, **LIGHT)
    spread = settings.model_copy(update={"engine": "dask", "scheduler": machines.address})
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
    assert (broken.run.status, len(done) >= 5, len(done) < 24) == ("stopped", True, True)
    assert stopped is None
    assert played(finished) == played(here)
    known = {conversation.case.id for conversation in finished.conversations if conversation.id in done}
    assert twice(finished, asked).isdisjoint(known)


@pytest.mark.parametrize(
    ("number", "code", "status"), [(signal.SIGINT, 3, "interrupted"), (signal.SIGKILL, -9, "running")]
)
def test_a_driver_that_leaves_takes_its_workers_along(
    number: int, code: int, status: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With Ctrl-C or kill -9, no process goes on asking the bot, and any engine finishes the run."""
    monkeypatch.setenv("ASKED", "asked")
    write("bot.py", SLOW)
    settings = offline(limit=20, concurrency=2, **LIGHT)
    driver = subprocess.Popen(
        [
            sys.executable, str(ROOT / "run.py"), "--offline", "--cache", "off", "--persona", "angry",
            "--limit", "20", "--concurrency", "2", "--judges", "fluency", "--adapter", "bot.py:answer",
            "--engine", "dask", "--workers", "2",
        ],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    wait_for(lambda: Path("asked").is_file() and read("asked").count("\n") > 20, 60)
    driver.send_signal(number)
    assert driver.wait(30) == code
    wait_for(lambda: not any(is_alive(int(pid)) for pid in read("asked.pids").split()))
    broken = read_run(next(Path("runs").glob("*/run.sqlite")))
    done = sum(conversation.ended not in (None, Ended.INTERRUPTED) for conversation in broken.conversations)
    finished, stopped = asyncio.run(resumed(broken, settings))
    here, _ = asyncio.run(rehearsed(settings))

    assert broken.run.status == status
    assert 0 < done < 20
    assert stopped is None
    assert played(finished) == played(here)


async def test_a_conversation_that_ends_every_worker_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is given to a worker again, a bounded number of times; then the run stops."""
    write("bot.py", "import os\ndef answer(query):\n    os._exit(1)\n")
    monkeypatch.setattr("simulator.addons.dask.driver.MAX_LOSSES", 2)
    settings = offline(limit=1, engine="dask", workers=1, **LIGHT)
    results, stopped = await rehearsed(settings)

    assert stopped is not None
    assert "was lost with 2 workers" in stopped
    assert results.run.status == "stopped"


async def test_a_worker_plays_one_run_after_another(machines: Machines) -> None:
    """A bot's own modules are those of its run, also where the worker has played with others of that name."""
    write("bot.py", "from words import SAYS\ndef answer(query):\n    return SAYS\n")
    settings = offline(limit=1, turns=1, engine="dask", scheduler=machines.address, workers=2, **LIGHT)
    said = []
    for word in ("はい。", "いいえ。"):
        write("words.py", f"SAYS = {word!r}\n")
        sys.modules.pop("words", None)
        results, _ = await rehearsed(settings)
        said.append(results.conversations[0].turns[0].answer.text)

    assert said == ["はい。", "いいえ。"]


async def test_a_worker_without_the_key_is_told_before_anything_is_paid(
    machines: Machines, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One line names the role and both models; there is no run."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-never-to-be-seen-1234567890")
    there = {"engine": "dask", "scheduler": machines.address}
    with pytest.raises(InputError, match=r"lexical would play the role user there, here it is gpt-4\.1-mini"):
        await rehearsed(offline(offline=False, limit=1, judges=("turn",), **there))

    assert "runs" not in os.listdir()  # noqa: PTH208 - a test of files, and not of speed
