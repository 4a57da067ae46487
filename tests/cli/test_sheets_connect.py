"""`sheets connect`: from a key file and a sheet that is shared with it to settings that name both."""

import json
import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from simulator.cli.app import main
from simulator.sheets.connect import name_sheet
from simulator.sheets.google_api import APIS
from tests.commands import Done
from tests.servers.loopback import on_thread
from tests.servers.sheets import ROBOT, SheetsServer

KEY = "K" * 44
ADDRESS = f"https://docs.google.com/spreadsheets/d/{KEY}"
TOML = '# Settings of ours\nadapter = "demo"  # stays\n\n[red]\noverall = 0.6\n'
ENV = "# keys\nREHEARSAL_JUDGE_URL=http://127.0.0.1:9/v1\n"


@pytest.fixture
def google(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[SheetsServer]:
    """A sheet that is shared with a service account, its key, and a folder with settings and .env."""
    (tmp_path / "work").mkdir()
    with on_thread(SheetsServer({KEY: {"予定": [["大事"]]}}, auth=True)) as server:
        server.share(KEY)
        monkeypatch.chdir(tmp_path / "work")
        monkeypatch.setenv("HOME", str(tmp_path))
        monkeypatch.setenv("NO_GCE_CHECK", "true")
        monkeypatch.setenv("REHEARSAL_SHEETS_URL", server.url)
        Path("rehearsal.toml").write_text(TOML, "utf-8")
        Path(".env").write_text(ENV, "utf-8")
        (tmp_path / "key.json").write_text(json.dumps(server.service_account()), "utf-8")
        yield server


@pytest.fixture
def connect(capsys: pytest.CaptureFixture[str]) -> Callable[..., Done]:
    """Runs the command in an environment of its own."""

    def command(*options: str) -> Done:
        before = dict(os.environ)
        try:
            return Done(main(["sheets", "connect", *options]), *capsys.readouterr())
        finally:
            os.environ.clear()
            os.environ.update(before)

    return command


def files() -> tuple[str, str]:
    return Path("rehearsal.toml").read_text("utf-8"), Path(".env").read_text("utf-8")


def test_a_key_and_a_sheet_are_named_and_all_else_stays(google: SheetsServer, connect: Any) -> None:
    """The test cell is gone, only its owner reads the key; a second time changes nothing."""
    key = Path.home() / "key.json"
    done = connect("--key", str(key), "--sheet", ADDRESS, "--json")
    toml, env = files()

    assert (done.code, done.json) == (0, {"sheet": KEY, "address": ADDRESS})
    assert f"ok: the service account {ROBOT}" not in done.out
    assert f"Connected. Open it: {ADDRESS}" in done.err
    assert toml == f'sheet = "{ADDRESS}"\nto = ["sheets"]\n{TOML}'
    assert env == f"{ENV}REHEARSAL_GOOGLE_CREDENTIALS='{key}'\n"
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    assert "PRIVATE KEY" not in done.out + done.err + toml + env
    assert [sheet.title for sheet in google.book(KEY).sheets] == ["予定"]
    assert google.person(KEY).rows("予定") == [["大事"]]
    assert connect("--key", str(key)).code == 0
    assert files() == (toml, env)


def test_what_is_missing_is_one_line_that_says_what_to_press(google: SheetsServer, connect: Any) -> None:
    """First the key, then the sheet, which has to be shared with the key's account."""
    google.share(KEY, ROBOT, "")
    key = str(Path.home() / "key.json")
    no_key, no_sheet, not_shared = (
        connect(), connect("--key", key), connect("--key", key, "--sheet", KEY),
    )  # fmt: skip

    assert [done.code for done in (no_key, no_sheet, not_shared)] == [2, 2, 2]
    assert APIS in no_key.err
    assert "add --key with the file" in no_key.err
    assert f"add {ROBOT} as an editor, and add --sheet" in no_sheet.err
    assert f"sheet {KEY}: it is shared for reading only" in not_shared.err
    assert files()[0] == TOML


BAD_KEYS = {
    "cannot be read as JSON": "not JSON",
    "neither a service account's key file": json.dumps({"web": {"client_id": "x"}}),
    "or not all of it": json.dumps({"type": "service_account", "client_email": "x"}),
    "no such file": "",
}


@pytest.mark.parametrize("problem", BAD_KEYS)
def test_a_file_that_is_no_key_is_one_line(google: SheetsServer, connect: Any, problem: str) -> None:
    """It says what is wrong and quotes nothing; .env stays as it is."""
    path = Path("other.json")
    if BAD_KEYS[problem]:
        path.write_text(BAD_KEYS[problem], "utf-8")
    done = connect("--key", str(path), "--sheet", KEY)

    assert (done.code, done.err.count("\n")) == (2, 1)
    assert problem in done.err
    assert files() == (TOML, ENV)


def test_a_key_in_a_repository_is_not_taken(google: SheetsServer, connect: Any) -> None:
    """It would be committed sooner or later."""
    Path(".git").mkdir()
    inside = Path("key.json")
    inside.write_text(json.dumps(google.service_account()), "utf-8")
    done = connect("--key", str(inside), "--sheet", KEY)

    assert done.code == 2
    assert "does not belong in a git repository" in done.err
    assert files() == (TOML, ENV)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", 'sheet = "K"\nto = ["sheets"]\n'),
        ("[set]\nsheet = 'mine'\n", 'sheet = "K"\nto = ["sheets"]\n[set]\nsheet = \'mine\'\n'),
        ("to = 'sheets,xlsx'\r\n", "sheet = \"K\"\nto = 'sheets,xlsx'\r\n"),
        ("sheet = 'old'\nto = ['sheets']\n", None),
        ("to = ['xlsx']\n", None),
    ],
)
def test_the_sheet_is_named_without_touching_the_rest(before: str, after: str | None, tmp_path: Path) -> None:
    """Above all tables; where the file says something else, the lines to write are said."""
    file = tmp_path / "rehearsal.toml"
    file.write_bytes(before.encode())
    if after is None:
        with pytest.raises(Exception, match=r"rehearsal\.toml: write this into it yourself: "):
            name_sheet("K", file)
    else:
        assert name_sheet("K", file)
        assert not name_sheet("K", file)
    assert file.read_bytes().decode() == (before if after is None else after)
