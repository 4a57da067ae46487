"""The report of a review, in words."""

from pathlib import Path

from simulator.report.review import ReviewOutcome, review_report
from simulator.results.review import review_findings
from tests.reviewed_runs import FEE, reviewed_run, summary_of, vote
from tests.sample_runs import decide
from tests.texts import terminal


def test_a_row_with_a_comment_alone_is_shown() -> None:
    """Whoever writes nothing else still wants it to be read."""
    results = reviewed_run(vote(FEE, comment="値段表が古い"))
    figures = summary_of(results)
    findings = review_findings(results, figures)
    outcome = ReviewOutcome(figures, decide(figures, None), None, None, "ja", Path("report.html"), findings)

    assert "値段表が古い" in terminal(review_report(outcome), 100)
