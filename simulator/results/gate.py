"""Whether a run reached its target, and in words what is missing. The gate advises; people decide.

A target is a list of conditions (results/conditions.py); a number is one on the score. What is wrong with it
is told before the run begins (results/target.py).

    --target 80                     the score itself, a warning where its interval begins below
    --target 80 --confidence 0.95   the one-sided bound of the score

Three answers are told apart, and each has its exit code: passed (0), missed (1), and nothing that can be
said. Of the latter a run that was cut short, or whose grading failed, is `incomplete` (3); one that is too
close to call, or rests on too few of the grades and questions it was to have, is undecided (1), because
nobody may take it for a pass.
"""

from typing import Any

from simulator.core.settings import (
    CERTIFIED,
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
    Gate,
    missing_findings,
)
from simulator.results.standing import with_standings
from simulator.results.summary import figures_of
from simulator.results.target import depends_on


def gate_of(results: Results, summary: Summary, settings: Settings) -> Gate:
    """The gate's verdict: every condition of the target has to hold, and nothing may be missing.

    The share of questions with a major turn is one of them (`max_major`). Where several models play the
    customers, it is undecided unless they agree.
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
    if settings.target is None:
        missing = missing_findings(summary, blind=False)
        if 0 < summary.turns == summary.unrecorded:
            # Of a log that is only to be read nothing was to be graded.
            missing = [finding for finding in missing if finding.problem != "ungraded"]
        return Gate(target=None, passed=None, incomplete=bool(missing), findings=tuple(missing))
    run = summary.record
    blind = depends_on(summary.scores.primary, settings.target) and run.answers and not run.evidence
    return conditions_gate(results, summary, settings, blind=blind)


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
