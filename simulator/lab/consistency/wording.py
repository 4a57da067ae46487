"""What two statements are compared by: their units by weight, and what they deny.

content_units("the plans charge")    -> the, plan, charg, the+plan, plan+charg, once each
share of "料金は無料" in "料金は千円"   -> 0.7
negated_words("you cannot cancel")   -> cancel
"""

import re
from collections import Counter
from collections.abc import Collection, Mapping
from functools import cache, cached_property, lru_cache
from itertools import pairwise
from sys import intern

from simulator.text.overlap import STOP_WORDS, stem
from simulator.text.segments import normalise, tokens

# Weights of a single token; a pair of neighbours weighs half the mean of its two. Hiragana and stop words are
# not worthless: a copied sentence shares them too, an invented one does not.
CONTENT, HIRAGANA, STOP, PAIR = 1.0, 0.5, 0.2, 0.5

_HIRAGANA = re.compile("[\u3041-\u309f\u30fc]")
# Between the two tokens of a pair: no token holds white space.
_BETWEEN = "\t"


class Units(Counter[str]):
    """How often a text has each unit."""

    @cached_property
    def weight(self) -> float:
        """The summed weight of all of them, for which a text is asked time and again."""
        return sum(unit_weight(unit) * count for unit, count in self.items())


@lru_cache(maxsize=1024)
def content_units(text: str) -> Units:
    """How often a text has each unit: its characters (CJK) or word stems, and their neighbouring pairs.

    The counter is shared between callers and must not be changed.
    """
    units = [token if token in STOP_WORDS else stem(token) for token in tokens(text)]
    # Interned: thousands of passages share most of their pairs.
    return Units(map(intern, [*units, *map(_BETWEEN.join, pairwise(units))]))


@lru_cache(maxsize=512)
def topic_units(text: str) -> Units:
    """The units that carry content: those with a kanji, a katakana or a word that is no stop word.

    A text of grammar alone keeps all its units, so that "それは何ですか" is about something. The counter is
    shared and must not be changed.
    """
    units = content_units(text)
    topical = {unit: count for unit, count in units.items() if is_topical(unit)}
    return Units(topical) or units


@lru_cache(maxsize=65536)
def is_topical(unit: str) -> bool:
    """Whether a unit carries content: a kanji, a katakana or a word that is no stop word."""
    return any(part not in STOP_WORDS and not _HIRAGANA.match(part) for part in unit.split(_BETWEEN))


@lru_cache(maxsize=65536)
def unit_weight(unit: str) -> float:
    """How much a unit says: content 1, hiragana 0.5, stop words 0.2, a pair half the mean of its two."""
    if _BETWEEN in unit:
        return PAIR * sum(map(unit_weight, unit.split(_BETWEEN))) / 2
    if unit in STOP_WORDS:
        return STOP
    return HIRAGANA if _HIRAGANA.match(unit) else CONTENT


def total_weight(units: Mapping[str, int]) -> float:
    """The summed weight of some units."""
    return (units if isinstance(units, Units) else Units(units)).weight


def share(units: Mapping[str, int], within: Collection[str]) -> float:
    """The share (0..1), by weight, of `units` that are also in `within`; 1 for no units at all.

    Of an answer in its passages this is precision, of a reference in an answer it is recall. 料金は無料 has
    0.7 of its weight in 料金は千円.
    """
    whole = total_weight(units)
    if not whole:
        return 1.0
    return sum(unit_weight(unit) * count for unit, count in units.items() if unit in within) / whole


