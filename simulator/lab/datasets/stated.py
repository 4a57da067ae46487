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
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from simulator.core.templates import read_toml
from simulator.text.choices import LETTERS, folded_choice
from simulator.text.numerals import number_text
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
# HTML around an answer, but for <answer>, which some prompts ask for, and <B>, which is a letter in brackets.
_TAG = re.compile(r"<(?!/?answer|(?-i:[A-Z])>)/?[a-z]{1,10}>", re.IGNORECASE)
_HEADING = re.compile(r"^[ ]?#{1,6} ?", re.MULTILINE)
_SPACES = re.compile(r"[^\S\n]{2,}|[^\S\n ]")
_BREAKS = re.compile(r"(?: \n|\n)\s*")

_FILE = Path(__file__).with_name("stated.toml")
_Patterns = Mapping[str, Sequence[re.Pattern[str]]]
# Where a choice's own text may end: 「東京です」, "Paris. It is", "Paris, because"; not "Paris, Rome".
_ENDS = re.compile(
    r"[.;:](?=\s|$)|[。!<]|,? (?=(?:because|since|as|which|so|not)\b)| ?\(|」|だ(?!け)|です(?!か)"
    r"|である(?!と)|でしょう|[にと]な[りる]|と(?:思|考)"
)
_MOST_ENDS = 8
# Behind a number that counts the items of a list: "1. First we ..."
_ITEM = re.compile(r"[.):] \S")
_COMMA = re.compile(r"[,、]")
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
    text, texts = _plain(answer), [_folded(_plain(choice)) for choice in choices]
    patterns = _patterns(len(choices))
    # A reply that is one letter, whatever stands around it.
    bare = text.strip(f"()[]「」『』【】\"'. 。,、!:{_BOX}")
    if len(bare) == 1 and bare.upper() in LETTERS[: len(choices)]:
        return Stated(bare.upper(), "letter")
    if len(text) <= LONGEST and (place := _text_place(text, texts)) is not None:
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
        letters_said += _said_by_text(part, texts, patterns) if how == "answer" else []
        if letters_said:
            # Of several statements the last one, by where it ends.
            letter = max(letters_said)[1]
            return Stated(letter, how) if letter else None
    return _by_line(text, texts, patterns)


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


def _folded(text: str) -> str:
    """A plain text as choices are compared: 24.0 and 24 are one number."""
    folded = folded_choice(text)
    return number_text(folded) or folded


def _text_place(text: str, texts: Sequence[str]) -> int | None:
    """The place of the one choice whose text this is; None where two say the same."""
    said = _folded(text)
    return texts.index(said) if said and texts.count(said) == 1 else None


def _begun_place(line: str, texts: Sequence[str]) -> int | None:
    """The place of the choice whose text a line is, or begins with: `Paris, because ...`, 「東京です。」."""
    ends = [match.start() for match in islice(_ENDS.finditer(line), _MOST_ENDS)]
    places = (_text_place(line[:end], texts) for end in (len(line), *reversed(ends)))
    return next((place for place in places if place is not None), None)


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


def _said_by_text(text: str, texts: Sequence[str], patterns: _Patterns) -> list[tuple[int, str]]:
    """Where the answer is stated by a choice's own text: `Answer: the Nile`; a letter is none."""
    said = []
    for match in (pattern for kind in patterns["by_text"] for pattern in kind.finditer(text)):
        place = _begun_place(match["line"].strip(), texts)
        if place is not None and (len(texts[place]) > 1 or texts[place].isdecimal()):
            said.append((match.end("line"), LETTERS[place]))
    return said


def _by_line(text: str, texts: Sequence[str], patterns: _Patterns) -> Stated | None:
    """The one letter that stands in a line of its own; else the choice that the first or last line names."""
    said, lines = set(), text[-LONGEST:].splitlines() or [""]
    for match in (match for line in lines for kind in patterns["line"] if (match := kind.fullmatch(line))):
        letter, behind = match["letter"].upper(), _folded((match["text"] or "").strip("()- "))
        if not behind or behind == texts[LETTERS.index(letter)]:
            said.add(letter)
    if len(said) == 1:
        return Stated(said.pop(), "letter")
    places = {_opening_place(line, texts, patterns) for line in (lines[0], lines[-1])} - {None}
    return Stated(LETTERS[places.pop() or 0], "text") if not said and len(places) == 1 else None


def _opening_place(line: str, texts: Sequence[str], patterns: _Patterns) -> int | None:
    """The place of the choice that a line begins with, if it mentions no other: `Yes, it is`, `B. Paris is`.

    Behind a letter and the choice's own text nothing may deny it.
    """
    mark = patterns["mark"][0].match(line)
    begun = line[mark.end() :] if mark else line
    place = LETTERS.index(mark["letter"].upper()) if mark else _begun_place(_COMMA.split(line)[0], texts)
    own, folded = "" if place is None else texts[place], folded_choice(begun)
    behind = folded[len(own) :]
    denied = mark and patterns["denial"][0].search(behind)
    other = any(name in behind for name in texts if name) or (own.isdecimal() and _ITEM.match(behind))
    return place if own and folded.startswith(own) and not other and not denied else None


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
