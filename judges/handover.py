"""Handover: whether a person took over when one was needed, and only then, with the right contact."""

from pathlib import Path
from typing import Any

from simulator import Fill, GradingContext, Score, Texts, is_handover

SCALE = (0, 1)
TEXTS = Texts(Path(__file__).with_name("_handover.toml"))


async def handover(context: GradingContext, fill: Fill | None = None) -> Score:
    """1 when a person took over exactly if one should have; half of it when the contact given is wrong.

    What should have been is the case's `handover` (required, forbidden); where that is optional a model
    says what was needed. Without a model the handover is recognised by its wording, and a case that
    leaves it open is skipped.
    """
    expected = {"required": True, "forbidden": False}.get(context.case.handover)
    if fill is None:
        done = is_handover(context.turn.answer.text, context.case.language)
        return _verdict(context, done, expected, contact_is_right=True, said=_say(context, "lexical"))
    filled = await fill(context, "handover")
    needed = bool(filled.needed) if expected is None else expected
    return _verdict(
        context, bool(filled.handed_over), needed, contact_is_right=bool(filled.contact), said=filled.reason
    )


def _verdict(
    context: GradingContext, done: bool, needed: bool | None, *, contact_is_right: bool, said: str
) -> Score:
    if needed is None:
        return _score(context, state="skipped", reason=_say(context, "undecided"))
    detail = {"handed_over": done, "needed": needed, "contact_is_right": contact_is_right}
    if done != needed:
        outcome, raw, severity = ("missed", 0.0, "major") if needed else ("needless", 0.0, "moderate")
    elif done and not contact_is_right:
        outcome, raw, severity = "wrong_contact", 0.5, "moderate"
    else:
        outcome, raw, severity = ("right_handed" if done else "right_kept"), 1.0, None
    reason = (
        f"{said}{_say(context, outcome)}"
        if said.endswith(("：", ": "))
        else f"{_say(context, outcome)} {said}"
    )
    return _score(
        context, state="scored", value=raw, raw=raw, severity=severity, reason=reason.strip(), detail=detail
    )


def _say(context: GradingContext, key: str) -> str:
    return TEXTS(context.case.language, key)


def _score(context: GradingContext, **fields: Any) -> Score:
    return Score(
        judge="handover", conversation=context.conversation, turn=context.turn.index, scale=SCALE, **fields
    )
