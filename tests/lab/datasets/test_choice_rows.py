"""Multiple-choice files in the layouts that they come in."""

import gzip
from pathlib import Path
from typing import Any

import pytest

from simulator.cases.cases import QUESTIONS, read_cases, read_dataset
from simulator.core.errors import CaseFileError
from simulator.core.types import Case
from simulator.text.choices import right_letter
from tests.case_files import one, refusal, saved

LAYOUTS = {
    "MMLU": "Question,A,B,C,D,Answer,Subject\nq?,red,blue,sea,tan,C,hues\n",
    "MMLU with row numbers": ",Question,A,B,C,D,Answer,Subject\n7,q?,red,blue,sea,tan,C,hues\n",
    "Japanese": "問題,選択肢A,選択肢B,選択肢C,選択肢D,正解,科目\nq?,red,blue,sea,tan,Ｃ,hues\n",
    "numbered from 1": "質問,選択肢１,選択肢２,選択肢３,選択肢４,正解,教科\nq?,red,blue,sea,tan,3,hues\n",
    "kana": "問題,選択肢ア,選択肢イ,選択肢ウ,選択肢エ,正解,科目\nq?,red,blue,sea,tan,ウ,hues\n",
    "kana alone": "設問,ア,イ,ウ,エ,解答,科目\nq?,red,blue,sea,tan,ウ,hues\n",
    "numbered from 0": "question,choice0,choice1,choice2,choice3,label,subject\nq?,red,blue,sea,tan,2,hues\n",
    "by its text": "Question,Opt A,Opt B,Opt C,Opt D,Answer,Topic\nq?,red,blue,sea,tan,Sea,hues\n",
    "with their letters": "Question,A,B,C,D,Answer,Subject\nq?,A. red,B. blue,C. sea,D. tan,C. sea,hues\n",
    "a list in a cell": "question,choices,answer,subject\nq?,red|blue|sea|tan,C,hues\n",
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_layouts(tmp_path: Path, layout: str) -> None:
    """All are the same case: choices in their order, the right one by its text, the subject as a tag."""
    path = saved(tmp_path, LAYOUTS[layout])
    (case,) = read_cases(path)

    assert case == Case(
        id="001", question="q?", language="en", choices=("red", "blue", "sea", "tan"), label="sea",
        tags=("hues",),
    )  # fmt: skip
    assert set(read_dataset(path, QUESTIONS).columns.unused) <= {""}


def test_the_original_files_have_no_column_names(tmp_path: Path) -> None:
    """Those of MMLU and JMMLU: question, choices, letter; the file's name is the subject."""
    text = '"一行目、\n二行目。",赤,青,緑,灰,C\nq2?,真,偽,真,偽,A\n'
    path = tmp_path / "anatomy_test.csv.gz"
    path.write_bytes(gzip.compress(text.encode("utf-8-sig")))
    first, second = read_cases(path)

    assert (first.question, first.choices, first.label) == (
        "一行目、\n二行目。",
        ("赤", "青", "緑", "灰"),
        "緑",
    )
    assert first.tags == second.tags == ("anatomy",)
    assert right_letter(second) == "A"


@pytest.mark.parametrize(
    ("columns", "label"),
    [
        ({"choices": ["8", "2", "24"], "answer": 2}, "24"),
        ({"choices": ["8", "2", "24"], "answer": "C"}, "24"),
        ({"choices": ["8", "2", "24"], "answer": "24"}, "24"),
        ({"choices": {"text": ["8", "2", "24"], "label": ["1", "2", "3"]}, "answerKey": "2"}, "2"),
        ({"choices": {"text": ["red", "blue"], "label": ["A", "B"]}, "answerKey": "B"}, "blue"),
        ({"choices": ["x", "y"], "label": 1}, "y"),
        ({"choices": ["x", "y"], "正解": "Ｂ"}, "y"),
        ({"choices": ["B", "A", "O"], "answer": "B"}, "B"),  # in a list the text goes first
        ({"A": "B", "B": "A", "C": "O", "Answer": "B"}, "A"),  # under letters the letter does
        ({"A": "x", "B": "y", "answer": 1}, "y"),
        ({"options": {"A": "x", "B": "y"}, "answer": "B"}, "y"),
        ({"options": {"A": "x", "B": "y"}, "answer_idx": "B"}, "y"),
        ({"options": {"1": "x", "2": "y"}, "answer": "1"}, "x"),
        ({"options": [{"key": "A", "value": "x"}, {"key": "B", "value": "y"}], "label": "B"}, "y"),
        ({"options": [{"id": 1, "text": "x"}, {"id": 2, "text": "y"}], "answerKey": "2"}, "y"),
        ({"options": ["A)21", "B)22", "C)23"], "correct_option": "C"}, "C"),
        ({"options": ["A. x", "B. y"], "answer": "B. y"}, "y"),
        ({"endings": ["x", "y"], "label": "1"}, "1"),
        ({"choices": ["x", "y"], "answer_index": 1}, "y"),
        ({"choices": ["x", "y"], "label": "A", "answer": "What a bot said."}, "A"),
    ],
)
def test_json_rows(tmp_path: Path, columns: dict[str, Any], label: str) -> None:
    """The right one by number from 0, by letter or by text."""
    case = one(tmp_path, question="q?", **columns)

    assert case.label == label
    assert case.answer == (columns["answer"] if case.label == "A" and "label" in columns else None)


def test_a_table_that_pandas_wrote_of_the_objects_is_read(tmp_path: Path) -> None:
    """Arrays within an object, over several lines, with numbers for letters."""
    choices = (
        "{'text': array(['red', 'a \"sea\"'],\n dtype=object), 'label': array(['1', '2'], dtype=object)}"
    )
    cell = choices.replace('"', '""')
    (case,) = read_cases(saved(tmp_path, f'question,choices,answerKey\nq?,"{cell}",2\n'))

    assert (case.choices, case.label) == (("red", 'a "sea"'), 'a "sea"')


def test_choices_lose_the_letters_that_all_of_them_have(tmp_path: Path) -> None:
    """The prompt writes its own; where one has none, they are part of the choices."""
    lettered = one(tmp_path, question="q?", options=["(A) 21", "(B) 22.5", "(C) 23"], answer="(B) 22.5")
    mixed = one(tmp_path, question="q?", options=["A. Smith", "Jones"], answer="A. Smith")

    assert (lettered.choices, right_letter(lettered)) == (("21", "22.5", "23"), "B")
    assert (mixed.choices, right_letter(mixed)) == (("A. Smith", "Jones"), "A")


def test_what_a_bot_said_is_kept_beside_the_right_letter(tmp_path: Path) -> None:
    """The column of the right answer is used up; a recorded reply has another one."""
    text = "Question,A,B,Answer,response\nq?,x,y,A,Answer: B\n"

    (case,) = read_cases(saved(tmp_path, text))
    assert (case.label, case.answer) == ("x", "Answer: B")


@pytest.mark.parametrize(
    ("row", "what"),
    [
        ("q?,red,blue,sea,tan,E", "line 2: column 'Answer': 'E' is none of the choices; write A to D"),
        ("q?,red,,sea,grey,A", "line 2: column 'B' is empty; a question needs at least two choices"),
        ("q?,red,,,,A", "line 2: column 'B' is empty"),
        ("q?,8,2,24,120,2", "'2' may be choice C or the text of B; write the letter"),
        ("q?,8,2,24,120,7", "'7' is none of the choices"),
    ],
)
def test_wrong_rows_are_named(tmp_path: Path, row: str, what: str) -> None:
    """By file and line, with what to write instead."""
    path = saved(tmp_path, f"Question,A,B,C,D,Answer\n{row}\n")

    assert what in refusal(path)
    assert str(path) in refusal(path)


def test_other_files_stay_what_they_are(tmp_path: Path) -> None:
    """Two columns A and B may be two bots; choices without a right one are questions all the same."""
    two = saved(tmp_path, "question,A,B,reference\nq?,says one,says two,the truth\n")
    (case,) = read_cases(two)
    unanswered = one(tmp_path, question="q?", A="x", B="y", C="z")

    assert (case.choices, case.references) == ((), (("the truth",),))
    assert (unanswered.choices, unanswered.label) == (("x", "y", "z"), None)
    sums = one(tmp_path, question="What is their sum?", a="1", b="2", c="3", reference="6")
    assert (sums.choices, sums.references) == ((), (("6",),))
    lower = one(tmp_path, question="q?", a="x", b="y", c="z", answer="c")
    assert (lower.choices, lower.label) == (("x", "y", "z"), "z")
    header = read_cases(saved(tmp_path, "question,x,A\nq?,1,2\n", "b.csv"))
    assert header[0].question == "q?"


def test_choices_and_labels_may_be_such_words(tmp_path: Path) -> None:
    """The right one of three choices may be None."""
    (case,) = read_cases(saved(tmp_path, "question,A,B,C,label\nWhich?,red,None,blue,B\n"))

    assert (case.choices, case.label) == (("red", "None", "blue"), "None")


def test_places_of_choices(tmp_path: Path) -> None:
    """The number of the right choice is its label, not a recorded answer; choices keep their places."""
    case = one(tmp_path, question="q", choices=["8", "", "24"], answer=2)

    assert (case.choices, case.label, case.answer) == (("8", "", "24"), "24", None)
    with pytest.raises(CaseFileError, match="no choice 3"):
        one(tmp_path, question="q", choices=["a"], answer=3)
