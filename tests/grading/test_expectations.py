"""What the team expects of the bot, in sentences: each met, not met, or not come up, in one reading."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from simulator.cases.cases import read_cases
from simulator.core.types import ChatMessage, Conversation, Ended, GradingContext, RedRules, Score
from simulator.results.red import red_marks
from simulator.runner.conversation import conversation_context
from tests.commands import Command
from tests.run_helpers import a_case, a_stage, a_talk, a_turn
from tests.servers.openai import OpenAIServer, play, serve

SENTENCES = ("手数料1,100円を案内する", "返金を約束しない", "領収書の宛名を聞く")
BOTH = ("turn", "conversation", "expectations")
WHOLE = {"requests": [{"request": "r", "turn": 1, "state": "resolved"}], "lapses": [], "conclusion": "c"}


def held(*answers: str, expect: tuple[str, ...] = SENTENCES) -> Conversation:
    """A conversation in which the desk said this."""
    turns = tuple(
        turn.model_copy(update={"answer": turn.answer.model_copy(update={"text": text})})
        for turn, text in ((a_turn(index), text) for index, text in enumerate(answers, 1))
    )
    talk = a_talk(a_case(expect=expect))
    return talk.model_copy(update={"turns": turns, "ended": Ended.SATISFIED, "closing": "どうも。"})


def said(number: int, state: str, quote: str = "", turn: int = 1) -> dict[str, Any]:
    """A verdict on a sentence."""
    return {"number": number, "turn": turn, "quote": quote, "why": f"why {number}", "state": state}


def whole_context(conversation: Conversation) -> GradingContext:
    """All of a conversation, as judges of the whole see it."""
    context = conversation_context(conversation)
    assert context is not None
    return context


async def asked(
    conversation: Conversation, *verdicts: dict[str, Any], judges: tuple[str, ...] = BOTH, **settings: Any
) -> tuple[dict[str, Score], list[str]]:
    """The scores of a whole conversation by judge, and the prompts that they took."""
    body = {"conversation": WHOLE, "expectations": {"expectations": verdicts}}

    def reply(request: Any) -> str:
        shared = '"conversation": {' in request["messages"][0]["content"]
        return json.dumps(body if shared else WHOLE | {"expectations": verdicts})

    async with OpenAIServer(reply) as server:
        stage = a_stage(server, judges=judges, **settings)
        try:
            scores = await stage.panel.grade(whole_context(conversation))
        finally:
            await stage.close(None)
        prompts = ["\n".join(m["content"] for m in each.body["messages"]) for each in server.requests]
    return {score.judge: score for score in scores}, prompts


async def test_sentences_and_conversation_are_judged_in_one_call() -> None:
    """The share met of what came up is the score; quotation and turn stand beside each sentence."""
    talk = held("手数料は1,100円です。", "全額を必ずお返しします。")
    met, broken = said(1, "met", "手数料は1,100円"), said(2, "not met", "必ずお返しします", turn=2)
    scores, prompts = await asked(talk, met, broken, said(3, "open", turn=0))
    score = scores["expectations"]
    rows: Any = score.detail["expectations"]

    assert len(prompts) == 1
    assert all(
        f"<expectation-{n} " in prompts[0] and text in prompts[0] for n, text in enumerate(SENTENCES, 1)
    )
    assert (score.state, score.value, score.turn, score.is_whole) == ("scored", 0.5, 2, True)
    assert [(row["sentence"], row["state"], row["turn"]) for row in rows] == [
        (SENTENCES[0], "met", 1), (SENTENCES[1], "unmet", 2), (SENTENCES[2], "open", 0),
    ]  # fmt: skip
    assert SENTENCES[1] in score.reason
    assert scores["conversation"].value == 1.0


async def test_without_a_sentence_the_conversation_is_asked_about_as_ever() -> None:
    """Its prompt does not know of sentences, and the judge of these skips; its grades are one judge's."""
    plain = held("手数料は1,100円です。", expect=())
    scores, [prompt] = await asked(plain)
    alone, [as_ever] = await asked(plain, judges=("turn", "conversation"))
    together, _prompts = await asked(held("手数料は1,100円です。"), said(1, "met", "手数料は1,100円"))

    assert prompt == as_ever
    assert scores["expectations"].state == "skipped"
    assert scores["conversation"].rubric == alone["conversation"].rubric == together["conversation"].rubric


