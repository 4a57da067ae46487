"""Which wrong answers are one fault: those with one text, and those that the judge's model says are the same.

A live bot never says the same in the same words. What the model said of a pair stands in the notes of the
run, each under the keys of both answers (`answer_key`), so that reports need no model:

    same:answer-9d6f...-first-3f66...|answer-9d6f...-first-81b0...      true
    disputed:answer-9d6f...-first-11aa...|answer-9d6f...-first-3f66...  false

The first is about two answers of this run, the second about one of an earlier run that people disputed
(results/disputes.py). Asked is in results/asking.py.
"""

from collections.abc import Callable, Iterator

from simulator.core.types import Case, Results, Turn
from simulator.sheets.model import answer_key

# Under these, and the keys of both answers, notes say whether the second has the fault of the first.
SAME, DISPUTED = "same:", "disputed:"


def pair_note(kind: str, first: str, second: str) -> str:
    """The name of the note about a pair of answers."""
    return f"{kind}{first}|{second}"


def same_pairs(results: Results, kind: str) -> Iterator[tuple[str, str]]:
    """The pairs of answers, first and second, of which the model said that they have one fault."""
    for name, is_same in results.notes.items():
        if name.startswith(kind) and is_same is True:
            first, _bar, second = name.removeprefix(kind).partition("|")
            yield first, second


def fault_keys(results: Results) -> Callable[[Case, Turn], str]:
    """The key of a turn's answer, or of the answer whose fault it has: one row of the review is about it."""
    first_of = {second: first for first, second in same_pairs(results, SAME)}

    def key_of(case: Case, turn: Turn) -> str:
        key = answer_key(case, turn)
        passed = {key}
        while (first := first_of.get(key)) and first not in passed:
            passed.add(first)
            key = first
        return key

    return key_of


def kind_of(key: str) -> str:
    """What answers to be compared have in common: the question, and whether they came first or later."""
    return key.rpartition("-")[0]
