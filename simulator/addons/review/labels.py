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
    history = [message.model_dump() for message in case.history]
    for before in (each for each in conversation.turns if each.index < turn.index):
        history.append({"role": "user", "content": before.user})
        # A missing answer leaves no message.
        if before.answer.text.strip():
            history.append({"role": "assistant", "content": before.answer.text})
    meta: dict[str, Any] = {"persona": conversation.persona}
    if any(verdict.comment for verdict in verdicts):
        meta["comments"] = [verdict.comment for verdict in verdicts]
    if sampled := next((verdict for verdict in verdicts if verdict.stratum or verdict.sampled), None):
        meta |= {"stratum": sampled.stratum, "sampled": sampled.sampled}
    return {
        "id": f"{conversation.id}/{turn.index}",
        "dataset": run,
        "language": case.language,
        "group": case.id,
        "history": history,
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
        "meta": meta,
    }
