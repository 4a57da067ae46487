"""Sections that only some runs have: skipped rows, the bot's models, choices, classes, conflicts, outputs.

Each function returns finished cells and words, or None where the run has nothing to show.
"""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from simulator.core.document import Cell, Section, Table, count_cell, figures_section
from simulator.core.messages import Message, shown
from simulator.core.settings import dollars
from simulator.core.templates import Texts
from simulator.core.translations import safe_text
from simulator.core.types import Language, Results, Spending
from simulator.data.datasets import SkippedRows
from simulator.models.pricing import total_spending
from simulator.report.extras import harness_section
from simulator.stats.choices import Accuracy, Choices, choices
from simulator.stats.classification import (
    LABEL_JUDGE,
    Baseline,
    ClassFigures,
    Classification,
    classifications,
)
from simulator.stats.contest import ContestResult, contest_result, is_contest
from simulator.stats.outputs import MetricFigures, OutputsFigures, Share, outputs_of
from simulator.stats.red import UndecidedTurn, undecided_turns
from simulator.stats.summary import bot_usage
from simulator.text.choices import LETTERS

_FOLDER = Path(__file__).parent
BOT_USAGE = Texts(_FOLDER / "bot_usage.toml")
CHOICES = Texts(_FOLDER / "choices.toml")
CLASSES = Texts(_FOLDER / "classes.toml")
CONFLICTS = Texts(_FOLDER / "conflicts.toml")
CONTEST = Texts(_FOLDER / "contest.toml")
OUTPUTS = Texts(_FOLDER / "outputs.toml")
SKIPPED = Texts(_FOLDER / "skipped.toml")

NONE = "–"
# So many reasons of skipped rows are listed, each with so many places; all are in the run file and in --json.
_REASONS_SHOWN, _PLACES_SHOWN = 20, 4
# So many questions with a conflict are listed; all are in --json.
_CONFLICTS_SHOWN = 20
# With more labels than this, the most frequent confusions stand in place of the matrix.
_LARGEST_MATRIX, _CONFUSIONS_SHOWN = 12, 20
# Shares of a row below this have no colour.
_LEAST_COLOURED = 0.02
# So many keys that no reference has are named.
_EXTRA_KEYS_SHOWN = 5


# Skipped rows


def skipped_section(results: Results, language: Language) -> Section | None:
    """The rows of the data set that were left out, by reason."""
    skipped = SkippedRows.of(results.notes)
    if not skipped.count:
        return None
    unlisted = skipped.count - len(skipped.listed)
    more = (SKIPPED(language, "more", n=f"{unlisted:,}"),) if unlisted > 0 else ()
    return figures_section(
        key="rows_skipped",
        title=SKIPPED(language, "title"),
        line=SKIPPED(
            language,
            "line",
            rows=f"{skipped.rows:,}",
            count=f"{skipped.count:,}",
            first=safe_text(shown(skipped.listed[0].message, language)),
        ),
        tables=(_skipped_table(skipped, language),),
        notes=(*more, SKIPPED(language, "counted")),
        figures=skipped.as_json(),
    )


def _skipped_table(skipped: SkippedRows, language: Language) -> Table:
    """Each reason with the number of its rows and the first of their places."""
    places_by_reason: dict[Message | str, list[Message | str]] = {}
    for row in skipped.listed:
        places_by_reason.setdefault(row.why, []).append(row.place)
    rows = []
    for reason, places in list(places_by_reason.items())[:_REASONS_SHOWN]:
        listed = SKIPPED(language, "comma").join(shown(place, language) for place in places[:_PLACES_SHOWN])
        where = listed + (" …" if len(places) > _PLACES_SHOWN else "")
        rows.append(
            (Cell(text=safe_text(shown(reason, language))), count_cell(len(places)), Cell(text=where))
        )
    titles = _titles(SKIPPED, language, "why", "rows", "where")
    return Table(name="rows_skipped", title="", columns=titles, rows=tuple(rows))


# The bot's own models


