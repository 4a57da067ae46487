"""Classification for reports: a report per class, the confusion matrix, and guessers to hold it against."""

from collections.abc import Iterator
from pathlib import Path

from simulator.core.templates import Texts
from simulator.core.translations import plain
from simulator.core.types import Language, Results
from simulator.reports.section import Section
from simulator.reports.table import Cell, Table, count
from simulator.stats.classification import JUDGE, Baseline, ClassFigures, Classification, classifications

TEXT = Texts(Path(__file__).with_suffix(".toml"))
# A matrix of more labels is told by what is confused most often.
WIDEST, MOST_CONFUSED = 12, 20
# What is rarer than this in its row is not painted.
FEW = 0.02
NONE = "–"


def section(results: Results, language: Language) -> Section | None:
    """What came of the labelled rows; None in a run without any."""
    found = classifications(results)
    if not found:
        return None
    return Section(
        key="classification",
        title=TEXT(language, "title"),
        line=" ".join(_line(each, language) for each in found),
        tables=tuple(table for each in found for table in _tables(each, language, alone=len(found) == 1)),
        notes=tuple(note for each in found for note in _notes(each, language)),
        figures={each.judge: each.as_json() for each in found},
    )


def with_error(value: float, error: float | None) -> str:
    """`0.9579 ± 0.0069`."""
    return f"{value:.4f}" if error is None else f"{value:.4f} ± {error:.4f}"


def name_of(baseline: Baseline, language: Language) -> str:
    """A guesser by what it does."""
    return TEXT(language, baseline.name, label=plain(baseline.label))


def _line(each: Classification, language: Language) -> str:
    said = TEXT(
        language,
        "line",
        accuracy=with_error(each.accuracy, each.accuracy_stderr),
        positive=plain(each.positive) or TEXT(language, "macro_f1"),
        f1=with_error(each.f1, each.f1_stderr),
        n=f"{each.n:,}",
        missing=f"{each.not_extracted:,}",
    )
    return said if each.judge == JUDGE else f"{plain(each.judge)}: {said}"


def _tables(each: Classification, language: Language, *, alone: bool) -> Iterator[Table]:
    judge = "" if alone else f"{plain(each.judge)} "
    yield _per_class(each, language, judge)
    yield (_matrix if len(each.labels) <= WIDEST else _confused)(each, language, judge)
    yield _compared(each, language, judge)


def _per_class(each: Classification, language: Language, judge: str) -> Table:
    averages = (each.macro, each.weighted, each.micro)
    rows = [_class_row(plain(one.label), one) for one in each.per_class]
    rows += [_class_row(TEXT(language, one.label), one) for one in averages]
    return Table(
        name=f"{each.judge}.classes",
        title=f"{judge}{TEXT(language, 'per_class')}",
        columns=_columns(language, "label", "precision", "recall", "f1", "support"),
        rows=tuple(rows),
        counts=3,
    )


def _class_row(name: str, figures: ClassFigures) -> tuple[Cell, ...]:
    shares = (figures.precision, figures.recall, figures.f1)
    return Cell(text=name), *map(_share, shares), count(figures.support)


def _matrix(each: Classification, language: Language, judge: str) -> Table:
    titles = (*map(plain, each.labels), *_columns(language, "not_extracted", "support"))
    return Table(
        name=f"{each.judge}.confusion",
        title=f"{judge}{TEXT(language, 'confusion')}",
        columns=(TEXT(language, "expected"), *titles),
        rows=tuple(
            (Cell(text=plain(label)), *_matrix_row(at, row), count(sum(row)))
            for at, (label, row) in enumerate(zip(each.labels, each.confusion, strict=True))
        ),
        counts=len(titles),
    )


def _matrix_row(expected: int, row: tuple[int, ...]) -> Iterator[Cell]:
    """Counts with their share of the row; right ones are the better the more, the others the worse."""
    total = sum(row)
    for at, n in enumerate(row):
        share = n / total if total else 0.0
        shade = None if share < FEW else 0.6 + 0.4 * share if at == expected else 0.7 - share / 2
        yield Cell(text=f"{n:,}", number=n, note=f"{100 * share:.0f}%" if n else "", shade=shade)


def _confused(each: Classification, language: Language, judge: str) -> Table:
    predicted = (*each.labels, TEXT(language, "not_extracted"))
    pairs = [
        (n, f"{label} → {predicted[at]}")
        for place, (label, row) in enumerate(zip(each.labels, each.confusion, strict=True))
        for at, n in enumerate(row)
        if n and at != place
    ]
    worst = sorted(pairs, key=lambda pair: (-pair[0], pair[1]))[:MOST_CONFUSED]
    return Table(
        name=f"{each.judge}.confused",
        title=f"{judge}{TEXT(language, 'confused')}",
        columns=_columns(language, "pair", "times"),
        rows=tuple((Cell(text=plain(pair)), count(n)) for n, pair in worst),
    )


def _compared(each: Classification, language: Language, judge: str) -> Table:
    """The run among the guessers, by F1; who always says the same is named once."""
    always = {(one.accuracy, one.f1, one.label): one for one in reversed(each.baselines)}
    rows = [
        (one.f1, name_of(one, language), one.accuracy, one.macro_f1, None, None) for one in always.values()
    ]
    own = (
        each.f1,
        TEXT(language, "this_run"),
        each.accuracy,
        each.macro.f1,
        each.f1_stderr,
        each.accuracy_stderr,
    )
    ranked = sorted([own, *rows], key=lambda row: -row[0])
    return Table(
        name=f"{each.judge}.baselines",
        title=f"{judge}{TEXT(language, 'compared')}",
        columns=_columns(language, "who", "f1", "accuracy", "macro_column"),
        rows=tuple(
            (Cell(text=name), _share(f1, f1_error), _share(accuracy, error), _share(macro))
            for f1, name, accuracy, macro, f1_error, error in ranked
        ),
    )


def _notes(each: Classification, language: Language) -> Iterator[str]:
    yield TEXT(language, "note_errors", draws=f"{each.draws:,}", seed=str(each.seed))
    figures = {name: _or_none(getattr(each, name)) for name in ("kappa", "mcc")}
    yield TEXT(language, "note_agreement", **figures)
    if each.not_extracted:
        share = f"{100 * each.not_extracted / each.n:.1f}"
        yield TEXT(language, "note_missing", n=f"{each.not_extracted:,}", share=share)
    if each.by_likelihood:
        written = each.n - each.by_likelihood
        yield TEXT(
            language, "note_likelihood", likelihood=f"{each.by_likelihood:,}", generation=f"{written:,}"
        )
    if each.failed or each.skipped:
        yield TEXT(language, "note_ungraded", failed=f"{each.failed:,}", skipped=f"{each.skipped:,}")
    yield TEXT(language, "note_lots")


def _columns(language: Language, *keys: str) -> tuple[str, ...]:
    return tuple(TEXT(language, key) for key in keys)


def _share(value: float, error: float | None = None) -> Cell:
    return Cell(text=with_error(value, error), number=round(value, 4))


def _or_none(value: float | None) -> str:
    return NONE if value is None else f"{value:.4f}"
