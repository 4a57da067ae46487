"""Outputs before their judges: graded one by one, held against thresholds, and all in one verdict."""

import json
from pathlib import Path
from typing import Any

import pytest

from simulator.core.types import Failure, GradingContext, RedRules, Score
from simulator.grading.grading import Grading
from simulator.lab.datasets.outputs import OutputPanel, OutputPart, context_of
from simulator.results.red import red_marks
from tests.run_helpers import a_stage, a_turn, answered
from tests.servers.openai import OpenAIServer, Reply

FILE = {
    "default": ["em"],
    "method": ["em"],
    "path": [{"name": "rougeL", "threshold": 0.8}, {"name": "meteor", "threshold": 1}],
}
REFERENCE = {"method": "GET", "path": "/v1/weather", "limit": 1000}


def a_grading(file: object = FILE, server: OpenAIServer | None = None, **settings: Any) -> Grading:
    Path("metrics.json").write_text(json.dumps(file), encoding="utf-8")
    chosen = {"judges": ("passed",), "protocol": "single_turn"} | settings
    return a_stage(server, outputs="metrics.json", **chosen).grading


def a_row(answer: object, *references: object, error: Failure | None = None) -> GradingContext:
    """One row: texts as they are, everything else as JSON."""
    texts = [each if isinstance(each, str) else json.dumps(each, ensure_ascii=False) for each in references]
    text = answer if isinstance(answer, str) else json.dumps(answer, ensure_ascii=False)
    known: Any = {"id": "r", "references": (tuple(texts),) if texts else (), "told": {"error": error}}
    return answered(text, "天気のURLは？", persona="scripted", **known)


async def graded(context: GradingContext, file: object = FILE, **settings: Any) -> dict[str, Score]:
    grading = a_grading(file, **settings)
    return {score.judge: score for score in await grading.panel.grade(context)}


def passed(scores: dict[str, Score]) -> dict[str, object]:
    return {name: score.detail.get("passed") for name, score in scores.items() if name != "passed"}


async def test_each_output_has_judges_of_its_own() -> None:
    """What the file does not name is graded by `default`; what nobody asked for costs nothing and is told."""
    said = '{"method": "get", "path": "/v1/weather", "limit": "１，０００", "note": 1}'
    scores = await graded(a_row(f"はい。\n```json\n{said}\n```", REFERENCE))

    assert passed(scores) == {"method.em": True, "path.rougeL": True, "path.meteor": True, "limit.em": True}
    assert scores["path.rougeL"].detail["output"] == "path"
    assert scores["path.rougeL"].detail["threshold"] == 0.8
    whole = scores["passed"]
    assert (whole.value, whole.scale) == (1, (0, 1))


async def test_identical_text_passes_whatever_meteor_gives() -> None:
    """Its score stays below 1; a threshold of 1 would call the reference itself wrong."""
    score = (await graded(a_row({"path": "／v1／weather"}, {"path": "/v1/weather"})))["path.meteor"]

    assert score.value == pytest.approx(1 - 0.5 / 2**3)
    assert score.detail["passed"] is True


async def test_a_score_at_its_threshold_passes() -> None:
    """2 of 2 words in 3: F is 0.8, and 0.8 is enough."""
    file = {"path": [{"name": "rougeL", "threshold": 0.8}]}
    scores = await graded(a_row({"path": "a b"}, {"path": "a b c"}), file)

    assert scores["path.rougeL"].value == pytest.approx(0.8)
    assert scores["passed"].value == 1


@pytest.mark.parametrize(
    ("answer", "missing"),
    [
        ("わかりません。", dict.fromkeys(("method.em", "path.rougeL", "path.meteor", "limit.em"), "json")),
        ({"method": "GET", "limit": 1e3}, {"path.rougeL": "key", "path.meteor": "key"}),
    ],
)
async def test_what_the_answer_lacks_is_wrong_and_counted(answer: object, missing: dict[str, str]) -> None:
    """0 by rule, 抽出不可; the row is red for what was missed, not for being silent."""
    scores = await graded(a_row(answer, REFERENCE))
    lacking = {name: score for name, score in scores.items() if score.by_rule}
    (mark,) = red_marks(scores.values(), RedRules(), "passed")

    assert {name: score.detail["not_extracted"] for name, score in lacking.items()} == missing
    assert {(score.state, score.value, score.detail["passed"]) for score in lacking.values()} == {
        ("scored", 0, False)
    }
    assert (scores["passed"].value, scores["passed"].by_rule) == (0, False)
    assert mark.kind == "overall"
    assert "抽出不可" in mark.reason


async def test_grades_from_1_to_5_have_thresholds_on_their_own_scale() -> None:
    """What could not be extracted has the low end of the scale, and the value 0."""
    file = {"a": [{"name": "similarity", "threshold": 4}]}
    right = {"a": "返品は14日以内です。"}
    exact, lacking = [(await graded(a_row(said, right), file))["a.similarity"] for said in (right, {})]

    assert ((exact.raw or 0) >= 4, exact.detail["passed"], exact.scale) == (True, True, (1, 5))
    assert (lacking.raw, lacking.value, lacking.detail["passed"]) == (1, 0, False)


async def test_plain_texts_are_one_output() -> None:
    """Numbers in them compare as numbers, too; the run's other judges grade the whole answer."""
    scores = await graded(a_row("１，０００．０", "1000"), judges=("passed", "chrf", "turn"))

    assert passed(scores) == {"default.em": True, "chrf": None, "turn": None}


async def test_without_references_the_named_outputs_are_expected() -> None:
    """A judge that compares is skipped; what the answer lacks is wrong all the same."""
    scores = await graded(a_row({"method": "GET"}))

    assert (scores["method.em"].state, scores["path.rougeL"].detail["not_extracted"]) == ("skipped", "key")
    assert scores["passed"].value == 0


