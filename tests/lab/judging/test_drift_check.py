"""`--check FILE`: a run says first whether its judges still grade as when they were calibrated."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.labelled_answers import labelled, written
from tests.servers.faults import Reply
from tests.servers.openai import OpenAIServer, play

RUN = (
    "--persona", "calm", "--language", "ja", "--limit", "1", "--turns", "1", "--judges", "groundedness",
)  # fmt: skip
CALIBRATE = (
    "calibrate", "labels.jsonl", "--judge", "groundedness", "--judges", "groundedness",
    "--label", "faithfulness",
)  # fmt: skip
CHECK = ("--check", "labels.jsonl")


@pytest.fixture(autouse=True)
def labels() -> None:
    """A label file beside which the commands are run."""
    written(Path("labels.jsonl"), labelled())


def grading(grade: int) -> Any:
    """A model that gives every answer this grade, and one less where a lamp is spoken of."""

    def reply(request: dict[str, Any]) -> str:
        told = play(request)
        if '"score"' not in told and '"grade"' not in told:
            return told
        own = grade - ("lamp" in str(request["messages"]))
        return json.dumps(
            {key: own if isinstance(value, int) else value for key, value in json.loads(told).items()}
        )

    return reply


def test_offline_a_stand_in_has_not_drifted(command: Any) -> None:
    """A line before the run, a note in the report, the figures in the JSON and in the run file."""
    command(*CALIBRATE)
    done = command(*RUN, *CHECK, "--json")

    assert done.code == 0
    [drift] = done.json["drift"]
    assert (drift["judge"], drift["n"], drift["shift"], drift["drifted"]) == ("groundedness", 36, 0, False)
    assert done.run.notes == {"drift": [drift]}
    first, told, *_ = [line for line in done.err.splitlines() if "校正" in line]
    assert first.startswith("--check：はじめに、校正のときの回答36件を")
    assert told.startswith("採点のずれを確かめました。")
    assert "同じ回答36件に校正時と変わらない点を付けました（平均0点）。" in told
    page = Path("runs", done.run.run.id, "report.html").read_text(encoding="utf-8")
    assert "採点のずれを確かめました。" in page
    assert done.json["judges"]["groundedness"]["calibration"] is None


def test_a_milder_model_raises_the_alarm(command: Any, server: OpenAIServer) -> None:
    """On stderr, among the notes, beside the mean; its calls are part of what the run cost."""
    server.reply = grading(3)
    command(*CALIBRATE)
    server.reply = grading(4)
    done = command(*RUN, *CHECK, "--json")
    page = Path(done.json["store"]).with_name("report.html").read_text(encoding="utf-8")

    assert done.json["drift"][0]["drifted"] is True
    assert "採点が校正時からずれています。" in done.err
    assert "同じ回答36件への点が平均+25点（100点満点）動きました" in done.err
    assert "採点が校正時からずれています。「裏づけ」で" in page
    assert done.json["judges"]["groundedness"]["warnings"][-1] == "校正時から採点がずれています（+25点）"
    assert done.json["calls"]["judge"] == 37


def test_a_stand_in_is_not_held_against_the_model_that_was_calibrated(
    command: Any, server: OpenAIServer
) -> None:
    """An offline run says so and goes on."""
    server.reply = grading(3)
    command(*CALIBRATE)
    done = command(*RUN, *CHECK, "--offline")

    assert done.code == 0
    assert "この実行ではモデルが採点しないため" in done.err
    assert "drift" not in done.run.notes


def test_a_resumed_run_does_not_check_twice(command: Any, server: OpenAIServer) -> None:
    """What was found at first stands; a check that was cut off is made again."""
    server.reply = grading(3)
    command(*CALIBRATE)
    server.counts.clear()
    server.reply = lambda request: grading(3)(request) if server.counts["chat"] <= 10 else Reply(status=401)
    cut_off = command(*RUN, *CHECK, "--calls", "1")
    assert (cut_off.code, "drift" in cut_off.run.notes, cut_off.run.run.status) == (3, False, "stopped")

    server.counts.clear()
    server.reply = lambda request: grading(3)(request) if server.counts["chat"] <= 36 else Reply(status=401)
    checked = command("--resume", "latest")
    assert (checked.code, "drift" in checked.run.notes) == (3, True)

    server.counts.clear()
    server.reply = grading(3)
    done = command("--resume", "latest", "--json")
    assert done.code == 0
    assert "--check" not in done.err
    assert server.counts["chat"] < 10
    assert done.json["drift"][0]["n"] == 36


def test_a_dry_run_announces_it(command: Any, server: OpenAIServer) -> None:
    """It costs calls; nothing is started."""
    server.reply = grading(3)
    command(*CALIBRATE)
    asked = len(server.requests)
    done = command(*RUN, *CHECK, "--dry-run")

    assert done.code == 0
    assert "校正のときの回答36件を、キャッシュを使わずに groundedness で採点し直します" in done.err
    assert len(server.requests) == asked
    assert not Path("runs").exists()
