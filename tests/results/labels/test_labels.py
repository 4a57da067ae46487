"""Files of labelled answers, and what their labels mean."""

from pathlib import Path

import pytest

from simulator.core.errors import CaseFileError, InputError, UnknownName
from simulator.runner.labelled_answers import labelled_context, read_dimension, read_labels
from tests.labelled_answers import labelled, written, written_csv

HEADER = ("id", "question", "answer", "contexts", "reference", "faithfulness", "verdict")


def test_a_row_becomes_what_a_judge_of_a_run_sees(tmp_path: Path) -> None:
    """Turn 1 with passages, the reference of that turn, and the history."""
    history = [{"role": "user", "content": "Hello"}, {"role": "assistant", "content": "Yes?"}]
    file = read_labels(written(tmp_path / "a.jsonl", labelled(history=history)))
    context = labelled_context(file.rows[0])

    assert (file.dataset, len(file.rows), file.dimensions) == (
        "shop",
        36,
        ["faithfulness", "correct", "verdict"],
    )
    assert [(p.id, p.text[:13]) for p in context.turn.answer.passages] == [("1", "The guarantee")]
    assert context.references == (file.rows[0].case.references[0][0],)
    assert (context.turn.index, len(context.case.history), context.turn.answer.shows_passages) == (1, 2, True)
    assert file.rows[0].group == "g0"


def test_without_contexts_nobody_knows_what_was_retrieved(tmp_path: Path) -> None:
    """Such a row is not blamed for having no passages: it is skipped by whoever needs them."""
    file = read_labels(written(tmp_path / "a.jsonl", labelled(contexts=[])))

    assert not labelled_context(file.rows[0]).turn.answer.shows_passages


def test_a_table_has_a_column_for_each_label(tmp_path: Path) -> None:
    """Annotators are parted by strokes; what has no column of its own falls back."""
    rows = (
        ["r1", "保証は何年ですか", "2年です。", "保証は2年です。", "2年です。", "4|3|4", "良い"],
        ["r2", "保証は何年ですか", "9年です。", "保証は2年です。", "2年です。", "1", "悪い"],
        ["r3", "送料は", "無料です。", "送料は無料です。", "無料です。", "", "良い"],
    )
    file = read_labels(written_csv(tmp_path / "labels.csv", HEADER, *rows))
    label = read_dimension(file, "faithfulness")

    assert (file.dataset, file.dimensions) == ("labels", ["faithfulness", "verdict"])
    assert [said and said.votes for said in map(label.human_grade, file.rows)] == [(4, 3, 4), (1,), None]
    assert (label.levels, label.good_from, file.rows[0].group) == ((1, 2, 3, 4, 5), 4.5, "r1")
    assert file.rows[0].case.language == "ja"
    assert [
        said and said.mean for said in map(read_dimension(file, "verdict", "良い").human_grade, file.rows)
    ] == [1, 0, 1]


@pytest.mark.parametrize("name", ["label", "Label", "ラベル"])
def test_a_column_called_label_is_a_label(tmp_path: Path, name: str) -> None:
    """In a table and in JSON, for several annotators, too; no judge is told what people said."""
    rows = (["r1", "保証は何年ですか", "2年です。", "4|3"], ["r2", "送料は", "無料です。", "5"])
    table = read_labels(written_csv(tmp_path / "a.csv", ("id", "question", "answer", name), *rows))
    objects = [row | {"labels": {}, name: at % 5 + 1} for at, row in enumerate(labelled())]
    file = read_labels(written(tmp_path / "a.jsonl", objects))

    assert (table.dimensions, file.dimensions) == ([name], [name])
    assert [row.labels[name] for row in table.rows] == [(4, 3), (5,)]
    assert [row.labels[name] for row in file.rows][:3] == [(1,), (2,), (3,)]
    assert {row.case.label for row in (*table.rows, *file.rows)} == {None}


