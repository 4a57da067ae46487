"""A run as a pandas table, for who works on with the figures in Python."""

from pathlib import Path

import pandas as pd

from simulator import open_run
from simulator.core.types import Answer, Ended, Failure, Score, Utterance
from tests.run_helpers import a_case, a_run, a_talk

RUN = "20261121-090400-angry-0001"


def stored() -> None:
    """Two conversations: one of two turns, graded and failed; one whose bot gave no answer."""
    first, second = a_talk(a_case()), a_talk(a_case("en", id="fees-2"))
    file = a_run(Path("runs"), (first, second), RUN)
    graded = {"judge": "turn", "state": "scored", "raw": 2, "value": 0.4, "reason": "wrong price"}
    file.save_utterance(first.id, 1, Utterance(text=first.case.question))
    file.save_answer(first.id, 1, Answer(text="4,180円です。", seconds=1.5))
    file.save_utterance(first.id, 2, Utterance(text="本当ですか"))
    file.save_answer(first.id, 2, Answer(text="はい。"))
    file.save_utterance(second.id, 1, Utterance(text=second.case.question))
    file.save_answer(second.id, 1, Answer(text="", error=Failure(kind="timeout", message="late")))
    file.save_scores(
        [
            Score(conversation=first.id, turn=1, **graded),
            Score(conversation=first.id, turn=2, judge="turn", state="failed", reason="no reply"),
            Score(conversation=second.id, turn=1, judge="fluency", state="skipped", reason="no answer"),
        ]
    )
    file.save_ending(first.id, Ended.SATISFIED, "", "")
    file.close()


def test_each_turn_is_a_row_with_what_each_judge_made_of_it() -> None:
    """Grades are numbers, NaN where a judge gave none; its state and its reason say why."""
    stored()

    frame = open_run().to_frame()

    assert list(frame["turn"]) == [1, 2, 1]
    first, second, third = (frame.iloc[at] for at in range(3))
    assert (first["turn.score"], first["turn.grade"], first["turn.reason"]) == (0.4, 2.0, "wrong price")
    assert (first["answer"], first["answer_seconds"], first["ended"]) == ("4,180円です。", 1.5, "satisfied")
    assert second["turn.state"] == "failed"
    assert pd.isna(second["turn.score"])
    assert third["answer_failure"] == "timeout"
    assert (third["fluency.state"], third["language"]) == ("skipped", "en")
    assert frame["turn.score"].mean() == 0.4


def test_a_run_without_turns_is_an_empty_table() -> None:
    """A run that has just begun can be looked at as well."""
    a_run(Path("runs"), (a_talk(a_case()),), RUN).close()

    assert open_run(RUN[:10]).to_frame().empty
