"""The adapter of JSON endpoints, over the wire."""

import json
from collections.abc import AsyncIterator, Callable
from typing import Any
from urllib.parse import quote

import pytest
from simulator.shelves.rag_adapters.http import connect

from simulator import InputError, Passage, Query
from tests.asking import HISTORY, answered, failure
from tests.servers import bot as bots
from tests.servers.bot import BotServer, ReceivedQuestion
from tests.servers.faults import Reply

LOGIN = b"<!doctype html><title>Login</title>"
QUERY = Query(text='料金は"いくら"？', history=HISTORY, session="angry/c1#0", case="c1", language="ja")


@pytest.fixture
async def server() -> AsyncIterator[BotServer]:
    """A bot that answers with one price and one source until a test tells it otherwise."""
    async with BotServer(lambda _: bots.bot_reply("990円です。", "料金表")) as running:
        yield running


async def asked(server: BotServer, **settings: Any) -> Any:
    """One question to a bot with these settings."""
    return await answered(connect(**{"url": server.url, "answer": "data.reply", **settings}), QUERY)


async def failed(server: BotServer, **settings: Any) -> tuple[str, str]:
    """The failure that it meets."""
    return await failure(connect(**{"url": server.url, "answer": "data.reply", **settings}), QUERY)


async def test_question_and_session_are_sent_and_the_answer_is_read(server: BotServer) -> None:
    """The default request is a message and a session; answer and sources stand at their paths."""
    answer = await asked(server)

    assert answer.text == "990円です。"
    assert answer.passages == ()
    with_sources = await asked(server, passages="data.sources")
    assert with_sources.passages == (Passage(id="faq-1", text="料金表", score=0.9),)
    assert server.requests[0].body == {"message": '料金は"いくら"？', "session": "angry/c1#0"}


async def test_a_request_of_ones_own(server: BotServer) -> None:
    """History is a JSON list, and everything keeps its type."""
    request = '{"q": "($language) $question", "history": "$history", "top_k": 3, "user": {"id": "$session"}}'
    await asked(server, request=request)

    assert server.requests[0].body == {
        "q": '(ja) 料金は"いくら"？',
        "history": [message.model_dump() for message in HISTORY],
        "top_k": 3,
        "user": {"id": "angry/c1#0"},
    }


