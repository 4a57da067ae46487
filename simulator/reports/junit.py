"""A run as JUnit XML: what continuous integration shows beside its own tests."""

import re
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from simulator.core.translations import plain
from simulator.reports.told import Told
from simulator.reports.turn_rows import turn_rows

_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def junit_xml(told: Told) -> str:
    """A test case per turn (a red one failed, an ungraded one is an error), and one for the target."""
    rows = list(turn_rows(told))
    gate, name = told.gate, f"rehearsal {told.results.run.id}"
    suite = Element("testsuite", name=_text(name), tests=str(len(rows) + (gate.passed is not None)))
    for row in rows:
        suite.append(_case(row, told.summary.primary))
    if gate.passed is not None:
        suite.append(_target(told))
    for kind in ("failure", "error"):
        suite.set(f"{kind}s", str(len(suite.findall(f"testcase/{kind}"))))
    suite.set("time", f"{told.summary.seconds:.3f}")
    indent(suite)
    return tostring(suite, encoding="unicode", xml_declaration=True) + "\n"


def _case(row: dict[str, object], primary: str) -> Element:
    title = f"{row['case']} turn {row['turn']}"
    case = Element("testcase", classname=_text(row["persona"]), name=_text(title))
    scores = row["scores"]
    verdict = scores.get(primary) if isinstance(scores, dict) else None
    said = f"Q: {row['user']}\nA: {row['answer']}"
    if row["red"]:
        SubElement(case, "failure", type=_text(row["severity"]), message=_text(row["reason"])).text = _text(
            said
        )
    elif verdict is None or verdict["state"] == "failed":
        why = verdict["reason"] if verdict else "not graded"
        SubElement(case, "error", type="ungraded", message=_text(why)).text = _text(said)
    elif verdict["state"] == "skipped":
        SubElement(case, "skipped", message=_text(verdict["reason"]))
    return case


def _target(told: Told) -> Element:
    gate = told.gate
    case = Element("testcase", classname="gate", name=f"target {gate.asked}")
    if not gate.passed:
        SubElement(case, "failure", type="gate", message=_text("; ".join(gate.reasons)))
    return case


def _text(value: object) -> str:
    return _NOT_XML.sub("\ufffd", plain(str(value)))
