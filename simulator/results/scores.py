"""What the judges say of a run: its score, and the means by judge, customer and question.

The bot's own failure is graded (lowest, by rule); a failure of a judge or of the simulator is counted, and
left out of the means. Nothing counts as 0 because it could not be graded.

How a score comes about, from the bottom up:

1. A turn has the deciding judge's grade as a share: 4 of 5 is 0.8, a share of 0..1 stays what it is.
2. A conversation has the mean of its graded turns; without one it has no score and counts as `missing`.
3. The run has the mean over conversations, so that long ones weigh no more than short ones.
4. The 95 % interval draws questions, because conversations about one question are not independent.

A judge's own mean, beside it in every table, is over turns (or over rows, or whole conversations), and may
therefore differ a little from the score of the same judge.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from math import fsum, sqrt
from statistics import fmean
from typing import TypeVar

from simulator.core.shelves import canonical_judge
from simulator.core.types import COMPLETE, CONVERSATION, LEXICAL, PASSED, Language, Results
from simulator.results.figures import (
    ENOUGH_ALIKE,
    CaseSummary,
    JudgeSummary,
    Mean,
    PersonaSummary,
    Reliability,
    RetestFigures,
    ScoreFigures,
    SimulatorScore,
    Total,
)
from simulator.results.intervals import (
    clustered_stderr,
    ends_of,
    interval_of_mean,
    joint_interval,
    retest_variance,
)
from simulator.results.rows import UNREACHED, ConversationRow, Grade, GradedTurn, RunTurns

Item = TypeVar("Item")
# These compare with the row by rule, and claim no more.
_BY_RULE = frozenset((
    "exact_match", "contains", "token_f1", "rouge_l", "meteor", "chrf", "label", "choice", PASSED,
))  # fmt: skip
# The five graded 1..5 whose raw means add up to the total, as the RAG contests add them up.
RAG_METRICS = ("relevance", "groundedness", "similarity", "fluency", "cosine")


def score_figures(results: Results, counted: RunTurns, *, judges: Sequence[str], seed: int) -> ScoreFigures:
    """The scores by `judges`, in the order in which they were named."""
    started, spoken, primary = counted.conversations, list(counted.turns), counted.primary
    means = _conversation_means(started)
    graded = [c for c in started if c.id in means]
    # The interval needs to know how low a grade can be: 1 of 5 is 0.2.
    scales = {s.scores[primary].scale for s in spoken if primary in s.scores and s.scores[primary].is_scored}
    is_whole = {name: name in counted.whole or name.partition("@")[0] == CONVERSATION for name in judges}
    ends = [s for s in spoken if s.is_last]
    # A judge of whole conversations has one grade for each, on its last turn.
    by_judge = {name: _judge(name, ends if whole else spoken) for name, whole in is_whole.items()}
    lengths = Counter(s.conversation for s in spoken if s.value is not None)
    retest = by_judge[primary].retest if primary in by_judge else None
    # A conversation's score is the mean of its turns' grades.
    noise = retest.variance * fmean(1 / lengths[c.id] for c in graded) if retest and graded else 0.0

    def of_simulator(played: Iterable[ConversationRow]) -> SimulatorScore:
        """The score in these conversations, with its interval."""
        pairs = [(means[c.id], c.case) for c in played if c.id in means]
        values, cases = [value for value, _case in pairs], [case for _value, case in pairs]
        interval = interval_of_mean(values, cases, seed=seed, ends=ends_of(scales), noise=noise)
        return SimulatorScore(score=_mean(values), interval=interval, n=len(values))

    # Nobody plays the customers of rows or logs; of one model alone the score is the run's own.
    is_played = not results.run.asks_once and results.run.settings.get("adapter") != "recorded"
    simulators = {
        model or results.run.models.get("user", LEXICAL): of_simulator(of_model)
        for model, of_model in _grouped(started, lambda c: c.user_model).items()
        if is_played
    }
    intervals = [simulator.interval for simulator in simulators.values()]
    raws = [by_judge[name].raw_mean for name in RAG_METRICS if name in by_judge]
    total = [raw for raw in raws if raw is not None]
    # No grade was due where a log tells nothing, or the judge had nothing to hold the answers against.
    nothing_due = {
        c.id
        for c in started
        if c.turns
        and all(t.unrecorded or ((g := t.scores.get(primary)) and g.state == "skipped") for t in c.turns)
    }
    return ScoreFigures(
        primary=primary,
        score=_mean(means[c.id] for c in graded),
        interval=joint_interval(intervals or [of_simulator(graded).interval]),
        by_conversation=means,
        graded=len(means),
        missing=sum(c.ended is not None and c.id not in {*means, *nothing_due} for c in started),
        noise=noise,
        judges=by_judge,
        personas=() if results.run.asks_once else _personas(results, started, spoken, means, is_whole),
        cases=_cases(started, spoken, means),
        total=Total(value=fsum(total) if total else None, of=5 * len(total)),
        simulators=simulators,
        reliability=_reliability(counted, means),
    )


def _conversation_means(rows: Iterable[ConversationRow]) -> dict[str, float]:
    """The score of each conversation that has one: the mean of its graded turns."""
    means = {row.id: _mean(turn.value for turn in row.turns) for row in rows}
    return {conversation: score for conversation, score in means.items() if score is not None}


def _mean(values: Iterable[float | None]) -> float | None:
    """The mean of the values that are known; None without any."""
    numbers = [value for value in values if value is not None]
    return fsum(numbers) / len(numbers) if numbers else None


def _judge(name: str, spoken: Sequence[GradedTurn]) -> JudgeSummary:
    """One judge over all spoken turns; of a judge of whole conversations, over their last turns."""
    scored = [s for s in spoken if (score := s.scores.get(name)) and score.state == "scored"]
    values = [s.scores[name].value or 0.0 for s in scored]
    # A failure counts only where a grade was due.
    due = [s for s in spoken if not s.unrecorded]
    failures = Counter(kind for s in due if (kind := s.lacks_grade_of(name)))
    unreached = failures.pop(UNREACHED, 0)
    reasons = Counter(grade.reason for s in due if (grade := s.scores.get(name)) and grade.failure)
    undecided = [s for s in due if (score := s.scores.get(name)) and score.undecided]
    graded = {s.key for s in scored}
    unanswered = [s for s in spoken if s.unrecorded and not s.courtesy and s.key not in graded]
    lacking = [s for s in due if s.lacks_grade_of(name)]
    # `--retest`: graded again, whether that failed, flipped or came out the same.
    twice = [s.scores[name] for s in scored if s.scores[name].retest]
    outcomes = Counter(grade.retest for grade in twice)
    pairs = [(g.value, g.second) for g in twice if g.value is not None and g.second is not None]
    retest = RetestFigures(
        n=len(twice) - outcomes["failed"],
        flips=outcomes["flipped"],
        failed=outcomes["failed"],
        variance=retest_variance(pairs),
    )
    # One that was asked and never had an occasion for a grade has a rubric, too.
    rubrics = [grade.rubric for s in scored or due if (grade := s.scores.get(name)) and grade.rubric]
    stderr = clustered_stderr(values, [s.case for s in scored])
    if stderr is not None:
        stderr = sqrt(stderr**2 + retest.variance / len(values))
    return JudgeSummary(
        mean=_mean(values),
        raw_mean=_mean(s.scores[name].raw for s in scored),
        stderr=stderr,
        n=len(scored),
        planned=len(spoken),
        skipped=len(due) - len(scored) - failures.total() - unreached,
        failed=failures.total(),
        unreached=unreached,
        failures=dict(failures),
        failure_reason=max(reasons, key=lambda reason: (reasons[reason], reason), default=""),
        rubrics=tuple(dict.fromkeys(rubrics)),
        undecided=len(undecided),
        ignored=sum(s.scores[name].ignored for s in due if name in s.scores),
        retest=retest if twice else None,
        unanswered=len(unanswered),
        # Whoever compares by rule may well find all answers alike.
        same_grade=None if by_rule(name) else _same_grade(s.scores[name] for s in scored),
        cases=len({s.case for s in scored}),
        cases_due=len({s.case for s in (*scored, *lacking, *undecided, *unanswered)}),
    )


def by_rule(name: str) -> bool:
    """Whether a judge compares by rule and needs no calibration; `path.em` is such a judge of one output."""
    judge = name.partition("@")[0]
    return any(canonical_judge(part) in _BY_RULE for part in (judge, judge.rpartition(".")[2]))


def _same_grade(grades: Iterable[Grade]) -> float | None:
    """The one grade that a judge gave to all answers; None where they differ, or are too few to tell.

    A turn without an answer has the lowest grade by rule, whoever judges: it is none of the judge's own.
    """
    raws = [grade.raw for grade in grades if grade.rubric]
    return raws[0] if len(raws) >= ENOUGH_ALIKE and len(set(raws)) == 1 else None


def _reliability(run: RunTurns, means: Mapping[str, float]) -> Reliability | None:
    """How often each question passed; None where each customer asked it once."""
    if run.repeats < 2:
        return None
    # A red turn is enough to fail; a turn without a grade leaves open whether the conversation passed.
    red = {s.conversation for s in run.turns if s.marks}
    unknown = {s.conversation for s in run.turns if not s.unrecorded and s.lacks_grade_of(run.primary)}

    def passed(c: ConversationRow) -> bool | None:
        if c.ended not in COMPLETE or c.id not in means or (c.id in unknown and c.id not in red):
            return None
        return c.id not in red

    return Reliability.of(((c.case, passed(c)) for c in run.conversations), run.repeats, run.unbegun)


def _personas(
    results: Results,
    started: Sequence[ConversationRow],
    spoken: Sequence[GradedTurn],
    means: Mapping[str, float],
    judges: Mapping[str, bool],
) -> tuple[PersonaSummary, ...]:
    """One row per persona that took part, in order of appearance.

    `judges` come with whether they grade whole conversations.
    """
    languages: tuple[Language, ...] = ("ja", "en")
    names = {p.id: {language: p.speaks(language).name for language in languages} for p in results.personas}
    turns_by_persona = _grouped(spoken, lambda s: s.persona)
    rows = []
    for persona, of_persona in _grouped(started, lambda c: c.persona).items():
        turns = turns_by_persona.get(persona, [])
        # A judge may lack turns, or have grades without a value; both show as n below planned.
        grades = {judge: [s.scores[judge] for s in turns if judge in s.scores] for judge in judges}
        values = {j: [g.value for g in every if g.state == "scored"] for j, every in grades.items()}
        due = {
            judge: sum(s.is_last for s in turns) if whole else len(turns) for judge, whole in judges.items()
        }
        row = PersonaSummary(
            persona=persona,
            names=names.get(persona, {}),
            score=_mean(means.get(c.id) for c in of_persona),
            conversations=len(of_persona),
            graded=sum(c.id in means for c in of_persona),
            turns=len(turns),
            red=sum(bool(s.marks) for s in turns),
            judges={j: Mean(mean=_mean(v), n=len(v), planned=due[j]) for j, v in values.items()},
        )
        rows.append(row)
    return tuple(rows)


def _cases(
    started: Sequence[ConversationRow], spoken: Sequence[GradedTurn], means: Mapping[str, float]
) -> tuple[CaseSummary, ...]:
    """The questions, over all the conversations that began with one; those with most red turns first."""
    turns_by_case = _grouped(spoken, lambda s: s.case)
    rows = []
    for case, of_case in _grouped(started, lambda c: c.case).items():
        turns = turns_by_case.get(case, [])
        score, red = _mean(means.get(c.id) for c in of_case), sum(bool(s.marks) for s in turns)
        rows.append(CaseSummary(case, of_case[0].question, score, len(of_case), len(turns), red))
    return tuple(sorted(rows, key=lambda row: (-row.red, 2.0 if row.score is None else row.score)))


def _grouped(items: Iterable[Item], key: Callable[[Item], str]) -> dict[str, list[Item]]:
    """The items by key, in order of the keys' first appearance."""
    groups: dict[str, list[Item]] = {}
    for item in items:
        groups.setdefault(key(item), []).append(item)
    return groups
