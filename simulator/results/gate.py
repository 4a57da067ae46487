"""Whether a run reached its target, and in words what is missing. The gate advises; people decide.

A plain target is about the score (`decide`); an expression, or a confidence, goes condition by condition
(`results/conditions.py`). Which of these ways a run goes its settings say (`gate_of`); what is wrong with
them is told before the run begins (results/target.py).

    --target 80                     decide             the score itself, a warning where its interval is below
    --target 80 --confidence 0.95   conditions_gate    every condition by its one-sided bound
    --target "score >= 80"          conditions_gate    every condition by the figure itself, five questions

Three answers are told apart, and each has its exit code: passed (0), missed (1), and nothing that can be
said. Of the latter a run that was cut short, or whose grading failed, is `incomplete` (3); one that is too
close to call, or rests on too few of the grades and questions it was to have, is undecided (1), because
nobody may take it for a pass.
"""

from typing import Any

from simulator.core.document import points, target_points
from simulator.core.settings import (
    CERTIFIED,
    MAJOR,
    MAX_MAJOR,
    Settings,
    target_conditions,
)
from simulator.core.types import (
    CONFLICTS_IGNORED,
    EXPECTATIONS_IGNORED,
    LAPSES_IGNORED,
    Results,
    Spending,
)
from simulator.results.conditions import agreed_gate, conditions_gate
from simulator.results.figures import Summary, rounded
from simulator.results.findings import (
    SAME,
    Decision,
    Finding,
    Gate,
    Problem,
    few_questions,
    finding,
    judges_of,
    major_cases,
    major_finding,
    missing_findings,
    too_little,
)
from simulator.results.standing import with_standings
from simulator.results.summary import figures_of
from simulator.results.target import depends_on


def decide(
    summary: Summary,
    target: float | None,
    max_major: float = MAX_MAJOR,
    *,
    blind: bool = False,
) -> Gate:
    """The gate at `target` (0..1).

    `max_major` is the largest share of questions with a major turn, `blind` says that the deciding judge had
    no evidence. With fewer than `MIN_GRADED` of the grades, or of the questions, nothing is passed or missed,
    but for a share of major turns that no further grade can mend.
    """
    missing = missing_findings(summary, blind=blind)
    # Without a target a log without answers is no failed run: its turns were to be counted.
    if target is None and 0 < summary.turns == summary.unrecorded:
        missing = [finding for finding in missing if finding.problem != "ungraded"]  # a log, only to be read
    thin = [] if target is None else too_little(summary, judges_of(MAJOR, summary))
    if target is not None and not thin and (few := few_questions(summary, summary.scores.primary)):
        thin = [few]
    of_score, cases = _score_findings(summary, target), major_cases(summary)
    if thin:
        of_score = []  # what was graded says nothing about the rest
    hits = sum(cases.values())
    is_over = target is not None and hits > len(cases) * max_major + SAME
    major = [major_finding(hits, len(cases), max_major)] if is_over else []
    # People's grades have a wider interval than the judge's, so their lower end has to reach the target.
    decisive = summary.scores.corrected.interval[0] if summary.scores.corrected else summary.scores.score
    reached = target is not None and decisive is not None and decisive >= target - SAME
    reached = reached and not (major or thin)
    # A grave share of major turns misses whatever other grades may still say.
    is_unsettled = bool(thin) or any(f.problem == "corrected_unsure" for f in of_score)
    open_still = bool(missing) or (not major and is_unsettled)
    decision: Decision = "undecided" if open_still else "passed" if reached else "missed"
    return Gate(
        target=target,
        passed=None if target is None else reached and not missing,
        incomplete=bool(missing),
        findings=(*of_score, *major, *(thin if open_still else ()), *missing),
        corrected=summary.scores.corrected,
        asked=target,
        decision=None if target is None else decision,
    )


def _score_findings(summary: Summary, target: float | None) -> list[Finding]:
    """What there is to say about the score, as people's grades corrected it, and the target.

    A plain target is missed by the score, but by a corrected one only where even its upper end is below.
    """
    if target is None or summary.scores.score is None:
        return []
    scored = summary.scores.corrected or summary.scores
    score, (low, high) = scored.score or 0.0, scored.interval or (None, None)
    missed = (score if high is None or not summary.scores.corrected else high) < target - SAME
    if not missed and (low is None or low >= target - SAME):
        return []
    problem: Problem = "below" if missed else "unsure"
    if summary.scores.corrected:
        problem = "corrected_below" if missed else "corrected_unsure"
    shown = {"score": score, "low": low, "high": high}
    ends = {name: points(value, against=target) for name, value in shown.items()}
    return [
        finding(problem, target=target_points(target), red=summary.red.count, turns=summary.turns, **ends)
    ]


