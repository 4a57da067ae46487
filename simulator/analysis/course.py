"""How a run goes from turn to turn: the mean of one judge at each turn index, over all and by persona."""

from collections.abc import Iterable, Mapping
from statistics import fmean

from simulator.analysis.figures import Mean
from simulator.core.types import Results, Score, Value

# Turns after this one are left out: few conversations come so far.
LAST = 12


class Course(Value):
    """One judge at turn 1, 2, ...: `overall`, and by persona; a mean is 0..1, or on the judge's own scale."""

    judge: str
    overall: tuple[Mean, ...]
    personas: Mapping[str, tuple[Mean, ...]]

    @property
    def turns(self) -> int:
        """Up to which turn it goes."""
        return len(self.overall)


def course(results: Results, judge: str, *, raw: bool = False) -> Course | None:
    """The course of a judge, `raw` on its own scale; None when it graded nothing or no talk has two turns.

    A mean's `planned` is how many turns of that index were spoken.
    """
    spoken = [(c.id, turn.index, c.persona) for c in results.conversations for turn in c.turns]
    spoken = [key for key in spoken if key[1] <= LAST]
    given = {(s.conversation, s.turn): s for s in results.scores if s.judge == judge and s.state == "scored"}
    last = max((index for talk, index, _ in spoken if (talk, index) in given), default=0)
    if last < 2:
        return None
    personas = dict.fromkeys(persona for *_, persona in spoken)
    return Course(
        judge=judge,
        overall=_means(spoken, given, last, raw),
        personas={p: _means((key for key in spoken if key[2] == p), given, last, raw) for p in personas},
    )


def _means(
    spoken: Iterable[tuple[str, int, str]], given: Mapping[tuple[str, int], Score], last: int, raw: bool
) -> tuple[Mean, ...]:
    """The mean at each turn index up to `last`."""
    found: list[list[float]] = [[] for _ in range(last)]
    planned = [0] * last
    for talk, index, _ in spoken:
        if index <= last:
            planned[index - 1] += 1
            score = given.get((talk, index))
            value = (score.raw if raw else score.value) if score else None
            if value is not None:
                found[index - 1].append(value)
    return tuple(
        Mean(mean=fmean(values) if values else None, n=len(values), planned=n)
        for values, n in zip(found, planned, strict=True)
    )
