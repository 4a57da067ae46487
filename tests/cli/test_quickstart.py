"""A first-time user's ten minutes: both pages are walked through as they stand there, with what they show."""

import contextlib
import io
import os
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from html import unescape
from pathlib import Path
from typing import NamedTuple

import pytest

from simulator.cli.app import main
from simulator.cli.init import START
from simulator.core.settings import Settings, load_settings
from simulator.results.summary import summarise
from simulator.storage.run_file import find_run, read_run
from tests.report.test_fixing_pages import Walk as PageWalk

PAGES = ("quickstart.ja.md", "quickstart.md")
# What of a page is done once for the whole checkout, or by whoever walks.
NOT_WALKED = ("make install", "source .venv/bin/activate", "cd ../shop")
# The bot of the page behind HTTP, with the fields that the sample's settings name.
SERVER = """
from fastapi import FastAPI
from pydantic import BaseModel

from bot import answer

app = FastAPI()


class Message(BaseModel):
    message: str


@app.post("/chat")
def chat(body: Message):
    reply, passages = answer(body.message)
    return {"reply": reply, "sources": passages}
"""
WORLD = {
    name: value
    for name, value in os.environ.items()
    if not name.startswith(("REHEARSAL_", "OPENAI_")) and not name.endswith("_PROXY")
} | {"PYTHONPATH": "", "PYTHONUTF8": "1", "COLUMNS": "80", "NO_COLOR": "1"}


class Rehearsed(NamedTuple):
    """A rehearsal of the page: exit code, and the red turns of every question."""

    bot: str
    code: int
    score: float
    red: dict[str, int]


class Server:
    """The bot of the page behind HTTP, on a port that is free."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.port = folder, 0
        self.process: subprocess.Popen[str] | None = None

    def start(self) -> None:
        """Starts it anew, as a user does after Ctrl-C, and waits until it listens."""
        self.stop()
        (self.folder / "server.py").write_text(SERVER, encoding="utf-8")
        self.process = subprocess.Popen(
            [sys.executable, "-m", "uvicorn", "server:app", "--port", str(self.port)],
            cwd=self.folder, env=WORLD, text=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
        )  # fmt: skip
        said = ""
        for line in self.process.stderr or ():
            said += line
            if listening := re.search(r"running on http://127\.0\.0\.1:(\d+)", line):
                self.port = int(listening[1])
                return
        raise AssertionError(said)

    def stop(self) -> None:
        """Ends it, and waits for that."""
        if self.process is not None:
            self.process.terminate()
            self.process.communicate()
            self.process = None


class Walk(PageWalk):
    """The walk of somebody who has a folder of their own beside the checkout, in the page's language."""

    def __init__(self, page: str, home: Path) -> None:
        super().__init__(page, home)
        self.folder, self.checkout = home / "shop", home / "rehearsal"
        self.checkout.mkdir()
        self.locale = "ja_JP.UTF-8" if ".ja." in page else "C.UTF-8"
        self.server = Server(self.folder)
        self.rehearsals: list[Rehearsed] = []

    def write(self, name: str, text: str) -> None:
        """A file of the page, with the port that the bot really has."""
        (self.folder / name).write_text(text.replace(":8000", f":{self.server.port}"), encoding="utf-8")

    def rehearsal(self, words: list[str]) -> tuple[int, str]:
        """Exit code and output of a `run.py` command of the page."""
        return run(self.folder, *words[1:], locale=self.locale)

    def report(self) -> str:
        """What the last report shows, without its markup."""
        page = find_run("latest", self.folder / "runs").with_name("report.html").read_text(encoding="utf-8")
        bare = re.sub(r"<(style|script)\b.*?</\1>|<[^>]+>", " ", page, flags=re.DOTALL)
        return unescape(bare)

    def _text(self, block: str) -> None:
        self._compare(block, self.report())

    def _done(self, words: list[str]) -> str:
        if shlex.join(words) in NOT_WALKED:
            return ""
        if words[:3] == ["python", "run.py", "init"]:
            code, said = run(self.checkout, *words[1:], locale=self.locale)
            assert code == 0, said
            return said
        assert words[:2] == ["python", "../rehearsal/run.py"]
        code, said = self.rehearsal(words)
        if words[2].startswith("-"):
            self.rehearsals.append(_rehearsed(code, self.folder / "runs"))
        else:
            assert code == 0, said
        return said

    def bare(self, text: str) -> str:
        """Without what differs from run to run and from width to width."""
        return super().bare(text.replace(f":{self.server.port}", ":8000"))


