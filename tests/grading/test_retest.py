"""Turns that models grade twice: how often a verdict changes, and what that means for colour and interval."""

import json
from collections import Counter
from collections.abc import Iterator
from math import isclose, sqrt
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.core.settings import Settings
from simulator.core.types import GradingContext, RedRules, Results, Score
from simulator.grading.panel import Retest
from simulator.results.gate import gate_of
from simulator.results.intervals import (
    Clusters,
    p_below,
)
from simulator.results.red import is_flipped, red_marks
from simulator.results.summary import figures_of, summarise
from simulator.runner.estimate import forecast
from simulator.runner.run import hold_conversations
from tests.commands import Command
from tests.diff_runs import a_result
from tests.run_helpers import Quiet, a_case, a_run, a_stage, a_talk, echo
from tests.sample_runs import rehearsed
from tests.servers.openai import OpenAIServer, Reply, play, serve

ChatRequest = dict[str, Any]
KNOWN: dict[str, Any] = {"conversation": "calm/a#1", "turn": 1, "state": "scored"}


def scored(judge: str, raw: float, **detail: Any) -> Score:
    """A grade of 1..5."""
    return Score(**KNOWN, judge=judge, value=raw / 5, raw=raw, reason=f"{judge} {raw:g}", detail=detail)


def twice(first: Score, second: Score) -> Score:
    """A grade with the one that the judge gave the second time."""
    kept = second.model_dump(mode="json", include={"state", "value", "raw", "severity", "reason", "detail"})
    return first.model_copy(update={"detail": {**first.detail, "retest": kept}})


BETTER = twice(scored("turn", 3), scored("turn", 5))
SKIPPED = Score(judge="turn", conversation="calm/a#1", turn=1, state="skipped", detail={"conflicts": [{}]})
FAILED = Score(judge="turn", conversation="calm/a#1", turn=1, state="failed", reason="timeout")


@pytest.mark.parametrize(
    ("scores", "kinds"),
    [
        ([twice(scored("turn", 2), scored("turn", 4))], []),
        ([twice(scored("turn", 4), scored("turn", 2))], []),
        ([twice(scored("turn", 2), scored("turn", 3))], ["overall moderate"]),
        ([twice(scored("turn", 3), scored("turn", 2))], ["overall moderate"]),
        ([twice(scored("turn", 2), SKIPPED)], []),
        ([twice(scored("turn", 2), FAILED)], ["overall major"]),
        # What is red for another reason the second time is still red.
        ([BETTER, twice(scored("groundedness", 5), scored("groundedness", 2))], ["overall moderate"]),
        # A judge that was not asked again says the same as before.
        ([twice(scored("turn", 2), scored("turn", 5)), scored("facts", 1)], ["facts major"]),
        ([twice(scored("turn", 4, correctness=1), scored("turn", 4, correctness=5))], []),
    ],
)
def test_a_turn_graded_twice_is_red_only_if_it_is_both_times(scores: list[Score], kinds: list[str]) -> None:
    """And as gravely as the milder of the two."""
    marks = red_marks(scores, RedRules())

    assert [f"{mark.kind} {mark.severity}" for mark in marks] == kinds


@pytest.mark.parametrize(
    ("score", "flipped"),
    [
        (scored("turn", 4), False),
        (twice(scored("turn", 4), scored("turn", 4)), False),
        (twice(scored("turn", 4), scored("turn", 5)), True),
        (twice(scored("turn", 4, correctness=2), scored("turn", 4, correctness=3)), True),
        (twice(scored("turn", 4, correctness=4), scored("turn", 4, correctness=3)), False),
        (twice(scored("turn", 4), SKIPPED), True),
        (twice(scored("turn", 4), FAILED), False),
        (scored("turn", 4, retest="a word of the user's own judge"), False),
        (scored("turn", 4, retest={"mine": 1}), False),
    ],
)
def test_a_flip_is_another_grade_or_another_colour(score: Score, flipped: bool) -> None:
    """A second grading that failed says nothing; what else is called so in a detail is none."""
    assert is_flipped(score, RedRules()) is flipped


