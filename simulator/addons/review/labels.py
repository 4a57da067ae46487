"""Turns that people graded blind as labelled answers: the rows from which `calibrate` tunes a judge."""

import json
from collections.abc import Iterator
from typing import Any

from simulator.addons.review.sources import HIGHEST, LABEL, LOWEST
from simulator.core.types import Conversation, HumanVerdict, Results, Turn


def as_lines(results: Results) -> str:
    """The rows of `labelled_answers` as JSON lines."""
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in labelled_answers(results))


def labelled_answers(results: Results) -> Iterator[dict[str, Any]]:
    """A row for each turn that people graded blind, in the order of the run; rows of one case are a group."""
    by_turn: dict[tuple[str, int], list[HumanVerdict]] = {}
    for verdict in results.verdicts:
        if verdict.source == "blind" and verdict.grade is not None:
            by_turn.setdefault((verdict.conversation, verdict.turn), []).append(verdict)
    for conversation in results.conversations:
        for turn in conversation.turns:
            if verdicts := by_turn.get((conversation.id, turn.index)):
                yield _row(results.run.id, conversation, turn, verdicts)


def _row(run: str, conversation: Conversation, turn: Turn, verdicts: list[HumanVerdict]) -> dict[str, Any]:
    case, answer = conversation.case, turn.answer
    grades = [verdict.grade or 0.0 for verdict in verdicts]
    references = case.references_at(turn.index)
    return {
        "id": f"{conversation.id}/{turn.index}",
        "dataset": run,
        "language": case.language,
        "group": case.id,
        "history": _history(conversation, turn),
        "question": turn.user,
        "contexts": [passage.text for passage in answer.passages],
        "context_ids": [passage.id for passage in answer.passages],
        "answer": answer.text,
        "reference": list(references) if len(references) > 1 else next(iter(references), None),
        # What else a judge knows of the case, as far as the case says anything.
        **({} if case.answerable is None else {"answerable": case.answerable}),
        **({} if case.goal is None else {"goal": case.goal}),
        **({} if case.handover == "optional" else {"handover": case.handover}),
        "labels": {LABEL: [int(grade) if grade == int(grade) else grade for grade in grades]},
        "scale": {LABEL: f"{LOWEST}-{HIGHEST}"},
        "annotators": {LABEL: [verdict.reviewer for verdict in verdicts]},
        "meta": _meta(conversation, verdicts),
    }


def _history(conversation: Conversation, turn: Turn) -> list[dict[str, str]]:
    """The messages before the turn; a missing answer leaves no message."""
    lines = [message.model_dump() for message in conversation.case.history]
    for before in conversation.turns:
        if before.index < turn.index:
            lines.append({"role": "user", "content": before.user})
            if before.answer.text.strip():
                lines.append({"role": "assistant", "content": before.answer.text})
    return lines


def _meta(conversation: Conversation, verdicts: list[HumanVerdict]) -> dict[str, Any]:
    meta: dict[str, Any] = {"persona": conversation.persona}
    if any(verdict.comment for verdict in verdicts):
        meta["comments"] = [verdict.comment for verdict in verdicts]
    sampled = next((verdict for verdict in verdicts if verdict.stratum or verdict.sampled), None)
    if sampled:
        meta |= {"stratum": sampled.stratum, "sampled": sampled.sampled}
    return meta
