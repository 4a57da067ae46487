"""Cells and JSON values mean what people mean by them, or are refused with what is accepted."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from simulator.cases.cases import read_cases
from simulator.cases.headings import COLUMNS
from simulator.core.errors import CaseFileError
from simulator.core.types import Answer, ChatMessage, Facts, Failure, Passage
from tests.case_files import as_csv, from_cell, one, refusal, saved
from tests.properties import examples

SAME_FOLDER = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=examples(60))
LINE = st.text(st.characters(codec="utf-8", exclude_categories=["C", "Z"]), min_size=1)
KEYS = st.sampled_from(["role", "content", "question", "reference", "knows", "text"])


def test_turns_of_a_recorded_dialogue(tmp_path: Path) -> None:
    """Turns become the first question with references per turn; `answerable` is that of the first."""
    yes = {"answerability": "answerable"}
    turns = [
        {"question": "首都は?", "references": ["奈良", "平城京"], "gold_passage_ids": ["p1"], **yes},
        {"question": "高さは?", "reference": "約15m", "gold_passage_ids": ["p1", "p2"], **yes},
        {"question": "値段は?", **yes},
    ]

    case = one(tmp_path, turns=turns)

    assert (case.question, case.language, case.answerable) == ("首都は?", "ja", True)
    assert case.references == (("奈良", "平城京"), ("約15m",), ())
    assert case.passages == ("p1", "p2")
    assert case.script == ("高さは?", "値段は?")
    assert case.recorded == ()


@example(opening="N/A", said=["None", "nan"], answered=True)
@given(opening=st.none() | LINE, said=st.lists(LINE, min_size=1, max_size=4), answered=st.booleans())
@SAME_FOLDER
def test_whole_dialogues(tmp_path: Path, opening: str | None, said: list[str], answered: bool) -> None:
    """Every line of a dialogue is kept: history, question, script, and what the bot answered to each."""
    replies = [f"re: {line}" for line in said]
    lines = [line for pair in zip(said, replies, strict=True) for line in pair][: None if answered else -1]
    roles = ["user", "assistant"] * len(said)
    turns = [{"role": role, "content": line} for role, line in zip(roles, lines, strict=False)]
    first = [{"role": "assistant", "content": opening}] if opening else []

    case = one(tmp_path, turns=[*first, *turns])

    assert [line.content for line in case.history] == ([opening] if opening else [])
    assert [case.question, *case.script] == said
    assert [answer.text for answer in case.recorded] == (replies if answered else replies[:-1])
    assert not any(case.references)


def test_lines_of_one_speaker_are_one_turn(tmp_path: Path) -> None:
    """Two messages in a row belong together, so that every answer stands beside what it answers."""
    case = one(
        tmp_path,
        turns=[
            {"role": "user", "content": "こんにちは"},
            {"role": "user", "content": "料金は?"},
            {"role": "assistant", "content": "はい", "passage_ids": "p1", "contexts": ["月額4,180円"]},
            {"role": "assistant", "content": "4,180円です", "passage_ids": ["p2"], "contexts": ["税込"]},
        ],
    )

    assert case.question == "こんにちは\n料金は?"
    assert case.references == ()
    assert case.recorded[0].text == "はい\n4,180円です"
    assert [(p.id, p.text) for p in case.recorded[0].passages] == [("p1", "月額4,180円"), ("p2", "税込")]


def test_recorded_answers_in_turns(tmp_path: Path) -> None:
    """An answer stands at its turn, with the texts it was made from; a turn without one has an empty text."""
    case = one(
        tmp_path,
        turns=[
            {"question": "a"},
            {"question": "b", "answer": "B", "contexts": ["x"], "gold_passage_ids": ["p", "q"]},
            {"question": "c"},
        ],
    )

    assert case.script == ("b", "c")
    assert case.recorded == (Answer(text=""), Answer(text="B", passages=(Passage(id="1", text="x"),)))
    with pytest.raises(CaseFileError, match="column 'turns': entry 2 has no question"):
        one(tmp_path, turns=[{"question": "a"}, {"reference": "b"}])


@pytest.mark.parametrize(
    ("logged", "kind"),
    [
        ("Timeout after 30 s", "timeout"),
        ({"code": 500, "message": "Internal"}, "error"),
        ("none", None),
    ],
)
def test_recorded_errors(tmp_path: Path, logged: Any, kind: str | None) -> None:
    """What a log calls an error is how the bot failed in that turn, in each form of a log."""
    by_role = [{"role": "user", "content": "a"}, {"role": "assistant", "content": None, "error": logged}]
    cases = [
        one(tmp_path, turns=[{"question": "a", "error": logged}]),
        one(tmp_path, turns=by_role),
        one(tmp_path, question="a", recorded=[{"text": "", "error": logged}]),
        one(tmp_path, question="a", answer=None, error=logged),
    ]

    for case in cases:
        failures = [answer.error and answer.error.kind for answer in case.recorded if answer.error]
        assert failures == ([kind] if kind else [])


def test_an_error_column_beside_answers(tmp_path: Path) -> None:
    """A table of answers may tell of errors; in a table of questions the column is the questions' own."""
    log, questions = tmp_path / "log.csv", tmp_path / "questions.csv"
    log.write_text("question,answer,error\na,,HTTP 503\nb,B,\n", encoding="utf-8")
    questions.write_text("question,error\nWhat is this?,HTTP 503\n", encoding="utf-8")

    failed, answered = read_cases(log)

    assert [answer.error for answer in failed.recorded] == [Failure(kind="error", message="HTTP 503")]
    assert answered.recorded == ()
    assert read_cases(questions)[0].recorded == ()


