"""The end of a conversation with a customer whom a model plays: what they still say, and how it ends."""

import json
from pathlib import Path
from typing import Any

import pytest

from simulator import open_run
from simulator.cli.app import main
from simulator.core import shelves
from simulator.core.types import Conversation, Ended
from tests.servers.openai import OpenAIServer, play

CASES = """id,question,language,reference
q1,ホーム1ギガの解約金はいくらですか,ja,解約金は4800円です。
"""
BOT = """
def answer(question):
    return "解約金は4800円です。土曜日も受け付けます。" if "土曜" in question else "4800円です。"
"""


def conversation(server: OpenAIServer, *lines: dict[str, Any], turns: int = 1) -> Conversation:
    """A conversation in which the customer model fills in these forms, one after the other."""
    left = list(lines)

    def reply(request: dict[str, Any]) -> str:
        form = request.get("response_format", {}).get("json_schema", {}).get("schema", {})
        if "message" not in form.get("properties", {}):
            return play(request)
        return json.dumps({"why": "", "feeling": 0, **left.pop(0)})

    server.reply = reply
    Path("cases.csv").write_text(CASES, encoding="utf-8")
    Path("bot.py").write_text(BOT, encoding="utf-8")
    main(["--cases", "cases.csv", "--adapter", "bot.py:answer", "--persona", "calm", "--judges", "rouge_l",
          "--turns", str(turns), "--cache", "off"])  # fmt: skip
    (held,) = open_run().conversations
    return held


@pytest.mark.parametrize(
    ("got", "next_", "message", "ended", "closing"),
    [
        ("nothing", "gave_up", "もう結構です。", Ended.GAVE_UP, "もう結構です。"),
        ("asked_back", "gave_up", "ほかを当たります。", Ended.GAVE_UP, "ほかを当たります。"),
        ("partly", "satisfied", "ありがとうございました。", Ended.SATISFIED, "ありがとうございました。"),
        ("partly", "gave_up", "では失礼します。", Ended.GAVE_UP, "では失礼します。"),
        # Content with nothing is nobody; the words are kept all the same.
        ("nothing", "satisfied", "ありがとうございました。", Ended.TURN_LIMIT, "ありがとうございました。"),
        # Whether a line says goodbye is for the model to say: its words are not looked at.
        ("partly", "stay", "もう結構です。失礼します。", Ended.TURN_LIMIT, ""),
        ("partly", "stay", "それで、いつまでですか？", Ended.TURN_LIMIT, ""),
        ("answered", "stay", "土曜日もできますか？", Ended.SATISFIED, ""),
    ],
)
def test_a_goodbye_at_the_limit_is_kept(
    got: str, next_: str, message: str, *, ended: Ended, closing: str, server: OpenAIServer
) -> None:
    """With its words and its ending; another line, which reaches nobody, is none."""
    held = conversation(server, {"got": got, "next": next_, "message": message})

    assert (held.ended, held.closing, len(held.turns)) == (ended, closing, 1)


def test_who_has_all_and_asks_something_else_is_heard(server: OpenAIServer) -> None:
    """The bot gets the question, and the customer leaves once it is answered."""
    asks = {"got": "answered", "next": "stay", "message": "なるほど。土曜日も受け付けていますか？"}
    leaves = {"got": "answered", "next": "satisfied", "message": "ありがとうございました。"}
    held = conversation(server, asks, leaves, turns=4)

    assert [turn.user for turn in held.turns][1:] == [asks["message"]]
    assert (held.ended, held.closing) == (Ended.SATISFIED, "ありがとうございました。")


def test_who_never_stops_asking_is_content_with_the_second_full_answer(server: OpenAIServer) -> None:
    """Where few turns can be taken; and what they would have asked is no closing line."""
    asks = [{"got": "answered", "next": "stay", "message": text} for text in ("土曜は？", "日曜は？")]
    held = conversation(server, *asks, turns=3)

    assert [turn.user for turn in held.turns][1:] == ["土曜は？"]
    assert (held.ended, held.closing) == (Ended.SATISFIED, "")
    assert held.reaction is not None
    assert held.reaction.overruled == "stay"


def test_who_never_stops_asking_is_heard_where_more_turns_can_be_taken(server: OpenAIServer) -> None:
    """Also after the second full answer, as people would."""
    asks = [{"got": "answered", "next": "stay", "message": text} for text in ("土曜は？", "日曜は？")]
    leaves = {"got": "nothing", "next": "satisfied", "message": "ありがとうございました。"}
    held = conversation(server, *asks, leaves, turns=9)

    assert [turn.user for turn in held.turns][1:] == ["土曜は？", "日曜は？"]
    assert held.ended == Ended.SATISFIED


