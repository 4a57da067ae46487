"""The judge language_match: answers labelled with whether they are in the customer's language."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.core.types import Score
from simulator.lab.judging.language_match import language_match, languages_of
from tests.paths import FIXTURES
from tests.run_helpers import answered

LINES = FIXTURES.joinpath("answer_languages.jsonl").read_text(encoding="utf-8").splitlines()
ROWS = [json.loads(line) for line in LINES]


def judged(row: dict[str, Any]) -> Score:
    score: Score = language_match(answered(row["answer"], row["user"], language=row["language"]))
    return score


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["answer"][:30])
def test_labelled_answers(row: dict[str, Any]) -> None:
    """Matched is 1, mixed 0.5, another language 0; an answer without words is skipped."""
    score = judged(row)

    assert (score.raw, score.value) == (row["raw"], row["raw"])
    assert score.state == ("skipped" if row["raw"] is None else "scored")
    assert score.severity == {1: None, 0.5: "moderate", 0: "major", None: None}[row["raw"]]


@pytest.mark.parametrize(
    ("answer", "raw"), [("こんにちはどうも네요", 1), ("はい네요네요네요네요", 0), ("こんにちはどう네요", 0.5)]
)
def test_four_fifths_decide(answer: str, raw: float) -> None:
    """So much in the customer's language matches, so much in another one does not."""
    assert judged({"user": "?", "language": "ja", "answer": answer}).raw == raw


@pytest.mark.parametrize(
    ("language", "answer", "reason"),
    [
        ("ja", "The price is 4,180 yen.", "お客様は日本語で書いていますが、回答は英語です"),
        ("en", "料金は4,180円です。", "the customer writes English, the answer is Japanese"),
        ("ja", "您好，请您稍等。", "お客様は日本語で書いていますが、回答は中国語です"),
    ],
)
def test_the_reason_names_both_languages(language: str, answer: str, reason: str) -> None:
    """In the language of the case."""
    assert judged({"user": "?", "language": language, "answer": answer}).reason == reason


@given(st.text(st.characters(), max_size=300))
def test_any_text_can_be_told(text: str) -> None:
    """Shares are never negative, and nothing is raised."""
    assert all(words > 0 for words in languages_of(text).values())
