"""A whole conversation is graded once, in a call of its own, when it was held to its end."""

import contextlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from simulator.api.regrade import regrade
from simulator.core.errors import InputError
from simulator.core.settings import Settings
from simulator.core.types import (
    SCRIPTED,
    ChatMessage,
    Conversation,
    Ended,
    GradingContext,
    Language,
    Passage,
    RedRules,
    Results,
    Score,
)
from simulator.grading.rubric import Rubric, load_judge
from simulator.results.causes import root_causes
from simulator.results.red import primary_judge, red_marks
from simulator.results.summary import figures_of
from simulator.runner.conversation import conversation_context, grading_contexts
from simulator.runner.labelled_answers import labelled_context, read_labels
from simulator.runner.plan import read_plan
from simulator.runner.run import hold_conversations
from tests.grading.test_judging import failing
from tests.run_helpers import Quiet, a_case, a_run, a_stage, a_talk, a_turn, echo
from tests.servers.openai import OpenAIServer, play

# What was asked for, of which these shares are settled.
STATES = {0.0: ["not"], 0.25: ["partly", "not"], 0.5: ["partly"], 1.0: ["resolved"]}


def verdict(resolved: float = 0.5, **items: Any) -> str:
    """The reply of the judge."""
    requests = [{"request": state, "turn": 1, "state": state} for state in STATES[resolved]]
    return json.dumps({"requests": requests, "lapses": [], "conclusion": "half of it"} | items)


def a_dialogue(ended: Ended | None = Ended.SATISFIED, turns: int = 2, **more: Any) -> Conversation:
    """A conversation that was held."""
    said = tuple(a_turn(index) for index in range(1, turns + 1))
    return a_talk(a_case(**more)).model_copy(update={"turns": said, "ended": ended, "closing": "どうも。"})


async def graded(conversation: Conversation, reply: str = verdict(), **settings: Any) -> tuple[Score, Any]:
    """The score of a whole conversation, and the request that it took (None: no call)."""
    context = conversation_context(conversation)
    assert context is not None
    async with OpenAIServer(lambda _request: reply) as server:
        stage = a_stage(server, judges=("turn", "conversation"), **settings)
        try:
            [score] = await stage.panel.grade(context)
        finally:
            await stage.close(None)
        return score, server.requests[0].body if server.requests else None


def scored(value: float, **more: Any) -> Score:
    """A score of a whole conversation."""
    about: dict[str, Any] = {"conversation": "c", "turn": 2, "state": "scored", "scale": (0, 1)}
    return Score(judge="conversation", value=value, raw=value, **about | more)


async def test_the_judge_sees_all_turns_with_their_numbers_and_gives_one_score() -> None:
    """Every line under a sealed tag with its turn (the history: 0), the references, and the last words."""
    history = (ChatMessage(role="user", content="前の話"), ChatMessage(role="assistant", content="前の答え"))
    talk = a_dialogue(history=history, references=(("正解の一",), ("正解の二",)))
    score, request = await graded(talk)
    prompt = request["messages"][1]["content"]

    for tag, text in (
        ("customer-0", "前の話"), ("desk-0", "前の答え"), ("customer-1", talk.turns[0].user),
        ("customer-leaving", "どうも。"), ("reference-2", "正解の二"),
    ):  # fmt: skip
        assert f"<{tag} " in prompt.partition(text)[0].splitlines()[-1]
    assert (score.judge, score.turn, score.value, score.scale) == ("conversation", 2, 0.5, (0, 1))
    assert (score.reason, score.is_whole) == ("half of it", True)


async def test_what_names_a_turn_that_does_not_exist_loses_it() -> None:
    """A request its number, a lapse itself, which is counted; 0 stands for none, words are read."""
    requests = [
        {"request": "a", "turn": "turn 1", "state": "Partially", "by": None},
        {"request": "b", "turn": 3, "state": "resolved", "by": 2},
        {"request": "c", "turn": 1, "state": "resolved", "by": 9},
        {"request": "d", "turn": "later", "state": "not", "by": 0},
    ]
    talk = a_dialogue()
    quote = talk.turns[1].answer.text
    lapses = [
        {"turn": [2], "quote": quote, "earlier": 1, "what": "e", "kind": "Loop"},
        {"turn": "later", "quote": "anything", "earlier": 1, "what": "f", "kind": "loops"},
        {"turn": 2, "quote": quote, "earlier": 5, "what": "g", "kind": "promises"},
    ]
    score, _request = await graded(talk, verdict(requests=requests, lapses=lapses))
    listed: Any = score.detail["requests"]

    assert [(each["request"], each["turn"], each["by"]) for each in listed] == [
        ("a", 1, 0), ("b", 0, 2), ("c", 1, 0), ("d", 0, 0),
    ]  # fmt: skip
    assert score.value == score.detail["resolved"] == (0.5 + 1 + 1 + 0) / 4
    assert score.detail["lapses"] == [lapses[0] | {"turn": 2, "kind": "loops"}]
    assert score.detail["dropped"] == 2


