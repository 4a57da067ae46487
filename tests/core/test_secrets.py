"""Secrets from every place that has some: none is ever written, printed or kept."""

import base64
import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from simulator import open_run
from simulator.cli.app import main
from simulator.core.secrets import (
    is_telling,
    known_secrets,
    mask_secrets,
    used_secrets,
    without_secrets,
    without_url_secrets,
)
from simulator.storage.run_file import find_run, read_run
from tests.servers.faults import Reply
from tests.servers.openai import OpenAIServer, play, serve

MARK = "xX7marked"
KEY, OTHER, TOKEN, DOTENV, QUERY, LOGIN, CLIENT = (
    f"{MARK}-{name}-0123456789" for name in ("key", "other", "token", "dotenv", "query", "login", "client")
)
CASES = """id,question,language,reference,answer
q1,届いた服を返せますか,ja,14日以内なら返品できます。,14日以内なら返品できます。
q2,How much is delivery?,en,550 yen anywhere.,It is 550 yen.
"""
# Says what it was told, as a careless bot does, and fails with it.
BOT = """
import os

def connect(*, token: str = "", url: str = ""):
    def answer(question):
        if "delivery" in question:
            raise RuntimeError(f"401 for {token} at {url}, {os.environ['OPENAI_API_KEY']}")
        return f"OK, {token} {url} {os.environ['FROM_DOTENV_TOKEN']}"
    return answer
"""


