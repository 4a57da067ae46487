"""The judges that compare texts: exact_match, contains, token_f1, rouge_l, meteor, chrf."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from simulator.core import shelves
from simulator.core.templates import check_languages, read_toml
from simulator.core.types import GradingContext, Language, Score
from simulator.grading.panel import scale_of
from simulator.grading.rubric import load_judge
from tests.commands import Command
from tests.run_helpers import RECORDED, a_turn, answered

NAMES = ("exact_match", "contains", "token_f1", "rouge_l", "meteor", "chrf")
COUNTED = {"turn", "value", "matched", "answer", "reference", "chunks", "precision", "recall"}


def an_exhibit(
    *references: str, answer: str = "富士山です。", turn: int = 1, language: Language = "ja"
) -> GradingContext:
    earlier = [a_turn(at) for at in range(1, turn)]
    known: Any = {"references": (references,) if references else ()}
    return answered(answer, earlier=earlier, language=language, **known)


def judge(name: str) -> Callable[..., Score]:
    found = load_judge(name)
    assert callable(found)
    return found


@pytest.mark.parametrize("name", NAMES)
def test_a_right_answer_is_scored_with_what_was_counted(name: str) -> None:
    """The detail names tokenizer, variant and the reference that counted."""
    score = judge(name)(an_exhibit("桜島です。", "富士山です。"))

    assert score.state == "scored"
    assert score.value == score.raw
    assert score.value == pytest.approx(0.996 if name == "meteor" else 1)
    assert set(score.detail) == {"precision", "recall", "f", "tokenizer", "variant", "reference"}
    assert score.detail["reference"] == "富士山です。"
    assert [score.detail[name] for name in ("precision", "recall", "f")] == [1, 1, 1]


def test_meteor_says_what_its_mean_is_made_of() -> None:
    """Three of five tokens, which are all of the reference: .6 / (.9 * .6 + .1 * 1) is .9375."""
    detail = judge("meteor")(an_exhibit("富士山")).detail

    assert [detail[name] for name in ("precision", "recall", "f")] == [0.6, 1, 0.9375]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("context", [an_exhibit(), an_exhibit("富士山", turn=2), an_exhibit(" ")])
def test_a_turn_without_a_reference_is_skipped(name: str, context: GradingContext) -> None:
    """Also when only another turn has one."""
    score = judge(name)(context)

    assert (score.state, score.value, score.raw, score.detail) == ("skipped", None, None, {})
    assert score.reason == f"回答{context.turn.index}には模範回答がありません"


@pytest.mark.parametrize("name", NAMES)
def test_a_wrong_answer_has_little(name: str) -> None:
    """Nothing in common is 0, and it is scored."""
    score = judge(name)(an_exhibit("Oslo", answer="はい"))

    assert (score.state, score.value) == ("scored", 0)


def test_a_run_counts_a_measure_from_nothing_to_all(command: Command) -> None:
    """Of two rows, one of which is right: half of all; METEOR takes a little off short answers."""
    rows = [
        {"question": "q", "reference": "富士山です。", "answer": answer} for answer in ("富士山です。", "no")
    ]
    Path("rows.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    judges = command(*RECORDED, "--judges", ",".join(NAMES), "--json").json["judges"]

    means = {name: judge["mean"] for name, judge in judges.items()}
    assert means == dict.fromkeys(NAMES, 0.5) | {"meteor": 0.498}
    measures = (*NAMES, "cosine_similarity", "risk", "tools")
    assert {scale_of(load_judge(name)) for name in measures} == {(0, 1)}  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "language", "reason"),
    [
        ("exact_match", "ja", "模範回答と一致しない"),
        ("contains", "ja", "回答に模範回答がそのまま含まれる"),
        ("token_f1", "ja", "順序を問わず一致した字・語：3（回答5、模範回答3）"),
        ("rouge_l", "ja", "模範回答と同じ順に並ぶ字・語：3（回答5、模範回答3）"),
        ("meteor", "ja", "模範回答と対応する字・語：3（回答5、模範回答3）、続きの数：1"),
        ("chrf", "ja", "1〜6文字の並びの一致：適合率0.38、再現率1.00"),
        ("rouge_l", "en", "3 tokens in the order of the reference (answer 5, reference 3)"),
        ("meteor", "en", "3 tokens paired with the reference (answer 5, reference 3), pieces: 1"),
    ],
)
def test_the_reason_says_what_was_counted(name: str, language: Language, reason: str) -> None:
    """One line in the language of the case."""
    assert judge(name)(an_exhibit("富士山", language=language)).reason == reason


@pytest.mark.parametrize("name", ["cosine", "cosine_similarity"])
async def test_the_cosine_is_said_in_the_language_of_the_case(name: str) -> None:
    """No English in a Japanese run, neither of a grade nor of what is skipped."""

    async def embed(texts: list[str]) -> list[list[float]]:
        return [[1.0, 0.0] for _text in texts]

    called: Any = judge(name)
    graded, skipped = await called(an_exhibit("富士山"), embed), await called(an_exhibit(), embed)

    assert graded.reason == "模範回答とのコサイン類似度：1.00"
    assert skipped.reason == "回答1には模範回答がありません"


def test_the_reasons_are_there_in_both_languages() -> None:
    """With the same variables."""
    path = Path(shelves.JUDGES / "_text_metrics.toml")
    tables = read_toml(path)

    check_languages(path, tables, dict.fromkeys(tables["ja"], COUNTED))
    assert set(tables["ja"]) == set(tables["en"])
