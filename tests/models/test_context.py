"""A prompt that the server cut is a failure that says what to set; a sparing tokenizer is none."""

import asyncio
import re
from typing import Any

import pytest

from simulator.core.errors import ModelFailure
from simulator.core.messages import shown
from simulator.models.cache import ResponseCache
from simulator.models.context import ContextWindow
from tests.scripted_models import GOOD, connected, model_at
from tests.servers.openai import OpenAIServer, Reply

JAPANESE = "".join(
    f"{n}番目のお客様は、月額{n * 37}円のプランを解約したいとのことで、担当者は手数料をご案内しました。"
    for n in range(90)
)
ENGLISH = " ".join(
    f"Customer number {n} would like to cancel the plan at {n * 37} yen a month, and was told of the fee."
    for n in range(90)
)
OTHERWISE = "あなたは採点者です。" * 3


def asked(text: str) -> list[dict[str, str]]:
    """A request of a judge."""
    return [{"role": "system", "content": text}, {"role": "user", "content": "Grade it in JSON."}]


def sent(request: Any) -> str:
    """All that a request says."""
    return "\n".join(message["content"] for message in request["messages"])


def counting(tokens_of: Any, most: int = 2**20) -> Any:
    """An endpoint with a tokenizer, which reads no more than so many tokens."""

    def reply(request: Any) -> Reply:
        return Reply(GOOD, usage={"prompt_tokens": min(int(tokens_of(sent(request))), most)})

    return reply


def by_language(japanese: float, other: float) -> Any:
    """A tokenizer with so many tokens a character."""
    return lambda text: sum(japanese if ord(each) > 0x2E80 else other for each in text)


