"""The rules of a desk in a run: what is red, and the table of rules that everybody sees."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from simulator.cli.app import main
from simulator.core.settings import Settings
from simulator.core.types import RedRules, Score
from simulator.results.causes import root_causes
from simulator.results.recommendations import improvements
from simulator.results.red import red_marks, rule_tallies
from simulator.results.summary import figures_of
from tests.commands import Command
from tests.run_helpers import RECORDED, judged_rows
from tests.sample_runs import rehearsed
from tests.servers.replies import text_of

RULES = """
[[rules]]
id = "refund"
severity = "moderate"
text = "返金を約束しない。"

[[rules]]
id = "human"
severity = "minor"
text = "人間だと言わない。"

[[rules]]
id = "gift"
severity = "major"
text = "景品を約束しない。"
"""
ASKED = {
    "late": ("遅れたので返金してください", "全額お返しします。"),
    "terms": ("返金はありますか", "いいえ。"),
    "hours": ("何時までですか", "18時までです。"),
}
# What each answer is, is also its reference: nothing but the rules can be broken.
ROWS = [
    {"id": key, "question": question, "answer": answer, "reference": answer, "contexts": ["返金はしません。"]}
    for key, (question, answer) in ASKED.items()
]


def judge(request: dict[str, Any]) -> str:
    """Finds that one answer promises a refund and one tests no rule; speaks of a rule nobody has."""
    asked = text_of(request["messages"][1])
    said = {"refund": "kept", "gift": "kept", "discount": "kept"}
    if "全額お返しします" in asked:
        said["refund"] = "broken"
    elif "18時まで" in asked:
        said = {"refund": "untested", "discount": "broken"}
    verdicts = [{"rule": rule, "quote": "全額お返し", "verdict": verdict} for rule, verdict in said.items()]
    return json.dumps({"verdicts": verdicts, "reason": "理由"}, ensure_ascii=False)


@pytest.fixture
def evaluated(command: Command, monkeypatch: pytest.MonkeyPatch) -> Iterator[Command]:
    """Evaluates the rows by these rules."""
    Path("desk_rules.toml").write_text(RULES, encoding="utf-8")
    with judged_rows(ROWS, judge, monkeypatch):
        given = (*RECORDED, "--judges", "exact_match,risk", "--rules", "desk_rules.toml")
        yield lambda *options: command(*given, *options)


def test_a_broken_rule_is_red_and_is_fixed_in_the_prompt(evaluated: Command) -> None:
    """The table is in --json, the mark has the rule's severity and words, and no article is to be changed.

    How often each was kept, broken and untested stands under its id; the rule for red can be switched off.
    """
    done = evaluated("--json", "--target", "risk >= .9")
    shown, run = done.json, done.run

    assert (done.code, shown["red"], shown["judges"]["risk"]["mean"]) == (1, 1, 0.5)
    assert shown["risk"] == {
        "refund": {"kept": 1, "broken": 1, "untested": 1},
        "human": {"kept": 0, "broken": 0, "untested": 3},
        "gift": {"kept": 2, "broken": 0, "untested": 1},
    }
    scores = {score.conversation: score for score in run.scores.of_judge("risk")}
    first, second = scores["scripted/late#1"], scores["scripted/terms#1"]
    [mark] = red_marks([first], RedRules(), "exact_match")
    assert (mark.kind, mark.severity) == ("risk", "moderate")
    assert "全額お返し" in mark.reason
    assert red_marks([first], RedRules(risk=False), "exact_match") == ()
    assert red_marks([second], RedRules(), "exact_match") == ()
    summary = figures_of(run, Settings(judges=("exact_match", "risk")))
    causes = root_causes(run, summary)
    [cause], [fix] = causes.values(), improvements(summary, causes).fixes
    assert cause.cause == "forbidden"
    assert "全額お返し" in str(cause.evidence)
    assert fix.key.endswith("prompt")


def test_a_rule_that_changed_is_another_judge(evaluated: Command, capsys: pytest.CaptureFixture[str]) -> None:
    """Its hash covers id, text and severity, so that grades by other rules are not mixed.

    Reports and `diff` say so, also where no answer tests a rule any more.
    """
    rubrics, texts = set(), (RULES.replace("minor", "major"), RULES.replace("返金を", "返金や値引きを"))
    for rules in (RULES, *texts, '[[rules]]\nid = "greet"\ntext = "挨拶をする。"\nseverity = "minor"'):
        Path("desk_rules.toml").write_text(rules, encoding="utf-8")
        done = evaluated()
        rubrics |= {score.rubric for score in done.run.scores.of_judge("risk")}
        if len(rubrics) > 1:
            assert "採点の基準が違う採点役：業務リスク" in done.out
            assert main(["diff", "--json"]) == 0
            found = json.loads(capsys.readouterr().out)
            assert found["differing"]["judges"] == found["change"]["rubrics"] == ["risk"]

    assert len(rubrics) == 4


def test_what_is_gravest_and_most_often_broken_comes_first() -> None:
    """Then what is broken more often; what was never broken comes last, whatever its severity."""
    listed = [
        ("kept", "major", "kept"),
        ("seldom", "minor", "broken"),
        ("often", "minor", "broken"),
        ("often", "minor", "broken"),
        ("grave", "major", "broken"),
    ]
    rows = [
        {"rule": rule, "severity": severity, "verdict": verdict, "quote": f"{at}"}
        for at, (rule, severity, verdict) in enumerate(listed)
    ]
    detail = {"rules": rows, "unknown": 1, "unquoted": 2}
    score = Score(judge="risk", conversation="calm/late#1", turn=1, state="scored", value=0, detail=detail)
    tallies, lost = rule_tallies(rehearsed().model_copy(update={"scores": (score,)}))

    assert [tally.rule for tally in tallies] == ["grave", "often", "seldom", "kept"]
    assert (tallies[1].example, lost) == ((score.conversation, 1, "2"), 3)


def test_rules_that_cannot_be_used_stop_before_anything_is_paid(evaluated: Command) -> None:
    """Exit code 2, and no run."""
    Path("desk_rules.toml").write_text(RULES.replace("minor", "grave"), encoding="utf-8")

    assert evaluated().code == 2
    assert not Path("runs").exists()
