"""How a model is reached: headers and fields of one's own, proxies, certificates, and what is missing."""

import asyncio
import html
import ssl
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from openpyxl import load_workbook
from pydantic import SecretStr

from simulator.cli.terminal import ExitCode
from simulator.core.errors import AccessDenied, InputError, ModelFailure
from simulator.core.roles import Endpoint
from simulator.core.types import Role
from simulator.models import patience
from simulator.models.cache import ResponseCache
from simulator.models.client import Model
from simulator.models.connections import Connections
from simulator.models.network import CERTIFICATES, blocked_by, client_words, proxy_for
from simulator.models.pricing import Ledger
from tests.commands import Command
from tests.scripted_models import ASKED, GOOD, KEY, connected, model_at
from tests.servers.faults import Reply
from tests.servers.malformed import RawServer, ok
from tests.servers.openai import OpenAIServer, error
from tests.servers.tls import TlsModelServer

HTTP, HTTPS = "http://models.example/v1", "https://models.example/v1"


def model_with(
    server: OpenAIServer | str, made: Connections, *, role: Role = "judge", key: str = KEY, **more: Any
) -> Model:
    """The model of a role with these headers and fields."""
    url = server if isinstance(server, str) else server.url
    endpoint = Endpoint(role=role, model="fake-chat", url=url, key=SecretStr(key), **more)
    return Model(endpoint, made, Ledger({}), temperature=0.2)


async def test_headers_and_fields_go_with_every_request() -> None:
    """Fields go before the program's own, and one that is null is left out; of embeddings, too."""
    headers = {"Ocp-Apim-Subscription-Key": SecretStr("apim-4711"), "X-Team": SecretStr("desk")}
    extra = {"chat_template_kwargs": {"enable_thinking": False}, "temperature": None, "seed": 7}
    async with OpenAIServer(lambda _: GOOD) as server, connected() as made:
        model = model_with(server, made, headers=headers, extra=extra)
        await model.say(ASKED, seed=1)
        await model_with(server, made, role="embed", headers=headers, extra={"dimensions": 64}).embed(["a"])

    chat, embedding = server.requests
    for request in (chat, embedding):
        assert request.headers["ocp-apim-subscription-key"] == "apim-4711"
        assert request.headers["x-team"] == "desk"
        assert request.headers["authorization"] == f"Bearer {KEY}"
    assert chat.body["chat_template_kwargs"] == {"enable_thinking": False}
    assert (chat.body["seed"], "temperature" in chat.body) == (7, False)
    assert embedding.body["dimensions"] == 64


async def test_a_header_of_ones_own_takes_the_place_of_the_usual_one() -> None:
    """Without a key nothing is sent as one; an Authorization that is given is the only one."""
    async with OpenAIServer(lambda _: GOOD) as server, connected() as made:
        await model_with(server, made, key="none", headers={"api-key": SecretStr("k-4711")}).say(ASKED)
        own = {"authorization": SecretStr("Basic bWU6cHc=")}
        await model_with(server, made, headers=own).say(ASKED)

    first, second = (request.headers for request in server.requests)
    assert ("authorization" in first, first["api-key"]) == (False, "k-4711")
    assert second["authorization"] == "Basic bWU6cHc="


async def test_a_form_of_ones_own_that_is_refused_is_asked_for_nine_times() -> None:
    """It is the user's, so that nothing can be left out; other calls learn nothing else."""
    refusal = Reply(status=400, body=b'{"error": {"message": "response_format is not supported"}}')
    async with OpenAIServer(lambda _: refusal) as server, connected() as made:
        with pytest.raises(ModelFailure, match="the endpoint refuses every form of the request"):
            await model_with(server, made, extra={"response_format": {"type": "json_object"}}).say(ASKED)

    assert server.counts["chat"] == 9


async def test_what_a_model_refuses_says_nothing_of_its_address() -> None:
    """Only an answer of something else does, where the address has no /v1."""
    filtered = b'{"choices": [{"finish_reason": "content_filter"}]}'
    for body, is_of_the_address in ((filtered, False), (b'{"choices": [{}], "id": "x"}', True)):
        async with RawServer(ok(body)) as server, connected() as made:
            with pytest.raises(ModelFailure) as met:
                await model_with(server.url.removesuffix("/v1"), made).say(ASKED)
        assert ("has no /v1" in str(met.value)) is is_of_the_address


