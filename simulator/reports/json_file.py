"""A run as one JSON object: its figures, then a row for every turn."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from simulator.reports.told import Told
from simulator.reports.turn_rows import turn_rows


def json_lines(figures: Mapping[str, Any], told: Told) -> Iterator[str]:
    """The file in pieces, a turn at a time: `figures` (there must be some), then `rows`; indented by 2."""
    yield _dumps(figures).removesuffix("\n}") + ',\n  "rows": ['
    between = ""
    for row in turn_rows(told):
        yield f"{between}\n    " + _dumps(row).replace("\n", "\n    ")
        between = ","
    yield "\n  ]\n}\n" if between else "]\n}\n"


def _dumps(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2)
