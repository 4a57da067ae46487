"""How the team's review is shown."""

from pathlib import Path

import pytest

from simulator.core.types import HumanVerdict, Language, Results
from simulator.report.review import ReadCounts, ReviewOutcome, review_report
from simulator.results.review import blind_agreement, review_findings
from tests.golden_files import compare
from tests.reviewed_runs import (
    AGAIN,
    CAMPAIGN,
    FEE,
    GOOD,
    RETURN,
    RETURNS,
    TIMEOUT,
    reviewed_run,
    summary_of,
    vote,
)
from tests.sample_runs import decide
from tests.texts import terminal

SAID = (
    vote(FEE, "right", "knowledge", status="open", assignee="佐藤", correct_answer="4,800円です。"),
    vote(AGAIN, "right", "ignored", status="doing", assignee="鈴木"),
    vote(CAMPAIGN, "wrong", comment="キャンペーンは資料にある"),
    vote(RETURN, "unsure"),
    vote(TIMEOUT, "right", "停止中", status="様子見"),
    vote(GOOD, "wrong", "knowledge", comment="料金が古い", assignee="佐藤"),
    HumanVerdict(conversation=GOOD[0], turn=1, source="blind", reviewer="1", grade=2, comment="古い"),
    HumanVerdict(conversation=FEE[0], turn=1, source="blind", reviewer="1", grade=1),
)


def report_of(results: Results, language: Language = "ja", read: ReadCounts | None = None) -> ReviewOutcome:
    """All that is painted of a run."""
    summary = summary_of(results)
    gate, page = decide(summary, None), Path("report.html")
    found = review_findings(results, summary)
    blind = blind_agreement(results, summary)
    return ReviewOutcome(results, summary, gate, language, page, blind, found, read)


def in_english(verdict: HumanVerdict) -> HumanVerdict:
    """The same of the English run."""
    return verdict.model_copy(update={"conversation": verdict.conversation.replace("-ja", "-en")})


@pytest.mark.parametrize("language", ["ja", "en"])
def test_the_review_as_it_is_meant_to_look(language: Language) -> None:
    """In words first, then marks, points, people, wrong turns, and only then agreement."""
    verdicts = SAID if language == "ja" else tuple(map(in_english, SAID))
    gold = RETURNS.replace("ja/", f"{language}/")
    what = report_of(reviewed_run(*verdicts, language=language, passages=(gold,)), language, READ)

    compare(f"review_{language}.txt", terminal(review_report(what)))


READ = ReadCounts("sheet:KEY", new=7, known=1, empty=4, skipped=1, other_runs=12, review=6, blind=2)


def test_a_review_that_has_only_begun() -> None:
    """One comment: it is shown, there is no share yet, and nothing is made of it."""
    what = report_of(reviewed_run(vote(FEE, comment="あとで")))
    text = terminal(review_report(what))

    assert "あとで" in text
    assert "的中率" not in text
    assert "比べられる採点が、まだありません。" in text
    assert "改善点" not in text


@pytest.mark.parametrize(("graded", "how"), [(True, "missing mark   judge 5"), (False, "missing mark\n")])
def test_a_wrong_verdict_stands_with_its_grade_where_there_is_one(graded: bool, how: str) -> None:
    """An answer may have lost its grade since."""
    run = reviewed_run(vote((GOOD[0].replace("-ja", "-en"), 1), "wrong", comment="old"), language="en")
    kept = tuple(
        score for score in run.scores if graded or (score.conversation, score.turn) != run.verdicts[0].key
    )
    text = terminal(review_report(report_of(run.model_copy(update={"scores": kept}), "en")), 200)

    assert how in "\n".join(line.rstrip() for line in text.splitlines()) + "\n"
