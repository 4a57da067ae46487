"""Sample runs for tests of statistics and reports: realistic, hostile and large ones."""

import tomllib
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from simulator.core.settings import Settings
from simulator.core.types import (
    Answer,
    Case,
    ChatMessage,
    Conversation,
    Ended,
    Failure,
    Language,
    Passage,
    Persona,
    PersonaText,
    RedRules,
    Results,
    Run,
    Score,
    Spending,
    Turn,
)
from simulator.results.figures import Summary
from simulator.results.gate import Gate, gate_of
from simulator.results.summary import summarise

JUDGES = ("turn", "relevance", "groundedness", "similarity", "fluency", "cosine")
_TEXTS = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))


def rehearsed(language: Language = "ja", **run: Any) -> Results:
    """Six conversations of three personas with everything that can happen to a conversation."""
    conversations = [_talk(told, language) for told in _TEXTS[language]]
    return Results(
        run=_run(language, **run),
        planned=len(conversations),
        personas=tuple(map(_persona, ("angry", "calm", "beginner"))),
        conversations=tuple(conversation for conversation, _ in conversations),
        scores=tuple(score for _, scores in conversations for score in scores),
        spending=SPENDING,
    )


SPENDING = {
    "user": Spending(calls=9, cached=1, tokens_in=6_120, tokens_out=402, cost_usd=0.0118),
    "judge": Spending(calls=13, tokens_in=24_310, tokens_out=5_204, cost_usd=0.1128),
    "embed": Spending(calls=5, tokens_in=820, cost_usd=0.0001),
}


def summed(results: Results | None = None, judges: tuple[str, ...] = JUDGES) -> Summary:
    """The summary of a run (the rehearsed one) by the usual rules."""
    return summarise(results or rehearsed(), rules=RedRules(), judges=judges, seed=42)


def decide(summary: Summary, target: float | None, max_major: float | None = None) -> Gate:
    """The gate over a summary by these settings."""
    settings = {"target": target, "max_major": max_major}
    return gate_of(rehearsed(), summary, Settings.model_validate(settings))


def changed(summary: Summary, **values: Any) -> Summary:
    """The summary with other values, each in whichever of its parts has a field of that name."""
    parts = {}
    for name in ("scores", "red", "customers", "money"):
        part = getattr(summary, name)
        of_part = {key: values.pop(key) for key in list(values) if key in type(part).model_fields}
        parts[name] = part.model_copy(update=of_part)
    assert not values.keys() - Summary.model_fields
    return summary.model_copy(update=parts | values)


def large(conversations: int = 1000) -> Results:
    """Many conversations of three turns each, as long as those of a real run."""
    base = rehearsed("ja")
    conversation = next(c for c in base.conversations if len(c.turns) == 3)
    scores = [s for s in base.scores if s.conversation == conversation.id]
    ids = [f"{conversation.persona}/case-{i:04d}#0" for i in range(conversations)]
    return base.model_copy(
        update={
            "planned": conversations,
            "conversations": tuple(_renamed(conversation, key) for key in ids),
            "scores": tuple(s.model_copy(update={"conversation": key}) for key in ids for s in scores),
        }
    )


def hostile(text: str, language: Language = "ja") -> Results:
    """A run in which every text that anyone outside can write is `text`."""
    case = Case(
        id=text, question=text, language=language, goal=text, references=((text,),), tags=(text,),
        history=(ChatMessage(role="user", content=text), ChatMessage(role="assistant", content=text)),
    )  # fmt: skip
    passage = Passage(id=text, text=text, source=text, score=0.5)
    failed = Answer(text="", error=Failure(kind="error", message=text))
    turns = (
        Turn(index=1, user=text, answer=Answer(text=text, passages=(passage,)), broken_rules=(text,)),
        Turn(index=2, user=text, answer=failed),
    )
    conversation = Conversation(
        id=text, case=case, persona=text, turns=turns, ended=Ended.GAVE_UP, reason=text, closing=text
    )
    judges = (text, "turn", "groundedness", "claims")
    scores = [_hostile_score(judge, index, text) for judge in judges for index in (1, 2)]
    who = PersonaText(name=text, voice=text, knows=(text,), phrases={"thanks": (text,)})
    run = {
        "settings": {"adapter": text, "judges": [text]},
        "versions": {text: text}, "prompts": {text: text}, "models": {"judge": text, text: text}, "id": text,
    }  # fmt: skip
    return Results(
        run=_run(language, **run),
        planned=2,
        personas=(Persona(id=text, ja=who, en=who),),
        conversations=(conversation,),
        scores=tuple(scores),
        spending={text: Spending(calls=1)},
    )


