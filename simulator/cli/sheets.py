"""`sheets connect`: from a key file to a sheet that is shared with it, each step tried before the next.

    1. The key     named in .env; from then on only its owner reads it
    2. The sheet   a test cell is written; named in rehearsal.toml

Nothing is asked: what is missing is an error that says what to press and which option to add. What is done is
kept, and the same command goes on from there.
"""

import os
from pathlib import Path
from typing import Any

from simulator.cli.options import option, takes
from simulator.cli.terminal import ExitCode, print_json
from simulator.core.errors import InputError
from simulator.core.messages import _, say
from simulator.core.settings import SETTINGS_FILE, load_settings
from simulator.plugins import Subcommands
from simulator.sheets import connect as connection
from simulator.sheets.google_api import APIS, VARIABLES, SheetsClient, account, key_of
from simulator.sheets.google_sheets import write_test_cell

# Google's page on which an account for the program is made.
ACCOUNTS = "https://console.cloud.google.com/iam-admin/serviceaccounts/create"


@takes("sheet", "json_output")
def connect(
    flags: dict[str, Any],
    key: str | None = option("--key FILE", "A service account's key, the JSON file from Google's console."),
) -> int:
    """Connect a Google Sheet that is shared with a service account: names the sheet and the key file.

    Writes a test cell, and names the sheet in rehearsal.toml and the key file in .env. Leaves the rest of
    both as it is.
    """
    settings = load_settings(flags)
    if key:
        os.environ[VARIABLES[0]] = str(Path(key).expanduser())
    try:
        who = account()
    except InputError as error:
        if key or any(os.environ.get(name, "").strip() for name in VARIABLES):
            raise
        msg = _(
            "no key file. Enable the API at {apis}, make an account at {accounts} (no role is needed), press"
            " its address, then Keys, Add key, Create new key, and add --key with the file.",
            apis=APIS,
            accounts=ACCOUNTS,
        )
        raise InputError(msg) from error
    if key:
        path = connection.name_key(Path(key))
        say(_("ok: {line}", line=_("the key file {path} is named in .env", path=path)))
    if not settings.sheet:
        msg = _(
            "which sheet? Open https://sheets.new, press Share, add {who} as an editor, and add --sheet with"
            " its address.",
            who=who or _("the account of your credentials"),
        )
        raise InputError(msg)
    write_test_cell(SheetsClient(), key_of(settings.sheet))
    say(_("ok: {line}", line=_("a test cell was written, and taken away again")))
    file = os.environ.get("REHEARSAL_CONFIG") or SETTINGS_FILE
    if connection.name_sheet(settings.sheet, Path(file)):
        say(_("ok: {line}", line=_("the sheet is named in {file}", file=file)))
    address = f"https://docs.google.com/spreadsheets/d/{key_of(settings.sheet)}"
    say(_("Connected. Open it: {address}", address=address))
    say(_("From now on rehearsals write there. One that is over: python run.py report latest --to sheets"))
    if flags["json_output"]:
        print_json({"sheet": key_of(settings.sheet), "address": address})
    return ExitCode.DONE


command = Subcommands(
    about="Connect a Google Sheet, for results to be reviewed there.", commands={"connect": connect}
)
