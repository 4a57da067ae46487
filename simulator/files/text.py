"""Text from files as people have them: UTF-8 or CP932, out of Excel or an editor, gzipped or not."""

import gzip
import re
import zlib
from collections.abc import Iterator
from pathlib import Path

from simulator.core.errors import CaseFileError
from simulator.core.types import Language

# A gzipped file of a few kilobytes can unpack to all the memory there is: text shrinks to a tenth, bombs to a
# thousandth, so what unpacks to both more than 64 MB and 500 times its size is refused long before 1 GB.
MOST_BYTES = 1 << 30
_HARMLESS_BYTES = 1 << 26
_MOST_SHRUNK = 500

_SAVE = "save it as UTF-8"
_SCRIPT = re.compile("[ぁ-ゖァ-ヺー々〆〇㐀-䶿一-鿿豈-﫿ｦ-ﾟ\U00020000-\U0003ffff]")
_KANA = re.compile("[ぁ-ゖァ-ヺ]")
_HALF_WIDTH = re.compile("[｡-ﾟ]")
_NO_CP932 = re.compile("[\x80\uf8f0-\uf8f3]")
_BINARY = (
    (b"PK\x03\x04", "an Excel, Word or zip file"),
    (b"\xd0\xcf\x11\xe0", "an old or password-protected Excel or Word file"),
    (b"%PDF", "a PDF"),
)


def read_text(path: str | Path, *, may_be_empty: bool = False, most_bytes: int = MOST_BYTES) -> str:
    r"""The text of a file with `\n` line ends; `.gz` is unpacked, up to `most_bytes` of content.

    Encodings: UTF-8 (with or without BOM), UTF-16 with BOM, and CP932, the Windows form of Shift_JIS.
    """
    path = Path(path)
    text = _decode(path, read_bytes(path, most_bytes)).removeprefix("\ufeff")
    if (nul := text.find("\0")) >= 0:
        msg = f"{path}, line {_line(text, nul)}: a NUL byte, so this is not plain text; {_SAVE}."
        raise CaseFileError(msg)
    if not may_be_empty and not text.strip():
        msg = f"{path}: the file is empty."
        raise CaseFileError(msg)
    return text.replace("\r\n", "\n").replace("\r", "\n")


def bearable_bytes(packed: int, most_bytes: int = MOST_BYTES) -> int:
    """How much a packed file of this many bytes may unpack to; more is a bomb."""
    return min(most_bytes, max(_HARMLESS_BYTES, _MOST_SHRUNK * packed))


def read_bytes(path: Path, most_bytes: int = MOST_BYTES) -> bytes:
    """What a file holds; `.gz` is unpacked."""
    zipped = path.suffix.lower() == ".gz"
    try:
        if zipped:
            most_bytes = bearable_bytes(path.stat().st_size, most_bytes)
        with gzip.open(path) if zipped else path.open("rb") as file:
            data = file.read(most_bytes + 1)
    except (OSError, ValueError, EOFError, zlib.error) as error:
        raise _unreadable(path, error) from None
    if len(data) > most_bytes:
        unpacked = " when unpacked" if zipped else ""
        msg = f"{path}: larger than {most_bytes:,} bytes{unpacked}; split the file."
        raise CaseFileError(msg)
    return data


def is_binary(data: bytes) -> bool:
    """Whether this is the beginning of an office file, an archive or a PDF."""
    return data.startswith(tuple(magic for magic, _ in _BINARY))


def lines(text: str) -> Iterator[str]:
    r"""The lines of a text, each with its `\n`, without a second copy of the whole."""
    start = 0
    while start < len(text):
        end = text.find("\n", start) + 1 or len(text)
        yield text[start:end]
        start = end


def language_of(text: str) -> Language:
    """Japanese as soon as there is kana or kanji, English otherwise."""
    return "ja" if _SCRIPT.search(text) else "en"


def plain_suffix(path: Path) -> str:
    """The lower-case suffix of a file, looking through `.gz`: `a.JSONL.gz` is `.jsonl`."""
    return (path.with_suffix("") if path.suffix.lower() == ".gz" else path).suffix.lower()


def _unreadable(path: Path, error: Exception) -> CaseFileError:
    match error:
        case FileNotFoundError():
            why = "no such file; check the name and the folder"
        case IsADirectoryError():
            why = "this is a folder; name a file in it"
        case PermissionError():
            why = "no permission to read it"
        case gzip.BadGzipFile() | EOFError() | zlib.error():
            why = "not a whole gzip file; pack it again, or give the file unpacked"
        case _:
            why = f"cannot be read ({getattr(error, 'strerror', None) or error})"
    return CaseFileError(f"{path}: {why}.")


def _decode(path: Path, data: bytes) -> str:
    for magic, what in _BINARY:
        if data.startswith(magic):
            msg = f"{path}: this is {what}, not text; name it by its kind (.xlsx), or export it as CSV."
            raise CaseFileError(msg)
    wide = data.startswith((b"\xff\xfe", b"\xfe\xff"))
    furthest = 0
    for encoding in ("utf-16",) if wide else ("utf-8", "cp932"):
        try:
            return _cp932(data) if encoding == "cp932" else data.decode(encoding)
        except UnicodeDecodeError as error:
            # In a file with one bad byte, the right encoding is the one that got as far as that byte.
            furthest = max(furthest, error.start)
    raise _undecodable(path, data, furthest)


def _undecodable(path: Path, data: bytes, position: int) -> CaseFileError:
    line = data.count(b"\n", 0, position) + 1
    return CaseFileError(f"{path}, line {line}: neither UTF-8 nor CP932 (Shift_JIS); {_SAVE}.")


def _cp932(data: bytes) -> str:
    """CP932 without the stray bytes that Python lets pass, and without other encodings that fit it."""
    text = data.decode("cp932")
    stray = _NO_CP932.search(text)
    if stray or _is_foreign(data, text):
        start = len(text[: stray.start()].encode("cp932")) if stray else 0
        raise UnicodeDecodeError("cp932", data, start, start + 1, "not meant as CP932")
    return text


def _is_foreign(data: bytes, text: str) -> bool:
    """Whether this is another encoding that CP932 can decode.

    Western text (cp1252) gives single kanji among Latin letters ("don稚"), EUC-JP gives rows of
    half-width kana.
    """
    runs = re.findall(r"[^\x00-\x7f]+", text)
    if all(len(run) == 1 for run in runs) and not _KANA.search(text):
        return any(_SCRIPT.match(run) or _HALF_WIDTH.match(run) for run in runs)
    return len(_HALF_WIDTH.findall(text)) * 2 > sum(map(len, runs)) and _decodes(data, "euc_jp")


def _decodes(data: bytes, encoding: str) -> bool:
    try:
        data.decode(encoding)
    except UnicodeDecodeError:
        return False
    return True


def _line(text: str, position: int) -> int:
    return len(re.findall(r"\r\n|\r|\n", text[:position])) + 1
