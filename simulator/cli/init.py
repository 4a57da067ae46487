"""`init`: writes a sample bot with settings and questions into the current folder."""

import os
import sys
from pathlib import Path

from simulator.cli.terminal import DONE
from simulator.core.errors import InputError
from simulator.core.messages import CHECKOUT, _, as_called, localised
from simulator.core.shelves import DEMO

START = DEMO / "start"


def command() -> int:
    """Write a sample rehearsal.toml, a ten-line bot and a question file into the current folder."""
    files = sorted(path for path in START.iterdir() if path.is_file())
    for file in files:
        if os.path.lexists(file.name):
            msg = _(
                "{file} is already here; nothing was written. Start in an empty folder, or rename it.",
                file=file.name,
            )
            raise InputError(msg)
    try:
        for file in files:
            with Path(file.name).open("x", encoding="utf-8") as copy:
                copy.write(as_called(file.read_text(encoding="utf-8")))
    except OSError as error:
        msg = _(
            "{filename}: cannot be written ({strerror}).", filename=error.filename, strerror=error.strerror
        )
        raise InputError(msg) from None
    program = as_called(CHECKOUT)
    if program == CHECKOUT:  # from another folder
        program = f"python {Path(sys.argv[0])}"
    written = _("Written: {files}.", files=tuple(file.name for file in files))
    onward = _(
        "Put your bot into bot.py and your questions into questions.csv, then run: {program}", program=program
    )
    sys.stdout.write(f"{localised(written)}\n{localised(onward)}\n")
    return DONE
