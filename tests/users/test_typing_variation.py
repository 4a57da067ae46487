"""How people type: seeded, bounded, and never at the cost of what is meant."""

import csv
import random
import re
import unicodedata
from collections import Counter
from functools import cache
from itertools import combinations
from typing import cast

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from simulator.core import shelves
from simulator.core.types import Case, Facts, Language, Turn, Utterance
from simulator.text.spelling import codes, exact_spans
from simulator.text.typography import half_width
from simulator.users.guard import Guard
from simulator.users.mistypings import EnglishTypist, JapaneseTypist, slips, typist
from simulator.users.typing_variation import MOST_CHANGES, SHARE, TypedLine, VaryingUser, names, vary
from tests.properties import examples
from tests.run_helpers import a_case, a_turn

LANGUAGES: tuple[Language, Language] = ("ja", "en")
# No single change of the tables is further than this from what was meant.
LARGEST_CHANGE = 8
RICH: dict[Language, str] = {
    "ja": "保証のサーバーの料金を教えてください。ベッドは2つ、SIMの回線です。",
    "en": "I'm not sure about their address. It's late, but I received the bill yesterday.",
}
MANY = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=examples(100))


@cache
def lines(language: Language) -> tuple[str, ...]:
    """What customers of the bundled questions and personas say."""
    with (shelves.DEMO / "cases" / f"{language}.csv").open(encoding="utf-8") as file:
        said = [row["question"] for row in csv.DictReader(file)]
    for name in ("angry", "calm", "beginner"):
        phrases = shelves.persona(name).speaks(language).phrases.values()
        said += [phrase.replace("$question", said[0]) for several in phrases for phrase in several]
    return tuple(said)


@cache
def any_line(language: Language) -> st.SearchStrategy[str]:
    """Customers' lines with numbers, codes, addresses and negations put among them."""
    facts = (
        "E-205",
        "Ａ１２３",
        "0120-000-371",
        "3,300円",
        "24",
        "a.b@c.example",
        "http://x.example/保証?y=2",
    )
    denied = ("できません", "解約しない", "使えなかった", "not", "I can't", "never", "without")
    pieces = st.sampled_from([*lines(language), *facts, *denied, RICH[language]])
    joined = st.lists(pieces, min_size=1, max_size=4).map(("" if language == "ja" else " ").join)
    return joined | st.text(max_size=40)


def varied(text: str, language: Language, seed: int, share: float = 1.0) -> TypedLine:
    return vary(text, language, random.Random(seed), share=share)


def plain(text: str) -> str:
    return unicodedata.normalize("NFKC", text)


def alike(one: str, other: str) -> int:
    """How many letters both begin with."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (a, b) in pairs if a != b), min(len(one), len(other)))


def distance(one: str, other: str) -> int:
    """Levenshtein's edit distance, counted between the first and the last letter that differ."""
    one, other = (text[alike(one, other) :][::-1] for text in (one, other))
    one, other = (text[alike(one, other) :] for text in (one, other))
    row = list(range(len(other) + 1))
    for i, a in enumerate(one, 1):
        left, row = row, [i]
        for j, b in enumerate(other, 1):
            row.append(min(left[j] + 1, row[-1] + 1, left[j - 1] + (a != b)))
    return row[-1]


@pytest.mark.parametrize("language", LANGUAGES)
@MANY
@given(data=st.data(), seed=st.integers(0, 2**31))
def test_what_is_meant_stays(language: Language, data: st.DataObject, seed: int) -> None:
    """Numbers, codes, amounts and negations are all there, in their order, whatever else is changed."""
    text = data.draw(any_line(language))
    typed = varied(text, language, seed).text

    assert re.findall(r"\d+", plain(typed)) == re.findall(r"\d+", plain(text))
    assert codes(typed) == codes(text)
    assert [typed[a:b] for a, b in exact_spans(typed)] == [text[a:b] for a, b in exact_spans(text)]


