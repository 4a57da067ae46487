"""Sections that only some runs have, and sections that only conversations have.

Each function makes one, or returns None where the run has nothing to show: skipped rows, the bot's models,
choices, classes, conflicts, outputs, answers and handovers, the course of turns, the simulated customers.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from importlib import import_module
from itertools import islice
from typing import Any

from simulator.core.document import (
    PAGE,
    Block,
    Cell,
    Chart,
    Fact,
    Facts,
    Line,
    Section,
    Series,
    Table,
    Text,
    figures_section,
    points,
    share_text,
    target_points,
)
from simulator.core.messages import Message, _, listed, ngettext, pgettext, sentences
from simulator.core.titles import Titles
from simulator.core.types import Results, Spending
from simulator.data.datasets import SkippedRows
from simulator.models.pricing import total_spending
from simulator.report.tables import FEELING, money, signed, spending_table
from simulator.stats.answerability import answerability, handovers
from simulator.stats.choices import Choices, choices
from simulator.stats.classification import (
    LABEL_JUDGE,
    ClassFigures,
    Classification,
    classifications,
)
from simulator.stats.contest import contest_result, is_contest
from simulator.stats.figures import CustomerFigure, SimulatorSummary, Summary, rounded
from simulator.stats.outputs import OutputsFigures, Share, outputs_of
from simulator.stats.red import UndecidedTurn, undecided_turns
from simulator.stats.summary import Course, bot_usage, course
from simulator.text.choices import LETTERS

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
# What guessers that read nothing predict.
_BASELINES: dict[str, Message] = {
    "all_positive": _("always {label}"),
    "all_negative": _("always {label}"),
    "majority": _("the most frequent, {label}"),
    "uniform": _("by lot, all alike"),
    "prior": _("by lot, as frequent as each is"),
}
# More lines of a chart than this cannot be told apart; the table has everyone.
_LINES = 4
# Links to spoilt turns that a page shows at most.
SPOILT_SHOWN = 30


def sections(results: Results, summary: Summary) -> tuple[Section, ...]:
    """The sections that this run has for every view, in the order in which reports show them."""
    made = (
        conflicts_section(results),
        contest_section(results),
        skipped_section(results),
        outputs_section(results),
        classes_section(results),
        choices_section(results),
        # What add-ons measured; the module that shows it is loaded only for a run that has it.
        _addon("lm_eval").section(results) if "harness" in results.notes else None,
        bot_usage_section(results),
        _addon("load").section(results, summary) if "load" in results.notes else None,
    )
    return tuple(filter(None, made))


def consistency_line(results: Results) -> Message | None:
    """One sentence where the bot told customers different things; None where it did not."""
    if results.run.asks_once:  # rows of a data set, no customers
        return None
    line: Message | None = _addon("consistency").consistency_line(results)
    return line


def _addon(name: str) -> Any:
    """The reports of an add-on."""
    return import_module(f"simulator.addons.{name}.report")


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
        tables=[Table.of("rows_skipped", columns, rows)],
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
    return figures_section(
        key="bot",
        title=_("The bot's own model"),
        line=_(
            "Answers: {calls}, tokens in: {tokens_in}, out: {tokens_out}, {usd}",
            calls=total.calls,
            tokens_in=total.tokens_in,
            tokens_out=total.tokens_out,
            usd=money(total.cost_usd),
        ),
        tables=[
            spending_table("bot", _("Model"), ((name or _("unnamed"), spent) for name, spent in used.items()))
        ],
        notes=[_("As the bot's endpoint told; no part of the cost above, nor of --budget.")],
        figures={
            "calls": total.calls,
            "tokens": {"in": total.tokens_in, "out": total.tokens_out},
            "cost_usd": None if total.cost_usd is None else round(total.cost_usd, 6),
        },
    )


# Multiple choice


def choices_section(results: Results) -> Section | None:
    """Accuracy on multiple-choice questions, by subject, and the letters that were chosen."""
    found = choices(results)
    if found is None:
        return None
    all_of_them = found.accuracy
    subjects = {name or _("(no subject)"): each for name, each in found.subjects.items()}
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
        (name, figure_cell(each.value, each.stderr), each.right, each.n, each.not_extracted)
        for name, each in subjects.items()
    )

    def letter_cell(counts: Mapping[str, int], letter: str) -> Cell:
        n = counts.get(letter, 0)
        return Cell(text=f"{n:,}", number=n, note=f"{100 * n / all_of_them.n:.1f}%")

    letters = (
        (letter, letter_cell(found.chosen, letter), letter_cell(found.right, letter))
        for letter in LETTERS
        if letter in found.chosen or letter in found.right
    )
    return figures_section(
        key="choices",
        title=_("Multiple choice"),
        line=ngettext(
            "Accuracy {accuracy} on {n} question. Guessing would reach {chance}, always the longest choice"
            " {longest}.",
            "Accuracy {accuracy} on {n} questions. Guessing would reach {chance}, always the longest choice"
            " {longest}.",
            accuracy=with_error(all_of_them.value, all_of_them.stderr),
            n=all_of_them.n,
            chance=f"{found.chance:.3f}",
            longest=f"{found.longest:.3f}",
        ),
        tables=[
            Table.of("subjects", columns, rows, _("By subject")),
            Table.of("letters", (_("Letter"), _("Chosen"), _("Right answers")), letters, _("Letters chosen")),
        ],
        notes=_choices_notes(found),
        figures=found.as_json(),
    )


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
        tables=[table for each in found for table in _classes_tables(each, alone=len(found) == 1)],
        notes=[note for each in found for note in _classes_notes(each)],
        figures={each.judge: each.as_json() for each in found},
    )


def with_error(value: float | None, error: float | None = None) -> str:
    """`0.9579 ± 0.0069`, to four decimals; a dash for None."""
    return "–" if value is None else f"{value:.4f}" if error is None else f"{value:.4f} ± {error:.4f}"


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
    classes: list[tuple[Text, ClassFigures]] = [(each.label, each) for each in found.per_class]
    averages = (
        (_("macro avg"), found.macro),
        (_("weighted avg"), found.weighted),
        (_("micro avg"), found.micro),
    )
    per_class = Table.of(
        "classes",
        (_("Label"), _("Precision"), _("Recall"), "F1", _("Support")),
        (
            (name, *map(figure_cell, (of.precision, of.recall, of.f1)), of.support)
            for name, of in (*classes, *averages)
        ),
        _("Per class"),
        counts=3,
    )
    is_small = len(found.labels) <= _LARGEST_MATRIX
    confusion = _confusion_table(found) if is_small else _most_confused_table(found)
    for table in (per_class, confusion, _baselines_table(found)):
        title = table.title if alone else _("{judge} {table}", judge=found.judge, table=table.title)
        yield table.model_copy(update={"name": f"{found.judge}.{table.name}", "title": title})


def _confusion_table(found: Classification) -> Table:
    return Table.of(
        "confusion",
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
    pairs = Counter(
        {
            (expected, predicted): n
            for expected, row in enumerate(found.confusion)
            for predicted, n in enumerate(row)
            if n and predicted != expected
        }
    )
    rows = (
        (_("{expected} → {predicted}", expected=labels[expected], predicted=labels[predicted]), n)
        for (expected, predicted), n in pairs.most_common(_CONFUSIONS_SHOWN)
    )
    columns = (_("expected → predicted"), pgettext("a number of them", "Rows"))
    return Table.of("confused", columns, rows, _("Confused most often"))


def _baselines_table(found: Classification) -> Table:
    """The run among the baselines, by F1; baselines that predict the same appear once."""
    f1, accuracy = figure_cell(found.f1, found.f1_stderr), figure_cell(found.accuracy, found.accuracy_stderr)
    rows: list[tuple[Text, Cell, Cell, Cell]] = [(_("this run"), f1, accuracy, figure_cell(found.macro.f1))]
    distinct = {(each.accuracy, each.f1, each.label): each for each in reversed(found.baselines)}
    for each in distinct.values():
        name = _BASELINES[each.name].format(label=each.label)
        rows.append((name, figure_cell(each.f1), figure_cell(each.accuracy), figure_cell(each.macro_f1)))
    rows.sort(key=lambda row: -(row[1].number or 0))
    columns = (_("Who"), "F1", _("Accuracy"), _("Macro F1"))
    return Table.of("baselines", columns, rows, _("Beside guessers that read nothing"))


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
    table = Table.listing(
        "conflicts",
        cases[:_CONFLICTS_SHOWN],
        {
            _("Question"): lambda case: case["case"],
            _("Asked"): lambda case: by_case[case["case"]][0].case.question,
            _("The reference says"): lambda case: case["reference"],
            _("The passages say"): lambda case: case["passages"],
            _("Retrieved"): lambda case: ", ".join(case["retrieved"]),
            _("Turns"): lambda case: case["turns"],
        },
        counts=5,
    )
    unlisted = len(cases) - _CONFLICTS_SHOWN
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
        tables=[table],
        notes=(_("Not listed: {n} more.", n=unlisted),) if unlisted > 0 else (),
        figures={"cases": cases},
    )


# The contest


def contest_section(results: Results) -> Section | None:
    """The contest's total, the mean of every metric and what each cost."""
    if not is_contest(results):
        return None
    found = contest_result(results)
    rows = []
    for each in found.metrics:
        mean = Cell(text="–" if each.mean is None else f"{round(each.mean, 4):g}", number=each.mean)
        rows.append((each.name, mean, each.n, each.planned))
    columns = (_("Metric"), _("Mean"), _("Graded"), pgettext("a number of them", "Rows"))
    tables = [Table.of("metrics", columns, rows, _("Metrics"))]
    notes = [_("No model was called, so that nothing was spent.")]
    if found.cost:
        spending: list[tuple[Text, Spending]] = list(found.cost.items())
        if len(spending) > 1:
            spending.append((_("Total"), total_spending(list(found.cost.values()))))
        tables.append(spending_table("cost", _("Metric"), spending, _("Cost per metric")))
        notes = []
    if any("," in name for name in found.cost):
        note = _(
            "What metrics of one call cost cannot be told apart; --judging separate asks for each by itself."
        )
        notes.append(note)
    return figures_section(
        key="contest",
        title=_("Contest scoring"),
        line=_(
            "Total {total} of {of}: the sum of the metrics' means, each from 1 to 5",
            total="–" if found.total_score is None else f"{found.total_score:.3f}",
            of=5 * sum(each.mean is not None for each in found.metrics),
        ),
        tables=tables,
        notes=notes,
        figures=found.as_json(),
    )


