"""Turns in which the simulated customer, not the bot, was at fault, and which are held again for it.

A doubtful case is no fault: falsely accusing the customer would hide a fault of the bot.

The guard looks at a line before the bot reads it, and knows only that line and what was said before. Here a
whole conversation is looked at afterwards, with its grades: what the customer made up, whether they asked
about something else, and whether they left when it was time.

    invented     states a code, figure or name that nothing they know holds      A-12345 of no order
    off_goal     asks about something that was never mentioned
    repeated     says the same line again
    broke_role   speaks as the desk, thinks aloud, in another language ...
    left_early   leaves content with a refusal
    left_late    stays more than a turn after everything was answered
    impatient    gives up before the persona's patience is over

The first four spoil the grade of their turn: with --customer-faults exclude it is left out, with replay the
conversation is held once more with another seed, and the clean attempt counts. Nobody is at fault whose lines
were fixed: scripts, replays, logs.

What follows from known figures is no invention: with 月額980円 told, 年額11,760円 is known, because people
multiply by twelve; but no date follows from two others.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from decimal import Decimal
from functools import cache, lru_cache
from itertools import chain, combinations, takewhile
from pathlib import Path
from string import Template
from typing import Any, Literal, NamedTuple, get_args

from simulator.core.templates import read_toml
from simulator.core.types import (
    COMPLETE,
    OPEN,
    TURN,
    Conversation,
    Ended,
    Language,
    Persona,
    Response,
    Results,
    Score,
    Turn,
    Value,
)
from simulator.storage.results import cache_latest, conversations_with_scores
from simulator.text.figures import Figure, differing, figures
from simulator.text.overlap import content, coverage
from simulator.text.segments import normalise, sentences
from simulator.text.typography import codes, straight, straight_pattern
from simulator.users.guard import guard_of
from simulator.users.rules import FEW, lets_through, says_again

# When a customer had their answer, and whether they left in time; from stored turns and grades.

# The turn judge's grades (1..5) from which on nothing is left out, and nothing is wrong.
FULL, CORRECT = 5, 4
# An answer with this value (0..1) was of use, whatever the customer thought.
USEFUL = 0.8
# After a complete answer one more turn is thanks or a last doubt.
TOLERATED = 1
# Who was cut off did not decide to stay or to leave.
_CUT_OFF = (None, Ended.RAG_FAILED, Ended.USER_FAILED, *OPEN)


class TurnVerdict(NamedTuple):
    """What a model said of a turn as a whole."""

    is_complete: bool | None
    is_useful: bool


class VerdictsByTurn(dict[tuple[str, int], TurnVerdict]):
    """What the turn judge's model said of each turn; `answered` caches `answered_by` of each conversation.

    `responses` are what the answers do, which a stand-in says, too.
    """

    def __init__(self, scores: Iterable[Score] = ()) -> None:
        """Takes from scores what is asked of them; a stand-in cannot tell whether anything was left out."""
        super().__init__()
        self.answered: dict[str, int | None] = {}
        self.responses: dict[tuple[str, int], Response] = {}
        for s in scores:
            if s.response is not None:
                self.responses[s.conversation, s.turn] = s.response
            # A stand-in counts words, and cannot tell that something was left out.
            by_model = s.state == "scored" and not s.by_rule and not s.rubric.startswith("lexical-")
            if by_model and s.judge == TURN:
                self[s.conversation, s.turn] = TurnVerdict(_is_complete(s), (s.value or 0) >= USEFUL)


def is_scripted(conversation: Conversation, settings: Mapping[str, object]) -> bool:
    """Whether the customer's lines were fixed beforehand, so that nobody is at fault for them."""
    script = conversation.case.script or settings.get("script") or settings.get("replay")
    return bool(script) or settings.get("adapter") == "recorded"


def gives_nothing(turn: Turn, response: Response | None) -> bool:
    """Whether the desk gave nothing: a failure, a refusal or noise. Handing over to a person is something.

    By what the turn judge says that the answer does; where it says nothing, only a missing answer is nothing.
    """
    missing = turn.answer.error is not None or not turn.answer.text.strip()
    return missing or response in ("declined", "nothing")


