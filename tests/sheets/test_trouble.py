"""Trouble on the way to Google: what is waited for, what is never done twice, and what each line says."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import requests

from simulator.core.errors import InputError
from simulator.report.worksheets import worksheets
from simulator.sheets.google_api import SinkUnavailable, Target, account, target
from simulator.sheets.google_sheets import pull, worksheet_values
from simulator.sheets.model import SheetCell, SheetRow
from tests.report.test_worksheets import report_context
from tests.servers.malformed import ok, serve
from tests.servers.sheets import MARI, ROBOT, SheetsServer
from tests.servers.sheets_auth import CLIENT_ID, CLIENT_SECRET
from tests.servers.sheets_troubles import Trouble
from tests.sheets_sink import KEY, TITLE, Counting, Meddled, Time, pushed, review

GIVEN = "REHEARSAL_GOOGLE_CREDENTIALS"


def keys(server: SheetsServer) -> list[str]:
    return [row[0] for row in server.person(KEY).rows(TITLE)[1:]]


@pytest.mark.parametrize(
    "trouble",
    [
        Trouble.lost_reply(on="spreadsheets.batchUpdate", times=3),
        Trouble.status(502, on="write", html=True, times=2),
        Trouble.status(429, on="write", times=3),
        Trouble.reset(on="read", times=2),
        Trouble.reset(on="token"),
    ],
    ids=lambda trouble: f"{trouble.kind} {trouble.code} {trouble.on}",
)
def test_what_passes_is_waited_for(server: SheetsServer, trouble: Trouble) -> None:
    """Every row is there once, in order, whatever reply was lost."""
    trouble.times = min(trouble.times, 3)
    server.troubles = [Trouble(**{**vars(trouble)})]
    pushed(review("r1"))
    server.troubles = [Trouble(**{**vars(trouble)})]
    pushed(review("r2"))

    assert keys(server) == ["r2/a", "r2/b", "r2/c", "r1/a", "r1/b", "r1/c"]
    assert pushed(review("r2")).writes == 0


def test_questions_of_a_push_that_was_cut_off_keep_their_approval(server: SheetsServer) -> None:
    """What a broken connection left out is pushed for the first time, and was not thrown out by the team."""
    sheet = next(s for s in worksheets(report_context()) if s.name == "questions")
    text = SheetCell(text="長い話" * 15_000)
    rows = [SheetRow(key=f"q{n}", cells={**sheet.rows[0].cells, "reference": text}) for n in range(40)]

    def cut_off() -> None:
        raise requests.ConnectionError

    client = Meddled(lambda: None, cut_off)
    done = pushed(sheet.model_copy(update={"rows": tuple(rows)}), by=client)

    found = pull(target(KEY), ["questions"], client=Counting()).rows["questions"]
    assert done.writes > 3
    assert [row.cells["approved"] for row in found] == ["yes"] * 40


@pytest.mark.parametrize("trouble", [Trouble.status(503, on="read", times=999), Trouble.reset(times=999)])
def test_google_stays_away(server: SheetsServer, trouble: Trouble) -> None:
    """A bounded number of attempts, then a line of its own kind that says what to do later."""
    time = Time()
    server.troubles = [trouble]
    with pytest.raises(SinkUnavailable) as error:
        pushed(review(), by=Counting(time))

    assert "run is complete" in str(error.value)
    assert "report RUN --to sheets" in str(error.value)
    assert "\n" not in str(error.value)
    assert "<" not in str(error.value)
    assert len(time.sleeps) == 7
    assert sum(time.sleeps) < 240


@pytest.mark.parametrize("said", [b"[]", b"[" * 99_999, b"<html>"])
def test_somebody_else_answers(monkeypatch: pytest.MonkeyPatch, said: bytes) -> None:
    """A gateway that asks for a sign-in, say: Google cannot be reached, whatever it answers with."""
    with serve(ok(said)) as stranger:
        monkeypatch.setenv("REHEARSAL_SHEETS_URL", stranger.url.removesuffix("/v1"))
        monkeypatch.delenv(GIVEN, raising=False)
        with pytest.raises(SinkUnavailable, match="cannot be reached"):
            pull(target(KEY), ["review"], client=Counting())


def policy(server: SheetsServer) -> None:
    server.domain_policy = True


def guarded_in_part(server: SheetsServer) -> None:
    lock(server, startRowIndex=0, endRowIndex=9, startColumnIndex=1, endColumnIndex=3)


def lock(server: SheetsServer, **area: int) -> None:
    """Mari lets nobody else write there."""
    pushed(review("r0"))
    sheet = server.book(KEY).sheet(TITLE)
    told = {"protectedRangeId": 1, "range": {"sheetId": sheet.id, **area}, "editors": {"users": [MARI]}}
    sheet.lists["protectedRanges"].append(told)


@pytest.mark.parametrize(
    ("deed", "words"),
    [
        (lambda server: server.share(KEY, ROBOT, ""), ("no access", "共有", ROBOT, "編集者")),
        (lambda server: server.share(KEY, ROBOT, "reader"), ("reading only", "編集者", ROBOT)),
        (
            lambda server: setattr(server, "disabled", True),
            ("switched off", "https://console.cloud.google.com/flows/enableapi"),
        ),
        (policy, ("外部共有禁止", "administrator", ROBOT)),
        (lambda server: server.store.books.pop(KEY), ("no such sheet", "/d/")),
        (lambda server: server.accounts.revoke(ROBOT), ("refused the credentials", "invalid_grant")),
        (guarded_in_part, ("シートと範囲を保護", ROBOT, f"Protected: {TITLE}!B1:C9")),
    ],
)
def test_what_people_can_mend_is_one_line(
    server: SheetsServer, deed: Callable[[SheetsServer], object], words: tuple[str, ...]
) -> None:
    """It says what to click and with whom to share; it is not tried again."""
    deed(server)
    time = Time()
    with pytest.raises(InputError) as error:
        pushed(review("r1"), by=Counting(time))

    for word in words:
        assert word in str(error.value)
    assert "\n" not in str(error.value)
    assert [seconds for seconds in time.sleeps if seconds > 1] == []


@pytest.mark.parametrize(
    ("sheet", "key"),
    [
        ("1AbC-_d", "1AbC-_d"),
        ("https://docs.google.com/spreadsheets/d/1AbC/edit?gid=0#gid=0", "1AbC"),
        ("https://docs.google.com/spreadsheets/u/1/d/1AbC", "1AbC"),
        ("https://docs.google.com/a/example.co.jp/spreadsheets/d/1AbC/edit", "1AbC"),
    ],
)
def test_addresses(sheet: str, key: str) -> None:
    """As copied from the browser, or the key alone."""
    assert target(sheet) == Target(key=key)


@pytest.mark.parametrize(
    ("sheet", "words"),
    [
        ("", "key is between /d/ and /edit"),
        ("https://example.com/x", "key is between"),
        ("https://docs.google.com/spreadsheets/d/e/2PACX-1v/pubhtml", "ウェブに公開"),
    ],
)
def test_a_wrong_address_is_one_line(sheet: str, words: str) -> None:
    """It says where the key stands."""
    with pytest.raises(InputError, match=words):
        target(sheet)
    with pytest.raises(InputError, match="--worksheet"):
        target("k", "x" * 61)


def person(server: SheetsServer) -> dict[str, str]:
    """What a sign-in in a browser leaves behind."""
    told = {"type": "authorized_user", "client_id": CLIENT_ID, "client_secret": CLIENT_SECRET}
    return told | {"refresh_token": server.accounts.person(MARI)}


def test_who_we_are(server: SheetsServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A key file or its JSON, in either variable, ours first; a person's sign-in, too."""
    robot, other = server.service_account(), server.service_account("other@x.iam.gserviceaccount.com")
    file = tmp_path / "鍵.json"
    file.write_text(json.dumps(other), encoding="utf-8")
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(file))
    assert account() == robot["client_email"]

    monkeypatch.delenv(GIVEN)
    assert account() == "other@x.iam.gserviceaccount.com"
    monkeypatch.setenv(GIVEN, str(file))
    assert account() == "other@x.iam.gserviceaccount.com"
    monkeypatch.setenv(GIVEN, json.dumps(person(server)))
    assert account() == ""
    assert pushed(review()).rows == 3
    assert {entry.account for entry in server.log if entry.method != "token"} == {MARI}


