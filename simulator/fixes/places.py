"""Where a red turn is mended: an article, a line of the prompt, a pair of the dictionary ...

Red turns of one cause with one place are mended by one change.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from simulator.blame.cause import Blame, Cause
from simulator.stats.figures import RedTurn

PlaceKind = Literal["article", "cutting", "dialogue", "prompt", "pair", "case", "rows", "bot", "simulator"]

# Mended by a line of the prompt, unless one article alone brings it about.
OF_THE_PROMPT: frozenset[Cause] = frozenset({
    "invented", "ignored", "tone", "should_refuse", "should_answer",
})  # fmt: skip
# The line of the prompt for those who have to be passed on to a person.
HANDOVER = "handover"
OF_A_HANDOVER: frozenset[Cause] = frozenset({"should_refuse", "misunderstood"})
# Causes that one mend of an article covers: it is found under the customers' words; what it says is plain.
COVERED: tuple[frozenset[Cause], ...] = (
    frozenset({"retrieval", "spelling", "misunderstood"}),
    frozenset({"ignored", "invented", "should_answer"}),
)
# Causes by which an article was not found; where its question alone finds it, the search lost the thread.
OF_THE_SEARCH: frozenset[Cause] = COVERED[0]
# Where a turn of this cause is mended when nobody knows the article.
_WITHOUT_ARTICLE: Mapping[Cause, PlaceKind] = {
    "knowledge": "case",
    "outdated": "case",
    "unclear": "case",
    "retrieval": "case",
    "spelling": "case",
    "misunderstood": "prompt",
    "ignored": "prompt",
}


@dataclass(frozen=True, slots=True)
class Place:
    """Where a change is made; `name` is the article's, the pair's, the case's, the failure's.

    Of the prompt it names the line, where a cause has several.
    """

    kind: PlaceKind
    name: str = ""

    def __str__(self) -> str:
        """As it stands in the key of a fix."""
        return f"{self.kind}:{self.name}" if self.name else self.kind


@dataclass(frozen=True, slots=True)
class Blamed:
    """A red turn, its cause and the article that it takes, as a whole document.

    `handover` says that this customer should have been passed on to a person.
    """

    red: RedTurn
    blame: Blame
    article: str = ""
    handover: bool = False


@dataclass(frozen=True, slots=True)
class Group:
    """Red turns that one change mends, gravest first."""

    cause: Cause
    place: Place
    members: tuple[Blamed, ...]


def groups(blamed: Sequence[Blamed], *, rows: bool = False) -> list[Group]:
    """The turns by what mends them, in the order of each group's gravest turn.

    `rows`: of a single-turn data set, whose rows without a known cause are one group, to be read.
    """
    alone, missed = _single_articles(blamed), _missed_at_once(blamed)
    found: dict[tuple[Cause, Place], list[Blamed]] = {}
    for each in blamed:
        place = Place("dialogue") if _lost_the_thread(each, missed) else _place(each, alone)
        if rows and each.blame.cause == "unclear" and place.kind == "case":
            place = Place("rows")
        cause: Cause = "retrieval" if place.kind == "dialogue" else each.blame.cause
        found.setdefault((cause, place), []).append(each)
    return _merged([Group(cause, place, tuple(members)) for (cause, place), members in found.items()])


def _single_articles(blamed: Iterable[Blamed]) -> dict[Cause, str]:
    """The article of each cause of the prompt all of whose turns come from that one."""
    articles: dict[Cause, set[str]] = {}
    for each in blamed:
        if each.blame.cause in OF_THE_PROMPT and not _is_handover(each):
            articles.setdefault(each.blame.cause, set()).add(each.article)
    return {cause: next(iter(found)) for cause, found in articles.items() if len(found) == 1}


def _missed_at_once(blamed: Iterable[Blamed]) -> set[tuple[str, str]]:
    """Case and article of each first question whose article was not found."""
    return {
        (each.red.case, each.article)
        for each in blamed
        if each.red.turn == 1 and each.blame.cause in OF_THE_SEARCH
    }


def _lost_the_thread(each: Blamed, missed: set[tuple[str, str]]) -> bool:
    """Whether a follow-up was searched for by its own words, though the question itself finds the article."""
    of_the_search = each.blame.cause in OF_THE_SEARCH and not (each.blame.pair or each.blame.cut)
    return each.red.turn > 1 and of_the_search and (each.red.case, each.article) not in missed


def _place(each: Blamed, alone: Mapping[Cause, str]) -> Place:
    cause, pair = each.blame.cause, each.blame.pair
    if cause == "customer":
        return Place("simulator")
    if cause == "no_answer":
        return Place("bot", each.red.failure or "")
    if cause == "spelling" and pair:
        return Place("pair", "=".join(pair))
    if _is_handover(each):
        return Place("prompt", HANDOVER)
    if cause in OF_THE_PROMPT:
        return Place("article", alone[cause]) if alone.get(cause) else Place("prompt")
    kind: PlaceKind = "article" if each.article else _WITHOUT_ARTICLE[cause]
    kind = "cutting" if each.blame.cut else kind
    return Place(kind, {"article": each.article, "case": each.red.case}.get(kind, ""))


def _is_handover(each: Blamed) -> bool:
    """Whether the bot should have passed a customer on, rather than said anything else."""
    return each.handover and each.blame.cause in OF_A_HANDOVER


def _merged(found: list[Group]) -> list[Group]:
    """Fixes of one turn each join where they take the same article and one mend covers both."""
    joined = {at: places for places in _coverable(found) if len(places) > 1 for at in places}
    return [
        _join([found[each] for each in joined[at]]) if at in joined else group
        for at, group in enumerate(found)
        if at not in joined or joined[at][0] == at
    ]


def _coverable(found: list[Group]) -> Iterable[list[int]]:
    """Groups of one turn by article and family of causes; of several pairs, the first: each is a mend."""
    together: dict[tuple[str, frozenset[Cause]], list[int]] = {}
    paired: set[str] = set()
    for at, group in enumerate(found):
        article, is_pair = group.members[0].article, group.place.kind == "pair"
        family = next((family for family in COVERED if group.cause in family), None)
        if len(group.members) > 1 or not family or not article or (is_pair and article in paired):
            continue
        together.setdefault((article, family), []).append(at)
        if is_pair:
            paired.add(article)
    return together.values()


def _join(singles: list[Group]) -> Group:
    """The gravest of them gives the cause; a pair of the dictionary is kept, it mends the most."""
    leading = next((group for group in singles if group.place.kind == "pair"), singles[0])
    members = tuple(member for group in singles for member in group.members)
    return Group(leading.cause, leading.place, members)