def answered_by(conversation: Conversation, verdicts: VerdictsByTurn) -> int | None:
    """When everything was answered, as the turn judge's model says: the turn.

    None if it never was, as with complaints, which only a person settles, and unanswerable questions; a
    stand-in cannot tell.
    """
    if conversation.id not in verdicts.answered:
        verdicts.answered[conversation.id] = _answered_by(conversation, verdicts)
    return verdicts.answered[conversation.id]


def _answered_by(conversation: Conversation, verdicts: VerdictsByTurn) -> int | None:
    # Nothing answers a complaint, nor a question without an answer.
    if conversation.case.is_complaint or conversation.case.answerable is False:
        return None
    for turn in conversation.turns:
        verdict = verdicts.get((conversation.id, turn.index))
        response = verdicts.responses.get((conversation.id, turn.index))
        if (
            verdict
            and verdict.is_complete
            and not gives_nothing(turn, response)
            and response != "handed_over"
        ):
            return turn.index
    return None


def left_early(conversation: Conversation, verdicts: VerdictsByTurn) -> bool:
    """Whether the customer left satisfied after a refusal or no answer, with nothing answered before."""
    return (
        conversation.ended is Ended.SATISFIED
        and bool(conversation.turns)
        and _gave_nothing(conversation.turns[-1], conversation, verdicts)
        and not any(
            verdicts.responses.get((conversation.id, turn.index)) == "answered" for turn in conversation.turns
        )
    )


def gave_up_early(conversation: Conversation, verdicts: VerdictsByTurn, patience: int, turns: int) -> bool:
    """Whether the customer gave up more than one useless answer before their `patience` ended.

    Giving up after the last of `turns` is not early; an ungraded answer may have been useless.
    """
    # With the last turn every customer has to go, content or not.
    if conversation.ended is not Ended.GAVE_UP or len(conversation.turns) >= turns:
        return False
    last = takewhile(lambda turn: not _was_useful(turn, conversation, verdicts), reversed(conversation.turns))
    return len(list(last)) < min(patience - 1, len(conversation.turns))


def _gave_nothing(turn: Turn, conversation: Conversation, verdicts: VerdictsByTurn) -> bool:
    return gives_nothing(turn, verdicts.responses.get((conversation.id, turn.index)))


def _was_useful(turn: Turn, conversation: Conversation, verdicts: VerdictsByTurn) -> bool:
    verdict = verdicts.get((conversation.id, turn.index))
    if _gave_nothing(turn, conversation, verdicts) or verdict is None:
        return False
    # The same again is of no use, however good it was the first time; nor is a question, however sensible.
    asks = verdicts.responses.get((conversation.id, turn.index)) == "asked_back"
    earlier = [before.answer.text for before in conversation.turns if before.index < turn.index]
    again = says_again(turn.answer.text, earlier)
    return verdict.is_useful and not (asks or again)


def _is_complete(verdict: Score) -> bool | None:
    """Whether the turn judge found nothing left out and hardly anything wrong; None where it did not say."""
    complete, correct = verdict.detail.get("completeness"), verdict.detail.get("correctness", CORRECT)
    if not isinstance(complete, int | float) or not isinstance(correct, int | float):
        return None
    return complete >= FULL and correct >= CORRECT


# Faults by their kinds.

FILE = Path(__file__).with_name("faults.toml")

FaultKind = Literal["invented", "off_goal", "left_early", "left_late", "repeated", "broke_role", "impatient"]
KINDS: tuple[FaultKind, ...] = get_args(FaultKind)
# These make the grade of their turn doubtful. The others concern when the customer left, which changes
# nothing about the answer.
SPOILING: frozenset[FaultKind] = frozenset({"invented", "off_goal", "repeated", "broke_role"})
# The guard's rules that a customer breaks by falling out of the role.
ROLE_RULES = frozenset({"reasoning", "both_sides", "stage", "desk", "flip", "language"})
# A question with this much content (words, or pairs of kanji and katakana), none of which was mentioned
# before, is off topic. It is extreme on purpose: people put a question in new words all the time.
OTHER_MATTER = 6
# Characters of a line that a reason quotes.
QUOTED = 40
# Twelve months and double prices: sums that anyone does in their head. Nobody calculates a date.
_MENTAL_FACTORS = (Decimal(12), Decimal(2))
# From here on, a number without unit is a code; smaller ones mostly number a product or a step.
_SMALLEST_CODE = 10_000
# A code with fewer digits may be a word.
SHORTEST_CODE = 3
_NUMBER = re.compile(r"\d+(?:\.\d+)?", re.ASCII)
# What joins the parts of a code: A-12345 and A12345 are one.
_JOINTS = re.compile("[-_ ]")


