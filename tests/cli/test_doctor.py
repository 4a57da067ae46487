"""Whether keys, models, bot and folders work, found out before money is spent."""

import json
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from simulator.cli.app import main
from simulator.core.settings import DEFAULT_MODELS
from simulator.models.cache import cache_folder
from tests.servers.openai import FAULTS, OpenAIServer, Reply, play
from tests.sheets_sink import KEY as KEY_OF_SHEET
from tests.sheets_sink import sheets_server

KEY = "sk-very-secret-0123456789"
BOT = """
class Bot:
    def __call__(self, query):
        return '返品できます。', ['よくある質問']
    async def aclose(self):
        open('closed', 'w').close()
def connect():
    return Bot()
def answer(question):
    raise ValueError('no knowledge\\x1b[31m here')
"""
OWN = ("--adapter", "bot.py:connect")
# A chat endpoint as any other one; the setting that follows is its address.
ENDPOINT = (
    "--adapter",
    "http",
    *("--set", "answer=choices.0.message.content"),
    *("--set", "headers=Authorization: Bearer ${OPENAI_API_KEY}"),
    *("--set", 'request={"model": "bot", "messages": [{"role": "user", "content": "$question"}]}'),
    "--set",
)


class Found(NamedTuple):
    """What doctor found: exit code and, per part, whether it works and what is said of it."""

    code: int
    ok: dict[str, bool]
    said: dict[str, str]
    settings: dict[str, str]


@pytest.fixture
def examine(capsys: pytest.CaptureFixture[str]) -> Any:
    """Runs `doctor --json` beside a bot of one's own."""
    Path("bot.py").write_text(BOT, encoding="utf-8")

    def run(*arguments: str) -> Found:
        code = main(["doctor", "--json", *arguments])
        out, err = capsys.readouterr()
        assert err == ""
        shown = json.loads(out)
        assert shown["ok"] is (code == 0)
        checks = {check["name"]: check for check in shown["checks"]}
        ok = {name: check["ok"] for name, check in checks.items()}
        return Found(code, ok, {name: check["message"] for name, check in checks.items()}, shown["settings"])

    return run


@pytest.fixture
def server(server: OpenAIServer, monkeypatch: pytest.MonkeyPatch) -> OpenAIServer:
    """The fake endpoint, configured for every role, with a key."""
    server.key = KEY
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    return server


PLAYED = "played by a simple version (no AI); set OPENAI_API_KEY for a model"


def test_offline_everything_works_and_nothing_is_written(examine: Any) -> None:
    """Stand-ins are named as such; bot and folders are tried all the same."""
    found = examine(*OWN, "--limit", "2", "--persona", "calm")

    assert (found.code, set(found.ok.values())) == (0, {True})
    assert found.said == {
        "questions": "2 conversations planned",
        "user model": PLAYED,
        "judge model": PLAYED,
        "embed model": PLAYED,
        "demo model": "not used",
        "bot": "bot.py:connect: answered with 7 characters, 1 passage",
        "runs folder": "runs can be written",
    }
    assert {path.name for path in Path().iterdir()} - {"__pycache__"} == {"bot.py", "closed"}
    assert not cache_folder().exists()


def test_each_model_is_asked_once(examine: Any, server: OpenAIServer) -> None:
    """Customer and judge must reply in a form, embeddings must be vectors, the demo bot must speak."""
    found = examine("--limit", "1")

    assert found.code == 0
    for role, says in {
        "user": "replies in strict JSON",
        "judge": "replies in strict JSON",
        "embed": "vectors of 256 numbers",
        "demo": "answered '",
    }.items():
        model = DEFAULT_MODELS[role]  # type: ignore[index]
        assert found.said[f"{role} model"].startswith(f"{model} at {server.url}: {says}")
    assert server.counts == {"chat": 4, "embeddings": 1}  # one of them is the bot's own answer
    assert not (cache_folder() / "responses.sqlite").exists()


def test_several_models_of_customers_are_tried_one_by_one(examine: Any, server: OpenAIServer) -> None:
    """In the place of the one, each under its name."""
    found = examine(*OWN, "--limit", "1", "--user-model", "one,two")

    assert list(found.said)[:4] == ["questions", "user model one", "user model two", "judge model"]
    assert found.said["user model two"].startswith("two at ")


