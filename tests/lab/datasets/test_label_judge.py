"""The judge `label`: which label an answer gives, and what becomes of answers that give none."""

from typing import Any

import pytest

from simulator import Case, GradingContext, Score
from simulator.cases.profile import case_label_problem, label_forms, label_set_problem, labels_in
from simulator.core.shelves import judge_files
from simulator.grading.panel import FunctionJudge
from simulator.lab.datasets.label import Reader, label
from tests.run_helpers import answered, frame

JA, EN, NUMBERS = ("問題", "普通"), ("spam", "ham"), ("0", "1")
YES, STARS = ("yes", "no"), ("1", "2", "3", "4", "5")


def context(answer: str, expected: str | None = "1", logprobs: Any = None) -> GradingContext:
    """An answer to a row with this label."""
    return answered(answer, label=expected, told={"logprobs": logprobs or {}})


def graded(answer: str, expected: str | None = "1", **more: dict[str, float]) -> Score:
    """The verdict where 0 is said 適切, and 1 不適切."""
    forms = label_forms(("0", "1"), [{"0": "適切", "1": "不適切"}])
    score: Score = label(context(answer, expected, **more), forms)
    return score


@pytest.mark.parametrize(
    ("labels", "answer", "wanted"),
    [
        # Alone, named, in JSON, quoted, or the only one that is mentioned, whatever stands around it.
        (JA, "問題", "問題"),
        (JA, "**問題**", "問題"),
        (NUMBERS, "１。", "1"),
        (JA, "普通\n\n文：次の文\nラベル：問題", "普通"),
        (JA, "怒っているように見えるが、問題とまでは言えない。\n普通", "普通"),
        (JA, "ラベル：「普通」です", "普通"),
        (JA, "判定結果: 問題", "問題"),
        (EN, "Label: ham\nBecause spam would ask for money.", "ham"),
        (EN, "First I thought label: spam. Final label: ham", "ham"),
        (JA, '{"reason": "普通ではない", "label": "問題"}', "問題"),
        (JA, '```json\n{"ラベル": "普通"}\n```', "普通"),
        (NUMBERS, '{"label": 1}', "1"),
        (JA, "「問題」ではなく「普通」と考えます。", "普通"),
        (NUMBERS, "1: 道徳的に誤り", "1"),
        # A label that is denied was not said, nor is one read from two, from a longer word or from a number.
        (JA, "問題ではない", None),
        (JA, "問題ではありません。", None),
        (JA, "これは問題とは言えません", None),
        (JA, "問題でも普通でもない。", None),
        (JA, "問題と普通のどちらとも取れます。", None),
        (EN, "This is not spam.", None),
        (EN, "neither spam nor ham", None),
        (EN, "a spammer wrote it", None),
        (NUMBERS, "1つ目の理由は三人称だからです。", None),
        (NUMBERS, "10", None),
        (NUMBERS, "", None),
        # A longer label wins: where it stands, the shorter ones within it were not said; it may be a denial.
        (("問題", "問題なし"), "この文は問題なしです", "問題なし"),
        (("適切", "不適切"), "不適切だと思います", "不適切"),
        (("適切", "不適切"), "適切ではありません。不適切です。", "不適切"),
        (("spam", "not spam"), "This is not spam.", "not spam"),
        (("肯定", "否定", "どちらでもない"), "感情はどちらでもないです", "どちらでもない"),
        # What is boxed or tagged, or begins the first or last line, goes before what is only mentioned.
        (EN, r"It looks like spam.\n\n\boxed{\text{ham}}", "ham"),
        (EN, "Not like spam at all, so <answer>ham</answer>", "ham"),
        (EN, '{"sentiment": "ham", "reason": "no spam"}', "ham"),
        (JA, "評価：普通\n理由：問題のある語が少ない。", "普通"),
        (YES, "No, it is not. Yes would be wrong.", "no"),
        (YES, "**Yes**, there is no doubt.", "yes"),
        (YES, "I have no idea", None),
        (("true", "false"), "No, they do not.", "false"),
        (("True", "False"), "はい。", "True"),
        (("true", "false"), "Yes. But that is false.", "false"),
        (("true", "spam"), "Yes.", None),
        (YES, "yes, no", None),
        (EN, "label: spam or ham", None),
        (JA, "ラベル：問題または普通", None),
        (JA, "この文は普通です（問題な表現はありません）。", "普通"),
        (("含意", "矛盾"), "矛盾しないので含意です。", "含意"),
        (("あり", "なし"), "ありがとうございます", None),
        # An underscore is a space, as models write it.
        (("card_arrival", "card_linking"), "Intent: Card arrival", "card_arrival"),
        (("card_arrival", "card_linking"), r"card\_linking", "card_linking"),
        (("toxic", "not_toxic"), "This is not toxic.", "not_toxic"),
        # A rating with its unit or its scale.
        (STARS, "4 out of 5", "4"),
        (STARS, "I'd rate it 4/5.", "4"),
        (STARS, "4点です", "4"),
        (STARS, "星4つ", "4"),
        (STARS, "5段階中4", "4"),
        (STARS, "4.7", None),
        (STARS, "1. The tone is rude.\n2. The text is long.\nHard to tell.", None),
    ],
)
def test_an_answer_gives_at_most_one_label(labels: tuple[str, ...], answer: str, wanted: str | None) -> None:
    """The one that it says, and none where it says none or leaves it open."""
    said = Reader(label_forms(labels))(answer)

    assert (said and said.label) == wanted


