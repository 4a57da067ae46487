"""`list`: what there is on the shelves."""

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from simulator import find
from simulator.store import run_ids

Shelf = dict[str, str]


def command(
    json_output: Annotated[bool, typer.Option("--json", help="One JSON object.")] = False,
    runs: Annotated[str, typer.Option(help="Folder of the runs.")] = "runs",
) -> int:
    """Show personas, judges, adapters and runs."""
    shelves: dict[str, Shelf] = {
        "personas": {name: find.first_line(find.PERSONAS / f"{name}.toml") for name in find.persona_names()},
        "judges": {name: find.first_line(_file(find.JUDGES, name)) for name in find.judge_names()},
        "adapters": {name: find.first_line(_file(find.ADAPTERS, name)) for name in find.adapter_names()},
        "runs": dict.fromkeys(run_ids(Path(runs)), ""),
    }
    if json_output:
        sys.stdout.write(json.dumps(shelves, ensure_ascii=False) + "\n")
        return 0
    for title, shelf in shelves.items():
        sys.stdout.write(f"{title}\n")
        for name, about in shelf.items():
            sys.stdout.write(f"  {name:20} {about}\n".rstrip() + "\n")
        if not shelf:
            sys.stdout.write("  (none yet)\n")
    return 0


def _file(shelf: Path, name: str) -> Path:
    rubric = shelf / f"{name}.toml"
    return rubric if rubric.exists() else shelf / f"{name}.py"
