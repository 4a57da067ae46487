"""`list`: the personas, judges, adapters and prompts that can be named, and the runs."""

import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from simulator.cli.options import takes
from simulator.cli.terminal import DONE, print_json
from simulator.core import shelves
from simulator.core.settings import load_settings
from simulator.core.templates import read_toml
from simulator.core.translations import language_of, translate
from simulator.storage.run_file import run_ids

_NEEDED = {"reference": "a reference", "retrieval": "a bot that shows its passages"}


@takes("runs", "json_output")
def command(flags: dict[str, Any]) -> int:
    """List the personas, judges, adapters, prompts and runs."""
    from simulator.runner.prompt_file import describe_prompt  # prompts are read: --help does without

    settings = load_settings(flags)
    names: dict[str, dict[str, str]] = {
        "personas": _shelf(shelves.PERSONAS, shelves.persona_names()),
        "judges": _shelf(shelves.JUDGES, shelves.judge_names()),
        "adapters": _shelf(shelves.ADAPTERS, shelves.adapter_names()),
        "prompts": {name: describe_prompt(shelves.prompt_path(name)) for name in shelves.prompt_names()},
        "runs": dict.fromkeys(run_ids(Path(settings.runs)), ""),
    }
    if settings.json_output:
        print_json(names)
        return DONE
    widest = max(len(name) for title in names if title != "runs" for name in names[title])
    for title, shelf in names.items():
        sys.stdout.write(f"{_heading(title)}\n")
        for name, about in shelf.items():
            sys.stdout.write(f"  {name:{widest}}  {about}".rstrip() + "\n")
        if not shelf:
            sys.stdout.write("  (none yet)\n")
    return DONE


def _heading(title: str) -> str:
    """A shelf's name in the language of the terminal; the bare word alone could be that of a folder."""
    language = language_of(os.environ)
    return title if language == "en" else translate(language, f"shelf of {title}")


def _shelf(folder: Path, names: Iterable[str]) -> dict[str, str]:
    rubrics = {path.stem for path in folder.glob("*.toml")}
    return {
        name: _titles(folder / f"{name}.toml")
        if name in rubrics
        else shelves.summary_line(folder / f"{name}.py")
        for name in names
    }


def _titles(path: Path) -> str:
    """The name of a persona or rubric in both languages, and what a rubric needs."""
    tables = read_toml(path)
    titles = [str(tables[language].get("name") or tables[language].get("title")) for language in ("en", "ja")]
    needs = "".join(f", needs {_NEEDED.get(need, need)}" for need in tables.get("needs", ()))
    return f"{' / '.join(titles)}{needs}"
