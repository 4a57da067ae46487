"""Two runs to compare, and judges of pairs with a habit, for tests of `compare`."""

import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from simulator.core.types import (
    Answer,
    Case,
    Conversation,
    Ended,
    Failure,
    Language,
    Passage,
    Results,
    Run,
    Turn,
)
from simulator.lab.compare.grade import Ballot, PairOutcome, Side, Verdict, settled
from tests.diff_runs import START, stored
from tests.servers.replies import ChatRequest, text_of

PASSAGE = {
    "ja": "マンション1ギガは、税込み月額4,180円です。解約金は9,800円です。",
    "en": "Apartment 1 Giga costs 4,180 yen a month, tax included. Cancelling costs 9,800 yen.",
}
QUESTION = {"ja": "マンションで光を使うと月いくらですか", "en": "How much is fibre a month in a flat?"}
SHORT = {"ja": "月額4,180円です。", "en": "It costs 4,180 yen a month."}
LONG = {
    "ja": "お問い合わせありがとうございます。マンション1ギガは、税込みで月額4,180円でございます。",
    "en": "Thank you for asking. Apartment 1 Giga costs 4,180 yen a month, and that includes the tax.",
}
Answers = Sequence[str | Failure]


def a_conversation(
    case: str,
    answers: Answers,
    *,
    persona: str = "angry",
    language: Language = "ja",
    asks: Sequence[str] = (),
) -> Conversation:
    """A finished conversation with these answers; `asks` are the customer's lines after the first."""
    lines = [f"{QUESTION[language]} ({case})", *asks]
    turns = tuple(
        Turn(index=at, user=line, answer=_answer(said, language))
        for at, (line, said) in enumerate(zip(lines, answers, strict=True), 1)
    )
    known = Case(id=case, question=lines[0], language=language, references=((LONG[language],),))
    return Conversation(id=f"{persona}/{case}#1", case=known, persona=persona, repeat=1, turns=turns)


def _answer(said: str | Failure, language: Language) -> Answer:
    if isinstance(said, Failure):
        return Answer(text="", error=said)
    return Answer(text=said, passages=(Passage(id="p", text=PASSAGE[language]),))


def a_run(name: str, conversations: Sequence[Conversation], folder: Path = Path("runs")) -> str:
    """A finished run on disk; gives its id."""
    run = Run(id=name, created=START, settings={}, status="finished")
    ended = tuple(each.model_copy(update={"ended": Ended.TURN_LIMIT}) for each in conversations)
    stored(Results(run=run, planned=len(ended), conversations=ended), folder)
    return name


def two_runs(count: int = 8, language: Language = "ja") -> tuple[str, str]:
    """A answers briefly and B at length, right both; every second question is asked by a calm customer."""
    personas = ["angry" if at % 2 else "calm" for at in range(count)]
    pairs = [
        [
            a_conversation(f"c{at}", [text[language]], persona=who, language=language)
            for at, who in enumerate(personas)
        ]
        for text in (SHORT, LONG)
    ]
    return a_run("20261120-a", pairs[0]), a_run("20261121-b", pairs[1])


def answers_of(request: ChatRequest) -> tuple[str, str]:
    """The two answers that a judge was shown, in the order shown."""
    text = "\n".join(map(text_of, request["messages"]))
    found = [re.search(rf"<(answer_{at} \w+)>\n(.*?)\n</\1>", text, re.DOTALL) for at in (1, 2)]
    return tuple(match[2] if match else "" for match in found)  # type: ignore[return-value]


def judge(choose: Callable[[str, str], str]) -> Callable[[ChatRequest], str]:
    """A model that compares by a rule: `choose` is given both answers and says 1, 2 or tie."""

    def reply(request: ChatRequest) -> str:
        verdict = choose(*answers_of(request))
        told = {"needed": "料金", "answer_1": "なし", "answer_2": "なし", "reason": f"決め手は{verdict}。"}
        return json.dumps({**told, "verdict": verdict}, ensure_ascii=False)

    return reply


def prefers_first(_one: str, _two: str) -> str:
    """A judge swayed by nothing but order."""
    return "1"


def prefers_longer(one: str, two: str) -> str:
    """A judge swayed by nothing but length."""
    return "tie" if len(one) == len(two) else "1" if len(one) > len(two) else "2"


def an_outcome(verdict: Verdict | None, at: int = 0, **changes: Any) -> PairOutcome:
    """The outcome of one pair, both orders agreeing."""
    known: dict[str, Any] = {
        "a": "run-a", "b": "run-b", "conversation": f"calm/c{at}#1", "case": f"c{at}", "persona": "calm",
        "repeat": 1, "turn": 1, "question": "?", "answers": ("short", "a longer one"), "how": "model",
        "verdict": verdict,
    }  # fmt: skip
    sides: tuple[Side, Side] = ("a", "b")
    if verdict is not None:
        known["ballots"] = tuple(Ballot(first=first, verdict=verdict) for first in sides)
    if "ballots" in changes:
        known["verdict"] = settled(changes["ballots"])
    return PairOutcome.model_validate(known | changes)
