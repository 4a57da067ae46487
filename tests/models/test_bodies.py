"""Answers that are too long, packed or slow: a bound on each, and the run goes on."""

import json
import os
import subprocess
import sys
import zlib
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from simulator.core.errors import ModelFailure
from simulator.core.shelves import ROOT
from simulator.models.bodies import BodyError, unpacked
from simulator.models.pricing import BudgetSpent, Ledger
from tests.asking import put_to
from tests.scripted_models import ASKED, connected, model_at
from tests.servers.malformed import RawServer, bomb, ok, serve
from tests.servers.openai import serve as serve_model

EIGHT_MB = 8 * 2**20
TOO_LONG = "the answer is longer than 8 MB"
WAYS: dict[str, tuple[str, dict[str, str]]] = {
    "plain": ("http", {"answer": "answer"}),
    "sse": ("http", {"answer": "answer", "stream": "sse"}),
    "lines": ("http", {"answer": "answer", "stream": "lines"}),
    "chat": ("openai_chat", {"model": "m"}),
    "streamed chat": ("openai_chat", {"model": "m", "stream": "on"}),
}
# Says on its last line what it took at most, in MB.
PROGRAM = r"""
import re, sys
sys.path.insert(0, sys.argv[1])
from simulator.cli.app import main
code = main(sys.argv[2:])
status = open("/proc/self/status").read()  # rusage would count what the parent took before this program began
print(int(re.search(r"VmHWM:\s+(\d+) kB", status)[1]) // 1024)
sys.exit(code)
"""


async def chunks(whole: bytes, size: int) -> AsyncIterator[bytes]:
    """A body as it may arrive."""
    for at in range(0, len(whole), size):
        yield whole[at : at + size]


async def together(whole: bytes, encoding: str, size: int = 5000) -> bytes:
    """What is in it."""
    return b"".join([piece async for piece in unpacked(chunks(whole, size), encoding)])


@pytest.mark.parametrize(
    ("encoding", "bits"), [("gzip", 31), ("deflate", 15), ("deflate", -15), ("GZip", 31)]
)
@pytest.mark.parametrize("size", [1, 100, 10**6])
async def test_what_was_packed_is_unpacked(encoding: str, bits: int, size: int) -> None:
    """Gzip and deflate, with and without its header, in whatever pieces; blanks pack best."""
    text = b" " * 300_000 + "料金は990円です。".encode() * 500
    pack = zlib.compressobj(9, zlib.DEFLATED, bits)

    assert await together(pack.compress(text) + pack.flush(), encoding, size) == text


async def test_gzip_may_be_several_in_a_row() -> None:
    """As servers send who put together what is packed already; what follows them is nothing."""
    pack = zlib.compressobj(9, zlib.DEFLATED, 31)
    one = pack.compress(b"one ") + pack.flush()

    assert await together(one * 3 + b"\0\0", "gzip") == b"one one one "
    assert await together(one * 1000, "gzip") == b"one " * 1000
    with pytest.raises(BodyError, match="more than 1,000 parts"):
        await together(one * 1001, "gzip")


@pytest.mark.parametrize("encoding", ["", "identity", "gzip"])
async def test_eight_megabytes_are_read_and_no_byte_more(encoding: str) -> None:
    """Counted as they are when they are unpacked."""
    blanks = (b" " * size for size in (EIGHT_MB, EIGHT_MB + 1))
    most, more = (zlib.compress(each, 1, 31) if encoding == "gzip" else each for each in blanks)

    assert len(await together(most, encoding)) == EIGHT_MB
    with pytest.raises(BodyError, match=TOO_LONG):
        await together(more, encoding)


@pytest.mark.parametrize("status", [b"200 OK", b"400 Bad Request", b"500 Internal Server Error"])
@pytest.mark.parametrize("encoding", ["gzip", "deflate"])
async def test_a_bomb_is_a_models_typed_failure(encoding: str, status: bytes) -> None:
    """Also in place of an error's text; it is not asked for once more."""
    async with RawServer(bomb(encoding, status=status)) as server, connected() as made:
        with pytest.raises(ModelFailure, match=TOO_LONG) as met:
            await model_at(server.url, made).say(ASKED)

    assert (met.value.failure.kind, len(server.requests)) == ("malformed", 1)