class FaultPatterns:
    """The patterns and sentences of faults.toml in one language."""

    def __init__(self, table: dict[str, Any]) -> None:
        """`table` is the language's part of the file."""
        self.question, self.supposing, self.conversation = (
            re.compile(straight_pattern(table[name]), re.IGNORECASE)
            for name in ("question", "supposing", "talk")
        )
        self._names = [re.compile(straight_pattern(pattern)) for pattern in table["names"]]
        self.own_counts = re.compile(table["own_counts"])
        self.reasons: dict[str, str] = table["reasons"]

    def statements(self, line: str) -> list[str]:
        """The sentences that state something, rather than ask, suppose or seek confirmation."""
        return [
            sentence
            for sentence in sentences(line)
            if not self.question.search(plain := straight(sentence)) and not self.supposing.search(plain)
        ]

    def names(self, line: str) -> list[str]:
        """The names of people that a line gives."""
        return [
            line[slice(*match.span(1))] for name in self._names for match in name.finditer(straight(line))
        ]


@cache
def fault_patterns(language: Language) -> FaultPatterns:
    """The patterns of a language."""
    return FaultPatterns(_file()[language])


@cache
def _file() -> dict[str, Any]:
    return read_toml(FILE)


def is_exempt(kind: FaultKind, persona: str) -> bool:
    """Whether this is how the persona is meant to behave."""
    return persona in _file()["exempt"].get(kind, ())


class CustomerFault(Value):
    """One turn that the simulated customer spoilt; `reason` says how, in the language of the case."""

    conversation: str
    turn: int
    kind: FaultKind
    reason: str

    @property
    def spoils(self) -> bool:
        """Whether it makes the grade of this turn doubtful; leaving too early or late does not."""
        return self.kind in SPOILING


def faults_by_conversation(
    results: Results,
) -> Iterator[tuple[Conversation, VerdictsByTurn, list[CustomerFault]]]:
    """Each conversation with its grades and the turns in which the customer, not the bot, was at fault.

    One fault of a kind per turn. Scripted and replayed lines are nobody's fault.
    """
    people = {persona.id: persona for persona in results.personas}
    settings = results.run.settings
    limit = settings.get("turns")
    turns = limit if isinstance(limit, int) else 0
    for conversation, by_turn in conversations_with_scores(results):
        verdicts = VerdictsByTurn(scores[TURN] for scores in by_turn.values() if TURN in scores)
        faults: list[CustomerFault] = []
        persona = people.get(conversation.persona)
        # An attacker does on purpose what a customer must not.
        if not (is_scripted(conversation, settings) or (persona and persona.adversarial)):
            for turn in conversation.turns:
                faults += _line_faults(conversation, persona, turn)
            faults += _leaving_faults(conversation, persona, verdicts, turns)
        yield conversation, verdicts, faults


@cache_latest
def customer_faults(results: Results) -> tuple[CustomerFault, ...]:
    """All faults of a run's customers, in its order."""
    return tuple(fault for _talk, _verdicts, faults in faults_by_conversation(results) for fault in faults)


