"""A text under NFKC whose places lead back to the original, and in which what was read can be masked."""

import re
import unicodedata

from simulator.text.typography import nfkc, straight

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
