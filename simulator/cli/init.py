"""`init`: writes a folder that runs as it is: settings, questions and a small bot.

It copies demo/start/ja or demo/start/en, all files or none: whoever has one of them has it for a reason.
"""

import os
import shlex
import sys
from pathlib import Path
from typing import Any

from simulator.cli.options import argument, option, takes
from simulator.cli.terminal import ExitCode, print_json
from simulator.core.errors import InputError
from simulator.core.messages import CHECKOUT, _, as_called, language_of, localised, system_error
from simulator.core.shelves import DEMO
from simulator.core.types import Language

# The folder that is copied, once in each language. Commands in it are those of a checkout, and are written as
# this program is called from the new folder.
START = DEMO / "start"


@takes("json_output")
def command(
    flags: dict[str, Any],
    folder: str | None = argument("FOLDER", "The folder to write it into. Default: the current one."),
    language: Language = option("--language LANGUAGE", "ja or en. Default: the language of your terminal."),
) -> int:
    """Write a folder that runs as it is: rehearsal.toml, a small bot and a question file."""
    there, sample = Path(folder or ""), START / (language or language_of(os.environ))
    files = {there / file.name: file for file in sorted(sample.iterdir()) if file.is_file()}
    # All are looked at before one is written; a link that leads nowhere is there as well.
    for file in files:
        if os.path.lexists(file):
            msg = _(
                "{file} is already there; nothing was written. Name another folder, or rename it.", file=file
            )
            raise InputError(msg)
    program, schema = as_called(CHECKOUT), ""
    if program.endswith("run.py"):  # a path, which leads there from the current folder only
        door = sys.argv[0] if Path(sys.argv[0]).is_absolute() else os.path.relpath(sys.argv[0], there)
        program = f"python {shlex.quote(Path(door).as_posix())}"
        # Editors take it from there. Installed, the schema has no place that a file could name for long.
        schema = f"#:schema {(Path(door).parent / 'docs/schemas/rehearsal.schema.json').as_posix()}\n"
    try:
        there.mkdir(parents=True, exist_ok=True)
        for file, text in files.items():
            with file.open("x", encoding="utf-8") as copy:
                copy.write(schema if file.suffix == ".toml" else "")
                copy.write(text.read_text(encoding="utf-8").replace(CHECKOUT, program))
    except OSError as error:
        msg = _(
            "{filename}: cannot be written ({strerror}).",
            filename=error.filename,
            strerror=system_error(error),
        )
        raise InputError(msg) from None
    if folder:
        program = f"cd {shlex.quote(str(there))} && {program}"
    if flags["json_output"]:
        print_json({"written": [str(file) for file in files], "next": program})
        return ExitCode.DONE
    written = _("Written: {files}.", files=tuple(str(file) for file in files))
    onward = _("It runs as it is: {program}", program=program)
    edit = _("Then put your own bot into bot.py, and your questions into questions.csv.")
    sys.stdout.write(f"{localised(written)}\n{localised(onward)}\n{localised(edit)}\n")
    return ExitCode.DONE