def test_what_failed_the_second_time_was_graded_once() -> None:
    """Of thirteen turns four, which count as nothing; another grade is a flip."""
    results = rehearsed()
    first = [score for score in results.scores if score.judge == "turn"]
    lost = {"state": "failed", "value": None, "raw": None}
    seconds: list[dict[str, Any]] = [{}] * (len(first) - 5) + [{"raw": 5, "value": 1.0}] + [lost] * 4
    scores = [twice(score, score.model_copy(update=told)) for score, told in zip(first, seconds, strict=True)]
    again = results.model_copy(update={"scores": tuple(scores)})
    summary = summarise(again, rules=RedRules(), judges=("turn",), seed=1)
    found = summary.scores.judges["turn"].retest

    assert found
    assert (found.n, found.flips, found.failed) == (len(first) - 4, 1, 4)
    turns = Counter(score.conversation for score in first if score.value is not None)
    assert summary.scores.noise == pytest.approx(found.variance * fmean(1 / n for n in turns.values()))


CASES = [f"q{n}" for n in range(12)]
VALUES = [0.2, 0.4, 0.6, 0.8, 1.0, 0.8] * 2


def test_the_p_value_is_that_of_a_sum_with_a_normal_error() -> None:
    """Against a hundred thousand draws of weights and errors."""
    found = Clusters(np.array(VALUES), np.ones(12), floor=0.2, noise=0.3)
    random = np.random.default_rng(5)
    weights = random.standard_exponential((100_000, 13))
    sums = weights[:, :12] @ (np.array(VALUES) - 0.5) + weights[:, 12] * (0.2 - 0.5)
    drawn = float(np.mean(sums + random.normal(0, sqrt(0.3 * 12), 100_000) <= 0))

    assert abs(p_below(found, 0.5) - drawn) < 0.006


@pytest.mark.parametrize("figure", ["score", "relevance"])
@pytest.mark.parametrize(
    ("again", "low", "decision"),
    # Always 5: 0.2 + 0.8 * 0.05 ** (1 / 6). 4 the second time: a variance of 0.02 for each grade.
    [(1.0, 0.685570, "passed"), (0.8, 0.664676, "undecided")],
)
def test_the_bound_of_a_gate_allows_for_second_gradings(
    figure: str, again: float, low: float, decision: str
) -> None:
    """Six questions that all got a 5: what decides is the lower bound, by numerical integration of scipy."""
    run = a_result(
        {(f"q{n}", "calm", 1): [1.0] for n in range(6)}, judges=("turn", "relevance"), offline=False
    )
    second = {"value": again, "raw": 5 * again}
    scores = tuple(twice(score, score.model_copy(update=second)) for score in run.scores)
    run = run.model_copy(update={"scores": scores})
    settings = Settings(target=f"{figure} >= 0.67", confidence=0.95, judges=("turn", "relevance"))
    gate = gate_of(run, figures_of(run, settings), settings)
    condition = gate.conditions[0]

    assert condition.bounds
    assert condition.bounds[0] == pytest.approx(low, abs=1e-6)
    assert condition.decision == decision


@given(st.floats(0.05, 0.95), st.integers(0, 99))
def test_the_sample_is_drawn_by_the_seed_and_is_as_large_as_asked(share: float, seed: int) -> None:
    """A larger share draws the same turns and more."""

    async def judge(_context: GradingContext, _done: object) -> list[Score]:
        return []

    few, more = (Retest(each, seed, {judge: judge}) for each in (share, min(1.0, share + 0.3)))
    turns = [(f"calm/q{n}#1", turn) for n in range(200) for turn in (1, 2)]
    drawn = {each for each in turns if few.draws(*each)}

    assert drawn <= {each for each in turns if more.draws(*each)}
    assert abs(len(drawn) - 400 * share) < 5 * sqrt(400 * share * (1 - share)) + 1
    assert not Retest(share, seed, {}).draws(*turns[0])