def _line_faults(conversation: Conversation, persona: Persona | None, turn: Turn) -> Iterator[CustomerFault]:
    """The faults of a line; the case's own question is not the customer's choice."""
    if turn.user == conversation.case.question:
        return
    known_texts = known_before(conversation, persona, turn)
    if invented := inventions(turn.user, known_texts, conversation.case.language):
        yield _fault(conversation, turn.index, "invented", what=invented[0])
    if turn.index == 1:
        return
    if question := _off_topic_question(conversation, persona, known_texts, turn):
        yield _fault(conversation, turn.index, "off_goal", what=question[:QUOTED])
    own_lines = [
        *(message.content for message in conversation.case.history if message.role == "user"),
        conversation.case.question,
        *(before.user for before in conversation.turns if before.index < turn.index),
    ]
    allowed = lets_through(persona) if persona else ()
    rule = guard_of(conversation.case.language).broken_rule(turn.user, own_lines, allowed=allowed)
    if rule == "repeat":
        yield _fault(conversation, turn.index, "repeated")
    elif rule in ROLE_RULES:
        yield _fault(conversation, turn.index, "broke_role", what=rule)


def _off_topic_question(
    conversation: Conversation, persona: Persona | None, known: Sequence[str], turn: Turn
) -> str:
    """A question about something that was never mentioned; empty without one.

    Who has all, or has a habit of bringing up a second matter, may ask about something else.
    """
    has_all = turn.reaction is not None and turn.reaction.got == "answered"
    asks_more = has_all or (persona is not None and persona.habits.second_matter > 0)
    if asks_more or is_exempt("off_goal", conversation.persona):
        return ""
    patterns = fault_patterns(conversation.case.language)
    mentioned = (*known, *(text for answers in conversation.case.references for text in answers))
    for sentence in sentences(turn.user):
        plain = straight(sentence)
        if not patterns.question.search(plain) or patterns.conversation.search(plain):
            continue
        if len(content(sentence)) >= OTHER_MATTER and not coverage(sentence, mentioned):
            return sentence
    return ""


def _leaving_faults(
    conversation: Conversation, persona: Persona | None, verdicts: VerdictsByTurn, turns: int
) -> Iterator[CustomerFault]:
    """The faults in when the customer left, each at the turn after which they should not have."""
    if left_early(conversation, verdicts):
        yield _fault(conversation, len(conversation.turns), "left_early")
    patience = persona.patience if persona and not is_exempt("impatient", persona.id) else 0
    if gave_up_early(conversation, verdicts, patience, turns):
        yield _fault(conversation, len(conversation.turns), "impatient")
    # Where more turns can be taken, customers stay as long as people do.
    is_few = turns <= FEW and len(conversation.turns) > TOLERATED + 1
    done = answered_by(conversation, verdicts) if is_few else None
    if done is not None:
        for late in range(done + TOLERATED + 1, len(conversation.turns) + 1):
            yield _fault(conversation, late, "left_late", turn=str(done))


def _fault(conversation: Conversation, at: int, kind: FaultKind, **values: str) -> CustomerFault:
    sentence = fault_patterns(conversation.case.language).reasons[kind]
    reason = Template(sentence).safe_substitute(values)
    return CustomerFault(conversation=conversation.id, turn=at, kind=kind, reason=reason)


def known_before(conversation: Conversation, persona: Persona | None, turn: Turn) -> tuple[str, ...]:
    """All that the customer knew or had said before a turn; whatever else they state is made up."""
    case = conversation.case
    earlier = [before for before in conversation.turns if before.index < turn.index]
    voice = persona.speaks(case.language) if persona else None
    phrases = [phrase for lines in voice.phrases.values() for phrase in lines] if voice else []
    return (
        case.question,
        case.goal or "",
        *case.known,
        *case.facts.unknown,
        *case.choices,
        *(message.content for message in case.history),
        *(voice.knows if voice else ()),
        *phrases,
        *(text for before in earlier for text in (before.user, before.answer.text)),
    )


def inventions(line: str, known: Sequence[str], language: Language) -> list[str]:
    """The figures, codes, addresses and names that a line states and no text of `known` holds.

    Questions and suppositions state nothing; counts of what happens in the conversation itself (the third
    time, ten minutes) are not made up, and a number that follows from two known ones is known.
    """
    patterns = fault_patterns(language)
    stated = patterns.statements(line)
    made_up: list[str] = []
    if others := differing("\n".join(stated), known):
        numbers = frozenset(chain.from_iterable(map(_numbers_in, known)))
        made_up += [figure.text for figure in others if not _is_known(figure, numbers, patterns)]
    stated_codes = [code for sentence in stated for code in codes(sentence) if _tells(code)]
    names = [name for sentence in stated for name in patterns.names(sentence)]
    if stated_codes or names:
        # Codes and names are looked up in any spelling of quotes and case, codes without what joins them.
        known_text = straight("\n".join(known)).lower()
        known_codes = _JOINTS.sub("", known_text)
        made_up += [code for code in stated_codes if _JOINTS.sub("", code) not in known_codes]
        made_up += [name for name in names if straight(name).lower() not in known_text]
    return made_up


