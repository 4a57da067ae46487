"""Two answers compared without a model: by what their words share with reference, passages and question.

It reads nothing. Which answer stands first cannot matter to it, and length is not measured. Where there is
neither reference nor passages it is hardly better than chance.
"""

from typing import NamedTuple

from simulator.core.types import GradingContext
from simulator.grading.lexical import turn
from simulator.pairwise.outcome import Outcome, Verdict, outcome
from simulator.pairwise.pairs import Pair
from simulator.pairwise.words import WORDS
from simulator.text.evidence import Reading, content_units, share, topic_units

# What differs by less is a tie.
LEVEL = 0.02
# How much the question counts beside the passages: enough that a faithful quotation of the wrong one loses.
TAKES_UP = 0.25


class Merit(NamedTuple):
    """How good (0..1) an answer looks, and the shares (0..1) that this was made of, by name."""

    value: float
    parts: tuple[tuple[str, float], ...]


def merit(exhibit: GradingContext) -> Merit:
    """By its reference and passages; without a reference by passages and question, or by the question alone.

    Where a right answer declines or comforts, by the rules of the turn judge's stand-in.
    """
    reading = Reading(exhibit)
    if reading.expected != "answer":
        score = turn(reading).detail["score"]
        return _mean(("conduct", float(score) if isinstance(score, (int, float)) else 0.0, 1))
    if exhibit.references and reading.passages:
        return _mean(("agreement", reading.agreement.score, 1), ("support", _supported(reading), 1))
    if exhibit.references:
        return _mean(("agreement", reading.agreement.score, 1))
    if reading.passages:
        return _mean(("support", _supported(reading), 1), ("question", reading.covered, TAKES_UP))
    return _mean(("question", shared(exhibit.turn.user, exhibit.turn.answer.text), 1))


def shared(question: str, answer: str) -> float:
    """The F1 (0..1) of what question and answer have in common by content: more words alone gain nothing."""
    recall = share(topic_units(question), content_units(answer))
    precision = share(topic_units(answer), content_units(question))
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


def _supported(reading: Reading) -> float:
    """The share (0..1) of what is claimed that the passages bear out; of every sentence where nothing is."""
    found = reading.support
    return found.claimed if found.claims else found.score


def _mean(*weighed: tuple[str, float, float]) -> Merit:
    whole = sum(weight for _, _, weight in weighed)
    value = sum(share * weight for _, share, weight in weighed) / whole
    return Merit(value, tuple((name, share) for name, share, _ in weighed))


def preferred(one: Merit, other: Merit) -> Verdict:
    """The better one; a tie when they are about level."""
    difference = other.value - one.value
    return "tie" if abs(difference) < LEVEL else "b" if difference > 0 else "a"


class StandInJudging:
    """Plays the judge of pairs by counting."""

    async def __call__(self, pair: Pair) -> Outcome:
        """The same verdict in either order, by construction: it casts no ballots."""
        one, other = merit(pair.one), merit(pair.other)
        margin, reason = abs(other.value - one.value), _reason(pair, one, other)
        return outcome(pair, "stand_in", preferred(one, other), reason=reason, margin=margin)


def _reason(pair: Pair, one: Merit, other: Merit) -> str:
    """The shares of both, answer 1 being that of the first run."""
    language = pair.one.case.language
    names = dict.fromkeys(name for name, _ in (*one.parts, *other.parts))
    parts = []
    for name in names:
        shares = [dict(each.parts).get(name) for each in (one, other)]
        told = ["-" if share is None else f"{100 * share:.0f}%" for share in shares]
        parts.append(WORDS(language, f"part_{name}", one=told[0], two=told[1]))
    return WORDS(language, "counted", parts=WORDS(language, "comma").join(parts))
