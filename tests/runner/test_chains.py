"""Chains: each link alone, the whole link by link, and what becomes of a failure within."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from simulator.cli.app import main
from simulator.cli.matrix import matrix_of_chain
from simulator.core import shelves
from simulator.core.errors import BotFailure, InputError
from simulator.core.settings import Settings
from simulator.core.types import Answer, Bot, Case, Conversation, Passage, Query, Usage
from simulator.data.cases import read_cases
from simulator.runner.chains import AppliedPrompts, is_chain, link_variables, read_chain
from simulator.storage.run_file import find_run, read_run
from tests.servers.openai import serve

DEMO = shelves.DEMO / "chain"
INTENT = "version = 1\n[ja]\nsystem = 'JSON'\nuser = '問い合わせ：$question'"
REPLY = "version = 1\n[ja]\nuser = '用件：$intent_category $question'"
CHAIN = """
cases = "rows.csv"
judges = ["exact_match"]
[[links]]
name = "intent"
prompt = "intent.toml"
cases = "intent.csv"
[[links]]
name = "reply"
prompt = "reply.toml"
"""


@pytest.fixture
def chain() -> Path:
    """Two prompts, rows for the first alone and for both."""
    texts = {"intent.toml": INTENT, "reply.toml": REPLY, "chain.toml": CHAIN}
    texts |= {
        "rows.csv": "id,question,reference\na,料金は,ok\n",
        "intent.csv": "id,question,label\na,料金は,x\n",
    }
    for name, text in texts.items():
        Path(name).write_text(text, encoding="utf-8")
    return Path("chain.toml")


def asked(bot: Bot, path: Path, **more: Any) -> Answer:
    """What the whole chain answers to one row."""
    row = Case(id="a", question="料金は", language="ja")
    plan = [Conversation(id="scripted/a#1", case=row, persona="scripted", repeat=1)]
    settings = Settings(protocol="single_turn", prompt=str(path), **more)

    async def connect(name: str, given: Any) -> Bot:
        return bot

    async def whole() -> Answer:
        rag = await AppliedPrompts(settings).around(bot, plan, connect)
        answer: Answer = await rag(Query(text="料金は", case="a", session="s"))
        return answer

    return asyncio.run(whole())


def asked_in(path: Path) -> list[tuple[str, str]]:
    """Ids and questions of a data set."""
    return [(case.id, case.question) for case in read_cases(path)]


def test_the_bundled_chain_says_where_it_goes_wrong(capsys: pytest.CaptureFixture[str]) -> None:
    """Each link alone and the whole, in one table: the replies are right, the matters are not all."""
    code = main(["evaluate", str(DEMO / "chain.toml"), "--offline", "--json"])
    out, err = capsys.readouterr()
    shown = json.loads(out)
    passed = {data["name"]: data["cells"][0]["judges"]["passed"]["mean"] for data in shown["data"]}
    table = err.split("採点項目ごとの平均")[1]
    assert "cell 1 of 3: " in err

    assert (code, shown["chain"], shown["complete"]) == (0, True, True)
    assert passed == {"intent": 0.8333, "reply": 1.0, "chain": 0.8333}
    assert "全体（合格率 83.3）。単独で最も低いリンクは intent" in "".join(err.split("\n"))
    assert [line.split()[:2] for line in table.splitlines() if line[:1] in "ir全"][:3] == [
        ["intent", "12"], ["reply", "12"], ["全体", "12"],
    ]  # fmt: skip
    assert "偶然" not in err


def test_the_bundled_chain_in_english(capsys: pytest.CaptureFixture[str]) -> None:
    """One link of it alone is a run like any other; the page of the whole shows what each link said."""
    code = main(["evaluate", str(DEMO / "chain.toml"), "--offline", "--language", "en", "--link", "chain"])
    out = capsys.readouterr().out
    path = find_run("latest", Path("runs"))
    conversations = {
        conversation.case.id: conversation.turns[0].answer for conversation in read_run(path).conversations
    }

    assert code == 0
    assert "6 rows, 6 graded" in out
    assert [step.link for step in conversations["en-5"].steps] == ["intent", "reply"]
    assert json.loads(conversations["en-5"].steps[0].text) == {"category": "billing", "urgent": "no"}
    assert "<dt>intent</dt><dd>{&#34;category&#34;: &#34;billing&#34;" in path.with_name(
        "report.html"
    ).read_text(encoding="utf-8")


def test_a_model_is_asked_link_after_link(chain: Path) -> None:
    """Over HTTP: the second prompt has what the first one's answer held."""

    def reply(request: Any) -> str:
        return (
            '```json\n{"category": "billing"}\n```' if request["messages"][0]["content"] == "JSON" else "ok"
        )

    with serve(reply) as server:
        given = ("--adapter", "openai_chat", "--set", f"url={server.url}", "--set", "model=m")
        code = main(["evaluate", str(chain), "--link", "chain", *given])
    run = read_run(find_run("latest", Path("runs")))
    sent = [request.body["messages"] for request in server.requests]

    assert code == 0
    assert sent[1] == [{"role": "user", "content": "用件：billing 料金は"}]
    assert [score.value for score in run.scores] == [1.0]
    assert set(run.run.versions) > {"prompt:intent", "prompt:reply"}
    assert run.conversations[0].turns[0].answer.usage.tokens_in > 0  # type: ignore[union-attr]


