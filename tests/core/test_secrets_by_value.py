"""A secret that is written into a setting is masked by its value, in whatever form a bot repeats it."""

import base64
import json
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator import open_run
from simulator.cli.app import main
from simulator.core.secrets import known_secrets, mask_secrets, without_secrets
from tests.servers.bot import ReceivedQuestion, serve
from tests.servers.faults import Reply

TOKEN, COOKIE, PASSWORD, QUERY, FIELD = (
    f"xX7marked-{name}/0123+45" for name in ("token", "cookie", "password", "query", "field")
)
CASES = """id,question,language,reference
q1,届いた服を返せますか,ja,14日以内なら返品できます。
q2,How much is delivery?,en,550 yen anywhere.
"""


def b64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def parrot(asked: ReceivedQuestion) -> dict[str, Any]:
    """Repeats the whole request, in plain text and in base64, in its answer and its sources."""
    headers = json.dumps(dict(asked.headers))
    told = f"{headers} {asked.address} {json.dumps(asked.body)}"
    coded = f"{b64(told)} {base64.urlsafe_b64encode(f'x{told}'.encode()).decode()} {quote(headers)}"
    passage = {"text": f"articles {told}", "id": f"{told}", "source": coded}
    return {"reply": f"All articles of the desk {told} {coded}", "sources": [passage]}


def forms_of(secret: str) -> tuple[str, ...]:
    """What would give it away: as it is, in an address, in JSON, and in base64 at each of three places."""
    middle = (b64("x" * n + secret)[4:-4] for n in range(3))
    return (secret, quote(secret, safe=""), *middle)


