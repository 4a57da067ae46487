"""The bundled bot, offline and with a model; its sentences, its index, and what texts are compared by."""

import inspect
from pathlib import Path
from typing import Any

import pytest
from simulator.shelves.rag_adapters import demo
from simulator.shelves.rag_adapters.demo import build, sentences

from simulator import Answer, Bot, ChatMessage, InputError, Passage, Query, Usage

JA = Query(text="マンションの光の料金は月いくらですか", language="ja")
EN = Query(text="How much is the fibre plan per month for an apartment?", language="en")
REFUSAL = {
    "ja": "申し訳ございません。お問い合わせの内容は、手元の資料では確認できませんでした。",
    "en": "I'm sorry, I could not find that in our material.",
}


@pytest.fixture(scope="module")
def bundled(tmp_path_factory: pytest.TempPathFactory) -> Bot:
    """The bot over the bundled texts."""
    patch = pytest.MonkeyPatch()
    patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
    bot: Bot = demo.connect()
    patch.undo()
    return bot


@pytest.mark.parametrize(("query", "price"), [(JA, "4,180円"), (EN, "4,180 yen")])
async def test_it_answers_in_the_words_of_the_material(bundled: Bot, query: Query, price: str) -> None:
    """The price stands in the answer, and the answer's sentences stand in its passages."""
    answer: Answer = await bundled(query)
    material = "".join(passage.text for passage in answer.passages)

    assert price in answer.text
    assert len(answer.passages) == 4
    assert all(passage.id.startswith(f"{query.language}/") for passage in answer.passages)
    assert all(sentence in material for sentence in answer.text.split("。")[1:] if query.language == "ja")


async def test_passages_carry_the_retrievers_scores(bundled: Bot) -> None:
    """Best first, between 0 and 1, with the file they come from."""
    answer = await bundled(JA)
    scores = [passage.score for passage in answer.passages]

    assert scores == sorted(scores, reverse=True)
    assert 0 < scores[-1] <= scores[0] <= 1
    assert answer.passages[0].source


@pytest.mark.parametrize(
    "query",
    [
        Query(text="駅前のおいしいラーメン屋さん", language="ja"),
        Query(text="Recommend a good pizza restaurant nearby", language="en"),
        Query(text="😀", language="ja"),
    ],
)
async def test_it_refuses_what_is_not_in_its_material(bundled: Bot, query: Query) -> None:
    """Politely, in the customer's language, and with what it had found."""
    answer = await bundled(query)

    assert answer.text == REFUSAL[query.language]
    assert len(answer.passages) == 4


async def test_a_follow_up_is_looked_up_with_the_start_of_what_was_said_before(bundled: Bot) -> None:
    """Who gets it? The cashback that was asked about a turn earlier is found again."""
    before = (
        ChatMessage(role="user", content="光のキャッシュバックはいつもらえますか"),
        ChatMessage(role="assistant", content="手続き後です。"),
    )
    alone = await bundled(Query(text="対象になるのは誰ですか", language="ja"))
    following = await bundled(Query(text="対象になるのは誰ですか", language="ja", history=before))

    assert alone.passages[0].id != "ja/14-campaigns"
    assert following.passages[0].id == "ja/14-campaigns"


async def test_with_a_model_the_material_is_in_the_prompt() -> None:
    """System text, the dialogue so far, then passages and question; the tokens are told."""
    seen: list[dict[str, str]] = []

    async def chat(messages: list[dict[str, str]]) -> tuple[str, Usage]:
        seen.extend(messages)
        return "月額4,180円です。", Usage(model="m", tokens_in=9, tokens_out=3)

    history = (
        ChatMessage(role="user", content="前の質問 $x"),
        ChatMessage(role="assistant", content="前の答え"),
    )
    bot = demo.connect(chat=chat)
    answer = await bot(JA.model_copy(update={"history": history}))

    assert inspect.iscoroutinefunction(bot)
    assert answer.text == "月額4,180円です。"
    assert answer.usage == Usage(model="m", tokens_in=9, tokens_out=3)
    assert [message["role"] for message in seen] == ["system", "user", "assistant", "user"]
    assert seen[0]["content"].startswith("あなたは")
    assert seen[1]["content"] == "前の質問 $x"
    assert all(passage.text in seen[3]["content"] for passage in answer.passages)
    assert seen[3]["content"].endswith(JA.text)


@pytest.mark.parametrize(
    ("settings", "said"), [({"top": 0}, "top=0"), ({"knowledge": "no/such/folder"}, "no/such/folder")]
)
def test_slips_are_found_before_the_start(settings: dict[str, Any], said: str) -> None:
    """Whatever the user can mend is said by `connect`."""
    with pytest.raises(InputError, match=said):
        demo.connect(**settings)


@pytest.mark.parametrize("wrong", ["$passges", "5 $ ", "[en"])
def test_a_prompt_that_does_not_hold_together_is_refused(tmp_path: Path, wrong: str) -> None:
    """A misspelt variable is found before the start, with the file's name."""
    text = demo.PROMPT.read_text(encoding="utf-8")
    path = tmp_path / "prompt.toml"
    path.write_text(text.replace("[en]" if wrong == "[en" else "$passages", wrong), encoding="utf-8")

    with pytest.raises(InputError, match=r"prompt\.toml: not usable"):
        demo.read_wording(path)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("It costs 4.5 yen. Ask us!", ["It costs 4.5 yen.", "Ask us!"]),
        ('Press "Cancel". "Really?" it asks. Yes.', ['Press "Cancel".', '"Really?" it asks.', "Yes."]),
        ("「はい。」と答えます。次へ。", ["「はい。」と答えます。", "次へ。"]),
        ("e.g. this one", ["e.g. this one"]),
        ("", []),
    ],
)
def test_sentences_end_where_people_end_them(text: str, expected: list[str]) -> None:
    """Decimals, quotations and abbreviations are no ends."""
    assert [sentence for line in sentences(text) for sentence in line] == expected


PASSAGES = (
    Passage(id="fees", text="マンション1ギガは、月額4,180円です。", source="fees.md"),
    Passage(id="cancel", text="光の解約は、毎月20日までに申し込むと、その月の末日で完了します。"),
    Passage(id="router", text="E-205 means that the connection ID or password is wrong."),
)


@pytest.mark.parametrize(
    ("question", "expected"),
    [("月額はいくら", "fees"), ("解約したい", "cancel"), ("Router shows E-205", "router")],
)
def test_the_nearest_passage_comes_first(question: str, expected: str) -> None:
    """Scores fall from the first to the last and are cosines."""
    found = build(PASSAGES).search(question, 3)
    scores = [score for _unused, score in found]

    assert found[0][0].id == expected
    assert sorted(scores, reverse=True) == scores
    assert 0 < scores[0] <= 1
