"""The measures below the judges: units, quantities, negations, evidence, courtesies, embeddings."""

import math
import tomllib
from string import Template

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.core.types import Language
from simulator.text.acts import negated_words
from simulator.text.embedding import DIMENSIONS, hash_embed
from simulator.text.evidence import (
    agreement,
    best_agreement,
    content_units,
    coverage,
    declines,
    share,
    statements,
    stem,
    support,
    topic_units,
    total_weight,
    unit_weight,
)
from simulator.text.segments import clauses, normalise, sentences
from simulator.text.wording import FILE, percent, quoted

PRICE = ("ホーム1ギガの解約金は4,800円です。工事費は分割で支払えます。",)


@pytest.mark.parametrize(
    ("texts", "is_odd"),
    [
        (
            "翌月に繰り越せません / 解約はできない / 領収書は不要です / 手数料なし / いたしかねます"
            " / 確認せず、 / There is no fee / You cannot cancel / It isn't possible",
            True,
        ),
        (
            "支払わなければなりません / かかるかもしれません / 問題ありません / 少ない料金です"
            " / まもなく届きます / ご利用いただけます / 必ずお電話ください / 申し訳ございません"
            " / not only by phone / できないことはありません",
            False,
        ),
    ],
)
def test_a_negation_is_heard(texts: str, is_odd: bool) -> None:
    """An odd number of them denies; obligations, politeness and double negation affirm."""
    assert [t for t in texts.split(" / ") if len(negated_words(t)) % 2 != is_odd] == []


def test_a_copied_answer_is_wholly_supported_and_an_invented_one_hardly() -> None:
    """The share falls with every word that no passage has; a figure costs over half, unless it was asked."""
    copied = support("ホーム1ギガの解約金は4,800円です。", PRICE)
    invented = support("キャンペーン中は全額を振り込みで返します。", PRICE)
    figure = support("ホーム1ギガの解約金は3,700円です。", PRICE)

    assert copied.score > 0.95
    assert copied.numbers == ()
    assert invented.score < 0.3
    assert figure.score < 0.5
    assert [each.canonical for each in figure.numbers] == ["3700円"]
    assert support("2年で解約すると4,800円です。", PRICE, "2年で解約したい").numbers == ()


@pytest.mark.parametrize(
    ("answer", "reference", "low", "high"),
    [
        ("富士山です", "富士山", 0.9, 1),
        ("桜島です", "富士山", 0, 0.1),
        ("解約金は4,800円です。", "解約金は4,800円です。", 1, 1),
        ("解約金は3,700円です。", "解約金は4,800円です。", 0, 0.2),
        ("分かりかねます。", "解約金は4,800円です。", 0, 0.05),
        ("解約金は4,800円です。", "分かりかねます。", 0, 0.05),
        ("分かりません。", "資料に記載がございません。", 1, 1),
        ("担当者におつなぎします。", "資料に記載がございません。", 0.4, 0.4),
        ("🐭", "🐭", 1, 1),
        ("dog", "🐭", 0, 0),
    ],
)
def test_agreement_with_a_reference(answer: str, reference: str, low: float, high: float) -> None:
    """Figures, and whether it declines, weigh most."""
    assert low <= agreement(answer, reference, "ja").score <= high


def test_a_figure_left_out_costs_less_than_a_wrong_one() -> None:
    """Incomplete is not wrong."""
    reference = "解約金は4,800円で、工事費の残額もかかります。"
    left_out = agreement("解約金と、工事費の残額がかかります。", reference, "ja")
    wrong = agreement("解約金は3,700円で、工事費の残額もかかります。", reference, "ja")

    assert left_out.instead == ()
    assert [each.canonical for each in wrong.instead] == ["3700円"]
    assert left_out.score > wrong.score


def test_the_nearest_reference_counts() -> None:
    """Any of several may be right; without any there is no agreement."""
    assert best_agreement("富士山です", ["桜島", "富士山"], "ja").score > 0.9
    assert best_agreement("富士山です", [], "ja").score == 0


def cosine(one: str, other: str) -> float:
    a, b = hash_embed([one, other])
    return sum(x * y for x, y in zip(a, b, strict=True))


def test_embeddings_have_length_one_and_are_the_same_every_time() -> None:
    """Except for a text without letters, which is all zeros."""
    (vector,) = hash_embed(["解約金は4,800円です。"])

    assert len(vector) == DIMENSIONS
    assert math.hypot(*vector) == pytest.approx(1)
    assert hash_embed(["解約金は4,800円です。"]) == [vector]
    assert set(hash_embed(["、。"])[0]) == {0.0}


def test_near_texts_are_near_and_unrelated_ones_far() -> None:
    """Above 0.8 for other politeness, below 0.3 for another matter, in order between."""
    same = cosine("解約は毎月20日までにお申し込みください。", "解約は毎月20日までに申し込んでください。")
    related = cosine("解約は毎月20日までにお申し込みください。", "解約は月末にはお申し込みになれません。")
    unrelated = cosine("解約は毎月20日までにお申し込みください。", "ルーターの電源を入れ直してください。")

    assert same > 0.8 > related > 0.3 > unrelated
    assert cosine("The fee is 5,000 yen.", "The fee is 5000 yen") > 0.8
    assert cosine("Reset your password online.", "We issue no receipts.") < 0.3


def test_quotes_are_short_and_only_a_full_share_is_called_a_hundred() -> None:
    """99.9% is not 100%."""
    assert quoted("「" + "あ" * 100 + "」").endswith("…")
    assert len(quoted("あ" * 100)) == 40
    assert percent(0.999) == "99"
    assert percent(1) == "100"


