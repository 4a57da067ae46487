"""Stopping early: looks that spend their error, in an order by lot, and a run that says what it saved."""

from pathlib import Path

import pytest

from simulator.stats.sequential import alpha_at, batches, looks, nominal_levels
from tests.commands import Command, Done
from tests.run_helpers import a_case, a_talk

# Marks what is good without a model; the bot counts how often it was asked.
BOT = """
import pathlib


def answer(question):
    with pathlib.Path("asked.txt").open("a") as file:
        file.write(question + "\\n")
    return "OK" if "%s" in question else "BAD"
"""
JUDGE = """
from simulator import Score


def house(exhibit):
    value = 1.0 if exhibit.turn.answer.text == "OK" else 0.5
    return Score(judge="house", conversation=exhibit.conversation, turn=exhibit.turn.index,
                 state="scored", value=value, raw=value, scale=(0, 1))
"""


def test_eight_looks_or_as_many_as_there_are_questions() -> None:
    """The last look is at everything."""
    assert looks(40) == (5, 10, 15, 20, 25, 30, 35, 40)
    assert looks(5) == (1, 2, 3, 4, 5)
    assert looks(1) == (1,)
    assert looks(1001)[-1] == 1001


def test_before_the_first_look_the_error_is_that_of_the_first_look() -> None:
    """Not that of the last, which is many times larger."""
    first = alpha_at(looks(40)[0], 40, 0.05)

    assert alpha_at(1, 40, 0.05) == first < alpha_at(40, 40, 0.05)


def test_the_error_is_spent_as_the_literature_has_it() -> None:
    """One look spends all; the first of several spends alpha * t ** power, and all together no more."""
    assert nominal_levels((1.0,), 0.05) == pytest.approx((0.05,), abs=1e-5)
    levels = nominal_levels((0.25, 0.5, 0.75, 1.0), 0.05)

    assert levels[0] == pytest.approx(0.05 * 0.25**1.5, abs=1e-5)
    assert list(levels) == sorted(levels)
    assert levels[-1] < 0.05 < sum(levels)


def test_the_order_is_by_lot_and_questions_stay_whole() -> None:
    """Every conversation is in one part, all about a question in the same; another seed, another order."""
    plan = [
        a_talk(a_case(id=f"q{n}")).model_copy(update={"id": f"{who}/q{n}#1", "persona": who})
        for n in range(16)
        for who in ("calm", "angry")
    ]
    parts = batches(plan, 42)
    told = [conversation.id for part in parts for conversation in part]

    assert len(parts) == 8
    assert sorted(told) == sorted(conversation.id for conversation in plan)
    assert all(len({conversation.case.id for conversation in part}) == 2 for part in parts)
    assert [len(part) for part in parts] == [4] * 8
    assert told != [conversation.id for part in batches(plan, 7) for conversation in part]


@pytest.fixture
def rehearse(command: Command) -> Command:
    """A run over eighty questions with a bot that is good at those that hold a word."""

    def run(*arguments: str) -> Done:
        good, *more = arguments
        Path("bot.py").write_text(BOT % good, encoding="utf-8")
        Path("mine.py").write_text(JUDGE, encoding="utf-8")
        rows = "".join(f"q{n},質問その{n}を教えてください\n" for n in range(80))
        Path("cases.csv").write_text(f"id,question\n{rows}", encoding="utf-8")
        own = ("--offline", "--adapter", "bot.py:answer", "--judges", "mine.py:house", "--cases", "cases.csv")
        return command(*own, "--turns", "1", "--persona", "calm", "--json", *more)

    return run


def test_a_good_bot_is_done_early(rehearse: Command) -> None:
    """It passes, the rest is never asked, and the report says so; it is finished, not broken off."""
    done = rehearse("質問", "--target", "0.8", "--sequential")
    shown, results = done.json, done.run
    held = shown["conversations"]["finished"]

    assert (done.code, shown["passed"], shown["decision"]) == (0, True, "passed")
    assert (shown["conversations"]["planned"], shown["conversations"]["spared"]) == (80, 80 - held)
    assert 10 <= held <= 50
    assert len(Path("asked.txt").read_text(encoding="utf-8").splitlines()) == held
    assert f"80 会話のうち {held} 会話で終えました" in done.err.replace("\n", "").replace("  ", "")
    assert results.run.status == "finished"
    assert results.notes["stopped_early"] == {"decision": "passed"}


def test_a_run_that_stopped_early_is_not_taken_up_again(rehearse: Command) -> None:
    """`--resume` shows it once more: to go on after the answer would be to look until it pleases."""
    first = rehearse("質問", "--target", "0.8", "--sequential")
    asked = Path("asked.txt").read_text(encoding="utf-8")
    again = rehearse("質問", "--resume", "latest")

    assert (again.code, again.json) == (0, first.json)
    assert Path("asked.txt").read_text(encoding="utf-8") == asked


def test_a_bot_at_the_target_is_held_to_the_end(rehearse: Command) -> None:
    """Nothing is certain, nothing is spared, and what was spent on looks is not there in the end."""
    target = "severity_major <= 80 and house >= 0.55"
    done = rehearse("質問その1", "--target", target, "--sequential")
    shown = done.json

    assert (done.code, shown["decision"]) == (1, "undecided")
    assert shown["conversations"]["spared"] == 0
    (_, of_score, _) = shown["conditions"]
    assert of_score["more"]["questions"] > 80
    assert "会話で決まります · " in done.err
