"""`grade RUN`: more judges on a finished run, from the command line."""

from pathlib import Path
from typing import Any

import pytest

from simulator import open_run
from simulator.cli.app import main
from simulator.core.types import Results
from tests.servers.openai import OpenAIServer

HELD = ("--offline", "--persona", "calm", "--limit", "3", "--turns", "2", "--judges", "turn,fluency")


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Results:
    """A finished run."""
    assert main(HELD) == 0
    capsys.readouterr()
    return open_run()


def test_what_is_graded_is_not_paid_again(run: Results, server: OpenAIServer) -> None:
    """A judge that has graded is asked only where it failed; `--again` asks it for every turn."""
    turns = sum(len(conversation.turns) for conversation in run.conversations)
    more = ("--cache", "off", "--causes", "ids")
    assert main(("grade", "latest", "--judges", "turn", *more)) == 0
    assert server.requests == []
    assert main(("grade", "latest", "--judges", "turn", *more, "--again")) == 0
    assert len(server.requests) == turns
    assert open_run().spending["judge"].calls == turns


def test_an_unknown_price_is_refused_before_anything_is_paid(
    run: Results, server: OpenAIServer, capsys: pytest.CaptureFixture[str]
) -> None:
    """Where there is a budget, in a dry run as in the grading itself."""
    words = ("grade", "latest", "--judges", "claims", "--judge-model", "our-own", "--budget", "1")
    for more in ([], ["--dry-run"]):
        assert main((*words, *more)) == 2
        assert "--budget needs the price of our-own (judge)" in capsys.readouterr().err
    assert server.requests == []


def test_a_refused_key_stops_at_once(
    run: Results, server: OpenAIServer, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit code 3; the grades there were are still there."""
    server.key = "right"
    monkeypatch.setenv("REHEARSAL_JUDGE_KEY", "wrong")
    assert main(("grade", "latest", "--judges", "claims")) == 3
    said: Any = capsys.readouterr().err

    assert said.count("error: ") == 1
    assert "REHEARSAL_JUDGE_KEY" in said
    assert "python run.py grade 2" in said
    assert open_run().scores == run.scores
