"""What the team's review comes to, worked out by hand."""

import pytest

from simulator.core.types import HumanVerdict
from simulator.results.intervals import wilson
from simulator.results.review import ReviewFindings, blind_agreement, review_findings
from tests.reviewed_runs import (
    AGAIN,
    CAMPAIGN,
    FEE,
    GOOD,
    INVOICE,
    RETURN,
    TIMEOUT,
    reviewed_run,
    summary_of,
    vote,
)


def found(*verdicts: HumanVerdict) -> ReviewFindings:
    """The findings of the rehearsed run with these verdicts."""
    results = reviewed_run(*verdicts)
    known = review_findings(results, summary_of(results))
    assert known
    return known


def test_precision_is_of_red_marks_only() -> None:
    """Two right, one wrong, one unsure of the red ones; a wrong one that is not red is a missing mark."""
    known = found(
        vote(FEE, "right"), vote(AGAIN, "right"), vote(CAMPAIGN, "wrong"), vote(RETURN, "unsure"),
        vote(GOOD, "wrong", comment="料金が古い"), vote(INVOICE, comment="あとで見ます"),
    )  # fmt: skip

    assert (known.marks("right"), known.marks("wrong"), known.marks("unsure"), known.judged) == (2, 1, 1, 4)
    assert known.precision == pytest.approx(2 / 3)
    assert (known.missed, found(vote(GOOD, "wrong")).missed) == (1, 1)
    assert [(t.conversation.id, t.turn.index) for t in known.wrong_turns] == [CAMPAIGN, GOOD]
    assert len(known.turns) == 6


def test_wilson_as_published() -> None:
    """Newcombe (1998), table I: 81 of 263 is 0.2553 to 0.3662; none of 20 is 0 to 0.1611."""
    assert wilson(81, 263) == pytest.approx((0.2553, 0.3662), abs=1e-4)
    assert wilson(0, 20) == pytest.approx((0, 0.1611), abs=1e-4)
    assert wilson(0, 0) is None


def test_who_has_something_left_to_do() -> None:
    """Open, in progress or without a status; what is done, false or nobody's point is not left."""
    known = found(
        vote(FEE, "right", "knowledge", status="open", assignee="佐藤"),
        vote(AGAIN, "right", "knowledge", assignee="佐藤"),
        vote(CAMPAIGN, "wrong", assignee="佐藤"),
        vote(RETURN, "right", status="mended", assignee="鈴木"),
        vote(INVOICE, "right", status="doing", assignee="鈴木"),
        vote(TIMEOUT, "right", "other"),
    )

    assert [*known.pending.items()] == [("佐藤", 2), ("鈴木", 1), ("", 1)]


def test_nothing_said_is_nothing_found() -> None:
    """No verdict, an empty one, blind ones only, and a turn that is not there.

    Verdicts on sight, however many, tell nothing of agreement: only blind grades are compared.
    """
    blind = HumanVerdict(conversation=FEE[0], turn=1, source="blind", grade=3, comment="x")
    results = reviewed_run(blind, vote(FEE), vote(("nobody#0", 1), "right"))

    assert review_findings(results, summary_of(results)) is None
    on_sight = reviewed_run(*(vote(at, "right") for at in (FEE, AGAIN, CAMPAIGN)))
    assert blind_agreement(on_sight, summary_of(on_sight)) is None


def test_json_has_all_of_it() -> None:
    """Counts, who has how much left, and wrong turns."""
    wrong = vote(CAMPAIGN, "wrong", comment="資料にある", correct_answer="はい")
    shown = found(vote(FEE, "right", "ignored"), wrong).as_json()

    assert shown["precision_of_red"] == {
        "precision": 0.5, "n": 2, "right": 1, "wrong": 1, "unsure": 0,
    }  # fmt: skip
    assert (shown["turns"], shown["red_judged"], shown["red"] > 2) == (2, 2, True)
    assert shown["pending"] == [{"assignee": "", "n": 1}]
    of_judge = {"conversation": CAMPAIGN[0], "turn": 3, "red": True, "value": 0.8}
    assert shown["judge_wrong"] == [of_judge | {"comment": "資料にある", "correct_answer": "はい"}]
