"""Two runs side by side: the same questions by the same customers, which turned red or green, by how much."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Literal, NamedTuple

from simulator.analysis.figures import RedTurn, Summary
from simulator.analysis.gate import Gate
from simulator.reports import table
from simulator.reports.html_talks import PAGE, why
from simulator.reports.notes import points
from simulator.reports.words import Words, plain
from simulator.types import Conversation, Language, Results, Turn

# As many pairs are shown with what was said; the others are counted.
SHOWN_PAIRS = 40
SHOWN_LENGTH = 600

Change = Literal["turned_red", "turned_green", "still_red", "still_green"]
_ORDER: tuple[Change, ...] = ("turned_red", "still_red", "turned_green", "still_green")


class Painted(NamedTuple):
    """All that a page is made from."""

    results: Results
    summary: Summary
    gate: Gate


@dataclass(frozen=True, slots=True)
class Side:
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
    turns: list[tuple[Side | None, Side | None]]


@dataclass(frozen=True, slots=True)
class Comparison:
    """What the section shows: scores in words, how many changed, the pairs, and what is left out."""

    runs: tuple[str, str]
    scores: tuple[str, str]
    reds: tuple[str, str]
    verdict: str
    counts: list[tuple[Change, str, int]]
    pairs: list[Pair]
    more: int
    unchanged: list[Pair]
    notes: list[str]


def comparison(before: Painted, after: Painted, anchors: Mapping[str, str], words: Words) -> Comparison:
    """The run `after` held against `before`; `anchors` lead to its conversations by id."""
    earlier, later = _held(before.results), _held(after.results)
    both = [key for key in later if key in earlier]
    sides = _Sides(before, after, words)
    found = [sides.pair(earlier[key], later[key], anchors[later[key].id]) for key in both]
    changed = sorted((pair for pair in found if _changed(pair)), key=_worst_first)
    unchanged = [pair for pair in found if not _changed(pair)]
    return Comparison(
        runs=(before.results.run.id, after.results.run.id),
        scores=(points(before.summary.score), points(after.summary.score)),
        reds=(_reds(before.summary), _reds(after.summary)),
        verdict=difference(before.summary.score, after.summary.score, words.language),
        counts=[
            (change, PAGE(words.language, change), sum(p.change == change for p in found))
            for change in _ORDER
        ],
        pairs=changed[:SHOWN_PAIRS],
        more=max(0, len(changed) - SHOWN_PAIRS),
        unchanged=unchanged,
        notes=_notes(before, after, earlier, later, words),
    )


def difference(before: float | None, after: float | None, language: Language) -> str:
    """'12 点上がりました', of the scores as they are shown."""
    if before is None or after is None:
        return PAGE(language, "compare_none")
    by = round(float(points(after)) - float(points(before)), 6)
    if not by:
        return PAGE(language, "compare_same")
    return PAGE(language, "compare_up" if by > 0 else "compare_down", n=f"{abs(by):g}")


_Key = tuple[str, str, int]


def _held(results: Results) -> dict[_Key, Conversation]:
    """The conversations that were held, by question, customer and repetition."""
    return {(c.case.id, c.persona, c.repeat): c for c in results.conversations if c.turns or c.ended}


class _Sides:
    """Pairs the conversations of two runs."""

    def __init__(self, before: Painted, after: Painted, words: Words) -> None:
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
            persona=self._words.name("persona", later.persona),
            anchor=anchor,
            change=change,
            label=PAGE(self._words.language, change),
            scores=(points(scores[0]), points(scores[1])),
            reds=(reds[0], reds[1]),
            difference=_signed(scores),
            by=(scores[1] or 0.0) - (scores[0] or 0.0) if None not in scores else 0.0,
            turns=[
                (self._side(0, earlier, one), self._side(1, later, other))
                for one, other in zip_longest(earlier.turns, later.turns)
            ],
        )

    def _side(self, run: int, c: Conversation, turn: Turn | None) -> Side | None:
        if turn is None:
            return None
        red: RedTurn | None = self._red[run].get((c.id, turn.index))
        answer = table.answer_text(turn, red.failure if red else None, self._words)
        return Side(
            user=_short(turn.user),
            answer=_short(answer),
            mark=table.mark_text(red, self._words) if red else "",
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


def _notes(
    before: Painted,
    after: Painted,
    earlier: Mapping[_Key, Conversation],
    later: Mapping[_Key, Conversation],
    words: Words,
) -> list[str]:
    """What was paired, what was not, and what makes the two hard to compare."""
    language = words.language
    both = earlier.keys() & later.keys()
    if not both:
        return [PAGE(language, "compare_nothing")]
    found = [PAGE(language, "compare_paired", n=f"{len(both):,}")]
    if len(earlier) > len(both) or len(later) > len(both):
        only = {"before": f"{len(earlier) - len(both):,}", "after": f"{len(later) - len(both):,}"}
        found.append(PAGE(language, "compare_only", **only))
    others = _other_rubrics(before.summary, after.summary)
    if others:
        names = words("comma").join(words.name("judge", name) for name in others)
        found.append(PAGE(language, "compare_rubric", judges=names))
    reworded = sum(earlier[key].case.question != later[key].case.question for key in both)
    if reworded:
        found.append(PAGE(language, "compare_question", n=f"{reworded:,}"))
    return [*found, PAGE(language, "compare_untested")]


def _other_rubrics(before: Summary, after: Summary) -> list[str]:
    """The judges whose prompt, form or model is not the same in both runs."""
    return [
        name
        for name, judge in after.judges.items()
        if name in before.judges
        and judge.rubrics
        and before.judges[name].rubrics
        and set(judge.rubrics) != set(before.judges[name].rubrics)
    ]
