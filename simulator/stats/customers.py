"""Telling texts apart by their characters: multinomial naive Bayes, as offline readers do without a model."""

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache, reduce
from statistics import quantiles

from simulator.core.types import SUPERSEDED, Conversation, Ended, Language, Persona, Results
from simulator.stats.figures import Customers, Figure, Lengths
from simulator.stats.summary import turn_failure
from simulator.text.evidence import coverage
from simulator.text.segments import normalise
from simulator.users.faults import CustomerFault, customer_faults, lines_of
from simulator.users.leaving import (
    ScoresByTurn,
    answered_by,
    gives_nothing,
    is_scripted,
    left_early,
    left_late,
)

SIZES = (1, 2, 3)
# How much a label's own texts count, beside those of all labels.
OWN = 0.5


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

        `without` are texts of the label `own` that are to be forgotten for this once.
        """
        asked = grams(text, self.sizes)
        forgotten = Counter(gram for each in without for gram in grams(each, self.sizes))
        return {
            label: self._likelihood(asked, label, forgotten if label == own else _NOTHING)
            for label in self._counts
        }

    def guess(self, text: str, without: Sequence[str] = (), own: str = "") -> str:
        """The most likely label."""
        scores = self.scores(text, without, own)
        return max(scores, key=scores.__getitem__)

    def _likelihood(self, asked: Sequence[str], label: str, forgotten: Counter[str]) -> float:
        counts, total = self._counts[label], self._totals[label] - forgotten.total()
        own = OWN / total if total > 0 else 0.0
        anyone = (1 - OWN) / self._whole
        found = (
            math.log(own * (counts[gram] - forgotten[gram]) + anyone * (self._all[gram] + 1))
            for gram in asked
        )
        return math.fsum(found) / max(1, len(asked))


_NOTHING: Counter[str] = Counter()


# A reader who knows the personas should tell them at least this often.
GOAL = 0.8
_VARIABLE = re.compile(r"\$\{?[a-z]+\}?")
_ENDS = "。．.？?！!、, 　"
# A quoted question is cut somewhere: as much of its beginning tells it.
_BEGINNING = 12


def guessed(conversations: Sequence[Conversation], personas: Sequence[Persona]) -> Figure:
    """The share of conversations whose persona is guessed from the customer's lines after the first.

    The guess knows the personas' phrases and what their customers said in other conversations, but no line
    that was said in this one, and nothing of question and facts, which are the same whoever asks.
    """
    hits: list[bool] = []
    for language in ("ja", "en"):
        mine = [
            conversation
            for conversation in conversations
            if conversation.case.language == language and _lines(conversation)
        ]
        if len({conversation.persona for conversation in mine}) > 1:
            hits += _hits(mine, personas, language)
    return Figure(value=sum(hits) / len(hits) if hits else None, n=sum(hits), of=len(hits), goal=GOAL)


def _hits(
    conversations: Sequence[Conversation], personas: Sequence[Persona], language: Language
) -> list[bool]:
    """Whether each conversation's persona is guessed."""
    known: dict[str, dict[str, None]] = {conversation.persona: {} for conversation in conversations}
    for persona in personas:
        if persona.id in known:
            known[persona.id] |= dict.fromkeys(_phrases(persona, language))
    for conversation in conversations:
        known[conversation.persona] |= dict.fromkeys(_lines(conversation))
    model = NaiveBayes(known)
    return [
        model.guess(
            "\n".join(own),
            [line for line in own if line in known[conversation.persona]],
            conversation.persona,
        )
        == conversation.persona
        for conversation in conversations
        if (own := list(dict.fromkeys(_lines(conversation))))
    ]


def _phrases(persona: Persona, language: Language) -> list[str]:
    """The persona's phrases without what is filled in."""
    found = (phrase for lines in persona.speaks(language).phrases.values() for phrase in lines)
    return [_VARIABLE.sub("", phrase) for phrase in found]