async def test_each_judge_has_a_call_of_its_own_where_that_is_asked_for() -> None:
    """`--judging separate`, and small models, which fill in one form at a time."""
    talk = held("手数料は1,100円です。")
    verdict = said(1, "met", "手数料は1,100円")

    for judging in ("separate", "small"):
        scores, prompts = await asked(talk, verdict, judging=judging)
        assert (len(prompts), scores["expectations"].value) == (2, 1.0)


@pytest.mark.parametrize(
    ("quote", "turn", "counts"),
    [
        ("どうも", 0, True),
        ("どうも", 2, True),
        ("どうも", 1, False),
        ("もしもし", 0, True),
        ("もしもし", 1, False),
        ("手数料", 0, True),
        ("手数料", 1, True),
        ("手数料", 2, False),
        ("ずっと同じ値段", 2, True),
    ],
)
async def test_words_count_where_they_were_said(quote: str, turn: int, counts: bool) -> None:
    """By either side, before the first turn or when the customer left; anywhere, where no turn is named."""
    talk = held("手数料は1,100円です。", "はい。", expect=SENTENCES[:1])
    said_before = (ChatMessage(role="user", content="もしもし。"),)
    talk = talk.model_copy(update={"case": talk.case.model_copy(update={"history": said_before})})
    scores, _prompts = await asked(talk, said(1, "met", quote, turn=turn))

    assert scores["expectations"].state == ("scored" if counts else "failed")
    # What was never said has no words, where that is what is amiss.
    for state, value in (("not met", 0), ("met", None)):
        scores, _prompts = await asked(talk, said(1, state, " ", turn=turn))
        assert scores["expectations"].value == value


async def test_words_that_do_not_stand_there_do_not_count() -> None:
    """Nor does a verdict on no sentence; a sentence without one is counted, and none of it is a grade."""
    talk = held("手数料は1,100円です。", "返金はいたしかねます。")
    verdicts = (
        said(1, "met", "手数料は1,100円", turn=2),
        said(2, "met", "返金はいたしかねます", turn=2),
        said(7, "unmet", "手数料は1,100円"),
    )
    scores, _prompts = await asked(talk, *verdicts)
    score = scores["expectations"]

    assert (score.value, score.detail["expectations_ignored"], score.detail["dropped"]) == (1.0, 2, 1)
    scores, _prompts = await asked(talk, said(1, "met", "無料です"))
    assert (scores["expectations"].state, scores["expectations"].detail["kind"]) == ("failed", "malformed")


async def test_where_nothing_came_up_there_is_no_grade() -> None:
    """And nothing is red: the judge skips, and says why."""
    scores, _prompts = await asked(held("はい。"), *(said(n, "open", turn=0) for n in (1, 2, 3)))

    assert (scores["expectations"].state, scores["expectations"].value) == ("skipped", None)
    assert red_marks([scores["expectations"]], RedRules()) == ()


async def test_a_sentence_that_was_not_met_makes_its_turn_red() -> None:
    """Major where less than half of what came up was met; off with `[red] expectations = false`."""
    talk = held("全額を必ずお返しします。", "手数料は1,100円です。")
    broken = said(2, "unmet", "必ずお返しします")
    scores, _prompts = await asked(talk, broken)
    alone = scores["expectations"]
    [mark] = red_marks([alone], RedRules(), turn=1)
    scores, _prompts = await asked(talk, broken, said(1, "met", "手数料は1,100円", turn=2))
    [beside] = red_marks([scores["expectations"]], RedRules(), turn=1)

    assert (mark.kind, mark.severity, mark.reason) == ("expectations", "major", f"{SENTENCES[1]}: why 2")
    assert beside.severity == "moderate"
    assert red_marks([alone], RedRules(), turn=2) == ()
    assert red_marks([alone], RedRules(expectations=False)) == ()


def test_sentences_are_parted_by_bars_and_line_breaks(tmp_path: Path) -> None:
    """Under either heading, without what an item of a list begins with; of JSON a list or one text."""
    file = tmp_path / "q.csv"
    file.write_text(
        '質問,期待すること\n料金は？,"・1,100円と言う\n2. 返金を約束しない|お礼を言う"\n', encoding="utf-8"
    )
    [case] = read_cases(file)
    rows = [{"question": "a", "expect": "x|y"}, {"question": "b", "expect": ["x | y"]}, {"question": "c"}]
    lines = tmp_path / "q.jsonl"
    lines.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")

    assert case.expect == ("1,100円と言う", "返金を約束しない", "お礼を言う")
    assert [case.expect for case in read_cases(lines)] == [("x", "y"), ("x | y",), ()]


