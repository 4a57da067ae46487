"""Golden files: what people look at, kept as it is meant to look.

    UPDATE_GOLDEN=1 pytest tests/report/test_html.py

writes them anew; look at the difference before keeping it.
"""

import os
from pathlib import Path

FOLDER = Path(__file__).with_name("golden")


def compare(name: str, shown: str) -> None:
    """Fails unless `shown` is the golden file of that name."""
    path = FOLDER / name
    if os.environ.get("UPDATE_GOLDEN"):
        path.write_text(shown, encoding="utf-8")
    expected = path.read_text(encoding="utf-8") if path.exists() else ""

    assert shown == expected, f"tests/golden/{name} differs; UPDATE_GOLDEN=1 writes it anew"
