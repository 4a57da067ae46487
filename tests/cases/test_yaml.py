"""YAML rows are what is written, with their lines."""

from pathlib import Path

import pytest
from pydantic import JsonValue

from simulator.cases.headings import has_question
from simulator.cases.rows import read_rows
from simulator.core.errors import CaseFileError


def rows_of(folder: Path, text: str) -> list[tuple[int, dict[str, JsonValue]]]:
    """Line and values of every row of a YAML file with this text."""
    path = folder / "a.yaml"
    path.write_text(text, encoding="utf-8")
    return [(row.line, row.values) for row in read_rows(path, has_question)]


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("001", "001"),
        ("2026-04-01", "2026-04-01"),
        ("no", "no"),
        ("~", None),
        ("", None),
        ("'~'", "~"),
        ("|-\n    一行目\n    二行目", "一行目\n二行目"),
    ],
)
def test_values_are_what_is_written(tmp_path: Path, written: str, value: JsonValue) -> None:
    """Everything but null is the text that it is written as."""
    assert rows_of(tmp_path, f"- x: {written}\n") == [(1, {"x": value})]


def test_rows_begin_on_their_lines(tmp_path: Path) -> None:
    """Comments and blank lines count, in a list and below `cases`."""
    text = "# 質問\n\n- question: a\n  tags: [x, y]\n\n- {question: b, no: 2}\n"
    rows = [(3, {"question": "a", "tags": ["x", "y"]}), (6, {"question": "b", "no": "2"})]

    assert rows_of(tmp_path, text) == rows
    assert rows_of(tmp_path, "cases:\n" + text) == [(line + 1, values) for line, values in rows]
    assert rows_of(tmp_path, "# nothing yet\n") == []


BOMB = "- x: &a [1,1,1,1,1,1,1,1,1]\n" + "".join(
    f"- x: &{name} [{', '.join([f'*{before}'] * 9)}]\n"
    for before, name in zip("abcdefgh", "bcdefghi", strict=True)
)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (BOMB, "line 2: aliases (*name) are not read; write the values out"),
        ("- a\n- b\n", "line 1: 'a' is not a row; write \"- question: ...\""),
        ("question: a\n", 'line 1: no list of questions; write "- question: ..." for each question'),
        ("cases:\n  question: a\n", "line 2: no list of questions"),
        ("- question: a\n- question: b: c\n", "line 2: not valid YAML (mapping values are not allowed"),
        ("- question: a\n\tx: b\n", "line 2: not valid YAML"),
        ("- question: a\n---\n- question: b\n", "line 2: not valid YAML (expected a single document"),
        ("- question: a\n- question: 'b\x01'\n", "a control character, which YAML does not allow"),
        ('- question: "\\0"\n', "line 1: a text holds \\0"),
        ("- question: a\n  question: b\n", "line 2: 'question' occurs twice in one row"),
        ("- ? [a, b]\n  : c\n", "line 1: a name that is a list"),
        ("- question: q\n  x: " + "[" * 100_000, "line 2: nested too deeply"),
        ("- " * 50_000 + "a", "line 1: nested too deeply"),
    ],
)
def test_refused(tmp_path: Path, text: str, message: str) -> None:
    """Mistakes and bombs are one line that names file and line."""
    with pytest.raises(CaseFileError) as caught:
        rows_of(tmp_path, text)

    assert str(caught.value).startswith(str(tmp_path / "a.yaml"))
    assert message in str(caught.value)
    assert str(caught.value).isprintable()