@pytest.mark.parametrize("language", LANGUAGES)
@MANY
@given(data=st.data(), seed=st.integers(0, 2**31))
def test_a_line_stays_near(language: Language, data: st.DataObject, seed: int) -> None:
    """At most two small changes, never nothing left, the same again for the same seed."""
    text = data.draw(any_line(language))
    first = varied(text, language, seed)

    assert first == varied(text, language, seed)
    assert len(first.kinds) <= MOST_CHANGES
    assert (first.text == text) == (not first.kinds)
    assert distance(text, first.text) <= LARGEST_CHANGE * len(first.kinds)
    assert any(map(str.isalnum, first.text)) == any(map(str.isalnum, text))


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_language_stays(language: Language) -> None:
    """The guard finds nothing foreign in what it passed before; English stays in plain letters."""
    guard = Guard(language)
    for number, line in enumerate(lines(language)):
        typed = varied(line, language, number).text

        assert guard.broken_rule(typed, ()) is None
        assert language == "ja" or plain(typed) == typed


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_share_of_the_lines_is_varied(language: Language) -> None:
    """About 15 % of many lines, less the few in which nothing can be changed."""
    rng, said = random.Random(7), lines(language)
    kinds = [vary(said[n % len(said)], language, rng).kinds for n in range(4000)]

    assert SHARE - 0.025 <= sum(map(bool, kinds)) / len(kinds) <= SHARE + 0.01
    assert varied(said[0], language, 1, share=0) == TypedLine(said[0])


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_kind_is_met(language: Language) -> None:
    """Each kind that has a weight occurs, and no other."""
    met = Counter(kind for seed in range(600) for kind in varied(RICH[language], language, seed).kinds)

    assert met.keys() == typist(language).weights.keys()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "保証が切れた",
            {"保障が切れた", "補償が切れた", "ほしょうが切れた", "保証がきれた", "保証切れた"},
        ),
        ("料金を教えて", {"料金教えて", "りょうきんを教えて", "料金をおしえて"}),
        ("ルーター", {"ルータ", "ルーターー"}),
        ("5月から？", {"５月から？"}),
        ("いくらですか？", {"いくらですか"}),
        ("Ｅ－１０１", set()),
        ("SIM", {"ＳＩＭ"}),
        ("保証書", set()),
        ("解約できません", set()),
        ("手続きは不要", set()),
        ("何を見る", set()),
    ],
)
def test_japanese_as_it_is_typed(text: str, expected: set[str]) -> None:
    """変換ミス, kana, particles, widths and marks where they are plausible; nothing in part of a word."""
    found = (varied(text, "ja", seed) for seed in range(200))

    assert {each.text for each in found if len(each.kinds) == 1} == expected


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("Mizunara Price Plan", "Mizunara Price Plan"),
        ("I can't pay", "can't"),
        ("They don't answer", "don't"),
        ("it is not working", "not"),
        ("24 months, 10GB, E-205", "24 months, 10GB, E-205"),
        ("write to their.list@a.example", "their.list@a.example"),
    ],
)
def test_english_keeps_names_and_negations(text: str, kept: str) -> None:
    """Capitalised words, negations, units and addresses are never mistyped."""
    assert all(kept in varied(text, "en", seed).text for seed in range(200))


def test_a_question_without_its_mark_still_asks() -> None:
    """The mark goes only where the words ask without it."""
    asks = {varied("Is it late?", "en", seed).text for seed in range(200)}
    tells = {varied("Really? Two?", "en", seed).text for seed in range(200)}

    assert "Is it late" in asks
    assert all(text.endswith("?") for text in tells)


def test_the_table_of_homophones_is_large_and_sound() -> None:
    """At least 120 pairs of kanji words; no way of writing stands under two pronunciations."""
    japanese = cast(JapaneseTypist, typist("ja"))
    forms = [form for forms in japanese.readings.values() for form in forms]
    kana = re.compile("[ぁ-んー]+")
    pairs = [
        pair
        for several in japanese.readings.values()
        for pair in combinations(several, 2)
        if not any(kana.search(form) for form in pair)
    ]

    assert len(pairs) >= 120
    assert len(forms) == len(set(forms))
    assert all(kana.fullmatch(reading) for reading in japanese.readings)
    assert not any(kana.fullmatch(form) for form in forms)
    assert (
        max(abs(len(r) - len(f)) + min(len(r), len(f)) for r, fs in japanese.readings.items() for f in fs)
        <= 8
    )


def test_a_slip_makes_no_other_word() -> None:
    """Every word of the list can be mistyped, in its inner letters, without becoming a word that is known."""
    english = cast(EnglishTypist, typist("en"))
    for word in english.words:
        typed = {slip for several in slips(word).values() for slip in several}

        assert typed - english.real
        assert all(slip[0] == word[0] and distance(word, slip) <= 2 for slip in typed)


def test_names_of_the_case_are_kept() -> None:
    """What is quoted, or capitalised within a sentence, is no target."""
    facts = Facts(knows=("お客様番号は「保証 12」です", "My plan is called Home Value"))
    case = a_case(question="「料金」プランって何ですか", facts=facts)

    assert names(case) == ("料金", "保証 12", "Home", "Value")
    for seed in range(100):
        assert "料金" in vary("料金を教えて。", "ja", random.Random(seed), keep=names(case), share=1).text


async def say(case: Case, turns: tuple[Turn, ...]) -> Utterance:
    """A customer who asks, and leaves after three turns."""
    if len(turns) == 3:
        return Utterance(text=RICH["ja"], next="satisfied")
    return Utterance(text=RICH["ja"], reason="まだ")


async def test_a_varied_customer_keeps_what_was_meant() -> None:
    """The bot meets the typed line, the clean one stands beside it; the same conversation types the same."""
    user = VaryingUser(say, seed=3, share=1)
    said = await user(a_case(), (a_turn(),))

    assert said.text != RICH["ja"]
    assert (vars(said)["clean"], said.reason) == (RICH["ja"], "まだ")
    assert (await VaryingUser(say, seed=3, share=1)(a_case(), (a_turn(),))).text == said.text
    assert (await VaryingUser(say, seed=4, share=1)(a_case(), (a_turn(),))).text != said.text


async def test_closing_words_and_clean_lines_are_as_they_were() -> None:
    """Leaving is not typed anew, and an unvaried line has nothing beside it."""
    turns = (a_turn(), a_turn(2), a_turn(3))

    assert await VaryingUser(say, seed=3, share=1)(a_case(), turns) == await say(a_case(), turns)
    assert await VaryingUser(say, seed=3, share=0)(a_case(), ()) == await say(a_case(), ())


def test_full_width_is_only_a_width() -> None:
    """Every number that is typed full-width is the same number."""
    typed = {varied("2台で5月から20回線", "ja", seed).text for seed in range(100)}

    assert {half_width(text) for text in typed} == {"2台で5月から20回線"}
    assert len(typed) > 2
