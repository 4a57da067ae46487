"""Two runs side by side: whether the bot got better, how sure that is, and the conversations of both."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Literal, NamedTuple

from simulator.core.translations import Words, points, safe_text
from simulator.core.types import Conversation, Results, Turn
from simulator.report import tables
from simulator.report.comparison import ComparisonText, Sentence
from simulator.report.html_conversations import page_words, why
from simulator.stats.comparison import PairedRuns, RunComparison, RunFigures
from simulator.stats.comparison import compare_runs as changes_between
from simulator.stats.figures import RedTurn, Summary
from simulator.stats.gate import Gate

# So many pairs are shown with their turns, each text cut to so many characters; the others are counted.
SHOWN_PAIRS, SHOWN_LENGTH = 40, 600

Change = Literal["turned_red", "turned_green", "still_red", "still_green"]
_ORDER: tuple[Change, ...] = ("turned_red", "still_red", "turned_green", "still_green")


class PageParts(NamedTuple):
    """All that a page is made from."""

    results: Results
    summary: Summary
    gate: Gate


@dataclass(frozen=True, slots=True)
class SideOfTurn:
    """One turn of one run: question, answer, and what is wrong with it."""

    user: str
    answer: str
    mark: str
    why: str


@dataclass(frozen=True, slots=True)
class Pair:
    """A conversation in both runs; `anchor` is where this page has it."""

    question: str
    persona: str
    anchor: str
    change: Change
    label: str
    scores: tuple[str, str]
    reds: tuple[int, int]
    difference: str
    by: float
    turns: list[tuple[SideOfTurn | None, SideOfTurn | None]]


@dataclass(frozen=True, slots=True)
class Figures:
    """A table as the page shows it; `tones` mark rows as better or worse, in their second cell."""

    columns: list[str]
    rows: list[list[str]]
    tones: list[str]


@dataclass(frozen=True, slots=True)
class Comparison:
    """The section: verdict, figures, how many conversations changed, the pairs, and what is left out."""

    runs: tuple[str, str]
    scores: tuple[str, str]
    reds: tuple[str, str]
    headline: Sentence
    below: list[Sentence]
    judges: Figures
    parts: list[Figures]
    titles: tuple[str, str]
    fine: list[str]
    beside: list[str]
    beside_title: str
    counts: list[tuple[Change, str, int]]
    pairs: list[Pair]
    more: int
    unchanged: list[Pair]
    notes: list[Sentence]


def comparison(
    before: PageParts,
    after: PageParts,
    anchors: Mapping[str, str],
    words: Words,
    changes: RunComparison | None = None,
) -> Comparison:
    """The run `after` compared with `before`; `anchors` lead to its conversations by id."""
    text, say = ComparisonText(changes or compared(before, after), words), page_words(words)
    pairs = PairedRuns(RunFigures(*before[:2]), RunFigures(*after[:2]))
    sides = _Sides(before, after, words)
    paired = [sides.pair(pairs.earlier[k], pairs.later[k], anchors[pairs.later[k].id]) for k in pairs.both]
    changed = sorted((pair for pair in paired if _changed(pair)), key=_worst_first)
    return Comparison(
        runs=(before.results.run.id, after.results.run.id),
        scores=(points(before.summary.score), points(after.summary.score)),
        reds=(_reds(before.summary), _reds(after.summary)),
        headline=text.headline() if pairs.both else Sentence(say("compare_none")),
        below=list(text.below()) if pairs.both else [],
        judges=_judges(text) if pairs.both else Figures([], [], []),
        parts=_parts(text),
        titles=(text.say("judges"), text.say("parts")),
        fine=[text.method(), *text.colours()],
        beside=text.beside(),
        beside_title=text.say("beside_title"),
        counts=[(change, say(change), sum(pair.change == change for pair in paired)) for change in _ORDER],
        pairs=changed[:SHOWN_PAIRS],
        more=max(0, len(changed) - SHOWN_PAIRS),
        unchanged=[pair for pair in paired if not _changed(pair)],
        notes=_notes(pairs, text),
    )


def compared(before: PageParts, after: PageParts) -> RunComparison:
    """The statistics of two runs; their resampling uses the later one's seed."""
    seed = after.results.run.settings.get("seed")
    return changes_between(
        RunFigures(*before[:2]), RunFigures(*after[:2]), seed=seed if isinstance(seed, int) else 42
    )


