"""Reads files within limits: encodings, archives, sizes.

Whatever a user names is read through here: question files, logs, knowledge, workbooks. Nothing that comes in
is trusted, neither its suffix nor the sizes that it states. What is guaranteed:

- A packed file unpacks to at most 100 times its size, or 4 MB, and to 1 GB in all (`max_unpacked_bytes`;
  five times that where it is read line by line); it is counted while it is unpacked, and reading stops there.
- A pipe or device is refused: whoever reads one that nobody writes to waits forever.
- Text is UTF-8, UTF-16 with a mark, or CP932, which one pass over it tells; what fits none of them is refused
  with the line where it shows, and so is text of another encoding that CP932 happens to decode.
- An archive of an office program unpacks to at most `MAX_UNPACKED` bytes, going by what it states.
"""

import codecs
import contextlib
import gzip
import io
import itertools
import re
import shutil
import tempfile
import weakref
import zipfile
import zlib
from array import array
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TextIO

from simulator.core.errors import CaseFileError, InputError
from simulator.core.messages import Message, _, printable, system_error
from simulator.text.typography import KANA_OR_KANJI


@contextmanager
def readable_or_error(path: Path, kind: str, package: str = "") -> Iterator[None]:
    """Turns whatever a library raises on a broken file into a CaseFileError.

    A library that is not installed becomes an InputError that names its `package`.
    """
    try:
        yield
    except InputError:
        raise
    except Exception as error:
        if isinstance(error, ImportError) and package:
            msg = _(
                "{path}: to read it, pip install {package} (the extra 'documents' holds it).",
                path=path,
                package=package,
            )
            raise InputError(msg) from None
        why = printable(str(error) or type(error).__name__)[:100]
        msg = _("{path}: not a readable {kind} file ({why}); save it again.", path=path, kind=kind, why=why)
        raise CaseFileError(msg) from None


# A gzipped file of a few kilobytes can unpack to more than the memory. Text shrinks to a tenth, bombs to a
# thousandth: what unpacks to more than 4 MB and to more than 100 times its size is not read at once. A file
# of text, which is decoded piece by piece, may be five times as large.
MAX_BYTES = 1 << 30
_HARMLESS_BYTES = 1 << 22
_MOST_SHRUNK = 100
_STREAMED = 5
# Bytes of a text that becomes passages or nodes, which take up to fifty times its size; characters of a line.
MAX_TEXT = 1 << 22
MAX_LINE = 1 << 24

_KANA = re.compile("[ぁ-ゖァ-ヺ]")
_HALF_WIDTH = re.compile("[｡-ﾟ]")
# What Python's cp932 lets pass though Windows does not write it.
_NO_CP932 = re.compile("[\x80\uf8f0-\uf8f3]")
# What a file begins with that is no text, whatever its name says.
_BINARY = (
    (b"PK\x03\x04", _("an Excel, Word or zip file")),
    (b"\xd0\xcf\x11\xe0", _("an old or password-protected Excel or Word file")),
    (b"%PDF", "a PDF"),
)
_LONGEST_MAGIC = 4
_CHUNK = 1 << 20


def read_text(path: str | Path, *, may_be_empty: bool = False, most_bytes: int = MAX_BYTES) -> str:
    r"""The text of a file with `\n` line ends; `.gz` is unpacked, up to `most_bytes` of content.

    Encodings: UTF-8 (with or without BOM), UTF-16 with BOM, and CP932, the Windows form of Shift_JIS.
    """
    return "".join(open_pieces(Path(path), most_bytes, may_be_empty=may_be_empty))


def max_unpacked_bytes(packed: int, most_bytes: int = MAX_BYTES) -> int:
    """How many bytes a packed file of this size may unpack to.

    1,000 bytes may become 4 MB, which harms nobody; 1 MB may become 100 MB. Text shrinks to a tenth.
    """
    return min(most_bytes, max(_HARMLESS_BYTES, _MOST_SHRUNK * packed))


