"""`list`: the personas, judges, adapters and prompts that can be named, and the runs.

    personas
      angry              Angry customer / 怒っているお客様
      beginner           First-time customer / 初めてのお客様

Names are what options take. Files of the user's own are not listed: they are named by their path.
"""

import inspect
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from simulator.cli.options import takes
from simulator.cli.terminal import ExitCode, print_json
from simulator.core import shelves
from simulator.core.messages import SHELF, Message, _, localised, pgettext, shown, verbatim
from simulator.core.settings import load_settings
from simulator.core.templates import LANGUAGES, read_toml
from simulator.core.titles import TITLES
from simulator.runner.prompts import describe_prompt
from simulator.storage.run_file import run_ids

_TITLES = {
    "personas": pgettext("a shelf", "customers"),
    "judges": pgettext("a shelf", "judges"),
    "adapters": pgettext("a shelf", "adapters"),
    "prompts": pgettext("a shelf", "prompts"),
    "runs": pgettext("a shelf", "runs"),
}
_NONE = _("(none yet)")
_NEEDS = {
    "reference": _("needs a reference"),
    "retrieval": _("needs a bot that shows its passages"),
    "passages": _("needs passages"),
    "expect": _("needs sentences in the column expect"),
}


@takes("runs", "json_output")
def command(flags: dict[str, Any]) -> int:
    """List the customers, judges, adapters, prompts and runs."""
    settings = load_settings(flags)
    names: dict[str, dict[str, Message | str]] = {
        "personas": shelf(shelves.PERSONAS, shelves.persona_names()),
        "judges": shelf(shelves.JUDGES, shelves.judge_names()),
        "adapters": shelf(shelves.ADAPTERS, shelves.adapter_names()),
        "prompts": {name: describe_prompt(shelves.prompt_path(name)) for name in shelves.prompt_names()},
        "runs": dict.fromkeys(run_ids(settings.runs), ""),
    }
    if settings.json_output:
        print_json(names)
        return ExitCode.DONE
    # Ids of runs are longer than any name, and have nothing beside them.
    widest = max(len(name) for title in names if title != "runs" for name in names[title])
    for title, entries in names.items():
        sys.stdout.write(f"{localised(_TITLES[title])}\n")
        for name, about in entries.items():
            sys.stdout.write(f"  {name:{widest}}  {localised(about)}".rstrip() + "\n")
        if not entries:
            sys.stdout.write(f"  {localised(_NONE)}\n")
    return ExitCode.DONE


def shelf(folder: Path, names: Iterable[str]) -> dict[str, Message | str]:
    """What `list` says about each name of a shelf: titles of a TOML file, the first line of a Python one."""
    return {name: _about(folder, name) for name in names}


def _about(folder: Path, name: str) -> Message | str:
    if (rubric := folder / f"{name}.toml").is_file():
        return _titles(rubric)
    if (module := folder / f"{name}.py").is_file():
        return shelves.summary_line(module)
    source = shelves.judge_source(name)  # a plug-in's
    if isinstance(source, Path):
        return _titles(source)
    if (module := Path(inspect.getfile(source))).stem == name:
        return shelves.summary_line(module)
    return verbatim((inspect.getdoc(source) or "").partition("\n")[0], SHELF)


def _titles(path: Path) -> Message:
    """The name of a persona, or of a rubric as reports have it, and its needs; in English, both names."""
    tables, title = read_toml(path), TITLES["judge"].get(path.stem)
    ja, en = (
        str(tables[language].get("name") or (shown(title, language) if title else tables[language]["title"]))
        for language in LANGUAGES
    )
    titles = _("{en} / {ja}", en=en, ja=ja)
    needs = tuple(_NEEDS[need] for need in tables.get("needs", ()))
    return _("{titles}, {needs}", titles=titles, needs=needs) if needs else titles