def test_a_link_that_fails_is_named(chain: Path) -> None:
    """The chain's answer is the bot's failure; what was answered until then stays."""

    def bot(query: Query) -> Answer:
        if query.text.startswith("用件"):
            raise BotFailure("refused", "no")
        return Answer(text='{"category": "x"}')

    answer = asked(bot, chain)

    assert answer.error is not None
    assert (answer.error.kind, str(answer.error.message)) == ("refused", "link reply: no")
    assert [(step.link, bool(step.text)) for step in answer.steps] == [("intent", True), ("reply", False)]


def test_an_output_that_is_missing_is_the_bots_failure(chain: Path) -> None:
    """A first link without the key that the second one needs."""
    answer = asked(lambda _: "billing", chain)

    assert answer.error is not None
    assert (
        str(answer.error.message)
        == "link reply: its prompt needs $intent_category, which no earlier link returned"
    )


def test_the_link_that_was_late_is_named(chain: Path) -> None:
    """All links share the time that a customer waits."""

    async def bot(query: Query) -> str:
        if query.text.startswith("用件"):
            await asyncio.sleep(5)
        return '{"category": "x"}'

    answer = asked(bot, chain, timeout=0.2)

    assert answer.error is not None
    assert answer.error.kind == "timeout"
    assert str(answer.error.message).startswith("link reply: no answer within 0.")


def test_passages_of_a_link_are_the_contexts_of_the_next(chain: Path) -> None:
    """A search may be a link: what it shows stands in $contexts, and with the chain's answer."""
    Path("reply.toml").write_text("version=1\n[ja]\nuser='$contexts|$intent'", encoding="utf-8")

    def bot(query: Query) -> Answer:
        if "問い合わせ" in query.text:
            return Answer(
                text="found", passages=(Passage(id="1", text="記事"),), usage=Usage(model="a", tokens_in=3)
            )
        return Answer(text=query.text, shows_passages=False, usage=Usage(model="b", tokens_in=4))

    answer = asked(bot, chain)

    assert answer.text == "[1] 記事|found"
    assert (answer.passages[0].text, answer.shows_passages) == ("記事", True)
    assert answer.usage == Usage(tokens_in=7)
    assert [usage.model for usage in answer.usages] == ["a", "b"]


def test_a_link_may_have_a_bot_of_its_own(chain: Path) -> None:
    """Another adapter, or other settings of the same."""
    bots = """
def big(question):
    return "ok"

def small(question, prompt):
    return '{"category": "x"}'
"""
    Path("bots.py").write_text(bots, encoding="utf-8")
    chain.write_text(
        CHAIN.replace("[[links]]", 'adapter = "bots.py:big"\n[[links]]\nadapter = "bots.py:small"', 1)
    )

    assert main(["evaluate", str(chain), "--link", "chain"]) == 0
    (score,) = read_run(find_run("latest", Path("runs"))).scores
    assert score.value == 1.0