@pytest.mark.parametrize(("answer", "value"), [("", 1), ("x", 0)])
async def test_an_empty_reference_wants_an_empty_answer(answer: str, value: int) -> None:
    """No judge is asked what nothing has to do with nothing."""
    scores = await graded(a_row({"path": answer}, {"path": ""}))

    assert (scores["path.rougeL"].value, scores["path.rougeL"].by_rule) == (value, False)
    assert scores["passed"].value == value


async def test_any_of_several_references_is_right() -> None:
    """Output by output: acceptable answers may differ in all of them."""
    one, other = {"method": "GET", "path": "/b"}, {"method": "PUT"}
    scores = await graded(a_row({"method": "PUT", "path": "/b"}, one, other))

    assert passed(scores) == {"method.em": True, "path.rougeL": True, "path.meteor": True}


async def test_a_silent_bot_is_the_bots_own_failure() -> None:
    """Every output is wrong by rule, and the mark says that there was no answer."""
    error = Failure(kind="timeout", message="no answer within 60 s")
    scores = await graded(a_row("", REFERENCE, error=error))
    marks = red_marks(scores.values(), RedRules(), "passed")

    assert {(score.value, score.by_rule) for score in scores.values()} == {(0, True)}
    assert [mark.kind for mark in marks] == ["no_answer"]


async def test_without_thresholds_nothing_is_decided() -> None:
    """Then there is no verdict on the whole row."""
    assert set(await graded(a_row("富士山", "富士山"), {"default": ["rougeL"]})) == {"default.rougeL"}


async def test_inner_values_may_be_outputs() -> None:
    """Where the file names what is inside a value, the value itself is none."""
    row = a_row({"to": {"city": "東京", "zip": "1"}}, {"to": {"city": "東京", "zip": "2"}})

    assert passed(await graded(row, {"default": ["em"], "to.city": ["em"]})) == {"to.city.em": True}
    assert passed(await graded(row, {"default": ["em"]})) == {"to.em": False}


async def test_a_failing_judge_leaves_the_verdict_open_and_is_asked_again() -> None:
    """What was graded before is taken from the scores themselves: it is paid for."""
    file = {"a": ["em", {"name": "gpt_similarity", "threshold": 0.5}]}
    replies: list[Reply | str] = [Reply(status=400), '{"reason": "同じ", "similarity": 0.9}']
    async with OpenAIServer(lambda _: replies.pop(0)) as server:
        grading = a_grading(file, server)
        row = a_row({"a": "山"}, {"a": "山"})
        first = {score.judge: score for score in await grading.panel.grade(row)}
        done = {name: score for name, score in first.items() if score.state != "failed"}
        assert not set(done) >= grading.names_of(row)
        of_another = {"judge": "a.em@other", "detail": {"output": "a", "passed": False}}
        done["a.em@other"] = first["a.em"].model_copy(update=of_another)  # it decides nothing
        again = {score.judge: score for score in await grading.panel.grade(row, done)}
        await grading.models.close()

    assert {name: score.state for name, score in first.items()} == {
        "a.em": "scored", "a.gpt_similarity": "failed", "passed": "failed",
    }  # fmt: skip
    assert set(again) == {"a.gpt_similarity", "passed"}
    assert again["passed"].value == 1


async def test_one_that_missed_decides_even_where_another_failed() -> None:
    """The row is wrong whatever the judge that failed would have said."""
    file = {"a": ["em", {"name": "gpt_similarity", "threshold": 0.5}]}
    async with OpenAIServer(lambda _: Reply(status=400)) as server:
        grading = a_grading(file, server)
        scores = {score.judge: score for score in await grading.panel.grade(a_row({"a": "川"}, {"a": "山"}))}
        await grading.models.close()

    assert (scores["passed"].state, scores["passed"].value) == ("scored", 0)


async def test_every_output_is_a_call_of_its_own() -> None:
    """The judge is shown the output and its reference, nothing else of the answer."""
    file = {"a": [{"name": "gpt_similarity", "threshold": 0.5}], "b": ["gpt_correctness"]}
    async with OpenAIServer() as server:
        grading = a_grading(file, server, judging="combined")
        assert [rubric.name for rubric in grading.rubrics] == ["llm_similarity", "llm_correctness"]
        await grading.panel.grade(a_row({"a": "一番", "b": "二番"}, {"a": "いち", "b": "に"}))
        await grading.models.close()
        asked = [json.dumps(request.body, ensure_ascii=False) for request in server.requests]

    assert sorted(("一番" in each, "二番" in each) for each in asked) == [(False, True), (True, False)]


def test_the_forecast_counts_unnamed_outputs() -> None:
    """As many as any row has."""
    grading = a_grading({"default": ["gpt_similarity"], "a": ["gpt_correctness"]})
    assert grading.outputs is not None
    assert isinstance(grading.panel, OutputPanel)
    assert len(grading.judges_per_turn) == 2
    grading.outputs.expect([a_row("", {"a": 1, "b": 2, "c": 3, "d": 4}).case, a_row("", {"b": 1}).case])

    assert [name for name, _ in grading.judges_per_turn] == ["llm_similarity"] * 3 + ["llm_correctness"]


def test_an_output_has_its_references_at_its_own_turn_alone() -> None:
    """What is right for it says nothing of the turns before."""
    earlier = [a_turn(1), a_turn(2)]
    context = context_of(OutputPart("path", (), "/v1", ("/v2",)), answered("{}", earlier=earlier))

    assert context.turn.answer.text == "/v1"
    assert context.case.references == ((), (), ("/v2",))
