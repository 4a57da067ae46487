"""Why what an answer needed was not among its passages: not in the knowledge, not searched for, not found."""

from simulator.blame import telling
from simulator.blame.cause import Cause
from simulator.blame.look import Look
from simulator.blame.telling import say
from simulator.text.spelling import Pair, pairs, strange

# A guess at a pair of spellings needs this much likeness to be told.
TOLD = 0.6

Missing = tuple[Cause, str, bool, tuple[str, str] | None]


def missing(look: Look) -> Missing:
    """The cause, its evidence, whether it is sure, and the pair of spellings to register."""
    cause, evidence, sure, pair = _why(look)
    return cause, telling.together(look, evidence, telling.beside(look)), sure, pair


def _why(look: Look) -> Missing:
    article = telling.article(look)
    if look.need.place == "lacking":
        return "knowledge", _lacking(look), False, None
    if look.need.place == "outside" or look.corpus is None:
        return "retrieval", say(look, "outside", article=article), False, None
    if lost := _lost(look):
        return "misunderstood", lost, False, None
    if look.need.cut:
        return "retrieval", telling.cut_off(look), False, None
    if look.found_earlier():
        return "retrieval", say(look, "retrieval_unstable", article=article), False, None
    return _asked_again(look) if look.found and look.found.hit is not None else _by_words(look)


def _by_words(look: Look) -> Missing:
    """Nobody asked again: whether the article has the words of the question."""
    article, corpus = telling.article(look), look.corpus
    if corpus and corpus.finds(look.words, look.need.articles, look.searched):
        return "retrieval", say(look, "retrieval_words", article=article), False, None
    return _guess(look)


def _lacking(look: Look) -> str:
    """The article that is missing; where its name says nothing, the content that no article has."""
    articles, needed = look.need.articles, telling.needed(look)
    if articles and (not needed or (look.corpus and look.corpus.shares_ids(articles))):
        return say(look, "lacking", article=telling.article(look))
    return say(look, "lacking_content", need=needed)


def _lost(look: Look) -> str:
    """Evidence that the bot looked for something else than what was asked; empty when there is none."""
    if look.corpus is None:
        return ""
    finds = look.corpus.finds(look.asked, look.need.articles, look.searched)
    earlier = look.searched_again()
    if earlier and not finds and look.repeats(earlier):
        return say(look, "earlier_question", earlier=telling.quote(earlier))
    if earlier and finds:
        values = {"earlier": telling.quote(earlier), "article": telling.article(look)}
        return say(look, "earlier_search", **values)
    if not finds and not look.asks_the_same and look.found_earlier():
        return say(look, "lost_context", article=telling.article(look))
    return ""


def _asked_again(look: Look) -> Missing:
    """What the bot found in the article's own words settles it; for certain where ids alone prove it."""
    article, found, exact = telling.article(look), look.found, look.found_by_id
    if found is None or not found.hit:
        return "retrieval", say(look, "retrieval_asked", article=article), exact, None
    if found.pair:
        asked, written = found.pair
        evidence = say(look, "spelling_pair", article=article, asked=asked, written=written)
        return "spelling", evidence, exact, found.pair
    if pair := likely(look):
        evidence = say(look, "spelling_guess", article=article, asked=pair.asked, written=pair.written)
        return "spelling", evidence, False, (pair.asked, pair.written)
    return "spelling", say(look, "spelling_asked", article=article, strange=_strange(look)), False, None


def _guess(look: Look) -> Missing:
    """The question's words do not lead to the article: another spelling, or other words altogether."""
    article = telling.article(look)
    if pair := likely(look):
        evidence = say(look, "spelling_guess", article=article, asked=pair.asked, written=pair.written)
        return "spelling", evidence, False, (pair.asked, pair.written)
    return "spelling", say(look, "spelling_words", article=article, strange=_strange(look)), False, None


def likely(look: Look) -> Pair | None:
    """The likeliest pair of spellings of question and article."""
    texts = look.corpus.texts(look.need.articles) if look.corpus else ()
    found = pairs(look.words, texts) if texts else []
    return found[0] if found and found[0].likeness >= TOLD else None


def _strange(look: Look) -> str:
    """The words of the question that the article does not have."""
    texts = look.corpus.texts(look.need.articles) if look.corpus else ()
    found = [word for word in strange(look.words, texts) if _is_telling(word)][:3]
    joint = "、" if look.language == "ja" else ", "
    told = joint.join(map(telling.quote, found))
    return telling.TEXTS(look.language, "strange", words=told) if found else ""


def _is_telling(word: str) -> bool:
    """Whether a word is more than an ending: short Latin words and runs of hiragana are not."""
    return len(word) > 3 if word.isascii() else any(not "\u3041" <= c <= "\u309f" for c in word)
