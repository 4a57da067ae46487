"""Which cell tells labels apart best: by F1, which no row has by itself, so that whole runs are compared.

Were two cells alike, each answer to a row could as well be the other cell's. So the answers of both are
exchanged at random, row by row, and counted how often F1 then differs as much (Noreen, 1989; Yeh, 2000).
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from simulator.core.types import Results
from simulator.matrix.against import Against, Floats, against_highest
from simulator.stats.classification import Classification, headline, per_class
from simulator.stats.comparison import FEWEST_CASES
from simulator.stats.intervals import LEVEL

# A row's own label and what was read from the answer (None: nothing), for each time it was asked.
Told = tuple[tuple[str, str | None], ...]
_SEED = 1234
# So often answers are exchanged: more for many pairs of cells, whose p has to be smaller.
_FEWEST, _FOR_A_PAIR, _MOST = 9_999, 200, 99_999
_AT_ONCE = 2_000_000


class Read(NamedTuple):
    """A cell as a classifier: what was read row by row, and the F1 (0..1) that it comes to."""

    rows: Mapping[int, Told]
    labels: tuple[str, ...]
    positive: str
    f1: float


def read_of(results: Results, found: Classification, places: Mapping[str, int]) -> Read:
    """What the judge of `found` read; `places` has the row of each conversation."""
    own = {talk.id: talk.case.label for talk in results.conversations}
    rows: dict[int, list[tuple[str, str | None]]] = {}
    for score in results.scores:
        if score.judge == found.judge and score.state == "scored" and score.conversation in places:
            expected = score.detail.get("expected", own[score.conversation])
            predicted = score.detail.get("predicted")
            told = (str(expected), None if predicted is None else str(predicted))
            rows.setdefault(places[score.conversation], []).append(told)
    every = {at: tuple(sorted(each, key=str)) for at, each in rows.items()}
    return Read(every, found.labels, found.positive, found.f1)


def f1_against_best(read: Mapping[str, Read]) -> dict[str, Against]:
    """Each cell of a data set, by its key, held by F1 against the one whose F1 is highest."""
    return against_highest(
        {key: each.f1 for key, each in read.items()},
        lambda key, leader, pairs: _against(read[key], read[leader], leader, pairs),
    )


def _against(one: Read, best: Read, leader: str, pairs: int) -> Against:
    kinds = Counter((one.rows[at], best.rows[at]) for at in one.rows.keys() & best.rows.keys())
    rows = kinds.total()
    if rows < FEWEST_CASES:
        return Against(verdict="not_enough", to=leader, rows=rows, difference=one.f1 - best.f1)
    labels = tuple(dict.fromkeys((*best.labels, *one.labels)))
    positive = labels.index(best.positive) if best.positive else None
    ones, bests = (_tables([pair[at] for pair in kinds], labels) for at in (0, 1))
    sizes = np.array(list(kinds.values()))
    difference, p = _exchanged(ones, bests, sizes, len(labels), positive, pairs)
    p = min(1.0, pairs * p)
    beyond = p < 1 - LEVEL and difference < 0
    verdict = "worse" if beyond else "no_difference"
    return Against(verdict=verdict, to=leader, rows=rows, difference=difference, p=p)


def _exchanged(  # noqa: PLR0917 - the tables of two cells, and how they are read
    ones: Floats, bests: Floats, sizes: NDArray[np.int64], labels: int, positive: int | None, pairs: int
) -> tuple[float, float]:
    """How much the F1 of two cells differ, and how probable that much is where they are alike."""

    def apart(exchanged: Floats) -> Floats:
        one, best = sizes @ ones + exchanged, sizes @ bests - exchanged
        shape = (*exchanged.shape[:-1], labels, labels + 1)
        first, second = (headline(per_class(each.reshape(shape)), positive) for each in (one, best))
        return first - second

    known = float(apart(np.zeros(ones.shape[1])))
    moves = bests - ones
    other = moves.any(axis=1)
    if not other.any():
        return known, 1.0
    random, draws = np.random.default_rng(_SEED), min(_MOST, max(_FEWEST, _FOR_A_PAIR * pairs))
    step, as_much = max(1, _AT_ONCE // max(int(other.sum()), ones.shape[1])), 0
    for at in range(0, draws, step):
        drawn = random.binomial(sizes[other], 0.5, size=(min(step, draws - at), int(other.sum())))
        as_much += int((np.abs(apart(drawn.astype(float) @ moves[other])) >= abs(known) - 1e-12).sum())
    return known, (as_much + 1) / (draws + 1)


def _tables(told: Sequence[Told], labels: Sequence[str]) -> Floats:
    """What each kind of row adds to the table of labels by what was read, flat; last is what was not."""
    place = {label: at for at, label in enumerate(labels)}
    found = np.zeros((len(told), len(labels) * (len(labels) + 1)))
    for row, each in enumerate(told):
        for expected, predicted in each:
            read = len(labels) if predicted is None else place.get(predicted, len(labels))
            found[row, place[expected] * (len(labels) + 1) + read] += 1
    return found
