"""What is read from a run file is equal to what was written, and what is shared exists once."""

import contextlib
from pathlib import Path

from simulator.core.types import Answer, Passage, Score, Utterance
from simulator.storage.run_file import RunFile, read_run
from tests.run_helpers import a_case, a_run, a_talk

CASE = a_case()
PLAN = (a_talk(CASE), a_talk(CASE).model_copy(update={"id": "calm/fees#2"}), a_talk(a_case(id="fees-2")))
PASSAGE = Passage(id="p", text="料金表", source="fees.md")


def write_run(folder: Path) -> RunFile:
    """Three conversations, two of them of the same case, each with a turn and a grade."""
    file = a_run(folder, PLAN, "20261121-090400-angry-0001")
    for conversation in PLAN:
        file.save_utterance(conversation.id, 1, Utterance(text="いくら？"))
        file.save_answer(conversation.id, 1, Answer(text="月額です。", passages=(PASSAGE,)))
        detail = {"steps": ["a"], "conclusion": "良い", "overall": 4}
        fields = {"judge": "turn", "turn": 1, "state": "scored", "value": 0.8, "raw": 4.0, "rubric": "4f1d"}
        file.save_scores([Score(conversation=conversation.id, reason="良い", detail=detail, **fields)])
    return file


def test_what_conversations_share_is_held_once(tmp_path: Path) -> None:
    """Cases and passages."""
    with contextlib.closing(write_run(tmp_path / "runs")) as file:
        results = read_run(file.path)
    first, second, third = results.conversations

    assert first.case is second.case
    assert first.case == CASE
    assert first.turns[0].answer.passages[0] is third.turns[0].answer.passages[0]


def test_a_conversation_is_read_when_it_is_asked_for(tmp_path: Path) -> None:
    """One at a time, in the plan's order, as far as it has come by then."""
    with contextlib.closing(write_run(tmp_path / "runs")) as file:
        conversations = file.conversations()
        file.save_utterance(PLAN[0].id, 2, Utterance(text="もう一度"))
        file.save_answer(PLAN[0].id, 2, Answer(text="はい。"))
        assert [len(conversation.turns) for conversation in conversations] == [2, 1, 1]
        assert (len(conversations), conversations[1], conversations[1:]) == (
            3,
            file.results().conversations[1],
            list(conversations)[1:],
        )
