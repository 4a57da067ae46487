"""Classifiers side by side: runs of several models or prompts by F1, with the guessers that read nothing.

    rows = f1_table([("model A", results_a), ("model B", results_b)])
    rows[0].name, rows[0].f1, rows[0].f1_stderr

The guessers stand among the runs where all of these were asked the same rows: who is below learnt nothing.
"""

from collections.abc import Iterable, Iterator, Sequence

from simulator.analysis.classification import Classification
from simulator.analysis.classification_run import JUDGE, classifications
from simulator.core.types import Results, Value


class Ranked(Value):
    """One line of the table: a run, or a guesser (`baseline`, whose `name` is a key for words).

    `f1` is that of the `positive` label, or the mean over the classes where it is empty.
    """

    name: str
    n: int
    accuracy: float
    accuracy_stderr: float | None = None
    f1: float
    f1_stderr: float | None = None
    macro_f1: float
    positive: str = ""
    not_extracted: int = 0
    baseline: bool = False


def f1_table(
    runs: Iterable[tuple[str, Results]], *, judge: str = JUDGE, baselines: bool = True
) -> tuple[Ranked, ...]:
    """Finished runs by F1, the best first; a run that `judge` did not grade is left out."""
    found = [
        (name, each) for name, results in runs for each in classifications(results) if each.judge == judge
    ]
    return ranked(found, baselines=baselines)


def ranked(found: Sequence[tuple[str, Classification]], *, baselines: bool = True) -> tuple[Ranked, ...]:
    """The same of figures that are there already."""
    rows = [_of_run(name, each) for name, each in found]
    if baselines and found and len({_asked(each) for _, each in found}) == 1:
        rows += _guessers(found[0][1])
    return tuple(sorted(rows, key=lambda row: (-row.f1, -row.accuracy, row.name)))


def _of_run(name: str, each: Classification) -> Ranked:
    return Ranked(
        name=name,
        n=each.n,
        accuracy=each.accuracy,
        accuracy_stderr=each.accuracy_stderr,
        f1=each.f1,
        f1_stderr=each.f1_stderr,
        macro_f1=each.macro.f1,
        positive=each.positive,
        not_extracted=each.not_extracted,
    )


def _asked(each: Classification) -> tuple[object, ...]:
    """What has to be the same for guessers to get the same: the labels, and how often each occurs."""
    return each.positive, each.labels, tuple(figures.support for figures in each.per_class)


def _guessers(each: Classification) -> Iterator[Ranked]:
    for guesser in each.baselines:
        yield Ranked(
            name=guesser.name,
            n=each.n,
            accuracy=guesser.accuracy,
            f1=guesser.f1,
            macro_f1=guesser.macro_f1,
            positive=each.positive,
            baseline=True,
        )
