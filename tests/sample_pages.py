"""Sample runs with all that the page can show: claims, facts, feelings, two models, two runs."""

from typing import Any

from simulator.core.types import Language, Results, Score
from tests.sample_runs import hostile, rehearsed

_CLAIMS: dict[Language, dict[tuple[str, int], list[tuple[str, str, str]]]] = {
    "ja": {
        ("angry/cancel-03-ja#0", 1): [
            ("解約金は９,８００ 円です", "ja/17-early-termination-fee", "contradicted"),
            ("機器は解約後、いつでもご返却いただけます", "ja/19-equipment-return", "contradicted"),
        ],
        ("angry/cancel-03-ja#0", 3): [("解約金は全プラン無料", "", "not_found")],
        ("calm/billing-02-ja#0", 3): [("支払証明書の郵送は1通550円で承ります", "", "not_found")],
        ("angry/fees-01-ja#0", 1): [("税込みで月額4,180円", "ja/01-fibre-plans", "supported")],
    },
    "en": {
        ("angry/cancel-03-en#0", 1): [
            ("The fee is  9,800 YEN", "en/17-early-termination-fee", "contradicted"),
            ("You may return equipment whenever you like", "en/19-equipment-return", "contradicted"),
        ],
        ("angry/cancel-03-en#0", 3): [("all cancellations are free of charge", "", "not_found")],
        ("calm/billing-02-en#0", 3): [("we post payment certificates for 550 yen each", "", "not_found")],
        ("angry/fees-01-en#0", 1): [("4,180 yen a month including tax", "en/01-fibre-plans", "supported")],
    },
}
_FEELINGS = {"angry": (-1, -2, -2), "calm": (0, 0, -1), "beginner": (0, 1, 1)}
_UNKNOWN = {"ja": "「550円」は資料に見つかりません。", "en": "No passage has “550 yen”."}
_SAYS = {"ja": "言葉に表れた気持ちを読んだ。", "en": "Read from the customer's words."}


def full(language: Language = "ja", **run: Any) -> Results:
    """`rehearsed` with claims, facts, feelings and a second model."""
    base = rehearsed(language, **run)
    spoken = [(c.id, c.persona, turn) for c in base.conversations for turn in c.turns]
    more = [_tone(conversation, persona, turn.index, language) for conversation, persona, turn in spoken]
    for conversation, _, turn in spoken:
        told = _CLAIMS[language].get((conversation, turn.index), [])
        more.append(
            _claims(conversation, turn.index, told) if told else _skipped("claims", conversation, turn.index)
        )
        priced = "550" in turn.answer.text
        more.append(
            _facts(conversation, turn.index, language)
            if priced
            else _skipped("facts", conversation, turn.index)
        )
    scores = base.scores
    more += [_beside(score) for score in scores if score.judge == "turn" and score.state == "scored"]
    return base.model_copy(update={"scores": (*scores, *more)})


def everywhere(text: str, language: Language = "ja") -> Results:
    """`hostile`, with the text also in claims, facts, names of models and what else judges write."""
    base = hostile(text, language)
    told = [(text, text, "contradicted"), (text[::-1] or "x", text, "not_found"), (text, text, text)]
    found = {"facts": [{"text": text, "found": False, "where": text}], text: {text: text}}
    more = [
        _claims(text, 1, told),
        _facts(text, 1, language).model_copy(update={"detail": found, "reason": text}),
        _tone(text, "calm", 1, language).model_copy(update={"conversation": text, "reason": text}),
    ]
    kept = [score for score in base.scores if score.judge != "claims"]
    panel = [score.model_copy(update={"judge": f"turn@{text}"}) for score in kept if score.judge == "turn"]
    return base.model_copy(update={"scores": (*kept, *panel, *more)})


def better(language: Language = "ja") -> Results:
    """The same run after the fee was mended: one conversation turned green, one got worse."""
    base = full(language)
    changed = [_graded_anew(score) for score in base.scores]
    run = base.run.model_copy(update={"id": "20261122-101500-mixed-77aa"})
    return base.model_copy(update={"run": run, "scores": tuple(changed)})


def _graded_anew(score: Score) -> Score:
    if score.state != "scored" or score.by_rule or score.judge not in ("turn", "groundedness", "claims"):
        return score
    if score.conversation.startswith("angry/cancel"):
        full_marks = {"value": 1.0, "raw": score.scale[1], "detail": {}, "severity": None}
        return score.model_copy(update=full_marks)
    if score.conversation.startswith("beginner/fees") and score.judge == "turn":
        return score.model_copy(update={"value": 0.4, "raw": 2.0, "detail": {}})
    return score


def _tone(conversation: str, persona: str, turn: int, language: Language) -> Score:
    raw = _FEELINGS[persona][turn - 1]
    return Score(
        judge="tone", conversation=conversation, turn=turn, state="scored", value=(raw + 2) / 4, raw=raw,
        scale=(-2, 2), reason=_SAYS[language], detail={"feeling": raw}, rubric="tone-1",
    )  # fmt: skip


def _skipped(judge: str, conversation: str, turn: int) -> Score:
    return Score(judge=judge, conversation=conversation, turn=turn, state="skipped")


def _claims(conversation: str, turn: int, told: list[tuple[str, str, str]]) -> Score:
    share = sum(verdict == "supported" for *_, verdict in told) / len(told)
    verdicts = {verdict for *_, verdict in told}
    detail = [{"claim": words, "passage": passage, "verdict": verdict} for words, passage, verdict in told]
    return Score(
        judge="claims", conversation=conversation, turn=turn,
        state="scored", value=share, raw=share, scale=(0, 1),
        severity="major" if "contradicted" in verdicts else "moderate" if "not_found" in verdicts else None,
        reason=" / ".join(words for words, *_ in told), detail={"claims": detail}, rubric="claims-1",
    )  # fmt: skip


def _facts(conversation: str, turn: int, language: Language) -> Score:
    told = [{"text": "550", "kind": "amount", "found": False, "where": ""}]
    return Score(
        judge="facts", conversation=conversation, turn=turn, state="scored", value=0.0, raw=0.0, scale=(0, 1),
        severity="major", reason=_UNKNOWN[language], detail={"facts": told}, rubric="facts-1",
    )  # fmt: skip


def _beside(score: Score) -> Score:
    """What a second model gave."""
    raw = min(5.0, (score.raw or 1) + (0 if score.by_rule else 1))
    changes: dict[str, Any] = {"judge": "turn@example-small", "raw": raw, "value": raw / 5, "detail": {}}
    return score.model_copy(update=changes)
