"""Sections that only some runs have: skipped rows, the bot's models, choices, classes, conflicts, outputs.

Each function returns None where the run has nothing to show.
"""

from collections.abc import Iterator, Mapping
from importlib import import_module
from itertools import islice
from typing import Any

from simulator.core.document import Cell, Section, Table, Text, figures_section, share_text
from simulator.core.messages import Message, _, listed, ngettext, pgettext, sentences
from simulator.core.settings import dollars
from simulator.core.types import Results, Spending
from simulator.data.datasets import SkippedRows
from simulator.models.pricing import total_spending
from simulator.stats.choices import Accuracy, Choices, choices
from simulator.stats.classification import (
    LABEL_JUDGE,
    Baseline,
    ClassFigures,
    Classification,
    classifications,
)
from simulator.stats.contest import ContestResult, contest_result, is_contest
from simulator.stats.figures import Summary, rounded
from simulator.stats.outputs import OutputsFigures, Share, outputs_of
from simulator.stats.red import UndecidedTurn, undecided_turns
from simulator.stats.summary import bot_usage
from simulator.text.choices import LETTERS

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


def sections(results: Results) -> tuple[Section, ...]:
    """The sections of this run, in the order in which reports show them."""
    made = (
        conflicts_section(results),
        contest_section(results),
        skipped_section(results),
        outputs_section(results),
        classes_section(results),
        choices_section(results),
        harness_section(results),
        bot_usage_section(results),
    )
    return tuple(filter(None, made))


# Skipped rows


def skipped_section(results: Results) -> Section | None:
    """The rows of the data set that were left out, by reason."""
    skipped = SkippedRows.of(results.notes)
    if not skipped.count:
        return None
    unlisted = skipped.count - len(skipped.listed)
    more = [_("Of {n} more, place and reason are not kept.", n=unlisted)] if unlisted > 0 else []
    places_by_reason: dict[Text, list[Text]] = {}
    for row in skipped.listed:
        places_by_reason.setdefault(row.why, []).append(row.place)
    rows = (
        (reason, len(places), listed(places, _PLACES_SHOWN))
        for reason, places in islice(places_by_reason.items(), _REASONS_SHOWN)
    )
    columns = (
        pgettext("a column", "Why"),
        pgettext("a number of them", "Rows"),
        pgettext("a place in a file", "Where"),
    )
    return figures_section(
        key="rows_skipped",
        title=_("Skipped rows"),
        line=ngettext(
            "{count} of {n} row skipped: {first}",
            "{count} of {n} rows skipped: {first}",
            n=skipped.rows,
            count=skipped.count,
            first=skipped.listed[0].message,
        ),
        tables=(Table.of("rows_skipped", columns, rows),),
        notes=(*more, _("Skipped rows are no part of the score; fix them and evaluate again.")),
        figures=skipped.as_json(),
    )


# The bot's own models


def bot_usage_section(results: Results) -> Section | None:
    """Calls, tokens and cost of the bot's own models, as its answers reported them."""
    used = bot_usage(results)
    if not used:
        return None
    total = total_spending(list(used.values()))
    rows = (
        (model or _("unnamed"), spent.calls, spent.tokens_in, spent.tokens_out, _bot_cost(spent))
        for model, spent in used.items()
    )
    columns = (_("Model"), _("Answers"), _("Tokens in"), _("Tokens out"), _("Cost"))
    return figures_section(
        key="bot",
        title=_("The bot's own model"),
        line=_(
            "Answers: {calls}, tokens in: {tokens_in}, out: {tokens_out}, {usd}",
            calls=total.calls,
            tokens_in=total.tokens_in,
            tokens_out=total.tokens_out,
            usd=_bot_cost(total),
        ),
        tables=(Table.of("bot", columns, rows),),
        notes=(_("As the bot's endpoint told; no part of the cost above, nor of --budget."),),
        figures={
            "calls": total.calls,
            "tokens": {"in": total.tokens_in, "out": total.tokens_out},
            "cost_usd": None if total.cost_usd is None else round(total.cost_usd, 6),
        },
    )


def _bot_cost(spent: Spending) -> Message:
    if spent.cost_usd is None:
        return _("price unknown")
    return _("{amount} USD", amount=dollars(spent.cost_usd))


# Multiple choice


