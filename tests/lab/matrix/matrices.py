"""A matrix for tests, with every kind of cell."""

from datetime import UTC, datetime
from typing import Any

from simulator.core.types import PASSED
from simulator.lab.matrix.figures import (
    CellComparison,
    CellFigures,
    DataFigures,
    JudgeFigures,
    Labels,
    MatrixFigures,
)
from simulator.lab.matrix.plan import CellId

ID = "20261121-090400512-matrix-3f2a"
NOT_HELD: dict[str, Any] = {
    "run": "", "rows": 0, "graded_usd": None, "answers_usd": None, "answer_seconds": None,
}  # fmt: skip
WHY = "unknown prompt 'strct'. Did you mean strict?"


def judged(mean: float, stderr: float | None, **more: Any) -> JudgeFigures:
    """What a judge gave a cell of 40 rows."""
    known: dict[str, Any] = {"mean": mean, "stderr": stderr, "n": 40, "planned": 40}
    return JudgeFigures(**(known | more))


def against(verdict: Any, to: str = "faq/strict/qwen3", **more: Any) -> CellComparison:
    """A cell beside the highest one."""
    return CellComparison(verdict=verdict, to=to, rows=40, **more)


def a_cell(prompt: str, model: str, *judges: JudgeFigures, **more: Any) -> CellFigures:
    """A finished cell of the data set faq."""
    names = ("exact_match", "llm_correctness", PASSED)
    known: dict[str, Any] = {
        "cell": CellId(data="faq", prompt=prompt, model=model), "state": "finished", "rows": 40,
        "run": f"20261121-090405001-faq-{prompt}-{model}-9c1e", "answer_seconds": 0.84, "graded_usd": 0.0123,
        "answers_usd": 0.000456,
        "judges": dict(zip(names, judges, strict=False)),
    }  # fmt: skip
    return CellFigures(**(known | more))


def compared() -> MatrixFigures:
    """Three data sets: one with a best cell and one that failed, labels, and one that is not begun."""
    faq = (
        a_cell(
            "strict", "qwen3", judged(0.875, 0.053), judged(0.84, 0.03), judged(0.8, 0.064),
            against=against("best"), silent=2,
        ),
        a_cell(
            "plain", "qwen3", judged(0.55, 0.079), judged(0.83, 0.03, n=38, failed=2), judged(0.5, 0.08),
            against=against("worse", difference=-0.325), not_extracted=3, answers_usd=None,
        ),
        a_cell("strct", "qwen3", state="failed", error=WHY, **NOT_HELD),
    )  # fmt: skip
    return MatrixFigures(
        id=ID,
        created=datetime(2026, 11, 21, 9, 4, tzinfo=UTC),
        data=(
            DataFigures(
                name="faq",
                judges=("exact_match", "llm_correctness", PASSED),
                primary="exact_match",
                cells=faq,
            ),
            DataFigures(name="morality", judges=("label",), primary="label", cells=_labels(), by_f1=True),
            DataFigures(name="chat", judges=("fluency",), primary="fluency", cells=_unfinished()),
        ),
    )


def _labels() -> tuple[CellFigures, ...]:
    first = Labels(accuracy=0.9579, accuracy_stderr=0.0069, f1=0.7, f1_stderr=0.0504)
    second = Labels(accuracy=0.9299, accuracy_stderr=0.0087, f1=0.1333, f1_stderr=0.04)
    return (
        _labelled("qwen3", first, "highest", open=1),
        _labelled("gpt-5-mini", second, "no_difference", difference=-0.5667),
    )


def _labelled(model: str, labels: Labels, verdict: str, **more: Any) -> CellFigures:
    label = judged(labels.accuracy, labels.accuracy_stderr, n=856, planned=856)
    return a_cell(
        "", model, cell=CellId(data="morality", model=model), labels=labels, judges={"label": label},
        against=against(verdict, "morality/qwen3", **more),
    )  # fmt: skip


def _unfinished() -> tuple[CellFigures, ...]:
    begun = CellId(data="chat", prompt="plain", model="qwen3")
    planned = CellId(data="chat", prompt="strict", model="qwen3")
    return (
        a_cell("plain", "qwen3", cell=begun, state="open", judges={"fluency": judged(0.9, None, n=1)}),
        a_cell("strict", "qwen3", cell=planned, state="open", **NOT_HELD),
    )
