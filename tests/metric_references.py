"""Known values of text metrics."""

from typing import Any

from tests.paths import fixture_rows

Row = dict[str, Any]


def committed(kind: str) -> list[Row]:
    """The rows of a kind whose licence lets them be here."""
    return fixture_rows(f"metric_reference_{kind}.jsonl")
