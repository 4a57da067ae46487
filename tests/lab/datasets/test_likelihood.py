"""Choosing a label by its log-likelihood: reading tokens, and what endpoints without them lead to."""

from collections.abc import Mapping
from math import exp
from typing import Any

import pytest
from simulator.shelves.rag_adapters.openai_chat import connect

from simulator import Answer, BotFailure, InputError, Query
from simulator.core.choosing import choosing_for
from simulator.core.settings import Settings
from simulator.lab.datasets.likelihood import LikelihoodToken, Place, scores_of
from simulator.lab.harness.echo import tokens_of
from tests.servers.faults import Reply, error
from tests.servers.logprobs import text_of_tokens
from tests.servers.openai import OpenAIServer

LABELS = ("適切", "不適切")


def place(likely: Mapping[str, float]) -> Place:
    """A place of an answer; the first token is said."""
    tokens = tuple(LikelihoodToken(text.encode(), value) for text, value in likely.items())
    return Place(tokens[0], tokens)


def scored(*places: Mapping[str, float], among: tuple[str, ...]) -> dict[str, float] | None:
    """The scores, rounded."""
    found = scores_of([place(each) for each in places], among)
    return found and {choice: round(value, 3) for choice, value in found.items()}


async def asked(
    server: OpenAIServer, choices: tuple[str, ...] = LABELS, choosing: str = "auto", **settings: Any
) -> Answer:
    """One row put to a model that is to choose."""
    rag = connect(
        url=server.url,
        model="fake-chat",
        choosing=choosing_for(Settings(added={"choosing": choosing})),
        **settings,
    )
    bot = rag if callable(rag) else await rag
    try:
        answer: Answer = await bot(
            Query(text="文：こんにちは\n答え：", system="判定者です。", choices=choices)
        )
        return answer
    finally:
        await bot.aclose()


def test_tokens_that_begin_a_label_are_added_up() -> None:
    """` 1` and `1` are one and the same answer, and `10` is another one."""
    found = scores_of([place({" 1": -1.0, "1": -1.0, "10": -0.2, "0": -3.0})], ("0", "1"))

    assert found is not None
    assert exp(found["1"]) == pytest.approx(2 * exp(-1.0))
    assert found["0"] == -3.0


@pytest.mark.parametrize(
    ("places", "among", "wanted"),
    [
        ([{"不": -0.1, "適": -2.0}], LABELS, {"適切": -2.0, "不適切": -0.1}),
        (
            [{"問題": -0.1, "普": -2.0}, {"あり": -0.5, "なし": -1.0}],
            ("問題あり", "問題なし", "普通"),
            {"問題あり": -0.6, "問題なし": -1.1, "普通": -2.0},
        ),
        (
            [{"「": -0.1, "普": -3.0}, {"普": -0.2, "問": -2.0}],
            ("問題", "普通"),
            {"問題": -2.1, "普通": -0.235},
        ),
        (
            [{"A": -0.1, "B": -3.0}, {"。": -0.2, "B": -2.0}],
            ("A", "AB", "B"),
            {"A": -0.3, "AB": -2.1, "B": -3.0},
        ),
        ([{"Yes": -0.2, "yes": -2.0}], ("yes", "no"), {"yes": -0.047}),
    ],
)
def test_labels_that_begin_alike_are_read_on(
    places: list[Mapping[str, float]], among: tuple[str, ...], wanted: dict[str, float]
) -> None:
    """Along what was said, until one label is left; quotes before it and letter case make no difference."""
    assert scored(*places, among=among) == wanted


@pytest.mark.parametrize(
    "places",
    [[{"問題": -0.1, "普": -2.0}], [{"わ": -0.1, "問題": -1.0, "普": -3.0}], [{"Sorry": -0.1, "I": -1.0}]],
)
def test_labels_that_cannot_be_told_apart_have_no_scores(places: list[Mapping[str, float]]) -> None:
    """A truncated answer, or likely tokens of several labels beside what was said: nobody guesses."""
    assert scored(*places, among=("問題あり", "問題なし", "普通")) is None


