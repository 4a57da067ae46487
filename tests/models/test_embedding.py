"""Embeddings asked for together go out together; each gets its own, and only the cause of a failure fails."""

import asyncio

import pytest

from simulator.core.errors import AccessDenied, ModelFailure
from simulator.models.embedding import EmbeddingBatcher, Embeddings


class Endpoint:
    """Embeds a text as itself; texts that begin with `bad` fail the whole request."""

    def __init__(self, failure: ModelFailure | None = None) -> None:
        self.failure = failure or ModelFailure("error", "400: too long")
        self.requests: list[list[str]] = []

    async def __call__(self, texts: list[str]) -> Embeddings:
        self.requests.append(texts)
        if any(text.startswith("bad") for text in texts):
            raise self.failure
        return Embeddings(list(texts), sum(map(len, texts)))


async def test_what_is_asked_at_once_is_one_request() -> None:
    """Equal texts are sent once; everybody gets the rows of their own texts, in their order."""
    endpoint = Endpoint()
    batches = EmbeddingBatcher(endpoint)
    found = await asyncio.gather(*(batches([f"回答{n}", "正解"]) for n in range(20)))

    assert endpoint.requests == [["回答0", "正解", *(f"回答{n}" for n in range(1, 20))]]
    assert [list(each.rows) for each in found] == [[f"回答{n}", "正解"] for n in range(20)]


async def test_the_tokens_are_shared_out_to_the_last_one() -> None:
    """Longer texts have the larger shares, which add up to what the endpoint counted."""
    batches = EmbeddingBatcher(Endpoint())
    found = await asyncio.gather(batches(["a" * 500]), batches(["b" * 7]), batches(["c" * 50]))

    assert sum(each.tokens for each in found) == 557
    assert found[0].tokens > found[2].tokens > found[1].tokens > 0


async def test_a_failure_is_nobody_elses() -> None:
    """A refused request is split until its cause is alone."""
    endpoint = Endpoint()
    batches = EmbeddingBatcher(endpoint)
    texts = [["bad" if n == 11 else f"t{n}"] for n in range(16)]
    found = await asyncio.gather(*map(batches, texts), return_exceptions=True)

    assert [n for n, each in enumerate(found) if isinstance(each, ModelFailure)] == [11]
    assert len(endpoint.requests) == 9


@pytest.mark.parametrize("failure", [AccessDenied("denied", "401"), ModelFailure("unreachable", "gone")])
async def test_what_no_smaller_request_can_mend_is_not_tried_again(failure: ModelFailure) -> None:
    """A refused key, an endpoint that is not there: one request, and everybody is told."""
    endpoint = Endpoint(failure)
    batches = EmbeddingBatcher(endpoint)
    found = await asyncio.gather(batches(["bad"]), batches(["good"]), return_exceptions=True)

    assert list(found) == [failure, failure]
    assert len(endpoint.requests) == 1


async def test_a_request_is_no_larger_than_endpoints_take() -> None:
    """More texts go into the next request."""
    endpoint = Endpoint()
    batches = EmbeddingBatcher(endpoint)
    await asyncio.gather(*(batches([f"{n}", f"正解{n}"]) for n in range(64)))

    assert [len(request) for request in endpoint.requests] == [64, 64]
    endpoint.requests.clear()
    await asyncio.gather(*(batches([f"{n}"]) for n in range(65)))
    assert [len(request) for request in endpoint.requests] == [64, 1]


async def test_whoever_gives_up_takes_nobody_along() -> None:
    """A cancelled one is left out before the request, and not missed after it."""
    endpoint = Endpoint()
    batches = EmbeddingBatcher(endpoint)
    asked = [asyncio.create_task(batches([text])) for text in "abc"]
    await asyncio.sleep(0)
    asked[1].cancel()
    found = await asyncio.gather(*asked, return_exceptions=True)

    assert endpoint.requests == [["a", "c"]]
    assert isinstance(found[1], asyncio.CancelledError)
    assert isinstance(found[2], Embeddings)


async def test_closing_gives_up_what_is_under_way() -> None:
    """Nobody is left waiting for an endpoint that never answers."""
    begun = asyncio.Event()

    async def hang(_: list[str]) -> Embeddings:
        begun.set()
        await asyncio.Event().wait()
        return Embeddings([], 0)

    batches = EmbeddingBatcher(hang, tick=0)
    asked = asyncio.create_task(batches(["a"]))
    await begun.wait()
    batches.tick = 60
    unsent = asyncio.create_task(batches(["b"]))
    await asyncio.sleep(0)
    await batches.close()

    for given_up in (asked, unsent):
        with pytest.raises(asyncio.CancelledError):
            await given_up


async def test_whatever_goes_wrong_is_told_to_all_who_wait() -> None:
    """A mistake of ours, too: nobody waits for ever."""

    async def broken(_: list[str]) -> Embeddings:
        raise ZeroDivisionError

    batches = EmbeddingBatcher(broken)
    found = await asyncio.gather(batches(["a"]), batches(["b"]), return_exceptions=True)

    assert [type(error) for error in found] == [ZeroDivisionError] * 2


async def test_a_request_is_no_longer_than_endpoints_read() -> None:
    """60,000 characters; a call is never divided, so that a longer one goes out alone."""
    endpoint = Endpoint()
    batches = EmbeddingBatcher(endpoint)
    await asyncio.gather(*(batches([text]) for text in ("a" * 59_999, "b", "c", "d" * 60_001, "e")))

    assert [[text[0] for text in request] for request in endpoint.requests] == [
        ["a", "b"],
        ["c"],
        ["d"],
        ["e"],
    ]
