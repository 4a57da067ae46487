"""What people say of a run, in words: what they decided, and what they wrote of its answers."""

from simulator.core.messages import Message, _, ngettext, safe_text
from simulator.core.types import Disputed, HumanVerdict, ReleaseDecision
from simulator.results.figures import Summary
from simulator.results.review import ReviewFindings
from simulator.sheets.model import CHOICES


def decision_text(decision: ReleaseDecision) -> Message:
    """What the team decided, by whom, when and why: "Go with conditions · Sato · 2026-11-30 · fees first"."""
    verdict = CHOICES["decision"].get(decision.verdict, decision.verdict)
    return _("{parts:dots}", parts=tuple(part for part in (verdict, *decision.details) if part))


def dispute_text(disputed: Disputed) -> Message:
    """That an answer is disputed, in which run people said so, and what they wrote; or only its question.

    "Disputed in 20261121-x: the fee went up in May"
    """
    said = disputed.dispute
    text = _("Disputed in {run}") if disputed.is_same else _("Another answer was disputed in {run}")
    text = text.format(run=said.run)
    return _("{text}: {comment}", text=text, comment=safe_text(said.comment)) if said.comment else text


def words_text(said: HumanVerdict) -> Message | None:
    """What the team wrote of an answer: "Judge is wrong · Prompt · Mari · Open · see the new price list"."""
    picked = (
        CHOICES[column].get(text, text)
        for column, text in (("judge_is", said.judge_is), ("cause", said.cause), ("status", said.status))
        if text
    )
    typed = (safe_text(text) for text in (said.assignee, said.comment) if text)
    parts = (*picked, *typed)
    return _("{parts:dots}", parts=parts) if parts else None


def hit_rate(findings: ReviewFindings | None) -> Message | None:
    """How many of the red answers that the team looked at are rightly red; None where it looked at none."""
    if findings is None or findings.precision is None:
        return None
    right = findings.marks("right")
    share = f"{100 * findings.precision:.0f}"
    return _(
        "Your team checked {n} answers to review; the judge was right about {right} ({share} %).",
        n=right + findings.marks("wrong"),
        right=right,
        share=share,
    )


def disputed_count(summary: Summary) -> Message | None:
    """How many of the red answers are disputed; None where none is."""
    n = summary.red.disputed
    return ngettext("{n} of them disputed", "{n} of them disputed", n=n) if n else None
