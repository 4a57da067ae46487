"""Sections of data sets with labels, choices, outputs, or a contest's scoring.

Each function makes one, or returns None where the run has nothing to show: the contest's total, outputs of
JSON answers, classes, and choices. Figures come from `contest.py`, `output_figures.py` and
`classification.py`.

What the model under test failed to produce (no JSON, no such key, no label, no letter) is wrong, and counted
as "not extracted" beside it; what failed for us (a grading that broke) is left out, and counted as well. So
every table says how many rows it rests on.
"""

from collections.abc import Iterator

from simulator.core.document import Cell, Section, Table, Text, figures_section, share_text
from simulator.core.messages import Message, _, pgettext, sentences
from simulator.core.types import Results
from simulator.lab.datasets.classification import (
    LABEL_JUDGE,
    Choices,
    ClassFigures,
    Classification,
    choices,
    classifications,
)
from simulator.lab.datasets.contest import contest_result
from simulator.lab.datasets.output_figures import OutputsFigures, PassedShare, outputs_of
from simulator.report.tables import figure_cell, with_error

# With more labels than this, the most frequent confusions stand in place of the matrix.
_LARGEST_MATRIX, _CONFUSIONS_SHOWN = 12, 20
# Shares of a row below this have no colour: one row of fifty is no pattern.
_LEAST_COLOURED = 0.02


# The contest


def contest_section(results: Results, *_unused: object) -> Section | None:
    """The contest's total and the mean of every metric.

    The total is the sum of the means of grades from 1 to 5: 3.75 + 1.8 + 2.55 + 4.975 + 4.975 = 18.050 of 25.
    """
    if results.run.settings.get("scoring") != "contest":
        return None
    contest = contest_result(results)
    metrics = Table.listing(
        "metrics",
        contest.metrics,
        {
            _("Metric"): lambda metric: metric.name,
            _("Mean"): lambda metric: Cell(
                text="–" if metric.mean is None else f"{round(metric.mean, 4):g}", number=metric.mean
            ),
            _("Graded"): lambda metric: metric.n,
            pgettext("a number of them", "Rows"): lambda metric: metric.planned,
        },
        _("Metrics"),
    )
    return figures_section(
        key="contest",
        title=_("Contest scoring"),
        line=_(
            "Total {total} of {of}: the sum of the metrics' means, each from 1 to 5",
            total="–" if contest.total_score is None else f"{contest.total_score:.3f}",
            # Metrics that were switched off are no part of the scale either.
            of=5 * sum(metric.mean is not None for metric in contest.metrics),
        ),
        tables=[metrics],
        notes=(),
        figures=contest.as_json(),
    )


# Outputs of JSON answers


def outputs_section(results: Results, *_unused: object) -> Section | None:
    """How each output of JSON answers did; None where answers were graded as a whole.

    A row of the tables is an output ("path"), or a judge of one ("path.em"). It passes where every judge of
    it that has a threshold reaches that, and a row of the data set where every output passes.
    """
    outputs = outputs_of(results)
    if outputs is None:
        return None
    metrics = Table.listing(
        "metrics",
        [metric for output in outputs.outputs for metric in output.metrics],
        {
            _("Output.judge"): lambda metric: metric.name,
            _("Mean ± standard error"): lambda metric: figure_cell(metric.mean, metric.stderr),
            _("Threshold"): lambda metric: None if metric.threshold is None else f"{metric.threshold:g}",
            pgettext("a share", "Passed"): lambda metric: _share_cell(metric.passed),
            _("95 % interval"): lambda metric: _interval_text(metric.passed),
            _("Graded"): lambda metric: f"{metric.n:,}/{metric.planned:,}",
            _("Not extracted"): lambda metric: metric.not_extracted,
        },
        _("Judges of each output"),
    )
    tables = [metrics]
    passed = _("No output has a threshold, so no row is passed or missed.")
    if whole := outputs.passed:
        share = share_text(whole.right, whole.of, 1)
        passed = _("Rows in which every output reached its thresholds: {share}.", share=share)
        shares: list[tuple[Text, PassedShare | None]] = [
            (output.output, output.passed) for output in outputs.outputs
        ]
        # Of one output "all outputs" would be the same line again.
        if len(shares) > 1:
            shares.append((_("All outputs"), whole))
        rows = ((name, _share_cell(share), _interval_text(share)) for name, share in shares)
        columns = (_("Output"), pgettext("a share", "Passed"), _("95 % interval"))
        tables.insert(0, Table.of("outputs", columns, rows, _("Outputs")))
    missing = _("Not extracted: {n} rows.", n=outputs.not_extracted)
    return figures_section(
        key="outputs",
        title=_("Results by output"),
        line=sentences(passed, missing),
        tables=tables,
        notes=_outputs_notes(outputs),
        figures=outputs.as_json(),
    )


