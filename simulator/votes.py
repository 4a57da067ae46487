"""Several votes of one judge on one turn: the median counts, and how far they lie apart is shown."""

from collections.abc import Sequence
from statistics import median, median_low

from pydantic import JsonValue

from simulator.core.replies import share_of
from simulator.core.types import Score

# Votes further apart than this share of the scale disagree: two grades of five.
DISAGREEMENT = 0.4


def settled(votes: Sequence[Score]) -> Score:
    """The votes as one score: the median of those that could be read, in the words of the vote nearest to it.

    `detail` has all `votes`, their `spread` on the scale, and `disagreement`; grades within the form
    (the turn judge's categories) are medians, too. Failed only when every vote failed; skipped when most
    votes that could be read found nothing to grade by.
    """
    skipped = [vote for vote in votes if vote.state == "skipped"]
    if 2 * len(skipped) > sum(vote.state != "failed" for vote in votes):
        return skipped[0]
    read = [vote for vote in votes if vote.state == "scored" and vote.raw is not None]
    if not read:
        return votes[0]
    raws = [vote.raw or 0.0 for vote in read]
    middle = median(raws)
    spoken = min(read, key=lambda vote: abs((vote.raw or 0.0) - middle))
    values = [vote.value or 0.0 for vote in read]
    told: dict[str, JsonValue] = {
        "votes": [*raws],
        "failed_votes": sum(vote.state == "failed" for vote in votes),
        "spread": max(raws) - min(raws),
        "disagreement": max(values) - min(values) >= DISAGREEMENT - 1e-9,
    }
    detail = {**spoken.detail, **_medians(read, spoken), **told}
    changes = {"raw": middle, "value": share_of(middle, spoken.scale), "detail": detail}
    return spoken.model_copy(update=changes)


def _medians(votes: Sequence[Score], spoken: Score) -> dict[str, JsonValue]:
    """The lower median of every grade in the form: no category hangs on one vote."""
    found: dict[str, JsonValue] = {}
    for key, value in spoken.detail.items():
        if isinstance(value, int) and not isinstance(value, bool):
            given = [vote.detail.get(key) for vote in votes]
            found[key] = median_low([number for number in given if isinstance(number, int)])
    return found
