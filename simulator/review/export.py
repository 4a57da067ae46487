"""People's blind grades as labelled answers: the file that `calibrate` reads, and `review --from`, too."""

import json
from collections.abc import Iterator
from typing import Any

from simulator.core.types import Conversation, HumanVerdict, Results, Turn
from simulator.review.sources import HIGHEST, LABEL, LOWEST


def labelled_answers(results: Results) -> Iterator[dict[str, Any]]:
    """A row for each turn that people graded blind, in the order of the run; rows of one case are a group."""
    given: dict[tuple[str, int], list[HumanVerdict]] = {}
    for verdict in results.verdicts:
        if verdict.source == "blind" and verdict.grade is not None:
            given.setdefault((verdict.conversation, verdict.turn), []).append(verdict)
    for talk in results.conversations:
        for turn in talk.turns:
            if verdicts := given.get((talk.id, turn.index)):
                yield _row(results.run.id, talk, turn, verdicts)


def as_lines(results: Results) -> str:
    """The rows as JSON lines."""
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in labelled_answers(results))


def _row(run: str, talk: Conversation, turn: Turn, verdicts: list[HumanVerdict]) -> dict[str, Any]:
    case, said = talk.case, turn.answer
    references = case.references_at(turn.index)
    return {
        "id": f"{talk.id}/{turn.index}",
        "dataset": run,
        "language": case.language,
        "group": case.id,
        "history": _history(talk, turn),
        "question": turn.user,
        "contexts": [passage.text for passage in said.passages],
        "context_ids": [passage.id for passage in said.passages],
        "answer": said.text,
        "reference": list(references) if len(references) > 1 else next(iter(references), None),
        **_expected(talk),
        "labels": {LABEL: [_plain(verdict.grade or 0.0) for verdict in verdicts]},
        "scale": {LABEL: f"{LOWEST}-{HIGHEST}"},
        "annotators": {LABEL: [verdict.reviewer for verdict in verdicts]},
        "meta": _meta(talk, verdicts),
    }


def _expected(talk: Conversation) -> dict[str, Any]:
    """What a judge knows of the case besides, where it says anything."""
    case = talk.case
    found = {"answerable": case.answerable, "goal": case.goal}
    if case.handover != "optional":
        found["handover"] = case.handover
    return {key: value for key, value in found.items() if value is not None}


def _history(talk: Conversation, turn: Turn) -> list[dict[str, str]]:
    """What was said before the turn; an answer that did not come leaves no line."""
    lines = [message.model_dump() for message in talk.case.history]
    for before in talk.turns:
        if before.index < turn.index:
            lines.append({"role": "user", "content": before.user})
            if before.answer.text.strip():
                lines.append({"role": "assistant", "content": before.answer.text})
    return lines


def _meta(talk: Conversation, verdicts: list[HumanVerdict]) -> dict[str, Any]:
    found: dict[str, Any] = {"persona": talk.persona}
    if any(verdict.comment for verdict in verdicts):
        found["comments"] = [verdict.comment for verdict in verdicts]
    sampled = next((verdict for verdict in verdicts if verdict.stratum or verdict.sampled), None)
    if sampled:
        found |= {"stratum": sampled.stratum, "sampled": sampled.sampled}
    return found


def _plain(grade: float) -> int | float:
    return int(grade) if grade == int(grade) else grade
