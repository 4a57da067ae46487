"""Articles that say another amount than the right answer: out of date, unless the right answer is."""

from itertools import product
from typing import NamedTuple

from simulator.blame.corpus import article_of
from simulator.blame.look import Look
from simulator.blame.need import references_of
from simulator.core.types import Passage
from simulator.text.evidence import content_units, share, topic_units
from simulator.text.numerals import Quantity, quantities

# From this share (0..1) of the right answer's content on, a passage is about the same matter.
SAME_MATTER = 0.4


class Outdated(NamedTuple):
    """The article, the right amount, and the one it says."""

    article: str
    right: str
    said: str


def outdated(look: Look) -> Outdated | None:
    """The article that misled the bot: it has the wrong amount of the answer, and not the right one."""
    agreement = look.agreement
    if agreement.recall < SAME_MATTER:
        return None
    instead = [
        (right, said) for right in agreement.numbers for said in agreement.instead if _alike(right, said)
    ]
    gold = {article_of(each) for each in look.case.passages}
    for passage, (right, said) in product(look.turn.answer.passages, instead):
        found = quantities(passage.text)
        if said not in found or right in found or not _is_of_the_matter(passage, look):
            continue
        article = article_of(passage.id)
        if article in gold if gold else look.need.place != "not_retrieved":
            return Outdated(article, right.shown(look.language), said.shown(look.language))
    return None


def _alike(right: Quantity, said: Quantity) -> bool:
    """Whether one can stand in the place of the other."""
    return bool(right.unit) and (right.kind, right.unit) == (said.kind, said.unit)


def _is_of_the_matter(passage: Passage, look: Look) -> bool:
    units = content_units(passage.text)
    return any(share(topic_units(each), units) >= SAME_MATTER for each in references_of(look.exhibit))
