r"""Which choice a reply states (the patterns: stated.toml).

    "答えはCです", "The answer is (C).", "\boxed{C}", "C"    -> C
    "24" among 8, 2, 24, 120                            -> C, by the choice's own text
    "答えはA、いや、Bです。答えはBです。"               -> B, the last statement counts
    "A or B", "The answer is a matter of taste."        -> None

A reply is read without its draft (<think>), Markdown and LaTeX. Statements at its end go before earlier ones,
"the answer is" before "is right", and both before a letter on a line of its own. None is no choice found,
which counts as wrong and is counted apart.
"""

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from simulator.core.templates import read_toml
from simulator.text.choices import LETTERS, folded_choice
from simulator.text.typography import nfkc, straight

# Statements stand at the end: of a longer reply only so many characters are looked at, and these many first.
LONGEST = 20_000
NEAR = 300

# What models think aloud before they answer.
_DRAFT = re.compile(r"</?(?:think|thinking|reasoning)>", re.IGNORECASE)
_BOX = "\ue000"  # in place of \boxed{
_BOXED = re.compile(r"\\(?:boxed|fbox)\s{0,3}\{")
_LATEX = re.compile(r"\\(?:text|textbf|textit|mathrm|mathbf|mathit|mathsf)\s{0,3}\{|\\[()\[\]]")
# Braces, emphasis and signs without width, which stand within an answer without a meaning.
_MARKS = str.maketrans("", "", "{}$*`\u200b\u200c\u200d\u200e\u200f\u2060\ufeff")
# HTML around an answer, but for <answer>, which some prompts ask for.
_TAG = re.compile(r"<(?!/?answer)/?[a-z]{1,10}>", re.IGNORECASE)
_HEADING = re.compile(r"^[ ]?#{1,6} ?", re.MULTILINE)
_SPACES = re.compile(r"[^\S\n]{2,}|[^\S\n ]")
_BREAKS = re.compile(r"(?: \n|\n)\s*")

_FILE = Path(__file__).with_name("stated.toml")
_Patterns = Mapping[str, Sequence[re.Pattern[str]]]
# 「答えは東京です」: the choice is 東京.
_COPULA = re.compile(r"(?:です|である|だ|になります)[。.!]?$")
# A word behind a single letter that makes it a word of a sentence: "a matter", "I think"; not "A because".
_ARTICLE = re.compile(
    r" (?!(?:because|since|as|and|for|which|with|due|so|but|the|is|based|given|according)\b)[a-z]",
    re.IGNORECASE,
)


class Stated(NamedTuple):
    """A choice as an answer states it: its letter, and how it was stated.

    `how`: "answer" (said to be the answer), "letter" (nothing else is said), "text" (the choice's own text),
    "weak" (said to be right), "likelihood" (the likeliest, by the endpoint).
    """

    letter: str
    how: str


def stated(answer: str, choices: Sequence[str]) -> Stated | None:
    """The choice that an answer states last; None where it states none, or leaves it open."""
    if not 1 < len(choices) <= len(LETTERS):
        return None
    text = _plain(answer)
    patterns = _patterns(len(choices))
    # A reply that is one letter, whatever stands around it.
    bare = text.strip(f"()[]「」『』【】\"'. 。,、!:{_BOX}")
    if len(bare) == 1 and bare.upper() in LETTERS[: len(choices)]:
        return Stated(bare.upper(), "letter")
    if (place := _text_place(text, choices)) is not None:
        return Stated(LETTERS[place], "text")
    tail = text[-LONGEST:]
    # The last lines first: a reply that weighs A and B ends with its answer.
    last_lines = tail[tail.rfind("\n", 0, max(0, len(tail) - NEAR)) + 1 :]
    for how, part, kinds in (
        ("answer", last_lines, patterns["strong"]),
        ("answer", tail, patterns["strong"]),
        ("weak", tail, patterns["weak"]),
    ):
        letters_said = _statements(part, kinds, patterns)
        letters_said += _said_by_text(part, choices, patterns) if how == "answer" else []
        if letters_said:
            # Of several statements the last one, by where it ends.
            letter = max(letters_said)[1]
            return Stated(letter, how) if letter else None
    return _by_line(text, choices, patterns)


