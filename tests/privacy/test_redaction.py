"""Redaction: what is masked and what is left, once and again, in texts and in whole values."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import JsonValue

from simulator.core.errors import InputError
from simulator.core.types import Answer, Case, ChatMessage, Facts, Passage, ToolCall, Turn
from simulator.privacy.redactor import Redactor, redacted_case, redacted_json, redacted_value
from tests.properties import examples

PIECES = (
    "山田太郎", "様", "さん", "と申します", "氏名は", "090", "1234", "-", "ー", "5678", "〒", "150-0041",
    "東京都渋谷区神南", "1丁目2番3号", "生年月日は", "昭和60年4月12日", "会員番号は", "A-123456",
    "4111 1111 1111 1111", "taro@example.jp", " ", "、", "。", "\n", "[電話番号]", "[氏名]", "[name]",
    "My name is ", "Jane Doe", "12 Oak Street", "order #", "9981", "口座番号", "+81", "(03)", "：",
    "１２３４", "Mr. ", "DOB ", "1985-04-12", "メゾン桜201号室", "2,980円",
)  # fmt: skip
# What asks most of patterns: long runs of what they begin with and never end.
LONG = (
    "1", "0-", "1-2-", "市", "山田", "a", "a@", "Ab ", " ", "さん", "氏名:", "1丁目", "昭和", "12 Oak ",
    "会員番号", "A1-", "[氏名]", "\n", "〇", "ゼロ", "0 1 ", "one ", "The Old ", "1-2 Ab, ", "もしもし、",
    "旧姓「佐藤」", "佐藤 ユイ、", "漢", "Flat 1, ", "I live at 1 Ab ", "my kids Ab, ",
    "book under ", "[name], Ab ", "This is Ab. ", "its ab, ", "Ab Cd ", "AbCd", "under Ab Cd, ",
    "my late aunt Ab ", "Regards Ab ", "(John, ", "\nAb",
)  # fmt: skip


def test_masks_are_in_the_language_asked_for_and_counted() -> None:
    """The same text, masked for Japanese and for English readers."""
    text = "田中と申します。090-1234-5678、予備は080-1234-5678です。"

    assert Redactor().redact(text, "ja") == (
        "[氏名]と申します。[電話番号]、予備は[電話番号]です。",
        {"name": 1, "phone": 2},
    )
    assert (
        Redactor().redact(text, "en").text == "[name]と申します。[phone number]、予備は[phone number]です。"
    )


def test_a_teams_own_patterns_are_masked_first_group_or_all() -> None:
    """A pattern with a group masks the group; one that overlaps a known kind names the mask."""
    redactor = Redactor([r"席番号は(\w{3})", r"090-0000-\d{4}"])

    assert (
        redactor.redact("席番号はB12、電話は090-0000-1234。", "ja").text
        == "席番号は[伏せ字]、電話は[伏せ字]。"
    )
    assert Redactor(["x*"]).redact("abxxc", "ja") == ("ab[伏せ字]c", {"custom": 1})


def test_a_teams_own_pattern_reaches_over_no_mask() -> None:
    """What stands on both sides of a mask is not taken together; on either side it is found all the same."""
    redactor = Redactor([r"注文.{0,12}番", r"会員番号.+", r"席.*です"])

    assert redactor.redact("注文090-1234-5678の番", "ja").text == "注文[電話番号]の番"
    for text in ("注文[電話番号]の番", "席[氏名]です", "会員番号[伏せ字]", "注文[電話番号]、[電話番号]の番"):
        assert redactor.redact(text, "ja") == (text, {})
    assert redactor.redact("[電話番号]の注文はA12番、[氏名]", "ja").text == "[電話番号]の[伏せ字]、[氏名]"
    assert redactor.redact("会員番号はA12、[氏名]です", "ja").text == "[伏せ字][氏名]です"
    assert redactor.redact("席はA12です、[電話番号]です", "ja").text == "[伏せ字]、[電話番号]です"


def test_a_broken_pattern_says_how_to_mend_it() -> None:
    """A regular expression that is none is the user's to mend."""
    with pytest.raises(InputError, match="invalid regular expression"):
        Redactor(["("])