def test_right_and_wrong() -> None:
    """1 or 0, with what was read and what is right; what a prompt says for a label stands for it."""
    right, wrong = graded("不適切です"), graded("適切", expected="1")

    assert (right.value, right.raw, right.state) == (1, 1, "scored")
    assert right.detail == {"expected": "1", "predicted": "1", "read": "mentioned"}
    assert (wrong.value, wrong.by_rule) == (0, False)
    assert wrong.detail == {"expected": "1", "predicted": "0", "read": "alone"}
    assert "0" in wrong.reason
    assert "1" in wrong.reason


def test_no_label_is_wrong_and_counted() -> None:
    """What could not be read is the tested model's own fault."""
    score = graded("お答えできません")

    assert (score.value, score.raw, score.by_rule) == (0, 0, True)
    assert score.detail == {"expected": "1", "predicted": None, "not_extracted": "label"}


def test_a_row_without_a_label_is_skipped() -> None:
    """There is nothing to hold the answer against."""
    assert graded("不適切", expected=None).state == "skipped"


def test_the_likeliest_label_goes_before_the_text() -> None:
    """By what the endpoint told; a tie is read from the text."""
    score = graded("適切", logprobs={"適切": -2.0, "不適切": -0.2})
    tie = graded("適切", logprobs={"適切": -0.7, "不適切": -0.7})

    assert score.detail == {"expected": "1", "predicted": "1", "read": "likelihood"}
    assert tie.detail["predicted"] == "0"


async def test_the_judge_is_given_the_labels_of_the_row() -> None:
    """The run's; a row whose label is one of its own choices has those."""
    judging = FunctionJudge("label", label, {"labels": label_forms(JA)}, frame(), "r")
    shown = context("普通です", "普通")
    own = shown.model_copy(update={"case": shown.case.model_copy(update={"choices": ("普通", "普通です")})})

    assert (await judging(shown, ()))[0].detail["predicted"] == "普通"
    assert (await judging(own, ()))[0].detail["predicted"] == "普通です"


def test_label_sets() -> None:
    """Numbers by size, all others as they come; a prompt's come first with what it says for them."""
    cases = [Case(id=name, question="q", language="ja", label=name) for name in ("10", "2", "1")]

    assert labels_in(cases) == ("1", "2", "10")
    assert labels_in([*cases, cases[0].model_copy(update={"label": "他"})]) == ("10", "2", "1", "他")
    assert label_forms(("1",), [{"0": "適切", "1": "不適切"}, {"0": "fine", "1": "not fine"}]) == {
        "0": ("適切", "fine", "0"),
        "1": ("不適切", "not fine", "1"),
    }


def test_what_is_wrong_with_labels() -> None:
    """Empty ones, strangers, a set of one, and two that no answer can tell apart."""

    def problem(label: str, labels: tuple[str, ...] = ()) -> str:
        case = Case(id="1", question="q", language="ja", label=label)
        return str(case_label_problem(case, labels) or "")

    assert problem(" ") == "the label is empty; every row needs one."
    assert problem("２", ("0", "1")) == "the label '２' is none of: 0, 1."
    assert problem("2") == ""
    assert "nothing to tell apart" in str(label_set_problem(("1",)))
    assert "differ in nothing" in str(label_set_problem(("spam", "Spam")))
    assert label_set_problem(NUMBERS) is None


def test_it_is_made_of_its_files() -> None:
    """Its texts are part of its rubric, as of a judge on the shelf."""
    assert {path.name for path in judge_files(label)} == {"label.py", "_label.toml"}
