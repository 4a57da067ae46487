"""How far people's blind grades agree with the judge, in words and figures, and what the judge missed."""

from collections.abc import Iterator

from simulator.core.translations import plain
from simulator.core.types import Language
from simulator.report.listing import Item, Say, Section
from simulator.review.section import SHOWN, percent, words_in
from simulator.stats.review import DisputedTurn, Review
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
