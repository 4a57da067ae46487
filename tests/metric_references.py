"""Known values of text metrics: those in this repository, and the whole collection where it is at hand."""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.paths import ROOT

COMMITTED = ROOT / "tests" / "fixtures"
COLLECTION = (
    Path(os.environ.get("REHEARSAL_BENCH_DATA", ROOT.parent / "shared" / "data")) / "metric_reference"
)
# The files of the collection, and what they are called here.
FILES = {
    "published": "metric_reference_published.jsonl",
    "en": "metric_reference_computed_en.jsonl",
    "ja": "metric_reference_computed_ja.jsonl",
}

Row = dict[str, Any]


def committed(kind: str) -> list[Row]:
    """The rows of a kind whose licence lets them be here."""
    return list(_rows(COMMITTED / f"metric_reference_{kind}.jsonl"))


def collected(kind: str) -> list[Row]:
    """All rows of a kind; none where the collection is not at hand."""
    path = COLLECTION / FILES[kind]
    return list(_rows(path)) if path.is_file() else []


def _rows(path: Path) -> Iterator[Row]:
    for line in path.read_text(encoding="utf-8").splitlines():
        yield json.loads(line)
