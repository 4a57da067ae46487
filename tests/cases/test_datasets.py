"""Data sets as they are read: forms of answers, what is wrong with rows, lines, names of judges."""

from pathlib import Path
from typing import Any

import pytest

from simulator.cases.cases import DatasetRequest, read_dataset
from simulator.cases.profile import Profile, answer_form, case_label_problem, missing_need
from simulator.core import shelves
from simulator.core.errors import CaseFileError
from simulator.core.shelves import ARTICLE_NAMES, canonical_judge
from simulator.core.types import Case
from simulator.grading.rubric import load_judge
from simulator.runner.plan import Plan
from tests.case_files import saved


def dataset(folder: Path, *lines: str, name: str = "rows.jsonl") -> list[Case]:
    """The good rows of a file of these lines."""
    return list(read_dataset(saved(folder, "\n".join(lines), name), DatasetRequest()).rows())


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("9,800円", "phrase"),
        ("猫が机の上にいる", "sentence"),
        ("14日以内なら返品できます。", "sentence"),
        ("You can return it within two weeks.", "sentence"),
    ],
)
def test_the_form_of_an_answer(text: str, form: str) -> None:
    """What an answer looks like says how it can be compared."""
    assert answer_form(text) == form


@pytest.mark.parametrize(
    ("fields", "taken", "offline"),
    [
        ({"label": "A", "choices": ("A", "B")}, "choice", "choice"),
        ({"label": "yes"}, "label", "label"),
        ({}, "turn", "turn"),
        ({"references": ("42",)}, "exact_match", "exact_match"),
        ({"references": ("You can return it within two weeks.",)}, "llm_similarity", "rouge_l"),
    ],
)
def test_the_judge_that_decides_where_nobody_names_one(
    fields: dict[str, Any], taken: str, offline: str
) -> None:
    """It fits what most rows have; without a model, one that compares words goes before those that read."""
    profile = Profile()
    profile.add(Case(id="1", question="q", language="en", **fields))

    assert profile.judges().judges[0] == taken
    assert profile.judges(offline=True).judges[0] == offline
    assert set(profile.judges().judges) == set(profile.judges(offline=True).judges)


def test_the_articles_names_mean_judges_of_the_shelf() -> None:
    """Every name is understood wherever judges are named, and files its scores under our own."""
    for given, ours in ARTICLE_NAMES.items():
        assert ours in shelves.judge_names(), given
    assert shelves.judge_name("rougeL") == "rouge_l"
    assert load_judge("em") is load_judge("exact_match")
    assert canonical_judge("turn") == "turn"
    assert canonical_judge("cosine_similarity") == "cosine_similarity"


@pytest.mark.parametrize(
    ("label", "problem"),
    [
        ("Ａ", ""),
        ("b", ""),
        ("1", ""),
        ("C", "none of the 2 choices"),
    ],
)
def test_a_label_is_one_of_the_choices(label: str, problem: str) -> None:
    """By its text, its letter or its number, in either width."""
    case = Case(id="1", question="q", language="ja", choices=("はい", "いいえ"), label=label)
    said = case_label_problem(case, ()) or ""

    assert problem in str(said)
    assert bool(said) == bool(problem)


def test_a_label_is_one_of_those_there_are() -> None:
    """Where all labels are known, another one is a mistake; where they are not, none is."""
    case = Case(id="1", question="q", language="ja", label="spam")

    assert case_label_problem(case, ()) is None
    assert case_label_problem(case, ("spam", "ham")) is None
    assert "'spam'" in str(case_label_problem(case, ("yes", "no")))


def test_a_row_lacks_something_when_nobody_can_grade_it() -> None:
    """One judge that needs nothing of it is enough."""
    case = Case(id="1", question="q", language="ja")
    needs = frozenset({"references"})

    assert missing_need(case, [needs]) == "references"  # type: ignore[list-item]
    assert missing_need(case, [needs, frozenset()]) is None  # type: ignore[list-item]


def test_further_columns_are_values(tmp_path: Path) -> None:
    """What no field is made of is kept as text, also of a case that was written by us."""
    (case,) = dataset(
        tmp_path, '{"question": "q", "premise": " p ", "n": 3, "list": [1, "あ"], "none": null}'
    )
    (again,) = dataset(tmp_path, case.model_dump_json())

    assert case.values == {"premise": "p", "n": "3", "list": '[1, "あ"]', "none": ""}
    assert again == case