# Outputs of JSON answers


def outputs_section(results: Results) -> Section | None:
    """How each output of JSON answers did; None where answers were graded as a whole."""
    found = outputs_of(results)
    if found is None:
        return None
    metrics = Table.listing(
        "metrics",
        [each for output in found.outputs for each in output.metrics],
        {
            _("Output.judge"): lambda each: each.name,
            _("Mean ± standard error"): lambda each: figure_cell(each.mean, each.stderr),
            _("Threshold"): lambda each: None if each.threshold is None else f"{each.threshold:g}",
            pgettext("a share", "Passed"): lambda each: _share_cell(each.passed),
            _("95 % interval"): lambda each: _interval_text(each.passed),
            _("Graded"): lambda each: f"{each.n:,}/{each.planned:,}",
            _("Not extracted"): lambda each: each.not_extracted,
        },
        _("Judges of each output"),
    )
    tables = [metrics]
    passed = _("No output has a threshold, so no row is passed or missed.")
    if whole := found.passed:
        share = share_text(whole.right, whole.of, 1)
        passed = _("Rows in which every output reached its thresholds: {share}.", share=share)
        shares: list[tuple[Text, Share | None]] = [(each.output, each.passed) for each in found.outputs]
        if len(shares) > 1:
            shares.append((_("All outputs"), whole))
        rows = ((name, _share_cell(share), _interval_text(share)) for name, share in shares)
        columns = (_("Output"), pgettext("a share", "Passed"), _("95 % interval"))
        tables.insert(0, Table.of("outputs", columns, rows, _("Outputs")))
    missing = ngettext("Not extracted: {n} row.", "Not extracted: {n} rows.", n=found.not_extracted)
    return figures_section(
        key="outputs",
        title=_("Results by output"),
        line=sentences(passed, missing),
        tables=tables,
        notes=_outputs_notes(found),
        figures=found.as_json(),
    )