def read_bytes(path: Path, most_bytes: int = MAX_BYTES) -> bytes:
    """The content of a file; `.gz` is unpacked. Raises CaseFileError."""
    zipped = path.suffix.lower() == ".gz"
    _refuse_pipe(path)
    try:
        size = path.stat().st_size
        if zipped:
            most_bytes = max_unpacked_bytes(size, most_bytes)
        elif size > most_bytes:
            raise too_large(path, most_bytes, unpacked=False)
        with gzip.open(path) if zipped else path.open("rb") as file:
            data = file.read(most_bytes + 1)
    except (OSError, ValueError, EOFError, zlib.error) as error:
        raise _unreadable(path, error) from None
    if len(data) > most_bytes:
        raise too_large(path, most_bytes, unpacked=zipped)
    return data


def _refuse_pipe(path: Path) -> None:
    """Whoever reads a pipe that nobody writes to waits forever."""
    if path.exists() and not path.is_file() and not path.is_dir():
        raise CaseFileError(_("{path}: no file but a pipe or a device; save it as a file.", path=path))


# What data files are called.
DATA_FILES = frozenset({
    ".csv", ".tsv", ".tab", ".txt", ".xlsx", ".xlsm", ".jsonl", ".ndjson", ".json", ".transcript",
    ".yaml", ".yml",
})  # fmt: skip


def files_of(path: Path) -> list[Path]:
    """The file itself; the data files of a folder; several that stand there with commas between them."""
    if path.is_dir():
        return sorted(file for file in path.rglob("*") if plain_suffix(file) in DATA_FILES and file.is_file())
    several = [Path(name.strip()) for name in str(path).split(",")]
    return several if len(several) > 1 and all(file.is_file() for file in several) else [path]


def plain_suffix(path: Path) -> str:
    """The lower-case suffix of a file, looking through `.gz`: `a.JSONL.gz` is `.jsonl`."""
    return (path.with_suffix("") if path.suffix.lower() == ".gz" else path).suffix.lower()


def _unreadable(path: Path, error: Exception) -> CaseFileError:
    if isinstance(error, FileNotFoundError):
        why = _("no such file; check the name and the folder")
    elif isinstance(error, IsADirectoryError):
        why = _("this is a folder; name a file in it")
    elif isinstance(error, PermissionError):
        why = _("no permission to read it")
    elif isinstance(error, gzip.BadGzipFile | EOFError | zlib.error):
        why = _("incomplete gzip file; pack it again, or use the unpacked file")
    else:
        why = _("cannot be read ({reason})", reason=system_error(error))
    return CaseFileError(_("{path}: {why}.", path=path, why=why))


def _encoding(path: Path, most_bytes: int) -> str:
    """How a text is encoded, for which all of it is looked at. Raises CaseFileError for what is no text."""
    zipped = path.suffix.lower() == ".gz"
    _refuse_pipe(path)
    try:
        if zipped:
            most_bytes = min(most_bytes, _STREAMED * max_unpacked_bytes(path.stat().st_size))
        with gzip.open(path) if zipped else path.open("rb") as file:
            head = file.read(_LONGEST_MAGIC)
            if what := next((what for magic, what in _BINARY if head.startswith(magic)), None):
                msg = _(
                    "{path}: this is {what}, not text; name it by its kind (.xlsx), or export it as CSV.",
                    path=path,
                    what=what,
                )
                raise CaseFileError(msg)
            is_utf16 = head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
            furthest = 0
            for encoding in ("utf-16",) if is_utf16 else ("utf-8-sig", "cp932"):
                file.seek(0)
                line = _fault_line(path, iter(partial(file.read, _CHUNK), b""), encoding, most_bytes)
                if not line:
                    return encoding
                # In a file with one bad byte, the right encoding is the one that reads furthest.
                furthest = max(furthest, line)
    except (OSError, ValueError, EOFError, zlib.error) as error:
        raise _unreadable(path, error) from None
    msg = _(
        "{path}, line {line:d}: neither UTF-8 nor CP932 (Shift_JIS); save it as UTF-8.",
        path=path,
        line=furthest,
    )
    raise CaseFileError(msg)


