"""The command line: its help, its exit codes, and one line for whatever the user can mend."""

import json
import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from simulator import open_run
from simulator.core import shelves
from simulator.core.messages import CHECKOUT
from simulator.core.settings import SETTINGS_FILE, flag, groups, own_settings, setting_fields
from tests.commands import Command
from tests.golden_files import compare

RUN = [sys.executable, str(shelves.ROOT / "run.py")]
BOT = "def answer(question):\n    return question + ' です。'\n"
OWN = ["--offline", "--adapter", "bot.py:answer", "--judges", "turn"]


@pytest.fixture
def run(command: Command) -> Command:
    """Runs a command in this process, beside a bot of one's own."""
    Path("bot.py").write_text(BOT, encoding="utf-8")
    return command


@pytest.fixture
def clean() -> Iterator[None]:
    """Takes back what a .env file adds to the environment."""
    before = dict(os.environ)
    yield
    for name in os.environ.keys() - before.keys():
        del os.environ[name]


def process(*arguments: str, stdout: Any = subprocess.PIPE, **environment: str) -> Any:
    """Runs a command as users do."""
    world = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"} | environment
    return subprocess.run([*RUN, *arguments], stdout=stdout, stderr=subprocess.PIPE, env=world, check=False)


@pytest.mark.parametrize("word", ["", "simulate"])
def test_help_is_as_it_is_meant_to_look(run: Any, word: str) -> None:
    """What a command does, what each option means, what it takes and its default."""
    done = run(*filter(None, [word]), "--help")

    assert (done.code, done.err) == (0, "")
    compare(f"help_{word or 'run'}.txt", done.out)
    assert done == run(*filter(None, [word]), "-h")


def test_an_option_that_means_something_else_here_says_so(run: Any) -> None:
    """Of a run that is over no judge is checked before, and its bot is known."""
    assert "Only the runs of this bot." in run("history", "--help").out
    for word in ("history", "report"):
        shown = run(word, "--help").out
        assert not any(foreign in shown for foreign in ("Before the run", "Needed with your questions"))


def test_every_setting_has_its_place_in_the_help(run: Any) -> None:
    """Each field is in one panel, but for the tables of the file, and fits the page."""
    fields = [name for names in groups().values() for name in names]
    shown = run("simulate", "--help-all").out

    without_an_option = {"red", "protocol"}
    assert sorted(fields) == sorted(setting_fields().keys() - without_an_option)
    for name in fields:
        assert setting_fields()[name].description
        assert (f" {flag(name)} " in shown) is (name not in own_settings("single_turn"))
    assert max(map(len, shown.splitlines())) <= 100


def test_a_short_option_takes_its_value_with_or_without_a_space(run: Any) -> None:
    """As in any other program."""
    few = ("--persona", "calm", "--limit", "1", "--turns", "1")
    assert run(*OWN, *few, "-ohere").code == run(*OWN, *few, "-o", "here").code == 0
    assert len(list(Path("here").iterdir())) == 2


def test_another_file_of_settings(run: Any) -> None:
    """With -c, also before the word, it stands in for rehearsal.toml, for that command alone.

    One that is not there, or has no name, is an error.
    """
    Path(SETTINGS_FILE).write_text('adapter = "nothing.py:answer"\n', encoding="utf-8")
    Path("mine.toml").write_text('adapter = "bot.py:answer"\nlimit = 1\nturns = "x"\n', encoding="utf-8")
    for words in (
        ("--offline", "-c", "mine.toml"),
        ("--offline", "--config=mine.toml"),
        ("-c", "mine.toml", "doctor"),
    ):
        done = run(*words)
        assert (done.code, done.err.count("\n")) == (2, 1)
        assert "turns in mine.toml: x" in done.err

    assert "nothing.py" in run("--offline").err
    for missing, named in ((["gone.toml"], "gone.toml"), ([], "-c: ")):
        gone = run("--offline", "-c", *missing)
        assert (gone.code, gone.err.count("\n")) == (2, 1)
        assert named in gone.err


