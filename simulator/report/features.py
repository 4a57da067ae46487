"""Whether the bot answers, declines and hands over where it should: lines and tables for reports."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from simulator.core.document import Cell, Section, Table, count
from simulator.core.settings import dollars
from simulator.core.templates import Texts
from simulator.core.translations import plain
from simulator.core.types import Language, Results, Spending
from simulator.grading.panel import RequestedMetrics, contest, is_contest
from simulator.models.pricing import together
from simulator.stats.answerability import Answerability, Handovers, Interval, answerability, handovers
from simulator.stats.choices import Accuracy, Choices, choices
from simulator.stats.classification import JUDGE, Baseline, ClassFigures, Classification, classifications
from simulator.stats.outputs import MetricFigures, OutputsFigures, Share, outputs_of
from simulator.stats.red import Undecided, undecided
from simulator.stats.summary import bot_usage
from simulator.text.choices import LETTERS

TEXT = Texts(Path(__file__).with_name("answerable.toml"))


class Row(NamedTuple):
    """One row of a table: what should be done, the counts of what was done, and the share that is right."""

    key: str
    title: str
    counts: tuple[str, ...]
    rate: float | None
    right: str
    interval: str


class Grid(NamedTuple):
    """A 2 x 2 table; `columns` are the titles of its counts, `line` says it in one sentence."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[Row, Row]
    line: str
    note: str


def grids(results: Results, language: Language) -> list[Grid]:
    """The table of answers and that of handovers, each only where a case is marked for it."""
    return [*_answers(answerability(results), language), *_handovers(handovers(results), language)]


def facts(results: Results, language: Language) -> Iterator[tuple[str, str]]:
    """Each table as a name and one line."""
    for grid in grids(results, language):
        yield grid.title, grid.line


def _answers(found: Answerability, language: Language) -> Iterator[Grid]:
    if not found.marked:
        return
    yes = (found.answered_answerable, found.refused_answerable, found.clarified_answerable)
    no = (found.answered_unanswerable, found.refused_unanswerable, found.clarified_unanswerable)
    rows = (
        _row("answerable", yes, 0, found.answered_correctly, found.answered_interval(), language),
        _row("unanswerable", no, 1, found.refused_correctly, found.refused_interval(), language),
    )
    beside = {"failed": str(found.not_answered), "unmarked": str(found.unmarked)}
    notes = [TEXT(language, "note"), TEXT(language, "beside", **beside)]
    if found.refused_unanswerable:
        held = _share(found.held, found.refused_unanswerable, language)
        notes.append(TEXT(language, "held", share=held))
    yield Grid(
        title=TEXT(language, "title"),
        columns=tuple(TEXT(language, key) for key in ("did_answer", "did_refuse", "did_ask")),
        rows=rows,
        line=TEXT(language, "line", answered=rows[0].right, refused=rows[1].right),
        note=("" if language == "ja" else " ").join(notes),
    )


def _handovers(found: Handovers, language: Language) -> Iterator[Grid]:
    if not found.marked:
        return
    yes, no = (found.handed_required, found.kept_required), (found.handed_forbidden, found.kept_forbidden)
    rows = (
        _row("required", yes, 0, found.handed_correctly, found.handed_interval(), language),
        _row("forbidden", no, 1, found.kept_correctly, found.kept_interval(), language),
    )
    notes = [TEXT(language, "handover_note")]
    notes += [TEXT(language, "late", n=str(found.late))] if found.late else []
    yield Grid(
        title=TEXT(language, "handover_title"),
        columns=tuple(TEXT(language, key) for key in ("did_hand", "did_keep")),
        rows=rows,
        line=TEXT(language, "handover_line", handed=rows[0].right, kept=rows[1].right),
        note=("" if language == "ja" else " ").join(notes),
    )


def _row(  # noqa: PLR0917 - one row of a table
    key: str, counts: tuple[int, ...], right: int, rate: float | None, interval: Interval, language: Language
) -> Row:
    """A row whose `right`-th count is the right one; what was asked back is beside the two."""
    ends = "" if interval is None else _interval(interval, language)
    shown = _share(counts[right], sum(counts[:2]), language)
    return Row(key, TEXT(language, key), tuple(map(str, counts)), rate, shown, ends)


