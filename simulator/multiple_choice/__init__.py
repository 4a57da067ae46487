"""Multiple choice: which letter is right, and which one an answer states."""

from simulator.multiple_choice.letters import LETTERS, letters, place_of, place_of_text, right_letter
from simulator.multiple_choice.reading import Stated, stated

__all__ = ["LETTERS", "Stated", "letters", "place_of", "place_of_text", "right_letter", "stated"]