SAID = (
    ChatMessage(role="user", content="こんにちは"),
    ChatMessage(role="assistant", content="はい、\nご用件は?"),
)
KNOWN = Facts(knows=("契約中です",), unknown=("お客様番号",))
YES, NO = ("TRUE", "可", "○"), ("0", "回答不可", "×")


@pytest.mark.parametrize(
    ("column", "cell", "fields"),
    [
        # `|` separates answers, a line break only in the plural columns; JSON lists say it exactly.
        ("references", "a\nb", {"references": (("a", "b"),)}),
        ("正解", "一行目\n・二行目", {"references": (("一行目\n・二行目",),)}),
        ("正解", "はい|そうです", {"references": (("はい", "そうです"),)}),
        ("reference", '[["a"], [], ["b", "c"]]', {"references": (("a",), (), ("b", "c"))}),
        ("reference", "[重要] 休業します", {"references": (("[重要] 休業します",),)}),
        ("reference", '{"a":  "い|ろ"}', {"references": (('{"a":  "い|ろ"}',),)}),
        # Yes and no are understood as people write them; what is neither becomes a tag.
        *(("回答可否", word, {"answerable": True, "tags": ()}) for word in YES),
        *(("回答可否", word, {"answerable": False, "tags": ()}) for word in NO),
        ("回答可否", "underspecified", {"answerable": None}),
        ("回答可否", "不明", {"answerable": None, "tags": ()}),
        # Earlier turns are lines that begin with who speaks, or a JSON list.
        ("履歴", "ユーザー: こんにちは\nボット: はい、\nご用件は?", {"history": SAID}),
        ("履歴", "User: こんにちは / Assistant: はい、\nご用件は?", {"history": SAID}),
        (
            "履歴",
            '[{"role": "user", "content": "こんにちは"}, {"role": "bot", "content": "はい、\\nご用件は?"}]',
            {"history": SAID},
        ),
        # Facts are what the customer knows; after `unknown:` what they do not.
        ("前提", "契約中です|unknown: お客様番号", {"facts": KNOWN}),
        ("前提", '{"knows": ["契約中です"], "unknown": ["お客様番号"]}', {"facts": KNOWN}),
        # A script is written like other lists, what was answered as texts.
        ("台本", "はい|戸建てです\nはい", {"script": ("はい", "戸建てです", "はい")}),
        ("記録回答", "a|b", {"recorded": (Answer(text="a"), Answer(text="b"))}),
        ("expect", "①税込\n・URL", {"expect": ("税込", "URL")}),
        ("expect", "|".join(map(str, range(20))), {"expect": tuple(map(str, range(20)))}),
        ("contexts", '["a", {"page_content": " b "}, {"text": ""}]', {"contexts": ("a", "b")}),
    ],
)
def test_what_a_cell_means(tmp_path: Path, column: str, cell: str, fields: dict[str, Any]) -> None:
    """Lists, verdicts, dialogues and facts, as people write them into a table."""
    case = from_cell(tmp_path, column, cell)

    assert {name: getattr(case, name) for name in fields} == fields


@pytest.mark.parametrize(
    ("value", "references"),
    [
        ("a|b", (("a|b",),)),
        ([["a"], "b", None], (("a",), ("b",), ())),
        ({"a": "い|ろ", "b": [1]}, (('{"a": "い|ろ", "b": [1]}',),)),
        ([[{"a": 1}, [1, 2]], []], (('{"a": 1}', "[1, 2]"), ())),
        ("48 / 2 = 24.\n#### 72", (("72",),)),
        ({"value": "Sunset Boulevard", "aliases": ["Sunset Blvd"]}, (("Sunset Boulevard", "Sunset Blvd"),)),
    ],
)
def test_references_in_json(tmp_path: Path, value: Any, references: tuple[tuple[str, ...], ...]) -> None:
    """A text or an object is one answer, a list several for turn 1, a list of lists one list per turn.

    Public data sets end their working with the answer, or list other names beside it.
    """
    assert one(tmp_path, question="q", reference=value).references == references


