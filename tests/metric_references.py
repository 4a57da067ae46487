"""Known values of text metrics."""

import re
from typing import Any

from tests.paths import fixture_rows

Row = dict[str, Any]


def committed(kind: str) -> list[Row]:
    """The rows of a kind whose licence lets them be here."""
    return fixture_rows(f"metric_reference_{kind}.jsonl")


def ascii_words(text: str) -> list[str]:
    """Runs of a-z and 0-9 of the lower-cased text, as the rouge_score package cuts; Japanese is lost."""
    return re.findall("[a-z0-9]+", text.lower())
