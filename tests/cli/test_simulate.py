"""The main job from the command line to the exit code, offline and with models over HTTP."""

import gc
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from simulator.core.messages import shown as shown_in
from simulator.results.causes import NOTE
from simulator.sheets.model import TABS
from simulator.storage.run_file import run_ids
from tests.servers.openai import OpenAIServer, play
from tests.sheets_sink import KEY, sheets_server

JUDGES = ["turn", "relevance", "groundedness", "similarity", "fluency", "cosine", "conversation"]
SECRET = "sk-very-secret-0123456789"
BOT = '''
def answer(question, history):
    """Says the question back; a bell and a colour for the terminal."""
    return f"{len(history)}: {question}です。\\x1b[31m\\x07", [{"id": "faq", "text": "よくある質問"}]
'''


@pytest.fixture(autouse=True)
def bot(tmp_path: Path) -> None:
    """A bot of one's own, where the commands are run."""
    (tmp_path / "bot.py").write_text(BOT, encoding="utf-8")


@pytest.fixture
def server(server: OpenAIServer, monkeypatch: pytest.MonkeyPatch) -> OpenAIServer:
    """The fake endpoint, configured for every role, with a key."""
    server.key = SECRET
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    return server


def test_offline_it_works_at_once(command: Any) -> None:
    """On a fresh clone, with no key: the demo bot is rehearsed, graded by stand-ins and reported."""
    done = command("--persona", "angry", "--limit", "3", "--json")
    shown = done.json

    assert done.code == 0
    assert (shown["offline"], shown["passed"], shown["target"], shown["cost_usd"]) == (True, None, None, 0)
    assert list(shown["judges"]) == JUDGES
    assert shown["conversations"]["planned"] == shown["conversations"]["finished"] == 3
    assert shown["calls"] == {}
    assert "simple versions (no AI, no cost) play customer and judges" in done.err
    assert {path.name for path in Path(shown["store"]).parent.iterdir()} == {
        "run.sqlite", "run.lock", "report.html",
    }  # fmt: skip
    assert done.run.run.status == "finished"
    assert {c.persona for c in done.run.conversations} == {"angry"}


@pytest.mark.parametrize(
    "deed",
    [
        "sys.stdout.close(); sys.stderr.close()",
        "sys.stdout = sys.stderr = None",
        "thread = threading.Thread(target=lambda: 1 / 0); thread.start(); thread.join()",
    ],
)
def test_what_a_bot_does_beside_its_answers_costs_nothing(command: Any, tmp_path: Path, deed: str) -> None:
    """The verdict is still printed, and what went on is said without a traceback."""
    source = f"import sys, threading\ndef answer(question):\n    {deed}\n    return 'はい。'\n"
    (tmp_path / "aside.py").write_text(source, encoding="utf-8")
    done = command("--offline", "--adapter", "aside.py:answer", "--limit", "1", "--turns", "1", "--json")

    assert (done.code, done.json["conversations"]["finished"]) == (0, 1)
    assert "report.html" in done.err
    assert "Traceback" not in done.err
    assert ("thread" in deed) == ("ZeroDivisionError: division by zero (aside.py, line 3)" in done.err)


def test_with_models_over_http(command: Any, server: OpenAIServer) -> None:
    """Customer, bot, judges and embeddings each make their calls; the books agree with the endpoint.

    The judge's are twelve that grade, and those about red answers: which share a fault, and its cause. A call
    of the bot's model may count how many tokens a text has.
    """
    done = command("--limit", "3", "--json", "--to", "json", "--cache", "off")
    shown = done.json
    turns = shown["turns"]

    assert done.code == 0
    assert not shown["offline"]
    assert turns == 9
    about_red, counted = shown["calls"]["judge"] - 12, shown["calls"]["demo"] - 9
    assert counted in (0, 1)
    assert any(key.startswith(NOTE) for key in done.run.notes)
    assert shown["calls"] == {"demo": 9 + counted, "embed": 3, "judge": 12 + about_red, "user": 9}
    assert server.counts["chat"] == 30 + about_red + counted
    assert 1 <= server.counts["embeddings"] <= 3  # texts that are wanted at the same time go together
    assert server.statuses == {200: sum(server.counts.values())}
    assert {name: (j["n"], j["planned"], j["skipped"]) for name, j in shown["judges"].items()} == dict(
        zip(JUDGES, [(9, 9, 0)] * 3 + [(3, 9, 6), (9, 9, 0), (3, 9, 6), (3, 3, 0)], strict=True)
    )
    assert done.run.spending["judge"].tokens_in > 0
    kept = json.loads(Path(shown["store"]).with_name("report.json").read_text(encoding="utf-8"))
    assert {key: kept[key] for key in shown} == shown
    assert "Models: Customer gpt-4.1-mini, Judge gpt-4.1, Embeddings text-embedding-3-small" in done.err
    assert 0 < done.err.index("At least ") < done.err.index("At most ")