def lapse(kind: str, quote: str, turn: int = 2) -> dict[str, Any]:
    """One that the judge names."""
    return {"turn": turn, "quote": quote, "earlier": 1, "what": kind, "kind": kind}


def said_in_turns(*answers: str) -> Conversation:
    """A conversation in which the desk said this."""
    talk = a_dialogue(turns=len(answers))
    turns = [
        turn.model_copy(update={"answer": turn.answer.model_copy(update={"text": text})})
        for turn, text in zip(talk.turns, answers, strict=True)
    ]
    return talk.model_copy(update={"turns": tuple(turns)})


async def test_words_that_do_not_stand_in_the_turn_are_ignored_and_counted() -> None:
    """In either line of it, whatever their width and signs; without words a lapse is none."""
    talk = said_in_turns("送料は500円です。", "送料は無料です。")
    named = [
        lapse("contradictions", "「送料は無料」"),
        lapse("loops", "送料は500円"),
        lapse("closures", "送料は500円", turn=1),
        lapse("overlooked", talk.turns[1].user),
        lapse("promises", ""),
        lapse("mixups", "お荷物は届いています", turn=0),
    ]
    score, _request = await graded(talk, verdict(lapses=named))
    kept: Any = score.detail["lapses"]

    assert [each["kind"] for each in kept] == ["contradictions", "closures", "overlooked"]
    assert score.detail["lapses_ignored"] == 3


async def test_a_lapse_is_of_one_kind() -> None:
    """Of two that say the same words of a turn, the first of the rubric's kinds; of no kind, none."""
    talk = said_in_turns("送料は500円です。", "送料は無料です。ほかにご用は？")
    named = [
        lapse("forgotten", "送料は無料です"),
        lapse("contradictions", "送料は無料"),
        lapse("closures", "ほかにご用は"),
        lapse("rudeness", "ほかにご用は"),
    ]
    score, _request = await graded(talk, verdict(lapses=named))
    kept: Any = score.detail["lapses"]

    assert [each["kind"] for each in kept] == ["contradictions", "closures"]
    assert score.detail["dropped"] == 2


async def test_the_judge_sees_what_was_retrieved_once_and_within_a_limit() -> None:
    """Under the turn where it first came; a bot that shows nothing has no such heading."""
    fees, long = Passage(id="fees", text="解約金は4,800円"), Passage(id="long", text="長" * 8000)
    talk = said_in_turns("はい。", "いいえ。")

    def retrieved(*shown: tuple[Passage, ...]) -> Conversation:
        turns = [
            turn.model_copy(update={"answer": turn.answer.model_copy(update={"passages": passages})})
            for turn, passages in zip(talk.turns, shown, strict=True)
        ]
        return talk.model_copy(update={"turns": tuple(turns)})

    _score, request = await graded(retrieved((fees,), (fees, long)))
    _score, without = await graded(retrieved((), ()))
    prompt = request["messages"][1]["content"]

    assert prompt.count("解約金は4,800円") == 1
    assert "<passage-1 " in prompt.partition("[fees] 解約金は4,800円")[0].splitlines()[-1]
    assert "長長" not in prompt
    assert "省略" in prompt
    assert "passage" not in without["messages"][1]["content"]


@pytest.mark.parametrize("language", ["ja", "en"])
def test_the_worked_example_quotes_its_own_dialogue(language: Language) -> None:
    """Each lapse in words of the turn that it names, no kind twice."""
    rubric = load_judge("conversation")
    assert isinstance(rubric, Rubric)
    [example] = rubric.examples(language)
    lines = {line.partition("-")[2][0]: line for line in example["transcript"] if line.startswith("desk-")}

    assert all(each["quote"] in lines[str(each["turn"])] for each in example["lapses"])
    assert len({each["kind"] for each in example["lapses"]}) == len(example["lapses"]) == 2


