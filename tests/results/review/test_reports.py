"""How reports show a score that people's grades corrected, or could correct."""

from pathlib import Path

import pytest

from simulator.core.titles import title
from simulator.core.types import Language, Results
from simulator.report.context import notes
from simulator.report.people import corrected_line
from simulator.report.review import ReviewOutcome, review_report
from simulator.report.run import run_report
from simulator.results.figures import CorrectedScore, Summary
from simulator.results.review import review_findings
from tests.blind_grades import JUDGE, graded
from tests.report.views import context_of, render
from tests.reviewed_runs import FEE, reviewed_run, summary_of, vote
from tests.sample_runs import changed, decide, summed
from tests.texts import said, terminal

HELD = graded(
    lambda conversation, turn: JUDGE[turn] - 1 + (conversation % 4 == 1) if conversation % 2 else None
)


def corrected() -> Summary:
    """A summary with a score that people's grades have lowered."""
    known = CorrectedScore(score=0.82, interval=(0.78, 0.86), n=60, bias={"red": -0.04, "not_red": 0.09})
    return changed(summed(HELD), score=0.87, corrected=known)


@pytest.mark.parametrize(
    ("language", "by", "open_"),
    [
        ("ja", "人の採点60件による補正", "判定保留：点数 82、"),
        ("en", "by 60 human grades", "Undecided: score 82, perhaps between 78 and 86 (80 required)"),
    ],
)
def test_console_and_page_show_it(language: Language, by: str, open_: str) -> None:
    """The line, by how many grades, what the gate says of it, and in which way the judge was off."""
    figures = corrected()
    gate = decide(figures, 0.8, 1.0)
    printed = terminal(run_report(context_of(HELD, figures, gate, language)), 400, "brief")
    page = render(HELD, figures, gate, language)

    for shown in (printed, page):
        assert said(corrected_line(figures, 0.8) or "", language) in shown
        assert by in shown
        assert open_ in shown
    assert said(notes(figures, gate, title)[-1].text, language) in page
    assert "<title>82 ·" in page


def test_notes_say_in_which_way_the_judge_was_off() -> None:
    """By stratum."""
    en = [said(note.text) for note in notes(corrected(), decide(corrected(), 0.9, 1.0), title)]
    ja = [said(note.text, "ja") for note in notes(corrected(), decide(corrected(), 0.8, 1.0), title)]

    assert (
        "On the 60 answers that people graded, the judge is 4 points stricter than people on answers"
        " to review, 9 points more lenient than people on the others; the corrected score leaves that out."
    ) in en
    assert any("要確認の回答で人より4点辛め、ほかの回答で人より9点甘めです" in note for note in ja)

    same = changed(
        corrected(), corrected=CorrectedScore(score=0.8, interval=(0.7, 0.9), n=60, bias={"red": 0.001})
    )
    assert any(
        "要確認の回答で人とほぼ同じです" in said(note.text, "ja")
        for note in notes(same, decide(same, None), title)
    )


@pytest.mark.parametrize(
    ("results", "ja", "en"),
    [
        (graded(lambda conversation, _: 4 if conversation < 4 else None), "あと38件で", "With 38 more"),
        (
            graded(lambda _, turn: 4 if turn < 3 else None),
            "あと2件で、点数を人の採点で補正できます（要確認の回答2件、ほか0件）",
            "With 2 more (to review 2, others 0)",
        ),
        (graded(lambda *_: 4, conversations=5), "採点できるのは15件", "this run has 15 to grade"),
    ],
)
def test_too_few_labels_say_how_many_more(results: Results, ja: str, en: str) -> None:
    """In all, of one kind, or that the run is too short for it."""
    figures = summed(results)
    gate = decide(figures, None)

    assert figures.scores.corrected is None
    for language, more in (("ja", ja), ("en", en)):
        assert any(more in said(note.text, language) for note in notes(figures, gate, title))  # type: ignore[arg-type]


def test_a_row_with_a_comment_alone_is_shown() -> None:
    """Whoever writes nothing else still wants it to be read."""
    results = reviewed_run(vote(FEE, comment="値段表が古い"))
    figures = summary_of(results)
    findings = review_findings(results, figures)
    outcome = ReviewOutcome(figures, decide(figures, None), None, None, "ja", Path("report.html"), findings)

    assert "値段表が古い" in terminal(review_report(outcome), 100)
