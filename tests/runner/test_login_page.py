"""A web page where JSON was promised: a wrong address or key, which is told at once and not waited for."""

from pathlib import Path

import pytest

from tests.commands import Command
from tests.servers.faults import Reply
from tests.servers.openai import OpenAIServer, play

PAGE = Reply(body=b"<!doctype html><title>Sign in</title>", headers={"content-type": "text/html"})
ASKED = 'request={"model": "m", "messages": [{"role": "user", "content": "$question"}]}'
HTTP = ("--adapter", "http", "--set", "answer=$", "--set", ASKED, "--set")
CHAT = ("--adapter", "openai_chat", "--set", "model=m", "--set")


@pytest.fixture(autouse=True)
def questions() -> None:
    """Two questions of the user's own."""
    Path("q.csv").write_text("question\nHow much is it?\nWhere are you?\n", encoding="utf-8")


@pytest.mark.parametrize(
    "adapter",
    [
        (*HTTP, "url={url}/chat/completions"),
        (*HTTP, "url={url}/chat/completions", "--set", "stream=sse"),
        (*CHAT, "url={url}"),
        (*CHAT, "url={url}", "--set", "stream=true"),
    ],
)
def test_a_page_before_the_bots_first_answer_is_for_the_user_to_fix(
    adapter: tuple[str, ...], command: Command, server: OpenAIServer
) -> None:
    """The line says what came and what to check; no customer goes on, and nothing is graded."""
    server.reply = lambda _: PAGE
    words = (word.replace("{url}", server.url) for word in adapter)
    done = command("--offline", "--cases", "q.csv", "--concurrency", "1", *words)

    host = server.url.partition("//")[2].partition("/")[0]
    said = f"error: {host} sent a web page instead of JSON: Sign in. Check the address, and the token or key."
    assert (done.code, server.counts["chat"]) == (2, 1)
    assert done.error == said
    assert done.run.run.status == "stopped"


def test_a_page_after_an_answer_is_a_failure_of_the_bot(command: Command, server: OpenAIServer) -> None:
    """Then the address is right, and what the customer met is graded."""
    server.reply = lambda _: PAGE if server.counts["chat"] > 1 else "It is 5 yen."
    words = (*CHAT, f"url={server.url}", "--turns", "1")
    done = command("--offline", "--cases", "q.csv", "--concurrency", "1", *words)

    answers = [turn.answer for conversation in done.run.conversations for turn in conversation.turns]
    assert done.code == 0
    assert [answer.error and answer.error.kind for answer in answers] == [None, "malformed"]


def test_a_page_of_the_judges_endpoint_is_for_the_user_to_fix(command: Command, server: OpenAIServer) -> None:
    """No --patience is spent on it; with the right address the run goes on."""
    server.reply = lambda _: PAGE
    Path("bot.py").write_text("def answer(question):\n    return 'It is 5 yen.'\n", encoding="utf-8")
    done = command("--cases", "q.csv", "--adapter", "bot.py:answer", "--judges", "turn", "--turns", "1",
                   "--user-model", "lexical", "--concurrency", "1")  # fmt: skip

    assert done.code == 2
    assert "the reply is a web page, not JSON: Sign in. Check REHEARSAL_JUDGE_KEY, _URL" in done.error

    server.reply = play
    assert command("--resume", "latest").code == 0
