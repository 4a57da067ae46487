"""What a persona's file may say, and what is told of a slip in it."""

import re
from pathlib import Path

import pytest

from simulator.core import shelves
from simulator.core.errors import InputError
from simulator.core.messages import shown


def refused(old: str, new: str) -> InputError:
    """What is said of a persona like the shelf's angry one, with `new` in the place of `old`."""
    text = (shelves.PERSONAS / "angry.toml").read_text(encoding="utf-8")
    assert old in text
    Path("mine.toml").write_text(text.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(InputError) as met:
        shelves.persona("./mine.toml")
    assert "\n" not in str(met.value)
    return met.value


@pytest.mark.parametrize("language", ["ja", "en"])
def test_a_misspelt_situation_is_told_with_the_near_one(language: str) -> None:
    """In one line with file and table: its phrases would never be said."""
    error = refused(f"[{language}.phrases]\n", f'[{language}.phrases]\npresing = ["違う"]\n')

    said = f"unknown key of [{language}.phrases] in mine.toml: 'presing'. Did you mean pressing"
    assert str(error).startswith(said)
    assert "presing" in (told := shown(error.message, "ja"))
    assert not re.search("unknown|mean|There", told)


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("patience = 2", "patiense = 2", "patiense: not a known key. Did you mean patience, politeness?"),
        ("voice = ", "voise = ", "ja.voise: not a known key. Did you mean voice?"),
        ("questions = 0.35", "questions = 1.5", "questions: must be at most 1."),
        ("feeling = -1", 'discloses = "now"', "discloses: must be one of at_once, when_asked"),
        ("feeling = -1", "pushback = 1", "pushback: must be at least 2."),
        (
            "$question",
            "$frage",
            "[ja] phrases.pressing uses $frage, which nothing fills. ",
        ),
    ],
)
def test_a_setting_that_is_none_is_told(old: str, new: str, problem: str) -> None:
    """In one line: an unknown one with the nearest there is, a wrong value with what it may be."""
    assert problem in str(refused(old, new))


@pytest.mark.parametrize("guide", ["personas.md", "personas.ja.md"])
def test_the_guides_example_is_a_persona(root: Path, guide: str) -> None:
    """Saved as it stands."""
    text = (root / "docs" / guide).read_text(encoding="utf-8")
    (example,) = (block for block in re.findall(r"```toml\n(.*?)```", text, re.DOTALL) if "voice" in block)
    Path("keywords.toml").write_text(example, encoding="utf-8")

    assert shelves.persona("./keywords.toml").patience == 3
