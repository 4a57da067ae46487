"""Whether the customers of a run were told the same: what a judge said of the first answers to each question.

The different first answers to one question are put before the judge of whole conversations as one, in which
a customer asks the same again and again (grade.py). What it lists as contradictions between turns are
contradictions between customers. A question that got one answer alone agrees with itself; one with different
answers that no judge has compared is left out.
"""

import contextlib
from collections import defaultdict
from math import comb
from typing import Any, NamedTuple

from pydantic import TypeAdapter, ValidationError

from simulator.core.types import Conversation, Results, Value
from simulator.results.intervals import interval_of_mean
from simulator.text.segments import normalise

# The note of a run with what models made of the answers to its questions.
NOTE = "consistency"
SEED = 42


class Clash(Value):
    """Two conversations whose first answers cannot both hold, each answer word for word, and why."""

    one: str
    other: str
    one_answer: str
    other_answer: str
    reason: str


class JudgedQuestion(Value):
    """What the model `by` made of the answers to one question: who was told what contradicts what.

    `conversations` are all whose answers it compared.
    """

    by: str
    case: str
    conversations: tuple[str, ...]
    clashes: tuple[Clash, ...] = ()


class CaseConsistency(NamedTuple):
    """The pairs of conversations about one question, and those among them that disagree."""

    case: str
    pairs: int
    clashes: tuple[Clash, ...]

    @property
    def share(self) -> float:
        """The share (0..1) of pairs that agree."""
        return 1 - len(self.clashes) / self.pairs


class Consistency(NamedTuple):
    """The compared questions that at least two conversations asked.

    `low` and `high` are the 95 % interval of `share` over questions; None for too few of them. `judged` names
    the models that compared.
    """

    cases: tuple[CaseConsistency, ...]
    judged: tuple[str, ...]
    low: float | None
    high: float | None

    @property
    def share(self) -> float | None:
        """The mean share (0..1) of agreeing pairs over the questions; None when nothing was compared."""
        return sum(case.share for case in self.cases) / len(self.cases) if self.cases else None

    @property
    def clashes(self) -> tuple[Clash, ...]:
        """Every disagreement."""
        return tuple(clash for case in self.cases for clash in case.clashes)

    def as_json(self) -> dict[str, Any]:
        """The figures for `--json`, with every disagreement."""
        return {
            "share": self.share,
            "low": self.low,
            "high": self.high,
            "cases": [{"case": case.case, "pairs": case.pairs, "share": case.share} for case in self.cases],
            "disagreements": [clash.model_dump(mode="json") for clash in self.clashes],
            "judged_by": self.judged,
        }


def consistency(results: Results) -> Consistency:
    """What judges said of a run's answers to the same questions; asks no bot and no model."""
    judged = {question.case: question for question in judged_of(results)}
    cases = []
    for case, answers in first_answers(results).items():
        n = sum(map(len, answers))
        if n > 1 and len(answers) == 1:
            cases.append(CaseConsistency(case, comb(n, 2), ()))
        elif case in judged:
            question = judged[case]
            cases.append(CaseConsistency(case, comb(len(question.conversations), 2), question.clashes))
    shares, names = [case.share for case in cases], [case.case for case in cases]
    low, high = interval_of_mean(shares, names, seed=SEED) or (None, None)
    by = tuple(sorted({question.by for question in judged.values()}))
    return Consistency(tuple(cases), by, low, high)


def first_answers(results: Results) -> dict[str, list[list[Conversation]]]:
    """By question, the conversations that got each of its different first answers.

    Answers that differ in blanks, width and case alone are one.
    """
    by_words: dict[str, dict[str, list[Conversation]]] = defaultdict(lambda: defaultdict(list))
    for conversation in results.conversations:
        answers = (turn.answer for turn in conversation.turns[:1] if not turn.answer.error)
        if words := " ".join(normalise(next((answer.text for answer in answers), "")).split()):
            by_words[conversation.case.id][words].append(conversation)
    return {case: list(answers.values()) for case, answers in by_words.items()}


def judged_of(results: Results) -> tuple[JudgedQuestion, ...]:
    """What models made of the answers to one question; nothing where another version wrote it otherwise."""
    with contextlib.suppress(ValidationError):
        return TypeAdapter(tuple[JudgedQuestion, ...]).validate_python(results.notes.get(NOTE, []))
    return ()
