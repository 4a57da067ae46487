"""Whether a clause says that something is so, or that it is not: できます against できません."""

import re
from collections.abc import Iterable
from functools import lru_cache
from itertools import zip_longest
from typing import NamedTuple

from simulator.counting.segments import CJK, clauses, normalise, sentences
from simulator.counting.units import count_units, unit_weight

# Negative in form only: obligations, invitations, "perhaps", politeness, words that merely contain ない.
_ONLY_FORM = re.compile(
    r"な(?:ければ|くては|いと)(?:なら|なり|いけ|だめ)(?:ない|ません)?|(?:か|か)も(?:しれ|知れ)(?:ない|ません)"
    r"|ざるを得(?:ない|ません)|に(?:ほか|他)なら(?:ない|ず|なかった|ません)|(?:だけ|のみ|ばかり)(?:で(?:は)?)?(?:なく|ありません|ない)"
    r"|(?:ません|ない)(?:でしょう|です)?か|(?:じゃ|では)ない(?:です|でしょう)か"
    r"|すみません|申し訳(?:ござい|あり)ません|申し訳(?:ない|なく)|とんでもない"
    r"|(?:問題|差し支え|差支え|支障|心配|遠慮|間違い)(?:は|が)?(?:ない|なく|なし|ありません|ございません|いりません)"
    r"|(?:構い|かまい)ません|(?:構わ|かまわ)(?:ない|ず)|少な[いくか]|危な[いくか]|(?:間|ま)もなく|なくな[るりっら]|となし"
    r"|やむを得(?:ない|ず)|にも(?:かか|関|拘)わらず|とは限ら(?:ない|ず|ません)|のみならず|相変わらず|必ず|まず|はず"
    r"|\bnot (?:only|just|merely)\b|\bwhether or not\b|\bno\. ?\d|\bno (?:doubt|problem|matter|longer than)\b"
)
_NEGATION = re.compile(
    r"ません|な(?:い|かった)(?![かで]す?か)|(?<=[がはもかられせてけえめべきし])なく|[無]い|[無]く"
    r"|(?<=[一-龥ァ-ヶー])なし|(?:を|が|は|も)せず|(?<=[らかさたばながわえけせてねべめれげぜ])ず(?:に|[、。]?$)"
    r"|かね(?:ます|る)|不可|不要|無効|禁止|対象外"
    r"|\bnot\b|n't\b|\bcannot\b|\bno\b|\bnever\b|\bneither\b|\bnor\b|\bwithout\b|\bunable to\b|\bnone\b"
)
_CONTENT_BEFORE = re.compile(r"([一-龥々ァ-ヶーa-z0-9]{1,4})[ぁ-ん]{0,8}$")
_WORD_AFTER = re.compile(r"\W*(?:(?:be|been|being|any|a|an|the|to|have|has|able)\W+)*([a-z]{2,})")
_QUESTION = re.compile(r"[?？]|(?:です|ます|でしょう|ません)か[。.]?$")
_REPLY = re.compile(
    r"(?:[^:：、。\s]{1,10}[:：]\s*)?(?:(はい|ええ|yes\b)|(いいえ|いえ\b|no\b(?=[,. ]|$)))", re.IGNORECASE
)
# A clause is compared with the known clause that shares most with it, if that is at least this share of it.
ALIKE = 0.7


class Clause(NamedTuple):
    """A clause, its units, whether it denies (None: a question leaves that open), and what it denies."""

    text: str
    units: frozenset[str]
    denies: bool | None
    denied: tuple[str, ...] = ()


def denied(clause: str) -> tuple[str, ...]:
    """What a clause negates, a word or stem per negation ('' where none is found): () affirms."""
    plain = _ONLY_FORM.sub(" ", normalise(clause))
    return tuple(_focus(plain, match) for match in _NEGATION.finditer(plain))


@lru_cache(maxsize=512)
def stated(text: str) -> tuple[Clause, ...]:
    """The clauses of a text. A question states what the はい or いいえ after it makes of it."""
    found: list[Clause] = []
    pieces = sentences(text)
    for piece, following in zip_longest(pieces, pieces[1:], fillvalue=""):
        asked = bool(_QUESTION.search(piece))
        reply = _REPLY.match(following) if asked else None
        for clause in clauses(piece):
            what, units = denied(clause), frozenset(count_units(clause))
            if not units:
                continue
            denies = len(what) % 2 == 1
            if not asked:
                found.append(Clause(clause, units, denies, what))
            else:
                found.append(Clause(clause, units, denies ^ bool(reply[2]) if reply else None))
    return tuple(found)


def contradicts(clause: str, known: Iterable[Clause]) -> bool:
    """Whether the most similar known clause says the opposite of the same thing.

    Similar: at least `ALIKE` of the clause's content, by weight, is shared. The same thing: what one
    side denies also occurs on the other.
    """
    weights = {unit: unit_weight(unit) * count for unit, count in count_units(clause).items()}
    best, nearest = 0.0, None
    for other in known:
        shared = sum(weights[unit] for unit in weights.keys() & other.units)
        if shared > best:
            best, nearest = shared, other
    if nearest is None or nearest.denies is None or best < ALIKE * sum(weights.values()):
        return False
    what = denied(clause)
    if (len(what) % 2 == 1) == nearest.denies:
        return False
    if what:
        return any(word in normalise(nearest.text) for word in what)
    return any(word in normalise(clause) for word in nearest.denied) or not nearest.denied


def _focus(plain: str, negation: re.Match[str]) -> str:
    if re.match(f"[{CJK}]", negation[0]):
        before = _CONTENT_BEFORE.search(plain[: negation.start()])
        return before[1] if before else ""
    after = _WORD_AFTER.match(plain[negation.end() :])
    return after[1] if after else ""
