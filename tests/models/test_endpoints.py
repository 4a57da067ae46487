"""Which model plays which role, where it lives, and which key goes there."""

from typing import Any

import pytest

from simulator.core.errors import InputError
from simulator.core.roles import DEFAULT_MODELS, OPENAI, Endpoint, endpoints, panelists
from simulator.core.settings import Settings

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
    "localhost:11434/v1", "ftp://x/v1", "http://", "https:///v1", "http://[::1/v1", "x", "http://host:99999/v1",
    "http://host:port/v1", "https://me:hunter2@host/v1", "me:hunter2@host?code=hunter2",
    "http://a b/v1",
])  # fmt: skip
def test_a_mistyped_address_is_told_before_anything_starts(url: str) -> None:
    """One line that names the variables; no password in it."""
    with pytest.raises(InputError, match="REHEARSAL_USER_URL, REHEARSAL_JUDGE_URL or OPENAI_BASE_URL") as met:
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


def test_requests_and_tokens_a_minute_are_given_for_all_or_for_one_role() -> None:
    """The role's own variable goes before --rpm and --tpm; panel and provider models have them, too."""
    limits = {"REHEARSAL_USER_RPM": "30", "REHEARSAL_JUDGE_TPM": "9000", "REHEARSAL_EMBED_RPM": "1"}
    environ = {"OPENAI_API_KEY": "sk-x"} | limits
    settings = Settings(rpm=500, tpm=80_000, panel=("other",), demo_model="anthropic:claude")
    found = endpoints(settings, environ)

    given = {role: (endpoint.rpm, endpoint.tpm) for role, endpoint in found.items() if endpoint}
    rest = {"embed": (1, 80_000), "demo": (500, 80_000)}
    assert given == {"user": (30, 80_000), "judge": (500, 9000)} | rest
    assert [(each.rpm, each.tpm) for each in panelists(settings, environ)] == [(500, 9000)]


@pytest.mark.parametrize("value", ["0", "-3", "many", "1.5"])
def test_a_limit_that_is_none_is_told(value: str) -> None:
    """By the name of its variable."""
    with pytest.raises(InputError, match=r"REHEARSAL_USER_RPM .*whole number from 1"):
        endpoints(Settings(), {"OPENAI_API_KEY": "sk-x", "REHEARSAL_USER_RPM": value})