def _share_cell(share: Share | None) -> Cell | None:
    if share is None:
        return None
    return Cell(text=share_text(share.right, share.of, 1), number=rounded(share.value))


def _interval_text(share: Share | None) -> Text | None:
    if share is None or share.interval is None:
        return None
    low, high = (f"{100 * end:.1f}" for end in share.interval)
    return _("{low}-{high} %", low=low, high=high)


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


def figure_cell(value: float | None, error: float | None = None) -> Cell:
    """A figure with its standard error."""
    return Cell(text=with_error(value, error), number=rounded(value))


# Answers, handovers


def answerable_sections(results: Results) -> Iterator[Section]:
    """Whether the bot answers, declines and hands over where it should; only where cases ask for it."""
    right = pgettext("a share", "Right")
    if (found := answerability(results)).marked:
        can = [found.answered_answerable, found.refused_answerable, found.clarified_answerable]
        cannot = [found.answered_unanswerable, found.refused_unanswerable, found.clarified_unanswerable]
        # Those asked back are neither right nor wrong.
        answered, declined = _right(can[0], sum(can[:2])), _right(cannot[1], sum(cannot[:2]))
        line = _(
            "answered what can be answered {answered}; declined what cannot {refused}",
            answered=answered.text,
            refused=declined.text,
        )
        table = Table.of(
            "answers",
            ("", _("Answered"), _("Declined"), _("Asked back"), right),
            [[_("Can be answered"), *can, answered], [_("Cannot be answered"), *cannot, declined]],
            counts=4,
        )
        notes = [
            _(
                "Declining is right only where the articles do not hold the answer. Each conversation counts"
                " once, by what the bot said to the first question."
            ),
            _(
                "Not counted: {failed} conversations without an answer, {unmarked} whose case does not say.",
                failed=found.not_answered,
                unmarked=found.unmarked,
            ),
        ]
        if found.refused_unanswerable:
            held = share_text(found.held, found.refused_unanswerable)
            notes.append(_("Declined to the end: {share}.", share=held))
        blocks = _with_notes(line, table, notes)
        yield Section("answerability", _("Answered or declined"), blocks, views=PAGE)
    if (handed := handovers(results)).marked:
        wanted = (handed.handed_required, handed.kept_required)
        unwanted = (handed.handed_forbidden, handed.kept_forbidden)
        passed, kept = _right(wanted[0], sum(wanted)), _right(unwanted[1], sum(unwanted))
        line = _(
            "handed over where required {handed}; kept where not wanted {kept}",
            handed=passed.text,
            kept=kept.text,
        )
        table = Table.of(
            "handovers",
            ("", pgettext("a column", "Handed over"), _("Kept"), right),
            [[_("Handover required"), *wanted, passed], [_("Handover not wanted"), *unwanted, kept]],
            counts=3,
        )
        notes = [_("Counted by whether a person took over in any turn of the conversation.")]
        notes += [_("After turn 1: {n}.", n=handed.late)] if handed.late else []
        blocks = _with_notes(line, table, notes)
        yield Section("handover", pgettext("a title", "Handed over"), blocks, views=PAGE)


