"""A run plays and grades everything that is open, in any order the same, and stops cleanly."""

import asyncio
import contextlib
import os
import re
import signal
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from simulator.core.settings import Settings
from simulator.core.types import Bot, Conversation, Ended, Query, Results, Spending
from simulator.runner.plan import read_plan
from simulator.runner.run import create_run, hold_conversations, perform
from simulator.storage.run_file import RunFile, read_run
from tests.run_helpers import RUBRICS, Quiet, a_case, a_run, a_stage, a_talk, echo
from tests.servers.faults import Reply
from tests.servers.openai import OpenAIServer, play

JUDGES = (*RUBRICS, "cosine")
ID = "20261121-090400-angry-0001"


def questions(count: int) -> tuple[Conversation, ...]:
    """So many conversations to be held."""
    return tuple(
        a_talk(a_case(id=f"q{n}", question=f"質問その{n}について教えてください")) for n in range(count)
    )


async def held(
    file: RunFile,
    server: OpenAIServer | None,
    spent: Mapping[str, Spending],
    bot: Bot = echo,
    progress: Quiet | None = None,
    **settings: Any,
) -> tuple[Results, str | None]:
    """What is in the file at the end, and why it stopped early; file and stage are closed."""
    context = a_stage(server, **({"judges": JUDGES} | settings))
    context.ledger.roles = dict(spent)
    with contextlib.closing(file):
        try:
            stopped = await hold_conversations(file, context, bot, progress or Quiet())
        finally:
            await context.close(None)
        return file.results(), None if stopped is None else str(stopped)


async def run(
    folder: Path,
    plan: Sequence[Conversation] = (),
    server: OpenAIServer | None = None,
    bot: Bot = echo,
    progress: Quiet | None = None,
    **settings: Any,
) -> tuple[Results, str | None]:
    """A new run from beginning to end, and why it stopped early."""
    return await held(a_run(folder, plan or questions(3)), server, {}, bot, progress, **settings)


async def resumed(
    results: Results, folder: Path, server: OpenAIServer | None, **settings: Any
) -> tuple[Results, str | None]:
    """The same run taken up again."""
    file = RunFile.reopen(folder / results.run.id / "run.sqlite")
    file.mark_running()
    return await held(file, server, results.spending, **settings)


def played(results: Results) -> dict[str, Any]:
    """What was said, how it ended and what was graded, without times."""
    conversations = {
        c.id: ([(t.user, t.answer.text, t.broken_rules) for t in c.turns], c.ended, c.reason, c.closing)
        for c in results.conversations
    }
    grades = {(s.conversation, s.turn, s.judge): s.model_dump() for s in results.scores}
    return {"talks": conversations, "grades": grades}


async def test_everything_is_played_and_graded(tmp_path: Path) -> None:
    """Each conversation has an ending, each turn a score of each judge, each call its place in the books."""
    progress = Quiet()
    async with OpenAIServer() as server:
        results, stopped = await run(tmp_path, server=server, progress=progress)
    turns = [(c.id, turn.index) for c in results.conversations for turn in c.turns]

    assert stopped is None
    assert results.run.status == "finished"
    assert results.run.seconds > 0
    assert {c.ended for c in results.conversations} == {Ended.TURN_LIMIT}
    assert len(turns) == 9
    assert Counter((s.conversation, s.turn) for s in results.scores) == dict.fromkeys(turns, 6)
    without = {"similarity", "cosine", "groundedness"}  # no references, and a bot that shows no passages
    assert {s.state for s in results.scores if s.judge not in without} == {"scored"}
    assert {role: spent.calls for role, spent in results.spending.items()} == {
        "user": 9, "judge": 9, "embed": 3,
    }  # fmt: skip
    assert server.counts["chat"] == 18
    assert 1 <= server.counts["embeddings"] <= 3  # those asked for at the same moment go out together
    assert (progress.turns, progress.over) == (9, 3)
    assert sorted(progress.grades) == sorted((*turn, 6) for turn in turns)


async def test_the_judges_of_a_turn_run_beside_the_next(tmp_path: Path) -> None:
    """The grades of turn 1 may wait for the end of the talk: nobody in the dialogue waits for them."""
    last_line = asyncio.Event()
    lines: list[str] = []

    class Slow(OpenAIServer):
        async def _chat(self, request: Any, body: Any) -> Any:
            if body["model"] == "judge-model":
                await asyncio.wait_for(last_line.wait(), 20)
            response = await super()._chat(request, body)
            lines.append(body["model"])
            if lines.count("user-model") == 3:
                last_line.set()
            return response

    async with Slow() as server:
        results, stopped = await run(tmp_path, questions(1), server, judges=("turn", "fluency"), timeout=30)

    assert stopped is None
    assert [s.state for s in results.scores] == ["scored"] * 6
    assert lines[-3:] == ["judge-model"] * 3


