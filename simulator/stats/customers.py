"""How the simulated customers were played: whether they ask, pursue their goal, leave in time, and differ.

Whether personas differ is measured by a naive Bayes classifier over characters, which guesses them.
"""

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache, reduce
from statistics import quantiles

from simulator.core.types import SUPERSEDED, Conversation, Ended, Language, Persona, Results
from simulator.stats.figures import CustomerFigure, CustomerSummary, Handling, LineLengths, turn_failure
from simulator.storage.results import select_conversations
from simulator.text.evidence import coverage
from simulator.text.segments import normalise
from simulator.users.faults import CustomerFault, customer_faults, fault_patterns
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
# A reader who knows the personas should tell them at least this often.
GOAL = 0.8
_VARIABLE = re.compile(r"\$\{?[a-z]+\}?")
_ENDS = "。．.？?！!、, 　"
# A quoted question is cut somewhere: as much of its beginning tells it.
_BEGINNING = 12
EVERYONE = "all"
# The persona whose thanks are out of place as long as nothing is solved.
ANGRY = "angry"
_UNSOLVED = (Ended.GAVE_UP, Ended.TURN_LIMIT)
_DECIDED = (Ended.SATISFIED, Ended.GAVE_UP, Ended.HANDED_OVER, Ended.TURN_LIMIT)


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


def persona_guesses(conversations: Sequence[Conversation], personas: Sequence[Persona]) -> CustomerFigure:
    """The share of conversations whose persona is guessed from the customer's lines after the first.

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
    return CustomerFigure(value=sum(hits) / len(hits) if hits else None, n=sum(hits), of=len(hits), goal=GOAL)


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


def summarise_customers(
    results: Results, handling: Handling = "keep", faults: Sequence[CustomerFault] | None = None
) -> CustomerSummary:
    """How the customers of a run were played; `handling` is what is done with the turns that they spoilt."""
    scores = ScoresByTurn(results.scores.of_judge("turn"))
    found = customer_faults(results) if faults is None else faults
    spoilt = dict.fromkeys((f.conversation, f.turn) for f in found if f.spoils)
    # A bot that says nothing has failed, whatever it was asked.
    answered = {
        (c.id, turn.index)
        for _, c in select_conversations(results, {conversation for conversation, _ in spoilt})
        for turn in c.turns
        if not turn_failure(turn)
    }
    superseded = results.notes.get(SUPERSEDED)
    return CustomerSummary(
        faults=dict(Counter(fault.kind for fault in found)),
        spoilt=tuple(turn for turn in spoilt if turn in answered),
        handling=handling,
        superseded=tuple(superseded) if isinstance(superseded, dict) else (),
        figures=figures(results, found, scores),
        lengths=line_lengths(results.conversations),
    )


def figures(
    results: Results, faults: Sequence[CustomerFault], scores: ScoresByTurn
) -> dict[str, CustomerFigure]:
    """The figures by name; a figure that cannot be measured has no value.

    Conversations whose messages come from a script or an earlier run are left out: nobody played them.
    """
    played = [
        conversation
        for conversation in results.conversations
        if not is_scripted(conversation, results.run.settings)
    ]
    return {
        "questions": question_share(played),
        "goal_coverage": goal_coverage(played),
        "early": early_leaving(played, scores),
        "prompt": prompt_leaving(played, scores),
        "invented": _of_turns("invented", played, faults, 0.02),
        "thanks": angry_thanks(played, scores),
        "persona": persona_guesses(played, results.personas),
        "repeated": _of_turns("repeated", played, faults, None),
        "openings": opening_variety(played),
    }


def customer_messages(conversation: Conversation) -> list[str]:
    """The customer's messages, from the first to the closing one."""
    return [
        *(turn.meant for turn in conversation.turns),
        *([conversation.closing] if conversation.closing else []),
    ]


def line_lengths(conversations: Iterable[Conversation]) -> dict[str, dict[str, LineLengths]]:
    """How long the customers' messages are, by language and persona, without quoted questions."""
    found: dict[str, dict[str, list[int]]] = {}
    for conversation in conversations:
        language = conversation.case.language
        sizes = [
            line_length(turn.meant, language)
            for turn in conversation.turns
            if turn.meant != conversation.case.question
        ]
        for group in (EVERYONE, conversation.persona):
            found.setdefault(language, {}).setdefault(group, []).extend(sizes)
    return {
        language: {group: length_quartiles(sizes) for group, sizes in groups.items() if sizes}
        for language, groups in found.items()
    }


