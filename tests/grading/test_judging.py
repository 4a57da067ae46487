"""A turn is graded by rule where it can be, by a judge where it must be, and a failed judge is no grade."""

import asyncio
import json
import re
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import pytest

from simulator.core.errors import AccessDenied, InputError, ModelFailure, RunFileError
from simulator.core.types import Answer, Embed, Failure, GradingContext, Language, Passage, Score, Turn
from simulator.grading.panel import FunctionJudge, JudgeCall, LexicalStandIn, Panel, by_rule
from simulator.models import patience
from simulator.models.cache import ResponseCache
from simulator.models.client import SHORTEST
from simulator.models.pricing import BudgetSpent
from tests.run_helpers import RUBRICS, SAYS, a_case, a_turn, an_exhibit, at, frame, grader, rubric
from tests.servers.faults import FAULTS, Reply, script
from tests.servers.openai import OpenAIServer, play

TURN_KEYS = (
    "steps", "conflicts", "against", "conclusion", "response", "understanding", "relevance", "completeness",
    "correctness", "coherence", "overall",
)  # fmt: skip


async def grades(
    context: GradingContext, reply: Any = play, *, alone: bool = False, done: Collection[str] = ()
) -> tuple[dict[str, Score], list[Any]]:
    """The scores of the five rubrics, and the requests they took."""
    async with OpenAIServer(reply) as server, at(server) as model:
        names = [[name] for name in RUBRICS] if alone else [RUBRICS]
        panel = Panel([grader(model("judge"), some, alone=alone) for some in names])
        scores = await panel.grade(context, done)
        return {score.judge: score for score in scores}, [request.body for request in server.requests]


def failing(language: Language = "ja", kind: str = "timeout") -> Turn:
    """A turn to which the bot gave no answer."""
    error = Failure.model_validate({"kind": kind, "message": "no answer within 60 s"})
    return a_turn(1, language).model_copy(update={"answer": Answer(text="", error=error)})


@pytest.mark.parametrize("alone", [True, False])
async def test_every_judge_grades(alone: bool) -> None:
    """One call for all or one for each give the same judges in the same order, with reason and detail.

    In the form of each the reason comes before the grade, and every key is ASCII.
    """
    scores, requests = await grades(an_exhibit(), alone=alone)

    assert tuple(scores) == RUBRICS
    assert len(requests) == (5 if alone else 1)
    for name, score in scores.items():
        assert (score.state, score.turn, score.conversation) == ("scored", 1, "angry/fees-1#1")
        assert score.raw in {1, 2, 3, 4, 5}
        assert score.value == score.raw / 5
        # A verdict that one of its parts caps says so behind the judge's words.
        assert score.reason.startswith(str(score.detail["conclusion" if name == "turn" else "reason"]))
        assert len(score.rubric) == 12
    assert tuple(key for key in scores["turn"].detail if key != "said") == TURN_KEYS
    assert scores["turn"].raw == scores["turn"].detail["overall"]
    for request in requests if alone else ():
        form = request["response_format"]["json_schema"]["schema"]
        keys = list(form["properties"])
        assert keys[0] in {"reason", "steps"}
        assert keys[-1] in {"grade", "overall"}
        assert all(key.isascii() for key in keys)
        assert form["required"] == keys


async def test_japanese_goes_over_the_wire_as_written() -> None:
    r"""Question, answer, passage and reference are in the request's bytes; no \u escape is."""
    seen: list[bytes] = []

    class Listening(OpenAIServer):
        def keep(self, request: Any, raw: bytes, body: Any) -> None:
            seen.append(raw)

    async with Listening() as server, at(server) as model:
        await grader(model("judge"))(an_exhibit(), ())

    for key in ("question", "answer", "passage", "reference"):
        assert SAYS["ja"][key].encode() in seen[0]
    assert b"\\u" not in seen[0]


@pytest.mark.parametrize("alone", [True, False])
@pytest.mark.parametrize(
    ("language", "why"), [("ja", "回答2には模範回答がありません"), ("en", "no reference for turn 2")]
)
async def test_without_a_reference_similarity_is_skipped(alone: bool, language: Language, why: str) -> None:
    """On turn 2 of a case with one reference nobody is asked for it, and the score says why."""
    context = an_exhibit(a_case(language), a_turn(1, language), turn=a_turn(2, language))
    scores, requests = await grades(context, alone=alone)

    assert tuple(scores) == RUBRICS
    assert (scores["similarity"].state, scores["similarity"].value) == ("skipped", None)
    assert scores["similarity"].reason == why
    assert {score.state for name, score in scores.items() if name != "similarity"} == {"scored"}
    assert len(requests) == (4 if alone else 1)
    assert '"similarity"' not in requests[0]["messages"][1]["content"]