def test_without_a_command_a_rehearsal_starts(run: Any) -> None:
    """Options may follow at once, or stand in the file alone."""
    Path(SETTINGS_FILE).write_text(
        'adapter = "bot.py:answer"\njudges = "turn"\nlimit = 1\n', encoding="utf-8"
    )

    assert run().code == 0
    assert run("--offline").code == 0
    assert run("simulate").code == 0
    assert len(list(Path("runs").iterdir())) == 3


def test_flags_reach_the_settings(run: Any) -> None:
    """A 0 is a 0, also over the file's number; names may be repeated, and of one value the last counts."""
    file = "retest = 0.5\nseed = 7"
    Path(SETTINGS_FILE).write_text(file, encoding="utf-8")
    flags = "--retest 0 --seed 5 --seed 0 --persona angry --persona calm,beginner --target 85 --budget 1円"
    done = run("doctor", "--json", *OWN, *flags.split())
    shown = json.loads(done.out)["settings"]

    assert {key: shown[key] for key in ("retest", "seed", "persona", "target", "budget")} == {
        "retest": "0", "seed": "0", "persona": "angry, calm, beginner",
        "target": "0.85", "budget": "0.0067 USD",
    }  # fmt: skip


WRONG = [
    ("--personna calm", "unknown option: '--personna'. Did you mean --persona, --"),
    ("--turns", "Option '--turns' requires an argument."),
    ("--cases=", "Option '--cases' requires an argument."),
    ("history --html -o runs", "Option '--html' requires an argument."),
    ("--verbose=1", "Option '--verbose' does not take a value."),
    ("purge", "RUN is missing. See: python run.py purge --help"),
    ("report -- --last two", "unexpected extra argument(s) (two)"),
    ("--turns three", "--turns three: must be a whole number"),
    ("--budget 0", "--budget 0: must be more than 0."),
    ("simulat", "unknown command: 'simulat'. Did you mean simulate?"),
    ("report one two", "unexpected extra argument"),
    ("report none", "no run 'none'"),
    ("--cases a.csv --cases b.csv", "--cases a.csv b.csv: takes one file: put the rows into one"),
    ("--set x=1", "unknown --set of adapter"),
    ("--adapter bot.py:ansr", "Did you mean answer?"),
    ("--adapter http", "adapter http needs --set"),
    ("--adapter http://x/chat", "is an address: write --adapter http --set url=ADDRESS."),
    ("--cases a.csv --columns question=a,question=b", "names two columns for question"),
    ("--judges turn,flunecy", "unknown judge: 'flunecy'. Did you mean fluency?"),
    # People type what they read: titles in either language, and what begins like them.
    ("--persona 怒り", "unknown customer: '怒り'. Did you mean angry (Angry customer)?"),
    ("--persona 初心者", "Did you mean beginner (First-time customer)?"),
    ("--persona Ａｎｇｒｙ", "Did you mean angry?"),
    ("--persona お客様", "unknown customer: 'お客様'. All names:"),
    ("--judges 総合", "Did you mean turn (Overall verdict)?"),
    ("--judges Overall", "Did you mean turn (Overall verdict)?"),
    ("--target 点≧80", "unknown figure in --target: '点'. Did you mean score (Score)?"),
    ("--cases none.csv", "none.csv"),
    ("--to nowhere", "unknown report: 'nowhere'."),
    ("--resume 20200101", "no run '20200101' in runs/. There is no runs/ here: type this"),
    ("--resume bot.py", "bot.py: not a run file"),
    ("--judges turn,./turn.toml", "turn.toml: no such file"),
]