def leaks(folder: Path, *outputs: str) -> list[str]:
    """The files, raw, and the outputs that hold a form of a secret."""
    forms = [form for secret in (TOKEN, COOKIE, PASSWORD, QUERY, FIELD) for form in forms_of(secret)]
    files = {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    files.pop("request.json", None)
    told = {**files, **{f"output {n}": text.encode() for n, text in enumerate(outputs)}}
    return [f"{name}: {form}" for name, text in told.items() for form in forms if form.encode() in text]


@pytest.mark.parametrize("written", ["options", "rehearsal.toml", "request in a file"])
def test_what_is_written_into_headers_address_and_request_reaches_no_file_and_no_screen(
    written: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Run file, reports of every kind, cache, terminal; and the answer without it is still graded."""
    (tmp_path / "cases.csv").write_text(CASES, encoding="utf-8")
    asked: list[ReceivedQuestion] = []

    def keeps(each: ReceivedQuestion) -> dict[str, Any]:
        asked.append(each)
        return parrot(each)

    with serve(keeps) as server:
        host = server.url.removeprefix("http://")
        settings = {
            "url": f"http://me:{quote(PASSWORD, safe='')}@{host}?api_key={quote(QUERY, safe='')}",
            "headers": f"X-Api-Key: {TOKEN}; Cookie: lang=ja; sid={COOKIE}",
            "request": json.dumps({"message": "$question", "apiKey": FIELD}),
            "answer": "reply", "passages": "sources",
        }  # fmt: skip
        if written == "request in a file":
            (tmp_path / "request.json").write_text(settings["request"], encoding="utf-8")
            settings["request"] = "@request.json"
        options = [word for name, value in settings.items() for word in ("--set", f"{name}={value}")]
        if written == "rehearsal.toml":
            lines = [f"{name} = {json.dumps(value)}" for name, value in settings.items()]
            table = "\n".join(('adapter = "http"', "[set]", *lines))
            (tmp_path / "given").mkdir()
            (tmp_path / "given" / "rehearsal.toml").write_text(table, encoding="utf-8")
            options = ["--config", "given/rehearsal.toml"]
        else:
            options += ["--adapter", "http"]
        shown = ("--cases", "cases.csv", "--persona", "angry", "--offline", "--turns", "2")
        reports = ("--to", "xlsx,json,csv,junit,markdown")
        code = main([*shown, *options, *reports, "--json"])
        first = capfd.readouterr()
        main([*shown, *options])
        main(["doctor", *options, "--cases", "cases.csv", "--offline"])
        second = capfd.readouterr()
    (tmp_path / "given" / "rehearsal.toml").unlink(missing_ok=True)
    # The bot did get them.
    assert asked[0].headers["x-api-key"] == TOKEN
    assert asked[0].headers["authorization"] == f"Basic {b64(f'me:{PASSWORD}')}"
    assert asked[0].body["apiKey"] == FIELD
    assert code in {0, 1}
    assert leaks(tmp_path, first.out, first.err, second.out, second.err) == []
    answer = open_run().conversations[0].turns[0].answer
    assert answer.text.startswith("All articles of the desk {")
    assert "***" in answer.text
    assert "content-length" in answer.text


@pytest.mark.parametrize("status", [500, 401, 302])
def test_nor_do_failures_that_quote_the_request(
    status: int, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """A refusal with the header in it, in base64 or not, before the first question as after it."""
    (tmp_path / "cases.csv").write_text(CASES, encoding="utf-8")

    def refuses(asked: ReceivedQuestion) -> Any:
        told = f"no {asked.headers['authorization']} {b64(asked.headers['authorization'])}"
        return Reply(status=status, headers={"Location": f"/x?{told}"}, body=told.encode())

    with serve(refuses) as server:
        main([
            "--cases", "cases.csv", "--adapter", "http", "--set", f"url={server.url}", "--set", "answer=a",
            "--set", f"headers=Authorization: Bearer {TOKEN}", "--offline", "--turns", "1", "--to", "json",
        ])  # fmt: skip
    told = capfd.readouterr()
    assert leaks(tmp_path, told.out, told.err) == []


def test_an_error_about_a_setting_does_not_quote_its_secret(capfd: pytest.CaptureFixture[str]) -> None:
    """The line that says what is wrong is shown to whoever looks over a shoulder, and kept by CI."""
    main(["--adapter", "http", "--set", f"url=ftp://me:{PASSWORD}@host/?x={b64(TOKEN)}", "--set",
          f"token={TOKEN}"])  # fmt: skip
    told = capfd.readouterr()
    assert "error: " in told.err
    assert leaks(Path("none"), told.out, told.err) == []


@pytest.mark.parametrize(
    ("setting", "secrets"),
    [
        (("headers", "Authorization: Bearer abc-12345"), {"abc-12345"}),
        (("headers", f"Authorization: Basic {b64('me:pass-4711')}"), {"pass-4711", "me:pass-4711"}),
        (("headers", "Cookie: a=1; sid=s3ss10n-id; X-Team: sales"), {"s3ss10n-id"}),
        (("headers", '{"X-Auth": "Token tok-98765", "Accept": "application/json"}'), {"tok-98765"}),
        (("headers", "Authorization: Bearer pre-4711-$SHOP"), {"pre-4711-"}),
        (("request", '{"auth": {"password": "pa$$word-1"}, "q": "$question"}'), {"pa$word-1"}),
        (
            ("url", "https://tok-12345@host/?accessToken=abc%2Fd-1&city=Kobe-1234"),
            {"tok-12345", "abc/d-1"},
        ),
        (("url", "https://host/chat?sig=sig-12345"), {"sig-12345"}),
    ],
)
def test_secrets_are_found_where_they_are_written(setting: tuple[str, str], secrets: set[str]) -> None:
    """In each header, cookie and field, and in the address; what is stored has none of them."""
    found = known_secrets(dict([setting]), {})

    assert secrets <= set(found)
    assert not [word for word in found if word in {"application/json", "Kobe-1234", "sales", "$question"}]
    stored = without_secrets(dict([setting]))[setting[0]]
    assert not [secret for secret in found if secret in stored]


@pytest.mark.parametrize(
    "headers",
    [
        "Authorization: Bearer ${BOT}", "Authorization: Bearer ${BOT}; X-Team: sales",
        "Accept-Language: ja-JP; Origin: https://shop.example", '{"X-Key": "$KEY", "Accept": "text/html"}',
    ],
)  # fmt: skip
def test_headers_without_a_secret_are_stored_as_they_are(headers: str) -> None:
    """A run goes on without anybody having to write them again, and answers keep these words."""
    assert without_secrets({"headers": headers}) == {"headers": headers}
    assert not {"https://shop.example", "ja-JP", "sales"} & set(known_secrets({"headers": headers}, {}))


@given(
    secret=st.text(st.characters(codec="utf-8", exclude_characters="*"), min_size=6, max_size=40),
    before=st.text(max_size=9),
    after=st.text(max_size=9),
)
def test_base64_of_a_text_with_a_secret_tells_nothing_of_it(secret: str, before: str, after: str) -> None:
    """Wherever it begins, in either alphabet; what stands around it stays."""
    told = (before + secret + after).encode("utf-8", "replace")
    for coded in (base64.b64encode(told).decode(), base64.urlsafe_b64encode(told).decode().rstrip("=")):
        assert mask_secrets(f"see {coded} 返品", (secret,)) == "see *** 返品"
