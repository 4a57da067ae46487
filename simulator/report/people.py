"""What people say of a run, in words: what they decided, and what their blind grades correct the score to."""

from collections.abc import Iterator

from simulator.core.document import points
from simulator.core.messages import Message, _, ngettext, safe_text
from simulator.core.types import Disputed, HumanVerdict, ReleaseDecision
from simulator.results.figures import ENOUGH_GRADES, Shortage, Stratum, Summary
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
    n = findings.right + findings.wrong if findings else 0
    if not (findings and n):
        return None
    share = f"{100 * findings.right / n:.0f}"
    return _(
        "Your team checked {n} answers to review; the judge was right about {right} ({share} %).",
        n=n,
        right=findings.right,
        share=share,
    )


def disputed_count(summary: Summary) -> Message | None:
    """How many of the red answers are disputed; None where none is."""
    n = summary.red.disputed
    return ngettext("{n} of them disputed", "{n} of them disputed", n=n) if n else None


def corrected_line(
    summary: Summary, target: float | None, bounds: tuple[float, float] | None = None
) -> Message | None:
    """'自動 87 → 補正後 82（78〜86）', or the same in English; None where nothing was corrected.

    `bounds` are those that decided, where these are not the 95 % interval.
    """
    if summary.scores.corrected is None:
        return None
    figures = (summary.scores.corrected.score, *(bounds or summary.scores.corrected.interval))
    score, low, high = (points(value, against=target) for value in figures)
    auto = points(summary.scores.score)
    return _("automatic {auto}, corrected {score} ({low}–{high})", auto=auto, score=score, low=low, high=high)


def correction_texts(summary: Summary) -> Iterator[Message]:
    """How people's blind grades corrected the score, or how many more grades that takes."""
    if corrected := summary.scores.corrected:
        strata: dict[Stratum, Message] = {
            "red": _("{how} on answers to review"),
            "not_red": _("{how} on the others"),
        }
        by_stratum = ((text, corrected.bias.get(name)) for name, text in strata.items())
        biases = [text.format(how=_bias_text(bias)) for text, bias in by_stratum if bias is not None]
        yield ngettext(
            "On the {n} answer that people graded, the judge is {biases}; the corrected score "
            "leaves that out.",
            "On the {n} answers that people graded, the judge is {biases}; the corrected score "
            "leaves that out.",
            n=corrected.n,
            biases=biases,
        )
    elif summary.scores.shortage:
        yield _shortage_text(summary.scores.shortage)


def _bias_text(bias: float) -> Message:
    """Whether the judge is lenient or strict, and by how many points out of 100."""
    # What rounds to nothing is neither mild nor strict.
    text, size = _("{points} points stricter than people"), points(abs(bias))
    if bias > 0:
        text = _("{points} points more lenient than people")
    return _("level with people") if size == "0" else text.format(points=size)


def _shortage_text(shortage: Shortage) -> Message:
    """How many more grades a correction takes, and of which turns."""
    # Told apart by what would help: more questions, any second question, or more grades.
    if shortage.turns < ENOUGH_GRADES:
        text = _(
            "Answers graded by people: {n}. A correction takes {enough}, and this run has "
            "{turns} to grade: add questions to make it possible."
        )
    elif not shortage.more:
        text = _("Answers graded by people: {n}. With a single question the score cannot be corrected.")
    else:
        text = _(
            "Answers graded by people: {n}. With {more} more (to review {red}, others {not_red}) "
            "the automatic score can be corrected by them."
        )
    return text.format(n=shortage.labels, enough=ENOUGH_GRADES, **shortage.model_dump())
