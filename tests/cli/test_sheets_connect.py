"""`sheets connect`: from a key file to a shared sheet, with somebody at the keyboard or nobody."""

import io
import json
import os
import signal
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from simulator.cli.app import main
from simulator.core import shelves
from simulator.sheets.connect import name_sheet
from simulator.sheets.google_api import APIS
from tests.commands import Done
from tests.servers.loopback import on_thread
from tests.servers.sheets import MARI, ROBOT, SheetsServer
from tests.servers.sheets_auth import CLIENT_ID, CLIENT_SECRET
from tests.servers.sheets_errors import ApiError

LEAD = "lead@example.com"
KEY_FILE = "rehearsal-1a2b.json"
TOML = """# Settings of ours

# The bot
adapter = "demo"  # stays
to = [
  "xlsx",
]

[red]
overall = 0.6
"""
ENV = "# keys\nREHEARSAL_JUDGE_URL=http://127.0.0.1:9/v1\n"
Answer = str | Callable[[], object]


class Keyboard(io.TextIOBase):
    """Types an answer to each question; a deed is done before Enter is pressed. Then nobody is there."""

    def __init__(self, *answers: Answer) -> None:
        self.answers = list(answers)

    def readline(self, size: int | None = -1, /) -> str:  # type: ignore[override]
        """The next answer."""
        if not self.answers:
            return ""
        answer = self.answers.pop(0)
        if isinstance(answer, str):
            return answer + "\n"
        answer()
        return "\n"


class Google(SheetsServer):
    """With something that happens when a file is made."""

    def __init__(self) -> None:
        super().__init__(auth=True)
        self.on_create: Callable[[], object] = int

    def _drive(self, asked: Any) -> Any:
        if asked.path == "/drive/v3/files":
            self.on_create()
        return super()._drive(asked)


@pytest.fixture
def google(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Google]:
    """A service account that may own files, its key in ~/Downloads; a folder with settings and .env."""
    home, work = tmp_path / "home", tmp_path / "work"
    (home / "Downloads").mkdir(parents=True)
    work.mkdir()
    with on_thread(Google()) as server:
        server.store.service_drives = True
        monkeypatch.chdir(work)
        monkeypatch.setenv("HOME", str(home))
        monkeypatch.setenv("REHEARSAL_SHEETS_URL", server.url)
        Path("rehearsal.toml").write_text(TOML, "utf-8")
        Path(".env").write_text(ENV, "utf-8")
        given(server)
        yield server


def given(google: Google, content: str = "", name: str = KEY_FILE) -> Path:
    """A file of this content in ~/Downloads, as browsers leave it; the key of the service account."""
    path = Path.home() / "Downloads" / name
    path.write_text(content or json.dumps(google.service_account()), "utf-8")
    path.chmod(0o644)
    return path


