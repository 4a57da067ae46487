"""How the simulated customers were played: whether they pursue their goal, make nothing up, leave in time.

A bot can only be judged by customers who behave like some. users/faults.py finds what went wrong, turn by
turn; here it becomes figures with goals, which `make bench-simulator` measures against real dialogues:

    early       left satisfied after a refusal or no answer     at most 5 % of these
    prompt      left within a turn of a complete answer         at least 90 %
    invented    made up a detail that the card does not have    at most 2 % of turns
    thanks      angry, and thanks before anything is solved     at most 5 % of such lines
    goal_coverage, repeated                                     shown without a goal

Goals are asked of at least ten values (`ENOUGH_TO_TELL`). Conversations that a script or an earlier run
played are left out.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from statistics import quantiles

from simulator.core.types import SUPERSEDED, Conversation, Ended, Language, Results
from simulator.results.figures import CustomerFigure, CustomerSummary, Handling, LineLengths, turn_failure
from simulator.storage.results import select_conversations
from simulator.text.overlap import coverage
from simulator.users.faults import (
    CustomerFault,
    VerdictsByTurn,
    answered_by,
    customer_faults,
    fault_patterns,
    gives_nothing,
    is_scripted,
    left_early,
    left_late,
    turn_verdicts,
)

# In place of a persona, in the lengths of lines.
EVERYONE = "all"
# The persona whose thanks are out of place as long as nothing is solved.
ANGRY = "angry"
# Endings in which nothing was solved, and endings that the customer or the limit of turns chose: a
# conversation that a failure ended says nothing of when the customer would have left.
_UNSOLVED = (Ended.GAVE_UP, Ended.TURN_LIMIT)
_DECIDED = (Ended.SATISFIED, Ended.GAVE_UP, Ended.HANDED_OVER, Ended.TURN_LIMIT)


def summarise_customers(
    results: Results, handling: Handling = "keep", faults: Sequence[CustomerFault] | None = None
) -> CustomerSummary:
    """How the customers of a run were played; `handling` is what is done with the turns that they spoilt.

    `faults` are looked for unless they are given; that takes long, so whoever has them hands them over.
    """
    faults_of_run = customer_faults(results) if faults is None else faults
    spoilt = dict.fromkeys((f.conversation, f.turn) for f in faults_of_run if f.spoils)
    # A bot that says nothing has failed, whatever it was asked.
    answered = {
        (c.id, turn.index)
        for _, c in select_conversations(results, {conversation for conversation, _ in spoilt})
        for turn in c.turns
        if not turn_failure(turn)
    }
    superseded = results.notes.get(SUPERSEDED)
    return CustomerSummary(
        faults=dict(Counter(fault.kind for fault in faults_of_run)),
        spoilt=tuple(turn for turn in spoilt if turn in answered),
        handling=handling,
        superseded=tuple(superseded) if isinstance(superseded, dict) else (),
        figures=figures(results, faults_of_run, turn_verdicts(results)),
        lengths=line_lengths(results.conversations),
    )


def figures(
    results: Results, faults: Sequence[CustomerFault], verdicts: VerdictsByTurn
) -> dict[str, CustomerFigure]:
    """The figures by name; a figure that cannot be measured has no value.

    Conversations whose messages come from a script or an earlier run are left out: nobody played them.
    """
    played, turns = set[str](), 0
    raised, early, prompt, thanks = (list[float]() for _figure in range(4))
    for conversation in results.conversations:
        if is_scripted(conversation, results.run.settings):
            continue
        played.add(conversation.id)
        turns += len(conversation.turns)
        raised += goal_coverage(conversation)
        early += early_leaving(conversation, verdicts)
        prompt += prompt_leaving(conversation, verdicts)
        thanks += angry_thanks(conversation, verdicts)

    def of_turns(kind: str, goal: float | None) -> CustomerFigure:
        """The share of turns with a fault of this kind."""
        n = len({(f.conversation, f.turn) for f in faults if f.kind == kind and f.conversation in played})
        return CustomerFigure(value=n / turns if turns else None, n=n, of=turns, goal=goal, at_most=True)

    return {
        # A mean of shares, and no count of anything.
        "goal_coverage": _share(raised).model_copy(update={"n": None}),
        "early": _share(early, 0.05, at_most=True),
        "prompt": _share(prompt, 0.9),
        "invented": of_turns("invented", 0.02),
        "thanks": _share(thanks, 0.05, at_most=True),
        "repeated": of_turns("repeated", None),
    }


def customer_messages(conversation: Conversation) -> list[str]:
    """The customer's messages from first to closing one, as they were meant: without typing mistakes."""
    return [*(turn.user for turn in conversation.turns), *filter(None, [conversation.closing])]


