"""The 2 x 2 tables: answerable and answered, handover required and handed over."""

from hypothesis import given
from hypothesis import strategies as st

from simulator.core.settings import Condition
from simulator.core.types import Answer, Case, Conversation, Failure, Handover, Results, Turn
from simulator.report.sections import answerable_sections
from simulator.stats.answerability import answerability, handovers, turn_outcome
from simulator.stats.conditions import measure_condition
from tests.sample_runs import rehearsed, summed
from tests.texts import said

ANSWER = "月額4,180円です。"
REFUSAL = "申し訳ございません。その件は資料では確認できませんでした。"
ASKS = "どちらのプランをご利用でしょうか？"
HANDS = "担当者におつなぎいたします。"


def talk(*said: str, answerable: bool | None = True, handover: Handover = "optional") -> Conversation:
    """A conversation in which the bot says this; an empty text is a failure."""
    case = Case(id="one", question="月いくらですか", language="ja", answerable=answerable, handover=handover)
    failed = Failure(kind="timeout", message="60 s")
    turns = tuple(
        Turn(index=n, user="月いくらですか", answer=Answer(text=text, error=None if text else failed))
        for n, text in enumerate(said, 1)
    )
    return Conversation(id=f"angry/one#{hash(said)}", case=case, persona="angry", turns=turns)


def run(*conversations: Conversation) -> Results:
    """A run of these conversations."""
    return rehearsed().model_copy(update={"conversations": conversations, "scores": ()})


def test_each_conversation_has_one_place_by_its_first_turn() -> None:
    """Answers, refusals, questions back and failures are told apart, for both kinds of cases."""
    found = answerability(
        run(
            talk(ANSWER), talk(ANSWER, REFUSAL), talk(REFUSAL), talk(ASKS), talk(""),
            talk(ANSWER, answerable=False), talk(REFUSAL, answerable=False), talk(ASKS, answerable=False),
            talk(ANSWER, answerable=None), talk(),
        )
    )  # fmt: skip

    assert (found.answered_answerable, found.refused_answerable, found.clarified_answerable) == (2, 1, 1)
    assert (found.answered_unanswerable, found.refused_unanswerable) == (1, 1)
    assert (found.clarified_unanswerable, found.not_answered, found.unmarked) == (1, 1, 1)
    shown = found.as_json()
    rates = [shown[name]["rate"] for name in ("answered_correctly", "refused_correctly")]
    assert (found.marked, rates) == (8, [0.6667, 0.5])


def test_handovers_count_in_any_turn() -> None:
    """A required handover may come late, an unwanted one is one whenever it comes."""
    found = handovers(
        run(
            talk(HANDS, handover="required"), talk(ANSWER, HANDS, handover="required"),
            talk(ANSWER, handover="required"), talk(ANSWER, HANDS, handover="forbidden"),
            talk(ANSWER, handover="forbidden"), talk(HANDS), talk("", handover="required"),
        )
    )  # fmt: skip

    assert (found.handed_required, found.kept_required) == (2, 1)
    assert (found.handed_forbidden, found.kept_forbidden) == (1, 1)
    assert (found.unmarked, found.not_answered, found.marked) == (1, 1, 6)
    shown = found.as_json()
    assert (shown["handed_correctly"]["rate"], shown["kept_correctly"]["rate"]) == (0.6667, 0.5)
    # One of ten is 10 %, and the interval is Wilson's: 1.8 to 40.4 %.
    ten = [talk(ANSWER, answerable=False)] * 9 + [talk(REFUSAL, answerable=False)]
    shown = answerability(run(*ten)).as_json()

    assert shown["refused_correctly"] == {"rate": 0.1, "interval": [0.0179, 0.4042]}
    assert shown["answered_correctly"] == {"rate": None, "interval": None}


def test_reports_show_only_what_is_marked() -> None:
    """Nothing is shown of an unmarked run; the tables of a marked one exist in both languages."""
    marked = run(talk(REFUSAL, answerable=False), talk(HANDS, handover="required"))

    answers, handed = answerable_sections(marked)
    counts = [
        [[cell.text for cell in row[1:-1]] for row in table.rows]
        for table in (*answers.tables, *handed.tables)
    ]

    assert not list(answerable_sections(run(talk(ANSWER, answerable=None))))
    assert counts == [[["0", "1", "0"], ["0", "1", "0"]], [["1", "0"], ["0", "0"]]]
    assert said(answers.title, "ja") == "断ったかどうか"


@given(
    st.lists(
        st.tuples(
            st.lists(st.sampled_from((ANSWER, REFUSAL, ASKS, HANDS, "")), max_size=3),
            st.sampled_from((True, False, None)),
            st.sampled_from(("required", "forbidden", "optional")),
        ),
        max_size=12,
    )
)
def test_every_begun_conversation_is_counted_once(
    told: list[tuple[list[str], bool | None, Handover]],
) -> None:
    """Marked and unmarked ones add up to the conversations that have begun."""
    conversations = [talk(*said, answerable=answerable, handover=wanted) for said, answerable, wanted in told]
    begun = sum(bool(said) for said, _, _ in told)
    found, handed = answerability(run(*conversations)), handovers(run(*conversations))

    assert found.marked + found.unmarked == handed.marked + handed.unmarked == begun


def test_a_question_back_may_be_polite_but_states_nothing() -> None:
    """Thanks beside it change nothing; with a statement it is an answer."""
    texts = (ASKS, f"ありがとうございます。{ASKS}", f"{ANSWER}{ASKS}")
    outcomes = [turn_outcome(each.turns[0], each.case) for each in map(talk, texts)]

    assert outcomes == ["asked_back", "asked_back", "answered"]


def test_the_gate_counts_a_handover_where_it_belongs() -> None:
    """Handing over what had to be, and keeping what may not be handed over: two of these four."""
    talks = [talk(text, handover=each) for text in (HANDS, ANSWER) for each in ("required", "forbidden")]
    results, condition = run(*talks), Condition(name="handover_correctly", comparison=">=", threshold=0.5)

    assert measure_condition(condition, results, summed(results, ("turn",))).value == 0.5
