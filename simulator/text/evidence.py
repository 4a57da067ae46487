"""How far texts support each other: passages an answer, an answer a reference or a question.

First the units that texts are compared by, then clauses and what contradicts them, then support by passages
and agreement with a reference, and last all of it about one turn (TurnEvidence).
"""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from itertools import pairwise, zip_longest
from sys import intern
from typing import Literal, NamedTuple

from simulator.core.types import Case, GradingContext, Language
from simulator.text.acts import (
    Stance,
    apologises,
    claims,
    is_handover,
    is_refusal,
    parts,
    stance,
    without_conditions,
)
from simulator.text.numerals import Quantity, quantities, unmatched
from simulator.text.segments import CJK, clauses, normalise, sentences, tokens
from simulator.text.wording import wording

# Weights of a single token; a pair of neighbours weighs half the mean of its two. Hiragana and stop words are
# not worthless: a copied sentence shares them too, an invented one does not.
CONTENT, HIRAGANA, STOP, PAIR = 1.0, 0.5, 0.2, 0.5

_FUNCTION_WORDS = """
    a about above after again all also am an and any are as at be because been before being below between
    both but by can could did do does doing down during each few for from further had has have having he
    her here hers him his how i if in into is it its itself just may me might more most must my no nor not
    now of off on once one only or other our ours out over own please shall she should so some such than
    that the their other_side them then there these they this those through to too under until up upon us very
    was we were what when where which while who whom why will with would yes you your yours it's i'm i'd
    i'll i've we're we've we'll you're you'll you've that's there's they're let's don't doesn't didn't
    can't cannot couldn't won't wouldn't isn't aren't wasn't weren't shouldn't haven't hasn't
"""
STOP_WORDS = frozenset(_FUNCTION_WORDS.split())
CJK_TEXT = re.compile(f"[{CJK}]")
_HIRAGANA = re.compile("[\u3041-\u309f\u30fc]")
_BETWEEN = "\t"


@lru_cache(maxsize=16384)
def stem(word: str) -> str:
    """A word without the commonest English endings: charge, charges, charged, charging give charg."""
    plain = word.removesuffix("'s")
    for ending in ("ing", "ed", "es", "s", "ly"):
        if plain.endswith(ending) and len(plain) - len(ending) >= 3 and not plain.endswith("ss"):
            plain = plain.removesuffix(ending)
            break
    if len(plain) > 3 and plain[-1] == plain[-2]:
        plain = plain[:-1]
    if len(plain) > 2 and plain.endswith("i"):
        plain = plain[:-1] + "y"
    return plain.removesuffix("e") if len(plain) > 3 else plain


def count_units(text: str) -> Counter[str]:
    """How often a text has each unit: its characters (CJK) or word stems, and their neighbouring pairs."""
    found = [token if token in STOP_WORDS else stem(token) for token in tokens(text)]
    # Interned: thousands of passages share most of their pairs.
    return Counter(map(intern, [*found, *map(_BETWEEN.join, pairwise(found))]))


@lru_cache(maxsize=1024)
def content_units(text: str) -> Counter[str]:
    """The units of a text, remembered. The counter is shared between callers and must not be changed."""
    return count_units(text)


@lru_cache(maxsize=512)
def topic_units(text: str) -> Counter[str]:
    """The units that carry content: those with a kanji, a katakana or a word that is no stop word.

    A text of grammar alone keeps all its units. The counter is shared and must not be changed.
    """
    units = content_units(text)
    topical = {unit: count for unit, count in units.items() if _is_topical(unit)}
    return Counter(topical) or units


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
    return sum(unit_weight(unit) * count for unit, count in units.items())


def share(units: Mapping[str, int], within: Collection[str]) -> float:
    """The share (0..1), by weight, of `units` that are also in `within`; 1 for no units at all.

    Of an answer in its passages this is precision, of a reference in an answer it is recall.
    """
    whole = total_weight(units)
    if not whole:
        return 1.0
    return sum(unit_weight(unit) * count for unit, count in units.items() if unit in within) / whole


@lru_cache(maxsize=1024)
def trigrams(text: str) -> frozenset[str]:
    """The runs of three tokens of a text in CJK characters, where a shorter match may be chance."""
    found = tokens(text)
    return frozenset(map("".join, _triples(found))) if _is_cjk(found) else frozenset()


