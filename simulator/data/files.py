"""Files are written beside the one they replace; a process that is killed meanwhile leaves them there."""

import codecs
import contextlib
import glob
import gzip
import io
import os
import re
import shutil
import sys
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, cast

from simulator.core.errors import CaseFileError, InputError
from simulator.core.types import Language


def beside(path: Path) -> Path:
    """The name of this process for what becomes `path` once it is whole; what dead ones left there goes."""
    for left in path.parent.glob(f".{glob.escape(path.name)}.*"):
        writer = left.name.removeprefix(f".{path.name}.").partition("-")[0]
        if writer.isdecimal() and not _is_alive(int(writer)):
            _remove(left)
    return path.with_name(f".{path.name}.{os.getpid()}")


def _remove(left: Path) -> None:
    with contextlib.suppress(OSError):
        if left.is_dir() and not left.is_symlink():
            shutil.rmtree(left, ignore_errors=True)
        else:
            left.unlink()


def _is_alive(process: int) -> bool:
    if sys.platform == "win32":  # where asking would end it
        return True
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        pass
    return True


def printable(text: str) -> str:
    """A text on one line, without control codes."""
    return "".join(character if character.isprintable() else " " for character in text)


def shown(value: object) -> str:
    """A value as an error message can show it: short, on one line, without control codes."""
    if isinstance(value, (list, dict)):
        return "a list" if isinstance(value, list) else "an object"
    line = printable(str(value))
    return f"'{line[:40]}…'" if len(line) > 40 else f"'{line}'"


@contextmanager
def needed(path: Path, package: str) -> Iterator[None]:
    """Around the import of a library: without it the error names the package and its extra."""
    try:
        yield
    except ImportError:
        msg = f"{path}: to read it, pip install {package} (the extra 'documents' holds it)."
        raise InputError(msg) from None


@contextmanager
def readable(path: Path, kind: str) -> Iterator[None]:
    """Around a foreign reader: a broken file can lead it to any exception, which becomes one line."""
    try:
        yield
    except InputError:
        raise
    except Exception as error:
        why = printable(str(error) or type(error).__name__)[:100]
        msg = f"{path}: not a readable {kind} file ({why}); save it anew."
        raise CaseFileError(msg) from None


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


# XML takes several times its size in memory.
_MOST_UNPACKED = 1 << 29
_OLD_OFFICE = b"\xd0\xcf\x11\xe0"
_PASSWORD = "EncryptedPackage".encode("utf-16-le")
_ENCRYPTED_ENTRY = 0x1


def package(path: Path, kind: str) -> io.BytesIO:
    """The archive, checked; `kind` says what the file should be: "Excel" and the like."""
    data = read_bytes(path)
    if why := _refusal(data, kind):
        msg = f"{path}: {why}."
        raise CaseFileError(msg)
    return io.BytesIO(data)


def workbook_pictures(path: Path) -> int:
    """How many pictures an Excel file holds, none of which is read."""
    with zipfile.ZipFile(package(path, "Excel")) as archive:
        return sum("/media/" in name for name in archive.namelist())


def _refusal(data: bytes, kind: str) -> str:
    protected = f"protected with a password; save it from {kind} without one"
    if data.startswith(_OLD_OFFICE):
        old = f"in the old {kind} format, whatever its name says; save it anew from {kind}"
        return protected if _PASSWORD in data else old
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            entries = archive.infolist()
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError):
        return f"not a whole {kind} file; save it anew from {kind}" if data else "the file is empty"
    if any(entry.flag_bits & _ENCRYPTED_ENTRY for entry in entries):
        return protected
    # An entry never unpacks to more than the size it states.
    if sum(entry.file_size for entry in entries) > (most := bearable_bytes(len(data), _MOST_UNPACKED)):
        return f"larger than {most:,} bytes when unpacked; split the file"
    return ""


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
