"""The keigo judge held to labelled lines, and to the desk Japanese of the demo."""

import csv
from pathlib import Path
from typing import Any

import pytest

from simulator.core.types import Language
from simulator.lab.judging.keigo import findings
from tests.paths import ROOT, fixture_rows
from tests.run_helpers import answered

PAGES = sorted((ROOT / "demo" / "knowledge" / "ja").glob("*.md"))
# The least precision and recall, over pairs of line and kind.
LEAST = {
    ("ja", "tune"): (1.0, 1.0),
    ("ja", "held"): (0.95, 0.8),
    ("ja", "late"): (0.95, 0.8),
    ("en", "tune"): (1.0, 1.0),
    ("en", "held"): (0.95, 0.8),
}


def lines(language: str, part: str) -> list[dict[str, Any]]:
    return fixture_rows(f"keigo_{language}.jsonl", part=part)


def found(user: str, answer: str, language: Language = "ja", persona: str = "calm") -> set[str]:
    shown = answered(answer, user, language=language, persona=persona)
    return {finding.kind for finding in findings(shown)}


@pytest.mark.parametrize(("language", "part"), list(LEAST))
def test_the_labelled_lines_are_read_rightly(language: Language, part: str) -> None:
    """Few false alarms, and most of the faults; tune lines are those that the patterns were made with."""
    right = alarms = missed = 0
    for line in lines(language, part):
        got = found(line["user"], line["answer"], language, line.get("persona", "calm"))
        wanted = set(line["kinds"])
        right += len(got & wanted)
        alarms += len(got - wanted)
        missed += len(wanted - got)

    precision, recall = LEAST[language, part]
    assert right / (right + alarms) >= precision
    assert right / (right + missed) >= recall


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_the_demos_knowledge_is_polite(path: Path) -> None:
    """No false alarm on a page, nor on one of its paragraphs given as an answer."""
    page = path.read_text(encoding="utf-8")

    assert found("", page) == set()
    for paragraph in page.split("\n\n"):
        assert found("教えてください", paragraph) == set()


def test_the_demos_references_are_polite() -> None:
    """Neither on the right answers to the demo's questions, whoever asks."""
    with (ROOT / "demo" / "cases" / "ja.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))

    for row in rows:
        for persona in ("calm", "angry"):
            assert found(row["question"], row["references"], persona=persona) == set(), row["id"]
