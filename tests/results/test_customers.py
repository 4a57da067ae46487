"""How the customers were played, in figures whose values are known beforehand."""

import pytest

from simulator.core.types import TURN, Conversation, Ended, Language, RedRules, Results, Score
from simulator.results.customers import (
    angry_thanks,
    customer_figures,
    early_leaving,
    goal_coverage,
    prompt_leaving,
)
from simulator.results.figures import CustomerFigures, CustomerGoal
from simulator.results.turns import run_turns
from simulator.users.faults import VerdictsByTurn, fault_patterns
from tests.customer_conversations import (
    QUESTION,
    REFERENCE,
    REFUSAL,
    UNRELATED,
    a_case,
    a_run,
    a_talk,
    a_verdict,
    what_it_does,
)

ASKED, TOLD, REFUSED, OTHER = QUESTION["ja"], REFERENCE["ja"], REFUSAL["ja"], UNRELATED["ja"]


def looked_into(results: Results) -> CustomerFigures:
    """How the customers of a run were played, their faults looked for."""
    return customer_figures(results, run_turns(results, RedRules(), TURN), "keep")


def test_lengths_are_medians_and_quartiles_by_language_and_persona() -> None:
    """Characters in Japanese, words in English; the case's own question is not counted."""
    said = ((10, "angry"), (20, "calm"))
    ja = [a_talk((ASKED, OTHER), ("あ" * n, OTHER), persona=who, id=f"ja {n}") for n, who in said]
    en = a_talk((QUESTION["en"], "x"), ("one two three", "x"), case=a_case("en"), persona="calm")
    found = looked_into(a_run(*ja, en)).lengths

    assert found["ja"]["all"].model_dump() == {"low": 12.5, "median": 15, "high": 17.5, "n": 2}
    assert found["ja"]["angry"].median == 10
    assert found["en"]["calm"].median == 3
    assert "angry" not in found["en"]


def test_goal_coverage_is_what_the_customer_raises_of_the_goal() -> None:
    """All of it when the goal itself is said, nothing of it when only something else is."""
    whole = a_talk(("光を1年で解約したときの解約金の額を知りたい。", OTHER))
    other = a_talk(("ペンギン、ライオン。", OTHER), case=a_case(question="ペンギン、ライオン。"))

    assert goal_coverage(whole) == [pytest.approx(1)]
    assert goal_coverage(other) == [pytest.approx(0, abs=0.05)]
    assert goal_coverage(a_talk((ASKED, OTHER), case=a_case(goal=None))) == []


def complete(conversation: Conversation) -> list[Score]:
    """A model's verdict that nothing is left out, for each answer that says what the reference says."""
    told = (turn.index for turn in conversation.turns if turn.answer.text == TOLD)
    return [a_verdict(conversation, turn, 5) for turn in told]


def test_leaving_early_and_leaving_in_time_are_counted() -> None:
    """Early is one of three refusals, for the others were pressed on or given up.

    In time is within a turn of a complete answer; who had no turn left to show it is not counted.
    """
    more = ("例外は？", OTHER)
    early = [
        a_talk((ASKED, REFUSED), ended=Ended.SATISFIED),
        a_talk((ASKED, REFUSED), ("誰なら？", None), ended=Ended.GAVE_UP),
        a_talk((ASKED, TOLD), ended=Ended.SATISFIED),
        a_talk((ASKED, REFUSED), ended=Ended.BUDGET),
    ]
    prompt = [
        a_talk((ASKED, TOLD), ended=Ended.SATISFIED, id="1"),
        a_talk((ASKED, OTHER), (ASKED, TOLD), more, ended=Ended.SATISFIED, id="2"),
        a_talk((ASKED, TOLD), more, more, ended=Ended.SATISFIED, id="3"),
        a_talk((ASKED, TOLD), more, ended=Ended.TURN_LIMIT, id="4"),
        a_talk((ASKED, OTHER), (ASKED, TOLD), ended=Ended.TURN_LIMIT, id="5"),
        a_talk((ASKED, OTHER), ended=Ended.GAVE_UP, id="6"),
    ]
    left_early = [hit for each in early for hit in early_leaving(each, VerdictsByTurn(what_it_does(each)))]
    in_time = [hit for each in prompt for hit in prompt_leaving(each, VerdictsByTurn(complete(each)))]

    assert (sum(left_early), len(left_early)) == (1, 3)
    assert (sum(in_time), len(in_time)) == (2, 4)