def _interval(interval: tuple[float, float], language: Language) -> str:
    low, high = (f"{100 * end:.0f}" for end in interval)
    return TEXT(language, "interval", low=low, high=high)


def _share(hits: int, n: int, language: Language) -> str:
    if not n:
        return TEXT(language, "none")
    return TEXT(language, "share", percent=f"{100 * hits / n:.0f}", hits=str(hits), n=str(n))


BOT_USAGE_TEXT = Texts(Path(__file__).with_name("bot_usage.toml"))
_COLUMNS = ("model", "calls", "tokens_in", "tokens_out", "usd")


def section(results: Results, language: Language) -> Section | None:
    """The bot's own models; None where no answer told what it took."""
    used = bot_usage(results)
    if not used:
        return None
    whole = together(list(used.values()))
    told = {"calls": whole.calls, "tokens_in": whole.tokens_in, "tokens_out": whole.tokens_out}
    line = BOT_USAGE_TEXT(
        language, "line", usd=_money(whole, language), **{k: f"{n:,}" for k, n in told.items()}
    )
    return Section(
        key="bot",
        title=BOT_USAGE_TEXT(language, "title"),
        line=line,
        tables=(_table(used, language),),
        notes=(BOT_USAGE_TEXT(language, "apart"),),
        figures={
            "calls": whole.calls,
            "tokens": {"in": whole.tokens_in, "out": whole.tokens_out},
            "cost_usd": None if whole.cost_usd is None else round(whole.cost_usd, 6),
        },
    )


def _table(used: Mapping[str, Spending], language: Language) -> Table:
    rows = tuple(
        (
            Cell(text=plain(model) or BOT_USAGE_TEXT(language, "unnamed")),
            *map(count, (spent.calls, spent.tokens_in, spent.tokens_out)),
            Cell(text=_money(spent, language), number=spent.cost_usd),
        )
        for model, spent in used.items()
    )
    return Table(
        name="bot", title="", columns=tuple(BOT_USAGE_TEXT(language, key) for key in _COLUMNS), rows=rows
    )


def _money(spent: Spending, language: Language) -> str:
    if spent.cost_usd is None:
        return BOT_USAGE_TEXT(language, "unknown")
    return BOT_USAGE_TEXT(language, "dollars", amount=dollars(spent.cost_usd))


CHOICES_TEXT = Texts(Path(__file__).with_name("choices.toml"))


def choices_section(results: Results, language: Language) -> Section | None:
    """What came of the multiple-choice questions; None in a run without any."""
    found = choices(results)
    if found is None:
        return None
    return Section(
        key="choices",
        title=CHOICES_TEXT(language, "title"),
        line=_line(found, language),
        tables=(_subjects(found, language), _letters(found, language)),
        notes=tuple(_notes(found, language)),
        figures=found.as_json(),
    )


def accuracy_text(accuracy: Accuracy) -> str:
    """`0.8213 ± 0.0042`, and without its error where one question has none."""
    if accuracy.value is None:
        return "–"
    error = accuracy.stderr
    return f"{accuracy.value:.4f}" if error is None else f"{accuracy.value:.4f} ± {error:.4f}"


def _line(found: Choices, language: Language) -> str:
    baselines = {"chance": f"{found.chance:.3f}", "longest": f"{found.longest:.3f}"}
    told = {"accuracy": accuracy_text(found.accuracy), "n": f"{found.accuracy.n:,}"}
    return CHOICES_TEXT(language, "line", **told, **baselines)


def _subjects(found: Choices, language: Language) -> Table:
    rows = [
        _choices_row(name or CHOICES_TEXT(language, "no_subject"), each)
        for name, each in found.subjects.items()
    ]
    if len(rows) > 1:
        rows.append(_choices_row(CHOICES_TEXT(language, "all"), found.accuracy))
    return Table(
        name="subjects",
        title=CHOICES_TEXT(language, "by_subject"),
        columns=tuple(
            CHOICES_TEXT(language, key) for key in ("subject", "accuracy", "right", "n", "not_extracted")
        ),
        rows=tuple(rows),
    )


