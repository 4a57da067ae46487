"""Labelled answers before a judge: graded like the turns of a run, and taken up again where it stopped."""

import asyncio
import json
import random
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

from simulator.calibration.labels import Labelled, exhibit_of
from simulator.core.errors import InputError, RehearsalError, UnknownName
from simulator.core.settings import Settings
from simulator.core.templates import fingerprint
from simulator.core.types import GradingContext, Score
from simulator.grading.judge import JudgeCall, Panel
from simulator.grading.rubric import Rubric, load_judge
from simulator.models.pricing import BudgetSpent
from simulator.stage import Stage

# Who grades.
Grader = Literal["by_model", "by_stand_in", "by_function"]

SHARE = (0.0, 1.0)
# Fields of a judge's detail that are shares (0..1), not grades on the judge's own scale.
_SHARES = frozenset({"score", "recall", "claimed", "cosine"})


class JudgeName(NamedTuple):
    """`turn.completeness`: the judge as it is looked up, and the part of its verdict that is compared."""

    judge: str
    field: str = ""

    @classmethod
    def of(cls, given: str) -> "JudgeName":
        """Only judges of the shelf have parts; a file's name keeps its dots."""
        if any(mark in given for mark in ":/\\") or given.endswith(".toml") or "." not in given:
            return cls(given)
        judge, _, field = given.partition(".")
        return cls(judge, field)

    def __str__(self) -> str:
        return f"{self.judge}.{self.field}" if self.field else self.judge


class Graded(NamedTuple):
    """A row with the judge's score."""

    row: Labelled
    score: Score


class Grade(NamedTuple):
    """The compared number of one row, on `scale`."""

    row: Labelled
    value: float
    scale: tuple[float, float]


class Sitting:
    """One judge over many rows; what is graded by a model is kept beside the result, line by line."""

    def __init__(self, stage: Stage, judge: str, partial: Path | None = None) -> None:
        """`judge` is the name its scores are filed under; `partial` is where the lines are kept."""
        self.stage, self.judge = stage, judge
        chosen = [judging for judging in stage.panel.judgings if judge in graders_of(judging)]
        self.panel = Panel(chosen)
        # Only a model's grades are worth keeping, and its rubric tells whether they still hold.
        self.rubric = str(getattr(chosen[0], "rubric_hash", "")) if chosen else ""
        self._partial = partial if self.rubric else None

    async def grade(
        self,
        rows: Sequence[Labelled],
        *,
        apart: str = "",
        progress: Callable[[Score], None] = lambda _: None,
    ) -> list[Graded]:
        """The score of every row, in their order; raises BudgetSpent, or what makes grading impossible."""
        exhibits = [exhibit_of(row, apart) for row in rows]
        kept = self._kept()
        found = [kept.get(_seal(exhibit)) if kept else None for exhibit in exhibits]
        for score in filter(None, found):
            progress(score)
        waiting = iter([at for at, score in enumerate(found) if score is None])

        async def work() -> None:
            for at in waiting:
                await asyncio.sleep(0)  # judges that never wait would keep Ctrl-C waiting
                found[at] = score = await self._score(exhibits[at])
                progress(score)

        try:
            async with asyncio.TaskGroup() as tasks:
                for _ in range(min(len(rows), self.stage.settings.calls)):
                    tasks.create_task(work())
        except BaseExceptionGroup as group:
            raise worst_of(group) from None
        return [Graded(row, score) for row, score in zip(rows, found, strict=True) if score is not None]

    def forget(self) -> None:
        """Drops the kept lines, once the result is stored."""
        if self._partial:
            self._partial.unlink(missing_ok=True)

    async def _score(self, exhibit: GradingContext) -> Score:
        scores = await self.panel.grade(exhibit)
        score = next(score for score in scores if score.judge == self.judge)
        if score.state != "failed":
            self._keep(exhibit, score)
        return score

    def _keep(self, exhibit: GradingContext, score: Score) -> None:
        if not self._partial:
            return
        line = json.dumps({"row": _seal(exhibit), "score": score.model_dump(mode="json")}, ensure_ascii=False)
        try:
            self._partial.parent.mkdir(parents=True, exist_ok=True)
            with self._partial.open("a", encoding="utf-8") as file:
                file.write(line + "\n")
        except OSError as error:
            msg = f"{self._partial}: cannot be written ({error.strerror})."
            raise InputError(msg) from None

    def _kept(self) -> dict[str, Score]:
        """What an interrupted sitting left, as far as it is of the same rubric."""
        found: dict[str, Score] = {}
        if not self._partial or not self._partial.is_file():
            return found
        for line in self._partial.read_text(encoding="utf-8", errors="replace").splitlines():
            try:
                kept = json.loads(line)
                score = Score.model_validate(kept["score"])
            except (ValueError, KeyError, TypeError):  # the last line may be cut off
                continue
            if score.rubric in ("", self.rubric):
                found[str(kept["row"])] = score
        return found


