"""Single-turn data sets from the command line: rows asked once, graded, reported; faulty ones left out."""

import json
import random
import re
from pathlib import Path
from typing import Any

import pytest

from simulator import open_run
from simulator.cases.cases import SkippedRows
from simulator.storage.run_file import find_run
from tests.commands import Command

BOT = """
ASKED = []

def answer(question):
    ASKED.append(question)
    return "赤です" if "色" in question else "42"
"""
ROWS: list[dict[str, Any]] = [
    {"id": "a", "question": "色は?", "reference": "赤です", "note": "x"},
    {"id": "b", "question": "数は?", "reference": "42"},
    {"id": "c", "question": "重さは?", "reference": "3kg"},
    {"question": "何の色?", "reference": "赤です"},
]


@pytest.fixture
def evaluate(command: Command, tmp_path: Path) -> Command:
    """Runs the command line in a folder with a bot."""
    (tmp_path / "bot.py").write_text(BOT, encoding="utf-8")
    return command


def rows(*given: Any, name: str = "rows.jsonl") -> str:
    """The name of a new file: objects as JSON, texts as lines of their own."""
    lines = [each if isinstance(each, str) else json.dumps(each, ensure_ascii=False) for each in given]
    Path(name).write_text("\n".join(lines) + "\n", encoding="utf-8")
    return name


def test_every_row_is_one_conversation_of_one_turn(evaluate: Command) -> None:
    """The run is an ordinary one: scripted persona, one turn for each row and repeat, protocol stored."""
    code, out, _ = evaluate(
        "evaluate", rows(*ROWS), "--adapter", "bot.py:answer", "--judges", "em,rougeL", "--repeats", "2",
        "--json",
    )  # fmt: skip
    shown, found = json.loads(out), open_run()

    assert code == 0
    assert [conversation.id for conversation in found.conversations[:2]] == ["scripted/a#1", "scripted/a#2"]
    assert {conversation.persona for conversation in found.conversations} == {"scripted"}
    assert {len(conversation.turns) for conversation in found.conversations} == {1}
    assert found.run.settings["protocol"] == "single_turn"
    assert (found.run.offline, found.run.models) == (False, {})
    assert list(shown["judges"]) == ["exact_match", "rouge_l"]
    assert shown["judges"]["exact_match"]["mean"] == 0.75
    assert shown["conversations"]["planned"] == shown["turns"] == 8
    assert found.conversations[0].case.values == {"note": "x"}
    assert found.conversations[-1].case.id == "004"


def test_reports_tell_of_rows_and_not_of_customers(evaluate: Command) -> None:
    """Console, page, Markdown and worksheets speak of rows; nobody's patience or ending is shown."""
    given = [{**row, "language": "en"} for row in ROWS]
    _, out, err = evaluate(
        "evaluate", rows(*given), "--adapter", "bot.py:answer", "--judges", "em", "--to", "markdown,xlsx"
    )
    folder = find_run("latest", Path("runs")).parent
    page = (folder / "report.html").read_text(encoding="utf-8").split("</style>")[1].split("<script>")[0]
    shown = "\n".join([out, page.split('id="technical"')[0], (folder / "report.md").read_text("utf-8")])

    assert "4 rows, 4 graded" in out
    assert "4 rows, bot: bot.py:answer. Apart from the bot, no model is used." in err
    assert "Reference answer: 3kg" in page
    assert "Bot: bot.py:answer" in page
    assert page.index('id="mends"') < page.index("Seconds until the bot answers")
    for word in ("ustomer", "onversation", "Angry", "Data set", "Answer limit", "ended"):
        assert word not in re.sub(r'data-(?:ended|conversation)|id="ended"', "", shown), word


@pytest.mark.parametrize(
    ("more", "judges"),
    [
        ({"reference": "東京タワー"}, "exact_match, contains"),
        ({"reference": "9,800円"}, "exact_match, contains"),
        ({"reference": "14日以内なら返品できます。"}, "rouge_l, llm_similarity, llm_correctness"),
        ({"reference": "curl -X GET http://example.com/data"}, "exact_match, contains"),
        ({}, "turn, relevance, groundedness, fluency"),
        ({"label": "肯定"}, "label"),
        ({"choices": ["東京", "大阪"], "label": "東京"}, "choice"),
    ],
)
def test_judges_fit_the_data(more: dict[str, Any], judges: str) -> None:
    """Without --judges, the form of the data chooses them, and which ones is said."""
    from simulator.core.settings import Settings
    from simulator.runner.plan import read_plan

    name = rows({"question": "q", **more}, {"question": "r", **more, "label": more.get("label") and "大阪"})
    planned = read_plan(Settings(cases=name, protocol="single_turn"))

    assert ", ".join(planned.settings.judges) == judges
    assert f": {judges}. Others: --judges" in "\n".join(map(str, planned.messages()))