@pytest.mark.parametrize(
    ("text", "is_masked"),
    [
        ("4111 1111 1111 1111", True),
        ("4111 1111 1111 1112", False),
        ("1234-5678-9018", True),
        ("1234-5678-9012", False),
        ("2541-2248-2440", True),  # the rest 1 gives the digit 0
        ("DE89 3704 0044 0532 0130 00", True),
        ("DE88 3704 0044 0532 0130 00", False),
    ],
)
def test_a_number_alone_is_masked_when_its_check_digit_is_right(text: str, is_masked: bool) -> None:
    """Cards, My Numbers and IBANs without a word beside them are known by their check digits."""
    assert bool(Redactor().redact(f"これは {text} です", "ja").counts) == is_masked


def test_who_was_named_once_is_masked_again() -> None:
    """A surname told with さん is known on its own in the same text; the prefecture of that name stays."""
    told = "鬼頭さんに聞きました。鬼頭いますか。山口さんは山口県です。Ms Abernathy left. Is Abernathy back?"

    assert Redactor().redact(told, "ja").text == (
        "[氏名]さんに聞きました。[氏名]いますか。[氏名]さんは山口県です。Ms [氏名] left. Is [氏名] back?"
    )


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        (
            "生年月日は1985年4月12日、値上げは2024年4月1日です。",
            "生年月日は[生年月日]、値上げは2024年4月1日です。",
        ),
        ("担当は髙﨑です。水増しは3日前まで。", "担当は[氏名]です。水増しは3日前まで。"),
        ("〒150-0041東京都渋谷区神南1-2-3", "[郵便番号][住所]"),
        ("Call +290 12345, not +290 1234.", "Call [電話番号], not +290 1234."),
        ("Dr.Johnson likes Johnsonville. Is Johnson in?", "Dr.[氏名] likes Johnsonville. Is [氏名] in?"),
        ("Hi, I'm Zoltana. I'm Greek, I'm back.", "Hi, I'm [氏名]. I'm Greek, I'm back."),
        ("This is Ngozi and I need help.", "This is [氏名] and I need help."),
        ("policy holder Annika Vogel, helped by Chidi", "policy holder [氏名], helped by [氏名]"),
        ("Please cancel it.\nKind regards\nMireille Dubois", "Please cancel it.\nKind regards\n[氏名]"),
        ("Walk down Craig St, thank you! Goodbye!", "Walk down Craig St, thank you! Goodbye!"),
        ("Nguyen Van Minhです。Google Pixelです。", "[氏名]です。Google Pixelです。"),
    ],
)
def test_what_stands_beside_it_tells_what_it_is(text: str, masked: str) -> None:
    """A name that no list has is known by a title, an introduction, a label or a signature; words stay."""
    assert Redactor().redact(text, "ja").text == masked


def test_numbers_that_are_free_to_call_stay() -> None:
    """0120, 0800 and 0570 are a company's in Japan, 800 and its like in America: nobody's own number."""
    told = "0120-000-371か0570-000-123、自宅は03-1234-5678。お電話（0120-000-371）で。"
    dialled = "Call 1-800-555-0199 or (888) 555-0164, not 212-555-0142."

    assert (
        Redactor().redact(told, "ja").text
        == "0120-000-371か0570-000-123、自宅は[電話番号]。お電話（0120-000-371）で。"
    )
    assert (
        Redactor().redact(dialled, "en").text == "Call 1-800-555-0199 or (888) 555-0164, not [phone number]."
    )


@settings(max_examples=examples(100), deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=14).map("".join), st.sampled_from(("ja", "en")))
def test_a_masked_text_stays_the_same(text: str, language: str) -> None:
    """Masking twice is masking once, in either language."""
    redactor = Redactor()
    once = redactor.redact(text, "ja" if language == "ja" else "en")

    assert redactor.redact(once.text, "ja") == (once.text, {})
    assert redactor.redact(once.text, "en") == (once.text, {})