def _hostile_score(judge: str, turn: int, text: str) -> Score:
    """A low grade that says `text` wherever it can."""
    detail = {"steps": [text], "conclusion": text, text: text, "correctness": 1, "unsupported": [text]}
    return Score(
        judge=judge, conversation=text, turn=turn, state="scored", value=0.2, raw=1,
        reason=text, detail=detail, rubric=text,
    )  # fmt: skip


def _run(language: Language, **changes: Any) -> Run:
    """A finished run with a model, unless `changes` say otherwise."""
    settings = {
        "persona": ["angry", "calm", "beginner"], "adapter": "demo", "turns": 3, "judging": "combined",
        "judges": list(JUDGES), "language": language, "seed": 42, "target": 0.9,
    }  # fmt: skip
    known: dict[str, Any] = {
        "id": "20261121-090400-mixed-3f2a",
        "created": datetime(2026, 11, 21, 9, 4, tzinfo=UTC),
        "settings": settings,
        "versions": {"rehearsal": "0.1.0", "python": "3.11.7"},
        "prompts": {"judges/turn": "4f1d90ab22c3", "personas/_user": "a07be1193d54"},
        "models": {"user": "example-large", "judge": "example-large", "embed": "example-embed"},
        "status": "finished",
        "seconds": 83.4,
    }
    return Run(**(known | changes))


def _persona(name: str) -> Persona:
    """A persona with a name in both languages."""
    titles = {
        "angry": ("怒っているお客様", "Angry customer"),
        "calm": ("落ち着いたお客様", "Calm customer"),
        "beginner": ("初めてのお客様", "Beginner"),
    }
    ja, en = (PersonaText(name=title, voice="-") for title in titles[name])
    return Persona(id=name, ja=ja, en=en)


def _talk(told: dict[str, Any], language: Language) -> tuple[Conversation, list[Score]]:
    """One conversation and its scores."""
    key = f"{told['persona']}/{told['case']}-{language}#0"
    turns = list(enumerate(told["turns"], 1))
    scores = [
        _score(judge, grade, turn, language, {"judge": judge, "conversation": key, "turn": index})
        for index, turn in turns
        for judge, grade in zip(JUDGES, turn["grades"], strict=True)
    ]
    case = Case(
        id=f"{told['case']}-{language}", question=turns[0][1]["user"], language=language, goal=told["goal"]
    )
    conversation = Conversation(
        id=key,
        case=case,
        persona=told["persona"],
        turns=tuple(_turn(index, turn, language) for index, turn in turns),
        ended=Ended(told["ended"]),
    )
    return conversation, scores


def _turn(index: int, told: dict[str, Any], language: Language) -> Turn:
    """One turn, with what was retrieved for it."""
    error = told.get("error")
    passages = [
        Passage(
            id=f"{language}/{(found := _TEXTS['passages'][key])['id']}",
            text=found[language],
            source=f"{language}/{found['id']}.md",
            score=0.91 - 0.17 * place,
        )
        for place, key in enumerate(told["passages"])
    ]
    answer = Answer(
        text=told["answer"],
        passages=tuple(passages),
        seconds=60.0 if error else 1.2,
        error=Failure(**error) if error else None,
    )
    return Turn(index=index, user=told["user"], answer=answer, broken_rules=told.get("rules", ()))


def _score(judge: str, grade: int, told: dict[str, Any], language: Language, known: dict[str, Any]) -> Score:
    """A grade, a skipped one (-1) or a failed one (0)."""
    if grade < 0:
        return Score(**known, state="skipped", reason=f"no reference for turn {known['turn']}")
    if grade == 0:
        return Score(**known, state="failed", reason="malformed: there is no JSON object in the reply")
    if "error" in told:
        reason = f"no answer: {told['error']['kind']}"
        return Score(**known, state="scored", value=0.2, raw=1, by_rule=True, reason=reason)
    says = _TEXTS["says"][language]
    reason = told["reason"] if judge == "turn" else says.get(judge, ["", ""])[grade < 4]
    detail = _detail(grade, told, says["steps"]) if judge == "turn" else {}
    known = known | {"rubric": f"{judge}-1", "reason": reason, "detail": detail}
    return Score(**known, state="scored", value=grade / 5, raw=grade)


def _detail(grade: int, told: dict[str, Any], steps: list[str]) -> dict[str, Any]:
    """What the turn judge breaks its verdict into."""
    return {
        "understanding": min(5, grade + 1), "relevance": grade, "completeness": max(1, grade - 1),
        "correctness": told.get("correctness", max(3, grade)), "coherence": 5, "overall": grade,
        "steps": steps, "conclusion": told["reason"],
    }  # fmt: skip


def _renamed(conversation: Conversation, key: str) -> Conversation:
    """The same conversation under another id and case."""
    case = conversation.case.model_copy(update={"id": key.partition("/")[2].partition("#")[0]})
    return conversation.model_copy(update={"id": key, "case": case})
