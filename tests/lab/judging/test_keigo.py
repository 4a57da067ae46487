"""The keigo judge: what its findings, grades and reasons look like."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.core.types import GradingContext
from simulator.lab.judging.keigo import findings, keigo
from tests.run_helpers import answered

ANGRY, REFUSAL = "半日待ったのに来ない。ふざけないでください", "現金での返金はできません。"


def kinds(context: GradingContext, *ng_words: str) -> list[str]:
    return [finding.kind for finding in findings(context, ng_words)]


@pytest.mark.parametrize(
    ("answer", "grade", "severity"),
    [
        ("送料は500円でございます。", 5, None),
        ("送料は画面で見れます。", 4, "minor"),
        ("送料は画面で見れます。お客様がおっしゃられた金額です。", 3, "minor"),
        ("お客様が申された金額です。", 3, "moderate"),
        ("お客様が申された金額です。どうぞ拝見してください。", 2, "moderate"),
        ("送料は500円だ。離島は別料金である。", 1, "major"),
        ("送料は500円です。それくらい自分で調べてください。", 1, "major"),
        ("送料は500円です。自分で調べろよ。", 1, "major"),
        ("送料は500円です。もう電話してくるな。", 1, "major"),
        ("お客様がバカなだけです。", 1, "major"),
        ("そんなことも知らないんですか？送料は500円です。", 1, "major"),
        ("イタリアホテルの、アホウドリの間でございます。", 5, None),
        ("画面に「やり直せ」と表示されるところです。", 5, None),
    ],
)
def test_the_gravest_fault_and_the_number_make_the_grade(
    answer: str, grade: int, severity: str | None
) -> None:
    """5 nothing, 4 a minor one, 3 several or a moderate one, 2 several of those, 1 rude or all plain."""
    score = keigo(answered(answer))

    assert (score.state, score.raw, score.value, score.severity) == ("scored", grade, grade / 5, severity)


def test_a_finding_quotes_the_answer_and_proposes_better() -> None:
    """The quote stands in the answer word for word; the reason is one line that names both."""
    answer = "お世話になっております。\n資料をご覧になられましたら、お知らせください。"

    score = keigo(answered(answer))

    quote = "資料をご覧になられましたら、お知ら"
    found = {"kind": "double_honorific", "severity": "minor", "quote": quote, "better": "ご覧になる"}
    assert score.detail == {"findings": [found]}
    assert score.reason == "【軽】二重敬語「資料をご覧になられましたら、お知ら」→ ご覧になる。"


def test_the_gravest_is_named_first_and_the_rest_is_counted() -> None:
    """A reason names three; an English case has its reason in English."""
    answer = "見れます。食べれます。了解です。お客様が申された件です。おっしゃられた件です。"

    japanese = keigo(answered(answer)).reason
    english = keigo(answered(answer, language="en")).reason

    assert japanese.startswith("【中】尊敬語・謙譲語の取り違え「")
    assert japanese.endswith("／ほか2件。")
    assert english.startswith("[moderate] exalting and humble forms mixed up: ")
    assert english.endswith("; and 2 more.")


@pytest.mark.parametrize(
    "block",
    [
        "# 料金は変わらない。",
        "- 電源を切る。",
        "1. 電源を切る。\n   そのまま1分待つ。",
        "① 電源を切る。",
        "| 項目 | 無料である。 |",
        "> よろしく頼む。",
        "※一部を除く。",
        "理由：回線が混み合うため送れない。",
        "**送料は変わらない**",
    ],
)
def test_headings_lists_tables_and_notes_may_be_plain(block: str) -> None:
    """Plain form is a fault of prose only."""
    assert kinds(answered(f"次のとおりです。\n{block}\n以上です。")) == []


def test_one_plain_sentence_among_polite_ones_is_moderate() -> None:
    """The register broke once; an answer without one polite sentence is worse."""
    (finding,) = findings(answered("送料は500円です。離島は別料金である。"))

    assert (finding.kind, finding.severity) == ("plain_form", "moderate")
    assert finding.quote == "離島は別料金である。"


@pytest.mark.parametrize(
    ("shown", "found"),
    [
        # What stands in quotation marks, code or an address is not read, unless it is the whole answer.
        (answered("画面に「ご確認してください」と出ます。『見れる。』も同じです。"), []),
        (answered("「画面はこちらから見れます。」"), ["ra_dropping"]),
        # A last line without a full stop is prose after prose, and a label below labels and headings.
        (answered("次のとおりです。\n送料は変わらない"), ["plain_form"]),
        (answered("次のとおりです。\nご注意\n送料は変わらない"), []),
        # A complaint wants an apology or a softening word.
        (answered("明日お伺いします。", ANGRY), ["missing_apology"]),
        (answered("ご迷惑をおかけしました。明日お伺いします。", ANGRY), []),
        (answered("お手数ですが、明日の在宅をお願いいたします。", ANGRY), []),
        (answered("We come tomorrow.", "Your service is a joke!", language="en"), ["missing_apology"]),
        # What refuses nothing that the customer spoke of is a plain statement, and not blunt.
        (answered(REFUSAL, "現金で返して"), ["blunt_refusal"]),
        (answered(f"恐れ入りますが、{REFUSAL}", "現金で返して"), []),
        (answered(REFUSAL, "おすすめは？"), []),
        (answered(REFUSAL, ""), []),
        # An English answer is read for rudeness only, whatever the language of the case.
        (answered("That is your own fault.", language="en"), ["rude"]),
        (answered("Please restart it. It will work."), []),
    ],
)
def test_what_is_a_fault_depends_on_what_stands_around_it(shown: GradingContext, found: list[str]) -> None:
    """On the lines above, and on what the customer said."""
    assert kinds(shown) == found


def test_the_lack_of_an_apology_is_a_major_fault() -> None:
    """It quotes nothing."""
    score = keigo(answered("明日お伺いします。", ANGRY))

    assert score.raw == 2
    assert score.reason.startswith("【重大】お詫び・クッション言葉がない →")


@pytest.mark.parametrize(
    ("answer", "line", "better"),
    [
        ("絶対に届きます。", "絶対 => 原則として", "原則として"),
        ("ｻﾎﾟｰﾄﾃﾞｽｸへどうぞ。", "サポートデスク", "使わない"),
        ("サポートデスクへどうぞ。", "ｻﾎﾟｰﾄﾃﾞｽｸ＝＞お客様窓口", "お客様窓口"),
        ("Ｆｒｅｅ です。", "free => 無料", "無料"),
    ],
)
def test_words_of_the_list_are_major(answer: str, line: str, better: str) -> None:
    """Half and full width, upper and lower case are the same; the list may say what to write instead."""
    (finding,) = findings(answered(answer), (line,))

    assert (finding.kind, finding.severity, finding.better) == ("ng_word", "major", better)
    assert finding.quote in answer
    assert keigo(answered(answer), (line,)).raw == 2


def test_a_latin_word_of_the_list_is_a_whole_word() -> None:
    """`no` is not in know; an empty line is no word."""
    english = answered("We know. It is in stock.", "Is it?", language="en")

    assert kinds(english, "no", "stock", "", " => x") == ["ng_word"]


@given(st.text(), st.text(), st.lists(st.text(max_size=5), max_size=3))
def test_no_text_breaks_it(answer: str, user: str, ng_words: list[str]) -> None:
    """Quotes stand in the answer whatever it holds."""
    score = keigo(answered(answer, user, persona="angry"), tuple(ng_words))

    assert 1 <= (score.raw or 0) <= 5
    assert "\n" not in score.reason
    for finding in findings(answered(answer, user), tuple(ng_words)):
        assert finding.quote in answer
