"""What is counted of customers' lines: length, marks, words that greet, ask or thank, what is said again.

All are features of the surface: they say nothing of what a customer wants. First lines are left out, because
they are the questions of the data set and not the customer's own words.
"""

import re
from array import array
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from simulator.core.templates import read_toml
from simulator.core.types import Conversation, Language
from simulator.text.segments import normalise

PATTERNS = Path(__file__).with_name("lines.toml")
Matrix = npt.NDArray[np.float64]

# What is counted of a line: its length, the words of lines.toml from `asks` to `formal`, marks, digits, how
# much of it was said before, and how many lines its conversation has.
FEATURES = (
    "length", "short", "long", "asks", "thanks", "polite", "requests", "greets", "reacts", "agrees", "glad",
    "upset", "hesitates", "refers", "self", "softens", "formal", "exclaims", "question_mark", "commas",
    "sentences", "digits", "own_words", "repeats", "turns",
)  # fmt: skip
# A line of at most so many characters (ja) or words (en) is short, and one of at least so many is long.
_SHORT: Mapping[Language, int] = {"ja": 8, "en": 3}
_LONG: Mapping[Language, int] = {"ja": 40, "en": 20}
# From this share of pairs of characters on, a line quotes the first one, or says an earlier one again.
_QUOTES, _REPEATS = 0.5, 0.8
_SHARES = (
    "short", "asks", "polite", "thanks", "reacts", "glad", "upset", "quotes_itself", "repeats_itself",
)  # fmt: skip


class People(NamedTuple):
    """Lines of one set of customers: features of each after a first one, and the conversation it is of.

    `rows` has a row for each line and a column for each of `FEATURES`; `talks` numbers the conversation of
    each row. `figures` are the shares and medians of the table.
    """

    rows: Matrix
    talks: npt.NDArray[np.int64]
    figures: dict[str, float]

    def at(self, places: npt.NDArray[Any]) -> "People":
        """Those of its lines alone."""
        return self._replace(rows=self.rows[places], talks=self.talks[places])


def customer_messages(conversation: Conversation) -> list[str]:
    """The customer's messages from the first to the closing one."""
    return [*(turn.user for turn in conversation.turns), *filter(None, [conversation.closing])]


@cache
def _patterns(language: Language) -> dict[str, re.Pattern[str]]:
    return {name: re.compile(pattern) for name, pattern in read_toml(PATTERNS)[language].items()}


def _pairs(text: str) -> set[str]:
    plain = re.sub(r"\W", "", text)
    return {plain[at : at + 2] for at in range(len(plain) - 1)}


def _within(line: set[str], other: set[str]) -> float:
    """The share (0..1) of a line's pairs of characters that another has as well."""
    return len(line & other) / len(line) if line else 0.0


def line_length(line: str, language: Language) -> int:
    """Characters in Japanese, words in English: "解約したい" is 5, "I want out" is 3."""
    return len(line.strip()) if language == "ja" else len(line.split())


def line_features(lines: Sequence[str], at: int, language: Language) -> tuple[float, ...]:
    """The `FEATURES` of line `at` of what one customer said: 0 or 1 but for length, counts and overlaps.

    `own_words` is how much of it the first line has that is more than a greeting, `repeats` how much any one
    line before it has. Of the lines "Hi", "Can I cancel my plan?" and "Yes, can I cancel my plan!" the last
    one has 0.8 of both: it begins with a yes and says the question again.
    """
    # Cut, and at most 20 earlier lines: a pasted log of a megabyte is no line of a customer.
    line = normalise(lines[at]).strip()[:2000]
    size = line_length(line, language)
    features = [float(bool(pattern.search(line))) for pattern in _patterns(language).values()]
    pairs = _pairs(line)
    earlier = [_pairs(normalise(line_before)[:2000]) for line_before in lines[max(0, at - 20) : at]]
    # "Hi" has nothing that could be quoted.
    asked = next(
        (line_before for line_before in lines[:at] if line_length(line_before, language) > _SHORT[language]),
        lines[0],
    )
    first = _pairs(normalise(asked)[:2000])
    return (
        float(np.log1p(size)),
        float(size <= _SHORT[language]),
        float(size >= _LONG[language]),
        *features,
        float("!" in line),
        float("?" in line),
        # Counts are capped, so that one pasted list does not make the scale of everybody.
        float(min(4, len(re.findall("[、,]", line)))),
        float(min(5, len(re.findall(r"[^。.!?\n]+(?:[。.!?\n]|$)", line)))),
        float(bool(re.search(r"\d", line))),
        _within(pairs, first),
        max((_within(pairs, pairs_before) for pairs_before in earlier), default=0.0),
        float(np.log1p(len(lines))),
    )


def people_of(talks: Iterable[Sequence[str]], language: Language) -> People:
    """The customers of these conversations, each the lines of one in order; empty lines do not count."""
    with_lines = [lines for talk in talks if (lines := [line for line in talk if line.strip()])]
    values = array("d")
    for lines in with_lines:
        for at in range(1, len(lines)):
            values.extend(line_features(lines, at, language))
    rows = np.array(values).reshape(-1, len(FEATURES))
    sizes = np.array([len(lines) - 1 for lines in with_lines], dtype=np.int64)
    # Two shares for people, of what the discriminant has as overlaps.
    named = dict(zip(FEATURES, rows.T, strict=True))
    named["quotes_itself"] = (named["own_words"] >= _QUOTES).astype(float)
    named["repeats_itself"] = (named["repeats"] >= _REPEATS).astype(float)
    figures: dict[str, float] = {}
    if len(rows):
        figures = {"length": round(float(np.expm1(np.median(named["length"]))), 2)}
        figures |= {name: float(named[name].mean()) for name in _SHARES}
    if with_lines:
        greets, closing = _patterns(language)["greets"], [normalise(lines[-1]) for lines in with_lines]
        figures |= {
            "opens_greeting": float(np.mean([bool(greets.search(normalise(k[0]))) for k in with_lines])),
            "turns": median(len(lines) for lines in with_lines),
        }
        for name, word in (("leaves_thanking", "thanks"), ("leaves_upset", "upset")):
            figures[name] = float(np.mean([bool(_patterns(language)[word].search(x)) for x in closing]))
    return People(rows, np.repeat(np.arange(len(with_lines)), sizes), figures)
