"""Customers who say given lines, read from a file or a finished run, alone or before another customer."""

import re
from pathlib import Path

import pytest

from simulator.core.errors import CaseFileError, RunFileError
from simulator.core.types import Answer, Case, Ended, Language, Reaction, Turn, Utterance
from simulator.users.offline import still_fits
from simulator.users.scripted import (
    EVERY_CASE,
    MixedUser,
    ReplayUser,
    read_scripts,
    script_of,
    turns_of_run,
    unused_scripts,
)
from tests.commands import Command
from tests.paths import ROOT
from tests.run_helpers import a_case, a_run, a_talk, a_turn

ONE = (a_turn(),)


class Improviser:
    """A customer who counts what was said, and for whom a line fits unless the desk declines."""

    def __init__(self, last: Utterance | None = None) -> None:
        """`last` is said in place of a line that does not fit."""
        self.last, self.shown = last, list[tuple[str, str]]()

    async def __call__(self, case: Case, turns: tuple[Turn, ...]) -> Utterance:
        """The next line."""
        return Utterance(text=f"{case.id}: {len(turns)}")

    async def follow(self, case: Case, turns: tuple[Turn, ...], line: str, before: Answer) -> Utterance:
        """The line, or another."""
        self.shown.append((line, before.text))
        if "かねます" not in turns[-1].answer.text:
            return Utterance(text=line)
        other = self.last or await self(case, turns)
        return other.model_copy(update={"diverged": True, "reaction": GAVE_UP})


GAVE_UP = Reaction(got="declined", next="gave_up", overruled="stay")


async def test_lines_are_said_in_order_then_it_is_over() -> None:
    """The lines follow the question; after the last one the customer leaves."""
    user = MixedUser(["二", "三"])

    assert (await user(a_case(), ())).text == a_case().question
    assert (await user(a_case(), ONE)).text == "二"
    assert (await user(a_case(), ONE * 2)).text == "三"
    assert await user(a_case(), ONE * 3) == Utterance(next="satisfied", reason="end of script")
    assert (await MixedUser()(a_case(), ONE)).next == "satisfied"


def exchange(index: int, user: str, answer: str = "はい、月額990円です。") -> Turn:
    """A turn that said this."""
    return Turn(index=index, user=user, answer=Answer(text=answer))


FIRST, SECOND = exchange(1, "やあ、月いくら？"), exchange(2, "a高い")
EARLIER = (FIRST, SECOND, exchange(3, "bいつから？", "分かりかねます。"))


async def test_a_replay_says_what_was_said_as_long_as_it_fits() -> None:
    """From the very first line, which need not be the case's question, to the last; then it is over."""
    customer = Improviser()
    user = ReplayUser(EARLIER, customer)
    other = exchange(1, "やあ、月いくら？", "月額は990円です。")

    assert await user(a_case(), ()) == Utterance(text="やあ、月いくら？")
    assert await user(a_case(), (other,)) == Utterance(text="a高い")
    end = await user(a_case(), (other, SECOND, exchange(3, "b", "別の話です。")))
    assert end == Utterance(next="over", reason="end of script")
    # Whoever plays is shown the line with the answer that it replied to, and nobody the first and the last.
    assert customer.shown == [("a高い", FIRST.answer.text)]


async def test_nobody_is_asked_where_the_bot_says_the_same_words() -> None:
    """What was made of them then holds, too; silence is no answer that a line could fit again."""
    reacted = SECOND.model_copy(update={"reaction": Reaction(got="partly", why="一部だけ")})
    silent = exchange(1, "やあ、月いくら？", "")
    customer = Improviser()

    same = await ReplayUser((FIRST, reacted), customer)(a_case(), (FIRST,))
    assert same == Utterance(text="a高い", reaction=reacted.reaction)
    assert customer.shown == []
    await ReplayUser((silent, SECOND), customer)(a_case(), (silent,))
    assert customer.shown == [("a高い", "")]


NEW = (exchange(1, "やあ、月いくら？", "分かりかねます。"),)


async def test_from_the_first_line_that_no_longer_fits_the_customer_goes_on() -> None:
    """It is marked, and no earlier line is shown after it, whatever the desk says."""
    customer = Improviser()
    user = ReplayUser(EARLIER, customer)
    first = await user(a_case(), NEW)
    second = await user(a_case(), (*NEW, exchange(2, first.text).model_copy(update={"diverged": True})))

    assert (first.text, first.diverged) == ("fees-1: 1", True)
    assert second == Utterance(text="fees-1: 2")
    assert len(customer.shown) == 1


