"""Batches of conversations for workers, and the events they send back, one JSON line each, in order.

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


class BatchRecord:
    """The Record of a batch on a worker: saves nothing, but sends every step to the driver as an event."""

    def __init__(self, batch: Mapping[str, Any], send: Callable[[str], None]) -> None:
        """`batch` is the parsed line of `batch_line`; `send` gets each event as JSON."""
        self.send = send
        self._conversations = tuple(
            Conversation.model_validate(conversation) for conversation in batch["conversations"]
        )
        self._scores: dict[str, list[Score]] = defaultdict(list)
        for score in map(Score.model_validate, batch["scores"]):
            self._scores[score.conversation].append(score)
        self.run = Run(id=batch["run"], created=datetime.now(tz=UTC), settings={})
        self._pending: Mapping[str, Sequence[Any]] = batch["pending"]

    def conversations(self) -> Sequence[Conversation]:
        """The conversations of the batch, as far as the driver has saved them."""
        return self._conversations

    def scores(self, conversation: str) -> list[Score]:
        """The scores of a conversation so far."""
        return self._scores[conversation]

    def unanswered(self) -> dict[str, tuple[int, Utterance]]:
        """By conversation, the turn and the line that an interruption left unanswered."""
        return {
            conversation: (turn, Utterance.model_validate(line))
            for conversation, (turn, line) in self._pending.items()
        }

    def save_utterance(self, conversation: str, turn: int, utterance: Utterance) -> None:
        """Sends the customer's line."""
        self.send(f'["said",{_text(conversation)},{turn},{utterance.model_dump_json()}]')

    def save_answer(self, conversation: str, turn: int, answer: Answer) -> None:
        """Sends the bot's answer."""
        self.send(f'["answered",{_text(conversation)},{turn},{answer.model_dump_json()}]')

    def save_ending(self, conversation: str, ended: Ended, reason: str, closing: str) -> None:
        """Sends how and why a conversation ended."""
        self.send(_text(["ended", conversation, ended, reason, closing]))

    def save_scores(self, scores: Iterable[Score]) -> None:
        """Sends scores of a turn."""
        if lines := ",".join(score.model_dump_json() for score in scores):
            self.send(f'["graded",[{lines}]]')

    def save_call(self, role: Role, usage: Usage, cached: bool, cost_usd: float | None) -> None:
        """Sends the usage of one model call; the driver computes its cost."""
        self.send(f'["called","{role}",{usage.model_dump_json()},{_text(cached)},{_text(JUDGE.get())}]')


def batch_line(
    run: str,
    conversations: Iterable[Conversation],
    pending: Mapping[str, tuple[int, Utterance]],
    scores: Iterable[Score],
    *,
    concurrency: int,
    budget: float | None,
) -> str:
    """Conversations to play or finish, as one line of JSON for a worker process."""
    body = {
        "run": run,
        "conversations": [conversation.model_dump(mode="json") for conversation in conversations],
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
