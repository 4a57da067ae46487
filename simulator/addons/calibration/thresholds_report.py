"""The report of suggested thresholds."""

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from simulator.addons.calibration.thresholds import (
    JudgedScores,
    SuggestedThreshold,
    SuggestionMethod,
    ThresholdChange,
)
from simulator.core.document import Cell, Line, Notes, Report, Table
from simulator.core.templates import Texts
from simulator.core.types import Language
from simulator.grading.metric_file import DEFAULT

TEXTS = Texts(Path(__file__).with_name("thresholds.toml"))


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
    return _Builder(outcome).report()


class _Builder:
    """Suggested thresholds in one language."""

    def __init__(self, outcome: ThresholdsOutcome) -> None:
        self.outcome, self.say = outcome, partial(TEXTS, outcome.language)

    def report(self) -> Report:
        """Everything below one title."""
        how, say = self.outcome.how, self.say
        method = say(how.method, percent=f"{100 * (1 - how.quantile):g}", quantile=f"{how.quantile:g}")
        changes = (Line(change) for change in self._changes())
        return Report(
            title=say("title", source=self.outcome.source),
            language=self.outcome.language,
            lead=(Line(method), self._table(), Notes(tuple(self._notes())), *changes),
        )

    def _table(self) -> Table:
        """Without the columns of outputs and domains where there are none."""
        each_has = self.outcome.suggestions
        keys = ["judge", "threshold", "interval", "right", "wrong"]
        if any(each.domain for each in each_has):
            keys.insert(1, "domain")
        if any(each.output != DEFAULT for each in each_has):
            keys.insert(0, "output")
        rows = (dict(self._cells(each)) for each in each_has)
        return Table(
            name="thresholds",
            title="",
            columns=tuple(map(self.say, keys)),
            rows=tuple(tuple(Cell(text=row[key]) for key in keys) for row in rows),
            words=frozenset(at for at, key in enumerate(keys) if key in {"judge", "domain"}),
        )

    def _cells(self, each: SuggestedThreshold) -> Iterator[tuple[str, str]]:
        """Its text in every column."""
        suggestion, none = each.suggestion, self.say("none")
        threshold, interval = suggestion.threshold, suggestion.interval
        yield "output", self.say("whole") if each.output == DEFAULT else each.output
        yield "judge", each.judge
        yield "domain", each.domain or self.say("all")
        yield "threshold", none if threshold is None else f"{threshold:.4g}"
        yield "interval", none if interval is None else f"{interval[0]:.3g}–{interval[1]:.3g}"
        yield "right", self._share(suggestion.right_passing, suggestion.right)
        yield "wrong", self._share(suggestion.wrong_passing, suggestion.wrong)

    def _share(self, share: float | None, n: int) -> str:
        return self.say("none") if share is None else self.say("share", percent=f"{100 * share:.1f}", n=n)

    def _notes(self) -> Iterator[Line]:
        suggestions, evidence, say = self.outcome.suggestions, self.outcome.evidence, self.say
        wholly = {(each.judge, each.output) for each in suggestions if not each.domain and _is_noted(each)}
        for each in suggestions:
            if each.domain and (each.judge, each.output) in wholly:
                continue  # said of all of them
            if each.suggestion.threshold is None:
                yield Line(self._why_not(each), "alarm")
            elif each.suggestion.few:
                yield Line(say("few", name=each.name, n=each.suggestion.right), "alarm")
        if evidence.skipped or evidence.failed:
            yield Line(say("skipped", skipped=evidence.skipped, failed=evidence.failed))
        if evidence.unlabelled:
            yield Line(say("unlabelled", n=evidence.unlabelled))
        yield Line(say("interval_note", seed=str(self.outcome.how.seed)))

    def _why_not(self, each: SuggestedThreshold) -> str:
        if not each.suggestion.right:
            return self.say("no_right", name=each.name)
        if self.outcome.how.method == "quantile":
            return self.say("low_end", name=each.name)
        return self.say("no_cut" if each.suggestion.wrong else "no_wrong", name=each.name)

    def _changes(self) -> Iterator[str]:
        """What was written into the metric file."""
        path, changes, say = self.outcome.path, self.outcome.changes, self.say
        if path is None:
            return
        yield say("written", path=path) if changes else say("unchanged", path=path)
        for each in changes:
            before = say("none") if each.before is None else f"{each.before:g}"
            values = {"output": each.output, "judge": each.judge, "before": before}
            yield say("changed", **values, after=f"{each.after:g}")


def _is_noted(each: SuggestedThreshold) -> bool:
    return each.suggestion.threshold is None or each.suggestion.few
