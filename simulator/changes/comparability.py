"""What makes two runs hard to compare, and what was changed between them: said, never refused."""

import json
from collections.abc import Iterator
from typing import Literal

from simulator.analysis.figures import Summary
from simulator.changes import prompted
from simulator.changes.pairs import Pairs
from simulator.core.types import Role, Run, Value
from simulator.storage.runs import replay_of

Kind = Literal[
    "same_run", "unfinished", "rubrics", "models", "prompt_text", "prompt_version", "customers", "settings",
    "rules", "questions", "unpaired",
]  # fmt: skip
# The bot may be anything: that is what is tested. These must be the same for its scores to be held together.
_OF_THE_CUSTOMERS = ("turns", "voice_opening", "typos", "script", "user_temperature", "language", "greeting")
_OF_THE_GRADING = (
    "judging", "votes", "judge_temperature", "guidelines", "contacts", "ng_words", "tokenizer",
    "customer_faults", "seed",
)  # fmt: skip
_NOT_THE_BOT: tuple[Role, ...] = ("user", "judge", "embed")


class Caution(Value):
    """One thing to know before the difference is believed; `names` are judges, roles, settings or runs."""

    kind: Kind
    names: tuple[str, ...] = ()
    before: int = 0
    after: int = 0


class Changed(Value):
    """A setting of the bot that is not the same in both runs."""

    name: str
    before: str
    after: str


def other_rubrics(before: Summary, after: Summary) -> tuple[str, ...]:
    """The judges whose prompt, form or model is not the same in both runs."""
    return tuple(
        name
        for name, judge in after.judges.items()
        if name in before.judges
        and judge.rubrics
        and before.judges[name].rubrics
        and set(judge.rubrics) != set(before.judges[name].rubrics)
    )


def is_replayed(before: Run, after: Run) -> bool:
    """Whether one of the two says the other's lines again, or both those of a third run."""
    origins = [replay_of(run) or run.id for run in (before, after)]
    return before.id != after.id and origins[0] == origins[1]


def cautions(pairs: Pairs) -> tuple[Caution, ...]:
    """Everything that speaks against a plain comparison, gravest first."""
    return tuple(_cautions(pairs, pairs.before.results.run, pairs.after.results.run))


def _cautions(pairs: Pairs, before: Run, after: Run) -> Iterator[Caution]:
    replayed = is_replayed(before, after)
    if before.id == after.id:
        yield Caution(kind="same_run", names=(after.id,))
    if names := other_rubrics(pairs.before.summary, pairs.after.summary):
        yield Caution(kind="rubrics", names=names)
    if names := tuple(_other_models(before, after, replayed=replayed)):
        yield Caution(kind="models", names=names)
    yield from _of_prompts(before, after)
    if not replayed and _others_play(before, after):
        yield Caution(kind="customers")
    if names := tuple(_other_settings(before, after, replayed=replayed)):
        yield Caution(kind="settings", names=names)
    if before.settings.get("red") != after.settings.get("red"):
        yield Caution(kind="rules")
    if reworded := sum(pairs.earlier[k].case.question != pairs.later[k].case.question for k in pairs.both):
        yield Caution(kind="questions", after=reworded)
    if names := tuple(dict.fromkeys(run.id for run in (before, after) if run.status != "finished")):
        yield Caution(kind="unfinished", names=names)
    only = len(pairs.earlier) - len(pairs.both), len(pairs.later) - len(pairs.both)
    if any(only):
        yield Caution(kind="unpaired", before=only[0], after=only[1])


def _of_prompts(before: Run, after: Run) -> Iterator[Caution]:
    if names := tuple(prompted.unnoticed(before, after)):
        yield Caution(kind="prompt_text", names=names)
    if names := tuple(prompted.renumbered(before, after)):
        yield Caution(kind="prompt_version", names=names)


def _other_models(before: Run, after: Run, *, replayed: bool) -> Iterator[str]:
    """The roles beside the bot that another model played; in a replay nobody plays the customer."""
    for role in _NOT_THE_BOT:
        if before.models.get(role) != after.models.get(role) and not (replayed and role == "user"):
            yield role


def _other_settings(before: Run, after: Run, *, replayed: bool) -> Iterator[str]:
    for name in (*(() if replayed else _OF_THE_CUSTOMERS), *_OF_THE_GRADING):
        if before.settings.get(name) != after.settings.get(name):
            yield name


def _others_play(before: Run, after: Run) -> bool:
    """Whether a customer whom both runs have was told to speak otherwise."""
    shared = before.prompts.keys() & after.prompts.keys()
    spoken = (name for name in shared if name.startswith(("user:", "opening:")))
    return any(before.prompts[name] != after.prompts[name] for name in spoken)


def changed(before: Run, after: Run) -> tuple[Changed, ...]:
    """What is known to differ in the bot: adapter, its settings, its prompt, its model."""
    return tuple(
        Changed(name=name, before=one, after=other)
        for name, one, other in _of_the_bot(before, after)
        if one != other
    )


def _of_the_bot(before: Run, after: Run) -> Iterator[tuple[str, str, str]]:
    first, second = before.settings, after.settings
    yield "adapter", _shown(first.get("adapter")), _shown(second.get("adapter"))
    one, other = first.get("set"), second.get("set")
    if isinstance(one, dict) and isinstance(other, dict):
        for key in dict.fromkeys((*one, *other)):
            yield key, _shown(one.get(key)), _shown(other.get(key))
    yield "prompt", prompted.told(before), prompted.told(after)
    yield "demo_model", before.models.get("demo", ""), after.models.get("demo", "")


def _shown(value: object) -> str:
    return "" if value is None else value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
