"""A matrix read back from its runs: figures of every cell, and which cell of a data set is best."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import NamedTuple

import numpy as np

from simulator.core.settings import Settings, from_run
from simulator.core.types import Language, Results, Usage
from simulator.matrix.against import Against, Floats, Graded, against_best
from simulator.matrix.figures import CellFigures, Compared, DataFigures, JudgeFigures, Labels
from simulator.matrix.labelled import Read, f1_against_best, read_of
from simulator.matrix.record import Held, Record, State, run_of, state_of
from simulator.models.pricing import Prices
from simulator.stats.classification import Classification, classifications, is_label
from simulator.stats.figures import Summary
from simulator.stats.outcome import figures_of, gate_of
from simulator.storage.results import counted
from simulator.storage.run_file import NAME as RUN_FILE
from simulator.storage.run_file import read_run

# Its model is one of the run's own roles: what its answers cost stands in the run already.
_OWN_BOT = "demo"


class _Read(NamedTuple):
    """A cell as read: its figures, what each judge gave each row, its labels, and its rows by language."""

    figures: CellFigures
    graded: Mapping[str, Graded]
    labels: Read | None = None
    primary: str = ""
    languages: Mapping[str, int] = {}


class _Rows:
    """The rows of one data set: each has one place in the arrays of all its cells."""

    def __init__(self) -> None:
        self._places: dict[str, int] = {}

    def place(self, case: str) -> int:
        """Where a row stands."""
        return self._places.setdefault(case, len(self._places))

    def filled(self, sums: Mapping[int, tuple[float, int]]) -> Floats:
        """The mean of each row, NaN where it has none."""
        values = np.full(len(self._places), np.nan)
        for at, (total, n) in sums.items():
            values[at] = total / n
        return values

    def padded(self, values: Floats) -> Floats:
        """As long as there are rows by now."""
        return np.append(values, np.full(len(self._places) - len(values), np.nan))


def compared(record: Record, runs: Path) -> Compared:
    """Everything the runs of a matrix say, as far as they have come. One data set is held at a time."""
    names = list(dict.fromkeys(held.cell.data for held in record.cells))
    languages: Counter[str] = Counter()
    data = [
        _data(name, [held for held in record.cells if held.cell.data == name], runs, languages)
        for name in names
    ]
    asked = record.settings.get("language")
    language: Language = "en" if asked == "en" or languages["en"] > languages["ja"] else "ja"
    return Compared(
        id=record.id,
        title=record.title,
        chain=record.chain,
        created=record.created,
        language=language,
        data=tuple(data),
    )


def _data(name: str, cells: Iterable[Held], runs: Path, languages: Counter[str]) -> DataFigures:
    rows = _Rows()
    read = [_cell(held, runs, rows) for held in cells]
    for each in read:
        languages.update(each.languages)
    judges = tuple(dict.fromkeys(judge for each in read for judge in each.figures.judges))
    whole = [each for each in read if each.figures.state == "finished"]
    by_f1 = any(each.labels for each in read)
    # Where F1 decides, the share of right labels is shown, and nothing is held against it.
    verdicts = {judge: _against(judge, whole, rows) for judge in judges if not (by_f1 and is_label(judge))}
    primary = next((each.primary for each in read if each.primary), "")
    labels = {each.figures.cell.key: each.labels for each in whole if each.labels}
    deciding = f1_against_best(labels) if by_f1 else verdicts.get(primary, {})
    figures = [_with_verdicts(each.figures, verdicts, deciding) for each in read]
    return DataFigures(
        name=name,
        judges=judges,
        primary=primary,
        cells=tuple(sorted(figures, key=_f1) if by_f1 else figures),
        by_f1=by_f1,
    )


def _f1(cell: CellFigures) -> float:
    return -cell.labels.f1 if cell.labels else 1.0


def _against(judge: str, cells: Iterable[_Read], rows: _Rows) -> dict[str, Against]:
    graded = {each.figures.cell.key: each.graded[judge] for each in cells if judge in each.graded}
    return against_best({key: each._replace(values=rows.padded(each.values)) for key, each in graded.items()})


def _with_verdicts(
    cell: CellFigures, verdicts: Mapping[str, Mapping[str, Against]], deciding: Mapping[str, Against]
) -> CellFigures:
    key = cell.cell.key
    judges = {
        name: judge.model_copy(update={"against": verdicts.get(name, {}).get(key)})
        for name, judge in cell.judges.items()
    }
    return cell.model_copy(update={"judges": judges, "against": deciding.get(key)})


def _cell(held: Held, runs: Path, rows: _Rows) -> _Read:
    path = runs / held.run / RUN_FILE
    run = run_of(path) if held.run else None
    state = state_of(held, run)
    if run is None:
        return _Read(CellFigures(cell=held.cell, state=state, error=held.error), {})
    results = counted(read_run(path))
    settings = from_run(run.settings)
    summary = figures_of(results, settings)
    told = classifications(results)
    figures = _figures(held, state, results, summary, settings)
    figures = figures.model_copy(update={"labels": _labels(told)})
    places = {talk.id: rows.place(talk.case.id) for talk in results.conversations}
    labels = read_of(results, told[0], places) if told else None
    languages = Counter[str](talk.case.language for talk in results.conversations)
    return _Read(figures, _graded(results, summary, places, rows), labels, summary.primary, languages)


def _figures(held: Held, state: State, results: Results, summary: Summary, settings: Settings) -> CellFigures:
    gate = gate_of(results, summary, settings)
    used, seconds = _used(results)
    return CellFigures(
        cell=held.cell,
        state=state,
        run=held.run,
        error=held.error,
        rows=summary.planned,
        silent=sum(summary.bot_failures.values()),
        not_extracted=_not_extracted(results),
        judges={
            name: JudgeFigures(mean=j.mean, stderr=j.stderr, n=j.n, planned=j.planned, failed=j.failed)
            for name, j in summary.judges.items()
        },
        passed=gate.passed,
        incomplete=gate.incomplete,
        graded_usd=summary.cost_usd,
        answers_usd=None if settings.adapter == _OWN_BOT else _priced(used.values(), Prices.of(settings)),
        tokens_in=sum(each.tokens_in for each in used.values()),
        tokens_out=sum(each.tokens_out for each in used.values()),
        answer_seconds=median(seconds) if seconds else None,
        seconds=summary.seconds,
        offline=summary.offline,
    )


def _labels(found: Sequence[Classification]) -> Labels | None:
    """How labels were told apart; of the first judge of labels where there are several."""
    names = ("accuracy", "accuracy_stderr", "f1", "f1_stderr")
    return Labels(**{name: getattr(found[0], name) for name in names}) if found else None


def _used(results: Results) -> tuple[dict[str, Usage], list[float]]:
    """The tokens of all answers by model, and how long each answer took; a large run is not held for it."""
    used: dict[str, Usage] = {}
    seconds = []
    for talk in results.conversations:
        for answer in (turn.answer for turn in talk.turns):
            for told in answer.usages:
                before = used.get(told.model, Usage(model=told.model))
                tokens = {"tokens_in": before.tokens_in + told.tokens_in}
                tokens["tokens_out"] = before.tokens_out + told.tokens_out
                used[told.model] = before.model_copy(update=tokens)
            if answer.seconds is not None and not answer.error:
                seconds.append(answer.seconds)
    return used, seconds


def _priced(used: Iterable[Usage], prices: Prices) -> float | None:
    """Dollars of the answers' tokens; None where none were told, or a price is unknown."""
    costs = [prices.cost_usd(each) for each in used]
    return None if not costs or None in costs else sum(cost for cost in costs if cost is not None)


def _not_extracted(results: Results) -> int:
    """The answers from which a judge could not read what it looks for."""
    return len({(s.conversation, s.turn) for s in results.scores if s.detail.get("not_extracted")})


def _graded(results: Results, summary: Summary, places: Mapping[str, int], rows: _Rows) -> dict[str, Graded]:
    """What each judge gave each row: the mean over its repeats."""
    sums: dict[str, dict[int, tuple[float, int]]] = {}
    for score in results.scores:
        if score.state == "scored" and score.value is not None and score.conversation in places:
            of_judge = sums.setdefault(score.judge, {})
            total, n = of_judge.get(places[score.conversation], (0.0, 0))
            of_judge[places[score.conversation]] = total + score.value, n + 1
    return {
        judge: Graded(rows.filled(found), summary.judges[judge].rubrics)
        for judge, found in sums.items()
        if judge in summary.judges
    }
