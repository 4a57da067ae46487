"""How closely simulated customers resemble real ones: of 100 of their lines, how many could be a person's.

    likeness = 100 x the share of lines that lie where 98 of 100 lines of people do      people: about 98

What gives these customers away decides where to look: the direction over the `FEATURES` of a line after the
first (lines.py) in which they lie furthest from people, for how much lines and desks scatter anyway
(Fisher's discriminant, 1936, with the scatter between desks as part of what is within). It is learned from
other conversations than those whose lines are judged, and anew for every run: whatever its customers have
in common that people have not costs points. A trait in which real desks differ costs less.

The interval (95 %) is of all three: which conversations were held, which desks the reference has, and that
the customers' own desk may lie as far from its centre as any of them.

What is shipped (likeness.json) holds counts and no text: mean features of desks of public dialogues, their
covariance, and what people of other desks and assistant prose reach. `python -m benchmarks.likeness
--write` makes it again.
"""

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from statistics import NormalDist, stdev
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from simulator.core.types import Language, Results, Value
from simulator.lab.likeness.lines import Matrix, People, customer_messages, people_of
from simulator.results.figures import rounded

FILE = Path(__file__).with_name("likeness.json")
# With fewer of these there is no figure.
LEAST_LINES, LEAST_CONVERSATIONS = 60, 20
# Of 100 lines of people so many count as a person's, in any direction.
PEOPLE = 98
# Parts of the cross-validation, how often it is repeated, resamples for the interval, and the seed of all.
FOLDS, REPEATS, RESAMPLES, SEED = 5, 10, 100, 20261129
# The most lines that a direction is learned from: more would find more, and a long run would look worse.
LEARNED = 100
# The part of each feature's variance that is assumed besides what was seen, so that no combination of
# features that hardly ever varied decides alone.
_RIDGE = 0.05
# What the table shows: these two are medians, the others shares of lines.
MEDIANS = ("length", "turns")

Range = tuple[float, float]


class Reference(NamedTuple):
    """Real customers: mean features of each desk, with its weight.

    `within` is the covariance of lines of one desk, `between` that of the desks. `figures` are the lowest and
    the highest share of its sets. `scale` is what others reach (0..100): "other" desks, "half" and "all"
    assistant prose; empty where nobody measured it.
    """

    name: str
    means: Matrix
    weights: Matrix
    within: Matrix
    between: Matrix
    figures: Mapping[str, Range]
    scale: Mapping[str, float] = {}
    sources: tuple[str, ...] = ()


class Spread(NamedTuple):
    """How lines differ, those of one desk's and those of the desks together, and its inverse with a ridge."""

    scatter: Matrix
    inverse: NDArray[np.floating[Any]]


class Likeness(Value):
    """How closely the customers of a language resemble real ones; without a `composite` (0..100) if too few.

    `shares` are ours and the reference's lowest and highest by name: 0..1, but `length` and `turns` are
    medians; None where nobody knows the reference's. `by_line` is of each of the `lines` how often it counted
    as a person's (0..1). `interval` is None where `composite` is.
    """

    language: Language
    reference: str
    composite: float | None
    interval: Range | None
    lines: int
    conversations: int
    shares: dict[str, tuple[float, Range | None]]
    scale: dict[str, float]
    by_line: tuple[float, ...] = ()
    sources: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """The object that `--json` prints."""
        return {
            "composite": None if self.composite is None else round(self.composite, 1),
            "interval": self.interval and [round(end, 1) for end in self.interval],
            **self.model_dump(include={"language", "reference", "lines", "conversations", "scale"}),
            "shares": rounded({name: {"ours": a, "reference": b} for name, (a, b) in self.shares.items()}),
        }


def like_a_person(
    ours: People, centre: Matrix, spread: Spread, random: np.random.Generator, repeats: int
) -> Matrix:
    """Of each line how often it counts as a person's (0..1), in so many cross-validations."""
    scatter, inverse = spread
    apart = ours.rows - centre
    numbers, places = np.unique(ours.talks, return_inverse=True)
    hits = np.zeros(len(apart))
    limit = NormalDist().inv_cdf(PEOPLE / 100)
    for _repeat in range(repeats):
        # Lines of one conversation are alike, and stay together.
        folds = (random.permutation(len(numbers)) % FOLDS)[places]
        for fold in range(FOLDS):
            held = folds == fold
            learned = random.permutation(np.flatnonzero(~held))[:LEARNED]
            direction = inverse @ apart[learned].mean(axis=0)
            hits[held] += apart[held] @ direction <= limit * np.sqrt(direction @ scatter @ direction)
    return hits / repeats


