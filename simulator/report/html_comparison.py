"""Two runs on the page of the later one: what changed, and the conversations of both side by side."""

from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import zip_longest
from typing import NamedTuple

from simulator.core.document import Fact, Item, Items, Line, Section, Table, Text, Tone, points
from simulator.core.messages import Message, _, ngettext, safe_text
from simulator.core.messages import changed as with_changes
from simulator.core.types import Conversation, Language, Results, Turn
from simulator.report import tables
from simulator.report.comparison import ComparisonParts, signed
from simulator.report.html_conversations import why
from simulator.stats.comparison import PairedRuns, RunComparison, RunFigures, TurnKey
from simulator.stats.comparison import compare_runs as changes_between
from simulator.stats.figures import RedTurn, Summary
from simulator.stats.gate import Gate

# So many pairs are shown with their turns, each text cut to so many characters, and so many by a line.
SHOWN_PAIRS, SHOWN_LENGTH, SHOWN_UNCHANGED = 40, 600, 200

# Whether a conversation was red, and is: what stands before it, how it stands out, and what it is called;
# the worst first.
Change = tuple[bool, bool]
_CHANGES: dict[Change, tuple[str, Tone, Message]] = {
    (False, True): ("▲", "alarm", _("turned red")),
    (True, True): ("△", "strong", _("still red")),
    (True, False): ("✓", "good", _("no longer red")),
    (False, False): ("·", "strong", _("still not red")),
}
_ORDER = tuple(_CHANGES)


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
    language: Language,
    changes: RunComparison | None = None,
) -> list[Section]:
    """The run `after` compared with `before`; `anchors` lead to its conversations by id."""
    return list(_Builder(before, after, anchors, language).sections(changes))


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

    def __init__(
        self, before: PageParts, after: PageParts, anchors: Mapping[str, str], language: Language
    ) -> None:
        self.before, self.after, self.anchors, self.language = before, after, anchors, language
        self.titles = after.summary.titles(language)
        self.runs = PairedRuns(RunFigures(*before[:2]), RunFigures(*after[:2]))

    def sections(self, changes: RunComparison | None) -> Iterator[Section]:
        """The verdict, the figures, and the conversations, those that changed first."""
        runs = self.runs
        if not runs.both:
            nothing = Line(_("nothing to compare"), "strong")
            why = Line(_("The two runs have no question and customer in common."))
            yield Section("compare", _("What changed"), (nothing, why, self._table()))
            return
        pairs = [self._pair(runs.earlier[key], runs.later[key]) for key in runs.both]
        changes = changes or compared(self.before, self.after)
        parts = ComparisonParts(changes, self.after.summary, self.language)
        paired = Line(_("Pairs of the same question and customer: {n}.", n=len(pairs)), "soft")
        counts = Line(_("{parts}", parts=tuple(_counts(pairs))))
        yield Section("compare", _("What changed"), (*parts.verdict(), self._table(), counts, paired))
        yield parts.judges()
        yield from parts.groups()
        yield from parts.beside()
        changed = sorted(
            (pair for pair in pairs if pair.changed),
            key=lambda pair: (_ORDER.index(pair.change), pair.by or 0.0),
        )
        if changed:
            more = len(changed) - SHOWN_PAIRS
            left = _("Further pairs that changed: {n}.", n=more) if more > 0 else ""
            items = Items(tuple(map(self._shown, changed[:SHOWN_PAIRS])), left, folded=True)
            yield Section("pairs", _("Pairs that changed: {n}", n=len(changed)), (items,))
        unchanged = [pair for pair in pairs if not pair.changed]
        if unchanged:
            listed = Items(tuple(map(self._listed, unchanged[:SHOWN_UNCHANGED])))
            yield Section("unchanged", _("Unchanged pairs: {n}", n=len(unchanged)), (listed,), folded=True)

    def _table(self) -> Table:
        """Both runs as a whole."""
        before, after = self.before.summary, self.after.summary
        rows: tuple[tuple[Text, ...], ...] = (
            (_("Score"), points(before.score), points(after.score)),
            (_("Red turns"), *(f"{each.red:,} / {each.turns:,}" for each in (before, after))),
            (_("Run"), self.before.results.run.id, self.after.results.run.id),
        )
        return Table.of("runs", ("", _("Before"), _("Now")), rows)

    def _pair(self, earlier: Conversation, later: Conversation) -> _Pair:
        both = ((earlier, self.runs.reds[0], self.before), (later, self.runs.reds[1], self.after))
        was, became = (sum((talk.id, turn.index) in red for turn in talk.turns) for talk, red, _run in both)
        before, after = (run.summary.conversation_scores.get(talk.id) for talk, _red, run in both)
        return _Pair(earlier, later, (was, became), (before, after))

    def _shown(self, pair: _Pair) -> Item:
        """A pair with its turns."""
        before, after = map(points, pair.scores)
        mark, tone, change = _CHANGES[pair.change]
        was, became = self.runs.reds
        turns = zip_longest(pair.earlier.turns, pair.later.turns)
        return Item(
            _(
                "{change} · {before} → {after} ({by}) · {who} · {question}",
                change=change,
                before=before,
                after=after,
                by=signed(pair.by),
                who=self._who(pair),
                question=pair.later.case.question,
            ),
            tone=tone,
            marker=mark,
            sides=tuple(
                (
                    self._side(_("Before"), at, pair.earlier, one, was),
                    self._side(_("Now"), at, pair.later, other, became),
                )
                for at, (one, other) in enumerate(turns, 1)
            ),
            link=(_("Read it →"), f"#{self.anchors[pair.later.id]}"),
        )

    def _listed(self, pair: _Pair) -> Item:
        """A pair of which nothing changed."""
        _mark, _tone, change = _CHANGES[pair.change]
        score, who = points(pair.scores[1]), self._who(pair)
        text = _("{change} · {score} · {who}", change=change, score=score, who=who)
        return Item(text, link=(pair.later.case.question, f"#{self.anchors[pair.later.id]}"))

    def _who(self, pair: _Pair) -> Text:
        later = pair.later
        return later.case.id if self.after.summary.rows else self.titles("persona", later.persona)

    def _side(
        self,
        run: Message,
        at: int,
        conversation: Conversation,
        turn: Turn | None,
        reds: Mapping[TurnKey, RedTurn],
    ) -> Fact:
        """One turn of one run: what was asked, the answer, and what is wrong with it."""
        name = _("{run} · Turn {n}", run=run, n=at)
        if turn is None:
            return Fact(name, _("(no such turn)"))
        red = reds.get((conversation.id, turn.index))
        answer = tables.answer_text(turn, red.failure if red else None)
        text = _("Customer: {line}\n\n{answer}", line=_short(turn.user), answer=with_changes(answer, _short))
        if red is None:
            return Fact(name, text)
        reason = with_changes(why(red, turn), _short)
        return Fact(name, text, (_("{mark}: {why}", mark=tables.mark_text(red), why=reason),))


def _counts(pairs: list[_Pair]) -> Iterator[Message]:
    """How many conversations are red, and were."""
    counts = Counter(pair.change for pair in pairs)
    for change, (mark, _tone, text) in _CHANGES.items():
        n = ngettext("{n} conv.", "{n} conv.", n=counts[change])
        yield _("{mark} {change} {conversations}", mark=mark, change=text, conversations=n)


def _short(text: str) -> str:
    text = safe_text(text)
    return text if len(text) <= SHOWN_LENGTH else text[:SHOWN_LENGTH].rstrip() + "…"
