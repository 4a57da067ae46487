"""Rows come with the line they begin on, whatever the file's kind and delimiter."""

import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import JsonValue

from simulator.cases import structured
from simulator.cases.headings import has_question
from simulator.cases.row import Row
from simulator.cases.rows import read_rows
from simulator.core.errors import CaseFileError
from tests.properties import examples

TEXT = st.text(st.characters(exclude_characters="\0", codec="utf-8"), max_size=5)
JSON: st.SearchStrategy[JsonValue] = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**9), 10**9) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=8,
)
RECORDS = st.lists(
    st.dictionaries(st.sampled_from(["question", "質問", "x"]), JSON, min_size=1), min_size=1, max_size=4
)
SAME_FOLDER = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=examples(60))


def rows_of(folder: Path, text: str, name: str) -> list[Row]:
    """The rows of a file with this text."""
    path = folder / name
    path.write_text(text, encoding="utf-8", newline="")
    return list(read_rows(path, has_question))


@given(records=RECORDS, escaped=st.booleans())
@SAME_FOLDER
def test_json_shapes_are_the_same_rows(
    tmp_path: Path, records: list[dict[str, JsonValue]], escaped: bool
) -> None:
    """JSONL, a JSON list and an indented JSON list give the same objects."""
    written = [json.dumps(record, ensure_ascii=escaped) for record in records]

    by_line = rows_of(tmp_path, "\n".join(written), "a.jsonl")
    as_list = rows_of(tmp_path, f"[{', '.join(written)}]", "a.json")
    indented = rows_of(tmp_path, json.dumps(records, ensure_ascii=escaped, indent=1), "b.json")

    assert [row.values for row in by_line] == records
    assert [row.values for row in as_list] == records
    assert [row.values for row in indented] == records
    assert [row.line for row in by_line] == list(range(1, len(records) + 1))


@pytest.mark.parametrize(
    ("name", "delimiter"),
    [("a.csv", ","), ("a.csv", ";"), ("a.tsv", "\t"), ("a.tsv", ",")],
)
def test_delimiters(tmp_path: Path, name: str, delimiter: str) -> None:
    """The delimiter is the one that makes sense of the header."""
    text = f'番号{delimiter}質問\n1{delimiter}"a,b;c"\n'

    assert rows_of(tmp_path, text, name) == [Row(2, {"番号": "1", "質問": "a,b;c"}, heading=1)]


def test_table_lines_are_those_of_an_editor(tmp_path: Path) -> None:
    """A row after blank lines and after a cell with line breaks is named by its own first line."""
    rows = rows_of(tmp_path, '\n質問,x\n"一\n二\n三",1\n,\n\n四,2\n', "a.csv")

    assert [(row.line, row.values["質問"]) for row in rows] == [(3, "一\n二\n三"), (8, "四")]


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.csv", 'question\n"open\nnever closed\n', "line 2: not a readable table row"),
        ("a.csv", "question,x\na,b\nyes, but no,1\n", "line 3: 3 cells under 2 column names"),
        ("a.csv", "質問,質問\na,b\n", "line 1: the column '質問' occurs twice"),
        ("a.jsonl", '{"question": "a"}\n{"question": "b"\n', "line 2: not valid JSON"),
        ("a.jsonl", '{"question": "a"}\n"b"\n', "line 2: not an object"),
        ("a.jsonl", '{"question": "\\ud83d"}', "line 1: a text holds"),
        ("a.jsonl", '{"question": ' + "9" * 5000 + "}", "line 1: a number with too many digits"),
        ("a.jsonl", '{"question": ' + "[" * 100_000, "line 1: nested too deeply"),
        ("a.json", '[{"question": "a"}\n{"question": "b"}]', "line 1: a comma is missing"),
        ("a.json", '[\n{"question": "a"},\n', "the list is not closed"),
        ("a.ods", "x", "'.ods' is not a known kind of data file; save it as CSV"),
    ],
)
def test_broken_files(tmp_path: Path, name: str, text: str, message: str) -> None:
    """What is wrong is named with its line, in one line."""
    with pytest.raises(CaseFileError) as caught:
        rows_of(tmp_path, text, name)

    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_file_of_too_many_values_or_faults_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What would fill the memory is not parsed, and what is no JSON at all is not read to its end."""
    monkeypatch.setattr(structured, "_MOST_FAULTS", 3)

    faults = iter(structured.json_rows(Path("a.jsonl"), "no\n" * 9))
    assert [str(next(faults)).partition(":")[0] for _ in range(3)] == [
        f"a.jsonl, line {n}" for n in (1, 2, 3)
    ]
    with pytest.raises(CaseFileError, match="line 4: not valid JSON"):
        next(faults)
    with pytest.raises(CaseFileError, match="line 1: too many values to be read at once; split the file"):
        rows_of(tmp_path, '{"question": [' + "[]," * 5_000_000 + "[]]}", "a.jsonl")


def test_rows_are_held_one_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Many small ones may together take more than one may."""
    monkeypatch.setattr(structured, "_MOST_HELD", 6000)
    monkeypatch.setattr(structured, "_WINDOWS", (100, 10_000))
    rows = [json.dumps({"question": "a", "n": n}) for n in range(99)]

    assert len(rows_of(tmp_path, "\n".join(rows), "a.jsonl")) == 99
    assert len(rows_of(tmp_path, f"[{', '.join(rows)}]", "a.json")) == 99
    with pytest.raises(CaseFileError, match="line 100: too many values"):
        rows_of(tmp_path, "\n".join([*rows, json.dumps({"question": [1] * 99})]), "a.jsonl")


@pytest.mark.parametrize("name", ["q.csv", "q.tsv", "q.jsonl", "q.json", "q.xlsx"])
@pytest.mark.parametrize(
    "page",
    ["<!DOCTYPE html>\n<html><p>Sign in, please</p>", "\ufeff \n<!-- x -->\n<HTML><table><tr><td>question"],
)
def test_a_web_page_under_another_name_says_so(tmp_path: Path, name: str, page: str) -> None:
    """What a download gives whose login has expired; a text that mentions HTML is none."""
    with pytest.raises(CaseFileError, match="an HTML page despite its name"):
        rows_of(tmp_path, page, name)
    assert rows_of(tmp_path, "question\n<html> とは?\n", "t.csv")[0].values == {"question": "<html> とは?"}