async def test_the_rubric_hash_is_one_for_the_whole_run() -> None:
    """A skipped or finished judge on one turn, or another language, does not make it another rubric."""
    first, _ = await grades(an_exhibit())
    second, _ = await grades(an_exhibit(a_case("en"), a_turn(1, "en")))
    third, _ = await grades(an_exhibit(), done={"turn", "fluency"})

    hashes = {score.rubric for scores in (first, second, third) for score in scores.values() if score.rubric}
    assert len(hashes) == 1


@pytest.mark.parametrize(
    ("language", "why"), [("ja", "回答がありません：時間切れ"), ("en", "no answer: timeout")]
)
async def test_no_answer_gets_the_lowest_grade_by_rule(language: Language, why: str) -> None:
    """Every judge that the turn has gives 1 of 5, red and major, and no model is asked."""
    scores, requests = await grades(an_exhibit(a_case(language), turn=failing(language)))

    assert requests == []
    for score in scores.values():
        assert (score.state, score.raw, score.value, score.by_rule) == ("scored", 1, 0.2, True)
        assert (score.severity, score.reason) == ("major", why)
    # What would have been skipped is skipped still: a failing bot changes no denominators.
    scores, _ = await grades(an_exhibit(a_case(language, references=()), turn=failing(language)))

    assert scores["similarity"].state == "skipped"
    assert [score.by_rule for score in scores.values()] == [True, True, True, False, True]


@pytest.mark.parametrize(
    ("judge", "kind", "state"),
    [
        ("turn", "timeout", "scored"),
        ("groundedness", "timeout", "scored"),
        ("context_recall", "timeout", "skipped"),
        ("tone", "timeout", None),
        ("conversation", "timeout", "scored"),
        ("expectations", "timeout", "skipped"),
        *((name, "unrecorded", "skipped") for name in ("turn", "tone", "context_recall", "conversation")),
    ],
)
def test_what_a_rule_decides_of_a_turn_without_an_answer(judge: str, kind: str, state: str | None) -> None:
    """The customer can be judged all the same, the retrieval cannot; of a log without it nothing can."""
    context = an_exhibit(turn=failing(kind=kind))
    ruled = by_rule(rubric(judge), context, frame())

    assert (ruled and ruled.state) == state
    assert (ruled and ruled.judge) == (state and judge)
    assert (ruled and ruled.by_rule) == (state and state == "scored")
    answered = context.model_copy(update={"turn": a_turn(2), "earlier": (failing(kind=kind),)})
    assert by_rule(rubric("conversation"), answered, frame()) is None
    assert by_rule(rubric("turn"), answered, frame()) is None


async def test_done_judges_are_not_asked_again() -> None:
    """Only the open ones are in the request; with none open there is none."""
    scores, requests = await grades(an_exhibit(), done={"turn", "fluency"})
    nothing, none = await grades(an_exhibit(), done=set(RUBRICS))

    assert tuple(scores) == ("relevance", "groundedness", "similarity")
    assert '"fluency"' not in requests[0]["messages"][1]["content"]
    assert (nothing, none) == ({}, [])


