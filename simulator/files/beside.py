"""Files are written beside the one they replace; a process that is killed meanwhile leaves them there."""

import contextlib
import glob
import os
import shutil
import sys
from pathlib import Path


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
