"""The verdict says in every view what came out and what was asked, in one pair of words."""

import re
from html import unescape
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from openpyxl import load_workbook

from simulator.core.settings import stored_settings
from simulator.report.gate import conditions_table, is_tabled, verdict, verdict_tone
from simulator.results.gate import Gate, gate_of
from simulator.results.summary import figures_of
from tests.commands import Command
from tests.diff_runs import a_result, grades_of, stored
from tests.texts import said

BAD, GOOD = [0.2] * 2 + [1.0] * 7, [1.0] * 9
# The words that were used beside these, and are used no more.
FORMER = re.compile("未達|到達|達成|Missed|missed|Reached|reached")


def judged(grades: list[float], **settings: Any) -> tuple[Gate, float | None]:
    """The gate over these grades, and the score."""
    results = a_result(grades_of(grades), **settings)
    known = stored_settings(results.run.settings)
    summary = figures_of(results, known)
    return gate_of(results, summary, known), summary.scores.score


ERROR = "22.2 % of the questions have a serious error"


@pytest.mark.parametrize(("grades", "settings", "ja", "en"), [
    (GOOD, {"target": 0.9}, "合格：点数 100（90以上が必要）", "Passed: score 100 (90 required)"),
    ([0.6] * 9, {"target": 0.9}, "不合格：点数 60（90以上が必要）", "Failed: score 60 (90 required)"),
    (BAD, {"target": 0.9, "max_major": 0},
     "不合格：点数 82（90以上が必要）／重大な誤りのある質問が22.2%（許容0%）",
     f"Failed: score 82 (90 required); {ERROR} (0 % allowed)"),
    (BAD, {"target": 0.5, "confidence": 0.95}, "不合格：重大な誤りのある質問が22.2%（許容0%）",
     f"Failed: {ERROR} (0 % allowed)"),
    (BAD, {"target": "red <= 0.1"}, "不合格：要確認の割合 22.2%（許容10%）／",
     "Failed: Answers to review 22.2 % (10 % allowed); "),
    ([1.0] * 59, {"target": "turn >= .95", "confidence": 0.95},
     "合格（確かさ95%）：総合 100（95以上が必要）", "Passed (95 % sure): Overall 100 (95 required)"),
    ([0.6] * 59, {"target": 0.9, "confidence": 0.95}, "不合格（確かさ95%）：点数 60",
     "Failed (95 % sure): score 60"),
    ([0.9] * 9, {"target": 0.9, "confidence": 0.95}, "判定保留：点数 90、ありうる範囲は",
     "Undecided: score 90, perhaps between"),
    ([1.0] * 3, {"target": 0.9}, "判定保留：質問が足りません（5件以上が必要）：点数は質問3件から",
     "Undecided: too few questions (5 required): score on 3 questions"),
    ([1.0] * 3, {"target": "certified"}, "判定保留：採点役は未認定", "Undecided: the judge is not certified"),
    (GOOD, {"target": "p95_seconds <= 3"}, "判定保留：回答までの秒数（95%）：9件中9件の値がありません",
     "Undecided: Seconds to answer (95 %): values missing 9 of 9"),
    (GOOD, {"target": "expectations == 1"}, "判定保留：",
     "Undecided: Expectations not known (100 % required)"),
    (GOOD, {}, "目標は未設定です", "No target was set"),
])  # fmt: skip
def test_it_says_the_result_and_what_was_asked(
    grades: list[float], settings: dict[str, Any], ja: str, en: str
) -> None:
    """Never the condition alone; a confidence where what decided carries it."""
    gate, _score = judged(grades, **settings)

    assert said(verdict(gate), "ja").startswith(ja)
    assert said(verdict(gate)).startswith(en)


@pytest.mark.parametrize(("target", "end"), [
    ("turn >= .95 and score >= .95 and red <= .1", "; and 1 more condition"),
    ("turn >= .95 and score >= .95 and red <= .1 and expectations == 1", "; and 2 more conditions"),
    ("turn >= .95 and score >= .95", f"{ERROR} (20 % allowed)"),
])  # fmt: skip
def test_three_conditions_are_named_and_the_others_counted(target: str, end: str) -> None:
    """All are in the table below it."""
    gate, _score = judged(BAD, target=target)

    assert said(verdict(gate)).endswith(end)
    assert said(verdict(gate)).startswith("Failed: Overall 82 (95 required); score 82 (95 required); ")
    table = conditions_table(gate)
    assert [said(row[1].text) for row in table.rows[:2]] == ["Failed", "Failed"]
    assert [row[1].red for row in table.rows] == [c.decision == "missed" for c in gate.conditions]
    assert len(conditions_table(gate, trial=True).columns) == len(table.columns) - 1


@pytest.mark.parametrize(("target", "confidence", "is_shown"), [
    (0.9, None, False), (0.9, 0.95, True), ("score >= .9", None, False),
    ("score >= .9 and red <= .1", None, True), ("", None, False),
])  # fmt: skip
def test_a_single_condition_has_no_table(target: Any, confidence: float | None, is_shown: bool) -> None:
    """It stands in the verdict; the limit that goes with every target is none of them."""
    gate, _score = judged(GOOD, **({"target": target, "confidence": confidence} if target else {}))

    assert is_tabled(gate) is is_shown


