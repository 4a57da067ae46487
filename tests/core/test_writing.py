"""Files are written whole or not at all, for their owner only."""

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from simulator.core.errors import RunFileError
from simulator.core.messages import _
from simulator.core.writing import replaced, shown_path, write_atomically


@pytest.mark.parametrize(
    ("content", "kept"), [("返品\n", "返品\n"), (b"a\r\n", "a\r\n"), (iter(["a", "é"]), "aé"), ("", "")]
)
def test_a_file_takes_the_place_of_the_old_one(content: str | bytes | Iterator[str], kept: str) -> None:
    """Text in UTF-8 with its line breaks as they are, bytes, or piece by piece; nothing is left beside it."""
    path = Path("report.md")
    path.write_text("old", encoding="utf-8")
    write_atomically(path, content)

    assert path.read_bytes().decode() == kept
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert list(Path().iterdir()) == [path]


def test_what_fails_in_the_middle_leaves_the_old_file() -> None:
    """Also where a bug ends it."""

    def pieces() -> Iterator[str]:
        yield "new"
        raise ZeroDivisionError

    path = Path("report.md")
    path.write_text("old", encoding="utf-8")
    with pytest.raises(ZeroDivisionError):
        write_atomically(path, pieces())

    assert (path.read_text(encoding="utf-8"), list(Path().iterdir())) == ("old", [path])


def test_a_place_that_cannot_be_written_is_one_line() -> None:
    """With what to do about it."""
    with pytest.raises(
        RunFileError, match=r"no/x\.md: cannot be written \(No such file or directory\)\. The run is"
    ):
        write_atomically(Path("no/x.md"), "x")
    Path("folder").mkdir()
    advice = _("Choose another.")
    with (
        pytest.raises(RunFileError, match=r"\(Is a directory\)\. Choose another\."),
        replaced(Path("folder"), advice),
    ):
        pass
    assert list(Path().iterdir()) == [Path("folder")]


def test_a_path_is_said_from_here() -> None:
    """Whole where it lies elsewhere."""
    assert shown_path("runs/../runs/x") == shown_path(Path.cwd() / "runs" / "x") == f"runs{os.sep}x"
    assert shown_path("..") == str(Path.cwd().parent)