def choices_section(results: Results) -> Section | None:
    """Accuracy on multiple-choice questions, by subject, and the letters that were chosen."""
    found = choices(results)
    if found is None:
        return None
    return figures_section(
        key="choices",
        title=_("Multiple choice"),
        line=ngettext(
            "Accuracy {accuracy} on {n} question. Guessing would reach {chance}, always the longest choice"
            " {longest}.",
            "Accuracy {accuracy} on {n} questions. Guessing would reach {chance}, always the longest choice"
            " {longest}.",
            accuracy=with_error(found.accuracy.value, found.accuracy.stderr),
            n=found.accuracy.n,
            chance=f"{found.chance:.3f}",
            longest=f"{found.longest:.3f}",
        ),
        tables=(_subjects_table(found), _letters_table(found)),
        notes=tuple(_choices_notes(found)),
        figures=found.as_json(),
    )


def _subjects_table(found: Choices) -> Table:
    subjects: list[tuple[Text, Accuracy]] = [
        (name or _("(no subject)"), each) for name, each in found.subjects.items()
    ]
    if len(subjects) > 1:
        subjects.append((_("All"), found.accuracy))
    rows = (
        (name, _figure(each.value, each.stderr), each.right, each.n, each.not_extracted)
        for name, each in subjects
    )
    columns = (
        _("Subject"),
        _("Accuracy ± standard error"),
        _("Right"),
        pgettext("a number of them", "Questions"),
        _("Not extracted"),
    )
    return Table.of("subjects", columns, rows, _("By subject"))


def _letters_table(found: Choices) -> Table:
    """How often each letter was chosen, and how often it would have been right."""

    def cell(counts: Mapping[str, int], letter: str) -> Cell:
        n = counts.get(letter, 0)
        return Cell(text=f"{n:,}", number=n, note=f"{100 * n / found.accuracy.n:.1f}%")

    letters = [letter for letter in LETTERS if letter in found.chosen or letter in found.right]
    rows = ((letter, cell(found.chosen, letter), cell(found.right, letter)) for letter in letters)
    columns = (_("Letter"), _("Chosen"), _("Right answers"))
    return Table.of("letters", columns, rows, _("Letters chosen"))


def _choices_notes(found: Choices) -> Iterator[Message]:
    yield _("The standard error is √(p(1−p)/(n−1)).")
    if n := found.accuracy.not_extracted:
        yield ngettext(
            "No choice could be read from {n} answer ({share}%); they count as wrong.",
            "No choice could be read from {n} answers ({share}%); they count as wrong.",
            n=n,
            share=f"{100 * n / found.accuracy.n:.1f}",
        )
    if found.failed:
        yield ngettext(
            "Not counted: {n} answer that could not be graded.",
            "Not counted: {n} answers that could not be graded.",
            n=found.failed,
        )


# Classification


def classes_section(results: Results) -> Section | None:
    """Accuracy and F1 of labelled rows, by class, with the confusion matrix and trivial baselines."""
    found = classifications(results)
    if not found:
        return None
    return figures_section(
        key="classification",
        title=_("Classification"),
        line=sentences(*map(_classes_line, found)),
        tables=tuple(table for each in found for table in _classes_tables(each, alone=len(found) == 1)),
        notes=tuple(note for each in found for note in _classes_notes(each)),
        figures={each.judge: each.as_json() for each in found},
    )


def with_error(value: float | None, error: float | None = None) -> str:
    """`0.9579 ± 0.0069`, to four decimals; a dash for None."""
    return NONE if value is None else f"{value:.4f}" if error is None else f"{value:.4f} ± {error:.4f}"


def baseline_title(baseline: Baseline) -> Text:
    """What a baseline predicts, in words."""
    match baseline.name:
        case "all_positive" | "all_negative":
            return _("always {label}", label=baseline.label)
        case "majority":
            return _("the most frequent, {label}", label=baseline.label)
        case "uniform":
            return _("by lot, all alike")
        case _other:
            return _("by lot, as frequent as each is")


def _classes_line(found: Classification) -> Message:
    line = ngettext(
        "accuracy {accuracy}, F1 ({positive}) {f1}, {n} row; not extracted: {missing}.",
        "accuracy {accuracy}, F1 ({positive}) {f1}, {n} rows; not extracted: {missing}.",
        accuracy=with_error(found.accuracy, found.accuracy_stderr),
        positive=found.positive or _("macro average"),
        f1=with_error(found.f1, found.f1_stderr),
        n=found.n,
        missing=found.not_extracted,
    )
    return line if found.judge == LABEL_JUDGE else _("{judge}: {line}", judge=found.judge, line=line)


