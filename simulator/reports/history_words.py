"""What is said of how runs developed, as sentences and rows that terminal and page share."""

from collections.abc import Iterator

from simulator.core.document import local
from simulator.core.translations import points
from simulator.core.types import Language
from simulator.reports.change_words import TEXTS, Said, ends, signed
from simulator.stats.history import FEWEST, Fall, History, PastRun

COLUMNS = ("date", "score", "interval", "red", "graded", "model", "bot", "note", "run")
_BARS = "▁▂▃▄▅▆▇█"
_LEAST_SPAN = 0.07


class Told:
    """The history of some runs in one language."""

    def __init__(self, history: History, language: Language) -> None:
        self.history, self.language = history, language
        self._followed = frozenset(history.followed)

    def say(self, key: str, /, **values: object) -> str:
        """A text of changes.toml."""
        shown = {name: f"{v:,}" if isinstance(v, int) else str(v) for name, v in values.items()}
        return TEXTS(self.language, key, **shown)

    def sentences(self) -> Iterator[Said]:
        """The trend, falls, and what could not be read."""
        history = self.history
        if history.runs:
            yield self._trend()
        for key, fall in (("dropped", history.dropped), ("eroded", history.eroded)):
            if fall:
                yield from self._fall(key, fall)
        if history.runs and len(history.followed) < len(history.runs):
            yield Said(self.say("of_them", n=len(history.followed)))
        if history.unread:
            names = self.say("comma").join(history.unread[:5])
            yield Said(self.say("unread", n=len(history.unread), names=names), "alarm")

    def _trend(self) -> Said:
        found = self.history.trend
        if found is None:
            return Said(self.say("trend_few", needed=FEWEST, n=len(self.history.followed)))
        key, tone = {"falling": ("decline", "alarm"), "rising": ("rise", "good")}.get(
            self.history.direction, ("steady", "")
        )
        return Said(self.say(f"trend_{key}", slope=signed(found.slope), **ends(found.interval)), tone)

    def _fall(self, key: str, fall: Fall) -> Iterator[Said]:
        by = points(fall.by)
        if key == "dropped":
            yield Said(self.say(key, run=fall.later, by=by), "alarm")
        else:
            yield Said(self.say(key, run=fall.earlier, best=points(fall.best), by=by), "alarm")
        yield Said(self.say("compare", before=fall.earlier, after=fall.later))

    def columns(self) -> list[str]:
        """The titles of the table."""
        return [self.say(key) for key in COLUMNS]

    def rows(self) -> list[list[str]]:
        """The runs, the newest first."""
        return [self._row(run) for run in reversed(self.history.runs)]

    def _row(self, run: PastRun) -> list[str]:
        interval = "–".join(map(points, run.interval)) if run.interval else "–"
        score = "–" if run.score is None else f"{100 * run.score:.1f}"
        figures = [score, interval, f"{run.red:,}/{run.turns:,}", f"{run.graded:,}"]
        return [date(run), *figures, run.model, run.adapter, self._note(run), run.run]

    def _note(self, run: PastRun) -> str:
        notes = [
            ("note_replay", run.replay_of),
            ("note_other", run.run not in self._followed),
            ("note_offline", run.offline),
            ("note_unfinished", run.status != "finished"),
            ("note_stopped", run.stopped_early),
        ]
        return self.say("comma").join(self.say(key) for key, holds in notes if holds)

    def sparkline(self) -> str:
        """The scores of the comparable runs as a row of bars; a step of one bar is at least a point."""
        scores = [run.score for run in self.followed() if run.score is not None]
        if len(scores) < 2:
            return ""
        # Between the lowest and the highest score, but not so near that nothing looks like a cliff.
        span = max(max(scores) - min(scores), _LEAST_SPAN)
        low = (max(scores) + min(scores) - span) / 2
        steps = [round((score - low) / span * (len(_BARS) - 1)) for score in scores]
        bars = "".join(_BARS[step] for step in steps)
        return f"{points(scores[0])} {bars} {points(scores[-1])}"

    def followed(self) -> list[PastRun]:
        """The comparable runs, oldest first."""
        return [run for run in self.history.runs if run.run in self._followed]


def date(run: PastRun) -> str:
    """When a run began, in the reader's own time zone."""
    return f"{local(run.created):%Y/%m/%d %H:%M}"
