"""Which model plays which role, where it lives, and which key goes there."""

from typing import Any

import pytest

from simulator.core.errors import InputError
from simulator.core.roles import (
    OPENAI,
    Endpoint,
    endpoints,
    further_judges,
    is_small_model,
    with_judging_for,
)
from simulator.core.secrets import known_secrets, used_secrets
from simulator.core.settings import DEFAULT_MODELS, SMALL_JUDGES, Settings

LOCAL, OTHER = "http://localhost:11434/v1", "https://models.example.com/v1"


def of(environ: dict[str, str], **settings: Any) -> dict[str, tuple[str, str, str] | None]:
    """Model, address and key of each role."""
    found = endpoints(Settings(**settings), environ)
    return {role: (e.model, e.url, e.key.get_secret_value()) if e else None for role, e in found.items()}


def test_without_key_and_address_stand_ins_play_every_role() -> None:
    """Also with only a blank key; and with a key, or with models named, when told to stay offline."""
    assert set(of({}).values()) == set(of({"OPENAI_API_KEY": " "}).values()) == {None}
    assert set(of({"REHEARSAL_JUDGE_MODEL": "m"}, user_model="m", offline=True).values()) == {None}
    assert set(of({"OPENAI_API_KEY": "k"}, offline=True).values()) == {None}


def test_one_key_is_enough() -> None:
    """OPENAI_API_KEY alone: every role at OpenAI, with its default model."""
    found = of({"OPENAI_API_KEY": "k"})

    assert found == {role: (model, OPENAI, "k") for role, model in DEFAULT_MODELS.items()}


def test_a_role_may_be_left_to_its_stand_in() -> None:
    """`lexical` as a model's name, by flag or environment."""
    found = of({"OPENAI_API_KEY": "k", "REHEARSAL_DEMO_MODEL": "lexical"}, embed_model="lexical")

    assert found["embed"] is found["demo"] is None
    assert found["judge"] is not None


def test_a_role_without_an_address_uses_the_judges() -> None:
    """The judge's address and key serve the others; one's own goes before."""
    found = of({
        "REHEARSAL_JUDGE_URL": f"{OTHER}/", "REHEARSAL_JUDGE_KEY": "judge's", "REHEARSAL_USER_URL": LOCAL,
        "REHEARSAL_USER_MODEL": "gemma", "REHEARSAL_EMBED_KEY": "embed's",
    })  # fmt: skip

    assert found == {
        "user": ("gemma", LOCAL, "none"),
        "judge": (DEFAULT_MODELS["judge"], OTHER, "judge's"),
        "embed": (DEFAULT_MODELS["embed"], OTHER, "embed's"),
        "demo": (DEFAULT_MODELS["demo"], OTHER, "judge's"),
    }


def test_the_judges_model_plays_the_others_at_an_address_of_ones_own() -> None:
    """OpenAI's names mean nothing at another address; customer and demo bot take the model that is named."""
    found = of({"OPENAI_BASE_URL": LOCAL}, judge_model="qwen")
    assert [e and e[0] for e in found.values()] == ["qwen", "qwen", DEFAULT_MODELS["embed"], "qwen"]

    at_openai = of({"OPENAI_API_KEY": "k"}, judge_model="gpt-large")
    assert at_openai["user"] == (DEFAULT_MODELS["user"], OPENAI, "k")
    stood_in = of({"OPENAI_BASE_URL": LOCAL}, judge_model="lexical")
    assert stood_in["user"] == (DEFAULT_MODELS["user"], LOCAL, "none")
    named = of({"OPENAI_BASE_URL": LOCAL}, judge_model="my-lexical-1")
    assert named["user"] == ("my-lexical-1", LOCAL, "none")


def test_a_provider_before_the_colon_is_reached_through_langchain() -> None:
    """Its models need no address; customer and demo bot take the judge's."""
    found = endpoints(Settings(judge_model="anthropic:claude"), {"REHEARSAL_JUDGE_KEY": "k"})
    here = {"REHEARSAL_USER_URL": LOCAL}
    for role in ("judge", "user", "demo"):
        endpoint = found[role]
        assert endpoint
        assert (endpoint.model, endpoint.address) == ("anthropic:claude", "its provider")
        assert endpoint.of_provider
        assert endpoint.key.get_secret_value() == "k"

    assert of(here, judge_model="anthropic:claude")["user"] == (DEFAULT_MODELS["user"], LOCAL, "none")
    assert of({"OPENAI_BASE_URL": LOCAL}, judge_model="llama3:8b")["judge"] == ("llama3:8b", LOCAL, "none")
    assert of({}, offline=True, judge_model="anthropic:claude")["judge"] is None


