"""Language match: is the answer in the customer's language? Script and function words decide."""

import re
import tomllib
from collections import Counter, defaultdict
from pathlib import Path

from simulator.extending import GradingContext, Score, Texts, nfkc, straight

SCALE = (0, 1)
TEXTS = Texts(Path(__file__).with_name("_language_match.toml"))
# An answer with this share in the customer's language matches; with at most the rest it does not.
MATCHED = 0.8
# The customer's words are in a language from this share on; otherwise the case's counts.
WRITTEN_IN = 0.6
# Kanji without kana are a Japanese word or address up to here; in a longer text a word of Chinese tells.
KANJI_ALONE = 6
# A text has this share of kana among its kana and kanji at the least to be Japanese.
LEAST_KANA = 0.15
# A sentence in Latin script has so much evidence for its language: a function word that no other has is 1.
LEAST_EVIDENCE = 0.5
# The same for one amid other writing, which has names and terms in it.
AMID_OTHERS = 2.0
# A word with accents that is in no list, and a word of what desks talk about.
HALF = 0.5

_LEFT_OUT = re.compile(
    r"```.{0,4000}?```|`[^`\n]{1,200}`|(?:https?|ftp)://[!-~]+|[\w.+-]{1,64}@[\w-]{1,64}(?:\.[\w-]{1,64}){1,8}"
    r"|(?<![\w.])[\w-]{1,64}(?:[./_][\w-]{1,64}){1,8}",
    re.DOTALL | re.ASCII,
)
_QUOTED = re.compile(
    r"^>[^\n]*|「[^「」\n]{1,400}」|『[^『』\n]{1,400}』|\"[^\"\n]{1,400}\"|\([^()\n]{1,20}\)",
    re.MULTILINE,
)
_SENTENCE = re.compile(r"[。！？!?\n]+|(?<=[a-z])[.:;]\s")
_WORD = re.compile(r"(?<!\w)[^\W\d_]+(?:['-][^\W\d_]+)*\d*")
_KANA = re.compile(r"[\u3041-\u3096\u30a1-\u30fa\u30fc]")
_HAN = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff\U00020000-\U0003ffff]")
_LATIN_END = "\u0250"
_HANGUL = re.compile(r"[\u1100-\u11ff\u3131-\u318e\uac00-\ud7a3]")
# What only Chinese says in signs that Japanese has as well; in a long text a word of its grammar will do.
_CHINESE = re.compile(
    r"可以|不能|不是|沒|我們|無法|退款|好的|免運|聯絡|請(?!求|負|願)|是的|[的了][。！!？?，,]"
)
_GRAMMAR = re.compile(
    r"(?<![目端])的(?!確|中)|(?<![終完修])了(?!承|解)|是(?!非|正)|我(?!慢|流)|在(?!庫|住|籍|宅)"
)
# Marie de la Tour: particles in a name are no words of a sentence.
_NAME = re.compile(r"\b[A-ZÀ-Þ][\w'-]{0,30}(?: (?:de|la|le|du|des|del|di|da|dos|van|von)){1,3} (?=[A-ZÀ-Þ])")


def _evidence() -> dict[str, dict[str, float]]:
    """What each listed word says, by language: the less, the more languages have it."""
    lists = tomllib.loads(TEXTS.path.read_text(encoding="utf-8"))["words"]
    topics = frozenset(lists.pop("en_topics").split())
    words = {language: frozenset(text.split()) for language, text in lists.items()}
    evidence: dict[str, dict[str, float]] = {}
    for word in frozenset(topics.union(*words.values())):
        having = [language for language, known_to in words.items() if word in known_to]
        weight = 1 / (len(having) + (word in topics))
        evidence[word] = dict.fromkeys(having, weight)
        if word in topics:
            evidence[word]["en"] = HALF * weight
    return evidence


_EVIDENCE = _evidence()


def language_match(context: GradingContext) -> Score:
    """1 when the answer is in the customer's language, 0 when it is in another, 0.5 when it mixes them.

    Addresses, code, numbers, names and what stands in quotation marks or short brackets do not count.
    What the customer wrote this turn decides; where that tells no language, the case's. Skipped when the
    answer has no words that tell a language. No model is asked.
    """
    wanted, language = _written_in(context), context.case.language
    languages = languages_of(context.turn.answer.text, wanted)
    if not languages:
        return Score(state="skipped", reason=TEXTS(language, "nothing"))
    whole = sum(languages.values())
    share = languages.get(wanted, 0) / whole
    raw = 1.0 if share >= MATCHED else 0.0 if 1 - share >= MATCHED else 0.5
    given = max((name for name in languages if name != wanted), key=languages.__getitem__, default=wanted)
    key = {1.0: "matched", 0.5: "mixed", 0.0: "other"}[raw]
    return Score(
        state="scored",
        value=raw,
        raw=raw,
        severity={1.0: None, 0.5: "moderate", 0.0: "major"}[raw],
        reason=TEXTS(language, key, wanted=TEXTS(language, wanted), given=TEXTS(language, given)),
        detail={
            "wanted": wanted,
            "given": {name: round(words / whole, 3) for name, words in languages.items()},
        },
    )