@pytest.mark.parametrize("online", [True, False])
async def test_the_same_seed_plays_the_same_run(tmp_path: Path, online: bool) -> None:
    """However many conversations run at once; another seed plays another run."""

    async def once(name: str, **settings: Any) -> dict[str, Any]:
        if not online:
            return played((await run(tmp_path / name, **settings))[0])
        async with OpenAIServer() as server:
            return played((await run(tmp_path / name, server=server, **settings))[0])

    first = await once("a", concurrency=32)
    again = await once("b", concurrency=1)

    assert first == again
    if not online:  # the fake endpoint does not look at seeds
        assert (await once("c", seed=7))["talks"] != first["talks"]


async def test_concurrency_is_a_limit(tmp_path: Path) -> None:
    """No more conversations are held at once, and no task waits for each of those that have to wait."""
    busy = most = tasks = 0

    async def bot(query: Query) -> str:
        nonlocal busy, most, tasks
        busy += 1
        most, tasks = max(most, busy), max(tasks, len(asyncio.all_tasks()))
        await asyncio.sleep(0)
        busy -= 1
        return f"{query.text}ですね。"

    await run(tmp_path, questions(60), bot=bot, concurrency=4, turns=1, judges=("fluency",))

    assert most == 4
    assert tasks < 50


def denied(server: OpenAIServer, role: str) -> Callable[[Any], Any]:
    """An endpoint that refuses the key of one role."""

    def reply(request: Any) -> Any:
        return Reply(status=401) if request["model"] == f"{role}-model" else play(request)

    return reply


@pytest.mark.parametrize("role", ["user", "judge"])
async def test_a_refused_key_stops_the_run_at_once(tmp_path: Path, role: str) -> None:
    """Nothing more is asked, what was said is kept, and the line says which key to look at."""
    async with OpenAIServer() as server:
        server.reply = denied(server, role)
        results, stopped = await run(tmp_path, questions(50), server, concurrency=2, judges=("turn",))

    assert stopped is not None
    assert f"REHEARSAL_{role.upper()}_KEY" in stopped
    assert results.run.status == "stopped"
    assert server.counts["chat"] <= 25  # of some 350
    endings = Counter(c.ended for c in results.conversations)
    assert set(endings) == {None, Ended.INTERRUPTED}
    assert endings[None] >= 44


async def test_a_spent_budget_stops_the_run(tmp_path: Path) -> None:
    """What is paid for is stored; open conversations say `budget`; a larger budget goes on from there."""
    priced: dict[str, Any] = {
        "user_model": "gpt-4.1-mini", "judge_model": "gpt-4.1", "embed_model": "text-embedding-3-small",
    }  # fmt: skip
    async with OpenAIServer() as server:
        whole, _ = await run(tmp_path / "whole", questions(6), server, **priced)
        server.counts.clear()
        cut, why = await run(tmp_path, questions(6), server, budget=0.08, concurrency=2, **priced)
        spent = sum(role.cost_usd or 0 for role in cut.spending.values())
        paid = {(s.conversation, s.turn) for s in cut.scores}
        calls = server.counts["chat"]
        still, again = await resumed(cut, tmp_path, server, budget=0.02, **priced)
        assert server.counts["chat"] == calls
        done, nothing = await resumed(still, tmp_path, server, budget=9, **priced)

    assert re.fullmatch(
        r"too little is left of the budget of 0\.0800 USD.* \(.* paid, .*\); a larger --budget goes on",
        why or "",
    )
    assert again is not None
    assert cut.run.status == "stopped"
    assert {c.ended for c in cut.conversations} > {Ended.BUDGET}
    assert 0.02 < spent <= 0.08
    assert calls == cut.spending["user"].calls + cut.spending["judge"].calls
    assert 0 < len(paid) < 18
    assert (nothing, played(done)) == (None, played(whole))
    assert done.spending["judge"].calls == 18