@pytest.mark.parametrize(
    ("environ", "key"),
    [
        ({"REHEARSAL_JUDGE_URL": LOCAL, "OPENAI_API_KEY": "openai's"}, "none"),
        ({"REHEARSAL_JUDGE_URL": LOCAL, "REHEARSAL_JUDGE_KEY": "own", "OPENAI_API_KEY": "openai's"}, "own"),
        ({"REHEARSAL_JUDGE_URL": OPENAI, "OPENAI_API_KEY": "openai's"}, "openai's"),
        ({"REHEARSAL_JUDGE_URL": LOCAL, "OPENAI_BASE_URL": LOCAL, "OPENAI_API_KEY": "local"}, "local"),
        ({"OPENAI_BASE_URL": LOCAL, "OPENAI_API_KEY": "local"}, "local"),
        ({"OPENAI_BASE_URL": LOCAL}, "none"),
        ({"REHEARSAL_JUDGE_KEY": "own", "OPENAI_API_KEY": "openai's"}, "own"),
    ],
)
def test_a_key_is_sent_only_where_it_belongs(environ: dict[str, str], key: str) -> None:
    """An address with no key of its own is not handed the key of another one."""
    assert of(environ)["judge"] == (DEFAULT_MODELS["judge"], environ.get("REHEARSAL_JUDGE_URL") or (
        environ.get("OPENAI_BASE_URL", OPENAI)), key)  # fmt: skip


@pytest.mark.parametrize("url", [
    "localhost:11434/v1", "ftp://x/v1", "https:///v1", "http://[::1/v1", "http://host:99999/v1",
    "https://me:hunter2@host/v1", "me:hunter2@host?code=hunter2", "http://a b/v1", "https://host/v1#frag",
    "https://<your-resource>.openai.azure.com/openai/v1", "https://${RESOURCE}.openai.azure.com/openai/v1",
])  # fmt: skip
def test_a_mistyped_address_is_told_before_anything_starts(url: str) -> None:
    """One line that names the variables; no password in it."""
    told = r"REHEARSAL_USER_URL, REHEARSAL_JUDGE_URL or OPENAI_BASE_URL|_HEADERS='Authorization: Basic \$\{"
    with pytest.raises(InputError, match=told) as met:
        of({"OPENAI_BASE_URL": url})

    assert "hunter2" not in str(met.value)


def test_a_mistyped_key_is_told_without_showing_it() -> None:
    """A key pasted with quotes of another alphabet or a line break would only fail at the first call."""
    for key in ("“sk-secret”", "sk-\nsecret", "sk-secret\u3000x"):
        with pytest.raises(InputError, match="REHEARSAL_JUDGE_KEY") as met:
            of({"OPENAI_API_KEY": key})
        assert "secret" not in str(met.value)
    assert of({"OPENAI_API_KEY": "  sk-secret\n"})["judge"] == (DEFAULT_MODELS["judge"], OPENAI, "sk-secret")


def test_an_endpoint_shows_neither_key_nor_query() -> None:
    """Printed, dumped or in a message, the key stays secret."""
    environ = {"OPENAI_API_KEY": "sk-secret", "OPENAI_BASE_URL": f"{OTHER}?code=hunter2"}
    judge = endpoints(Settings(), environ)["judge"]

    assert isinstance(judge, Endpoint)
    assert judge.address == OTHER
    assert "sk-secret" not in f"{judge} {judge!r} {judge.model_dump()} {judge.model_dump_json()}"


