"""The outputs of JSON answers over a data set: means, shares that passed, and what was not extracted.

A metric file (docs/lab/thresholds.md) splits an answer such as {"method": "GET", "path": "/users"} into
outputs, each with judges of its own. outputs.py grades them; their scores are named `OUTPUT.JUDGE`, and their
detail says the output, the threshold and whether it was reached. The judge `passed` grades the whole row: 1
where every output reached its thresholds. Here these scores are only counted, in one pass over the run.

    method.em 1 (passed), path.rougeL 0.8 (threshold 0.9, missed) -> passed 0
"""

from array import array
from collections import Counter
from dataclasses import dataclass, field
from math import fsum
from typing import Any

from simulator.core.types import PASSED, Results, Score, Value
from simulator.results.figures import rounded
from simulator.results.intervals import clustered_stderr, wilson
from simulator.storage.results import conversations_with_scores


class PassedShare(Value):
    """How many of the rows that could be told right from wrong are right, with its 95 % interval.

    Rows are taken for independent, which those of a data set are.
    """

    right: int
    of: int

    @property
    def value(self) -> float | None:
        """0..1; None of no row."""
        return self.right / self.of if self.of else None

    @property
    def interval(self) -> tuple[float, float] | None:
        """Between which shares it lies (Wilson, 1927); None of no row."""
        return wilson(self.right, self.of)

    def as_json(self) -> dict[str, Any]:
        """Rounded to 4 decimals."""
        ends = self.interval and [round(end, 4) for end in self.interval]
        return {"share": rounded(self.value), "interval": ends, "right": self.right, "of": self.of}


class MetricFigures(Value):
    """One judge of one output: the mean (0..1) of `n` scores of `planned`; `passed` only with a threshold.

    What the tested model failed to produce is in the mean, as 0, and counted in `not_extracted`. `name` is
    `path.rougeL`, `judge` the part after the output. `failed` and `skipped` rows are in no mean. `stderr`
    draws cases, None under two of them.
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
    passed: PassedShare | None

    def as_json(self) -> dict[str, Any]:
        """Its figures, rounded to 4 decimals."""
        figures: dict[str, Any] = rounded(self.model_dump(exclude={"name", "judge", "passed"}))
        return figures | {"passed": self.passed and self.passed.as_json()}


class OutputFigures(Value):
    """One output: its judges, and the rows in which it reached all its thresholds."""

    output: str
    metrics: tuple[MetricFigures, ...]
    passed: PassedShare | None


class OutputsFigures(Value):
    """All outputs of a run; `passed` are the rows that passed as a whole, None where nothing has a threshold.

    `missing` counts rows by what of their answer could not be extracted.
    What can be missing is `json`, no JSON object at all, or `key`, an object without that key. `failed`
    counts rows that are neither passed nor missed, because a judge failed on them.
    """

    outputs: tuple[OutputFigures, ...]
    passed: PassedShare | None
    failed: int
    missing: dict[str, int]

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
            "outputs": {
                output.output: {
                    "passed": output.passed and output.passed.as_json(),
                    "judges": {metric.judge: metric.as_json() for metric in output.metrics},
                }
                for output in self.outputs
            },
        }


@dataclass(slots=True)
class _Metric:
    """One judge of one output, row by row: values with the cases they belong to, and counts."""

    values: "array[float]" = field(default_factory=lambda: array("d"))
    cases: list[str] = field(default_factory=list)
    thresholds: Counter[float] = field(default_factory=Counter)
    counts: Counter[str] = field(default_factory=Counter)

    def add(self, case: str, score: Score) -> None:
        """One score; what it says of a threshold and of extraction counts where it was graded."""
        self.counts[score.state] += 1
        # The file may have been edited between two gradings of a run: the commonest threshold is shown.
        limit, passed = score.detail.get("threshold"), score.detail.get("passed")
        if isinstance(limit, int | float):
            self.thresholds[float(limit)] += 1
        if score.state == "scored":
            self.values.append(score.value or 0.0)
            self.cases.append(case)
            lacking = "not_extracted" in score.detail
            self.counts.update(held=passed is not None, right=passed is True, not_extracted=lacking)

    def figures(self, output: str, judge: str) -> MetricFigures:
        """Its mean, and the share of rows that reached the commonest threshold."""
        values, counts = self.values, self.counts
        return MetricFigures(
            name=judge,
            judge=judge.removeprefix(f"{output}."),
            threshold=self.thresholds.most_common(1)[0][0] if self.thresholds else None,
            mean=fsum(values) / len(values) if values else None,
            stderr=clustered_stderr(values, self.cases),
            n=len(values),
            planned=counts["scored"] + counts["failed"] + counts["skipped"],
            **{key: counts[key] for key in ("failed", "skipped", "not_extracted")},
            passed=PassedShare(right=counts["right"], of=counts["held"]) if self.thresholds else None,
        )


def outputs_of(results: Results) -> OutputsFigures | None:
    """The figures of a run's outputs, read in one pass; None where answers were graded as a whole."""
    # A name with a dot is a judge of one output; without any the run has none, and is not read.
    has_outputs = any("." in judge for judge in results.scores.judges)
    metrics: dict[tuple[str, str], _Metric] = {}
    # Rows that passed (True) or missed: those of each output, and under no name whole rows.
    verdicts: dict[str | None, Counter[bool]] = {}
    missing, failed = Counter[str](), 0
    for conversation, by_turn in conversations_with_scores(results) if has_outputs else ():
        for scores in by_turn.values():
            # One row, whose outputs and whole (None) have their verdicts; an output passes by all its judges.
            passed: dict[str | None, bool] = {}
            lacking = ""
            for score in scores.values():
                output, verdict = score.detail.get("output"), score.detail.get("passed")
                # `JUDGE@MODEL` is a further model of the panel: it is shown, and decides nothing.
                if isinstance(output, str):
                    metrics.setdefault((output, score.judge), _Metric()).add(conversation.case.id, score)
                    lacking = str(score.detail.get("not_extracted", lacking))
                    if "@" not in score.judge and verdict is not None:
                        passed[output] = passed.get(output, True) and bool(verdict)
                elif score.judge == PASSED:
                    failed += score.state == "failed"
                    if score.state == "scored":
                        passed[None] = score.value == 1
            # What is missing of an answer counts once, and without any JSON all of it is.
            missing[lacking] += 1
            for name, held in passed.items():
                verdicts.setdefault(name, Counter())[held] += 1
    if not metrics:
        return None
    # Rows that lacked nothing.
    missing.pop("", None)
    shares = {name: PassedShare(right=held[True], of=held.total()) for name, held in verdicts.items()}
    return OutputsFigures(
        outputs=tuple(
            OutputFigures(
                output=name,
                metrics=tuple(
                    m.figures(name, judge) for (output, judge), m in metrics.items() if output == name
                ),
                passed=shares.get(name),
            )
            # By name, so that tables of two runs stand side by side.
            for name in sorted({output for output, _judge in metrics})
        ),
        passed=shares.get(None),
        failed=failed,
        missing=dict(sorted(missing.items())),
    )
