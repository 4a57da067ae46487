"""The figures of a run: how they are made, from the run file to the values that reports show.

run_turns            results/turns.py        the run file, once, conversation by conversation
score_figures        results/scores.py       what the judges say
red_figures          results/red_answers.py  the answers to read, with their texts
customer_figures     here                    how the customers were played
bot_usage            here                    what the bot took
"""

from collections import Counter
from dataclasses import replace
from typing import Any

from simulator.core.settings import Settings, stored_settings
from simulator.core.types import Ended, RedRules, Results, Spending
from simulator.models.pricing import Prices, usage_of
from simulator.results.figures import CustomerFigures, MoneyFigures, Summary, rounded
from simulator.results.red import grading_judges, primary_judge
from simulator.results.red_answers import red_figures
from simulator.results.rows import RunTurns
from simulator.results.scores import score_figures
from simulator.results.turns import run_turns

# Of the adapter, the bundled bot: its model is one of the run's own roles, and its tokens are counted there.
_BUNDLED_BOT = "demo"
# A conversation that was cut off is not finished: it can be taken up again.
CUT_OFF = frozenset({Ended.BUDGET, Ended.INTERRUPTED})


def figures_of(results: Results, settings: Settings) -> Summary:
    """The figures of a run by these settings: first the judges they name, then whichever others graded it.

    The one way in which reports, gate and `diff` come to a summary, so that all show the same score.
    """
    judges = grading_judges(results, settings.judges)
    return summarise(results, rules=settings.red, judges=judges, seed=settings.seed)


def summarise(results: Results, *, rules: RedRules, judges: tuple[str, ...], seed: int) -> Summary:
    """The summary of a run as far as it has come; `judges` in the order in which they were named."""
    # Whoever names no judges, as a test or a notebook, gets all that graded.
    names = judges or tuple(sorted(results.scores.judges))
    every = run_turns(results, rules, primary_judge(names))
    return Summary(
        run=results.run.id,
        status=results.run.status,
        offline=results.run.offline,
        rows=results.run.asks_once,
        planned=results.planned,
        finished=sum(c.ended is not None and c.ended not in CUT_OFF for c in every.conversations),
        ended=dict(Counter(c.ending for c in every.conversations if c.ended)),
        record=every,
        turns=sum(len(row.turns) for row in every.conversations),
        unrecorded=sum(turn.unrecorded for turn in every.turns),
        reasoned=results.conversations.reasoned,
        bot_failures=dict(Counter(turn.failure for turn in every.turns if turn.failure)),
        seconds=results.run.seconds,
        scores=score_figures(results, every, judges=names, seed=seed),
        red=red_figures(results, every, rules),
        customers=customer_figures(every),
        money=MoneyFigures(spending=results.spending, usage=results.usage, bot=bot_usage(results)),
    )


def customer_figures(run: RunTurns) -> CustomerFigures:
    """How the customers were played."""
    guarded = [broken for row in run.conversations for broken in row.broken]
    return CustomerFigures(
        guarded=len(guarded),
        rules=dict(Counter(rule for broken in guarded for rule in broken)),
        failed=sum(row.ended in (Ended.USER_FAILED, Ended.ENDPOINT_FAILED) for row in run.conversations),
        overruled=sum(row.overruled for row in run.conversations),
    )


def bot_usage(results: Results) -> dict[str, Spending]:
    """What the bot itself spent by model: calls, tokens, dollars; empty where no answer states its tokens.

    Without a model's name the cost is unknown (None), and not 0 as that of a stand-in. The bundled bot has
    no row: its calls are among those of the run (role `demo`).
    """
    # Its tokens are counted by the ledger; counting them here would show them twice.
    if results.run.settings.get("adapter", _BUNDLED_BOT) == _BUNDLED_BOT:
        return {}
    used: dict[str, Counter[str]] = {}
    for usage in results.conversations.usages():
        tokens = {key: getattr(usage, key) for key in ("tokens_in", "tokens_out", "tokens_cached")}
        used.setdefault(usage.model, Counter()).update(tokens, calls=1)
    prices, spending = Prices(stored_settings(results.run.settings).prices) if used else None, {}
    for model, counted in used.items():
        spent = Spending(**counted)
        cost = prices.cost_usd(usage_of(model, spent)) if prices and model else None
        spending[model] = replace(spent, cost_usd=cost)
    return spending


def as_json(summary: Summary) -> dict[str, Any]:
    """What `--json` prints of a run's figures, rounded to 4 decimals."""
    shown = ("mean", "stderr", "raw_mean", "n", "planned", "failed", "unreached", "skipped")
    return {
        "score": rounded(summary.scores.score),
        "interval": rounded(summary.scores.interval),
        "simulators": {
            model: rounded(mean.model_dump(include={"score", "n"}))
            for model, mean in summary.scores.simulators.items()
        },
        "simulator_spread": rounded(summary.scores.spread),
        "judges": {
            name: {key: rounded(getattr(judge, key)) for key in shown}
            | ({"undecided": judge.undecided} if judge.undecided else {})
            | ({} if judge.same_grade is None else {"same_grade": judge.same_grade})
            | ({"ignored": judge.ignored} if judge.ignored else {})
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
