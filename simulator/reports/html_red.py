"""The red turns, grouped by the question that began their conversation, gravest first."""

from collections import Counter
from dataclasses import dataclass

from simulator.core.types import Severity
from simulator.stats.figures import RedTurn, Summary
from simulator.stats.red import RANK, worst

# Of one question, as many red turns are shown whole, and as many more by their reason; the rest is counted.
SHOWN_WHOLE = 3
SHOWN_BRIEF = 12


@dataclass(frozen=True, slots=True)
class RedQuestion:
    """A question with its red turns: some `whole`, some `brief`, and how many `more` there are."""

    case: str
    question: str
    red: int
    turns: int
    severity: Severity
    whole: tuple[RedTurn, ...]
    brief: tuple[RedTurn, ...]
    more: int

    @property
    def folded(self) -> int:
        """How many are not shown whole."""
        return len(self.brief) + self.more


def red_questions(summary: Summary) -> list[RedQuestion]:
    """Every question with a red turn; the gravest first, then those with most grave turns."""
    found: dict[str, list[RedTurn]] = {}
    for red in summary.reddest:
        found.setdefault(red.case, []).append(red)
    told = {case.case: (case.question, case.turns) for case in summary.cases}
    questions = [_question(case, *told[case], turns) for case, turns in found.items()]
    return sorted(questions, key=lambda each: _gravity(found[each.case]))


def _gravity(turns: list[RedTurn]) -> tuple[int, int, int]:
    severities = [worst(red.marks) for red in turns]
    gravest = min(severities, key=RANK.__getitem__)
    return RANK[gravest], -severities.count(gravest), -len(turns)


def _question(case: str, question: str, spoken: int, turns: list[RedTurn]) -> RedQuestion:
    ordered = _varied(turns)
    return RedQuestion(
        case=case,
        question=question,
        red=len(turns),
        turns=spoken,
        severity=worst(ordered[0].marks),
        whole=tuple(ordered[:SHOWN_WHOLE]),
        brief=tuple(ordered[SHOWN_WHOLE : SHOWN_WHOLE + SHOWN_BRIEF]),
        more=max(0, len(turns) - SHOWN_WHOLE - SHOWN_BRIEF),
    )


def _varied(turns: list[RedTurn]) -> list[RedTurn]:
    """The gravest first, and among equals other answers, then other customers, before more of the same."""
    answers, personas = Counter[tuple[str, str]](), Counter[tuple[str, str]]()
    places = []
    for red in turns:
        severity = worst(red.marks)
        answers[severity, red.answer] += 1
        personas[severity, red.persona] += 1
        places.append((RANK[severity], answers[severity, red.answer], personas[severity, red.persona]))
    return [turns[at] for at in sorted(range(len(turns)), key=places.__getitem__)]