class Judge:
    """A model that grades each turn by these grades in turn, and again from the first; None is no JSON."""

    def __init__(self, *grades: int | None) -> None:
        self.grades, self.asked = grades, Counter[str]()

    def __call__(self, request: ChatRequest) -> str:
        prompt = json.dumps(request["messages"][:2])
        grade = self.grades[self.asked[prompt] % len(self.grades)]
        self.asked[prompt] += 1
        return "-" if grade is None else with_grade(request, grade)


def with_grade(request: ChatRequest, grade: int) -> str:
    """The form filled in with this grade."""
    filled: dict[str, Any] = json.loads(play(request))
    filled |= dict.fromkeys({"overall", "grade", "correctness", "completeness"} & filled.keys(), grade)
    return json.dumps(filled, ensure_ascii=False)


BOT = 'def answer(question):\n    return "Delivery costs 550 yen.", ["Delivery costs 550 yen."]\n'
ROWS = "id,question,references\n" + "".join(
    f"q{n},How much is delivery to place {n}?,Delivery costs 550 yen.\n" for n in range(6)
)
EVALUATE = (
    "evaluate", "rows.csv", "--adapter", "bot.py:answer", "--judges", "turn,rouge_l", "--causes", "ids",
    "--json",
)  # fmt: skip


@pytest.fixture
def desk(monkeypatch: pytest.MonkeyPatch) -> Iterator[OpenAIServer]:
    """Six rows, a bot, and a model that gives each turn a 2 and a 4."""
    Path("bot.py").write_text(BOT, encoding="utf-8")
    Path("rows.csv").write_text(ROWS, encoding="utf-8")
    with serve(Judge(2, 4)) as server:
        monkeypatch.setenv("REHEARSAL_JUDGE_URL", server.url)
        yield server


def test_a_run_tells_how_often_its_judge_changes_its_mind(command: Command, desk: OpenAIServer) -> None:
    """Every turn got a 2 and a 4: none is red, the mean is that of the first, and its error allows for it."""
    done = command(*EVALUATE, "--retest", "1")
    found = done.json
    first = [score.value or 0.0 for score in done.run.scores.of_judge("turn")]
    mean = sum(first) / 6
    # Half of (0.8 - 0.4)² over six grades, beside the spread between the questions.
    error = sqrt(0.08 / 6 + sum((value - mean) ** 2 for value in first) / 5 / 6)

    assert (done.code, len(desk.requests), found["red"]) == (0, 12, 0)
    assert len({request.body["seed"] for request in desk.requests}) == 12
    assert found["judges"]["turn"]["retest"] == {"n": 6, "flips": 6}
    assert "retest" not in found["judges"]["rouge_l"]
    assert isclose(found["judges"]["turn"]["mean"], mean, abs_tol=1e-4)
    assert isclose(found["judges"]["turn"]["stderr"], error, abs_tol=1e-4)


def test_what_a_rule_grades_is_graded_once(command: Command, desk: OpenAIServer) -> None:
    """An answer that never came has the lowest grade, whatever is asked again."""
    Path("bot.py").write_text(
        f"{BOT}\n\ndef lost(question):\n    assert '0' not in question\n    return answer(question)\n"
    )
    some = [word.replace(":answer", ":lost") for word in EVALUATE]

    assert command(*some, "--retest", "1").json["judges"]["turn"]["retest"] == {"n": 5, "flips": 5}


def test_both_verdicts_are_in_the_cache_each_for_itself(command: Command, desk: OpenAIServer) -> None:
    """The same turns, graded again from the start, cost nothing and get the same verdicts."""
    first = command(*EVALUATE, "--retest", "0.5")
    calls = len(desk.requests)
    again = command("grade", "latest", "--again", "--json")

    assert 6 < calls < 12
    assert first.json["judges"]["turn"]["retest"]["flips"] == calls - 6
    assert len(desk.requests) == calls
    assert again.json["judges"] == first.json["judges"]


def test_an_earlier_run_is_graded_twice_where_it_is_graded(command: Command, desk: OpenAIServer) -> None:
    """By judges that have not graded it yet, and with `--again` by the others, too."""

    def grade(*arguments: str) -> Any:
        return command("grade", "latest", "--retest", "1", "--json", *arguments).json["judges"]

    command(*EVALUATE)
    kept, calls = grade("--judges", "turn"), len(desk.requests)
    more, anew = grade("--judges", "fluency"), grade("--judges", "turn", "--again")

    assert ("retest" in kept["turn"], calls) == (False, 6)
    assert more["fluency"]["retest"] == {"n": 6, "flips": 6}
    assert anew["turn"]["retest"]["n"] == 6


