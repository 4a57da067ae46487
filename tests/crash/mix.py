"""Many conversations against an endpoint and a bot that fail now and then, beside ones that never do."""

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from simulator.core.types import Results

# Shares of the calls: refused for now, broken, never answered, and cut in the middle of their JSON.
RATES: Mapping[str, float] = {"429": 0.05, "500": 0.05, "stall": 0.02, "cut": 0.05}
BOT = '''
from hashlib import blake2b

def answer(question):
    return f"OK: {question}"

def fails(question):
    """Two in a hundred questions, always the same ones."""
    if int.from_bytes(blake2b(question.encode(), digest_size=4).digest(), "big") % 50 == 28:
        raise ConnectionError("the bot is away")
    return answer(question)
'''


def options(folder: Path, conversations: int, *, failing: bool, timeout: float) -> tuple[str, ...]:
    """Writes questions and bot; gives the arguments of the program."""
    rows = (
        {"id": f"q{number}", "question": f"{number}番の料金はいくらですか", "language": "ja"}
        for number in range(conversations)
    )
    lines = [json.dumps(row, ensure_ascii=False) for row in rows]
    (folder / "cases.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (folder / "bot.py").write_text(BOT, encoding="utf-8")
    return (
        "--cases", str(folder / "cases.jsonl"), "--persona", "angry", "--cache", "off", "--json",
        "--adapter", f"{folder / 'bot.py'}:{'fails' if failing else 'answer'}",
        "--judges", "turn,fluency", "--timeout", str(timeout), "--concurrency", "200",
        "--runs", str(folder / "runs"),
    )  # fmt: skip


@dataclass(frozen=True)
class Failures:
    """What failed in a run, by whose failure it is and its kind."""

    bot: Counter[str]
    judges: Counter[str]
    ended: Counter[str]
    unanswered: int


def failures(results: Results) -> Failures:
    """Counts every failure that was stored; `unanswered` are conversations that never ended."""
    turns = [turn for conversation in results.conversations for turn in conversation.turns]
    return Failures(
        bot=Counter(turn.answer.error.kind for turn in turns if turn.answer.error),
        judges=Counter(str(s.detail.get("kind", "untyped")) for s in results.scores if s.state == "failed"),
        ended=Counter(
            str(conversation.ended) for conversation in results.conversations if conversation.ended
        ),
        unanswered=sum(conversation.ended is None for conversation in results.conversations),
    )


def mean_of_answered(results: Results, judge: str = "turn") -> tuple[float, int]:
    """The mean grade 0..1 of turns that the bot answered, and how many there are."""
    answered = {
        (conversation.id, turn.index)
        for conversation in results.conversations
        for turn in conversation.turns
        if not turn.answer.error
    }
    values = [
        score.value
        for score in results.scores
        if score.judge == judge and score.value is not None and (score.conversation, score.turn) in answered
    ]
    return sum(values) / len(values), len(values)


def extra_requests(faulty: Mapping[str, Any], clean: Mapping[str, Any]) -> float:
    """How many times the requests of the clean run were made."""
    return float(sum(faulty.values()) / sum(clean.values()))
