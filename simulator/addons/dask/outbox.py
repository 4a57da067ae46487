"""What happens on a desk, one JSON line for each event, in the order in which it happened.

["said", conversation, turn, utterance]     ["answered", conversation, turn, answer]
["ended", conversation, ended, reason, closing]
["graded", [score, ...]]                    ["called", role, usage, cached, judge]
"""

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from simulator.core.types import Answer, Conversation, Ended, Role, Run, Score, Usage, Utterance
from simulator.models.pricing import JUDGE


class Outbox:
    """The record of one batch: what is known of it, and lines of what happens. Nothing is written here."""

    def __init__(self, batch: Mapping[str, Any], send: Callable[[str], None]) -> None:
        """`batch` as `a_batch` made it."""
        self.send = send
        self._talks = tuple(Conversation.model_validate(conversation) for conversation in batch["talks"])
        self._scores: dict[str, list[Score]] = defaultdict(list)
        for score in map(Score.model_validate, batch["scores"]):
            self._scores[score.conversation].append(score)
        self.run = Run(id=batch["run"], created=datetime.now(tz=UTC), settings={})
        self._pending: Mapping[str, Sequence[Any]] = batch["pending"]

    def conversations(self) -> Sequence[Conversation]:
        """The conversations, as far as the driver knows them."""
        return self._talks

    def scores(self, conversation: str) -> list[Score]:
        """The scores that one of them has so far."""
        return self._scores[conversation]

    def unanswered(self) -> dict[str, tuple[int, Utterance]]:
        """Lines that were said before an interruption."""
        return {
            conversation: (turn, Utterance.model_validate(line))
            for conversation, (turn, line) in self._pending.items()
        }

    def said(self, conversation: str, turn: int, utterance: Utterance) -> None:
        """The customer's line."""
        self.send(f'["said",{_text(conversation)},{turn},{utterance.model_dump_json()}]')

    def answered(self, conversation: str, turn: int, answer: Answer) -> None:
        """The bot's answer."""
        self.send(f'["answered",{_text(conversation)},{turn},{answer.model_dump_json()}]')

    def ended(self, conversation: str, ended: Ended, reason: str, closing: str) -> None:
        """Why a conversation stopped."""
        self.send(_text(["ended", conversation, ended, reason, closing]))

    def graded(self, scores: Iterable[Score]) -> None:
        """Scores of a turn."""
        if lines := ",".join(score.model_dump_json() for score in scores):
            self.send(f'["graded",[{lines}]]')

    def called(self, role: Role, usage: Usage, cached: bool, cost_usd: float | None) -> None:
        """One answered model call; what it costs is for the driver to say."""
        self.send(f'["called","{role}",{usage.model_dump_json()},{_text(cached)},{_text(JUDGE.get())}]')


def a_batch(
    run: str,
    conversations: Iterable[Conversation],
    pending: Mapping[str, tuple[int, Utterance]],
    scores: Iterable[Score],
    *,
    concurrency: int,
    budget: float | None,
) -> str:
    """Conversations to be held or finished, as one line for a desk."""
    body = {
        "run": run,
        "talks": [conversation.model_dump(mode="json") for conversation in conversations],
        "pending": {
            conversation: [turn, line.model_dump(mode="json")]
            for conversation, (turn, line) in pending.items()
        },
        "scores": [score.model_dump(mode="json") for score in scores],
        "concurrency": concurrency,
        "budget": budget,
    }
    return _text(body)


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
