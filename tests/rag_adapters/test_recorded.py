"""The adapter of recorded answers."""

import pytest
from simulator.shelves.rag_adapters.recorded import connect

from simulator import Answer, BotFailure, Case, ChatMessage, Passage, Query
from simulator.core.types import Failure

BEFORE = (ChatMessage(role="user", content="前"), ChatMessage(role="assistant", content="答え"))
CASES = (
    Case(id="c1", question="料金は？", language="ja", answer="990円です。", contexts=("料金表",)),
    Case(id="c2", question="And then?", language="en", answer="Then this.", history=BEFORE),
    Case(id="c3", question="無記録", language="ja"),
)


def test_each_question_has_its_own_answer_and_contexts() -> None:
    """The contexts are the passages, numbered."""
    answer = connect(cases=CASES)(Query(text="料金は？", case="c1"))

    assert answer == Answer(text="990円です。", passages=(Passage(id="1", text="料金表"),))


def test_a_recorded_error_is_what_the_bot_answered() -> None:
    """The failure that the log tells of is the bot's own."""
    failed = Answer(text="", error=Failure(kind="timeout", message="Timeout after 30 s"))
    case = Case(id="c5", question="料金は？", language="ja", recorded=(failed,))

    answer = connect(cases=(case,))(Query(text="料金は？", case="c5"))

    assert answer.error == failed.error


def test_a_dialogue_without_passages_was_logged_without_them() -> None:
    """Nobody knows what was retrieved; beside a turn that has passages, nothing was."""
    case = DIALOGUE.model_copy(update={"recorded": DIALOGUE.recorded[1:2]})

    assert not connect(cases=(case,))(turn("いくら？", 0)).shows_passages
    assert connect(cases=(DIALOGUE,))(turn("それは税込の料金ですか？", 1)).shows_passages


DIALOGUE = Case(
    id="c4",
    question="料金は？",
    language="ja",
    history=BEFORE,
    script=("それは税込の料金ですか？", "本当？", "では？"),
    recorded=(
        Answer(text="990円です。", passages=(Passage(id="fees", text="料金表"),)),
        Answer(text="税込です。"),
        Answer(text=""),
    ),
)


def turn(text: str, earlier: int) -> Query:
    """A question of the dialogue after so many others."""
    said = (ChatMessage(role="user", content="?"), ChatMessage(role="assistant", content="!"))
    return Query(text=text, case="c4", history=(*BEFORE, *said * earlier))


@pytest.mark.parametrize(
    ("query", "said"),
    [
        (Query(text="無記録", case="c3"), "question c3 has no recorded answer"),
        (Query(text="?", case="unknown"), "question unknown has no recorded answer"),
        (Query(text="それで？", case="c1", history=BEFORE), "question c1 has no recorded answer 2"),
        (
            turn("送料はかかりますか？", 1),
            "question c4, answer 2: the log has no answer to what is asked here",
        ),
        (turn("本当？", 2), "question c4 has no recorded answer 3"),
        (turn("では？", 3), "question c4 has no recorded answer 4"),
    ],
)
def test_what_was_not_recorded_is_not_the_bots_failure(query: Query, said: str) -> None:
    """It has a kind of its own, which nobody is blamed for; nor is something else answered in its place."""
    with pytest.raises(BotFailure) as caught:
        connect(cases=(*CASES, DIALOGUE))(query)

    assert caught.value.failure.kind == "unrecorded"
    assert str(caught.value.failure.message) == said
