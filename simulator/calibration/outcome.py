"""From a judge's name and a label file to a stored calibration."""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from simulator.calibration.comparison import Compared, compare, domain_of
from simulator.core.errors import UnknownName
from simulator.core.roles import LEXICAL, endpoints
from simulator.core.settings import Settings
from simulator.core.types import Language, Score, Spending
from simulator.grading.rubric import Rubric
from simulator.models.pricing import Ledger
from simulator.runner.context import RunContext
from simulator.runner.labelled import (
    Dimension,
    GradedRow,
    Grader,
    JudgeName,
    LabelFile,
    LabelledAnswer,
    LabelledRun,
    dimension,
    exhibit_of,
    filed,
    forecast,
    judged_with,
    mark_between_references,
    read_labels,
    sample,
)
from simulator.stats import judge_trust
from simulator.stats.calibration import figures_json
from simulator.stats.judge_trust import Calibration


class Wish(NamedTuple):
    """What is to be compared: the file, the judge (`turn.completeness`: a part of its verdict), the label."""

    file: str
    judge: str
    label: str
    good: str | None = None
    by: str | None = None
    precision: float = 0.9
    limit: int | None = None


class Calibrating:
    """One calibration: made before anything is paid, so that whatever is wrong with the input shows here."""

    def __init__(self, wish: Wish, settings: Settings, folder: Path = judge_trust.FOLDER) -> None:
        """Reads labels and judge; connects to nothing yet. `folder` is where calibrations are kept."""
        self.wish, self.name, self.folder = wish, JudgeName.of(wish.judge), folder
        self.file: LabelFile = read_labels(wish.file)
        self.label: Dimension = dimension(self.file, wish.label, wish.good)
        self.domain = domain_of(self.file, wish.by)
        labelled = [row for row in self.file.rows if self.label.said(row)]
        self.rows: list[LabelledAnswer] = sample(labelled, wish.limit, settings.seed)
        known = endpoints(settings)
        self.settings = judged_with(settings, self.name.judge, by_model=known["judge"] is not None)
        self.stage = RunContext(self.settings, known, (), Ledger.of(self.settings))
        self.judge = filed(self.stage, self.name.judge)
        self._check_field()

    @property
    def title(self) -> str:
        """What the calibration is filed under: the judge, and the part that is compared."""
        return str(JudgeName(self.judge, self.name.field))

    @property
    def language(self) -> Language:
        """The language of most rows; Japanese on a tie."""
        english = sum(row.case.language == "en" for row in self.rows)
        return "en" if english > len(self.rows) / 2 else "ja"

    @property
    def file_name(self) -> str:
        """What the calibration is called in its folder."""
        return judge_trust.file_name(self.title, self.label.name, self.file.dataset)

    @property
    def apart(self) -> str:
        """The mark between acceptable answers, where the file has them in one text."""
        return mark_between_references(self.file.rows)

    def sitting(self) -> LabelledRun:
        """The judge at its work; a model's grades are kept beside the result until that is stored."""
        return LabelledRun(self.stage, self.judge, self.folder / f".{self.file_name}.partial.jsonl")

    async def grade(self, sitting: LabelledRun, progress: Callable[[Score], None]) -> list[GradedRow]:
        """All rows graded, and every connection closed."""
        try:
            return await sitting.grade(self.rows, apart=self.apart, progress=progress)
        finally:
            await self.stage.close(None)

    def compare(self, graded: list[GradedRow]) -> Compared:
        """The figures."""
        return compare(
            self.file,
            graded,
            self.label,
            field=self.name.field,
            by=self.wish.by,
            precision=self.wish.precision,
            seed=self.settings.seed,
            apart=self.apart,
        )

    def grader(self) -> tuple[Grader, str]:
        """Who graded, and its name: a model, a stand-in, or a function without one."""
        models = self.stage.models()
        if isinstance(self.stage.judges[self.judge], Rubric):
            return ("by_stand_in" if models["judge"] == LEXICAL else "by_model"), models["judge"]
        asked = [models[role] for role in self.stage.ledger.roles]
        return ("by_model", ", ".join(dict.fromkeys(asked))) if asked else ("by_function", LEXICAL)

    def calibration(self, compared: Compared) -> Calibration:
        """What is stored."""
        return Calibration(
            judge=self.title,
            label=self.label.name,
            dataset=self.file.dataset,
            n=compared.figures.n,
            rubric=compared.rubric,
            model=self.grader()[1],
            language=self.language,
            good=self.label.good,
            date=judge_trust.today(),
            file=str(self.file.path),
            sha256=self.file.sha256,
            figures=figures_json(compared.figures),
            rows=tuple((grade.row.case.id, round(grade.value, 6)) for grade in compared.grades),
            scale=compared.figures.scale,
        )

    def forecast(self, sitting: LabelledRun) -> Spending:
        """Calls, tokens and dollars at most, from the real prompts; nothing where no model grades."""
        return forecast(self.stage, sitting.panel, [exhibit_of(row) for row in self.rows])

    def _check_field(self) -> None:
        """A part that the form does not have is told before it is paid for; stand-ins have their own."""
        judge, field = self.stage.judges[self.judge], self.name.field
        by_model = self.stage.models()["judge"] != LEXICAL
        if field and by_model and isinstance(judge, Rubric) and field not in judge.fields:
            raise UnknownName(f"part of {self.judge}", field, judge.fields)
