"""kill -9 at every kind of moment: a run comes to what it would have, nothing is paid twice."""

import os
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from simulator.core.writing import temporary_path
from tests.crash.endpoint import Call, Watching
from tests.crash.processes import Cold, Warm
from tests.crash.repeats import Sitting, repeats, uncounted
from tests.crash.trial import CALLS, CONVERSATIONS, LATENCY, OPTIONS, Trial, Undisturbed, Verdict, chain
from tests.servers.loopback import on_thread

# Of each kind of moment, with the cache off and on.
KINDS = {
    "off": ("request", "reply", "time", "run", "file", "run"),
    "on": ("cache", "request", "time", "reply", "cache", "file"),
}


@pytest.fixture(scope="module")
def server() -> Iterator[Watching]:
    """An endpoint slow enough to have calls in flight."""
    with on_thread(Watching(latency=LATENCY, embeddings_latency=LATENCY)) as started:
        yield started


@pytest.fixture(scope="module")
def warm(server: Watching, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Warm]:
    """Quick starts; the first one, which is slow, is done."""
    with Warm() as started:
        Trial(tmp_path_factory.mktemp("first"), started, server).undisturbed()
        yield started


@pytest.fixture(scope="module")
def whole(server: Watching, warm: Warm, tmp_path_factory: pytest.TempPathFactory) -> Undisturbed:
    """What the run comes to without a disturbance."""
    return Trial(tmp_path_factory.mktemp("whole"), warm, server, (*OPTIONS, "--cache", "off")).undisturbed()


def killed(trial: Trial, whole: Undisturbed, kinds: Sequence[str], seed: str) -> Verdict:
    """Kills the run once per kind, then lets it finish; after each kill the run file is sound."""
    trial.server.calls.clear()
    verdict = chain(trial, whole, kinds, random.Random(seed))
    assert {kill.code for kill in trial.kills} <= {0, -9}
    assert all(kill.sound is not False for kill in trial.kills)
    return verdict


@pytest.mark.parametrize("cache", ["off", "on"])
def test_a_killed_run_comes_to_what_it_would_have(
    server: Watching, warm: Warm, whole: Undisturbed, tmp_path: Path, cache: str
) -> None:
    """Lines, answers, endings and grades are the same; asked again is only what was in flight."""
    trial = Trial(tmp_path / "run", warm, server, (*OPTIONS, "--cache", cache))
    verdict = killed(trial, whole, KINDS[cache], cache)
    hit = sum(kill.hit for kill in trial.kills)

    assert hit == len(KINDS[cache])
    assert (verdict.finished, verdict.same, verdict.sound) == (True, True, True), verdict.err
    assert verdict.repeats.paid_twice(CALLS) == 0
    assert verdict.unpaid == 0
    assert all(0 <= lost <= 2 * CALLS for lost in verdict.uncounted)  # else the ledger is what was served
    assert verdict.bot_again <= CONVERSATIONS * hit
    assert verdict.left_behind == ()


def test_a_program_started_by_hand_is_killed_and_finished(
    server: Watching, whole: Undisturbed, tmp_path: Path
) -> None:
    """As a user starts it."""
    trial = Trial(tmp_path / "run", Cold(compiled=False), server, (*OPTIONS, "--cache", "off"))
    verdict = killed(trial, whole, ("reply",), "cold")

    assert (verdict.finished, verdict.same, verdict.sound) == (True, True, True), verdict.err
    assert verdict.repeats.paid_twice(CALLS) == 0


def test_what_is_paid_twice_is_told_from_what_was_in_flight() -> None:
    """An answer that a killed process had for long or before others, a call too many, one for no reason."""
    sittings = [Sitting(0, 10, killed=True), Sitting(11, 20, killed=False)]
    in_flight = [Call(("a",), 9.9), Call(("a",), 12, 12.1)]
    had = [Call(("b",), 5, 6), Call(("b",), 12, 12.1)]
    at_once = [Call(("c",), 12, 12.1), Call(("c",), 13, 13.1)]
    starved = [Call(("d",), 9, 9.1), Call(("d",), 12, 12.1)]
    overtaken = [*starved, Call(("e",), 9, 9.9)]
    once = Counter("abcde")

    assert repeats(in_flight, once, sittings).paid_twice(1) == 0
    assert uncounted(in_flight, [replace(each, counted=(1, 0)) for each in sittings]) == [-1, 0]
    assert repeats(in_flight, once, sittings).paid_twice(0) == 1
    assert repeats(had, once, sittings).paid_twice(1) == 1
    assert repeats(at_once, once, sittings).paid_twice(1) == 1
    assert repeats(starved, once, sittings).paid_twice(1) == 0
    assert repeats(overtaken, once, sittings).paid_twice(1) == 1


def test_what_dead_processes_left_is_removed(tmp_path: Path) -> None:
    """Half a report and its folder go with the next one; that of a living process stays."""
    dead = 2**30
    (tmp_path / f".report.xlsx.{dead}").write_text("half", encoding="utf-8")
    (tmp_path / f".report.xlsx.{dead}-abc").mkdir()
    alive = tmp_path / f".report.xlsx.{os.getppid()}"
    alive.write_text("half", encoding="utf-8")
    (tmp_path / ".report.xlsx.backup").write_text("somebody's", encoding="utf-8")

    assert temporary_path(tmp_path / "report.xlsx").name == f".report.xlsx.{os.getpid()}"
    assert sorted(tmp_path.iterdir()) == sorted([alive, tmp_path / ".report.xlsx.backup"])
