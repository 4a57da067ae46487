"""The figures of a calibration, as frozen values: what `measure` gives, what is stored and shown."""

from typing import Any

from simulator.analysis.thresholds import Threshold
from simulator.core.types import Value


class Bounds(Value):
    """A figure and its 95 % interval; the interval is missing where there is only one group to draw."""

    value: float | None = None
    low: float | None = None
    high: float | None = None


class Scorer(Value):
    """How one scorer's order agrees with people's: rho, tau-b (-1..1) and AUROC (0..1)."""

    name: str
    n: int
    spearman: Bounds
    kendall: float | None
    auroc: Bounds


class Humans(Value):
    """How people agree: each with the mean of the others, and kappa over pairs who met."""

    scorer: Scorer
    kappa: float | None
    pairs: int
    annotators: int


class Part(Value):
    """The agreement within one domain."""

    name: str
    n: int
    spearman: float | None
    auroc: float | None
    leniency: float


class Histogram(Value):
    """Bars of (grade, rows); the commonest grade and its share; `poor` when it is too common."""

    bars: tuple[tuple[float, int], ...]
    commonest: float
    share: float
    poor: bool


class Figures(Value):
    """A judge measured against people on n rows.

    `leniency` is the mean of judge less people on a common scale 0..1; `good` counts the rows that people
    call good, `levels` are those of the label on which kappa is taken.
    """

    n: int
    groups: int
    good: int
    scale: tuple[float, float]
    levels: tuple[float, ...]
    good_from: float
    judge: Scorer
    kappa: Bounds
    leniency: Bounds
    judge_mean: float
    people_mean: float
    histogram: Histogram
    threshold: Threshold | None
    wanted_precision: float
    precise: Threshold | None
    scorers: tuple[Scorer, ...]
    humans: Humans | None
    parts: tuple[Part, ...]
    best_trivial: str = ""
    advantage: Bounds | None = None

    @property
    def one_kind(self) -> bool:
        """Whether people call all rows good, or none."""
        return self.good in (0, self.n)

    def lowest(self, enough: int) -> Part | None:
        """The domain of at least `enough` rows where the judge agrees least: by AUROC, or else by rho."""
        known = [part for part in self.parts if part.n >= enough and _agreement(part) is not None]
        return min(known, key=lambda part: _agreement(part) or 0.0) if len(known) > 1 else None


def _agreement(part: Part) -> float | None:
    return part.auroc if part.auroc is not None else part.spearman


def figures_json(figures: Figures) -> dict[str, Any]:
    """The figures under the names that others rely on, rounded to 4 decimals."""
    judge = figures.judge
    shown: dict[str, Any] = {
        "n": figures.n,
        "spearman": judge.spearman.model_dump(),
        "kendall": judge.kendall,
        "kappa": figures.kappa.value,
        "auroc": judge.auroc.value,
        "threshold": figures.threshold.grade if figures.threshold else None,
        "baselines": {scorer.name: _scorer_json(scorer) for scorer in figures.scorers},
        "humans": _humans_json(figures.humans),
        "intervals": {"auroc": _pair(judge.auroc), "kappa": _pair(figures.kappa)},
        "leniency": figures.leniency.model_dump(),
        "means": {"judge": figures.judge_mean, "people": figures.people_mean},
        "good": {"from": figures.good_from, "rows": figures.good},
        "levels": list(figures.levels),
        "groups": figures.groups,
        "thresholds": {
            "balanced": figures.threshold and figures.threshold.model_dump(),
            "precision": figures.precise and figures.precise.model_dump(),
            "wanted_precision": figures.wanted_precision,
        },
        "histogram": {f"{grade:g}": rows for grade, rows in figures.histogram.bars},
        "commonest": {"grade": figures.histogram.commonest, "share": figures.histogram.share},
        "poor_discrimination": figures.histogram.poor,
        "advantage": figures.advantage
        and {"over": figures.best_trivial, "spearman": figures.advantage.model_dump()},
        "parts": {part.name: part.model_dump(exclude={"name"}) for part in figures.parts},
    }
    return rounded(shown)  # type: ignore[no-any-return]


def rounded(value: Any) -> Any:
    """Every float within, to 4 decimals."""
    if isinstance(value, float):
        return round(value, 4)
    if isinstance(value, dict):
        return {key: rounded(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [rounded(item) for item in value]
    return value


def _pair(bounds: Bounds) -> list[float] | None:
    return None if bounds.low is None or bounds.high is None else [bounds.low, bounds.high]


def _scorer_json(scorer: Scorer) -> dict[str, Any]:
    return {
        "n": scorer.n,
        "spearman": scorer.spearman.model_dump(),
        "kendall": scorer.kendall,
        "auroc": scorer.auroc.value,
        "auroc_interval": _pair(scorer.auroc),
    }


def _humans_json(humans: Humans | None) -> dict[str, Any] | None:
    if humans is None:
        return None
    shown = _scorer_json(humans.scorer)
    return shown | {"kappa": humans.kappa, "pairs": humans.pairs, "annotators": humans.annotators}