def test_a_chain_takes_its_files_from_beside_it(chain: Path) -> None:
    """A file of that name where the user stands does not stand in for the one beside the chain."""
    Path("own").mkdir()
    for name in ("chain.toml", "reply.toml", "rows.csv"):
        Path("own", name).write_bytes(Path(name).read_bytes())
    read = read_chain(Path("own/chain.toml"))

    assert [read.cases, *(link.prompt for link in read.links)] == [
        "own/rows.csv", "intent.toml", "own/reply.toml",
    ]  # fmt: skip


def test_what_links_come_to() -> None:
    """The whole answer, and every output by name, inner ones too; numbers and texts as they were written."""
    said = (
        '"category": "a b", "tel": "0120", "n": 1.50, "more": {"city": "京都"}, "list": [1, "x"], "ok": true'
    )
    text = f"So: {{{said}}}"

    assert link_variables("it", text) == {
        "it": text, "it_category": "a b", "it_tel": "0120", "it_n": "1.50", "it_ok": "true",
        "it_more": '{"city":"京都"}', "it_more_city": "京都", "it_list": '[1,"x"]',
    }  # fmt: skip
    assert link_variables("it", "plain") == {"it": "plain"}


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (('prompt = "intent.toml"\n', ""), "chain.toml: link intent: prompt: Field required."),
        (('name = "intent"', 'name = "the intent"'), "name: letters, digits and _ only"),
        (('name = "reply"', 'name = "intent"'), "the link's name 'intent' is used twice"),
        (
            ('name = "reply"', 'name = "chain"'),
            "name 'chain' is used twice, begins another one, or means the whole",
        ),
        (('name = "reply"', 'name = "intent_two"'), "name 'intent' is used twice, begins another one"),
        (('cases = "intent.csv"', 'case = "intent.csv"'), "unknown setting 'case'. Did you mean cases"),
        (('judges = ["exact_match"]', "turns = 1\nresume = 'x'"), "unknown setting 'resume'"),
    ],
)
def test_mistakes_of_a_chain_are_told_in_one_line(chain: Path, change: tuple[str, str], told: str) -> None:
    """With the file and the link."""
    chain.write_text(CHAIN.replace(*change, 1), encoding="utf-8")

    assert is_chain(chain)
    with pytest.raises(InputError) as error:
        read_chain(chain)

    assert told in str(error.value)
    assert "chain.toml" in str(error.value)


def test_variables_are_checked_along_the_chain(chain: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What comes from an earlier link needs no column; what comes from a later one, or from none, does."""
    Path("intent.toml").write_text("version=1\n[ja]\nuser='$reply $question'", encoding="utf-8")

    assert main(["evaluate", str(chain), "--link", "chain", "--adapter", "demo"]) == 2
    assert "rows.csv, line 2: the prompt intent needs a column 'reply'" in capsys.readouterr().err


def test_what_a_chain_is_evaluated_on(chain: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Every link that has rows, then the whole; a link without rows cannot be run alone."""
    told = {data.name: data.settings for data in matrix_of_chain(read_chain(chain)).data}

    assert list(told) == ["intent", "chain"]
    assert told["chain"] == {"cases": "rows.csv", "judges": ["exact_match"], "prompt": "chain.toml"}
    assert "judges" not in told["intent"]
    errors = []
    for given in (("--link", "reply"), ("--link", "replay"), ("rows.csv",), ("--prompt", "choose")):
        assert main(["evaluate", str(chain), *given]) == 2
        errors.append(capsys.readouterr().err.strip())
    assert errors == [
        'error: chain.toml: there are no rows: write cases = "rows.csv" there.',
        "error: unknown link of chain.toml 'replay'. Did you mean reply? There are: intent, reply.",
        "error: a chain must be evaluated alone: python run.py evaluate chain.toml --link NAME",
        "error: --prompt: chain.toml sets it for each link.",
    ]
