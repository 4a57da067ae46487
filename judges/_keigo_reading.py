"""An answer cut into sentences for the judge `keigo`: quotations blanked out, prose told from lists."""

import re
import unicodedata
from typing import NamedTuple

from simulator import straight

# Stands for each character that is somebody else's word: patterns cannot match it, positions stay.
BLANK = "\ue000"
_QUOTED = re.compile(
    r"```.{0,4000}?```|`[^`\n]{0,400}`|https?://[!-~]{1,400}|[\w.+-]{1,64}@[\w.-]{1,255}"
    r"|『[^『』]{0,400}』|\"[^\"\n]{0,400}\"",
    re.DOTALL,
)
_CORNERED = re.compile(r"「[^「」]{0,400}」")
_BRACKETED = re.compile(r"[（(][^（）()\n]{0,400}[）)]")
_ENDS = str.maketrans(dict.fromkeys("。！？!?", BLANK))
# Headings, list items, tables, quotations, notes: what may stand in plain form.
_MARK = re.compile(
    r"\s*(?:#{1,6}\s|>|[-*+・•●○◎◆◇■□▪▶►→⇒※✓✔★☆–—]|[（(]?(?:\d{1,2}|[a-zA-Zア-ン])[.)）．、:：]|[①-⑳❶-❿]"
    r"|(?:手順|ステップ|STEP|Step|第|その|Q|A)\s*\d|\*\*|【)[\s　]*"
)
_LABELLED = re.compile(r"\s*[^。、\n]{1,20}[:：]")
_SENTENCE = re.compile(r"[^。！？!?]+(?:[。！？!?]+[」』）)]*)?|[。！？!?]+")
_CJK = re.compile("[\u3041-\u3096\u30a1-\u30fa\u4e00-\u9fff]")
_FINAL_MARKS = "。！？!?」』）)…～〜ー♪☆★ 　\t\r*_"


class Sentence(NamedTuple):
    """A sentence with quotations blanked out; `start` is where it stands in the answer."""

    start: int
    text: str
    prose: bool

    @property
    def core(self) -> str:
        """The sentence without its final marks; empty when it ends with a quotation."""
        bare = self.text.rstrip(_FINAL_MARKS)
        return "" if bare.endswith(BLANK) else bare


def is_japanese(text: str) -> bool:
    """Whether any kana or kanji is in it."""
    return bool(_CJK.search(text))


def blanked(text: str) -> str:
    """The text, as long as before, with quotations, code and addresses blanked out."""
    masked = _QUOTED.sub(_blank, text)
    masked = _CORNERED.sub(_blank, masked)
    if masked.count(BLANK) * 5 > len(text) * 4:  # an answer that is one quotation is the answer
        masked = text
    return _BRACKETED.sub(lambda found: found[0].translate(_ENDS), masked)


def _blank(found: re.Match[str]) -> str:
    return "".join("\n" if character == "\n" else BLANK for character in found[0])


def sentences(text: str) -> tuple[Sentence, ...]:
    """The sentences of an answer in order; a line break ends one."""
    found: list[Sentence] = []
    position, listing = 0, False
    lines = blanked(straight(text)).split("\n")
    unended = _prose_without_end(lines)
    for number, line in enumerate(lines):
        # What is indented below a list item belongs to it.
        mark = _MARK.match(line)
        listing = bool(mark) or (listing and line.startswith((" ", "\t", "　")))
        offset = mark.end() if mark else 0
        loose = not listing and "|" not in line and not _LABELLED.match(line)
        for piece in _SENTENCE.finditer(line, offset):
            ended = piece[0].rstrip("」』）)")[-1:] in "。！？!?" or number == unended
            kept = piece[0].lstrip(" 　\t")
            found.append(Sentence(position + piece.end() - len(kept), kept, loose and ended))
        position += len(line) + 1
    return tuple(each for each in found if each.text.strip())


def _prose_without_end(lines: list[str]) -> int:
    """The number of the last line, if what is above it ends its sentences (or nothing is): else -1."""
    filled = [number for number, line in enumerate(lines) if line.strip()]
    above = [lines[number].rstrip()[-1] in "。！？!?" for number in filled[:-1]]
    return filled[-1] if filled and all(above) else -1


def nfkc(text: str) -> tuple[str, list[int]]:
    """The text after NFKC and case folding, and for each of its characters where it comes from."""
    plain: list[str] = []
    origin: list[int] = []
    marked, start = straight(text), 0
    while start < len(text):
        end = start + 1
        while end < len(text) and (unicodedata.combining(text[end]) or text[end] in "\uff9e\uff9f"):
            end += 1
        folded = unicodedata.normalize("NFKC", marked[start:end]).casefold()
        plain.append(folded)
        origin += [start] * len(folded)
        start = end
    return "".join(plain), [*origin, len(text)]
