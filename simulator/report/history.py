"""How runs developed, as a report: the trend, falls, and the runs."""

from collections.abc import Iterator

from simulator.core.document import (
    Block,
    Cell,
    Chart,
    Line,
    Notes,
    Report,
    Section,
    Series,
    Table,
    local_time,
)
from simulator.core.translations import points
from simulator.core.types import Language
from simulator.report.comparison import TEXTS, ends, signed
from simulator.stats.history import MIN_RUNS, Fall, History, PastRun

_COLUMNS = ("date", "score", "interval", "red", "graded", "model", "bot", "note", "run")
_WORDS = frozenset(map(_COLUMNS.index, ("model", "bot", "note", "run")))
_SPARED = frozenset(map(_COLUMNS.index, ("interval", "graded", "model", "bot")))
_MARKS = (0, 0.25, 0.5, 0.75, 1)


def history_report(history: History, language: Language, page: str = "") -> Report:
    """The development of these runs; `page` is where it is written as a page."""
    return _Builder(history, language).report(page)


class _Builder:
    """The history of some runs in one language."""

    def __init__(self, history: History, language: Language) -> None:
        self.history, self.language = history, language
        self._comparable = [run for run in history.runs if run.run in set(history.followed)]

    def say(self, key: str, /, **values: object) -> str:
        """A text of changes.toml."""
        return TEXTS(self.language, key, **values)

    def report(self, page: str) -> Report:
        """The trend first, then the runs, the newest first."""
        runs = self.history.runs
        title = self.say("history", n=len(runs))
        blocks: list[Block] = [self._table()] if runs else [Line(self.say("history_none"))]
        if page:
            blocks.append(Line(self.say("history_page", path=page)))
        return Report(
            title=self.say("history_title"),
            language=self.language,
            lead=(Notes(tuple(self._notes())), *([self._chart()] if len(self._comparable) > 1 else [])),
            sections=(Section("runs", title, tuple(blocks)),),
        )

    def _notes(self) -> Iterator[Line]:
        """The trend, falls, and what could not be read."""
        history = self.history
        if history.runs:
            yield self._trend()
        for key, fall in (("dropped", history.dropped), ("eroded", history.eroded)):
            if fall:
                yield from self._fall(key, fall)
        if history.runs and len(history.followed) < len(history.runs):
            yield Line(self.say("of_them", n=len(history.followed)))
        if history.unread:
            names = self.say("comma").join(history.unread[:5])
            yield Line(self.say("unread", n=len(history.unread), names=names), "alarm")

    def _trend(self) -> Line:
        trend = self.history.trend
        if trend is None:
            return Line(self.say("trend_few", needed=MIN_RUNS, n=len(self.history.followed)))
        slope = {"slope": signed(trend.slope), **ends(trend.interval)}
        if self.history.direction == "falling":
            return Line(self.say("trend_decline", **slope), "alarm")
        if self.history.direction == "rising":
            return Line(self.say("trend_rise", **slope), "good")
        return Line(self.say("trend_steady", **slope))

    def _fall(self, key: str, fall: Fall) -> Iterator[Line]:
        by = points(fall.by)
        if key == "dropped":
            yield Line(self.say(key, run=fall.later, by=by), "alarm")
        else:
            yield Line(self.say(key, run=fall.earlier, best=points(fall.best), by=by), "alarm")
        yield Line(self.say("compare", before=fall.earlier, after=fall.later))

    def _chart(self) -> Chart:
        """The scores of the comparable runs, oldest first."""
        runs = self._comparable
        dates, texts = tuple(map(_date, runs)), tuple(points(run.score) for run in runs)
        scores = [
            self.say("chart_point", date=date, score=text) for date, text in zip(dates, texts, strict=True)
        ]
        intervals = [run.interval or (None, None) for run in runs]
        return Chart(
            kind="lines",
            title=self.say("history_title"),
            description=self.say("chart_told", told=self.say("comma").join(scores)),
            labels=dates,
            series=(
                Series(
                    name="",
                    values=tuple(run.score for run in runs),
                    texts=texts,
                    low=tuple(low for low, _ in intervals),
                    high=tuple(high for _, high in intervals),
                ),
            ),
            marks=tuple((mark, points(mark)) for mark in _MARKS),
        )

    def _table(self) -> Table:
        return Table(
            name="runs",
            title="",
            columns=tuple(map(self.say, _COLUMNS)),
            rows=tuple(map(self._row, reversed(self.history.runs))),
            words=_WORDS,
            spared=_SPARED,
        )

    def _row(self, run: PastRun) -> tuple[Cell, ...]:
        interval = "–".join(map(points, run.interval)) if run.interval else "–"
        score = "–" if run.score is None else f"{100 * run.score:.1f}"
        figures = [score, interval, f"{run.red:,}/{run.turns:,}", f"{run.graded:,}"]
        texts = (_date(run), *figures, run.model, run.adapter, self._note(run), run.run)
        return tuple(Cell(text=text) for text in texts)

    def _note(self, run: PastRun) -> str:
        notes = [
            ("note_replay", run.replay_of),
            ("note_other", run.run not in self.history.followed),
            ("note_offline", run.offline),
            ("note_unfinished", run.status != "finished"),
            ("note_stopped", run.stopped_early),
        ]
        return self.say("comma").join(self.say(key) for key, holds in notes if holds)


def _date(run: PastRun) -> str:
    """When a run began, in the reader's own time zone."""
    return f"{local_time(run.created):%Y/%m/%d %H:%M}"
