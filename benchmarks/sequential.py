"""The plain script that teams start with: one call after the other, nothing kept until the end.

Per turn: the customer's line, the bot's answer, five JSON grades, two embeddings.
"""

import os
import sys

from openai import OpenAI


def main() -> None:
    """argv: conversations, turns."""
    conversations, turns = int(sys.argv[1]), int(sys.argv[2])
    client = OpenAI(base_url=os.environ["OPENAI_BASE_URL"], api_key="none")

    def chat(text: str) -> str:
        reply = client.chat.completions.create(model="m", messages=[{"role": "user", "content": text}])
        return reply.choices[0].message.content or ""

    for _ in range(conversations):
        line = "ルーターにE-205と出てつながりません"
        for _ in range(turns):
            answer = chat(line)
            for metric in ("overall", "relevance", "groundedness", "similarity", "fluency"):
                chat(f"{metric} (JSON): {line} / {answer}")
            for text in (answer, "接続IDを入力し直してください。"):
                client.embeddings.create(model="e", input=text)
            line = chat(f"お客様の次の一言: {answer}")


if __name__ == "__main__":
    main()
