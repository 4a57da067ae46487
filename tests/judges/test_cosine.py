"""The cosine judge: bins of the angle between answer and reference."""

import math

import pytest
from simulator.shelves.judges.cosine import cosine
from simulator.shelves.judges.cosine_similarity import cosine_similarity

from simulator.core.types import GradingContext
from tests.run_helpers import a_turn, answered


def an_exhibit(*references: str, turn: int = 1) -> GradingContext:
    earlier = [a_turn(at) for at in range(1, turn)]
    return answered("富士山です。", earlier=earlier, references=(references,) if references else ())


class Angles:
    """Embeddings with a given cosine to the first text."""

    def __init__(self, *cosines: float) -> None:
        self.cosines = (1.0, *cosines)
        self.asked: list[list[str]] = []

    async def __call__(self, texts: list[str]) -> list[list[float]]:
        self.asked.append(texts)
        return [[3 * value, 3 * math.sqrt(1 - value**2)] for value in self.cosines[: len(texts)]]


@pytest.mark.parametrize(
    ("value", "grade"),
    [(-1, 1), (0, 1), (0.19, 1), (0.21, 2), (0.39, 2), (0.41, 3), (0.61, 4), (0.79, 4), (0.81, 5), (1, 5)],
)
async def test_a_cosine_becomes_a_grade_of_five(value: float, grade: int) -> None:
    """Binned at 0.2, 0.4, 0.6 and 0.8; the length of the vectors does not matter."""
    score = await cosine(an_exhibit("富士山"), Angles(value))

    assert (score.state, score.raw, score.value) == ("scored", grade, grade / 5)
    assert score.detail["cosine"] == pytest.approx(value, abs=1e-3)


async def test_the_nearest_reference_counts_and_one_call_embeds_all() -> None:
    """Any of several answers may be right."""
    embed = Angles(0.1, 0.9, 0.5)

    score = await cosine(an_exhibit("桜島", "富士山", "阿蘇山"), embed)

    assert score.raw == 5
    assert embed.asked == [["富士山です。", "桜島", "富士山", "阿蘇山"]]


async def test_vectors_of_another_length_have_no_cosine() -> None:
    """No grade is made of what two of them have in common."""

    async def embed(texts: list[str]) -> list[list[float]]:
        return [[1.0] * length for length, _text in enumerate(texts, 2)]

    with pytest.raises(ValueError, match="zip"):
        await cosine(an_exhibit("富士山"), embed)


@pytest.mark.parametrize("context", [an_exhibit(), an_exhibit("富士山", turn=2)])
async def test_a_turn_without_a_reference_is_skipped(context: GradingContext) -> None:
    """And nothing is embedded for it."""
    embed = Angles(1)

    score = await cosine(context, embed)

    assert (score.state, score.raw, score.value) == ("skipped", None, None)
    assert embed.asked == []


@pytest.mark.parametrize(("value", "shown"), [(-0.5, 0.0), (0.25, 0.25), (0.9, 0.9)])
async def test_the_similarity_is_no_grade(value: float, shown: float) -> None:
    """`cosine_similarity` is the cosine itself, from 0 to 1; of several references the nearest counts."""
    score = await cosine_similarity(an_exhibit("富士山", "高尾山"), Angles(value, -1))
    bare = await cosine_similarity(an_exhibit(), Angles(1))

    assert (score.state, bare.state) == ("scored", "skipped")
    assert score.value == score.raw == pytest.approx(shown)
