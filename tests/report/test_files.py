"""What other programs read of a run: CSV, JUnit, Markdown."""

import csv
import io
from pathlib import Path
from xml.etree import ElementTree

import pytest

from simulator.core.types import Language
from simulator.report.files import csv_bytes, junit_xml
from tests.commands import Command
from tests.golden_files import compare
from tests.report.test_worksheets import report_context
from tests.report.views import markdown
from tests.sample_runs import hostile

FORMULAS = ("=1+1", "\u00a0\n =1+1", "-1", "@SUM(A1)", "＝1+1")


def rows(data: bytes, encoding: str = "utf-8-sig") -> list[dict[str, str]]:
    """The file as a spreadsheet reads it."""
    return list(csv.DictReader(io.StringIO(data.decode(encoding))))


@pytest.mark.parametrize("language", ["ja", "en"])
def test_the_comment_for_a_pull_request(language: Language) -> None:
    """As it is posted, in the language of the run."""
    compare(f"report_{language}.md", markdown(report_context(language)))


def test_a_row_for_every_turn() -> None:
    """UTF-8 with BOM, so that Excel shows Japanese; a column for every judge."""
    data = csv_bytes(report_context())
    read = rows(data)

    assert data.startswith(b"\xef\xbb\xbf")
    assert len(read) == report_context().summary.turns
    assert sum(row["red"] == "red" for row in read) == report_context().summary.red.count
    assert {"turn.grade", "turn.reason", "cosine.grade"} <= set(read[0])


@pytest.mark.parametrize("text", FORMULAS)
def test_no_cell_is_a_formula(text: str) -> None:
    """Whatever a bot, a model or a customer says, a spreadsheet takes it for text."""
    for row in rows(csv_bytes(report_context("ja", hostile(text)))):
        for cell in row.values():
            assert not cell.lstrip().startswith(("=", "+", "@", "\t", "＝"))


@pytest.mark.parametrize("text", ["", "<b>&\"']]>", "\x00\x01\x1b[31m", "\ufffe\uffff", "日本語😀"])
def test_junit_has_a_case_per_turn_and_one_for_the_target(text: str) -> None:
    """Red turns are failures, ungraded ones errors; what XML cannot hold is replaced."""
    shown = report_context("ja", hostile(text)) if text else report_context()
    suite = ElementTree.fromstring(junit_xml(shown))  # noqa: S314 - our own file
    failures = len(suite.findall("testcase/failure"))

    assert len(suite.findall("testcase")) == shown.summary.turns + 1
    assert failures == int(suite.get("failures", ""))
    if not text:
        assert int(suite.get("tests", "")) == shown.summary.turns + 1
        assert failures == shown.summary.red.count + 1


def test_no_two_tests_of_junit_have_one_name(command: Command) -> None:
    """A dashboard keeps what happened to each over time."""
    repeated = ("--repeats", "2", "--persona", "calm,angry")
    command("--offline", "--limit", "2", "--turns", "2", "--to", "junit", *repeated)
    [path] = Path("runs").glob("*/junit.xml")
    cases = ElementTree.parse(path).findall("testcase")  # noqa: S314 - our own file
    names = [(case.get("classname"), case.get("name")) for case in cases]

    assert len(names) == len(set(names)) > 2
