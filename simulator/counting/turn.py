"""The turn judge by counting: steps, a conclusion, five categories and Overall from the same measures."""

from collections.abc import Sequence
from typing import NamedTuple

from simulator.counting.disturbances import COSTS, disturbances
from simulator.counting.grades import DECIMALS, capped, grade_of
from simulator.counting.verdicts import Verdict, differing, lacking, supported_grade
from simulator.text.evidence import ANSWERED, Reading, best_agreement
from simulator.text.segments import sentences
from simulator.text.wording import percent, quoted

# How much each category counts for Overall, before the rules that cap it.
WEIGHTS = {
    "understanding": 0.15,
    "relevance": 0.2,
    "completeness": 0.3,
    "correctness": 0.3,
    "coherence": 0.05,
}
# The most that Overall may be for grades 1 to 5 of completeness and of correctness; it rises evenly between.
CAP_BY_COMPLETENESS = (2, 3, 4, 4, 5)
CAP_BY_CORRECTNESS = (1, 2, 3, 5, 5)


class Marks(NamedTuple):
    """The categories but coherence, the most that Overall may be, and what to conclude (a wording key).

    Grades by rule are whole, and so is Overall then; `is_measured` ones are not.
    """

    understanding: float
    relevance: float
    completeness: float
    correctness: float
    most: float
    conclusion: str
    is_measured: bool = False


def turn(reading: Reading) -> Verdict:
    """What the desk should have done here (comfort, decline, answer), and how far the answer does it."""
    marks = {"comfort": _comforting, "refuse": _declining, "answer": _answering}[reading.expected](reading)
    coherence = _coherence(reading)
    grades = {**marks._asdict(), "coherence": coherence}
    weighed = sum(weight * grades[name] for name, weight in WEIGHTS.items())
    overall = capped(weighed, marks.most) if marks.is_measured else min(marks.most, round(weighed))
    overall = _shown(max(1.0, overall))
    conclusion = reading.say.together([reading.say(marks.conclusion), *_remarks(reading, marks)])
    detail = {name: _shown(grades[name]) for name in WEIGHTS}
    return Verdict(
        overall,
        conclusion,
        {
            **detail,
            "overall": overall,
            "steps": list(_steps(reading)),
            "against": reading.say(f"against_{_against(reading)}"),
            "conclusion": reading.say("mark") + conclusion,
            "score": round(weighed / 5, 4),
        },
    )


def _shown(grade: float) -> float:
    """A grade with two decimals, or none where it is whole."""
    rounded = round(grade, DECIMALS)
    return int(rounded) if rounded == int(rounded) else rounded


def _against(reading: Reading) -> str:
    """What Correctness is held against: the turn's reference, else its passages, else neither."""
    return "reference" if reading.exhibit.references else "passages" if reading.passages else "neither"


def _comforting(reading: Reading) -> Marks:
    """A complaint wants an apology and a person, not an explanation."""
    if reading.handed_over:
        grade = 5 if reading.apologises else 4
        return Marks(
            grade, grade, grade, 5, grade, "complaint_good" if grade == 5 else "complaint_no_apology"
        )
    if reading.refused:
        return Marks(2, 2, 2, 4, 2, "complaint_refused")
    if reading.apologises and not reading.support.claims:
        return Marks(4, 3, 2, 5, 3, "complaint_no_handover")
    grade = 2 if reading.apologises else 1
    return Marks(grade, grade, grade, supported_grade(reading.support), grade, "complaint_ignored")


def _declining(reading: Reading) -> Marks:
    """What the material does not hold is honestly declined; any other answer is invented."""
    agreed = best_agreement(reading.answer, reading.known, reading.language)
    if reading.refused or reading.handed_over or agreed.recall >= 0.6:
        return Marks(
            5, 5, 5 if reading.has_contact else 4, 5, 5 if reading.has_contact else 4, "rightly_refused"
        )
    if reading.only_asks:
        return Marks(4, 4, 3, 4, 4, "fair")
    return Marks(3, min(3, grade_of(reading.relevance, "relevance")), 2, 2, 2, "invented")