@pytest.mark.parametrize(
    ("line", "language", "asks", "thanks"),
    [
        ("いつからですか！", "ja", True, False),
        ("いつから？", "ja", True, False),
        ("分かりました。", "ja", False, False),
        ("結論を言ってください！", "ja", False, False),
        ("なるほど。それでいくらでしょう。", "ja", True, False),
        ("When does it start?", "en", True, False),
        ("Tell me when it starts.", "en", False, False),
        ("ありがとうございます。", "ja", False, True),
        ("助かりました。", "ja", False, True),
        ("感謝なんてしません！", "ja", False, False),
        ("急いでもらえると助かります。", "ja", False, False),
        ("Thanks, that helps.", "en", False, True),
        ("Thanks for nothing!", "en", False, False),
        ("I would appreciate an answer.", "en", False, False),
    ],
)
def test_questions_and_thanks_are_told(line: str, language: Language, asks: bool, thanks: bool) -> None:
    """From statements by how they end; thanks for nothing are none."""
    patterns = fault_patterns(language)
    assert (patterns.asks(line), patterns.thanks(line)) == (asks, thanks)


def test_thanks_of_the_angry_count_while_nothing_is_answered() -> None:
    """Also as a parting word; those of others and those for an answer do not."""
    conversations = [
        a_talk((ASKED, OTHER), ("ありがとうございます。", OTHER), closing="もういいです！"),
        a_talk((ASKED, TOLD), ended=Ended.SATISFIED, closing="どうもありがとう。", id="2"),
        a_talk((ASKED, OTHER), ("それで？", TOLD), ("助かりました。", TOLD), ended=Ended.SATISFIED, id="3"),
        a_talk((ASKED, OTHER), ("ありがとうございます。", OTHER), persona="calm"),
    ]
    verdicts = VerdictsByTurn(score for each in conversations for score in complete(each))
    found = [hit for each in conversations for hit in angry_thanks(each, verdicts)]

    assert (sum(found), len(found)) == (1, 3)


def test_a_run_has_all_figures_with_their_goals() -> None:
    """Given lines are nobody's play; without anything to measure there is no value and no verdict."""
    conversation = a_talk((ASKED, REFUSED), ("契約番号はA-1032-55です。", REFUSED), ended=Ended.SATISFIED)
    found = looked_into(a_run(conversation, scores=what_it_does(conversation)))
    nobody = looked_into(a_run(conversation, replay="earlier"))

    names = ["goal_coverage", "early", "prompt", "invented", "thanks", "repeated"]
    assert list(found.goals) == names
    assert [name for name in names if not found.goals[name].at_most] == ["goal_coverage", "prompt"]
    assert found.faults == {"invented": 1, "left_early": 1}
    assert list(found.spoilt) == [(conversation.id, 2)]
    assert found.goals["invented"].value == 0.5
    assert all(each.value is None and each.met is None for each in nobody.goals.values())


def test_a_goal_is_met_or_missed_only_where_there_is_enough_to_tell() -> None:
    """Ten at least; a limit is met from below, a goal from above."""
    assert CustomerGoal(value=0.5, n=1, of=2, goal=0.9).met is None
    assert CustomerGoal(value=None, n=0, of=0, goal=0.9).met is None
    assert CustomerGoal(value=0.5, n=5, of=10).met is None
    assert CustomerGoal(value=0.5, n=5, of=10, goal=0.9).met is False
    assert CustomerGoal(value=0.0, n=0, of=10, goal=0.02, at_most=True).met is True