@pytest.mark.parametrize(
    "pasted",
    [
        f"{OTHER}/chat/completions", f"{OTHER}/embeddings/", f"'{OTHER}/models'", f" `{OTHER}/responses` ",
        f"「{OTHER}」", f"<{OTHER}/>,", f"\ufeff{OTHER}\u200b", OTHER.replace("http", "HTTP", 1),
    ],
)  # fmt: skip
def test_a_pasted_address_is_understood(pasted: str) -> None:
    """The end of a request's own address is taken off, as are quotation marks; its key still goes there."""
    assert of({"REHEARSAL_JUDGE_URL": pasted})["judge"] == (DEFAULT_MODELS["judge"], OTHER, "none")
    shared = {"REHEARSAL_USER_URL": pasted, "OPENAI_BASE_URL": OTHER, "OPENAI_API_KEY": "k"}
    assert of(shared)["user"] == (DEFAULT_MODELS["user"], OTHER, "k")


def test_a_query_stays_behind_a_pasted_address() -> None:
    """`?api-version=...` belongs to every request."""
    judge = of({"OPENAI_BASE_URL": f"{OTHER}/chat/completions?api-version=1"})["judge"]
    assert judge
    assert judge[1] == f"{OTHER}?api-version=1"


@pytest.mark.parametrize(
    "pasted",
    [
        "'sk-secret-4711'", '"Bearer  sk-secret-4711"', "Authorization: Bearer sk-secret-4711",
    ],
)  # fmt: skip
def test_a_pasted_key_is_understood(pasted: str) -> None:
    """Of every variable that holds one; what is masked is the key itself."""
    for name in ("OPENAI_API_KEY", "REHEARSAL_JUDGE_KEY"):
        assert of({name: pasted})["judge"] == (DEFAULT_MODELS["judge"], OPENAI, "sk-secret-4711")
        assert "sk-secret-4711" in known_secrets({}, {name: pasted})


def more(environ: dict[str, str], **settings: Any) -> dict[str, tuple[dict[str, str], dict[str, Any]]]:
    """Headers and further fields of each role."""
    found = endpoints(Settings(**settings), environ)
    return {
        role: ({name: value.get_secret_value() for name, value in e.headers.items()}, e.extra)
        for role, e in found.items()
        if e
    }


def test_headers_and_fields_are_given_by_role_and_shared_at_one_address() -> None:
    """A role at the judge's address has the judge's; embeddings are no chat, and have no fields of one."""
    extra = {"REHEARSAL_JUDGE_EXTRA": '{"enable_thinking": false}'}
    judges = {"REHEARSAL_JUDGE_URL": LOCAL, "REHEARSAL_JUDGE_HEADERS": "X-Key: judge's", **extra}
    both = ({"X-Key": "judge's"}, {"enable_thinking": False})
    assert more(judges) == {"user": both, "judge": both, "embed": (both[0], {}), "demo": both}

    own = {"REHEARSAL_USER_EXTRA": "{}", "REHEARSAL_EMBED_EXTRA": '{"dimensions": 256}'}
    apart = {"REHEARSAL_DEMO_URL": OTHER, **own}
    assert more(judges | apart) == {
        "user": (both[0], {}), "judge": both, "embed": (both[0], {"dimensions": 256}), "demo": ({}, {}),
    }  # fmt: skip
    (panelist,) = further_judges(("other",), Settings(), judges)
    assert panelist.extra == {"enable_thinking": False}


@pytest.mark.parametrize(
    "text",
    [
        "api-key: ${SHOP}; X-Team: desk", "api-key: ${SHOP}\nX-Team: desk",
        '{"api-key": "${SHOP}", "X-Team": "desk"}', "'api-key: ${SHOP}; X-Team: desk'",
    ],
)  # fmt: skip
def test_headers_are_written_as_lines_or_as_json_and_name_secrets_of_the_environment(text: str) -> None:
    """The secret is masked by its value, at its endpoint as everywhere; what only says who asks is not."""
    environ = {"OPENAI_API_KEY": "k", "REHEARSAL_JUDGE_HEADERS": text, "SHOP": "sesame-open-4711"}
    judge = endpoints(Settings(), environ)["judge"]

    assert judge
    assert judge.sent_headers == {"api-key": "sesame-open-4711", "X-Team": "desk"}
    assert judge.shown_headers == {"api-key": "***", "X-Team": "desk"}
    assert judge.concealed("no sesame-open-4711 at this desk") == "no *** at this desk"
    assert "sesame" not in f"{judge!r} {judge.model_dump_json()}"
    assert "sesame-open-4711" in known_secrets({}, environ)
    assert "sesame-open-4711" in used_secrets({}, (), environ)


