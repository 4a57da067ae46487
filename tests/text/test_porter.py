"""Porter's stemmer: the examples of the paper, and NLTK's as an oracle."""

import random

import pytest

from simulator.text.meteor import stem
from simulator.text.normalise import ascii_words
from tests.metric_references import committed

# Word and stem, by the step of the algorithm that makes the difference.
EXAMPLES = {
    "caresses": "caress", "ponies": "poni", "ties": "tie", "caress": "caress", "cats": "cat",
    "feed": "feed", "agreed": "agre", "plastered": "plaster", "bled": "bled", "motoring": "motor",
    "sing": "sing", "conflated": "conflat", "troubled": "troubl", "sized": "size", "hopping": "hop",
    "tanned": "tan", "falling": "fall", "hissing": "hiss", "fizzed": "fizz", "failing": "fail",
    "filing": "file", "happy": "happi", "sky": "sky", "enjoy": "enjoy", "relational": "relat",
    "conditional": "condit", "rational": "ration", "valency": "valenc", "hesitancy": "hesit",
    "digitizer": "digit", "conformably": "conform", "radically": "radic", "differently": "differ",
    "vilely": "vile", "analogously": "analog", "vietnamization": "vietnam", "predication": "predic",
    "operator": "oper", "feudalism": "feudal", "decisiveness": "decis", "hopefulness": "hope",
    "callousness": "callous", "formality": "formal", "sensitivity": "sensit", "sensibility": "sensibl",
    "triplicate": "triplic", "formative": "form", "formalize": "formal", "electricity": "electr",
    "electrical": "electr", "goodness": "good", "revival": "reviv", "allowance": "allow",
    "inference": "infer", "airliner": "airlin", "gyroscopic": "gyroscop", "adjustable": "adjust",
    "defensible": "defens", "irritant": "irrit", "replacement": "replac", "adjustment": "adjust",
    "dependent": "depend", "adoption": "adopt", "communism": "commun", "activate": "activ",
    "homologous": "homolog", "effective": "effect", "bowdlerize": "bowdler", "probate": "probat",
    "rate": "rate", "cease": "ceas", "controlling": "control", "rolling": "roll", "dying": "die",
    "news": "news", "skies": "sky", "died": "die", "spied": "spi", "geology": "geolog", "fulfully": "ful",
    "it": "it", "of": "of",
}  # fmt: skip
SUFFIXES = (
    "s", "es", "ed", "ing", "ies", "ied", "y", "ly", "alli", "bli", "fulli", "logi", "ational", "ization",
    "iveness", "ousness", "aliti", "biliti", "icate", "ical", "ful", "ness", "al", "ance", "er", "able",
    "ible", "ement", "ment", "ent", "ion", "ou", "ism", "ate", "iti", "ous", "ive", "ize", "e", "ll", "eed",
    "eing",
)  # fmt: skip


@pytest.mark.parametrize(("word", "expected"), EXAMPLES.items())
def test_words_have_the_stems_of_the_paper(word: str, expected: str) -> None:
    """Each step of the algorithm, and the departures that NLTK made."""
    assert stem(word) == expected


@pytest.mark.parametrize("word", ["サーバー", "東京", "た", "", "ｓ", "1990"])
def test_other_scripts_are_their_own_stems(word: str) -> None:
    """Nothing is cut from Japanese words and numbers."""
    assert stem(word) == word


def test_every_word_has_the_stem_that_nltk_gives() -> None:
    """Words of real answers with each suffix that a rule knows, and random letters."""
    oracle = pytest.importorskip("nltk.stem.porter").PorterStemmer()
    texts = " ".join(row["candidate"] for row in committed("en"))
    rng = random.Random(20)
    words = set(ascii_words(texts))
    words |= {word + suffix for word in sorted(words)[::4] for suffix in SUFFIXES}
    words |= {"".join(rng.choices("aeiouybclnrstz", k=rng.randint(1, 9))) for _ in range(5000)}

    assert {word: stem(word) for word in words} == {word: oracle.stem(word) for word in words}
