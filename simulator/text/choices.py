"""The letters of choices, which of them is right, and which is meant by a text, a letter or a number."""

from collections.abc import Sequence

from simulator.core.types import Case
from simulator.text.typography import nfkc, straight

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


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


def folded_choice(text: str) -> str:
    """A text without what makes no difference: width, case, spaces, marks around it."""
    plain = " ".join(nfkc(straight(text)).casefold().split())
    return plain.strip(" 。.、,!「」『』\"'") or plain
