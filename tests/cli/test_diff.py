"""`diff RUN LATER` from the command line, its page, its Markdown, and replays beside free runs."""

import json
import os
from collections.abc import Sequence
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any, TextIO

import pytest

from simulator.cli.app import main
from simulator.core.types import Language, Results, Status
from tests.diff_runs import Key, a_result, grades_of, stored

TWELVE = [0.6, 0.8] * 6


def diff(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> str:
    assert main(["diff", *arguments]) == code
    return capsys.readouterr().out


def shown(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(diff(capsys, *arguments, "--json", code=code))
    return found


def two_runs(before: Sequence[float], after: Sequence[float], **later: Any) -> None:
    """Two finished runs with these grades; `later` is of the second alone."""
    stored(a_result(grades_of(before), "1-before"))
    stored(a_result(grades_of(after), "2-after", **later))


def flat(text: str) -> str:
    return "".join(text.split())


def test_the_first_line_answers(capsys: pytest.CaptureFixture[str]) -> None:
    """It got better: exit code 0, the page lies beside the later run, and where is said."""
    stored(a_result(grades_of(TWELVE), "1-before", set={"top": "1"}))
    stored(a_result(grades_of([v + 0.2 for v in TWELVE]), "2-after", days=1, set={"top": "4"}))
    text = diff(capsys, "1-before")
    _, _, second, *_ = text.splitlines()

    assert second.startswith("要確認の質問6件 → 0件、点数 70 → 90：改善（+20点")
    assert "top 1 → 4" in text
    assert "要確認が解消した会話（6件）" in text
    assert flat("runs/2-after/side-by-side.html") in flat(text)
    page = Path("runs/2-after/side-by-side.html").read_text(encoding="utf-8")
    assert "要確認の質問6件 → 0件、点数 70 → 90：改善" in page
    assert "偶然だけでもこれほどの差が出る割合" in page
    assert not any(name in page for name in ("検定", "Pratt", "Wilcoxon"))


def test_a_regression_is_exit_code_1(capsys: pytest.CaptureFixture[str]) -> None:
    """In one JSON object with everything; people's text goes to stderr."""
    stored(a_result(grades_of([1.0] * 12), "1-before", judges=("turn", "fluency")))
    stored(a_result(grades_of(TWELVE), "2-after", judges=("turn", "fluency")))
    found = shown(capsys, "1", "2", code=1)

    assert found["verdict"] == "worse"
    assert found["regression"] is True
    assert found["judges"]["turn"]["difference"] == -0.3
    assert found["change"] == {
        "earlier": "1-before", "later": "2-after", "asked": 12, "apart": 0, "rubrics": [],
        "questions": {"before": 0, "now": 6}, "score": {"before": 1.0, "now": 0.7},
    }  # fmt: skip
    assert len(found["turned_red"]) == 6
    assert found["said"].startswith("要確認の質問0件 → 6件、点数 100 → 70：悪化")
    assert found["after"]["replay_of"] is None


def test_a_run_is_not_held_against_itself(capsys: pytest.CaptureFixture[str]) -> None:
    """How the run before it is named is said; nothing is painted."""
    two_runs([0.8] * 8, [0.8] * 8, days=1)

    assert main(["diff", "2-after", "2-after"]) == 2
    assert "same run, 2-after" in (error := capsys.readouterr().err)
    assert "The one before it: 1-before." in error
    assert main(["diff", "1-before", "runs/1-before"]) == 2
    assert "The one before it" not in capsys.readouterr().err
    assert not list(Path("runs").rglob("*.html"))


@pytest.mark.parametrize("arguments", [[], ["latest"], ["4-now"]])
def test_without_an_earlier_run_the_last_comparable_one_is_taken(
    capsys: pytest.CaptureFixture[str], arguments: list[str]
) -> None:
    """The same that the page calls the last run; one line where there is none."""
    stored(a_result(grades_of(TWELVE), "1-before"))
    assert main(["diff", *arguments[:1]] if arguments != ["4-now"] else ["diff"]) == 2
    error = capsys.readouterr().err
    assert error.splitlines() == [
        "error: No run before 1-before has the same questions, customers, bot and rubric."
        " All runs: python run.py history."
    ]
    stored(a_result(grades_of([0.2] * 12), "2-try", days=1, limit=12))
    stored(a_result(grades_of({"other": 0.2}), "3-other", days=2))
    stored(a_result(grades_of([1.0] * 12), "4-now", days=3))

    assert shown(capsys, *arguments)["change"]["earlier"] == "1-before"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["none", "1"], "no run 'none'"),
        (["1", "3"], "no question in common"),
        (["1", "x"], "no run 'x'"),
        (["1", "2", "--markdown", "no/such/folder.md"], "cannot be written"),
    ],
)
def test_wrong_input_is_one_line(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit code 2, and how to mend it."""
    two_runs([0.8] * 8, [0.8] * 8)
    stored(a_result(grades_of({"other": 0.8}), "3-other"))

    assert main(["diff", *arguments]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert "Traceback" not in error


def test_a_page_that_cannot_be_written_is_no_obstacle(capsys: pytest.CaptureFixture[str]) -> None:
    """The verdict counts; that there is no page is said."""
    two_runs([1.0] * 12, TWELVE)
    Path("runs/2-after/side-by-side.html").mkdir()

    assert main(["diff", "1", "2"]) == 1
    assert "cannot be written" in capsys.readouterr().err


def test_what_turned_stands_turn_by_turn_on_the_page(capsys: pytest.CaptureFixture[str]) -> None:
    """Counted are conversations, and each leads to the page of the later run; as text one turn is enough."""
    before: dict[Key, list[float]] = {(f"c{i}", "calm", 1): [0.6, 0.6] for i in range(8)}
    stored(a_result(before, "1-before"))
    stored(a_result({key: [1.0, 1.0] for key in before}, "2-after"))
    assert main(["diff", "1", "2", "--markdown", "diff.md"]) == 0
    page = Path("runs/2-after/side-by-side.html").read_text(encoding="utf-8")
    written = Path("diff.md").read_text(encoding="utf-8")

    assert "✓ 要確認が解消：8件" in page
    assert "要確認が解消した会話（8件）" in page
    assert 'href="report.html#c8"' in page
    assert (page.count("前回 · 2回目"), written.count("前回 · 1回目"), written.count("2回目")) == (8, 8, 0)


def unread() -> TextIO:
    """A standard output whose reader has gone."""
    reading, writing = os.pipe()
    os.close(reading)
    return os.fdopen(writing, "w", encoding="utf-8")


def test_a_reader_may_stop_before_the_end(capsys: pytest.CaptureFixture[str]) -> None:
    """`diff | head`: the exit code is the verdict all the same, and one calm line says where it is."""
    two_runs([1.0] * 12, TWELVE)
    with unread() as gone, redirect_stdout(gone):
        assert main(["diff", "1", "2"]) == 1
    said = capsys.readouterr().err

    assert "Not read to the end: the verdict is in the exit code" in said
    assert "error" not in said
    assert main(["diff", "1", "2"]) == 1
    assert "Not read to the end" not in capsys.readouterr().err


def test_what_decides_nothing_may_be_left_unread(capsys: pytest.CaptureFixture[str]) -> None:
    """`history | head` and `fixes | head` have done what they were asked for."""
    two_runs([1.0] * 12, TWELVE)
    for arguments, said in ((["history"], ""), (["fixes", "2", "--markdown", "fixes.md"], "fixes.md")):
        with unread() as gone, redirect_stdout(gone):
            assert main(arguments) == 0
        err = capsys.readouterr().err
        assert said in err
        assert "error" not in err
    assert Path("fixes.md").is_file()


@pytest.mark.parametrize("language", ["ja", "en"])
def test_rows_are_not_called_conversations(capsys: pytest.CaptureFixture[str], language: Language) -> None:
    """Of two single-turn runs rows, questions and answers are told; nobody played a customer."""
    for run, grade in (("1-before", 1.0), ("2-after", 0.2)):
        results = a_result(grades_of([grade] * 2, "scripted"), run, protocol="single_turn")
        spoken = {"language": language, "question": "5G?" if language == "en" else "料金は"}
        conversations = [
            conversation.model_copy(update={"case": conversation.case.model_copy(update=spoken)})
            for conversation in results.conversations
        ]
        stored(results.model_copy(update={"conversations": tuple(conversations)}))
    text = diff(capsys, "1-before", "--markdown", "diff.md")
    page = Path("runs/2-after/side-by-side.html").read_text(encoding="utf-8")
    shown = page[page.index('id="pairs"') :]
    written = Path("diff.md").read_text(encoding="utf-8")

    assert ("Rows that now need review (2)" if language == "en" else "新たに要確認になった行（2行）") in text
    for view in (text, shown, written):
        assert "case-0" in view.replace("\\", "")
        for word in ("お客様", "窓口", "ターン", "scripted", "会話", "ustomer", "onversation", "turn 1"):
            assert word not in view, word


GUARDS: dict[str, tuple[str, ...]] = {f"case-{n}": ("must-not-break",) for n in range(20)}


def held_until(run: Results, held: int, status: Status = "interrupted") -> Results:
    """The run as it was stopped after so many of its conversations."""
    kept, rest = run.conversations[:held], run.conversations[held:]
    ids = {conversation.id for conversation in kept}
    unheld = tuple(c.model_copy(update={"turns": (), "ended": None}) for c in rest)
    stopped = run.run.model_copy(update={"status": status})
    scores = tuple(score for score in run.scores if score.conversation in ids)
    return run.model_copy(update={"run": stopped, "conversations": (*kept, *unheld), "scores": scores})


def test_a_later_run_that_was_cut_short_cannot_tell(capsys: pytest.CaptureFixture[str]) -> None:
    """Said first, with what finishes it: 16 of 20 questions that must not break were never asked."""
    stored(a_result(grades_of([1.0] * 20), "1-before", tags=GUARDS))
    stored(held_until(a_result(grades_of([1.0] * 20), "2-after", days=1, tags=GUARDS), 4))
    found = shown(capsys, "1", "2", code=3)
    text = diff(capsys, "1", "2", code=3)

    assert (found["cannot_tell"], found["regression"]) == (True, False)
    assert found["cut_short"] == [{"run": "2-after", "finished": 4, "planned": 20}]
    assert found["unseen"] == [f"case-{n}" for n in range(4, 20)]
    first, _, second = flat(text).partition("点数100→100")
    assert "悪くなったかどうかは分かりません：2-afterは20会話のうち4会話で止まりました" in first
    assert "壊さないと決めた質問20件のうち16件に、後の実行での採点がありません" in first
    assert "--resume2-after" in first
    assert second
    assert found["said"].startswith("悪くなったかどうかは分かりません：2-after")
    assert "分かりません（終了コード 3）" in diff(capsys, "1", "2", code=3)


def test_what_is_worse_already_is_a_regression_of_a_run_that_was_cut_short(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """One of the four questions that were asked broke: no more of them can mend that."""
    stored(a_result(grades_of([1.0] * 20), "1-before", tags=GUARDS))
    later = a_result(grades_of([0.2] + [1.0] * 19), "2-after", days=1, tags=GUARDS)
    stored(held_until(later, 4))
    found = shown(capsys, "1", "2", code=1)

    assert (found["cannot_tell"], found["regression"]) == (False, True)


@pytest.mark.parametrize(("graded", "code"), [(20, 0), (19, 3)])
def test_a_guarded_question_without_a_grade_is_not_taken_for_a_good_one(
    graded: int, code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of a finished run, too: a question that was left out, or whose grading failed."""
    stored(a_result(grades_of([1.0] * 20), "1-before", tags=GUARDS))
    later = a_result(grades_of([1.0] * 20), "2-after", days=1, tags=GUARDS)
    ungraded = {conversation.id for conversation in later.conversations[graded:]}
    kept = tuple(score for score in later.scores if score.conversation not in ungraded)
    stored(later.model_copy(update={"scores": kept}))
    fewer = a_result(grades_of([1.0] * graded), "3-fewer", days=2, tags=GUARDS)
    stored(fewer)

    for run in ("2", "3"):
        assert shown(capsys, "1", run, code=code)["unseen"] == [f"case-{n}" for n in range(graded, 20)]


def test_an_earlier_run_that_was_cut_short_cannot_tell_either(capsys: pytest.CaptureFixture[str]) -> None:
    """What was not asked before may have been good before; nothing in common is the same."""
    stored(held_until(a_result(grades_of([1.0] * 20), "1-before"), 8))
    stored(a_result(grades_of([1.0] * 20), "2-after", days=1))
    assert shown(capsys, "1", "2", code=3)["cut_short"][0]["run"] == "1-before"

    stored(held_until(a_result(grades_of([1.0] * 20), "3-nothing", days=2), 0))
    assert main(["diff", "2", "3"]) == 3
    assert "no question in common" in capsys.readouterr().err
