"""A fix in words: what to do, in one plain sentence, and where."""

from pathlib import Path

from simulator.blame.cause import Cause
from simulator.core.templates import Texts
from simulator.core.types import Language
from simulator.fixes.articles import Library
from simulator.fixes.places import HANDOVER, Group
from simulator.stats.summary import excerpt

WORDS = Texts(Path(__file__).with_name("words.toml"))
# Characters of a question and of an id in a sentence; English takes twice as many to say the same.
_QUESTION: dict[Language, int] = {"ja": 40, "en": 80}
_NAME = 60
_INNER = str.maketrans("「」“”", "『』‘’")
# Failures of the bot, and a line of the prompt, that have a sentence of their own.
_OWN_WORDS = frozenset({"timeout", "empty", HANDOVER})
# What is said of an article that nobody has seen: it may not be there.
_UNSEEN: dict[Cause, str] = {"knowledge": "what_knowledge_missing", "retrieval": "what_retrieval_unseen"}
# Sentences on conversations, which are others where answers to rows are meant.
_OF_ANSWERS = frozenset({"what_unclear_article"})


def cause_name(cause: Cause, language: Language) -> str:
    """What people call a cause."""
    return WORDS(language, f"cause_{cause}")


def certainty(sure: bool, language: Language) -> str:
    """Whether the cause is certain, in a word."""
    return WORDS(language, "sure" if sure else "likely")


def where(group: Group, language: Language) -> str:
    """The place of a change, short."""
    kind, name = group.place.kind, group.place.name
    named = {"id": excerpt(name, _NAME)} if kind in ("article", "case") else {}
    return WORDS(language, f"where_{kind}", **named)


def title(group: Group, language: Language) -> str:
    """Cause and place, as a heading."""
    return WORDS(language, "title", cause=cause_name(group.cause, language), where=where(group, language))


def what(group: Group, library: Library, language: Language, *, rows: bool = False) -> str:
    """What to do, in one sentence; `rows`: of a single-turn data set, which has no conversations to read."""
    asked = min(group.members, key=lambda each: each.red.turn)  # later turns repeat it, or complain
    known = {"question": _quotable(excerpt(asked.red.question, _QUESTION[language]))}
    if group.place.kind == "article":
        known["article"] = _article(group.place.name, library, language)
    if pair := next((each.blame.pair for each in group.members if each.blame.pair), None):
        known["asked"], known["written"] = (excerpt(word, _QUESTION[language]) for word in pair)
    if group.place.kind == "article" and group.cause in _UNSEEN and not library.title(group.place.name):
        return WORDS(language, _UNSEEN[group.cause], id=excerpt(group.place.name, _NAME), **known)
    if group.place.kind == "rows":
        known["n"] = f"{len(group.members):,}"
    key = _key(group)
    said = WORDS(language, f"{key}_rows" if rows and key in _OF_ANSWERS else key, **known)
    return said[0].upper() + said[1:]


def _quotable(text: str) -> str:
    """With other marks for quotations of its own: it stands within quotation marks."""
    return text.translate(_INNER)


def _key(group: Group) -> str:
    """The sentence's key; a failure of the bot without a sentence of its own takes the common one."""
    named = group.place.name if group.place.kind in ("bot", "prompt") else ""
    named = named if named in _OWN_WORDS else ""
    return f"what_{group.cause}_{named or group.place.kind}"


def _article(article: str, library: Library, language: Language) -> str:
    named = library.title(article)
    key = "article" if named else "article_untitled"
    return WORDS(language, key, id=excerpt(article, _NAME), **({"title": named} if named else {}))
