"""The sentences of the trial judges and of the offline customer."""

import tomllib
from string import Template

from simulator.core.types import Language
from simulator.text.wording import FILE, percent, quoted


def test_quotes_are_short_and_only_a_full_share_is_called_a_hundred() -> None:
    """99.9% is not 100%."""
    assert quoted("「" + "あ" * 100 + "」").endswith("…")
    assert len(quoted("あ" * 100)) == 40
    assert percent(0.999) == "99"
    assert percent(1) == "100"


def test_both_languages_have_the_same_sentences() -> None:
    """The same keys with the same variables, so that no reason fails in one language only."""
    table = tomllib.loads(FILE.read_text(encoding="utf-8"))

    def variables(language: Language) -> dict[str, list[str]]:
        texts = {key: text for key, text in table[language].items() if isinstance(text, str)}
        return {key: sorted(Template(text).get_identifiers()) for key, text in texts.items()}

    assert variables("ja") == variables("en")
