"""What was asked of an endpoint more often than a run without a disturbance asks for it."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from tests.crash.endpoint import Call

# Seconds that a process may take to read an answer and to store it, while it stores later ones: it is in
# flight until then. And those in which a machine that is busy with others lets it do nothing at all.
GRACE, STARVED = 0.5, 3.0


@dataclass(frozen=True)
class Sitting:
    """One process working on a run: when it began and ended, on the clock of the calls.

    `counted` are the chat completions, and the tokens of all calls, that the run file has for it.
    """

    began: float
    ended: float
    killed: bool
    counted: tuple[int, int] = (0, 0)


@dataclass(frozen=True)
class Repeats:
    """Calls that were made again: by the process that made them first, and when, the age of the answer.

    That is how many seconds before the end of the process it was answered; -1 stands for not at all.
    `unexplained` counts what was asked again although nobody had been killed, `had` what the process had time
    to store: it was answered long before its end, or well before an answer that is stored.
    """

    lost: dict[float, dict[float, float]]
    unexplained: int
    had: int

    @property
    def again(self) -> int:
        """All that was asked again."""
        return self.unexplained + sum(map(len, self.lost.values()))

    @property
    def ages(self) -> list[float]:
        """Of what was asked again although it had been answered."""
        return [age for calls in self.lost.values() for age in calls.values() if age >= 0]

    def paid_twice(self, calls: int) -> int:
        """Beyond those in flight at a kill, and as many again that had been answered that very moment.

        A place that an answer has left is taken by the next call before the answer is committed.
        """
        in_flight = (max(0, len(each) - 2 * calls) for each in self.lost.values())
        return self.unexplained + self.had + sum(in_flight)


def uncounted(calls: Sequence[Call], sittings: Sequence[Sitting]) -> list[int]:
    """By sitting, the answers that its run file does not count: of a killed one, those in flight.

    -1 where it counts more than was answered, or other tokens although nobody killed it.
    """
    found = []
    for sitting in sittings:
        served = [call for call in calls if call.answered and _asking(call, sittings) is sitting]
        chats, tokens = sum(call.is_chat for call in served), sum(call.tokens for call in served)
        exact = sitting.counted == (chats, tokens)
        less = sitting.killed and sitting.counted[0] <= chats and sitting.counted[1] <= tokens
        found.append(chats - sitting.counted[0] if exact or less else -1)
    return found


def asked(calls: Iterable[Call]) -> Counter[str]:
    """How often each unit was asked for."""
    return Counter(unit for call in calls for unit in call.asked)


def repeats(calls: Iterable[Call], once: Counter[str], sittings: Sequence[Sitting]) -> Repeats:
    """The units asked for more often than in `once`, by the processes that asked."""
    by_unit: dict[str, list[Call]] = defaultdict(list)
    for call in calls:
        for unit in call.asked:
            by_unit[unit].append(call)
    lost: dict[float, dict[float, float]] = defaultdict(dict)
    answers: dict[float, list[float]] = defaultdict(list)
    unexplained = 0
    for unit, found in by_unit.items():
        excess = max(0, len(found) - once[unit])
        again = [pair for pair in pairwise(found) if _was_lost(*pair, sittings)][:excess]
        unexplained += excess - len(again)
        for first, _ in again:
            runner = _asking(first, sittings)
            lost[runner.began][first.arrived] = _age(first, runner)
        for call in () if again else found:
            runner = _asking(call, sittings)
            if runner.killed and _age(call, runner) >= 0:
                answers[runner.began].append(_age(call, runner))
    had = sum(
        age > STARVED or age - GRACE > min(answers[began], default=age)
        for began, calls_of in lost.items()
        for age in calls_of.values()
    )
    return Repeats(dict(lost), unexplained, had)


def _was_lost(first: Call, second: Call, sittings: Sequence[Sitting]) -> bool:
    asking = _asking(first, sittings)
    return asking.killed and asking != _asking(second, sittings)


def _asking(call: Call, sittings: Sequence[Sitting]) -> Sitting:
    """Who asked: what was sent before the end can still arrive after it."""
    return next((each for each in reversed(sittings) if each.began <= call.arrived), sittings[0])


def _age(call: Call, asking: Sitting) -> float:
    answered = call.answered is not None and call.answered <= asking.ended
    return asking.ended - (call.answered or 0.0) if answered else -1.0