FAULTY: tuple[Any, ...] = (
    ROWS[0],
    '{"question": broken',
    {"id": "a", "question": "again", "reference": "x"},
    {"question": {"plan": "nested", "shop": 7}, "reference": "x"},
    {"question": "no reference", "reference": ""},
    {"question": "", "reference": "x"},
    {"question": "outside", "reference": "x", "choices": ["はい", "いいえ"], "label": "多分"},
    ROWS[1],
)
WRONG = {
    2: "not valid JSON",
    3: "the id 'a' is already on line 1",
    4: "column 'question': an object is not a text",
    5: "no reference, which judge exact_match compares with",
    6: "column 'question' is empty",
    7: "the label '多分' is none of the 2 choices: 'はい', 'いいえ'",
}


def test_faulty_rows_are_left_out_and_told(evaluate: Command) -> None:
    """Each is named by its line, kept as a note of the run, and shown by console, page and --json."""
    code, out, err = evaluate(
        "evaluate", rows(*FAULTY), "--adapter", "bot.py:answer", "--judges", "em", "--json"
    )
    told = json.loads(out)["rows_skipped"]
    page = (find_run("latest", Path("runs")).parent / "report.html").read_text(encoding="utf-8")

    assert code == 0
    assert (told["rows"], told["count"]) == (8, 6)
    assert {
        row["line"]: row["why"].startswith(WRONG[row["line"]]) for row in told["listed"]
    } == dict.fromkeys(WRONG, True)
    assert [conversation.case.id for conversation in open_run().conversations] == ["a", "b"]
    assert SkippedRows.of(open_run().notes).as_json() == told
    assert "6 of 8 rows left out:\n  line 2: not valid JSON" in err
    assert "8行中6行を飛ばしました" in err
    assert "8行中6行を飛ばしました" in page


def test_tables_go_on_after_a_faulty_row(evaluate: Command) -> None:
    """A row with a cell too many, and one with a stray quotation mark, are left out of a CSV."""
    name = rows("question,reference", "a,42", "b,1,2", 'c,"4"2', "d,42", name="rows.csv")
    evaluate("evaluate", name, "--adapter", "bot.py:answer", "--judges", "em")
    told = SkippedRows.of(open_run().notes)

    assert [conversation.case.id for conversation in open_run().conversations] == ["001", "004"]
    assert [row.line for row in told.listed] == [3, 4]


def test_a_sample_is_that_of_the_standard_library(evaluate: Command) -> None:
    """--sample N takes what random.Random(0).sample takes of the rows in file order."""
    name = rows(*({"id": f"r{n}", "question": "q", "reference": "42"} for n in range(50)))
    options = ("--adapter", "bot.py:answer", "--judges", "em", "--sample")
    ids = [f"r{n}" for n in range(50)]

    evaluate("evaluate", name, *options, "12")
    asked = [conversation.case.id for conversation in open_run().conversations]
    assert asked == random.Random(0).sample(ids, 12)
    evaluate("evaluate", name, *options, "5", "--limit", "2")
    assert [conversation.case.id for conversation in open_run().conversations] == random.Random(0).sample(
        ids, 5
    )[:2]
    evaluate("evaluate", name, *options, "80")
    assert [conversation.case.id for conversation in open_run().conversations] == ids


def test_advice_rests_on_evidence(evaluate: Command) -> None:
    """A right answer in many more words is low by ROUGE-L alone: no cause is made up."""
    long = "お問い合わせありがとうございます。月額は4,180円でございます。どうぞお気軽にお問い合わせください。"
    reply = {"answer": long, "passages": [{"id": "fees", "text": "月額は4,180円です。"}]}
    Path("bot.py").write_text(f"def answer(question):\n    return {reply!r}\n", encoding="utf-8")
    row = {"id": "fee", "question": "月額はいくらですか", "reference": "月額は4,180円です。"}
    evaluate("evaluate", rows(row), "--adapter", "bot.py:answer", "--offline", "--judges", "rouge_l")
    fixes = json.loads(evaluate("fixes", "latest", "--json").out)["fixes"]

    assert [fix["cause"] for fix in fixes] == ["unclear"]


def test_a_data_set_is_needed(evaluate: Command) -> None:
    """Without one, one line says how it is named."""
    code, _, err = evaluate("evaluate")

    assert (code, "evaluate needs a data set" in err) == (2, True)
