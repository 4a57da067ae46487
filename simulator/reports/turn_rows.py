"""Every turn of a run as one flat row: what files for other programs are made of."""

from collections.abc import Iterator, Mapping
from typing import Any

from simulator.core.types import Conversation, Score, Turn
from simulator.reports.told import Told
from simulator.stats.red import worst
from simulator.stats.summary import turn_failure
from simulator.storage.results import with_scores


def turn_rows(told: Told) -> Iterator[dict[str, Any]]:
    """One mapping per turn, with plain values: texts, numbers, lists and None."""
    for talk, by_turn in with_scores(told.results):
        for turn in talk.turns:
            yield _row(talk, turn, by_turn.get(turn.index, {}), told)


def _row(talk: Conversation, turn: Turn, scores: Mapping[str, Score], told: Told) -> dict[str, Any]:
    red = told.red.get((talk.id, turn.index))
    steps = [step.model_dump(mode="json", exclude={"usage"}) for step in turn.answer.steps]
    return {
        "conversation": talk.id,
        "turn": turn.index,
        "persona": talk.persona,
        "case": talk.case.id,
        "language": talk.case.language,
        "ended": talk.ended.value if talk.ended else None,
        "user": turn.user,
        "answer": turn.answer.text,
        "answer_failure": "unrecorded" if turn.unrecorded else turn_failure(turn),
        "answer_seconds": turn.answer.seconds,
        "passages": [passage.id for passage in turn.answer.passages],
        "red": red is not None,
        "severity": worst(red.marks) if red else None,
        "marks": [mark.kind for mark in red.marks] if red else [],
        "reason": _reason(scores.get(told.summary.primary), red.reason if red else ""),
        "scores": {name: _score(scores[name]) for name in told.summary.judges if name in scores},
        **({"steps": steps} if steps else {}),
    }


def _reason(verdict: Score | None, red: str) -> str:
    return red or (verdict.reason if verdict else "")


def _score(score: Score) -> dict[str, Any]:
    shown = {"state": score.state, "value": score.value, "raw": score.raw, "reason": score.reason}
    return shown | {"severity": score.severity, "detail": dict(score.detail), "rubric": score.rubric}
