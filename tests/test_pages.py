"""The guides: both languages lead the same way, every link leads somewhere, every command is known."""

import json
import re
import shlex
from pathlib import Path

import pytest

from simulator.cli.app import find
from simulator.cli.options import Command as CommandWithOptions
from simulator.cli.parsing import values_of
from tests.commands import Command
from tests.paths import ROOT

# Those of the lab have commands that the core does not know.
FOLDERS = ["docs", *(["docs/lab"] if (ROOT / "simulator" / "lab").is_dir() else [])]
BOTH = sorted(path for folder in FOLDERS for path in (ROOT / folder).glob("*.md"))
PAGES = [path for path in BOTH if not path.name.endswith(".ja.md")]
BLOCKS = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)
COMMANDS = re.compile(r"^\$ (python run\.py .*?)(?: *#.*)?$", re.MULTILINE)
# As it is typed, up to a comment or what is left out.
TYPED = re.compile(r"python (?:\.\./)*(?:rehearsal/)?run\.py( (?!\.\.\.)[^`\n#…]+)?")


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


@pytest.mark.parametrize("page", BOTH + sorted(ROOT.glob("*.md")), ids=lambda p: p.name)
def test_links_lead_somewhere(page: Path) -> None:
    """To a file of the checkout, and to a heading that is there."""
    for target in re.findall(r"\]\((?!https?:)([^)\s]+)\)", BLOCKS.sub("", page.read_text(encoding="utf-8"))):
        path, _, anchor = target.partition("#")
        there = page.parent / path if path else page
        assert there.exists(), target
        assert not anchor or there.suffix != ".md" or anchor in anchors(there), target


def test_every_picture_is_shown() -> None:
    """One that no page shows any more goes."""
    pages = [*ROOT.glob("docs/**/*.md"), *ROOT.glob("*.md")]
    shown = "".join(page.read_text(encoding="utf-8") for page in pages)

    assert [path.name for path in ROOT.glob("docs/**/*.*g") if f"{path.name})" not in shown] == []


@pytest.mark.parametrize("page", [*PAGES, ROOT / "README.md"], ids=lambda path: path.stem)
def test_every_command_is_one_that_the_program_knows(page: Path) -> None:
    """Its options, its arguments and their kinds, in both languages."""
    for text in (page.read_text(encoding="utf-8"), page.with_suffix(".ja.md").read_text(encoding="utf-8")):
        for typed in TYPED.findall(text.replace("\\\n", " ")):
            words = shlex.split(typed)
            if page.stem != "reference" and not {"--help", "--help-all"} & set(words):
                named = bool(words) and not words[0].startswith("-")
                command, path, rest = find(words if named else ["simulate", *words])
                assert isinstance(command, CommandWithOptions)
                values_of(command.options, rest, path)


@pytest.mark.parametrize("page", ["models.md", "models.ja.md"])
def test_the_forecast_is_what_is_said_today(
    page: str, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every quoted piece, in this order; spaces and breaks may differ."""
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    monkeypatch.setenv("LC_ALL", "ja_JP.UTF-8" if page.endswith(".ja.md") else "C.UTF-8")
    Path("bot.py").write_text("def answer(question):\n    return question\n", encoding="utf-8")
    blocks = BLOCKS.findall((ROOT / "docs" / page).read_text(encoding="utf-8"))
    typed, quoted = next(block for _, block in blocks if "12-36" in block).split("\n", 1)
    rest = "".join(command(*shlex.split(typed)[3:]).out.split())
    for piece in filter(None, ("".join(line.split()) for line in re.split("…|\n", quoted))):
        _, found, rest = rest.partition(piece)

        assert found == piece


@pytest.mark.parametrize("page", ["python.md", "python.ja.md"])
def test_every_key_of_the_json_report_is_named(page: str, command: Command) -> None:
    """Of the object and of its rows, on the page about Python."""
    command("--offline", "--limit", "1", "--turns", "1", "--to", "json")
    report = json.loads(next(Path("runs").glob("*/report.json")).read_bytes())
    named = set(re.findall(r"`(\w+)`", (ROOT / "docs" / page).read_text(encoding="utf-8")))

    assert {*report, *report["rows"][0]} - named == set()
