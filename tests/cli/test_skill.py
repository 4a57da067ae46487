"""The skill for coding agents: its commands, followed to the letter in an empty folder, without a key."""

import json
import shlex
from pathlib import Path
from typing import Any

import pytest
import yaml

from simulator.core import shelves
from tests.cli.test_quickstart import run
from tests.report.test_fixing_pages import Walk as PageWalk

SKILL = shelves.ROOT / "skills" / "rehearsal" / "SKILL.md"


class Walk(PageWalk):
    """Follows the skill, and keeps exit code and object of every command."""

    def __init__(self, home: Path) -> None:
        super().__init__(f"../{SKILL.relative_to(shelves.ROOT)}", home)
        self.done: list[tuple[str, int, dict[str, Any]]] = []

    def _done(self, words: list[str]) -> str:
        if words[0] == "echo":
            with (self.folder / words[3]).open("a", encoding="utf-8") as questions:
                questions.write(words[1] + "\n")
            return ""
        assert words[0] == "rehearsal"
        words = [self.first_run if word == "RUN" else word for word in words[1:]]
        code, said = run(self.folder, "run.py", *words)
        shown = [line for line in said.splitlines() if line.startswith("{")]
        self.done.append((shlex.join(words), code, json.loads(shown[0]) if shown else {}))
        self.first_run = self.first_run or str(self.done[-1][2].get("run", ""))
        return said


@pytest.fixture(scope="module")
def walk(tmp_path_factory: pytest.TempPathFactory) -> Walk:
    """The skill, followed once."""
    walk = Walk(tmp_path_factory.mktemp("empty"))
    (walk.home / "demo").unlink()
    walk.go()
    return walk


def test_an_agent_is_told_when_to_use_it() -> None:
    """Between two lines of dashes stand name and description; the name is that of the folder."""
    front = yaml.safe_load(SKILL.read_text(encoding="utf-8").split("---\n")[1])

    assert front.keys() == {"name", "description"}
    assert front["name"] == SKILL.parent.name
    assert 0 < len(front["description"]) <= 1024


def test_red_answers_are_read_mended_and_proved(walk: Walk) -> None:
    """Every command ends as the skill says: exit code 1 for the first rehearsal alone, then no red."""
    codes = [code for _, code, _ in walk.done]
    shown = [values for _, _, values in walk.done]
    _, doctor, forecast, first, fixes, failed, second, diff = shown

    assert codes == [0, 0, 0, 1, 0, 0, 0, 0]
    assert (doctor["ok"], forecast["cost_usd"], first["trial"]) == (True, 0, True)
    assert {case for fix in fixes["fixes"] for case in fix["cases"]} == {"002", "007"}
    assert (first["red"] > 0, failed["red"], second["red"]) == (True, 0, 0)
    assert (diff["verdict"], diff["broken"]) == ("no_difference", [])


def test_the_keys_that_it_names_are_there(walk: Walk) -> None:
    """What stands in backquotes as a key of the output is one."""
    shown = {name for _, _, values in walk.done for name in values}
    (fix, *_) = walk.done[4][2]["fixes"]

    named = {
        "run",
        "score",
        "red",
        "reasons",
        "trial",
        "cost_usd",
        "fixes",
        "verdict",
        "broken",
        "page",
        "ok",
    }
    assert named <= shown
    assert {"gain", "what", "cause", "sure", "turns", "examples"} <= fix.keys()
    assert {"question", "answer", "reason", "evidence", "reference"} <= fix["examples"][0].keys()