@pytest.mark.parametrize(("grades", "tone", "ja", "en"), [
    (GOOD, "good", "試行（目標に届いています）：点数 100", "Trial, target reached: score 100"),
    (BAD, "alarm", "試行（目標に届いていません）：点数 82", "Trial, target missed: score 82"),
    (GOOD[:1], "alarm", "試行（判定保留）：質問が足りません（5件以上が必要）：点数は質問1件から",
     "Trial, undecided: too few questions (5 required): score on 1 question"),
])  # fmt: skip
def test_a_run_without_a_model_is_a_trial(grades: list[float], tone: str, ja: str, en: str) -> None:
    """It says what came of the target, without a colour and without passing."""
    gate, _score = judged(grades, target=0.9)

    assert verdict_tone(gate) == tone
    assert verdict_tone(gate, trial=True) == ""
    assert said(verdict(gate, trial=True)).startswith(en)
    assert said(verdict(gate, trial=True), "ja").startswith(ja)


def gate_case(run: str) -> ElementTree.Element:
    """The target's test case in the JUnit file of a run."""
    text = Path("runs", run, "junit.xml").read_text(encoding="utf-8")
    found = ElementTree.fromstring(text).find("testcase[@classname='gate']")  # noqa: S314 - our own file
    assert found is not None
    return found


def views(command: Command) -> dict[str, str]:
    """Each view of the run `1-run` as the text that stands in it."""
    done = command("report", "1-run", "--to", "markdown,junit,xlsx")
    folder = Path("runs/1-run")
    sheet = load_workbook(folder / "report.xlsx").worksheets
    cells = [str(cell.value) for each in sheet for row in each for cell in row]
    command("history", "--html", "history.html")
    source = (folder / "report.html").read_text(encoding="utf-8")
    junit = gate_case("1-run")
    compared = command("diff", "0-run", "1-run")
    return {
        "terminal": done.out,
        "page": bare(source),
        "markdown": re.sub(r"\\(.)", r"\1", (folder / "report.md").read_text(encoding="utf-8")),
        "sheet": "\n".join(cells),
        "junit": " ".join([*junit.itertext(), *(each.get("message", "") for each in junit)]),
        "json": command("report", "1-run", "--json").out,
        "history": bare(Path("history.html").read_text(encoding="utf-8")),
        "diff": compared.out,
    }


def bare(page: str) -> str:
    """What a page shows, without its markup."""
    return unescape(re.sub(r"<(style|script)\b.*?</\1>|<[^>]+>", " ", page, flags=re.DOTALL))


def flat(text: str) -> str:
    return "".join(text.split())


@pytest.mark.parametrize(
    ("grades", "offline", "lines", "mark"),
    [
        (
            GOOD,
            False,
            {"ja": "合格：点数 100（90以上が必要）", "en": "Passed: score 100 (90 required)"},
            (" good", "✓"),
        ),
        (
            [0.2, *[1.0] * 4, *[0.6] * 4],
            False,
            {"ja": "不合格：点数 73（90以上が必要）", "en": "Failed: score 73 (90 required)"},
            (" bad", "✕"),
        ),
        (
            GOOD,
            True,
            {
                "ja": "試行（目標に届いています）：点数 100（90以上が必要）",
                "en": "Trial, target reached: score 100 (90 required)",
            },
            ("", "試"),
        ),
    ],
)
def test_every_view_says_it(
    grades: list[float], offline: bool, lines: dict[str, str], mark: tuple[str, str], command: Command
) -> None:
    """JSON and JUnit in English, all others in the run's language; a trial claims nothing."""
    for name, days in (("0-run", 0), ("1-run", 1)):
        results = a_result(grades_of(grades), name, days=days, target=0.9)
        run = results.run.model_copy(update={"offline": offline})
        stored(results.model_copy(update={"run": run}))

    for view, text in views(command).items():
        language = "en" if view in ("json", "junit") else "ja"
        # A row of the history has room for the word alone.
        line = lines[language].partition("：")[0] if view == "history" else lines[language]
        assert flat(line) in flat(text), view
        assert not FORMER.search(
            re.sub('"decision": "missed"|"unreached"|Trial, target reached', "", text)
        ), view
    page = Path("runs/1-run/report.html").read_text(encoding="utf-8")
    shown = re.search(r'<p class="verdict([^"]*)">(.)', page)
    assert shown
    assert shown.groups() == mark


def test_where_only_the_customers_had_a_model_it_is_a_trial_all_the_same(command: Command) -> None:
    """Who counts words decides nothing, whoever asked the questions; the notice says who counted."""
    for name, days in (("0-run", 0), ("1-run", 1)):
        results = a_result(grades_of(GOOD), name, days=days, target=0.9)
        scores = [score.model_copy(update={"rubric": "lexical-9-abc"}) for score in results.scores]
        stored(results.model_copy(update={"scores": scores}))
    out = flat(command("report", "1-run").out)

    assert flat("試行（目標に届いています）：点数 100（90以上が必要）") in out
    assert flat("採点は簡易採点（AIなし）です") in out
    shown = command("report", "1-run", "--json").json
    assert (shown["trial"], shown["offline"], shown["passed"]) == (True, False, True)
    assert [run["trial"] for run in command("history", "--json").json["runs"]] == [True, True]
    compared = command("diff", "0-run", "1-run", "--json").json
    assert [compared[side]["trial"] for side in ("before", "after")] == [True, True]


