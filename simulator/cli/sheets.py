"""`sheets connect`: from a key file to a sheet that is shared, step by step, each tried before the next.

    1. The key        found or asked for, moved to where only its owner reads it, tried, named in .env
    2. The sheet      the one of --sheet, or a new one; a test cell is written; named in rehearsal.toml
    3. The reviewer   made an editor; a sheet that nobody but a service account can open is never left so

What is done is written down before the next step, so the same command goes on after Ctrl-C. `Guide` does all
talking: with --yes, or where nobody types (a script, CI), nothing is asked, and what is missing is an error
that names the option for it.
"""

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from simulator.cli.options import option, takes
from simulator.cli.terminal import ExitCode, print_json, say
from simulator.core.errors import InputError, RehearsalError
from simulator.core.messages import Message, _, localised, safe_text
from simulator.core.settings import SETTINGS_FILE, load_settings
from simulator.sheets import connect as connection
from simulator.sheets.google_api import APIS, VARIABLES, GoogleRefused, SheetsClient, account, key_of
from simulator.sheets.google_sheets import new_sheet as create_sheet
from simulator.sheets.google_sheets import write_test_cell

ABOUT = "Connect a Google Sheet, for results to be reviewed there."
# Google's pages on which an account for the program, or a client to sign in to, is made.
ACCOUNTS = "https://console.cloud.google.com/iam-admin/serviceaccounts/create"
CLIENTS = "https://console.cloud.google.com/auth/clients/create"
DOWNLOADS = Path("~/Downloads")
# Google's words for an account that may do what it did so far, and not this: share a sheet that it did not
# make.
_NOT_ALLOWED = ("403", "ACCESS_TOKEN_SCOPE_INSUFFICIENT")


@takes("sheet", "json_output")
def command(
    flags: dict[str, Any],
    new_sheet: str | None = option("--new-sheet TITLE", "Create a Google Sheet with this title."),
    folder: str = option("--folder ID", "Folder of a shared drive for --new-sheet.", ""),
    key: str | None = option(
        "--key FILE",
        "The JSON file from Google's console: a service account's key, or an OAuth client to sign in to.",
    ),
    share: str | None = option("--share EMAIL", "Who reviews: becomes an editor of the sheet."),
    *,
    yes: bool = option("--yes", "Ask nothing and agree to everything; what is missing ends the command."),
) -> int:
    """Connect a Google Sheet: from the key file to a sheet that is shared, each step tried before the next.

    Makes the sheet, or takes the one of --sheet. Names it in rehearsal.toml and the key file in .env, and
    leaves the rest of both as it is. Run again, it goes on where it stopped.
    """
    guide = Guide(yes, as_json=bool(flags["json_output"]))
    try:
        settings = load_settings(flags)
        guide.say(_("1. The key"), indent="")
        _take_key(guide, key)
        guide.say(_("2. The sheet"), indent="")
        if settings.sheet and not new_sheet:
            sheet = _existing(guide, settings.sheet)
        else:
            sheet = _made(guide, new_sheet, folder)
        guide.say(_("3. The reviewer"), indent="")
        _share(guide, sheet, share)
    except KeyboardInterrupt:
        say(_("Stopped. What is done is kept: python run.py sheets connect goes on from here."))
        return ExitCode.INCOMPLETE
    guide.say(
        _("Connected. Open it: {address}", address=_address(sheet)),
        _("From now on rehearsals write there. One that is over: python run.py report latest --to sheets"),
        indent="",
    )
    if guide.as_json:
        print_json({"sheet": key_of(sheet), "address": _address(sheet), "shared_with": share})
    return ExitCode.DONE


SUBCOMMANDS = {"connect": command}


class Guide:
    """What is said and asked on the way; with `yes` or --json, or where nobody types, nothing is asked."""

    def __init__(self, yes: bool, *, as_json: bool) -> None:
        self.yes, self.as_json, self.alone = yes, as_json, yes or as_json
        self.out = sys.stderr if as_json else sys.stdout

    def say(self, *lines: Message | str, indent: str = "   ") -> None:
        """Lines of ours, which may hold words of others."""
        for line in lines:
            text = " ".join(safe_text(localised(line)).splitlines())
            self.out.write(f"{indent}{text}\n")
        self.out.flush()

    def ok(self, line: Message) -> None:
        """Something is done, and works."""
        self.say(_("ok: {line}", line=line))

    def ask(self, question: Message) -> str | None:
        """What is typed, None where nobody types."""
        if self.alone:
            return None
        try:
            return input(f"   {safe_text(localised(question))} ").strip()
        except EOFError:
            self.alone = True
            sys.stdout.write("\n")
            return None
        except KeyboardInterrupt:
            sys.stdout.write("\n")
            raise

    def agrees(self, question: Message) -> bool:
        """Whether the answer is yes, as it is when only Enter is pressed."""
        reply = self.ask(_("{question} [Y/n]", question=question))
        return self.yes if reply is None else reply.lower() in ("", "y", "yes", "はい")

    def again(self, error: RehearsalError, question: Message) -> str:
        """What is typed after an objection, which is raised where nobody types."""
        if not self.alone:
            self.say(_("not yet: {reason}", reason=error.message))
        reply = self.ask(question)
        if reply is None:
            raise error
        return reply


