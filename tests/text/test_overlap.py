"""How much of what a text is about other texts take up."""

from simulator.text.overlap import content, coverage, stem


def test_endings_of_a_word_do_not_matter() -> None:
    """The forms of a verb and the plural of a noun are one unit."""
    assert {stem(word) for word in ("charge", "charges", "charged", "charging")} == {"charg"}
    assert stem("policies") == stem("policy")
    assert stem("stopped") == stem("stop")


def test_a_question_is_covered_as_far_as_texts_take_it_up() -> None:
    """Grammar shared with an unrelated text covers nothing."""
    assert coverage("解約の期限は", ["解約の期限は20日です。"]) == 1
    assert coverage("解約の期限は", ["ルーターは黒です。"]) == 0
    assert coverage("When do I cancel?", ["You cancel on the 20th.", "By post."]) > 0.5


def test_content_is_words_without_grammar() -> None:
    """Pairs of kanji and katakana, stems of other words, and nothing of hiragana alone."""
    assert content("解約金はいくらですか") == {"解約", "約金"}
    assert content("The plans charge 990 yen.") == {"plan", "charg", "990", "yen"}
    assert content("そうです") == frozenset()
