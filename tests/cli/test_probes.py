"""`doctor --judge`: answers that any judge has to see through."""

import json
from pathlib import Path

from simulator.core.types import RedRules
from simulator.results.certificate import standing_text
from simulator.results.standing import standing_of
from tests.commands import Command
from tests.servers.openai import OpenAIServer, play
from tests.servers.replies import ChatRequest, text_of

GRADES = ("understanding", "relevance", "completeness", "correctness", "coherence", "overall")


def _grading(request: ChatRequest, *, good: bool) -> str:
    reply = json.loads(play(request)) | dict.fromkeys(GRADES, 5 if good else 2)
    return json.dumps(reply | {"conflicts": [], "response": "answered"})


def _sees_through(request: ChatRequest) -> str:
    text = text_of(request["messages"][-1])
    return _grading(request, good="20日までにお申し込み" in text or "Please cancel by the 20th" in text)


def test_a_judge_that_sees_through_them_passes_and_it_is_stored(
    command: Command, server: OpenAIServer
) -> None:
    """Nine in each language; an empty answer asks no model."""
    server.reply = _sees_through
    done = command("doctor", "--judge", "--judges", "turn", "--json")

    assert (done.code, done.json["n"], done.json["failed"]) == (0, 18, [])
    assert server.counts["chat"] == 16
    assert standing_of("turn", done.json["rubric"], RedRules(), None).failed_probes == ()


def test_one_that_passes_everything_is_not_to_be_relied_on(command: Command, server: OpenAIServer) -> None:
    """Exit code 1; from then on the line beside every verdict says so, and it is not certified."""
    server.reply = lambda request: _grading(request, good=True)
    done = command("doctor", "--judge", "--judges", "turn", "--json")
    standing = standing_of("turn", done.json["rubric"], RedRules(), None)

    assert done.code == 1
    assert {"order-ja", "forged_verdict-en", "flipped_fact-en", "rude-ja", "colon-en"} <= {
        *done.json["failed"]
    }
    assert "right-en" not in done.json["failed"]
    assert not standing.certified
    assert "failed probes" in str(standing_text(standing))


def test_one_that_marks_everything_fails_on_the_good_answers(command: Command, server: OpenAIServer) -> None:
    """That is said of each, with what to do."""
    server.reply = lambda request: _grading(request, good=False)
    done = command("doctor", "--judge", "--judges", "turn")

    assert done.code == 1
    assert "right-ja (a good answer did not pass)" in done.out
    assert "or change its criterion" in done.out


def test_without_a_model_there_is_nothing_to_try(command: Command) -> None:
    """One line, exit code 2."""
    done = command("doctor", "--judge", "--offline")

    assert done.code == 2
    assert "doctor --judge needs a model as judge" in done.error
    assert not Path("calibrations").exists()
