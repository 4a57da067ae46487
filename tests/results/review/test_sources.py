"""Files of blind grades, as people have them."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from simulator.core.types import Results
from simulator.results.review_files import ReviewTarget, Taken, taken_from
from tests.reviewed_runs import summary_of
from tests.sample_runs import large


def taken(name: str, text: str | bytes, run: Results | None = None) -> Taken:
    """What a file of this content gives for a run (without one: of these conversations)."""
    path = Path(name)
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    if run is None:
        talk = large(1).conversations[0]
        named = [talk.model_copy(update={"id": id_}) for id_ in NAMES]
        run = large(1).model_copy(update={"conversations": tuple(named)})
    return taken_from(name, ReviewTarget(run, summary_of(run), "ja"))


def said(found: Taken) -> list[dict[str, Any]]:
    """The verdicts, without what they all have in common."""
    assert all(v.given and v.source == "blind" for v in found.verdicts)
    return [v.model_dump(exclude_defaults=True, exclude={"given", "source"}) for v in found.verdicts]


NAMES = ("angry/a#0", "angry/料金#0", "angry/a/b#0", "a#0", "a")
ROWS = "conversation,turn,reviewer,grade,comment\nangry/a#0,1,Sato,4,fine\nangry/a#0,2,,2.5,\n"
EXPECTED = [
    {"conversation": "angry/a#0", "turn": 1, "reviewer": "Sato", "grade": 4, "comment": "fine"},
    {"conversation": "angry/a#0", "turn": 2, "grade": 2.5},
]


def test_a_table_has_a_grade_in_each_row() -> None:
    """CSV and TSV, packed or not, and the same as objects."""
    objects = [dict(zip(ROWS.split("\n")[0].split(","), ("angry/a#0", 1, "Sato", 4, "fine"), strict=True))]
    lines = "\n".join(json.dumps(row) for row in objects)

    assert said(taken("g.csv", ROWS)) == EXPECTED
    assert said(taken("g.tsv", ROWS.replace(",", "\t"))) == EXPECTED
    assert said(taken("g.csv.gz", gzip.compress(ROWS.encode()))) == EXPECTED
    assert said(taken("g.jsonl", lines)) == EXPECTED[:1]
    assert said(taken("g.jsonl.gz", gzip.compress(lines.encode()))) == EXPECTED[:1]


def test_japanese_headers_and_shift_jis() -> None:
    """As Excel saves it, with full-width digits."""
    text = "会話,ターン,採点者,評価,コメント\r\nangry/料金#0,２,佐藤,４,違う\r\n"

    for encoding in ("cp932", "utf-8-sig", "utf-16"):
        assert said(taken("g.csv", text.encode(encoding))) == [
            {"conversation": "angry/料金#0", "turn": 2, "reviewer": "佐藤", "grade": 4, "comment": "違う"}
        ]


@pytest.mark.parametrize(
    ("row", "why"),
    [
        ({"grade": 0}, "grade '0' is not between 1 and 5"),
        ({"grade": "good"}, "grade 'good' is not between 1 and 5"),
        ({"turn": "one"}, "turn 'one' is not a whole number"),
        ({"turn": 1.5}, "turn '1.5' is not a whole number"),
    ],
)
def test_what_cannot_be_used_is_named(row: dict[str, Any], why: str) -> None:
    """With its line; the rows around it are read."""
    good = {"conversation": "a", "turn": 1, "grade": 4}
    text = "\n".join(map(json.dumps, (good, good | row, good | {"turn": 2})))
    found = taken("g.jsonl", text)

    assert [verdict.turn for verdict in found.verdicts] == [1, 2]
    [(place, fault)] = found.faults
    assert str(place) == "line 2"
    assert str(fault).startswith(why)
