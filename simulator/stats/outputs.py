"""The outputs of JSON answers over a data set: means, shares that passed, and what was not extracted."""

from array import array
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from math import fsum
from typing import Any

from simulator.core.types import PASSED, Results, Score, Value
from simulator.stats.figures import rounded
from simulator.stats.intervals import clustered_stderr, wilson
from simulator.storage.results import conversations_with_scores

# Before the name of an output, so that one called `passed` is not taken for the whole row.
OUTPUT = "output:"


class Share(Value):
    """How many of the rows that could be told right from wrong are right, with its 95 % interval."""

    right: int
    of: int

    @property
    def value(self) -> float | None:
        """0..1; None of no row."""
        return self.right / self.of if self.of else None

    @property
    def interval(self) -> tuple[float, float] | None:
        """Between which shares it lies (Wilson, 1927)."""
        return wilson(self.right, self.of)

    def as_json(self) -> dict[str, Any]:
        """Rounded to 4 decimals."""
        ends = self.interval and [round(end, 4) for end in self.interval]
        return {"share": rounded(self.value), "interval": ends, "right": self.right, "of": self.of}


class MetricFigures(Value):
    """One judge of one output: the mean (0..1) of `n` scores of `planned`; `passed` only with a threshold.

    What the tested model failed to produce is in the mean, as 0, and counted in `not_extracted`.
    """

    name: str
    judge: str
    threshold: float | None
    mean: float | None
    stderr: float | None
    n: int
    planned: int
    failed: int
    skipped: int
    not_extracted: int
    passed: Share | None


class OutputFigures(Value):
    """One output: its judges, and the rows in which it reached all its thresholds."""

    output: str
    metrics: tuple[MetricFigures, ...]
    passed: Share | None


class OutputsFigures(Value):
    """All outputs of a run; `passed` are the rows that passed as a whole, None where nothing has a threshold.

    `missing` counts rows by what of their answer could not be extracted; `extra` the keys nobody asked for.
    """

    outputs: tuple[OutputFigures, ...]
    passed: Share | None
    failed: int
    missing: dict[str, int]
    extra: dict[str, int]

    @property
    def not_extracted(self) -> int:
        """Rows of whose answer something could not be extracted."""
        return sum(self.missing.values())

    def as_json(self) -> dict[str, Any]:
        """What `--json` shows under `outputs`, figures rounded to 4 decimals."""
        return {
            "passed": self.passed and self.passed.as_json(),
            "failed": self.failed,
            "not_extracted": self.missing,
            "extra": self.extra,
            "outputs": {each.output: _output_json(each) for each in self.outputs},
        }


def outputs_of(results: Results) -> OutputsFigures | None:
    """The figures of a run's outputs, read in one pass; None where answers were graded as a whole."""
    if not any("." in judge for judge in results.scores.judges):
        return None
    found = _OutputTotals()
    for conversation, by_turn in conversations_with_scores(results):
        for scores in by_turn.values():
            found.add(conversation.case.id, scores.values())
    if not found.metrics:
        return None
    names = list(dict.fromkeys(output for output, _ in sorted(found.metrics)))
    return OutputsFigures(
        outputs=tuple(_output(name, found) for name in names),
        passed=found.share(PASSED),
        failed=found.failed,
        missing=dict(sorted(found.missing.items())),
        extra=dict(found.extra.most_common()),
    )


@dataclass(slots=True)
class _Metric:
    """One judge of one output, row by row: values with the cases they belong to, and counts."""

    values: "array[float]" = field(default_factory=lambda: array("d"))
    cases: list[str] = field(default_factory=list)
    thresholds: Counter[float] = field(default_factory=Counter)
    states: Counter[str] = field(default_factory=Counter)
    held: int = 0
    right: int = 0
    not_extracted: int = 0

    def add(self, case: str, score: Score) -> None:
        self.states[score.state] += 1
        limit, passed = score.detail.get("threshold"), score.detail.get("passed")
        if isinstance(limit, int | float):
            self.thresholds[float(limit)] += 1
        if score.state == "scored":
            self.values.append(score.value or 0.0)
            self.cases.append(case)
            self.held += passed is not None
            self.right += passed is True
            self.not_extracted += "not_extracted" in score.detail


@dataclass(slots=True)
class _OutputTotals:
    """All outputs; `rows` are the rows that an output passed in, and those that passed as a whole."""

    metrics: dict[tuple[str, str], _Metric] = field(default_factory=dict)
    rows: dict[str, list[int]] = field(default_factory=dict)
    failed: int = 0
    missing: Counter[str] = field(default_factory=Counter)
    extra: Counter[str] = field(default_factory=Counter)

    def add(self, case: str, scores: Iterable[Score]) -> None:
        """One row; what is missing of its answer counts once, and without any JSON all of it is."""
        passed: dict[str, bool] = {}
        missing = ""
        for score in scores:
            output = score.detail.get("output")
            if isinstance(output, str):
                self.metrics.setdefault((output, score.judge), _Metric()).add(case, score)
                missing = str(score.detail.get("not_extracted", missing))
                if "@" not in score.judge and (held := score.detail.get("passed")) is not None:
                    passed[output] = passed.get(output, True) and bool(held)
            elif score.judge == PASSED:
                self._verdict(score)
        self.missing.update([missing] if missing else [])
        for output, right in passed.items():
            self._count(f"{OUTPUT}{output}", right)

    def _verdict(self, score: Score) -> None:
        self.failed += score.state == "failed"
        self.extra.update(_texts(score.detail.get("extra")))
        if score.state == "scored":
            self._count(PASSED, score.value == 1)

    def _count(self, key: str, right: bool) -> None:
        counts = self.rows.setdefault(key, [0, 0])
        counts[0] += right
        counts[1] += 1

    def share(self, key: str) -> Share | None:
        """Of the rows that could be told right from wrong."""
        return Share(right=self.rows[key][0], of=self.rows[key][1]) if key in self.rows else None


def _output(output: str, found: _OutputTotals) -> OutputFigures:
    own = {judge: each for (name, judge), each in found.metrics.items() if name == output}
    return OutputFigures(
        output=output,
        metrics=tuple(_metric(output, judge, each) for judge, each in own.items()),
        passed=found.share(f"{OUTPUT}{output}"),
    )


def _metric(output: str, judge: str, found: _Metric) -> MetricFigures:
    values = found.values
    return MetricFigures(
        name=judge,
        judge=judge.removeprefix(f"{output}."),
        threshold=found.thresholds.most_common(1)[0][0] if found.thresholds else None,
        mean=fsum(values) / len(values) if values else None,
        stderr=clustered_stderr(values, found.cases),
        n=len(values),
        planned=found.states.total(),
        failed=found.states["failed"],
        skipped=found.states["skipped"],
        not_extracted=found.not_extracted,
        passed=Share(right=found.right, of=found.held) if found.thresholds else None,
    )


def _texts(value: object) -> list[str]:
    return [str(each) for each in value] if isinstance(value, list) else []


def _output_json(found: OutputFigures) -> dict[str, Any]:
    judges = {
        each.judge: {
            "mean": rounded(each.mean),
            "stderr": rounded(each.stderr),
            **each.model_dump(include={"n", "planned", "failed", "skipped", "not_extracted", "threshold"}),
            "passed": each.passed and each.passed.as_json(),
        }
        for each in found.metrics
    }
    return {"passed": found.passed and found.passed.as_json(), "judges": judges}
