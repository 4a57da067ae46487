"""What a run will take, estimated from the real prompts and questions before anything is paid."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from types import MappingProxyType
from typing import Literal, NamedTuple

from simulator.amounts import Amounts, Course, Way, Who, amounts_of_each
from simulator.core.types import Conversation, Language, Role, Spending
from simulator.experience import Experience, Ratios, experience
from simulator.models.pricing import together
from simulator.sizes import ANSWER, GRADE, GRADES, PASSAGE, PASSAGES, Guess, Heard, shows_passages, tokens
from simulator.stage import Stage

__all__ = ["ANSWER", "GRADE", "GRADES", "PASSAGE", "PASSAGES", "Forecast", "Unknown", "forecast", "tokens"]

ByModel = dict[Who, Spending]
Hearing = Callable[[], Mapping[Language, Heard]]
# Bots without calls of their own: the demo's model is one of the run's roles, recorded answers are there.
_NOT_ITS_OWN = frozenset({"demo", "recorded"})
# No range is narrower than this share to each side: models do not write alike twice.
NARROWEST = 0.05
# Conversations that are looked at to tell in which language to speak of them.
_LOOKED_AT = 1000


class Unknown(NamedTuple):
    """What nobody knows before the run, and the dollars (None: unknown) it comes to one way and the other.

    `passages`: the bot shows none, or shows them; `leaving`: every customer leaves after the first answer, or
    stays to the last turn; `lengths`: of answers and grades, which have no dollars of their own.
    """

    what: Literal["passages", "leaving", "lengths"]
    low: float | None = None
    high: float | None = None


class Forecast(NamedTuple):
    """Calls, tokens and dollars by role and model.

    `at_most`: every customer stays to the last turn, and answers and replies are long. `expected`: as in
    the earlier run `like`; without one nobody leaves early either, answers are as long as those `heard`
    or else the references, and a bot of which nobody knows it is half taken to show passages.
    `low` and `high`: between these it will be; `unknown` says why they are apart.
    `answers` is how many the bot is asked for at most: what these take is its own, and no part of this.
    `rows`: of a single-turn data set; `offline`: stand-ins play whoever plays. `cases`: how many questions;
    `asks_a_bot`: whether there is a bot to be asked before; `unheard`: it was not, for `like` tells.
    """

    at_most: ByModel
    expected: ByModel
    like: str | None = None
    answers: int = 0
    rows: bool = False
    offline: bool = False
    low: Mapping[Who, Spending] = MappingProxyType({})
    high: Mapping[Who, Spending] = MappingProxyType({})
    unknown: tuple[Unknown, ...] = ()
    heard: Mapping[Language, Heard] = MappingProxyType({})
    language: Language = "en"
    cases: int = 0
    asks_a_bot: bool = False
    unheard: bool = False


def forecast(
    stage: Stage, plan: Sequence[Conversation], runs: Path | None = None, hear: Hearing | None = None
) -> Forecast:
    """What the plan takes; `runs` is the folder of earlier runs to learn from.

    Where none of them is like it, `hear` asks the bot, if it is given.
    """
    settings = stage.settings
    known = experience(stage, plan, runs) if runs else None
    heard = hear() if hear and known is None else {}
    found = _as_known(stage, plan, known) if known else _unknown(stage, plan, heard)
    return found._replace(
        answers=0 if settings.adapter in _NOT_ITS_OWN else len(plan) * settings.turns,
        rows=stage.asks_once,
        offline=stage.offline and bool(stage.models()),
        heard=heard,
        unheard=settings.ask_bot and known is not None,
        language=_language(settings.language, plan),
        asks_a_bot=settings.adapter != "recorded",
        cases=len(plan) // settings.repeats if stage.asks_once else len({talk.case.id for talk in plan}),
    )


def _language(told: str | None, plan: Sequence[Conversation]) -> Language:
    """The language most questions are in; Japanese on a tie."""
    if told == "ja":
        return "ja"
    found = Counter(talk.case.language for talk in islice(plan, _LOOKED_AT))
    return "en" if told == "en" or found["en"] > found["ja"] else "ja"


def _as_known(stage: Stage, plan: Sequence[Conversation], known: Experience) -> Forecast:
    """As in an earlier run; the range never leaves what would be if all left at once, or all were long."""
    course = partial(known.course, stage)
    ways = (Way(Guess("most")), Way(), Way(course=course), Way(course=partial(_at_once, stage)))
    most, whole, usual, soon = amounts_of_each(stage, plan, ways)
    learnt = {who: _of_both(max, each, _as_in(known, who, whole[who])) for who, each in most.items()}
    expected = {who: _as_in(known, who, each) for who, each in usual.items()}
    apart = max(NARROWEST, known.spread(len(plan)))
    low = {
        who: _of_both(max, _times(each, 1 - apart), _as_in(known, who, soon.get(who, Amounts())))
        for who, each in expected.items()
    }
    high = {who: _of_both(min, _times(each, 1 + apart), learnt[who]) for who, each in expected.items()}
    at_most, told, least, greatest = (_priced(stage, each) for each in (learnt, expected, low, high))
    return Forecast(at_most, told, known.run, low=least, high=greatest)


def _unknown(stage: Stage, plan: Sequence[Conversation], heard: Mapping[Language, Heard]) -> Forecast:
    """Without an earlier run: in the middle, and at either end, of what nobody knows yet."""
    shown, at_once = _shown(stage, heard), partial(_at_once, stage)
    usual = [Way(Guess(shows=shows, heard=heard)) for shows in shown]
    ends = [Way(Guess("most", heard=heard)), Way(Guess("least", shows=False, heard=heard), at_once)]
    early = [way._replace(course=at_once) for way in usual]
    most, least, *rest = amounts_of_each(stage, plan, [*ends, *usual, *early])
    late, soon = rest[: len(usual)], rest[len(usual) :]
    at_most, low, expected, left = (
        _priced(stage, each) for each in (most, least, _middle(late), _middle(soon))
    )
    unknown = []
    if len(shown) > 1:
        unknown.append(_between("passages", *(_priced(stage, each) for each in late)))
    if left != expected:
        unknown.append(_between("leaving", left, expected))
    lengths = (Unknown("lengths"),) if at_most else ()
    return Forecast(at_most, expected, low=low, high=at_most, unknown=(*unknown, *lengths))


def _shown(stage: Stage, heard: Mapping[Language, Heard]) -> tuple[bool, ...]:
    """Whether the bot shows passages; both where nobody knows, and a chat endpoint mostly does not."""
    if heard or shows_passages(stage) is not None:
        return (True,)
    return (False,) if stage.settings.adapter == "openai_chat" else (False, True)


def _at_once(stage: Stage, talk: Conversation) -> Course:
    """The customer leaves as soon as they may: after the first answer."""
    turns, plays = stage.turns(talk)
    return Course(1 if plays else turns)


def _middle(ways: Sequence[Mapping[Who, Amounts]]) -> dict[Who, Amounts]:
    found: dict[Who, Amounts] = {}
    for way in ways:
        for who, each in _shares(way, 1 / len(ways)):
            found.setdefault(who, Amounts()).add(each.calls, each.tokens_in, each.tokens_out)
    return found


def _shares(way: Mapping[Who, Amounts], share: float) -> list[tuple[Who, Amounts]]:
    return [(who, _times(each, share)) for who, each in way.items()]


def _between(what: Literal["passages", "leaving"], low: ByModel, high: ByModel) -> Unknown:
    ends = (together(list(each.values())).cost_usd for each in (low, high))
    return Unknown(what, *ends)


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


def _times(each: Amounts, factor: float) -> Amounts:
    return Amounts(each.calls * factor, each.tokens_in * factor, each.tokens_out * factor)


def _of_both(choose: Callable[..., float], one: Amounts, other: Amounts) -> Amounts:
    return Amounts(
        choose(one.calls, other.calls),
        choose(one.tokens_in, other.tokens_in),
        choose(one.tokens_out, other.tokens_out),
    )


def _priced(stage: Stage, found: Mapping[Who, Amounts]) -> ByModel:
    prices = stage.ledger.prices
    return {
        who: prices.spending(who[1], round(each.calls), each.tokens_in, each.tokens_out)
        for who, each in found.items()
    }
