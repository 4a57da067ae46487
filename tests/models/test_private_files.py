"""What is kept of questions, answers and articles is for its owner only, whatever the umask."""

import os
import stat
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from simulator.models.cache import ResponseCache, cache_folder


@pytest.fixture(params=[0o000, 0o022, 0o277], ids=["open", "usual", "closed"])
def umask(request: pytest.FixtureRequest) -> Iterator[None]:
    """A umask for the time of the test."""
    before = os.umask(request.param)
    yield
    os.umask(before)


def modes(folder: Path) -> dict[str, str]:
    """What others may do with a folder and all in it."""
    found = [folder, *folder.rglob("*")]
    return {each.relative_to(folder).as_posix(): oct(stat.S_IMODE(each.stat().st_mode)) for each in found}


def assert_private(folder: Path) -> None:
    """Folders 0700, files 0600."""
    found = modes(folder)
    assert found == {name: "0o700" if (folder / name).is_dir() else "0o600" for name in found}


def opened(folder: Path) -> None:
    """Lets everybody read and write all of it."""
    for each in (folder, *folder.rglob("*")):
        each.chmod(0o777 if each.is_dir() else 0o666)


@pytest.mark.usefixtures("umask")
def test_the_cache_of_answers_is_private(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Its log and its index beside it as well, and each folder that had to be made for it."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "a" / "b"))
    with closing(ResponseCache("on")) as cache:
        cache.put("key", {"answer": "秘密"})
        names = {each.name for each in cache_folder().iterdir()}
        assert_private(tmp_path / "a")

    assert names >= {"responses.sqlite", "responses.sqlite-wal", "responses.sqlite-shm"}


def test_what_an_earlier_version_left_open_is_closed() -> None:
    """The folder, the file, and what SQLite has beside it; nothing above the program's own folder."""
    with closing(ResponseCache("on")) as cache:
        cache.put("key", {"answer": "秘密"})
        opened(cache_folder().parent)
        with closing(ResponseCache("on")) as another:
            assert another.get("key") == {"answer": "秘密"}
            assert_private(cache_folder())

    assert modes(cache_folder().parent)["."] == "0o777"
