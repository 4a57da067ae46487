"""Where texts are cut: characters and words, clauses and sentences, in Japanese and English.

Japanese has no spaces, so a token is one kana or kanji there, and a word elsewhere; with character pairs on
top (evidence.py) that did as well as a dictionary on public label sets, and needs none.

    tokens("光10GB、月額1,234円です")  -> 光 10 gb 月 額 1234 円 で す
    sentences("「はい。」と答えます！ It costs $5, e.g. monthly. Ask us.")
        -> 「はい。」と答えます！ | It costs $5, e.g. monthly. | Ask us.
    clauses("無料です、ただし初月のみ")  -> 無料です、 | ただし初月のみ

Sentences and clauses keep their words as they were written, for they are quoted in reasons; tokens are
normalised, for they are compared.
"""

import re
import unicodedata
from functools import lru_cache

from simulator.text.typography import cut, nfkc, straight

# Kana, kanji and their iteration and length marks: scripts without spaces, in which a character is a token.
CJK = (
    "\u3005\u3007\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff"
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
)
# A comma before three digits groups thousands; a word that starts with a letter keeps its digits (ipv6).
_TOKEN = re.compile(
    rf"[{CJK}]"
    r"|\d+(?:,\d{3}(?!\d))*(?:\.\d+)?"
    rf"|(?:(?![{CJK}])[^\W\d_])(?:(?![{CJK}])[^\W_])*(?:'[a-z]+)?"
)
# What Markdown puts before or around words: headings, quotes, bullets, numbered items, emphasis, code.
_MARKUP = re.compile(r"^[^\S\n]*(?:#+\s+|>\s*|(?:[-*・•●○◆■]|\(?\d{1,2}[.)])\s+)|\*\*|__|`", re.MULTILINE)
# A sentence ends at a line break; at 。！？ unless more marks or a closing bracket follow (「はい。」と言う
# is one sentence); in English at a mark before a capital, a digit or a quotation, or between lower-case words
# of three letters and more, as people type in chats ("it works. thanks"). 3.5 and example.com are not cut.
_SENTENCE_END = re.compile(
    r"\n+|(?<=[。！？])(?![」』）)。！？]|[^「『]{0,200}[」』])|(?<=[!?])\s*(?=[^\W\da-z_])|(?<=[\w%]\.|[\")]\.|.[!?])\s+(?=[\"'(\[]?[A-Z0-9])"
    r"|(?<=\w \.|\w [!?])\s+(?=\w)|(?<=[a-z]{3}[.!?])\s+(?=[a-z])"
)
# After "e.g." or "Feb." the sentence goes on, though a blank and a capital follow.
_ABBREVIATION = re.compile(
    r"\b(?:e\.g|i\.e|etc|vs|mr|mrs|ms|dr|approx|inc|ltd|incl|excl|dept|tel|fig|vol|max|min|est|ext"
    r"|jan|feb|apr|aug|sept?|oct|nov|dec)\.$",
    re.IGNORECASE,
)
# At a comma, but not that of 1,000; and before but, although and because.
_CLAUSE_END = re.compile(r"(?<=[、，;；])(?!\d)|(?<=,)\s{1,4}|\s{1,4}(?=but\b|although\b|because\b)")


@lru_cache(maxsize=1024)
def normalise(text: str) -> str:
    """NFKC, lower case and straight marks: full-width letters, half-width kana and ’ become plain.

    "Ｗｉ－ＦｉのﾊﾟｽﾜｰﾄﾞＩＤ" -> "wi-fiのパスワードid". Every pattern of this package is written for such a
    text. The length may change (㈱, ﾊﾟ): where places matter, `MaskedText` keeps track of them.
    """
    return nfkc(straight(text)).lower()


def tokens(text: str) -> list[str]:
    """One token per CJK character; other letters in runs (words); numbers without commas, with decimals."""
    return [found.replace(",", "") for found in _TOKEN.findall(normalise(text))]


