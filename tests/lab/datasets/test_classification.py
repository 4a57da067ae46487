"""Classification: printed figures reproduced from counts, averages, what reports tell of them."""

import re
from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from simulator.core.types import Case, Conversation, Results, Score
from simulator.lab.datasets.classification import (
    Classification,
    ClassifiedRow,
    classifications,
    classify,
    positive_of,
)
from simulator.lab.datasets.sections import classes_section
from tests.commands import Command
from tests.paths import ROOT
from tests.run_helpers import a_run_of_rows
from tests.texts import said

BINARY = ("0", "1")
# An awesome list's repositories, about Japanese or not: 60 of 856 are. Printed by lm-evaluation-harness.
POSITIVES, ALL = 60, 856


def of_table(counts: Sequence[Sequence[int]], labels: Sequence[str] = BINARY) -> Classification:
    """The figures of a table of counts: expected by predicted label."""
    cells = product(enumerate(counts), enumerate(labels))
    rows = [[ClassifiedRow(labels[i], said)] * row[j] for (i, row), (j, said) in cells]
    return classify([each for same in rows for each in same], labels)


def of_counts(tp: int, fp: int, fn: int) -> Classification:
    """The figures of a binary classifier on the article's rows."""
    return of_table([[ALL - tp - fp - fn, fp], [fn, tp]])


def delta_stderr(tp: int, fp: int, fn: int) -> float:
    """The standard error of F1 by its linearisation: what the bootstrap comes to on many rows."""
    both = 2 * tp + fp + fn
    slopes = np.array([2 * (fp + fn), -2 * tp, -2 * tp]) / both**2
    counts = np.array([tp, fp, fn], dtype=float)
    return float(np.sqrt(slopes**2 @ counts - (slopes @ counts) ** 2 / ALL))


@pytest.mark.parametrize(
    ("counts", "accuracy", "stderr", "f1"),
    [
        ((60, 793, 0), 0.0736, 0.0089, 0.1314),
        ((59, 766, 1), 0.1040, 0.0104, 0.1333),
        ((42, 61, 18), 0.9077, 0.0099, 0.5153),
        ((47, 37, 13), 0.9416, 0.0080, 0.6528),
        ((51, 27, 9), 0.9579, 0.0069, 0.7391),
    ],
)
def test_printed_tables(counts: tuple[int, int, int], accuracy: float, stderr: float, f1: float) -> None:
    """Accuracy, its standard error and F1 to every printed digit; F1's own error by resampling."""
    found = of_counts(*counts)

    assert round(found.accuracy, 4) == accuracy
    assert found.accuracy_stderr == pytest.approx(stderr, abs=5e-5)
    assert round(found.f1, 4) == f1
    assert found.f1_stderr == pytest.approx(delta_stderr(*counts), rel=0.04)
    assert (found.positive, found.n, found.per_class[1].support) == ("1", ALL, POSITIVES)
    assert (found.draws, found.seed) == (100_000, 1234)
    # What has to be beaten: the accuracy of whoever always says the commonest label.
    assert found.as_json()["majority"] == {"label": "0", "accuracy": 0.9299}


def test_the_report_per_class() -> None:
    """The example of scikit-learn's `classification_report`: zero where there is nothing to divide by."""
    rows = [ClassifiedRow(*pair) for pair in (("a", "a"), ("b", "a"), ("c", "c"), ("c", "c"), ("c", "b"))]
    found = classify(rows, ("a", "b", "c"))

    told = [
        [round(share, 2) for share in (each.precision, each.recall, each.f1)] + [each.support]
        for each in (*found.per_class, found.macro, found.weighted)
    ]
    assert told == [
        [0.5, 1.0, 0.67, 1],
        [0.0, 0.0, 0.0, 1],
        [1.0, 0.67, 0.8, 3],
        [0.5, 0.56, 0.49, 5],
        [0.7, 0.6, 0.61, 5],
    ]
    assert (found.positive, found.f1, found.accuracy) == ("", found.macro.f1, 0.6)


def test_what_was_not_extracted_is_wrong() -> None:
    """It has a column of its own, lowers recall and accuracy, and no precision."""
    told = (("1", "1"), ("1", None), ("0", "0"), ("0", "never heard of"))
    found = classify([ClassifiedRow(*pair) for pair in told], BINARY)

    assert found.confusion == ((1, 0, 1), (0, 1, 1))
    split = {"labels": ["0", "1"], "counts": [[1, 0], [0, 1]], "not_extracted": [1, 1]}
    assert found.as_json()["confusion"] == split
    assert (found.not_extracted, found.accuracy) == (2, 0.5)
    assert (found.per_class[1].precision, found.per_class[1].recall) == (1.0, 0.5)


def test_repeats_of_a_row_are_no_new_rows() -> None:
    """Three answers to each question are drawn together: the error is that of the questions."""
    rows = [ClassifiedRow("1" if i % 3 else "0", "1" if i % 5 else "0", f"c{i}") for i in range(300)]
    once, thrice = classify(rows, BINARY), classify(rows * 3, BINARY)

    assert thrice.f1_stderr == pytest.approx(once.f1_stderr, rel=0.02)
    assert thrice.accuracy_stderr == pytest.approx(once.accuracy_stderr)


