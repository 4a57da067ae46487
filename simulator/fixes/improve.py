"""The red turns of a run as things to mend, what brings most first."""

from collections.abc import Iterable, Sequence
from math import fsum

from simulator.blame.cause import Blame
from simulator.core.types import Language, Passage, Results, compact
from simulator.fixes.articles import Library
from simulator.fixes.fix import Example, Fix, Improvements
from simulator.fixes.gains import Gains
from simulator.fixes.places import Blamed, Group, groups
from simulator.fixes.wording import title, what, where
from simulator.stats.figures import RedTurn, Summary
from simulator.stats.red import RANK, worst
from simulator.stats.summary import excerpt
from simulator.storage.results import english_share

EXAMPLES = 3


def fixes(
    results: Results, summary: Summary, blames: Sequence[Blame], *, articles: Iterable[Passage] = ()
) -> tuple[Fix, ...]:
    """What to mend in the bot; `articles`, the knowledge base, only lends its titles."""
    return improvements(results, summary, blames, articles=articles).fixes


def improvements(
    results: Results,
    summary: Summary,
    blames: Sequence[Blame],
    *,
    articles: Iterable[Passage] = (),
    language: Language | None = None,
) -> Improvements:
    """What to mend in the bot, and apart from it what the simulated customer spoilt.

    Fixes are ranked by what they bring the run's score (to a hundredth of a point), then by the gravest of
    their turns, then by how many kinds of customer, and how many turns, they concern. Without a `language`
    sentences are in the one that most conversations are held in.
    """
    spoken = language or _language(results)
    library, gains = Library(results, articles), Gains(results, summary)
    made = _Maker(results, library, gains, spoken)
    red = _blamed(results, summary, blames, library)
    found = [made.fix(group) for group in groups(red, rows=summary.rows)]
    ranked = sorted((fix for fix in found if fix.cause != "customer"), key=_best_first)
    return Improvements(
        language=spoken,
        score=summary.score,
        goal=gains.goal,
        green=gains.green,
        fixes=tuple(compact(fix, rank=rank) for rank, fix in enumerate(ranked, 1)),
        customer=tuple(fix for fix in found if fix.cause == "customer"),
        blames=tuple(blames),
    )


def _blamed(results: Results, summary: Summary, blames: Iterable[Blame], library: Library) -> list[Blamed]:
    """The red turns that have a cause, gravest first, with their articles as whole documents."""
    known = {(blame.conversation, blame.turn): blame for blame in blames}
    passed_on = {talk.id for talk in results.conversations if talk.case.handover == "required"}
    return [
        Blamed(
            red=red,
            blame=blame,
            article=library.whole(blame.articles[0]) if blame.articles else "",
            handover=red.conversation in passed_on,
        )
        for red in summary.reddest
        if (blame := known.get((red.conversation, red.turn)))
    ]


def _best_first(fix: Fix) -> tuple[float, int, int, int, str]:
    return -round(fix.gain, 4), RANK[fix.severity], -len(fix.personas), -len(fix.turns), fix.key


class _Maker:
    """Makes fixes of groups, for one run."""

    def __init__(self, results: Results, library: Library, gains: Gains, language: Language) -> None:
        self._library, self._gains, self._language = library, gains, language
        self._rows = results.run.asks_once
        self._references = {talk.id: talk.case.references_at for talk in results.conversations}

    def fix(self, group: Group) -> Fix:
        """One thing to mend, not ranked yet."""
        members, language = group.members, self._language
        keys = [(each.red.conversation, each.red.turn) for each in members]
        gains = [self._gains.of(key, each.blame.cause) for key, each in zip(keys, members, strict=True)]
        return Fix(
            rank=0,
            key=f"{group.cause}/{group.place}",
            cause=group.cause,
            sure=all(each.blame.sure for each in members),
            severity=worst(mark for each in members for mark in each.red.marks),
            title=title(group, language),
            what=what(group, self._library, language, rows=self._rows),
            where=where(group, language),
            turns=tuple(keys),
            personas=_distinct(each.red.persona for each in members),
            cases=_distinct(each.red.case for each in members),
            examples=tuple(self._example(each) for each in _varied(members)),
            gain=0.0 if group.cause == "customer" else fsum(gains),
            article=group.place.name if group.place.kind == "article" else "",
            pair=next((each.blame.pair for each in members if each.blame.pair), None),
        )

    def _example(self, each: Blamed) -> Example:
        red = each.red
        references = self._references.get(red.conversation, _nothing)(red.turn)
        example = Example(
            conversation=red.conversation,
            turn=red.turn,
            persona=red.persona,
            case=red.case,
            question=red.question,
            answer=red.answer,
            failure=red.failure,
            reason=excerpt(red.reason),
            evidence=excerpt(each.blame.evidence),
            reference=excerpt(references[0]) if references else "",
        )
        return compact(example)


def _nothing(_: int) -> tuple[str, ...]:
    return ()


def _varied(members: Sequence[Blamed]) -> list[Blamed]:
    """The gravest turn, then those of other questions, other customers, other conversations."""
    shown: list[Blamed] = []
    for tell in (_case, _persona, _conversation):
        told = {tell(each.red) for each in shown}
        for each in members:
            if len(shown) < EXAMPLES and tell(each.red) not in told:
                shown.append(each)
                told.add(tell(each.red))
    return shown


def _case(red: RedTurn) -> object:
    return red.case


def _persona(red: RedTurn) -> object:
    return red.persona


def _conversation(red: RedTurn) -> object:
    return red.conversation


def _distinct(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names))


def _language(results: Results) -> Language:
    """The language that most conversations are in; Japanese on a tie."""
    return "en" if english_share(results) > 0.5 else "ja"
