"""Contest scoring: five metrics from 1 to 5 and their total, printed as RAG contests print them.

`--scoring contest` (AI Challenge) prints exactly this, and nothing else, to standard output:

    ***** Result *****
    average_score: {'gpt_relevance': 3.75, 'gpt_groundedness': 1.8, ...}
    total_score: 18.050

The names and their order are the contest's (`CONTEST_NAMES`); its scripts read both lines. Which metrics are
there, `--judges` says; a metric that is switched off is neither printed nor in the total. A mean is over the
rows that could be graded, and a line on standard error says how many could not (`ungraded_metrics`).
"""

from collections.abc import Iterable, Iterator, Mapping
from math import fsum
from typing import Any

from simulator.core.errors import InputError
from simulator.core.messages import Message, _
from simulator.core.settings import SMALL_JUDGES, Settings
from simulator.core.shelves import judge_name
from simulator.core.types import Results, Score, Value
from simulator.lab.datasets.settings import DatasetSettings

# Word for word: scripts that collect results look for it.
HEAD = "***** Result *****"
# What contests call judges, in the order in which their result is printed; all of them are grades 1..5.
CONTEST_NAMES: Mapping[str, str] = {
    "gpt_relevance": "relevance",
    "gpt_groundedness": "groundedness",
    "gpt_similarity": "similarity",
    "gpt_fluency": "fluency",
    "ada_cosine_similarity": "cosine",
}
# By judge, in the same order.
_NAME_OF = {judge: name for name, judge in CONTEST_NAMES.items()}


class ContestMetric(Value):
    """One metric: its mean grade (1..5) over `n` of the `planned` rows, and `why` others were not graded."""

    name: str
    mean: float | None
    n: int
    planned: int
    why: str = ""


class ContestResult(Value):
    """The metrics of a run in the contest's order."""

    metrics: tuple[ContestMetric, ...]

    @property
    def average_score(self) -> dict[str, float | None]:
        """The means by name, rounded to 4 decimals; None for a metric without a single grade."""
        return {
            metric.name: None if metric.mean is None else round(metric.mean, 4) for metric in self.metrics
        }

    @property
    def total_score(self) -> float | None:
        """The sum of the means; None when no metric has one."""
        means = [metric.mean for metric in self.metrics if metric.mean is not None]
        return fsum(means) if means else None

    def as_json(self) -> dict[str, Any]:
        """The printed result, with the number of graded rows."""
        total = self.total_score
        return {
            "average_score": self.average_score,
            "total_score": None if total is None else round(total, 3),
            "n": {metric.name: metric.n for metric in self.metrics},
        }


def contest_settings(settings: Settings) -> Settings:
    """The settings of a contest run: its judges, each metric in a call of its own, unless chosen otherwise.

    Nothing but its metrics is asked of a model, so no causes either. `--judges` may use the contest's names.
    Raises InputError when none of its metrics is among them.
    """
    if DatasetSettings.of(settings).scoring != "contest":
        return settings
    # Outputs have judges of their own, and no total of five metrics.
    if DatasetSettings.of(settings).outputs:
        msg = _("--scoring contest grades whole answers: leave out --outputs, or leave out --scoring.")
        raise InputError(msg)
    # What the user chose stays; only defaults are replaced. A call for each metric is how the contest grades.
    is_default = (settings.judging, settings.judges) == ("small", SMALL_JUDGES)
    is_chosen = "judges" in settings.model_fields_set and not is_default
    names = settings.judges if is_chosen else tuple(CONTEST_NAMES)
    judges = tuple(dict.fromkeys(CONTEST_NAMES.get(name, name) for name in names))
    if not set(map(judge_name, judges)) & set(_NAME_OF):
        msg = _(
            "--scoring contest adds up {judges}: name at least one of them in --judges.",
            judges=", ".join(CONTEST_NAMES),
        )
        raise InputError(msg)
    judging = settings.judging if "judging" in settings.model_fields_set else "separate"
    return settings.model_copy(update={"judges": judges, "judging": judging, "causes": "ids"})


def contest_result(results: Results) -> ContestResult:
    """The metrics that the settings of a run name, with their means."""
    # As stored: files of judges may stand among them, whose names are those of their scores.
    names: Any = results.run.settings.get("judges") or ()
    judges = {judge_name(str(name)) for name in names}
    planned, scores = results.conversations.turns, results.scores
    named = (judge for judge in _NAME_OF if judge in judges)
    return ContestResult(metrics=tuple(_metric(judge, scores.of_judge(judge), planned) for judge in named))


def printed_result(result: ContestResult) -> str:
    """The result as contests print it, a Python dict and three decimals, without a line break at its end."""
    total = "None" if result.total_score is None else f"{result.total_score:.3f}"
    return f"{HEAD}\naverage_score: {result.average_score}\ntotal_score: {total}"


def ungraded_metrics(result: ContestResult) -> Iterator[Message]:
    """A line for each metric with rows that could not be graded, with the first reason."""
    for metric in result.metrics:
        graded = _("{n} of {rows} rows graded", n=metric.n, rows=metric.planned)
        if not metric.n:
            graded = _("nothing could be graded")
        if metric.why:
            graded = _("{graded} ({why})", graded=graded, why=" ".join(metric.why.split()))
        if not metric.n and metric.planned:
            yield _("{metric}: {graded}.", metric=metric.name, graded=graded)
        elif metric.n < metric.planned:
            yield _("{metric}: {graded}; the mean is of the others.", metric=metric.name, graded=graded)


def _metric(judge: str, scores: Iterable[Score], planned: int) -> ContestMetric:
    scores = list(scores)
    # The grade of 1 to 5 itself; the program's own score is its fifth.
    grades = [score.raw for score in scores if score.state == "scored" and score.raw is not None]
    return ContestMetric(
        name=_NAME_OF[judge],
        mean=fsum(grades) / len(grades) if grades else None,
        n=len(grades),
        planned=planned,
        why=next((score.reason for score in scores if score.state != "scored"), ""),
    )
