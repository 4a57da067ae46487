"""How closely simulated customers resemble real ones: shares beside a reference, and one figure of 0..100.

    LIKE(a, b) = 100 x (1 - max(0, 2 AUC - 1))     100: nobody could tell one line of a from one of b
    likeness   = 100 x mean LIKE(simulated, people) / mean LIKE(people, other people), at most 100

The AUC is that of a linear discriminant over the `FEATURES` of a line after the first (results/lines.py),
cross-validated in parts that share no conversation, on as many lines of one side as of the other. All are
features of the surface: they say nothing of what a customer wants, and other desks have other customers.

People are not alike either. Two sets of real customers reach a LIKE of about 50 in English, two halves of one
set 29 in Japanese (250 lines a side), so that what is shown is held against that: 100 is as near as people
come to other people.

The steps: `people_of` counts the features of lines, `reference_of` makes a reference of one or several such
sets with what they reach among themselves, `likeness` holds the one against the other. First lines are left
out, because they are the questions of the data set and not the customer's own words.

What is shipped (likeness.json) holds counted features and no text: hotel search in Japanese (ASDC), several
domains in English (STAR, MultiDoGO). `python -m benchmarks.likeness --write` makes it again; `--likeness
FILE` takes the desk's own logs instead.
"""

import json
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from statistics import stdev
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from simulator.cases.cases import read_cases
from simulator.core.errors import InputError
from simulator.core.messages import _
from simulator.core.types import Language, Results, Value
from simulator.results.agreement import auroc
from simulator.results.customers import customer_messages
from simulator.results.figures import rounded
from simulator.results.lines import FEATURES, Matrix, People, people_of

FILE = Path(__file__).with_name("likeness.json")
# So many lines a side are compared: the largest that both have. With fewer there is no figure. A discriminant
# finds more differences in more lines, so each size has a ceiling of its own.
SIZES = (250, 150, 100, 60)
# Parts of the cross-validation, resamples for the standard error, and the seed of both.
FOLDS, RESAMPLES, SEED = 5, 40, 20261122
# Within-class variance that is assumed besides what was seen, of standardised features: keeps a feature that
# is nearly constant in 60 lines from deciding alone.
_RIDGE = 0.05

# What the table shows: these two are medians, the others shares of lines.
MEDIANS = ("length", "turns")


class Reference(NamedTuple):
    """Whom customers are held against; `ceilings` are what people reach among themselves, by lines a side."""

    name: str
    sets: tuple[People, ...]
    ceilings: Mapping[int, float]
    figures: Mapping[str, float]
    sources: tuple[str, ...] = ()


class Likeness(Value):
    """How closely the customers of a language resemble real ones; without a `composite` (0..100) if too few.

    `shares` are ours and the reference's by name: 0..1, but `length` and `turns` are medians. `n` lines were
    compared on each side, of `lines` that were there. `interval` and `stderr` are points of 100, None where
    `composite` is; a share of the reference is None where nobody knows it.
    """

    language: Language
    reference: str
    composite: float | None
    interval: tuple[float, float] | None
    n: int
    lines: int
    shares: dict[str, tuple[float, float | None]]
    stderr: float | None = None
    sources: tuple[str, ...] = ()

    @property
    def largest(self) -> tuple[str, ...]:
        """The three shares that differ most from the reference."""
        pairs = ((n, a, b) for n, (a, b) in self.shares.items() if b is not None and n not in MEDIANS)
        apart = {name: abs(ours - theirs) for name, ours, theirs in pairs}
        return tuple(sorted(apart, key=lambda name: -apart[name]))[:3]

    def as_json(self) -> dict[str, Any]:
        """The object that `--json` prints."""
        shares = {name: {"ours": a, "reference": b} for name, (a, b) in self.shares.items()}
        return {
            "composite": None if self.composite is None else round(self.composite, 1),
            "interval": self.interval and [round(end, 1) for end in self.interval],
            **self.model_dump(include={"language", "reference", "n", "lines"}),
            "shares": rounded(shares),
        }


