"""What plays a judge where there is no key and no endpoint: deterministic, quick, and no language model."""

from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path

from simulator.core.replies import share_of
from simulator.core.templates import fingerprint
from simulator.core.types import GradingContext, Score
from simulator.counting import claimwise, feelings, likeness, retrieved, turn, verdicts
from simulator.counting.grades import FILE, Grades
from simulator.counting.verdicts import Verdict
from simulator.text import acts
from simulator.text.evidence import Reading

# What decides grades, and so is part of their fingerprint.
DECISIVE = (FILE, acts.FILE, feelings.FILE, acts.STANCES_FILE)
# The judges of the shelf that have a stand-in.
STAND_INS: dict[str, Callable[[Reading], Verdict]] = {
    "turn": turn.turn,
    "relevance": verdicts.relevance,
    "groundedness": verdicts.groundedness,
    "claims": claimwise.claims,
    "similarity": verdicts.similarity,
    "fluency": verdicts.fluency,
    "tone": feelings.tone,
    "context_precision": retrieved.context_precision,
    "context_recall": retrieved.context_recall,
    "llm_similarity": likeness.llm_similarity,
    "llm_correctness": likeness.llm_correctness,
}


@cache
def rubric_of(judge: str, files: Sequence[Path] = DECISIVE) -> str:
    """What a stand-in's grades are filed under: formula, judge and all that decides grades, hashed."""
    texts = [path.read_text(encoding="utf-8") for path in files]
    return f"lexical-{Grades(files[0]).formula}-{fingerprint(judge, *texts)}"


class LexicalJudge:
    """Plays one judge of the shelf by counting: the same grade everywhere, and a reason that says why."""

    def __init__(self, name: str) -> None:
        """`name` is one of STAND_INS."""
        self.name, self.rubric = name, rubric_of(name)
        self._verdict = STAND_INS[name]

    async def __call__(self, exhibit: GradingContext) -> Score:
        """As `graded`."""
        return self.graded(exhibit)

    def graded(self, exhibit: GradingContext) -> Score:
        """The grade of one turn, on the judge's scale; skipped where what it compares with is missing."""
        reading = Reading(exhibit)
        verdict = self._verdict(reading)
        graded = verdict.raw is not None
        return Score(
            judge=self.name,
            conversation=exhibit.conversation,
            turn=exhibit.turn.index,
            state="scored" if graded else "skipped",
            value=None if verdict.raw is None else share_of(verdict.raw, verdict.scale),
            raw=verdict.raw,
            scale=verdict.scale,
            severity=verdict.severity,
            reason=reading.say("mark") + verdict.reason if graded else verdict.reason,
            detail=verdict.detail,
            rubric=self.rubric,
        )