@pytest.mark.parametrize("piece", LONG)
def test_long_runs_are_read_in_no_time(piece: str) -> None:
    """What patterns begin with, over and over: a pattern that tried every way would never end."""
    text = piece * (4_000 // len(piece))

    assert Redactor().redact(text, "ja").text


def test_a_case_is_masked_in_all_its_texts() -> None:
    """Question, history, references, facts, gold passages and recorded answers; id and tags stay."""
    case = Case(
        id="090-1234-5678", question="田中です。会員番号はA-12345です。", language="ja",
        history=(ChatMessage(role="user", content="電話は090-1234-5678です。"),),
        references=(("taro@example.jpへ送ります。",),), passages=("090-1234-5678",), tags=("090-1234-5678",),
        facts=Facts(knows=("生年月日は1985年4月12日",)), recorded=(Answer(text="田中様、承知しました。"),),
    )  # fmt: skip

    masked, counts = redacted_case(case)

    assert (masked.id, masked.passages, masked.tags) == (case.id, ("[電話番号]",), case.tags)
    assert masked.question == "[氏名]です。会員番号は[番号]です。"
    assert masked.history[0].content == "電話は[電話番号]です。"
    assert masked.references == (("[メールアドレス]へ送ります。",),)
    assert masked.facts.knows == ("生年月日は[生年月日]",)
    assert masked.recorded[0].text == "[氏名]様、承知しました。"
    assert counts == {"name": 2, "reference": 1, "phone": 2, "email": 1, "birth_date": 1}


def test_a_turn_is_masked_with_what_the_bot_retrieved() -> None:
    """Passages within an answer are texts as well; their ids stay."""
    answer = Answer(text="Call 212-555-0142.", passages=(Passage(id="faq-1", text="Mr. Baker knows."),))

    masked, _ = redacted_value(Turn(index=1, user="My name is Jane Doe.", answer=answer), Redactor(), "en")

    assert masked.user == "My name is [name]."
    assert masked.answer.text == "Call [phone number]."
    assert masked.answer.passages[0] == Passage(id="faq-1", text="Mr. [name] knows.")


def test_in_json_a_key_tells_what_its_value_is() -> None:
    """Numbers and names are known by their keys; keys, prices and ids that are kept stay."""
    told: dict[str, JsonValue] = {
        "氏名": "山田太郎", "会員番号": 12345678, "price": 9500, "ok": True,
        "rows": [{"phone": "0312345678"}], "id": "taro@example.jp", "田中太郎様": 12345,
    }  # fmt: skip

    masked, counts = redacted_json(told, Redactor(), "ja", kept=frozenset({"id"}))

    assert masked == {
        "氏名": "[氏名]", "会員番号": "[番号]", "price": 9500, "ok": True, "rows": [{"phone": "[電話番号]"}],
        "id": "taro@example.jp", "田中太郎様": 12345,
    }  # fmt: skip
    assert counts == {"name": 1, "reference": 1, "phone": 1}


@pytest.mark.parametrize(
    "text",
    [
        "今回のご宿泊ですが、何名様になりますでしょうか?", "親御様もご一緒にご参加なさいますか?",
        "一泊で金土、土日のどちらかでお願いします。", "お部屋内に露天風呂がついたお宿もございます。",
        "お風呂上がりのストレッチを習慣にしている。", "子どものことについて",
        "クライアントや同僚、上司とのやりとり。",
        "上司とけんかです。", "家族のためです。", "さすがです。", "もうないです。", "公園や花屋さんに行く。",
        "お笑い芸人さんも出ています。", "最近彼氏ができました。", "熊本ですと馬刺しがございます。",
        "札幌市では1-2-3と進みます。", "住所は市区町村単位です。",
        "谷町四丁目付近のホテル", "ヴィレッジヴァンガードやドン・キホーテに行く。",
        "Donnaフリードリンク90分付き",
        "Check here if all is correct.", "We're here to help guide you.",
        "the customer's Rho-Bank checking account", "## First-Funding and Go-Live Checklist",
        "Please reserve a restaurant named Porch.", "## Authorized User Cardholder Setup",
    ],
)  # fmt: skip
def test_ordinary_words_are_nobodys_name(text: str) -> None:
    """What a title, a particle or a label stands beside is masked only where it can be a name."""
    assert Redactor().redact(text, "ja").text == text


def test_the_calls_of_tools_are_masked_as_the_json_that_they_are() -> None:
    """What a key tells of is masked, under keys of our own words as well; the tool keeps its name."""
    arguments = '{"電話": "090-1234-5678", "会員番号": 12345678, "id": "taro@example.jp", "件数": 3}'
    call = ToolCall(name="refund", arguments=arguments, result="Tel. 090-1234-5678")
    answer = Answer(
        text="はい", tools=(call, ToolCall(name="mail/taro@example.jp", arguments='{"to": "taro@ex'))
    )

    masked, counts = redacted_value(answer, Redactor(), "ja")

    first, second = masked.tools or ()
    assert (first.name, first.result) == ("refund", "Tel. [電話番号]")
    told = json.loads(first.arguments)
    assert told == {"電話": "[電話番号]", "会員番号": told["会員番号"], "id": "[メールアドレス]", "件数": 3}
    assert told["会員番号"] != 12345678
    assert "taro@example" not in second.name
    assert sum(counts.values()) == 5
