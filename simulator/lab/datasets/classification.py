"""How well labels are told apart: accuracy, F1, a report per class, and what a trivial guesser would get.

And multiple choice: accuracy by subject, and what guessing would reach. No choice found in an answer is a
wrong answer, and counted.
Counts are all it takes: a table of expected by predicted labels, with one more column for the answers from
which no label could be read. Those are wrong, and they count. Standard errors are those of
lm-evaluation-harness: of accuracy the sample's, of F1 the standard deviation (n - 1) of 100,000 resamples.
Shares without any row to divide by are 0, as in scikit-learn's `classification_report`.

    expected 1 1 0 0, read 1 - 0 1 ("-" is nothing)

          0  1  -
    0     1  1  0        accuracy 0.5, F1 of the label 1 is 0.5 (precision 0.5, recall 0.5)
    1     0  1  1        F1 of the label 0 is 0.67 (precision 1, recall 0.5), one row not extracted
"""

import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from simulator.core.types import Results, Value
from simulator.results.figures import rounded
from simulator.results.intervals import blocks, clustered_stderr, standard_error
from simulator.storage.results import conversations_with_scores
from simulator.text.choices import LETTERS, right_letter

Counts = NDArray[np.int64]
Floats = NDArray[np.float64]
# As many resamples as lm-evaluation-harness draws unless it is told otherwise.
DRAWS = 100_000
SEED = 1234
# Resamples times cells that are drawn at all: a table of 100 labels has 10,100 cells and fewer resamples.
_AT_MOST = 4_000_000
# Of two labels the one that is looked for, where its name says so: "yes" of yes and no, and neither of spam
# and ham.
_POSITIVE = frozenset({"1", "true", "yes", "positive", "はい", "陽性", "正"})
# The judge whose grades are read here; of one output of an answer it is filed as `OUTPUT.label`.
LABEL_JUDGE = "label"
# More labels than that are no classes: each row chooses among texts of its own.
MOST_LABELS = 100


class ClassifiedRow(NamedTuple):
    """One row: its own label, what was read from the answer (None: nothing), and the case it belongs to."""

    expected: str
    predicted: str | None
    case: str = ""


class ClassFigures(Value):
    """Precision, recall and F1 (0..1), and of how many rows; of one class, or averaged over them.

    `macro` averages weigh every class alike, `weighted` ones by their rows.
    """

    label: str
    precision: float
    recall: float
    f1: float
    support: int


class Classification(Value):
    """A run as a classifier.

    `f1` is that of `positive` where there are two labels, else the mean over all (`positive` is empty).
    `confusion` has a row for each expected label; its columns are the predicted ones, and last not extracted.
    `labels` are in the order of the run's settings. `by_likelihood` counts the labels that were chosen by
    their log-likelihood, the others were read from the answer. `failed` grades and `skipped` rows are not in
    `n`. Standard errors are None of a single row.
    """

    judge: str = "label"
    labels: tuple[str, ...]
    positive: str
    n: int
    accuracy: float
    accuracy_stderr: float | None
    f1: float
    f1_stderr: float | None
    per_class: tuple[ClassFigures, ...]
    macro: ClassFigures
    weighted: ClassFigures
    confusion: tuple[tuple[int, ...], ...]
    not_extracted: int
    draws: int
    seed: int
    by_likelihood: int = 0
    failed: int = 0
    skipped: int = 0

    @property
    def commonest(self) -> ClassFigures:
        """The class of most rows: to say it always is what has to be beaten."""
        return max(self.per_class, key=lambda figures: figures.support)

    def as_json(self) -> dict[str, Any]:
        """The figures for `--json`, rounded to 4 decimals."""
        averages = {name: {"label"} for name in ("macro", "weighted")}
        # What is shown otherwise, or in the text of the report.
        elsewhere = {"judge", "labels", "n", "per_class", "draws", "seed", "failed", "skipped"}
        shown = self.model_dump(exclude={**dict.fromkeys(elsewhere, True), **averages}) | {
            "positive": self.positive or None,
            "per_class": {figures.label: figures.model_dump(exclude={"label"}) for figures in self.per_class},
            "confusion": {
                "labels": list(self.labels),
                "counts": [list(row[:-1]) for row in self.confusion],
                "not_extracted": [row[-1] for row in self.confusion],
            },
            "majority": {"label": self.commonest.label, "accuracy": self.commonest.support / (self.n or 1)},
        }
        return rounded(shown)  # type: ignore[no-any-return]


