"""The story of a bot with three faults, found, fixed and confirmed one after the other. Nothing is set up.

The bot of demo/story is rehearsed by the commands as they are typed, and what they print is shown. The
words between them are in demo/story/story.toml. `make story` tells it on the terminal, docs/story.md and
docs/story.ja.md are the same told as pages; a test holds them up to date (`make golden` writes them).
"""

import argparse
import contextlib
import difflib
import io
import json
import os
import re
import shlex
import tempfile
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from simulator.cli.app import main as run
from simulator.core.messages import language_of
from simulator.core.shelves import ROOT
from simulator.core.types import Language

FOLDER = ROOT / "demo" / "story"
PAGES: dict[Language, Path] = {
    "ja": ROOT / "docs" / "story.ja.md",
    "en": ROOT / "docs" / "story.md",
}
# As wide as the pages show it.
COLUMNS = "100"
_RUN_NAME = re.compile(r"RUN-(\d)")


class Played(NamedTuple):
    """A command of the story: as it is typed, what it printed, its JSON object and its exit code."""

    name: str
    typed: str
    said: str
    told: dict[str, Any]
    code: int


class Scene(NamedTuple):
    """A part of the story with the commands that were run in it."""

    telling: Mapping[str, Any]
    played: tuple[Played, ...]


@cache
def story() -> Mapping[str, Any]:
    """What is told between the commands."""
    return tomllib.loads((FOLDER / "story.toml").read_text(encoding="utf-8"))


def play(language: Language, runs: Path) -> Iterator[Scene]:
    """Runs every command of the story, one after the other; its runs are kept in the folder `runs`."""
    names: list[str] = []
    for scene in story()["scene"]:
        yield Scene(scene, tuple(_command(each, language, runs, names) for each in scene["command"]))


def _command(command: Mapping[str, Any], language: Language, runs: Path, names: list[str]) -> Played:
    """Runs one command where the bot lies; a rehearsal is called RUN-1, RUN-2 ... from then on."""
    typed = str(command["run"]) + (" --language en" if language == "en" and _rehearses(command) else "")
    real = _RUN_NAME.sub(lambda found: names[int(found[1]) - 1], typed)
    with _standing(FOLDER, runs):
        code, out, said = _captured([*shlex.split(real)[2:], "--json"])
    if code not in (0, 1):
        msg = f"{typed} ended with {code}: {said}"
        raise RuntimeError(msg)
    told = json.loads(out)
    if _rehearses(command):
        names.append(told["run"])
    for number, name in enumerate(names, 1):
        said = said.replace(name, f"RUN-{number}")
    return Played(command["name"], typed, said, told, code)


def _rehearses(command: Mapping[str, Any]) -> bool:
    return "--set" in command["run"]


def _captured(words: list[str]) -> tuple[int, str, str]:
    """Exit code, the JSON object, and what people read."""
    out, said = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(said):
        code = run(words)
    return code, out.getvalue(), said.getvalue()


@contextlib.contextmanager
def _standing(folder: Path, runs: Path) -> Iterator[None]:
    """In this folder, with an environment of the story's own."""
    before = dict(os.environ)
    for name in [name for name in before if name.startswith("REHEARSAL_")]:
        del os.environ[name]
    os.environ |= {"COLUMNS": COLUMNS, "NO_COLOR": "1", "REHEARSAL_RUNS": str(runs)}
    try:
        with contextlib.chdir(folder):
            yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def excerpt(played: Played, patterns: list[list[Any]]) -> list[str]:
    """The lines that a reader needs: from each that matches a pattern, so many. ValueError if none does."""
    lines = [line.rstrip() for line in played.said.splitlines()]
    kept: list[str] = []
    after = 0
    for pattern, count in patterns:
        at = next((at for at, line in enumerate(lines[after:], after) if re.search(pattern, line)), None)
        if at is None:
            msg = f"{played.typed}: no line matches {pattern!r}:\n{played.said}"
            raise ValueError(msg)
        kept += ["  ⋮"] * (at > after and bool(kept)) + lines[at : at + count]
        after = at + count
    return kept


def mend(versions: Sequence[str], language: Language) -> list[str]:
    """What differs between the files of two versions, of their prompts in this language."""
    one, other = ((FOLDER / f"{name}.toml").read_text(encoding="utf-8").splitlines() for name in versions)
    changed = [line for line in difflib.ndiff(one, other) if line[0] in "-+"]
    return [line for line in changed if line[2] != "#" or line.isascii() == (language == "en")]


def page(language: Language, scenes: list[Scene]) -> str:
    """The story as a page of the documentation."""
    told = story()
    parts = [f"# {told['title'][language]}", told["other"][language], told["intro"][language].strip()]
    for scene in scenes:
        parts += _chapter(scene, language)
    return "\n\n".join([*parts, told["outro"][language].strip()]) + "\n"


def _chapter(scene: Scene, language: Language) -> Iterator[str]:
    telling = scene.telling
    yield f"## {telling['title'][language]}"
    yield telling[language].strip()
    if "mend" in telling:
        yield "\n".join(["```diff", *mend(telling["mend"], language), "```"])
    for command, played in zip(telling["command"], scene.played, strict=True):
        if "before" in command:
            yield command["before"][language].strip()
        yield "\n".join(["```console", *_on_terminal(command, played, language), "```"])
        if "after" in command:
            yield command["after"][language].strip()


def _on_terminal(command: Mapping[str, Any], played: Played, language: Language) -> list[str]:
    """The command as it is typed, what matters of its output, and an exit code that is not 0."""
    first = [f"$ {command['first']}"] if "first" in command else []
    lines = [*first, f"$ {played.typed}", *excerpt(played, command["show"][language])]
    return [*lines, "$ echo $?", str(played.code)] if command.get("status") else lines


def tell(language: Language) -> None:
    """The story on the terminal, as it happens."""
    print(f"{story()['title'][language]}\n\n{_plain(story()['spoken'][language])}")
    with tempfile.TemporaryDirectory() as folder:
        for scene in play(language, Path(folder)):
            title, *rest = _chapter(scene, language)
            print("\n" + title.removeprefix("## "))
            for part in rest:
                fenced = part.startswith("```")
                text = "\n".join(part.splitlines()[1:-1]) if fenced else _plain(part)
                print("\n" + "\n".join("    " * fenced + line for line in text.splitlines()))


def _plain(text: str) -> str:
    """Without the marks, pictures and links of a page."""
    text = re.sub(r"!\[[^]]*\]\([^)]*\)\n*", "", text.strip())
    return re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", text).replace("`", "").replace("**", "").strip()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--language", choices=("ja", "en"), default=language_of(os.environ))
    tell(parser.parse_args().language)


if __name__ == "__main__":
    main()