def test_recorded_answers_say_what_they_are_made_of(tmp_path: Path) -> None:
    """An object with other keys than those of an answer is refused, with what to write."""
    with pytest.raises(CaseFileError, match="column 'recorded': 'answer' is not understood; write"):
        one(tmp_path, question="q", recorded=[{"text": "a", "answer": "b"}])


@pytest.mark.parametrize(
    ("columns", "argument", "language"),
    [
        ({"question": "How?", "language": "ja-JP"}, "en", "ja"),
        ({"question": "料金は?", "言語": "英語"}, None, "en"),
        ({"question": "How?"}, "ja", "ja"),
        ({"question": "Wi-Fiが遅い"}, None, "ja"),
    ],
)
def test_language(tmp_path: Path, columns: dict[str, str], argument: Any, language: str) -> None:
    """The column decides, then the argument, then the script of the question."""
    assert read_cases(saved(tmp_path, as_csv([columns])), argument)[0].language == language


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(KEYS | st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=6,
)


@given(
    rows=st.lists(
        st.dictionaries(st.sampled_from(sorted([*COLUMNS, *"ABC"])), JSON, min_size=3), min_size=1, max_size=2
    )
)
@SAME_FOLDER
def test_any_json_value_in_any_column(tmp_path: Path, rows: list[dict[str, Any]]) -> None:
    """Whatever stands in a known column is understood or refused in one line."""
    path = saved(tmp_path, "\n".join(json.dumps({"question": "q", **row}) for row in rows), "a.jsonl")

    assert refusal(path).isprintable()


OF_TURNS = (
    "question", "answer", "reference", "contexts", "passages", "error", "answerable", "tool_calls", "role",
    "content", "speaker", "message",
)  # fmt: skip


@given(
    turns=st.lists(
        st.dictionaries(st.sampled_from(OF_TURNS), JSON | st.sampled_from(["user", "bot", "q?"])), max_size=3
    ),
    question=st.sampled_from(["", "q"]),
)
@example(turns=[{"question": ["a"]}], question="q")
@SAME_FOLDER
def test_any_json_value_in_any_turn(tmp_path: Path, turns: list[dict[str, Any]], question: str) -> None:
    """Whatever a turn holds is understood or refused in one line, beside a question or alone."""
    path = saved(tmp_path, json.dumps({"question": question, "turns": turns}), "a.jsonl")

    assert refusal(path).isprintable()


def test_a_question_beside_turns_is_lost_nowhere(tmp_path: Path) -> None:
    """It comes after the dialogue, before it, says what it is about, or is a line of it."""
    talk = [{"question": "a?", "answer": "b"}]
    opened = [{"role": "bot", "content": "Hi"}, {"role": "user", "content": "a?"}]

    after = one(tmp_path, turns=talk, question="c?", answer="d")
    assert [line.content for line in after.history] == ["a?", "b"]
    assert (after.question, after.answer, after.recorded) == ("c?", "d", ())
    about = one(tmp_path, turns=talk, question="About fees")
    assert (about.question, about.goal, about.recorded[0].text) == ("a?", "About fees", "b")
    before = one(tmp_path, turns=opened, question="Hello?")
    assert (before.question, before.script, before.history) == ("Hello?", ("a?",), ())
    assert before.recorded[0].text == "Hi"
    inside = one(tmp_path, turns=talk, question="a?")
    assert (inside.question, inside.goal) == ("a?", None)
    number = one(tmp_path, turns=3, question="a?")
    assert (number.question, number.script) == ("a?", ())


def test_a_cell_of_the_row_goes_before_its_turns(tmp_path: Path) -> None:
    """What the row says of itself is not what its dialogue says; an error replaces the first answer."""
    turns = [{"question": "a?", "answer": "b", "passages": ["p"], "answerable": "yes"}]
    case = one(tmp_path, turns=turns, passages=["own"], answerable="no")
    failed = one(tmp_path, question="q", error="Timed out", recorded=["a", "b"])

    assert (case.passages, case.answerable, case.question) == (("own",), False, "a?")
    assert [answer.text for answer in failed.recorded] == ["", "b"]
    assert failed.recorded[0].error is not None
