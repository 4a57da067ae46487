"""Libraries that only some readers need: a missing one is named, with what to do."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from simulator.core.errors import CaseFileError, InputError
from simulator.files.quoting import printable


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
