"""`diff A B` from the command line, its page, its Markdown, and replays beside free runs."""

import json
import re
from pathlib import Path
from string import Template
from typing import Any

import pytest

from simulator.commands.app import main
from simulator.prompts import read_toml
from simulator.reports.change_console import paint
from simulator.reports.change_markdown import markdown
from simulator.reports.change_words import TEXTS, Telling, chance, signed
from simulator.reports.html_pair import Painted, compared
from simulator.reports.words import words_of
from simulator.store import find_run, read_run, run_ids
from simulator.types import Conversation, Results
from tests.paired import Key, a_result, grades_of, stored
from tests.xss import PAYLOADS

TWELVE = [0.6, 0.8] * 6


def diff(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> str:
    assert main(["diff", *arguments]) == code
    return capsys.readouterr().out


def shown(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(diff(capsys, *arguments, "--json", code=code))
    return found


def flat(text: str) -> str:
    return "".join(text.split())


def test_the_first_line_answers(capsys: pytest.CaptureFixture[str]) -> None:
    """It got better: exit code 0, the page lies beside the later run, and where is said."""
    stored(a_result(grades_of(TWELVE), "1-before", set={"top": "1"}))
    stored(a_result(grades_of([v + 0.2 for v in TWELVE]), "2-after", days=1, set={"top": "4"}))
    text = diff(capsys, "1-before")
    _, _, second, *_ = text.splitlines()

    assert second.startswith("良くなりました。スコアは 70 → 90（+20 点")
    assert "top 1 → 4" in text
    assert "要確認でなくなったターン（6 件）" in text
    assert flat("runs/2-after/side-by-side.html") in flat(text)
    page = Path("runs/2-after/side-by-side.html").read_text(encoding="utf-8")
    assert "良くなりました。スコアは 70 → 90" in page
    assert "ウィルコクソン" in page


def test_a_regression_is_exit_code_1(capsys: pytest.CaptureFixture[str]) -> None:
    """In one JSON object with everything; people's text goes to stderr."""
    stored(a_result(grades_of([1.0] * 12), "1-before", judges=("turn", "fluency")))
    stored(a_result(grades_of(TWELVE), "2-after", judges=("turn", "fluency")))
    found = shown(capsys, "1", "2", code=1)

    assert found["verdict"] == "worse"
    assert found["regression"] is True
    assert found["judges"]["turn"]["difference"] == -0.3
    assert found["judges"]["turn"]["p_holm"] == pytest.approx(2 * found["judges"]["turn"]["p"], abs=2e-4)
    assert len(found["turned_red"]) == 6
    assert found["said"].startswith("悪くなりました")
    assert found["after"]["replay_of"] is None


def test_a_broken_case_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    """Although the mean rose."""
    before, after = dict.fromkeys("abcdefgh", 0.8), dict.fromkeys("abcdefg", 1.0) | {"h": 0.4}
    stored(a_result(grades_of(before), "1-before"))
    stored(a_result(grades_of(after), "2-after", tags={"h": ("壊さない",)}))
    text = diff(capsys, "1", "2", code=1)

    assert "壊さないと決めた質問が要確認になりました: hですか（h）" in text
    assert "[壊さない]" in text
    assert "終了コード 1" in text


def test_too_little_data_says_how_much_more(capsys: pytest.CaptureFixture[str]) -> None:
    """Exit code 0: nothing is known."""
    stored(a_result(grades_of([0.8, 1.0, 0.6]), "1-before"))
    stored(a_result(grades_of([0.4, 0.2, 0.6]), "2-after"))
    text = diff(capsys, "1", "2")

    assert "データ不足" in text.splitlines()[2]
    assert "会話が必要です" in flat(text)


def test_another_rubric_asks_for_grading_again(capsys: pytest.CaptureFixture[str]) -> None:
    """Scores are not held against each other, and the command is there to copy."""
    stored(a_result(grades_of([1.0] * 12), "1-before"))
    stored(a_result(grades_of(TWELVE), "2-after", rubric="r2"))
    text = diff(capsys, "1", "2")

    assert "比べられません" in text.splitlines()[2]
    assert "python run.py grade 1-before --again --judges turn" in text


def test_the_rules_for_red_are_the_later_runs(capsys: pytest.CaptureFixture[str]) -> None:
    """A stricter rule turns nothing red by itself, and is said."""
    stored(a_result(grades_of([0.8] * 8), "1-before"))
    stored(a_result(grades_of([0.8] * 8), "2-after", red={"overall": 0.9}))
    found = shown(capsys, "1", "2")

    assert found["reds"]["still_red"] == 8
    assert [caution["kind"] for caution in found["cautions"]] == ["rules"]


def test_markdown_is_for_a_pull_request(capsys: pytest.CaptureFixture[str]) -> None:
    """Verdict, table, what turned; nobody is called and no markup of others gets through."""
    before = a_result(grades_of([1.0] * 12), "1-before")
    after = a_result(grades_of(TWELVE), "2-after")
    talk = after.conversations[0]
    said = talk.turns[0].model_copy(
        update={"answer": talk.turns[0].answer.model_copy(update={"text": "@all <b>"})}
    )
    talks = (talk.model_copy(update={"turns": (said,)}), *after.conversations[1:])
    stored(before)
    stored(after.model_copy(update={"conversations": talks}))
    diff(capsys, "1", "2", "--markdown", "diff.md", code=1)
    text = Path("diff.md").read_text(encoding="utf-8")

    assert text.startswith("## 前回との比較")
    assert "**悪くなりました。" in text
    assert "| 総合 | 100 | 70 | −30 |" in text
    assert "@all" not in text
    assert "<b>" not in text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["none", "1"], "no run 'none'"),
        (["1", "3"], "no question and customer in common"),
        (["1", "2", "--free", "x"], "no run 'x'"),
        (["1", "2", "--markdown", "no/such/folder.md"], "cannot be written"),
    ],
)
def test_wrong_input_is_one_line(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit code 2, and how to mend it."""
    stored(a_result(grades_of([0.8] * 8), "1-before"))
    stored(a_result(grades_of([0.8] * 8), "2-after"))
    stored(a_result(grades_of({"other": 0.8}), "3-other"))

    assert main(["diff", *arguments]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert "Traceback" not in error


def test_a_page_that_cannot_be_written_is_no_obstacle(capsys: pytest.CaptureFixture[str]) -> None:
    """The verdict counts; that there is no page is said."""
    stored(a_result(grades_of([1.0] * 12), "1-before"))
    stored(a_result(grades_of(TWELVE), "2-after"))
    Path("runs/2-after/side-by-side.html").mkdir()

    assert main(["diff", "1", "2"]) == 1
    assert "cannot be written" in capsys.readouterr().err


def test_a_replay_stands_beside_the_free_run(capsys: pytest.CaptureFixture[str]) -> None:
    """Found by itself, or named with --free; both against the earlier run."""
    grades: dict[Key, list[float]] = {(f"c{i}", "calm", 1): [0.6, 0.6] for i in range(12)}
    better = {key: [1.0, 0.8] for key in grades}
    free = {key: [1.0, 0.6] for key in grades}
    new: dict[str, Any] = {"set": {"top": "4"}}
    stored(a_result(grades, "1-before"))
    stored(a_result(better, "2-replay", days=1, replay="runs/1-before/run.sqlite", **new))
    stored(a_result(free, "3-free", days=2, lines="別の", **new))
    found = shown(capsys, "1", "2")
    text = diff(capsys, "1", "3", "--free", "2")

    assert (found["same_lines"], found["lines"]) == (24, 24)
    assert (found["beside"]["run"], found["beside"]["replay"]) == ("3-free", False)
    assert found["beside"]["difference"]["difference"] == pytest.approx(0.2)
    assert "同じ発言での再演: 60 → 90" in text
    assert "自由な会話: 60 → 80" in text


def test_report_of_two_runs_has_the_figures(capsys: pytest.CaptureFixture[str]) -> None:
    """`report A B` paints the same page."""
    stored(a_result(grades_of([1.0] * 12), "1-before"))
    stored(a_result(grades_of(TWELVE), "2-after"))

    assert main(["report", "1", "2"]) == 0
    page = Path(capsys.readouterr().out.strip()).read_text(encoding="utf-8")
    assert "悪くなりました。スコアは 100 → 70" in page
    assert "−30" in page


def test_texts_are_the_same_in_both_languages() -> None:
    """The same keys, and the same variables."""
    ja, en = (
        {key: set(Template(text).get_identifiers()) for key, text in table.items()}
        for table in read_toml(TEXTS.path).values()
    )

    assert ja == en


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.092, "+9.2"), (-0.03, "−3"), (0.0, "±0"), (-0.0004, "±0"), (None, "–"), (0.1, "+10")],
)
def test_differences_are_signed(value: float | None, text: str) -> None:
    """On the scale to 100, without a sign where there is nothing."""
    assert signed(value) == text


def test_chances_are_short() -> None:
    """No more digits than mean something."""
    assert [chance(p) for p in (None, 0.0001, 0.0123, 0.5)] == ["–", "<0.001", "0.012", "0.50"]


def painted(results: Results) -> Painted:
    from tests.test_report_html import painted as with_gate

    return with_gate(results)


@pytest.mark.parametrize("payload", PAYLOADS[::12])
def test_hostile_text_moves_no_terminal(payload: str, capsys: pytest.CaptureFixture[str]) -> None:
    """What bots say is printed without its control codes, and escaped as Markdown."""
    from rich.console import Console

    one, other = (
        painted(said_by(payload + "\x1b[31m", a_result(grades_of([v] * 8), name)))
        for name, v in (("a", 1.0), ("b", 0.2))
    )
    telling = Telling(compared(one, other), words_of(other.summary, "en"))
    paint(telling, Console())

    assert "\x1b" not in capsys.readouterr().out
    assert "\x1b" not in markdown(telling)
    assert not re.search(r"(?<!\\)<script", markdown(telling))


def said_by(text: str, results: Results) -> Results:
    """The run with this text wherever others can write."""

    def hostile(talk: Conversation) -> Conversation:
        turns = tuple(
            t.model_copy(update={"user": text, "answer": t.answer.model_copy(update={"text": text})})
            for t in talk.turns
        )
        case = talk.case.model_copy(update={"question": text, "tags": (text, "必須")})
        return talk.model_copy(update={"turns": turns, "case": case})

    scores = tuple(score.model_copy(update={"reason": text}) for score in results.scores)
    talks = tuple(map(hostile, results.conversations))
    return results.model_copy(update={"conversations": talks, "scores": scores})


# Replays, in whole runs with the bundled questions.

BOT = "def answer(question):\n    return '分かりません。', []\n"


def rehearsed(*arguments: str) -> Results:
    assert main(["--offline", *arguments]) == 0
    return read_run(find_run(run_ids(Path("runs"))[-1], Path("runs")))


def spoken(results: Results) -> dict[str, list[tuple[str, str]]]:
    return {c.id: [(t.user, t.clean) for t in c.turns] for c in results.conversations if c.turns}


def test_a_replay_keeps_slips_and_repeats(capsys: pytest.CaptureFixture[str]) -> None:
    """The same mistyped lines with what was meant, each repeat its own, to a bot that says other things."""
    Path("bot.py").write_text(BOT, encoding="utf-8")
    before = rehearsed(
        "--persona", "angry", "--limit", "2", "--typos", "1", "--repeats", "2", "--judges", "turn"
    )
    capsys.readouterr()
    after = rehearsed("--replay", "latest", "--adapter", "bot.py:answer", "--judges", "turn", "--json")
    told = json.loads(capsys.readouterr().out)

    assert any(clean for said in spoken(before).values() for _, clean in said)
    assert spoken(after) == spoken(before)
    assert told["replay_of"] == before.run.id
    page = Path("runs", after.run.id, "report.html").read_text(encoding="utf-8")
    assert f"この実行は {before.run.id} の再演です" in page
    found = shown(capsys, before.run.id, after.run.id)
    assert found["same_lines"] == found["lines"] == sum(map(len, spoken(before).values()))
    assert "settings" not in {caution["kind"] for caution in found["cautions"]}


def test_a_replay_of_an_interrupted_run_without_its_case_file() -> None:
    """What was answered is said again, what was begun and not answered is not; the file may be gone."""
    whole = a_result({("a", "calm", 1): [0.8, 0.8], ("b", "calm", 1): [0.8]}, "1-cut", cases="gone.csv")
    cut = whole.conversations[1].model_copy(update={"ended": None})
    begun = whole.conversations[0].model_copy(update={"id": "calm/c#1", "turns": (), "ended": None})
    run = whole.run.model_copy(update={"status": "interrupted"})
    stored(whole.model_copy(update={"run": run, "conversations": (whole.conversations[0], cut, begun)}))
    after = rehearsed("--replay", "1-cut", "--judges", "turn")

    assert spoken(after) == spoken(whole)


def test_workbooks_say_that_a_run_is_a_replay() -> None:
    """A row of the summary worksheet."""
    from simulator.reports.sheet_figures import summary_sheet
    from simulator.reports.told import Told

    one = painted(a_result(grades_of([0.8] * 3), "2-replay", replay="runs/1-before/run.sqlite"))
    sheet = summary_sheet(Told(*one, "ja"))
    row = next(row for row in sheet.rows if row.key.endswith("replay_of"))

    assert row.cells["value"].text == "1-before"
    assert "再演" in row.cells["explanation"].text