def _judges(text: ComparisonText) -> Figures:
    """The table of judges; on a telephone only its first columns are in sight: the verdict is among them."""
    tones = {"worse": "alarm", "better": "good"}
    columns, *rows = ([name, last, *rest] for name, *rest, last in (text.columns(), *text.rows()))
    return Figures(columns, rows, [tones.get(row.verdict, "") for row in text.changes.judges])


def _parts(text: ComparisonText) -> list[Figures]:
    """The difference by persona and by tag, each only where there is more than one."""
    parts = []
    for kind in ("part_persona", "part_tag"):
        rows = text.part_rows(kind)
        if len(rows) > 1:
            parts.append(Figures(text.part_columns(kind), rows, [""] * len(rows)))
    return parts


class _Sides:
    """Pairs the conversations of two runs."""

    def __init__(self, before: PageParts, after: PageParts, words: Words) -> None:
        self._runs, self._words = (before, after), words
        self._red = [{(r.conversation, r.turn): r for r in run.summary.reddest} for run in self._runs]

    def pair(self, earlier: Conversation, later: Conversation, anchor: str) -> Pair:
        """One conversation in both runs."""
        scores = [
            run.summary.conversation_scores.get(c.id)
            for run, c in zip(self._runs, (earlier, later), strict=True)
        ]
        reds = tuple(
            sum((c.id, turn.index) in red for turn in c.turns)
            for red, c in zip(self._red, (earlier, later), strict=True)
        )
        change: Change = _change(bool(reds[0]), bool(reds[1]))
        return Pair(
            question=later.case.question,
            persona=later.case.id if self._words.rows else self._words.name("persona", later.persona),
            anchor=anchor,
            change=change,
            label=page_words(self._words)(change),
            scores=(points(scores[0]), points(scores[1])),
            reds=(reds[0], reds[1]),
            difference=_signed(scores),
            by=(scores[1] or 0.0) - (scores[0] or 0.0) if None not in scores else 0.0,
            turns=[
                (self._side(0, earlier, one), self._side(1, later, other))
                for one, other in zip_longest(earlier.turns, later.turns)
            ],
        )

    def _side(self, run: int, c: Conversation, turn: Turn | None) -> SideOfTurn | None:
        if turn is None:
            return None
        red: RedTurn | None = self._red[run].get((c.id, turn.index))
        answer = tables.answer_text(turn, red.failure if red else None, self._words)
        return SideOfTurn(
            user=_short(turn.user),
            answer=_short(answer),
            mark=tables.mark_text(red, self._words) if red else "",
            why=_short(why(red, turn, self._words)) if red else "",
        )


def _change(red_before: bool, red_now: bool) -> Change:
    if red_before == red_now:
        return "still_red" if red_now else "still_green"
    return "turned_red" if red_now else "turned_green"


def _changed(pair: Pair) -> bool:
    return pair.change.startswith("turned") or pair.reds[0] != pair.reds[1] or abs(pair.by) >= 0.005


def _worst_first(pair: Pair) -> tuple[int, float]:
    return _ORDER.index(pair.change), pair.by


def _signed(scores: Sequence[float | None]) -> str:
    before, after = scores
    if before is None or after is None:
        return "–"
    by = round(float(points(after)) - float(points(before)), 6)
    return f"{by:+g}".replace("-", "−") if by else "±0"


def _reds(summary: Summary) -> str:
    return f"{summary.red:,} / {summary.turns:,}"


def _short(text: str) -> str:
    text = safe_text(text)
    return text if len(text) <= SHOWN_LENGTH else text[:SHOWN_LENGTH].rstrip() + "…"


def _notes(pairs: PairedRuns, text: ComparisonText) -> list[Sentence]:
    """How many conversations were paired, and what makes the two runs hard to compare."""
    say = page_words(text.words)
    if not pairs.both:
        return [Sentence(say("compare_nothing"))]
    return [Sentence(say("compare_paired", n=f"{len(pairs.both):,}")), *text.cautions()]
