"""The same calls and nothing else, through the same client: the upper limit that endpoint and client allow.

Per turn: the bot, the customer's next line beside five grades and one embeddings request of two texts.
No prompts are made, nothing is read, checked, stored or reported.
"""

import asyncio
import json
import os
import sys
from typing import Any

from openai import AsyncOpenAI, DefaultAioHttpClient

# A usual prompt, guidelines and passages included, and the form of a grade.
PROMPT = "電気料金プランについての質問に、資料に沿って答えてください。" * 60
GRADE = {
    "type": "object",
    "properties": {"reason": {"type": "string"}, "grade": {"type": "integer", "enum": [1, 2, 3, 4, 5]}},
    "required": ["reason", "grade"],
    "additionalProperties": False,
}
GRADES = {"separate": 5, "combined": 1}


async def main() -> None:
    """argv: conversations, turns, calls in flight, separate or combined."""
    conversations, turns, calls = map(int, sys.argv[1:4])
    grades = GRADES[sys.argv[4]]
    http = DefaultAioHttpClient(timeout=60)
    client = AsyncOpenAI(
        base_url=os.environ["OPENAI_BASE_URL"], api_key="none", max_retries=0, http_client=http
    )
    places = asyncio.Semaphore(calls)

    async def post(path: str, body: dict[str, Any]) -> None:
        async with places:
            await client.post(path, body=body, cast_to=object)

    async def chat(text: str, form: dict[str, Any] | None = None) -> None:
        body: dict[str, Any] = {"model": "m", "messages": [{"role": "user", "content": PROMPT + text}]}
        if form:
            described = {"name": "reply", "strict": True, "schema": form}
            body["response_format"] = {"type": "json_schema", "json_schema": described}
        await post("/chat/completions", body)

    async def conversation(number: int, tasks: asyncio.TaskGroup) -> None:
        for turn in range(turns):
            await chat(f"bot {number} {turn}")
            for grade in range(grades):
                tasks.create_task(chat(f"grade {number} {turn} {grade}", GRADE))
            texts = [f"回答 {number} {turn}", f"正解 {number} {turn}"]
            body = {"model": "e", "input": texts, "encoding_format": "base64"}
            tasks.create_task(post("/embeddings", body))
            await chat(f"customer {number} {turn}")

    async with asyncio.TaskGroup() as tasks:
        for number in range(conversations):
            tasks.create_task(conversation(number, tasks))
    await client.close()
    print(json.dumps({"calls": conversations * turns * (3 + grades)}))


if __name__ == "__main__":
    asyncio.run(main())
