"""The judge `choice`: which letter an answer states, and whether it is the right one."""

import re
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.core.types import GradingContext
from simulator.lab.datasets.choice import choice
from simulator.lab.datasets.stated import stated
from simulator.text.choices import LETTERS, letters, place_of, right_letter
from tests.paths import fixture_rows
from tests.run_helpers import answered

CHOICES = ("8", "2", "24", "120")
# What the template of OpenAI's simple-evals asks for, and the pattern it reads it with.
SIMPLE_EVALS = re.compile(r"(?i)Answer[ \t]*:[ \t]*\$?([A-D])\$?")
# Replies as models write them, and the letter that they state; - where they state none.
REPLIES = [(row["reply"], row["letter"]) for row in fixture_rows("choice_replies.jsonl")]


def an_exhibit(answer: str = "Answer: C", **known: Any) -> GradingContext:
    case: dict[str, Any] = {"language": "en", "choices": CHOICES, "label": "24"}
    return answered(answer, **(case | known))


def letter_in(reply: str, choices: Sequence[str] = CHOICES) -> str:
    found = stated(reply, choices)
    return found.letter if found else "-"


@pytest.mark.parametrize(("reply", "letter"), REPLIES)
def test_a_reply_states_its_letter(reply: str, letter: str) -> None:
    """In Japanese and in English, as models write it; with curly marks as with straight ones."""
    curly = str.translate(reply, {ord("'"): "’", ord('"'): "”", ord("-"): "–"})
    assert letter_in(curly) == letter_in(reply)
    assert letter_in(reply) == letter


@pytest.mark.parametrize(
    ("choices", "reply", "letter"),
    [
        (("no", "yes"), "Yes, there is. I am sure.", "B"),
        (("no", "yes"), "Yes, though some say no.", "-"),
        (("True", "False"), "False. The passage says otherwise.", "B"),
        (("$1,000", "$2,000"), "Answer: $1,000", "A"),
        (("$x^2$", "$2x$"), "The answer is $2x$.", "B"),
        ((r"\frac{1}{2}", "2"), r"\boxed{\frac{1}{2}}", "A"),
        (("London", "Paris"), "London, Paris", "-"),
        (("1", "3"), "1. First we add them.\nThat is hard to say.", "-"),
        (("1", "3"), "3. ", "B"),
        (("the sun", "all of the above"), "The answer is all of the above.", "B"),
        (("東京", "京都"), "東京だけではありません。", "-"),
        (("1,000", "10,000"), "答えは1000です。", "A"),
    ],
)
def test_a_reply_may_say_the_text_of_its_choice(choices: Sequence[str], reply: str, letter: str) -> None:
    """Text, amounts and formulas are compared without what surrounds them on both sides."""
    assert letter_in(reply, choices) == letter


@given(reasoning=st.text(alphabet="abcd ABCD.,:\n$*()", max_size=80), letter=st.sampled_from("ABCD"))
def test_the_template_is_read_as_simple_evals_reads_it(reasoning: str, letter: str) -> None:
    """What ends as the template asks is never read otherwise, whatever stands before it."""
    reply = f"{reasoning}\nAnswer: {letter}"

    assert letter_in(reply) == letter
    assert SIMPLE_EVALS.findall(reply)[-1] == letter


@given(
    said=st.text(max_size=60),
    count=st.integers(2, 10),
    place=st.integers(0, 9),
    form=st.sampled_from(
        ["Answer: {}", "答え：{}", "答えは{}です。", "**Answer: ({})**", "【答え】{}", r"\boxed{{{}}}"]
    ),
)
def test_two_to_ten_choices_are_told_apart(said: str, count: int, place: int, form: str) -> None:
    """The last line counts, for as many letters as the question has; a letter beyond them is none."""
    letter, choices = LETTERS[place], [f"choice number {n}" for n in range(count)]
    reply = f"{said}\n{form.format(letter)}"

    if place < count:
        assert letter_in(reply, choices) == letter
    else:
        assert letter_in(form.format(letter), choices) == "-"


@given(
    word=st.from_regex(r"[A-D][a-zA-Z]{1,8}|[a-zA-Z]{1,8}[A-D]", fullmatch=True),
    lead=st.sampled_from(["", "Answer: "]),
)
def test_letters_within_words_never_count(word: str, lead: str) -> None:
    """Neither where they begin nor where they end one."""
    assert letter_in(f"{lead}{word}") == "-"


@pytest.mark.parametrize(
    "piece",
    ["Answer: ", "答え", "答えはAでも", "Answer: not A,", "the ", "Aでは", r"\boxed{", *"「( \n$", "- "],
)
def test_hostile_replies_are_read_to_their_end(piece: str) -> None:
    """Said twenty thousand times over, it chooses what it chooses when it is said a few times."""
    assert stated(piece * 20_000, CHOICES) == stated(piece * 3, CHOICES)


@pytest.mark.parametrize(
    ("given", "choices", "place"),
    [
        ("24", CHOICES, 2),
        ("C", CHOICES, 2),
        ("ｃ", CHOICES, 2),
        ("(C)", CHOICES, 2),
        ("0", CHOICES, 0),
        ("2", CHOICES, 1),
        ("4", CHOICES, None),
        ("E", CHOICES, None),
        ("", CHOICES, None),
        ("B", ("B", "A"), 0),
        ("paris", ("London", "Paris"), 1),
    ],
)
def test_the_right_choice_is_named_in_several_ways(
    given: str, choices: Sequence[str], place: int | None
) -> None:
    """By its text, which goes first, by letter, or by number from 0."""
    assert place_of(given, choices) == place


def test_letters_of_a_case() -> None:
    """A case without choices, or without a right one, has none."""
    assert letters(4) == "ABCD"
    assert right_letter(an_exhibit().case) == "C"
    assert right_letter(an_exhibit(label=None).case) is None
    assert right_letter(an_exhibit(label="nothing like it").case) is None
    assert stated("Answer: A", ["only one"]) is None


@pytest.mark.parametrize(("answer", "value"), [("Answer: C", 1), ("答え：Ａ", 0), ("24", 1)])
def test_right_and_wrong(answer: str, value: float) -> None:
    """The score says what was answered and what is right."""
    score = choice(an_exhibit(answer, language="ja"))

    assert (score.state, score.value, score.raw) == ("scored", value, value)
    assert score.detail["right"] == "C"
    assert not score.by_rule
    assert ("正解：C（24）" if value else "A（8）と回答。正解はC（24）") in score.reason


def test_no_choice_is_wrong_and_counted() -> None:
    """Wrong by rule, and said to be not extracted."""
    score = choice(an_exhibit("I would rather not say."))

    assert (score.state, score.value, score.by_rule) == ("scored", 0, True)
    assert score.detail == {"not_extracted": "letter", "right": "C"}
    assert "not extracted" in score.reason


def test_a_case_without_choices_is_skipped() -> None:
    """There is nothing to be right about."""
    for context in (an_exhibit(choices=(), label="24"), an_exhibit(label=None)):
        assert choice(context).state == "skipped"


@pytest.mark.parametrize(
    ("logprobs", "how"),
    [({"A": -3.0, "C": -0.1}, "likelihood"), ({"A": -1.0, "C": -1.0}, "answer"), ({}, "answer")],
)
def test_the_likeliest_letter_goes_before_the_text(logprobs: dict[str, float], how: str) -> None:
    """Where the endpoint told; a tie says nothing."""
    score = choice(an_exhibit("Answer: B", told={"logprobs": logprobs}))

    assert score.detail["stated"] == how
    assert score.value == (how == "likelihood")