def _with_notes(line: Message, table: Table, notes: Sequence[Message]) -> tuple[Block, ...]:
    return Line(line), table, *(Line(note, "soft") for note in notes)


def _right(right: int, of: int) -> Cell:
    """The share (its number in percent), and its interval."""
    share = Share(right=right, of=of)
    note: Text = ""
    if share.interval:
        low, high = (f"{100 * end:.0f}" for end in share.interval)
        note = _("95 % interval {low}-{high} %", low=low, high=high)
    number = None if share.value is None else round(100 * share.value, 1)
    return Cell(text=share_text(right, of), number=number, note=note)


# Turn by turn


def course_sections(results: Results, summary: Summary, titles: Titles) -> Iterator[Section]:
    """The charts, and folded the figures behind them; none where no turn was graded."""
    limit, drawn = summary.rules.overall, list[tuple[Chart, Table]]()
    if score := course(results, summary.primary):
        line = None if limit is None else (limit, _("limit {limit}", limit=target_points(limit)))
        text = partial(points, against=limit)
        drawn.append(_drawn(score, _("Score"), (0, 0.5, 1), text, titles, limit=line))
    if feelings := course(results, FEELING, raw=True):
        note = _("−2 angry … 0 even … +2 glad. No part of the bot's score.")
        drawn.append(_drawn(feelings, _("Customer's feeling"), (-2, 0, 2), signed, titles, note=note))
    if drawn:
        charts, tables = zip(*drawn, strict=True)
        yield Section("course", _("Turn by turn"), charts, views=PAGE)
        yield Section("course_table", _("The figures as a table"), tables, views=PAGE, folded=True)


