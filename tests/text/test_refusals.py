"""Refusals are told from answers that say no, on the labelled lines in tests/fixtures/refusals_*.jsonl."""

import json
from typing import Any

import pytest

from simulator.core.types import Language
from simulator.text.acts import is_handover, is_refusal
from tests.paths import FIXTURES

FOLDER = FIXTURES
LANGUAGES: tuple[Language, ...] = ("ja", "en")
ENOUGH = 0.95


def lines(language: Language, part: str) -> list[dict[str, Any]]:
    text = (FOLDER / f"refusals_{language}.jsonl").read_text(encoding="utf-8")
    return [row for row in map(json.loads, text.splitlines()) if row["part"] == part]


def measured(rows: list[dict[str, Any]], language: Language) -> tuple[float, float, float]:
    """Precision, recall and F1."""
    pairs = [(is_refusal(row["text"], language), row["refusal"]) for row in rows]
    hits = sum(found and wanted for found, wanted in pairs)
    precision, recall = hits / sum(found for found, _ in pairs), hits / sum(wanted for _, wanted in pairs)
    return precision, recall, 2 * precision * recall / (precision + recall)


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize(("part", "fewest"), [("held", 50), ("tune", 100)])
def test_refusals_are_recognised(language: Language, part: str, fewest: int) -> None:
    """F1 of at least .95, on the lines that shaped the patterns and on those that did not."""
    rows = lines(language, part)
    precision, recall, f1 = measured(rows, language)

    assert len(rows) >= fewest
    assert f1 >= ENOUGH, (precision, recall)
    assert min(precision, recall) >= 0.9


@pytest.mark.parametrize("language", LANGUAGES)
def test_handovers_among_them_are_recognised(language: Language) -> None:
    """Nearly all lines of the kind, and no answer that only mentions a person."""
    rows = [row for part in ("held", "tune") for row in lines(language, part)]
    found = [row for row in rows if is_handover(row["text"], language)]
    handovers = [row for row in rows if row["kind"] == "handover"]

    assert sum(row in found for row in handovers) >= ENOUGH * len(handovers)
    assert [row["text"] for row in found if row["kind"] == "answer"] == []