def line_lengths(conversations: Iterable[Conversation]) -> dict[str, dict[str, LineLengths]]:
    """How long the customers' messages are, by language and persona, without quoted questions."""
    sizes_by_group: dict[str, dict[str, list[int]]] = {}
    for conversation in conversations:
        language = conversation.case.language
        lines = (turn.user for turn in conversation.turns if turn.user != conversation.case.question)
        sizes = [line_length(line, language) for line in lines]
        for group in (EVERYONE, conversation.persona):
            sizes_by_group.setdefault(language, {}).setdefault(group, []).extend(sizes)
    return {
        language: {group: length_quartiles(sizes) for group, sizes in groups.items() if sizes}
        for language, groups in sizes_by_group.items()
    }


def line_length(line: str, language: Language) -> int:
    """Characters in Japanese, words in English: "解約したい" is 5, "I want out" is 3."""
    return len(line.strip()) if language == "ja" else len(line.split())


def length_quartiles(sizes: Sequence[int]) -> LineLengths:
    """Median and quartiles of at least one length."""
    if len(sizes) == 1:
        return LineLengths(low=sizes[0], median=sizes[0], high=sizes[0], n=1)
    low, middle, high = quantiles(sizes, n=4, method="inclusive")
    return LineLengths(low=low, median=middle, high=high, n=len(sizes))


def goal_coverage(conversation: Conversation) -> list[float]:
    """The share (0..1) of the goal's content that the customer's lines raise; empty without a goal."""
    goal = conversation.case.goal
    return [coverage(goal, customer_messages(conversation))] if goal and conversation.turns else []


def early_leaving(conversation: Conversation, verdicts: VerdictsByTurn) -> list[bool]:
    """Of each refusal or missing answer, whether the customer left satisfied after it."""
    return [
        turn.index == len(conversation.turns) and left_early(conversation, verdicts)
        for turn in conversation.turns
        if conversation.ended in _DECIDED
        and gives_nothing(turn, verdicts.responses.get((conversation.id, turn.index)))
    ]


def prompt_leaving(conversation: Conversation, verdicts: VerdictsByTurn) -> list[bool]:
    """Where there was a complete answer, whether the customer left within a turn of it."""
    late = left_late(conversation, verdicts)
    return [] if late is None else [not late]


def angry_thanks(conversation: Conversation, verdicts: VerdictsByTurn) -> list[bool]:
    """Of an angry customer's messages before anything is answered, whether each thanks the bot."""
    if conversation.persona != ANGRY:
        return []
    # Up to the answer that settles it, thanks are out of place; the farewell only where nothing was settled.
    done = answered_by(conversation, verdicts)
    lines = [turn.user for turn in conversation.turns[1:] if done is None or turn.index <= done]
    if conversation.closing and (conversation.ended in _UNSOLVED or left_early(conversation, verdicts)):
        lines.append(conversation.closing)
    return [fault_patterns(conversation.case.language).thanks(line) for line in lines]


def _share(hits: Sequence[float], goal: float | None = None, *, at_most: bool = False) -> CustomerFigure:
    value, n = sum(hits) / len(hits) if hits else None, round(sum(hits))
    return CustomerFigure(value=value, n=n, of=len(hits), goal=goal, at_most=at_most)
