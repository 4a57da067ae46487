"""How far a long run is, where stderr is no terminal."""

import io
import threading
from contextlib import redirect_stderr
from pathlib import Path

import pytest

from simulator.api import progress
from simulator.cli.app import main
from simulator.core.messages import _

# Set when a line says how far the run is: the bot answers not before.
TOLD = threading.Event()
BOT = """
from tests.cli.test_progress import TOLD

def answer(question):
    assert TOLD.wait(30)
    return "550円です。"
"""
FEW = ("--offline", "--adapter", "bot.py:answer", "--persona", "calm", "--limit", "2", "--turns", "1")


class Log(io.StringIO):
    """What a job's log gets."""

    def write(self, text: str) -> int:
        if "0/2" in text or "7" in text:
            TOLD.set()
        return super().write(text)


@pytest.fixture
def log() -> Log:
    """Standard error, beside a bot that waits for the first line about it."""
    TOLD.clear()
    Path("bot.py").write_text(BOT, encoding="utf-8")
    return Log()


def test_a_log_says_how_far_a_run_is(log: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also while nothing happens."""
    monkeypatch.setattr(progress, "EVERY", 0.01)

    with redirect_stderr(log):
        assert main([*FEW]) == 0
    said = log.getvalue()
    assert "After 0 s: 0/2 conversations, 0 answers graded, 0 to review" in said


@pytest.mark.parametrize(
    ("locale", "told"), [("C", "After 0 s: 0 of 7 graded"), ("ja_JP", "0秒経過：採点済み 0/7")]
)
def test_what_counts_by_itself_says_so_too(
    log: Log, monkeypatch: pytest.MonkeyPatch, locale: str, told: str
) -> None:
    """As `grade` and `calibrate` count, in the language of the terminal."""
    monkeypatch.setenv("LC_ALL", locale)
    monkeypatch.setattr(progress, "EVERY", 0.01)
    with redirect_stderr(log), progress.progress_bar(7, _("graded")):
        assert TOLD.wait(30)

    assert told in log.getvalue()
    bar = progress.ProgressBar(total=7, label=_("graded"))
    assert [str(bar.said(seconds)) for seconds in (299, 300)] == [
        "After 299 s: 0 of 7 graded", "After 5 min: 0 of 7 graded",
    ]  # fmt: skip


def test_a_short_run_says_nothing_of_it(log: Log) -> None:
    """The first line comes after half a minute."""
    TOLD.set()

    with redirect_stderr(log):
        assert main([*FEW]) == 0
    assert "After" not in log.getvalue()
    assert progress.EVERY == 30