def _classes_tables(found: Classification, *, alone: bool) -> Iterator[Table]:
    tables = (
        _per_class_table(found),
        (_confusion_table if len(found.labels) <= _LARGEST_MATRIX else _most_confused_table)(found),
        _baselines_table(found),
    )
    for table in tables:
        title = table.title if alone else _("{judge} {table}", judge=found.judge, table=table.title)
        yield table.model_copy(update={"title": title})


_AVERAGES: Mapping[str, Message] = {
    "macro": _("macro avg"),
    "weighted": _("weighted avg"),
    "micro": _("micro avg"),
}


def _per_class_table(found: Classification) -> Table:
    averages = [(_AVERAGES[each.label], each) for each in (found.macro, found.weighted, found.micro)]
    classes: list[tuple[Text, ClassFigures]] = [*((each.label, each) for each in found.per_class), *averages]
    return Table.of(
        f"{found.judge}.classes",
        (_("Label"), _("Precision"), _("Recall"), "F1", _("Support")),
        ((name, *map(_figure, (of.precision, of.recall, of.f1)), of.support) for name, of in classes),
        _("Per class"),
        counts=3,
    )


def _confusion_table(found: Classification) -> Table:
    return Table.of(
        f"{found.judge}.confusion",
        (_("expected \\ predicted"), *found.labels, _("not extracted"), _("Support")),
        (
            (label, *_confusion_cells(expected, row), sum(row))
            for expected, (label, row) in enumerate(zip(found.labels, found.confusion, strict=True))
        ),
        _("Confusion matrix (rows: expected, columns: predicted)"),
        counts=len(found.labels) + 2,
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


def _most_confused_table(found: Classification) -> Table:
    labels: tuple[Text, ...] = (*found.labels, _("not extracted"))
    pairs = [
        (-n, expected, predicted)
        for expected, row in enumerate(found.confusion)
        for predicted, n in enumerate(row)
        if n and predicted != expected
    ]
    rows = (
        (_("{expected} → {predicted}", expected=labels[expected], predicted=labels[predicted]), -n)
        for n, expected, predicted in sorted(pairs)[:_CONFUSIONS_SHOWN]
    )
    columns = (_("expected → predicted"), pgettext("a number of them", "Rows"))
    return Table.of(f"{found.judge}.confused", columns, rows, _("Confused most often"))


def _baselines_table(found: Classification) -> Table:
    """The run among the baselines, by F1; baselines that predict the same appear once."""
    distinct = {(each.accuracy, each.f1, each.label): each for each in reversed(found.baselines)}
    f1, accuracy = _figure(found.f1, found.f1_stderr), _figure(found.accuracy, found.accuracy_stderr)
    rows = [
        (_figure(each.f1), baseline_title(each), _figure(each.accuracy), _figure(each.macro_f1))
        for each in distinct.values()
    ]
    rows.insert(0, (f1, _("this run"), accuracy, _figure(found.macro.f1)))
    rows.sort(key=lambda row: -(row[0].number or 0))
    return Table.of(
        f"{found.judge}.baselines",
        (_("Who"), "F1", _("Accuracy"), _("Macro F1")),
        ((who, f1, *others) for f1, who, *others in rows),
        _("Beside guessers that read nothing"),
    )


def _classes_notes(found: Classification) -> Iterator[Message]:
    yield _(
        "± is the standard error: of accuracy sqrt(p(1-p)/(n-1)), of F1 the standard"
        " deviation of {draws} bootstrap resamples (seed {seed:d}).",
        draws=found.draws,
        seed=found.seed,
    )
    kappa, mcc = map(with_error, (found.kappa, found.mcc))
    yield _("Agreement with the labels: kappa {kappa}, MCC {mcc}.", kappa=kappa, mcc=mcc)
    if n := found.not_extracted:
        yield ngettext(
            "{n} answer ({share} %) gave no label that could be read. They count as wrong.",
            "{n} answers ({share} %) gave no label that could be read. They count as wrong.",
            n=n,
            share=f"{100 * n / found.n:.1f}",
        )
    if found.by_likelihood:
        yield _(
            "How labels were chosen: {likelihood} by log-likelihood, {generation} from what was written.",
            likelihood=found.by_likelihood,
            generation=found.n - found.by_likelihood,
        )
    if found.failed or found.skipped:
        yield ngettext(
            "Not counted: {n} row that could not be graded, {skipped} without a label.",
            "Not counted: {n} rows that could not be graded, {skipped} without a label.",
            n=found.failed,
            skipped=found.skipped,
        )
    yield _("Guessing by lot is worked out from expected counts.")


# References that contradict the passages


def conflicts_section(results: Results) -> Section | None:
    """Questions whose reference contradicts what was retrieved, those with most turns first."""
    by_case: dict[str, list[UndecidedTurn]] = {}
    for each in undecided_turns(results):
        by_case.setdefault(each.case.id, []).append(each)
    if not by_case:
        return None
    ranked = sorted(by_case.values(), key=lambda turns: -len(turns))
    unlisted = len(ranked) - _CONFLICTS_SHOWN
    columns = (
        _("Question"),
        _("Asked"),
        _("The reference says"),
        _("The passages say"),
        _("Retrieved"),
        _("Turns"),
    )
    cases: list[dict[str, Any]] = [
        {
            "case": turns[0].case.id,
            "reference": turns[0].reference,
            "passages": turns[0].passages,
            # The ids of the passages that these turns retrieved.
            "retrieved": list(dict.fromkeys(p.id for each in turns for p in each.turn.answer.passages)),
            "turns": len(turns),
        }
        for turns in ranked
    ]
    rows = []
    for turns, case in zip(ranked[:_CONFLICTS_SHOWN], cases, strict=False):
        texts = (turns[0].case.question, case["reference"], case["passages"], ", ".join(case["retrieved"]))
        rows.append((case["case"], *texts, len(turns)))
    return figures_section(
        key="conflicts",
        title=_("Reference and passages disagree"),
        line=ngettext(
            "Left undecided: {n} turn of {cases} questions, whose reference contradicts the passages. Fix"
            " one of the two.",
            "Left undecided: {n} turns of {cases} questions, whose reference contradicts the passages. Fix"
            " one of the two.",
            cases=len(ranked),
            n=sum(map(len, ranked)),
        ),
        tables=(Table.of("conflicts", columns, rows, counts=len(columns) - 1),),
        notes=(_("Not listed: {n} more.", n=unlisted),) if unlisted > 0 else (),
        figures={"cases": cases},
    )


# The contest


def contest_section(results: Results) -> Section | None:
    """The contest's total, the mean of every metric and what each cost."""
    if not is_contest(results):
        return None
    found = contest_result(results)
    graded = [each for each in found.metrics if each.mean is not None]
    notes = [] if found.cost else [_("No model was called, so that nothing was spent.")]
    if any("," in name for name in found.cost):
        notes.append(
            _(
                "What metrics of one call cost cannot be told apart; --judging separate asks for each by"
                " itself."
            )
        )
    return figures_section(
        key="contest",
        title=_("Contest scoring"),
        line=_(
            "Total {total} of {of}: the sum of the metrics' means, each from 1 to 5",
            total=NONE if found.total_score is None else f"{found.total_score:.3f}",
            of=5 * len(graded),
        ),
        tables=(_contest_metrics_table(found), *([_contest_cost_table(found)] if found.cost else [])),
        notes=notes,
        figures=found.as_json(),
    )


def _contest_metrics_table(found: ContestResult) -> Table:
    rows = (
        (
            each.name,
            None if each.mean is None else Cell(text=f"{round(each.mean, 4):g}", number=each.mean),
            each.n,
            each.planned,
        )
        for each in found.metrics
    )
    columns = (_("Metric"), _("Mean"), _("Graded"), pgettext("a number of them", "Rows"))
    return Table.of("metrics", columns, rows, _("Metrics"))


def _contest_cost_table(found: ContestResult) -> Table:
    spending: list[tuple[Text, Spending]] = list(found.cost.items())
    if len(spending) > 1:
        spending.append((_("Total"), total_spending(list(found.cost.values()))))

    def cost(usd: float | None) -> Cell:
        return Cell(text=_("price unknown") if usd is None else dollars(usd), number=usd)

    rows = (
        (name, cost(spent.cost_usd), spent.calls, spent.cached, spent.tokens_in, spent.tokens_out)
        for name, spent in spending
    )
    columns = (_("Metric"), _("Cost (USD)"), _("Calls"), _("Cached"), _("Tokens in"), _("Tokens out"))
    return Table.of("cost", columns, rows, _("Cost per metric"))


# Outputs of JSON answers


def outputs_section(results: Results) -> Section | None:
    """How each output of JSON answers did; None where answers were graded as a whole."""
    found = outputs_of(results)
    if found is None:
        return None
    missing = ngettext("Not extracted: {n} row.", "Not extracted: {n} rows.", n=found.not_extracted)
    if found.passed is None:
        passed = _("No output has a threshold, so no row is passed or missed.")
    else:
        share = share_text(found.passed.right, found.passed.of, 1)
        passed = _("Rows in which every output reached its thresholds: {share}.", share=share)
    return figures_section(
        key="outputs",
        title=_("Results by output"),
        line=sentences(passed, missing),
        tables=(*([_outputs_table(found)] if found.passed else []), _output_metrics_table(found)),
        notes=tuple(_outputs_notes(found)),
        figures=found.as_json(),
    )


def _outputs_table(found: OutputsFigures) -> Table:
    shares: list[tuple[Text, Share | None]] = [(each.output, each.passed) for each in found.outputs]
    if len(shares) > 1:
        shares.append((_("All outputs"), found.passed))
    columns = (_("Output"), pgettext("a share", "Passed"), _("95 % interval"))
    return Table.of(
        "outputs", columns, ((name, *_share_cells(share)) for name, share in shares), _("Outputs")
    )


def _output_metrics_table(found: OutputsFigures) -> Table:
    columns = (
        _("Output.judge"),
        _("Mean ± standard error"),
        _("Threshold"),
        pgettext("a share", "Passed"),
        _("95 % interval"),
        _("Graded"),
        _("Not extracted"),
    )
    rows = (
        (
            each.name,
            _figure(each.mean, each.stderr),
            None if each.threshold is None else f"{each.threshold:g}",
            *_share_cells(each.passed),
            f"{each.n:,}/{each.planned:,}",
            each.not_extracted,
        )
        for output in found.outputs
        for each in output.metrics
    )
    return Table.of("metrics", columns, rows, _("Judges of each output"))


def _share_cells(share: Share | None) -> tuple[Cell | None, Text | None]:
    """A share, and its interval beside it."""
    if share is None:
        return None, None
    interval = None
    if share.interval:
        low, high = (f"{100 * end:.1f}" for end in share.interval)
        interval = _("{low}-{high} %", low=low, high=high)
    return Cell(text=share_text(share.right, share.of, 1), number=rounded(share.value)), interval


def _outputs_notes(found: OutputsFigures) -> Iterator[Message]:
    """How the figures are to be read, each note only where it applies."""
    if found.passed:
        yield _(
            "A score at or above its threshold passes. A text that is the reference after normalisation"
            " passes even where METEOR and others give it less."
        )
    if found.missing:
        yield _(
            "What could not be extracted (no JSON: {json}, no such key: {key}) is wrong: 0 in means and"
            " shares.",
            json=ngettext("{n} row", "{n} rows", n=found.missing.get("json", 0)),
            key=ngettext("{n} row", "{n} rows", n=found.missing.get("key", 0)),
        )
    if found.failed:
        yield ngettext(
            "{n} row could not be decided because grading failed; no share counts them.",
            "{n} rows could not be decided because grading failed; no share counts them.",
            n=found.failed,
        )
    if found.extra:
        named = list(found.extra.items())[:_EXTRA_KEYS_SHOWN]
        yield _(
            "Keys of answers that no reference has (they cost nothing): {keys}",
            keys=[_("{key} ({n})", key=key, n=n) for key, n in named],
        )


# Cells


def _figure(value: float | None, error: float | None = None) -> Cell:
    """A figure with its standard error."""
    return Cell(text=with_error(value, error), number=rounded(value))


# --- What add-ons show of a run; the module that makes it is loaded only for a run that has it. ---


def load_section(results: Results, summary: Summary) -> Section | None:
    """What a load rehearsal measured; None for any other run."""
    section: Section | None = None
    if "load" in results.notes:
        section = _addon("load").section(results, summary)
    return section


def harness_section(results: Results) -> Section | None:
    """What lm_eval measured; None for a run without it."""
    section: Section | None = None
    if "harness" in results.notes:
        section = _addon("lm_eval").section(results)
    return section


def consistency_line(results: Results) -> Message | None:
    """One sentence where the bot told customers different things; None where it did not."""
    line: Message | None = None
    if not results.run.asks_once:  # rows of a data set, no customers
        line = _addon("consistency").consistency_line(results)
    return line


def _addon(name: str) -> Any:
    """The reports of an add-on."""
    return import_module(f"simulator.addons.{name}.report")
