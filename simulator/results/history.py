"""How a bot developed over its runs, and whether the newest is clearly below the best.

Only like is compared with like (`RunKind`): the same questions and customers, the same bot, the same deciding
judge and rubric. A run that was stopped early or broke off asked no fair sample of the questions; a try with
a limit, or with another file of questions, leaves the history alone. Questions of which the runs do not all
call the same answer right count in none of them.
"""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from math import hypot
from pathlib import Path
from statistics import fmean
from typing import Any

from pydantic import Field, InstanceOf

from simulator.core.errors import InputError
from simulator.core.settings import stored_settings
from simulator.core.types import Case, Language, ReleaseDecision, Results, Status, Value
from simulator.results.comparison import RunFigures
from simulator.results.disputes import read_results
from simulator.results.figures import CaseSummary, Summary, rounded
from simulator.results.gate import Gate, gate_of
from simulator.results.intervals import ends_of, interval_of_mean
from simulator.results.right_answers import has_other_answer
from simulator.results.summary import figures_of
from simulator.storage.results import report_language
from simulator.storage.run_file import RUN_FILE, replay_of, run_ids

# As many comparable runs, the newest ones, are followed; in as many a run looks for the one before it.
LAST = 20


class RunKind(Value):
    """What two runs must have in common to be compared."""

    cases: frozenset[str]
    customers: frozenset[str]
    adapter: str
    primary: str
    rubric: tuple[str, ...]

    @classmethod
    def of(cls, results: Results, summary: Summary) -> "RunKind":
        """The kind of a run; `rubric` are the hashes of the deciding judge's rubrics."""
        deciding = summary.scores.judges.get(summary.scores.primary)
        return cls(
            cases=frozenset(case.case for case in summary.scores.cases),
            customers=frozenset(person.persona for person in summary.scores.personas),
            adapter=str(results.run.settings.get("adapter", "")),
            primary=summary.scores.primary,
            rubric=tuple(sorted(deciding.rubrics)) if deciding else (),
        )


class PastRun(Value):
    """A run as a row of the history; `score` and `interval` are 0..1, within `ends`; `red` counts turns.

    `cases` are its questions, `asked` says by their ids what is right; `questions` counts those that need
    review, `limited` says that only some of the file's were asked. `gate` is its verdict, by the run's own
    settings, `release_decision` what the team made of it.
    """

    run: str
    created: datetime
    status: Status
    offline: bool
    trial: bool
    model: str
    kind: RunKind = Field(exclude=True)
    limited: bool = Field(exclude=True)
    language: Language
    replay_of: str | None
    score: float | None
    interval: tuple[float, float] | None
    questions: int
    red: int
    turns: int
    graded: int
    no_answer: int = Field(exclude=True)
    seconds: float = Field(exclude=True)
    cost_usd: float | None = Field(exclude=True)
    gate: InstanceOf[Gate] | None = Field(exclude=True)
    cases: tuple[CaseSummary, ...] = Field(exclude=True)
    asked: Mapping[str, Case] = Field(exclude=True)
    ends: tuple[float, float] = Field(exclude=True)
    release_decision: ReleaseDecision | None

    @classmethod
    def of(cls, results: Results, summary: Summary, gate: Gate, language: Language) -> "PastRun":
        """The row of a run with these figures."""
        run, firsts = results.run, {row.case: row.id for row in summary.record.conversations}
        grades = (turn.scores.get(summary.scores.primary) for turn in summary.record.turns)
        return cls(
            run=run.id,
            **run.model_dump(include={"created", "status", "offline"}),
            trial=summary.trial,
            model=run.models.get("judge", ""),
            kind=RunKind.of(results, summary),
            limited=run.settings.get("limit") is not None,
            language=language,
            replay_of=replay_of(run),
            questions=len(summary.red.open_cases),
            score=summary.scores.score,
            interval=summary.scores.interval,
            red=summary.red.count,
            turns=summary.turns,
            graded=summary.scores.graded,
            no_answer=sum(summary.bot_failures.values()),
            seconds=summary.seconds,
            cost_usd=summary.money.cost_usd,
            gate=gate,
            cases=summary.scores.cases,
            asked={talk.case.id: talk.case for talk in results.conversations.with_ids([*firsts.values()])},
            ends=ends_of({grade.scale for grade in grades if grade and grade.is_scored}),
            release_decision=results.release_decision,
        )

    @property
    def is_whole(self) -> bool:
        """Whether it went on to its end: what was asked before is no fair sample of all questions."""
        return self.status == "finished"

    def without(self, apart: Collection[str]) -> "PastRun":
        """The run with score and interval of its other questions."""
        if not apart:
            return self
        rest = {case.case: case.score for case in self.cases if case.case not in apart}
        means = {case: score for case, score in rest.items() if score is not None}
        interval = interval_of_mean([*means.values()], [*means], seed=42, ends=self.ends)
        return self.model_copy(
            update={"score": fmean(means.values()) if means else None, "interval": interval}
        )


