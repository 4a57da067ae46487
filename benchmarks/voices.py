"""Whether personas are told apart by their lines alone: a classifier over characters guesses them."""

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache, reduce

from simulator.core.types import Conversation, Persona
from simulator.lab.likeness.lines import customer_messages
from simulator.text.segments import normalise

SIZES = (1, 2, 3)
# How much a label's own texts count, beside those of all labels.
OWN = 0.5
# A reader who knows the personas should tell them at least this often.
GOAL = 0.8
_VARIABLE = re.compile(r"\$\{?[a-z]+\}?")
_ENDS = "。．.？?！!、, 　"
# A quoted question is cut somewhere: as much of its beginning tells it.
_BEGINNING = 12


@lru_cache(maxsize=4096)
def grams(text: str, sizes: tuple[int, ...] = SIZES) -> tuple[str, ...]:
    """The runs of characters of a text, case and spacing aside."""
    plain = f" {' '.join(normalise(text).lower().split())} "
    return tuple(plain[at : at + size] for size in sizes for at in range(len(plain) - size + 1))


class NaiveBayes:
    """Learns which runs of characters each label's texts are made of; every label is as likely as another.

    What a label has never seen is as likely as in all texts together (Jelinek and Mercer, 1980), so that a
    label with few texts is neither preferred nor passed over.
    """

    def __init__(self, texts: Mapping[str, Iterable[str]], sizes: tuple[int, ...] = SIZES) -> None:
        """`texts` by label."""
        self.sizes = sizes
        self._counts = {
            label: Counter(gram for text in found for gram in grams(text, sizes))
            for label, found in texts.items()
        }
        self._totals = {label: counts.total() for label, counts in self._counts.items()}
        self._all = sum(self._counts.values(), Counter[str]())
        self._whole = self._all.total() + len(self._all) + 1

    def scores(self, text: str, without: Sequence[str] = (), own: str = "") -> dict[str, float]:
        """The log-likelihood of a text under each label, per run of characters.

        `without` are texts of the label `own` that are left out of what it has learned.
        """
        text_grams = grams(text, self.sizes)
        forgotten = Counter(gram for each in without for gram in grams(each, self.sizes))
        found = {}
        for label, counts in self._counts.items():
            left_out = forgotten if label == own else Counter[str]()
            total = self._totals[label] - left_out.total()
            share, common = OWN / total if total > 0 else 0.0, (1 - OWN) / self._whole
            likelihoods = (
                math.log(share * (counts[gram] - left_out[gram]) + common * (self._all[gram] + 1))
                for gram in text_grams
            )
            found[label] = math.fsum(likelihoods) / max(1, len(text_grams))
        return found

    def guess(self, text: str, without: Sequence[str] = (), own: str = "") -> str:
        """The most likely label."""
        scores = self.scores(text, without, own)
        return max(scores, key=scores.__getitem__)


def persona_guesses(conversations: Sequence[Conversation], personas: Sequence[Persona]) -> tuple[int, int]:
    """How many personas are guessed from the customer's lines after the first, of how many conversations.

    The guess knows the personas' phrases and what their customers said in other conversations, but no line
    that was said in this one, and nothing of question and facts, which are the same whoever asks.
    """
    hits: list[bool] = []
    for language in ("ja", "en"):
        lines = {
            conversation.id: tuple(dict.fromkeys(found))
            for conversation in conversations
            if conversation.case.language == language and (found := _lines(conversation))
        }
        who = {c.id: c.persona for c in conversations if c.id in lines}
        if len(set(who.values())) < 2:
            continue
        known: dict[str, dict[str, None]] = {persona: {} for persona in who.values()}
        for persona in personas:
            if persona.id in known:
                phrases = (each for group in persona.speaks(language).phrases.values() for each in group)
                known[persona.id] |= dict.fromkeys(_VARIABLE.sub("", phrase) for phrase in phrases)
        for key, own in lines.items():
            known[who[key]] |= dict.fromkeys(own)
        model = NaiveBayes(known)
        hits += [model.guess("\n".join(own), own, who[key]) == who[key] for key, own in lines.items()]
    return sum(hits), len(hits)


def _lines(conversation: Conversation) -> tuple[str, ...]:
    """What the customer said after the first line, without the question and the facts that it takes up."""
    taken = (conversation.case.question, *conversation.case.facts.knows)
    return tuple(reduce(_without, taken, line) for line in customer_messages(conversation)[1:])


@lru_cache(maxsize=4096)
def _without(line: str, question: str) -> str:
    """The line without a question or a fact that it quotes, whole or cut."""
    bare = question.strip().rstrip(_ENDS)
    for cut in (question.strip(), bare):
        if cut and cut in line:
            return line.replace(cut, "")
    at = line.find(bare[:_BEGINNING]) if len(bare) > _BEGINNING else -1
    if at < 0:
        return line
    end = at
    while end < len(line) and end - at < len(bare) and line[end] == bare[end - at]:
        end += 1
    return line[:at] + line[end:].removeprefix("…")
