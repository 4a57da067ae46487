"""Handover: whether a person took over when one was needed, and only then, with the right contact."""

from pathlib import Path
from typing import Any

from simulator import Fill, GradingContext, Score, Texts, is_handover

SCALE = (0, 1)
TEXTS = Texts(Path(__file__).with_name("_handover.toml"))


async def handover(exhibit: GradingContext, fill: Fill | None = None) -> Score:
    """1 when a person took over exactly if one should have; half of it when the contact given is wrong.

    What should have been is the case's `handover` (required, forbidden); where that is optional a model
    says what was needed. Without a model the handover is recognised by its wording, and a case that
    leaves it open is skipped.
    """
    expected = {"required": True, "forbidden": False}.get(exhibit.case.handover)
    if fill is None:
        done = is_handover(exhibit.turn.answer.text, exhibit.case.language)
        return _verdict(exhibit, done, expected, contact_is_right=True, said=_say(exhibit, "lexical"))
    filled = await fill(exhibit, "handover")
    needed = bool(filled.needed) if expected is None else expected
    return _verdict(
        exhibit, bool(filled.handed_over), needed, contact_is_right=bool(filled.contact), said=filled.reason
    )


def _verdict(
    exhibit: GradingContext, done: bool, needed: bool | None, *, contact_is_right: bool, said: str
) -> Score:
    if needed is None:
        return _score(exhibit, state="skipped", reason=_say(exhibit, "undecided"))
    detail = {"handed_over": done, "needed": needed, "contact_is_right": contact_is_right}
    if done != needed:
        outcome, raw, severity = ("missed", 0.0, "major") if needed else ("needless", 0.0, "moderate")
    elif done and not contact_is_right:
        outcome, raw, severity = "wrong_contact", 0.5, "moderate"
    else:
        outcome, raw, severity = ("right_handed" if done else "right_kept"), 1.0, None
    reason = (
        f"{said}{_say(exhibit, outcome)}"
        if said.endswith(("：", ": "))
        else f"{_say(exhibit, outcome)} {said}"
    )
    return _score(
        exhibit, state="scored", value=raw, raw=raw, severity=severity, reason=reason.strip(), detail=detail
    )


def _say(exhibit: GradingContext, key: str) -> str:
    return TEXTS(exhibit.case.language, key)


def _score(exhibit: GradingContext, **fields: Any) -> Score:
    return Score(
        judge="handover", conversation=exhibit.conversation, turn=exhibit.turn.index, scale=SCALE, **fields
    )
