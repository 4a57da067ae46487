"""What became of a bot's articles from one run to a later one, and which facts differ.

Articles are followed by their ids, then by their sentences, so that one that was renamed, moved or split is
not taken for one that is gone:

    same id, same text                                    not named
    same id, other text, a fact differs                   changed
    same id, other text, no fact differs                  reworded
    gone; another has most of its sentences               renamed
    gone, or shorter; several others have them            split
    gone; nothing has them                                withdrawn
    new; none of the earlier ones has its sentences       added

Facts are figures, dates and times (text/figures.py), small counts ("3 times"), addresses of pages and
mailboxes, and whether a sentence denies something. Of two articles sentences are paired that are alike, and
what differs within a pair is what was changed:

    "The plan costs 1,100 yen." / "The plan costs 1,300 yen."     gone 1100円, came 1300円
    "You can cancel online."    / "You cannot cancel online."     denied now
    "Please call us."           / "Give us a call, please."       nothing: reworded
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from functools import lru_cache
from itertools import chain
from typing import Literal, NamedTuple

from simulator.core.types import StoredArticle
from simulator.text.figures import figures
from simulator.text.segments import normalise, sentences, tokens

ChangeKind = Literal["changed", "reworded", "renamed", "split", "withdrawn", "added"]
# Sentences that are less alike than this are not one sentence in two wordings.
ALIKE, _NEARLY_EQUAL = 0.5, 0.7
# An article goes on in another that has at least this share of its text.
_SAME_TEXT = 0.5
# Shorter sentences stand in many texts; in characters as they are compared.
TELLING = 8
_ADDRESS = re.compile(r"https?://[^\s「」、。<>()]+|www\.[^\s「」、。<>()]+|[\w.+-]+@[\w-]+(?:\.[\w-]+)+")
# A single digit with what it counts; figures() reads what has a unit, or more digits.
_COUNT = (
    r"(?<![\d.,])\d(?![\d.,]) ?(?:(?![年月日時分円])[一-龥ァ-ヺー]{1,2}|つ"
    r"|(?!(?:day|hour|month|year|week|minute|yen|dollar)s?\b)[a-z]{3,})"
)
_DAY = re.compile(r"^(?:\d{4}-)?\d\d-\d\d$")
_KEPT = 16_384  # so many texts, or pairs of them, are read once
_DENIES = re.compile(
    r"ません|できな[いく]|出来な[いく]|[らかさたはがもい]な(?:い(?!か)|く(?!て))|不可|不要|かね(?:ます|る)|お断り|対象外|廃止|終了し"
    r"|\b(?:not|no|never|cannot|without|unable|unavailable|neither|nor)\b|n't\b"
)


class FactChange(NamedTuple):
    """A sentence of an article as it was and as it is; one of them is empty where it only came or went.

    `gone` and `came` are the facts that only one of the two has, by the spelling that they are compared by;
    `denied` says that a yes became a no, or the reverse.
    """

    old: str
    new: str
    gone: frozenset[str] = frozenset()
    came: frozenset[str] = frozenset()
    denied: bool = False


class ArticleChange(NamedTuple):
    """What became of one article, by its earlier `id`, or that of an added one; `now` are its later ids."""

    id: str
    title: str
    kind: ChangeKind
    now: tuple[str, ...]
    facts: tuple[FactChange, ...]

    @property
    def ids(self) -> frozenset[str]:
        """All that questions and passages may call it."""
        return frozenset({self.id, *self.now})

    @property
    def differing(self) -> tuple[FactChange, ...]:
        """The facts that are no longer the same; none of an article that only came or went."""
        return () if self.kind in ("added", "withdrawn") else self.facts


@lru_cache(maxsize=_KEPT)
def facts_of(text: str) -> frozenset[str]:
    """The facts of a text, each in one spelling."""
    plain = normalise(text)
    addresses = {address.rstrip(".,/") for address in _ADDRESS.findall(plain)}
    counts = {match.replace(" ", "") for match in re.findall(_COUNT, _ADDRESS.sub(" ", plain))}
    return frozenset({figure.value for figure in figures(text)} | addresses | counts)


def has_fact(text: str, facts: Iterable[str]) -> bool:
    """Whether a text states one of these facts; a date without its year is the same date."""
    stated = facts_of(text)
    days = tuple(filter(_DAY.search, stated))
    return any(
        fact in stated
        or (_DAY.search(fact) and any(fact.endswith(day) or day.endswith(fact) for day in days))
        for fact in facts
    )


def denies(sentence: str) -> bool:
    """Whether a sentence says that something is not so."""
    return bool(_DENIES.search(normalise(sentence)))


@lru_cache(maxsize=_KEPT)
def plain_text(text: str) -> str:
    """A text as it is compared: normalised, without spaces and marks of Markdown."""
    return re.sub(r"[\s*_`#>|]+", "", normalise(text))


def article_changes(
    before: Sequence[StoredArticle], after: Sequence[StoredArticle]
) -> tuple[ArticleChange, ...]:
    """What became of the articles, in their earlier order, added ones last."""
    earlier, later = ({article.id: article for article in side} for side in (before, after))
    follows = _followers(earlier, later)
    taken = {id_ for ids in follows.values() for id_ in ids}
    changes = list[ArticleChange]()
    for id_, article in earlier.items():
        if id_ not in later or later[id_].digest != article.digest:
            now = ((id_,) if id_ in later else ()) + follows.get(id_, ())
            changes.append(_change(article, [later[part] for part in now]))
    changes += [
        ArticleChange(id=id_, title=a.title, kind="added", now=(id_,), facts=_stated(a.text, came=True))
        for id_, a in later.items()
        if id_ not in earlier and id_ not in taken
    ]
    return tuple(changes)


def _change(article: StoredArticle, now: Sequence[StoredArticle]) -> ArticleChange:
    facts = tuple(fact_changes(article.text, "\n".join(part.text for part in now)))
    if not now:
        kind: ChangeKind = "withdrawn"
        facts = _stated(article.text, came=False)
    elif len(now) > 1:
        kind = "split"
    elif now[0].id != article.id:
        kind = "renamed"
    else:
        kind = "changed" if facts or not article.packed else "reworded"
    title = article.title or (now[0].title if now else "")
    return ArticleChange(article.id, title, kind, tuple(part.id for part in now), facts)


def _stated(text: str, *, came: bool) -> tuple[FactChange, ...]:
    """The sentences of an article that only came, or went, as a whole."""
    telling = filter(_is_telling, dict.fromkeys(sentences(text)))
    return tuple(
        FactChange("", sentence, came=facts_of(sentence))
        if came
        else FactChange(sentence, "", gone=facts_of(sentence))
        for sentence in telling
    )


def _followers(
    earlier: Mapping[str, StoredArticle], later: Mapping[str, StoredArticle]
) -> Mapping[str, tuple[str, ...]]:
    """Where the text of articles went on, by their earlier ids: into new ones, or into those that grew."""
    lost = [id_ for id_ in earlier if id_ not in later]
    fresh = [id_ for id_ in later if id_ not in earlier]
    edited = [id_ for id_ in earlier if id_ in later and earlier[id_].digest != later[id_].digest]
    before, after = _by_sentences(earlier), _by_sentences(later)
    # A new article is a part of the earlier one that most of its text comes from.
    parts: dict[str, list[str]] = defaultdict(list)
    for id_ in fresh:
        parts[_best(after[id_], {other: before[other] for other in (*lost, *edited)})].append(id_)
    places = {id_: after[id_] for id_ in fresh} | {id_: after[id_] - before[id_] for id_ in edited}
    follows = {id_: tuple(parts[id_]) for id_ in (*lost, *edited)}
    for id_ in lost:
        # One has most of it: it was renamed, or taken in.
        if len(follows[id_]) < 2 and (place := _best(before[id_], places)):
            follows[id_] = (place,)
    return follows


def _by_sentences(articles: Mapping[str, StoredArticle]) -> Mapping[str, frozenset[str]]:
    """The sentences of each article that no other one has: phrases of a desk do not tell which it is."""
    texts = {id_: frozenset(map(plain_text, sentences(a.text))) for id_, a in articles.items()}
    often = Counter(chain.from_iterable(texts.values()))
    return {id_: frozenset(s for s in text if often[s] == 1) for id_, text in texts.items()}


def _best(text: frozenset[str], places: Mapping[str, frozenset[str]]) -> str:
    """The id of the place that has most of a text, by characters; empty where none has half of it."""
    most = {id_: sum(map(len, text & place)) for id_, place in places.items()}
    best = max(most, key=lambda id_: most[id_], default="")
    return best if text and most.get(best, 0) >= _SAME_TEXT * sum(map(len, text)) else ""


def fact_changes(old: str, new: str) -> Iterator[FactChange]:
    """The sentences in which two texts differ by a fact, and those that only one of them has."""
    before, after = ({plain_text(s): s for s in sentences(text)} for text in (old, new))
    went = [sentence for plain, sentence in before.items() if plain not in after]
    came = [sentence for plain, sentence in after.items() if plain not in before]
    pairs = _pairs(went, came)
    for sentence, other in pairs.items():
        gone, fresh = facts_of(sentence) - facts_of(other), facts_of(other) - facts_of(sentence)
        nearly = similarity(sentence, other) >= _NEARLY_EQUAL
        denied = nearly and denies(sentence) != denies(other)
        if gone or fresh or denied:
            yield FactChange(sentence, other, gone, fresh, denied)
    went = [sentence for sentence in went if sentence not in pairs]
    came = [sentence for sentence in came if sentence not in pairs.values()]
    # Where sentences went and others came, they may say the same: then only facts tell.
    for sentence in went:
        gone = facts_of(sentence) - facts_of(new)
        if gone or (not came and _is_telling(sentence)):
            yield FactChange(sentence, "", gone=gone)
    for sentence in came:
        fresh = facts_of(sentence) - facts_of(old)
        if fresh or (not went and _is_telling(sentence)):
            yield FactChange("", sentence, came=fresh)


def _is_telling(sentence: str) -> bool:
    return len(plain_text(sentence)) >= TELLING


def _pairs(went: Sequence[str], came: Sequence[str]) -> dict[str, str]:
    """The sentences that are one in two wordings, the most alike first, each once."""
    scores = sorted(
        ((similarity(old, new), at, to) for at, old in enumerate(went) for to, new in enumerate(came)),
        key=lambda item: -item[0],
    )
    pairs, left, right = dict[str, str](), set[int](), set[int]()
    for score, at, to in scores:
        if score >= ALIKE and at not in left and to not in right:
            pairs[went[at]] = came[to]
            left.add(at)
            right.add(to)
    return pairs


@lru_cache(maxsize=_KEPT)
def similarity(old: str, new: str) -> float:
    """How much of two sentences is the same, word by word: 0 to 1."""
    return SequenceMatcher(None, tokens(old), tokens(new), autojunk=False).ratio()