def test_a_secret_that_is_written_out_in_headers_or_fields_is_masked_as_well() -> None:
    """By its value alone, not with the name before it."""
    environ = {
        "REHEARSAL_JUDGE_HEADERS": "Ocp-Apim-Subscription-Key: 0123456789abcdef; Accept: text/plain",
        "REHEARSAL_EMBED_EXTRA": '{"api_key": "field-secret-1", "metadata": {"token": "deep-secret-2"}}',
    }
    masked = known_secrets({}, environ)
    assert {"0123456789abcdef", "field-secret-1", "deep-secret-2"} <= set(masked)
    assert not any("plain" in each and each in "text/plain" for each in masked)


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("HEADERS", "hunter2-1", "REHEARSAL_JUDGE_HEADERS: write 'Name: value"),
        ("HEADERS", "api key: hunter2-1", "REHEARSAL_JUDGE_HEADERS: write 'Name: value"),
        ("HEADERS", "api-key: ", "REHEARSAL_JUDGE_HEADERS: 'api-key' has no value"),
        ("HEADERS", "api-key: “hunter2-1”", "REHEARSAL_JUDGE_HEADERS: write 'Name: value"),
        ("HEADERS", "api-key: ${NOWHERE}", r"REHEARSAL_JUDGE_HEADERS: \$\{NOWHERE\} is not set"),
        ("HEADERS", '{"api-key": null}', "REHEARSAL_JUDGE_HEADERS: write 'Name: value"),
        ("HEADERS", "{api-key: hunter2-1}", "REHEARSAL_JUDGE_HEADERS: must be a JSON object"),
        ("EXTRA", "enable_thinking=false", "REHEARSAL_JUDGE_EXTRA: must be a JSON object"),
        ("EXTRA", "[1]", "REHEARSAL_JUDGE_EXTRA: must be a JSON object"),
        ("EXTRA", '{"user": "${NOWHERE}"}', r"REHEARSAL_JUDGE_EXTRA: \$\{NOWHERE\} is not set"),
        ("EXTRA", '{"model": "x"}', "REHEARSAL_JUDGE_EXTRA: 'model' is set by REHEARSAL_JUDGE_MODEL"),
        ("EXTRA", '{"stream": true}', "REHEARSAL_JUDGE_EXTRA: 'stream' cannot be set"),
    ],
)
def test_a_mistyped_header_or_field_is_told_before_anything_starts(name: str, text: str, told: str) -> None:
    """One line that names the variable; no value in it."""
    with pytest.raises(InputError, match=told) as met:
        endpoints(Settings(), {"OPENAI_API_KEY": "k", f"REHEARSAL_JUDGE_{name}": text})

    assert "hunter2" not in str(met.value)


def test_a_model_of_langchain_takes_fields_and_is_told_where_headers_go() -> None:
    """Its package has a name of its own for headers."""
    claude = {"judge_model": "anthropic:claude"}
    extra = {"REHEARSAL_JUDGE_EXTRA": '{"default_headers": {"X-Team": "desk"}}'}
    assert more(extra, **claude)["judge"] == ({}, {"default_headers": {"X-Team": "desk"}})

    with pytest.raises(InputError, match=r"goes through LangChain; put headers into REHEARSAL_JUDGE_EXTRA"):
        endpoints(Settings(**claude), {"REHEARSAL_JUDGE_HEADERS": "X-Team: desk"})


