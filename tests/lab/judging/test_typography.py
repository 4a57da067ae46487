"""What judges by rule find does not depend on the shape of marks."""

from collections.abc import Callable

import pytest

from simulator.core.templates import LANGUAGES
from simulator.core.types import Language
from simulator.lab.judging.entities import specifics_of
from simulator.lab.judging.keigo import findings
from simulator.lab.judging.language_match import languages_of
from tests.run_helpers import answered
from tests.text.test_typography import curly, rows


def impolite(text: str, language: Language) -> set[str]:
    return {finding.kind for finding in findings(answered(text, language=language))}


DETECTORS: dict[str, tuple[Callable[[str, Language], object], Callable[[Language], list[str]]]] = {
    "keigo": (impolite, lambda language: rows(f"keigo_{language}.jsonl", "answer")),
    "facts": (
        lambda text, _: [detail.canonical for detail in specifics_of(text)],
        lambda language: rows(f"facts_{language}.jsonl", "answer"),
    ),
    "language": (lambda text, _: languages_of(text), lambda _: rows("answer_languages.jsonl", "answer")),
}


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("name", list(DETECTORS))
def test_a_judge_says_the_same_of_curly_and_straight_marks(name: str, language: Language) -> None:
    """Over its own test sentences, each with other signs for its apostrophes, quotation marks and hyphens."""
    detect, texts = DETECTORS[name]
    differing = [
        (text, changed)
        for seed, text in enumerate(texts(language))
        if (changed := curly(text, seed)) != text and detect(changed, language) != detect(text, language)
    ]

    assert differing == []


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("Write to us—desk@example.com—any time.", ["desk@example.com"]),
        ("See the plans—https://example.com/plans—for more.", ["https://example.com/plans"]),
        ("My router shows code E-20512—what now?", ["e20512"]),
        ("Open 9:00—18:00.", ["9:00-18:00"]),
        ("0120―000―371", ["0120000371"]),
        ("It takes 10–20 minutes.", ["600～1200秒"]),
    ],
)
def test_a_long_dash_parts_an_address_from_the_words_around_it(text: str, wanted: list[str]) -> None:
    """Between figures it joins them, as a hyphen does."""
    assert [each.canonical for each in specifics_of(text)] == wanted
