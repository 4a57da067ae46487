"""The figures of a run as the one object that `--json` prints."""

from typing import Any

from simulator.core.types import Spending
from simulator.stats.figures import JudgeSummary, SimulatorSummary, Summary, rounded
from simulator.stats.gate import Gate

_COUNTS = ("n", "planned", "failed", "skipped", "excluded")


def as_json(summary: Summary, gate: Gate, store: str = "") -> dict[str, Any]:
    """The object that `--json` prints, figures rounded to 4 decimals; `store` is the run file's path."""
    return {
        "run": summary.run,
        "store": store,
        "score": rounded(summary.score),
        "interval": [rounded(end) for end in summary.interval] if summary.interval else None,
        "corrected": summary.corrected and summary.corrected.as_json(),
        "target": gate.asked if isinstance(gate.asked, str) else rounded(gate.asked),
        "passed": gate.passed,
        "decision": gate.decision,
        "confidence": gate.confidence,
        "conditions": [checked.as_json() for checked in gate.conditions],
        "reasons": list(gate.reasons),
        "judges": {name: _judge_json(judge) for name, judge in summary.judges.items()},
        "total": {"value": rounded(summary.total.value), "of": summary.total.of},
        "conversations": {
            "planned": summary.planned,
            "finished": summary.finished,
            "spared": summary.spared,
            "ended": summary.ended,
        },
        "turns": summary.turns,
        "red": summary.red,
        "simulator": _simulator_json(summary.simulator),
        "calls": {role: spent.calls for role, spent in summary.spending.items()},
        "tokens": {
            r: {"in": spent.tokens_in, "out": spent.tokens_out} for r, spent in summary.spending.items()
        },
        "cost_usd": rounded(summary.cost_usd),
        "usage": {role: {m: _usage(s) for m, s in by.items()} for role, by in summary.usage.items()},
        "seconds": rounded(summary.seconds),
        "offline": summary.offline,
    }


def _usage(spent: Spending) -> dict[str, Any]:
    """What one model used in one role; calls answered from the cache stand apart and cost nothing."""
    return {
        "calls": spent.calls,
        "cached": spent.cached,
        "in": spent.tokens_in,
        "out": spent.tokens_out,
        "cost_usd": None if spent.cost_usd is None else round(spent.cost_usd, 6),
    }


def _simulator_json(played: SimulatorSummary) -> dict[str, Any]:
    """How the customers were played, in the object that `--json` prints."""
    customers = played.customers
    return {
        "guarded": played.guarded,
        "failed": played.failed,
        "faults": customers.faults,
        "spoilt": len(customers.spoilt),
        "handling": customers.handling,
        "held_again": len(customers.superseded),
        "score_with_spoilt": rounded(played.with_spoilt),
        "score_without_spoilt": rounded(played.without_spoilt),
        "figures": {
            name: {
                "value": rounded(each.value),
                "n": each.n,
                "of": each.of,
                "goal": each.goal,
                "met": each.met,
            }
            for name, each in customers.figures.items()
        },
        "lengths": {
            language: {who: each.model_dump() for who, each in found.items()}
            for language, found in customers.lengths.items()
        },
    }


def _judge_json(judge: JudgeSummary) -> dict[str, Any]:
    """One judge in the object that `--json` prints."""
    means = {key: rounded(getattr(judge, key)) for key in ("mean", "stderr", "raw_mean")}
    return means | {key: getattr(judge, key) for key in _COUNTS if key != "excluded" or judge.excluded}