@pytest.mark.parametrize("text", [JAPANESE, ENGLISH])
@pytest.mark.parametrize(("japanese", "other"), [(0.6, 0.22), (1.0, 0.25), (1.4, 0.4)])
async def test_a_third_that_is_missing_is_seen_beside_shorter_prompts(
    text: str, japanese: float, other: float
) -> None:
    """A run has some: what they were counted as makes the count of a cut one suspicious."""
    tokens = by_language(japanese, other)
    most = int(tokens(text) * 0.7)
    async with OpenAIServer(counting(tokens, most)) as server, connected() as made:
        model = model_at(server, made)
        await model.say(asked(text[: len(text) // 2]))
        with pytest.raises(ModelFailure, match="the server cut the prompt"):
            await model.say(asked(text))


async def test_a_little_that_is_missing_is_seen_where_the_count_is_a_limit() -> None:
    """A short prompt, of which a seventh is gone; another count that is as low is a tokenizer's own."""
    text = JAPANESE[:2368]
    async with OpenAIServer(counting(len, 2050)) as server, connected() as made:
        with pytest.raises(ModelFailure, match="the server cut the prompt: it read 2,050 tokens"):
            await model_at(server, made).say(asked(text))
    async with OpenAIServer(counting(lambda said: 0.86 * len(said))) as server, connected() as made:
        await model_at(server, made).say(asked(text))


@pytest.mark.parametrize("most", [4096, 2050])
async def test_counts_of_a_limit_are_suspicious(most: int) -> None:
    """A usual context is one by itself, and so is the same count for prompts that differ."""
    async with OpenAIServer(counting(len, most)) as server, connected() as made:
        with pytest.raises(ModelFailure, match="the server cut the prompt"):
            await model_at(server, made).say(asked(JAPANESE * 2))
    async with OpenAIServer(counting(len, 3333)) as server, connected() as made:
        model = model_at(server, made)
        await model.say(asked(JAPANESE[:3500]))
        with pytest.raises(ModelFailure, match="the server cut the prompt"):
            await model.say(asked(JAPANESE))


@pytest.mark.parametrize("context", [2**n for n in range(11, 19)])
def test_what_a_usual_context_leaves_is_suspicious_at_first_sight(context: int) -> None:
    """As much as it holds, one less, or a half and two; any other count that fits the text is not."""
    for read in (context, context - 1, context // 2 + 2):
        assert not ContextWindow().is_plausible(["a" * 4 * read], read)
        assert ContextWindow().is_plausible(["a" * 4 * (read + 5)], read + 5)
    # The first count of a kind of text has nothing but three quarters of the estimate to be held against.
    assert [ContextWindow().is_plausible(["a" * 3750], read) for read in (749, 750)] == [False, True]
    # Half of what was once read may be what a cut left; of less the server had the rest in its memory.
    window = ContextWindow()
    assert [window.is_plausible(["a" * 3750], read) for read in (1000, 500, 450)] == [True, False, True]


@pytest.mark.parametrize("text", [JAPANESE, ENGLISH])
@pytest.mark.parametrize(("japanese", "other"), [(0.6, 0.22), (0.8, 0.25), (1.4, 0.4)])
@pytest.mark.parametrize("read", [0.25, 0.4])
async def test_a_cut_prompt_is_a_failure_that_says_what_to_set(
    text: str, japanese: float, other: float, read: float
) -> None:
    """Whichever the tokenizer: what was read of it is compared with what a part of it was counted as."""
    tokens = by_language(japanese, other)
    most = max(int(tokens(sent({"messages": asked(text)})) * read), 256)
    async with OpenAIServer(counting(tokens, most)) as server, connected() as made:
        with pytest.raises(
            ModelFailure, match=rf"the server cut the prompt: it read {most:,} tokens of"
        ) as met:
            await model_at(server, made).say(asked(text))

    assert "num_ctx or OLLAMA_CONTEXT_LENGTH" in str(met.value)
    assert "コンテキスト" in shown(met.value.message, "ja")


@pytest.mark.parametrize(
    "text", [JAPANESE, ENGLISH, OTHERWISE, "-" * 9000, ENGLISH + " " * 20_000, "あ" * 6000]
)
@pytest.mark.parametrize(("japanese", "other"), [(0.42, 0.17), (0.6, 0.25), (0.8, 0.25), (1.4, 0.5)])
async def test_a_sparing_tokenizer_is_no_cut_prompt(text: str, japanese: float, other: float) -> None:
    """Nor is a long run of blanks, or of one letter, which are few tokens anywhere."""

    def tokens(said: str) -> float:
        return float(by_language(japanese, other)(re.sub(r"(.)\1{9,}", r"\1", said)) + 9)

    async with OpenAIServer(counting(tokens)) as server, connected() as made:
        assert (await model_at(server, made).say(asked(text)))[0] == GOOD


@pytest.mark.parametrize(
    "usage", [{}, {"prompt_tokens": 0}, {"prompt_tokens": 100}, {"prompt_tokens": "few"}]
)
async def test_a_count_that_says_nothing_is_left_alone(usage: dict[str, Any]) -> None:
    """Missing, none, or as few as no context has: made up, or without what was in a cache."""
    async with OpenAIServer(lambda _: Reply(GOOD, usage=usage)) as server, connected() as made:
        assert (await model_at(server, made).say(asked(JAPANESE)))[0] == GOOD

    assert server.counts["chat"] == 1


@pytest.mark.parametrize("count", [300, 1000, 2048])
async def test_the_same_count_for_everything_is_made_up(count: int) -> None:
    """A gateway that counts nothing costs two short calls, and no grade."""
    usage = {"prompt_tokens": count}
    async with OpenAIServer(lambda _: Reply(GOOD, usage=usage)) as server, connected() as made:
        model = model_at(server, made)
        for n in range(3):
            assert (await model.say(asked(f"{n} {JAPANESE}")))[0] == GOOD

    assert server.counts["chat"] == 5


async def test_what_came_from_a_cache_of_the_endpoint_was_read() -> None:
    """Where it is counted apart, and where a long prompt was read whole before."""
    apart = {"prompt_tokens": 300, "cache_read_input_tokens": 5000}
    async with OpenAIServer(lambda _: Reply(GOOD, usage=apart)) as server, connected() as made:
        await model_at(server, made).say(asked(JAPANESE))
    counts = iter([4000, 900])

    def remembered(_request: Any) -> Reply:
        return Reply(GOOD, usage={"prompt_tokens": next(counts)})

    async with OpenAIServer(remembered) as server, connected() as made:
        await model_at(server, made).say(asked(JAPANESE))
        await model_at(server, made).say(asked(JAPANESE + "?"))

    assert server.counts["chat"] == 2


async def test_how_a_model_counts_is_asked_once(tmp_path: Any) -> None:
    """Ten cut prompts cost one short call more, and nothing of them is kept in the cache."""
    cache = ResponseCache("on", tmp_path)
    async with OpenAIServer(counting(len, 2050)) as server, connected(cache=cache) as made:
        for _unused in range(2):
            for n in range(5):
                with pytest.raises(ModelFailure, match="the server cut the prompt"):
                    await model_at(server, made).say(asked(f"{'again ' * n}{JAPANESE}"))

        # Texts of another kind are counted in another way, and asked about once more.
        for n in range(3):
            with pytest.raises(ModelFailure, match="the server cut the prompt"):
                await model_at(server, made).say(asked(f"{n} {ENGLISH[:6000]}"))

    assert server.counts["chat"] == 15
    assert [request.body.get("max_tokens") for request in server.requests].count(16) == 2


@pytest.mark.parametrize(("read", "is_cut"), [(0.38, True), (0.42, False)])
async def test_where_a_part_is_not_counted_only_what_is_impossible_is_cut(read: float, is_cut: bool) -> None:
    """No tokenizer makes of so many bytes so few tokens."""
    size = len(sent({"messages": asked(JAPANESE)}).encode()) / 3.75

    def reply(request: Any) -> Reply:
        if request.get("max_tokens") == 16:
            return Reply(status=400)
        return Reply(GOOD, usage={"prompt_tokens": int(read * size)})

    async with OpenAIServer(reply) as server, connected() as made:
        told = await asyncio.gather(model_at(server, made).say(asked(JAPANESE)), return_exceptions=True)

    assert isinstance(told[0], ModelFailure) is is_cut
    assert not is_cut or f"it read {int(read * size):,} tokens of about {size:,.0f};" in str(told[0])
