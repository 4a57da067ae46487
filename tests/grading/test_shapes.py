"""A text of another shape than asked for costs no grade, and what can be counted is not believed."""

import json
from pathlib import Path
from typing import Any

import pytest

from simulator.core import shelves
from simulator.core.errors import PromptError
from simulator.core.types import CONFLICTS_IGNORED, GradingContext, Language, RedRules, Score
from simulator.grading.cause import CauseReply
from simulator.grading.model_judge import SAID, ModelJudge
from simulator.grading.rubric import Rubric, load_form
from simulator.results.red import red_marks, worst_severity
from tests.results.test_conflicts import reply
from tests.run_helpers import a_case, a_turn, an_exhibit, at, frame, grader, rubric
from tests.servers.openai import OpenAIServer

DEEP: Any = "deep"
for _level in range(900):
    DEEP = [DEEP]
SHAPES: list[Any] = [
    "text", ["two", "texts"], {"a": "text"}, {"1": ["x"], "2": {"y": "z"}}, 5, 0.5, True, None, [], {}, DEEP,
]  # fmt: skip


async def graded(
    said: str, *, alone: bool = False, context: GradingContext | None = None
) -> tuple[Score, int]:
    """The verdict of `turn` on a reply, and how many requests it took."""
    names = ["turn"] if alone else ["turn", "groundedness"]
    async with OpenAIServer(lambda _: said) as server, at(server) as model:
        scores = await grader(model("judge"), names, alone=alone)(context or an_exhibit(), ())
        return scores[0], server.counts["chat"]


def a_reply(alone: bool = False, **fields: Any) -> str:
    """A reply that gives 4 throughout, with these fields in place of its own."""
    whole = json.loads(reply([], 4))
    turn = whole["turn"] | fields
    return json.dumps(turn if alone else whole | {"turn": turn}, ensure_ascii=False)


@pytest.mark.parametrize("field", ["steps", "against", "conclusion"])
@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: type(shape).__name__)
@pytest.mark.parametrize("alone", [True, False])
async def test_a_text_of_another_shape_costs_no_grade(field: str, shape: Any, alone: bool) -> None:
    """Neither the grade nor a second call."""
    score, requests = await graded(a_reply(alone, **{field: shape}), alone=alone)

    assert (score.state, score.raw, requests) == ("scored", 4, 1)


@pytest.mark.parametrize(
    ("shape", "steps", "reason"),
    [
        ({"1": "a", "step 2": "b"}, ["a", "b"], "a b"),
        ([{"price": "wrong"}, ["c", None]], ["price: wrong", "c"], "price: wrong c"),
        ({"tone": {"first": "curt"}}, ["tone: first: curt"], "tone: first: curt"),
        ([4, True], ["4", "true"], "4 true"),
    ],
)
async def test_its_words_are_kept(shape: Any, steps: list[str], reason: str) -> None:
    """In their order, with the keys that say something."""
    score, _ = await graded(a_reply(steps=shape, conclusion=shape))

    assert (score.detail["steps"], score.reason) == (steps, reason)


@pytest.mark.parametrize(
    ("shape", "ignored"),
    [
        (["正解例は4,180円、資料は5,280円"], 1),
        ("正解例は4,180円、資料は5,280円", 1),
        ([{"point": "料金"}, {"reference": "4,180円"}], 1),
        ([["4,180円", "5,280円"]], 1),
        ({"1": {"reference": "4,180円", "passages": "5,280円"}}, 1),
        ([{"reference": ["4,180円"], "passages": None}], 1),
        ([{}, None, "なし"], 0),
        ({}, 0),
        (False, 0),
        (3, 0),
    ],
)
async def test_conflicts_of_another_shape_cost_no_grade(shape: Any, ignored: int) -> None:
    """They are no quotations, and ignored like others that do not stand in reference and passages."""
    score, requests = await graded(a_reply(conflicts=shape))

    assert (score.state, score.raw, requests) == ("scored", 4, 1)
    assert score.detail.get(CONFLICTS_IGNORED, 0) == ignored


@pytest.mark.parametrize("shape", SHAPES[:4], ids=lambda shape: type(shape).__name__)
def test_texts_within_findings_may_have_other_shapes(shape: Any) -> None:
    """Claims, statements and quotations of broken rules."""
    claim = {"claim": shape, "passage": "a", "verdict": "supported"}
    broken = {"rule": "a", "quote": shape, "verdict": "broken"}
    forms = rubric("claims").form, load_form("risk").form

    assert forms[0].model_validate({"claims": [claim], "reason": shape}).claims[0].claim  # type: ignore[attr-defined]
    assert forms[1].model_validate({"verdicts": [broken], "reason": shape}).verdicts[0].quote  # type: ignore[attr-defined]


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: type(shape).__name__)
def test_a_cause_does_not_hang_on_the_shape_of_a_text(shape: Any) -> None:
    """Whatever a model says beside the cause of a red turn."""
    assert CauseReply.model_validate(dict.fromkeys(CauseReply.model_fields, shape) | {"cause": "tone"})


