"""The same calls and nothing else: through an aiohttp session, or through the OpenAI client on top of one.

Per turn: the bot, the customer's next line beside five grades and one embeddings request of two texts.
No prompts are made, nothing is read, checked, stored or reported.
"""

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

Post = Callable[[str, dict[str, Any]], Awaitable[Any]]

# A usual prompt, guidelines and passages included, and the form of a grade.
PROMPT = "電気料金プランについての質問に、資料に沿って答えてください。" * 60
GRADE = {
    "type": "object",
    "properties": {"reason": {"type": "string"}, "grade": {"type": "integer", "enum": [1, 2, 3, 4, 5]}},
    "required": ["reason", "grade"],
    "additionalProperties": False,
}
GRADES = {"separate": 5, "combined": 1}


@asynccontextmanager
async def aiohttp_session() -> AsyncIterator[Post]:
    """Posts of JSON, as aiohttp makes them."""
    import aiohttp

    url, key = os.environ["OPENAI_BASE_URL"], os.environ["OPENAI_API_KEY"]
    async with aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=0), headers={"Authorization": f"Bearer {key}"}
    ) as session:

        async def post(path: str, body: dict[str, Any]) -> Any:
            async with session.post(url + path, json=body) as response:
                return await response.json()

        yield post


@asynccontextmanager
async def openai_client() -> AsyncIterator[Post]:
    """Posts of the OpenAI client, over its aiohttp transport."""
    from openai import AsyncOpenAI, DefaultAioHttpClient

    async with AsyncOpenAI(max_retries=0, http_client=DefaultAioHttpClient(timeout=60)) as client:
        yield lambda path, body: client.post(path, body=body, cast_to=object)


WAYS = {"aiohttp": aiohttp_session, "openai": openai_client}


async def main() -> None:
    """argv: conversations, turns, calls in flight, separate or combined, aiohttp or openai."""
    conversations, turns, calls = map(int, sys.argv[1:4])
    async with WAYS[sys.argv[5]]() as post:
        await every_call(post, conversations, turns, asyncio.Semaphore(calls), GRADES[sys.argv[4]])
    print(json.dumps({"calls": conversations * turns * (3 + GRADES[sys.argv[4]])}))


async def every_call(
    post: Post, conversations: int, turns: int, places: asyncio.Semaphore, grades: int
) -> None:
    """All conversations at once, and the grades of each beside it."""

    async def send(path: str, body: dict[str, Any]) -> None:
        async with places:
            await post(path, body)

    async def chat(text: str, form: dict[str, Any] | None = None) -> None:
        body: dict[str, Any] = {"model": "m", "messages": [{"role": "user", "content": PROMPT + text}]}
        if form:
            described = {"name": "reply", "strict": True, "schema": form}
            body["response_format"] = {"type": "json_schema", "json_schema": described}
        await send("/chat/completions", body)

    async def conversation(number: int, tasks: asyncio.TaskGroup) -> None:
        for turn in range(turns):
            await chat(f"bot {number} {turn}")
            for grade in range(grades):
                tasks.create_task(chat(f"grade {number} {turn} {grade}", GRADE))
            texts = [f"回答 {number} {turn}", f"正解 {number} {turn}"]
            body = {"model": "e", "input": texts, "encoding_format": "base64"}
            tasks.create_task(send("/embeddings", body))
            await chat(f"customer {number} {turn}")

    async with asyncio.TaskGroup() as tasks:
        for number in range(conversations):
            tasks.create_task(conversation(number, tasks))


if __name__ == "__main__":
    asyncio.run(main())
