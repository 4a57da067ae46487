"""`--columns references=answer`: which column of a file is which of a case."""

import json
from pathlib import Path

import pytest

from simulator.cases.cases import QUESTIONS, read_cases, read_dataset
from simulator.cli.app import main
from simulator.core.errors import UnknownName

PLAIN = "question,answer\n送料はいくらですか,送料は900円です。\n"


def _write(name: str, text: str) -> str:
    Path(name).write_text(text, encoding="utf-8")
    return name


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("q.csv", "Q,answer,reference\n送料は?,一行目\n,x\n".replace("一行目\n", '"一行目\n二行目"')),
        ("q.tsv", "Q\tanswer\treference\n送料は?\t一行目\tx\n"),
        ("q.jsonl", '{"Q": "送料は?", "answer": "一行目", "reference": "x"}\n'),
        ("q.json", '[{"Q": "送料は?", "answer": "一行目", "reference": "x"}]'),
    ],
)
def test_columns_are_taken_for_what_is_said(name: str, text: str) -> None:
    """In every kind of file, over the names that would be understood; an answer of several lines is one."""
    (case,) = read_cases(_write(name, text), columns={"question": "Q", "references": "answer"})

    assert case.question == "送料は?"
    assert len(case.references[0]) == 1
    assert case.references[0][0].startswith("一行目")
    assert case.answer is None


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ({"refs": "answer"}, "unknown case column in --columns: 'refs'. Did you mean references?"),
        (
            {"references": "answr"},
            r"unknown column of q.csv in --columns: 'answr'. Did you mean answer\? There are: ",
        ),
        ({"question": "Q"}, r"unknown column of q.csv in --columns: 'Q'. There are: answer, question"),
    ],
)
def test_a_column_that_is_not_there_is_told_with_those_that_are(columns: dict[str, str], said: str) -> None:
    """Of a case, and of the file."""
    with pytest.raises(UnknownName, match=said):
        read_cases(_write("q.csv", PLAIN), columns=columns)


@pytest.mark.parametrize("given", ["answer", "=answer", "references="])
def test_columns_are_pairs(given: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Anything else is one line with an example; so are columns without a file."""
    assert main(["--cases", _write("q.csv", PLAIN), "--columns", given]) == 2
    assert "write references=answer" in capsys.readouterr().err
    assert main(["--columns", "references=answer", "--offline"]) == 2
    assert "name it with --cases" in capsys.readouterr().err


def test_an_answer_beside_choices_is_the_key() -> None:
    """It is no earlier answer of a bot, and is not said to be ignored."""
    keyed = '{"question": "色は?", "choices": ["赤", "青"], "answer": 0}\n'

    assert read_dataset(Path(_write("q.jsonl", keyed)), QUESTIONS).columns.answers == ()
    assert read_dataset(Path(_write("q.csv", PLAIN)), QUESTIONS).columns.answers == ("answer",)


@pytest.mark.parametrize("heads", ["Q,A", "Q.,A.", "Ｑ,Ａ"])
def test_a_list_of_questions_and_answers(heads: str) -> None:
    """Headed by a letter each; beside choices, A is the first of them."""
    columns = read_dataset(Path(_write("q.csv", f"{heads}\nFee?,42\n")), QUESTIONS).columns

    assert columns.answers == (heads.split(",")[1],)
    assert read_dataset(Path(_write("q.csv", "Q,A,B\nFee?,1,2\n")), QUESTIONS).columns.answers == ()


def test_an_evaluation_grades_against_the_column_that_was_named(capsys: pytest.CaptureFixture[str]) -> None:
    """The judges are those that fit it, and nothing is said of it as a column not used."""
    cases = _write("q.csv", PLAIN)
    main(["evaluate", cases, "--columns", "references=answer", "--adapter", "demo", "--offline", "--json"])
    out, err = capsys.readouterr()

    assert "rouge_l" in json.loads(out)["judges"]
    assert "answer" not in err.replace("--", "")