class RowClusters(NamedTuple):
    """Kinds of cases by what they add to the table, flat: (kinds, cells), and how many there are of each.

    10,000 rows of two labels are six kinds at most, so that a resample is six numbers.
    """

    kinds: Counts
    sizes: Counts

    @classmethod
    def of(cls, counts: Counts) -> "RowClusters":
        """Every row is a case of its own: as many kinds as cells that are not empty."""
        filled = np.flatnonzero(counts.ravel())
        return cls(np.eye(counts.size, dtype=np.int64)[filled], counts.ravel()[filled])

    @classmethod
    def of_cases(cls, flat: Counts, owners: Sequence[str], cells: int) -> "RowClusters":
        """The rows of one owner are one case; `flat` is the cell of each row."""
        names, owner = np.unique(owners, return_inverse=True)
        added = np.zeros((len(names), cells), dtype=np.int64)
        np.add.at(added, (owner, flat), 1)
        kinds, number = np.unique(added, axis=0, return_counts=True)
        return cls(kinds, number.astype(np.int64))


def classify(
    rows: Sequence[ClassifiedRow], labels: Sequence[str], *, positive: str = "", **more: Any
) -> Classification:
    """All figures of graded rows; `positive` is the label looked for, else it is chosen by `positive_of`.

    Rows of one case are drawn together. A prediction outside of `labels` is one that was not extracted.
    """
    # The table: a row for each label, a column for each and one for not extracted; `flat` is each row's cell.
    place, width = {label: at for at, label in enumerate(labels)}, len(labels) + 1
    flat = np.array(
        [place[row.expected] * width + place.get(row.predicted or "", len(labels)) for row in rows],
        dtype=np.int64,
    )
    counts = np.bincount(flat, minlength=len(labels) * width).reshape(len(labels), width)
    shares, support, n = per_class(counts), counts.sum(axis=1), len(rows)
    hits, said = int(np.trace(counts[:, :-1])), int(counts[:, :-1].sum())
    looked_for = positive or positive_of(labels, support)
    at = list(labels).index(looked_for) if looked_for else None
    right = hits / n if n else 0.0
    stderr, clusters = standard_error(right, n), RowClusters.of(counts)
    # A row without a case is a case of its own.
    owners = [row.case or f"\0{at}" for at, row in enumerate(rows)]
    if len(set(owners)) < n:  # some case was asked more than once
        stderr = clustered_stderr([float(row.expected == row.predicted) for row in rows], owners)
        clusters = RowClusters.of_cases(flat, owners, counts.size)
    drawn = drawn_f1(clusters, len(labels), at)
    return Classification(
        labels=tuple(labels),
        positive=looked_for,
        n=n,
        accuracy=right,
        accuracy_stderr=stderr,
        f1=float(headline_f1(shares, at)),
        f1_stderr=float(drawn.std(ddof=1)) if n > 1 and len(drawn) > 1 else None,
        per_class=tuple(
            _class(label, row, size) for label, row, size in zip(labels, shares.T, support, strict=True)
        ),
        macro=_class("macro", shares.mean(axis=1), n),
        weighted=_class("weighted", shares @ support / (n or 1), n),
        confusion=tuple(tuple(map(int, row)) for row in counts),
        not_extracted=n - said,
        draws=len(drawn),
        seed=SEED,
        **more,
    )