def trigram_share(text: str, known: Collection[str]) -> float:
    """The share (0..1) of a text's tokens that lie in a run of three which is also in `known`."""
    found, covered = tokens(text), set[int]()
    for at, triple in enumerate(_triples(found)):
        if "".join(triple) in known:
            covered.update((at, at + 1, at + 2))
    return len(covered) / len(found) if found else 1.0


def _triples(found: list[str]) -> Iterator[tuple[str, str, str]]:
    return zip(found, found[1:], found[2:], strict=False)


def _is_cjk(found: list[str]) -> bool:
    return 2 * sum(bool(CJK_TEXT.match(token)) for token in found) > len(found)


def _is_topical(unit: str) -> bool:
    return any(part not in STOP_WORDS and not _HIRAGANA.match(part) for part in unit.split(_BETWEEN))


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


class SentenceContext(NamedTuple):
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
    negated_words: tuple[str, ...]
    stance: Stance
    whole: SentenceContext
    supposes: bool = False


def negated_words(clause: str) -> tuple[str, ...]:
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
def stated_clauses(text: str) -> tuple[Clause, ...]:
    """The clauses of a text. A question states what the はい or いいえ after it makes of it."""
    found: list[Clause] = []
    pieces = sentences(text)
    for piece, following in zip_longest(pieces, pieces[1:], fillvalue=""):
        asked = bool(_QUESTION.search(piece))
        found += _clauses(piece, _REPLY.match(following) if asked else None, asked=asked)
    return tuple(found)


def _clauses(sentence: str, reply: re.Match[str] | None, *, asked: bool) -> Iterator[Clause]:
    parts = clauses(sentence)
    negations = [negated_words(part) for part in parts]
    odd = sum(map(len, negations)) % 2 == 1
    whole = SentenceContext(count_units(sentence), stance(sentence), odd)
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
    if clause.supposes or nearest.supposes or min(len(clause.negated_words), len(nearest.negated_words)) > 1:
        return False
    if clause.negated_words:
        return any(_occurs(word, nearest.text) for word in clause.negated_words)
    return any(_occurs(word, clause.text) for word in nearest.negated_words) or not nearest.negated_words


def _other_side(clause: Clause, known: Iterable[Clause]) -> bool:
    """The side of a figure, or for a fee against free of charge."""
    side, is_fee = clause.stance, clause.stance.charged is not None
    if not side.bounds and not is_fee:
        return False
    units = count_units(side.rest)
    same = opposite = 0.0
    for other in known:
        other_side = other.stance
        turned = any(bound.opposite in other_side.bounds for bound in side.bounds)
        agrees = bool(side.bounds & other_side.bounds)
        if is_fee and other_side.charged is not None and not _is_elsewhere(clause, other):
            turned |= other_side.charged != side.charged
            agrees |= other_side.charged == side.charged
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


# What is left of a sentence's support when all its numbers are missing, or some of it is contradicted.
MISSING_NUMBER, CONTRADICTED = 0.5, 0.5
# A claim of this much weight of which less than this share is found is invented.
SOME_LENGTH, INVENTED = 6, 0.3
# How much runs of characters count beside single ones and pairs, in a script without spaces.
RUNS = 0.7
# What is left of the agreement with a reference: another figure or the opposite is wrong, a figure left out
# is only incomplete.
WRONG_NUMBER, WRONG_SIDE, LEFT_OUT = 0.2, 0.2, 0.8
# An answer may say more than its reference; what it leaves out counts nine times as much.
RECALL = 0.9
# Clauses of less content than this are not reported as left out.
WORTH_SAYING = 3
# Clauses are compared each with each: beyond these many the rest is taken not to contradict.
MOST_CLAUSES, MOST_KNOWN = 200, 2000


class SentenceSupport(NamedTuple):
    """One sentence: the share (0..1) of it that is borne out, its weight, and what speaks against it."""

    text: str
    share: float
    weight: float
    numbers: tuple[Quantity, ...] = ()
    contradicted: tuple[str, ...] = ()
    missing: float = 0.0

    @property
    def is_invented(self) -> bool:
        """Whether hardly anything is found of a sentence of some length, however good the rest is."""
        return self.share < INVENTED and self.weight >= SOME_LENGTH

    @property
    def support(self) -> float:
        """The share found, less what missing numbers (`missing` of all) and contradictions take from it."""
        kept = 1 - (1 - MISSING_NUMBER) * self.missing
        return self.share * kept * (CONTRADICTED if self.contradicted else 1)


