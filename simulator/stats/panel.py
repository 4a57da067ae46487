"""How far several models agree on the same turns."""

from collections.abc import Iterable
from statistics import fmean

from simulator.core.types import Score
from simulator.stats.agreement import quadratic_kappa
from simulator.stats.figures import PanelAgreement


def panel_agreement(scores: Iterable[Score]) -> tuple[PanelAgreement, ...]:
    """Every further model of the panel compared with the judge's own, by model and judge."""
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