def drawn(people: People, n: int, random: np.random.Generator) -> People:
    """So many of the lines, of conversations in random order; whole ones, but for the last.

    Lines of one conversation are alike, and have to stay together for the parts of the cross-validation.
    """
    order = random.permutation(np.unique(people.talks))
    place = {int(talk): at for at, talk in enumerate(order)}
    keys = np.array([place[int(talk)] for talk in people.talks])
    return people.at(np.argsort(keys, kind="stable")[:n])


def like(a: People, b: People) -> float:
    """LIKE(a, b), 0..100: how little a linear discriminant tells lines of `a` and of `b` apart.

    Both have as many lines; each line is scored by a discriminant that saw none of its conversation. An AUC
    below one half, which is chance, counts as one half.
    """
    kept = [at for at, name in enumerate(FEATURES) if name not in {*a.lacks, *b.lacks}]
    rows = np.vstack([a.rows, b.rows])[:, kept]
    mine = np.arange(len(rows)) < len(a.rows)
    folds = np.concatenate([_folds(people.talks) for people in (a, b)])
    scores = np.zeros(len(rows))
    for fold in range(FOLDS):
        held = folds == fold
        scores[held] = _discriminant(rows[~held], mine[~held], rows[held])
    area = auroc(scores, mine)
    return 100 * (1 - max(0.0, 2 * (0.5 if area is None else area) - 1))


