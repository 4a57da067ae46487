"""Where things stand: the checkout, and the files that tests read."""

import json
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
FIXTURES = ROOT / "tests" / "fixtures"


def fixture_rows(name: str, **values: str) -> list[dict[str, Any]]:
    """The objects of a file of fixtures, one a line; only those that have these values."""
    text = (FIXTURES / name).read_text(encoding="utf-8")
    return [row for row in map(json.loads, text.splitlines()) if values.items() <= row.items()]