def _tells(code: str) -> bool:
    """Whether a code is one that a desk has given out, or an address.

    "5g" and "4k" are words; 100gb, 10:30 and 120.50 are figures, which are looked up by what they come to.
    """
    if "@" in code:
        return True
    beside = code
    for figure in figures(code):
        if figure.kind != "number" or figure.text == code:
            beside = beside.replace(figure.text, "")
    return sum(map(str.isdigit, code)) >= SHORTEST_CODE and any(map(str.isalnum, beside))


@lru_cache(maxsize=1024)
def _numbers_in(text: str) -> frozenset[Decimal]:
    """All numbers of a text, as they are written and as figures are compared."""
    written = _NUMBER.findall(normalise(text).replace(",", ""))
    compared = _NUMBER.findall(" ".join(figure.value for figure in figures(text)))
    return frozenset(map(Decimal, (*written, *compared)))


def _is_known(figure: Figure, numbers: Set[Decimal], patterns: FaultPatterns) -> bool:
    """Whether a figure counts the talk itself, or follows from known `numbers`.

    No telephone number, date or time follows from others: of a date or time all numbers have to be known.
    """
    if figure.kind == "phone":
        return False
    if figure.kind == "time":  # 6 pm holds no 18
        return set(map(Decimal, _NUMBER.findall(figure.text))) <= numbers
    numbers_of_figure = _numbers_in(figure.text)
    if figure.kind == "date":
        return numbers_of_figure <= numbers
    if figure.kind == "number" and max(numbers_of_figure) < _SMALLEST_CODE:
        return True
    return bool(patterns.own_counts.search(straight(figure.text).lower())) or any(
        _follows(number, numbers) for number in numbers_of_figure
    )


def _follows(number: Decimal, known: Set[Decimal]) -> bool:
    """Whether a number is one of the known ones, whatever it counts, or computed from two of them."""
    return number in known or any(
        number in (one + other, other - one, one * other, other / one if one else None)
        for one, other in combinations(sorted({*known, *_MENTAL_FACTORS}), 2)
    )


# Second attempts at conversations that the customer spoiled, and which attempt counts.

# Suffix of the id of a second attempt, `angry/fees-01#1~2`; the new id also means another seed and session,
# so that the customer does not make the same mistake with the same words.
AGAIN = "~2"


def second_attempts(results: Results) -> tuple[Conversation, ...]:
    """The conversations to play once more from the start: each that the customer spoiled, unless planned."""
    faulty = {fault.conversation for fault in customer_faults(results)}
    planned = set(results.conversations.ids)
    unplayed = {"turns": (), "ended": None, "reason": "", "closing": "", "reaction": None}
    return tuple(
        conversation.model_copy(update=unplayed | {"id": conversation.id + AGAIN})
        for conversation in results.conversations
        if conversation.id in faulty
        and not conversation.id.endswith(AGAIN)
        and conversation.id + AGAIN not in planned
    )


def superseded(results: Results) -> dict[str, str]:
    """The ids of conversations that do not count, each with the id of the attempt that counts instead.

    The second attempt counts if it is complete and without a fault of the customer, otherwise the first:
    there is no third.
    """
    faulty = {fault.conversation for fault in customer_faults(results)}
    endings = {conversation.id: conversation.ended for conversation in results.conversations}
    replaced = {}
    for key, ended in endings.items():
        first = key.removesuffix(AGAIN)
        if first != key and first in endings:
            is_clean = ended in COMPLETE and key not in faulty
            replaced[first if is_clean else key] = key if is_clean else first
    return replaced