async def test_environment_fills_headers_and_request(
    server: BotServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A key is written as ${NAME}; several headers stand in one line."""
    monkeypatch.setenv("BOT_TOKEN", "sk-very-secret\n")
    await asked(
        server,
        headers="Authorization: Bearer ${BOT_TOKEN}; X-Team: a; Cookie: x=1; y=2; X-Session: $session",
        request='{"message": "$question", "key": "${BOT_TOKEN}"}',
    )

    sent = server.requests[0]
    assert sent.headers["authorization"] == "Bearer sk-very-secret"
    assert sent.headers["x-team"] == "a"
    assert sent.headers["cookie"] == "x=1; y=2"
    assert sent.headers["x-session"] == "angry/c1#0"
    assert sent.body["key"] == "sk-very-secret"


async def test_a_bot_that_repeats_its_key_does_not_spread_it(
    server: BotServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What came from the environment is masked in answers, failures and the adapter's own repr."""
    monkeypatch.setenv("BOT_TOKEN", "sk-very-secret")
    server.behaviour = bots.echoes_headers
    settings: dict[str, Any] = {"headers": "Authorization: Bearer ${BOT_TOKEN}"}

    answer = await asked(server, **settings)
    server.behaviour = lambda _: Reply(status=500, body=b"bad key sk-very-secret")
    failing = await failed(server, **settings)
    server.behaviour = lambda _: {"sk-very-secret": 1}
    listed = await failed(server, **settings)
    server.behaviour = lambda _: bots.bot_reply("a", "sk-very-secret")
    cited = await asked(server, passages="data.sources", **settings)

    assert listed == ("malformed", "no 'data' in the reply, which has the keys ***: {\"***\": 1}")
    assert cited.passages[0].text == "***"
    assert json.loads(answer.text)["authorization"] == "Bearer ***"
    assert failing == ("error", "HTTP 500: bad key ***")
    assert "sk-very-secret" not in repr(connect(url=server.url, answer="a", **settings).request)


async def test_get_sends_the_fields_in_the_address() -> None:
    """Fields become the query of the address; the path of the address may have variables too."""
    seen: list[str] = []

    class Getting(BotServer):
        async def handle(self, request: Any) -> Any:
            seen.append(f"{request.method} {request.rel_url}")
            request = request.clone(method="POST", rel_url=self.path)
            return await super().handle(request)

    async with Getting() as server:
        kind, _ = await failed(
            server,
            url=server.url + "/$session?lang=$language",
            method="get",
            request='{"q": "$question", "n": 1}',
        )

    assert kind == "error"
    assert seen == [f"GET /chat/angry%2Fc1%230?lang=ja&q={quote(QUERY.text)}&n=1"]


@pytest.mark.parametrize(
    ("body", "path", "expected"),
    [
        ([{"text": "一つ目"}, {"text": "二つ目"}], "[*].text", "一つ目\n二つ目"),
        ({"n": 42}, "n", "42"),
        ("plain", "$", "plain"),
        (
            {"content": [{"type": "thinking", "thinking": "?"}, {"type": "text", "text": "550円"}]},
            "content",
            "550円",
        ),
    ],
)
async def test_answers_of_other_shapes(server: BotServer, body: Any, path: str, expected: str) -> None:
    """Several texts are joined by line breaks; a number is said as it is."""
    server.behaviour = lambda _: Reply(body=json.dumps(body).encode())

    assert (await asked(server, answer=path)).text == expected


@pytest.mark.parametrize(
    ("behaviour", "kind", "said"),
    [
        (
            lambda _: Reply(status=500, body=b'{"error": "internal"}'),
            "error",
            'HTTP 500: {"error": "internal"}',
        ),
        (lambda _: Reply(status=401, body=b"who are you"), "denied", "HTTP 401: who are you"),
        (lambda _: Reply(status=403), "denied", "HTTP 403"),
        (lambda _: Reply(status=404, body=b"x" * 5000), "error", "HTTP 404: " + "x" * 200),
        (lambda _: bots.bot_reply(""), "empty", "the bot's answer at data.reply is empty"),
        (lambda _: bots.bot_reply(None), "empty", "the bot's answer at data.reply is empty"),
        (
            lambda _: Reply(body="返品は30日以内です。".encode()),
            "malformed",
            "the reply is not JSON but application/json: 返品は30日以内です。",
        ),
        (lambda _: Reply(body=b""), "malformed", "the reply is not JSON but an empty body"),
        (lambda _: Reply(body=b"[" * 100_000), "malformed", "the reply is not JSON but application/json: ["),
        (
            lambda _: {"result": {"text": "a"}},
            "malformed",
            "no 'data' in the reply, which has the keys result",
        ),
        (
            lambda _: bots.bot_reply({"text": "a"}),
            "malformed",
            "the value at data.reply is not text: it has the keys text",
        ),
        (
            lambda _: Reply(status=308, headers={"location": "https://a:b@elsewhere/chat?key=1"}),
            "error",
            "HTTP 308: the bot has moved; set url to https://elsewhere/chat",
        ),
        (lambda _: Reply(status=308, headers={"location": "//["}), "error", "HTTP 308: the bot has moved"),
        (
            lambda _: Reply(body=b"data: {}", headers={"content-type": "text/event-stream"}),
            "malformed",
            "the reply is a stream: --set stream=sse reads it",
        ),
        (
            lambda _: Reply(body=b": hello\n\ndata: {}\n\n", headers={"content-type": "text/plain"}),
            "malformed",
            "the reply is a stream: --set stream=sse reads it",
        ),
        (
            lambda _: Reply(body=b'{"text": "a"}\n{"text": "b"}\n'),
            "malformed",
            "the reply is a stream: --set stream=lines reads it",
        ),
        (
            lambda _: Reply(body=b"Hello", headers={"content-type": "text/plain"}),
            "malformed",
            "the reply is not JSON but text/plain: Hello (--set answer=$ reads text)",
        ),
        (
            lambda _: {"error": {"message": "quota exceeded"}},
            "error",
            "the bot sent an error: quota exceeded",
        ),
        (lambda _: {"error": "no model", "status": 503}, "error", "HTTP 503: no model"),
        (lambda _: {"error": {"message": "slow down", "code": 429}}, "error", "HTTP 429: slow down"),
        (
            lambda _: bots.bot_reply("月額4,1") | {"candidates": [{"finishReason": "MAX_TOKENS"}]},
            "error",
            "the reply was cut off at its limit of tokens (finish_reason MAX_TOKENS)",
        ),
        (
            lambda _: (
                bots.bot_reply("") | {"steps": [{"stop_reason": "end_turn"}, {"stop_reason": "refusal"}]}
            ),
            "refused",
            "a filter of the service took the reply away (finish_reason refusal)",
        ),
    ],
)
async def test_failures_say_what_came_instead(
    server: BotServer, behaviour: Callable[[ReceivedQuestion], Any], kind: str, said: str
) -> None:
    """Each failure has its kind, and a message of one short line."""
    server.behaviour = behaviour
    found = await failed(server)

    assert found[0] == kind
    assert found[1].startswith(said)
    assert len(found[1]) < 300
    assert "\n" not in found[1]


async def test_a_passage_without_text_lists_its_keys_and_names_the_setting(server: BotServer) -> None:
    """Sources under another key are found out at the first answer, not in the grades."""
    server.behaviour = lambda _: {"reply": "a", "sources": [{"url": "x", "snippet": "y"}]}

    assert await failed(server, answer="reply", passages="sources") == (
        "malformed",
        "a passage has no text: expected one of text, page_content, content, passage, chunk, document;"
        " there is url, snippet; say which key holds it: --set passage_text=KEY",
    )
    _kind, said = await failed(server, answer="reply", passages="sources", passage_text="bdy")
    assert said.startswith("no 'bdy' in sources, which has the keys url, snippet; say which key holds it")
    passages = (await asked(server, answer="reply", passages="sources", passage_text="snippet")).passages
    assert [passage.text for passage in passages] == ["y"]


async def test_a_login_is_told_as_such_with_its_whole_address(server: BotServer) -> None:
    """A redirect names the place in short, mostly; the one of a login is no new address."""
    server.behaviour = lambda _: Reply(status=302, headers={"location": "/login?next=1"})
    _kind, said = await failed(server)

    where = server.url.replace("/chat", "/login")
    assert said == (
        f"HTTP 302: sent to {where}, mostly a login: give the bot a key or token, or set url to it"
    )


async def test_a_stream_is_not_the_answer_where_any_text_would_be(server: BotServer) -> None:
    """With answer=$ plain text is read, and the events of a stream are none."""
    stream = {"content-type": "text/event-stream"}
    server.behaviour = lambda _: Reply(body=b"data: a", headers=stream)

    assert (await failed(server, answer="$"))[0] == "malformed"


async def test_a_place_for_passages_that_no_reply_has_is_told(server: BotServer) -> None:
    """Then nobody knows what was retrieved; once a reply has it, one without it found nothing."""
    replies: list[Any] = [
        {"data": {"reply": "a", "docs": None}},
        {"data": {"reply": "b", "sources": []}},
        {"data": {"reply": "c"}},
    ]
    given = iter([*replies, replies[-1]])
    server.behaviour = lambda _: next(given)
    bot = connect(url=server.url, answer="data.reply", passages="data.sources[*]")
    answers = [await bot(FIRST) for _unused in replies]
    await bot.aclose()

    assert [answer.shows_passages for answer in answers] == [False, True, True]
    assert [str(answer.missing_passages) for answer in answers] == [
        "no 'sources' in data, which has the keys reply, docs",
        "",
        "",
    ]
    assert "no 'docs' in the reply" in str((await asked(server, passages="docs")).missing_passages)


@pytest.mark.parametrize("sources", [None, [], {}])
async def test_an_empty_place_for_passages_is_one(server: BotServer, sources: Any) -> None:
    """Nothing was retrieved, as deep as the path leads."""
    server.behaviour = lambda _: {"data": {"reply": "a", "sources": sources}}
    answer = await asked(server, passages="data.sources[0].text")

    assert (answer.shows_passages, answer.missing_passages) == (True, "")


FIRST = QUERY.model_copy(update={"history": ()})


async def test_cookies_live_as_long_as_a_conversation(server: BotServer) -> None:
    """A bot whose session is a cookie knows its customer again; another one, or a new talk, is new to it."""
    given = iter(["sid=aaa", "sid=bbb", "sid=ccc"])

    def behaviour(_question: ReceivedQuestion) -> Reply:
        said = bots.bot_reply("a")
        known = "sid=" in server.requests[-1].headers["cookie"]
        headers = {} if known else {"set-cookie": f"{next(given)}; Path=/; HttpOnly; Secure"}
        return Reply(body=json.dumps(said).encode(), headers=headers)

    server.behaviour = behaviour
    bot = connect(url=server.url, answer="data.reply", headers="Cookie: site=1")
    for query in (
        FIRST,
        QUERY,
        FIRST.model_copy(update={"session": "calm/c1#0"}),
        FIRST,
        QUERY,
    ):
        await bot(query)
    await bot.aclose()

    sent = [request.headers["cookie"] for request in server.requests]
    assert sent == ["site=1", "sid=aaa; site=1", "site=1", "site=1", "sid=ccc; site=1"]


async def test_a_cookie_that_the_bot_repeats_is_masked(server: BotServer) -> None:
    """Who holds it could go on as this customer."""
    cookie = "s3cr3t-9f8e7d6c5b4a3f2e"
    server.behaviour = lambda _: Reply(
        body=json.dumps(bots.bot_reply(f"Your session is {cookie}")).encode(),
        headers={"set-cookie": f"sid={cookie}; Path=/"},
    )

    assert (await asked(server)).text == "Your session is ***"


@pytest.mark.parametrize(
    ("request_", "sent"),
    [
        (
            '{"message": "$question"}',
            "message=%E6%96%99%E9%87%91%E3%81%AF%22%E3%81%84%E3%81%8F%E3%82%89%22%EF%BC%9F",
        ),
        ('{"n": 3, "tags": ["a b"], "q": "$language&x=1"}', "n=3&tags=%5B%22a+b%22%5D&q=ja%26x%3D1"),
    ],
)
async def test_a_form_is_sent_as_one(server: BotServer, request_: str, sent: str) -> None:
    """By its Content-Type; lists and numbers are JSON within their field."""
    request = request_ if "$question" in request_ else request_[:-1] + ', "m": "$question"}'
    await asked(server, request=request, headers="content-type: application/x-www-form-urlencoded")

    assert server.requests[0].body.startswith(sent)
    assert server.requests[0].headers["content-type"] == "application/x-www-form-urlencoded"


async def test_a_plain_text_is_read(server: BotServer) -> None:
    """answer=$ takes a text for the answer, but no JSON."""
    for body, said in ((b"990 yen", "990 yen"), (b"4180", "4180"), (b'{"a": 1}', None)):
        server.behaviour = lambda _, body=body: Reply(body=body, headers={"content-type": "text/plain"})  # type: ignore[misc]
        if said is None:
            assert (await failed(server, answer="$"))[0] == "malformed"
        else:
            assert (await asked(server, answer="$")).text == said


@pytest.mark.parametrize(
    ("content_type", "body"),
    [
        ("application/json; charset=Shift_JIS", '{"reply": "①月額990円"}'.encode("cp932")),
        ("application/json; charset=Windows-31J", '{"reply": "①月額990円"}'.encode("cp932")),
        ("application/json", '{"reply": "①月額990円"}'.encode("cp932")),
        ("application/json", '{"reply": "①月額990円"}'.encode("utf-16")),
        ("application/json; charset=ISO-8859-1", '{"reply": "①月額990円"}'.encode()),
    ],
)
async def test_a_body_is_read_in_its_charset_or_in_the_one_that_it_can_be(
    server: BotServer, content_type: str, body: bytes
) -> None:
    """As servers of Japan write it, with signs of Windows, and as others call it whatever it is."""
    server.behaviour = lambda _: Reply(body=body, headers={"content-type": content_type})

    assert (await asked(server, answer="reply")).text == "①月額990円"


async def test_a_page_is_no_plain_text(server: BotServer) -> None:
    """A login in place of the bot is told as such, whatever the path, and after an answer as a failed one."""
    bot = connect(url=server.url, answer="$")
    server.behaviour = lambda _: Reply(body="990円です。".encode(), headers={"content-type": "text/plain"})
    await bot(QUERY)
    server.behaviour = lambda _: Reply(body=LOGIN, headers={"content-type": "text/html"})

    assert await failure(bot, QUERY) == (
        "malformed",
        f"the reply is not JSON but text/html: {LOGIN.decode()}",
    )


async def test_json_within_a_text(server: BotServer) -> None:
    """A gateway wraps the bot's reply as text; the path goes on into it, and ends where there is none."""
    inner = json.dumps({"reply": "990円", "sources": [{"id": "a", "text": "料金表"}]})
    server.behaviour = lambda _: Reply(body=json.dumps({"statusCode": 200, "body": inner}).encode())

    answer = await asked(server, answer="body.reply", passages="body.sources")
    assert (answer.text, answer.passages) == ("990円", (Passage(id="a", text="料金表"),))
    kind, said = await failed(server, answer="body.nothing")
    assert kind == "malformed"
    assert said.startswith("no 'nothing' in body, which has the keys reply, sources: {")
    server.behaviour = lambda _: Reply(body=json.dumps({"body": "{reply"}).encode())
    assert await failed(server, answer="body.reply") == (
        "malformed",
        'no \'reply\' in body, which is a text: {"body": "{reply"}',
    )


STREAM = {"stream": "sse"}


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"url": "bot.example/chat"}, "must begin with http"),
        ({"url": "http://bot.example:99999"}, "url: Port out of range"),
        ({"request": '{"message": ""}'}, r"no \$question"),
        ({"request": "{message}"}, "request is not JSON"),
        ({"request": '{"m": "$question $sesion"}'}, r"\$sesion is not set in the environment"),
        ({"headers": "Authorization: Bearer ${NO_SUCH_TOKEN}"}, r"\$NO_SUCH_TOKEN is not set"),
        ({"headers": "X-Asked: $question"}, r"headers may use \$session and \$language, not \$question"),
        ({"headers": "X-Break: ${BROKEN}"}, "line breaks or control codes"),
        ({"headers": "Authorization: Bearer ${BLANK}"}, r"\$BLANK is not set"),
        ({"url": "https://<your-bot>/chat"}, "must begin with http"),
        ({"method": "SAY"}, "method=SAY: must be one of POST, GET"),
        ({"method": "GET", "request": '["$question"]'}, "must be an object with method=GET"),
        ({"answer": "a["}, "answer=a"),
        ({**STREAM, "stream": "yes"}, "stream=yes: must be one of sse, lines"),
        ({**STREAM, "stream": "", "until": "event=end"}, "until also needs stream"),
        ({**STREAM, "restart": "a[=end"}, "restart=a"),
        ({"headers": "Content-Type: text/csv"}, "headers: text/csv cannot be sent"),
        ({"headers": "Bearer token"}, "headers: write 'Name: value; Other-Name: value'"),
        ({"headers": "two words: x"}, "headers: write 'Name: value; Other-Name: value'"),
        (
            {"headers": "Content-Type: application/x-www-form-urlencoded", "request": '["$question"]'},
            "must be an object for a form",
        ),
    ],
)
def test_slips_are_found_before_the_start(
    settings: dict[str, Any], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever the user can mend is said by `connect`."""
    monkeypatch.setenv("BROKEN", "a\nb")
    monkeypatch.setenv("BLANK", " ")
    with pytest.raises(InputError, match=said):
        connect(**{"url": "http://127.0.0.1/chat", "answer": "reply", **settings})


@pytest.mark.parametrize(
    ("reply", "text", "seen"),
    [
        ({"reply": "はい", "calls": [{"name": "refund", "arguments": {"order": 1}}]}, "はい", ("refund",)),
        ({"reply": "はい", "calls": []}, "はい", ()),
        ({"reply": "はい"}, "はい", ()),
        ({"reply": "", "calls": [{"name": "refund"}]}, "", ("refund",)),
        ({"calls": {"tool": "refund", "tool_input": "1"}}, "", ("refund",)),
    ],
)
async def test_the_tools_at_a_path(
    server: BotServer, reply: dict[str, Any], text: str, seen: tuple[str, ...]
) -> None:
    """A bot that is said to show its tools called none where the path leads nowhere."""
    server.behaviour = lambda _: {"data": reply}
    answer = await asked(server, tools="data.calls")

    assert (answer.text, tuple(call.name for call in answer.tools)) == (text, seen)


async def test_without_a_path_nobody_knows_of_tools(server: BotServer) -> None:
    """Nothing is shown that the settings do not name."""
    assert (await asked(server)).tools is None


async def test_a_secret_in_a_tool_call_is_masked(server: BotServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """A bot may hand the key of the request on to its tools."""
    monkeypatch.setenv("BOT_TOKEN", "sk-very-secret")
    call = {"name": "refund", "arguments": {"key": "sk-very-secret"}, "result": "by sk-very-secret"}
    server.behaviour = lambda _: {"data": {"reply": "a", "calls": [call]}}
    answer = await asked(server, tools="data.calls", headers="Authorization: Bearer ${BOT_TOKEN}")

    assert "very-secret" not in answer.model_dump_json()
    assert [call.name for call in answer.tools] == ["refund"]
