"""What judges by rule find does not depend on the shape of marks."""

from collections.abc import Callable

import pytest

from simulator.core.templates import LANGUAGES
from simulator.core.types import Language
from simulator.lab.judging.keigo import findings
from simulator.lab.judging.language_match import languages_of
from tests.run_helpers import answered
from tests.text.test_typography import curly, rows


def impolite(text: str, language: Language) -> set[str]:
    return {finding.kind for finding in findings(answered(text, language=language))}


DETECTORS: dict[str, tuple[Callable[[str, Language], object], Callable[[Language], list[str]]]] = {
    "keigo": (impolite, lambda language: rows(f"keigo_{language}.jsonl", "answer")),
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
