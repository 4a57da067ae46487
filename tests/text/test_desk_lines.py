"""What real desks say is taken for a refusal or a handover only where it is one."""

from typing import Any

import pytest

from simulator.core.types import Answer, Case, GradingContext, Language, Turn
from simulator.grading.lexical import response_of
from simulator.text.phrases import hands_over, turns_away
from tests.paths import fixture_rows

# At most one in a hundred ordinary lines.
FEW = 0.01
# How many lines these sets hold, those that were said twice counted once.
DISTINCT = {"ja": 1163, "en": 1063}
LANGUAGES: tuple[Language, ...] = ("ja", "en")


def labelled(language: Language) -> list[dict[str, Any]]:
    return fixture_rows(f"desk_lines_{language}.jsonl")


def refused(text: str, language: Language) -> bool:
    """As the table of answered and refused questions counts it where no model judges."""
    case = Case(id="1", question="?", language=language, answerable=True)
    turn = Turn(index=1, user="?", answer=Answer(text=text))
    context = GradingContext(conversation="1", case=case, persona="plain", turn=turn)
    return response_of(context) in ("declined", "handed_over")


@pytest.mark.parametrize("language", LANGUAGES)
def test_ordinary_lines_refuse_nothing(language: Language) -> None:
    """Prices, bookings, questions back and "nothing matches your wishes" are no refusals.

    The fixture holds one line in three of the sets, and those that earlier patterns took for a refusal.
    """
    rows = labelled(language)
    ordinary = [row["text"] for row in rows if not row["refusal"]]
    wrong = [text for text in dict.fromkeys(ordinary) if refused(text, language)]

    assert len(ordinary) >= 380
    assert len(wrong) <= FEW * DISTINCT[language], wrong


@pytest.mark.parametrize("language", LANGUAGES)
def test_ordinary_lines_pass_nobody_on(language: Language) -> None:
    """Who announces a drink, or to write with details, brings in no person."""
    ordinary = [row["text"] for row in labelled(language) if not row["refusal"]]

    assert len([text for text in ordinary if hands_over(text, language)]) <= FEW * len(ordinary)


@pytest.mark.parametrize("language", LANGUAGES)
def test_lines_that_refuse_are_still_found(language: Language) -> None:
    """Most of what real desks decline is; who says nothing else, and plainly, always."""
    declined = [row["text"] for row in labelled(language) if row["refusal"]]
    found = [text for text in declined if turns_away(text, language)]

    assert len(found) >= 0.7 * len(declined)


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("Your report has been submitted. We will look into it and will contact you in due course.", "en"),
        ("I am sorry, but the hotel is not able to accommodate you.", "en"),
        ("I do not have that on the menu. Did you mean a flat white?", "en"),
        ("申し訳ございません。その条件では見つかりませんでした。", "ja"),
        ("申し訳ありません。ご指定の条件ではご紹介できません。いかが致しましょう？", "ja"),
    ],
)
def test_what_a_desk_does_is_no_refusal(text: str, language: Language) -> None:
    """It has done something, asks for something, or has searched and found none."""
    assert not refused(text, language)


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("I could not find any information about rooms in our material.", "en"),
        ("I can't see your flight from here.", "en"),
        ("その条件に関する情報は見つかりませんでした。", "ja"),
        ("ホテルの電話番号はご案内できません。", "ja"),
    ],
)
def test_who_does_not_know_refuses_all_the_same(text: str, language: Language) -> None:
    """What was searched is the material, not the shelf."""
    assert refused(text, language)