@pytest.fixture
def planted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with questions and a bot, and secrets in the environment, in .env and in credentials."""
    (tmp_path / "cases.csv").write_text(CASES, encoding="utf-8")
    (tmp_path / "bot.py").write_text(BOT, encoding="utf-8")
    (tmp_path / ".env").write_text(f"FROM_DOTENV_TOKEN={DOTENV}\nREHEARSAL_DEMO_KEY={DOTENV}-2\n")
    for name in ("FROM_DOTENV_TOKEN", "REHEARSAL_DEMO_KEY"):
        monkeypatch.setenv(name, "")  # so that what .env adds is taken back
        monkeypatch.delenv(name)
    monkeypatch.setenv("REHEARSAL_JUDGE_KEY", KEY)
    monkeypatch.setenv("OPENAI_API_KEY", OTHER)
    monkeypatch.setenv("SHOP_CLIENT_SECRET", CLIENT)
    return tmp_path


@pytest.fixture
def endpoint(server: OpenAIServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """A model that takes the key."""
    server.key = KEY
    monkeypatch.setenv("REHEARSAL_JUDGE_URL", server.url)


def leaks(folder: Path, *outputs: str) -> list[str]:
    """Where a mark is found: in files (raw bytes, logs and caches, too), or in what was printed."""
    planted = {folder / ".env", folder / "credentials.json"}
    found = [
        str(path.relative_to(folder))
        for path in folder.rglob("*")
        if path.is_file() and path not in planted and MARK.encode() in path.read_bytes()
    ]
    return found + [text[max(0, text.find(MARK) - 80) :][:200] for text in outputs if MARK in text]


def run(capfd: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = main(list(arguments))
    told = capfd.readouterr()
    return code, told.out, told.err


def test_a_rehearsal_and_all_that_is_made_of_it_hold_no_secret(
    planted: Path, endpoint: None, capfd: pytest.CaptureFixture[str]
) -> None:
    """Simulate with every report, then report, fixes, diff, compare, consistency, doctor and cases make."""
    bot = (
        "--cases", "cases.csv", "--adapter", "bot.py:connect", "--persona", "angry", "--turns", "2",
        "--set", f"token={TOKEN}", "--set", f"url=https://user:{LOGIN}@shop.example/ask?key={QUERY}",
    )  # fmt: skip
    article = "届いた服は14日以内なら返品できます。送料はお客様のご負担です。\n"
    (planted / "kb.md").write_text(f"# 返品について\n{article * 2}", encoding="utf-8")
    commands: Sequence[Sequence[str]] = (
        ("simulate", *bot, "--to", "xlsx,json,csv,junit,markdown", "--json"),
        ("simulate", *bot),
        ("doctor", *bot),
        ("doctor", *bot, "--json"),
        ("report", "latest", "--to", "xlsx,json,csv,markdown"),
        ("fixes", "latest", "--markdown", "fixes.md"),
        ("history", "--json"),
        ("cases", "make", "kb.md", "--json", "--number", "2"),
        ("simulate", *bot, "--dry-run"),
    )
    for command in commands:
        code, out, err = run(capfd, *command)
        assert "Traceback" not in err
        assert leaks(planted, out, err) == [], (command, code)
    runs = sorted(path.name for path in (planted / "runs").iterdir())
    pair: Sequence[Sequence[str]] = (
        ("diff", *runs[:2]), ("compare", *runs[:2], "--html", "c.html"),
        ("consistency", runs[1]),
    )  # fmt: skip
    for command in pair:
        code, out, err = run(capfd, *command)
        assert "Traceback" not in err
        assert leaks(planted, out, err) == [], (command, code)


def refused(_: Any) -> Reply:
    """What some gateways answer: the request with its key."""
    told = {"error": {"message": f"bad key {KEY} for /v1?api_key={QUERY} (Bearer {KEY})"}}
    return Reply(status=401, body=json.dumps(told).encode())


def elsewhere(url: str) -> Callable[[Any], Reply]:
    """To another host, key and all."""
    return lambda _: Reply(status=302, headers={"Location": f"{url}/lost?api_key={KEY}"}, body=b"")


@pytest.mark.parametrize("answer", ["refused", "elsewhere", "nobody"])
def test_endpoints_that_fail_tell_no_secret(
    answer: str, planted: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A refused key that is echoed, a redirect, and nobody there: in the run, its reports and the doctor."""
    with serve(play) as other, serve(refused if answer == "refused" else elsewhere(other.url)) as server:
        address = "http://127.0.0.1:9/v1" if answer == "nobody" else server.url
        monkeypatch.setenv("REHEARSAL_JUDGE_URL", f"{address}?api_key={QUERY}")
        # Where nobody is, a run would try for a while.
        for word in ("doctor",) if answer == "nobody" else ("simulate", "doctor"):
            _, out, err = run(capfd, word, "--cases", "cases.csv", "--adapter", "recorded", "--to", "json")
            assert "Traceback" not in err
            assert leaks(planted, out, err) == []
    assert other.requests == []


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # the transport's own
def test_a_proxys_password_is_not_told(
    planted: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """An unreachable proxy is not named with its login."""
    for name in ("HTTPS_PROXY", "HTTP_PROXY", "https_proxy", "http_proxy"):
        monkeypatch.setenv(name, f"http://me:{LOGIN}@127.0.0.1:9")
    monkeypatch.setenv("REHEARSAL_JUDGE_URL", "http://models.example/v1")

    _, out, err = run(capfd, "doctor", "--cases", "cases.csv", "--adapter", "recorded", "--turns", "1")
    assert "models.example" in out
    assert leaks(planted, out, err) == []


def test_credentials_of_sheets_are_not_told(
    planted: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A service account whose key is none, a person without all parts, and JSON that is broken."""
    robot = {
        "type": "service_account", "client_email": "r@example.com", "private_key": CLIENT,
        "private_key_id": f"{CLIENT}-1", "token_uri": "http://127.0.0.1:9/", "client_id": "1",
    }  # fmt: skip
    person = {"type": "authorized_user", "client_secret": CLIENT, "refresh_token": TOKEN}
    (planted / "credentials.json").write_text(json.dumps(robot), encoding="utf-8")
    named = (str(planted / "credentials.json"), json.dumps(person), f'{{"private_key": "{CLIENT}"')
    for value in named:
        monkeypatch.setenv("REHEARSAL_GOOGLE_CREDENTIALS", value)
        code, out, err = run(
            capfd, "--cases", "cases.csv", "--adapter", "recorded", "--turns", "1", "--offline",
            "--to", "sheets", "--sheet", "1AbCdEfGhIjKlMnOpQrStUvWxYz012345",
        )  # fmt: skip
        assert (code, leaks(planted, out, err)) == (2, [])


def test_a_run_goes_on_with_its_secrets_given_again(
    planted: Path, endpoint: None, capfd: pytest.CaptureFixture[str]
) -> None:
    """What is not stored has to be given: without it one line says so, with it the run is finished."""
    run(
        capfd, "--cases", "cases.csv", "--adapter", "bot.py:connect", "--turns", "1",
        "--set", f"token={TOKEN}", "--budget", "0.0000001",
    )  # fmt: skip
    path = find_run("latest", planted / "runs")
    assert read_run(path).run.settings["set"] == {"token": "***"}

    code, _, err = run(capfd, "--resume", "latest", "--budget", "9")
    assert (code, "--set token" in err) == (2, True)

    code, out, err = run(capfd, "--resume", "latest", "--budget", "9", "--set", f"token={TOKEN}")
    assert code != 2
    assert read_run(path).run.status == "finished"
    assert leaks(planted, out, err) == []


def test_run_files_can_be_read_by_their_owner_only(planted: Path, endpoint: None) -> None:
    """Folders 0700, files 0600: runs, reports, comparisons, and the response cache."""
    os.umask(0o022)
    for bot in ("recorded", "bot.py:connect"):
        main([
            "--cases", "cases.csv", "--adapter", bot, "--turns", "1", "--to",
            "xlsx,json,csv,junit,markdown",
        ])  # fmt: skip
    runs = sorted((planted / "runs").iterdir())
    main(["compare", *(path.name for path in runs)])
    main(["diff", *(path.name for path in runs)])

    kept = [
        *runs,
        *(file for folder in (*runs, planted / "cache" / "rehearsal") for file in folder.iterdir()),
    ]
    open_to_others = [path.name for path in kept if path.stat().st_mode & 0o077]
    assert {"side-by-side.html", "report.xlsx", "responses.sqlite"} <= {p.name for p in kept}
    assert open_to_others == []


@pytest.mark.parametrize(
    ("name", "value", "stored"),
    [
        ("token", TOKEN, "***"),
        ("api_key", "${SHOP_KEY}", "${SHOP_KEY}"),
        ("headers", '{"Authorization": "Bearer ${SHOP_KEY}"}', '{"Authorization": "Bearer ${SHOP_KEY}"}'),
        ("headers", f'{{"Authorization": "Bearer {TOKEN}"}}', "***"),
        ("url", f"https://a.example/?key={TOKEN}&n=5", "https://a.example/?key=***&n=5"),
        ("url", f"https://me:{TOKEN}@a.example/ask", "https://***@a.example/ask"),
        ("url", "https://a.example/?key=${SHOP_KEY}", "https://a.example/?key=${SHOP_KEY}"),
        ("headers", "{Authorization: Bearer}", "***"),
        (
            "url",
            "https://a.example/?signupcode=ab&cookie=cd&n=5",
            "https://a.example/?signupcode=***&cookie=***&n=5",
        ),
        ("template", "{$question", "{$question"),
        ("template", "[" * 9000, "[" * 9000),
        ("keyword", "返品", "返品"),
        ("max_tokens", "200", "200"),
        ("author", "Yamada", "Yamada"),
    ],
)
def test_what_is_stored_of_a_setting(name: str, value: str, stored: str) -> None:
    """Secrets are told by the name of a setting or by where they stand in an address."""
    assert without_secrets({name: value}) == {name: stored}


def test_secrets_are_known_by_where_they_come_from() -> None:
    """Keys of the environment, logins of proxies, keys in addresses; paths of files are none."""
    environ = {
        "SHOP_KEY": "abcd-efgh-1", "HTTPS_PROXY": "http://me:s3cretpw@proxy:80", "SHORT_KEY": "on",
        "SSH_KEY": "/home/me/.ssh/id", "LANG": "ja_JP.UTF-8", "DB_PASSWORD": "question",
    }  # fmt: skip
    assert known_secrets({"token": "12345678"}, environ) == ("abcd-efgh-1", "12345678", "s3cretpw")
    assert mask_secrets("a abcdefgh b", ("abcdefgh",)) == "a *** b"
    assert without_url_secrets("see http://me:pw@host/x?sig=9&n=1") == "see http://***@host/x?sig=***&n=1"


SECRET = 'Schlüssel / 4"7'


@pytest.mark.parametrize("written", [
    SECRET, "Schl%C3%BCssel%20/%204%227", "Schl%C3%BCssel%20%2F%204%227", "Schl%C3%BCssel+%2F+4%227",
    'Schlüssel / 4\\"7', 'Schl\\u00fcssel / 4\\"7',
    *(base64.b64encode(f"{before}{SECRET}".encode()).decode() for before in ("", "u", "me", "you:")),
])  # fmt: skip
def test_a_secret_is_masked_in_whatever_was_made_of_it(written: str) -> None:
    """As it is, in an address, a form, JSON of two kinds and within base64; what is around stays."""
    assert mask_secrets(f"{written} and {written}", (SECRET,)) == "*** and ***"


def test_a_key_of_a_few_letters_is_no_secret() -> None:
    """As local servers take it: masked, it would leave nothing of what an error says."""
    assert mask_secrets("cannot connect to x.example", ("x", "none")) == "cannot connect to x.example"


@pytest.mark.parametrize("name", ["GITHUB_PAT", "AZURE_DEVOPS_PAT", "gitlab.pat", "x-pat", "PAT"])
def test_a_personal_access_token_is_a_secret(name: str) -> None:
    """By the end of its name, in the environment and among settings; a path and a pattern are none."""
    token = "glx-11AAaa22"

    assert known_secrets({}, {name: token}) == known_secrets({name: token}, {}) == (token,)
    assert without_secrets({name: token}) == {name: "***"}
    for other in ("SEARCH_PATH", "PATCH", "answer_pattern", "COMPAT", "spat", "SHOP_PAT_FILE"):
        assert known_secrets({other: token}, {other: token}) == ()


def test_what_is_short_or_a_plain_word_gives_no_secret_away() -> None:
    """From 6 characters on; of letters only from 12, in one case from 16."""
    either = ("abc-1", "abc-12", "aB" * 5 + "a", "aB" * 6, "a" * 15, "a" * 16)

    assert [is_telling(value) for value in either] == [False, True] * 3


def test_a_run_uses_some_secrets_of_many(tmp_path: Path) -> None:
    """What its adapter is given or told to look up, the keys of its models, and the user's own file."""
    environ = {
        "SHOP_TOKEN": "shop-1234", "BOT": "bot-12345", "REHEARSAL_JUDGE_KEY": "judge-123",
        "DB_PASSWORD": "db-123456", "OPENAI_API_KEY": "open-1234", "ANTHROPIC_API_KEY": "anth-1234",
        "FILED_KEY": "file-1234", "NAMED_KEY": "named-123", "REHEARSAL_USER_URL": "http://me:url-12345@host/v1",
        "CA_FILE": "/etc/ssl/ca",
    }  # fmt: skip
    (tmp_path / "env").write_text("# local\nexport FILED_KEY=file-1234\nLANG=ja\n", encoding="utf-8")
    settings = {
        "headers": "Authorization: Bearer ${BOT}", "token": "tok-12345", "api_key_env": "NAMED_KEY",
        "url": "https://host/?sig=sig-12345", "ca": "$CA_FILE", "model": "question $question",
    }  # fmt: skip

    assert set(used_secrets(settings, ("ANTHROPIC",), environ, tmp_path / "env")) == {
        "bot-12345", "judge-123", "open-1234", "anth-1234", "file-1234", "named-123", "url-12345",
        "tok-12345", "sig-12345",
    }  # fmt: skip
    assert used_secrets({}, (), environ, tmp_path / "none") == ("judge-123", "open-1234", "url-12345")


def test_what_a_bot_says_is_not_mistaken_for_a_secret(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Words stay everywhere; a secret that has nothing to do with the run is masked in errors only."""
    monkeypatch.setenv("POSTGRES_PASSWORD", "password")
    monkeypatch.setenv("OTHER_SYSTEMS_KEY", "A-1032-55")
    (tmp_path / "cases.csv").write_text(CASES, encoding="utf-8")
    (tmp_path / "bot.py").write_text(
        "def answer(question):\n"
        "    if 'delivery' in question:\n"
        "        raise RuntimeError('no password: A-1032-55')\n"
        "    return \"Click 'Forgot password'. Your order is A-1032-55.\"\n",
        encoding="utf-8",
    )

    run(capfd, "--cases", "cases.csv", "--adapter", "bot.py:answer", "--turns", "1", "--offline")
    answers = [conversation.turns[0].answer for conversation in open_run().conversations]
    assert {answer.text for answer in answers} == {"", "Click 'Forgot password'. Your order is A-1032-55."}
    errors = [answer.error.message for answer in answers if answer.error]
    assert list(map(str, errors)) == ["RuntimeError: no password: *** (bot.py, line 3)."]


def test_an_address_gives_away_its_keys_alone() -> None:
    """A password, what is named as a secret, and the code of a sign-in; no other part of the query."""
    address = "https://me:pass-word-12@host/v1?city=Yokohama-77&code=sign-in-code-5&api_key=k-123456789"

    assert set(known_secrets({"url": address}, {})) == {"pass-word-12", "sign-in-code-5", "k-123456789"}
