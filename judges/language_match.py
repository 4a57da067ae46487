"""Language match: is the answer in the customer's language? Script and function words decide."""

import re
import tomllib
import unicodedata
from collections import Counter
from pathlib import Path

from simulator import GradingContext, Score, Texts, straight

SCALE = (0, 1)
TEXTS = Texts(Path(__file__).with_name("_language_match.toml"))
# An answer with this share in the customer's language matches; with at most the rest it does not.
MATCHED = 0.8
# The customer's words are in a language from this share on; otherwise the case's counts.
WRITTEN_IN = 0.6
# Kanji without kana are a Japanese word or address up to here, and Chinese in a longer text.
KANJI_ALONE = 10
# A text has this share of kana among its kana and kanji at the least to be Japanese.
LEAST_KANA = 0.15
# From so many words on, Latin words without function words are English rather than names.
NAMES = 3

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
# Written in Chinese and not in Japanese.
_CHINESE = re.compile(r"[您请們们這这嗎吗呢麼么說说谢沒没为還还给讓让从吧啦哪您對对时间费电话联系务]")
_WORDS: dict[str, str] = tomllib.loads(TEXTS.path.read_text(encoding="utf-8"))["words"]
_ENGLISH, _OTHER_LATIN = (frozenset(_WORDS[name].split()) for name in ("english", "other"))


def language_match(context: GradingContext) -> Score:
    """1 when the answer is in the customer's language, 0 when it is in another, 0.5 when it mixes them.

    Addresses, code, numbers, names and what stands in quotation marks or short brackets do not count.
    What the customer wrote this turn decides; where that tells no language, the case's. Skipped when the
    answer has no words. No model is asked.
    """
    languages, language = languages_of(context.turn.answer.text), context.case.language
    if not languages:
        return Score(state="skipped", reason=TEXTS(language, "nothing"))
    wanted = _written_in(context)
    whole = sum(languages.values())
    share = languages.get(wanted, 0) / whole
    raw = 1.0 if share >= MATCHED else 0.0 if share <= 1 - MATCHED else 0.5
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


def languages_of(text: str) -> dict[str, float]:
    """How many words of a text are in which language: ja, en, zh, ko, latin, other_script; names aside."""
    plain = _LEFT_OUT.sub(" ", unicodedata.normalize("NFKC", straight(text)))
    own = _QUOTED.sub(" ", plain)
    if not any(map(str.isalpha, own)):
        own = plain
    kana, han = len(_KANA.findall(own)), len(_HAN.findall(own))
    is_japanese = kana > 0 and kana >= LEAST_KANA * (kana + han)
    found: Counter[str] = Counter()
    names = 0
    for sentence in _SENTENCE.split(own):
        found.update(_by_script(sentence, is_japanese=is_japanese))
        latin, words = _latin(sentence)
        found.update({latin: 2 * words} if latin else {})
        names += 0 if latin else words
    if (found["en"] or not +found) and names >= NAMES:
        found["en"] += 2 * names
    return {language: count / 2 for language, count in (+found).items()}


def _by_script(sentence: str, *, is_japanese: bool) -> dict[str, int]:
    """Half words in scripts that tell a language by themselves: a kana, kanji or hangul is about one."""
    kana, han = len(_KANA.findall(sentence)), len(_HAN.findall(sentence))
    is_chinese = not kana and (bool(_CHINESE.search(sentence)) or (han >= KANJI_ALONE and not is_japanese))
    other = sum(_is_of_other_script(word[0]) for word in _WORD.findall(sentence))
    return {
        "zh" if is_chinese else "ja": kana + han,
        "ko": len(_HANGUL.findall(sentence)),
        "other_script": 2 * other,
    }


def _latin(sentence: str) -> tuple[str, int]:
    """The language of the Latin words ('' for names) and their number; amid other writing two must tell."""
    words = [word.lower() for word in _WORD.findall(sentence) if word[0] < _LATIN_END]
    english, other = (sum(word in known for word in words) for known in (_ENGLISH, _OTHER_LATIN))
    is_among_others = any(pattern.search(sentence) for pattern in (_KANA, _HAN, _HANGUL))
    if max(english, other) < (2 if is_among_others else 1):
        return "", len(words)
    return ("latin" if other > english else "en"), len(words)


def _is_of_other_script(letter: str) -> bool:
    return letter >= _LATIN_END and not any(pattern.match(letter) for pattern in (_KANA, _HAN, _HANGUL))


def _written_in(context: GradingContext) -> str:
    """The language of the customer's words, or of the case where they tell none."""
    words = languages_of(context.turn.user)
    language = max(words, key=words.__getitem__, default="")
    if language and words[language] >= WRITTEN_IN * sum(words.values()):
        return language
    return context.case.language