def _choices_row(name: str, each: Accuracy) -> tuple[Cell, ...]:
    value = None if each.value is None else round(each.value, 4)
    figure = Cell(text=accuracy_text(each), number=value)
    return Cell(text=plain(name)), figure, count(each.right), count(each.n), count(each.not_extracted)


def _letters(found: Choices, language: Language) -> Table:
    shown = [letter for letter in LETTERS if letter in found.chosen or letter in found.right]
    rows = [
        _letter(letter, found.chosen.get(letter, 0), found.right.get(letter, 0), found) for letter in shown
    ]
    return Table(
        name="letters",
        title=CHOICES_TEXT(language, "by_letter"),
        columns=tuple(CHOICES_TEXT(language, key) for key in ("letter", "chosen", "would_be_right")),
        rows=tuple(rows),
    )


def _letter(letter: str, chosen: int, right: int, found: Choices) -> tuple[Cell, ...]:
    shares = (f"{100 * each / found.accuracy.n:.1f}%" for each in (chosen, right))
    return Cell(text=letter), *(
        Cell(text=f"{n:,}", number=n, note=share) for n, share in zip((chosen, right), shares, strict=True)
    )


def _notes(found: Choices, language: Language) -> Iterator[str]:
    yield CHOICES_TEXT(language, "note_stderr")
    if found.accuracy.not_extracted:
        share = f"{100 * found.accuracy.not_extracted / found.accuracy.n:.1f}"
        yield CHOICES_TEXT(language, "note_not_extracted", n=f"{found.accuracy.not_extracted:,}", share=share)
    if found.failed:
        yield CHOICES_TEXT(language, "note_failed", n=f"{found.failed:,}")


CLASSES_TEXT = Texts(Path(__file__).with_name("classes.toml"))
# A matrix of more labels is told by what is confused most often.
WIDEST, MOST_CONFUSED = 12, 20
# What is rarer than this in its row is not painted.
FEW = 0.02
NONE = "–"


def classes_section(results: Results, language: Language) -> Section | None:
    """What came of the labelled rows; None in a run without any."""
    found = classifications(results)
    if not found:
        return None
    return Section(
        key="classification",
        title=CLASSES_TEXT(language, "title"),
        line=" ".join(_classes_line(each, language) for each in found),
        tables=tuple(table for each in found for table in _tables(each, language, alone=len(found) == 1)),
        notes=tuple(note for each in found for note in _classes_notes(each, language)),
        figures={each.judge: each.as_json() for each in found},
    )


def with_error(value: float, error: float | None) -> str:
    """`0.9579 ± 0.0069`."""
    return f"{value:.4f}" if error is None else f"{value:.4f} ± {error:.4f}"


def name_of(baseline: Baseline, language: Language) -> str:
    """A guesser by what it does."""
    return CLASSES_TEXT(language, baseline.name, label=plain(baseline.label))


