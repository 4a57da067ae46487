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
from simulator.results.figures import CustomerFigures, CustomerGoal, Handling, LineLengths, turn_failure
from simulator.results.rows import Key, RunTurns
from simulator.text.overlap import coverage
from simulator.users.faults import (
    CustomerFault,
    VerdictsByTurn,
    answered_by,
    fault_patterns,
    faults_by_conversation,
    gives_nothing,
    is_scripted,
    left_early,
    left_late,
)
from simulator.users.rules import FEW

# In place of a persona, in the lengths of lines.
EVERYONE = "all"
# The persona whose thanks are out of place as long as nothing is solved.
ANGRY = "angry"
# Endings in which nothing was solved, and endings that the customer or the limit of turns chose: a
# conversation that a failure ended says nothing of when the customer would have left.
_UNSOLVED = (Ended.GAVE_UP, Ended.TURN_LIMIT)
_DECIDED = (Ended.SATISFIED, Ended.GAVE_UP, Ended.HANDED_OVER, Ended.TURN_LIMIT)


def customer_figures(results: Results, run: RunTurns, handling: Handling | None = None) -> CustomerFigures:
    """How the customers of a run were played.

    `handling` is what is done with the turns that they spoilt; None where nobody looks for any, and then
    there are no faults, goals and lengths.
    """
    guarded = [broken for row in run.conversations for broken in row.broken]
    figures = CustomerFigures(
        guarded=len(guarded),
        rules=dict(Counter(rule for broken in guarded for rule in broken)),
        failed=sum(row.ended in (Ended.USER_FAILED, Ended.ENDPOINT_FAILED) for row in run.conversations),
        overruled=sum(row.overruled for row in run.conversations),
    )
    if handling is None:
        return figures
    spoilt = dict[Key, CustomerFault]()
    limit = results.run.settings.get("turns")
    turns = limit if isinstance(limit, int) else 0
    faults, lengths, conduct = Counter[str](), _Lengths(), _Conduct()
    for conversation, verdicts, of_conversation in faults_by_conversation(results):
        faults.update(fault.kind for fault in of_conversation)
        lengths.add(conversation)
        if not is_scripted(conversation, results.run.settings):
            conduct.add(conversation, verdicts, of_conversation, is_few=turns <= FEW)
        # A bot that says nothing has failed, whatever it was asked.
        answered = {turn.index for turn in conversation.turns if not turn_failure(turn)}
        spoilt |= {(f.conversation, f.turn): f for f in of_conversation if f.spoils and f.turn in answered}
    superseded = results.notes.get(SUPERSEDED)
    changes = {
        "faults": dict(faults),
        "spoilt": spoilt,
        "handling": handling,
        "superseded": tuple(superseded) if isinstance(superseded, dict) else (),
        "goals": conduct.goals(),
        "lengths": lengths.figures(),
    }
    return figures.model_copy(update=changes)


class _Conduct:
    """What is asked of customers, counted conversation by conversation.

    Conversations whose messages come from a script or an earlier run are left out: nobody played them.
    """

    def __init__(self) -> None:
        self.turns, self.faults = 0, Counter[str]()
        self.raised, self.early, self.prompt, self.thanks = (list[float]() for _figure in range(4))

    def add(
        self,
        conversation: Conversation,
        verdicts: VerdictsByTurn,
        faults: Iterable[CustomerFault],
        *,
        is_few: bool,
    ) -> None:
        """Where more than a few turns can be taken, customers stay as long as people do."""
        self.turns += len(conversation.turns)
        # Of a kind a turn has one fault.
        self.faults.update(kind for _turn, kind in {(fault.turn, fault.kind) for fault in faults})
        self.raised += goal_coverage(conversation)
        self.early += early_leaving(conversation, verdicts)
        self.prompt += prompt_leaving(conversation, verdicts) if is_few else ()
        self.thanks += angry_thanks(conversation, verdicts)

    def goals(self) -> dict[str, CustomerGoal]:
        """The figures by name; one that cannot be measured has no value."""
        return {
            # A mean of shares, and no count of anything.
            "goal_coverage": _share(self.raised).model_copy(update={"n": None}),
            "early": _share(self.early, 0.05, at_most=True),
            "prompt": _share(self.prompt, 0.9),
            "invented": self._of_turns("invented", 0.02),
            "thanks": _share(self.thanks, 0.05, at_most=True),
            "repeated": self._of_turns("repeated", None),
        }

    def _of_turns(self, kind: str, goal: float | None) -> CustomerGoal:
        """The share of turns with a fault of this kind."""
        n, of = self.faults[kind], self.turns
        return CustomerGoal(value=n / of if of else None, n=n, of=of, goal=goal, at_most=True)


class _Lengths:
    """How long the customers' messages are, by language and persona, without quoted questions."""

    def __init__(self) -> None:
        self._sizes: dict[str, dict[str, list[int]]] = {}

    def add(self, conversation: Conversation) -> None:
        language = conversation.case.language
        lines = (turn.user for turn in conversation.turns if turn.user != conversation.case.question)
        sizes = [line_length(line, language) for line in lines]
        for group in (EVERYONE, conversation.persona):
            self._sizes.setdefault(language, {}).setdefault(group, []).extend(sizes)

    def figures(self) -> dict[str, dict[str, LineLengths]]:
        return {
            language: {group: length_quartiles(sizes) for group, sizes in groups.items() if sizes}
            for language, groups in self._sizes.items()
        }


def customer_messages(conversation: Conversation) -> list[str]:
    """The customer's messages from first to closing one, as they were meant: without typing mistakes."""
    return [*(turn.user for turn in conversation.turns), *filter(None, [conversation.closing])]


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


def _share(hits: Sequence[float], goal: float | None = None, *, at_most: bool = False) -> CustomerGoal:
    value, n = sum(hits) / len(hits) if hits else None, round(sum(hits))
    return CustomerGoal(value=value, n=n, of=len(hits), goal=goal, at_most=at_most)
