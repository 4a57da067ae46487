"""Answers recorded before: each question's own answer and contexts, no bot at all."""

from rag_adapters.documents import passages_of
from simulator import Answer, Case, InputError, Message, Query, Rag, RagFailure


def connect(*, cases: tuple[Case, ...]) -> Rag:
    """The recorded answers of these cases, each on the customer's first turn."""
    recorded = {case.id: case for case in cases}
    if cases and all(case.answer is None for case in cases):
        msg = "none of the questions has a recorded answer. Add a column 'answer' to the file."
        raise InputError(msg)

    def answer(query: Query) -> Answer:
        case = recorded.get(query.case)
        if case is None or not (case.answer or "").strip():
            raise RagFailure("empty", f"question {query.case} has no recorded answer")
        if _asked(query.history) > _asked(case.history):
            raise RagFailure(
                "empty", f"question {query.case} has an answer to its first turn only: --turns 1"
            )
        return Answer(text=case.answer or "", passages=passages_of(case.contexts))

    return answer


def _asked(history: tuple[Message, ...]) -> int:
    return sum(message.role == "user" for message in history)