# --- The key ---


def _take_key(guide: Guide, named: str | None) -> None:
    """Puts the key into the environment and .env, private and outside of repositories.

    Where the environment holds the JSON itself, or what another program is to use, it is left alone, as in
    CI. Raises InputError where there is no key, and nobody to ask.
    """
    given_key, other = (os.environ.get(name, "").strip() for name in VARIABLES)
    if named is None and given_key and not given_key.startswith("{"):
        named = given_key
    elif named is None and (given_key or other):  # the key itself, or what another program is to use
        guide.ok(_who())
        return
    elif named is None:
        guide.say(
            _("a. Open this, choose or create a project, then Next, Enable:"),
            f"   {APIS}",
            _("b. Open this, give a name, then Done (no role is needed):"),
            f"   {ACCOUNTS}",
            _("c. Press the new address, then Keys, Add key, Create new key, Create: a file is downloaded."),
            _("No keys allowed? Make an OAuth client (Desktop app) and download it, to sign in as yourself:"),
            f"   {CLIENTS}",
        )
    while True:
        try:
            key = _private(guide, connection.read_key(_key_file(guide, named)))
            if key.kind == "client":
                guide.say(_("Your browser opens: sign in, and allow what is asked."))
            path = connection.sign_in(key) if key.kind == "client" else key.path
            os.environ[VARIABLES[0]] = str(path)
            guide.ok(_who())
            break
        except InputError as error:
            named = guide.again(error, _("Path of the key file:"))
    # .env is rewritten only if it says something else, so that it keeps its time and its other lines.
    before = connection.named_key()
    if before != str(path):
        connection.name_key(path)
        guide.ok(_("the key file {path} is named in .env", path=path))
        if given_key not in ("", before):
            msg = _("{name} is also set outside of .env, and comes first: unset it.", name=VARIABLES[0])
            guide.say(msg)


def _key_file(guide: Guide, named: str | None) -> Path:
    """The file that was named, or else the one that was downloaded last."""
    if named is None:
        question = _("Path of the file (Enter: the newest key in {folder}):", folder=str(DOWNLOADS))
        named = guide.ask(question)
    if named is None:
        raise InputError(_("no key file: python run.py sheets connect says how to make one; add --key FILE."))
    if named:
        return Path(named.strip("'\""))
    if path := connection.newest_key(DOWNLOADS.expanduser()):
        return path
    raise InputError(_("no key file in {folder}.", folder=str(DOWNLOADS)))


def _private(guide: Guide, key: connection.Key) -> connection.Key:
    """The key where only its owner can read it; raises InputError where that is not wanted.

    In a git repository it would be committed sooner or later, and in Downloads it would be lost or cleaned
    up. Anywhere else it stays, with 0600.
    """
    path, place = key.path, connection.private_place(key.path.name)
    repository = connection.repository_of(path)
    if repository and path != place:
        if not guide.agrees(
            _("{path} lies in the git repository {repository}. Move it to {place}?", path=path,
              repository=repository, place=place)
        ):  # fmt: skip
            msg = _("{path}: a key does not belong in a git repository; move it out of there.", path=path)
            raise InputError(msg)
        path = connection.moved(path, place)
        guide.ok(_("moved; if it was ever committed, delete it at Google and make a new one"))
    elif path.parent == DOWNLOADS.expanduser() and guide.agrees(
        _("Move {path} to {place}, where only you can read it?", path=path, place=place)
    ):
        path = connection.moved(path, place)
        guide.ok(_("moved"))
    if connection.is_open(path):
        if not guide.agrees(_("Others on this machine can read {path}. Lock them out?", path=path)):
            raise InputError(_("{path}: others can read it; run chmod 600 on it.", path=path))
        connection.lock(path)
        guide.ok(_("only you can read {path} (chmod 600)", path=path))
    return key._replace(path=path)


def _who() -> Message:
    """Whose the credentials in the environment are."""
    person = account()
    if person.kind == "service":
        return _("the service account {email}", email=person.email)
    return _("your own login") if person.kind == "person" else _("the machine's own account")


# --- The sheet ---


def _client() -> SheetsClient:
    return SheetsClient(drive=account().kind == "service")