@pytest.mark.parametrize(
    ("labels", "support", "wanted"),
    [
        (BINARY, (1, 99), "1"),
        (("いいえ", "はい"), (1, 99), "はい"),
        (("苦情", "その他"), (10, 90), "苦情"),
        (("a", "b"), (5, 5), "b"),
        (("a", "b", "c"), (1, 2, 3), ""),
    ],
)
def test_which_label_is_looked_for(labels: Sequence[str], support: Sequence[int], wanted: str) -> None:
    """The one whose name says so, else the rarer one; none among three."""
    assert positive_of(labels, np.array(support)) == wanted


def a_run(answers: Sequence[tuple[str, str | None]], **settings: object) -> Results:
    """A run of labelled rows, each with what was read from its answer ("!": not graded)."""
    labels = [expected for expected, _said in answers]
    cases = [Case(id=f"r{at}", question="文", language="ja", label=each) for at, each in enumerate(labels)]

    def graded(talk: Conversation) -> Iterator[Score]:
        expected, predicted = answers[int(talk.case.id[1:])]
        score = Score(judge="label", conversation=talk.id, turn=1, state="failed")
        detail = {"expected": expected, "predicted": predicted}
        scored = {"state": "scored", "value": 0.0, "raw": 0.0, "detail": detail}
        yield score if predicted == "!" else score.model_copy(update=scored)

    return a_run_of_rows([(case, "…") for case in cases], graded, **settings)


GOOD = a_run([("1", "1"), ("1", "1"), ("0", "0"), ("0", "1"), ("0", None), ("1", "!")])


def test_a_run_as_a_classifier() -> None:
    """From the scores of `label`; what could not be graded does not count."""
    (found,) = classifications(GOOD)

    assert (found.labels, found.n, found.not_extracted, found.failed) == (BINARY, 5, 1, 1)
    assert found.confusion == ((1, 1, 1), (0, 2, 0))


def test_labels_of_the_run() -> None:
    """All that there are, in their order, though some occur in no row; the positive one as given."""
    run = a_run([("1", "1"), ("0", "0")], labels={"1": ["良い", "1"], "0": ["悪い", "0"]}, positive="0")

    (found,) = classifications(run)
    assert (found.labels, found.positive) == (("1", "0"), "0")
    assert classifications(a_run([])) == ()
    # Texts of their own are no classes: hundreds of labels make no matrix.
    assert classifications(a_run([(f"text {at}", None) for at in range(101)])) == ()


def test_many_labels_are_told_by_what_is_confused() -> None:
    """A matrix nobody could read is left out."""
    names = [f"L{at:02}" for at in range(15)]
    run = a_run([(name, name) for name in names] + [("L00", "L01")] * 3 + [("L02", None)])
    told = classes_section(run)

    assert told is not None
    assert [said(cell.text) for cell in told.tables[1].rows[0]] == ["L00 → L01", "3"]
    assert [said(cell.text) for cell in told.tables[1].rows[1]] == ["L02 → not extracted", "1"]


BOT = '''
def answer(text):
    """Angry words make a complaint."""
    said = text.rsplit("文：", 1)[-1]
    angry = any(word in said for word in ("返金", "ひど", "謝罪", "どう"))
    return "苦情です。" if angry else "苦情ではなく、その他。"
'''


def test_a_labelled_file_from_end_to_end(command: Command) -> None:
    """A prompt's words are read back as the data set's labels; JSON, page and Markdown have the figures."""
    Path("bot.py").write_text(BOT, encoding="utf-8")
    data = ROOT / "demo" / "datasets" / "classification.ja.jsonl"
    options = ["--prompt", "classify", "--adapter", "bot.py:answer", "--offline", "--to", "markdown"]

    done = command("evaluate", str(data), *options, "--json")
    shown = done.json
    assert done.code == 0
    judge = shown["judges"]["label"]
    assert {"accuracy", "f1", "per_class"} <= set(judge)
    assert judge["positive"] == "complaint"
    assert judge["per_class"]["complaint"]["support"] == 7
    assert judge["accuracy"] == judge["mean"]
    folder = Path(shown["store"]).parent
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert re.search('aria-label="混同行列[^"]*"><table class="heat">', page)
    markdown = (folder / "report.md").read_text(encoding="utf-8")
    assert re.search(r"いつも .+ と答えると", markdown), markdown


def test_one_label_is_nothing_to_tell_apart(command: Command) -> None:
    """Said before anything is asked, with the file and what to do."""
    rows = '{"text": "良い天気", "label": 1}\n{"text": "悪い天気", "label": 1}\n'
    Path("rows.jsonl").write_text(rows, encoding="utf-8")
    done = command("evaluate", "rows.jsonl", "--adapter", "demo", "--offline")
    assert done.code == 2
    assert "rows.jsonl: every row has the label '1': there is nothing to tell apart." in done.err