async def test_a_bug_of_ours_surfaces(tmp_path: Path) -> None:
    """It is not swallowed, and the run stays resumable with what it has."""

    class Broken(Quiet):
        def turn(self, conversation: Conversation) -> None:
            """Fails on the second turn."""
            super().turn(conversation)
            if self.turns == 2:
                raise ZeroDivisionError

    with pytest.raises(ExceptionGroup) as met:
        await run(tmp_path, progress=Broken())
    broken = read_run(tmp_path / ID / "run.sqlite")
    again, stopped = await resumed(broken, tmp_path, None)
    whole, _ = await run(tmp_path / "whole")

    assert met.group_contains(ZeroDivisionError)
    assert broken.run.status == "interrupted"
    assert stopped is None
    assert played(again) == played(whole)


@pytest.mark.parametrize("stop", [None, signal.SIGTERM, signal.SIGHUP])
async def test_an_interruption_is_taken_up_again(stop: signal.Signals | None, tmp_path: Path) -> None:
    """Stopped while the bot thinks, the run ends cleanly; resumed, it comes to what it would have."""
    usual = signal.signal(signal.SIGHUP, signal.SIG_DFL)  # it is ignored under nohup, here too
    asked = asyncio.Event()
    count = 0

    async def bot(query: Query) -> str:
        nonlocal count
        count += 1
        if count == 4:
            asked.set()
            await asyncio.Event().wait()
        return await echo(query)

    async with OpenAIServer() as server:
        running = asyncio.create_task(run(tmp_path, server=server, bot=bot, concurrency=1))
        await asked.wait()
        os.kill(os.getpid(), stop) if stop else running.cancel()
        cut, stopped = await running
        signal.signal(signal.SIGHUP, usual)
        whole = played((await run(tmp_path / "whole", server=server))[0])
        server.requests.clear()
        again, why = await resumed(cut, tmp_path, server)

    assert (stopped, why, cut.run.status) == ("interrupted", None, "interrupted")
    assert [c.ended for c in cut.conversations] == [Ended.TURN_LIMIT, Ended.INTERRUPTED, None]
    assert played(again) == whole
    assert again.run.status == "finished"


async def test_only_failed_grades_are_tried_again(tmp_path: Path) -> None:
    """On resume a judge that failed is asked once more, the others of its turn are not."""

    def reply(request: Any) -> Any:
        asked = list(request.get("response_format", {})["json_schema"]["schema"]["properties"])
        return "no" if request["model"] == "judge-model" and asked[0] == "reason" else play(request)

    both: dict[str, Any] = {"judging": "separate", "judges": ("turn", "fluency"), "turns": 1}
    async with OpenAIServer(reply) as server:
        first, _ = await run(tmp_path, questions(1), server, **both)
        states = {s.judge: s.state for s in first.scores}
        server.reply = play
        server.requests.clear()
        second, _ = await resumed(first, tmp_path, server, **both)

    assert states == {"turn": "scored", "fluency": "failed"}
    assert len(server.requests) == 1
    assert {s.judge: s.state for s in second.scores} == {"turn": "scored", "fluency": "scored"}


class ClosingBot:
    """A bot that notes when it is closed."""

    closed = 0

    async def __call__(self, query: Query) -> str:
        """The answer."""
        return await echo(query)

    async def aclose(self) -> None:
        """Closes it."""
        ClosingBot.closed += 1


async def test_a_run_is_made_of_its_settings(tmp_path: Path) -> None:
    """The run file knows settings, prompts, models and versions; the bot is closed in the end."""
    (tmp_path / "own.py").write_text(
        "from tests.runner.test_run import ClosingBot as connect\n", encoding="utf-8"
    )
    settings = Settings(
        persona=("angry",), limit=2, adapter="own.py:connect", offline=True, runs=str(tmp_path / "runs")
    )
    plan, personas, *_ = read_plan(settings)
    context = a_stage(**settings.model_dump(exclude={"cache", "judges"}))
    path, stopped = await perform(
        context, plan, lambda: create_run(settings, context, plan, personas), Quiet()
    )
    found = read_run(path).run

    assert (stopped, found.status, found.offline, ClosingBot.closed) == (None, "finished", True, 1)
    assert set(found.models.values()) == {"lexical"}
    assert {"rehearsal", "python", "openai"} <= set(found.versions)
    assert {"user:angry", "judge:turn"} <= set(found.prompts)
    assert "resume" not in found.settings


async def test_nothing_is_left_behind_when_the_bot_cannot_connect(tmp_path: Path) -> None:
    """The run file is opened last."""
    context = a_stage(adapter="nowhere.py:answer", runs=str(tmp_path / "runs"))

    with pytest.raises(Exception, match="no such file"):
        await perform(context, questions(1), lambda: pytest.fail("opened"), Quiet())
    assert not (tmp_path / "runs").exists()
