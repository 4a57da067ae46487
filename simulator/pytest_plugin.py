"""pytest: the fixture `rehearse`, and the reddest turns in the report of a test that failed.

The package registers it; a project that does not use the fixture pays for types and no engine.

    def test_the_bot_may_go_out(rehearse):
        assert rehearse(answer, cases="questions.csv", target=80).passed

A test that fails has in its report the score, what keeps the run from passing, and of the three reddest turns
the question, the answer and the judge's reason.
"""

from collections.abc import Callable, Generator
from typing import Unpack

import pytest

from simulator import api
from simulator.api import AnyBot, Cases, RunResults
from simulator.core.messages import _, safe_text, shown
from simulator.core.run_options import RehearsalOptions

# Red turns that a failed test shows.
SHOWN = 3
_RESULTS = pytest.StashKey[list[RunResults]]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds --rehearse-offline."""
    text = "Rehearse with lexical stand-ins for customer and judges, without a key and without cost."
    parser.getgroup("rehearsal").addoption("--rehearse-offline", action="store_true", help=text)


@pytest.fixture
def rehearse(request: pytest.FixtureRequest) -> Callable[..., RunResults]:
    """`simulator.rehearse`; with --rehearse-offline no model plays, whatever the test says."""

    def call(bot: AnyBot = None, cases: Cases = None, **options: Unpack[RehearsalOptions]) -> RunResults:
        if request.config.getoption("rehearse_offline"):
            options["offline"] = True
        result = api.rehearse(bot, cases, **options)
        request.node.stash.setdefault(_RESULTS, []).append(result)
        return result

    return call


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Adds the reddest turns of its rehearsals to a failed test."""
    report = yield
    if report.when == "call" and report.failed:
        report.sections += [("rehearsal", _told(result)) for result in item.stash.get(_RESULTS, [])]
    return report


def _told(result: RunResults) -> str:
    """The score, what is missing, and the reddest turns with their reasons."""
    score = "-" if result.score is None else f"{100 * result.score:.0f} / 100"
    lines = [f"score {score}, answers to review {len(result.red)}, run {result.path}", *result.reasons]
    for turn in result.red[:SHOWN]:
        answer = shown(_("answer {n}", n=turn.turn), "en")
        lines += [f"▲ {turn.case}, {answer} ({turn.persona})", f"  {turn.question}"]
        lines += [f"  -> {turn.answer or turn.failure}", f"  {turn.reason}"]
        lines += [f"  {result.causes.get((turn.conversation, turn.turn), '')}".rstrip()]
    return "\n".join(
        safe_text(" ".join(line.split()) if not line.startswith("  ") else line) for line in lines
    )
