"""What is done with turns that a customer spoilt: counted, left out, or held once more."""

import contextlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from simulator.core.types import (
    SUPERSEDED,
    Case,
    Conversation,
    Language,
    RedRules,
    Results,
    Turn,
    User,
    Utterance,
)
from simulator.report.sections import customer_remarks
from simulator.report.worksheets import worksheets
from simulator.results.figures import Handling, Summary
from simulator.results.gate import decide
from simulator.results.summary import summarise
from simulator.runner.run import hold_conversations
from simulator.storage.results import without_superseded
from simulator.storage.run_file import read_run
from simulator.users.faults import second_attempts
from tests.commands import Command
from tests.customer_conversations import QUESTION, UNRELATED, a_case, a_run, a_talk, a_verdict
from tests.diff_runs import stored
from tests.report.views import context_of, render
from tests.run_helpers import Quiet, a_stage, echo
from tests.run_helpers import a_run as a_file
from tests.texts import said

ASKED, OTHER = QUESTION["ja"], UNRELATED["ja"]
MADE_UP = "契約番号はA-1032-55です。"


def spoilt_run() -> Results:
    """Two conversations: a red turn that is the customer's fault, and one in which the bot is silent, too."""
    first = a_talk((ASKED, OTHER), (MADE_UP, OTHER))
    second = a_talk((ASKED, OTHER), (MADE_UP, None), persona="calm")
    grades = [a_verdict(*given) for given in ((first, 1, 5), (first, 2, 1), (second, 1, 4))]
    return a_run(first, second, scores=grades)


def summary(results: Results, handling: Handling = "keep") -> Summary:
    return summarise(results, rules=RedRules(), judges=("turn",), seed=1, handling=handling)


def test_kept_turns_count_and_the_other_score_stands_beside() -> None:
    """(3/5 + 4/5) / 2 as it is, (5/5 + 4/5) / 2 without the spoilt turn."""
    found = summary(spoilt_run())

    assert found.scores.score == pytest.approx(0.7)
    assert found.scores.with_spoilt == pytest.approx(0.7)
    assert found.scores.without_spoilt == pytest.approx(0.9)
    assert found.customers.faults == {"invented": 2}


def test_excluded_turns_leave_means_and_red_and_are_counted() -> None:
    """All of n + skipped + failed + unreached + excluded = planned; silence is the bot's own fault."""
    kept, found = summary(spoilt_run()), summary(spoilt_run(), "exclude")
    judge = found.scores.judges["turn"]

    assert found.scores.score == pytest.approx(0.9)
    assert (found.scores.with_spoilt, found.scores.without_spoilt) == pytest.approx((0.7, 0.9))
    assert (kept.red.count, found.red.count) == (2, 1)
    assert found.red.answers[0].failure == "timeout"
    assert (judge.n, judge.unreached, judge.excluded, judge.planned) == (2, 1, 1, 4)
    kinds = (judge.n, judge.skipped, judge.failed, judge.unreached, judge.excluded)
    assert sum(kinds) == judge.planned == found.turns


@pytest.mark.parametrize("language", ["ja", "en"])
def test_reports_say_what_stands_out(language: Language) -> None:
    """On the page and in the worksheet; both scores in one sentence."""
    results = spoilt_run()
    found = summary(results)
    gate = decide(found, None)
    text = " ".join(said(each, language) for each in customer_remarks(found))
    page = render(results, found, gate, language)
    rows = worksheets(context_of(results, found, gate, language))[0].rows

    assert "70" in text
    assert "90" in text
    assert text.split(" ")[0] in page
    assert {"ja": "お客様役の点検", "en": "The simulated customers"}[language] in page
    assert 'id="customers"' in page
    assert "customers" in {row.key for row in rows}


def saying(line: Callable[[Conversation], str]) -> Callable[[Conversation], User]:
    """Customers who say this as their second line and leave after it."""

    def plays(conversation: Conversation) -> User:
        async def says(case: Case, turns: tuple[Turn, ...]) -> Utterance:
            second = Utterance(text=line(conversation))
            return second if len(turns) == 1 else Utterance(text="", next="gave_up")

        return says

    return plays


async def held(folder: Path, line: Callable[[Conversation], str], **settings: Any) -> Results:
    """A run of two questions whose customers say this."""
    plan = [a_talk(case=a_case(id=name), ended=None) for name in ("one", "two")]
    context = a_stage(judges=("turn",), customer_faults="replay", **settings)
    context.user = saying(line)  # type: ignore[method-assign, assignment]
    with contextlib.closing(a_file(folder, plan)) as file:
        try:
            assert await hold_conversations(file, context, echo, Quiet()) is None
        finally:
            await context.close(None)
        return file.results()


async def test_spoilt_conversations_are_held_once_more_and_the_clean_one_counts(tmp_path: Path) -> None:
    """The first stays in the run file, marked; nothing else is held again."""
    spoilt, clean, again = "angry/one#1", "angry/two#1", "angry/one#1~2"
    results = await held(tmp_path, lambda talk: MADE_UP if talk.id == spoilt else "どこに書いてありますか。")

    assert [conversation.id for conversation in results.conversations] == [spoilt, clean, again]
    assert results.notes[SUPERSEDED] == {spoilt: again}
    assert len(results.scores) == 6
    left = without_superseded(results)
    assert [conversation.id for conversation in left.conversations] == [clean, again]
    assert (left.planned, {score.conversation for score in left.scores}) == (2, {clean, again})
    found = summary(results, "replay")
    assert (found.planned, found.finished, found.turns) == (2, 2, 4)
    assert found.customers.superseded == (spoilt,)
    assert second_attempts(results) == ()


@pytest.mark.parametrize(("handling", "score"), [("keep", 0.7), ("exclude", 0.9)])
def test_report_counts_spoilt_turns_as_asked(
    handling: Handling, score: float, tmp_path: Path, command: Command
) -> None:
    """The same stored run, painted either way."""
    path = stored(spoilt_run(), tmp_path)
    told = command("report", str(path), "--customer-faults", handling, "--json").json

    assert told["score"] == score
    assert told["simulator"]["handling"] == handling
    assert len(read_run(path).scores) == 3


@pytest.mark.parametrize(("handling", "share"), [("keep", 1 / 4), ("exclude", 1 / 3)])
def test_a_silent_bot_stays_silent_whatever_the_customer_said(
    handling: Handling, share: float, tmp_path: Path, command: Command
) -> None:
    """Of four turns customers spoilt two, one of them without an answer: that one counts."""
    path = str(stored(spoilt_run(), tmp_path))
    asked = ("--target", "failed == 0 and severity_major == 0", "--max-major", "1")
    told = command("report", path, "--customer-faults", handling, "--json", *asked).json
    checked = {each["condition"]: each for each in told["conditions"]}

    assert checked["failed == 0"]["value"] == pytest.approx(share, abs=1e-4)
    assert checked["severity_major == 0"]["value"] == {"keep": 2, "exclude": 1}[handling]


def test_what_customers_said_is_escaped_on_the_page() -> None:
    """Ids and names are the only texts of others in this block."""
    conversation = a_talk((ASKED, OTHER), (MADE_UP, OTHER), persona="<b>x", id="<script>1")
    results = a_run(conversation, scores=[a_verdict(conversation, 2, 1)])
    found = summary(results)

    assert "<script>1" not in render(results, found, decide(found, None), "en")
