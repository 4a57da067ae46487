"""However a log is written, it says the same; right answers are those that it calls so."""

import csv
import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from simulator.cases.cases import read_cases
from simulator.core.types import Case
from tests.commands import Command

SAID = (
    ("user", "How much is fibre in a flat?"),
    ("assistant", "Purple monkeys dance on Tuesdays."),
    ("user", "And in a house?"),
    ("assistant", "It is 5,280 yen a month."),
)
QUESTIONS, ANSWERS = [text for _role, text in SAID[::2]], [text for _role, text in SAID[1::2]]
RIGHT = "Fibre in a flat is 4,180 yen a month."


def lines(role: str = "role", text: str = "content", **names: str) -> list[dict[str, Any]]:
    """The lines of the dialogue, under these names."""
    return [{role: names.get(who, who), text: said} for who, said in SAID]


def pairs() -> list[dict[str, Any]]:
    return [{"question": asked, "answer": told} for asked, told in zip(QUESTIONS, ANSWERS, strict=True)]


def pairs_by_role() -> list[dict[str, str]]:
    return [{"user": asked, "assistant": told} for asked, told in zip(QUESTIONS, ANSWERS, strict=True)]


SYSTEM = {"role": "system", "content": "You are a desk."}
# One log, as programs and people write it.
SPELLINGS: dict[str, dict[str, Any]] = {
    "turns with roles": {"turns": lines()},
    "other names": {"turns": lines("speaker", "text", user="customer", assistant="bot")},
    "parts": {"turns": [{"role": r, "content": [{"type": "text", "text": t}]} for r, t in SAID]},
    "with a system line": {"turns": [SYSTEM, *lines()]},
    "questions and answers": {"turns": pairs()},
    "question beside roles": {"question": QUESTIONS[0], "turns": lines()},
    "later question beside roles": {"question": QUESTIONS[1], "turns": lines()},
    "question beside questions": {"question": QUESTIONS[0], "turns": pairs()},
    "answered first": {"question": QUESTIONS[0], "turns": lines()[1:]},
    "messages": {"messages": lines()},
    "messages in pairs": {"messages": pairs_by_role()},
    "requests": {"request": {"messages": lines()[:3]}, "response": {"choices": [{"message": lines()[3]}]}},
    "completions": {"messages": lines()[:3], "choices": [{"message": lines()[3]}]},
    "exports of Claude": {"chat_messages": lines("sender", "text", user="human")},
    "exports of ChatGPT": {
        "mapping": {"root": {"message": None}}
        | {
            str(n): {"message": {"author": {"role": r}, "content": {"content_type": "text", "parts": [t]}}}
            for n, (r, t) in enumerate(SAID)
        }
    },
    "Gemini": {"contents": [{"role": r, "parts": [{"text": t}]} for r, t in SAID]},
    "ShareGPT": {"conversations": lines("from", "value", user="human", assistant="gpt")},
    "recorded": {"question": QUESTIONS[0], "script": QUESTIONS[1:], "recorded": ANSWERS},
}


def written(row: dict[str, Any]) -> str:
    Path("log.jsonl").write_text(json.dumps({"id": "c-1"} | row, ensure_ascii=False), encoding="utf-8")
    return "log.jsonl"


def table(**more: str) -> str:
    """The log as a table with one message a row; `more` are further cells of the first customer's row."""
    with Path("log.csv").open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["conversation_id", "role", "content", *more])
        for number, (role, text) in enumerate(SAID):
            rows.writerow(["c-1", role, text, *(more.values() if not number else ())])
    return "log.csv"


def read(path: str) -> Case:
    (case,) = read_cases(path)
    return case


def essence(case: Case) -> tuple[Any, ...]:
    answers = [answer.text for answer in case.recorded]
    references = [case.references_at(turn) for turn in (1, 2)]
    return case.id, case.question, case.script, answers, references, case.history, case.goal


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_every_spelling_is_the_same_log(spelling: str) -> None:
    """Questions, answers, and not one right answer."""
    expected = ("c-1", QUESTIONS[0], tuple(QUESTIONS[1:]), ANSWERS, [(), ()], (), None)

    assert essence(read(written(SPELLINGS[spelling]))) == expected
    assert essence(read(table())) == expected


def beside_a_line(name: str, at: int) -> Callable[[], str]:
    """A reference on one of the lines of this spelling."""

    def write() -> str:
        ((key, held),) = SPELLINGS[name].items()
        return written(
            {key: [line | ({"reference": RIGHT} if n == at else {}) for n, line in enumerate(held)]}
        )

    return write


@pytest.mark.parametrize(
    "write",
    [
        beside_a_line("turns with roles", 0),
        beside_a_line("questions and answers", 0),
        beside_a_line("messages", 0),
        lambda: table(正解=RIGHT),
        *(partial(written, row | {"reference": RIGHT}) for row in SPELLINGS.values()),
    ],
)
def test_what_the_file_calls_a_right_answer_is_one(write: Callable[[], str]) -> None:
    """On a line, or beside the dialogue: of the first question."""
    case = read(write())

    assert [case.references_at(turn) for turn in (1, 2)] == [(RIGHT,), ()]
    assert [answer.text for answer in case.recorded] == ANSWERS


@pytest.mark.parametrize("key", ["turns", "messages"])
def test_passages_and_failures_of_a_line_are_read_in_either_form(key: str) -> None:
    """What was retrieved for an answer, under its ids, and how the bot failed."""
    asked, told, again, _ = lines()
    failed = {"role": "assistant", "content": "", "error": "timed out after 30 s"}
    more = {"contexts": [RIGHT, "With tax."], "gold_passage_ids": ["a", "b"]}
    first, second = read(written({key: [asked, told | more, again, failed]})).recorded

    assert [(passage.id, passage.text) for passage in first.passages] == [("a", RIGHT), ("b", "With tax.")]
    assert second.error is not None
    assert second.error.kind == "timeout"


@pytest.mark.parametrize("key", ["turns", "messages"])
def test_what_stands_beside_a_dialogue_belongs_to_it(key: str) -> None:
    """As in a question file: whether it can be answered, its goal, its tags."""
    more = {"answerable": "no", "goal": "to move in", "category": "fees", "handover": "required"}
    case = read(written({key: lines(), **more}))

    assert (case.answerable, case.goal, case.tags, case.handover) == (
        False,
        "to move in",
        ("fees",),
        "required",
    )


def test_what_is_not_understood_beside_messages_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    """It stops nobody from reading the rest of the log."""
    case = read(written({"messages": lines(), "answerable": "perhaps", "goal": {"a": 1}}))

    assert (case.answerable, case.goal) == (None, None)
    said = capsys.readouterr().err
    assert "columns that are not understood ('answerable'): 1" in said
    assert "columns that are not understood ('goal'): 1" in said


@pytest.mark.parametrize("spelling", ["turns with roles", "messages", "recorded"])
def test_a_log_is_never_graded_against_itself(spelling: str, command: Command) -> None:
    """Nonsense reaches no target: there is nothing to hold it against, which is said before anything runs."""
    options = ("--adapter", "recorded", "--persona", "calm", "--offline", "--target", "80")
    told = command("simulate", "--cases", written(SPELLINGS[spelling]), *options)

    assert told.code == 2
    assert "has nothing to hold the answers of log.jsonl against" in told.err or "モデル" in told.err, (
        told.err
    )
