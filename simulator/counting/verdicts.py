"""Grades by counting: relevance, groundedness, similarity, fluency; each reason says what was counted."""

from typing import NamedTuple

from pydantic import JsonValue

from simulator.core.types import Severity
from simulator.counting.disturbances import COSTS, disturbances
from simulator.counting.grades import grade_of
from simulator.text.evidence import Agreement, Reading, Support
from simulator.text.wording import percent, quoted

# From this share of its claims on that are invented an answer is at most a 3; less is less grave.
MUCH_INVENTED = 0.25
# Which part of an answer is worth quoting as not found.
WORTH_QUOTING = 0.6


class Verdict(NamedTuple):
    """What a stand-in finds: `raw` on `scale` (None: not graded), its reason, and what it was made of."""

    raw: float | None
    reason: str
    detail: dict[str, JsonValue]
    scale: tuple[float, float] = (1, 5)
    severity: Severity | None = None


def without(reading: Reading, lacking: str) -> Verdict:
    """No grade, for want of a `reference`, `passages` or `statements`."""
    return Verdict(None, reading.say(f"no_{lacking}", turn=str(reading.exhibit.turn.index)), {})


def supported_grade(support: Support) -> float:
    """The grade of what is borne out of the claims; 5 when there are none.

    A figure that is found nowhere, or much that is invented, allows at most 3; a contradiction at most 2.
    These narrow the range, so that the answers below a cap still differ.
    """
    most = 2 if support.contradicted else 3 if support.numbers else 5 - 2 * _much(support)
    return grade_of(support.claimed, "groundedness", most)


def _much(support: Support) -> float:
    return min(1.0, support.invented / MUCH_INVENTED)


def groundedness(reading: Reading) -> Verdict:
    """How far the passages of this turn hold what the answer claims; in detail the shares and what lacks."""
    support, say = reading.support, reading.say
    detail: dict[str, JsonValue] = {
        "score": round(support.score, 4),
        "claimed": round(support.claimed, 4),
        "claims": len(support.claims),
        "missing_numbers": [*reading.shown(support.numbers)],
        "contradicted": list(support.contradicted),
    }
    if not support.claims:
        asks = reading.only_asks
        return Verdict(4 if asks else 5, say("asked_back" if asks else "nothing_claimed"), detail)
    if not reading.passages:
        return Verdict(1, say("nothing_found"), detail)
    found = say("supported", share=percent(_found(reading)))
    return Verdict(supported_grade(support), say.together([found, *lacking(reading)]), detail)


def lacking(reading: Reading) -> list[str]:
    """Sentences that say what of the answer no passage bears out, the gravest first."""
    support, say = reading.support, reading.say
    worst = min(support.claims, key=lambda claim: claim.share, default=None)
    said = []
    if support.contradicted:
        said.append(say("contradicted", quote=quoted(support.contradicted[0])))
    if support.numbers:
        said.append(say("numbers", items=say.listed(reading.shown(support.numbers))))
    if worst is not None and worst.share < WORTH_QUOTING:
        said.append(say("lacking", quote=quoted(worst.text)))
    return said


def similarity(reading: Reading) -> Verdict:
    """How far the answer says what the nearest reference says. Figures and yes or no weigh most."""
    if not reading.exhibit.references:
        return without(reading, "reference")
    return Verdict(agreed_grade(reading.agreement), compared(reading), agreement_detail(reading))


def agreed_grade(found: Agreement) -> float:
    """The grade of an agreement; another amount or the opposite allows at most 2."""
    return grade_of(found.score, "similarity", 2 if found.instead or found.contradicted else 5)


def compared(reading: Reading) -> str:
    """What answer and reference have in common, and what not."""
    found, say = reading.agreement, reading.say
    if reading.refused or reading.reference_refuses:
        return say("both_refuse" if reading.refused and reading.reference_refuses else "only_one_refuses")
    return say.together([say("matched", share=percent(found.recall)), *differing(reading, found)])


def agreement_detail(reading: Reading) -> dict[str, JsonValue]:
    """The agreement with the nearest reference, and what is against it."""
    found = reading.agreement
    return {
        "score": round(found.score, 4),
        "recall": round(found.recall, 4),
        "missing_numbers": [*reading.shown(found.numbers)],
        "contradicted": list(found.contradicted),
    }


def differing(reading: Reading, found: Agreement) -> list[str]:
    """Sentences that say what differs from the reference."""
    say, said = reading.say, []
    if found.contradicted:
        said.append(say("opposite", quote=quoted(found.contradicted[0])))
    if found.numbers:
        said.append(say("wrong_numbers", items=say.listed(reading.shown(found.numbers))))
    if found.missing:
        said.append(say("unsaid", quote=quoted(found.missing[0])))
    return said


def relevance(reading: Reading) -> Verdict:
    """How far the answer, or the passage that it is taken from, takes up what was asked."""
    say = reading.say
    detail: dict[str, JsonValue] = {"score": round(reading.relevance, 4)}
    if reading.handed_over:
        return Verdict(4, say("handed_over"), detail)
    if reading.refused:
        if reading.has_contact:
            return Verdict(4, say("refused_with_contact"), detail)
        return Verdict(3, say("refused"), detail)
    if reading.only_asks:
        return Verdict(4, say("asked_back"), detail)
    reason = say("covered", share=percent(reading.covered))
    return Verdict(grade_of(reading.relevance, "relevance"), reason, detail)


def fluency(reading: Reading) -> Verdict:
    """How undisturbed it reads. Only signs that need no reading are looked for, so most texts get a 5."""
    found, say = disturbances(reading.answer, reading.language), reading.say
    cost = sum(COSTS[name] for name in found)
    detail: dict[str, JsonValue] = {"score": max(0.0, 1 - cost / 5), "signs": list(found)}
    if not found:
        return Verdict(5, say("fluent"), detail)
    named = say.listed([say.disturbance(name) for name in found])
    return Verdict(max(1, 5 - cost), say("disturbed", items=named), detail)


def _found(reading: Reading) -> float:
    """The share of the claims' words that are in the passages, before anything is taken off."""
    claims = reading.support.claims
    whole = sum(claim.weight for claim in claims)
    return sum(claim.share * claim.weight for claim in claims) / whole if whole else 1.0