def _share_cell(share: PassedShare | None) -> Cell | None:
    if share is None:
        return None
    percent = None if share.value is None else round(100 * share.value, 1)
    return Cell(text=share_text(share.right, share.of, 1), number=percent)


def _interval_text(share: PassedShare | None) -> Text | None:
    if share is None or share.interval is None:
        return None
    low, high = (f"{100 * end:.1f}" for end in share.interval)
    return _("{low}-{high} %", low=low, high=high)


def _outputs_notes(outputs: OutputsFigures) -> Iterator[Message]:
    """How the figures are to be read, each note only where it applies.

    "At or above" passes, for a threshold of 1 would otherwise be out of reach.
    """
    if outputs.passed:
        yield _(
            "A score at or above its threshold passes. A text that is the reference after normalisation"
            " passes even where METEOR and others give it less."
        )
    if outputs.missing:
        yield _(
            "What could not be extracted (no JSON: {json}, no such key: {key}) is wrong: 0 in means and"
            " shares.",
            json=outputs.missing.get("json", 0),
            key=outputs.missing.get("key", 0),
        )
    if outputs.failed:
        yield _("Not decided because grading failed, and in no share: {n} rows.", n=outputs.failed)


# Multiple choice


def choices_section(results: Results, *_unused: object) -> Section | None:
    """Accuracy on multiple-choice questions, by subject."""
    figures = choices(results)
    if figures is None:
        return None
    all_of_them = figures.accuracy
    subjects = {name or _("(no subject)"): accuracy for name, accuracy in figures.subjects.items()}
    if len(subjects) > 1:
        subjects[_("All")] = all_of_them
    columns = (
        _("Subject"),
        _("Accuracy ± standard error"),
        _("Right"),
        pgettext("a number of them", "Questions"),
        _("Not extracted"),
    )
    rows = (
        (
            name,
            figure_cell(accuracy.value, accuracy.stderr),
            accuracy.right,
            accuracy.n,
            accuracy.not_extracted,
        )
        for name, accuracy in subjects.items()
    )
    return figures_section(
        key="choices",
        title=_("Multiple choice"),
        line=_(
            "Accuracy {accuracy} (n {n}). Guessing would reach {chance}, always the longest choice"
            " {longest}.",
            accuracy=with_error(all_of_them.value, all_of_them.stderr),
            n=all_of_them.n,
            chance=f"{figures.chance:.3f}",
            longest=f"{figures.longest:.3f}",
        ),
        tables=[Table.of("subjects", columns, rows, _("By subject"))],
        notes=_choices_notes(figures),
        figures=figures.as_json(),
    )


def _choices_notes(figures: Choices) -> Iterator[Message]:
    """How the accuracy is to be read: what no choice could be read from is wrong, what failed is left out."""
    yield _("The standard error is √(p(1−p)/(n−1)).")
    if n := figures.accuracy.not_extracted:
        yield _(
            "Answers without a choice that could be read, counted as wrong: {n} ({share}%).",
            n=n,
            share=f"{100 * n / figures.accuracy.n:.1f}",
        )
    if figures.failed:
        yield _("Not counted because grading failed: {n}.", n=figures.failed)


# Classification


def classes_section(results: Results, *_unused: object) -> Section | None:
    """Accuracy and F1 of labelled rows, by class, with the confusion matrix; of each judge of labels."""
    per_judge = classifications(results)
    if not per_judge:
        return None
    return figures_section(
        key="classification",
        title=_("Classification"),
        line=sentences(*map(_classes_line, per_judge)),
        tables=[
            table
            for classification in per_judge
            for table in _classes_tables(classification, alone=len(per_judge) == 1)
        ],
        notes=[note for classification in per_judge for note in _classes_notes(classification)],
        figures={classification.judge: classification.as_json() for classification in per_judge},
    )


def _classes_line(classification: Classification) -> Message:
    """Accuracy and F1 in a sentence; the judge is named only where it grades one output of an answer."""
    line = _(
        "accuracy {accuracy}, F1 ({positive}) {f1}, {n} rows; not extracted: {missing}.",
        accuracy=with_error(classification.accuracy, classification.accuracy_stderr),
        positive=classification.positive or _("macro average"),
        f1=with_error(classification.f1, classification.f1_stderr),
        n=classification.n,
        missing=classification.not_extracted,
    )
    return (
        line
        if classification.judge == LABEL_JUDGE
        else _("{judge}: {line}", judge=classification.judge, line=line)
    )


