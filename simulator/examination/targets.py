"""Which answers of a run are worth a cross-examination."""

from collections.abc import Collection, Iterator, Sequence
from itertools import zip_longest
from typing import Literal, get_args

from simulator.core.types import Results
from simulator.examination.crossing import Target
from simulator.examination.disagreements import checkable

Which = Literal["specific", "red", "all"]
WHICH: tuple[Which, ...] = get_args(Which)


def targets(
    results: Results, limit: int, *, which: Which = "specific", red: Collection[tuple[str, int]] = ()
) -> tuple[Target, ...]:
    """At most `limit` answered turns, those that tell most amounts, dates and numbers first.

    Every question's best answer comes before any second one, and an answer that was given word for word
    twice is examined once. `specific` takes only turns that tell something checkable.
    """
    found, seen = [], set[tuple[str, str]]()
    for talk in results.conversations:
        for turn in talk.turns:
            said = (talk.case.id, turn.answer.text)
            wanted = turn.answer.error is None and (which != "red" or (talk.id, turn.index) in red)
            if not wanted or said in seen or not turn.answer.text.strip():
                continue
            seen.add(said)
            if which != "specific" or told(turn.answer.text):
                found.append(Target(talk=talk, turn=turn))
    return tuple(_spread(found))[:limit]


def told(answer: str) -> int:
    """How many different amounts, dates, times and numbers an answer tells."""
    return len({each.canonical for each in checkable(answer)})


def _spread(found: Sequence[Target]) -> Iterator[Target]:
    """The best of every case, then the second best of every case, and so on."""
    ranked = sorted(found, key=lambda target: -told(target.turn.answer.text))
    by_case: dict[str, list[Target]] = {}
    for target in ranked:
        by_case.setdefault(target.talk.case.id, []).append(target)
    for level in zip_longest(*by_case.values()):
        yield from (target for target in level if target is not None)