def grades_of(graded: Sequence[Graded], field: str = "") -> list[Grade]:
    """The compared numbers of the rows that were scored; an unknown field raises UnknownName."""
    scored = [each for each in graded if each.score.state == "scored" and each.score.raw is not None]
    if not field:
        return [Grade(row, score.raw or 0.0, score.scale) for row, score in scored]
    found = []
    for row, score in scored:
        value = score.detail.get(field)
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            found.append(Grade(row, float(value), SHARE if field in _SHARES else score.scale))
    if scored and not found:
        raise UnknownName("part of this judge's verdict", field, sorted(_numbers(scored[0].score)))
    return found


def sample(rows: Sequence[Labelled], limit: int | None, seed: int) -> list[Labelled]:
    """So many rows by lot, in the order of the file."""
    if limit is None or limit >= len(rows):
        return list(rows)
    drawn = sorted(random.Random(seed).sample(range(len(rows)), limit))  # noqa: S311 - a sample, no secret
    return [rows[at] for at in drawn]


def judged_with(settings: Settings, judge: str, *, by_model: bool) -> Settings:
    """The settings under which this judge grades as in a run.

    Judges that share one call with others (`--judging combined`) share it here, too: another set of
    judges is another prompt, and a calibration holds for one prompt only.
    """
    together = by_model and settings.judging == "combined" and judge in settings.judges
    names = settings.judges if together else (judge,)
    rubrics = tuple(name for name in names if name == judge or isinstance(load_judge(name), Rubric))
    return settings.model_copy(update={"judges": rubrics})


def filed(stage: Stage, judge: str) -> str:
    """The name under which the scores of a judge are filed."""
    return list(stage.judges)[stage.settings.judges.index(judge)]


def graders_of(judging: JudgeCall) -> Collection[str]:
    """The names under which one judging files its scores."""
    mark = getattr(judging, "filed", "")
    rubrics: Any = getattr(judging, "rubrics", None) or filter(None, [getattr(judging, "rubric", None)])
    names = {f"{rubric.name}{mark}" for rubric in rubrics if isinstance(rubric, Rubric)}
    return names or {str(getattr(judging, "name", ""))}


def _numbers(score: Score) -> list[str]:
    return [
        key
        for key, value in score.detail.items()
        if isinstance(value, (int, float)) and not isinstance(value, bool)
    ]


def _seal(exhibit: GradingContext) -> str:
    """Stands for everything that a judge is shown."""
    return fingerprint(exhibit.model_dump_json())


def worst_of(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """What ended all: a bug of ours before an expected error, a spent budget last."""
    leaves = sorted(_leaves(group), key=lambda e: (isinstance(e, RehearsalError), isinstance(e, BudgetSpent)))
    return leaves[0]


def _leaves(group: BaseExceptionGroup[BaseException]) -> list[BaseException]:
    found: list[BaseException] = []
    for error in group.exceptions:
        found += _leaves(error) if isinstance(error, BaseExceptionGroup) else [error]
    return found
