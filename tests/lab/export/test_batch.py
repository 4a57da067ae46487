"""`grade RUN --batch`: the provider's batch API at half the price, from the command line."""

import io
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from simulator import open_run
from simulator.core.types import Score
from simulator.lab.export import batch
from simulator.models.exchange import AGENT
from tests.commands import Command, held_once
from tests.paths import ROOT
from tests.servers.batches import BatchServer
from tests.servers.loopback import on_thread
from tests.servers.replies import play

HELD = ("--offline", "--persona", "calm", "--limit", "3", "--turns", "1", "--language", "en",
        "--judges", "cosine")  # fmt: skip
GRADE = ("grade", "latest", "--judges", "turn,fluency", "--judging", "separate", "--cache", "off",
         "--judge-model", "gpt-4.1-mini", "--causes", "ids")  # fmt: skip
pytestmark = pytest.mark.timeout(240)  # programs that are started and killed


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[BatchServer]:
    """An endpoint with batches, which the environment names, and which is looked at again at once."""
    monkeypatch.setattr(batch, "FIRST", 0.01)
    with on_thread(BatchServer()) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
        yield server


@pytest.fixture(scope="module")
def held(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a finished run that no model has graded."""
    return held_once(tmp_path_factory, HELD)


@pytest.fixture
def run(held: Path) -> None:
    """That run, where the test stands."""
    shutil.copytree(held, Path(), dirs_exist_ok=True)


def grades() -> dict[tuple[str, int, str], Score]:
    """The grades of the newest run."""
    return {(score.conversation, score.turn, score.judge): score for score in open_run().scores}


def test_the_same_grades_as_by_calls_at_half_the_price(
    command: Command, run: None, server: BatchServer
) -> None:
    """One file, one batch, no chat request; the ledger and the dry run have half the dollars.

    A reply is one line of the file, whatever separators of lines it has in it.
    """
    server.reply = lambda body: play(body).replace("The ", "The\u2028")
    most = command(*GRADE, "--dry-run", "--json").json
    most_in_batch = command(*GRADE, "--dry-run", "--batch", "--json").json
    assert most_in_batch["cost_usd"] == pytest.approx(most["cost_usd"] / 2)
    assert most_in_batch["forecast"]["judge"]["calls"] == most["forecast"]["judge"]["calls"] == 6

    done = command(*GRADE, "--batch")
    assert "Batch batch_1: 6 requests to gpt-4.1-mini were submitted." in done.err
    in_batch, spent = grades(), open_run().spending["judge"]
    assert len(server.batches) == 1
    assert not [request for request in server.requests if "chat" in request.path]
    assert open_run().notes["batch"] == []

    assert command(*HELD).code == 0
    command(*GRADE)
    assert grades() == in_batch
    by_calls = open_run().spending["judge"]
    assert spent.calls == by_calls.calls == 6
    assert spent.cost_usd
    assert by_calls.cost_usd
    assert spent.cost_usd == pytest.approx(by_calls.cost_usd / 2)
    assert by_calls.cost_usd <= most["cost_usd"]


def test_what_a_batch_answered_is_in_the_cache_of_calls(
    command: Command, run: None, server: BatchServer
) -> None:
    """The same keys: nothing that a batch has answered is asked for again."""
    cached = [word for word in GRADE if word not in {"--cache", "off"}]
    command(*cached, "--batch")
    command(*HELD)
    command(*cached)

    assert len(server.batches) == 1
    assert not [request for request in server.requests if "chat" in request.path]
    assert open_run().spending["judge"].cached == 6


def test_what_failed_in_a_batch_goes_into_the_next(command: Command, run: None, server: BatchServer) -> None:
    """An answer that is an error of the server, and a request without any answer, are asked for again."""
    asked: list[Any] = []

    def fate(batch: int, body: dict[str, Any]) -> int:
        asked.append(body)
        return {1: 500, 2: 0}.get(len(asked), 200) if batch == 1 else 200

    server.fate = fate
    done = command(*GRADE, "--batch")

    assert "Batch batch_2: 2 requests" in done.err
    assert [score.state for score in grades().values()] == ["scored"] * 9


def test_what_no_batch_answers_is_a_failed_grade(command: Command, run: None, server: BatchServer) -> None:
    """After three batches; the others are graded, and grading again asks for the rest."""
    refused: list[Any] = []

    def fate(batch: int, body: dict[str, Any]) -> int:
        refused[:] = refused or [body]
        return 500 if body == refused[0] else 200

    server.fate = fate
    command(*GRADE, "--batch")
    assert len(server.batches) == 3
    assert sorted(score.state for score in grades().values()) == ["failed", *["scored"] * 8]

    server.fate = lambda *_: 200
    assert command(*GRADE, "--batch").code == 0
    assert {score.state for score in grades().values()} == {"scored"}


@pytest.mark.parametrize(
    ("state", "said"),
    [
        ("expired", "batch batch_1 expired at the endpoint with 6 of 6 requests unanswered"),
        ("cancelled", "batch batch_1 was cancelled with 6 of 6 requests unanswered"),
        ("failed", "batch batch_1 failed at the endpoint: The file is not valid."),
    ],
)
def test_a_batch_that_comes_to_nothing_is_one_line(
    command: Command, run: None, server: BatchServer, state: str, said: str
) -> None:
    """Exit code 3, the run unharmed, no failed grades; the same command submits the requests again."""
    server.states, before = [state], grades()
    server.fate = lambda batch, _body: 200 if batch > 1 else 0
    done = command(*GRADE, "--batch")

    assert done.code == 3
    assert done.err.count("error: ") == 1
    assert said in done.err
    assert "grade 2" in done.err
    assert "--batch" in done.err.rpartition("error: ")[2]
    assert grades() == before
    assert command(*GRADE, "--batch").code == 0
    assert len(grades()) == 9


def test_an_endpoint_without_batches_says_so(command: Command, run: None, server: BatchServer) -> None:
    """One line, exit code 3; a wrong key is said to be one."""
    server.takes_batches = False
    done = command(*GRADE, "--batch")
    assert (done.code, done.err.count("error: ")) == (3, 1)
    assert "takes no batches (404): grade without --batch" in done.err

    server.takes_batches, server.key = True, "another"
    done = command(*GRADE, "--batch")
    assert (done.code, done.err.count("error: ")) == (3, 1)
    assert "401: No. Check REHEARSAL_JUDGE_KEY" in done.err


def test_without_a_model_there_is_nothing_to_send(command: Command, run: None) -> None:
    """One line, and the run is as it was: stand-ins grade at once, and cost nothing."""
    before = grades()
    refused = command("grade", "latest", "--judges", "turn", "--batch", "--offline")

    assert (refused.code, grades()) == (2, before)
    assert "--batch is for grading by a model, and none is set" in refused.error


def test_the_budget_is_kept(command: Command, run: None, server: BatchServer) -> None:
    """What does not fit beside what is under way is not sent."""
    done = command(*GRADE, "--batch", "--budget", "0.000001")
    assert done.code == 3
    assert "budget" in done.err
    assert not server.batches


def test_a_killed_grading_goes_on_waiting_for_its_batch(
    command: Command, run: None, server: BatchServer
) -> None:
    """The id stands in the run file: nothing is submitted twice, and nothing is paid twice."""
    server.looks = 10**6
    with subprocess.Popen(
        [sys.executable, str(ROOT / "run.py"), *GRADE, "--batch"], stderr=subprocess.PIPE, text=True
    ) as program:
        assert program.stderr
        assert any("were submitted" in line for line in program.stderr)
        program.kill()
    server.looks = 0
    done = command(*GRADE, "--batch")

    assert done.code == 0
    assert "Batch batch_1 is under way: its answers are waited for." in done.err
    assert len(server.batches) == 1
    assert len(grades()) == 9
    assert open_run().spending["judge"].calls == 6


def interrupt_at(server: BatchServer, name: str, monkeypatch: pytest.MonkeyPatch, typed: str = "") -> None:
    """Ctrl-C once the batch of this name is looked at; `typed` waits at a terminal, if anything."""
    server.looks_of = {name: 10**6}
    server.at_first_look = lambda seen: os.kill(os.getpid(), signal.SIGINT) if seen == name else None
    if typed:
        keyboard = io.StringIO(typed)
        monkeypatch.setattr(keyboard, "isatty", lambda: True)
        monkeypatch.setattr(sys, "stdin", keyboard)


def test_ctrl_c_leaves_the_batch_and_cancel_ends_it(
    command: Command, run: None, server: BatchServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The line names the batch and both ways on; a second cancelling has nothing to cancel."""
    interrupt_at(server, "batch_1", monkeypatch)
    said = command(*GRADE, "--batch").err
    assert "interrupted; batch batch_1 goes on at the endpoint (--cancel-batch ends it)" in said

    done = command("grade", "latest", "--cancel-batch", "--judge-model", "gpt-4.1-mini", "--json")
    assert done.json == {"run": open_run().run.id, "message": "batch batch_1 was cancelled"}
    assert (done.code, server.batches["batch_1"]["status"]) == (0, "cancelled")
    assert "batch batch_1 was cancelled." in done.err
    done = command("grade", "latest", "--cancel-batch")
    assert (done.code, done.err.count("\n")) == (2, 1)
    assert "no batch of this run is under way" in done.err


def test_a_batch_that_was_deleted_is_forgotten_when_cancelled(
    command: Command, run: None, server: BatchServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Until then it might be one of another key; a lost file of answers is as one without any."""
    interrupt_at(server, "batch_1", monkeypatch)
    command(*GRADE, "--batch")
    server.lost = {"batch_1", "file-3"}
    done = command(*GRADE, "--batch")
    assert done.code == 3
    assert "does not know batch_1 (404)" in done.err
    assert "With --cancel-batch the run forgets it" in done.err

    done = command("grade", "latest", "--cancel-batch", "--judge-model", "gpt-4.1-mini")
    assert done.code == 0
    done = command(*GRADE, "--batch")
    assert done.code == 0
    assert "Batch batch_3: 6 requests" in done.err
    assert len(grades()) == 9


def test_a_batch_of_another_endpoint_is_left_alone(
    command: Command, run: None, server: BatchServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The judge elsewhere gets a batch of its own; what goes on here is neither ended nor used there."""
    interrupt_at(server, "batch_1", monkeypatch)
    command(*GRADE, "--batch")
    with on_thread(BatchServer()) as other:
        monkeypatch.setenv("OPENAI_BASE_URL", other.url)
        cancelled = command("grade", "latest", "--cancel-batch", "--judge-model", "gpt-4.1-mini")
        done = command(*GRADE, "--batch")

    assert (cancelled.code, server.batches["batch_1"]["status"]) == (2, "in_progress")
    assert "no batch of this run is under way at the judge's endpoint" in cancelled.err
    assert done.code == 0, done.err
    assert "is under way" not in done.err
    assert (len(server.batches), len(other.batches)) == (1, 1)


@pytest.mark.usefixtures("run")
def test_files_and_batches_are_asked_for_as_the_endpoint_wants_it(
    command: Command, server: BatchServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With its own headers and query, by our name, and without a key where there is none."""
    monkeypatch.delenv("OPENAI_API_KEY")
    monkeypatch.setenv("REHEARSAL_JUDGE_URL", f"{server.url}?api-version=1")
    monkeypatch.setenv("REHEARSAL_JUDGE_HEADERS", "X-Team: desk")

    assert command(*GRADE, "--batch").code == 0
    assert {headers["x-team"] for headers in server.headers} == {"desk"}
    assert {headers["user-agent"] for headers in server.headers} == {AGENT}
    assert not any("authorization" in headers for headers in server.headers)
    assert server.queries == {"api-version=1"}


@pytest.mark.usefixtures("run")
@pytest.mark.parametrize(("typed", "state"), [("y\n", "cancelled"), ("\n", "in_progress")])
def test_at_a_terminal_ctrl_c_asks_whether_to_cancel(
    command: Command, server: BatchServer, monkeypatch: pytest.MonkeyPatch, typed: str, state: str
) -> None:
    """Only a yes cancels, and only what is under way: the first batch is over."""
    server.fate = lambda batch, _body: 500 if batch == 1 else 200
    interrupt_at(server, "batch_2", monkeypatch, typed)
    seen = command(*GRADE, "--batch").err

    assert "Cancel the batch at the endpoint? [y/N] " in seen
    assert ("batch batch_2 was cancelled" in seen) == (state == "cancelled")
    assert [batch["status"] for batch in server.batches.values()] == ["completed", state]


def test_what_is_asked_of_red_answers_is_asked_at_once(
    command: Command, run: None, server: BatchServer
) -> None:
    """One question follows from the other there: each in a batch of its own would take days."""
    command(*GRADE[:-2], "--batch")

    assert len(server.batches) == 1
    assert [request for request in server.requests if "chat" in request.path]


def test_a_run_is_held_now_and_graded_later(command: Command, server: BatchServer) -> None:
    """No judge is asked while customers talk; `grade --batch` asks those of the run, and says its verdict."""
    line = (*HELD[1:-2], "--judges", "turn,fluency", "--user-model", "lexical", "--grade", "later")
    held = command(*line)
    run = open_run()
    assert (held.code, len(run.scores)) == (0, 0)
    assert [words for words in held.out.splitlines() if words.startswith("! ")] == [
        f"! Not graded yet: python run.py grade {run.run.id} --batch."
    ]
    assert "Not judged" not in held.out
    assert "look for the reason" not in held.out
    assert "finish the run" not in held.out
    forecast = command(*line, "--dry-run", "--json").json
    assert "judge" not in forecast["forecast"]
    assert forecast["cost_usd"] < command(*line[:-2], "--dry-run", "--json").json["cost_usd"]

    server.requests.clear()  # of the bundled bot
    assert command("grade", run.run.id, "--batch", "--causes", "ids").code == 0
    assert {score.judge for score in open_run(run.run.id).scores} == {"turn", "fluency"}
    assert "Not graded yet" not in command("report", run.run.id).out
    assert not [request for request in server.requests if "chat" in request.path]


def test_without_a_model_nothing_is_graded_in_a_batch(command: Command) -> None:
    """The run names `grade` alone, and a dry run refuses --batch as grading does."""
    held = command(*HELD[:-2], "--grade", "later")
    run = open_run().run.id
    assert f"Not graded yet: python run.py grade {run}.\n" in held.out
    assert (held.code, "score" in command(*HELD[:-2], "--grade", "later", "--json").json) == (0, True)

    refused = [command("grade", "latest", "--batch", *more) for more in ([], ["--dry-run"])]
    assert [done.code for done in refused] == [2, 2]
    assert refused[0].err == refused[1].err
