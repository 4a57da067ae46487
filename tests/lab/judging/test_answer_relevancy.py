"""The judge answer_relevancy: which questions an answer would answer, and how near they are to that asked."""

from typing import Any

import pytest

from simulator.core.types import GradingContext, Language, Score
from simulator.grading.model_judge import FormFiller
from simulator.grading.panel import FunctionJudge
from simulator.grading.rubric import load_form, load_judge
from tests.golden_files import compare
from tests.grading.test_grading import graded
from tests.grading.test_rubrics import FRAME, as_text
from tests.run_helpers import SAYS, a_rich_case, a_stage, a_turn, an_exhibit, at, frame
from tests.runner.test_estimate import SERVER, calls
from tests.servers.openai import OpenAIServer


async def test_relevancy_is_measured_backwards_from_the_answer() -> None:
    """Questions made from the answer are compared with the one asked; an evasive answer has none."""
    seen: list[list[str]] = []

    async def embed(texts: list[str]) -> list[list[float]]:
        seen.append(texts)
        return [[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [-1.0, 0.0]]

    async def fill(evasive: int) -> Score:
        async def filling(context: GradingContext, name: str) -> Any:
            form = load_form(name)
            return form.form.model_validate({"questions": ["a", "b", "c"], "evasive": evasive})

        given = {"embed": embed, "fill": filling}
        judge = load_judge("answer_relevancy")
        [score] = await FunctionJudge("answer_relevancy", judge, given, frame(), "r")(an_exhibit(), ())  # type: ignore[arg-type]
        return score

    content, evasive = await fill(0), await fill(1)

    assert content.raw == pytest.approx(1 / 3)
    assert evasive.raw == 0
    assert seen == [[an_exhibit().turn.user, "a", "b", "c"]]


async def test_a_failed_form_fails_the_grade() -> None:
    """A model that cannot fill in the form is no fault of the bot's: failed, counted, and not a grade."""
    [score] = await graded(an_exhibit(), lambda _: "I'd rather not.", judges=("answer_relevancy",))

    assert (score.state, score.detail["kind"]) == ("failed", "malformed")


@pytest.mark.parametrize(
    ("judges", "expected"),
    [
        (("answer_relevancy",), {"user": 6, "demo": 6, "judge": 6, "embed": 6}),
        (("answer_relevancy", "cosine"), {"user": 6, "demo": 6, "judge": 6, "embed": 8}),
    ],
)
def test_its_calls_are_forecast(judges: tuple[str, ...], expected: dict[str, int]) -> None:
    """A form a turn, and an embedding of what it is compared with."""
    assert calls(a_stage(SERVER, judges=judges, turns=2)) == expected


@pytest.mark.parametrize("language", ["ja", "en"])
async def test_its_prompt_as_sent(language: Language) -> None:
    """As the endpoint receives it."""
    references = ((), (SAYS[language]["reference"],))
    case = a_rich_case(language).model_copy(update={"references": references})
    context = an_exhibit(case, a_turn(1, language), turn=a_turn(2, language))
    async with OpenAIServer() as server, at(server) as model:
        await FormFiller(lambda name, _case: load_form(name), FRAME, model("judge"), seed=42)(
            context, "answer_relevancy"
        )

    (request,) = server.requests
    compare(f"prompts_judge_answer_relevancy_{language}.txt", as_text(request.body))
