"""One sign for all that look alike: apostrophes, quotation marks, hyphens and dashes, each in its old place.

Every detector reads texts through `straight`; what is stored and shown stays as it was written. Phones and
word processors write ’ and –, language models like —, and patterns are typed with ' and -: without this, "We
don’t have any information" was an answer and no refusal.

    straight("It’s 10–20 min")                    -> It's 10-20 min
    straight("ask us—desk@example.com")           -> unchanged: as a hyphen, us- would begin the address
    half_width("Ａ１　￥")                        -> "A1 ¥", character for character
    nfkc("㈱ﾊﾟｿｺﾝ")                               -> (株)パソコン, which may be longer or shorter

The functions that keep places are `straight` and `half_width`; a match in their result can be cut out of the
original at the same indexes, as `cut` does.
"""

import re
import unicodedata
from collections import Counter
from typing import Literal

from simulator.core.patterns import LazyPattern

# Kana and kanji with their iteration marks, half-width kana, and the rare planes.
KANA_OR_KANJI = LazyPattern("[ぁ-ゖァ-ヺー々〆〇㐀-䶿一-鿿豈-﫿ｦ-ﾟ\U00020000-\U0003ffff]")

# By the plain sign those that stand for it: curly, low and reversed quotes, primes, the acute and grave
# accents that people type for an apostrophe, full-width forms; hyphens, the figure dash, the minus sign.
_ALIKE = {
    "'": "\u2018\u2019\u201a\u201b\u2032\u02b9\u02bb\u02bc\u02bd\u00b4\uff07",
    '"': "\u201c\u201d\u201e\u201f\u2033\u301d\u301e\u301f\uff02",
    "-": "\u2010\u2011\u2012\u2013\u2043\u2212\ufe63\uff0d",
}
# Dashes that part words as well: ― and ─ are those of Japanese texts. ー and 〜 are no dashes.
_LONG = "\u2014\u2015\u2500\u2e3a\ufe58"
_TABLE = {sign: plain for plain, signs in _ALIKE.items() for sign in signs} | dict.fromkeys(_LONG, "-")
_ANY = re.compile(f"[{''.join(_TABLE)}]")
# In a pattern, what is escaped already is stepped over as a whole.
_IN_PATTERN = re.compile(rf"\\?({_ANY.pattern})|\\.", re.DOTALL)
# Full-width forms as plain ones, character for character, so that positions stay the same.
_HALF_WIDTH = str.maketrans(
    {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)} | {0x3000: 0x20, 0xFFE5: 0xA5, 0xFFE1: 0xA3}
)
# us—desk@example.com, E-205—what now: beside an address, or between a code and a word, it is no hyphen.
_BEFORE, _AFTER = re.compile(r"[!-~]{0,64}$"), re.compile(r"[!-~]{0,64}")
_ADDRESS, _CODE, _WORD = re.compile(r"@|://|\w\.[a-z]{2}"), re.compile(r"\d{3}$"), re.compile("[a-z]{2}")
_WRITTEN_ADDRESS = (
    r"[A-Za-z][A-Za-z0-9+.\-]{1,15}://[!-~]+"
    r"|[A-Za-z0-9._%+\-]{1,64}@[A-Za-z0-9\-]+(?:\.[A-Za-z0-9\-]+)+"
    r"|[A-Za-z0-9\-]{1,63}(?:\.[A-Za-z0-9\-]{1,63})*\.[A-Za-z]{2,}(?![A-Za-z0-9])(?:/[!-~]*)?"
)
# Words, numbers and what joins them; a code is one with a digit and with a letter or a joint in it:
# E-205, 10GB, 0120-000-371, 9:00, 3.5.
_RUN_OF_CODE = r"(?P<run>[A-Za-z0-9]+(?:[-_./:#][A-Za-z0-9]+)*)"


_CODES = LazyPattern(f"{_WRITTEN_ADDRESS}|{_RUN_OF_CODE}", re.IGNORECASE)


def straight(text: str) -> str:
    """The text with ' " and - for every sign like them, character for character; places stay the same.

    A long dash stays one (—) where words and an address or a code stand without spaces on its sides.
    """
    return text if text.isascii() else _ANY.sub(_plain, text)