class Support(NamedTuple):
    """What the passages bear out of an answer.

    `score` covers every sentence; `claims` are the findings on those that state something, and `beside`
    those on what an answer declines to say beside its claims.
    """

    score: float
    claims: tuple[SentenceSupport, ...]
    beside: tuple[SentenceSupport, ...] = ()

    @property
    def claimed(self) -> float:
        """The supported share of what is claimed, and declined beside it, by weight; 1 when nothing is."""
        return _pooled((*self.claims, *self.beside))

    @property
    def invented(self) -> float:
        """The share (0..1) by weight of claims of some length that are hardly found at all."""
        whole = sum(claim.weight for claim in self.claims)
        return sum(claim.weight for claim in self.claims if claim.is_invented) / whole if whole else 0.0

    @property
    def numbers(self) -> tuple[Quantity, ...]:
        """Numbers that no passage has."""
        return tuple(dict.fromkeys(number for claim in self.claims for number in claim.numbers))

    @property
    def contradicted(self) -> tuple[str, ...]:
        """Clauses of which a passage says the opposite."""
        return tuple(clause for claim in self.claims for clause in claim.contradicted)


class Agreement(NamedTuple):
    """How far an answer says what a reference says: `score` and `recall` 0..1, and what differs.

    `missing` are clauses and `numbers` amounts of the reference, `instead` the amounts in the same units
    that the answer gives and the reference does not, `contradicted` clauses with the opposite sense.
    """

    score: float
    recall: float
    missing: tuple[str, ...] = ()
    numbers: tuple[Quantity, ...] = ()
    instead: tuple[Quantity, ...] = ()
    contradicted: tuple[str, ...] = ()


class PassageContents(NamedTuple):
    """What some passages hold: units, runs of characters, clauses and numbers."""

    units: frozenset[str]
    trigrams: frozenset[str]
    clauses: tuple[Clause, ...]
    numbers: frozenset[Quantity]


@lru_cache(maxsize=512)
def support(answer: str, passages: tuple[str, ...], language: Language, asked: str = "") -> Support:
    """What these passages support of an answer, by sentence; the customer's own numbers count as known."""
    known = passage_contents(passages)
    known = known._replace(numbers=known.numbers | quantities(asked))
    findings = {sentence: sentence_support(sentence, known) for sentence in sentences(answer)}
    stating = [findings.get(claim) or sentence_support(claim, known) for claim in claims(answer, language)]
    declined = [part.text for part in parts(answer, language) if part.act == "refusal"] if stating else []
    if declined and is_refusal(answer, language):
        declined = []
    beside = tuple(findings.get(text) or sentence_support(text, known) for text in declined)
    return Support(_pooled(findings.values()), tuple(stating), beside)


@lru_cache(maxsize=1024)
def agreement(answer: str, reference: str, language: Language) -> Agreement:
    """How far an answer says what a reference says, without regard to order and to what it says beside."""
    outcomes = {_outcome(answer, language), _outcome(reference, language)}
    if outcomes != {"answer"}:
        score = 1.0 if len(outcomes) == 1 else 0.05 if "answer" in outcomes else 0.4
        return Agreement(score, float(len(outcomes) == 1))
    body, reference_body = without_courtesies(answer, language), without_courtesies(reference, language)
    reference_units, answer_units = topic_units(reference_body), topic_units(body)
    if not reference_units:
        is_there = float(normalise(reference).strip() in normalise(answer))
        return Agreement(is_there, is_there)
    recall, precision = (
        share(reference_units, content_units(body)),
        share(answer_units, content_units(reference_body)),
    )
    missing = unmatched(_amounts(reference_body), quantities(body))
    others = unmatched(quantities(body), quantities(reference_body))
    instead = _instead(unmatched(quantities(reference_body), quantities(body)), others)
    against = _denied(body, stated_clauses(reference_body)) or _denied(reference_body, stated_clauses(body))
    score = RECALL * recall + (1 - RECALL) * precision
    score *= (WRONG_NUMBER if instead else LEFT_OUT if missing else 1) * (WRONG_SIDE if against else 1)
    left_out = tuple(clause for clause in clauses_of(reference_body) if _is_left_out(clause, body))
    return Agreement(score, recall, left_out, tuple(missing), tuple(instead), tuple(against))


def best_agreement(answer: str, references: Iterable[str], language: Language) -> Agreement:
    """The agreement with the nearest reference; none without references."""
    found = (agreement(answer, reference, language) for reference in references)
    return max(found, key=lambda each: each.score, default=Agreement(0.0, 0.0))


