"""What a run will take, estimated from the real prompts and questions before anything is paid."""

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from simulator.amounts import Amounts, Who, amounts
from simulator.experience import Experience, Ratios, experience
from simulator.sizes import ANSWER, GRADE, GRADES, PASSAGE, PASSAGES, tokens
from simulator.spending import together
from simulator.stage import Stage
from simulator.types import Conversation, Role, Spending

__all__ = ["ANSWER", "GRADE", "GRADES", "PASSAGE", "PASSAGES", "Forecast", "forecast", "tokens"]

ByModel = dict[Who, Spending]
# Bots without calls of their own: the demo's model is one of the run's roles, recorded answers are there.
_NOT_ITS_OWN = frozenset({"demo", "recorded"})


class Forecast(NamedTuple):
    """Calls, tokens and dollars by role and model.

    `at_most`: every customer stays to the last turn, and answers and replies are long. `expected`: as in
    the earlier run `like`; without one nobody leaves early either, and answers are as long as references.
    `answers` is how many the bot is asked for at most: what these take is its own, and no part of this.
    `rows`: of a single-turn data set; `offline`: stand-ins play whoever plays.
    """

    at_most: ByModel
    expected: ByModel
    like: str | None = None
    answers: int = 0
    rows: bool = False
    offline: bool = False


def forecast(stage: Stage, plan: Sequence[Conversation], runs: Path | None = None) -> Forecast:
    """What the plan takes; `runs` is the folder of earlier runs to learn from."""
    known = experience(stage, plan, runs) if runs else None
    settings = stage.settings
    answers = 0 if settings.adapter in _NOT_ITS_OWN else len(plan) * settings.turns
    told = partial(Forecast, answers=answers, rows=stage.asks_once)
    told = partial(told, offline=stage.offline and bool(stage.models()))
    longest, whole = amounts(stage, plan, exact=False), amounts(stage, plan, exact=True)
    if known is None:
        return told(_priced(stage, longest), _priced(stage, whole))
    usual = amounts(stage, plan, exact=True, course=lambda talk: known.course(stage, talk))
    learnt = {who: _larger(each, _as_in(known, who, whole[who])) for who, each in longest.items()}
    expected = {who: _as_in(known, who, each) for who, each in usual.items()}
    return told(_priced(stage, learnt), _priced(stage, expected), known.run)


def by_role(found: Mapping[Who, Spending]) -> dict[Role, Spending]:
    """The models of a role put together."""
    roles = dict.fromkeys(role for role, _ in found)
    return {role: together([each for (r, _), each in found.items() if r == role]) for role in roles}


def _as_in(known: Experience, who: Who, each: Amounts) -> Amounts:
    ratios = known.ratios.get(who, Ratios())
    return Amounts(
        each.calls * ratios.calls,
        each.tokens_in * ratios.calls * ratios.tokens_in,
        each.tokens_out * ratios.calls * ratios.tokens_out,
    )


def _larger(one: Amounts, other: Amounts) -> Amounts:
    return Amounts(
        max(one.calls, other.calls),
        max(one.tokens_in, other.tokens_in),
        max(one.tokens_out, other.tokens_out),
    )


def _priced(stage: Stage, found: Mapping[Who, Amounts]) -> ByModel:
    prices = stage.ledger.prices
    return {
        who: prices.spending(who[1], round(each.calls), each.tokens_in, each.tokens_out)
        for who, each in found.items()
    }