def test_both_languages_have_the_same_sentences() -> None:
    """The same keys with the same variables, so that no reason fails in one language only."""
    table = tomllib.loads(FILE.read_text(encoding="utf-8"))

    def variables(language: Language) -> dict[str, list[str]]:
        texts = {key: text for key, text in table[language].items() if isinstance(text, str)}
        return {key: sorted(Template(text).get_identifiers()) for key, text in texts.items()}

    assert variables("ja") == variables("en")


def test_normalised_text_is_plain_and_lower_case() -> None:
    """Full-width letters, half-width kana and capitals make no difference."""
    assert normalise("Ｗｉ－Ｆｉのﾊﾟｽﾜｰﾄﾞ") == "wi-fiのパスワード"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("はい。できます！次は？", ("はい。", "できます！", "次は？")),
        ("「はい。いいえ。」と言う。次です。", ("「はい。いいえ。」と言う。", "次です。")),
        ("- 一つ目\n2. 二つ目\n## 見出し", ("一つ目", "二つ目", "見出し")),
        (
            "It costs 3.5 yen. Ask Mr. Smith, e.g. today. Done!",
            ("It costs 3.5 yen.", "Ask Mr. Smith, e.g. today.", "Done!"),
        ),
        ("**料金**は`330円`です", ("料金は330円です",)),
        ("", ()),
    ],
)
def test_sentences_end_where_people_end_them(text: str, expected: tuple[str, ...]) -> None:
    """Not inside quotations, decimals or abbreviations, and without Markdown."""
    assert sentences(text) == expected


def test_clauses_end_at_commas_but_not_inside_numbers() -> None:
    """１，０００円 stays one number."""
    assert clauses("ホームは１，０００円、マンションは800円です。") == [
        "ホームは１，０００円、",
        "マンションは800円です。",
    ]
    assert clauses("It is 1,000 yen, but not today.") == ["It is 1,000 yen,", "but not today."]


def test_endings_of_a_word_do_not_matter() -> None:
    """The forms of a verb and the plural of a noun are one unit."""
    assert {stem(word) for word in ("charge", "charges", "charged", "charging")} == {"charg"}
    assert stem("policies") == stem("policy")
    assert stem("stopped") == stem("stop")


def test_content_weighs_more_than_grammar() -> None:
    """Kanji and words before hiragana, hiragana before stop words, single units before pairs."""
    assert unit_weight("解") == unit_weight("fee") == 1
    assert unit_weight("fee") > unit_weight("の") > unit_weight("the") > 0
    assert unit_weight("解\t約") == 0.5


def test_topic_units_leave_grammar_out_unless_there_is_nothing_else() -> None:
    """A text of hiragana alone keeps its units."""
    assert set(topic_units("富士山です")) == set(topic_units("富士山")) | {"山\tで"}
    assert "で" not in topic_units("富士山です")
    assert topic_units("そうです") == content_units("そうです")


def test_share_is_precision_of_an_answer_and_recall_of_a_reference() -> None:
    """All of 富士山 is in 富士山です; not the other way round; nothing is wholly contained."""
    short, long = content_units("富士山"), content_units("富士山です")

    assert share(short, long) == 1
    assert 0 < share(long, short) < 1
    assert share(content_units(""), long) == 1
    assert total_weight(content_units("")) == 0


def test_a_question_is_covered_as_far_as_texts_take_it_up() -> None:
    """Grammar shared with an unrelated text covers nothing."""
    assert coverage("解約の期限は", ["解約の期限は20日です。"]) == 1
    assert coverage("解約の期限は", ["ルーターは黒です。"]) == 0
    assert coverage("When do I cancel?", ["You cancel on the 20th.", "By post."]) > 0.5


@given(st.text(max_size=200))
def test_any_text_is_cut_without_losing_its_tokens(text: str) -> None:
    """Whatever a bot says: no exception, and weights are finite and not negative."""
    assert total_weight(content_units(text)) >= 0
    assert all(sentence.strip() for sentence in sentences(text))


ELSEWHERE = [
    "恐れ入りますが、担当にご確認ください。",
    "他店での返却につきましては、店舗のスタッフにご確認ください。",
    "For anything to do with offers, please have a word with my colleagues at reception.",
    "Thanks! It's best to check with our front of house team, they'll be happy to help.",
]
ANSWERED = [
    "革製品はお預かりできません。",
    "詳しくはマイページをご覧ください。",
    "延長料金は30分ごとに1,000円です。詳しくは店舗にお問い合わせください。",
    "£20 admin fee, then just the lower rent.",
    "You will find everything on our website.",
    'You can ask for a repair under "Repairs" in My Page.',
    "Send us a certificate that names our site. Reception can help if you are stuck.",
]


@pytest.mark.parametrize("text", [*ELSEWHERE, *ANSWERED])
def test_only_sending_elsewhere_declines(text: str) -> None:
    """However politely, and with whatever telephone number; a page that is pointed to declines nothing."""
    language: Language = "en" if text.isascii() else "ja"
    stated = [each for each in statements(text, language) if "reception" in each or "担当" in each]

    assert declines(text, language) is (text in ELSEWHERE)
    assert text in ANSWERED or stated == []


def test_kind_words_state_nothing_unless_they_have_a_detail() -> None:
    """Sympathy, wishes and advice of any desk are no statements."""
    assert statements("お仕事お疲れさまです。念のため写真をお撮りください。", "ja") == ()
    assert statements("That must be awful! Enjoy your ride.", "en") == ()
    assert statements("I hope you have the £25 ready.", "en")