def _classes_tables(classification: Classification, *, alone: bool) -> Iterator[Table]:
    """The figures per class with their averages, then what was taken for what.

    Support is how many rows have the label. A macro average counts labels alike, a weighted one rows.

    Of several judges (not `alone`) each table has the name of its judge.
    """
    classes: list[tuple[Text, ClassFigures]] = [
        (figures.label, figures) for figures in classification.per_class
    ]
    classes += [
        (_("macro average"), classification.macro),
        (_("weighted average"), classification.weighted),
    ]
    columns = (_("Label"), _("Precision"), _("Recall"), "F1", _("Support"))
    rows = ((name, *map(figure_cell, (of.precision, of.recall, of.f1)), of.support) for name, of in classes)
    per_class = Table.of("classes", columns, rows, _("Per class"))
    # A matrix of more than a dozen labels is wider than a page, and mostly empty.
    confused = _confusion_table if len(classification.labels) <= _LARGEST_MATRIX else _most_confused_table
    for table in (per_class, confused(classification)):
        title = table.title if alone else _("{judge} {table}", judge=classification.judge, table=table.title)
        yield table.model_copy(update={"name": f"{classification.judge}.{table.name}", "title": title})


def _confusion_table(classification: Classification) -> Table:
    """Counts with their share of the row; on the diagonal a large share is good, elsewhere it is bad.

    Shades go from .6 to 1 on the diagonal and from .7 down to .2 elsewhere: right cells are green, and the
    commonest error is the reddest.
    """
    rows = []
    for label, counts in zip(classification.labels, classification.confusion, strict=True):
        cells: list[Cell | Text | int] = [label]
        for predicted, n in zip((*classification.labels, None), counts, strict=True):
            share = n / (sum(counts) or 1)
            good = 0.6 + 0.4 * share if predicted == label else 0.7 - share / 2
            shade = None if share < _LEAST_COLOURED else good
            cells.append(Cell(text=f"{n:,}", number=n, note=f"{100 * share:.0f}%" if n else "", shade=shade))
        rows.append([*cells, sum(counts)])
    columns: list[Text] = [
        _("expected \\ predicted"),
        *classification.labels,
        _("not extracted"),
        _("Support"),
    ]
    title = _("Confusion matrix (rows: expected, columns: predicted)")
    return Table.of("confusion", columns, rows, title, shaded=True)


def _most_confused_table(classification: Classification) -> Table:
    """The commonest errors of many labels, whose matrix nobody could read: "billing → contract", 12 rows."""
    labels: tuple[Text, ...] = (*classification.labels, _("not extracted"))
    confused = [
        (_("{expected} → {predicted}", expected=expected, predicted=predicted), n)
        for expected, row in zip(labels, classification.confusion, strict=False)
        for predicted, n in zip(labels, row, strict=True)
        if n and predicted != expected
    ]
    rows = sorted(confused, key=lambda row: -row[1])[:_CONFUSIONS_SHOWN]
    columns = (_("expected → predicted"), pgettext("a number of them", "Rows"))
    return Table.of("confused", columns, rows, _("Confused most often"))


def _classes_notes(classification: Classification) -> Iterator[Message]:
    """Where errors come from, what was left out, and what a bot would reach that says one label always."""
    yield _(
        "± is the standard error: of accuracy sqrt(p(1-p)/(n-1)), of F1 the standard"
        " deviation of {draws} bootstrap resamples (seed {seed:d}).",
        draws=classification.draws,
        seed=classification.seed,
    )
    if n := classification.not_extracted:
        yield _(
            "Answers without a label that could be read, counted as wrong: {n} ({share} %).",
            n=n,
            share=f"{100 * n / classification.n:.1f}",
        )
    if classification.by_likelihood:
        yield _(
            "How labels were chosen: {likelihood} by log-likelihood, {generation} from what was written.",
            likelihood=classification.by_likelihood,
            generation=classification.n - classification.by_likelihood,
        )
    if classification.failed or classification.skipped:
        text = _("Not counted: grading failed {n}, without a label {skipped}.")
        yield text.format(n=classification.failed, skipped=classification.skipped)
    # What any accuracy has to beat: of 60 positives in 856 rows, "no" alone is right in 93 %.
    most = classification.commonest
    accuracy = with_error(most.support / classification.n)
    yield _("Always {label} would reach an accuracy of {accuracy}.", label=most.label, accuracy=accuracy)
