"""Which passages an answer needed, and whether they are in the knowledge base and were retrieved."""

from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

from simulator.blame.library import ELSEWHERE, HELD, Library, article_of, held, holds
from simulator.counting.reading import known_answers
from simulator.counting.units import content_units, share
from simulator.lexical import is_refusal
from simulator.types import Exhibit, Passage

# A retrieved passage of which this share is in an article is a piece of it, whatever it is called.
PIECE = 0.9
# Pieces that hold less than this share of what their whole article holds of a reference lack the answer.
ENOUGH = 0.8

Place = Literal["retrieved", "not_retrieved", "lacking", "outside", "hidden", "unknown"]


class Need(NamedTuple):
    """The articles that an answer needed (ids), and where they were.

    `retrieved`: among the passages of the turn; `not_retrieved`: in the knowledge base only; `lacking`: not
    even there; `outside`: not retrieved, and the knowledge base is not known; `hidden`: the bot does not
    show what it retrieves; `unknown`: neither gold nor reference say what was needed. Not `sure` where the
    article was only recognised by what the reference says. `cut` says that pieces of the article were
    retrieved, and the piece with the answer was not.
    """

    place: Place
    articles: tuple[str, ...] = ()
    sure: bool = True
    cut: bool = False


def references_of(exhibit: Exhibit) -> tuple[str, ...]:
    """What a right answer says: the references of the turn, or else of the case; refusals say nothing."""
    language = exhibit.case.language
    texts = exhibit.references or known_answers(exhibit.case)
    return tuple(text for text in texts if not is_refusal(text, language))


def need_of(exhibit: Exhibit, library: Library | None) -> Need:
    """What this turn needed, and where it was."""
    answer, language = exhibit.turn.answer, exhibit.case.language
    references = references_of(exhibit)
    articles, sure = _needed(exhibit, references, library)
    if not articles and not references:
        return Need("unknown", (), sure=False)
    if not answer.shows_passages:
        absent = library is not None and not articles
        return Need("lacking" if absent else "hidden", articles or exhibit.case.passages, sure=False)
    if is_retrieved(articles, references, answer.passages, exhibit, library):
        # Without the knowledge nobody can tell whether the piece that came is the one with the answer.
        texts = [passage.text for passage in answer.passages]
        told = library is not None or not references or holds(references, texts, language)
        return Need("retrieved", articles, sure and told)
    if library is None:
        return Need("outside", articles, sure=False)
    cut = is_cut_off(articles, references, answer.passages, exhibit, library)
    articles = _absent(articles, answer.passages, library) or articles
    there = library.texts(articles)
    if not there or (references and not holds(references, there, language) and not _is_faint(exhibit)):
        elsewhere = library.holding(references, language, ELSEWHERE)
        return Need("not_retrieved", elsewhere) if elsewhere else Need("lacking", articles, sure)
    return Need("not_retrieved", articles, sure, cut)


def is_retrieved(
    articles: Sequence[str],
    references: Sequence[str],
    passages: Sequence[Passage],
    exhibit: Exhibit,
    library: Library | None,
) -> bool:
    """Whether the passages hold what is needed: by their ids, or by what the reference says."""
    texts = [passage.text for passage in passages]
    least = ELSEWHERE if articles else HELD
    if references and holds(references, texts, exhibit.case.language, least):
        return True
    found = [article for article in articles if any(is_of(p, article, library) for p in passages)]
    if not articles or len(found) < len(articles):
        return False
    # The right article, but another piece of it: only what the reference says can tell.
    if library is None or not references:
        return True
    if any(len(library.by_article.get(article_of(a), ())) > 1 for a in articles):
        return holds(references, texts, exhibit.case.language)
    return not is_cut_off(articles, references, passages, exhibit, library)


def is_cut_off(
    articles: Sequence[str],
    references: Sequence[str],
    passages: Sequence[Passage],
    exhibit: Exhibit,
    library: Library,
) -> bool:
    """Whether pieces of the needed articles were retrieved that lack what the whole articles say."""
    pieces = [p.text for p in passages if any(is_of(p, article, library) for article in articles)]
    whole, language = library.texts(articles), exhibit.case.language
    if not pieces or not holds(references, whole, language):
        return False
    return all(
        held(reference, pieces, language) < ENOUGH * held(reference, whole, language)
        for reference in references
    )


def _absent(articles: Sequence[str], passages: Sequence[Passage], library: Library) -> tuple[str, ...]:
    """Those articles of which no passage was retrieved."""
    return tuple(each for each in articles if not any(is_of(p, each, library) for p in passages))


def is_of(passage: Passage, article: str, library: Library | None) -> bool:
    """Whether a retrieved passage is a piece of an article: by id, by source, or by its text."""
    wanted = article_of(article)
    names = {article_of(passage.id), passage.source or "", _without_suffix(passage.source or "")}
    if wanted in names:
        return True
    texts = library.texts([article]) if library and passage.id not in library.ids else ()
    units = content_units(passage.text)
    return any(share(units, content_units(text)) >= PIECE for text in texts)


def _needed(
    exhibit: Exhibit, references: Sequence[str], library: Library | None
) -> tuple[tuple[str, ...], bool]:
    """The needed articles, and whether that is sure: gold ids on the turn they belong to, else by content."""
    own = bool(exhibit.references) and exhibit.turn.index > 1
    gold = exhibit.case.passages
    if gold and not own and (library is None or library.knows(gold)):
        return _unique(gold), True
    strange = own or not gold or not (library and library.shares_ids(gold))
    least = HELD if strange else ELSEWHERE
    held = library.holding(references, exhibit.case.language, least) if library else ()
    if held:
        return held, exhibit.turn.index == 1
    return (_unique(gold), library is None or library.shares_ids(gold)) if not own else ((), False)


def _is_faint(exhibit: Exhibit) -> bool:
    """Whether the references are too short to tell by their words whether an article holds them."""
    return all(len(text) < 12 for text in references_of(exhibit))


def _unique(ids: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(map(article_of, ids)))


def _without_suffix(source: str) -> str:
    head, dot, tail = source.rpartition(".")
    return head if dot and "/" not in tail else source
