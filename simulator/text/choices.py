"""The letters of choices, which of them is right, and which is meant by a text, a letter or a number."""

import re
from collections.abc import Sequence

from simulator.core.types import Case
from simulator.text.typography import nfkc, straight

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
# A choice behind its letter: "A) red", "(B) blue", 「Ｃ．海」.
_LETTERED = re.compile(r"\s*[(\[]?(?P<letter>[A-Z])[)\].:、]\s*(?P<text>\S.*)", re.DOTALL)


def letters(count: int) -> str:
    """The letters of so many choices: `ABCD` of four."""
    return LETTERS[:count]


def right_letter(case: Case) -> str | None:
    """The letter of the right choice; None where the case has no choices, or does not say which is right."""
    if case.label is None or not 1 < len(case.choices) <= len(LETTERS):
        return None
    place = place_of(case.label, case.choices)
    return None if place is None else LETTERS[place]


def place_of(given: str, choices: Sequence[str]) -> int | None:
    """The place (from 0) of the choice that is meant by its text, letter or number (from 0); or None.

    The text goes first: among the choices B, A, O, "B" is the first one.
    """
    by_text = place_of_text(given, choices)
    if by_text is not None:
        return by_text
    if lettered := _LETTERED.fullmatch(nfkc(given)):
        place = LETTERS.index(lettered["letter"])
        return place if place_of_text(lettered["text"], choices) == place else None
    marked = folded_choice(given).strip("()[]{}.: ")
    is_number = marked.isascii() and marked.isdecimal() and len(marked) < 3
    place = int(marked) if is_number else LETTERS.find(marked.upper() or "-")
    return place if 0 <= place < len(choices) else None


def place_of_text(given: str, choices: Sequence[str]) -> int | None:
    """The place (from 0) of the first choice with this text, exactly or but for what makes no difference."""
    if given in choices:
        return list(choices).index(given)
    wanted = folded_choice(given)
    return next((place for place, choice in enumerate(choices) if folded_choice(choice) == wanted), None)


def without_letters(choices: Sequence[str]) -> tuple[str, ...]:
    """The choices without their letters, where each begins with its own: "A) 21", "B) 22" -> 21, 22."""
    lettered = [_LETTERED.fullmatch(nfkc(choice)) for choice in choices]
    if len(choices) < 2 or [match and match["letter"] for match in lettered] != [*letters(len(choices))]:
        return tuple(choices)
    return tuple(match["text"] for match in lettered if match)


def folded_choice(text: str) -> str:
    """A text without what makes no difference: width, case, spaces, marks around it."""
    plain = " ".join(nfkc(straight(text)).casefold().split())
    return plain.strip(" 。.、,!「」『』\"'") or plain
