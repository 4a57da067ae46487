"""What an answer says beside the matter."""

import pytest

from simulator.text.evidence import declines, statements


@pytest.mark.parametrize(
    "text",
    [
        "恐れ入りますが、担当にご確認ください。",
        "他店での返却につきましては、店舗のスタッフにご確認ください。",
        "領収書につきましては、担当の者にお尋ねいただけますでしょうか。お電話は平日10時から17時まで承っております。",
        "For anything to do with offers, please have a word with my colleagues at reception.",
        "Thanks! It's best to check with our front of house team, they'll be happy to help.",
        "I don't have any removal firms I could recommend. It's worth asking reception on 01632 960118.",
    ],
)
def test_sending_elsewhere_declines(text: str) -> None:
    """However politely, and with whatever telephone number."""
    language = "en" if text.isascii() else "ja"

    assert declines(text, language)
    assert not any("reception" in each or "担当" in each for each in statements(text, language))


@pytest.mark.parametrize(
    "text",
    [
        "革製品はお預かりできません。",
        "詳しくはマイページをご覧ください。",
        "延長料金は30分ごとに1,000円です。詳しくは店舗にお問い合わせください。",
        "£20 admin fee, then just the lower rent.",
        "You will find everything on our website.",
        'You can ask for a repair under "Repairs" in My Page.',
        "Send us a certificate that names our site. Reception can help if you are stuck.",
    ],
)
def test_what_answers_does_not_decline(text: str) -> None:
    """Nor does what points to a page, though it states nothing."""
    assert not declines(text, "en" if text.isascii() else "ja")


def test_kind_words_state_nothing_unless_they_have_a_detail() -> None:
    """Sympathy, wishes and advice of any desk are no statements."""
    assert statements("お仕事お疲れさまです。念のため写真をお撮りください。", "ja") == ()
    assert statements("That must be awful! Enjoy your ride.", "en") == ()
    assert statements("I hope you have the £25 ready.", "en")