class Fall(Value):
    """From the best run (`earlier`) the score fell by more than both intervals leave to chance; 0..1."""

    earlier: str
    later: str
    by: float
    best: float


class History(Value):
    """The runs of a folder, oldest first, and what the comparable ones among them say.

    `line` are those that can be compared with each other (`_followed`), at most `LAST`; what was stopped or
    broke off is never among them where a whole run is there. They are without the questions in `apart`, of
    which not all of them call the same answer right. `fall`: the newest of them is clearly below the best.
    """

    runs: tuple[PastRun, ...]
    line: tuple[PastRun, ...]
    apart: tuple[str, ...]
    fall: Fall | None
    unread: tuple[str, ...]

    @property
    def followed(self) -> tuple[str, ...]:
        """The ids of the runs of the line."""
        return tuple(run.run for run in self.line)

    @property
    def is_line(self) -> bool:
        """Whether there are two runs to draw, on questions that can be compared."""
        return len(self.line) > 1 and self.line[-1].score is not None


def past_runs(folder: Path) -> tuple[tuple[PastRun, ...], tuple[str, ...]]:
    """The runs of a folder, oldest first, and the names of those that cannot be read."""
    runs, unread = [], []
    ids = run_ids(folder)
    for at, name in enumerate(ids):
        try:
            runs.append(past_run(folder / name / RUN_FILE, ids[:at]))
        except InputError:  # damaged, or with settings that are no longer understood
            unread.append(name)
    return tuple(sorted(runs, key=lambda run: (run.created, run.run))), tuple(unread)


def past_run(path: Path, earlier: Sequence[str] | None = None) -> PastRun:
    """One run as a row of the history, with the score that its reports show.

    `earlier` are the ids of the runs before it, where these are known.
    """
    results = read_results(path, earlier)
    settings = stored_settings(results.run.settings)
    summary = figures_of(results, settings)
    return PastRun.of(results, summary, gate_of(results, summary, settings), report_language(results))


def last_comparable(later: RunFigures, path: Path) -> RunFigures | None:
    """The newest earlier run of the folder that can be compared with this one; None without any.

    `path` is the run file of the later run, whose rules for red hold for both: no question needs review
    because a limit was moved. A run is read as a whole only where its settings speak for it.
    """
    run, folder = later.results.run, path.resolve().parent.parent
    kind = RunKind.of(*later)
    ids = run_ids(folder)
    earlier = ids[: ids.index(run.id)] if run.id in ids else []
    for name in reversed(earlier[-LAST:]):
        try:
            results = read_results(folder / name / RUN_FILE, ids[: ids.index(name)])
        except InputError:
            continue
        asked = [(side.settings.get("adapter"), side.settings.get("limit")) for side in (run, results.run)]
        if results.run.status != "finished" or asked[0] != asked[1]:
            continue
        settings = stored_settings(results.run.settings, red=later.summary.red.rules)
        summary = figures_of(results, settings)
        if summary.scores.score is not None and RunKind.of(results, summary) == kind:
            return RunFigures(results, summary)
    return None


def history(runs: Sequence[PastRun], unread: Sequence[str] = ()) -> History:
    """What some runs, oldest first, say of how the bot developed; `unread` cannot be read."""
    comparable = _followed(runs)[-LAST:]
    apart = _other_answers(comparable)
    line = tuple(run.without(apart) for run in comparable)
    best = max(line, key=lambda run: run.score or 0.0, default=None)
    return History(
        runs=tuple(runs),
        line=line,
        apart=apart,
        fall=_fall(best, line[-1]) if best else None,
        unread=tuple(unread),
    )


