"""What is read from a run file is equal to what was written, and what is shared exists once."""

import contextlib
import os
import subprocess
import sys
from pathlib import Path

from simulator.core.types import Answer, Conversation, Passage, Score, Utterance, compact
from simulator.storage.run_file import RunFile, read_run
from tests.paths import ROOT
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
    """Cases, passages, the names in scores, and what judges say of more than one turn."""
    with contextlib.closing(write_run(tmp_path / "runs")) as file:
        results = read_run(file.path)
    first, second, third = results.conversations

    assert first.case is second.case
    assert first.case == CASE
    assert first.turns[0].answer.passages[0] is third.turns[0].answer.passages[0]
    assert len({id(score.rubric) for score in results.scores}) == 1
    assert results.scores[0].reason is results.scores[0].detail["conclusion"]
    assert results.scores[0].reason is results.scores[1].reason


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


def test_a_small_value_is_the_same_value() -> None:
    """Equal, copied, printed and dumped like the one it was made of; only smaller."""
    conversation = Conversation(id="a", case=CASE, persona="calm")
    small = compact(conversation)

    assert small == conversation
    assert small.model_dump() == conversation.model_dump()
    assert repr(small) == repr(conversation)
    assert small.model_copy(update={"repeat": 2}).repeat == 2
    assert small.repeat == 0
    assert compact(conversation, persona="angry").persona == "angry"


SIZE = """
import tracemalloc
from simulator.storage.run_file import RunFile
from simulator.core.types import compact
from simulator.core.types import Passage
passages = [Passage(id="a", text="b") for _ in range(100)]
tracemalloc.start()
small = [compact(passage) for passage in passages]
print(tracemalloc.get_traced_memory()[0] / len(small))
"""


def test_a_small_value_is_small() -> None:
    """The interpreter shares the names of the fields, in bytes each, though others were made before.

    From 3.13 on it gives each value room for thirty of them.
    """
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    process = subprocess.run(
        [sys.executable, "-c", SIZE], env=environment, capture_output=True, text=True, check=True
    )

    assert float(process.stdout) < (200 if sys.version_info < (3, 13) else 450)
