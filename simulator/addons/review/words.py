"""The texts of a review in either language."""

from pathlib import Path

from simulator.core.templates import Texts
from simulator.core.types import Language
from simulator.report.listing import Say

WORDS = Texts(Path(__file__).with_name("review.toml"))
# Shown of each list; the rest is in `--json`.
SHOWN = 5


def words_in(language: Language) -> Say:
    """The texts of `review` in a language, numbers with their thousands apart."""

    def say(key: str, **values: object) -> str:
        texts = {name: f"{v:,}" if isinstance(v, int) else str(v) for name, v in values.items()}
        return WORDS(language, key, **texts)

    return say


def percent(share: float) -> str:
    """A share 0..1 of a hundred, without decimals."""
    return f"{100 * share:.0f}"
