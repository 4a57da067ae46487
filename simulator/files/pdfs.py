"""The text of PDF files, with the characters and the lines that their writers meant."""

import io
import logging
import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any
from unicodedata import east_asian_width, normalize

from simulator.core.errors import CaseFileError
from simulator.core.replies import encodable
from simulator.files.chunks import Document, document
from simulator.files.extras import needed, readable
from simulator.files.text import language_of, read_bytes

# Some PDF writers store 用 as the radical ⽤ that looks the same; ligatures likewise stand for letters.
_LOOKALIKES = re.compile("[\u2e9f\u2ef3\u2f00-\u2fd5\ufb00-\ufb06]")
_RADICALS = str.maketrans("⺠⻁⻄⻑⻘⻝⻣⻤⻨⻩⻫⻭⻯⻲", "民虎西長青食骨鬼麦黄斉歯竜亀")
_JAPANESE = "[ぁ-ゖァ-ヺー々〆〇㐀-鿿豈-﫿、]"
_WITHIN_JAPANESE = re.compile(rf"{_JAPANESE}\n{_JAPANESE}")
_WITHIN_ENGLISH = re.compile(r"[A-Za-z,]\n[a-z]")
# A line that reaches this share of the widest one was broken by the margin, not by its writer.
_FULL = 0.85


def pdf_document(path: Path) -> Document:
    """The text of all pages, read without recognising images; the title is the file's if it is on a page."""
    reader = _reader(path)
    with readable(path, "PDF"):
        text = "\n\n".join(_unbroken(_meant(page.extract_text())) for page in reader.pages)
        title = _meant(str((reader.metadata and reader.metadata.title) or "")).strip()
    whole = document(text)
    return Document(title, whole.text) if title and title in whole.text else whole


def pdf_pictures(path: Path) -> int:
    """How many images the pages hold, none of which is read; a scanned page is an image."""
    reader = _reader(path)
    with readable(path, "PDF"):
        return len({key for page in reader.pages for key in _images(page, 0)})


def _reader(path: Path) -> Any:
    with needed(path, "pypdf"):
        import pypdf
    # It reports every flaw that it gets over.
    logging.getLogger("pypdf").setLevel(logging.CRITICAL)
    data = read_bytes(path)
    with readable(path, "PDF"):
        reader = pypdf.PdfReader(io.BytesIO(data))
        if reader.is_encrypted and not reader.decrypt(""):
            msg = f"{path}: protected with a password; save it without one."
            raise CaseFileError(msg)
    return reader


def _images(holder: Any, depth: int) -> Iterator[Any]:
    """What tells the images of a page apart; forms within the page may hold more of them."""
    resources = holder.get("/Resources")
    held = resources.get_object().get("/XObject") if resources is not None else None
    for name, reference in (held.get_object() if held is not None else {}).items():
        item = reference.get_object()
        if item.get("/Subtype") == "/Image":
            yield getattr(reference, "idnum", None) or (id(holder), name)
        elif item.get("/Subtype") == "/Form" and depth < 5:
            yield from _images(item, depth + 1)


def _meant(text: str) -> str:
    plain = _LOOKALIKES.sub(lambda found: normalize("NFKC", found[0]), text)
    return str(encodable(plain.translate(_RADICALS)))


def _unbroken(page: str) -> str:
    """A page without the line breaks that only the margin made."""
    lines = [line.rstrip() for line in page.split("\n")]
    widest = {"ja": 0, "en": 0}
    for line in lines:
        # Latin letters are narrower than half a kanji, so each script has its own full width.
        widest[language_of(line)] = max(widest[language_of(line)], _width(line))
    seams = (
        _seam(before, line) if _width(before) >= _FULL * widest[language_of(before)] else "\n"
        for before, line in pairwise(lines)
    )
    return lines[0] + "".join(seam + line for seam, line in zip(seams, lines[1:], strict=True))


def _seam(before: str, line: str) -> str:
    """What stands between two lines of which the first is full."""
    ends = f"{before[-1:]}\n{line[:1]}"
    if _WITHIN_JAPANESE.fullmatch(ends):
        return ""
    return " " if _WITHIN_ENGLISH.fullmatch(ends) else "\n"


def _width(line: str) -> int:
    return sum(2 if east_asian_width(character) in "WFA" else 1 for character in line)
