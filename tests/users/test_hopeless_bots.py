"""Bots that never get anywhere: customers leave them, whoever plays, at the same time."""

import json
from pathlib import Path
from typing import Any

import pytest

from simulator import open_run
from simulator.cli.app import main
from simulator.core.types import Conversation, Ended
from tests.servers.openai import OpenAIServer, play

CASES = """id,question,language,reference,facts
ja,ホーム1ギガを途中で解約するといくらかかりますか,ja,解約金は4800円です。工事費の残りも一括でかかります。,\
入居は4月です|契約は去年の6月です|名義は父です|部屋は3階です
en,What does it cost to cancel Home 1 Giga early?,en,\
The fee is 4800 yen. What is left of the installation cost is due at once.,\
I moved in in April|The contract is of last June|My father signed it|The flat is on the third floor
"""
# Each says something new in form, and nothing in matter, or the same part again, perhaps in another frame.
BOT = """
ASKS = {
    "ja": ["ご契約はいつでしょうか？", "お部屋は何階でしょうか？", "ご名義はどなたでしょうか？"],
    "en": ["When was the contract signed?", "Which floor is the flat on?", "Who signed it, please?"],
}
PART = {"ja": "途中でのご解約には解約金が4800円かかります。",
        "en": "Cancelling early costs a fee of 4800 yen."}
FRAMES = {
    "ja": ["{}", "ありがとうございます。{}", "お問い合わせありがとうございます。{}"],
    "en": ["{}", "Thank you for asking. {}", "Thanks for your message. {}"],
}
ALL = {"ja": "解約金は4800円です。工事費の残りも一括でかかります。",
       "en": "The fee is 4800 yen. What is left of the installation cost is due at once."}

def asks(query):
    return ASKS[query.language][len(query.history) // 2 % 3]

def repeats(query):
    return PART[query.language]

def reframes(query):
    return FRAMES[query.language][len(query.history) // 2 % 3].format(PART[query.language])

def asks_twice(query):
    return asks(query) if len(query.history) < 4 else ALL[query.language]
"""


def customer(request: dict[str, Any]) -> str:
    """Was asked by a question, got a part with the fee and nothing with it again; leaves at the third."""
    form = request.get("response_format", {}).get("json_schema", {}).get("schema", {}).get("properties", {})
    if "message" not in form:
        return play(request)
    told = [message["content"] for message in request["messages"] if message["content"].startswith("<desk")]
    said = told[-1]
    whole = "工事費" in said or "installation" in said
    again = any("4800" in answer for answer in told[:-1])
    got = "answered" if whole else ("nothing" if again else "partly") if "4800" in said else "asked_back"
    leaves = len(told) >= 3 and not whole
    lines = ("そうですか。", "ええと、はい。", "それで？", "うーん。", "なるほど。", "分かりません。")
    english = ("I see.", "Well, yes.", "And then?", "Hm.", "Right.", "No idea.")
    message = (lines if "解約" in json.dumps(request, ensure_ascii=False) else english)[len(told) % 6]
    if leaves:
        message = "もう結構です。" if message in lines else "Never mind then."
    next_ = "satisfied" if whole else "gave_up" if leaves else "stay"
    return json.dumps({"why": "", "got": got, "feeling": -1, "next": next_, "message": message})


def held(bot: str, *options: str) -> dict[str, Conversation]:
    """Both conversations with a bot, by language."""
    Path("cases.csv").write_text(CASES, encoding="utf-8")
    Path("bot.py").write_text(BOT, encoding="utf-8")
    main(["--cases", "cases.csv", "--adapter", f"bot.py:{bot}", "--persona", "calm", "--turns", "9",
          "--judges", "rouge_l", *options])  # fmt: skip
    return {conversation.case.id: conversation for conversation in open_run().conversations}


@pytest.mark.parametrize(
    ("bot", "most", "ended", "turns"),
    [
        ("asks", 9, Ended.GAVE_UP, 3),
        ("repeats", 9, Ended.GAVE_UP, 4),
        ("asks_twice", 3, Ended.SATISFIED, 3),
    ],
)
def test_customers_with_and_without_a_model_agree(
    bot: str, most: int, ended: Ended, turns: int, server: OpenAIServer
) -> None:
    """A third answer that gives nothing new ends a patience of three; a desk that asks first keeps them."""
    offline = held(bot, "--turns", str(most), "--offline")
    server.reply = customer
    played = held(bot, "--turns", str(most))

    for language in ("ja", "en"):
        for conversation in (offline[language], played[language]):
            assert (conversation.ended, len(conversation.turns)) == (ended, turns), language
    reactions = [each for conversation in played.values() for each in conversation.reactions if each]
    assert [each.overruled for each in reactions if each.next == "gave_up"] == [None] * sum(
        conversation.ended is Ended.GAVE_UP for conversation in played.values()
    )


def test_a_model_says_that_it_got_the_same_again(server: OpenAIServer) -> None:
    """In whatever frame: no rule looks at the words, and the customer leaves all the same."""
    server.reply = customer

    for conversation in held("reframes").values():
        got = [reaction.got for reaction in conversation.reactions if reaction]
        assert (conversation.ended, got) == (Ended.GAVE_UP, ["partly", "nothing", "nothing", "nothing"])
