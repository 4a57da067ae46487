"""What the bot retrieved, as a list: most often behind a red turn first, under the title it gives itself."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from simulator.diagnosis.recommendations import heading_of
from simulator.reports.html_talks import Talk

# As many stand in the open; the rest is folded.
SHOWN = 10


@dataclass(frozen=True, slots=True)
class Kept:
    """A passage: where links find it, its title (or nothing), and in how many red turns it was."""

    anchor: str
    title: str
    label: str
    text: str
    red: int


def kept(shelf: Mapping[tuple[str, str], str], talks: Sequence[Talk]) -> list[Kept]:
    """The passages of a page, `shelf` being their label and text with their anchor."""
    red = Counter(
        anchor
        for talk in talks
        for turn in talk.turns
        if turn.red
        for anchor in {anchor for _, _, anchor in turn.passages}
    )
    found = [
        Kept(anchor, heading_of(text), label, text, red[anchor]) for (label, text), anchor in shelf.items()
    ]
    return sorted(found, key=lambda each: -each.red)
