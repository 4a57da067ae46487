"""How far people's blind grades agree with the judge, in words and figures, and what the judge missed."""

from collections.abc import Iterator, Sequence

from simulator.addons.review.words import SHOWN, percent, words_in
from simulator.core.document import escaped
from simulator.core.translations import plain
from simulator.core.types import Language
from simulator.report.listing import Item, Say, Section
from simulator.sheets.model import SheetWords
from simulator.stats.review import (
    PENDING,
    TOP,
    Article,
    DisputedTurn,
    Findings,
    PendingReviews,
    Review,
    ReviewedTurn,
)
from simulator.stats.summary import excerpt

# Agreement beyond chance is called good from .6 on and fair from .4 (Landis and Koch, 1977).
GOOD, FAIR = 0.6, 0.4
# Means that differ by less are called the same: half a point of a hundred.
_SAME = 0.005


def blind_sections(review: Review | None, language: Language, title: str = "") -> tuple[Section, ...]:
    """The agreement, and the turns that people would have stopped, worst first."""
    say = words_in(language)
    if review is None:
        return (Section(title, say("nothing")),)
    found = Section(
        title,
        _verdict(review, say),
        facts=tuple(_facts(review, say)),
        aside=say("weighted") if review.weighted else "",
    )
    return (found, _missed(review.missed, say)) if review.missed else (found,)


def _verdict(review: Review, say: Say) -> str:
    """The strength of agreement in a sentence."""
    if review.kappa is None:
        return say("unknown")
    return say("good" if review.kappa >= GOOD else "fair" if review.kappa >= FAIR else "weak")


def _facts(review: Review, say: Say) -> Iterator[tuple[str, str]]:
    within, side = percent(review.within_one), percent(review.same_side)
    yield say("rate"), say("rate_line", within=within, side=side)
    yield say("kappa"), _figure(review.kappa)
    yield say("auroc"), say("auroc_note", value=_figure(review.auroc))
    yield say("difference"), _difference(review.difference, say)
    about = say("about", n=round(review.missed_in_run)) if review.weighted and review.missed else ""
    missed = say("missed_line", n=len(review.missed), about=about) if review.missed else say("no_missed")
    yield say("missed"), missed
    if review.overcalled:
        yield say("overcalled"), say("overcalled_line", n=len(review.overcalled))
    if review.between:
        b = review.between
        figures = {"within": percent(b.within_one), "kappa": _figure(b.kappa)}
        yield say("between"), say("between_line", turns=b.turns, **figures)
    yield say("compared"), _compared(review, say)


def _difference(difference: float, say: Say) -> str:
    way = "level" if abs(difference) < _SAME else "lenient" if difference > 0 else "strict"
    return say("difference_line", points=f"{100 * difference:+.0f}", way=say(way))


def _compared(review: Review, say: Say) -> str:
    names = [say("one", name=_called(name, say), n=n) for name, n in review.reviewers.items()]
    who = say("who", names=say("comma").join(names)) if any(review.reviewers) else ""
    return say("compared_line", turns=review.turns, grades=review.grades, who=who)


def _called(reviewer: str, say: Say) -> str:
    """A reviewer's name; those of a worksheet are numbered."""
    if reviewer.isdecimal():
        return say("numbered", number=reviewer)
    return plain(reviewer) or say("nameless")


def _missed(turns: tuple[DisputedTurn, ...], say: Say) -> Section:
    items = tuple(_disputed(turn, say) for turn in turns[:SHOWN])
    return Section(say("missed_title"), items=items, more=max(0, len(turns) - SHOWN), alarm=True)


def _disputed(turn: DisputedTurn, say: Say) -> Item:
    grades = say("grades", human=f"{turn.human:.3g}", judge=f"{turn.judge:.3g}")
    texts = (say("customer"), turn.question), (say("desk"), turn.answer), (say("comment"), turn.comment)
    told = tuple((name, excerpt(text)) for name, text in texts if text.strip())
    return Item(f"{turn.conversation} · {say('turn', n=turn.turn)}   {grades}", told)


def _figure(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"


# From so many judged marks on their share is put into words, and from such shares into these.
ENOUGH, TEAMS_GOOD, TEAMS_FAIR = 10, 0.8, 0.5


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
        return self.say(
            "marks_good" if share >= TEAMS_GOOD else "marks_fair" if share >= TEAMS_FAIR else "marks_weak"
        )

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


def markdown(found: Findings | None, review: Review | None, run: str, language: Language) -> str:
    """What the team says and how far people and judge agree; none of people's texts is taken for markup."""
    say = words_in(language)
    shown = team_sections(found, language) if found else ()
    parts = [f"## {escaped(say('title', run=run))}"]
    for section in (*shown, *blind_sections(review, language, say("blind_title"))):
        parts += [f"### {escaped(section.title)}", *_markdown(section, say)]
    return "\n\n".join(parts) + "\n"


def _markdown(section: Section, say: Say) -> Iterator[str]:
    if section.lead:
        yield f"**{escaped(section.lead)}**"
    if section.facts:
        yield "\n".join(f"- {escaped(name)}: {escaped(value)}" for name, value in section.facts)
    if section.table:
        head, *rows = ([escaped(cell) for cell in row] for row in section.table)
        lines = [head, ["---"] * len(head), *rows]
        yield "\n".join(f"| {' | '.join(line)} |" for line in lines)
    if section.items:
        yield "\n".join(line for number, item in enumerate(section.items, 1) for line in _item(number, item))
    if section.more:
        yield escaped(say("more_items", n=section.more))
    if section.aside:
        yield f"_{escaped(section.aside)}_"


def _item(number: int, item: Item) -> Iterator[str]:
    yield f"{number}. {escaped(item.text)}"
    for name, text in item.beneath:
        yield f"   - {escaped(name)}: {escaped(text)}"
