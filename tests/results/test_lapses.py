"""What goes wrong between turns makes the turn red in which it did, and is counted in every view."""

import json
import re
from pathlib import Path
from typing import Any

import openpyxl
import pytest

from simulator.core.settings import Settings
from simulator.core.types import RETEST, RedRules, Score, Severity
from simulator.results.recommendations import improvements_of
from simulator.results.red import LAPSES, lapses_of, red_marks
from simulator.results.rows import Mark
from simulator.results.summary import figures_of
from tests.commands import Command
from tests.servers.openai import serve

TALK = "calm/a#1"
ALL = tuple(LAPSES)


def whole(value: Any = 1.0, **detail: Any) -> Score:
    """What the judge of whole conversations says of one of three turns."""
    about: dict[str, Any] = {"conversation": TALK, "turn": 3, "state": "scored", "scale": (0, 1)}
    return Score(judge="conversation", value=value, raw=value, reason="conclusion", detail=detail, **about)


def lapse(kind: str, turn: int, what: str = "it") -> dict[str, Any]:
    """An item of the list of lapses."""
    return {"turn": turn, "quote": "-", "earlier": 1, "what": what, "kind": kind}


def request(state: str, turn: int, weight: int | None = None) -> dict[str, Any]:
    """An item of the list of requests."""
    return {"request": "r", "turn": turn, "weight": weight, "state": state, "by": 0}


def marked(*scores: Score, **rules: Any) -> dict[int, list[Mark]]:
    """The marks of each of the three turns that has any."""
    found = {n: list(red_marks(scores, RedRules(**rules), "turn", turn=n)) for n in (1, 2, 3)}
    return {turn: marks for turn, marks in found.items() if marks}


@pytest.mark.parametrize(
    ("kind", "severity"),
    [
        ("mixups", "major"),
        ("contradictions", "major"),
        ("promises", "major"),
        ("loops", "moderate"),
        ("forgotten", "moderate"),
        ("closures", "moderate"),
        ("overlooked", "moderate"),
    ],
)
def test_any_lapse_is_red_in_the_turn_that_the_judge_names(kind: str, severity: Severity) -> None:
    """Though all was settled, and the last turn is fine; a severity of the judge's own wins."""
    found = whole(1.0, lapses=[lapse(kind, 2, "what it was")])
    graver = found.model_copy(update={"severity": "minor"})

    assert marked(found) == {2: [Mark(kind, severity, "what it was")]}  # type: ignore[arg-type]
    assert [mark.severity for mark in marked(graver)[2]] == ["minor"]
    assert marked(found, lapses=False) == {}
    assert marked(whole(lapses=[lapse("nonsense", 2)])) == {}


def test_one_mark_of_a_kind_and_turn_is_enough() -> None:
    """Of two in one turn the first is told; both count. One that names no turn stands on the last."""
    loops = [lapse("loops", 2, "first"), lapse("loops", 2, "second"), lapse("loops", 0, "somewhere")]
    found = whole(lapses=[*loops, lapse("promises", 2)])

    assert {turn: [(mark.kind, mark.reason) for mark in marks] for turn, marks in marked(found).items()} == {
        2: [("promises", "it"), ("loops", "first")],
        3: [("loops", "somewhere")],
    }
    assert len(lapses_of(found)) == 4


@pytest.mark.parametrize(
    ("requests", "turn"),
    [
        ([request("resolved", 1), request("not", 2)], 2),
        ([request("partly", 1, 3), request("not", 2, 1)], 2),
        ([request("not", 1, 1), request("not", 2, 3)], 2),
        ([request("not", 2), request("not", 1)], 1),
        ([request("partly", 2)], 2),
        ([request("not", 0)], 1),
        ([request("not", 9)], 3),
        ([{**request("not", 1), "turn": "second"}], 3),
        ([{**request("not", 2), "weight": "much"}, request("not", 1, 1)], 1),
        ([request("partly", 1, 3), request("not", 3, 1), request("not", 2, 1)], 2),
        ([], 3),
        ("nothing that can be read", 3),
    ],
)
def test_what_was_not_settled_is_red_where_it_was_first_asked(requests: Any, turn: int) -> None:
    """The gravest of it, at half of all or less; the last turn where the judge lists no request."""
    [(at, [mark])] = marked(whole(0.5, requests=requests)).items()

    assert (at, mark.kind, mark.severity, mark.reason) == (turn, "conversation", "moderate", "conclusion")
    assert marked(whole(0.51, requests=requests)) == {}


def test_a_turn_without_an_answer_has_no_other_mark() -> None:
    """Whatever the judge of whole conversations names in it."""
    silent = Score(
        judge="turn", conversation=TALK, turn=2, state="scored", value=0.2, raw=1, by_rule=True, reason="none"
    )

    both = (silent, whole(lapses=[lapse("loops", 2)]))

    assert [mark.kind for mark in red_marks(both, RedRules(), turn=2)] == ["no_answer"]


