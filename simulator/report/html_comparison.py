"""Two runs side by side: did it get better, how sure that is, and what was said in both."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Literal, NamedTuple

from simulator.core.translations import Words, plain, points
from simulator.core.types import Conversation, Results, Turn
from simulator.report import tables
from simulator.report.comparison import ComparisonText, Said
from simulator.report.html_conversations import page_words, why
from simulator.stats.comparison import Changes, Pairs, Side, changes
from simulator.stats.figures import RedTurn, Summary
from simulator.stats.gate import Gate

# As many pairs are shown with what was said; the others are counted.
SHOWN_PAIRS = 40
SHOWN_LENGTH = 600

Change = Literal["turned_red", "turned_green", "still_red", "still_green"]
_ORDER: tuple[Change, ...] = ("turned_red", "still_red", "turned_green", "still_green")


class PageParts(NamedTuple):
    """All that a page is made from."""

    results: Results
    summary: Summary
    gate: Gate


@dataclass(frozen=True, slots=True)
class SideOfTurn:
    """One turn of one run: what was asked, answered, and what is wrong with it."""

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
    """What the section shows: verdict, figures, how many changed, the pairs, what is left out."""

    runs: tuple[str, str]
    scores: tuple[str, str]
    reds: tuple[str, str]
    headline: Said
    below: list[Said]
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
    notes: list[Said]


def comparison(
    before: PageParts,
    after: PageParts,
    anchors: Mapping[str, str],
    words: Words,
    known: Changes | None = None,
) -> Comparison:
    """The run `after` held against `before`; `anchors` lead to its conversations by id."""
    told = known or compared(before, after)
    telling, say = ComparisonText(told, words), page_words(words)
    pairs = Pairs(Side(*before[:2]), Side(*after[:2]))
    sides = _Sides(before, after, words)
    found = [sides.pair(pairs.earlier[k], pairs.later[k], anchors[pairs.later[k].id]) for k in pairs.both]
    changed = sorted((pair for pair in found if _changed(pair)), key=_worst_first)
    return Comparison(
        runs=(before.results.run.id, after.results.run.id),
        scores=(points(before.summary.score), points(after.summary.score)),
        reds=(_reds(before.summary), _reds(after.summary)),
        headline=telling.headline() if pairs.both else Said(say("compare_none")),
        below=list(telling.below()) if pairs.both else [],
        judges=_judges(telling) if pairs.both else Figures([], [], []),
        parts=_parts(telling),
        titles=(telling.say("judges"), telling.say("parts")),
        fine=[telling.method(), *telling.colours()],
        beside=telling.beside(),
        beside_title=telling.say("beside_title"),
        counts=[(change, say(change), sum(p.change == change for p in found)) for change in _ORDER],
        pairs=changed[:SHOWN_PAIRS],
        more=max(0, len(changed) - SHOWN_PAIRS),
        unchanged=[pair for pair in found if not _changed(pair)],
        notes=_notes(pairs, telling),
    )


def compared(before: PageParts, after: PageParts) -> Changes:
    """The statistics of two runs, drawn with the later one's seed."""
    seed = after.results.run.settings.get("seed")
    return changes(Side(*before[:2]), Side(*after[:2]), seed=seed if isinstance(seed, int) else 42)


def _judges(telling: ComparisonText) -> Figures:
    """The table of judges; on a telephone only its first columns are in sight: the verdict is among them."""
    tones = {"worse": "alarm", "better": "good"}
    columns, *rows = ([name, last, *rest] for name, *rest, last in (telling.columns(), *telling.rows()))
    return Figures(columns, rows, [tones.get(row.verdict, "") for row in telling.changes.judges])


def _parts(telling: ComparisonText) -> list[Figures]:
    """The difference by persona and by tag, each only where there is more than one."""
    found = []
    for kind in ("part_persona", "part_tag"):
        rows = telling.part_rows(kind)
        if len(rows) > 1:
            found.append(Figures(telling.part_columns(kind), rows, [""] * len(rows)))
    return found


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


def _change(was: bool, is_: bool) -> Change:
    if was == is_:
        return "still_red" if is_ else "still_green"
    return "turned_red" if is_ else "turned_green"


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
    text = plain(text)
    return text if len(text) <= SHOWN_LENGTH else text[:SHOWN_LENGTH].rstrip() + "…"


def _notes(pairs: Pairs, telling: ComparisonText) -> list[Said]:
    """What was paired, and what makes the two hard to compare."""
    say = page_words(telling.words)
    if not pairs.both:
        return [Said(say("compare_nothing"))]
    return [Said(say("compare_paired", n=f"{len(pairs.both):,}")), *telling.cautions()]
