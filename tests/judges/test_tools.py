"""The judge of tools: what a case names must be called, or must not."""

import csv
import json
from pathlib import Path
from typing import Any

import pytest
from simulator.shelves.judges.tools import tools

from simulator.cases.cases import read_cases
from simulator.core.types import Answer, Case, GradingContext, ToolCall, Turn
from tests.commands import Command


def context(*called: tuple[str, ...] | None, wanted: tuple[str, ...]) -> GradingContext:
    """A conversation whose answers called these tools, one item for each turn."""
    turns = [
        Turn(
            index=at,
            user="返金して",
            answer=Answer(
                text="はい", tools=None if names is None else tuple(ToolCall(name=n) for n in names)
            ),
        )
        for at, names in enumerate(called, 1)
    ]
    case = Case(id="c", question="返金して", language="ja", tools=wanted)
    return GradingContext(
        conversation="x", case=case, persona="calm", turn=turns[-1], earlier=tuple(turns[:-1]), closing=""
    )


@pytest.mark.parametrize(
    ("called", "wanted", "value", "turn"),
    [
        ([("refund",)], ("refund",), 1, 1),
        ([()], ("refund",), 0, 1),
        ([(), ("refund",), ()], ("refund",), 1, 3),
        ([None, ("refund",)], ("refund",), 1, 2),
        ([("lookup",), ()], ("lookup", "refund"), 0, 2),
        ([("lookup", "refund")], ("refund", "lookup"), 1, 1),
        ([("refund",), ()], ("!refund",), 0, 1),
        ([("refund",), ()], ("not refund",), 0, 1),
        ([("refund",), ()], ("！refund",), 0, 1),
        ([("lookup",)], ("!refund",), 1, 1),
        ([()], ("!*",), 1, 1),
        ([("lookup",)], ("!*",), 0, 1),
        ([("shop__refund",)], ("*refund",), 1, 1),
        ([("Ｒefund",)], ("refund",), 1, 1),
        ([("refund_all",)], ("refund",), 0, 1),
        ([("notify",)], ("notify",), 1, 1),
    ],
)
def test_all_that_are_named_and_none_that_is_forbidden(
    called: list[Any], wanted: tuple[str, ...], value: int, turn: int
) -> None:
    """On any turn; what is forbidden stands on the turn that called it, what is missing on the last."""
    score = tools(context(*called, wanted=wanted))

    assert (score.state, score.value, score.detail["turn"]) == ("scored", value, turn)
    assert score.severity == (None if value else "major")


@pytest.mark.parametrize(("called", "wanted"), [([("refund",)], ()), ([None, None], ("refund",))])
def test_what_cannot_be_judged_is_skipped(called: list[Any], wanted: tuple[str, ...]) -> None:
    """A case that names none, and a bot that does not show what it calls."""
    assert tools(context(*called, wanted=wanted)).state == "skipped"


BOT = """
def answer(question, history):
    if "money" in question or "refund" in question.lower():
        return {"answer": "I have refunded you.", "tools": []}
    return {"answer": "" if "Cancel" in question else "It costs 4180 yen.", "tools": ["lookup"]}
"""
CASES = [
    {"id": "fee", "question": "How much is it?", "reference": "It costs 4180 yen.", "tools": ["lookup"]},
    {"id": "money", "question": "I want my money back.", "tools": "refund"},
    {"id": "cancel", "question": "Cancel it.", "tools": "lookup"},
    {"id": "hours", "question": "When do you open?"},
]


@pytest.mark.parametrize("words", [["simulate", "--persona", "calm", "--cases"], ["evaluate"]])
def test_a_tool_that_a_case_names_is_judged_without_being_asked_for(
    words: list[str], command: Command
) -> None:
    """The promise without a call is red, also of rows; a call without a word counts as called."""
    Path("bot.py").write_text(BOT)
    Path("cases.jsonl").write_text("\n".join(map(json.dumps, CASES)))
    done = command(*words, "cases.jsonl", "--adapter", "bot.py:answer", "--offline", "--to", "json")
    assert done.code == 0, done.err
    [report] = Path().glob("runs/*/report.json")
    rows = json.loads(report.read_text())["rows"]
    grades = {
        row["case"]: score["raw"]
        for row in rows
        if (score := row["scores"].get("tools")) and score["state"] == "scored"
    }

    assert grades == {"fee": 1, "money": 0, "cancel": 1}
    assert {row["case"] for row in rows if "tools" in row["marks"]} == {"money"}


def test_judges_that_were_named_stay_alone(command: Command) -> None:
    """Whoever names judges has chosen."""
    Path("bot.py").write_text(BOT)
    Path("cases.jsonl").write_text(json.dumps(CASES[0]))
    words = ("--cases", "cases.jsonl", "--adapter", "bot.py:answer", "--offline", "--persona", "calm")
    done = command("simulate", *words, "--judges", "turn")
    assert done.code == 0, done.err
    assert done.run.scores.judges == {"turn"}


@pytest.mark.parametrize(
    "cell",
    ["lookup|!refund", "lookup, !refund", "lookup、!refund", '["lookup", "!refund"]', "lookup\n!refund"],
)
@pytest.mark.parametrize("column", ["tools", "ツール", "期待するツール"])
def test_the_column_of_a_question_file(column: str, cell: str, tmp_path: Path) -> None:
    """Names between bars, commas or lines."""
    path = tmp_path / "q.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([["質問", column], ["返金して", cell]])
    assert read_cases(path)[0].tools == ("lookup", "!refund")
