"""What is counted of how the customers were played."""

from simulator.core.types import TURN, Ended, RedRules, Results
from simulator.results.customers import customer_figures
from simulator.results.figures import CustomerFigures
from simulator.results.turns import run_turns
from tests.customer_conversations import QUESTION, REFUSAL, a_run, a_talk, what_it_does


def looked_into(results: Results) -> CustomerFigures:
    """How the customers of a run were played, their faults looked for."""
    return customer_figures(results, run_turns(results, RedRules(), TURN), "keep")


def test_faults_are_counted_with_the_answers_that_they_spoil() -> None:
    """Leaving too early spoils no answer; given lines are nobody's play."""
    asked, refused = QUESTION["ja"], REFUSAL["ja"]
    conversation = a_talk((asked, refused), ("契約番号はA-1032-55です。", refused), ended=Ended.SATISFIED)
    found = looked_into(a_run(conversation, scores=what_it_does(conversation)))
    nobody = looked_into(a_run(conversation, replay="earlier"))

    assert found.faults == {"invented": 1, "left_early": 1}
    assert list(found.spoilt) == [(conversation.id, 2)]
    assert (nobody.faults, nobody.spoilt) == ({}, {})
