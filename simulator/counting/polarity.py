"""Whether a clause says that something is so, or that it is not: できます against できません."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import zip_longest
from typing import NamedTuple

from simulator.counting.segments import CJK, clauses, normalise, sentences
from simulator.counting.stances import Stance, stance, without_conditions
from simulator.counting.units import count_units, share, unit_weight

# Negative in form only: obligations, invitations, "perhaps", politeness, words that merely contain ない.
_ONLY_FORM = re.compile(
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
_NEGATION = re.compile(
    r"ません|な(?:い|かった)(?![かで]す?か)|(?<=[がはもかられせてけえめべきし])なく|[無]い|[無]く"
    r"|(?<=[一-龥ァ-ヶー])なし|(?:を|が|は|も)せず|(?<=[らかさたばながわえけせてねべめれげぜ])ず(?:に|[、。]?$)"
    r"|なくて(?:も)?(?:よ|良|い[いで]|構|かま|大丈夫|結構)|かね(?:ます|る)|不可|不要|無効|禁止|対象外"
    r"|\bnot\b|n't\b|\bcannot\b|\bno\b|\bnever\b|\bneither\b|\bnor\b|\bwithout\b|\bunable to\b|\bnone\b"
    r"|\bavoid\b|\brefrain\b"
)
_CONTENT_BEFORE = re.compile(r"([一-龥々ァ-ヶーa-z0-9]{1,4})[ぁ-ん]{0,8}$")
_WORD_AFTER = re.compile(r"\W*(?:(?:be|been|being|any|a|an|the|to|have|has|able)\W+)*([a-z]{2,})")
# What is to be checked is open, like a question; a topic alone states nothing.
_OPEN = re.compile(
    r"^(?:please )?(?:verify|make sure|ensure|check|confirm)\b"
    r"|か(?:どうか)?(?:を|は)?(?:ご)?確認"
)
_TOPIC = re.compile(r"(?:[はもをにの]|(?<![すんたいるだ])が|に関して|について|[一-龥ァ-ヶー])、$")
_QUESTION = re.compile(r"[?？]|(?:です|ます|でしょう|ません)か[。.]?$")
_REPLY = re.compile(
    r"(?:[^:：、。\s]{1,10}[:：]\s*)?(?:(はい|ええ|yes\b)|(いいえ|いえ\b|no\b(?=[,. ]|$)))", re.IGNORECASE
)
# A clause is compared with the known clause that shares most with it, if that is at least this share of it.
ALIKE = 0.7


# A figure or a fee is about the same thing when so much of the clause, and of its whole sentence, is shared.
SAME_CLAUSE, SAME_SENTENCE = 0.6, 0.4
# Something known that agrees outweighs what disagrees, unless that is alike by so much more.
NEARER = 0.15


class Whole(NamedTuple):
    """The sentence of a clause: its units, the sides it takes, and whether it denies on the whole."""

    units: Counter[str]
    stance: Stance
    denies: bool


class Clause(NamedTuple):
    """A clause, its units, whether it denies (None: that is open, as in a question), and what it denies.

    `supposes` says whether it denies something in a condition: "if you cannot log in".
    """

    text: str
    units: Counter[str]
    denies: bool | None
    denied: tuple[str, ...]
    stance: Stance
    whole: Whole
    supposes: bool = False


def denied(clause: str) -> tuple[str, ...]:
    """What a clause negates, a word or stem per negation ('' where none is found): () affirms.

    Being free of charge is no negation here, nor is what is only supposed.
    """
    plain = _ONLY_FORM.sub(" ", without_conditions(stance(clause).rest))
    return tuple(_focus(plain, match) for match in _NEGATION.finditer(plain))


def _supposes(clause: str) -> bool:
    plain = stance(clause).rest
    outside = without_conditions(plain)
    return outside != plain and len(_NEGATION.findall(plain)) > len(_NEGATION.findall(outside))


@lru_cache(maxsize=512)
def stated(text: str) -> tuple[Clause, ...]:
    """The clauses of a text. A question states what the はい or いいえ after it makes of it."""
    found: list[Clause] = []
    pieces = sentences(text)
    for piece, following in zip_longest(pieces, pieces[1:], fillvalue=""):
        asked = bool(_QUESTION.search(piece))
        found += _clauses(piece, _REPLY.match(following) if asked else None, asked=asked)
    return tuple(found)


def _clauses(sentence: str, reply: re.Match[str] | None, *, asked: bool) -> Iterator[Clause]:
    parts = clauses(sentence)
    negations = [denied(part) for part in parts]
    odd = sum(map(len, negations)) % 2 == 1
    whole = Whole(count_units(sentence), stance(sentence), odd)
    for part, what in zip(parts, negations, strict=True):
        if not (units := count_units(part)):
            continue
        denies, side = len(what) % 2 == 1, stance(part)
        if not asked:
            is_open = _OPEN.search(part.lower()) or (not what and _TOPIC.search(part))
            yield Clause(part, units, None if is_open else denies, what, side, whole, _supposes(part))
            continue
        says_no = bool(reply and reply[2])
        charged = None if reply is None or side.charged is None else side.charged ^ says_no
        answered = denies ^ says_no if reply else None
        yield Clause(part, units, answered, (), side._replace(charged=charged), whole)


def contradicts(clause: Clause, known: Sequence[Clause]) -> bool:
    """Whether something known says the opposite of the same thing.

    A side of a figure or of a fee is compared with what is most similar and takes one, a yes or no with the
    most similar clause at all. What holds for other figures, or on the other side of them, is another thing.
    """
    return _other_side(clause, known) or _denies(clause, known)


def _denies(clause: Clause, known: Iterable[Clause]) -> bool:
    """The yes or no: at least `ALIKE` of the content is shared, and what one side denies is on the other."""
    weights = {unit: unit_weight(unit) * count for unit, count in clause.units.items()}
    best, nearest = 0.0, None
    for other in known:
        shared = sum(weights[unit] for unit in weights.keys() & other.units.keys())
        if shared > best:
            best, nearest = shared, other
    if nearest is None or nearest.denies is None or best < ALIKE * sum(weights.values()):
        return False
    if clause.denies is None or clause.denies == nearest.denies or _is_elsewhere(clause, nearest):
        return False
    if clause.supposes or nearest.supposes or min(len(clause.denied), len(nearest.denied)) > 1:
        return False
    if clause.denied:
        return any(_occurs(word, nearest.text) for word in clause.denied)
    return any(_occurs(word, clause.text) for word in nearest.denied) or not nearest.denied


def _other_side(clause: Clause, known: Iterable[Clause]) -> bool:
    """The side of a figure, or for a fee against free of charge."""
    mine, is_fee = clause.stance, clause.stance.charged is not None
    if not mine.bounds and not is_fee:
        return False
    units = count_units(mine.rest)
    same = opposite = 0.0
    for other in known:
        theirs = other.stance
        turned = any(bound.opposite in theirs.bounds for bound in mine.bounds)
        agrees = bool(mine.bounds & theirs.bounds)
        if is_fee and theirs.charged is not None and not _is_elsewhere(clause, other):
            turned |= theirs.charged != mine.charged
            agrees |= theirs.charged == mine.charged
        if not (turned or agrees):
            continue
        alike, around = share(units, other.whole.units), share(clause.whole.units, other.whole.units)
        if alike < SAME_CLAUSE or around < SAME_SENTENCE:
            continue
        if turned and not agrees and not _is_converse(clause, other):
            opposite = max(opposite, alike + around)
        else:
            same = max(same, alike + around)
    return opposite > same + NEARER if same else opposite > 0


def _is_elsewhere(one: Clause, other: Clause) -> bool:
    """Whether the two sentences name sides of figures, and none in common: they speak of other situations."""
    here, there = one.whole.stance.bounds, other.whole.stance.bounds
    return bool(here and there and not here & there)


def _is_converse(one: Clause, other: Clause) -> bool:
    """Whether the consequence is turned with the figure: free within 8 days, for a fee after 8 days."""
    here, there = one.whole, other.whole
    fees = {here.stance.charged, there.stance.charged}
    return not (one.stance.bounds and not other.stance.bounds) and (
        (one.stance.charged is None and fees == {True, False}) or here.denies != there.denies
    )


def _occurs(word: str, text: str) -> bool:
    """Whether a negated word is in a text, be it with another English ending: apply, applies."""
    stem = word.rstrip("ye") if len(word) > 3 and word.isascii() else word
    return stem in normalise(text)


def _focus(plain: str, negation: re.Match[str]) -> str:
    if re.match(f"[{CJK}]", negation[0]):
        before = _CONTENT_BEFORE.search(plain[: negation.start()])
        return before[1] if before else ""
    after = _WORD_AFTER.match(plain[negation.end() :])
    return after[1] if after else ""