def test_a_character_in_two_tokens_is_read_by_its_bytes() -> None:
    """Tokens of Japanese may end within a character."""
    first, second = "不".encode()[:2], "不".encode()[2:]
    other = LikelihoodToken("適".encode(), -2.0)
    places = [
        Place(LikelihoodToken(first, -0.1), (LikelihoodToken(first, -0.1), other)),
        Place(LikelihoodToken(second, -0.1), (LikelihoodToken(second, -0.1),)),
    ]

    assert scores_of(places, LABELS) == {"適切": -2.0, "不適切": -0.1}


async def test_the_likeliest_label_is_the_answer() -> None:
    """One request with logprobs for the twenty likeliest tokens; the scores come with the answer."""
    likely = ({"不": -0.1, "適": -2.5},)
    async with OpenAIServer(lambda _: Reply(text_of_tokens(likely), likely=likely)) as server:
        answer = await asked(server)

    assert answer.text == "不適切"
    assert answer.logprobs == {"適切": -2.5, "不適切": -0.1}
    assert answer.usage is not None
    body = server.requests[0].body
    settings = {key: body[key] for key in ("logprobs", "top_logprobs", "max_tokens", "temperature")}
    assert list(settings.values()) == [True, 20, 3, 0]
    assert body["messages"][0] == {"role": "system", "content": "判定者です。"}


@pytest.mark.parametrize("refusing", [False, True])
async def test_auto_generates_where_nothing_is_told(
    refusing: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    """An endpoint that ignores or refuses logprobs is asked in words from then on; that is said once."""

    def reply(body: dict[str, Any]) -> Reply:
        refused = refusing and body.get("logprobs")
        return error(400, "logprobs are not supported") if refused else Reply("不適切です。")

    async with OpenAIServer(reply) as server:
        rag = connect(url=server.url, model="fake-chat", choosing=choosing_for(Settings()))
        answers = [await rag(Query(text="文", choices=LABELS)) for _ in range(3)]
        await rag.aclose()

    assert [(answer.text, answer.logprobs) for answer in answers] == [("不適切です。", {})] * 3
    assert server.counts["chat"] == 4
    assert capsys.readouterr().err.count("tells no log-likelihoods") == 1


async def test_labels_that_stay_alike_are_written_out() -> None:
    """The model is asked again, in words."""
    likely = ({"問題": -0.1},)
    async with OpenAIServer(lambda body: Reply("問題なし", likely=likely)) as server:
        answer = await asked(server, ("問題あり", "問題なし"))

    assert (answer.text, answer.logprobs) == ("問題なし", {})


async def test_likelihood_is_refused_where_nothing_is_told() -> None:
    """In one sentence that names the endpoint, before any row is asked."""
    async with OpenAIServer(lambda _: "A") as server:
        with pytest.raises(
            InputError, match=rf"--choosing likelihood: {server.url} tells no log-likelihoods; "
        ):
            await asked(server, choosing="likelihood")

    assert server.counts["chat"] == 1


async def test_an_endpoint_that_is_away_is_no_reason_to_refuse() -> None:
    """What is wrong with its connection is each row's own finding."""
    async with OpenAIServer(lambda _: Reply(status=503)) as server:
        with pytest.raises(BotFailure):
            await asked(server, choosing="likelihood")


HOSTILE_LOGPROBS = (
    "x",
    {"token_logprobs": 3},
    {"token_logprobs": [None, "x"]},
    {"token_logprobs": [None, -1.0], "top_logprobs": [None, {"a": "x"}]},
    {"token_logprobs": [None, -1.0], "top_logprobs": {"a": 1}},
    {"token_logprobs": [None, float("nan"), -1.0]},
)


@pytest.mark.parametrize("logprobs", HOSTILE_LOGPROBS)
async def test_echoes_of_another_form_tell_nothing(logprobs: Any) -> None:
    """Whatever stands where log-likelihoods should, it is no crash."""
    whole = {"choices": [{"text": "ab", "logprobs": logprobs}], "usage": {"prompt_tokens": 2}}

    async def post(_path: str, _body: dict[str, Any]) -> Any:
        return whole

    with pytest.raises(BotFailure, match="tells no log-likelihoods of the prompt"):
        await tokens_of("ab", {"model": "m"}, post)