def test_of_rows_nobody_played_a_customer(command: Command) -> None:
    """`evaluate` without a model is a trial whose notice speaks of judges alone; rules need no model."""
    rows = "".join(f"{n},Question {n}?,Answer {n}.,Answer {n}.\n" for n in range(6))
    Path("rows.csv").write_text(f"id,question,reference,answer\n{rows}", encoding="utf-8")
    some = ("evaluate", "rows.csv", "--adapter", "recorded", "--offline", "--target", "50")
    counted, ruled = (command(*some, "--judges", judge) for judge in ("turn", "em"))

    assert (counted.code, ruled.code) == (0, 0)
    assert flat("simple scoring (no AI) graded") in flat(counted.out)
    assert flat("the customers used stock phrases") not in flat(counted.out)
    assert flat("Trial, target reached: score") in flat(counted.out)
    assert flat("Passed: score 100") in flat(ruled.out)


@pytest.mark.parametrize("offline", [True, False])
def test_no_condition_of_a_trial_is_green(offline: bool, command: Command) -> None:
    """Its conditions have figures and no verdict, in every table. A workbook has the verdict."""
    results = a_result(grades_of(BAD), "1-run", target="score >= 70 and red == 0")
    stored(results.model_copy(update={"run": results.run.model_copy(update={"offline": offline})}))
    done = command("report", "1-run", "--verbose", "--to", "markdown,xlsx")
    sheets = load_workbook("runs/1-run/report.xlsx").worksheets
    cells = [str(cell.value) for sheet in sheets for row in sheet for cell in row]
    texts = [
        done.out, bare(Path("runs/1-run/report.html").read_text(encoding="utf-8")),
        Path("runs/1-run/report.md").read_text(encoding="utf-8"),
    ]  # fmt: skip

    assert done.code == 1
    words = {"試行（目標に届いていません）", "不合格", "合格"}
    assert words & set(cells) == {"試行（目標に届いていません）" if offline else "不合格"}
    for text in texts:
        assert "点数（70以上が必要）" in text
        assert ("合格" in re.sub("不合格|合格の条件", "", text)) is not offline


def test_a_trial_is_no_passed_test_of_junit(command: Command) -> None:
    """CI shows it as skipped; where it is below the target it fails as the exit code does."""
    for name, grades in (("good", GOOD), ("poor", [0.6] * 9)):
        results = a_result(grades_of(grades), name, target=0.9)
        run = results.run.model_copy(update={"offline": True})
        stored(results.model_copy(update={"run": run}))
    good, poor = (command("report", name, "--to", "junit").code for name in ("good", "poor"))
    cases = [gate_case(name) for name in ("good", "poor")]

    assert (good, poor) == (0, 1)
    assert [[each.tag for each in case] for case in cases] == [["skipped"], ["failure"]]


@pytest.mark.parametrize(
    ("target", "grades"),
    [
        ("60", [0.8, 0.6, 1.0, 0.4, 0.8, 0.6, 1.0, 0.8] * 2),
        ("turn >= .6", [1.0] * 7 + [0.8] * 7),
    ],
)
def test_a_score_has_one_range_on_a_screen(grades: list[float], target: str, command: Command) -> None:
    """With a confidence that which decided, without one the interval of 95 %; never both."""
    stored(a_result(grades_of(grades), "1-run"))
    plain = command("report", "1-run", "--verbose", "--target", target)
    sure = ("--target", target, "--confidence", "0.9", "--max-major", "1")
    told = command("report", "1-run", "--verbose", *sure, "--to", "markdown,xlsx")
    shown = command("report", "1-run", "--json", *sure).json
    low, high = (f"{100 * end:.0f}" for end in shown["conditions"][0]["bounds"])
    sheet = load_workbook("runs/1-run/report.xlsx").worksheets
    texts = {
        "terminal": told.out,
        "page": bare(Path("runs/1-run/report.html").read_text(encoding="utf-8")),
        "markdown": Path("runs/1-run/report.md").read_text(encoding="utf-8"),
        "sheet": "\n".join(str(cell.value) for each in sheet for row in each for cell in row),
    }

    assert "95%信頼区間" in plain.out
    assert "上限・下限とも確かさ" not in plain.out
    for view, text in texts.items():
        assert f"{low}〜{high}（上限・下限とも確かさ90%）" in text.replace("\\", ""), view
        assert not re.search("点数の *95%|95%信頼区間 [0-9]", text.replace("\\", "")), view
        ranges = re.findall(
            "ありうる範囲は ?([0-9.]+〜[0-9.]+)（|ありうる範囲は ([0-9.]+〜[0-9.]+) です", text
        )
        assert {a or b for a, b in ranges} <= {f"{low}〜{high}"}, view