def test_what_gcloud_left_behind_is_taken(
    server: SheetsServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Where no variable is set; where there is nothing either, the line says which one to set."""
    monkeypatch.delenv(GIVEN)
    monkeypatch.setenv("NO_GCE_CHECK", "true")
    monkeypatch.setenv("PATH", "")  # or google-auth asks gcloud for a project, which nobody needs
    monkeypatch.delenv("CLOUDSDK_CONFIG", raising=False)
    with pytest.raises(InputError, match="set REHEARSAL_GOOGLE_CREDENTIALS"):
        account()
    file = tmp_path / "home" / ".config" / "gcloud" / "application_default_credentials.json"
    file.parent.mkdir(parents=True)
    file.write_text(json.dumps(person(server)), encoding="utf-8")

    assert account() == ""
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", "[]")
    with pytest.raises(InputError, match="no such file"):
        account()


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ("/no/such/file.json", "no such file"),
        ("{", "cannot be read as JSON"),
        ('{"type": "service_account", "private_key": "hush"}', "neither a service account"),
        ('{"type": "hush"}', "neither a service account"),
        ('{"_module": "oauth2client.service_account", "private_key": "hush"}', "extra 'legacy'"),
    ],
)
def test_wrong_credentials_are_one_line(monkeypatch: pytest.MonkeyPatch, said: str, words: str) -> None:
    """It names the variable or the extra, and shows nothing of what stands in it."""
    monkeypatch.setitem(sys.modules, "oauth2client.client", None)
    monkeypatch.setenv(GIVEN, said)
    with pytest.raises(InputError, match=words) as error:
        account()

    assert "hush" not in str(error.value)


def test_credentials_of_oauth2client_are_taken(server: SheetsServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Their JSON is read by oauth2client, and gspread makes google-auth's of them."""
    info = server.service_account()

    class ServiceAccountCredentials:
        serialization_data = info
        token_uri = info["token_uri"]
        _scopes = "https://www.googleapis.com/auth/spreadsheets"

    ServiceAccountCredentials.__module__ = "oauth2client.service_account"

    class Credentials:
        @staticmethod
        def new_from_json(text: str) -> ServiceAccountCredentials:
            assert json.loads(text)["private_key_id"] == "k1"
            return ServiceAccountCredentials()

    module = ModuleType("oauth2client.client")
    monkeypatch.setattr(module, "Credentials", Credentials, raising=False)
    monkeypatch.setitem(sys.modules, "oauth2client.client", module)
    monkeypatch.setenv(GIVEN, json.dumps({"_module": "oauth2client.service_account", **info}))

    assert account() == ROBOT
    assert pushed(review()).rows == 3


def test_reading_is_tried_again_and_told_in_one_line(server: SheetsServer) -> None:
    """Pull and the questions go through the same door."""
    pushed(review())
    server.troubles = [Trouble.status(503, on="read", times=2)]
    assert len(pull(target(KEY), ["review"], client=Counting()).rows["review"]) == 3
    server.share(KEY, ROBOT, "")
    reads: list[Callable[[], Any]] = [
        lambda: pull(target(KEY), ["review"], client=Counting()),
        lambda: worksheet_values(f"sheet:{KEY}", client=Counting()),
    ]
    for read in reads:
        with pytest.raises(InputError, match="共有"):
            read()