def _lines(conversation: Conversation) -> tuple[str, ...]:
    """What the customer said after the first line, without the question and the facts that it takes up."""
    said = [
        *(turn.meant for turn in conversation.turns[1:]),
        *([conversation.closing] if conversation.closing else []),
    ]
    taken = (conversation.case.question, *conversation.case.facts.knows)
    return tuple(reduce(_without, taken, line) for line in said)


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


EVERYONE = "all"
# The persona whose thanks are out of place as long as nothing is solved.
ANGRY = "angry"


def customers(
    results: Results, handling: str = "keep", faults: Sequence[CustomerFault] | None = None
) -> Customers:
    """All that reports show of how the customers were played."""
    scores = ScoresByTurn(results.scores)
    found = customer_faults(results, scores) if faults is None else faults
    # A bot that says nothing has failed whatever it was asked.
    heard = {(c.id, turn.index) for c in results.conversations for turn in c.turns if not turn_failure(turn)}
    spoilt = dict.fromkeys((f.conversation, f.turn) for f in found if f.spoils)
    kinds = [fault.kind for fault in found]
    return Customers.model_validate(
        {
            "faults": {kind: kinds.count(kind) for kind in dict.fromkeys(kinds)},
            "spoilt": tuple(turn for turn in spoilt if turn in heard),
            "handling": handling,
            "superseded": tuple(_superseded(results)),
            "figures": figures(results, found, scores),
            "lengths": lengths(results.conversations),
        }
    )


def _superseded(results: Results) -> dict[str, object]:
    """The conversations that others stand in for, as the run noted it."""
    noted = results.notes.get(SUPERSEDED)
    return noted if isinstance(noted, dict) else {}  # type: ignore[return-value]


def figures(results: Results, faults: Sequence[CustomerFault], scores: ScoresByTurn) -> dict[str, Figure]:
    """The figures by name; those that nothing can be said of have no value.

    Lines that were given beforehand, by a script or an earlier run, are nobody's play and left out.
    """
    played = [
        conversation
        for conversation in results.conversations
        if not is_scripted(conversation, results.run.settings)
    ]
    return {
        "questions": questions(played),
        "goal_coverage": goal_coverage(played),
        "early": early(played, scores),
        "prompt": prompt(played, scores),
        "invented": _of_turns("invented", played, faults, 0.02),
        "thanks": thanks(played, scores),
        "persona": guessed(played, results.personas),
        "repeated": _of_turns("repeated", played, faults, None),
        "openings": openings(played),
    }


def said(conversation: Conversation) -> list[str]:
    """What the customer said, from the first line to the last."""
    return [
        *(turn.meant for turn in conversation.turns),
        *([conversation.closing] if conversation.closing else []),
    ]


def lengths(conversations: Iterable[Conversation]) -> dict[str, dict[str, Lengths]]:
    """How long the customers' lines are, by language and persona; first lines are the case's, not theirs."""
    found: dict[str, dict[str, list[int]]] = {}
    for conversation in conversations:
        language = conversation.case.language
        sizes = [
            length(turn.meant, language)
            for turn in conversation.turns
            if turn.meant != conversation.case.question
        ]
        for group in (EVERYONE, conversation.persona):
            found.setdefault(language, {}).setdefault(group, []).extend(sizes)
    return {
        language: {group: spread(sizes) for group, sizes in groups.items() if sizes}
        for language, groups in found.items()
    }


def length(line: str, language: Language) -> int:
    """Characters in Japanese, words in English."""
    return len(line.strip()) if language == "ja" else len(line.split())


def spread(sizes: Sequence[int]) -> Lengths:
    """Median and quartiles of at least one length."""
    if len(sizes) == 1:
        return Lengths(low=sizes[0], median=sizes[0], high=sizes[0], n=1)
    low, middle, high = quantiles(sizes, n=4, method="inclusive")
    return Lengths(low=low, median=middle, high=high, n=len(sizes))


