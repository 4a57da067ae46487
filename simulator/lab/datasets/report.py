"""The report of suggested thresholds."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from simulator.core.document import (
    Line,
    Notes,
    Report,
    Table,
    Text,
)
from simulator.core.messages import Message, _, ngettext
from simulator.core.types import Language
from simulator.lab.datasets.metric_file import DEFAULT
from simulator.lab.datasets.thresholds import (
    JudgedScores,
    SuggestedThreshold,
    ThresholdChange,
)


class ThresholdsOutcome(NamedTuple):
    """What is reported: the source, the suggestions, and what was written where."""

    source: str
    seed: int
    evidence: JudgedScores
    suggestions: Sequence[SuggestedThreshold]
    language: Language
    path: Path | None = None
    changes: Sequence[ThresholdChange] = ()


def thresholds_report(outcome: ThresholdsOutcome) -> Report:
    """The method, the table, notes, and what was written."""
    method = _("The highest value that at least {percent} % of the good answers reach.", percent=95)
    notes = Notes.of(_threshold_notes(outcome))
    return Report(
        title=_("Suggested thresholds  {source}", source=outcome.source),
        language=outcome.language,
        lead=(Line(method), _suggestions(outcome.suggestions), notes, *map(Line, _changes(outcome))),
    )


def _suggestions(suggestions: Sequence[SuggestedThreshold]) -> Table:
    """Without the column of outputs where there are none."""
    columns: dict[Text, Callable[[SuggestedThreshold], Text | None]] = {}
    if any(suggestion.output != DEFAULT for suggestion in suggestions):
        columns[_("Output")] = lambda row: _("(whole)") if row.output == DEFAULT else row.output
    columns[_("Judge")] = lambda row: row.judge
    # Names stand to the left, figures to the right.
    words = frozenset(range(len(columns)))
    columns |= {
        _("Threshold"): lambda row: _filled("{:.4g}", row.suggestion.threshold),
        _("95 % interval"): lambda row: _filled("{:.3g}–{:.3g}", *(row.suggestion.interval or (None,))),
        _("Right passing/n"): lambda row: _filled(
            "{:.1%}/{:,}", row.suggestion.right_passing, row.suggestion.right
        ),
        _("Wrong passing/n"): lambda row: _filled(
            "{:.1%}/{:,}", row.suggestion.wrong_passing, row.suggestion.wrong
        ),
    }
    return Table.listing("thresholds", suggestions, columns, words=words)


def _filled(form: str, first: float | None, *others: float) -> str | None:
    return None if first is None else form.format(first, *others)


def _threshold_notes(outcome: ThresholdsOutcome) -> Iterator[Text | Line]:
    """Why there is no threshold, or that it rests on few answers; then what was not used."""
    evidence = outcome.evidence
    for suggestion in outcome.suggestions:
        result = suggestion.suggestion
        # Only what is doubtful needs a line.
        if result.threshold is not None and not result.few:
            continue
        text = _("{name}: no value separates good answers from others; this judge does not fit these data.")
        if result.threshold is not None:
            text = ngettext(
                "{name}: only {n} good answer; 20 or more should decide.",
                "{name}: only {n} good answers; 20 or more should decide.",
                n=result.right,
            )
        yield Line(text.format(name=suggestion.name, n=result.right), "alarm")
    if evidence.skipped or evidence.failed:
        skipped, failed = evidence.skipped, evidence.failed
        yield _("Without a score: {skipped} skipped, {failed} failed.", skipped=skipped, failed=failed)
    yield _(
        "Intervals by bootstrap (over questions, 2,000 draws, seed {seed:d}). An answer that"
        " is its reference after normalisation always passes.",
        seed=outcome.seed,
    )


def _changes(outcome: ThresholdsOutcome) -> Iterator[Message]:
    """What was written into the metric file."""
    path, changes = outcome.path, outcome.changes
    if path is not None and not changes:
        yield _("{path} is unchanged: no judge has a suggestion.", path=path)
    elif path is not None:
        yield _("Written to {path}:", path=path)
    # Old and new, so that a version-controlled file needs no second look.
    for change in changes:
        before = "–" if change.before is None else f"{change.before:g}"
        name = f"{change.output}.{change.judge}"
        yield _("  {name}: {before} → {after:g}", name=name, before=before, after=change.after)