@cache
def _only_form() -> re.Pattern[str]:
    """Negative in form only: obligations, invitations, "perhaps", politeness, words that merely contain ない.

    Compiled where it is needed, for that takes milliseconds and few runs ask for it; so are the next two.
    """
    return re.compile(
        r"な(?:ければ|くては|いと)(?:なら|なり|いけ|だめ)(?:ない|ません)?|(?:か|か)も(?:しれ|知れ)(?:ない|ません)"
        r"|ざるを得(?:ない|ません)|に(?:ほか|他)なら(?:ない|ず|なかった|ません)|(?:だけ|のみ|ばかり)(?:で(?:は)?)?(?:なく|ありません|ない)"
        r"|(?:ません|ない)(?:でしょう|です)?か|(?:じゃ|では)ない(?:です|でしょう)か"
        r"|(?:ない|なかった)(?=[一-龥ァ-ヶ])(?!方|旨|訳)|しか[^、。]{0,10}?(?:ない|ません|なく)|すみません|申し訳(?:ござい|あり)ません|申し訳(?:ない|なく)|とんでもない"
        r"|(?:問題|差し支え|差支え|支障|心配|遠慮|間違い)(?:は|が)?(?:ない|なく|なし|ありません|ございません|いりません)"
        r"|(?:構い|かまい)ません|(?:構わ|かまわ)(?:ない|ず)|少な[いくか]|危な[いくか]|(?:間|ま)もなく|なくな[るりっら]|となし"
        r"|やむを得(?:ない|ず)|にも(?:かか|関|拘)わらず|とは限ら(?:ない|ず|ません)|のみならず|相変わらず|必ず|まず|はず"
        r"|\b(?:that|which|who) (?:(?:do|does|did|is|are|was|were|has|have|had|can|could|will|would) ?)?"
        r"(?:not|n't)\b|\b(?:that|which|who) cannot\b|\b(?:and|but|or) not\b|\bnot (?:only|just|merely)\b"
        r"|\bwhether or not\b|\bno\. ?\d|\bno (?:doubt|problem|matter|longer than)\b"
    )


# A clause beyond this many characters denies nothing; it also bounds what a pattern can cost.
LONGEST = 600
_WORD_AFTER = re.compile(r"\W*(?:(?:be|been|being|any|a|an|the|to|have|has|able)\W+)*([a-z]{2,})")


@cache
def _negation() -> re.Pattern[str]:
    return re.compile(
        r"ません|な(?:い|かった)(?![かで]す?か)|(?<=[がはもかられせてけえめべきし])なく|[無]い|[無]く"
        r"|(?<=[一-龥ァ-ヶー])なし|(?:を|が|は|も)せず|(?<=[らかさたばながわえけせてねべめれげぜ])ず(?:に|[、。]?$)"
        r"|なくて(?:も)?(?:よ|良|い[いで]|構|かま|大丈夫|結構)|かね(?:ます|る)|不可|不要|無効|禁止|対象外"
        r"|\bnot\b|n't\b|\bcannot\b|\bno\b|\bnever\b|\bneither\b|\bnor\b|\bwithout\b|\bunable to\b|\bnone\b"
        r"|\bavoid\b|\brefrain\b"
    )


@cache
def _content_before() -> re.Pattern[str]:
    return re.compile(r"([一-龥々ァ-ヶーa-z0-9]{1,4})[ぁ-ん]{0,8}$")


def negated_words(clause: str) -> tuple[str, ...]:
    """What a clause negates, a word or stem per negation ('' where none is found): () affirms.

        解約できません                 -> ("解約",)
        you cannot cancel              -> ("cancel",)
        無料ではなく有料です           -> ("無料",)
        連絡しなければなりません       -> (), an obligation

    Two texts that negate different words contradict each other, perhaps; one that negates twice is compared
    word by word. A clause of more than `LONGEST` characters denies nothing.
    """
    plain = normalise(clause)
    if len(plain) > LONGEST:
        return ()
    plain = _only_form().sub(" ", plain)
    return tuple(_negated_word(plain, match) for match in _negation().finditer(plain))


def _negated_word(plain: str, negation: re.Match[str]) -> str:
    """In Japanese the word before the negation, elsewhere the one after it."""
    if not negation[0].isascii():
        before = _content_before().search(plain[max(0, negation.start() - 12) : negation.start()])
        return before[1] if before else ""
    after = _WORD_AFTER.match(plain, negation.end())
    return after[1] if after else ""
