"""A text with plain signs in place of full-width ones, that remembers where each sign came from."""

import re
import unicodedata
from itertools import chain

from simulator.typography import straight

# A mark that no pattern matches stands where something was taken out; it keeps what is around it apart.
TAKEN = "\ue000"
# A sign with the marks that belong to it: half-width kana have theirs apart.
_CLUSTER = re.compile(r"(?s).[\uff9e\uff9f\u3099\u309a\u0300-\u036f]*")
_SUPERSCRIPT = frozenset("¹²³⁰⁴⁵⁶⁷⁸⁹")


class Plain:
    """`text` is the original under NFKC, with straight marks; `take` masks a span, `written` undoes it."""

    def __init__(self, original: str) -> None:
        self.original = original
        marked = straight(original)
        pieces = [(start, end, _plain(marked, start, end)) for start, end in _clusters(marked)]
        self.text = "".join(piece for *_, piece in pieces)
        self._starts = list(chain.from_iterable([start] * len(piece) for start, _, piece in pieces))
        self._ends = list(chain.from_iterable([end] * len(piece) for _, end, piece in pieces))
        lower = self.text.lower()
        # A few capitals become two letters in lower case: then the places would no longer be the same.
        same = len(lower) == len(self.text)
        self.lower = lower if same else "".join(c.lower() if len(c.lower()) == 1 else c for c in self.text)

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


def _clusters(text: str) -> list[tuple[int, int]]:
    return [match.span() for match in _CLUSTER.finditer(text)]


def _plain(text: str, start: int, end: int) -> str:
    """One sign with its marks under NFKC. Circled and raised figures number an item or a note: left out."""
    sign = text[start]
    if sign.isascii():
        return " " if sign == "\t" else text[start:end]
    if sign in _SUPERSCRIPT:
        return "2" if sign == "²" and start and text[start - 1] in "mｍ" else " "
    form = unicodedata.decomposition(sign)
    if form.startswith(("<circle>", "<compat> 0028")) or (
        form.startswith("<compat>") and form.endswith("002E")
    ):
        return " "
    return unicodedata.normalize("NFKC", text[start:end])
