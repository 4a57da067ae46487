"""Do the judges agree with themselves, and with each other? Votes of one model, and models side by side."""

from collections.abc import Iterable
from statistics import fmean

from simulator.core.types import Score, Value


class PanelAgreement(Value):
    """Two models that graded the same turns by one rubric.

    `kappa` is quadratically weighted; `shift` is how much more (0..1) the further model gives on average.
    """

    judge: str
    model: str
    n: int
    kappa: float | None
    shift: float


class VoteAgreement(Value):
    """Several votes of one judge on the same turns: on how many they lay far apart."""

    judge: str
    n: int
    votes: int
    disagreed: int
    mean_spread: float


def side_by_side(scores: Iterable[Score]) -> tuple[PanelAgreement, ...]:
    """Every further model against the judge's own, on the turns that both have graded."""
    from simulator.analysis.agreement import quadratic_kappa

    graded: dict[str, dict[tuple[str, int], Score]] = {}
    for score in scores:
        if score.state == "scored" and not score.by_rule:
            graded.setdefault(score.judge, {})[score.conversation, score.turn] = score
    found = []
    for name in graded:
        judge, beside, model = name.partition("@")
        both = [key for key in graded[name] if key in graded.get(judge, {})] if beside else []
        if both:
            own = [graded[judge][key].value or 0.0 for key in both]
            other = [graded[name][key].value or 0.0 for key in both]
            kappa, shift = quadratic_kappa(own, other), fmean(other) - fmean(own)
            found.append(PanelAgreement(judge=judge, model=model, n=len(both), kappa=kappa, shift=shift))
    return tuple(sorted(found, key=lambda pair: (pair.model, pair.judge)))


def votes(scores: Iterable[Score]) -> tuple[VoteAgreement, ...]:
    """How far the votes of each judge lay apart, where there were several."""
    voted: dict[str, list[Score]] = {}
    for score in scores:
        if isinstance(score.detail.get("votes"), list):
            voted.setdefault(score.judge, []).append(score)
    return tuple(_vote(judge, found) for judge, found in sorted(voted.items()))


def _vote(judge: str, scores: list[Score]) -> VoteAgreement:
    ballots = [ballot for score in scores if isinstance(ballot := score.detail["votes"], list)]
    spreads = [spread for score in scores if isinstance(spread := score.detail.get("spread"), int | float)]
    return VoteAgreement(
        judge=judge,
        n=len(scores),
        votes=max(map(len, ballots)),
        disagreed=sum(bool(score.detail.get("disagreement")) for score in scores),
        mean_spread=fmean(spreads) if spreads else 0.0,
    )
