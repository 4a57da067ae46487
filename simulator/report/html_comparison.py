"""Two runs on the page of the later one: what changed, and the conversations of both side by side."""

from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import zip_longest
from typing import NamedTuple

from simulator.core.document import Cell, Fact, Item, Items, Line, Section, Table, Tone
from simulator.core.translations import Words, points, safe_text
from simulator.core.types import Conversation, Results, Turn
from simulator.report import tables
from simulator.report.comparison import ComparisonParts, signed
from simulator.report.html_conversations import page_words, why
from simulator.stats.comparison import PairedRuns, RunComparison, RunFigures, TurnKey
from simulator.stats.comparison import compare_runs as changes_between
from simulator.stats.figures import RedTurn, Summary
from simulator.stats.gate import Gate

# So many pairs are shown with their turns, each text cut to so many characters, and so many by a line.
SHOWN_PAIRS, SHOWN_LENGTH, SHOWN_UNCHANGED = 40, 600, 200

# Whether a conversation was red, and is: what stands before it, and how it stands out; the worst first.
Change = tuple[bool, bool]
_MARKS: dict[Change, tuple[str, Tone]] = {
    (False, True): ("▲", "alarm"),
    (True, True): ("△", "strong"),
    (True, False): ("✓", "good"),
    (False, False): ("·", "strong"),
}
_ORDER = tuple(_MARKS)


class PageParts(NamedTuple):
    """All that a page is made from."""

    results: Results
    summary: Summary
    gate: Gate


def compared(before: PageParts, after: PageParts) -> RunComparison:
    """The statistics of two runs; their resampling uses the later one's seed."""
    seed = after.results.run.settings.get("seed")
    return changes_between(
        RunFigures(*before[:2]), RunFigures(*after[:2]), seed=seed if isinstance(seed, int) else 42
    )


def comparison_sections(
    before: PageParts,
    after: PageParts,
    anchors: Mapping[str, str],
    words: Words,
    changes: RunComparison | None = None,
) -> list[Section]:
    """The run `after` compared with `before`; `anchors` lead to its conversations by id."""
    return list(_Builder(before, after, anchors, words).sections(changes))


class _Pair(NamedTuple):
    """A conversation in both runs; `reds` counts its red turns, `scores` are 0..1."""

    earlier: Conversation
    later: Conversation
    reds: tuple[int, int]
    scores: tuple[float | None, float | None]

    @property
    def change(self) -> Change:
        """Whether it was red, and is."""
        return self.reds[0] > 0, self.reds[1] > 0

    @property
    def by(self) -> float | None:
        """By how much the score changed."""
        before, after = self.scores
        return None if before is None or after is None else after - before

    @property
    def changed(self) -> bool:
        """Whether there is anything to look at."""
        return self.reds[0] != self.reds[1] or abs(self.by or 0.0) >= 0.005


