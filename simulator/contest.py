"""Contest scoring: five metrics from 1 to 5 and their total, printed as RAG contests print them."""

from collections.abc import Iterable, Iterator
from math import fsum
from typing import Any

from pydantic import Field

from simulator.core.errors import InputError
from simulator.core.settings import Settings
from simulator.core.shelves import CONTEST_NAMES, judge_name
from simulator.core.types import Results, Score, Spending, Value

HEAD = "***** Result *****"
_NAME_OF = {judge: name for name, judge in CONTEST_NAMES.items()}


class Metric(Value):
    """One metric: its mean grade (1..5) over `n` of the `planned` rows, and `why` others were not graded."""

    name: str
    judge: str
    mean: float | None
    n: int
    planned: int
    why: str = ""


class Contest(Value):
    """The metrics that were asked for, in the contest's order, and what their judges used."""

    metrics: tuple[Metric, ...]
    cost: dict[str, Spending] = Field(default={})

    @property
    def average_score(self) -> dict[str, float | None]:
        """The means by name, rounded to 4 decimals; None for a metric of which nothing could be graded."""
        return {each.name: None if each.mean is None else round(each.mean, 4) for each in self.metrics}

    @property
    def total_score(self) -> float | None:
        """The sum of the means there are; None where there are none."""
        means = [each.mean for each in self.metrics if each.mean is not None]
        return fsum(means) if means else None

    def as_json(self) -> dict[str, Any]:
        """What is printed, and calls, tokens and dollars by metric."""
        total = self.total_score
        spent = {name: each.model_dump() for name, each in self.cost.items()}
        return {
            "average_score": self.average_score,
            "total_score": None if total is None else round(total, 3),
            "n": {each.name: each.n for each in self.metrics},
            "cost": spent,
        }


def contest_settings(settings: Settings) -> Settings:
    """Who grades, and each metric in a call of its own, where nobody says otherwise.

    Judges may be called as the contest calls them. Raises InputError where none of its metrics is among them.
    """
    if settings.scoring != "contest":
        return settings
    if settings.outputs:
        msg = "--scoring contest grades whole answers: leave out --outputs, or leave out --scoring."
        raise InputError(msg)
    given = settings.judges if "judges" in settings.model_fields_set else tuple(CONTEST_NAMES)
    judges = tuple(dict.fromkeys(CONTEST_NAMES.get(name, name) for name in given))
    if not set(map(judge_name, judges)) & set(_NAME_OF):
        msg = f"--scoring contest adds up {', '.join(CONTEST_NAMES)}: name at least one of them in --judges."
        raise InputError(msg)
    judging = settings.judging if "judging" in settings.model_fields_set else "separate"
    return settings.model_copy(update={"judges": judges, "judging": judging})


def is_contest(results: Results) -> bool:
    """Whether a run was scored so."""
    return results.run.settings.get("scoring") == "contest"


def contest(results: Results) -> Contest:
    """The contest's figures of a run: the metrics that its settings name."""
    named: Any = results.run.settings.get("judges") or ()
    judges = {judge_name(str(name)) for name in named}
    planned = sum(len(talk.turns) for talk in results.conversations)
    by_judge: dict[str, list[Score]] = {judge: [] for judge in _NAME_OF if judge in judges}
    for score in results.scores:
        if score.judge in by_judge:
            by_judge[score.judge].append(score)
    return Contest(
        metrics=tuple(_metric(judge, scores, planned) for judge, scores in by_judge.items()),
        cost={metric_names(each): results.judging[each] for each in sorted(results.judging, key=_order)},
    )


def _order(judges: str) -> int:
    """Where a call's first judge stands among the metrics; others follow them."""
    return next((at for at, judge in enumerate(_NAME_OF) if judge in judges.split(",")), len(_NAME_OF))


def _metric(judge: str, scores: Iterable[Score], planned: int) -> Metric:
    every = list(scores)
    grades = [score.raw for score in every if score.state == "scored" and score.raw is not None]
    why = next((score.reason for score in every if score.state != "scored"), "")
    mean = fsum(grades) / len(grades) if grades else None
    return Metric(name=_NAME_OF[judge], judge=judge, mean=mean, n=len(grades), planned=planned, why=why)


def metric_names(judges: str) -> str:
    """What the contest calls the judges of one call, which are separated by commas."""
    return ",".join(_NAME_OF.get(judge, judge) for judge in judges.split(","))


def printed(found: Contest) -> str:
    """The result as contests print it, without a line break at its end."""
    total = found.total_score
    shown = "None" if total is None else f"{total:.3f}"
    return f"{HEAD}\naverage_score: {found.average_score}\ntotal_score: {shown}"


def not_graded(found: Contest) -> Iterator[str]:
    """A line for each metric of which rows could not be graded, with the first reason."""
    for each in found.metrics:
        if each.n < each.planned:
            count = f"{each.n:,} of {each.planned:,} rows graded" if each.n else "nothing could be graded"
            why = f" ({' '.join(each.why.split())})" if each.why else ""
            yield (
                f"{each.name}: {count}{why}; the mean is of the others."
                if each.n
                else f"{each.name}: {count}{why}."
            )
