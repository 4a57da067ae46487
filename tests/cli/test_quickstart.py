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
from simulator.core import shelves
from simulator.core.settings import Settings, load_settings
from simulator.stats.summary import summarise
from simulator.storage.run_file import find_run, read_run
from tests.report.test_fixing_pages import Walk as PageWalk

PAGES = ("quickstart.ja.md", "quickstart.md")
# What of a page is done once for the whole checkout, or by whoever walks.
NOT_WALKED = ("make install", "source .venv/bin/activate", "mkdir ../shop", "cd ../shop")
NAMED = re.compile(r"# (\S+\.(?:py|toml))\n")
DOOR = str(shelves.ROOT / "run.py")
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
    """The bot of the page, started by the page's own command, on a port that is free."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.port = folder, 0
        self.process: subprocess.Popen[str] | None = None

    def start(self, words: list[str]) -> str:
        """Starts it anew, as a user does after Ctrl-C; gives what it says until it listens."""
        self.stop()
        at = words.index("8000")
        command = [sys.executable, *words[1:at], str(self.port), *words[at + 1 :]]
        self.process = subprocess.Popen(
            command, cwd=self.folder, env=WORLD, text=True,
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
        )  # fmt: skip
        said = ""
        for line in self.process.stderr or ():
            said += line
            if listening := re.search(r"running on http://127\.0\.0\.1:(\d+)", line):
                self.port = int(listening[1])
                return said
        raise AssertionError(said)

    def stop(self) -> None:
        """Ends it, and waits for that."""
        if self.process is not None:
            self.process.terminate()
            self.process.communicate()
            self.process = None


class Walk(PageWalk):
    """The walk of somebody who has a bot and a folder of their own beside the checkout."""

    def __init__(self, page: str, home: Path) -> None:
        super().__init__(page, home)
        self.folder = home / "shop"
        self.folder.mkdir()
        (home / "rehearsal").symlink_to(shelves.ROOT)
        self.server = Server(self.folder)
        self.rehearsals: list[Rehearsed] = []

    def write(self, name: str, text: str) -> None:
        """A file of the page, with the port that the bot really has."""
        (self.folder / name).write_text(text.replace(":8000", f":{self.server.port}"), encoding="utf-8")

    def rehearsal(self, words: list[str]) -> tuple[int, str]:
        """Exit code and output of a `run.py` command of the page."""
        return run(self.folder, *words[1:])

    def report(self) -> str:
        """What the last report shows, without its markup."""
        page = find_run("latest", self.folder / "runs").with_name("report.html").read_text(encoding="utf-8")
        bare = re.sub(r"<(style|script)\b.*?</\1>|<[^>]+>", " ", page, flags=re.DOTALL)
        return unescape(bare)

    def _python(self, block: str) -> None:
        named = NAMED.match(block)
        assert named, block
        self.write(named[1], block)

    _toml = _python

    def _csv(self, block: str) -> None:
        self.write("questions.csv", block)

    def _text(self, block: str) -> None:
        self._compare(block, self.report())

    def _done(self, words: list[str]) -> str:
        if shlex.join(words) in NOT_WALKED or words[0] == "pip":
            return ""
        if words[:3] == ["python", "-m", "uvicorn"]:
            return self.server.start(words)
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


def run(folder: Path, *words: str) -> tuple[int, str]:
    """Exit code and output of `run.py` with these words, typed in that folder."""
    said = io.StringIO()
    before = dict(os.environ)
    os.environ.clear()
    os.environ.update(WORLD)
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
    for turn in summary.reddest:
        red[turn.case] += 1
    return Rehearsed(settings.adapter, code, round(100 * (summary.score or 0)), red)


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
    """Only the question about returns is red, at 9 turns, and the target missed; afterwards nothing is."""
    found, mended, without_http = walk.rehearsals

    assert (found.bot, found.code, found.red) == ("http", 1, {"001": 0, "002": 9, "003": 0, "004": 0})
    assert (mended.bot, mended.code, set(mended.red.values())) == ("http", 0, {0})
    assert found.score < 90 <= mended.score
    assert without_http == mended._replace(bot="bot.py:answer")


TROUBLES = {
    "bot.py is already here; nothing was written.": (None, "init"),
    "http: cannot connect to 127.0.0.1:8000": (None, "doctor"),
    "http: HTTP 404": (("/chat", "/"), "doctor"),
    "http: HTTP 422": (("passages = 'sources'", """request = '{"question": "$question"}'"""), "doctor"),
    "no 'answer' in the reply, which has the keys reply, sources": (("'reply'", "'answer'"), "doctor"),
    "0 passages": (("'sources'", "'source'"), "doctor"),
    "questions.csv, line 2: no question column.": (None, "doctor"),
}
SETTINGS = """
adapter = 'http'
cases = 'questions.csv'
[set]
url = 'http://127.0.0.1:8000/chat'
answer = 'reply'
passages = 'sources'
"""


@pytest.mark.parametrize("walk", PAGES[:1], indirect=True)
@pytest.mark.parametrize("trouble", TROUBLES)
def test_a_trouble_of_the_table_looks_as_it_says(walk: Walk, trouble: str) -> None:
    """Each message appears when what the table names is wrong."""
    change, word = TROUBLES[trouble]
    header = "column" if "column" in trouble else "question"
    (walk.folder / "questions.csv").write_text(f"{header}\nWhere do you deliver?\n送料は\n", encoding="utf-8")
    if change is None:
        walk.server.stop()
    elif walk.server.process is None:
        walk.server.start(["python", "-m", "uvicorn", "shop:app", "--port", "8000"])
    walk.write("rehearsal.toml", SETTINGS.replace(*change) if change else SETTINGS)
    _, said = walk.rehearsal(["python", "../rehearsal/run.py", word, *["--offline"] * (word == "doctor")])

    assert walk.bare(trouble) in walk.bare(said)
    assert f"| `{trouble}` |" in walk.text


@pytest.fixture
def sample(tmp_path: Path) -> Path:
    """A folder with what `init` writes."""
    folder = tmp_path / "sample"
    folder.mkdir()
    assert run(folder, DOOR, "init")[0] == 0
    return folder


def started(folder: Path, *options: str) -> tuple[Rehearsed, str]:
    """The sample, rehearsed by the command that `init` names, and what was said."""
    code, said = run(folder, DOOR, "--offline", *options)
    return _rehearsed(code, folder / "runs"), said


def test_what_init_writes_shows_red_and_good_and_how_to_mend(sample: Path) -> None:
    """As it is it answers what it does not know; without two `#` it declines, and nothing is red."""
    before, said = started(sample)
    bot = (sample / "bot.py").read_text(encoding="utf-8")
    mended, lines = re.subn(r"^    # (if not found:|    return SORRY)", r"    \1", bot, flags=re.MULTILINE)
    (sample / "bot.py").write_text(mended, encoding="utf-8")
    after, _ = started(sample)

    assert (before.code, lines) == (0, 2)
    assert "資料では答えられない質問に、答えを述べています。" in said
    assert {case for case, turns in before.red.items() if turns} == {"points-ja", "points-en"}
    assert len(before.red) == 6
    assert set(after.red.values()) == {0}
    assert before.score < after.score


def test_every_switched_off_line_of_the_sample_can_be_switched_on(sample: Path) -> None:
    """What stands behind a `#` in rehearsal.toml is a setting that there is."""
    file = sample / "rehearsal.toml"
    text = file.read_text(encoding="utf-8")
    Path(file.name).write_text(re.sub(r"^# (\[\w+\]|\w+ = .*)$", r"\1", text, flags=re.MULTILINE), "utf-8")
    found = load_settings({}, environ={})

    assert tomllib.loads(text).keys() == {"adapter", "cases", "persona", "turns"}
    assert (found.target, found.language, found.red) == (0.8, "ja", Settings().red)
    assert found.greeting is not None
    assert found.greeting.keys() == {"ja", "en"}
    assert sorted(found.set) == ["answer", "passages", "url"]
