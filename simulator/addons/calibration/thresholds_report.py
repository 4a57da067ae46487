"""The report of suggested thresholds."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from simulator.addons.calibration.thresholds import (
    JudgedScores,
    SuggestedThreshold,
    SuggestionMethod,
    ThresholdChange,
)
from simulator.core.document import Line, Notes, Report, Table, Text
from simulator.core.messages import Message, _, ngettext
from simulator.core.types import Language
from simulator.grading.metric_file import DEFAULT


class ThresholdsOutcome(NamedTuple):
    """What is reported: the source, the method, the suggestions, and what was written where."""

    source: str
    how: SuggestionMethod
    evidence: JudgedScores
    suggestions: Sequence[SuggestedThreshold]
    language: Language
    path: Path | None = None
    changes: Sequence[ThresholdChange] = ()


def thresholds_report(outcome: ThresholdsOutcome) -> Report:
    """The method, the table, notes, and what was written."""
    how = outcome.how
    method = _("Method: the value that parts right from wrong answers best (balanced accuracy).")
    if how.method == "quantile":
        method = _(
            "Method: the highest value that at least {percent:g} % of the right answers reach"
            " (quantile {quantile:g}).",
            percent=100 * (1 - how.quantile),
            quantile=how.quantile,
        )
    notes = Notes(tuple(_notes(outcome)))
    return Report(
        title=_("Suggested thresholds  {source}", source=outcome.source),
        language=outcome.language,
        lead=(Line(method), _table(outcome.suggestions), notes, *map(Line, _changes(outcome))),
    )


def _table(suggestions: Sequence[SuggestedThreshold]) -> Table:
    """Without the columns of outputs and domains where there are none."""
    columns: dict[str, Text] = {
        "output": _("Output"),
        "judge": _("Judge"),
        "domain": _("Domain"),
        "threshold": _("Threshold"),
        "interval": _("95 % interval"),
        "right": _("Right passing/n"),
        "wrong": _("Wrong passing/n"),
    }
    if all(each.output == DEFAULT for each in suggestions):
        del columns["output"]
    if not any(each.domain for each in suggestions):
        del columns["domain"]
    rows = ([row[key] for key in columns] for row in map(_cells, suggestions))
    words = frozenset(at for at, key in enumerate(columns) if key in {"judge", "domain"})
    return Table.of("thresholds", columns.values(), rows, words=words)


def _cells(each: SuggestedThreshold) -> dict[str, Text | None]:
    """Its text in every column."""
    suggestion = each.suggestion
    threshold, interval = suggestion.threshold, suggestion.interval
    return {
        "output": _("(whole)") if each.output == DEFAULT else each.output,
        "judge": each.judge,
        "domain": each.domain or _("all"),
        "threshold": None if threshold is None else f"{threshold:.4g}",
        "interval": interval and f"{interval[0]:.3g}–{interval[1]:.3g}",
        "right": _share(suggestion.right_passing, suggestion.right),
        "wrong": _share(suggestion.wrong_passing, suggestion.wrong),
    }


def _share(share: float | None, n: int) -> str | None:
    return None if share is None else f"{100 * share:.1f}%/{n:,}"


def _notes(outcome: ThresholdsOutcome) -> Iterator[Line]:
    suggestions, evidence = outcome.suggestions, outcome.evidence
    wholly = {(each.judge, each.output) for each in suggestions if not each.domain and _is_noted(each)}
    for each in suggestions:
        # What is noted of all domains is not said again of each.
        if _is_noted(each) and not (each.domain and (each.judge, each.output) in wholly):
            yield Line(_note(each, outcome.how), "alarm")
    if evidence.skipped or evidence.failed:
        skipped, failed = evidence.skipped, evidence.failed
        yield Line(_("Without a score: {skipped} skipped, {failed} failed.", skipped=skipped, failed=failed))
    if evidence.unlabelled:
        unlabelled = ngettext(
            "{n} answer that nobody called right or wrong is not used.",
            "{n} answers that nobody called right or wrong are not used.",
            n=evidence.unlabelled,
        )
        yield Line(unlabelled)
    interval = _(
        "Intervals by bootstrap (over questions, 2,000 draws, seed {seed:d}). An answer that"
        " is its reference after normalisation always passes.",
        seed=outcome.how.seed,
    )
    yield Line(interval)


def _is_noted(each: SuggestedThreshold) -> bool:
    return each.suggestion.threshold is None or each.suggestion.few


def _note(each: SuggestedThreshold, how: SuggestionMethod) -> Message:
    """Why there is no threshold, or that it rests on few answers."""
    suggestion = each.suggestion
    if suggestion.threshold is not None:
        text = ngettext(
            "{name}: only {n} right answer; 20 or more should decide.",
            "{name}: only {n} right answers; 20 or more should decide.",
            n=suggestion.right,
        )
    elif not suggestion.right:
        text = _("{name}: there is no right answer to go by.")
    elif how.method == "quantile":
        text = _(
            "{name}: too many right answers have the lowest score, so that any answer would pass;"
            " this judge does not fit these data."
        )
    elif not suggestion.wrong:
        text = _("{name}: there is no wrong answer, which --method balanced needs.")
    else:
        text = _(
            "{name}: no value parts right from wrong better than chance; this judge does not fit these data."
        )
    return text.format(name=each.name, n=suggestion.right)


def _changes(outcome: ThresholdsOutcome) -> Iterator[Message]:
    """What was written into the metric file."""
    path, changes = outcome.path, outcome.changes
    if path is not None and not changes:
        yield _("{path} stays as it is: there is no suggestion for any of its judges.", path=path)
    elif path is not None:
        yield _("Written to {path}:", path=path)
    for each in changes:
        before = "–" if each.before is None else f"{each.before:g}"
        name = f"{each.output}.{each.judge}"
        yield _("  {name}: {before} → {after:g}", name=name, before=before, after=each.after)