def _classes_line(each: Classification, language: Language) -> str:
    said = CLASSES_TEXT(
        language,
        "line",
        accuracy=with_error(each.accuracy, each.accuracy_stderr),
        positive=plain(each.positive) or CLASSES_TEXT(language, "macro_f1"),
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
    rows += [_class_row(CLASSES_TEXT(language, one.label), one) for one in averages]
    return Table(
        name=f"{each.judge}.classes",
        title=f"{judge}{CLASSES_TEXT(language, 'per_class')}",
        columns=_columns(language, "label", "precision", "recall", "f1", "support"),
        rows=tuple(rows),
        counts=3,
    )


def _class_row(name: str, figures: ClassFigures) -> tuple[Cell, ...]:
    shares = (figures.precision, figures.recall, figures.f1)
    return Cell(text=name), *map(_classes_share, shares), count(figures.support)


def _matrix(each: Classification, language: Language, judge: str) -> Table:
    titles = (*map(plain, each.labels), *_columns(language, "not_extracted", "support"))
    return Table(
        name=f"{each.judge}.confusion",
        title=f"{judge}{CLASSES_TEXT(language, 'confusion')}",
        columns=(CLASSES_TEXT(language, "expected"), *titles),
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
    predicted = (*each.labels, CLASSES_TEXT(language, "not_extracted"))
    pairs = [
        (n, f"{label} → {predicted[at]}")
        for place, (label, row) in enumerate(zip(each.labels, each.confusion, strict=True))
        for at, n in enumerate(row)
        if n and at != place
    ]
    worst = sorted(pairs, key=lambda pair: (-pair[0], pair[1]))[:MOST_CONFUSED]
    return Table(
        name=f"{each.judge}.confused",
        title=f"{judge}{CLASSES_TEXT(language, 'confused')}",
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
        CLASSES_TEXT(language, "this_run"),
        each.accuracy,
        each.macro.f1,
        each.f1_stderr,
        each.accuracy_stderr,
    )
    ranked = sorted([own, *rows], key=lambda row: -row[0])
    return Table(
        name=f"{each.judge}.baselines",
        title=f"{judge}{CLASSES_TEXT(language, 'compared')}",
        columns=_columns(language, "who", "f1", "accuracy", "macro_column"),
        rows=tuple(
            (
                Cell(text=name),
                _classes_share(f1, f1_error),
                _classes_share(accuracy, error),
                _classes_share(macro),
            )
            for f1, name, accuracy, macro, f1_error, error in ranked
        ),
    )


def _classes_notes(each: Classification, language: Language) -> Iterator[str]:
    yield CLASSES_TEXT(language, "note_errors", draws=f"{each.draws:,}", seed=str(each.seed))
    figures = {name: _or_none(getattr(each, name)) for name in ("kappa", "mcc")}
    yield CLASSES_TEXT(language, "note_agreement", **figures)
    if each.not_extracted:
        share = f"{100 * each.not_extracted / each.n:.1f}"
        yield CLASSES_TEXT(language, "note_missing", n=f"{each.not_extracted:,}", share=share)
    if each.by_likelihood:
        written = each.n - each.by_likelihood
        yield CLASSES_TEXT(
            language, "note_likelihood", likelihood=f"{each.by_likelihood:,}", generation=f"{written:,}"
        )
    if each.failed or each.skipped:
        yield CLASSES_TEXT(language, "note_ungraded", failed=f"{each.failed:,}", skipped=f"{each.skipped:,}")
    yield CLASSES_TEXT(language, "note_lots")


def _columns(language: Language, *keys: str) -> tuple[str, ...]:
    return tuple(CLASSES_TEXT(language, key) for key in keys)


def _classes_share(value: float, error: float | None = None) -> Cell:
    return Cell(text=with_error(value, error), number=round(value, 4))


def _or_none(value: float | None) -> str:
    return NONE if value is None else f"{value:.4f}"


CONFLICTS_TEXT = Texts(Path(__file__).with_name("conflicts.toml"))
# So many questions are listed; all are in --json.
SHOWN = 20


def conflicts_section(results: Results, language: Language) -> Section | None:
    """The questions, those with most turns first; None where a judge found none."""
    by_case: dict[str, list[Undecided]] = {}
    for each in undecided(results):
        by_case.setdefault(each.case.id, []).append(each)
    if not by_case:
        return None
    ranked = sorted(by_case.values(), key=lambda turns: -len(turns))
    told = {"cases": f"{len(ranked):,}", "turns": f"{sum(map(len, ranked)):,}"}
    left = len(ranked) - SHOWN
    return Section(
        key="conflicts",
        title=CONFLICTS_TEXT(language, "title"),
        line=CONFLICTS_TEXT(language, "line", **told),
        tables=(_conflicts_table(ranked[:SHOWN], language),),
        notes=(CONFLICTS_TEXT(language, "more", n=f"{left:,}"),) if left > 0 else (),
        figures={
            "cases": [
                {
                    "case": turns[0].case.id,
                    "reference": turns[0].reference,
                    "passages": turns[0].passages,
                    "retrieved": _articles(turns),
                    "turns": len(turns),
                }
                for turns in ranked
            ]
        },
    )


def _conflicts_table(ranked: Sequence[Sequence[Undecided]], language: Language) -> Table:
    columns = ("case", "asked", "reference", "passages", "articles", "turns")
    rows = tuple(
        (
            *(Cell(text=plain(text)) for text in (first.case.id, first.case.question, first.reference)),
            *(Cell(text=plain(text)) for text in (first.passages, ", ".join(_articles(turns)))),
            count(len(turns)),
        )
        for turns in ranked
        for first in turns[:1]
    )
    titles = tuple(CONFLICTS_TEXT(language, column) for column in columns)
    return Table(name="conflicts", title="", columns=titles, rows=rows, counts=len(columns) - 1)


def _articles(turns: Sequence[Undecided]) -> list[str]:
    """The ids of the passages that these turns retrieved."""
    return list(dict.fromkeys(passage.id for each in turns for passage in each.turn.answer.passages))


CONTEST_TEXT = Texts(Path(__file__).with_name("contest.toml"))


def contest_section(results: Results, language: Language) -> Section | None:
    """The contest's result; None in a run that was not scored so."""
    if not is_contest(results):
        return None
    found = contest(results)
    total = found.total_score
    shown = "–" if total is None else f"{total:.3f}"
    graded = [each for each in found.metrics if each.mean is not None]
    notes = [] if found.cost else [CONTEST_TEXT(language, "no_cost")]
    if any("," in name for name in found.cost):
        notes.append(CONTEST_TEXT(language, "combined"))
    return Section(
        key="contest",
        title=CONTEST_TEXT(language, "title"),
        line=CONTEST_TEXT(language, "line", total=shown, of=str(5 * len(graded))),
        tables=(_metrics(found, language), *([_cost(found, language)] if found.cost else [])),
        notes=tuple(notes),
        figures=found.as_json(),
    )


def _metrics(found: RequestedMetrics, language: Language) -> Table:
    rows = [
        (
            Cell(text=each.name),
            Cell(text="–" if each.mean is None else f"{round(each.mean, 4):g}", number=each.mean),
            count(each.n),
            count(each.planned),
        )
        for each in found.metrics
    ]
    return _contest_table("metrics", ("metric", "mean", "graded", "rows"), rows, language)


def _cost(found: RequestedMetrics, language: Language) -> Table:
    whole = (
        {CONTEST_TEXT(language, "all"): together(list(found.cost.values()))} if len(found.cost) > 1 else {}
    )
    rows = [_spent(name, each, language) for name, each in (found.cost | whole).items()]
    return _contest_table(
        "cost", ("metric", "usd", "calls", "cached", "tokens_in", "tokens_out"), rows, language
    )


def _spent(name: str, spent: Spending, language: Language) -> tuple[Cell, ...]:
    usd = spent.cost_usd
    figure = Cell(text=CONTEST_TEXT(language, "unknown") if usd is None else dollars(usd), number=usd)
    counts = (spent.calls, spent.cached, spent.tokens_in, spent.tokens_out)
    return Cell(text=plain(name)), figure, *map(count, counts)


def _contest_table(
    name: str, columns: tuple[str, ...], rows: Sequence[tuple[Cell, ...]], language: Language
) -> Table:
    titles = tuple(CONTEST_TEXT(language, f"column_{column}") for column in columns)
    return Table(name=name, title=CONTEST_TEXT(language, name), columns=titles, rows=tuple(rows))


OUTPUTS_TEXT = Texts(Path(__file__).with_name("outputs.toml"))
# So many keys that nobody asked for are named.
_NAMED = 5


def outputs_section(results: Results, language: Language) -> Section | None:
    """What came of each output; None in a run whose answers were graded as a whole."""
    found = outputs_of(results)
    if found is None:
        return None
    tables = [_outputs(found, language)] if found.passed else []
    return Section(
        key="outputs",
        title=OUTPUTS_TEXT(language, "title"),
        line=_outputs_line(found, language),
        tables=(*tables, _outputs_metrics(found, language)),
        notes=tuple(_outputs_notes(found, language)),
        figures=found.as_json(),
    )


def _outputs_line(found: OutputsFigures, language: Language) -> str:
    missing = f"{found.not_extracted:,}"
    if found.passed is None:
        return OUTPUTS_TEXT(language, "line_measured", missing=missing)
    return OUTPUTS_TEXT(language, "line", share=share_text(found.passed, language), missing=missing)


def share_text(share: Share | None, language: Language) -> str:
    """`92.5 % (37 of 40)`, or a stroke."""
    if share is None or share.value is None:
        return OUTPUTS_TEXT(language, "none")
    percent = f"{100 * share.value:.1f}"
    return OUTPUTS_TEXT(language, "share", percent=percent, right=f"{share.right:,}", of=f"{share.of:,}")


def _outputs(found: OutputsFigures, language: Language) -> Table:
    rows = [_output(each.output, each.passed, language) for each in found.outputs]
    if len(rows) > 1:
        rows.append(_output(OUTPUTS_TEXT(language, "all"), found.passed, language))
    columns = ("output", "passed", "interval")
    return _outputs_table("outputs", columns, rows, language)


def _output(name: str, share: Share | None, language: Language) -> tuple[Cell, ...]:
    return Cell(text=plain(name)), _outputs_share(share, language), Cell(text=_between(share, language))


def _outputs_metrics(found: OutputsFigures, language: Language) -> Table:
    rows = [_metric(each, language) for output in found.outputs for each in output.metrics]
    columns = ("metric", "mean", "threshold", "passed", "interval", "graded", "not_extracted")
    return _outputs_table("metrics", columns, rows, language)


def _metric(each: MetricFigures, language: Language) -> tuple[Cell, ...]:
    none = OUTPUTS_TEXT(language, "none")
    error = "" if each.stderr is None else f" ± {each.stderr:.4f}"
    mean = none if each.mean is None else f"{each.mean:.4f}{error}"
    return (
        Cell(text=plain(each.name)),
        Cell(text=mean, number=None if each.mean is None else round(each.mean, 4)),
        Cell(text=none if each.threshold is None else f"{each.threshold:g}", number=each.threshold),
        _outputs_share(each.passed, language),
        Cell(text=_between(each.passed, language)),
        Cell(text=f"{each.n:,}/{each.planned:,}", number=each.n),
        count(each.not_extracted),
    )


def _outputs_share(share: Share | None, language: Language) -> Cell:
    value = share.value if share else None
    return Cell(text=share_text(share, language), number=None if value is None else round(value, 4))


def _between(share: Share | None, language: Language) -> str:
    if share is None or share.interval is None:
        return OUTPUTS_TEXT(language, "none")
    low, high = (f"{100 * end:.1f}" for end in share.interval)
    return OUTPUTS_TEXT(language, "between", low=low, high=high)


def _outputs_table(
    name: str, columns: tuple[str, ...], rows: list[tuple[Cell, ...]], language: Language
) -> Table:
    titles = tuple(OUTPUTS_TEXT(language, column) for column in columns)
    return Table(name=name, title=OUTPUTS_TEXT(language, name), columns=titles, rows=tuple(rows))


def _outputs_notes(found: OutputsFigures, language: Language) -> Iterator[str]:
    """How the figures are to be read, each where it matters."""
    if found.passed:
        yield OUTPUTS_TEXT(language, "note_threshold")
    if found.missing:
        counts = {kind: f"{found.missing.get(kind, 0):,}" for kind in ("json", "key")}
        yield OUTPUTS_TEXT(language, "note_missing", **counts)
    if found.failed:
        yield OUTPUTS_TEXT(language, "note_failed", n=f"{found.failed:,}")
    if found.extra:
        named = list(found.extra.items())[:_NAMED]
        keys = [OUTPUTS_TEXT(language, "extra", key=plain(key), n=f"{n:,}") for key, n in named]
        yield OUTPUTS_TEXT(language, "note_extra", keys=OUTPUTS_TEXT(language, "comma").join(keys))