def positive_of(labels: Sequence[str], support: Counts) -> str:
    """Of two labels the one looked for: by its name, else the rarer one, else the last. "" of more.

    What is looked for is usually rare (a complaint, a fault), and its F1 says more than that of the rest.
    """
    if len(labels) != 2:
        return ""
    named = [label for label in labels if label.casefold() in _POSITIVE]
    if len(named) == 1:
        return named[0]
    return labels[0] if support[0] < support[1] else labels[1]


def per_class(counts: Floats | Counts) -> Floats:
    """Precision, recall and F1 of each class, of tables (..., expected, predicted): (..., 3, classes)."""
    hits = np.diagonal(counts, axis1=-2, axis2=-1).astype(float)
    said, there = counts[..., :-1].sum(axis=-2), counts.sum(axis=-1)
    return np.stack([_share(hits, said), _share(hits, there), _share(2 * hits, said + there)], axis=-2)


def headline_f1(shares: Floats, positive: int | None) -> Floats:
    """The one F1 that stands for a table: of the positive class, else the mean over the classes."""
    values: Floats = shares[..., 2, :].mean(axis=-1) if positive is None else shares[..., 2, positive]
    return values


def drawn_f1(clusters: RowClusters, labels: int, positive: int | None) -> Floats:
    """F1 of resamples of as many cases as there are, drawn with replacement; fewer of many cells.

    Cases that add the same to the table are one and the same: a resample is a draw of how many of each.
    """
    cases, width = int(clusters.sizes.sum()), max(clusters.kinds.shape[1], len(clusters.sizes), 1)
    if not cases:
        return np.zeros(0)
    # At least 1,000, of however many cells: a standard error is then known to about 2 %.
    random, wanted = np.random.default_rng(SEED), min(DRAWS, max(1000, _AT_MOST // width))
    kinds = clusters.kinds.astype(float)
    values = []
    for size in blocks(wanted, width):
        drawn = random.multinomial(cases, clusters.sizes / cases, size=size).astype(float) @ kinds
        values.append(headline_f1(per_class(drawn.reshape(size, labels, labels + 1)), positive))
    return np.concatenate(values)


def _class(label: str, figures: Iterable[float], support: int) -> ClassFigures:
    precision, recall, f1 = map(float, figures)
    return ClassFigures(label=label, precision=precision, recall=recall, f1=f1, support=int(support))


def _share(part: Any, whole: Any) -> Floats:
    part, whole = np.asarray(part, dtype=float), np.asarray(whole, dtype=float)
    shares: Floats = np.divide(part, whole, out=np.zeros_like(part), where=whole > 0)
    return shares


def classifications(results: Results) -> tuple[Classification, ...]:
    """One for each judge `label` that graded the run, also where it graded one output of an answer.

    Answers that failed count as not extracted; grades that failed, and rows without a label, do not count. A
    run with more than `MOST_LABELS` labels has none: its rows choose among texts of their own.
    """
    judges = {judge for judge in results.scores.judges if judge.rpartition(".")[2] == LABEL_JUDGE}
    # By judge: what was read row by row, the choices that the rows offered, and counts.
    rows: dict[str, list[ClassifiedRow]] = {}
    chosen: dict[str, dict[str, None]] = {}
    counts: dict[str, Counter[str]] = {}
    for conversation, by_turn in conversations_with_scores(results) if judges else ():
        case = conversation.case
        for score in (s for by_judge in by_turn.values() for s in by_judge.values() if s.judge in judges):
            by_likelihood = score.detail.get("read") == "likelihood"
            counts.setdefault(score.judge, Counter()).update({score.state: 1, "by_likelihood": by_likelihood})
            if case.label in case.choices:
                chosen.setdefault(score.judge, {}).update(dict.fromkeys(case.choices))
            # What the judge took for the row's label, or else the case's own.
            expected, predicted = score.detail.get("expected", case.label), score.detail.get("predicted")
            if score.state == "scored" and expected is not None:
                # Interned, for a data set has many rows and few labels.
                said = None if predicted is None else sys.intern(str(predicted))
                row = ClassifiedRow(sys.intern(str(expected)), said, case.id)
                rows.setdefault(score.judge, []).append(row)
    label_setting, positive = (results.run.settings.get(name) for name in ("labels", "positive"))
    made = []
    for judge in (judge for judge in counts if judge in rows):
        # The run's labels in their order; then the rows' own choices, and whatever else occurs.
        other = {label for row in rows[judge] for label in (row.expected, row.predicted) if label is not None}
        named = list(label_setting) if isinstance(label_setting, dict) else []
        labels = tuple(dict.fromkeys([*named, *chosen.get(judge, ()), *sorted(other)]))
        if len(labels) <= MOST_LABELS:
            made.append(
                classify(
                    rows[judge],
                    labels,
                    positive=positive if isinstance(positive, str) and positive in labels else "",
                    judge=judge,
                    **{key: counts[judge][key] for key in ("by_likelihood", "failed", "skipped")},
                )
            )
    return tuple(made)


# The judge of multiple choice; its detail has the letter that was read.
CHOICE_JUDGE = "choice"


class Accuracy(Value):
    """How many of `n` questions were answered rightly; of `not_extracted` no choice could be read."""

    n: int
    right: int = 0
    not_extracted: int = 0

    @property
    def value(self) -> float | None:
        """The share (0..1) of right answers; None of no question."""
        return self.right / self.n if self.n else None

    @property
    def stderr(self) -> float | None:
        """The standard error of the share, sqrt(p (1 - p) / (n - 1)); None for a single question."""
        return None if self.value is None else standard_error(self.value, self.n)

    def as_json(self) -> dict[str, Any]:
        """Its figures, rounded to 4 decimals."""
        return {"accuracy": rounded(self.value), "stderr": rounded(self.stderr), **self.model_dump()}


class Choices(Value):
    """The figures of a run's multiple-choice questions.

    `subjects` are in the order of the data set; questions without one are under an empty name. `chance` is
    what guessing reaches on average, `longest` what always taking the longest choice does, as test writers
    tend to make the right one the most exact. `failed` counts questions without a grade.
    """

    accuracy: Accuracy
    subjects: dict[str, Accuracy]
    chance: float
    longest: float
    failed: int = 0

    def as_json(self) -> dict[str, Any]:
        """All of it, rounded to 4 decimals."""
        return {
            **self.accuracy.as_json(),
            "failed": self.failed,
            "subjects": {name: accuracy.as_json() for name, accuracy in self.subjects.items()},
            "chance": rounded(self.chance),
            "longest_choice": rounded(self.longest),
        }


def choices(results: Results) -> Choices | None:
    """The figures of the judge `choice`, also of one output of an answer; None where it graded nothing."""
    judges = [judge for judge in results.scores.judges if judge.rpartition(".")[2] == CHOICE_JUDGE]
    subjects: dict[str, Counter[str]] = {}
    sizes = Counter[int]()
    longest = failed = 0
    for conversation, by_turn in conversations_with_scores(results) if judges else ():
        case = conversation.case
        every = [score for by_judge in by_turn.values() for score in by_judge.values()]
        graded = [score for score in every if score.judge in judges and case.choices]
        failed += sum(score.state == "failed" for score in graded)
        scored = [score for score in graded if score.state == "scored"]
        if not scored:
            continue
        last, letter = scored[-1], right_letter(case)
        counts = subjects.setdefault(case.tags[0] if case.tags else "", Counter())
        counts.update(n=1, right=last.value == 1, not_extracted="not_extracted" in last.detail)
        sizes[len(case.choices)] += 1
        # The first of the longest on a tie.
        longest += LETTERS[max(range(len(case.choices)), key=lambda at: len(case.choices[at]))] == letter
    if not subjects:
        return None
    n = sizes.total()
    return Choices(
        accuracy=Accuracy(**sum(subjects.values(), Counter())),
        subjects={name: Accuracy(**counts) for name, counts in subjects.items()},
        chance=sum(rows / size for size, rows in sizes.items()) / n,
        longest=longest / n,
        failed=failed,
    )