def _answering(reading: Reading) -> Marks:
    """What can be answered is answered; declining or handing over instead leaves everything missing."""
    if reading.refused:
        return _refusing(reading)
    if reading.only_asks:
        return Marks(4, 4, 2, 5, 3, "fair")
    relevant, correct = grade_of(reading.relevance, "relevance"), _correctness(reading)
    complete = _completeness(reading, relevant)
    most = min(_between(CAP_BY_COMPLETENESS, complete), _between(CAP_BY_CORRECTNESS, correct))
    most = min(most, 2) if relevant < 2 else most
    if reading.repeats and reading.known and not reading.already_answered:
        most = min(most, 3)
    if reading.case.handover == "required" and not reading.handed_over:
        most, conclusion = min(most, 3), "no_handover"
    else:
        conclusion = ("poor", "poor", "fair", "fair", "good")[int(min(relevant, complete, correct)) - 1]
    return Marks(max(relevant, complete), relevant, complete, correct, most, conclusion, is_measured=True)


def _between(caps: Sequence[float], grade: float) -> float:
    """The cap of a grade (1..5) that lies between those with a cap of their own."""
    below = int(grade)
    return caps[below - 1] + (grade - below) * (caps[min(below, 4)] - caps[below - 1])


def _refusing(reading: Reading) -> Marks:
    """Declining what can be answered; less bad when an earlier turn has answered it already."""
    again = reading.already_answered
    needless = reading.handed_over and reading.case.handover == "forbidden"
    complete = 2 if again or reading.has_contact else 1
    return Marks(3, 3, complete, 3, 3 if again else 2, "needless_handover" if needless else "wrongly_refused")


def _completeness(reading: Reading, relevant: float) -> float:
    """How much of the turn's reference is said.

    A turn without one is judged half by the question and half by the case's references, if it has any;
    while nothing of these has been said in any turn, at most 2.
    """
    if reading.exhibit.references:
        return grade_of(reading.agreement.recall, "similarity")
    if not reading.known:
        return relevant
    agreed = grade_of(best_agreement(reading.answer, reading.known, reading.language).recall, "similarity")
    most = 2 if agreed < 2 and not reading.already_answered else 5
    return min(most, (relevant + agreed) / 2)


def _correctness(reading: Reading) -> float:
    """Right by passages and reference together; with neither there is nothing to count but the language.

    The opposite of the reference, or another amount where it has one, is wrong: at most 2. What agrees with
    it is at least a 4, unless something beside it is invented.
    """
    if not reading.passages and not reading.exhibit.references:
        return 4
    found, evidence = reading.agreement, reading.evidence
    if found.contradicted or found.instead:
        return grade_of(evidence.claimed, "groundedness", 2)
    grade = supported_grade(evidence)
    invents = bool(evidence.numbers or evidence.invented)
    return 4 + (grade - 1) / 4 if found.score >= ANSWERED and not invents else grade


def _coherence(reading: Reading) -> int:
    if reading.contradicts_itself:
        return 2
    cost = sum(COSTS[name] for name in disturbances(reading.answer, reading.language))
    return max(1, 5 - cost - (2 if reading.repeats else 0))


def _remarks(reading: Reading, marks: Marks) -> list[str]:
    """What a support lead can act on; at most two sentences."""
    said = []
    if reading.expected == "refuse" and marks.conclusion == "rightly_refused" and not reading.has_contact:
        said.append(reading.say("no_contact"))
    if reading.expected == "answer" and not reading.refused:
        said += differing(reading, reading.agreement) if reading.exhibit.references else []
        said += lacking(reading) if reading.passages else []
    if reading.repeats:
        said.append(reading.say("repeated"))
    return said[:2]


def _steps(reading: Reading) -> list[str]:
    say = reading.say
    steps = [say("step_need", quote=quoted(reading.exhibit.turn.user))]
    if reading.handed_over:
        steps.append(say("step_handed_over"))
    elif reading.refused:
        steps.append(say("step_refused"))
    else:
        steps.append(say("step_answer", count=str(len(sentences(reading.answer)))))
    if reading.exhibit.references:
        steps.append(say("matched", share=percent(reading.agreement.recall)))
    else:
        steps.append(say("step_no_reference"))
    if reading.support.claims and reading.passages:
        steps.append(say("supported", share=percent(reading.support.claimed)))
    return steps