@pytest.mark.parametrize(
    ("requests", "share"),
    [
        ([("resolved", 3), ("not", 1)], 0.75),
        ([("not", "3"), ("resolved", "1/3")], 0.25),
        ([("partly", 2), ("resolved", 2)], 0.75),
        ([("resolved", 3), ("not", None)], 0.5),
        ([("resolved", 5), ("not", 1)], 0.5),
        ([("resolved", "high"), ("not", True), ("not", 3)], 1 / 3),
    ],
)
async def test_the_share_is_counted_from_the_list_and_not_believed(
    requests: list[tuple[str, Any]], share: float
) -> None:
    """By the weights from 1 to 3 that it names; without one of them, all requests count the same."""
    listed = [
        {"request": "a", "turn": 1, "weight": weight, "state": state, "by": 0} for state, weight in requests
    ]
    reply = json.dumps({**json.loads(verdict(requests=listed)), "resolved": 0.99})
    score, _request = await graded(a_dialogue(), reply)

    assert score.value == score.raw == score.detail["resolved"] == pytest.approx(share)


async def test_an_empty_list_of_requests_is_asked_for_again() -> None:
    """Nobody comes for nothing; a second empty list is no grade."""
    replies = [verdict(requests=[]), verdict(0.25)]
    context = conversation_context(a_dialogue())
    assert context is not None
    async with OpenAIServer(lambda _request: replies[min(1, server.counts["chat"] - 1)]) as server:
        stage = a_stage(server, judges=("conversation",))
        [score] = await stage.panel.grade(context)
        await stage.close(None)
    never, _request = await graded(a_dialogue(), verdict(requests=None))

    assert (score.value, server.counts["chat"]) == (0.25, 2)
    assert (never.state, never.detail["kind"]) == ("failed", "malformed")


@pytest.mark.parametrize("state", ["settled", ""])
async def test_a_state_that_is_none_makes_the_reply_unreadable(state: str) -> None:
    """It is asked for once more, and then the grade failed."""
    reply = verdict(requests=[{"request": "a", "turn": 1, "state": state}])
    score, _request = await graded(a_dialogue(), reply)

    assert (score.state, score.detail["kind"]) == ("failed", "malformed")


async def test_without_a_model_it_is_skipped_and_without_any_answer_it_is_the_lowest() -> None:
    """Nobody is asked in either case; one answer is enough to ask."""
    whole = conversation_context(a_dialogue())
    assert whole is not None
    [skipped] = await a_stage(judges=("turn", "conversation")).panel.grade(whole)
    silent = a_dialogue().model_copy(update={"turns": (failing(),)})
    lowest, nothing = await graded(silent)
    partly, asked = await graded(silent.model_copy(update={"turns": (a_turn(1), failing())}))

    assert (skipped.state, "会話全体" in skipped.reason) == ("skipped", True)
    assert (lowest.value, lowest.by_rule, nothing) == (0, True, None)
    assert (partly.state, "timeout" in asked["messages"][1]["content"]) == ("scored", True)


@pytest.mark.parametrize("ended", [None, Ended.BUDGET, Ended.INTERRUPTED, Ended.USER_FAILED])
def test_only_what_was_held_to_its_end_is_graded(ended: Ended | None) -> None:
    """Not what was cut off, nor a row of a data set, nor a conversation without a turn."""
    row = a_dialogue().model_copy(update={"persona": SCRIPTED})

    assert [c.closing for c in grading_contexts(a_dialogue())] == [None, None, "どうも。"]
    assert [c.closing for c in grading_contexts(a_dialogue(ended))] == [None, None]
    assert conversation_context(row) is None
    assert conversation_context(a_dialogue(turns=0)) is None


async def rehearsed(
    folder: Path, judges: tuple[str, ...], reply: Callable[[Any], str], then: str = ""
) -> tuple[Results, list[int]]:
    """Three conversations, then the same run `resumed` or `regraded` by both judges; calls of either pass."""
    plan = tuple(a_talk(a_case(id=f"q{n}", question=f"質問その{n}")) for n in range(3))
    calls: list[int] = []
    with contextlib.closing(a_run(folder, plan)) as file:
        for names in (judges, *([("turn", "conversation")] if then else [])):
            async with OpenAIServer(reply) as server:
                stage = a_stage(server, judges=names, turns=2)
                try:
                    if len(calls) and then == "regraded":
                        await regrade(file, stage.grading, lambda *_: None, again=False)
                    else:
                        await hold_conversations(file, stage, echo, Quiet())
                finally:
                    await stage.close(None)
                calls.append(sum(request.body["model"] == "judge-model" for request in server.requests))
        return file.results(), calls


def answer(request: Any) -> str:
    """What models say: one verdict on whole conversations, and whatever fits on the rest."""
    return verdict(0.25) if '"lapses"' in request["messages"][0]["content"] else play(request)


