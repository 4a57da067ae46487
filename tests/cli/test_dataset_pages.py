"""The pages about data sets: both are walked through as they stand there, files and commands."""

import re
import runpy
import shlex
import shutil
from pathlib import Path

import pytest

from tests.report.test_fixing_pages import BLOCKS, Walk, walked

PAGES = ("lab/datasets.ja.md", "lab/datasets.md")
# The file that a block becomes: the last one named before it that ends like this.
ENDINGS = {"csv": "csv", "jsonl": "jsonl", "json": "json", "toml": "toml", "python": "py"}


class Recipes(Walk):
    """Somebody who writes each file of the page and types each command that needs nothing else."""

    def go(self) -> None:
        """Every block in order; commands and what they came to are kept in `codes`."""
        for block in BLOCKS.finditer(self.text):
            kind, body = block.groups()
            if kind in ENDINGS:
                names = re.findall(rf"`([\w-]+\.{ENDINGS[kind]})`", self.text[: block.start()])
                Path(names[-1]).write_text(body, encoding="utf-8")
            else:
                getattr(self, f"_{kind}")(body)

    def _console(self, block: str) -> None:
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, shown = part.partition("\n")
            if "  # " not in command:
                self._compare(shown, self._done(shlex.split(command)))

    def _done(self, words: list[str]) -> str:
        if words[0] == "cp":
            shutil.copyfile(words[1], words[2])
        elif words[1] != "run.py":
            runpy.run_path(words[1])
        else:
            before = [run.name for run in sorted(Path("runs").glob("*"))][-2:]
            return self._run([before[0] if word == "RUN" else word for word in words[2:]])
        return ""


@pytest.fixture(scope="module", params=PAGES)
def recipes(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Recipes:
    """A page, walked through once from its first block to its last."""
    return walked(Recipes, request.param, tmp_path_factory.mktemp("rows"), columns=110)


def test_the_page_shows_what_its_reader_sees(recipes: Recipes) -> None:
    """Every quoted line of the terminal came, in that order."""
    assert recipes.unseen == []


def test_exit_codes_are_those_of_the_page(recipes: Recipes) -> None:
    """A missed target is 1 (resumed as well), all else is 0."""
    faults = {name: [code for code in codes if code] for name, codes in recipes.codes.items()}

    assert faults == {"evaluate": [1, 1], "diff": [], "thresholds": []}