@pytest.mark.parametrize("code", [2, 18, 19, 20, 21, 27, 1, 3, 10, 17, 22, 26, 28, 62])
def test_a_certificate_that_is_wrong_is_told_without_a_file_to_set(code: int) -> None:
    """Another authority would not make it valid, but for one that is only not known here."""
    expired = ssl.SSLCertVerificationError(1, "certificate verify failed")
    expired.reason = "CERTIFICATE_VERIFY_FAILED"
    expired.verify_code, expired.verify_message = code, "certificate has expired."

    said = str(blocked_by(expired, None))
    if code in {2, 18, 19, 20, 21, 27}:
        assert said.startswith("its certificate is not trusted (certificate has expired): set SSL_CERT_FILE")
    else:
        assert said == "its certificate is not valid: certificate has expired"
    assert blocked_by(ValueError("no error of a connection"), None) is None


@pytest.mark.parametrize("said", ["`model` is required", "'messages' must be a list", "wrong_field is odd"])
async def test_a_field_of_the_programs_own_is_no_users_setting(said: str) -> None:
    """Nor is one that nothing asks for."""
    async with OpenAIServer(lambda _: error(400, said)) as server, connected() as made:
        with pytest.raises(ModelFailure, match=said) as met:
            await model_with(server, made).say(ASKED)

    assert "EXTRA" not in str(met.value)


async def test_an_azure_deployment_is_asked_as_it_wants_to_be() -> None:
    """With its key as api-key alone, behind a path and a version of its own."""
    asked: list[str] = []

    class Azure(OpenAIServer):
        path = "/openai/deployments/gpt-4o"

        async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
            asked.append(request.path_qs)
            return await super().handle(request)

    async with Azure(lambda _: GOOD) as server, connected() as made:
        await model_with(f"{server.url}?api-version=2024-10-21", made).say(ASKED)

    assert asked == [f"{Azure.path}/chat/completions?api-version=2024-10-21"]
    (request,) = server.requests
    assert (request.headers["api-key"], "authorization" in request.headers) == (KEY, False)


async def test_a_reply_is_kept_by_what_changes_it(tmp_path: Path) -> None:
    """A field and a header that may choose the model are part of its place in the cache; a key is not."""
    cache = ResponseCache("on", tmp_path / "cache.sqlite")
    async with OpenAIServer(lambda _: GOOD) as server, connected(cache=cache) as made:

        async def calls(**more: Any) -> int:
            before = server.counts["chat"]
            await model_with(server, made, **more).say(ASKED)
            return server.counts["chat"] - before

        route = {"X-Route": SecretStr("blue")}
        assert await calls() == 1
        assert await calls(extra={"reasoning_effort": "high"}) == 1
        assert await calls(extra={"reasoning_effort": "low"}) == 1
        assert await calls(headers=route) == 1
        assert await calls(headers=route | {"api-key": SecretStr("one-4711")}) == 1
        assert await calls(headers=route | {"api-key": SecretStr("two-4711")}) == 0
        assert await calls(extra={"reasoning_effort": "low"}) == 0


@pytest.mark.parametrize(
    ("refusal", "extra", "told"),
    [
        ("parameter.enable_thinking must be set to false for non-streaming calls", {}, "enable_thinking"),
        ("Missing required parameter: 'reasoning_effort'.", {}, "reasoning_effort"),
        ("`user_id` is required", {}, "user_id"),
        ("Unrecognized request argument supplied: top_k", {"top_k": 3}, "top_k"),
        ("thinking: expected an object", {"thinking": True}, "thinking"),
    ],
)
async def test_a_field_that_is_wanted_or_refused_is_told_with_its_setting(
    refusal: str, extra: dict[str, Any], told: str
) -> None:
    """Of the role that was refused."""
    async with OpenAIServer(lambda _: error(400, refusal)) as server, connected() as made:
        with pytest.raises(ModelFailure) as met:
            await model_with(server, made, role="user", extra=extra).say(ASKED)

    assert f"Request fields are set in REHEARSAL_USER_EXTRA='{{\"{told}\": ...}}'." in str(met.value)


@pytest.mark.parametrize("status", [401, 403])
async def test_a_header_that_is_wanted_is_told_with_its_setting(status: int) -> None:
    """Azure's gateway names its own key; and what it repeats of ours is not shown."""
    wanted = error(status, "Access denied due to missing subscription key apim-secret-4711.")
    async with OpenAIServer(lambda _: wanted) as server, connected() as made:
        headers = {"X-Key": SecretStr("apim-secret-4711")}
        with pytest.raises(AccessDenied, match=r"set in REHEARSAL_JUDGE_HEADERS='api-key: \$\{") as met:
            await model_with(server, made, headers=headers).say(ASKED)

    assert "apim-secret" not in str(met.value)
    async with (
        OpenAIServer(lambda _: error(404, "no model by the header X-Team")) as server,
        connected() as made,
    ):
        with pytest.raises(AccessDenied, match="X-Team") as met:
            await model_with(server, made).say(ASKED)
    assert "HEADERS" not in str(met.value)


