"""Claim by claim: what the passages say of each part of an answer, and which passage says it."""

from collections.abc import Iterable
from typing import Literal, NamedTuple

from pydantic import JsonValue

from simulator.core.types import Passage, Severity
from simulator.counting.grades import grades
from simulator.counting.verdicts import Verdict
from simulator.text import acts
from simulator.text.evidence import (
    CJK_TEXT,
    Finding,
    PassageContents,
    Reading,
    content_units,
    count_units,
    finding,
    known_of,
    mass,
    share,
    topic_units,
)
from simulator.text.numerals import Quantity, quantities
from simulator.text.segments import clauses, sentences
from simulator.text.wording import quoted

# A clause of less weight than this is no claim of its own: it stays with the one before it.
OWN_CLAIM = 24.0
# An answer beyond this many claims is cut: each is compared with each passage.
MOST_CLAIMS, MOST_PASSAGES = 40, 40

Outcome = Literal["supported", "contradicted", "not_found"]


class Checked(NamedTuple):
    """A claim, the passage nearest to it, if any, and what the passages say of it."""

    text: str
    passage: str
    outcome: Outcome


def claims(reading: Reading) -> Verdict:
    """The share (0..1) of the claims that the passages bear out; 1 when nothing is claimed."""
    checked = check(reading)
    wrong = [each for each in checked if each.outcome != "supported"]
    outcomes = {each.outcome for each in checked}
    severity: Severity | None = (
        "major" if "contradicted" in outcomes else "moderate" if "not_found" in outcomes else None
    )
    told: list[JsonValue] = [
        {"claim": each.text, "passage": each.passage, "verdict": each.outcome} for each in checked
    ]
    raw = 1 - len(wrong) / len(checked) if checked else 1.0
    detail: dict[str, JsonValue] = {"claims": told, "score": round(reading.support.claimed, 4)}
    return Verdict(raw, _reason(reading, checked), detail, (0, 1), severity)


def check(reading: Reading) -> list[Checked]:
    """The claims of an answer in their order, each held against this turn's passages."""
    passages = reading.exhibit.turn.answer.passages[:MOST_PASSAGES]
    told = quantities(reading.exhibit.turn.user)
    everything = _with(known_of(tuple(passage.text for passage in passages)), told)
    return [_checked(text, passages, everything, told) for text in split(reading)]


def split(reading: Reading) -> list[str]:
    """What the answer states: its sentences, and their clauses where these say something of their own."""
    found: list[str] = []
    for sentence in acts.claims(reading.answer, reading.language):
        found += _clauses(sentence)
    return found[:MOST_CLAIMS]


def _clauses(sentence: str) -> list[str]:
    """A light clause at the start goes with the next one, any other with the one before it."""
    groups: list[list[str]] = []
    heavy = 0.0
    for clause in clauses(sentence):
        weight = mass(count_units(clause))
        if groups and min(weight, heavy) < OWN_CLAIM:
            groups[-1].append(clause)
            heavy += weight
        else:
            groups.append([clause])
            heavy = weight
    return [("" if CJK_TEXT.search(sentence) else " ").join(group) for group in groups]


def _checked(
    text: str, passages: Iterable[Passage], everything: PassageContents, told: Iterable[Quantity]
) -> Checked:
    each = [(passage, finding(text, _with(known_of((passage.text,)), told))) for passage in passages]
    if not each:
        return Checked(text, "", "not_found")
    nearest, found = max(each, key=lambda pair: pair[1].support)
    whole = finding(text, everything)
    reaches = grades().reaches
    if (found.contradicted and whole.contradicted) or _other_figure(text, found, nearest):
        return Checked(text, nearest.id, "contradicted")
    if reaches(whole.share, "supported") and not whole.numbers and not whole.contradicted:
        return Checked(text, nearest.id, "supported")
    return Checked(text, "", "not_found")


def _other_figure(text: str, found: Finding, nearest: Passage) -> bool:
    """Whether a sentence that is else alike has another amount in the unit of one that the passage lacks."""
    units = {number.unit for number in found.numbers} - {""}
    if not units:
        return False
    wanted, said, reaches = topic_units(text), quantities(text), grades().reaches
    return any(
        units & {number.unit for number in quantities(sentence) - said}
        and reaches(share(wanted, content_units(sentence)), "near")
        for sentence in sentences(nearest.text)
    )


def _with(known: PassageContents, numbers: Iterable[Quantity]) -> PassageContents:
    """What is known, and the numbers that the customer gave."""
    return known._replace(numbers=known.numbers | frozenset(numbers))


def _reason(reading: Reading, checked: list[Checked]) -> str:
    say = reading.say
    if not checked:
        return say("nothing_claimed")
    borne_out = sum(each.outcome == "supported" for each in checked)
    said = [say("claims", found=str(borne_out), count=str(len(checked)))]
    for outcome, key in (("contradicted", "contradicted"), ("not_found", "lacking")):
        first = next((each.text for each in checked if each.outcome == outcome), None)
        said += [say(key, quote=quoted(first))] if first else []
    return say.together(said)
