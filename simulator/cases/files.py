"""Reads files within limits: encodings, archives, sizes.

Whatever a user names is read through here: question files, logs, knowledge, workbooks.

- A file holds at most `MAX_BYTES`, unpacked where it is packed; reading stops there.
- A pipe or device is refused: whoever reads one that nobody writes to waits forever.
- Text is UTF-8, UTF-16 with a mark, or CP932; what is none of them is refused with the line where it shows.
- An archive of an office program unpacks to at most `MAX_UNPACKED` bytes, going by what it states.
"""

import codecs
import gzip
import io
import re
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from simulator.core.errors import CaseFileError, InputError
from simulator.core.messages import Message, _, printable, system_error


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
        msg = _(
            "{path}: not a readable {kind} file ({why}); export it again from the program that made it.",
            path=path,
            kind=kind,
            why=why,
        )
        raise CaseFileError(msg) from None


# What is read of a file at most, some 100,000 rows; and of a text that becomes passages or nodes, which take
# up to fifty times its size.
MAX_BYTES = 1 << 26
MAX_TEXT = 1 << 22

_KANA = re.compile("[ぁ-ゖァ-ヺ]")
_KANJI_PAIR = re.compile("[^\x00-\x7f｡-ﾟ]{2}")
# What Python's cp932 lets pass though Windows does not write it.
_NO_CP932 = re.compile("[\x80\uf8f0-\uf8f3]")
# How the Japanese of old mails begins (ISO-2022-JP), which is ASCII to all other encodings.
_JIS = b"\x1b$"
# What a file begins with that is no text, whatever its name says: office programs, old and new, and PDF.
_BINARY = (b"PK\x03\x04", b"\xd0\xcf\x11\xe0", b"%PDF")


def read_text(path: str | Path, *, may_be_empty: bool = False, most_bytes: int = MAX_BYTES) -> str:
    r"""The text of a file with `\n` line ends; `.gz` is unpacked, up to `most_bytes` of content.

    Encodings: UTF-8 (with or without BOM), UTF-16 with BOM, and CP932, the Windows form of Shift_JIS.
    """
    path = Path(path)
    data = read_bytes(path, most_bytes)
    if data.startswith(_BINARY):
        msg = _(
            "{path}: not text but a file of Excel, Word or the like; name it by its kind (.xlsx),"
            " or export it as CSV.",
            path=path,
        )
        raise CaseFileError(msg)
    text = _decoded(path, data)
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    if (nul := text.find("\0")) >= 0:
        msg = _(
            "{path}, line {line:d}: a NUL byte, so this is not plain text; {advice}.",
            path=path,
            line=1 + text.count("\n", 0, nul),
            advice=_("save it as UTF-8"),
        )
        raise CaseFileError(msg)
    if not may_be_empty and (not text or text.isspace()):
        raise CaseFileError(_("{path}: the file is empty.", path=path))
    return text


def _decoded(path: Path, data: bytes) -> str:
    """The text of a file. Raises CaseFileError with the line where the encoding that reads furthest fails.

    CP932 also decodes what is in other encodings. Then there is no kana: single kanji stand among Latin
    letters ("don稚" for "don't"), or the bytes are EUC-JP as well.
    """
    is_utf16 = data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    line = 1
    for encoding in ("utf-16",) if is_utf16 else () if _JIS in data else ("utf-8-sig", "cp932"):
        try:
            text = data.decode(encoding)
        except UnicodeDecodeError as error:
            line = max(line, 1 + data.count(b"\n", 0, error.start))
            continue
        stray = _NO_CP932.search(text) if encoding == "cp932" else None
        if encoding != "cp932" or (_is_japanese(text, data) and not stray):
            return text
        line = max(line, 1 + text.count("\n", 0, stray.start())) if stray else line
    msg = _(
        "{path}, line {line:d}: neither UTF-8 nor CP932 (Shift_JIS); save it as UTF-8.",
        path=path,
        line=line,
    )
    raise CaseFileError(msg)


def _is_japanese(text: str, data: bytes) -> bool:
    """Whether text that was decoded as CP932 is Japanese, and not bytes of another encoding."""
    if _KANA.search(text):
        return True
    try:
        data.decode("euc_jp")
    except UnicodeDecodeError:
        return _KANJI_PAIR.search(text) is not None
    return False