BOT = "def answer(question):\n    return 'It costs 11 pounds. We will certainly refund you.'\n"
EXPECTED = (
    "names the fee of 11 pounds",
    "must not promise a refund",
    "if a receipt is wanted, asks for a name",
)


def judged(request: Any) -> Any:
    """What the endpoint replies: of what is expected the first is met, the second not, the third open.

    Every answer is a good one otherwise.
    """
    if "<expectation-" not in request["messages"][1]["content"]:
        reply, grades = play(request), '"overall": ' in request["messages"][0]["content"]
        return re.sub(r'": [1-5](?=[,}])', '": 5', str(reply)) if grades else reply
    rows = [
        said(1, "met", "costs 11 pounds"),
        said(2, "unmet", "certainly refund you"),
        said(3, "open", turn=0),
    ]
    count = request["messages"][1]["content"].count("<expectation-")
    return json.dumps({"conversation": WHOLE, "expectations": {"expectations": rows[:count]}})


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A folder with a bot and questions of which each says what is expected, and a model at an endpoint."""
    monkeypatch.chdir(tmp_path)
    Path("bot.py").write_text(BOT, encoding="utf-8")

    def questions(sentences: int) -> None:
        expect = "|".join(EXPECTED[:sentences])
        lines = [f'q{n},Is there a fee for plan {n}?,"{expect}"' for n in range(6)]
        Path("q.csv").write_text("\n".join(["id,question,expect", *lines]), encoding="utf-8")

    with serve(judged) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        monkeypatch.setenv("OPENAI_API_KEY", "x")
        yield questions


RUN = (
    "--adapter",
    "bot.py:answer",
    "--cases",
    "q.csv",
    "--persona",
    "calm",
    "--turns",
    "1",
    "--language",
    "en",
)


def test_a_run_with_expectations_says_what_was_met_and_fails_the_gate(desk: Any, command: Command) -> None:
    """JSON, terminal and files have the counts; `expectations == 1` is missed by what was not met."""
    desk(3)
    run = command(*RUN, "--json", "--target", "expectations == 1", "--to", "csv")
    shown = command("report")

    assert (run.code, run.json["expectations"]) == (1, {"met": 6, "unmet": 6, "open": 6})
    assert "Expectations 50 % (100 % required)" in " ".join(run.json["reasons"])
    assert "Expectations: met 6, not met 6, did not come up 6." in shown.out
    folder = Path(run.json["store"]).parent
    [table] = folder.glob("*.csv")
    assert EXPECTED[1] in table.read_text(encoding="utf-8-sig")
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert "Expectation not met" in page
    assert "50 % met" in page
    [fix] = [fix for fix in command("fixes", "--json").json["fixes"] if fix["cause"] == "expectations"]
    assert fix["standing"] == "certain"


def test_where_all_is_met_the_gate_passes(desk: Any, command: Command) -> None:
    """And where no question says what is expected, nothing can be said of it."""
    gate = ("--target", "expectations == 1", "--max-major", "1")
    desk(1)
    passed = command(*RUN, "--json", *gate)
    desk(0)
    without = command(*RUN, "--json", *gate)

    assert (passed.code, passed.json["decision"]) == (0, "passed")
    assert (without.code, without.json["decision"], without.json["expectations"]) == (1, "undecided", None)


def test_the_forecast_knows_of_what_is_expected(desk: Any, command: Command) -> None:
    """The prompt about the whole is longer, and there is no call more."""
    desk(0)
    plain = command(*RUN, "--dry-run", "--json").json
    desk(3)
    longer = command(*RUN, "--dry-run", "--json").json

    assert plain["forecast"]["judge"]["calls"] == longer["forecast"]["judge"]["calls"]
    assert plain["forecast"]["judge"]["tokens_in"] < longer["forecast"]["judge"]["tokens_in"]


def test_without_a_model_what_is_expected_is_left_out_and_that_is_said(desk: Any, command: Command) -> None:
    """A trial grades none of it, and shows no count."""
    desk(3)
    run = command(*RUN, "--offline", "--json")
    judge = run.json["judges"]["expectations"]

    assert (run.json["expectations"], judge["n"], judge["skipped"]) == (None, 0, 6)
    assert "Expectations: not graded, because that takes a model." in command("report").out
