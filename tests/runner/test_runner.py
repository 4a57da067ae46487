"""A run holds only the conversations that it is at: grading that lags behind holds up the next ones."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from simulator.core.types import Conversation, GradingContext, Score
from simulator.runner import run as experiment
from tests.run_helpers import Quiet
from tests.runner.test_run import questions, run
from tests.servers.openai import OpenAIServer


class Lagging(Quiet):
    """Counts the turns that are said and not graded yet."""

    def __init__(self) -> None:
        super().__init__()
        self.open = self.most = 0

    def turn(self, conversation: Conversation) -> None:
        """One more."""
        super().turn(conversation)
        self.open += 1
        self.most = max(self.most, self.open)

    def graded(self, context: GradingContext, scores: Sequence[Score]) -> None:
        """One less."""
        super().graded(context, scores)
        self.open -= 1


async def test_what_is_to_be_graded_does_not_pile_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Dialogues go before grades, but no conversation begins while too many turns wait for theirs."""
    monkeypatch.setattr(experiment, "MAX_UNGRADED", 0)
    progress = Lagging()
    async with OpenAIServer(latency=0.001) as server:
        results, why = await run(tmp_path, questions(15), server, progress=progress, calls=1, concurrency=1)

    assert (why, progress.open, len(results.conversations)) == (None, 0, 15)
    assert progress.most <= 2 + max(len(conversation.turns) for conversation in results.conversations)