async def test_a_run_grades_each_conversation_once_at_its_last_turn(tmp_path: Path) -> None:
    """The means count conversations, the score is that of turns, and what was not settled is red."""
    results, calls = await rehearsed(tmp_path, ("conversation", "turn"), answer)
    shown = figures_of(results, Settings(judges=("conversation", "turn")))
    whole = [s for s in results.scores if s.judge == "conversation"]

    assert calls == [9]
    assert [(s.turn, s.value) for s in whole] == [(2, 0.25)] * 3
    assert (shown.scores.judges["conversation"].n, shown.scores.judges["conversation"].planned) == (3, 3)
    assert (shown.scores.judges["conversation"].mean, shown.scores.judges["turn"].planned) == (0.25, 6)
    assert shown.scores.primary == "turn"
    assert shown.scores.score == pytest.approx(shown.scores.judges["turn"].mean)
    assert shown.red.kinds["conversation"] == 3
    assert [p.judges["conversation"].planned for p in shown.scores.personas] == [3]


@pytest.mark.parametrize("then", ["resumed", "regraded"])
async def test_it_is_added_to_a_run_that_lacks_it(tmp_path: Path, then: str) -> None:
    """By a resume or by `grade`, and nothing that was graded is paid for again."""
    results, calls = await rehearsed(tmp_path, ("turn",), answer, then)

    assert calls == [6, 3]
    assert len([s for s in results.scores if s.judge == "conversation"]) == 3


def test_a_missing_grade_is_one_of_the_conversation(tmp_path: Path) -> None:
    """It is missing once, not once a turn; customers who left satisfied without an answer are counted."""
    talks = (a_dialogue(), a_dialogue(Ended.GAVE_UP).model_copy(update={"id": "other"}))
    with contextlib.closing(a_run(tmp_path, talks)) as file:
        graded = {"conversations": talks, "scores": (scored(0.49, conversation=talks[0].id),)}
        results = file.results().model_copy(update=graded)
    shown = figures_of(results, Settings())

    assert (shown.scores.judges["conversation"].n, shown.scores.judges["conversation"].unreached) == (1, 1)
    assert shown.ended == {"satisfied_unresolved": 1, "gave_up": 1}
    assert {cause.cause for cause in root_causes(results, shown).values()} == {"unclear"}


@pytest.mark.parametrize(
    ("value", "limit", "marks"),
    [
        (0.51, 0.5, []),
        (0.5, 0.5, ["moderate"]),
        (0.25, 0.5, ["major"]),
        (0.1, None, []),
        (0.7, 0.8, ["moderate"]),
    ],
)
def test_it_has_a_red_rule_of_its_own(value: float, limit: float | None, marks: list[str]) -> None:
    """At the limit or below a turn is red, whatever its own grade; the judge never decides."""
    found = red_marks([scored(value)], RedRules(conversation=limit))

    assert [mark.severity for mark in found] == marks
    assert {mark.kind for mark in found} <= {"conversation"}
    assert primary_judge(("conversation", "relevance")) == "relevance"


def test_rows_have_no_conversation(tmp_path: Path) -> None:
    """The judge is left out for a data set; alone it is refused."""
    file = tmp_path / "rows.csv"
    file.write_text("question,references\nq,a\n", encoding="utf-8")
    rows: dict[str, Any] = {"cases": str(file), "protocol": "single_turn", "adapter": "recorded"}

    assert read_plan(Settings(judges=("contains", "conversation"), **rows)).settings.judges == ("contains",)
    with pytest.raises(InputError, match="name another"):
        read_plan(Settings(judges=("conversation",), **rows))


def test_labelled_dialogues_are_seen_whole(tmp_path: Path) -> None:
    """The history of a row is its earlier turns, however many lines each speaker said in a row."""
    row = {
        "id": "a", "question": "q3", "answer": "a3", "references": ["r3"], "labels": {"resolved": 1},
        "history": [
            {"role": "assistant", "content": "hello"}, {"role": "user", "content": "q2"},
            {"role": "assistant", "content": "a2"}, {"role": "assistant", "content": "more"},
        ],
    }  # fmt: skip
    path = tmp_path / "rows.jsonl"
    path.write_text(json.dumps(row), encoding="utf-8")
    file = read_labels(path)
    seen: GradingContext = labelled_context(file.rows[0], whole=True)

    assert [(t.user, t.answer.text) for t in seen.turns] == [("", "hello"), ("q2", "a2\nmore"), ("q3", "a3")]
    assert (seen.case.references_at(3), seen.turn.index) == (("r3",), 3)
