"""A run as files for programs and spreadsheets: CSV and JSON with a row per turn, and JUnit XML.

Their columns and keys are documented in docs/python.md, and programs rely on them: a new one may be added,
one that goes or changes its meaning raises `JSON_SCHEMA` (`api/destinations.py`). Names are English, whatever
the run's language is. Rows come one at a time from the run file, so that a run of any size fits into memory.
"""

import csv
import io
import re
from collections.abc import Iterator, Mapping
from typing import Any
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from pydantic_core import to_json

from simulator.core.messages import safe_text
from simulator.core.types import response_in, tool_values, turn_values
from simulator.report.context import ReportContext
from simulator.report.gate import verdict
from simulator.results.figures import turn_failure
from simulator.results.red import turn_of_row, worst_severity
from simulator.storage.results import conversations_with_scores

# A text that begins so, also after spaces, is a formula to a spreadsheet (OWASP, CSV injection); full-width
# signs are, too, to Japanese ones.
_FORMULA = tuple("=+-@＝＋－＠\t\r")
HEAD = (
    "conversation", "turn", "persona", "case", "language", "ended", "user", "answer", "answer_failure",
    "answer_seconds", "passages", "response", "red", "severity", "marks", "reason", "unmet", "cause",
    "cause_standing", "cause_text",
)  # fmt: skip


# What a row has of a score, by the names of its fields: see "report.json" in docs/python.md.
_SCORE = ("state", "value", "raw", "reason", "severity", "response", "detail", "rubric")


def turn_rows(context: ReportContext) -> Iterator[dict[str, Any]]:
    """One mapping per turn, with plain values: texts, numbers, lists and None."""
    for conversation, by_turn in conversations_with_scores(context.results):
        for turn in conversation.turns:
            place = conversation.id, turn.index
            scores, red, cause = (
                by_turn.get(turn.index, {}),
                context.red.get(place),
                context.causes.get(place),
            )
            grade = scores.get(context.summary.scores.primary)
            yield turn_values(conversation, turn) | {
                "answer_failure": "unrecorded" if turn.unrecorded else turn_failure(turn),
                "answer_seconds": turn.answer.seconds,
                "passages": [passage.id for passage in turn.answer.passages],
                "tools": tool_values(turn.answer),
                "response": response_in(scores),
                "red": red is not None,
                "severity": worst_severity(red.marks) if red else None,
                "marks": [mark.kind for mark in red.marks] if red else [],
                "reason": (red.reason if red else "") or (grade.reason if grade else ""),
                "unmet": [
                    row["sentence"]
                    for row in context.expected(conversation.id)
                    if row["state"] == "unmet" and turn_of_row(row, len(conversation.turns)) == turn.index
                ],
                "cause": cause.cause if cause and cause.standing != "open" else None,
                "cause_standing": cause.standing if cause else None,
                "cause_text": context.text(context.cause_sentence(*place)) if cause else None,
                "scores": {
                    name: {key: getattr(scores[name], key) for key in _SCORE}
                    for name in context.summary.scores.judges
                    if name in scores
                },
            }


def csv_bytes(context: ReportContext) -> bytes:
    """The file's content: UTF-8 with BOM, which spreadsheets open as it is.

    Text that a spreadsheet would take for a formula is led by an apostrophe. Columns are `HEAD`, then grade
    and reason of each judge; True is "red", False and None are empty, lists have `|` between their items.
    """
    out = io.StringIO(newline="")
    writer = csv.writer(out)
    judges = list(context.summary.scores.judges)
    graded = [f"{name}.{part}" for name in judges for part in ("grade", "reason")]
    writer.writerow([*HEAD, *graded])
    for row in turn_rows(context):
        scores = [row["scores"].get(name, {}) for name in judges]
        cells = [row[key] for key in HEAD]
        cells += [value for score in scores for value in (score.get("raw"), score.get("reason"))]
        writer.writerow([_cell(value) for value in cells])
    return out.getvalue().encode("utf-8-sig")


def _cell(value: object) -> object:
    if isinstance(value, bool):
        return "red" if value else ""
    if isinstance(value, list):
        value = "|".join(map(str, value))
    if not isinstance(value, str):
        return value
    text = safe_text(value)
    return f"'{text}" if text.startswith(_FORMULA) or text.lstrip().startswith(_FORMULA) else text


def json_lines(figures: Mapping[str, Any], context: ReportContext) -> Iterator[str]:
    """The file in pieces, a turn at a time: `figures` (at least one), then `rows`; indented by 2."""
    yield _dumps(figures).removesuffix("\n}") + ',\n  "rows": ['
    between = ""
    for row in turn_rows(context):
        yield f"{between}\n    " + _dumps(row).replace("\n", "\n    ")
        between = ","
    yield "\n  ]\n}\n" if between else "]\n}\n"


def _dumps(value: Any) -> str:
    return to_json(value, indent=2).decode()  # several times as fast as json.dumps with an indent


# What XML 1.0 has no place for, control characters and lone surrogates; U+FFFD stands for it.
# Compiled at the first use: for a large class of characters that takes milliseconds.
_NOT_XML = "[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]"


def junit_xml(context: ReportContext) -> str:
    """A test case per turn (a red one failed, an ungraded one is an error), and one for the target.

    Names are unique, also with --repeats.

    <testcase classname="angry" name="cancel-03-en#1 turn 1"><failure type="major" message="the reason">
    Q: the question / A: the answer</failure></testcase>
    """
    rows = list(turn_rows(context))
    gate, name = context.gate, f"rehearsal {context.results.run.id}"
    suite = Element("testsuite", name=_text(name), tests=str(len(rows) + (gate.passed is not None)))
    for row in rows:
        grade = row["scores"].get(context.summary.scores.primary)
        # The case alone says too little of a run with several repeats or models of a customer.
        title = f"{row['conversation'].removeprefix(row['persona']).lstrip('/')} turn {row['turn']}"
        case = SubElement(suite, "testcase", classname=_text(row["persona"]), name=_text(title))
        problem = None
        if row["red"]:
            problem = SubElement(case, "failure", type=_text(row["severity"]), message=_text(row["reason"]))
        elif grade is None or grade["state"] == "failed":
            reason = grade["reason"] if grade else "not graded"
            problem = SubElement(case, "error", type="ungraded", message=_text(reason))
        elif grade["state"] == "skipped":
            SubElement(case, "skipped", message=_text(grade["reason"]))
        if problem is not None:
            why = f"\n{row['cause_text']}" if row["cause_text"] else ""
            problem.text = _text(f"Q: {row['user']}\nA: {row['answer']}{why}")
    if gate.passed is not None:
        target = SubElement(suite, "testcase", classname="gate", name=f"target {gate.asked}")
        trial = context.summary.trial
        line = str(verdict(gate, trial=trial))
        if not gate.passed:
            failure = SubElement(target, "failure", type="gate", message=_text(line))
            failure.text = _text("; ".join(context.reasons))
        elif trial:
            SubElement(target, "skipped", message=_text(line))  # a run without a model passes nothing
        else:
            SubElement(target, "system-out").text = _text(line)
    for kind in ("failure", "error"):
        suite.set(f"{kind}s", str(len(suite.findall(f"testcase/{kind}"))))
    suite.set("time", f"{context.summary.seconds:.3f}")
    indent(suite)
    return tostring(suite, encoding="unicode", xml_declaration=True) + "\n"


def _text(value: object) -> str:
    return re.sub(_NOT_XML, "\ufffd", safe_text(str(value)))