class _Builder:
    """Two runs on one page."""

    def __init__(self, before: PageParts, after: PageParts, anchors: Mapping[str, str], words: Words) -> None:
        self.before, self.after, self.anchors, self.words = before, after, anchors, words
        self.say = say = page_words(words)
        texts = (say("turned_red"), say("still_red"), say("turned_green"), say("still_green"))
        self.labels = dict(zip(_ORDER, texts, strict=True))
        self.runs = PairedRuns(RunFigures(*before[:2]), RunFigures(*after[:2]))

    def sections(self, changes: RunComparison | None) -> Iterator[Section]:
        """The verdict, the figures, and the conversations, those that changed first."""
        say, runs = self.say, self.runs
        if not runs.both:
            nothing = Line(say("compare_none"), "strong"), Line(say("compare_nothing"))
            yield Section("compare", say("compare"), (*nothing, self._table()))
            return
        pairs = [self._pair(runs.earlier[key], runs.later[key]) for key in runs.both]
        parts = ComparisonParts(changes or compared(self.before, self.after), self.words)
        paired = Line(say("compare_paired", n=len(pairs)), "soft")
        counts = Line(parts.say("comma").join(self._counts(pairs)))
        yield Section("compare", say("compare"), (*parts.verdict(), self._table(), counts, paired))
        yield parts.judges()
        yield from parts.groups()
        yield from parts.beside()
        changed = sorted((pair for pair in pairs if pair.changed), key=_worst_first)
        if changed:
            more = len(changed) - SHOWN_PAIRS
            shown = tuple(map(self._shown, changed[:SHOWN_PAIRS]))
            items = Items(shown, say("compare_more", n=more) if more > 0 else "", folded=True)
            yield Section("pairs", say("compare_changed", n=len(changed)), (items,))
        unchanged = [pair for pair in pairs if not pair.changed]
        if unchanged:
            listed = Items(tuple(map(self._listed, unchanged[:SHOWN_UNCHANGED])))
            title = say("compare_unchanged", n=len(unchanged))
            yield Section("unchanged", title, (listed,), folded=True)

    def _table(self) -> Table:
        """Both runs as a whole."""
        runs = (self.before, self.after)
        rows = (
            (self.words("score"), *(points(run.summary.score) for run in runs)),
            (self.words("red_turns"), *(f"{run.summary.red:,} / {run.summary.turns:,}" for run in runs)),
            (self.words("run"), *(run.results.run.id for run in runs)),
        )
        return Table(
            name="runs",
            title="",
            columns=("", self.say("before"), self.say("after")),
            rows=tuple(tuple(Cell(text=text) for text in row) for row in rows),
        )

    def _counts(self, pairs: list[_Pair]) -> Iterator[str]:
        """How many conversations are red, and were."""
        changes = Counter(pair.change for pair in pairs)
        for change, (mark, _) in _MARKS.items():
            yield f"{mark} {self.labels[change]} {self.say('count_talks', n=changes[change])}"

    def _pair(self, earlier: Conversation, later: Conversation) -> _Pair:
        was, became = self.runs.reds
        return _Pair(
            earlier,
            later,
            reds=(
                sum((earlier.id, turn.index) in was for turn in earlier.turns),
                sum((later.id, turn.index) in became for turn in later.turns),
            ),
            scores=(
                self.before.summary.conversation_scores.get(earlier.id),
                self.after.summary.conversation_scores.get(later.id),
            ),
        )

    def _shown(self, pair: _Pair) -> Item:
        """A pair with its turns."""
        before, after = map(points, pair.scores)
        about = (self.labels[pair.change], f"{before} → {after} ({signed(pair.by)})", self._who(pair))
        mark, tone = _MARKS[pair.change]
        was, became = self.runs.reds
        turns = zip_longest(pair.earlier.turns, pair.later.turns)
        return Item(
            f"{' · '.join(about)} · {pair.later.case.question}",
            tone=tone,
            marker=mark,
            sides=tuple(
                (
                    self._side(self.say("before"), at, pair.earlier, one, was),
                    self._side(self.say("after"), at, pair.later, other, became),
                )
                for at, (one, other) in enumerate(turns, 1)
            ),
            link=(f"{self.words('read_on')} →", f"#{self.anchors[pair.later.id]}"),
        )

    def _listed(self, pair: _Pair) -> Item:
        """A pair of which nothing changed."""
        about = (self.labels[pair.change], points(pair.scores[1]), self._who(pair))
        return Item(" · ".join(about), link=(pair.later.case.question, f"#{self.anchors[pair.later.id]}"))

    def _who(self, pair: _Pair) -> str:
        return pair.later.case.id if self.words.rows else self.words.name("persona", pair.later.persona)

    def _side(
        self,
        run: str,
        at: int,
        conversation: Conversation,
        turn: Turn | None,
        reds: Mapping[TurnKey, RedTurn],
    ) -> Fact:
        """One turn of one run: what was asked, the answer, and what is wrong with it."""
        name = f"{run} · {self.say('turn_of', n=at)}"
        if turn is None:
            return Fact(name, self.say("no_turn"))
        red = reds.get((conversation.id, turn.index))
        answer = tables.answer_text(turn, red.failure if red else None, self.words)
        text = f"{self.words('user')}: {_short(turn.user)}\n\n{_short(answer)}"
        if red is None:
            return Fact(name, text)
        return Fact(
            name, text, (f"{tables.mark_text(red, self.words)}: {_short(why(red, turn, self.words))}",)
        )


def _worst_first(pair: _Pair) -> tuple[int, float]:
    return _ORDER.index(pair.change), pair.by or 0.0


def _short(text: str) -> str:
    text = safe_text(text)
    return text if len(text) <= SHOWN_LENGTH else text[:SHOWN_LENGTH].rstrip() + "…"