def _folds(talks: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    random = np.random.default_rng(SEED)  # of each side alone: whichever comes first, they are the same
    numbers, places = np.unique(talks, return_inverse=True)
    return (random.permutation(len(numbers)) % FOLDS)[places]


def _discriminant(rows: Matrix, mine: npt.NDArray[np.bool_], held: Matrix) -> Matrix:
    """Scores of the held rows, higher for ours: Fisher's linear discriminant of standardised features."""
    if mine.all() or not mine.any():
        return np.zeros(len(held))
    # Standardised by the lines that it learns from alone; what never varies there says nothing.
    middle, spread = rows.mean(axis=0), rows.std(axis=0)
    spread[spread < 1e-9] = 1.0
    rows, held = (rows - middle) / spread, (held - middle) / spread
    # Fisher (1936): the direction in which both sides lie furthest apart for how much each of them scatters.
    means = [rows[side].mean(axis=0) for side in (mine, ~mine)]
    centred = rows - np.where(mine[:, None], *means)
    within = centred.T @ centred / len(rows) + _RIDGE * np.eye(rows.shape[1])
    scored: Matrix = held @ np.linalg.solve(within, means[0] - means[1])
    return scored


def mean_like(ours: People, sets: Sequence[People], n: int, seed: int = SEED, draws: int = 5) -> float:
    """Mean LIKE with each of the sets on `n` lines a side, over so many random draws of both."""
    random, each_draw = np.random.default_rng(seed), [people for people in sets for _draw in range(draws)]
    likenesses = [like(drawn(ours, n, random), drawn(people, n, random)) for people in each_draw]
    return float(np.mean(likenesses))


def ceilings(sets: Sequence[People]) -> dict[int, float]:
    """What people reach against other people, by lines a side; of one set alone, between its two halves.

    At least 1, because what is shown is divided by it. More draws than elsewhere: it is measured once and
    stands in every figure.
    """
    if not sets:
        return {}
    if len(sets) == 1:
        half = np.unique(sets[0].talks, return_inverse=True)[1] % 2 == 0
        sets = [sets[0].at(half), sets[0].at(~half)]
    by_size = {}
    for n in (n for n in SIZES if min(len(people.rows) for people in sets) >= n):
        means = [mean_like(a, [b for b in sets if b is not a], n, draws=20) for a in sets]
        by_size[n] = max(1.0, float(np.mean(means)))
    return by_size


def reference_of(
    name: str, sets: Sequence[People], ceilings_by_size: Mapping[int, float] | None = None
) -> Reference:
    """A reference of these sets, with their ceilings measured unless they are known."""
    by_figure: dict[str, list[float]] = {}
    for key, figure in (item for people in sets for item in people.figures.items()):
        by_figure.setdefault(key, []).append(figure)
    figures = {key: float(np.mean(values)) for key, values in by_figure.items()}
    return Reference(
        name, tuple(sets), ceilings(sets) if ceilings_by_size is None else ceilings_by_size, figures
    )


def likeness(ours: People, reference: Reference, language: Language) -> Likeness:
    """The customers held against a reference; the interval is of 95 %, by resampling conversations."""
    lines, composite, interval, stderr = len(ours.rows), None, None, None
    n = next((size for size in SIZES if lines >= size and size in reference.ceilings), 0)
    if n:
        top = reference.ceilings[n]
        whole = 100 * mean_like(ours, reference.sets, n) / top
        random = np.random.default_rng(SEED)
        spread = []
        talks = [np.flatnonzero(ours.talks == number) for number in np.unique(ours.talks)]
        for _resample in range(RESAMPLES):
            # People's side is drawn anew as well, so that both are in the error.
            again = ours.at(_resampled(talks, n, random))
            likenesses = [like(again, drawn(people, n, random)) for people in reference.sets]
            spread.append(100 * float(np.mean(likenesses)) / top)
        composite, stderr = min(100.0, whole), stdev(spread)
        interval = (max(0.0, composite - 1.96 * stderr), min(100.0, composite + 1.96 * stderr))
    return Likeness(
        language=language,
        reference=reference.name,
        composite=composite,
        interval=interval,
        n=n,
        lines=lines,
        shares={name: (figure, reference.figures.get(name)) for name, figure in ours.figures.items()},
        stderr=stderr,
        sources=reference.sources,
    )


def _resampled(
    talks: Sequence[npt.NDArray[np.intp]], n: int, random: np.random.Generator
) -> npt.NDArray[np.intp]:
    """The places of so many lines, of conversations drawn with replacement."""
    drawn_talks, size = [], 0
    while size < n:
        drawn_talks.append(talks[int(random.integers(len(talks)))])
        size += len(drawn_talks[-1])
    return np.concatenate(drawn_talks)[:n]


@cache
def shipped_reference(language: Language) -> Reference:
    """Features and figures of real customers that stand beside this module, with their sources."""
    table = json.loads(FILE.read_text(encoding="utf-8"))[language]
    sets = [
        People(
            np.array([row[1:] for row in entry["rows"]], dtype=np.float64),
            np.array([row[0] for row in entry["rows"]], dtype=np.int64),
            entry["figures"],
            tuple(entry["lacks"]),
        )
        for entry in table["sets"]
    ]
    ceilings_by_size = {int(n): value for n, value in table["ceilings"].items()}
    reference = reference_of(", ".join(entry["name"] for entry in table["sets"]), sets, ceilings_by_size)
    shown = ("name", "domain", "licence", "source")
    return reference._replace(
        sources=tuple("; ".join(entry[key] for key in shown) for entry in table["sets"])
    )


def logged_reference(path: str, language: Language | None = None) -> Reference:
    """The customers of the desk's own logs or dialogues, of one language where it is given.

    Raises CaseFileError for what is no such file, InputError where no customer says a second thing.
    """
    cases = read_cases(path)
    talks = [
        [*(line.content for line in case.history if line.role == "user"), case.question, *case.script]
        for case in cases
        if language in (None, case.language)
    ]
    if not any(len(lines) > 1 for lines in talks) and language is None:
        msg = _(
            "--likeness {path}: no customer says more than one line. Name logs of conversations"
            " (docs/personas.md, Likeness).",
            path=path,
        )
        raise InputError(msg)
    return reference_of(Path(path).name, [people_of(talks, language)] if language else [])


def measured(results: Results, logs: str | None = None) -> Likeness:
    """The customers of a run, those of the language with more lines, beside logs or the shipped reference."""
    lines: dict[Language, list[list[str]]] = {"ja": [], "en": []}
    ended: list[str] = []
    for conversation in results.conversations:
        if conversation.turns:
            lines[conversation.case.language].append(customer_messages(conversation))
        if conversation.ended:
            ended.append(conversation.ended.value)
    # A run in both languages shows the one it says more about; only its lines are looked at.
    later = {spoken: sum(max(0, len(talk) - 1) for talk in lines[spoken]) for spoken in lines}
    language = max(later, key=later.__getitem__)
    reference = logged_reference(logs, language) if logs else shipped_reference(language)
    result = likeness(people_of(lines[language], language), reference, language)
    leaving = {f"ended_{how}": (ended.count(how) / len(ended), None) for how in dict.fromkeys(ended)}
    return result.model_copy(update={"shares": result.shares | leaving})
