"""Whether two texts take opposite sides of the same thing: yes or no, a fee, a side of a figure."""

import pytest

from simulator.text.acts import stance
from simulator.text.evidence import contradicts, stated_clauses


def opposes(text: str, known: str) -> bool:
    return any(contradicts(clause, stated_clauses(known)) for clause in stated_clauses(text))


@pytest.mark.parametrize(
    ("clause", "known"),
    [
        ("データ容量は翌月に繰り越せます", "データ容量は翌月に繰り越せません。"),
        ("マンションは解約金がかかりません", "マンションは解約金がかかります。"),
        ("You can cancel online", "You cannot cancel online."),
        ("エキストラベッドは必要ない", "エキストラベッドは必要です。"),
        ("解約金はかかります", "解約金はかかりますか。いいえ。"),
        ("利用停止の手数料は有料です。", "利用停止の手数料は無料です。"),
        ("返送料がかかります。", "返送料はかかりません。"),
        ("You can change the date for a fee.", "You can change the date free of charge."),
        ("The parking is not free.", "The parking is free."),
        ("An extra 500 yen applies on Sundays.", "An extra 500 yen does not apply on Sundays."),
        ("返品は到着から8日を過ぎてからお申し出ください。", "返品は到着から8日以内にお申し出ください。"),
        ("毎月10日以降にお申し込みください。", "毎月10日までにお申し込みください。"),
        ("宿泊の3週間後にご連絡ください。", "宿泊の3週間前にご連絡ください。"),
        ("18歳以下の方が対象です。", "18歳以上の方が対象です。"),
        ("Return it after 14 days of delivery.", "Return it within 14 days of delivery."),
        ("Please pay after the 25th.", "Please pay by the 25th."),
        ("Guests must be 20 or under.", "Guests must be 20 or over."),
        ("Book 3 weeks after your stay.", "Book 3 weeks before your stay."),
    ],
)
def test_the_opposite_of_the_same_thing_contradicts(clause: str, known: str) -> None:
    """Also when いいえ answers a question."""
    assert opposes(clause, known)


@pytest.mark.parametrize(
    ("clause", "known"),
    [
        ("外国人選手のFA移籍では", "外国人選手のFA移籍では補償は不要である。"),
        ("解約金はかかりません", "解約金はかかりません。"),
        ("解約金はかかります", "解約金はかかりますか。"),
        ("解約金はかかります", "ルーターは返却しません。"),
        ("解約金はかかります", ""),
        (
            "月のデータ容量を使い切ると、低速になります。",
            "使い切れなかったデータ容量は、翌月に繰り越せません。",
        ),
        ("8日を過ぎると、返送料がかかります。", "8日以内なら、返送料はかかりません。"),
        ("25か月目以降の解約では、解約金はかかりません。", "24か月以内の解約では、解約金がかかります。"),
        ("After 8 days, a fee applies.", "Within 8 days, a fee does not apply."),
        ("2営業日後に届きます。", "2営業日以内に届きます。"),
        ("カードの料金は無料です。", "料金プランは変更できます。"),
        ("Avoid sharing your password.", "Do not share your password."),
        ("the account is locked", "Check that the account is not locked."),
        ("電話で申し込めます。", "電話でしか申し込めません。"),
    ],
)
def test_another_thing_or_an_open_question_does_not_contradict(clause: str, known: str) -> None:
    """What is denied has to occur on both sides."""
    assert not opposes(clause, known)


@pytest.mark.parametrize(
    ("text", "charged"),
    [
        ("手数料は無料です", False),
        ("手数料は無料ではありません", True),
        ("手数料は550円です", True),
        ("手数料は0円です", False),
        ("The change is not free", True),
        ("There is no fee", None),
        ("送料は無料、手数料は有料です", None),
    ],
)
def test_a_fee_is_charged_or_not(text: str, charged: bool | None) -> None:
    """None where nothing is said of it, where both are, or where only a negation says so."""
    assert stance(text).charged is charged


def test_a_figure_has_two_sides() -> None:
    """以内 and 以降, by and after: the same figure, the other side."""
    (within,), (later,) = (stance(text).bounds for text in ("8日以内に", "8日以降に"))

    assert within.opposite == later
    assert stance("at least 5 weeks before the day").bounds != stance("5 weeks after the day").bounds
