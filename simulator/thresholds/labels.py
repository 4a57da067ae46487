"""Labelled answers graded by the judges that need a threshold."""

import asyncio
from collections.abc import Callable, Iterable
from typing import NamedTuple

from simulator.calibration.comparison import domain_of
from simulator.core.errors import InputError
from simulator.core.roles import endpoints
from simulator.core.settings import Settings
from simulator.core.types import GradingContext, Score, Spending
from simulator.grading import outputs as splitting
from simulator.grading.judge import Panel
from simulator.grading.metric_file import Outputs
from simulator.grading.outputs import OutputJudges
from simulator.models.pricing import Ledger, together
from simulator.runner.context import RunContext
from simulator.runner.labelled import (
    Dimension,
    LabelledAnswer,
    dimension,
    exhibit_of,
    forecast,
    mark_between_references,
    read_labels,
    sample,
    worst_of,
)
from simulator.thresholds.judged import Evidence, Judged, measured


class Wish(NamedTuple):
    """Which answers: the file, the label that says right or wrong, what tells domains apart, how many."""

    file: str
    label: str | None = None
    good: str | None = None
    by: str | None = None
    limit: int | None = None


class LabelledAnswers:
    """Made before anything is paid, so that whatever is wrong with file, label or judges shows here."""

    def __init__(self, wish: Wish, outputs: Outputs, settings: Settings) -> None:
        """Reads labels and judges; connects to nothing yet."""
        self.file, self.outputs = read_labels(wish.file), outputs
        self.domain = domain_of(self.file, wish.by)
        self.label = dimension(self.file, self._name(wish.label), wish.good)
        self.labels = {self.label.name: self.label} | self._of_outputs(wish)
        labelled = [row for row in self.file.rows if any(each.said(row) for each in self.labels.values())]
        self.rows = sample(labelled, wish.limit, settings.seed)
        self.unlabelled = len(self.file.rows) - len(labelled)
        self.judges = OutputJudges(outputs)
        plain = settings.model_copy(update={"judges": self.judges.names_given, "judging": "separate"})
        self.stage = RunContext(plain, endpoints(settings), (), Ledger.of(settings))
        self.panel = self.judges.panel(self.stage.grading.judgings, ())
        apart = mark_between_references(self.file.rows)
        self.exhibits = [exhibit_of(row, apart) for row in self.rows]

    def _name(self, given: str | None) -> str:
        if given is not None:
            return given
        plain = [name for name in self.file.dimensions if name not in self.outputs.named]
        if len(plain) == 1 or (not plain and self.file.dimensions):
            return (plain or self.file.dimensions)[0]
        known = ", ".join(self.file.dimensions)
        msg = f"{self.file.path}: several things are labelled ({known}): name one with --label."
        raise InputError(msg)

    def _of_outputs(self, wish: Wish) -> dict[str, Dimension]:
        """Labels of single outputs: those that are called like one."""
        if wish.label is not None:
            return {}
        names = [name for name in self.file.dimensions if name in self.outputs.named]
        return {name: dimension(self.file, name, wish.good) for name in names}

    def forecast(self) -> Spending:
        """Calls, tokens and dollars at most; nothing where no model grades."""
        shown: dict[str, list[GradingContext]] = {}
        for exhibit in self.exhibits:
            for part in splitting.parts_of(self.outputs, exhibit).parts:
                for metric in part.metrics:
                    shown.setdefault(metric.judge, []).append(splitting.exhibit_of(part, exhibit))
        inner = {name: Panel(judgings) for name, (judgings, _) in self.panel.judgings_of.items()}
        return together([forecast(self.stage, inner[name], exhibits) for name, exhibits in shown.items()])

    async def evidence(self, told: Callable[[Score], None]) -> Evidence:
        """All rows graded, and every connection closed; raises what makes grading impossible."""
        try:
            graded = await self._graded(told)
        finally:
            await self.stage.close(None)
        judged = [
            each
            for row, exhibit, scores in zip(self.rows, self.exhibits, graded, strict=True)
            for each in self._judged(row, exhibit, scores)
        ]
        states = [score.state for scores in graded for score in scores]
        return Evidence(tuple(judged), self.unlabelled, states.count("skipped"), states.count("failed"))

    async def _graded(self, told: Callable[[Score], None]) -> list[list[Score]]:
        found: list[list[Score]] = [[] for _ in self.exhibits]
        waiting = iter(range(len(found)))

        async def work() -> None:
            for at in waiting:
                await asyncio.sleep(0)  # judges that never wait would keep Ctrl-C waiting
                found[at] = await self.panel.grade(self.exhibits[at])
                told(found[at][0]) if found[at] else None

        try:
            async with asyncio.TaskGroup() as tasks:
                for _ in range(min(len(found), self.stage.settings.calls)):
                    tasks.create_task(work())
        except BaseExceptionGroup as group:
            raise worst_of(group) from None
        return found

    def _judged(
        self, row: LabelledAnswer, exhibit: GradingContext, scores: Iterable[Score]
    ) -> Iterable[Judged]:
        """The row's scores with its labels; an output that is its reference is not what is wrong."""
        split = splitting.parts_of(self.outputs, exhibit).parts
        same = {part.output: splitting.is_reference(part) for part in split}
        for score in scores:
            output = score.detail.get("output")
            if not isinstance(output, str) or "@" in score.judge:
                continue
            label = self.labels.get(output, self.label)
            judge = score.judge.removeprefix(f"{output}.")
            value = measured(score, judge, same=same.get(output, False))
            if value is None or (said := label.said(row)) is None:
                continue
            right = said.mean >= label.good_from
            if right or len(split) == 1 or label is not self.label or not same.get(output, False):
                domain = row.about.get(self.domain, "") if self.domain else ""
                yield Judged(judge, output, domain, value, score.scale, right, row.group)