def run(folder: Path, *words: str, locale: str = "C.UTF-8") -> tuple[int, str]:
    """Exit code and output of `run.py` with these words, typed in that folder."""
    said = io.StringIO()
    before = dict(os.environ)
    os.environ.clear()
    os.environ.update(WORLD, LC_ALL=locale)
    try:
        with contextlib.chdir(folder), redirect_stdout(said), redirect_stderr(said):
            code = main(words[1:])
    finally:
        os.environ.clear()
        os.environ.update(before)
        for name, module in list(sys.modules.items()):  # the page's bots are mended and asked again
            if str(getattr(module, "__file__", None) or "").startswith(str(folder)):
                del sys.modules[name]
    return code, said.getvalue()


def _rehearsed(code: int, runs: Path) -> Rehearsed:
    """What came of the latest run."""
    results = read_run(find_run("latest", runs))
    settings = Settings.model_validate(results.run.settings)
    summary = summarise(results, rules=settings.red, judges=settings.judges, seed=settings.seed)
    red: dict[str, int] = dict.fromkeys(
        sorted({conversation.case.id for conversation in results.conversations}), 0
    )
    for turn in summary.red.answers:
        red[turn.case] += 1
    return Rehearsed(settings.adapter, code, round(100 * (summary.scores.score or 0)), red)


@pytest.fixture(scope="module", params=PAGES)
def walk(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Walk]:
    """A page, walked through once from its first block to its last."""
    walked = Walk(request.param, tmp_path_factory.mktemp("home"))
    try:
        walked.go()
        yield walked
    finally:
        walked.server.stop()


def test_the_page_shows_what_its_reader_sees(walk: Walk) -> None:
    """Every quoted line of terminal and report came, in that order."""
    assert walk.unseen == []


def test_the_wrong_fact_is_red_until_it_is_mended(walk: Walk) -> None:
    """Only the question about returns is red, at 8 turns; then nothing is, and the target is reached."""
    found, mended = walk.rehearsals

    assert (found.bot, found.code, found.red) == (
        "bot.py:answer", 0, {"001": 0, "002": 8, "003": 0, "004": 0, "005": 0},
    )  # fmt: skip
    assert (mended.bot, mended.code, set(mended.red.values())) == ("bot.py:answer", 0, {0})
    assert found.score < 90 <= mended.score


def test_the_bot_behind_http_is_graded_alike(walk: Walk) -> None:
    """With the settings that the page leaves behind."""
    walk.server.start()
    walk.write("rehearsal.toml", (walk.folder / "rehearsal.toml").read_text(encoding="utf-8"))
    code, _ = walk.rehearsal(["python", "../rehearsal/run.py", "--offline"])

    assert _rehearsed(code, walk.folder / "runs") == walk.rehearsals[1]._replace(bot="http")


# What is wrong behind each line of the table, but its first two, which take a bare machine.
TROUBLES = (
    "init",
    ("passages = 'sources'", """request = '{"question": "$question"}'"""),
    ("'reply'", "'answer'"),
    ("'sources'", "'source'"),
    "no column",
)
SETTINGS = """
adapter = 'http'
cases = 'questions.csv'
[set]
url = 'http://127.0.0.1:8000/chat'
answer = 'reply'
passages = 'sources'
"""


@pytest.mark.parametrize("number", range(len(TROUBLES)))
def test_a_trouble_of_the_table_looks_as_it_says(walk: Walk, number: int) -> None:
    """Each message appears when what the table names is wrong."""
    table = walk.text.rpartition("\n## ")[2]
    _make, _packages, *messages = re.findall(r"^\| `(.+?)` \|", table, re.MULTILINE)
    assert len(messages) == len(TROUBLES)
    trouble = TROUBLES[number]
    header = "column" if trouble == "no column" else "question"
    (walk.folder / "questions.csv").write_text(f"{header}\nWhere do you deliver?\n送料は\n", encoding="utf-8")
    if walk.server.process is None:
        walk.server.start()
    walk.write("rehearsal.toml", SETTINGS.replace(*trouble) if isinstance(trouble, tuple) else SETTINGS)
    words = ["init"] if trouble == "init" else ["doctor", "--offline"]
    _, said = walk.rehearsal(["python", "../rehearsal/run.py", *words])

    assert walk.bare(messages[number]) in walk.bare(said)


@pytest.mark.parametrize("language", ["ja", "en"])
def test_every_switched_off_line_of_the_sample_can_be_switched_on(language: str) -> None:
    """What stands behind a `#` in rehearsal.toml is a setting that there is."""
    text = (START / language / "rehearsal.toml").read_text(encoding="utf-8")
    Path("rehearsal.toml").write_text(
        re.sub(r"^# (\[\w+\]|\w+ = [^#]*?)(?: *#.*)?$", r"\1", text, flags=re.MULTILINE), "utf-8"
    )
    found = load_settings({}, environ={})

    assert tomllib.loads(text).keys() == {"adapter", "cases", "persona", "turns"}
    assert (found.target, found.red) == (0.9, Settings().red)
    assert sorted(found.set) == ["answer", "passages", "url"]