def bot_usage_section(results: Results, language: Language) -> Section | None:
    """Calls, tokens and cost of the bot's own models, as its answers reported them."""
    used = bot_usage(results)
    if not used:
        return None
    total = total_spending(list(used.values()))
    counts = {"calls": total.calls, "tokens_in": total.tokens_in, "tokens_out": total.tokens_out}
    rows = tuple(
        (
            Cell(text=safe_text(model) or BOT_USAGE(language, "unnamed")),
            *map(count_cell, (spent.calls, spent.tokens_in, spent.tokens_out)),
            Cell(text=_bot_cost(spent, language), number=spent.cost_usd),
        )
        for model, spent in used.items()
    )
    titles = _titles(BOT_USAGE, language, "model", *counts, "usd")
    return figures_section(
        key="bot",
        title=BOT_USAGE(language, "title"),
        line=BOT_USAGE(
            language, "line", usd=_bot_cost(total, language), **{key: f"{n:,}" for key, n in counts.items()}
        ),
        tables=(Table(name="bot", title="", columns=titles, rows=rows),),
        notes=(BOT_USAGE(language, "apart"),),
        figures={
            "calls": total.calls,
            "tokens": {"in": total.tokens_in, "out": total.tokens_out},
            "cost_usd": None if total.cost_usd is None else round(total.cost_usd, 6),
        },
    )


def _bot_cost(spent: Spending, language: Language) -> str:
    if spent.cost_usd is None:
        return BOT_USAGE(language, "unknown")
    return BOT_USAGE(language, "dollars", amount=dollars(spent.cost_usd))


# Multiple choice


def choices_section(results: Results, language: Language) -> Section | None:
    """Accuracy on multiple-choice questions, by subject, and the letters that were chosen."""
    found = choices(results)
    if found is None:
        return None
    return figures_section(
        key="choices",
        title=CHOICES(language, "title"),
        line=CHOICES(
            language,
            "line",
            accuracy=_accuracy_text(found.accuracy),
            n=f"{found.accuracy.n:,}",
            chance=f"{found.chance:.3f}",
            longest=f"{found.longest:.3f}",
        ),
        tables=(_subjects_table(found, language), _letters_table(found, language)),
        notes=tuple(_choices_notes(found, language)),
        figures=found.as_json(),
    )


def _accuracy_text(accuracy: Accuracy) -> str:
    """`0.8213 ± 0.0042`; one question alone has no standard error."""
    return NONE if accuracy.value is None else with_error(accuracy.value, accuracy.stderr)


def _subjects_table(found: Choices, language: Language) -> Table:
    subjects = [(name or CHOICES(language, "no_subject"), each) for name, each in found.subjects.items()]
    if len(subjects) > 1:
        subjects.append((CHOICES(language, "all"), found.accuracy))
    rows = [
        (
            Cell(text=safe_text(name)),
            Cell(text=_accuracy_text(each), number=_rounded(each.value)),
            *map(count_cell, (each.right, each.n, each.not_extracted)),
        )
        for name, each in subjects
    ]
    titles = _titles(CHOICES, language, "subject", "accuracy", "right", "n", "not_extracted")
    return Table(name="subjects", title=CHOICES(language, "by_subject"), columns=titles, rows=tuple(rows))


def _letters_table(found: Choices, language: Language) -> Table:
    """How often each letter was chosen, and how often it would have been right."""
    rows = []
    for letter in LETTERS:
        if letter in found.chosen or letter in found.right:
            counts = (found.chosen.get(letter, 0), found.right.get(letter, 0))
            shares = [f"{100 * n / found.accuracy.n:.1f}%" for n in counts]
            cells = [
                Cell(text=f"{n:,}", number=n, note=share) for n, share in zip(counts, shares, strict=True)
            ]
            rows.append((Cell(text=letter), *cells))
    titles = _titles(CHOICES, language, "letter", "chosen", "would_be_right")
    return Table(name="letters", title=CHOICES(language, "by_letter"), columns=titles, rows=tuple(rows))


