"""Customers who say the lines of their case or of a finished run."""

from pathlib import Path

import pytest

from simulator.core.errors import RunFileError
from simulator.core.types import Answer, Case, Ended, Language, Turn, Utterance
from simulator.users.scripted import ReplayUser, ScriptedUser, still_fits, turns_of_run
from tests.run_helpers import a_case, a_run, a_talk, a_turn

ONE = (a_turn(),)


async def improvises(case: Case, turns: tuple[Turn, ...]) -> Utterance:
    """A customer who counts what was said."""
    return Utterance(text=f"{case.id}: {len(turns)}")


async def test_lines_are_said_in_order_then_it_is_over() -> None:
    """The lines follow the question; after the last one the customer leaves."""
    user = ScriptedUser(["二", "三"])

    assert (await user(a_case(), ())).text == a_case().question
    assert (await user(a_case(), ONE)).text == "二"
    assert (await user(a_case(), ONE * 2)).text == "三"
    assert await user(a_case(), ONE * 3) == Utterance(next="satisfied", reason="end of script")
    assert (await ScriptedUser()(a_case(), ONE)).next == "satisfied"


def exchange(index: int, user: str, answer: str = "はい、月額990円です。") -> Turn:
    """A turn that said this."""
    return Turn(index=index, user=user, clean="" if index < 2 else user.upper(), answer=Answer(text=answer))


FIRST, SECOND = exchange(1, "やあ、月いくら？"), exchange(2, "a高い")
EARLIER = (FIRST, SECOND, exchange(3, "bいつから？", "分かりかねます。"))


async def test_a_replay_says_what_was_said_as_long_as_it_fits() -> None:
    """From the very first line, which need not be the case's question, to the last; then it is over."""
    user = ReplayUser(EARLIER, improvises)

    assert await user(a_case(), ()) == Utterance(text="やあ、月いくら？")
    assert await user(a_case(), EARLIER[:1]) == Utterance(text="a高い", clean="A高い")
    end = await user(a_case(), (*EARLIER[:2], exchange(3, "b", "別の話です。")))
    assert end == Utterance(next="over", reason="end of script")


async def test_the_first_line_that_no_longer_fits_is_marked_and_somebody_goes_on() -> None:
    """Or the replay ends there, or says its lines all the same, as it is set."""
    new = (exchange(1, "やあ、月いくら？", "申し訳ございませんが、分かりかねます。"), exchange(2, "えっ"))

    first, second = [await ReplayUser(EARLIER, improvises)(a_case(), new[:n]) for n in (1, 2)]
    kept, next_one = [await ReplayUser(EARLIER)(a_case(), new[:n]) for n in (1, 2)]

    assert first == Utterance(text="fees-1: 1", diverged=True)
    assert second == Utterance(text="fees-1: 2")
    assert (await ReplayUser(EARLIER, ends=True)(a_case(), new[:1])).next == "over"
    assert kept == Utterance(text="a高い", clean="A高い", diverged=True)
    assert next_one == Utterance(text="bいつから？", clean="Bいつから？")


@pytest.mark.parametrize(
    ("before", "now", "language", "fits"),
    [
        ("月額990円です。", "月額は990円になります。", "ja", True),
        ("月額990円です。", "申し訳ございませんが、分かりかねます。", "ja", False),
        ("分かりかねます。", "申し訳ございません。お答えできません。", "ja", True),
        ("担当者におつなぎします。", "担当者に引き継ぎます。", "ja", True),
        ("担当者におつなぎします。", "月額990円です。", "ja", False),
        ("ご契約のプランはお分かりですか？", "ご契約のプランを教えていただけますか？", "ja", True),
        ("ご契約のプランはお分かりですか？", "月額990円です。", "ja", False),
        ("ご契約のプランはお分かりですか？", "いつ届いた端末でしょうか？", "ja", False),
        ("The fee is 990 yen a month.", "It is 990 yen a month, the fee.", "en", True),
        ("The fee is 990 yen a month.", "Bring your identity card to the shop.", "en", False),
        ("", "The fee is 990 yen.", "en", False),
        ("", "", "en", True),
    ],
)
def test_a_line_fits_while_the_bot_says_something_of_the_kind(
    before: str, now: str, language: Language, fits: bool
) -> None:
    """In other words, too; not when it refuses or asks, where it did not, or speaks of another matter."""
    assert still_fits(Answer(text=before), Answer(text=now), language) is fits


def test_the_turns_of_a_run(tmp_path: Path) -> None:
    """All that was said and answered, by conversation; one never begun has none."""
    first, second = a_talk(), a_talk(a_case(id="fees-2"))
    file = a_run(tmp_path, [first, second])
    said = Utterance(text="月いくら？"), Utterance(text="たかい", clean="高い", diverged=True)
    for index, line in enumerate(said, 1):
        file.save_utterance(first.id, index, line)
        file.save_answer(first.id, index, Answer(text="はい。"))
    file.save_ending(first.id, Ended.GAVE_UP, "", "")
    file.close()
    turns = turns_of_run(file.path)

    assert list(turns) == [first.id]
    told = [Utterance(text=t.user, clean=t.clean, diverged=t.diverged) for t in turns[first.id]]
    assert told == [*said]
    with pytest.raises(RunFileError, match="this run file does not exist"):
        turns_of_run(tmp_path / "run.sqlite")