def test_a_prompts_row_needs_no_question(tmp_path: Path) -> None:
    """Its values stand for the question; a row of empty values has nothing to ask."""
    path = saved(tmp_path, "premise,hypothesis\n雨だ,晴れだ\n,\nx,\n")
    found = read_dataset(path, DatasetRequest(asks=False))

    assert [case.question for case in found.rows()] == ["premise: 雨だ\nhypothesis: 晴れだ", "x"]
    with pytest.raises(CaseFileError, match="no question column"):
        read_dataset(path, DatasetRequest())


def test_numbers_are_ids(tmp_path: Path) -> None:
    """Rows keep their number when those before them are left out; one that is taken is marked."""
    rows = ['{"question": "a"}', "nonsense", '{"question": "b"}', '{"id": "005", "question": "c"}']
    found = read_dataset(
        saved(tmp_path, "\n".join([*rows, '{"question": "d"}']), "a.jsonl"), DatasetRequest()
    )

    assert [case.id for case in found.rows()] == ["001", "003", "005", "005~"]


PHRASE, SENTENCE = ({"question": "a", "reference": text} for text in ("富士山", "送料は550円です。"))
CHOICE, BARE = {"question": "a", "choices": ["x", "y"], "label": "x"}, {"question": "a"}


@pytest.mark.parametrize(
    ("rows", "form"),
    [
        ([CHOICE, BARE], "none"), ([CHOICE, CHOICE, BARE], "choice"), ([PHRASE, BARE], "none"),
        ([PHRASE, PHRASE, BARE], "phrase"), ([PHRASE, SENTENCE], "sentence"),
    ],
)  # fmt: skip
def test_what_most_rows_have_decides(rows: list[dict[str, Any]], form: str) -> None:
    """More than half: one of two turns no choice of judges."""
    assert read_dataset(rows, DatasetRequest()).profile.form == form


def test_of_very_many_faulty_rows_the_first_are_listed(tmp_path: Path) -> None:
    """All are counted; a file of more damaged lines than that is no JSONL."""
    twice = read_dataset(
        saved(tmp_path, '{"id": "1", "question": "a"}\n' * 1002, "a.jsonl"), DatasetRequest()
    )
    damaged = "nonsense\n" * 1000
    found = read_dataset(saved(tmp_path, damaged + '{"question": "a"}', "a.jsonl"), DatasetRequest())

    assert (twice.skipped.count, len(twice.skipped.listed)) == (1001, 1000)
    assert found.skipped.count == 1000
    with pytest.raises(CaseFileError, match="line 1001: not valid JSON"):
        read_dataset(saved(tmp_path, f"{damaged}nonsense\n", "a.jsonl"), DatasetRequest())


def test_rows_and_plan_are_sequences(tmp_path: Path) -> None:
    """Rows are found by place and by id, in whatever order; every row stands once for each repeat."""
    found = read_dataset(
        saved(tmp_path, "\n".join(f'{{"id": "r{n}", "question": "{n}"}}' for n in range(9)), "a.jsonl"),
        DatasetRequest(),
    )
    rows = found.rows()
    plan = Plan(rows, ["scripted"], 2)
    asked = ["r0", "r0", "r1", "r7", "r2", "r8", "none", "r3"]

    assert [case.id for case in map(rows.of_id, asked) if case] == [key for key in asked if key != "none"]
    assert [case.id for case in rows[2:4]] == ["r2", "r3"]
    assert [case.id for case in found.rows(sample=9)] == [case.id for case in rows]
    assert sorted({case.id for case in found.rows(sample=8)}) != [case.id for case in rows]
    assert (len(plan), plan[3].id, plan[-1].id) == (18, "scripted/r1#2", "scripted/r8#2")
    assert " ".join(talk.id for talk in plan[:3]) == "scripted/r0#1 scripted/r0#2 scripted/r1#1"


def test_objects_need_not_stand_on_lines_of_their_own(tmp_path: Path) -> None:
    """From the first line on that is no object, the rest is read as one text; lines keep their numbers."""
    lines = ['{"question": "a"}', '{"question":', ' "b"}', "", '{"question": "c"} {"question": "d"}', "oops"]
    found = read_dataset(
        saved(tmp_path, "\n".join([*lines, '{"question": "e"}']), "a.jsonl"), DatasetRequest()
    )

    assert [case.question for case in found.rows()] == ["a", "b", "c", "d", "e"]
    assert [str(row) for row in found.skipped.listed] == [
        "line 6: not valid JSON (Expecting value, at line 6, character 1)."
    ]