def _choices_notes(found: Choices, language: Language) -> Iterator[str]:
    yield CHOICES(language, "note_stderr")
    if found.accuracy.not_extracted:
        share = f"{100 * found.accuracy.not_extracted / found.accuracy.n:.1f}"
        yield CHOICES(language, "note_not_extracted", n=f"{found.accuracy.not_extracted:,}", share=share)
    if found.failed:
        yield CHOICES(language, "note_failed", n=f"{found.failed:,}")


# Classification


def classes_section(results: Results, language: Language) -> Section | None:
    """Accuracy and F1 of labelled rows, by class, with the confusion matrix and trivial baselines."""
    found = classifications(results)
    if not found:
        return None
    return figures_section(
        key="classification",
        title=CLASSES(language, "title"),
        line=" ".join(_classes_line(each, language) for each in found),
        tables=tuple(
            table for each in found for table in _classes_tables(each, language, alone=len(found) == 1)
        ),
        notes=tuple(note for each in found for note in _classes_notes(each, language)),
        figures={each.judge: each.as_json() for each in found},
    )


def with_error(value: float, error: float | None) -> str:
    """`0.9579 ± 0.0069`."""
    return f"{value:.4f}" if error is None else f"{value:.4f} ± {error:.4f}"


def baseline_name(baseline: Baseline, language: Language) -> str:
    """What a baseline predicts, in words."""
    return CLASSES(language, baseline.name, label=safe_text(baseline.label))


def _classes_line(found: Classification, language: Language) -> str:
    line = CLASSES(
        language,
        "line",
        accuracy=with_error(found.accuracy, found.accuracy_stderr),
        positive=safe_text(found.positive) or CLASSES(language, "macro_f1"),
        f1=with_error(found.f1, found.f1_stderr),
        n=f"{found.n:,}",
        missing=f"{found.not_extracted:,}",
    )
    return line if found.judge == LABEL_JUDGE else f"{safe_text(found.judge)}: {line}"


def _classes_tables(found: Classification, language: Language, *, alone: bool) -> Iterator[Table]:
    judge = "" if alone else f"{safe_text(found.judge)} "
    yield _per_class_table(found, language, judge)
    table = _confusion_table if len(found.labels) <= _LARGEST_MATRIX else _most_confused_table
    yield table(found, language, judge)
    yield _baselines_table(found, language, judge)


def _per_class_table(found: Classification, language: Language, judge: str) -> Table:
    def row(name: str, figures: ClassFigures) -> tuple[Cell, ...]:
        shares = (figures.precision, figures.recall, figures.f1)
        return Cell(text=name), *map(_figure, shares), count_cell(figures.support)

    averages = (found.macro, found.weighted, found.micro)
    return Table(
        name=f"{found.judge}.classes",
        title=f"{judge}{CLASSES(language, 'per_class')}",
        columns=_titles(CLASSES, language, "label", "precision", "recall", "f1", "support"),
        rows=(
            *(row(safe_text(each.label), each) for each in found.per_class),
            *(row(CLASSES(language, each.label), each) for each in averages),
        ),
        counts=3,
    )


def _confusion_table(found: Classification, language: Language, judge: str) -> Table:
    titles = (*map(safe_text, found.labels), *_titles(CLASSES, language, "not_extracted", "support"))
    return Table(
        name=f"{found.judge}.confusion",
        title=f"{judge}{CLASSES(language, 'confusion')}",
        columns=(CLASSES(language, "expected"), *titles),
        rows=tuple(
            (Cell(text=safe_text(label)), *_confusion_cells(expected, row), count_cell(sum(row)))
            for expected, (label, row) in enumerate(zip(found.labels, found.confusion, strict=True))
        ),
        counts=len(titles),
        shaded=True,
    )


def _confusion_cells(expected: int, row: tuple[int, ...]) -> Iterator[Cell]:
    """Counts with their share of the row; on the diagonal a large share is good, elsewhere it is bad."""
    total = sum(row)
    for predicted, n in enumerate(row):
        share = n / total if total else 0.0
        good = 0.6 + 0.4 * share if predicted == expected else 0.7 - share / 2
        shade = None if share < _LEAST_COLOURED else good
        yield Cell(text=f"{n:,}", number=n, note=f"{100 * share:.0f}%" if n else "", shade=shade)