def _fault_line(path: Path, blocks: Iterator[bytes], encoding: str, most_bytes: int) -> int:
    """The line on which a file is not text of this encoding; 0 where all of it is."""
    decoder = codecs.getincrementaldecoder(encoding)()
    line, size = 1, 0
    for number, block in enumerate(itertools.chain(blocks, [b""])):
        size += len(block)
        if size > most_bytes:
            raise too_large(path, most_bytes, unpacked=path.suffix.lower() == ".gz")
        try:
            text = decoder.decode(block, final=not block)
        except UnicodeDecodeError as error:
            return line + error.object.count(b"\n", 0, error.start)
        if (nul := text.find("\0")) >= 0:
            msg = _(
                "{path}, line {line:d}: a NUL byte, so this is not plain text; {advice}.",
                path=path,
                line=line + text.count("\n", 0, nul),
                advice=_("save it as UTF-8"),
            )
            raise CaseFileError(msg)
        if encoding == "cp932" and (stray := _NO_CP932.search(text)):
            return line + text.count("\n", 0, stray.start())
        if encoding == "cp932" and number == 0 and _is_foreign(block, text):
            return line
        line += text.count("\n")
    return 0


def _is_foreign(data: bytes, text: str) -> bool:
    """Whether the beginning of a file is in another encoding that CP932 can decode.

    Western text (cp1252) gives single kanji among Latin letters ("don稚" for "don't"), EUC-JP gives rows of
    half-width kana. Without this, such a file would be read as nonsense without an error.
    """
    runs = re.findall(r"[^\x00-\x7f]+", text)
    if all(len(run) == 1 for run in runs) and not _KANA.search(text):
        return any(KANA_OR_KANJI.match(run) or _HALF_WIDTH.match(run) for run in runs)
    if len(_HALF_WIDTH.findall(text)) * 2 <= sum(map(len, runs)):
        return False
    with contextlib.suppress(UnicodeDecodeError):
        return bool(codecs.getincrementaldecoder("euc_jp")().decode(data))
    return False


# What an archive of an office program may unpack to: some 100,000 rows of questions.
MAX_UNPACKED = 1 << 26
_OLD_OFFICE = b"\xd0\xcf\x11\xe0"
_PASSWORD = "EncryptedPackage".encode("utf-16-le")
_ENCRYPTED_ENTRY = 0x1


def read_archive(path: Path, kind: str) -> io.BytesIO:
    """The archive of an office file, after checks; `kind` is "Excel" and the like. Raises CaseFileError.

    One that was saved as "Strict Open XML" comes back under the names of the usual form, which are all that
    libraries know.
    """
    data = read_bytes(path)
    if why := _refusal(path, data, kind):
        raise CaseFileError(_("{path}: {why}.", path=path, why=why))
    with readable_or_error(path, kind):
        return _transitional(data)


# Names of the strict form of Office Open XML (ISO/IEC 29500), and what they are called in the usual one. They
# stand in the first lines of a part, and in small parts that list others.
_STRICT = b"http://purl.oclc.org/ooxml/"
_USUAL = b"http://schemas.openxmlformats.org/"
_STRICT_NAME = re.compile(rb"http://purl\.oclc\.org/ooxml/(\w+)/")
_HEAD = 1 << 16
_OUTLINES = ("xl/workbook.xml", "word/document.xml", "ppt/presentation.xml")


def _transitional(data: bytes) -> io.BytesIO:
    with zipfile.ZipFile(io.BytesIO(data)) as strict:
        outlines = set(_OUTLINES) & set(strict.namelist())
        if not any(_STRICT in strict.open(name).read(_HEAD) for name in outlines):
            return io.BytesIO(data)
        usual = io.BytesIO()
        with zipfile.ZipFile(usual, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
            for entry in strict.infolist():
                with (
                    strict.open(entry) as source,
                    archive.open(entry.filename, "w", force_zip64=True) as target,
                ):
                    head = source.read(_HEAD)
                    if entry.filename.endswith(".rels"):
                        head += source.read()
                    target.write(_STRICT_NAME.sub(_USUAL + rb"\1/2006/", head))
                    shutil.copyfileobj(source, target)
    usual.seek(0)
    return usual


def too_large(path: Path, most: int, *, unpacked: bool) -> CaseFileError:
    """The error for a file with more bytes than that."""
    why = _("larger than {n} bytes; split the file", n=most)
    if unpacked:
        why = _("larger than {n} bytes when unpacked; split the file", n=most)
    return CaseFileError(_("{path}: {why}.", path=path, why=why))


def _refusal(path: Path, data: bytes, kind: str) -> Message | None:
    protected = _("protected with a password; save it from {program} without one", program=kind)
    if data.startswith(_OLD_OFFICE):
        old = _("in the old {program} format despite its name; save it again from {program}", program=kind)
        return protected if _PASSWORD in data else old
    try:
        archive = zipfile.ZipFile(io.BytesIO(data))
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError):
        if is_page(path):
            return AN_HTML_PAGE
        incomplete = _("an incomplete {program} file; save it again from {program}", program=kind)
        return incomplete if data else _("the file is empty")
    entries = archive.infolist()
    if any(entry.flag_bits & _ENCRYPTED_ENTRY for entry in entries):
        return protected
    # An entry never unpacks to more than the size it states.
    if sum(entry.file_size for entry in entries) > MAX_UNPACKED:
        raise too_large(path, MAX_UNPACKED, unpacked=True)
    return None