class QuestionCourse(Value):
    """How the bot did on a question: its scores (0..1), oldest first, up to the last `run` that graded it.

    They begin anew where another answer was called right.
    """

    case: str
    question: str
    scores: tuple[float, ...]
    run: str

    @property
    def change(self) -> float | None:
        """From the score before to the newest; None with a single one."""
        return self.scores[-1] - self.scores[-2] if len(self.scores) > 1 else None


def question_courses(runs: Sequence[PastRun]) -> list[QuestionCourse]:
    """Every question over the runs (oldest first) that were graded as the newest is, what fell most first."""

    def graded_by(run: PastRun) -> tuple[bool, RunKind]:
        nobody = frozenset[str]()
        return run.trial, run.kind.model_copy(update={"cases": nobody, "customers": nobody})

    courses, asked = dict[str, QuestionCourse](), dict[str, Case]()
    for run in (run for run in runs if graded_by(run) == graded_by(runs[-1])):
        for case in run.cases:
            before = courses.get(case.case)
            question = case.question or (before.question if before else case.case)
            scores, last = (before.scores, before.run) if before else ((), run.run)
            now = run.asked.get(case.case)
            if now and has_other_answer(asked.setdefault(case.case, now), now, {}):
                scores, asked[case.case] = (), now
            if case.score is not None:
                scores, last = (*scores, case.score), run.run
            courses[case.case] = QuestionCourse(case=case.case, question=question, scores=scores, run=last)
    graded = (course for course in courses.values() if course.scores)
    return sorted(graded, key=lambda course: (course.change or 0.0, course.scores[-1]))


def _followed(runs: Sequence[PastRun]) -> list[PastRun]:
    """The runs that are like the newest one that is no odd one out.

    What a bot was before its questions changed is another story. But a single run with other questions, or a
    few with a limit, do not end the story: the newest run counts that has its like, one without a limit
    first.
    """
    scored = [run for run in runs if run.score is not None]
    # Where every run was stopped or broke off, these are all there is to go by.
    complete = [run for run in scored if run.is_whole] or scored
    kinds = Counter(run.kind for run in complete)
    several = [run for run in complete if kinds[run.kind] > 1]
    newest = ([run for run in several if not run.limited] or several or complete)[-1:]
    return [run for run in complete if run.kind in {model.kind for model in newest}]


def _other_answers(runs: Sequence[PastRun]) -> tuple[str, ...]:
    """The questions of the newest run of which one before it calls another answer right."""
    *earlier, newest = [run.asked for run in runs] or [{}]
    return tuple(
        id_
        for id_, case in newest.items()
        if any(id_ in asked and has_other_answer(asked[id_], case, {}) for asked in earlier)
    )


def _fall(earlier: PastRun, later: PastRun) -> Fall | None:
    """By how much the score fell, if that is more than both intervals together leave to chance.

    The half widths add up as independent errors do. Since both runs asked the same questions this is
    careful: what lies between questions is in both intervals; `diff` of the two, which pairs, sees more.
    """
    best, newest = earlier.score or 0.0, later.score or 0.0
    if not (earlier.interval and later.interval):
        return None
    chance = hypot(best - earlier.interval[0], later.interval[1] - newest)
    if best - newest <= chance:
        return None
    return Fall(earlier=earlier.run, later=later.run, by=best - newest, best=best)


def history_json(history: History) -> dict[str, Any]:
    """The object that `--json` prints, figures rounded to 4 decimals."""
    followed = frozenset(history.followed)
    shown = {
        "runs": [
            run.model_dump(mode="json")
            | {"adapter": run.kind.adapter, "primary": run.kind.primary, "rubric": list(run.kind.rubric)}
            | {"passed": run.gate and run.gate.passed, "decision": run.gate and run.gate.decision}
            | {"cases": len(run.kind.cases), "comparable": run.run in followed}
            for run in history.runs
        ],
        "comparable": len(followed),
        **history.model_dump(mode="json", include={"apart", "fall", "unread"}),
    }
    return rounded(shown)  # type: ignore[no-any-return]
