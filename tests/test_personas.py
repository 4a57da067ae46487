"""What a persona's file may say, and what is told of a slip in it."""

import re
from pathlib import Path

import pytest

from simulator import find
from simulator.errors import InputError
from simulator.messages import told_in


def persona_with(line: str, section: str = "ja.phrases") -> str:
    """A persona like the shelf's angry one, with one more line in a section."""
    text = (find.PERSONAS / "angry.toml").read_text(encoding="utf-8")
    Path("mine.toml").write_text(
        text.replace(f"[{section}]\n", f"[{section}]\n{line}\n", 1), encoding="utf-8"
    )
    return "./mine.toml"


@pytest.mark.parametrize("language", ["ja", "en"])
def test_a_misspelt_situation_is_told_with_the_near_one(language: str) -> None:
    """In one line with file and table: its phrases would never be said."""
    with pytest.raises(InputError) as met:
        find.persona(persona_with('presing = ["違う"]', f"{language}.phrases"))

    said = f"unknown key of [{language}.phrases] in mine.toml 'presing'. Did you mean pressing"
    assert str(met.value).startswith(said)
    assert "presing" in (told := told_in("ja", str(met.value)))
    assert not re.search("unknown|mean|There", told)


def test_each_situation_has_its_phrases() -> None:
    """Those of the shelf are all there are, and the guide's example uses no others."""
    used = {
        situation
        for name in find.persona_names()
        for text in (find.persona(name).ja, find.persona(name).en)
        for situation in text.phrases
    }

    assert used == set(find.SITUATIONS)


@pytest.mark.parametrize("guide", ["personas.md", "personas.ja.md"])
def test_the_guides_example_is_a_persona(root: Path, guide: str) -> None:
    """Saved as it stands."""
    text = (root / "docs" / guide).read_text(encoding="utf-8")
    Path("keywords.toml").write_text(text.split("```toml\n")[1].split("```")[0], encoding="utf-8")

    assert find.persona("./keywords.toml").patience == 3