def coverage(question: str, texts: Iterable[str]) -> float:
    """The share (0..1) of a question's content that these texts take up."""
    return share(topic_units(question), frozenset().union(*(content_units(text) for text in texts)))


def clauses_of(text: str) -> list[str]:
    """All clauses of a text."""
    return [clause for sentence in sentences(text) for clause in clauses(sentence)]


@lru_cache(maxsize=128)
def passage_contents(passages: tuple[str, ...]) -> PassageContents:
    """What these passages hold, remembered."""
    return PassageContents(
        frozenset().union(*(content_units(text) for text in passages)),
        frozenset().union(*(trigrams(text) for text in passages)),
        tuple(clause for text in passages for clause in stated_clauses(text)),
        frozenset().union(*(quantities(text) for text in passages)),
    )


def sentence_support(sentence: str, known: PassageContents) -> SentenceSupport:
    """How far passages support a sentence, and what speaks against it."""
    units, amounts = count_units(sentence), quantities(sentence)
    numbers = unmatched(amounts, known.numbers)
    found = share(units, known.units)
    if trigrams(sentence):
        found = RUNS * trigram_share(sentence, known.trigrams) + (1 - RUNS) * found
    against = tuple(_denied(sentence, known.clauses))
    missing = len(numbers) / len(amounts) if amounts else 0.0
    return SentenceSupport(sentence, found, total_weight(units), tuple(numbers), against, missing)


def _outcome(text: str, language: Language) -> str:
    if not is_refusal(text, language):
        return "answer"
    return "handover" if is_handover(text, language) else "refusal"


def _is_left_out(clause: str, answer: str) -> bool:
    """Whether the answer lacks most of a clause that says something."""
    units = topic_units(clause)
    return total_weight(units) >= WORTH_SAYING and share(units, content_units(answer)) < 0.5


def _instead(lacking: Iterable[Quantity], others: Iterable[Quantity]) -> list[Quantity]:
    """The other amounts that stand where a lacking one was expected: those of its kind."""
    kinds = {quantity.kind for quantity in lacking} - {""}
    return [quantity for quantity in others if quantity.kind in kinds]


def _amounts(text: str) -> frozenset[Quantity]:
    """The numbers with a unit; where there are none, all of them (a telephone number alone is the answer)."""
    found = quantities(text)
    return frozenset(quantity for quantity in found if quantity.unit) or found


def _denied(text: str, known: tuple[Clause, ...]) -> list[str]:
    compared = known[:MOST_KNOWN]
    return [clause.text for clause in stated_clauses(text)[:MOST_CLAUSES] if contradicts(clause, compared)]


def _pooled(findings: Iterable[SentenceSupport]) -> float:
    weighed = [(finding.support, finding.weight) for finding in findings]
    whole = sum(weight for _, weight in weighed)
    return sum(share * weight for share, weight in weighed) / whole if whole else 1.0


def without_courtesies(text: str, language: Language) -> str:
    """The text without its courtesies; all of it when there is nothing else."""
    rest = [part.text for part in parts(text, language) if part.act != "courtesy"]
    return "\n".join(rest) or text


# What an unrelated answer shares with a question all the same (median on the bundled questions).
CHANCE: dict[Language, float] = {"ja": 0.2, "en": 0.1}
# An answer that shares this much with an earlier one, both ways, repeats it.
REPEATS = 0.9
# From this agreement with the reference on, a customer has what they came for.
ANSWERED = 0.45

ExpectedResponse = Literal["comfort", "refuse", "answer"]


def expected_response(case: Case) -> ExpectedResponse:
    """What a right answer does: `comfort` a complaint, `refuse` the unanswerable, or `answer`.

    A complaint is a case that must be handed over and has no answerability; without answerability, a
    case is unanswerable when all its references decline.
    """
    if case.answerable is None and case.handover == "required":
        return "comfort"
    known = all_references(case)
    declined = bool(known) and all(is_refusal(text, case.language) for text in known)
    return "refuse" if case.answerable is False or (case.answerable is None and declined) else "answer"


def all_references(case: Case) -> tuple[str, ...]:
    """The references of all turns."""
    return tuple(text for row in case.references for text in row)