@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        ("prose", "malformed"), ("off_scale", "malformed"), ("empty", "malformed"),
        ("refusal", "refused"), ("500", "error"), ("context", "error"), ("reset", "unreachable"),
    ],
)  # fmt: skip
async def test_a_failed_judge_gives_no_grade(fault: str, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The score says what failed and how; it has no value, and a malformed reply is kept."""
    monkeypatch.setattr(patience, "FIRST", 0.0)
    said = json.dumps({name: {"reason": "良い。" * 999, "grade": 5} for name in RUBRICS}, ensure_ascii=False)
    reply = FAULTS[fault](said)
    # Where the endpoint answers nothing at all, the run would end.
    scores, _ = await grades(
        an_exhibit(),
        lambda request: "OK" if request["messages"][-1]["content"] == SHORTEST else reply,
    )

    assert tuple(scores) == RUBRICS
    for score in scores.values():
        assert (score.state, score.value, score.raw, score.by_rule) == ("failed", None, None, False)
        assert score.detail["kind"] == kind
        assert score.reason
        assert "\n" not in score.reason
        assert len(score.rubric) == 12
    if kind == "malformed":
        assert scores["turn"].detail["reply"] == (reply.text or "")[:2000]


async def test_half_characters_of_a_judge_can_be_stored() -> None:
    """A lone surrogate in a reason becomes U+FFFD; the score can be written."""
    turn: dict[str, Any] = {
        "steps": ["\udc00"], "against": "資料", "conclusion": "可\0", "response": "answered",
    }  # fmt: skip
    turn |= dict.fromkeys(TURN_KEYS[5:], 5)
    form = {name: {"reason": "良\ud83d", "grade": 5} for name in RUBRICS} | {"turn": turn}
    scores, _ = await grades(an_exhibit(), script([Reply(json.dumps(form))]))

    assert scores["fluency"].reason == "良\ufffd"
    assert all(score.model_dump_json() for score in scores.values())


async def test_a_refused_key_stops_the_panel_at_once() -> None:
    """401 is no failed grade: it ends the run, and judges that are still waiting are not waited for."""
    waiting = asyncio.Event()

    async def stalled(context: GradingContext, done: Collection[str]) -> list[Score]:
        await waiting.wait()
        return []

    async with OpenAIServer(key="right") as server, at(server, key="wrong") as model:
        with pytest.raises(ExceptionGroup) as met:
            await Panel([grader(model("judge")), stalled]).grade(an_exhibit())

    assert met.group_contains(AccessDenied, match="REHEARSAL_JUDGE_KEY")
    assert not waiting.is_set()


async def test_a_spent_budget_lets_what_is_in_flight_arrive() -> None:
    """What is paid for is kept before the panel says that the budget is spent."""
    spent = asyncio.Event()
    kept: list[Score] = []

    async def paid(context: GradingContext, done: Collection[str]) -> list[Score]:
        await spent.wait()
        return [a_score("paid")]

    async def refused(context: GradingContext, done: Collection[str]) -> list[Score]:
        spent.set()
        raise BudgetSpent("the budget of 1 USD is spent")

    with pytest.raises(BudgetSpent):
        await Panel([paid, refused]).grade(an_exhibit(), keep=kept.extend)

    assert [score.judge for score in kept] == ["paid"]


async def test_each_score_is_kept_as_it_arrives() -> None:
    """A quick judge's score is there while a slow one still thinks; the order of the panel stays."""
    quick_is_kept = asyncio.Event()

    def keep(scores: list[Score]) -> None:
        if scores[0].judge == "quick":
            quick_is_kept.set()

    async def slow(context: GradingContext, done: Collection[str]) -> list[Score]:
        await quick_is_kept.wait()
        return [a_score("slow")]

    async def quick(context: GradingContext, done: Collection[str]) -> list[Score]:
        return [a_score("quick")]

    scores = await Panel([slow, quick]).grade(an_exhibit(), keep=keep)

    assert [score.judge for score in scores] == ["slow", "quick"]


def a_score(judge: str) -> Score:
    """A grade."""
    return Score(judge=judge, conversation="angry/fees-1#1", turn=1, state="scored", value=0.8, raw=4)


async def test_a_rubric_without_a_stand_in_is_skipped_offline() -> None:
    """A team's own rubric cannot be played by counting, and says so; rules apply all the same."""
    judging = LexicalStandIn(rubric("fluency"), None, frame())
    [skipped] = await judging(an_exhibit(), ())
    [lowest] = await judging(an_exhibit(turn=failing()), ())

    assert (skipped.state, skipped.reason) == ("skipped", "自然さは、モデルなしでは採点できません")
    assert lowest.by_rule
    assert await judging(an_exhibit(), {"fluency"}) == []


async def embed(texts: list[str]) -> list[list[float]]:
    """The length of each text."""
    return [[float(len(text))] for text in texts]


def judged_by(function: Any, given: Mapping[str, Any] | None = None) -> JudgeCall:
    """A judge that is a function."""
    return FunctionJudge("mine", function, {"embed": embed} | dict(given or {}), frame(), "rubric")


async def test_a_function_gets_what_it_names() -> None:
    """The exhibit comes first; embeddings, references and passages by parameter; sync or async."""

    async def all_of_it(context: GradingContext, passages: Any, embed: Embed, references: Any) -> Score:
        vectors = await embed([context.turn.answer.text, references[0], passages[0].text])
        return a_score("?").model_copy(update={"detail": {"vectors": [v[0] for v in vectors]}})

    def nothing(context: GradingContext) -> Score:
        return a_score("?")

    [score] = await judged_by(all_of_it)(an_exhibit(), ())
    [plain] = await judged_by(nothing)(an_exhibit(), ())

    lengths = [float(len(SAYS["ja"][key])) for key in ("answer", "reference", "passage")]
    assert score.detail["vectors"] == lengths
    assert (score.judge, score.rubric, plain.judge) == ("mine", "rubric", "mine")
    assert await judged_by(nothing)(an_exhibit(), {"mine"}) == []


async def test_a_function_is_skipped_without_what_it_needs() -> None:
    """A parameter `references` or `passages` skips turns that have none; no answer is graded by rule."""

    def judge(context: GradingContext, references: tuple[str, ...], passages: tuple[Passage, ...]) -> Score:
        raise AssertionError

    judging = judged_by(judge)
    [no_reference] = await judging(an_exhibit(a_case(references=())), ())
    [no_passages] = await judging(an_exhibit(turn=a_turn(1, passages=())), ())
    [no_answer] = await judging(an_exhibit(turn=failing()), ())

    assert (no_reference.state, no_passages.state) == ("skipped", "skipped")
    assert (no_answer.raw, no_answer.by_rule) == (1, True)


def test_a_function_that_wants_the_unknown_is_refused() -> None:
    """Before the run starts, with what there is to ask for."""

    def judge(context: GradingContext, phase_of_the_moon: str, *rest: Any, strict: bool = True) -> Score:
        raise AssertionError

    with pytest.raises(InputError) as met:
        judged_by(judge)

    assert str(met.value) == (
        "judge mine wants 'phase_of_the_moon', which nothing fills."
        " It may ask for: embed, passages, references."
    )


WANTED = "not a Score, a number, True or False, or one of these with a reason"


@pytest.mark.parametrize(
    ("result", "kind", "reason"),
    [
        (ZeroDivisionError("division by zero"), "error", "ZeroDivisionError: division by zero"),
        (ModelFailure("timeout", "no reply within 60 s"), "timeout", "no reply within 60 s"),
        (None, "malformed", f"the judge returned NoneType, {WANTED}"),
        (0.8, "off_scale", "the judge returned 0.8, which is not on 1 to 5"),
        (a_score("x").model_copy(update={"value": float("nan")}), "off_scale", "the judge returned nan"),
    ],
)
async def test_a_function_that_fails_gives_no_grade(result: Any, kind: str, reason: str) -> None:
    """A judge of the user's own is outside: what it raises or returns wrongly is a failed score."""

    def judge(context: GradingContext) -> Score:
        if isinstance(result, Exception):
            raise result
        return result  # type: ignore[no-any-return]

    [score] = await judged_by(judge)(an_exhibit(a_case("en")), ())

    assert (score.state, score.detail["kind"]) == ("failed", kind)
    # What the user's code raised ends with its place.
    assert re.sub(rf" \({re.escape(__file__)}, line \d+\)\.$", "", score.reason) == reason
    assert (__file__ in score.reason) == isinstance(result, ZeroDivisionError)


@pytest.mark.parametrize("error", [AccessDenied("denied", "401"), BudgetSpent("spent"), RunFileError("full")])
async def test_what_stops_a_run_passes_through_a_function(error: Exception) -> None:
    """Nothing else can succeed after these."""

    def judge(context: GradingContext) -> Score:
        raise error

    with pytest.raises(type(error)):
        await judged_by(judge)(an_exhibit(), ())


async def test_a_verdict_is_filed_under_its_own_turn() -> None:
    """A function that names another judge, conversation or turn cannot overwrite another's grade."""
    odd = {"judge": "turn", "conversation": "other", "turn": 9, "reason": "\ud800"}
    [score] = await judged_by(lambda context: a_score("?").model_copy(update=odd))(an_exhibit(), ())

    assert (score.judge, score.conversation, score.turn) == ("mine", "angry/fees-1#1", 1)
    assert score.reason == "\ufffd"


def of(conversation: str, index: int = 1, text: str = "") -> GradingContext:
    """A turn of that conversation; `text` is another answer."""
    turn = a_turn(index) if not text else a_turn(index).model_copy(update={"answer": Answer(text=text)})
    return an_exhibit(turn=turn).model_copy(update={"conversation": conversation})


async def test_the_same_first_turn_is_graded_once(tmp_path: Path) -> None:
    """Whoever began so, the cache answers; not another answer, another repeat or a later turn."""
    cache = ResponseCache("on", tmp_path / "replies.sqlite")
    async with OpenAIServer(play) as server, at(server, cache=cache) as model:
        panel = Panel([grader(model("judge"), RUBRICS)])
        same = [of(f"{who}/q#{repeat}") for who, repeat in (("angry", 1), ("calm", 1), ("calm", 2))]
        shown = [*same, of("calm/q#1", text="別の答えです。"), of("a/q#1", 2), of("b/q#1", 2)]
        graded = await asyncio.gather(*map(panel.grade, shown))

    assert len(server.requests) == 5
    for score, other in zip(*graded[:2], strict=True):
        assert other == score.model_copy(update={"conversation": "calm/q#1"})
