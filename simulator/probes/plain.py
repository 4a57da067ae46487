"""An answer said plainly and shortly, with the same facts: お申し込みいただけます as 申し込める.

Japanese verbs are conjugated by their endings, without a dictionary: what is not known stays polite.
"""

import re
from functools import cache
from pathlib import Path

from simulator.core.templates import read_toml
from simulator.core.types import Language

FILE = Path(__file__).with_name("curt.toml")

_U = dict(zip("いきぎしちにびみり", "うくぐすつぬぶむる", strict=True))
_A = dict(zip("いきぎしちにびみり", "わかがさたなばまら", strict=True))
_TE = {"み": "んで", "び": "んで", "に": "んで", "ち": "って", "り": "って", "い": "って"} | {
    "き": "いて", "ぎ": "いで", "し": "して"
}  # fmt: skip
_E_ROW = "えけげせてねべめれぜで"
# Verbs that keep their stem although it ends in i: でき(る), 過ぎ(る), 見(る), て い(る).
_KEEPS = re.compile(
    r"(?:でき|出来|起き|過ぎ|すぎ|足り|借り|降り|感じ|信じ|生じ|閉じ|落ち|伸び|用い|見|着|[てで]い)$"
)
# 直し is a stem of 直す, 確認し one of 確認する: after a lone kanji し belongs to the verb.
_OWN_SHI = re.compile(r"(?:^|[^一-龥々])[一-龥々]し$")

_ENDING = re.compile(r"(?<=[ぁ-ん一-龥])(ませんでした|ません|ました|ます)")
_REQUEST = re.compile(r"(?:お|ご)([一-龥々]+[ぁ-ん]{0,2}(?:[一-龥]{1,2}[ぁ-ん]{0,2})?)ください")
_PREFIX = re.compile(r"(?<![一-龥ァ-ヶ])(?:お|ご)(?=[一-龥])(?!客|金|互|飯|宅|店)")
_QUOTED = re.compile(r"(「[^」]*」|\"[^\"]*\")")
_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z\"])")


def plainly(text: str, language: Language) -> str:
    """The text in plain, short sentences; quoted words stay as they are."""
    if language == "en":
        said = (_replaced(sentence, "en") for sentence in _SENTENCE.split(text))
        return " ".join(sentence[:1].upper() + sentence[1:] for sentence in said if sentence)
    pieces = _QUOTED.split(text)
    return "".join(piece if at % 2 else _plain(piece) for at, piece in enumerate(pieces))


def _replaced(text: str, language: Language) -> str:
    for find, put in _pairs(language):
        text = find.sub(put, text)
    return text


def _plain(text: str) -> str:
    text = _REQUEST.sub(lambda match: _asked(match[1]), _replaced(text, "ja"))
    return _conjugated(_PREFIX.sub("", text))


def _asked(stem: str) -> str:
    """A request: 申し込み as 申し込んで, 返却 as 返却して, 申し出 as 申し出て."""
    last = stem[-1]
    if last in _TE and not _KEEPS.search(stem):
        return stem[:-1] + _TE[last]
    is_noun = re.fullmatch(r"[一-龥々]+", stem)
    return stem + ("して" if is_noun else "て")


def _conjugated(text: str) -> str:
    """Every verb that ends politely, in its plain form."""
    done, at = "", 0
    for match in _ENDING.finditer(text):
        done += text[at : match.start()]
        done = _form(done, match[1])
        at = match.end()
    return done + text[at:]


def _form(stem: str, ending: str) -> str:
    """The plain form of what `stem` ends with: かかり and ません give かからない."""
    last, denies, past = stem[-1], ending.startswith("ません"), ending in {"ました", "ませんでした"}
    if denies:
        return _denied(stem) + ("なかった" if past else "ない")
    if past:
        return _past(stem)
    if last == "し" and not _OWN_SHI.search(stem):
        return stem[:-1] + "する"
    if last in _E_ROW or _KEEPS.search(stem):
        return stem + "る"
    return stem[:-1] + _U[last] if last in _U else stem + ending


def _denied(stem: str) -> str:
    last = stem[-1]
    if stem.endswith("あり"):
        return stem[:-2]
    if last in _E_ROW or _KEEPS.search(stem) or (last == "し" and not _OWN_SHI.search(stem)):
        return stem
    return stem[:-1] + _A.get(last, last)


def _past(stem: str) -> str:
    last = stem[-1]
    if last in _TE and last != "し" and not _KEEPS.search(stem):
        return stem[:-1] + _TE[last].replace("て", "た").replace("で", "だ")
    return stem + "た"


@cache
def _pairs(language: Language) -> tuple[tuple[re.Pattern[str], str], ...]:
    return tuple((re.compile(find), put) for find, put in read_toml(FILE)[language])
