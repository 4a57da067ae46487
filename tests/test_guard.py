"""A customer who falls out of the role is caught by a named rule; an ordinary line is let through."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simulator.errors import PromptError
from simulator.guard import LONGEST, RULES, Guard
from simulator.types import Language
from tests.playing import prompts

GUARDS = prompts().guards


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("ja", "だから、聞きたいのはそこじゃないんです！"),
        ("ja", "Wi-FiルーターのSSIDはどこに書いてありますか？"),
        ("ja", "OK"),
        ("ja", "eSIM MNP"),
        ("ja", "メールは taro.yamada@example.com です。"),
        ("ja", "画面に ERR_CONNECTION_TIMED_OUT と出ます"),
        ("ja", "https://example.com/support/contact/form を見ました"),
        ("ja", "解約方法確認希望"),
        ("en", "It says エラー0x80070005, what now?"),
        ("ja", "担当者につないでください。"),
        ("ja", "ありがとうございます。助かりました。"),
        ("ja", "「お客様番号」って何ですか？"),
        ("ja", "返事がないんですけど。"),
        ("en", "That's not what I asked. How much is it?"),
        ("en", "My plan is called 光 1ギガ, what does it cost?"),
        ("en", "Can I talk to a person, please?"),
        ("en", "Sorry, I don't have my contract number at hand."),
        ("en", "Thank you, that settles it."),
        ("en", "1234"),
    ],
)
def test_an_ordinary_line_breaks_no_rule(language: Language, text: str) -> None:
    """What customers do write passes, codes and product names in the other script among it."""
    assert GUARDS[language].broken_rule(text, ["前の質問", "the first question"]) is None


@pytest.mark.parametrize(
    ("language", "text", "rule"),
    [
        ("ja", "", "empty"),
        ("en", " \n ", "empty"),
        ("ja", "あいう。" * 51, "too_long"),
        ("en", "word " * 101, "too_long"),
        ("ja", "I would like to know how much it costs per month.", "language"),
        ("ja", "请问每个月的费用大概是多少钱呢", "language"),
        ("ja", "월 요금이 얼마인지 알려 주시겠어요", "language"),
        ("en", "毎月の料金はいくらになりますか教えてください", "language"),
        ("ja", "<think>怒っているので</think>いくらですか", "reasoning"),
        ("ja", "お客様：いくらですか", "reasoning"),
        ("ja", "私はAIなのでわかりません。", "reasoning"),
        ("ja", "（ため息をつきながら）いくらですか", "reasoning"),
        ("ja", '{"message": "いくらですか"}', "reasoning"),
        ("en", "As an AI language model I cannot be angry.", "reasoning"),
        ("en", "*sighs* How much is it?", "reasoning"),
        ("en", "The customer would now ask about the price.", "reasoning"),
        ("ja", "かしこまりました。お調べいたします。", "desk"),
        ("ja", "ほかにご不明な点はございますか。", "desk"),
        ("ja", "窓口：月額4,180円です", "desk"),
        ("en", "Thank you for contacting us. How can I help you today?", "desk"),
        ("en", "Is there anything else I can help you with?", "desk"),
        ("en", "Support: it is 4,180 yen.", "desk"),
    ],
)
def test_each_rule_catches_its_own(language: Language, text: str, rule: str) -> None:
    """The first rule that a line breaks is named."""
    assert GUARDS[language].broken_rule(text, []) == rule


@pytest.mark.parametrize(
    ("text", "earlier"),
    [
        ("月いくらですか", "月いくらですか"),
        ("月いくらですか？？", "月いくらですか。"),
        ("ＷＩ－ＦＩは使えますか", "wi-fiは使えますか"),
        ("この料金はずっと同じなのか教えてください！", "この料金はずっと同じなのか、教えてください"),
    ],
)
def test_the_same_line_again_is_a_repeat(text: str, earlier: str) -> None:
    """Width, case and punctuation make no new line, whichever earlier line it is."""
    assert GUARDS["ja"].broken_rule(text, ["別の話", earlier, "また別の話"]) == "repeat"


def test_another_wording_is_no_repeat() -> None:
    """Asking the same thing in other words is what customers do."""
    assert GUARDS["ja"].broken_rule("で、結局いくら払うんですか", ["月いくらですか"]) is None


def test_every_rule_can_be_told() -> None:
    """For each rule both languages say what was wrong with the draft."""
    told = prompts()

    for rule in RULES:
        assert told.problem("ja", rule) != told.problem("en", rule)


def test_a_broken_pattern_is_one_line() -> None:
    """A team's own pattern that is no regular expression is named."""
    with pytest.raises(PromptError, match=r"'\(oops' is not a regular expression"):
        Guard("ja", desk_phrases=["(oops"])


@settings(deadline=None)
@given(st.text(st.characters(exclude_categories=[])), st.sampled_from(["ja", "en"]))
def test_any_text_is_judged(text: str, language: Language) -> None:
    """Whatever a model writes, the answer is a rule or none, and the longest line is bounded."""
    rule = GUARDS[language].broken_rule(text, [text[:50]])

    assert rule is None or rule in RULES
    assert len(text) <= LONGEST[language] or rule is not None
