"""The team's review in words: how good the red marks are, what to improve first, and who is to do it."""

from collections.abc import Iterator, Sequence

from simulator.core.types import Language
from simulator.report.listing import Item, Section
from simulator.review.section import SHOWN, percent, words_in
from simulator.sheets.model import SheetWords
from simulator.stats.review import PENDING, TOP, Article, Findings, PendingReviews, ReviewedTurn
from simulator.stats.summary import excerpt

# From so many judged marks on their share is put into words, and from such shares into these.
ENOUGH, GOOD, FAIR = 10, 0.8, 0.5


def team_sections(found: Findings, language: Language) -> tuple[Section, ...]:
    """The review of a run: its marks, points to improve, articles to mend, who is to do it, the judge."""
    return tuple(_Excerpt(found, language).sections())


class _Excerpt:
    """The findings of a run in the words of a language."""

    def __init__(self, found: Findings, language: Language) -> None:
        self.found, self.say, words = found, words_in(language), SheetWords(language)
        self.causes = {choice.id: choice.title for choice in words.choices("cause")}
        self.statuses = {choice.id: choice.title for choice in words.choices("status")}
        self.customer, self.desk = words("text", "customer"), words("text", "desk")

    def sections(self) -> Iterator[Section]:
        """One after the other, in the order in which a meeting takes them up."""
        yield Section(
            self.say("team_title"),
            self._verdict(),
            facts=tuple(self._facts()),
            aside=self.say("on_sight"),
        )
        if self.found.points:
            yield Section(self.say("points_title"), table=tuple(self._points()))
        yield self._listed("articles", [self._article(each) for each in self.found.articles])
        yield self._listed("pending", [self._pending(each) for each in self.found.pending])
        yield self._listed("wrong", [self._wrong(each) for each in self.found.wrong_turns])

    def _listed(self, name: str, items: Sequence[Item]) -> Section:
        title, lead = self.say(f"{name}_title"), "" if items else self.say(f"no_{name}")
        return Section(title, lead, items=tuple(items[:SHOWN]), more=max(0, len(items) - SHOWN))

    def _verdict(self) -> str:
        found = self.found
        if found.precision is None:
            return self.say("marks_none")
        if found.right + found.wrong < ENOUGH:
            return self.say("marks_few", n=found.right + found.wrong)
        share = found.precision
        return self.say("marks_good" if share >= GOOD else "marks_fair" if share >= FAIR else "marks_weak")

    def _facts(self) -> Iterator[tuple[str, str]]:
        found = self.found
        if found.precision is not None and found.interval:
            low, high = map(percent, found.interval)
            figures = {"right": found.right, "n": found.right + found.wrong, "unsure": found.unsure}
            share = percent(found.precision)
            yield (
                self.say("precision"),
                self.say("precision_line", share=share, low=low, high=high, **figures),
            )
        yield self.say("progress"), self.say("progress_line", red=found.red, judged=found.judged)
        if found.missed:
            yield self.say("unmarked"), self.say("unmarked_line", n=found.missed)

    def _points(self) -> Iterator[tuple[str, ...]]:
        """Causes by status, in the order of the dropdowns; columns that hold nothing are left out."""
        counts = {(point.cause, point.status): point.n for point in self.found.points}
        causes = _in_order(self.causes, (cause for cause, _ in counts))
        statuses = _in_order(self.statuses, (status for _, status in counts))
        yield ("", *map(self._status, statuses), self.say("total"))
        for cause in causes:
            row = [counts.get((cause, status), 0) for status in statuses]
            yield self._cause(cause), *(f"{n:,}" if n else "" for n in row), f"{sum(row):,}"

    def _cause(self, cause: str) -> str:
        return self.causes.get(cause, cause) or self.say("no_cause")

    def _status(self, status: str) -> str:
        return self.statuses.get(status, status) or self.say("no_status")

    def _article(self, article: Article) -> Item:
        causes = self.say("comma").join(
            self.say("cause_n", cause=self._cause(cause), n=n) for cause, n in article.causes.items()
        )
        kind = "both_kinds" if article.gold and article.retrieved else "gold" if article.gold else "retrieved"
        source = self.say("source", name=article.source) if article.source else ""
        figures = {"turns": len(article.turns), "causes": causes, "how": self.say(kind)}
        return Item(self.say("article_line", passage=article.passage, source=source, **figures))

    def _pending(self, each: PendingReviews) -> Item:
        left = zip(PENDING, (each.open, each.doing, each.unset), strict=True)
        kinds = self.say("comma").join(
            self.say("cause_n", cause=self._status(kind), n=n) for kind, n in left if n
        )
        who = each.assignee or self.say("nobody")
        return Item(f"{who}   {self.say('pending_line', n=each.n, kinds=kinds)}")

    def _wrong(self, turn: ReviewedTurn) -> Item:
        where = f"{turn.conversation} · {self.say('turn', n=turn.turn)}"
        grade = "" if turn.value is None else self.say("judged_at", judge=f"{TOP * turn.value:.3g}")
        how = self.say("wrong_red" if turn.red else "wrong_missed")
        beneath = (
            (self.customer, turn.question), (self.desk, turn.answer),
            (self.say("comment"), turn.comment), (self.say("right_answer"), turn.correct_answer),
        )  # fmt: skip
        told = tuple((name, excerpt(text)) for name, text in beneath if text.strip())
        return Item("   ".join(filter(None, (where, how, grade))), told)


def _in_order(known: dict[str, str], found: Iterator[str]) -> list[str]:
    """Ids as the dropdown has them, then what people typed themselves, then what they left empty."""
    there = set(found)
    return [*(i for i in known if i in there), *sorted(there - known.keys() - {""}), *({""} & there)]