async def test_a_reply_that_is_too_large_is_held_against_the_budget() -> None:
    """Nobody read what it cost, and the endpoint bills it: the most that it can have cost is gone."""
    ledger = Ledger({}, budget=0.03)
    async with RawServer(ok(b" " * (EIGHT_MB + 1))) as server, connected() as made:
        model = model_at(server.url, made, name="gpt-4.1", ledger=ledger)
        with pytest.raises(ModelFailure, match=TOO_LONG):
            await model.say(ASKED)
        with pytest.raises(BudgetSpent):
            await model.say(ASKED)

    assert len(server.requests) == 1
    assert (ledger.spent.calls, ledger.spent.uncounted, ledger.spent.cost_usd) == (1, 1, None)


async def test_neither_asks_for_more_than_it_counts() -> None:
    """Brotli and zstd make gigabytes of a few bytes: nobody is told that they are welcome."""
    async with RawServer(ok(b"{}")) as server, connected() as made:
        with pytest.raises(ModelFailure):
            await model_at(server.url, made).say(ASKED)
        for adapter, given in WAYS.values():
            await put_to(adapter, {"url": server.url, **given})

    asked = {line for each in server.requests for line in each.lower().split(b"\r\n") if b"encoding" in line}
    assert asked == {b"accept-encoding: gzip, deflate"}


async def test_a_long_line_without_end_is_cut_off() -> None:
    """A stream's line is bound like the stream."""
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: "
    async with RawServer(head + b"x" * (EIGHT_MB + 2**16), holds=True) as server:
        for way in ("sse", "streamed chat"):
            adapter, given = WAYS[way]
            answer = await put_to(adapter, {"url": server.url, **given}, 20)
            assert answer.error
            assert str(answer.error.message) == TOO_LONG


async def test_drops_are_waited_for_no_longer_than_an_answer() -> None:
    """One byte now and then never ends; --timeout does."""
    async with RawServer(ok(b" " * 1000), pace=0.02) as server, connected(timeout=0.3) as made:
        made.attempts = 1
        with pytest.raises(ModelFailure, match="no reply within") as met:
            await model_at(server.url, made).say(ASKED)

    assert met.value.failure.kind == "timeout"


@pytest.mark.parametrize("broken", ["judge", "bot"])
def test_a_bomb_takes_no_memory_and_ends_no_run(broken: str, tmp_path: Path) -> None:
    """A gigabyte in a megabyte, from a judge's endpoint and from a bot: the process stays below 300 MB."""
    (tmp_path / "cases.jsonl").write_text('{"question": "料金は？", "language": "ja"}', encoding="utf-8")
    (tmp_path / "bot.py").write_text("def answer(question):\n    return 'はい。'\n", encoding="utf-8")
    with serve(bomb("gzip")) as bad, serve_model() as good:
        environment = {name: value for name, value in os.environ.items() if not name.startswith("COV_")}
        for role in ("user", "judge", "embed"):
            environment[f"REHEARSAL_{role.upper()}_URL"] = bad.url if role == broken else good.url
            environment[f"REHEARSAL_{role.upper()}_KEY"] = "key"
        http = ("--adapter", "http", "--set", f"url={bad.url}", "--set", "answer=answer")
        given = http if broken == "bot" else ("--adapter", "bot.py:answer")
        arguments = ["--cases", "cases.jsonl", "--persona", "angry", "--turns", "1", "--judges", "turn"]
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM, str(ROOT), *arguments, "--json", *given],
            cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120, check=False,
        )  # fmt: skip
    told, largest = done.stdout.splitlines()

    assert done.returncode == 3, done.stderr
    assert json.loads(told)["conversations"]["finished"] == 1
    assert "Traceback" not in done.stderr
    assert int(largest) < 300