def _most_confused_table(found: Classification, language: Language, judge: str) -> Table:
    labels = (*found.labels, CLASSES(language, "not_extracted"))
    pairs = [
        (n, f"{label} → {labels[predicted]}")
        for expected, (label, row) in enumerate(zip(found.labels, found.confusion, strict=True))
        for predicted, n in enumerate(row)
        if n and predicted != expected
    ]
    worst = sorted(pairs, key=lambda pair: (-pair[0], pair[1]))[:_CONFUSIONS_SHOWN]
    return Table(
        name=f"{found.judge}.confused",
        title=f"{judge}{CLASSES(language, 'confused')}",
        columns=_titles(CLASSES, language, "pair", "times"),
        rows=tuple((Cell(text=safe_text(pair)), count_cell(n)) for n, pair in worst),
    )


def _baselines_table(found: Classification, language: Language, judge: str) -> Table:
    """The run among the baselines, by F1; baselines that predict the same appear once."""
    distinct = {(each.accuracy, each.f1, each.label): each for each in reversed(found.baselines)}
    rows = [
        (each.f1, baseline_name(each, language), each.accuracy, each.macro_f1, None, None)
        for each in distinct.values()
    ]
    own = (
        found.f1,
        CLASSES(language, "this_run"),
        found.accuracy,
        found.macro.f1,
        found.f1_stderr,
        found.accuracy_stderr,
    )
    ranked = sorted([own, *rows], key=lambda row: -row[0])
    return Table(
        name=f"{found.judge}.baselines",
        title=f"{judge}{CLASSES(language, 'compared')}",
        columns=_titles(CLASSES, language, "who", "f1", "accuracy", "macro_column"),
        rows=tuple(
            (Cell(text=name), _figure(f1, f1_error), _figure(accuracy, error), _figure(macro))
            for f1, name, accuracy, macro, f1_error, error in ranked
        ),
    )


def _classes_notes(found: Classification, language: Language) -> Iterator[str]:
    yield CLASSES(language, "note_errors", draws=f"{found.draws:,}", seed=str(found.seed))
    agreement = {"kappa": found.kappa, "mcc": found.mcc}
    figures = {key: NONE if value is None else f"{value:.4f}" for key, value in agreement.items()}
    yield CLASSES(language, "note_agreement", **figures)
    if found.not_extracted:
        share = f"{100 * found.not_extracted / found.n:.1f}"
        yield CLASSES(language, "note_missing", n=f"{found.not_extracted:,}", share=share)
    if found.by_likelihood:
        generated = f"{found.n - found.by_likelihood:,}"
        yield CLASSES(
            language, "note_likelihood", likelihood=f"{found.by_likelihood:,}", generation=generated
        )
    if found.failed or found.skipped:
        yield CLASSES(language, "note_ungraded", failed=f"{found.failed:,}", skipped=f"{found.skipped:,}")
    yield CLASSES(language, "note_lots")


# References that contradict the passages


def conflicts_section(results: Results, language: Language) -> Section | None:
    """Questions whose reference contradicts what was retrieved, those with most turns first."""
    by_case: dict[str, list[UndecidedTurn]] = {}
    for each in undecided_turns(results):
        by_case.setdefault(each.case.id, []).append(each)
    if not by_case:
        return None
    ranked = sorted(by_case.values(), key=lambda turns: -len(turns))
    unlisted = len(ranked) - _CONFLICTS_SHOWN
    return figures_section(
        key="conflicts",
        title=CONFLICTS(language, "title"),
        line=CONFLICTS(language, "line", cases=f"{len(ranked):,}", turns=f"{sum(map(len, ranked)):,}"),
        tables=(_conflicts_table(ranked[:_CONFLICTS_SHOWN], language),),
        notes=(CONFLICTS(language, "more", n=f"{unlisted:,}"),) if unlisted > 0 else (),
        figures={
            "cases": [
                {
                    "case": turns[0].case.id,
                    "reference": turns[0].reference,
                    "passages": turns[0].passages,
                    "retrieved": _retrieved(turns),
                    "turns": len(turns),
                }
                for turns in ranked
            ]
        },
    )


