"""`list`: what there is on the shelves."""

import json
import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from simulator.cli.options import takes
from simulator.core import shelves as find
from simulator.core.settings import load
from simulator.core.templates import read_toml
from simulator.core.translations import language_of, told_in
from simulator.storage.run_file import run_ids

_NEEDED = {"reference": "a reference", "retrieval": "a bot that shows its passages"}


@takes("runs", "json_output")
def command(flags: dict[str, Any]) -> int:
    """Show what there is: personas, judges, adapters, prompts and runs."""
    from simulator.runner.prompt_file import described  # prompts are read: --help does without

    settings = load(flags)
    shelves: dict[str, dict[str, str]] = {
        "personas": _shelf(find.PERSONAS, find.persona_names()),
        "judges": _shelf(find.JUDGES, find.judge_names()),
        "adapters": _shelf(find.ADAPTERS, find.adapter_names()),
        "prompts": {name: described(find.prompt_path(name)) for name in find.prompt_names()},
        "runs": dict.fromkeys(run_ids(Path(settings.runs)), ""),
    }
    if settings.json_output:
        sys.stdout.write(json.dumps(shelves, ensure_ascii=False) + "\n")
        return 0
    widest = max(len(name) for title in shelves if title != "runs" for name in shelves[title])
    for title, shelf in shelves.items():
        sys.stdout.write(f"{_heading(title)}\n")
        for name, about in shelf.items():
            sys.stdout.write(f"  {name:{widest}}  {about}".rstrip() + "\n")
        if not shelf:
            sys.stdout.write("  (none yet)\n")
    return 0


def _heading(title: str) -> str:
    """A shelf's name as the reader calls it; the bare word might be that of a folder."""
    language = language_of(os.environ)
    return title if language == "en" else told_in(language, f"shelf of {title}")


def _shelf(folder: Path, names: Iterable[str]) -> dict[str, str]:
    rubrics = {path.stem for path in folder.glob("*.toml")}
    return {
        name: _titles(folder / f"{name}.toml") if name in rubrics else find.first_line(folder / f"{name}.py")
        for name in names
    }


def _titles(path: Path) -> str:
    """What a persona or rubric is called in both languages, and what a rubric cannot do without."""
    tables = read_toml(path)
    called = [str(tables[language].get("name") or tables[language].get("title")) for language in ("en", "ja")]
    needs = "".join(f", needs {_NEEDED.get(need, need)}" for need in tables.get("needs", ()))
    return f"{' / '.join(called)}{needs}"