@pytest.mark.parametrize("status", [404, 405])
async def test_an_address_without_its_version_is_named(status: int) -> None:
    """It ends the run: every call leads nowhere. An address that has one is not blamed for it."""
    async with (
        OpenAIServer(lambda _: Reply(status=status, text="page not found")) as server,
        connected() as made,
    ):
        with pytest.raises(AccessDenied, match=f"has no /v1; try {server.url}. Check REHEARSAL_JUDGE_KEY"):
            await model_at(server.url.removesuffix("/v1"), made).say(ASKED)
        with pytest.raises(AccessDenied) as met:
            await model_at(server, made).say(ASKED)

    assert "has no /v1" not in str(met.value)
    assert server.counts["chat"] == 2


@pytest.mark.parametrize(
    "page", [b'{"error": "Unexpected endpoint or method."}', b"<html>Log in</html>", b"Ollama is running"]
)
async def test_a_server_that_answers_every_address_does_not_hide_that_one_lacks_its_version(
    page: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With status 200, as some programs do."""
    monkeypatch.setattr(patience, "FIRST", 0.0)
    async with OpenAIServer(lambda _: Reply(body=page)) as server, connected() as made:
        model = model_at(server.url.removesuffix("/v1"), made)
        failures = await asyncio.gather(*(model.say(ASKED) for _ in range(8)), return_exceptions=True)

    assert all(isinstance(failure, AccessDenied) for failure in failures)
    assert f"The address has no /v1; try {server.url}" in str(failures[0])


@pytest.mark.parametrize(
    "refusal",
    [
        error(404, "Not found"), error(501, "This server has none."),
        error(403, "Project does not have access to model text-embedding-3-small"),
        error(400, "The embeddings operation does not work with the specified model, gpt-4o."),
        error(500, "This server does not support embeddings. Start it with `--embeddings`"),
        Reply(body=b'{"error": "embeddings are not enabled"}'),
    ],
)  # fmt: skip
async def test_an_endpoint_without_embeddings_is_asked_once(refusal: Reply) -> None:
    """However many want some; the failure ends nothing but their call, and says what to do."""
    async with OpenAIServer(lambda _: GOOD, embed=lambda _: refusal) as server, connected() as made:
        model = model_at(server, made, role="embed")
        for text in ("a", "b" * 70_000, "c"):
            with pytest.raises(ModelFailure, match="use --embed-model lexical") as met:
                await model.embed([text])
            assert not isinstance(met.value, AccessDenied)
            assert met.value.failure.kind == "error"
        await model_at(server, made).say(ASKED)

    assert (server.counts["embeddings"], server.counts["chat"]) == (1, 1)


async def test_calls_at_the_same_time_wait_for_the_first() -> None:
    """Which answers for all of them."""
    none, many = error(404, "Not found"), 6
    async with OpenAIServer(embed=lambda _: none) as server, connected() as made:
        model = model_at(server, made, role="embed")
        calls = (model.embed([str(n) * 40_000]) for n in range(many))
        failures = await asyncio.gather(*calls, return_exceptions=True)

    assert ["--embed-model" in str(each) for each in failures] == [True] * many
    assert server.counts["embeddings"] == 1


@pytest.mark.parametrize(
    ("judge", "asked"), [("cosine", ()), ("near", ("--judges", "turn,conversation,near.py:near"))]
)
def test_a_run_without_embeddings_loses_nothing_but_the_judge_that_needs_them(
    judge: str, asked: tuple[str, ...], command: Command, server: OpenAIServer
) -> None:
    """All else is graded, every turn is held, and the option that helps is shown; with it nothing is lost."""
    Path("near.py").write_text(
        "async def near(context, embed):\n    return len(await embed([context.turn.answer.text]))\n",
        encoding="utf-8",
    )
    server.embed = lambda _: error(404, "Not found")
    Path("bot.py").write_text(
        "def answer(question):\n    return '14日以内なら返品できます。'\n", encoding="utf-8"
    )
    Path("cases.csv").write_text(
        "question,reference\n返品できますか,14日以内なら返品できます。\n", encoding="utf-8"
    )
    run = ("--adapter", "bot.py:answer", "--cases", "cases.csv", "--persona", "calm", "--turns", "2", *asked)
    done = command(*run)
    failed = {score.judge for score in done.run.scores if score.state == "failed"}
    graded = {score.judge for score in done.run.scores if score.state == "scored"}

    assert (done.code, failed) == (ExitCode.INCOMPLETE, {judge})
    assert {"turn", "conversation"} <= graded
    assert len(done.run.conversations[0].turns) == 2
    assert f"grade {done.run.run.id} --embed-model lexical" in "".join(done.out.split("\n"))
    assert server.counts["embeddings"] == 1
    assert command(*run, "--embed-model", "lexical").code == ExitCode.DONE


ASLEEP = error(400, "The deployment is asleep; wake it first.")


@pytest.mark.parametrize(
    ("reply", "said", "played"),
    [
        (ASLEEP, "The deployment is asleep; wake it first.", "lexical"),
        (ASLEEP, "The deployment is asleep; wake it first.", "user-model"),
        (
            Reply(status=500, body=b"<html><title>GPU 3 fell off the bus</title>"),
            "GPU 3 fell off the bus",
            "lexical",
        ),
        (Reply(body=b'{"choices": []}'), "the reply is not a chat completion", "lexical"),
        (error(401, "Wrong key."), "Wrong key. Check REHEARSAL_JUDGE_KEY", "lexical"),
    ],
)
def test_what_every_grade_failed_for_stands_first(
    command: Command, server: OpenAIServer, reply: Reply, said: str, played: str
) -> None:
    """In the endpoint's words, the judge's or the customer's, in the first lines of every view, and once."""
    server.reply = lambda _: reply
    judges = "turn,fluency" if played == "lexical" else "chrf"
    done = command(
        "--language", "en", "--persona", "calm", "--limit", "1", "--turns", "2", "--judges", judges,
        "--user-model", played, "--demo-model", "lexical", "--patience", "2", "--to", "xlsx,markdown",
    )  # fmt: skip
    folder = Path("runs", done.run.run.id)
    before = html.unescape(folder.joinpath("report.html").read_text(encoding="utf-8"))
    summary, *_ = load_workbook(folder / "report.xlsx").worksheets
    cells = " ".join(str(cell.value) for row in summary for cell in row)
    markdown = folder.joinpath("report.md").read_text(encoding="utf-8").replace("\\", "")

    assert done.code != ExitCode.DONE
    assert said in " ".join(" ".join(done.out.splitlines()[:9]).split())
    page = before[before.index('<section class="before"') : before.index('id="talks"')]
    assert [text.count(said) for text in (page, " ".join(done.out.split()), markdown, cells)] == [1] * 4


async def test_one_text_that_embeddings_refuse_says_nothing_of_others() -> None:
    """A text that is too long fails alone."""

    def embed(body: dict[str, Any]) -> Any:
        texts = [body["input"]] if isinstance(body["input"], str) else body["input"]
        return error(400, "input is too long") if max(map(len, texts)) > 9 else [[1.0]]

    async with OpenAIServer(embed=embed) as server, connected() as made:
        model = model_at(server, made, role="embed")
        with pytest.raises(ModelFailure) as met:
            await model.embed(["x" * 10])
        assert await model.embed(["x"]) == [[1.0]]

    assert "--embed-model" not in str(met.value)


@pytest.mark.parametrize("status", [401, 402])
async def test_a_refused_key_of_embeddings_ends_the_run_as_any_other(status: int) -> None:
    """It is the same key, or a wrong one."""
    async with OpenAIServer(embed=lambda _: Reply(status=status)) as server, connected() as made:
        with pytest.raises(AccessDenied, match="Check REHEARSAL_EMBED_KEY"):
            await model_at(server, made, role="embed").embed(["a"])


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:8000", "127.0.0.1:11434", "[::1]:8000"])
def test_this_machine_is_reached_without_a_proxy(host: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the company's variables say; another host goes through it."""
    for name in ("http_proxy", "HTTPS_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "proxy.example:3128")

    assert proxy_for(f"http://{host}/v1") is proxy_for(f"https://{host}/v1") is None
    assert proxy_for("http://localhost.example/v1") == "http://proxy.example:3128"


async def test_a_model_on_this_machine_is_asked_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    """Behind a proxy where nobody listens."""
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    async with OpenAIServer(lambda _: GOOD) as server, connected() as made:
        assert (await model_at(server, made).say(ASKED))[0] == GOOD


@pytest.mark.parametrize(
    ("answer", "url", "kind", "told"),
    [
        (ok(b"no", status=b"503 Busy"), HTTP, ModelFailure, r"503: .*, through the proxy "),
        (ok(b"", status=b"407 Login"), HTTP, AccessDenied, r"requires a login \(407\)"),
        (ok(b"", status=b"407 Login"), HTTPS, AccessDenied, r"requires a login \(407\)"),
        (ok(b"", status=b"403 No"), HTTPS, AccessDenied, r"refused the connection \(403"),
        (ok(b"", status=b"502 No"), HTTPS, ModelFailure, r"through the proxy "),
        (b"", HTTP, ModelFailure, r"no connection .*through the proxy "),
    ],
)  # fmt: skip
async def test_what_a_proxy_does_names_the_proxy(
    answer: bytes, url: str, kind: type[ModelFailure], told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without its login; a refusal ends the run, and is not blamed on the key."""
    async with RawServer(answer) as proxy, connected() as made:
        shown = proxy.url.removesuffix("/v1")
        for name in ("HTTP_PROXY", "HTTPS_PROXY"):
            monkeypatch.setenv(name, shown.replace("//", "//me:hunter2-4711@"))
        made.attempts = 1
        with pytest.raises(ModelFailure, match=told) as met:
            await model_at(url, made).say(ASKED)

    assert type(met.value) is kind
    assert shown in str(met.value)
    assert not any(each in str(met.value) for each in ("hunter2", "Check REHEARSAL"))


async def test_a_certificate_of_ones_own_is_trusted_when_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By a variable of this program's or of others; else the run ends at the first try, and it is named."""
    for name in CERTIFICATES:
        monkeypatch.delenv(name, raising=False)
    async with TlsModelServer(tmp_path) as server:
        async with connected() as made:
            with pytest.raises(AccessDenied) as met:
                await model_at(server, made).say(ASKED)
        for name in ("REQUESTS_CA_BUNDLE", "SSL_CERT_FILE"):
            with monkeypatch.context() as environment:
                environment.setenv(name, str(server.ca))
                async with connected() as made:
                    await model_at(server, made).say(ASKED)

    assert str(met.value) == (
        f"judge model fake-chat at {server.url}: its certificate is not trusted (self-signed certificate):"
        " set SSL_CERT_FILE to the certificate (PEM) of its issuer, usually your company"
    )
    assert server.counts["chat"] == 2


@pytest.mark.parametrize(
    ("cause", "words"),
    [("", "OSError"), ("no\n route", "no route"), ("x" * 200, "x" * 200), ("x" * 201, "x" * 200 + " …"),
     ("cause " * 50, "cause " * 33 + "…")],
)  # fmt: skip
def test_what_a_client_says_is_cut_between_words(cause: str, words: str) -> None:
    """After 200 characters; where it says nothing its kind has to do."""
    assert client_words(OSError(cause)) == words


async def test_https_where_http_is_spoken_is_told() -> None:
    """At the first try."""
    async with OpenAIServer() as server, connected() as made:
        with pytest.raises(AccessDenied, match=r"does not speak HTTPS; should it be http://\?"):
            await model_at(server.url.replace("http:", "https:"), made).say(ASKED)


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("ALL_PROXY", lambda _: "socks5://me:hunter2@127.0.0.1:1080", "ALL_PROXY=socks5://127.0.0.1:1080: "),
        ("https_proxy", lambda _: "socks5h://gate:1080", "https_proxy=socks5h://gate:1080: only HTTP"),
        ("SSL_CERT_FILE", lambda folder: f"{folder}/none.pem", "SSL_CERT_FILE=.*none.pem: no such file"),
        ("SSL_CERT_FILE", lambda folder: folder / "text", "SSL_CERT_FILE=.*: no certificates in it"),
        ("SSL_CERT_DIR", lambda folder: f"{folder}/none", "SSL_CERT_DIR=.*none: no such"),
        ("CURL_CA_BUNDLE", lambda folder: folder / "text", "CURL_CA_BUNDLE=.*: no certificates in it"),
        ("HTTPS_PROXY", lambda _: "http://proxy:port", "HTTPS_PROXY=http://proxy:port: only HTTP proxies"),
    ],
)  # fmt: skip
async def test_an_environment_that_cannot_work_is_told_before_the_first_call(
    name: str, value: Callable[[Path], Any], told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the variable as it is written, without a login; for plain HTTP certificates do not matter."""
    (tmp_path / "text").write_text("not a certificate", encoding="utf-8")
    monkeypatch.setenv(name, str(value(tmp_path)))
    async with connected() as made:
        with pytest.raises(InputError, match=told) as met:
            model_at(HTTPS, made)
        model_at("http://localhost:8000/v1", made)

    assert "hunter2" not in str(met.value)
