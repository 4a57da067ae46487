"""Bots that never get anywhere: customers leave them, whoever plays, at the same time."""

import json
from pathlib import Path
from typing import Any

import pytest

from simulator.cli.app import main
from simulator.core.types import Conversation, Ended, Language
from simulator.storage.run_file import open_run
from simulator.text.evidence import says_it_again
from tests.servers.openai import OpenAIServer, play

CASES = """id,question,language,reference,facts
ja,ホーム1ギガを途中で解約するといくらかかりますか,ja,解約金は4800円です。工事費の残りも一括でかかります。,\
入居は4月です|契約は去年の6月です|名義は父です|部屋は3階です
en,What does it cost to cancel Home 1 Giga early?,en,\
The fee is 4800 yen. What is left of the installation cost is due at once.,\
I moved in in April|The contract is of last June|My father signed it|The flat is on the third floor
"""
# Each says something new in form, and nothing in matter, or the same part in another frame.
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
    return FRAMES[query.language][len(query.history) // 2 % 3].format(PART[query.language])

def asks_twice(query):
    return asks(query) if len(query.history) < 4 else ALL[query.language]
"""


def customer(request: dict[str, Any]) -> str:
    """Says of a question that it was asked, of the fee that it is a part, and would leave at the third."""
    form = request.get("response_format", {}).get("json_schema", {}).get("schema", {}).get("properties", {})
    if "message" not in form:
        return play(request)
    told = [message["content"] for message in request["messages"] if message["role"] == "user"][1:]
    said = told[-1]
    whole = "工事費" in said or "installation" in said
    got = "all" if whole else "part" if "4800" in said else "asked_back"
    leaves = len(told) >= 3 and not whole
    lines = ("そうですか。", "ええと、はい。", "それで？", "うーん。", "なるほど。", "分かりません。")
    english = ("I see.", "Well, yes.", "And then?", "Hm.", "Right.", "No idea.")
    message = (lines if "解約" in json.dumps(request, ensure_ascii=False) else english)[len(told) % 6]
    if leaves:
        message = "もう結構です。" if message in lines else "Never mind then."
    next_ = "gave_up" if leaves else "stay"
    return json.dumps({"asked": "", "got": got, "feeling": -1, "why": "", "next": next_, "message": message})


def held(bot: str, *options: str) -> dict[str, Conversation]:
    """Both conversations with a bot, by language."""
    Path("cases.csv").write_text(CASES, encoding="utf-8")
    Path("bot.py").write_text(BOT, encoding="utf-8")
    main(["--cases", "cases.csv", "--adapter", f"bot.py:{bot}", "--persona", "calm", "--turns", "9",
          "--judges", "rouge_l", *options])  # fmt: skip
    return {conversation.case.id: conversation for conversation in open_run().conversations}


@pytest.mark.parametrize(
    ("bot", "ended", "turns"),
    [("asks", Ended.GAVE_UP, 3), ("repeats", Ended.GAVE_UP, 4), ("asks_twice", Ended.SATISFIED, 3)],
)
def test_customers_with_and_without_a_model_agree(
    bot: str, ended: Ended, turns: int, server: OpenAIServer
) -> None:
    """A third answer that gives nothing new ends a patience of three; a desk that asks first keeps them."""
    offline = held(bot, "--offline")
    server.reply = customer
    played = held(bot)

    for language in ("ja", "en"):
        for conversation in (offline[language], played[language]):
            assert (conversation.ended, len(conversation.turns)) == (ended, turns), language
    reactions = [each for conversation in played.values() for each in conversation.reactions if each]
    assert [each.overruled for each in reactions if each.next == "gave_up"] == [None] * sum(
        conversation.ended is Ended.GAVE_UP for conversation in played.values()
    )


@pytest.mark.parametrize(
    ("answer", "earlier", "again"),
    [
        ("承知しました。解約金は4,800円です。", ["解約金は4,800円です。"], True),
        ("Thank you. The fee is 4800 yen.", ["Thanks! The fee is 4800 yen."], True),
        ("解約金は4,800円で、工事費も一括でかかります。", ["解約金は4,800円です。"], False),
        ("解約金は5,800円です。", ["解約金は4,800円です。"], False),
        ("途中での解約はできません。", ["途中での解約はできます。"], False),
        ("はい、できます。", ["返品は14日以内ならできます。"], False),
        ("はい、できます。", ["はい、できます。"], True),
        ("", [""], False),
    ],
)
def test_what_is_the_same_again(answer: str, earlier: list[str], again: bool) -> None:
    """In another frame it is; with another figure, another part or a negation it is not."""
    language: Language = "ja" if any(ord(sign) > 999 for sign in answer) else "en"

    assert says_it_again(answer, earlier, language) is again
