"""The lines of a file one after the other, where it can be read so: the whole text is never held."""

import codecs
import gzip
import io
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO, cast

from simulator.files.text import MOST_BYTES, bearable_bytes, is_binary, lines, read_text

# Lines with their line end, from the first one each time it is called.
Lines = Callable[[], Iterator[str]]

_CHUNK = 1 << 20


def lines_of(path: Path) -> Lines:
    r"""The lines of a file, with `\n` line ends; raises CaseFileError for what is not text.

    UTF-8 is read line by line. Any other file, and whatever is wrong with one, is a matter of `read_text`.
    """
    if _is_plain(path):
        return lambda: _streamed(path)
    text = read_text(path)
    return lambda: lines(text)


def _streamed(path: Path) -> Iterator[str]:
    with io.TextIOWrapper(_opened(path), encoding="utf-8-sig") as file:
        yield from file


def _opened(path: Path) -> BinaryIO:
    return cast("BinaryIO", gzip.open(path)) if path.suffix.lower() == ".gz" else path.open("rb")


def _is_plain(path: Path) -> bool:
    """Whether a file is UTF-8 throughout, with something in it, no NUL, and not larger than can be borne."""
    decode = codecs.getincrementaldecoder("utf-8-sig")().decode
    size, filled = 0, False
    try:
        zipped = path.suffix.lower() == ".gz"
        most = bearable_bytes(path.stat().st_size) if zipped else MOST_BYTES
        with _opened(path) as file:
            while chunk := file.read(_CHUNK):
                if b"\0" in chunk or (not size and is_binary(chunk)):
                    return False
                filled = bool(decode(chunk).strip()) or filled
                size += len(chunk)
                if size > most:
                    return False
        decode(b"", final=True)
    except (OSError, ValueError, EOFError, zlib.error):
        return False
    return filled