@pytest.mark.parametrize("alone", [True, False])
@pytest.mark.parametrize(
    ("correct", "complete", "said", "counts"),
    [
        (2, 5, 5, 2),
        (5, 2, 4, 2),
        (1, 1, 3, 2),
        (2, 2, 1, 1),
        (2, 5, 2, 2),
        (3, 5, 5, 3),
        (5, 3, 4, 3),
        (3, 2, 5, 2),
        (3, 3, 2, 2),
        (4, 4, 5, 5),
    ],
)
async def test_the_whole_is_no_higher_than_its_rubric_allows(
    correct: int, complete: int, said: int, counts: int, alone: bool
) -> None:
    """3 where correctness or completeness is 3, 2 where one is less; what the model said stays beside it."""
    fields = {"correctness": correct, "completeness": complete, "overall": said}
    score, requests = await graded(a_reply(alone, **fields), alone=alone)

    assert (score.raw, score.value, score.detail["overall"], requests) == (counts, counts / 5, counts, 1)
    assert score.detail.get(SAID) == (said if said != counts else None)


@pytest.mark.parametrize(
    ("fault", "correct", "complete", "said", "severity"),
    [
        ("a condition is missing", 3, 3, 5, "moderate"),
        ("an invention", 2, 5, 5, "major"),
        ("wrong on the main point", 1, 5, 5, "major"),
        ("declined what it should answer", 5, 2, 4, "major"),
        ("right but rude", 5, 5, 3, "moderate"),
    ],
)
async def test_every_fault_is_red(fault: str, correct: int, complete: int, said: int, severity: str) -> None:
    """As grave as the criterion says, and below a target of 80, by the default rules."""
    score, _ = await graded(a_reply(correctness=correct, completeness=complete, overall=said))
    marks = red_marks((score,), RedRules(), "turn")

    assert worst_severity(marks) == severity, fault
    assert marks
    assert (score.value or 0) < 0.8


@pytest.mark.parametrize(
    ("language", "note"),
    [
        ("ja", "結論 （correctness が 1 なので、5 は 2 に）"),
        ("en", "結論 (correctness is 1, so 5 becomes 2)"),
    ],
)
async def test_the_reason_says_so(language: Language, note: str) -> None:
    """In the language of the question."""
    context = an_exhibit(a_case(language), turn=a_turn(1, language))
    score, _ = await graded(a_reply(correctness=1, overall=5), context=context)

    assert score.reason == note


async def test_the_short_form_is_capped_as_well() -> None:
    """`--judging small`."""
    fields = {"conclusion": "c", "response": "partly", "correctness": 5, "completeness": 1, "overall": 5}
    async with OpenAIServer(lambda _: json.dumps(fields)) as server, at(server) as model:
        short = Rubric(shelves.JUDGES / "turn.toml", short=True)
        [score] = await ModelJudge([short], frame(), model("judge"), seed=1, alone=True)(an_exhibit(), ())

    assert (score.raw, score.detail[SAID], score.response) == (2, 5, "partly")


@pytest.mark.parametrize(
    ("value", "caps", "problem"),
    [
        ("grade", "reason = 2", "reason"),
        ("grade", "other = 2", "other"),
        ("findings", "grade = 2", "findings"),
    ],
)
def test_only_grades_cap_and_are_capped(tmp_path: Path, value: str, caps: str, problem: str) -> None:
    """Anything else in `caps` is refused with its name."""
    file = tmp_path / "mine.toml"
    text = '[{0}]\ntitle = "t"\ncriterion = "c"\n[{0}.fields]\nreason = "r"\ngrade = "1-5"\n'
    claims = '[{0}.fields.findings]\nclaim = "c"\npassage = "p"\nverdict = "v"\n'
    fields = '[fields]\nreason = "text"\ngrade = "grade"\nfindings = "claims"\n'
    languages = "".join((text + claims).format(language) for language in ("ja", "en"))
    file.write_text(f'value = "{value}"\ncaps = {{ {caps} }}\n{fields}{languages}', encoding="utf-8")

    with pytest.raises(PromptError, match=f"{problem} is none"):
        Rubric(file)