def _conflicts_table(ranked: Sequence[Sequence[UndecidedTurn]], language: Language) -> Table:
    rows = []
    for turns in ranked:
        first, articles = turns[0], ", ".join(_retrieved(turns))
        texts = (first.case.id, first.case.question, first.reference, first.passages, articles)
        rows.append((*(Cell(text=safe_text(text)) for text in texts), count_cell(len(turns))))
    titles = _titles(CONFLICTS, language, "case", "asked", "reference", "passages", "articles", "turns")
    return Table(name="conflicts", title="", columns=titles, rows=tuple(rows), counts=len(titles) - 1)


def _retrieved(turns: Sequence[UndecidedTurn]) -> list[str]:
    """The ids of the passages that these turns retrieved, without repetitions."""
    return list(dict.fromkeys(passage.id for each in turns for passage in each.turn.answer.passages))


# The contest


def contest_section(results: Results, language: Language) -> Section | None:
    """The contest's total, the mean of every metric and what each cost."""
    if not is_contest(results):
        return None
    found = contest_result(results)
    total = NONE if found.total_score is None else f"{found.total_score:.3f}"
    graded = [each for each in found.metrics if each.mean is not None]
    notes = [] if found.cost else [CONTEST(language, "no_cost")]
    if any("," in name for name in found.cost):
        notes.append(CONTEST(language, "combined"))
    return figures_section(
        key="contest",
        title=CONTEST(language, "title"),
        line=CONTEST(language, "line", total=total, of=str(5 * len(graded))),
        tables=(
            _contest_metrics_table(found, language),
            *([_contest_cost_table(found, language)] if found.cost else []),
        ),
        notes=tuple(notes),
        figures=found.as_json(),
    )


def _contest_metrics_table(found: ContestResult, language: Language) -> Table:
    rows = [
        (
            Cell(text=each.name),
            Cell(text=NONE if each.mean is None else f"{round(each.mean, 4):g}", number=each.mean),
            count_cell(each.n),
            count_cell(each.planned),
        )
        for each in found.metrics
    ]
    titles = _titles(CONTEST, language, "column_metric", "column_mean", "column_graded", "column_rows")
    return Table(name="metrics", title=CONTEST(language, "metrics"), columns=titles, rows=tuple(rows))


def _contest_cost_table(found: ContestResult, language: Language) -> Table:
    total = (
        {CONTEST(language, "all"): total_spending(list(found.cost.values()))} if len(found.cost) > 1 else {}
    )
    rows = []
    for name, spent in (found.cost | total).items():
        usd = spent.cost_usd
        cost = Cell(text=CONTEST(language, "unknown") if usd is None else dollars(usd), number=usd)
        counts = (spent.calls, spent.cached, spent.tokens_in, spent.tokens_out)
        rows.append((Cell(text=safe_text(name)), cost, *map(count_cell, counts)))
    columns = ("metric", "usd", "calls", "cached", "tokens_in", "tokens_out")
    titles = _titles(CONTEST, language, *(f"column_{column}" for column in columns))
    return Table(name="cost", title=CONTEST(language, "cost"), columns=titles, rows=tuple(rows))


# Outputs of JSON answers


def outputs_section(results: Results, language: Language) -> Section | None:
    """How each output of JSON answers did; None where answers were graded as a whole."""
    found = outputs_of(results)
    if found is None:
        return None
    missing = f"{found.not_extracted:,}"
    if found.passed is None:
        line = OUTPUTS(language, "line_measured", missing=missing)
    else:
        line = OUTPUTS(language, "line", share=_share_text(found.passed, language), missing=missing)
    return figures_section(
        key="outputs",
        title=OUTPUTS(language, "title"),
        line=line,
        tables=(
            *([_outputs_table(found, language)] if found.passed else []),
            _output_metrics_table(found, language),
        ),
        notes=tuple(_outputs_notes(found, language)),
        figures=found.as_json(),
    )


