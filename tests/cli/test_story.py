"""The story of a bot with three faults: found, mended and proved by the real commands."""

import os
from pathlib import Path
from typing import Any

import pytest

from benchmarks.story import PAGES, Scene, page, play
from simulator.core.types import Language

BOTH: tuple[Language, Language] = ("ja", "en")


class Story:
    """The whole story, played once in a language."""

    def __init__(self, language: Language, folder: Path) -> None:
        self.language = language
        self.scenes: list[Scene] = list(play(language, folder))
        self.played = {each.name: each for scene in self.scenes for each in scene.played}

    def told(self, name: str) -> dict[str, Any]:
        """What a command printed with --json."""
        return self.played[name].told


@pytest.fixture(scope="module", params=BOTH)
def played(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Story:
    """The story in Japanese, then in English."""
    return Story(request.param, tmp_path_factory.mktemp(f"story-{request.param}"))


def test_the_first_version_is_missed(played: Story) -> None:
    """Far below the target, and every question without an answer is answered."""
    assert played.played["v1"].code == 1
    assert played.told("v1")["passed"] is False
    assert played.told("v1")["score"] < 0.7


def test_the_three_faults_are_named_first(played: Story) -> None:
    """The prompt, the missing article and the cutting, in whatever order; of the second no id is proof."""
    found = played.told("fixes")["fixes"]
    article = f"knowledge/article:{played.language}/11-repair"

    assert {fix["key"] for fix in found} == {"should_refuse/prompt", article, "retrieval/cutting"}
    assert {fix["key"]: fix["standing"] for fix in found}[article] == "likely"
    assert not any(fix["sure"] for fix in found)
    assert all(len(fix["cases"]) >= 5 for fix in found)


@pytest.mark.parametrize("name", ["v1-v2", "v2-v3", "v3-v5"])
def test_each_right_mend_is_proved(played: Story, name: str) -> None:
    """Better beyond chance, nothing turned red, exit code 0."""
    told = played.told(name)

    assert played.played[name].code == 0
    assert told["verdict"] == "better"
    assert not told["turned_red"]
    assert not told["broken"]


def test_what_breaks_another_case_is_caught(played: Story) -> None:
    """Too strict a prompt declines the child that swallowed ink: exit code 1, although the score rose."""
    told = played.told("v3-v4")

    assert played.played["v3-v4"].code == 1
    assert told["after"]["score"] > told["before"]["score"]
    assert told["verdict"] != "worse"
    assert [case["case"] for case in told["broken"]] == [f"ink-2-{played.language}"]
    assert told["turned_red"][0]["guarded"]


def test_the_gate_goes_from_missed_through_undecided_to_passed(played: Story) -> None:
    """Twelve questions leave it open; all of them settle it."""
    decided = [played.told(name)["decision"] for name in ("v1", "v2", "v3", "v4", "v5-few", "v5")]
    codes = [played.played[name].code for name in ("v4", "v5-few", "v5")]

    assert decided == ["missed"] * 4 + ["undecided", "passed"]
    assert codes == [1, 1, 0]


def test_the_page_shows_what_comes_out(played: Story) -> None:
    """docs/story.md and docs/story.ja.md are what the commands print today."""
    path, text = PAGES[played.language], page(played.language, played.scenes)
    if os.environ.get("UPDATE_GOLDEN"):
        path.write_text(text, encoding="utf-8")

    assert text == path.read_text(encoding="utf-8")
