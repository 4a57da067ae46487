"""The guides: both languages lead the same way, and every link leads somewhere."""

import re
from pathlib import Path

import pytest

from scripts import reference
from simulator.core.messages import Language
from tests.paths import ROOT

PAGES = sorted(path for path in (ROOT / "docs").glob("*.md") if not path.name.endswith(".ja.md"))
BLOCKS = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)
COMMANDS = re.compile(r"^\$ (python run\.py .*?)(?: *#.*)?$", re.MULTILINE)


def way(path: Path) -> dict[str, list[object]]:
    """A page without its words: levels of headings, kinds of blocks, commands, columns of tables."""
    text = path.read_text(encoding="utf-8")
    blocks = BLOCKS.findall(text)
    bare = BLOCKS.sub("", text)
    return {
        "headings": [len(marks) for marks in re.findall(r"^(#+) ", bare, re.MULTILINE)],
        "blocks": [kind for kind, _ in blocks],
        "commands": [
            [word for word in command.split() if word.startswith("--") and word != "--language"]
            + command.split()[2:3]
            for _, block in blocks
            for command in COMMANDS.findall(block)
        ],
        "tables": [
            re.sub(r"\\\||`[^`]*`", "", line).count("|") for line in bare.splitlines() if line.startswith("|")
        ],
    }


def anchors(path: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.*)$", path.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w-]", "", heading.lower().replace(" ", "-")) for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.stem)
def test_both_languages_lead_the_same_way(page: Path) -> None:
    """The same headings, blocks, commands and tables, in the same order."""
    assert way(page) == way(page.with_suffix(".ja.md"))


@pytest.mark.parametrize(
    "page", sorted(ROOT.glob("docs/*.md")) + sorted(ROOT.glob("*.md")), ids=lambda p: p.name
)
def test_links_lead_somewhere(page: Path) -> None:
    """To a file of the checkout, and to a heading that is there."""
    for target in re.findall(r"\]\((?!https?:)([^)\s]+)\)", BLOCKS.sub("", page.read_text(encoding="utf-8"))):
        path, _, anchor = target.partition("#")
        there = page.parent / path if path else page
        assert there.exists(), target
        assert not anchor or there.suffix != ".md" or anchor in anchors(there), target


@pytest.mark.parametrize("language", reference.PAGES)
def test_the_reference_says_what_the_program_declares(language: Language) -> None:
    """After a change of an option, `python -m scripts.reference` writes it anew."""
    assert reference.PAGES[language].read_text(encoding="utf-8") == reference.page(language)