class TurnEvidence:
    """What can be counted about one turn, cached by text so that judges share it."""

    def __init__(self, context: GradingContext) -> None:
        """Nothing is counted before it is asked for."""
        self.context, self.case = context, context.case
        self.language = context.case.language
        self.answer = context.turn.answer.text
        self.passages = tuple(passage.text for passage in context.turn.answer.passages)
        self.say = wording(self.language)

    @cached_property
    def refused(self) -> bool:
        """Whether the answer is a refusal to answer, or nothing but a handover."""
        return is_refusal(self.answer, self.language)

    @cached_property
    def handed_over(self) -> bool:
        """Whether the bot passes the customer on to a person."""
        return is_handover(self.answer, self.language)

    @cached_property
    def apologises(self) -> bool:
        """Whether it says sorry."""
        return apologises(self.answer, self.language)

    @cached_property
    def has_contact(self) -> bool:
        """Whether it names somebody to turn to."""
        return any(part.act in {"referral", "handover"} for part in parts(self.answer, self.language))

    @cached_property
    def only_asks(self) -> bool:
        """Whether it asks back and states nothing."""
        acts = {part.act for part in parts(self.answer, self.language)}
        return "question" in acts and acts <= {"question", "courtesy"}

    @cached_property
    def support(self) -> Support:
        """How far this turn's passages support the answer."""
        return support(self.answer, self.passages, self.language, self.context.turn.user)

    @cached_property
    def agreement(self) -> Agreement:
        """How far it says what the nearest reference of this turn says."""
        return best_agreement(self.answer, self.context.references, self.language)

    @cached_property
    def relevance(self) -> float:
        """The share (0..1, less what chance gives) of the need that the answer or its source takes up.

        The need is what was said in this turn, the case's question or its goal, whichever is met best;
        what agrees with the reference is relevant in other words.
        """
        chance = CHANCE[self.language]
        return max(0.0, (self.covered - chance) / (1 - chance), self.agreement.recall / 2)

    @cached_property
    def covered(self) -> float:
        """The share (0..1) of the need's content in the answer, or in it and the passage it is taken from.

        The passage counts as far as the answer's own words are in it.
        """
        needs = [self.context.turn.user, self.case.question, *filter(None, [self.case.goal])]
        met = max(coverage(need, [self.answer]) for need in needs)
        if not self.passages:
            return met
        source = max(self.passages, key=lambda text: share(self._units, content_units(text)))
        taken = share(self._units, content_units(source))
        return max(met, taken * max(coverage(need, [self.answer, source]) for need in needs))

    @cached_property
    def expected(self) -> ExpectedResponse:
        """What a right answer does."""
        return expected_response(self.case)

    @cached_property
    def repeats(self) -> bool:
        """Whether an earlier answer of the conversation said nearly the same."""
        if self.refused or self.only_asks:
            return False
        units = count_units(without_courtesies(self.answer, self.language))
        earlier = [
            count_units(without_courtesies(turn.answer.text, self.language)) for turn in self.context.earlier
        ]
        return any(min(share(units, other), share(other, units)) >= REPEATS for other in earlier if other)

    @cached_property
    def contradicts_itself(self) -> bool:
        """Whether it says the opposite of what an earlier answer said."""
        earlier = [clause for turn in self.context.earlier for clause in stated_clauses(turn.answer.text)]
        clauses_now = stated_clauses(self.answer)[:MOST_CLAUSES] if earlier else ()
        return any(contradicts(clause, earlier[-MOST_KNOWN:]) for clause in clauses_now)

    @cached_property
    def already_answered(self) -> bool:
        """Whether an earlier turn gave the answer that the case's reference gives."""
        earlier = (turn.answer.text for turn in self.context.earlier)
        return any(best_agreement(text, self.known, self.language).score >= ANSWERED for text in earlier)

    @property
    def known(self) -> tuple[str, ...]:
        """The references of all turns of the case."""
        return all_references(self.case)

    @cached_property
    def reference_refuses(self) -> bool:
        """Whether the references of this turn decline to answer, or hand over."""
        references = self.context.references
        return bool(references) and all(is_refusal(text, self.language) for text in references)

    @cached_property
    def evidence(self) -> Support:
        """How far passages and references together support the answer: the rest is invented."""
        known = (*self.passages, *self.context.references)
        return support(self.answer, known, self.language, self.context.turn.user)

    def shown(self, numbers: Iterable[Quantity]) -> list[str]:
        """Numbers as people of the case's language write them."""
        return [number.shown(self.language) for number in numbers]

    @property
    def _units(self) -> Counter[str]:
        return content_units(self.answer)
