"""The red answers of a run, gravest first, with what reports quote of them: the order of every view.

What makes a turn red stands in results/red.py; here the red ones are collected and ranked. Of a large run the
texts of the first ones only are read: all others are counted, ranked and linked to.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import inf
from typing import Any

from simulator.core.document import excerpt
from simulator.core.types import RedRules, Results
from simulator.results.disputes import disputed_answers
from simulator.results.figures import RedFigures, RedTurn
from simulator.results.red import KINDS, OUTCOMES, RANK, by_question, gravest_reason, worst_severity
from simulator.results.rows import GradedTurn, RunTurns
from simulator.results.turns import marked_turns
from simulator.storage.results import conversations_with_scores

# Of a large run, the texts of so many red turns are kept, and of as many of the first questions; of the
# others only where they are.
MAX_QUOTED, QUESTIONS_QUOTED = 2_000, 20


def red_figures(results: Results, counted: RunTurns, rules: RedRules) -> RedFigures:
    """The red answers among the turns that count."""
    red = _first_causes_first(sorted((turn for turn in counted.turns if turn.marks), key=_worst_first))
    marks = Counter(mark.kind for turn in red for mark in turn.marks)
    quoted = tuple(_quoted(results, red, rules, counted.primary))
    disputes = disputed_answers(results, quoted)
    answers = tuple(replace(red_turn, dispute=disputes.get(red_turn.key)) for red_turn in quoted)
    return RedFigures(
        rules=rules,
        answers=answers,
        kinds={kind: marks[kind] for kind in KINDS if marks[kind]},
        lapses=dict(counted.lapses),
        lapsed=counted.lapsed,
        expectations={state: counted.expectations[state] for state in OUTCOMES}
        if counted.expectations
        else {},
    )


def _worst_first(s: GradedTurn) -> tuple[int, int, float, int]:
    """Gravest first; at equal gravity what was answered before what was not, then the lowest.

    All missing answers are alike, and one look tells their cause; wrong answers each need reading.
    """
    value = inf if s.value is None else s.value
    return RANK[worst_severity(s.marks)], bool(s.failure), value, -len(s.marks)


def _first_causes_first(worst: Sequence[GradedTurn]) -> list[GradedTurn]:
    """The same places, in which equally grave answers of one question stand in the order of their turns.

    Later answers follow from the first wrong one: that to "hmm, and then?" may have a lower grade, and shows
    nobody what is wrong.
    """

    def alike(turn: GradedTurn) -> tuple[str, int, bool]:
        return turn.case, RANK[worst_severity(turn.marks)], bool(turn.failure)

    turns: dict[tuple[str, int, bool], list[GradedTurn]] = {}
    for turn in worst:
        turns.setdefault(alike(turn), []).append(turn)
    in_order = {key: iter(sorted(some, key=lambda turn: turn.turn)) for key, some in turns.items()}
    return [next(in_order[alike(turn)]) for turn in worst]


def _quoted(results: Results, red: Sequence[GradedTurn], rules: RedRules, primary: str) -> Iterator[RedTurn]:
    """The red turns with their texts; of a large run those of the first turns and questions.

    The others are there, with empty texts: every red turn is counted, ranked and linked to.
    """
    bare = [
        RedTurn(
            conversation=s.conversation,
            turn=s.turn,
            persona=s.persona,
            case=s.case,
            question="",
            answer="",
            value=s.value,
            reason="",
            failure=s.failure,
            marks=s.marks,
        )
        for s in red
    ]
    shown = bare
    if results.is_sampled:
        first, most = by_question(bare)[:QUESTIONS_QUOTED], MAX_QUOTED // QUESTIONS_QUOTED
        shown = [*bare[:MAX_QUOTED], *(red_turn for turns in first for red_turn in turns[:most])]
    # Their texts are read in one further pass, conversation by conversation.
    quoted = {red_turn.key for red_turn in shown}
    ids = {conversation for conversation, _turn in quoted}
    texts: dict[tuple[str, int], dict[str, Any]] = {
        (conversation.id, turn.index): {
            "question": excerpt(turn.user),
            "answer": excerpt(turn.answer.text),
            "reason": gravest_reason(marks),
            "marks": marks,
            "reference": excerpt(next(iter(conversation.case.references_at(turn.index)), "")),
        }
        for conversation, by_turn in conversations_with_scores(
            results, [key for key in results.conversations.ids if key in ids]
        )
        for turn, marks in marked_turns(conversation, by_turn, rules, primary)
        if (conversation.id, turn.index) in quoted
    }
    for red_turn in bare:
        yield replace(red_turn, **texts.get(red_turn.key, {}))