def _drawn(
    means: Course,
    title: Message,
    marks: Sequence[float],
    text: Callable[[float | None], str],
    titles: Titles,
    *,
    limit: tuple[float, Message] | None = None,
    note: Text = "",
) -> tuple[Chart, Table]:
    """The course of everyone, with those of single customers where they are few; and all in figures."""
    turns = tuple(_("Turn {n}", n=turn) for turn in range(1, means.turns + 1))
    figures = [
        _("turn {turn}: {value} ({n} graded)", turn=turn, value=text(mean.mean), n=mean.n)
        for turn, mean in enumerate(means.overall, 1)
    ]
    courses = [
        (_("All"), means.overall),
        *((titles("persona", persona), each) for persona, each in means.personas.items()),
    ]
    series = tuple(
        Series(
            name,
            tuple(mean.mean for mean in each),
            tuple(text(mean.mean) for mean in each),
            notes=tuple(f"n {mean.n}" for mean in each),
        )
        for name, each in courses
    )
    chart = Chart(
        kind="lines",
        title=title,
        description=_("{title}. {figures}.", title=title, figures=figures),
        labels=turns,
        series=series if 1 < len(means.personas) <= _LINES else series[:1],
        marks=tuple((mark, text(mark)) for mark in marks),
        limit=limit,
        note=note,
    )
    rows = [
        (name, *(Cell(text=text(m.mean), number=m.mean, note=f"{m.n}/{m.planned}") for m in each))
        for name, each in courses
    ]
    return chart, Table.of("course", ("", *turns), rows, title)


# How the simulated customers were played

_FAULTS: dict[str, Message] = {
    "invented": _("made-up details"),
    "off_goal": _("beside the matter"),
    "left_early": _("left too early"),
    "left_late": _("stayed too long"),
    "repeated": _("repetition"),
    "broke_role": _("out of the role"),
    "impatient": _("gave up too soon"),
}
_FIGURES: dict[str, Message] = {
    "questions": _("Messages that ask"),
    "goal_coverage": _("Goal raised"),
    "early": _("Satisfied after a refusal"),
    "prompt": _("Leaves within a turn of a complete answer"),
    "invented": _("Turns with made-up details"),
    "thanks": _("Angry and unanswered, yet thanks"),
    "persona": _("Persona recognised from the messages alone"),
    "repeated": _("Turns that repeat"),
    "openings": _("Variety of first messages"),
}


def customer_remarks(simulator: SimulatorSummary) -> tuple[Message, ...]:
    """What stands out, or that nothing does; empty where the customers were not examined."""
    if not simulator.customers.figures:
        return ()
    return tuple(_remarks(simulator)) or (_("nothing amiss in how they were played"),)


