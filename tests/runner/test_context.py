"""Everyone a run needs is made from its settings, before anything is paid for."""

import json
import os
import subprocess
import sys

import pytest

from simulator.api.run import Tally, progress_on_stderr
from simulator.core import shelves
from simulator.core.types import Score, Usage
from simulator.users.persona import PersonaUser
from tests.run_helpers import a_case, a_stage, a_talk, an_exhibit
from tests.servers.openai import OpenAIServer

AWAY = OpenAIServer(port=9)  # never started: making a stage connects to nothing


async def test_small_models_are_asked_one_judge_at_a_time_in_the_short_form() -> None:
    """`--judging small`: what the judge has no short form for is asked in its usual one."""
    async with OpenAIServer() as server:
        made = a_stage(server, judges=("turn", "groundedness", "fluency"), judging="small")
        scores = await made.panel.grade(an_exhibit())
        await made.close(None)
    forms = [request.body["response_format"]["json_schema"]["schema"] for request in server.requests]

    assert [score.state for score in scores] == ["scored"] * 3
    assert sorted(tuple(form["properties"]) for form in forms) == [
        ("conclusion", "response", "correctness", "completeness", "overall"),
        ("reason", "grade"), ("reason", "grade"),
    ]  # fmt: skip


def test_each_conversation_has_a_seed_of_its_own() -> None:
    """It depends on the run's seed and the conversation, on nothing else."""

    def seed(run: int, case: str) -> int:
        user = a_stage(AWAY, seed=run).user(a_talk(a_case(id=case)))
        assert isinstance(user, PersonaUser)
        return user.seed

    assert seed(1, "a") == seed(1, "a")
    assert len({seed(1, "a"), seed(2, "a"), seed(1, "b"), seed(2, "b")}) == 4


def test_progress_counts_what_happens(capsys: pytest.CaptureFixture[str]) -> None:
    """One line of conversations, grades, red turns, calls and money; nothing on a stderr that nobody sees."""
    made = a_stage(judges=("turn",))
    plan = [a_talk(), a_talk(a_case(id="b"))]
    low = grade(1)
    with progress_on_stderr(plan, made) as tally:
        tally.turn(plan[0])
        tally.graded(an_exhibit(), [low])
        tally.ended(plan[0])
        quiet = str(tally.message())
        made.ledger.charge("judge", Usage(model="gpt-4.1", tokens_in=100_000))
        paid = str(tally.message())
        made.ledger.charge("judge", Usage(model="unheard-of"))

    assert isinstance(tally, Tally)
    assert quiet == "1/2 conversations, 1 answers graded, 1 to review"
    assert paid == f"{quiet}, 1 calls, 0.20 USD"
    assert str(tally.message()) == f"{quiet}, 2 calls, at least 0.20 USD"
    assert capsys.readouterr() == ("", "")


def test_progress_is_a_bar_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same line beside a bar, for whoever watches."""
    terminal, ours = pytest.importorskip("pty").openpty()
    monkeypatch.setenv("TERM", "xterm")
    with os.fdopen(ours, "w", encoding="utf-8") as stream, monkeypatch.context() as watched:
        watched.setattr(sys, "stderr", stream)
        with progress_on_stderr([a_talk()], a_stage(judges=("turn",))) as tally:
            tally.ended(a_talk())
        shown = ""
        while "1/1 conversations, 0 answers graded, 0 to review" not in shown:
            shown += os.read(terminal, 10_000).decode("utf-8", "replace")
    os.close(terminal)


def grade(raw: int) -> Score:
    """A grade of the turn judge."""
    known = {"judge": "turn", "conversation": a_talk().id, "turn": 1, "state": "scored"}
    return Score.model_validate(known | {"raw": raw, "value": raw / 5})


def test_the_demo_bot_keeps_nothing_that_is_not_masked() -> None:
    """With --redact its replies are masked later, so none is kept."""
    kept = [a_stage(AWAY, cache="on", redact=each).offered(())["chat"].__self__ for each in ("off", "on")]

    assert [model.cache.mode for model in kept] == ["on", "off"]
    assert all(model.connections.cache.mode == "on" for model in kept)


def test_an_offline_run_loads_no_library_that_it_does_not_need() -> None:
    """None that calls or traces models, reads workbooks or writes to Google: each takes as long as a run."""
    absent = """
        openai aiohttp langsmith gspread google.auth yaml openpyxl xlsxwriter pandas distributed lm_eval nltk
        MeCab
        """.split()  # noqa: SIM905
    code = (
        f"import sys; sys.path.insert(0, {str(shelves.ROOT)!r}); from simulator.cli.app import main;"
        "main(['--persona', 'calm', '--offline', '--limit', '1', '--turns', '1', '--json']);"
        f"sys.exit(' '.join(name for name in {absent!r} if name in sys.modules) or None)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["turns"] == 1