def test_a_sheet_is_read_and_its_account_is_named(
    examine: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The address of the account is what the sheet has to be shared with."""
    with sheets_server(monkeypatch):
        found = examine(*OWN, "--limit", "1", "--sheet", KEY_OF_SHEET)
        assert "share (共有) the sheet with " in found.said["Google account"]
        assert "@" in found.said["Google account"]
        assert found.said["Google Sheet"] == "can be read; nothing there yet"
        push = f"--limit 1 --persona calm --offline --to sheets --sheet {KEY_OF_SHEET}"
        main([*OWN, *push.split()])
        capsys.readouterr()
        found = examine(*OWN, "--limit", "1", "--sheet", KEY_OF_SHEET)
        assert "holds an earlier run (" in found.said["Google Sheet"]
    assert found.code == 0


def test_it_finds_out_in_which_form_a_model_replies(examine: Any, server: OpenAIServer) -> None:
    """An endpoint without schemas is good enough; one that never speaks JSON is not."""
    verdicts = list[str]()
    server.reply = lambda request: verdicts.append(play(request)) or verdicts[-1]  # type: ignore[func-returns-value]
    assert examine(*OWN, "--judges", "turn").code == 0
    line, verdict = verdicts
    filled = {"gpt-4.1-mini": line, "gpt-4.1": verdict}
    server.refuses, server.reply = {"json_schema"}, lambda request: filled[request["model"]]
    assert examine(*OWN, "--judges", "turn").said["judge model"].endswith(": replies in JSON")
    server.refuses, server.reply = {"response_format"}, lambda request: "Sure: " + filled[request["model"]]
    assert examine(*OWN, "--judges", "turn").said["judge model"].endswith(": replies in JSON in plain text")
    server.reply = lambda _: "I'd rather talk."
    found = examine(*OWN, "--judges", "turn")

    assert (found.code, found.ok["bot"]) == (2, True)
    for role in ("user model", "judge model"):
        assert not found.ok[role]
        assert "does not reply in JSON as asked (there is no JSON object in the reply)" in found.said[role]


def test_an_attacker_is_tried_as_any_customer(examine: Any, server: OpenAIServer) -> None:
    """Its model is asked in the form of a line."""
    assert examine(*OWN, "--limit", "1", "--persona", "attackers").ok["user model"]


@pytest.mark.parametrize(
    ("column", "meant"),
    [("refrence", "reference, references"), ("tool", "tools"), ("catgory", "category")],
)
def test_a_column_that_is_ignored_is_told(examine: Any, column: str, meant: str) -> None:
    """Before a run without reference answers is paid for, with the name that was meant."""
    Path("asked.csv").write_text(f"Q,{column}\nHow much?,5 dollars.\n", encoding="utf-8")
    found = examine(*OWN, "--cases", "asked.csv", "--persona", "calm")

    ignored = f"asked.csv: ignored columns: {column}. Did you mean {meant}?"
    assert found.said["questions"] == f"1 conversation planned. {ignored}"


def test_models_are_asked_as_a_run_asks_them(examine: Any, server: OpenAIServer) -> None:
    """With a system message, seed, temperature and the role's own form, at the length of a real prompt."""
    found = examine(*OWN, "--judges", "turn", "--limit", "1")
    line, verdict = (request.body for request in server.requests if "messages" in request.body)

    assert found.code == 0
    for body, most in ((line, 1_500), (verdict, 7_000)):
        assert [message["role"] for message in body["messages"]][:2] == ["system", "user"]
        assert body["response_format"]["type"] == "json_schema"
        assert {"seed", "temperature", "max_tokens"} <= body.keys()
        assert sum(len(message["content"]) for message in body["messages"]) > most
    assert {"steps", "overall"} < verdict["response_format"]["json_schema"]["schema"]["properties"].keys()
    assert "message" in line["response_format"]["json_schema"]["schema"]["properties"]


@pytest.mark.parametrize(
    ("judges", "field"),
    [("conversation", "requests"), ("risk", "reason"), ("turn,tone", "turn"), ("chrf", "answer")],
)
def test_whatever_a_judge_is_its_form_is_tried(
    examine: Any, server: OpenAIServer, judges: str, field: str
) -> None:
    """One of whole conversations, a function that asks a model, the longest of several; else any form."""
    found = examine(*OWN, "--judges", judges, "--limit", "1", "--language", "ja")
    body = server.requests[-1].body

    assert found.ok["judge model"]
    assert body["messages"][0]["role"] == "system"
    assert field in body["response_format"]["json_schema"]["schema"]["properties"]


def test_a_prompt_that_the_server_cuts_is_told(examine: Any, server: OpenAIServer) -> None:
    """Before a run is paid for, with what to raise."""

    def cut(request: Any) -> Reply:
        read = sum(len(message["content"]) for message in request["messages"])
        return Reply(play(request), usage={"prompt_tokens": min(read, 2050), "completion_tokens": 9})

    server.reply = cut
    found = examine(*OWN, "--judges", "turn", "--language", "ja", "--limit", "1")

    assert (found.code, found.ok["judge model"]) == (2, False)
    assert "the server cut the prompt: it read 2,050 tokens" in found.said["judge model"]


@pytest.mark.parametrize(
    ("fault", "told"),
    [
        (
            Reply(status=401),
            "Check REHEARSAL_JUDGE_KEY, _URL and _MODEL. Without a key there, OPENAI_API_KEY counts.",
        ),
        (Reply(status=404), "Check REHEARSAL_JUDGE_KEY, _URL and _MODEL."),
        (FAULTS["quota"](""), "You exceeded your current quota."),
        (FAULTS["500"](""), "500: The server had an error"),
        (FAULTS["reset"](""), "no connection"),
    ],
)
def test_a_model_that_cannot_be_had_is_told_at_once(
    examine: Any, server: OpenAIServer, fault: Reply, told: str
) -> None:
    """Without further attempts, and the other parts are tried nevertheless."""
    server.reply = lambda _: fault
    found = examine(*OWN, "--judges", "turn")

    assert (found.code, found.ok["judge model"], found.ok["bot"]) == (2, False, True)
    assert told in found.said["judge model"]
    assert server.counts["chat"] == 2


def test_the_key_of_another_address_is_not_named(
    examine: Any, server: OpenAIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """OPENAI_API_KEY is never sent to an address of the judge's own."""
    monkeypatch.setenv("REHEARSAL_JUDGE_URL", server.url)
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    server.reply = lambda _: Reply(status=401)
    found = examine(*OWN, "--judges", "turn")

    assert found.said["judge model"].endswith("Check REHEARSAL_JUDGE_KEY, _URL and _MODEL.")


def test_a_wrong_key_is_told_and_no_key_is_shown(
    capsys: pytest.CaptureFixture[str], server: OpenAIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With --verbose settings follow the result; keys are named by their variables, secrets masked."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-wrong-9876543210")
    headers = "headers=Authorization: Bearer sk-in-a-setting"
    words = ["doctor", "--adapter", "http", "--set", f"url={server.url}", "--set", headers]
    assert main(words) == 2
    assert "keys" not in capsys.readouterr().out
    assert main([*words, "--verbose"]) == 2
    out = capsys.readouterr().out

    assert out.index("runs folder") < out.index("       keys               OPENAI_API_KEY=***")
    assert "headers=***" in out
    assert not {"sk-wrong-9876543210", "sk-in-a-setting", KEY} & set(out.replace("=", " ").split())


def test_a_bot_that_fails_is_told(examine: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """With what it raised, and without its control codes on the terminal."""
    found = examine("--adapter", "bot.py:answer")
    assert (found.code, found.ok["bot"], found.ok["runs folder"]) == (2, False, True)
    assert "no knowledge" in found.said["bot"]

    assert main(["doctor", "--adapter", "bot.py:answer"]) == 2
    shown = capsys.readouterr().out
    assert "NOT OK bot                bot.py:answer: " in shown
    assert "\x1b" not in shown


@pytest.mark.parametrize(
    ("words", "row", "step"),
    [
        (("bot.py:answer",), "bot", "Ask the bot a question without this program, and mend what its own log"),
        (
            ("bot.py:nothing",),
            "bot",
            "Ask the bot a question without this program: it has to answer in words.",
        ),
        (("bot.py:number",), "bot", "bots.md shows what a bot returns, and how to name the"),
        (("bot.py:slow", "--timeout", "0.1"), "bot", "Raise --timeout, or make the bot answer faster."),
        (
            ("http", "--set", "url=http://127.0.0.1:9/", "--set", "answer=a"),
            "bot",
            "Start the bot, or correct",
        ),
        (("bot.py:connect",), "judge model", "Check REHEARSAL_JUDGE_URL and REHEARSAL_JUDGE_MODEL;"),
        (("demo",), "bot", "Check REHEARSAL_DEMO_URL and REHEARSAL_DEMO_MODEL;"),
    ],
)
def test_each_row_that_is_not_ok_says_what_to_do(
    words: tuple[str, ...], row: str, step: str, examine: Any, server: OpenAIServer
) -> None:
    """In one sentence behind what went wrong, by its kind."""
    more = (
        "import asyncio\ndef nothing(q):\n    return None\ndef number(q):\n    return 5\n"
        "async def slow(q):\n    await asyncio.sleep(60)\n"
    )
    Path("bot.py").write_text(BOT + more, encoding="utf-8")
    server.reply = lambda _: Reply(status=500)
    found = examine("--limit", "1", "--adapter", *words)

    assert not found.ok[row]
    assert step in found.said[row]


def test_a_small_judge_is_tried_as_a_run_asks_it(examine: Any, server: OpenAIServer) -> None:
    """With the short prompts and the three judges of --judging small."""
    found = examine(*OWN, "--limit", "1", "--judge-model", "llama3.1:8b")

    assert (found.code, found.settings["judging"]) == (0, "small")
    assert found.settings["judges"].count(",") == 2


@pytest.mark.parametrize(
    ("status", "step"),
    [
        (404, "Check the path of --set url, and the names of the fields in --set request"),
        (422, "Check the path of --set url, and the names of the fields in --set request"),
        (429, "The bot takes fewer questions at the same time: try --set concurrency=4."),
        (500, "Ask the bot a question without this program, and mend what its own log says."),
    ],
)
def test_the_status_of_a_bot_says_what_to_mend(
    examine: Any, server: OpenAIServer, status: int, step: str
) -> None:
    """Of a wrong address or request, or too many questions, the bot's log says nothing."""
    server.reply = lambda _: Reply(status=status)
    found = examine("--limit", "1", *ENDPOINT, f"url={server.url}/chat/completions", "--offline")

    assert not found.ok["bot"]
    assert step in found.said["bot"]


def test_a_redirect_is_told_whole_without_a_look_into_the_bots_log(
    examine: Any, server: OpenAIServer
) -> None:
    """The message says what to do."""
    server.reply = lambda _: Reply(status=302, body=b"-", headers={"location": "/login"})
    found = examine("--limit", "1", *ENDPOINT, f"url={server.url}/chat/completions", "--offline")

    assert found.said["bot"].endswith("give the bot a key or token, or set url to it")


@pytest.mark.parametrize("status", [200, 401, 404, 422])
def test_a_chat_endpoint_is_mended_by_its_own_settings(
    examine: Any, server: OpenAIServer, status: int
) -> None:
    """It has neither `request` nor `headers`, and no place for passages to name."""
    bot = ("--limit", "1", "--adapter", "openai_chat", "--offline", "--set", f"url={server.url}")
    fine = examine(*bot, "--set", "model=bot")
    server.reply = lambda _: Reply(status=status, body=b"{}")
    found = examine(*bot, "--set", "model=bot")

    assert fine.said["bot"].endswith(", 0 passages")
    assert not found.ok["bot"]
    assert found.said["bot"].endswith(
        "Check --set url (up to /v1), --set model and the key, REHEARSAL_BOT_KEY."
    )


def test_a_place_for_passages_that_the_reply_does_not_have_is_not_ok(
    examine: Any, server: OpenAIServer
) -> None:
    """A mistyped key would leave groundedness without a grade; a template's place may be missing at times."""
    place = "no 'docs' in the reply, which has the keys "
    Path("mine.toml").write_text('passages = "docs"\n', encoding="utf-8")
    bot = ("--limit", "1", *ENDPOINT, f"url={server.url}/chat/completions", "--offline", "--set")
    typed = examine(*bot, "passages=docs")
    of_template = examine(*bot, "template=./mine.toml")

    assert not typed.ok["bot"]
    assert typed.said["bot"].startswith(f"http: {place}")
    assert of_template.ok["bot"]
    assert f"0 passages ({place}" in of_template.said["bot"]