def test_the_key_is_written_nowhere(command: Any, server: OpenAIServer, tmp_path: Path) -> None:
    """Neither run file, report, cache nor output holds it."""
    done = command("--limit", "1", "--json", "--to", "json")

    assert done.code == 0
    assert SECRET not in done.out + done.err
    for path in tmp_path.rglob("*"):
        assert not path.is_file() or SECRET.encode() not in path.read_bytes()
    assert {request.headers["authorization"] for request in server.requests} == {f"Bearer {SECRET}"}


def test_failing_judges_make_it_incomplete(command: Any, server: OpenAIServer) -> None:
    """More failed grades than 5 % is exit code 3, before the missed target's 1."""
    server.reply = lambda request: "no" if request["model"] == "gpt-4.1" else play(request)
    done = command("--adapter", "bot.py:answer", "--limit", "1", "--json", "--target", "1", "--cache", "off")

    assert (done.code, done.json["passed"]) == (3, False)
    assert done.json["judges"]["turn"]["failed"] == done.json["judges"]["turn"]["planned"]
    assert done.json["judges"]["turn"]["mean"] is None
    assert {s.state for s in done.run.scores if s.judge == "turn"} == {"failed"}


def test_a_refused_key_is_one_line(command: Any, server: OpenAIServer) -> None:
    """Exit code 3, which key to look at, and how to go on; nothing was graded."""
    server.key = "another"
    done = command("--adapter", "bot.py:answer", "--limit", "3", "--target", "1")

    assert done.code == 3
    assert "Check REHEARSAL_USER_KEY" in done.error or "Check REHEARSAL_JUDGE_KEY" in done.error
    assert done.error.endswith(f"Finish it with: python run.py --resume {done.run.run.id}")
    assert done.run.run.status == "stopped"
    assert SECRET not in done.err

    server.key = SECRET
    again = command("--resume", done.run.run.id)
    assert again.code == 1, "incomplete came before the missed target"
    assert again.run.run.status == "finished"


