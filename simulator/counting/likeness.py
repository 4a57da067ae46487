"""The agreement with a reference on the scales of two more judges: 0 to 1, and right or wrong."""

from simulator.counting.grades import grade_of
from simulator.counting.verdicts import Verdict, agreement_detail, compared, without
from simulator.text.evidence import Reading

# The grade of similarity from which on an answer says what its reference says.
SAME = 4


def llm_similarity(reading: Reading) -> Verdict:
    """How far (0..1) the answer says what the nearest reference says."""
    if not reading.exhibit.references:
        return without(reading, "reference")
    return Verdict(round(reading.agreement.score, 4), compared(reading), agreement_detail(reading), (0, 1))


def llm_correctness(reading: Reading) -> Verdict:
    """1 when the answer says what the nearest reference says, and neither another amount nor the opposite."""
    if not reading.exhibit.references:
        return without(reading, "reference")
    found = reading.agreement
    differs = bool(found.instead or found.contradicted)
    right = grade_of(found.score, "similarity") >= SAME and not differs
    return Verdict(float(right), compared(reading), agreement_detail(reading), (0, 1))
