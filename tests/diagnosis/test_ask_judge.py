"""The judge's model is asked for causes: once, only where no rule proves one, and its words are kept."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from simulator.cli.app import main
from simulator.storage.run_file import open_run
from tests.servers.faults import Reply
from tests.servers.openai import OpenAIServer, play
from tests.servers.replies import ChatRequest

RUN = ["--persona", "calm", "--turns", "1", "--limit", "6", "--judges", "turn", "--judge-model", "judge-m"]


def is_about_a_cause(body: ChatRequest) -> bool:
    """Whether a request asks for a cause, by the form of its reply."""
    return '"should_refuse"' in json.dumps(body.get("response_format", {}))


class Judge:
    """Grades every turn 2 of 5, and answers questions about causes with what it is given."""

    def __init__(self, cause: Callable[[int], str | Reply]) -> None:
        """`cause` answers the nth question about a cause, from 0."""
        self.cause = cause
        self.questions: list[str] = []

    def __call__(self, body: ChatRequest) -> str | Reply:
        """The reply to any request."""
        if is_about_a_cause(body):
            self.questions.append(body["messages"][-1]["content"])
            return self.cause(len(self.questions) - 1)
        reply = json.loads(said) if (said := play(body)).startswith("{") else said
        return json.dumps(_low(reply)) if isinstance(reply, dict) else said


def _low(reply: dict[str, Any]) -> dict[str, Any]:
    return {
        key: _low(value) if isinstance(value, dict) else 2 if isinstance(value, int) else value
        for key, value in reply.items()
    }


def blames(cause: str) -> Callable[[int], str]:
    """Always the same cause, with a reason."""
    return lambda n: json.dumps({"reason": f"because of {n}", "cause": cause})


def fixes(judge: Judge, server: OpenAIServer, *arguments: str) -> int:
    """`fixes latest --ask-judge` on a run that this judge has graded."""
    server.reply = judge
    if not Path("runs").is_dir():
        main([*RUN, "--cache", "off"])
    return main(["fixes", "latest", "--ask-judge", *arguments])


def test_the_model_is_asked_once(server: OpenAIServer, capsys: pytest.CaptureFixture[str]) -> None:
    """One call for each red turn without a proved cause; its reason is shown and kept, its cost counted."""
    judge = Judge(blames("tone"))
    assert fixes(judge, server, "--json") == 0

    asked = len(judge.questions)
    shown = capsys.readouterr().out
    results = open_run()
    noted: Any = results.notes["judged_causes"]
    assert asked
    assert {row["cause"] for row in noted} == {"tone"}
    assert len(noted) == asked
    assert "because of 0" in shown
    assert results.spending["judge"].calls == 6 + asked
    assert fixes(judge, server, "--json") == 0
    assert len(judge.questions) == asked
    assert main(["report", "latest", "--json"]) in (0, 1)


def test_material_is_quoted(server: OpenAIServer) -> None:
    """What customers, bots and articles say stands under coded tags, after what never changes."""
    judge = Judge(blames("unclear"))
    fixes(judge, server)

    assert all("<answer-" in text and "<findings-" in text for text in judge.questions)
    assert not any("should_refuse" in text for text in judge.questions)


def test_a_failed_call_leaves_the_rules_cause(
    server: OpenAIServer, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is told, and asked for again the next time."""
    broken = Judge(lambda _: "no form at all")
    assert fixes(broken, server) == 0

    noted: Any = open_run().notes["judged_causes"]
    said = capsys.readouterr()
    assert {row["cause"] for row in noted} == {None}
    assert "原因を答えませんでした" in said.err + said.out or "no cause" in said.err + said.out
    mended = Judge(blames("tone"))
    assert fixes(mended, server) == 0
    assert len(mended.questions) == len(noted)


def test_verdicts_before_a_refused_key_are_kept(
    server: OpenAIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are paid for; the next time only the rest is asked about."""
    monkeypatch.setenv("REHEARSAL_CALLS", "1")
    refused = Judge(lambda n: blames("tone")(n) if n == 0 else Reply(status=401))
    assert fixes(refused, server) == 3

    noted: Any = open_run().notes["judged_causes"]
    assert [row["cause"] for row in noted] == ["tone"]


def test_stand_ins_cannot_be_asked(capsys: pytest.CaptureFixture[str]) -> None:
    """A run that was judged by counting has no model to ask."""
    main([*RUN[:-2], "--offline"])

    assert main(["fixes", "latest", "--ask-judge"]) == 2
    assert "--ask-judge" in capsys.readouterr().err