def _existing(guide: Guide, sheet: str) -> str:
    """A sheet that there is, tried until a cell can be written."""
    # A sheet can be read by many and written by few: only a cell that was written proves anything.
    while True:
        try:
            write_test_cell(_client(), key_of(sheet))
            break
        except RehearsalError as error:
            sheet = guide.again(error, _("Enter to try again, or another address:")) or sheet
    guide.ok(_("a test cell was written, and taken away again"))
    _name_sheet(guide, sheet)
    return sheet


def _made(guide: Guide, title: str | None, folder: str) -> str:
    """A new sheet, or the one that is given where Google lets the account make none.

    Most service accounts have no room for files: what is given instead may be a sheet, a folder of a shared
    drive, or the file of an OAuth client, told apart by how they look.
    """
    title = title or localised(_("Rehearsal"))
    while True:
        try:
            with _uninterrupted():
                # What stands behind /folders/ in an address, or the id itself.
                place = folder.rpartition("/folders/")[2].partition("?")[0].strip("/ ")
                sheet = _address(create_sheet(title, place))
                guide.ok(_("“{title}” was made", title=title))
                _name_sheet(guide, sheet)
            break
        except GoogleRefused as error:
            if error.reason == "SERVICE_DISABLED":
                guide.again(error, _("Press Enter to try again:"))
                continue
            given = _other_way(guide, error)
        if "/folders/" in given:
            folder = given
        elif given.endswith(".json"):
            _take_key(guide, given)
        elif given:
            return _existing(guide, given)
    text = _("Connected. Rehearsals write into other worksheets; you may delete this one.")
    while True:
        try:
            write_test_cell(_client(), key_of(sheet), localised(text))
            break
        except RehearsalError as error:
            guide.again(error, _("Press Enter to try again:"))
    guide.ok(_("a test cell was written"))
    return sheet


def _other_way(guide: Guide, error: GoogleRefused) -> str:
    """What is given in place of a sheet of the account's own; raises the refusal where nobody types."""
    who = account().email or _("the account of your credentials")
    if not guide.alone:
        reason = _("Google gives this account no room for files (storageQuotaExceeded).")
        guide.say(
            reason if error.reason == "storageQuotaExceeded" else error.message,
            _("One of these does instead; give its address or path:"),
            _("a. Open https://sheets.new, press Share, add {who} as an editor.", who=who),
            _("b. Add {who} to a folder of a shared drive, as a content manager.", who=who),
            _("c. Make an OAuth client (Desktop app) and download it, to sign in as yourself:"),
            f"   {CLIENTS}",
        )
    given = guide.ask(_("Address or path:"))
    if given is None:
        raise error
    return given


def _address(sheet: str) -> str:
    return f"https://docs.google.com/spreadsheets/d/{key_of(sheet)}"


def _name_sheet(guide: Guide, sheet: str) -> None:
    file = os.environ.get("REHEARSAL_CONFIG") or SETTINGS_FILE
    if connection.name_sheet(sheet, Path(file)):
        guide.ok(_("the sheet is named in {file}", file=file))


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """Ctrl-C waits until what is made is also written down; a second one does not.

    Else a sheet could exist that nobody knows of, and the next try would make another.
    """
    held = list[int]()

    def hold(number: int, _frame: object) -> None:
        if held:
            raise KeyboardInterrupt
        held.append(number)

    before = signal.signal(signal.SIGINT, hold)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        if held:
            raise KeyboardInterrupt


# --- The reviewer ---


def _share(guide: Guide, sheet: str, email: str | None) -> None:
    """Makes somebody an editor; a sheet that only a service account can open is never left so."""
    client, key = _client(), key_of(sheet)
    try:
        editors = client.persist(partial(client.editors, key), _("sheet {key}", key=key), attempts=2)
    except RehearsalError:  # of an account that may not see it; whoever owns the sheet can open it
        editors = {""}
    others = editors - {client.account.email.lower()}
    question = _("Address of the reviewer (Enter to skip):")
    while not (email := email or guide.ask(question if others else _("Address of the reviewer:"))):
        if others:
            if names := ", ".join(sorted(others - {""})):
                guide.ok(_("{email} can write into it", email=names))
            return
        if email is None:
            raise InputError(_("only {who} can open the sheet: add --share EMAIL.", who=client.account.email))
    while email.lower() not in editors:
        try:
            client.persist(partial(client.invite, key, email), email, attempts=2)
            break
        except RehearsalError as error:
            if not isinstance(error, GoogleRefused) or error.reason not in _NOT_ALLOWED:
                email = guide.again(error, _("Enter to try again, or another address:")) or email
                continue
        msg = _(
            "this account may not share it: open {address}, press Share and add {email}.",
            address=_address(sheet),
            email=email,
        )
        guide.again(InputError(msg), _("Press Enter when it is done:"))
        return
    guide.ok(_("{email} can write into it", email=email))