@pytest.mark.parametrize("judges", ["turn", "rouge_l"])
def test_where_no_model_grades_a_retest_is_refused(command: Command, judges: str) -> None:
    """Counting says the same twice."""
    done = command("--offline", "--persona", "calm", "--limit", "1", "--judges", judges, "--retest", "0.2")

    assert done.code == 2
    assert "--retest has nothing to grade twice" in done.err


def test_a_second_grading_that_fails_changes_nothing(command: Command, desk: OpenAIServer) -> None:
    """It is counted, and the verdict that there is stands; where the first one fails, there is none."""
    desk.reply = Judge(2, None, None)
    done = command(*EVALUATE, "--retest", "1")
    judge = done.json["judges"]["turn"]
    lost = [score for score in done.run.scores.of_judge("turn", "scored") if score.second is None]

    assert (judge["n"] + judge["failed"], judge["retest"]) == (6, {"n": 0, "flips": 0})
    assert (done.json["red"], len(lost)) == (judge["n"], judge["n"])


PLAN = [a_talk(a_case(id=f"q{n}", question=f"プラン{n}はいくらですか")) for n in range(4)]
JUDGES = ("turn", "relevance", "conversation", "risk", "rouge_l")


async def calls(folder: Path, server: OpenAIServer, **settings: Any) -> tuple[int, int, Results]:
    """The calls of judges that were forecast at most, those that were made, and the run."""
    stage = a_stage(server, judges=JUDGES, turns=2, **settings)
    expected = [spent for (role, _model), spent in forecast(stage, PLAN).high.items() if role == "judge"]
    file = a_run(folder, PLAN)
    try:
        await hold_conversations(file, stage, echo, Quiet())
        results = file.results()
    finally:
        file.close()
        await stage.close(None)
    return sum(spent.calls for spent in expected), results.spending["judge"].calls, results


@pytest.mark.parametrize("more", [{}, {"judging": "separate"}])
async def test_what_is_graded_twice_is_in_the_forecast(
    tmp_path: Path, more: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """To the call: the sample of turns is known beforehand, and every conversation goes on to its end."""
    async with OpenAIServer() as server:
        monkeypatch.setenv("REHEARSAL_JUDGE_URL", server.url)
        expected, made, results = await calls(tmp_path, server, retest=0.4, **more)
    twice = [score for score in results.scores if "retest" in score.detail]
    drawn = {(score.conversation, score.turn) for score in twice if score.judge == "turn"}

    assert made == expected
    assert {score.judge for score in twice} == {"turn", "relevance", "conversation"}
    assert {(score.conversation, score.turn) for score in twice} == drawn
    assert 0 < len(drawn) < 8


def test_a_resumed_run_has_the_same_second_verdicts(command: Command, desk: OpenAIServer) -> None:
    """Cut off in the middle and taken up again, it ends like one that was not."""

    def by_seed(request: ChatRequest) -> str:
        return with_grade(request, request["seed"] % 5 + 1)

    def cut_off(request: ChatRequest) -> str | Reply:
        return by_seed(request) if len(desk.requests) < 5 else Reply(status=401)

    desk.reply = by_seed
    whole = command(*EVALUATE, "--retest", "0.5", "--cache", "off", "--runs", "whole", "--calls", "1")
    desk.requests.clear()
    desk.reply = cut_off
    cut = command(*EVALUATE, "--retest", "0.5", "--cache", "off", "--calls", "1")
    some = list(cut.run.scores.of_judge("turn"))
    desk.reply = by_seed
    resumed = command("evaluate", "--resume", "latest", "--json")

    assert cut.code == 3
    assert 0 < sum(score.state == "scored" for score in some) < 6
    assert resumed.json["judges"] == whole.json["judges"]
    assert resumed.json["judges"]["turn"]["retest"]["n"] > 0
