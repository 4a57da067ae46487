"""What real desks say is taken for a refusal or a handover only where it is one."""

import gzip
import json
import os
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import pytest

from simulator.core.types import Answer, Case, GradingContext, Language, Turn
from simulator.grading.lexical import response_of
from simulator.text.phrases import hands_over, turns_away
from tests.paths import ROOT, fixture_rows

# At most one in a hundred ordinary lines.
FEW = 0.01
# The whole sets, of which fixtures are drawn; not part of this program.
DATA = Path(os.environ.get("REHEARSAL_BENCH_DATA", ROOT.parent / "shared" / "data"))
COLLECTION = DATA / "humans"
SETS = {"ja": ("jmultiwoz_ja_dev",), "en": ("star_en_dev", "taskmaster4_en_dev")}
# How many lines these sets hold, those that were said twice counted once.
DISTINCT = {"ja": 1163, "en": 1063}
LANGUAGES: tuple[Language, ...] = ("ja", "en")


def labelled(language: Language) -> list[dict[str, Any]]:
    return fixture_rows(f"desk_lines_{language}.jsonl")


def collected(language: Language) -> Iterator[str]:
    """All lines of desks in the sets, as often as they were said."""
    for name in SETS[language]:
        with gzip.open(COLLECTION / f"{name}.jsonl.gz", "rt", encoding="utf-8") as file:
            turns = chain.from_iterable(json.loads(line)["turns"] for line in file)
            yield from (turn["text"].replace("\n", " ") for turn in turns if turn["role"] == "desk")


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


@pytest.mark.parametrize("language", LANGUAGES)
def test_of_all_lines_at_hand_few_are_taken_for_refusals(language: Language) -> None:
    """Over whole sets of real desks, counted as often as a line was said."""
    if not COLLECTION.is_dir():
        pytest.skip(f"the collection of real desks' lines is not at hand ({COLLECTION.name}/)")
    declined = {row["text"] for row in labelled(language) if row["refusal"]}
    ordinary = [text for text in collected(language) if text not in declined]
    wrong = [text for text in ordinary if refused(text, language) or hands_over(text, language)]

    assert len(ordinary) > 1000
    assert len(wrong) <= FEW * len(ordinary), wrong


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("Your report has been submitted. We will look into it and will contact you in due course.", "en"),
        ("What can I get for you today?", "en"),
        ("I am sorry, but the hotel is not able to accommodate you.", "en"),
        ("I do not have that on the menu. Did you mean a flat white?", "en"),
        ("There are no flights that match your dates.", "en"),
        ("電話番号は0120000371になります。", "ja"),
        ("申し訳ございません。その条件では見つかりませんでした。", "ja"),
        ("ご希望に合う物件は見つかりませんでした。ほかの駅でお探ししましょうか？", "ja"),
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
        ("Would you like me to get an agent?", "en"),
        ("その条件に関する情報は見つかりませんでした。", "ja"),
        ("ホテルの電話番号はご案内できません。", "ja"),
        ("該当する商品の記載が見当たりません。", "ja"),
    ],
)
def test_who_does_not_know_refuses_all_the_same(text: str, language: Language) -> None:
    """What was searched is the material, not the shelf."""
    assert refused(text, language)