def test_a_resumed_run_is_whole_wherever_it_was_written(
    command: Any, server: OpenAIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The sheet and the files that showed how it broke off, without --to; not a sheet with a later run."""
    words = ("--adapter", "bot.py:answer", "--limit", "1", "--persona", "calm", "--cache", "off")
    with sheets_server(monkeypatch) as sheets:

        def broken_off() -> str:
            server.key = "another"
            assert command(*words, "--to", "sheets,json", "--sheet", KEY).code == 3
            server.key = SECRET
            return next(iter(reversed(run_ids(Path("runs")))))

        def shown() -> str:
            return str(sheets.person(KEY).rows(shown_in(TABS["summary"], "en")))

        first = broken_off()
        file = Path("runs", first, "report.json")
        before, half = shown(), file.read_bytes()
        done = command("--resume", first)
        assert done.code == 0
        assert f"{KEY}" in done.err
        assert shown() != before
        assert file.read_bytes() != half

        second = broken_off()
        monkeypatch.delenv("REHEARSAL_GOOGLE_CREDENTIALS")
        done = command("--resume", second)
        assert done.code == 0
        assert f"python run.py report {second} --to sheets --sheet {KEY}" in done.err

        third = shown()
        monkeypatch.setenv("REHEARSAL_GOOGLE_CREDENTIALS", json.dumps(sheets.service_account()))
        assert f"{KEY}" not in command("--resume", first).err
        assert shown() == third


def test_two_judges_of_one_name_are_refused(command: Any, root: Path, tmp_path: Path) -> None:
    """Their grades would overwrite each other."""
    text = (root / "judges" / "turn.toml").read_text(encoding="utf-8")
    (tmp_path / "turn.toml").write_text(text, encoding="utf-8")
    done = command("--judges", "turn,./turn.toml", "--limit", "1")

    assert done.code == 2
    assert not (tmp_path / "runs").exists()
    assert "--judges names two judges called 'turn'" in done.error


def test_a_bot_that_never_answers_is_no_success(command: Any, tmp_path: Path) -> None:
    """Also without a target: what kept it from answering is said, how to try it alone, and the code is 3."""
    (tmp_path / "down.py").write_text("def answer(question):\n    raise OSError('cut')\n", encoding="utf-8")
    done = command("--adapter", "down.py:answer", "--language", "ja", "--limit", "1")

    assert done.code == 3
    assert "ボットが一度も回答しませんでした" in done.out
    assert "cut" in done.out
    assert "python run.py doctor --adapter down.py:answer" in done.err


def test_a_second_ctrl_c_is_one_line_too(command: Any, tmp_path: Path) -> None:
    """A KeyboardInterrupt in the middle of everything still says how to go on, and the run is resumable."""
    (tmp_path / "hard.py").write_text(
        "async def answer(question):\n    raise KeyboardInterrupt\n", encoding="utf-8"
    )
    done = command("--adapter", "hard.py:answer", "--limit", "2")
    gc.collect()  # what it left unfinished is told now, and not within some later test

    assert (done.code, done.run.run.status) == (3, "interrupted")
    assert done.error == f"error: interrupted. Finish it with: python run.py --resume {done.run.run.id}"


def test_what_a_bot_prints_is_not_in_the_json(command: Any, tmp_path: Path) -> None:
    """Standard output stays one JSON object; what the bot's code says goes to standard error."""
    code = "print('loading')\ndef answer(question):\n    print('asked')\n    return question + 'です。'\n"
    (tmp_path / "chatty.py").write_text(code, encoding="utf-8")
    done = command("--adapter", "chatty.py:answer", "--limit", "1", "--json")

    assert (done.code, done.json["conversations"]["finished"]) == (0, 1)
    assert "loading\n" in done.err
    assert "asked\n" in done.err


def test_a_bot_that_changes_the_folder_and_starts_programs_that_print(root: Path, tmp_path: Path) -> None:
    """Reports stand where the run began, and stdout is one JSON object, whatever writes to descriptor 1."""
    (tmp_path / "wanders.py").write_text(
        "import os, tempfile\n"
        "def answer(question: str):\n"
        "    os.chdir(tempfile.gettempdir())\n"
        "    os.system('echo from-a-child')\n"
        "    return question\n",
        encoding="utf-8",
    )
    arguments = ["--adapter", "wanders.py:answer", "--limit", "1", "--turns", "2", "--json"]

    done = subprocess.run(
        [sys.executable, str(root / "run.py"), *arguments, "--offline"],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    )

    assert (done.returncode, json.loads(done.stdout)["conversations"]["finished"]) == (0, 1)
    assert "from-a-child" in done.stderr
    assert [path.parent.parent.parent for path in tmp_path.rglob("report.html")] == [tmp_path]


def test_a_small_judge_is_asked_in_short_prompts(server: OpenAIServer, command: Any) -> None:
    """By the parameters in its name; run and report say so, and a choice of one's own wins."""
    asked = ("--adapter", "bot.py:answer", "--limit", "1", "--persona", "angry", "--language", "en")
    small = command(*asked, "--judge-model", "qwen3:8b", "--json")
    chosen = command(*asked, "--judge-model", "qwen3:8b", "--judging", "combined", "--json")
    large = command(*asked, "--judge-model", "qwen3:32b", "--json")

    assert "qwen3:8b" in small.err
    assert "--judging small" in small.err
    assert list(small.json["judges"]) == ["turn", "groundedness", "similarity"]
    assert "short prompts" in command("report", small.json["run"], "--verbose").out
    for done in (chosen, large):
        assert list(done.json["judges"]) == JUDGES
        assert "--judging" not in done.err
