"""Judges that are functions: none holds up a dialogue, none ends a run, and each may answer shortly."""

import asyncio
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from simulator.core import shelves
from simulator.core.errors import InputError, ModelFailure
from simulator.core.messages import _
from simulator.core.types import GradingContext, Language, Query, Score
from simulator.grading.panel import FunctionJudge, failed, scale_of
from simulator.grading.rubric import load_judge
from simulator.runner.conversation import ask
from tests.run_helpers import a_case, a_stage, an_exhibit, frame

pytestmark = pytest.mark.usefixtures("apart")

STRICT = '''
from words import BAD

def strict(exhibit):
    """Yes, unless a bad word is said."""
    return BAD not in exhibit.turn.answer.text
'''


def judged_by(function: Callable[..., Any]) -> FunctionJudge:
    """A judge that is a function."""
    return FunctionJudge("mine", function, {}, frame(), "rubric")


async def test_a_slow_judge_takes_none_of_a_bots_time() -> None:
    """A judge that blocks does so beside the loop: the bot answers meanwhile, and is timed alone."""
    answered = threading.Event()

    def slow(context: GradingContext) -> bool:
        return answered.wait(3)

    async def bot(query: Query) -> str:
        await asyncio.sleep(0)
        return "はい"

    grading = asyncio.create_task(judged_by(slow)(an_exhibit(), ()))
    await asyncio.sleep(0)  # the judge is at it
    answer = await ask(bot, Query(text="いくら"), 60)
    answered.set()
    [score] = await grading

    assert (score.state, score.raw) == ("scored", 1)
    assert (answer.seconds or 0.0) < 1


async def test_a_judge_of_ones_own_grades_one_turn_at_a_time() -> None:
    """Its code need not be safe for several threads: the second turn waits for the first."""
    both = threading.Barrier(2)

    def met(context: GradingContext) -> bool:
        try:
            both.wait(0.2)
        except threading.BrokenBarrierError:
            return False
        return True

    judging = judged_by(met)
    found = await asyncio.gather(*(judging(an_exhibit(), ()) for _ in range(3)))

    assert [score.raw for [score] in found] == [0, 0, 0]


async def leaves_later(context: GradingContext) -> Score:
    """An async judge that ends the process."""
    raise SystemExit(3)


def leaves(context: GradingContext) -> Score:
    """A judge that ends the process."""
    raise SystemExit(3)


@pytest.mark.parametrize("judge", [leaves, leaves_later])
async def test_a_judge_that_exits_fails_its_grade_only(judge: Any) -> None:
    """SystemExit of a judge is its own failure: the run goes on, and the bot is not blamed."""
    [score] = await judged_by(judge)(an_exhibit(), ())

    assert (score.state, score.detail["kind"]) == ("failed", "error")
    assert score.reason.startswith(f"SystemExit: 3（{__file__} の")


@pytest.mark.parametrize("result", [Score(state="scored"), Score(state="scored", raw=0.0, scale=(0, 1))])
async def test_scored_without_a_value_is_no_zero(result: Score) -> None:
    """It is a failed grade that says what is missing."""
    [score] = await judged_by(lambda context: result)(an_exhibit(a_case("en")), ())

    assert (score.state, score.value) == ("failed", None)
    assert score.reason == "the judge returned a Score that is scored and has the value None"


async def test_what_a_function_skips_for_want_of_a_model_says_so() -> None:
    """Not what it skips although it was given one, nor what it grades without."""

    def skips(context: GradingContext, fill: Any) -> Score:
        return Score(state="skipped", reason="nothing to ask")

    def counts(context: GradingContext, fill: Any) -> bool:
        return True

    found = [
        await FunctionJudge("mine", function, {"fill": fill}, frame(), "rubric")(an_exhibit(), ())
        for function, fill in ((skips, None), (skips, "a model"), (counts, None))
    ]

    assert [score.detail for [score] in found] == [{"no_model": True}, {}, {}]


async def test_a_short_verdict_is_filed_like_a_long_one() -> None:
    """Under the judge's name and turn, on the scale of `-> bool` or of the module."""

    def polite(context: GradingContext) -> bool:
        return True

    [yes] = await judged_by(polite)(an_exhibit(), ())
    [graded] = await judged_by(lambda context: (4, "ほぼ良い"))(an_exhibit(), ())

    assert (yes.judge, yes.conversation, yes.turn) == ("mine", "angry/fees-1#1", 1)
    assert (yes.raw, yes.scale) == (1, (0, 1))
    assert (graded.raw, graded.value, graded.scale, graded.reason) == (4, 0.8, (1, 5), "ほぼ良い")


def rubric_of(judge: str) -> str:
    """The hash under which this judge's grades are filed."""
    [judging] = a_stage(None, judges=(judge,)).panel.judge_calls
    return str(judging.rubric)  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", ["checks.py", "words.py"])
def test_another_code_is_another_rubric(tmp_path: Path, name: str) -> None:
    """Grades of a judge whose file, or a file beside it that it imports, has changed are not mixed."""
    (tmp_path / "checks.py").write_text(STRICT, encoding="utf-8")
    (tmp_path / "words.py").write_text("BAD = 'いいえ'\n", encoding="utf-8")
    (tmp_path / "other.py").write_text("GOOD = 'はい'\n", encoding="utf-8")
    first = rubric_of("checks.py:strict")
    (tmp_path / "other.py").write_text("GOOD = 'ええ'\n", encoding="utf-8")
    same = rubric_of("checks.py:strict")
    with (tmp_path / name).open("a", encoding="utf-8") as file:
        file.write("MORE = 1\n")

    assert first == same
    assert rubric_of("checks.py:strict") != first


@pytest.mark.parametrize(
    ("name", "files"),
    [
        ("rouge_l", {"rouge_l.py", "_text_metrics.py", "_text_metrics.toml"}),
        ("cosine", {"cosine.py", "_angle.py", "_text_metrics.py", "_text_metrics.toml"}),
    ],
)
def test_a_judge_of_the_shelf_is_made_of_its_files(name: str, files: set[str]) -> None:
    """What it imports from the shelf, and the texts of both, are part of its rubric."""
    judge = load_judge(name)

    assert callable(judge)
    assert {path.name for path in shelves.judge_files(judge)} == files


def test_judges_of_two_files_of_one_name_have_their_own_scales(tmp_path: Path) -> None:
    """The second checks.py does not take the place of the first."""
    for folder, scale in (("a", "(0, 1)"), ("b", "(0, 10)"), ("c", "5")):
        (tmp_path / folder).mkdir()
        text = f"SCALE = {scale}\n\ndef strict(exhibit):\n    return True\n"
        (tmp_path / folder / "checks.py").write_text(text, encoding="utf-8")
    first, second, wrong = (load_judge(f"{folder}/checks.py:strict") for folder in "abc")

    assert scale_of(first) == (0, 1)  # type: ignore[arg-type]
    assert scale_of(second) == (0, 10)  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"checks\.py: SCALE must be two numbers, such as \(0, 1\)\.$"):
        scale_of(wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("language", "reason"),
    [("ja", "返答に JSON オブジェクトがありません"), ("en", "there is no JSON object in the reply")],
)
def test_why_a_grade_failed_is_said_in_the_language_of_the_conversation(
    language: Language, reason: str
) -> None:
    """Reports show it to people; what an endpoint said itself stays as it is."""
    error = ModelFailure("malformed", _("there is no JSON object in the reply"))

    assert failed("turn", an_exhibit(a_case(language)), error, "rubric").reason == reason