def likeness(ours: People, reference: Reference, language: Language) -> Likeness:
    """The customers held against a reference."""
    talks = [np.flatnonzero(ours.talks == number) for number in np.unique(ours.talks)]
    result = Likeness(
        language=language,
        reference=reference.name,
        composite=None,
        interval=None,
        lines=len(ours.rows),
        conversations=len(talks),
        shares={name: (figure, reference.figures.get(name)) for name, figure in ours.figures.items()},
        scale=dict(reference.scale),
        sources=reference.sources,
    )
    if len(ours.rows) < LEAST_LINES or len(talks) < LEAST_CONVERSATIONS:
        return result
    random = np.random.default_rng(SEED)
    middle = np.average(reference.means, axis=0, weights=reference.weights)
    scatter = reference.within + reference.between
    spread = Spread(scatter, np.linalg.inv(scatter + np.diag(_RIDGE * np.diag(scatter) + 1e-4)))
    by_line = like_a_person(ours, middle, spread, random, REPEATS)
    shares, resamples = reference.weights / reference.weights.sum(), []
    for _resample in range(RESAMPLES):
        desks = random.integers(len(reference.means), size=len(reference.means))
        centre = np.average(reference.means[desks], axis=0, weights=reference.weights[desks])
        centre = centre + reference.means[random.choice(len(shares), p=shares)] - middle
        again = ours.at(np.concatenate([talks[at] for at in random.integers(len(talks), size=len(talks))]))
        resamples.append(float(like_a_person(again, centre, spread, random, 1).mean()))
    composite, reach = 100 * float(by_line.mean()), 196 * stdev(resamples)
    interval = (max(0.0, composite - reach), min(100.0, composite + reach))
    return result.model_copy(
        update={"composite": composite, "interval": interval, "by_line": tuple(by_line.tolist())}
    )


@cache
def shipped_tables() -> dict[str, dict[str, Any]]:
    """What stands in likeness.json, by language."""
    table: dict[str, dict[str, Any]] = json.loads(FILE.read_text(encoding="utf-8"))
    return table


@cache
def shipped_reference(language: Language) -> Reference:
    """Mean features of real customers' desks that stand beside this module, with their sources."""
    return reference_of(shipped_tables(), language)


def reference_of(tables: Mapping[str, Mapping[str, Any]], language: Language) -> Reference:
    """The reference of a language; `tables` are as likeness.json has them."""
    table, shown = tables[language], ("name", "licence", "source")
    return Reference(
        ", ".join(entry["name"] for entry in table["sets"]),
        *_desks(table),
        np.array(table["within"]),
        # How much desks differ is known of few in each language, so both say it.
        np.mean([_between(each) for each in tables.values()], axis=0),
        {name: (low, high) for name, (low, high) in table["figures"].items()},
        table["scale"],
        tuple("; ".join(entry[key] for key in shown) for entry in table["sets"]),
    )


def _desks(table: Mapping[str, Any]) -> tuple[Matrix, Matrix]:
    """Mean features by desk, and weights: every set counts the same, however many desks it has."""
    sets = [desk.split()[0] for desk in table["desks"]]
    return np.array(list(table["desks"].values())), np.array([1 / sets.count(name) for name in sets])


def _between(table: Mapping[str, Any]) -> Matrix:
    means, weights = _desks(table)
    covariance: Matrix = np.cov(means.T, aweights=weights / weights.sum())
    return covariance


def customers_of(results: Results) -> tuple[Language, People, list[str]]:
    """The language that a run's customers say more in, their lines, and the case of each conversation."""
    talks: dict[Language, list[tuple[list[str], str]]] = {"ja": [], "en": []}
    for conversation in results.conversations:
        if any(map(str.strip, lines := customer_messages(conversation))):
            talks[conversation.case.language].append((lines, conversation.case.id))
    language = max(talks, key=lambda spoken: sum(len(lines) - 1 for lines, _case in talks[spoken]))
    people = people_of([lines for lines, _case in talks[language]], language)
    return language, people, [case for _lines, case in talks[language]]


def by_case(results: Results) -> list[tuple[float, str]]:
    """Of each line how often it counted as a person's (0..1), with its case: what a target asks for.

    Empty where it is undecided, and for rows, which nobody asks.
    """
    if results.run.asks_once:
        return []
    language, people, cases = customers_of(results)
    by_line = likeness(people, shipped_reference(language), language).by_line
    return [(value, cases[talk]) for value, talk in zip(by_line, people.talks, strict=False)]


def measured(results: Results) -> Likeness:
    """The customers of a run, those of the language with more lines, beside real ones."""
    language, people, _cases = customers_of(results)
    result = likeness(people, shipped_reference(language), language)
    ended = [conversation.ended.value for conversation in results.conversations if conversation.ended]
    leaving = {f"ended_{how}": (ended.count(how) / len(ended), None) for how in dict.fromkeys(ended)}
    return result.model_copy(update={"shares": result.shares | leaving})