# Bytes that wait in memory; more are on the disk.
_HELD = 8_000_000


class Spool:
    """Texts that wait in a temporary file until they are asked for; it goes with its last user."""

    def __init__(self) -> None:
        self._file = tempfile.SpooledTemporaryFile(max_size=_HELD)  # noqa: SIM115 - until all are read
        weakref.finalize(self, self._file.close)
        self._starts = array("Q", [0])

    def __len__(self) -> int:
        """How many there are."""
        return len(self._starts) - 1

    def add(self, body: bytes) -> int:
        """Appends a text; returns its place. Raises InputError where the disk is full."""
        try:
            self._file.seek(self._starts[-1])
            self._file.write(body)
        except OSError as error:
            msg = _(
                "no room for the rows in the temporary folder ({why}); set TMPDIR to a bigger disk.",
                why=system_error(error),
            )
            raise InputError(msg) from None
        self._starts.append(self._starts[-1] + len(body))
        return len(self._starts) - 2

    def __getitem__(self, place: int) -> bytes:
        """The text at a place, from 0 on."""
        start, end = self._starts[place : place + 2]
        self._file.seek(start)
        return self._file.read(end - start)


# Returns an iterator over all lines with their line ends, each time it is called.
Lines = Callable[[], Iterator[str]]


def open_lines(path: Path) -> Lines:
    r"""The lines of a file with `\n` line ends. Raises CaseFileError for a file that is not text."""
    lines = partial(_lines, path, _encoding(path, MAX_BYTES))
    if not any(map(str.strip, lines())):
        raise _empty(path)
    return lines


def _lines(path: Path, encoding: str) -> Iterator[str]:
    with _open_text(path, encoding) as file:
        for number in itertools.count(1):
            line = file.readline(MAX_LINE)
            if len(line) == MAX_LINE and not line.endswith("\n"):
                msg = _(
                    "{path}, line {line:d}: longer than {n} characters.", path=path, line=number, n=MAX_LINE
                )
                raise CaseFileError(msg)
            if not line:
                return
            yield line


def open_pieces(path: Path, most_bytes: int = MAX_BYTES, *, may_be_empty: bool = False) -> Iterator[str]:
    """The text of a file like `open_lines`, in pieces that begin and end anywhere."""
    with _open_text(path, _encoding(path, most_bytes)) as file:
        while piece := file.read(_CHUNK):
            may_be_empty = may_be_empty or not piece.isspace()
            yield piece
    if not may_be_empty:
        raise _empty(path)


def _open_text(path: Path, encoding: str) -> TextIO:
    if path.suffix.lower() == ".gz":
        return gzip.open(path, "rt", encoding=encoding)
    return path.open(encoding=encoding)


def _empty(path: Path) -> CaseFileError:
    return CaseFileError(_("{path}: the file is empty.", path=path))


_LONGEST_HEAD = 4096
# What a web page begins with, whatever its file is called.
_PAGE = re.compile(
    r"\s*+(?>(?:<\?xml[^>]*>|<!--.*?-->)\s*)*+<(?:!doctype\s+html|html|head|body)\b",
    re.IGNORECASE | re.DOTALL,
)
AN_HTML_PAGE = _(
    "an HTML page despite its name (often of a login or an error); download the file "
    "again, or open it in Excel and save it as .xlsx"
)


def is_page(path: Path) -> bool:
    """Whether a file is a web page, going by its first lines."""
    if not path.is_file():
        return False
    with readable_or_error(path, "HTML"), path.open("rb") as file:
        return bool(_PAGE.match(file.read(_LONGEST_HEAD).decode("utf-8-sig", errors="replace")))