def _plain(answer: str) -> str:
    """The reply without its draft, Markdown, LaTeX and differences of width, in short lines of text."""
    parts, tags = _DRAFT.split(answer), _DRAFT.findall(answer)
    # A reply that breaks off within its draft said only what stands before that.
    said = parts[-1] if not tags or tags[-1].startswith("</") else parts[0]
    text = nfkc(straight(said))
    if "\\" in text:
        text = _LATEX.sub("", _BOXED.sub(_BOX, text))
    text = _TAG.sub("", text.translate(_MARKS).replace("__", ""))
    return _HEADING.sub("", _BREAKS.sub("\n", _SPACES.sub(" ", text))).strip()


def _text_place(text: str, choices: Sequence[str]) -> int | None:
    """The place of the one choice whose text this is; None where two say the same."""
    if len(text) > LONGEST:
        return None
    said = folded_choice(text)
    places = [place for place, choice in enumerate(choices) if said and folded_choice(choice) == said]
    return places[0] if len(places) == 1 else None


def _statements(text: str, kinds: Sequence[re.Pattern[str]], patterns: _Patterns) -> list[tuple[int, str]]:
    """Where a choice is stated, and its letter; an empty one where the statement leaves it open."""
    said = []
    for kind in kinds:
        for match in kind.finditer(text):
            at, letter = match.end("letter"), match["letter"]
            if any(pattern.match(text, at) for pattern in patterns["denied"]) or _is_article(match, text):
                continue
            said.append(
                (at, "" if any(pattern.match(text, at) for pattern in patterns["other"]) else letter.upper())
            )
    return said


def _is_article(match: re.Match[str], text: str) -> bool:
    """Whether the "letter" is a word of a sentence: `the answer is a matter of taste`, `Answer: I think`."""
    letter = match["letter"]
    if letter not in "aAiI" or not _ARTICLE.match(text, match.end("letter")):
        return False
    return letter != "A" or not match.groupdict().get("colon")


def _said_by_text(text: str, choices: Sequence[str], patterns: _Patterns) -> list[tuple[int, str]]:
    """Where the answer is stated by a choice's own text, to the end of the line: `Answer: the Nile`."""
    said = []
    for match in (pattern for kind in patterns["by_text"] for pattern in kind.finditer(text)):
        line = match["line"].strip()
        places = (_text_place(line, choices), _text_place(_COPULA.sub("", line), choices))
        place = next((index for index in places if index is not None), None)
        if place is not None and len(line) > 1:
            said.append((match.end("line"), LETTERS[place]))
    return said


def _by_line(text: str, choices: Sequence[str], patterns: _Patterns) -> Stated | None:
    """The one letter that stands in a line of its own."""
    said = set()
    for line in text[-LONGEST:].splitlines():
        if match := patterns["line"][0].fullmatch(line):
            letter, behind = match["letter"].upper(), match["text"] or match["apart"]
            if not behind or folded_choice(behind) == folded_choice(choices[LETTERS.index(letter)]):
                said.add(letter)
    return Stated(said.pop(), "letter") if len(said) == 1 else None


@lru_cache(maxsize=32)
def _patterns(count: int) -> _Patterns:
    table = read_toml(_FILE)
    last = LETTERS[count - 1]
    pieces = table["pieces"] | {"LETTERS": f"A-{last}a-{last.lower()}", "■": _BOX}

    def compiled(source: str) -> re.Pattern[str]:
        for piece, pattern in pieces.items():  # in their order: letters stand within pieces
            source = source.replace(piece, pattern)
        return re.compile(source, re.IGNORECASE)

    return {name: [*map(compiled, sources)] for name, sources in table.items() if name != "pieces"}