def questions(conversations: Iterable[Conversation]) -> Figure:
    """The share of the customers' lines after the first that ask something."""
    asked = [lines_of(t.case.language).asks(turn.meant) for t in conversations for turn in t.turns[1:]]
    return _share(asked)


def goal_coverage(conversations: Iterable[Conversation]) -> Figure:
    """The mean share (0..1) of the goal's content that the customer's lines raise by the end."""
    found = [coverage(t.case.goal, said(t)) for t in conversations if t.case.goal and t.turns]
    return Figure(value=sum(found) / len(found) if found else None, n=None, of=len(found))


def early(conversations: Iterable[Conversation], scores: ScoresByTurn) -> Figure:
    """The share of refusals and missing answers after which the customer left satisfied all the same."""
    found = [
        turn.index == len(conversation.turns) and left_early(conversation, scores)
        for conversation in conversations
        if conversation.ended in _DECIDED
        for turn in conversation.turns
        if gives_nothing(turn, conversation.case)
    ]
    return _share(found, 0.05, at_most=True)


def prompt(conversations: Iterable[Conversation], scores: ScoresByTurn) -> Figure:
    """The share of conversations with a complete answer that the customer left within a turn of it."""
    late = (left_late(conversation, scores) for conversation in conversations)
    return _share([not each for each in late if each is not None], 0.9)


def thanks(conversations: Iterable[Conversation], scores: ScoresByTurn, persona: str = ANGRY) -> Figure:
    """The share of an angry customer's lines, while nothing is answered yet, that thank."""
    mine = [conversation for conversation in conversations if conversation.persona == persona]
    lines = [(conversation, line) for conversation in mine for line in _unresolved(conversation, scores)]
    return _share(
        [lines_of(conversation.case.language).thanks(line) for conversation, line in lines],
        0.05,
        at_most=True,
    )


def openings(conversations: Iterable[Conversation]) -> Figure:
    """The share of different first lines among customers with the same question, where these were voiced."""
    found: dict[str, list[str]] = {}
    for conversation in conversations:
        if conversation.turns:
            found.setdefault(conversation.case.id, []).append(conversation.turns[0].meant)
    asked = {conversation.case.id: conversation.case.question for conversation in conversations}
    voiced = [
        lines
        for case, lines in found.items()
        if len(lines) > 1 and any(line != asked[case] for line in lines)
    ]
    distinct, every = sum(len(set(lines)) for lines in voiced), sum(map(len, voiced))
    return Figure(value=distinct / every if every else None, n=distinct, of=every)


_UNSOLVED = (Ended.GAVE_UP, Ended.TURN_LIMIT)
_DECIDED = (Ended.SATISFIED, Ended.GAVE_UP, Ended.HANDED_OVER, Ended.TURN_LIMIT)


def _unresolved(conversation: Conversation, scores: ScoresByTurn) -> Iterator[str]:
    """What the customer said between the first line and the first complete answer."""
    done = answered_by(conversation, scores)
    yield from (turn.meant for turn in conversation.turns[1:] if done is None or turn.index <= done)
    if conversation.closing and (conversation.ended in _UNSOLVED or left_early(conversation, scores)):
        yield conversation.closing


def _of_turns(
    kind: str, conversations: Sequence[Conversation], faults: Iterable[CustomerFault], goal: float | None
) -> Figure:
    """The share of turns with a fault of this kind."""
    played = {conversation.id for conversation in conversations}
    n = len({(f.conversation, f.turn) for f in faults if f.kind == kind and f.conversation in played})
    every = sum(len(conversation.turns) for conversation in conversations)
    return Figure(value=n / every if every else None, n=n, of=every, goal=goal, at_most=True)


def _share(found: Sequence[bool], goal: float | None = None, *, at_most: bool = False) -> Figure:
    value = sum(found) / len(found) if found else None
    return Figure(value=value, n=sum(found), of=len(found), goal=goal, at_most=at_most)