def languages_of(text: str, expected: str = "") -> dict[str, float]:
    """How many words of a text are in which language; those that tell none, such as names, are left out.

    What may be the expected language as well as a relative of it (Spanish and Portuguese) is the expected.

    The languages are ja, en, zh, ko, fr, de, es, pt, it, nl, sv; latin and other_script for the rest.
    """
    plain = _LEFT_OUT.sub(" ", nfkc(straight(text)))
    rest = _QUOTED.sub(" ", plain)
    if not any(map(str.isalpha, rest)):
        rest = plain
    rest = _NAME.sub(" ", rest)
    kana, han = len(_KANA.findall(rest)), len(_HAN.findall(rest))
    is_japanese = kana > 0 and kana >= LEAST_KANA * (kana + han)
    shares: Counter[str] = Counter()
    sentences = [(_by_latin(words), len(words)) for words in map(_latin_words, _SENTENCE.split(rest))]
    whole: defaultdict[str, float] = defaultdict(float)
    for evidence, _ in sentences:
        for language, weight in evidence.items():
            whole[language] += weight
    for sentence, (evidence, words) in zip(_SENTENCE.split(rest), sentences, strict=True):
        shares.update(_by_script(sentence, is_japanese=is_japanese))
        # Close relatives tie in a short sentence: then the rest of the text decides.
        language = max(evidence, key=lambda code: (evidence[code], code == expected, whole[code]), default="")
        is_among_others = any(pattern.search(sentence) for pattern in (_KANA, _HAN, _HANGUL))
        if language and evidence[language] >= (AMID_OTHERS if is_among_others else LEAST_EVIDENCE):
            shares[language] += 2 * words
    return {language: count / 2 for language, count in (+shares).items()}


def _by_script(sentence: str, *, is_japanese: bool) -> dict[str, int]:
    """Half words in scripts that tell a language by themselves: a kana, kanji or hangul is about one."""
    kana, signs = len(_KANA.findall(sentence)), _HAN.findall(sentence)
    is_chinese = not kana and _is_chinese(sentence, signs, is_japanese=is_japanese)
    other = sum(_is_of_other_script(word[0]) for word in _WORD.findall(sentence))
    return {
        "zh" if is_chinese else "ja": kana + len(signs),
        "ko": len(_HANGUL.findall(sentence)),
        "other_script": 2 * other,
    }


def _is_chinese(sentence: str, signs: list[str], *, is_japanese: bool) -> bool:
    """Whether kanji without kana are Chinese: by signs that only one of both has, else by words."""
    if any(not sign.encode("cp932", "ignore") for sign in signs):
        return True
    if any(not sign.encode("gb2312", "ignore") + sign.encode("big5", "ignore") for sign in signs):
        return False
    is_long = len(signs) >= KANJI_ALONE and not is_japanese
    return bool(_CHINESE.search(sentence) or (is_long and _GRAMMAR.search(sentence)))


def _latin_words(sentence: str) -> list[str]:
    return [word for word in _WORD.findall(sentence) if word[0] < _LATIN_END]


def _by_latin(words: list[str]) -> dict[str, float]:
    """The evidence for each language that a sentence's words in Latin script may be in."""
    evidence: defaultdict[str, float] = defaultdict(float)
    accents = 0.0
    for word in words:
        if len(word) == 1 and word.isupper():  # an initial, or the name of a thing
            continue
        lower = word.lower()
        # Of l'ordre, dell'ordine and puis-je the parts tell, of don't the whole.
        for part in (lower,) if lower in _EVIDENCE else re.findall("[^'-]+'?", lower):
            for language, weight in _EVIDENCE.get(part, {}).items():
                evidence[language] += weight
        accents += HALF * (lower not in _EVIDENCE and not word.isascii() and word[0].islower())
    if accents:
        others = [language for language in evidence if language != "en"]
        evidence[max(others, key=evidence.__getitem__, default="latin")] += accents
    return evidence


def _is_of_other_script(letter: str) -> bool:
    return letter >= _LATIN_END and not any(pattern.match(letter) for pattern in (_KANA, _HAN, _HANGUL))


def _written_in(context: GradingContext) -> str:
    """The language of the customer's words, or of the case where they tell none."""
    words = languages_of(context.turn.user)
    language = max(words, key=words.__getitem__, default="")
    if language and words[language] >= WRITTEN_IN * sum(words.values()):
        return language
    return context.case.language