def read_bytes(path: Path, most_bytes: int = MAX_BYTES) -> bytes:
    """The content of a file; `.gz` is unpacked. Raises CaseFileError."""
    if path.exists() and not path.is_file() and not path.is_dir():
        raise CaseFileError(_("{path}: no file but a pipe or a device; save it as a file.", path=path))
    try:
        with gzip.open(path) if path.suffix.lower() == ".gz" else path.open("rb") as file:
            data = file.read(most_bytes + 1)
    except (OSError, ValueError, EOFError, zlib.error) as error:
        raise _unreadable(path, error) from None
    if len(data) > most_bytes:
        raise too_large(path, most_bytes)
    return data


# What data files are called: tables with the usual delimiter of each, workbooks, and JSON objects.
DELIMITERS = {".csv": ",", ".tsv": "\t", ".tab": "\t", ".txt": "\t"}
WORKBOOKS = frozenset({".xlsx", ".xlsm"})
OBJECTS = frozenset({".jsonl", ".ndjson", ".json", ".transcript"})
_DATA_FILES = OBJECTS | WORKBOOKS | DELIMITERS.keys()


def files_of(path: Path) -> list[Path]:
    """The file itself; the data files of a folder; several that stand there with commas between them."""
    if path.is_dir():
        return sorted(
            file
            for file in path.rglob("*")
            if plain_suffix(file) in _DATA_FILES
            and not any(map(is_hidden, file.relative_to(path).parts))
            and file.is_file()
        )
    several = [Path(name.strip()) for name in str(path).split(",")]
    return several if len(several) > 1 and all(file.is_file() for file in several) else [path]


def is_hidden(name: str) -> bool:
    """Dot files, and files that Office and macOS leave beside documents."""
    return name.startswith((".", "~$", "__MACOSX"))


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


# What an archive of an office program may unpack to: some 100,000 rows of questions.
MAX_UNPACKED = 1 << 26
_OLD_OFFICE = b"\xd0\xcf\x11\xe0"
_PASSWORD = "EncryptedPackage".encode("utf-16-le")
# Names of the strict form of Office Open XML (ISO/IEC 29500), and what they are called in the usual one.
_STRICT_NAME = re.compile(rb"http://purl\.oclc\.org/ooxml/(\w+)/")
_USUAL_NAME = rb"http://schemas.openxmlformats.org/\1/2006/"
_OUTLINES = ("xl/workbook.xml", "word/document.xml")


def read_archive(path: Path, kind: str) -> io.BytesIO:
    """The archive of an office file, after checks; `kind` is "Excel" and the like. Raises CaseFileError.

    One that was saved as "Strict Open XML" comes back under the names of the usual form, which are all that
    libraries know.
    """
    data = read_bytes(path)
    if why := _refusal(path, data, kind):
        raise CaseFileError(_("{path}: {why}.", path=path, why=why))
    with readable_or_error(path, kind), zipfile.ZipFile(io.BytesIO(data)) as archive:
        # An entry never unpacks to more than the size it states.
        if sum(entry.file_size for entry in archive.infolist()) > MAX_UNPACKED:
            raise too_large(path, MAX_UNPACKED)
        outlines = set(_OUTLINES) & set(archive.namelist())
        if not any(_STRICT_NAME.search(archive.read(name)) for name in outlines):
            return io.BytesIO(data)
        usual = io.BytesIO()
        with zipfile.ZipFile(usual, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as renamed:
            for name in archive.namelist():
                renamed.writestr(name, _STRICT_NAME.sub(_USUAL_NAME, archive.read(name)))
    usual.seek(0)
    return usual


def too_large(path: Path, most: int) -> CaseFileError:
    """The error for a file with more bytes than that, unpacked where it is packed."""
    return CaseFileError(_("{path}: larger than {n} MB; split the file.", path=path, n=round(most / 1e6)))


def _refusal(path: Path, data: bytes, kind: str) -> Message | None:
    if data.startswith(_OLD_OFFICE):
        if _PASSWORD in data:
            return _("protected with a password; save it from {program} without one", program=kind)
        return _("in the old {program} format despite its name; save it again from {program}", program=kind)
    if zipfile.is_zipfile(io.BytesIO(data)):
        return None
    if is_page(path):
        return AN_HTML_PAGE
    if data.startswith(b"PK"):
        return _("an incomplete {program} file; save it again from {program}", program=kind)
    other = _("not a file of {program}; open it in {program} and save it as one", program=kind)
    return other if data else _("the file is empty")


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