@pytest.mark.parametrize(
    ("url", "base", "common"),
    [(OPENAI, "", True), (LOCAL, "", False), ("https://z.example/v1", "", False),
     (LOCAL, f"'{LOCAL}/chat/completions'", True), (OPENAI, LOCAL, False)],
)  # fmt: skip
def test_the_common_key_is_for_one_address(
    url: str, base: str, common: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """That of OPENAI_BASE_URL, or OpenAI's."""
    monkeypatch.setenv("OPENAI_BASE_URL", base)
    judge = endpoints(Settings(), {"REHEARSAL_JUDGE_URL": url})["judge"]

    assert judge
    assert judge.takes_common_key is common
    assert (judge.host, endpoints(Settings(), {"REHEARSAL_JUDGE_URL": "http://H:1/v1"})["judge"].host) == (  # type: ignore[union-attr]
        url.split("/")[2], "h:1",
    )  # fmt: skip


DEPLOYMENT = "https://desk.openai.azure.com/openai/deployments/gpt-4o"


@pytest.mark.parametrize(
    ("environ", "sent"),
    [
        ({"KEY": "k-12345"}, {"Authorization": None, "api-key": "k-12345"}),
        ({"KEY": "eyJhbGciOi.x.y"}, {}),  # a token of the directory
        ({"HEADERS": "api-key: h-12345"}, {"Authorization": None, "api-key": "h-12345"}),
        ({"KEY": "k-12345", "HEADERS": "Api-Key: h-12345"}, {"Api-Key": "h-12345"}),
        (
            {"KEY": "k-12345", "HEADERS": "X-Team: desk"},
            {"Authorization": None, "api-key": "k-12345", "X-Team": "desk"},
        ),
    ],
)
def test_an_azure_deployment_gets_its_key_in_a_header_of_its_own(
    environ: dict[str, str], sent: dict[str, str | None]
) -> None:
    """Also by an address that was pasted whole."""
    url = {"REHEARSAL_JUDGE_URL": f"{DEPLOYMENT}/chat/completions?api-version=2024-10-21"}
    given = {f"REHEARSAL_JUDGE_{name}": value for name, value in environ.items()}
    judge = endpoints(Settings(), url | given)["judge"]

    assert judge
    assert judge.sent_headers == sent
    assert judge.url == f"{DEPLOYMENT}?api-version=2024-10-21"


@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("http://localhost:11434", "The address has no /v1; try http://localhost:11434/v1."),
        ("http://h:1/api", "The address has no /v1; try http://h:1/api/v1 / http://h:1/v1."),
        (DEPLOYMENT, "The address of an Azure deployment ends in ?api-version=...; or use"),
        (f"{DEPLOYMENT}?api-version=1", None),
        ("https://models.example.com/v1beta/openai", None),
        ("https://ark.example.com/api/v3", None),
    ],
)
def test_what_an_address_lacks_is_known(url: str, told: str | None) -> None:
    """Where it leads nowhere, the message names what is probably missing."""
    judge = endpoints(Settings(), {"REHEARSAL_JUDGE_URL": url})["judge"]

    assert judge
    assert str(judge.missing_of_address or "").startswith(told or "")
    assert (judge.missing_of_address is None) == (told is None)


@pytest.mark.parametrize(
    "model",
    [
        "llama3.1:8b-instruct-q4_K_M", "Qwen/Qwen2.5-14B-Instruct", "gemma3n:e4b", "smollm2:360m",
        "deepseek-r1:1.5b",
    ],
)  # fmt: skip
def test_a_model_is_small_by_the_parameters_in_its_name(model: str) -> None:
    """Fourteen billion at most, whoever names it and however."""
    assert is_small_model(model)


@pytest.mark.parametrize(
    "model",
    [
        "gpt-4o-mini", "phi-4", "llama3.2", "qwen3:32b", "qwen3-30b-a3b", "mixtral-8x7b-instruct",
        "gpt-4-32k", "Qwen2.5-32B-Instruct-1M",
    ],
)  # fmt: skip
def test_a_model_without_a_small_number_is_not_small(model: str) -> None:
    """Neither by the word mini, nor by the part of a mixture that is active."""
    assert not is_small_model(model)


def test_only_what_nobody_chose_is_fitted_to_a_small_judge(monkeypatch: pytest.MonkeyPatch) -> None:
    """The judging; with it the judges of conversations. A data set's judges stay, and so does a choice."""
    monkeypatch.setenv("REHEARSAL_JUDGE_URL", LOCAL)
    monkeypatch.setenv("REHEARSAL_JUDGE_MODEL", "qwen3:8b")

    def fitted(**chosen: Any) -> tuple[str, tuple[str, ...]]:
        settings = with_judging_for(Settings(**chosen))
        return settings.judging, settings.judges

    usual = Settings().judges
    assert fitted() == ("small", SMALL_JUDGES)
    assert fitted(judges=["turn", "fluency"]) == ("small", ("turn", "fluency"))
    assert fitted(protocol="single_turn") == ("small", usual)
    assert fitted(judging="combined") == ("combined", usual)
    assert fitted(judge_model="qwen3:32b") == fitted(offline=True) == ("combined", usual)
