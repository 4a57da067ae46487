"""What an earlier run like the planned one teaches: how often customers leave, and how long things are."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean, pstdev
from typing import NamedTuple

from simulator.amounts import Amounts, Course, Way, Who, amounts
from simulator.core.errors import RunFileError
from simulator.core.types import Conversation, Ended, Results, Run, Spending, Turn
from simulator.sizes import tokens
from simulator.stage import Stage
from simulator.storage.run_file import NAME, read_run

# Of the newest runs so many are looked at, and a file larger than this (bytes) is not read for a forecast.
NEWEST, LARGEST = 50, 100 * 2**20
# A persona's own share of leaving customers counts for as much as everybody's after so many decisions.
DECISIONS = 10
_LEFT = (Ended.SATISFIED, Ended.GAVE_UP, Ended.HANDED_OVER)
# What decides which calls a run makes, beside its models.
_ALIKE = (
    "adapter", "judges", "judging", "votes", "panel", "guidelines", "voice_opening", "script", "replay",
    "protocol", "prompt", "outputs",
)  # fmt: skip
# What runs of earlier versions do not tell.
_UNTOLD = {"protocol": "dialogue"}


class Ratios(NamedTuple):
    """What was counted over what would have been forecast: calls, and tokens in and out of each call."""

    calls: float = 1.0
    tokens_in: float = 1.0
    tokens_out: float = 1.0


class Experience(NamedTuple):
    """Learnt from `run`; `leaving` is the share (0..1) of customers who leave after a turn, by persona.

    `held` is how many conversations it had, and `varying` the coefficient of variation of their sizes.
    """

    run: str
    leaving: Mapping[str, float]
    ratios: Mapping[Who, Ratios]
    held: int = 1
    varying: float = 1.0

    def spread(self, planned: int) -> float:
        """How far, as a share, so many conversations may be from what these foretell: two deviations."""
        return 2 * self.varying * math.sqrt(1 / self.held + 1 / max(1, planned))

    def course(self, stage: Stage, talk: Conversation) -> Course:
        """How far a conversation will probably come."""
        turns, plays = stage.turns(talk)
        return Course(turns, self.leaving.get(talk.persona, self.leaving[""]) if plays else 0.0)


def experience(stage: Stage, plan: Sequence[Conversation], runs: Path) -> Experience | None:
    """From the newest finished run with the same bot, judges, models and languages; None without one."""
    if not runs.is_dir():
        return None
    from simulator.storage.runs import read_heads  # the first run of all does without it

    languages = {talk.case.language for talk in plan}
    for at, run in enumerate(read_heads(runs)):
        path = runs / run.id / NAME
        if at >= NEWEST:
            break
        if not _is_like(stage, run) or path.stat().st_size > LARGEST:
            continue
        try:
            results = read_run(path)
        except RunFileError:
            continue
        held = [talk for talk in results.conversations if talk.turns and talk.persona in stage.personas]
        if held and {talk.case.language for talk in held} == languages:
            leaving = _leaving(held, int(str(run.settings["turns"])))
            foreseen = amounts(stage, held, Way(course=lambda talk: Course(len(talk.turns))))
            ratios = _ratios(foreseen, results)
            return Experience(run.id, leaving, ratios, len(held), _varying(held, foreseen))
    return None


def _is_like(stage: Stage, run: Run) -> bool:
    settings, own = stage.settings.of_the_run(), stage.models()
    roles = ("user", "judge", "embed", *(("demo",) if stage.settings.adapter == "demo" else ()))
    return (
        run.status == "finished"
        and not run.offline
        and all(run.models.get(role) == own.get(role) for role in roles)
        and all(run.settings.get(name, _UNTOLD.get(name)) == settings[name] for name in _ALIKE)
    )


def _leaving(held: Sequence[Conversation], turns: int) -> dict[str, float]:
    """How many of those who were asked to go on left instead; `""` stands for everybody."""
    asked: dict[str, int] = {"": 0}
    left: dict[str, int] = {"": 0}
    for talk in held:
        for who in ("", talk.persona):
            asked[who] = asked.get(who, 0) + min(len(talk.turns), turns - 1)
            left[who] = left.get(who, 0) + (talk.ended in _LEFT and len(talk.turns) < turns)
    every = left[""] / asked[""] if asked[""] else 0.0
    return {
        who: (left[who] + every * DECISIONS) / (asked[who] + DECISIONS) if who else every for who in asked
    }


def _varying(held: Sequence[Conversation], foreseen: Mapping[Who, Amounts]) -> float:
    """How much conversations differ: what every turn takes alike, and the words of each."""
    if len(held) == 1:
        return 1.0  # nobody knows
    alike = sum(each.tokens_in for each in foreseen.values()) / sum(len(talk.turns) for talk in held)
    sizes = [len(talk.turns) * alike + _words(talk) for talk in held]
    return pstdev(sizes) / fmean(sizes)


def _words(talk: Conversation) -> int:
    said = (text for turn in talk.turns for text in (turn.user, turn.answer.text, *_shown(turn)))
    return sum(map(tokens, said))


def _shown(turn: Turn) -> list[str]:
    return [passage.text for passage in turn.answer.passages]


def _ratios(foreseen: Mapping[Who, Amounts], results: Results) -> dict[Who, Ratios]:
    found: dict[Who, Ratios] = {}
    for (role, model), each in foreseen.items():
        spent = results.usage.get(role, {}).get(model, Spending())
        calls = (spent.calls + spent.cached) / each.calls
        if spent.calls:
            share = spent.calls / each.calls
            found[role, model] = Ratios(
                calls,
                spent.tokens_in / (share * each.tokens_in) if each.tokens_in else 1.0,
                spent.tokens_out / (share * each.tokens_out) if each.tokens_out else 1.0,
            )
        elif calls:
            found[role, model] = Ratios(calls)
    return found