@pytest.fixture
def connect(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Callable[..., Done]:
    """Runs the command in an environment of its own, with these answers at the keyboard."""

    def command(*options: str, answers: tuple[Answer, ...] = ()) -> Done:
        before = dict(os.environ)
        monkeypatch.setattr(sys, "stdin", Keyboard(*answers))
        try:
            return Done(main(["sheets", "connect", *options]), *capsys.readouterr())
        finally:
            os.environ.clear()
            os.environ.update(before)

    return command


def key_of(google: Google) -> str:
    """The only spreadsheet there is."""
    [key] = google.store.books
    return key


def files() -> tuple[bytes, bytes]:
    return Path("rehearsal.toml").read_bytes(), Path(".env").read_bytes()


# What is said on the way, in Japanese and in English.
STORY = (
    ("1. 鍵", "1. The key"),
    ("flows/enableapi?apiid=sheets.googleapis.com,drive.googleapis.com",) * 2,
    ("https://console.cloud.google.com/iam-admin/serviceaccounts/create",) * 2,
    (f"サービスアカウント {ROBOT}", f"the service account {ROBOT}"),
    ("2. シート", "2. The sheet"),
    ("「リハーサル」を作りました", "“Rehearsal” was made"),
    (
        "まだです：lead：そのアドレスの人は招待できません。",
        "not yet: lead: this address cannot be invited",
    ),
    (f"{LEAD} が書き込めます", f"{LEAD} can write into it"),
    ("つながりました。", "Connected."),
)


@pytest.mark.parametrize(("language", "locale"), [(0, "ja_JP.UTF-8"), (1, "en_US.UTF-8")])
def test_somebody_is_guided_to_a_shared_sheet(
    google: Google, connect: Any, monkeypatch: pytest.MonkeyPatch, language: int, locale: str
) -> None:
    """Enter takes the downloaded key and moves it; a misspelt address is asked for again."""
    monkeypatch.setenv("LC_ALL", locale)
    done = connect(answers=("", "", "lead", LEAD))
    book, kept = google.book(key_of(google)), Path.home() / ".config/rehearsal" / KEY_FILE

    assert (done.code, done.err) == (0, "")
    rest = done.out
    for line in (lines[language] for lines in STORY):
        assert line in rest
        rest = rest.partition(line)[2]
    assert f"https://docs.google.com/spreadsheets/d/{book.key}\n" in rest
    assert book.properties["title"] == ("リハーサル", "Rehearsal")[language]
    assert book.permissions == {ROBOT: "owner", LEAD: "writer"}
    assert google.store.mails == [(LEAD, book.key)]
    assert list(book.sheets[0].grid.get(0, 0)["userEnteredValue"]) == ["stringValue"]
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    assert not (Path.home() / "Downloads" / KEY_FILE).exists()
    assert "PRIVATE KEY" not in "".join([done.out, *(file.decode() for file in files())])


def test_what_stood_in_the_files_stays_and_a_second_time_changes_nothing(
    google: Google, connect: Any
) -> None:
    """Comments, other settings and other variables; no second sheet, invitation or line."""
    first = connect("--key", str(given(google)), "--share", LEAD, "--yes")
    found = files()
    again = connect("--share", LEAD.upper(), "--yes")

    assert (first.code, again.code) == (0, 0)
    toml, env = (file.decode() for file in found)
    address = f'sheet = "https://docs.google.com/spreadsheets/d/{key_of(google)}"\n'
    assert toml == TOML.replace("\n\n#", f"\n{address}\n#", 1).replace(
        '[\n  "xlsx",\n]', '["xlsx", "sheets"]'
    )
    assert env == f"{ENV}REHEARSAL_GOOGLE_CREDENTIALS='{Path.home()}/.config/rehearsal/{KEY_FILE}'\n"
    assert files() == found
    assert len(google.store.mails) == 1
    assert [sheet.title for sheet in google.book(key_of(google)).sheets] == ["シート1"]


def test_json_names_the_sheet(google: Google, connect: Any) -> None:
    """The steps are said on stderr; what is missing is the last line there, and no object."""
    missing = connect("--key", str(given(google)), "--yes", "--json")
    done = connect("--share", LEAD, "--yes", "--json")

    assert (missing.code, missing.out, done.code) == (2, "", 0)
    assert done.json == {
        "sheet": key_of(google),
        "address": f"https://docs.google.com/spreadsheets/d/{key_of(google)}",
        "shared_with": LEAD,
    }
    assert "1. The key" in done.err
    assert google.book(key_of(google)).permissions == {ROBOT: "owner", LEAD: "writer"}


def test_nobody_at_the_keyboard_is_one_line(google: Google, connect: Any) -> None:
    """What is missing is named with its option; a sheet that is made is not lost."""
    no_key = connect()
    no_lead = connect("--key", str(given(google)), "--yes")
    after = connect("--yes", "--share", LEAD)

    assert (no_key.code, no_lead.code, after.code) == (2, 2, 0)
    assert "--key FILE" in no_key.err
    assert f"only {ROBOT} can open the sheet: add --share EMAIL." in no_lead.err
    assert [done.err.count("\n") for done in (no_key, no_lead)] == [1, 1]
    assert google.book(key_of(google)).permissions == {ROBOT: "owner", LEAD: "writer"}


def test_an_account_without_a_drive_takes_a_sheet_that_is_shared_with_it(
    google: Google, connect: Any
) -> None:
    """Google's refusal is said with the other ways; the pasted sheet is tried until it is shared."""
    google.store.service_drives = False
    google.add("K" * 44, {"予定": [["大事"]]})
    address = f"https://docs.google.com/spreadsheets/d/{'K' * 44}/edit?gid=0"
    refused = connect("--key", str(given(google)), "--share", LEAD, "--yes")
    done = connect(answers=(address, lambda: google.share("K" * 44), ""))

    assert refused.code == 2
    assert refused.err.count("\n") == 1
    assert "no room at all as with service accounts" in refused.err
    assert "no room for files (storageQuotaExceeded)" in done.out
    assert f"a. Open https://sheets.new, press Share, add {ROBOT} as an editor." in done.out
    assert f"not yet: sheet {'K' * 44}: no access" in done.out
    assert (done.code, done.err) == (0, "")
    assert google.person("K" * 44).rows("予定") == [["大事"]]
    assert len(google.book("K" * 44).sheets) == 1
    assert f'sheet = "{address}"' in files()[0].decode()


def test_a_folder_of_a_shared_drive_takes_the_sheet(google: Google, connect: Any) -> None:
    """Its address, pasted or with --folder."""
    google.store.service_drives = False
    folder = google.folder(ROBOT, MARI, shared_drive=True)
    address = f"https://drive.google.com/drive/folders/{folder}?usp=sharing"
    connect("--key", str(given(google)), answers=("", address, LEAD))
    book = google.book(key_of(google))

    assert (book.parents, book.permissions) == ([folder], {LEAD: "writer"})
    assert connect("--new-sheet", "二枚目", "--folder", address, "--yes").code == 0
    assert len(google.store.books) == 2


def test_ones_own_account_signs_in_in_the_browser(google: Google, tmp_path: Path) -> None:
    """With an OAuth client in place of a key: the sheet is one's own, and shared without another question."""
    client = given(google, json.dumps(google.accounts.client(google.token_uri)))
    scope = "https://www.googleapis.com/auth/spreadsheets https://www.googleapis.com/auth/drive.file"
    code = google.accounts.sign_in(MARI, scope)
    browser = tmp_path / "browser.py"
    browser.write_text(
        "import sys\nfrom urllib.parse import parse_qs, urlsplit\nfrom urllib.request import urlopen\n"
        "asked = parse_qs(urlsplit(sys.argv[1]).query)\n"
        f"assert asked['scope'] == [{scope!r}]\n"
        f"urlopen(f\"{{asked['redirect_uri'][0]}}?state={{asked['state'][0]}}&code={code}\")\n",
        "utf-8",
    )
    world = os.environ | {
        "BROWSER": f"{sys.executable} {browser} %s &",
        "OAUTHLIB_INSECURE_TRANSPORT": "1",  # the token endpoint of the test has no https
    }
    words = [sys.executable, str(shelves.ROOT / "run.py"), "sheets", "connect"]
    options = ["--key", str(client), "--share", LEAD, "--yes"]
    done = subprocess.run([*words, *options], env=world, capture_output=True, text=True, check=False)
    login = Path.home() / ".config/rehearsal/google-login.json"

    assert done.returncode == 0, done.stderr
    assert google.book(key_of(google)).permissions == {MARI: "owner", LEAD: "writer"}
    assert stat.S_IMODE(login.stat().st_mode) == 0o600
    assert f"REHEARSAL_GOOGLE_CREDENTIALS='{login}'" in files()[1].decode()
    assert json.loads(login.read_text("utf-8"))["refresh_token"] not in done.stdout + done.stderr


def test_a_login_for_sheets_alone_leaves_the_sharing_to_its_owner(google: Google, connect: Any) -> None:
    """As that of gcloud: the sheet is made, and the line says what to press in the browser."""
    login = {"type": "authorized_user", "client_id": CLIENT_ID, "client_secret": CLIENT_SECRET,
             "refresh_token": google.accounts.person(MARI), "token_uri": google.token_uri,
             "scopes": ["https://www.googleapis.com/auth/spreadsheets"]}  # fmt: skip
    path = given(google, json.dumps(login), "login.json")
    refused = connect("--key", str(path), "--share", LEAD, "--yes")
    done = connect(answers=(LEAD, ""))
    press = f"open https://docs.google.com/spreadsheets/d/{key_of(google)}, press Share and add {LEAD}."

    assert (refused.code, refused.err.count("\n")) == (2, 1)
    assert press in refused.err
    assert press in done.out
    assert done.code == 0


@pytest.mark.parametrize("api", ["drive", "sheets"])
def test_an_api_that_is_off_is_named_with_googles_own_link(google: Google, connect: Any, api: str) -> None:
    """The step is tried again when it is on; nothing is made twice."""
    google.disabled = {api}
    key = str(given(google))
    refused = connect("--key", key, "--share", LEAD, "--yes")
    done = connect("--share", LEAD, answers=(google.disabled.clear, ""))

    assert refused.code == 2
    assert refused.err.count("\n") == 1
    assert APIS in refused.err
    assert f"not yet: {'new sheet Rehearsal' if api == 'drive' else f'sheet {key_of(google)}'}" in done.out
    assert done.code == 0
    assert len(google.store.books) == 1


def test_a_link_elsewhere_and_control_codes_are_not_shown(google: Google, connect: Any) -> None:
    """No link of an answer is passed on; what is said is one plain line."""
    metadata = {
        "activationUrl": "https://google.com.evil.example/\x1b[31m",
        "service": "drive.googleapis.com",
    }
    details = [{"reason": "SERVICE_DISABLED", "metadata": metadata}]

    def refuse(*error: Any, **more: Any) -> None:
        raise ApiError(*error, **more)

    google.on_create = lambda: refuse(403, "off", details=details)
    off = connect("--key", str(given(google)), "--yes")
    google.on_create = lambda: refuse(409, "no\n\x1b[2Jerror: fake")
    odd = connect(answers=(lambda: None,))

    assert APIS in off.err
    assert "evil" not in off.err
    for said in (off.err, odd.out, odd.err):
        assert "\x1b" not in said
        assert not any(line.startswith("error: fake") for line in said.splitlines())


@pytest.mark.parametrize("question", range(4))
def test_after_ctrl_c_the_same_command_goes_on(google: Google, connect: Any, question: int) -> None:
    """At any question, with exit code 3; in the end there is one sheet, and it is shared."""

    def interrupt() -> None:
        raise KeyboardInterrupt

    google.disabled = {"drive"}
    answers = ("", "", google.disabled.clear, LEAD)
    stopped = connect(answers=(*answers[:question], interrupt))
    google.disabled.clear()
    kept = [] if question < 2 else ["--yes"]
    done = connect("--share", LEAD, *kept, answers=("", "") if not kept else ())

    assert (stopped.code, done.code) == (3, 0)
    assert stopped.err.startswith("Stopped. What is done is kept: ")
    assert google.book(key_of(google)).permissions == {ROBOT: "owner", LEAD: "writer"}


def test_ctrl_c_while_the_sheet_is_made_waits_until_it_is_named(google: Google, connect: Any) -> None:
    """It is not made a second time."""
    google.on_create = lambda: os.kill(os.getpid(), signal.SIGINT)
    stopped = connect("--key", str(given(google)), "--share", LEAD, "--yes")

    assert stopped.code == 3
    assert key_of(google) in files()[0].decode()
    assert connect("--share", LEAD, "--yes").code == 0
    assert len(google.store.books) == 1


BAD_KEYS = {
    "no key file of Google's": "not JSON",
    "no key file": json.dumps({"web": {"client_id": "x"}}),
    "the key file is incomplete": json.dumps({"type": "service_account", "client_email": "x"}),
    "cannot be read": "",
}


@pytest.mark.parametrize("problem", BAD_KEYS)
def test_a_file_that_is_no_key_is_one_line(google: Google, connect: Any, problem: str) -> None:
    """It says what is wrong and quotes nothing; .env stays as it is."""
    path = given(google, BAD_KEYS[problem], "other.json") if BAD_KEYS[problem] else Path("gone.json")
    done = connect("--key", str(path), "--yes")

    assert done.code == 2
    assert problem in done.err
    assert done.err.count("\n") == 1
    assert files() == (TOML.encode(), ENV.encode())


def test_a_key_in_a_repository_or_open_to_others_is_not_taken_as_it_is(google: Google, connect: Any) -> None:
    """It is moved, or made private, if somebody says so; and refused if not."""
    Path("secrets").mkdir()
    Path(".git").mkdir()
    inside, outside = Path("secrets/key.json"), Path.home() / "key.json"
    for path in (inside, outside):
        path.write_text(json.dumps(google.service_account()), "utf-8")
        path.chmod(0o644)
    options = ("--share", LEAD)
    kept = connect("--key", str(inside), *options, answers=("n",))
    still_open = connect("--key", str(outside), *options, answers=("n",))

    assert (kept.code, still_open.code) == (2, 2)
    assert "does not belong in a git repository" in kept.err
    assert "chmod 600" in still_open.err
    assert not google.store.books
    assert connect("--key", str(inside), *options, answers=("y",)).code == 0
    assert not inside.exists()
    assert stat.S_IMODE((Path.home() / ".config/rehearsal/key.json").stat().st_mode) == 0o600
    assert connect("--key", str(outside), *options, answers=("y", "")).code == 0
    assert stat.S_IMODE(outside.stat().st_mode) == 0o600


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", 'sheet = "K"\nto = ["sheets"]\n'),
        ("# the bot\nadapter = 'x'\n", 'sheet = "K"\nto = ["sheets"]\n# the bot\nadapter = \'x\'\n'),
        (
            "\ufeff# ours\r\n\r\nto = 'json,xlsx'\r\n",
            '\ufeff# ours\r\nsheet = "K"\n\r\nto = ["json", "xlsx", "sheets"]\r\n',
        ),
        ("[set]\nsheet = 'mine'\n", 'sheet = "K"\nto = ["sheets"]\n[set]\nsheet = \'mine\'\n'),
        ("sheet = 'old'\nto = ['sheets']\n", "sheet = \"K\"\nto = ['sheets']\n"),
        ('x = """\nsheet = 1\n"""\nsheet = "old"\n', None),
    ],
)
def test_the_sheet_is_named_without_touching_the_rest(before: str, after: str | None, tmp_path: Path) -> None:
    """Above the first table; where it cannot be done safely, the lines to write are said."""
    file = tmp_path / "rehearsal.toml"
    file.write_bytes(before.encode())
    if after is None:
        with pytest.raises(Exception, match='write this into it yourself: sheet = "K"'):
            name_sheet("K", file)
        after = before
    else:
        assert name_sheet("K", file)
        assert not name_sheet("K", file)

    assert file.read_bytes() == after.encode()
