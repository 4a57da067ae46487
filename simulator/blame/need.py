"""Which passages an answer needed, and whether they are in the knowledge base and were retrieved."""

from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

from simulator.blame.corpus import ELSEWHERE, HELD, Corpus, article_of, held, holds
from simulator.core.types import GradingContext, Passage
from simulator.text.acts import is_refusal
from simulator.text.evidence import content_units, known_answers, share

# A retrieved passage of which this share is in an article is a piece of it, whatever it is called.
PIECE = 0.9
# Pieces that hold less than this share of what their whole article holds of a reference lack the answer.
ENOUGH = 0.8

Place = Literal["retrieved", "not_retrieved", "lacking", "doubtful", "outside", "hidden", "unknown"]


class Need(NamedTuple):
    """The articles that an answer needed (ids), and where they were.

    `retrieved`: among the passages of the turn; `not_retrieved`: in the knowledge base only; `lacking`: not
    even there, nor does any other article come near; `doubtful`: words do not tell whether it is there;
    `outside`: not retrieved, and the knowledge base is not known; `hidden`: the bot does not show what it
    retrieves; `unknown`: neither gold nor reference say what was needed. `exact`: the case names the article,
    and the knowledge base has it by that name, so that no words were compared. `cut` says that pieces of the
    article were retrieved, and the piece with the answer was not.
    """

    place: Place
    articles: tuple[str, ...] = ()
    exact: bool = False
    cut: bool = False


def references_of(exhibit: GradingContext) -> tuple[str, ...]:
    """What a right answer says: the references of the turn, or else of the case; refusals say nothing."""
    language = exhibit.case.language
    texts = exhibit.references or known_answers(exhibit.case)
    return tuple(text for text in texts if not is_refusal(text, language))


def need_of(exhibit: GradingContext, corpus: Corpus | None) -> Need:
    """What this turn needed, and where it was."""
    answer, language = exhibit.turn.answer, exhibit.case.language
    references = references_of(exhibit)
    articles, exact = _needed(exhibit, references, corpus)
    if not articles and not references:
        return Need("unknown")
    if not answer.shows_passages:
        absent = corpus and not articles and _elsewhere(exhibit, references, (), corpus).place == "lacking"
        return Need("lacking") if absent else Need("hidden", articles or exhibit.case.passages)
    if is_retrieved(articles, references, answer.passages, exhibit, corpus):
        return Need("retrieved", articles)
    if corpus is None:
        return Need("outside", articles)
    there = corpus.texts(articles)
    if not there or (references and not holds(references, there, language) and not _is_faint(exhibit)):
        return _elsewhere(exhibit, references, articles, corpus)
    cut = is_cut_off(articles, references, answer.passages, exhibit, corpus)
    return Need("not_retrieved", _absent(articles, answer.passages, corpus) or articles, exact, cut)


def _elsewhere(
    exhibit: GradingContext, references: Sequence[str], articles: tuple[str, ...], corpus: Corpus
) -> Need:
    """Where the answer is when the needed articles are not there, or do not say it in these words."""
    own = bool(exhibit.references) and exhibit.turn.index > 1
    question = exhibit.turn.meant if own else exhibit.case.question
    extent, nearest = corpus.extent(references, question, exhibit.case.language)
    if extent == "said":
        came = any(is_of(passage, nearest[0], corpus) for passage in exhibit.turn.answer.passages)
        return Need("retrieved" if came else "not_retrieved", nearest)
    if extent == "nowhere" and not corpus.texts(articles) and not (references and _is_faint(exhibit)):
        return Need("lacking", articles)
    return Need("doubtful", articles if corpus.texts(articles) else nearest)


def is_retrieved(
    articles: Sequence[str],
    references: Sequence[str],
    passages: Sequence[Passage],
    exhibit: GradingContext,
    corpus: Corpus | None,
) -> bool:
    """Whether the passages hold what is needed: by their ids, or by what the reference says."""
    texts = [passage.text for passage in passages]
    least = ELSEWHERE if articles else HELD
    if references and holds(references, texts, exhibit.case.language, least):
        return True
    found = [article for article in articles if any(is_of(p, article, corpus) for p in passages)]
    if not articles or len(found) < len(articles):
        return False
    # The right article, but another piece of it: only what the reference says can tell.
    if corpus is None or not references:
        return True
    if any(len(corpus.by_article.get(article_of(a), ())) > 1 for a in articles):
        return holds(references, texts, exhibit.case.language)
    return not is_cut_off(articles, references, passages, exhibit, corpus)


def is_cut_off(
    articles: Sequence[str],
    references: Sequence[str],
    passages: Sequence[Passage],
    exhibit: GradingContext,
    corpus: Corpus,
) -> bool:
    """Whether pieces of the needed articles were retrieved that lack what the whole articles say."""
    pieces = [p.text for p in passages if any(is_of(p, article, corpus) for article in articles)]
    whole, language = corpus.texts(articles), exhibit.case.language
    if not pieces or not holds(references, whole, language):
        return False
    return all(
        held(reference, pieces, language) < ENOUGH * held(reference, whole, language)
        for reference in references
    )


def _absent(articles: Sequence[str], passages: Sequence[Passage], corpus: Corpus) -> tuple[str, ...]:
    """Those articles of which no passage was retrieved."""
    return tuple(each for each in articles if not any(is_of(p, each, corpus) for p in passages))


def is_of(passage: Passage, article: str, corpus: Corpus | None) -> bool:
    """Whether a retrieved passage is a piece of an article: by id, by source, or by its text."""
    wanted = article_of(article)
    names = {article_of(passage.id), passage.source or "", _without_suffix(passage.source or "")}
    if wanted in names:
        return True
    texts = corpus.texts([article]) if corpus and passage.id not in corpus.ids else ()
    units = content_units(passage.text)
    return any(share(units, content_units(text)) >= PIECE for text in texts)


def _needed(
    exhibit: GradingContext, references: Sequence[str], corpus: Corpus | None
) -> tuple[tuple[str, ...], bool]:
    """The needed articles, and whether they are known exactly: by gold ids on the turn they belong to."""
    own = bool(exhibit.references) and exhibit.turn.index > 1
    gold = exhibit.case.passages
    if gold and not own and (corpus is None or corpus.knows(gold)):
        first = exhibit.turn.index == 1 or exhibit.turn.meant == exhibit.case.question
        return _unique(gold), first and corpus is not None
    strange = own or not gold or not (corpus and corpus.shares_ids(gold))
    least = HELD if strange else ELSEWHERE
    held = corpus.holding(references, exhibit.case.language, least) if corpus else ()
    return held or (() if own else _unique(gold)), False


def _is_faint(exhibit: GradingContext) -> bool:
    """Whether the references are too short to tell by their words whether an article holds them."""
    return all(len(text) < 12 for text in references_of(exhibit))


def _unique(ids: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(map(article_of, ids)))


def _without_suffix(source: str) -> str:
    head, dot, tail = source.rpartition(".")
    return head if dot and "/" not in tail else source