@pytest.mark.parametrize(("arguments", "told"), WRONG, ids=[arguments for arguments, _ in WRONG])
def test_what_is_to_mend_is_one_line(run: Any, arguments: str, told: str) -> None:
    """Exit code 2, one line on standard error that says what to do, nothing printed and nothing written."""
    own = ["--adapter", "bot.py:answer"] if "--adapter" not in arguments and arguments.startswith("-") else []
    done = run(*own, *arguments.split())

    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("error: ")
    assert told in done.err
    assert done.err.count("\n") == 1
    assert [path.name for path in Path().iterdir() if path.name != "__pycache__"] == ["bot.py"]


def test_ctrl_c_is_one_line(run: Any) -> None:
    """Before anything has begun there is nothing to finish."""
    Path("bot.py").write_text("raise KeyboardInterrupt\n", encoding="utf-8")

    assert run(*OWN) == (3, "", "error: interrupted.\n")


def test_ctrl_c_while_the_program_is_loaded_is_one_line() -> None:
    """As at any later time."""
    Path("pydantic.py").write_text("raise KeyboardInterrupt\n", encoding="utf-8")
    done = subprocess.run(
        RUN, env=os.environ | {"PYTHONPATH": str(Path.cwd())}, capture_output=True, check=False
    )

    assert (done.returncode, done.stdout, done.stderr) == (3, b"", b"error: interrupted.\n")