# The most marks on one letter that are read; Vietnamese needs two. To normalise a text, Python sorts the
# marks of each letter by insertion: an answer of a million marks would take ten minutes.
_MOST_MARKS = 30
_HALF_WIDTH_MARKS = "\uff9e\uff9f"
_MAYBE_MARKS = re.compile(rf"(?:[^\w\s\x00-\x7f]|[{_HALF_WIDTH_MARKS}]){{{_MOST_MARKS + 1},}}")


def nfkc(text: str) -> str:
    """The text under NFKC (full-width letters, half-width kana, ligatures as plain ones), in linear time.

    `unicodedata.normalize` alone takes the square of the marks on one letter; of more than `_MOST_MARKS` the
    rest is left out first.
    """
    return text if text.isascii() else unicodedata.normalize("NFKC", _MAYBE_MARKS.sub(_fewer_marks, text))


def _fewer_marks(run: re.Match[str]) -> str:
    kept, marks = [], 0
    for sign in run[0]:
        marks = marks + 1 if unicodedata.combining(sign) or sign in _HALF_WIDTH_MARKS else 0
        if marks <= _MOST_MARKS:
            kept.append(sign)
    return "".join(kept)


def half_width(text: str) -> str:
    """The text with full-width letters, digits and signs, and curly marks, as plain ones, in place."""
    return straight(text).translate(_HALF_WIDTH)


def straight_pattern(pattern: str) -> str:
    """A regular expression that matches in a straight text what it was written for.

    Patterns in TOML files are written by people: "we’ll" and "9:00–18:00" have to match what `straight` makes
    of the same words in an answer.
    """
    return pattern if pattern.isascii() else _IN_PATTERN.sub(_escaped, pattern)


def cut(pattern: re.Pattern[str], text: str) -> list[str]:
    """The pieces of a text, as they are written, between the matches of a pattern in the straight text."""
    pieces, reached = [], 0
    for match in pattern.finditer(straight(text)):
        pieces.append(text[reached : match.start()])
        reached = match.end()
    return [*pieces, text[reached:]]


def codes(text: str) -> Counter[str]:
    """The codes, addresses and telephone numbers in plain lower case, and how often each is there.

        "e-205、Ｅ－２０５、3,300円、24"   -> e-205 twice
        "help@mizunara.exampleへ9:00から"  -> the address, and 9:00

    Counted, because two of the same in a question are one thing said twice, not two things.
    """
    matches = ((match[0].lower(), match["run"]) for match in _CODES.finditer(half_width(text)))
    # An address counts as it is; a run of letters and digits where it has a digit, and something else.
    return Counter(
        code for code, run in matches if not run or (any(map(str.isdigit, run)) and not run.isdigit())
    )


def _plain(match: re.Match[str]) -> str:
    """The plain sign for a match; a long dash stays where it parts words from an address or a code.

    Beside an address ("us—desk@example.com") or between a code and a word ("E-205—what now") a hyphen would
    join them. Only 64 characters on either side are looked at.
    """
    if match[0] not in _LONG:
        return _TABLE[match[0]]
    text, at = match.string, match.start()
    before, after = _BEFORE.search(text[max(0, at - 64) : at]), _AFTER.match(text, at + 1)
    left, right = (side[0] if side else "" for side in (before, after))
    if _CODE.search(left) and _WORD.match(right):
        return "—"
    beside = re.search("[A-Za-z]", left[-1:] + right[:1])
    return "—" if beside and (_ADDRESS.search(left) or _ADDRESS.search(right)) else "-"


def _escaped(match: re.Match[str]) -> str:
    """A hyphen is escaped, for it may stand in brackets; what is escaped already stays."""
    if match[1] is None:
        return match[0]
    return r"\-" if (plain := _TABLE[match[1]]) == "-" else plain


def language_of(text: str) -> Literal["ja", "en"]:
    """Japanese for a text with any kana or kanji, else English.

    "OK" is English, "OKです" Japanese; so is a Chinese text, for which there are no prompts.
    """
    return "ja" if KANA_OR_KANJI.search(text) else "en"
