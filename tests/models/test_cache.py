"""Answers kept between runs: in the user's folder, readable by the user only, and never at a run's cost."""

import asyncio
import sqlite3
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from simulator.models.cache import Mode, ResponseCache, cache_folder, request_key
from tests.scripted_models import GOOD, connected, model_at, verdict
from tests.servers.openai import OpenAIServer

BODY: dict[str, Any] = {"choices": [{"message": {"content": "はい"}}]}


@contextmanager
def opened(mode: Mode = "on", path: Path | None = None) -> Iterator[ResponseCache]:
    """A cache, closed at the end."""
    cache = ResponseCache(mode, path)
    try:
        yield cache
    finally:
        cache.close()


def test_a_new_version_finds_what_an_old_one_paid_for() -> None:
    """The key of a request stays what it is, in whichever order its fields are."""
    body = {"seed": 1, "messages": [{"role": "user", "content": "はい \ud800"}], "model": "m"}

    key = "0cf76b94d16a3b7dca810b5a78bf226e59764a516df996355ee3fd030ad64441"
    assert request_key("http://h/v1/chat/completions", body) == key


@pytest.mark.parametrize("mode", ["on", "off"])
def test_a_cache_that_is_off_neither_reads_nor_writes(mode: Mode) -> None:
    """Nor does it forget."""
    with opened() as before:
        before.put("old", BODY)
    with opened(mode) as cache:
        assert (cache.get("old") == BODY) == (mode == "on")
        cache.put("new", BODY)
        cache.forget("old")
    with opened() as after:
        assert (after.get("new") is not None) == (mode == "on")
        assert (after.get("old") is None) == (mode == "on")


def test_it_lives_in_the_users_cache_folder_for_the_user_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """XDG_CACHE_HOME, LOCALAPPDATA or ~/.cache; the files have mode 0600, the folder 0700."""
    with opened() as cache:
        cache.put("key", BODY)
        files = list(cache_folder().iterdir())
        modes = {file.name: stat.S_IMODE(file.stat().st_mode) for file in files}
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("LOCALAPPDATA", "/local")

    assert set(modes.values()) == {0o600}
    assert "responses.sqlite" in modes
    assert stat.S_IMODE(files[0].parent.stat().st_mode) == 0o700
    assert cache_folder() == Path("/local/rehearsal")
    monkeypatch.delenv("LOCALAPPDATA")
    assert cache_folder() == Path.home() / ".cache" / "rehearsal"


def test_the_same_request_has_the_same_name() -> None:
    """Order of keys does not count, every value does; halves of characters do no harm."""
    body = {"model": "m", "messages": [{"role": "user", "content": "\ud83d"}], "seed": 1}

    assert request_key("u", body) == request_key("u", dict(reversed(body.items())))
    assert len({request_key("u", body), request_key("v", body), request_key("u", body | {"seed": 2})}) == 3


def test_what_is_kept_comes_back_as_it_was() -> None:
    """Japanese, control codes and lone surrogates included; the newest answer counts."""
    body = {"text": "返品\u0000\ud83d\n"}
    with opened() as cache:
        cache.put("key", BODY)
        cache.put("key", body)
        assert cache.get("key") == body


def _garbage(path: Path) -> None:
    path.parent.mkdir()
    path.write_bytes(b"this is no database" * 100)


def _a_folder(path: Path) -> None:
    path.mkdir(parents=True)


def _no_folder(path: Path) -> None:
    path.parent.write_text("a file")


def _another_database(path: Path) -> None:
    path.parent.mkdir()
    with sqlite3.connect(path) as file:
        file.execute("CREATE TABLE responses (other TEXT)")
    file.close()


@pytest.mark.parametrize("spoil", [_garbage, _a_folder, _no_folder, _another_database])
async def test_a_cache_that_cannot_be_used_is_switched_off(spoil: Any) -> None:
    """A file that is none, is foreign or cannot be made: calls go on without it, and nothing is said."""
    path = cache_folder() / "responses.sqlite"
    path.parent.parent.mkdir(exist_ok=True)
    spoil(path)
    async with OpenAIServer(lambda _: GOOD) as server, connected(cache=ResponseCache("on")) as made:
        for _ in range(2):
            assert (await verdict(model_at(server, made)))["grade"] == 4
            await asyncio.sleep(0)  # replies are written at the end of the loop's iteration

    assert server.counts["chat"] == 2