def test_an_env_file_adds_to_the_environment(run: Any, clean: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Settings, keys and what adapters read; what the environment already has, it keeps."""
    Path(".env").write_text(
        "\ufeff# 設定\nREHEARSAL_TURNS=5\nexport REHEARSAL_JUDGE_KEY='sk-x' # mine\n"
        "REHEARSAL_LIMIT=7\nMY_OWN=1\nalone\n",
        encoding="utf-8",
    )
    monkeypatch.setenv("REHEARSAL_LIMIT", "2")
    monkeypatch.setenv("REHEARSAL_JUDGE_URL", "http://127.0.0.1:9/v1")
    done = run("doctor", "--json", *OWN)
    shown = json.loads(done.out)["settings"]

    assert (shown["turns"], shown["limit"], shown["keys"]) == ("5", "2", "REHEARSAL_JUDGE_KEY=***")
    assert (os.environ["MY_OWN"], os.environ["REHEARSAL_JUDGE_KEY"]) == ("1", "sk-x")


def test_an_env_file_is_not_needed_for_help(run: Any, clean: None) -> None:
    """Nor for the version; a folder of that name, as virtual environments have, is passed over, no pipe."""
    Path(".env").write_bytes(b"MY_OWN=\xff")
    assert run("--help").code == run("doctor", "--help").code == run("--version").code == 0
    for broken in (b"MY_OWN=\xff", b"MY_OWN=a\0b"):
        Path(".env").write_bytes(broken)
        done = run("list")
        assert (done.code, done.err.count("\n")) == (2, 1)
        assert done.err.startswith("error: .env: cannot be read")

    Path(".env").unlink()
    os.mkfifo(".env")  # nobody writes to it
    assert (run("list").code, run("--help").code) == (2, 0)
    Path(".env").unlink()
    Path(".env").mkdir()
    assert run("list").code == 0


def test_a_folder_of_runs_that_leads_to_itself(run: Any) -> None:
    """It is no mistake of the program."""
    Path("bot.py").write_text(BOT, encoding="utf-8")
    Path("loop").symlink_to("loop")
    done = run(*OWN, "--runs", "loop")

    assert done.code == 2
    assert "Choose another folder with --runs" in done.err.splitlines()[-1]


@pytest.mark.parametrize(("streams", "code"), [(">&- 2>&-", 0), (">/dev/full 2>&1", 3)])
def test_streams_that_take_nothing(streams: str, code: int) -> None:
    """Closed ones are no fault; where nothing can be said the exit code is that of an incomplete run."""
    Path("bot.py").write_text(BOT, encoding="utf-8")
    line = f"{shlex.join([*RUN, *OWN, '--limit', '1'])} {streams}"

    assert subprocess.run(line, shell=True, check=False).returncode == code  # noqa: S602 - ours


@pytest.mark.parametrize("streams", ["2>&1 | head -1", "2> >(true)"])
def test_no_file_is_lost_where_nobody_reads_to_the_end(streams: str, tmp_path: Path) -> None:
    """All that was asked for is written, and the run is as whole as any other."""
    Path("bot.py").write_text(BOT, encoding="utf-8")
    asked = ["--limit", "1", "--to", "csv,json,junit,markdown,xlsx"]
    line = f"{shlex.join([*RUN, *OWN, *asked])} {streams}; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", line], capture_output=True, text=True, check=False)
    [folder] = tmp_path.glob("runs/*")

    files = {"report.html", "report.csv", "report.json", "junit.xml", "report.md", "report.xlsx"}
    assert files <= {path.name for path in folder.iterdir()}
    assert open_run().run.status == "finished"
    # A script must not take a verdict that nobody saw for a passed gate; only stderr was unread in the last.
    assert done.returncode == (0 if "2> " in streams else 3)


def test_a_command_that_is_told_to_stop_ends_in_a_line(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """As with Ctrl-C, also while reports are written: what the run has is safe."""
    monkeypatch.setenv("LANGUAGE", "en")
    sends = "import os, signal\ndef send(results, summary):\n    os.kill(os.getpid(), signal.{})\n"
    Path("ends.py").write_text(sends.format("SIGTERM"), encoding="utf-8")
    Path("hangs_up.py").write_text(sends.format("SIGHUP"), encoding="utf-8")
    usual = signal.signal(signal.SIGHUP, signal.SIG_DFL)  # it is ignored under nohup, here too
    try:
        ended = process(*OWN, "--limit", "1", "--to", "ends.py:send")
        hung_up = run(*OWN, "--limit", "1", "--to", "hangs_up.py:send")
    finally:
        signal.signal(signal.SIGHUP, usual)

    assert (ended.returncode, hung_up.code) == (3, 3)
    last = "error: interrupted. The run is safe: write the report again with `report`."
    assert ended.stderr.decode().splitlines()[-1] == hung_up.err.splitlines()[-1] == last


def test_run_as_a_process() -> None:
    """As users do, from any folder: a terminal without Japanese gets question marks and no traceback."""
    Path("bot.py").write_text(BOT, encoding="utf-8")
    done = process(*OWN, "--limit", "1", PYTHONIOENCODING="ascii", PYTHONUTF8="0")

    assert done.returncode == 0, done.stderr
    assert b"?" in done.stdout
    assert b"Traceback" not in done.stderr


def test_a_full_disk_below_the_output_is_one_line() -> None:
    """Exit code 3: nobody has seen what was printed."""
    with Path("/dev/full").open("w", encoding="utf-8") as full:
        done = process("--version", stdout=full)

    assert done.returncode == 3
    assert (
        done.stderr.decode()
        == "error: the disk is full (No space left on device); free some space and run it again.\n"
    )


def test_help_starts_without_heavy_libraries() -> None:
    """`--help` loads no client, no numbers and no painter, also with .env; a command's, no client."""
    Path(".env").write_text("A=1", encoding="utf-8")
    clients = ["openai", "langchain", "langchain_core", "faiss", "pandas", "gspread", "aiohttp", "dotenv"]
    heavy = [*clients, "numpy", "jinja2", "rich", "genai_prices", "tenacity"]
    code = (
        f"import sys; sys.path.insert(0, {str(shelves.ROOT)!r}); from simulator.cli.app import main;"
        f"main(['--help']); heavy = [m for m in {heavy!r} if m in sys.modules];"
        "[main([word, '--help']) for word in ('simulate', 'doctor')];"
        f"sys.exit(' '.join(heavy + [m for m in {clients!r} if m in sys.modules]))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)

    assert done.stderr.strip() == ""
    assert done.stdout.count(f"Usage: {CHECKOUT}") == 3