def line_length(line: str, language: Language) -> int:
    """Characters in Japanese, words in English."""
    return len(line.strip()) if language == "ja" else len(line.split())


def length_quartiles(sizes: Sequence[int]) -> LineLengths:
    """Median and quartiles of at least one length."""
    if len(sizes) == 1:
        return LineLengths(low=sizes[0], median=sizes[0], high=sizes[0], n=1)
    low, middle, high = quantiles(sizes, n=4, method="inclusive")
    return LineLengths(low=low, median=middle, high=high, n=len(sizes))


def question_share(conversations: Iterable[Conversation]) -> CustomerFigure:
    """The share of the customers' lines after the first that ask something."""
    asked = [fault_patterns(t.case.language).asks(turn.meant) for t in conversations for turn in t.turns[1:]]
    return _share(asked)


def goal_coverage(conversations: Iterable[Conversation]) -> CustomerFigure:
    """The mean share (0..1) of the goal's content that the customer's lines raise by the end."""
    found = [coverage(t.case.goal, customer_messages(t)) for t in conversations if t.case.goal and t.turns]
    return CustomerFigure(value=sum(found) / len(found) if found else None, n=None, of=len(found))


def early_leaving(conversations: Iterable[Conversation], scores: ScoresByTurn) -> CustomerFigure:
    """The share of refusals and missing answers after which the customer left satisfied."""
    found = [
        turn.index == len(conversation.turns) and left_early(conversation, scores)
        for conversation in conversations
        if conversation.ended in _DECIDED
        for turn in conversation.turns
        if gives_nothing(turn, conversation.case)
    ]
    return _share(found, 0.05, at_most=True)


def prompt_leaving(conversations: Iterable[Conversation], scores: ScoresByTurn) -> CustomerFigure:
    """The share of conversations with a complete answer that the customer left within a turn of it."""
    late = (left_late(conversation, scores) for conversation in conversations)
    return _share([not each for each in late if each is not None], 0.9)


def angry_thanks(
    conversations: Iterable[Conversation], scores: ScoresByTurn, persona: str = ANGRY
) -> CustomerFigure:
    """The share of an angry customer's messages that thank the bot before anything is answered."""
    own = [conversation for conversation in conversations if conversation.persona == persona]
    lines = [(conversation, line) for conversation in own for line in _unresolved(conversation, scores)]
    return _share(
        [fault_patterns(conversation.case.language).thanks(line) for conversation, line in lines],
        0.05,
        at_most=True,
    )


def opening_variety(conversations: Iterable[Conversation]) -> CustomerFigure:
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
    return CustomerFigure(value=distinct / every if every else None, n=distinct, of=every)


def _unresolved(conversation: Conversation, scores: ScoresByTurn) -> Iterator[str]:
    """What the customer said between the first line and the first complete answer."""
    done = answered_by(conversation, scores)
    yield from (turn.meant for turn in conversation.turns[1:] if done is None or turn.index <= done)
    if conversation.closing and (conversation.ended in _UNSOLVED or left_early(conversation, scores)):
        yield conversation.closing


def _of_turns(
    kind: str, conversations: Sequence[Conversation], faults: Iterable[CustomerFault], goal: float | None
) -> CustomerFigure:
    """The share of turns with a fault of this kind."""
    played = {conversation.id for conversation in conversations}
    n = len({(f.conversation, f.turn) for f in faults if f.kind == kind and f.conversation in played})
    every = sum(len(conversation.turns) for conversation in conversations)
    return CustomerFigure(value=n / every if every else None, n=n, of=every, goal=goal, at_most=True)


def _share(hits: Sequence[bool], goal: float | None = None, *, at_most: bool = False) -> CustomerFigure:
    value = sum(hits) / len(hits) if hits else None
    return CustomerFigure(value=value, n=sum(hits), of=len(hits), goal=goal, at_most=at_most)
