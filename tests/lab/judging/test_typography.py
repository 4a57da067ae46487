"""What judges by rule find does not depend on the shape of marks."""

import pytest

from simulator.core.templates import LANGUAGES
from simulator.core.types import Language
from simulator.lab.judging.keigo import findings
from simulator.lab.judging.language_match import languages_of
from tests.run_helpers import answered
from tests.text.test_typography import Detector, Texts, differing, rows


def impolite(text: str, language: Language) -> set[str]:
    return {finding.kind for finding in findings(answered(text, language=language))}


DETECTORS: dict[str, tuple[Detector, Texts]] = {
    "keigo": (impolite, lambda language: rows(f"keigo_{language}.jsonl", "answer")),
    "language": (lambda text, _: languages_of(text), lambda _: rows("answer_languages.jsonl", "answer")),
}


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("name", list(DETECTORS))
def test_a_judge_says_the_same_of_curly_and_straight_marks(name: str, language: Language) -> None:
    """Over its own test sentences, each with other signs for its apostrophes, quotation marks and hyphens."""
    assert differing(*DETECTORS[name], language) == []
