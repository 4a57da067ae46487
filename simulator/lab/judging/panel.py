"""How far further models of the panel agree with the judge's own model (--panel)."""

from collections.abc import Iterable, Iterator
from statistics import fmean

from simulator.core.document import Line
from simulator.core.messages import _
from simulator.core.titles import title
from simulator.core.types import Results, Score, Value
from simulator.lab.judging.agreement import quadratic_kappa


class PanelAgreement(Value):
    """A further model of the panel beside the judge's own, on the `n` turns that both graded by one rubric.

    `kappa` is quadratically weighted; `shift` is how much more (0..1) the further model gives on average.
    """

    judge: str
    model: str
    n: int
    kappa: float | None
    shift: float


def panel_agreement(scores: Iterable[Score]) -> tuple[PanelAgreement, ...]:
    """Every further model of the panel compared with the judge's own, by model and judge.

    The grades of a further model are filed under `JUDGE@MODEL` (`turn@gpt-4.1`). Grades by rule are left
    out: both models would have the same, and agreement would look better than it is.
    """
    graded: dict[str, dict[tuple[str, int], Score]] = {}
    for score in scores:
        if score.state == "scored" and not score.by_rule:
            graded.setdefault(score.judge, {})[score.conversation, score.turn] = score
    agreements = []
    for name in graded:
        judge, beside, model = name.partition("@")
        both = [key for key in graded[name] if key in graded.get(judge, {})] if beside else []
        if both:
            grades = [graded[judge][key].value or 0.0 for key in both]
            other = [graded[name][key].value or 0.0 for key in both]
            kappa, shift = quadratic_kappa(grades, other), fmean(other) - fmean(grades)
            agreements.append(PanelAgreement(judge=judge, model=model, n=len(both), kappa=kappa, shift=shift))
    return tuple(sorted(agreements, key=lambda pair: (pair.model, pair.judge)))


def remarks(results: Results) -> Iterator[Line]:
    """A line for each judge and further model; none where only the judge's own model graded."""
    is_asked = any("@" in name for name in results.scores.judges)
    for pair in panel_agreement(results.scores) if is_asked else ():
        text = _(
            "{judge} was graded by {model}, too ({n}): agreement (weighted kappa) {kappa}, mean differs by"
            " {shift} points.",
            n=pair.n,
            judge=title("judge", pair.judge),
            model=pair.model,
            kappa="–" if pair.kappa is None else f"{pair.kappa:.2f}",
            shift=f"{100 * pair.shift:+.0f}",
        )
        yield Line(text, "soft")