async def test_who_leaves_where_a_line_no_longer_fits_says_so() -> None:
    """Before their own reason."""
    leaves = Utterance(text="もういい。", next="gave_up", reason="断られた")
    left = await ReplayUser(EARLIER, Improviser(leaves))(a_case(), NEW)

    assert (left.next, left.text) == ("gave_up", "もういい。")
    assert left.reason == "前の発言が返事に合わなくなった / 断られた"


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
    said = Utterance(text="月いくら？"), Utterance(text="たかい", diverged=True)
    for index, line in enumerate(said, 1):
        file.save_utterance(first.id, index, line)
        file.save_answer(first.id, index, Answer(text="はい。"))
    file.save_ending(first.id, Ended.GAVE_UP, "", "")
    file.close()
    turns = turns_of_run(file.path)

    assert list(turns) == [first.id]
    told = [Utterance(text=t.user, diverged=t.diverged) for t in turns[first.id]]
    assert told == [*said]
    with pytest.raises(RunFileError, match="this run file does not exist"):
        turns_of_run(tmp_path / "run.sqlite")


SCRIPTS = {"fees-1": ("それって、ずっと同じ値段ですか。", "ありがとう。"), "fees-2": ("How long?",)}


def written(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_script_file(tmp_path: Path, end: str) -> None:
    """Lines under heads, whatever their ends."""
    text = "\n# fees-1\nそれって、ずっと同じ値段ですか。\n\n  ありがとう。 \n# fees-2 \nHow long?"

    assert read_scripts(written(tmp_path, "a.txt", text.replace("\n", end))) == SCRIPTS


def test_a_text_without_heads_is_for_every_case(tmp_path: Path) -> None:
    """Lines before the first head belong to all cases that have no script of their own."""
    scripts = read_scripts(written(tmp_path, "a.txt", "もしもし？\nまだですか。\n# fees-2\nHow long?\n"))

    assert scripts == {EVERY_CASE: ("もしもし？", "まだですか。"), "fees-2": ("How long?",)}


@pytest.mark.parametrize(
    ("name", "text", "problem"),
    [
        ("a.txt", "# fees-1\n# fees-2\nHow long?", "'fees-1' has no lines"),
        ("a.txt", "# fees-1\na\n# fees-1\nb", "line 3: 'fees-1' has a script already"),
        ("a.txt", " \n", "the file is empty"),
        ("a.csv", "question\nHow long?\n", "a.csv: a script is plain text"),
    ],
)
def test_a_broken_script_file_is_named(tmp_path: Path, name: str, text: str, problem: str) -> None:
    """File, line and what to write instead, before anything starts."""
    with pytest.raises(CaseFileError) as met:
        read_scripts(written(tmp_path, name, text))

    assert name in str(met.value)
    assert problem in str(met.value)
    assert "docs/personas.md" in str(met.value)


@pytest.mark.parametrize(("page", "language"), [("personas.md", "en"), ("personas.ja.md", "ja")])
def test_the_scripts_of_the_documentation_are_read_and_said(
    page: str, language: str, tmp_path: Path, command: Command
) -> None:
    """The form on the page holds lines of bundled questions, which the customers then say."""
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    shown = re.findall(r"```text\n(# .*?)```", text, re.DOTALL)[0]
    scripts = read_scripts(written(tmp_path, "lines.txt", shown))
    first = next(iter(scripts))
    done = command(
        "--offline", "--persona", "calm", "--language", language, "--limit", "4", "--script", "lines.txt"
    )

    said = {talk.case.id: [turn.user for turn in talk.turns] for talk in done.run.conversations}
    assert said[first][1:] == [*scripts[first]]


def test_the_nearest_script_is_taken() -> None:
    """That of the conversation before that of its case before the one for all."""
    conversation = a_talk()
    every, case, own = ("every",), ("case",), ("own",)

    assert script_of({EVERY_CASE: every, "fees-1": case, conversation.id: own}, conversation) == own
    assert script_of({EVERY_CASE: every, "fees-1": case}, conversation) == case
    assert script_of({EVERY_CASE: every, "fees-9": case}, conversation) == every
    assert script_of({"fees-9": case}, conversation) is None


def test_scripts_without_a_conversation_are_told() -> None:
    """A misspelt id shows; the script for every case is always of use."""
    conversation, lines = a_talk(), ("a",)

    scripts = dict.fromkeys((EVERY_CASE, "fees-1", conversation.id, "fee-1"), lines)
    assert unused_scripts(scripts, [conversation]) == ("fee-1",)
    assert unused_scripts({"fees-1": lines}, []) == ("fees-1",)
