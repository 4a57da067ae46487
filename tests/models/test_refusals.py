"""What an endpoint refuses is read in any shape and at any status, and learnt once."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.models.abilities import Abilities, without_system
from simulator.models.refusals import NoAnswer, Refusal, Refused, reason_of, refusal_in, refused_within

SYSTEM = [{"role": "system", "content": "Grade."}, {"role": "user", "content": "Hi"}]
SCHEMA = {"type": "json_schema", "json_schema": {}}


def sent(**more: Any) -> dict[str, Any]:
    """A request with everything that may be refused."""
    return {
        "model": "m",
        "messages": SYSTEM,
        "temperature": 0.2,
        "seed": 1,
        "max_tokens": 100,
        "response_format": SCHEMA,
        **more,
    }


@pytest.mark.parametrize("status", [400, 404, 422, 500, 501])
@pytest.mark.parametrize(
    "body",
    [
        {"error": {"message": "Unsupported parameter: 'seed'", "param": "seed", "code": "unsupported"}},
        {"error": {"message": "This is not supported.", "param": "seed", "code": None}},
        {"detail": [{"type": "extra_forbidden", "loc": ["body", "seed"], "msg": "Extra inputs"}]},
        {"detail": "unknown field: seed"},
        [{"error": {"code": 400, "message": 'Unknown name "seed": Cannot find field.'}}],
        {"error": "unrecognized request argument seed"},
        {"errors": [{"title": "Bad request", "detail": "seed: unexpected property"}]},
        {"error": {"message": "litellm: x does not support parameters: {'seed': 1}, for y"}},
        "seed is not supported",
        {"errors": {"seed": ["The seed field is not allowed."]}, "title": "Unexpected fields."},
        {"error": {"message": "Invalid", "details": [{"field": "seed", "issue": "unsupported"}]}},
        {"errors": {"body.seed": ["Additional properties are not allowed"]}},
        {"errors": [{"path": "/seed", "message": "must NOT have additional properties: not allowed"}]},
        {"Fault": {"faultstring": "Unknown parameter seed"}},
        {"error": {"message": "seed パラメータはサポートされていません"}},
        "<Error><Code>Bad</Code><Message>seed is not supported</Message></Error>",
        {"error": {"message": "Unsupported parameter: 'seed'. Supported: temperature, max_tokens."}},
    ],
)
def test_a_parameter_that_is_named_is_left_out(status: int, body: Any) -> None:
    """Whatever wraps the words; gateways say a 404, 500 or 501 of a parameter."""
    abilities = Abilities()

    assert abilities.learn(refusal_in(status, json.dumps(body)), sent())
    assert abilities.fitted(sent()) == {key: value for key, value in sent().items() if key != "seed"}


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("seed is not supported", "seed is not supported"),
        (
            "<html><head><title>400 Bad &amp; gone</title></head><body><h1>seed</h1></body></html>",
            "400 Bad & gone seed",
        ),
        ("<p>no <b>model</b>\n here</p>", "no model here"),
        ('{"detail": [{"loc": ["body", "n"], "msg": "too large"}]}', "too large"),
        ('{"error": {"message": "a", "metadata": {"error": "b"}}}', "a; b"),
        ("", ""),
        ("{}", ""),
        ("[" * 100_000, "[" * 2000),
        ('{"a": ' * 5 + '{"message": "deep"}' + "}" * 5, "deep"),
        ('{"a": ' * 6 + '{"message": "too deep"}' + "}" * 6, ""),
        (json.dumps([{}] * 19 + [{"message": "the 20th"}, {"message": "the 21st"}]), "the 20th"),
        ('{"error": {"message": " ", "reason": "why"}, "type": "one_word", "other": "not this"}', "why"),
        ('{"other": "some words", "hint": "word"}', "some words"),
        ("<style>p {}</style><script>run()</script><p>said</p>", "said"),
        (f"<p>{' ' * 39_900}<title>late</title>", "late"),
        (f"<p>{' ' * 40_000}<title>too late</title>", ""),
        ("[" * 5 + '{"message": "deep"}' + "]" * 5, "deep"),
        ("[" * 6 + '{"message": "too deep"}' + "]" * 6, ""),
    ],
)
def test_what_an_endpoint_says_is_on_one_line(body: str, words: str) -> None:
    """For the message, in which it always stands."""
    assert refusal_in(400, body).words == words


def test_only_what_did_not_come_in_time_is_late() -> None:
    """Not what never came, or could not be read."""
    kinds = ("timeout", "unreachable", "denied", "malformed", "error")

    assert [NoAnswer(kind, "?").is_late for kind in kinds] == [True, False, False, False, False]


def test_a_refusal_without_words_says_so() -> None:
    """And one that sends elsewhere, to which address, without what may be a key."""
    assert str(reason_of(Refused(400, {}, ""))) == "no reason is given"
    assert str(reason_of(Refused(400, {}, "no"))) == "no"
    moved = {"location": "https://new.example/v1?key=secret"}
    assert str(reason_of(Refused(399, moved, "no"))).startswith(
        "the endpoint has moved to https://new.example/v1,"
    )
    assert str(reason_of(Refused(300, {}, "no"))).startswith("the endpoint has moved to another address,")


def test_the_finer_one_of_two_codes_counts() -> None:
    """Wherever it stands in the body."""
    body = {"error": {"type": "invalid_request_error", "message": "no", "code": "json_validate_failed"}}

    assert refusal_in(400, json.dumps(body)).code == "json_validate_failed"
    assert refusal_in(400, json.dumps({"status": "INVALID", "type": "t"})).code == "t"


@pytest.mark.parametrize("status", [401, 402, 403, 408, 409, 425, 429, 503, 504, 529])
def test_what_is_about_the_account_teaches_nothing(status: int) -> None:
    """Keys, money and pace have nothing to do with the form of a request."""
    abilities = Abilities()

    assert not abilities.learn(Refusal(status, "seed is not supported"), sent())
    assert abilities == Abilities()


@pytest.mark.parametrize("words", ["the seed of all evil", "Internal error in temperature controller", ""])
def test_a_passing_fault_of_a_server_teaches_nothing(words: str) -> None:
    """A 5xx counts only where it says that something is not supported."""
    assert not Abilities().learn(Refusal(500, words), sent())
    assert not Abilities().learn(Refusal(502, words), sent())


def test_a_quoted_request_teaches_nothing() -> None:
    """It holds every name there is; and so may whatever stands far behind the first words."""
    quoted = json.dumps(sent(messages=[{"role": "user", "content": "x" * 200}]))

    assert not Abilities().learn(Refusal(400, f"Could not process the request {quoted}"), sent())
    assert Abilities().learn(Refusal(400, f"{'x' * 495} seed"), sent())
    assert not Abilities().learn(Refusal(400, f"{'x' * 496} seed"), sent())


def test_the_limit_of_tokens_is_tried_under_its_other_name_once() -> None:
    """Where that is refused as well, the reply has no limit."""
    abilities = Abilities()
    other = {"max_completion_tokens": 100}
    new = Refusal(400, "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.")
    old = Refusal(400, "Unsupported parameter: 'max_completion_tokens'. Use 'max_tokens' instead.")

    assert abilities.learn(new, sent())
    assert (abilities.limit, abilities.refused) == ("max_completion_tokens", set())
    assert abilities.learn(old, other)
    assert (abilities.limit, abilities.refused) == ("max_completion_tokens", {"max_completion_tokens"})
    assert not abilities.learn(old, abilities.fitted(other))


@pytest.mark.parametrize(
    "words",
    [
        "System role not supported",
        "Conversation roles must alternate user/assistant/user/assistant/...",
        "Developer instruction is not enabled for models/gemma-3",
        "Only user and assistant roles are supported!",
        "Role must be one of: user, assistant",
        "Unsupported value: 'messages[0].role' does not support 'system' with this model.",
        '{"detail": [{"loc": ["body", "messages", 0, "role"], "msg": "unexpected value; permitted: user"}]}',
    ],
)
@pytest.mark.parametrize("status", [400, 500])
def test_a_model_without_a_system_role(words: str, status: int) -> None:
    """What the system says begins the first message of the user; templates say so with a 500, too."""
    abilities = Abilities()

    assert abilities.learn(refusal_in(status, words), sent())
    assert abilities.fitted(sent())["messages"] == [{"role": "user", "content": "Grade.\n\nHi"}]
    assert not abilities.learn(refusal_in(status, words), abilities.fitted(sent()))


def test_roles_alternate_without_a_system_role() -> None:
    """Two messages in a row become one."""
    question = {"role": "user", "content": "?"}
    said = [*SYSTEM, question, {"role": "assistant", "content": "a"}, SYSTEM[1], question]

    assert without_system(said) == [
        {"role": "user", "content": "Grade.\n\nHi\n\n?"},
        {"role": "assistant", "content": "a"},
        {"role": "user", "content": "Hi\n\n?"},
    ]


def test_the_form_is_taken_down_step_by_step() -> None:
    """A strict schema, then JSON, then mere text."""
    abilities, forms = Abilities(), []
    # The second one as only a user's own field may have it.
    for form in (SCHEMA, "json"):
        assert abilities.learn(Refusal(400, "response_format is not supported"), sent(response_format=form))
        forms.append(abilities.reply_format)

    assert forms == ["json", "text"]
    # Calls that were out meanwhile learn nothing worse, and one without a form has none to lose.
    assert abilities.learn(Refusal(400, "response_format is not supported"), sent())
    assert abilities.reply_format == "text"
    assert not abilities.learn(Refusal(400, "response_format is not supported"), {"messages": SYSTEM})


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (500, "Failed to initialize samplers: failed to parse grammar"),
        (500, 'Grammar error: Unimplemented keys: ["enum"]'),
        (400, "response_format value as json_schema is enabled only for api versions 2024-08-01-preview"),
        (400, "The specified schema produces a constraint that has too many states for serving."),
    ],
)
def test_a_form_that_a_server_cannot_follow(status: int, words: str) -> None:
    """Nor its grammar; it is asked for mere JSON from then on."""
    abilities = Abilities()

    assert abilities.learn(Refusal(status, words), sent())
    assert abilities.reply_format == "json"


def test_any_json_that_a_server_failed_at_is_no_form() -> None:
    """It may have been that of the service behind it, this once."""
    assert not Abilities().learn(Refusal(500, "Failed to parse JSON of the upstream"), sent())


@pytest.mark.parametrize(
    "words",
    [
        "it has a maxOutputTokens value of 100000 but the supported range is from 1 to 8193",
        "`inputs` tokens + `max_new_tokens` must be <= 4096. Given: 3000 `inputs` tokens",
        "max_tokens is too large: 9000. This model supports at most 4096 completion tokens",
        "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens",
    ],
)
def test_a_limit_of_tokens_that_is_too_high_is_left_out(words: str) -> None:
    """Whatever it is called behind a gateway."""
    abilities = Abilities()

    assert abilities.learn(Refusal(400, words), sent())
    assert "max_tokens" not in abilities.fitted(sent())


@pytest.mark.parametrize(
    ("status", "body", "is_denied"),
    [
        (400, {"error": {"message": "API key not valid. Please pass a valid API key."}}, True),
        (429, {"error": {"message": "none left", "code": "insufficient_quota"}}, True),
        (429, {"error": {"message": "余额不足或无可用资源包,请充值。", "code": "1113"}}, True),
        (400, {"error": {"message": "Your credit balance is too low to access the API."}}, True),
        (429, {"error": {"message": "Rate limit reached for your API key"}}, False),
        (400, {"error": {"message": "invalid seed"}}, False),
    ],
)
def test_a_key_or_an_account_that_is_refused_at_any_status(status: int, body: Any, is_denied: bool) -> None:
    """It is final, for every call."""
    error = Refused(status, {}, json.dumps(body))

    assert error.refusal.is_denied is is_denied
    assert error.is_transient is (status == 429 and not is_denied)


@pytest.mark.parametrize(
    "status",
    [299, 300, 307, 399, 400, 401, 402, 403, 404, 405, 408, 409, 410, 413, 422, 425, 429, 499, 500, 501, 502,
     503, 504, 505, 529],
)  # fmt: skip
def test_a_status_says_what_may_help(status: int) -> None:
    """Another form changes nothing about a key, an address, a delay, a conflict, the length or the pace."""
    error = Refused(status, {}, "no")
    refusal = error.refusal

    assert refusal.has_no_embeddings is (status in {403, 404, 405, 410, 501})
    assert refusal.is_denied is (status in {300, 307, 399, 401, 402, 403, 404, 405})
    assert refusal.may_be_of_form is (refusal.kind == "error" and status not in {408, 409, 413, 429})
    assert error.is_transient is (status in {408, 409, 425, 429, 500, 502, 503, 504, 529})
    assert error.is_busy is (status in {429, 503, 529})
    assert error.is_late is (status in {408, 504})
    # What is not supported will not be a moment later; a gateway that says so may mean what is behind it.
    assert Refused(status, {}, "not supported").is_transient is (error.is_transient and status != 500)


@pytest.mark.parametrize(
    ("data", "status"),
    [
        ({"error": {"message": "slow", "code": 429}}, 429),
        ({"error": {"message": "no", "type": "x", "status_code": "503"}}, 503),
        ({"error": {"message": "no", "code": "399"}}, 500),
        ({"error": {"message": "no", "code": 600}}, 500),
        ({"error": {"message": "no", "code": "rate_limit_exceeded"}}, 429),
        ({"error": {"message": "no", "status": "RESOURCE_EXHAUSTED"}}, 429),
        ({"error": {"message": "no", "type": "authentication_error"}}, 401),
        ({"error": {"message": "no", "type": "invalid_request_error"}}, 400),
        ({"error": "Unexpected endpoint or method. (POST /x)"}, 404),
        ({"error": "model not found"}, 400),
        ({"error": f"{'x' * 192}too many"}, 429),
        ({"error": f"{'x' * 193}too many"}, 500),
        ({"error": {"message": "the provider is away"}}, 500),
        ({"message": "the provider is away"}, 500),
        ([{"error": {"message": "no", "code": 400}}], 400),
        ({"choices": [{"error": {"message": "no", "code": 502}}]}, 502),
        ({"choices": [{"error": {"message": "no", "code": 502}}, {"message": {"content": "a"}}]}, 502),
        ({"choices": [{"finish_reason": "error", "message": {"content": ""}}]}, 500),
        ({"choices": [{"finish_reason": "stop", "message": {"content": "a"}}], "error": "of before"}, None),
        ({"choices": ["error"]}, None),
        ({"choices": [], "id": "some words", "object": "some words", "model": "some words"}, None),
        ({"message": {"role": "assistant", "content": "of another API"}}, None),
        ({"data": [{"embedding": [1.0]}], "error": "of before"}, None),
        ([], None),
        (["error"], None),
        ("an error", None),
    ],
)
def test_an_error_within_an_answer_has_the_status_that_it_names(data: Any, status: int | None) -> None:
    """Gateways have sent status 200 before their provider fails."""
    refused = refused_within(data, {"retry-after": "3"})

    assert (refused and refused.status) == status
    assert (refused and refused.wait) == (status and 3)


@pytest.mark.parametrize(
    ("body", "is_filtered"),
    [
        ({"error": {"code": "content_filter", "message": "x"}}, True),
        ({"error": {"code": "ResponsibleAIPolicyViolation", "message": "x"}}, True),
        ({"error": {"message": "Content Exists Risk", "type": "invalid_request_error"}}, True),
        ({"error": {"message": "This content has no risk", "type": "invalid_request_error"}}, False),
        ({"error": {"message": "This safety of yours", "type": "invalid_request_error"}}, False),
    ],
)
def test_a_text_that_a_filter_refused(body: Any, is_filtered: bool) -> None:
    """Known by its code, else by the words of a service that has none."""
    for status in (400, 422):
        assert refusal_in(status, json.dumps(body)).is_filtered is is_filtered
        assert (refusal_in(status, json.dumps(body)).kind == "refused") is is_filtered
    # Any other server may only have failed.
    assert refusal_in(500, json.dumps({"error": "Content Exists Risk"})).kind == "error"


def test_one_bad_moment_unlearns_nothing() -> None:
    """A form that the model did not fill in this once; three times in a row it cannot."""
    abilities = Abilities()
    invalid = refusal_in(
        400, '{"error": {"message": "Failed to generate JSON", "code": "json_validate_failed"}}'
    )

    for _ in range(2):
        assert not abilities.learn(invalid, sent())
    abilities.succeeded()
    for _ in range(2):
        assert not abilities.learn(invalid, sent())
    assert abilities.reply_format == "schema"
    assert abilities.learn(invalid, sent())
    assert abilities.reply_format == "json"
    simpler = sent(response_format={"type": "json_object"})
    assert [abilities.learn(invalid, simpler) for _ in range(3)] == [False, False, True]
    assert abilities.reply_format == "text"


@pytest.mark.parametrize(
    "words", ["base64 encoding is not currently supported", "unknown variant `base64`, expected `float`"]
)
def test_vectors_as_numbers(words: str) -> None:
    """Of base64 some name what they would have taken in its place."""
    abilities = Abilities()

    assert abilities.learn(Refusal(422, words), {"input": ["a"], "encoding_format": "base64"})
    assert abilities.fitted({"input": ["a"], "encoding_format": "base64"}) == {"input": ["a"]}


@given(st.text(max_size=300), st.sampled_from([200, 400, 422, 500, 501, 503]))
def test_any_body_is_read(body: str, status: int) -> None:
    """Whatever stands in it."""
    refusal = refusal_in(status, body)

    assert "\n" not in refusal.words
    Abilities().learn(refusal, sent())


@given(
    st.recursive(
        st.none() | st.integers() | st.text(max_size=20),
        lambda inner: (
            st.lists(inner) | st.dictionaries(st.sampled_from(["error", "message", "loc", "x"]), inner)
        ),
    )
)
def test_any_json_is_read(body: Any) -> None:
    """However deep, of whichever keys."""
    refusal = refusal_in(400, json.dumps(body))

    assert "\n" not in refusal.words
    Abilities().learn(refusal, sent())
