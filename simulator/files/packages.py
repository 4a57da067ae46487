"""Office files (.xlsx, .docx, .pptx) are zip archives: opened when whole, open and of a bearable size."""

import io
import zipfile
from pathlib import Path

from simulator.core.errors import CaseFileError
from simulator.files.text import bearable_bytes, read_bytes

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
