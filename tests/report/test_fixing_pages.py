"""The pages about mending: both are walked through as they stand there, with what they show."""

import io
import re
import shlex
import shutil
from contextlib import chdir, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import TypeVar

import pytest

from simulator.cli.app import main
from simulator.core import shelves

PAGES = ("fixing.ja.md", "fixing.md")
BLOCKS = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)
RUN_ID = re.compile(r"\d{8}-\d{9}-[a-z]+-[0-9a-f]{4}")
# What stands for lines or words that are left out.
LEFT_OUT = re.compile(r"⋮|…")
# A comparison in which nothing broke, and a verdict that is not settled.
CODES = {"diff": [0], "report": [1]}


class Walk:
    """Somebody who does what a page says, block by block, and looks whether it shows what they see."""

    def __init__(self, page: str, home: Path) -> None:
        self.text = (shelves.ROOT / "docs" / page).read_text(encoding="utf-8")
        self.home = self.folder = home
        self.first_run = ""
        self.codes: dict[str, list[int]] = {}
        self.unseen: list[str] = []
        (home / "demo").symlink_to(shelves.ROOT / "demo")

    def go(self) -> None:
        """Every block in order; what is quoted but was not seen is kept in `unseen`."""
        for kind, block in BLOCKS.findall(self.text):
            getattr(self, f"_{kind}")(block)

    def _bash(self, block: str) -> None:
        """A command that takes a model is only read."""

    def _diff(self, block: str) -> None:
        name, _, changes = block.split("\n", 2)
        file = self.folder / name.removeprefix("--- ")
        text = file.read_text(encoding="utf-8")
        for pair in re.findall(r"((?:^-.*\n)+)((?:^\+.*\n)+)", changes, re.MULTILINE):
            before, after = (re.sub(r"^.", "", lines.strip(), flags=re.MULTILINE) for lines in pair)
            assert text.count(before) == 1, before
            text = text.replace(before, after)
        file.write_text(text, encoding="utf-8")

    def _console(self, block: str) -> None:
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, shown = part.partition("\n")
            self._compare(shown, self._done(shlex.split(command)))

    def _done(self, words: list[str]) -> str:
        if words[:2] == ["python", "run.py"]:
            return self._run([self.first_run if word == "RUN" else word for word in words[2:]])
        if words[0] == "cp":
            shutil.copytree(words[2], words[3])
        elif words[0] == "head":
            lines = Path(words[3]).read_text(encoding="utf-8").splitlines(keepends=True)
            Path(words[5]).write_text("".join(lines[: int(words[2])]), encoding="utf-8")
        else:
            assert (words[0], words[2]) == ("echo", ">>")
            with Path(words[3]).open("a", encoding="utf-8") as article:
                article.write(words[1] + "\n")
        return ""

    def _run(self, words: list[str]) -> str:
        with redirect_stdout(io.StringIO()) as said, redirect_stderr(said):
            code = main(words)
        self.codes.setdefault(words[0], []).append(code)
        if not self.first_run:
            (self.first_run,) = (folder.name for folder in Path("runs").iterdir())
        return said.getvalue()

    def _compare(self, shown: str, seen: str) -> None:
        """Notes every quoted piece that was not seen, or not in this order; spaces and breaks may differ."""
        rest = self.bare(seen)
        for line in shown.splitlines():
            for piece in filter(None, map(self.bare, LEFT_OUT.split(line))):
                before, found, after = rest.partition(piece)
                rest = after if found else before
                self.unseen += [] if found else [line]

    def bare(self, text: str) -> str:
        """Without what differs from run to run and from width to width."""
        return re.sub(r"\s+", "", RUN_ID.sub("RUN", text))


Walker = TypeVar("Walker", bound=Walk)


def walked(kind: type[Walker], page: str, home: Path, *, columns: int) -> Walker:
    """A page after such a walk, in a folder and at a terminal of its own."""
    walk = kind(page, home)
    with pytest.MonkeyPatch.context() as patch, chdir(home):
        patch.setenv("XDG_CACHE_HOME", str(home / "cache"))
        patch.setenv("COLUMNS", str(columns))
        patch.setenv("NO_COLOR", "1")
        patch.setenv("LC_ALL", "ja_JP.UTF-8" if ".ja." in page else "C.UTF-8")
        walk.go()
    return walk


@pytest.fixture(scope="module", params=PAGES)
def walk(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Walk:
    """A page, walked through once from its first block to its last."""
    return walked(Walk, request.param, tmp_path_factory.mktemp("desk"), columns=100)


def test_the_page_shows_what_its_reader_sees(walk: Walk) -> None:
    """Every quoted line of the terminal came, in that order."""
    assert walk.unseen == []


def test_exit_codes_are_those_of_the_page(walk: Walk) -> None:
    """An undecided gate is 1, what looks back is 0."""
    expected = {name: [0] * len(codes) for name, codes in walk.codes.items()} | CODES

    assert walk.codes == expected