@lru_cache(maxsize=1024)
def sentences(text: str) -> tuple[str, ...]:
    """The sentences, without list marks and Markdown; a line break ends one, a quoted 。 does not."""
    found: list[list[str]] = []
    goes_on = False
    for piece in map(str.strip, cut(_SENTENCE_END, "".join(cut(_MARKUP, text)))):
        if goes_on:
            found[-1].append(piece)
        elif piece:
            found.append([piece])
        # An abbreviation stands in its last letters: looking through all of a long sentence takes too long.
        goes_on = bool(found and _ABBREVIATION.search(found[-1][-1][-12:]))
    return tuple(map(" ".join, found))


def clauses(sentence: str) -> list[str]:
    """The parts of a sentence between its commas."""
    return [piece.strip() for piece in _CLAUSE_END.split(sentence) if piece.strip()]


# A mark that no pattern matches stands where something was taken out; it keeps what is around it apart.
TAKEN = "\ue000"
_MARKS = r"\uff9e\uff9f\u3099\u309a\u0300-\u036f"
# Signs that are themselves under NFKC, many at once; or one sign with the marks that belong to it: half-width
# kana have theirs apart.
_CLUSTER = re.compile(
    rf"(?s)(?P<same>(?:[\x00-\x08\x0a-\x7f、。「」・ーぁ-ゖァ-ヺ一-鿿](?![{_MARKS}]))+)|.[{_MARKS}]*"
)
_SUPERSCRIPT = frozenset("¹²³⁰⁴⁵⁶⁷⁸⁹")


class MaskedText:
    """`text` is the original under NFKC, with straight marks; `take` masks a span, `written` undoes it.

        MaskedText("①料金は１，０００円").text     -> " 料金は1,000円" (a circled number is an item's)
        .take([(4, 9)]), then .lower               -> " 料金は" + five marks + "円"
        .written(4, 9)                             -> "１，０００", as it stood in the original

    Each place of `text` knows the one in the original that it came from, because NFKC changes lengths: ㌔
    becomes キロ, ﾊﾟ becomes パ. Only `lower` is masked; patterns that need capitals read `text` before
    anything is taken.
    """

    def __init__(self, original: str) -> None:
        self.original = original
        marked = straight(original)
        self._starts: list[int] | range = range(len(marked))
        self._ends: list[int] | range = range(1, len(marked) + 1)
        self.text = marked.replace("\t", " ")
        if not marked.isascii():
            self._normalise(marked)
        lower = self.text.lower()
        # A few capitals become two letters in lower case: then the places would no longer be the same.
        same = len(lower) == len(self.text)
        self.lower = lower if same else "".join(c.lower() if len(c.lower()) == 1 else c for c in self.text)

    def _normalise(self, marked: str) -> None:
        pieces, starts, ends = list[str](), list[int](), list[int]()
        for match in _CLUSTER.finditer(marked):
            start, end = match.span()
            if match.lastgroup:
                pieces.append(match[0])
                starts += range(start, end)
                ends += range(start + 1, end + 1)
            else:
                pieces.append(piece := _plain(marked, start, end))
                starts += [start] * len(piece)
                ends += [end] * len(piece)
        self.text, self._starts, self._ends = "".join(pieces), starts, ends

    def take(self, spans: list[tuple[int, int]]) -> None:
        """Mask these spans (in order) in what later patterns will see."""
        pieces, reached = [], 0
        for start, end in spans:
            pieces += [self.lower[reached:start], TAKEN * (end - start)]
            reached = end
        self.lower = "".join((*pieces, self.lower[reached:]))

    def written(self, start: int, end: int) -> str:
        """The original words of a span."""
        return self.original[self._starts[start] : self._ends[end - 1]].strip()


def _plain(text: str, start: int, end: int) -> str:
    """One sign with its marks under NFKC. Circled and raised figures number an item or a note: left out."""
    sign = text[start]
    if sign.isascii():
        return " " if sign == "\t" else text[start:end]
    if sign in _SUPERSCRIPT:
        return {"²": "2", "³": "3"}.get(sign, " ") if start and text[start - 1] in "mｍ" else " "
    form = unicodedata.decomposition(sign)
    if form.startswith(("<circle>", "<compat> 0028")) or (
        form.startswith("<compat>") and form.endswith("002E")
    ):
        return " "
    return nfkc(text[start:end])