def test_two_gradings_need_not_name_the_same_turn() -> None:
    """A conversation that was graded twice is as red as the milder of both, in the turns that one names."""

    def twice(*again: dict[str, Any]) -> Score:
        second = {"state": "scored", "value": 1.0, "raw": 1.0, "detail": {"lapses": [*again]}}
        return whole(1.0, **{"lapses": [lapse("loops", 2)], RETEST: second})

    assert [*marked(twice(lapse("loops", 3)))] == [2]
    assert marked(twice()) == {}


@pytest.mark.parametrize("kept", [None, "text", [1, "a"], [{"turn": 2}], {"what": 1}, [{"kind": "loops"}]])
def test_what_another_judge_keeps_under_these_names_is_no_lapse(kept: Any) -> None:
    """A judge of the user's own may be called `conversation`, and may keep anything."""
    assert marked(whole(lapses=kept, requests=kept)) == {}


TURNS = (
    ("解約の手数料はいくらですか", "解約の手数料は1,100円です。"),
    ("いつ払えばいいですか", "解約に手数料はかかりません。"),
    ("どうもー", "ありがとうございました。"),
)
WHAT = "1,100円と、かかりません"


def judge(request: dict[str, Any]) -> str:
    """Finds nothing wrong with any answer, and that the second contradicts the first."""
    if '"lapses"' in request["messages"][0]["content"]:
        contradiction = lapse("contradictions", 2, WHAT) | {"quote": "手数料はかかりません"}
        verdict: dict[str, Any] = {
            "requests": [{"request": "手数料", "turn": 1, "weight": 3, "state": "resolved", "by": 1}],
            "lapses": [contradiction, lapse("loops", 2) | {"quote": "手数料はかかります"}],
            "conclusion": "片づいた。",
        }
        return json.dumps(verdict, ensure_ascii=False)
    grades = ("understanding", "relevance", "completeness", "correctness", "coherence", "overall")
    words = {
        "steps": [],
        "conflicts": [],
        "against": "なし",
        "conclusion": "直す点なし",
        "response": "answered",
    }
    return json.dumps(words | dict.fromkeys(grades, 5), ensure_ascii=False)


def test_page_terminal_sheet_and_json_show_it_and_fixes_name_the_cause(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The middle turn of a log is red, not the thanks at its end; the gate counts it as major."""
    turns = [{"question": asked, "answer": told, "reference": told} for asked, told in TURNS]
    Path("log.jsonl").write_text(json.dumps({"id": "a", "turns": turns}), encoding="utf-8")
    given = ("--cases", "log.jsonl", "--persona", "calm", "--adapter", "recorded", "--turns", "5")
    target = ("--judges", "turn,conversation", "--target", "90", "--to", "xlsx,markdown")
    with serve(judge) as server:
        monkeypatch.setenv("REHEARSAL_JUDGE_URL", server.url)
        monkeypatch.setenv("REHEARSAL_JUDGE_MODEL", "judge-model")
        done = command("simulate", *given, *target, "--json")
    told, run = done.json, done.run
    folder = Path("runs", run.run.id)
    summary = figures_of(run, Settings(judges=("turn", "conversation")))
    [red], [fix] = summary.red.answers, improvements_of(run, summary).fixes
    cells = [
        str(cell.value)
        for sheet in openpyxl.load_workbook(folder / "report.xlsx")
        for row in sheet.iter_rows()
        for cell in row
        if cell.value is not None
    ]

    assert (told["red"], told["score"], done.code) == (1, 1.0, 1)
    assert told["judges"]["conversation"]["ignored"] == 1
    assert told["lapses"] == {kind: int(kind == "contradictions") for kind in ALL} | {"conversations": 1}
    assert (red.turn, red.question, red.reason) == (2, TURNS[1][0], WHAT)
    assert [(mark.kind, mark.severity) for mark in red.marks] == [("contradictions", "major")]
    assert (fix.cause, fix.key) == ("contradictions", "contradictions/prompt")
    assert fix.turns == ((red.conversation, 2),)
    page, markdown = ((folder / f"report.{end}").read_text("utf-8") for end in ("html", "md"))
    for shown in (command("report", "latest", "--verbose").out, page, markdown):
        said = "".join(shown.split())
        assert "回答どうしの問題：前の回答と矛盾1件（1会話）" in said
        assert "▲前の回答と矛盾" in said
        assert "引用がどこにもないため数えなかったもの：1件" in said
    assert any(cell.startswith("▲ 前の回答と矛盾\n") for cell in cells)
    assert any(f"前の回答と矛盾（採点役の見立て）：{WHAT}" in "".join(cell.split()) for cell in cells)
    assert re.search(f"前の回答と矛盾（[^）]*2[^）]*）[:：]{WHAT}", "".join(page.split()))  # with both turns
    assert "回答どうしの問題の数" in cells
    assert "前の回答と矛盾" in command("fixes", "latest").out