def _remarks(simulator: SimulatorSummary) -> Iterator[Message]:
    customers = simulator.customers
    if customers.superseded:
        yield ngettext(
            "Held once more because of the customer: {n} conversation. The first ones do not count, but are"
            " kept in the run file.",
            "Held once more because of the customer: {n} conversations. The first ones do not count, but are"
            " kept in the run file.",
            n=len(customers.superseded),
        )
    if customers.faults:
        kinds = [_("{name} {n}", name=_FAULTS[kind], n=n) for kind, n in customers.faults.items()]
        yield _("turns with a fault: {kinds}", kinds=kinds)
    if customers.spoilt and simulator.with_spoilt is not None:
        scores = {"with": points(simulator.with_spoilt), "without": points(simulator.without_spoilt)}
        scores["n"] = f"{len(customers.spoilt):,}"
        yield (
            _("score {without}, leaving out what a customer spoilt (turns: {n}); {with} with it", **scores)
            if customers.handling == "exclude"
            else _("score {with}; {without} without what a customer spoilt (turns: {n})", **scores)
        )
    if names := [_FIGURES[name] for name, each in customers.figures.items() if each.met is False]:
        yield _("off the mark: {names}", names=names)


def customers_section(
    simulator: SimulatorSummary, titles: Titles, anchors: Mapping[tuple[str, int], str] | None = None
) -> Section | None:
    """What stands out, figures, lengths of messages, and links to spoilt turns; None where nobody looked.

    `anchors` are where a page has its turns, by conversation and number.
    """
    customers = simulator.customers
    if not customers.figures:
        return None
    first, *others = customer_remarks(simulator)
    for each in others:
        first = _("{first} / {second}", first=first, second=each)
    note = _("How the customers were played, counted from the conversations; no part of the bot's score.")
    columns = (_("Figure"), _("Measured"), _("Counted"), _("Goal"), _("Verdict"))
    rows = [
        _figure_row(key, each, each.value)
        for key, each in customers.figures.items()
        if each.value is not None
    ]
    blocks: list[Block] = [Line(first), Line(note, "soft"), Table.of("figures", columns, rows)]
    for language, lengths in customers.lengths.items():
        # In the language's characters or words, whatever the report's language is.
        facts = []
        for persona, length in lengths.items():
            name = _("All") if persona == "all" else titles("persona", persona)
            figures = {figure: f"{value:g}" for figure, value in length.model_dump(exclude={"n"}).items()}
            facts.append(Fact(name, _("{median} ({low}–{high})", **figures)))
        if facts:
            title = _("Length of English messages (words)")
            if language == "ja":
                title = _("Length of Japanese messages (characters)")
            median = _("Median and quartiles of the customers' messages after the first.")
            blocks += [Facts(tuple(facts), title), Line(median, "soft")]
    spoilt = [
        [Cell(text=_("{first} · {second}", first=talk, second=_("turn {n}", n=turn)), href=f"#{anchor}")]
        for talk, turn in customers.spoilt[:SPOILT_SHOWN]
        if (anchor := (anchors or {}).get((talk, turn)))
    ]
    if spoilt:
        blocks.append(Table.of("spoilt", [_("Turns that a customer spoilt")], spoilt, counts=0))
    return Section("customers", _("The simulated customers"), tuple(blocks), views=PAGE, folded=True)


def _figure_row(key: str, each: CustomerFigure, value: float) -> tuple[Text | Cell, ...]:
    """One figure with what it rests on, its goal and whether it meets that; the number is in percent."""
    percent = round(100 * value, 1)
    counted = _("{n} of {of}", n=each.n, of=each.of)
    if each.n is None:
        counted = ngettext("mean of {n} conversation", "mean of {n} conversations", n=each.of)
    goal: Text = ""
    if each.goal is not None:
        goal = (_("at most {goal} %") if each.at_most else _("at least {goal} %")).format(
            goal=f"{100 * each.goal:g}"
        )
    verdict: Text = "" if each.met is None else "○" if each.met else _("▲ off the mark")
    measured = Cell(text=f"{percent:g} %", number=percent, tone="alarm" if each.met is False else "")
    return _FIGURES[key], measured, counted, goal, verdict
