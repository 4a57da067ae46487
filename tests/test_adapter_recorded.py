"""The adapter of recorded answers."""

import pytest

from rag_adapters.recorded import connect
from simulator import Answer, Case, InputError, Message, Passage, Query, RagFailure

BEFORE = (Message(role="user", content="前"), Message(role="assistant", content="答え"))
CASES = (
    Case(id="c1", question="料金は？", language="ja", answer="990円です。", contexts=("料金表",)),
    Case(id="c2", question="And then?", language="en", answer="Then this.", history=BEFORE),
    Case(id="c3", question="無記録", language="ja"),
)


def test_each_question_has_its_own_answer_and_contexts() -> None:
    """The contexts are the passages, numbered."""
    answer = connect(cases=CASES)(Query(text="料金は？", case="c1"))

    assert answer == Answer(text="990円です。", passages=(Passage(id="1", text="料金表"),))


def test_a_history_of_the_case_is_no_earlier_turn() -> None:
    """The first turn of the rehearsal may be a later one of the dialogue."""
    answer = connect(cases=CASES)(Query(text="And then?", case="c2", history=BEFORE))

    assert answer.text == "Then this."


@pytest.mark.parametrize(
    ("query", "said"),
    [
        (Query(text="無記録", case="c3"), "question c3 has no recorded answer"),
        (Query(text="?", case="unknown"), "question unknown has no recorded answer"),
        (Query(text="それで？", case="c1", history=BEFORE), "first turn only: --turns 1"),
    ],
)
def test_what_was_not_recorded_is_empty(query: Query, said: str) -> None:
    """A missing answer is the bot's failure, of the kind that says so."""
    with pytest.raises(RagFailure, match=said) as caught:
        connect(cases=CASES)(query)

    assert caught.value.failure.kind == "empty"


def test_a_file_without_any_answer_is_refused_before_the_start() -> None:
    """The message says which column is missing."""
    with pytest.raises(InputError, match="column 'answer'"):
        connect(cases=CASES[2:])