def test_what_is_good_depends_on_the_label(tmp_path: Path) -> None:
    """The top of a scale, a limit, 0 where 0 is good, or a text."""
    file = read_labels(written(tmp_path / "a.jsonl", labelled()))
    shown = [
        read_dimension(file, name, good).good
        for name, good in (
            ("faithfulness", None),
            ("faithfulness", "3"),
            ("correct", None),
            ("correct", "0"),
            ("verdict", "right one"),
            ("faithfulness", "<=2"),
            ("faithfulness", ">=3"),
            ("correct", "<= 0"),
        )
    ]

    assert shown == [
        "faithfulness >= 3.5",
        "faithfulness >= 3",
        "correct >= 0.5",
        "correct = 0",
        "verdict = right one",
        "faithfulness <= 2",
        "faithfulness >= 3",
        "correct = 0",
    ]
    low = read_dimension(file, "faithfulness", "<=2")
    said = low.human_grade(file.rows[0])
    assert said is not None
    assert (said.votes, low.levels, low.good_from) == ((2, 2, 3), (1, 2, 3, 4), 3)
    flipped = read_dimension(file, "correct", "0")
    assert [said and said.mean for said in map(flipped.human_grade, file.rows[:3])] == [0, 1, 1]


@pytest.mark.parametrize(
    ("scale", "label", "levels"),
    [
        ("1-4", 2, (1, 2, 3, 4)), ("0-0.5", 0.5, (0, 0.5)),
        (None, 2, (1, 2, 3, 4, 5)), (None, 1, (0, 1)), ("any", 7, (7, 8)),
    ],
)  # fmt: skip
def test_a_file_may_state_the_scale_of_a_label(
    tmp_path: Path, scale: str | None, label: float, levels: tuple[float, ...]
) -> None:
    """A range; otherwise 0-1 or 1-5 where all labels fit, else their own range."""
    rows = [row | {"labels": {"x": label}, "scale": {"x": scale}} for row in labelled()]

    assert read_dimension(read_labels(written(tmp_path / "a.jsonl", rows)), "x").levels == levels


def test_mistakes_are_named(tmp_path: Path) -> None:
    """The line, the label, and what there is instead."""
    path = written(tmp_path / "a.jsonl", labelled())
    file = read_labels(path)
    broken = written(tmp_path / "broken.jsonl", labelled())
    broken.write_text(path.read_text(encoding="utf-8").replace("}\n{", "}\n{,", 1), encoding="utf-8")
    outside = [row | {"labels": {"faithfulness": 7}} for row in labelled()]
    odd = [row | {"labels": {"faithfulness": [{"a": 1}]}} for row in labelled()]
    silent = [{key: row[key] for key in ("id", "question", "answer")} for row in labelled()]
    no_answer = [{key: value for key, value in row.items() if key != "answer"} for row in labelled()]

    with pytest.raises(UnknownName, match=r"'faithful'.*There are: correct, faithfulness, verdict"):
        read_dimension(file, "faithful")
    with pytest.raises(
        InputError, match=r"say which is good with --good. There are: 'right one', 'half one'"
    ):
        read_dimension(file, "verdict")
    with pytest.raises(UnknownName, match="value of label verdict: 'best'"):
        read_dimension(file, "verdict", "best")
    with pytest.raises(
        InputError, match="--good 'high': the labels of faithfulness are numbers on a scale 1-4"
    ):
        read_dimension(file, "faithfulness", "high")
    with pytest.raises(CaseFileError, match=r"broken.jsonl, line 2: not valid JSON"):
        read_labels(broken)
    with pytest.raises(CaseFileError, match=r"line 1: label 'faithfulness' is 7, outside its scale 1-4"):
        read_dimension(read_labels(written(tmp_path / "b.jsonl", outside)), "faithfulness")
    with pytest.raises(CaseFileError, match=r"line 1: label 'faithfulness': an object is neither"):
        read_labels(written(tmp_path / "c.jsonl", odd))
    with pytest.raises(CaseFileError, match="it has no labels"):
        read_labels(written(tmp_path / "d.jsonl", silent))
    with pytest.raises(CaseFileError, match="line 1: no answer to grade"):
        read_labels(written(tmp_path / "e.jsonl", no_answer))