def _share_text(share: Share | None, language: Language) -> str:
    """`92.5 % (37 of 40)`, or a dash."""
    if share is None or share.value is None:
        return OUTPUTS(language, "none")
    percent = f"{100 * share.value:.1f}"
    return OUTPUTS(language, "share", percent=percent, right=f"{share.right:,}", of=f"{share.of:,}")


def _outputs_table(found: OutputsFigures, language: Language) -> Table:
    shares = [(each.output, each.passed) for each in found.outputs]
    if len(shares) > 1:
        shares.append((OUTPUTS(language, "all"), found.passed))
    rows = tuple((Cell(text=safe_text(name)), *_share_cells(share, language)) for name, share in shares)
    titles = _titles(OUTPUTS, language, "output", "passed", "interval")
    return Table(name="outputs", title=OUTPUTS(language, "outputs"), columns=titles, rows=rows)


def _output_metrics_table(found: OutputsFigures, language: Language) -> Table:
    columns = ("metric", "mean", "threshold", "passed", "interval", "graded", "not_extracted")
    return Table(
        name="metrics",
        title=OUTPUTS(language, "metrics"),
        columns=_titles(OUTPUTS, language, *columns),
        rows=tuple(_metric_row(each, language) for output in found.outputs for each in output.metrics),
    )


def _metric_row(metric: MetricFigures, language: Language) -> tuple[Cell, ...]:
    none = OUTPUTS(language, "none")
    mean = none if metric.mean is None else with_error(metric.mean, metric.stderr)
    threshold = none if metric.threshold is None else f"{metric.threshold:g}"
    return (
        Cell(text=safe_text(metric.name)),
        Cell(text=mean, number=_rounded(metric.mean)),
        Cell(text=threshold, number=metric.threshold),
        *_share_cells(metric.passed, language),
        Cell(text=f"{metric.n:,}/{metric.planned:,}", number=metric.n),
        count_cell(metric.not_extracted),
    )


def _share_cells(share: Share | None, language: Language) -> tuple[Cell, Cell]:
    """A share, and its interval beside it."""
    interval = OUTPUTS(language, "none")
    if share and share.interval:
        low, high = (f"{100 * end:.1f}" for end in share.interval)
        interval = OUTPUTS(language, "between", low=low, high=high)
    number = _rounded(share.value if share else None)
    return Cell(text=_share_text(share, language), number=number), Cell(text=interval)


def _outputs_notes(found: OutputsFigures, language: Language) -> Iterator[str]:
    """How the figures are to be read, each note only where it applies."""
    if found.passed:
        yield OUTPUTS(language, "note_threshold")
    if found.missing:
        counts = {kind: f"{found.missing.get(kind, 0):,}" for kind in ("json", "key")}
        yield OUTPUTS(language, "note_missing", **counts)
    if found.failed:
        yield OUTPUTS(language, "note_failed", n=f"{found.failed:,}")
    if found.extra:
        named = list(found.extra.items())[:_EXTRA_KEYS_SHOWN]
        keys = [OUTPUTS(language, "extra", key=safe_text(key), n=f"{n:,}") for key, n in named]
        yield OUTPUTS(language, "note_extra", keys=OUTPUTS(language, "comma").join(keys))


# Cells and titles


def _titles(texts: Texts, language: Language, *keys: str) -> tuple[str, ...]:
    """The titles of columns."""
    return tuple(texts(language, key) for key in keys)


def _figure(value: float, error: float | None = None) -> Cell:
    """A figure with its standard error, to four decimals."""
    return Cell(text=with_error(value, error), number=round(value, 4))


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 4)


# All of them, in the order in which reports show them.

_SECTIONS: tuple[Callable[[Results, Language], Section | None], ...] = (
    conflicts_section,
    contest_section,
    skipped_section,
    outputs_section,
    classes_section,
    choices_section,
    harness_section,
    bot_usage_section,
)


def sections(results: Results, language: Language) -> tuple[Section, ...]:
    """The sections of this run, in the order in which reports show them."""
    return tuple(filter(None, (section(results, language) for section in _SECTIONS)))
