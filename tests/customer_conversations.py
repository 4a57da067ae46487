"""Hand-made conversations for tests of how the customers were played."""

from collections.abc import Sequence
from typing import Any

from simulator.core.types import (
    Answer,
    Case,
    Conversation,
    Ended,
    Failure,
    Language,
    Persona,
    PersonaText,
    Response,
    Results,
    Score,
    Turn,
)
from tests.sample_runs import rehearsed

QUESTION = {"ja": "解約金はいくらですか？", "en": "How much is the cancellation fee?"}
GOAL = {
    "ja": "光を1年で解約したときの解約金の額を知りたい。",
    "en": "I want to know the fee for cancelling fibre after one year.",
}
REFERENCE = {
    "ja": "ホーム1ギガの解約金は、4,800円でございます。",
    "en": "The cancellation fee of Home 1 Giga is 4,800 yen.",
}
REFUSAL = {
    "ja": "申し訳ございませんが、お手元の資料では確認できませんでした。",
    "en": "I am sorry, but I could not find that in our documents.",
}
UNRELATED = {
    "ja": "請求書は毎月10日に発行いたします。",
    "en": "Invoices are issued on the 10th of each month.",
}


def a_case(language: Language = "ja", **changes: Any) -> Case:
    """A question with a goal and one right answer."""
    told: dict[str, Any] = {
        "id": "fees", "question": QUESTION[language], "language": language, "goal": GOAL[language],
        "references": (REFERENCE[language],), "answerable": True,
    }  # fmt: skip
    return Case(**(told | changes))


def a_talk(
    *exchanges: tuple[str, str | None],
    persona: str = "angry",
    ended: Ended | None = Ended.GAVE_UP,
    **more: Any,
) -> Conversation:
    """A conversation of (customer, desk) pairs; a desk that says None timed out."""
    failure = Failure(kind="timeout", message="no answer within 60 s")
    case = more.pop("case", a_case())
    turns = tuple(
        Turn(index=at, user=said, answer=Answer(text=heard) if heard else Answer(text="", error=failure))
        for at, (said, heard) in enumerate(exchanges, 1)
    )
    key = more.pop("id", f"{persona}/{case.id}#1")
    return Conversation(id=key, case=case, persona=persona, turns=turns, ended=ended, **more)


def a_person(name: str = "angry", patience: int = 2, **phrases: tuple[str, ...]) -> Persona:
    """A persona with these phrases."""
    text = PersonaText(name=name, voice="-", knows=("あなた自身の用件です",), phrases=phrases)
    return Persona(id=name, patience=patience, ja=text, en=text)


def a_verdict(conversation: Conversation, turn: int, raw: float, **detail: Any) -> Score:
    """What a model as turn judge gave a turn."""
    return Score(
        judge="turn", conversation=conversation.id, turn=turn, state="scored", value=raw / 5, raw=raw,
        detail={"completeness": raw, "correctness": raw} | detail, rubric="turn-1",
    )  # fmt: skip


def what_it_does(*conversations: Conversation, handing_over: str = "") -> list[Score]:
    """What the turn judge says that each answer does: it refuses, hands over, asks back, or answers."""
    known: dict[str, Response] = dict.fromkeys(REFUSAL.values(), "declined")
    known |= {**dict.fromkeys(UNRELATED.values(), "nothing"), handing_over: "handed_over"}
    return [
        Score(
            judge="turn", conversation=conversation.id, turn=turn.index, state="skipped",
            response=known.get(text := turn.answer.text, "asked_back" if text.endswith("？") else "answered"),
        )
        for conversation in conversations
        for turn in conversation.turns
        if turn.answer.text
    ]  # fmt: skip


def a_run(
    *conversations: Conversation,
    people: Sequence[Persona] = (),
    scores: Sequence[Score] = (),
    **settings: Any,
) -> Results:
    """A run of these conversations."""
    base = rehearsed("ja")
    known = {conversation.persona: a_person(conversation.persona) for conversation in conversations} | {
        p.id: p for p in people
    }
    run = base.run.model_copy(update={"settings": base.run.settings | {"turns": 5} | settings})
    return Results(
        run=run,
        planned=len(conversations),
        personas=tuple(known.values()),
        conversations=conversations,
        scores=tuple(scores),
    )