def gate_of(results: Results, summary: Summary, settings: Settings) -> Gate:
    """The gate's verdict: a plain target asks for a score, anything more for every condition.

    Of either, the share of questions with a major turn is a condition (`max_major`). With a certainty none
    may have one, unless the target itself says how many such turns there may be. Where several models play
    the customers, it is undecided unless they agree.
    """
    if summary.standing is None and any(c.name == CERTIFIED for c in target_conditions(settings.target)):
        summary = with_standings(summary, settings, settings.runs)
    # Where the whole run cannot be judged, its parts by simulator cannot either.
    gate = _gate_of(results, summary, settings)
    if gate.decision is not None and not gate.incomplete and len(summary.scores.simulators) > 1:
        gate = agreed_gate(
            gate,
            results,
            summary,
            lambda part: _gate_of(
                part, figures_of(part, settings).model_copy(update={"standings": summary.standings}), settings
            ),
        )
    return gate


def _gate_of(results: Results, summary: Summary, settings: Settings) -> Gate:
    target, certainty, limit, run = settings.target, settings.confidence, settings.max_major, summary.record
    named = {condition.name for condition in target_conditions(target)}
    # 20 % of the questions by default. With a certainty none, unless the target counts such turns itself: two
    # limits on the same thing would contradict each other.
    if limit is None:
        limit = 0.0 if certainty is not None and "severity_major" not in named else MAX_MAJOR
    blind = depends_on(summary.scores.primary, target) and run.answers and not run.evidence
    if not isinstance(target, str) and (target is None or certainty is None):
        return decide(summary, target, limit, blind=blind)
    return conditions_gate(results, summary, settings, limit, blind=blind)


def as_json(summary: Summary, gate: Gate, store: str = "") -> dict[str, Any]:
    """The object that `--json` prints, figures rounded to 4 decimals; `store` is the run file's path."""
    shown = ("mean", "stderr", "raw_mean", "n", "planned", "failed", "unreached", "skipped")
    return {
        "run": summary.run,
        "store": store,
        "score": rounded(summary.scores.score),
        "interval": rounded(summary.scores.interval),
        "simulators": {
            model: rounded(mean.model_dump(include={"score", "n"}))
            for model, mean in summary.scores.simulators.items()
        },
        "simulator_spread": rounded(summary.scores.spread),
        "corrected": summary.scores.corrected and summary.scores.corrected.as_json(),
        "target": gate.asked if isinstance(gate.asked, str) else rounded(gate.asked),
        "passed": gate.passed,
        "decision": gate.decision,
        "confidence": gate.confidence,
        "conditions": [checked.as_json() for checked in gate.conditions],
        "reasons": list(gate.reasons),
        "judges": {
            name: {key: rounded(getattr(judge, key)) for key in shown}
            | ({"undecided": judge.undecided} if judge.undecided else {})
            | ({} if judge.same_grade is None else {"same_grade": judge.same_grade})
            | {
                key: n
                for key in (CONFLICTS_IGNORED, LAPSES_IGNORED, EXPECTATIONS_IGNORED)
                if (n := getattr(judge, key))
            }
            | ({"retest": judge.retest.model_dump(include={"n", "flips"})} if judge.retest else {})
            | ({"standing": summary.standings[name].as_json()} if name in summary.standings else {})
            for name, judge in summary.scores.judges.items()
        },
        "total": rounded(summary.scores.total.model_dump()),
        "conversations": summary.model_dump(include={"planned", "finished", "ended"}),
        # By kind, and the conversations that have any; null where no conversation was graded as a whole.
        "lapses": {**summary.red.lapses, "conversations": summary.red.lapsed} if summary.red.lapses else None,
        # Of the sentences that cases expect: how many were met, were not, did not come up; null without any.
        "expectations": summary.red.expectations or None,
        "turns": summary.turns,
        "red": summary.red.count,
        # Of these: people say that the judge was wrong, of the same answer, here or in an earlier run.
        "disputed": summary.red.disputed,
        "simulator": summary.customers.model_dump(include={"guarded", "failed", "overruled"}),
        "calls": {role: spent.calls for role, spent in summary.money.spending.items()},
        "tokens": {role: _tokens_json(spent) for role, spent in summary.money.spending.items()},
        "cost_usd": rounded(summary.money.cost_usd),
        "cost_at_least_usd": rounded(summary.money.spent.least_usd),
        # What each model used in each role; calls answered from the cache stand apart and cost nothing.
        "usage": {
            role: {
                model: {"calls": spent.calls, "cached": spent.cached, "uncounted": spent.uncounted}
                | _tokens_json(spent)
                | {"cost_usd": None if spent.cost_usd is None else round(spent.cost_usd, 6)}
                for model, spent in by_model.items()
            }
            for role, by_model in summary.money.usage.items()
        },
        "seconds": rounded(summary.seconds),
        "offline": summary.offline,
        "trial": summary.trial,
    }


def _tokens_json(spent: Spending) -> dict[str, int]:
    return {"in": spent.tokens_in, "in_cached": spent.tokens_cached, "out": spent.tokens_out}
