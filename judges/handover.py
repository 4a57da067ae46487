"""Handover: whether a person took over when one was needed, and only then, with the right contact."""

from pathlib import Path
from typing import Literal

from simulator.extending import Fill, GradingContext, Score, Texts, response_of

SCALE = (0, 1)
Severity = Literal["major", "moderate"]
TEXTS = Texts(Path(__file__).with_name("_handover.toml"))


async def handover(context: GradingContext, fill: Fill | None = None) -> Score:
    """1 when a person took over exactly if one should have; half of it when the contact given is wrong.

    What should have been is the case's `handover` (required, forbidden); where that is optional a model
    says what was needed. Without a model the handover is recognised by its wording, and a case that
    leaves it open is skipped.
    """
    language = context.case.language
    expected = {"required": True, "forbidden": False}.get(context.case.handover)
    if fill is None:
        done, needed = response_of(context) == "handed_over", expected
        contact_is_right, said = True, TEXTS(language, "lexical")
    else:
        filled = await fill(context, "handover")
        done, needed = bool(filled.handed_over), bool(filled.needed) if expected is None else expected
        contact_is_right, said = bool(filled.contact), filled.reason
    if needed is None:
        return Score(state="skipped", reason=TEXTS(language, "undecided"))
    outcome: tuple[str, float, Severity | None]
    if done != needed:
        outcome = ("missed", 0, "major") if needed else ("needless", 0, "moderate")
    elif done and not contact_is_right:
        outcome = "wrong_contact", 0.5, "moderate"
    else:
        outcome = "right_handed" if done else "right_kept", 1, None
    key, raw, severity = outcome
    reason = TEXTS(language, key)
    return Score(
        state="scored",
        value=raw,
        raw=raw,
        severity=severity,
        reason=f"{said}{reason}" if said.endswith(("：", ": ")) else f"{reason} {said}".strip(),
        detail={"handed_over": done, "needed": needed, "contact_is_right": contact_is_right},
    )