GOOD = """
def answer(query):
    return "担当者におつなぎします。" if query.history else "ホーム1ギガにも解約金がかかります。"
"""
# Of another matter, and never the same again.
BAD = """
def answer(query):
    return f"請求書は毎月{len(query.history) + 3}日の発行です。"
"""


@pytest.mark.parametrize(
    ("settings", "options", "turns"), [("", (), 6), ("turns = 2", (), 6), ("", ("--turns", "4"), 4)]
)
def test_a_replay_has_the_turns_of_its_run(settings: str, options: tuple[str, ...], turns: int) -> None:
    """Also where the customer goes on alone, whatever rehearsal.toml says by then, unless told otherwise."""
    for name, text in {"cases.csv": CASES, "good.py": GOOD, "bad.py": BAD}.items():
        Path(name).write_text(text, encoding="utf-8")
    calm = shelves.PERSONAS.joinpath("calm.toml").read_text("utf-8")
    Path("own.toml").write_text(calm.replace("patience = 3", "patience = 9"), encoding="utf-8")
    bot = ("--offline", "--judges", "rouge_l", "--adapter")
    main(["--cases", "cases.csv", "--persona", "./own.toml", "--turns", "6", *bot, "good.py:answer"])
    before = open_run()
    Path("rehearsal.toml").write_text(settings, encoding="utf-8")

    main(["--replay", before.run.id, *options, *bot, "bad.py:answer"])
    after = open_run()
    assert len(before.conversations[0].turns) == 2
    assert len(after.conversations[0].turns) == after.run.settings["turns"] == turns


DESK = """
from pathlib import Path
def answer(query):
    texts = ["4800円です。", "工事費の残りもかかります。", "ご契約の月によります。", "土曜も受け付けます。"]
    texts[1] = Path("second.txt").read_text("utf-8")
    return texts[len(query.history) // 2]
"""


def test_a_replay_asks_the_customers_model_whether_a_line_fits(server: OpenAIServer) -> None:
    """Once where the bot answers otherwise, in the call that writes the line; what was got is kept."""
    asked = list[str]()

    def customer(request: dict[str, Any]) -> str:
        form = (
            request.get("response_format", {}).get("json_schema", {}).get("schema", {}).get("properties", {})
        )
        if "message" not in form:
            return play(request)
        turn = sum(message["role"] == "assistant" for message in request["messages"])
        told = {"why": "w", "got": "partly", "feeling": 0, "next": "stay", "message": f"それで{turn}つ目は？"}
        if "fits" in form:
            asked.append(request["messages"][0]["content"])
            told |= {"fits": "no" if "ご案内できません" in request["messages"][-1]["content"] else "yes"}
            told |= {"got": "declined", "message": "どうして？"} if told["fits"] == "no" else {"message": ""}
        return json.dumps(told)

    server.reply = customer
    for name, text in {"cases.csv": CASES, "bot.py": DESK}.items():
        Path(name).write_text(text, encoding="utf-8")
    bot = ("--adapter", "bot.py:answer", "--judges", "rouge_l", "--cache", "off")

    def held(second: str, *options: str) -> Conversation:
        Path("second.txt").write_text(second, encoding="utf-8")
        assert main([*bot, *options]) == 0
        (conversation,) = open_run().conversations
        return conversation

    first = held("工事費の残りもかかります。", "--cases", "cases.csv", "--persona", "calm", "--turns", "4")
    run = open_run().run.id
    lines = [turn.user for turn in first.turns]
    same = held("工事費の残りもかかります。", "--replay", run)
    assert ([turn.user for turn in same.turns], asked) == (lines, [])
    assert [turn.reaction and turn.reaction.got for turn in same.turns] == [None, *["partly"] * 3]

    other = held("工事費もかかります。", "--replay", run)
    assert [turn.user for turn in other.turns] == lines
    assert len(asked) == 1
    assert lines[2] in asked[0]

    asked.clear()
    diverged = held("ご案内できません。", "--replay", run)
    assert [turn.user for turn in diverged.turns] == [*lines[:2], "どうして？", "それで3つ目は？"]
    assert [turn.diverged for turn in diverged.turns] == [False, False, True, False]
    assert diverged.turns[2].reaction is not None
    assert diverged.turns[2].reaction.got == "declined"
    assert len(asked) == 1
