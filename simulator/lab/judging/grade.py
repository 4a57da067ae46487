"""`calibrate --probes`: generated pairs graded by judges, and the result stored for each judge.

The judges are those of a run, asked in the same words (`judging_context`), since a judge that shares its call
with others has another prompt. Every context is graded once, though the right answer of a question is the
base of many pairs. The result is stored with the rubric's hash: it is shown beside grades of that rubric, and
of no other.
"""

import random
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from simulator.cases.cases import read_cases
from simulator.core import shelves
from simulator.core.errors import InputError
from simulator.core.messages import _
from simulator.core.settings import Settings
from simulator.core.types import LEXICAL, GradingContext, Score, Spending
from simulator.grading.rubric import Rubric
from simulator.lab.judging.bias import Bias, Probe, measure_bias
from simulator.lab.judging.plan import bundled, probes
from simulator.lab.judging.rows import GraderKind, judge_panel
from simulator.lab.judging.stored import BUNDLED, StoredBias, save_bias
from simulator.results import judge_records
from simulator.runner.estimate import grading_estimate
from simulator.runner.labelled_answers import judging_context


class ProbeRun:
    """Probes graded by judges. Making it reads all input, so that errors show before anything is paid."""

    def __init__(
        self,
        judges: Sequence[str],
        settings: Settings,
        folder: Path,
        *,
        file: str | None = None,
        limit: int | None = None,
    ) -> None:
        """Makes the probes of a file's questions, or of the bundled ones, and reads the judges."""
        self.folder = folder
        # Whose questions they are.
        self.source = Path(file).name if file else BUNDLED
        cases, passages = (read_cases(file), ()) if file else bundled()
        made = probes(cases, passages, language=settings.case_language, seed=settings.seed)
        self.probes = limited(made, limit, settings.seed)
        if not self.probes:
            msg = _(
                "{cases}: no pair can be made. Questions need a reference answer and contexts.",
                cases=file or _("the bundled questions"),
            )
            raise InputError(msg)
        # Further models are other judges, with probes of their own.
        plain = settings.model_copy(update={"added": {**settings.added, "panel": []}})
        self.context = judging_context(plain, *judges)
        self.settings = self.context.settings
        names = dict(zip(self.settings.judges, self.context.judges, strict=True))
        self.judges = tuple(names[name] for name in judges)
        self.panel = judge_panel(self.context, set(self.judges))
        self.states: Counter[str] = Counter()
        self.rubrics: dict[str, Counter[str]] = {judge: Counter() for judge in self.judges}

    @property
    def contexts(self) -> list[GradingContext]:
        """What is graded, each once: the right answer of many pairs is one."""
        return list({e.conversation: e for p in self.probes for e in (p.base, p.changed)}.values())

    @property
    def grader(self) -> GraderKind:
        """Who grades: a model where one may be asked, else a stand-in, or functions alone."""
        if not any(map(self._has_rubric, self.judges)):
            return "by_function"
        return "by_stand_in" if self.context.models()["judge"] == LEXICAL else "by_model"

    def _has_rubric(self, judge: str) -> bool:
        judge_of_run = self.context.judges[judge]
        return isinstance(judge_of_run, Rubric) or shelves.has_form(judge, judge_of_run)

    def forecast(self) -> Spending:
        """Calls, tokens and dollars at most, from the real prompts."""
        return grading_estimate(self.context, set(self.judges), self.contexts)

    async def grade(self, progress: Callable[[Score], None] = lambda _: None) -> Bias:
        """All of them graded and compared, and every connection closed.

        Raises BudgetSpent, or what makes grading impossible.
        """

        async def grade_context(context: GradingContext) -> list[Score]:
            graded = {score.judge: score for score in await self.panel.grade(context)}
            scores = [graded[judge] for judge in self.judges if judge in graded]
            for score in scores:
                self.states[score.state] += 1
                # Grades by rule have no rubric, and say nothing of the judge.
                if score.state == "scored" and score.rubric and not score.by_rule:
                    self.rubrics[score.judge][score.rubric] += 1
            progress(scores[0])
            return scores

        rules, seed, calls = self.settings.red, self.settings.seed, self.settings.calls
        try:
            return await measure_bias(self.probes, grade_context, rules=rules, seed=seed, at_once=calls)
        finally:
            await self.context.close(None)

    def keep(self, bias: Bias) -> dict[str, Path | None]:
        """Writes what was found, one file a judge; None where more pairs were known before."""
        models, paths = self.context.models(), dict[str, Path | None]()
        # One file for each, since a judge may be probed again alone.
        for judge in self.judges:
            # A function may ask the model of embeddings.
            model = models["embed"] if judge == "cosine" else LEXICAL
            stored = StoredBias(
                judge=judge,
                rubric=self.rubric(judge),
                model=models["judge"] if self._has_rubric(judge) else model,
                source=self.source,
                seed=bias.seed,
                date=judge_records.today(),
                rows=tuple(row for row in bias.rows if row.judge in (judge, f"{judge}.correctness")),
            )
            paths[judge] = save_bias(stored, self.folder)
        return paths

    def rubric(self, judge: str) -> str:
        """The rubric that graded most."""
        return next((rubric for rubric, _n in self.rubrics[judge].most_common(1)), "")


def limited(made: Iterable[Probe], limit: int | None, seed: int) -> tuple[Probe, ...]:
    """At most so many pairs of each kind and language, by lot, in their order."""
    if limit is None:
        return tuple(made)
    groups: dict[tuple[str, str], list[Probe]] = {}
    for probe in made:
        groups.setdefault((probe.language, probe.kind), []).append(probe)
    return tuple(
        group[at]
        for group in groups.values()
        for at in sorted(random.Random(seed).sample(range(len(group)), min(limit, len(group))))  # noqa: S311 - no secret
    )
