"""The lexical judges: stand-ins for rubrics that grade by counting words and numbers, where no model judges.

A rubric that counting cannot judge has none, and skips: on public label sets offline grades of fluency,
relevance and the customer's feeling were no better than chance, and counted claims worse than counted words.

What is counted is made once for each turn (`TurnEvidence`, text/evidence.py): the words of answer, reference
and passages by weight, the figures among them, and what kind of answer it is (a refusal, a handover, a
question). Each function below makes a Verdict of it; `LIMITS` makes grades of shares:

    groundedness    0.5 of the answer's words are in the passages     3.33
                    0.6                                               4
                    0.9                                               5

Counting knows words and figures, no meaning. So a figure that differs weighs far more than words that do, an
answer near its reference in other words is not red (UNSURE), and every reason says that it is a stand-in's.
How far these grades agree with people is measured by `make bench-validity`: about as far as word overlap
does.
"""

from bisect import bisect_right
from collections.abc import Callable
from functools import cache
from typing import NamedTuple

from pydantic import JsonValue

from simulator.core.replies import Statement, Usefulness, average_precision, recalled_share, share_of
from simulator.core.templates import fingerprint
from simulator.core.types import GradingContext, Response, Score
from simulator.text import acts
from simulator.text.entities import lacking
from simulator.text.evidence import (
    TurnEvidence,
    all_references,
    best_agreement,
    content_units,
    coverage,
    declines,
    refuses,
    share,
    statements,
    support,
    topic_units,
    total_weight,
)
from simulator.text.segments import sentences
from simulator.text.wording import percent, quoted

# Raised when what is counted changes: it is part of the fingerprint that is kept with every grade, so that
# grades of different formulas are never mixed.
FORMULA = 9
# At which share (0..1) the grades 2, 3, 4 and 5 are reached; nothing is a 1. One setting for both languages,
# chosen by eye on the bundled questions, not fitted to anything.
LIMITS = {
    # of the answer's words that are in the passages, less what missing numbers take from it
    "groundedness": (0.25, 0.45, 0.6, 0.85),
    # of the nearest reference that the answer says
    "similarity": (0.1, 0.22, 0.42, 0.62),
}
# A line of so many characters (ja) or words (en) may ask for nothing.
SHORT = {"ja": 8, "en": 3}
# Decimals of a grade: enough to tell answers apart, and few enough to read.
DECIMALS = 2
# A sentence of which a smaller share was found is worth quoting in the reason, as an example of what is
# missing.
WORTH_QUOTING = 0.6
# The least support of an answer that only asks back: a question states nothing.
ASKED_BACK = 0.6
# Correctness: the grade of similarity from which on an answer says what its reference says.
SAME = 4
# The grade of an answer of which counting cannot tell whether it is right.
UNSURE = 3.5
# An answer with a smaller share of its words in the passages has nothing to do with them, if it has so many.
RELATED, LONG = 0.1, 10
# Turn: of an answer that agrees less with the reference this much of its support counts (at most a 2.75), and
# this much where it gives another amount (at most a 2).
ANSWERS, BESIDE_THE_POINT, OTHER_AMOUNT = 0.3, 0.4, 0.25
# The same of an answer that leaves a number of the reference out: that is mostly the point.
ANSWERS_WITHOUT_NUMBER = 0.48
# From this recall on, an answer declines as the reference does, in words of its own.
DECLINES = 0.6
# A passage is of use that holds this share of a statement of the reference, or of the question; a statement
# is found in a passage that holds this share of it.
HOLDS_REFERENCE, HOLDS_QUESTION, FOUND = 0.6, 0.5, 0.6


def grade_of(share: float, judge: str) -> float:
    """The grade (1 to 5) of a share (0..1), rising in straight lines from limit to limit.

    Of groundedness 0 -> 1.0, 0.5 -> 3.33, 0.6 -> 4.0, 0.9 -> 5.0.
    """
    knots = (0.0, *LIMITS[judge])
    at = bisect_right(knots, share)
    if at == len(knots):
        return 5.0
    return round(at + (share - knots[at - 1]) / (knots[at] - knots[at - 1]), DECIMALS)


class Verdict(NamedTuple):
    """A grade: `raw` on `scale` (None: not graded), its reason, and the figures behind it."""

    raw: float | None
    reason: str
    detail: dict[str, JsonValue]
    scale: tuple[float, float] = (1, 5)


def without(reading: TurnEvidence, lacking: str) -> Verdict:
    """No grade, because a `reference`, `passages`, `statements` or all `evidence` are missing."""
    return Verdict(None, reading.say(f"no_{lacking}", turn=str(reading.context.turn.index)), {})


def groundedness(reading: TurnEvidence) -> Verdict:
    """The share of the answer's words that are in this turn's passages; numbers in none cost up to half."""
    found, say = reading.support, reading.say
    missing: list[JsonValue] = [number.text for number in found.numbers]
    detail: dict[str, JsonValue] = {"score": round(found.score, 4), "missing_numbers": missing}
    # Who rightly declines claims nothing, and so nothing that is not in the passages.
    declined = reading.expected == "refuse" and declines(reading.answer, reading.language)
    if declined or not (statements(reading.answer, reading.language) or reading.only_asks):
        return Verdict(5, say("nothing_claimed"), detail)
    if not reading.passages:
        return Verdict(1, say("nothing_found"), detail)
    if reading.only_asks:
        return Verdict(grade_of(max(ASKED_BACK, found.score), "groundedness"), say("asked_back"), detail)
    reason = say.together([say("supported", share=percent(found.share)), *unsupported(reading)])
    grade = grade_of(found.score, "groundedness")
    if found.share >= RELATED or total_weight(content_units(reading.answer)) < LONG:
        grade = max(grade, min(UNSURE, least_grade(reading)))
    return Verdict(grade, reason, detail)


def least_grade(reading: TurnEvidence) -> float:
    """The least grade of an answer with which nothing countable is wrong; 1 for all others.

    SAME where it says what the reference says. Where it shares a few words and its figures are no others,
    counting cannot tell other words from another thing: UNSURE, which is not red.
    """
    found = reading.agreed
    # A figure that no passage has is countable, and decides.
    if reading.support.numbers or not reading.wanted or reading.refused:
        return 1
    if reading.already_answered:
        return UNSURE
    if found.is_same:
        return SAME
    return 1 if found.is_beside or reading.differs else UNSURE


def unsupported(reading: TurnEvidence) -> list[str]:
    """Sentences on what is in no passage: the numbers, and the sentence of which least was found."""
    say, asked = reading.say, reading.context.turn.user
    claims = acts.claims(reading.answer, reading.language)
    each = [support(text, reading.passages, asked) for text in claims]
    worst = min(each, key=lambda found: found.share, default=None)
    said = []
    if reading.support.numbers:
        said.append(say("numbers", items=say.listed([number.text for number in reading.support.numbers])))
    if worst and worst.share < WORTH_QUOTING:
        said.append(say("lacking", quote=quoted(worst.text)))
    return said


def comparison(reading: TurnEvidence) -> str:
    """The sentences of a reason: what answer and reference have in common, and how they differ."""
    found, say = reading.agreement, reading.say
    declines = all(acts.is_refusal(text, reading.language) for text in reading.context.references)
    if reading.refused or declines:
        return say("both_refuse" if reading.refused and declines else "only_one_refuses")
    said = [say("matched", share=percent(found.recall))]
    if found.lacks:
        said.append(say("wrong_numbers", items=say.listed([lack.text for lack in found.lacks])))
    if found.missing:
        said.append(say("unsaid", quote=quoted(found.missing[0])))
    return say.together(said)


def compared(reading: TurnEvidence, raw: Callable[[float], float], scale: tuple[float, float]) -> Verdict:
    """A grade (made by `raw`) of the agreement with the nearest reference of this turn."""
    if not reading.context.references:
        return without(reading, "reference")
    found = reading.agreement
    detail: dict[str, JsonValue] = {
        "score": round(found.score, 4),
        "recall": round(found.recall, 4),
        "missing_numbers": [lack.text for lack in found.lacks],
    }
    return Verdict(raw(found.score), comparison(reading), detail, scale)


def similarity(reading: TurnEvidence) -> Verdict:
    """How far the answer says what the nearest reference says; another figure leaves a tenth of it."""
    return compared(reading, lambda score: grade_of(score, "similarity"), (1, 5))


def llm_similarity(reading: TurnEvidence) -> Verdict:
    """The same as a share (0..1)."""
    return compared(reading, lambda score: round(score, 4), (0, 1))


def llm_correctness(reading: TurnEvidence) -> Verdict:
    """1 when the answer says what the nearest reference says, and no other amount."""
    return compared(reading, lambda score: float(grade_of(score, "similarity") >= SAME), (0, 1))


def context_precision(reading: TurnEvidence) -> Verdict:
    """Whether the useful passages come first: average precision (0..1, RAGAS) in the retriever's order."""
    passages = reading.context.turn.answer.passages
    if not passages:
        return without(reading, "passages")
    judged = [Usefulness(id=passage.id, useful=int(is_useful(reading, passage.text))) for passage in passages]
    raw = average_precision(judged, reading.context)
    useless = [each.text for each, verdict in zip(passages, judged, strict=True) if not verdict.useful]
    rows: list[JsonValue] = [each.model_dump() for each in judged]
    said = [reading.say("useful", found=str(len(passages) - len(useless)), count=str(len(passages)))]
    if useless:
        said.append(reading.say("useless", quote=quoted(useless[0])))
    return Verdict(raw, reading.say.together(said), {"passages": rows, "score": round(raw, 4)}, (0, 1))


def context_recall(reading: TurnEvidence) -> Verdict:
    """The share (0..1, RAGAS) of the reference's statements that the passages hold."""
    if not reading.context.references:
        return without(reading, "reference")
    if not reading.passages:
        return without(reading, "passages")
    stated = reference_statements(reading)
    if not stated:
        return without(reading, "statements")
    judged = [found_in(reading, text) for text in stated]
    raw = recalled_share(judged)
    absent = [each.text for each in judged if not each.found]
    rows: list[JsonValue] = [each.model_dump() for each in judged]
    said = [reading.say("recalled", found=str(len(judged) - len(absent)), count=str(len(judged)))]
    if absent:
        said.append(reading.say("lacking", quote=quoted(absent[0])))
    return Verdict(raw, reading.say.together(said), {"statements": rows, "score": round(raw, 4)}, (0, 1))


def reference_statements(reading: TurnEvidence) -> tuple[str, ...]:
    """What the nearest reference of this turn states, sentence by sentence; none when it declines."""
    references = reading.context.references
    # Of several right answers the one that the bot gave, or came nearest to.
    nearest = max(references, key=lambda text: coverage(text, [reading.answer]), default="")
    return acts.claims(nearest, reading.language)


def is_useful(reading: TurnEvidence, passage: str) -> bool:
    """Whether a passage holds most of a statement of the reference; without one, of what is asked."""
    units, stated = content_units(passage), reference_statements(reading)
    if stated:
        return any(share(topic_units(text), units) >= HOLDS_REFERENCE for text in stated)
    asked = (reading.context.turn.user, reading.case.question)
    return any(coverage(need, [passage]) >= HOLDS_QUESTION for need in asked)


def found_in(reading: TurnEvidence, statement: str) -> Statement:
    """The passage that holds most of a statement of the reference, and all its numbers."""
    wanted = topic_units(statement)
    whole = [
        (share(wanted, content_units(passage.text)), passage.id)
        for passage in reading.context.turn.answer.passages
        if not lacking(statement, [passage.text])
    ]
    best, where = max(whole, default=(0.0, ""))
    found = best >= FOUND
    return Statement(text=statement, passage=where if found else "", found=int(found))


class Outcome(NamedTuple):
    """What became of a turn: two grades (1..5), and the key of the sentence that says it."""

    overall: float
    correctness: float
    conclusion: str


def turn(reading: TurnEvidence) -> Verdict:
    """How far the answer does what the desk should do here: comfort, decline or answer.

    An answer is held against the passages, and against the reference, if there is one; with neither there
    is nothing to count, and no grade. Nor is there for the answer to a word or two that ask for nothing.
    """
    if reading.expected == "answer" and not (reading.passages or reading.wanted):
        return without(reading, "evidence")
    if reading.expected != "comfort" and asks_for_nothing(reading):
        return without(reading, "request")
    rule = {"comfort": _comforting, "refuse": _declining, "answer": _answering}[reading.expected]
    found, say = rule(reading), reading.say
    against = "reference" if reading.context.references else "passages" if reading.passages else "neither"
    conclusion = say.together([say(found.conclusion), *_remarks(reading, found)])
    detail: dict[str, JsonValue] = {
        "correctness": found.correctness,
        "overall": found.overall,
        "steps": [*_steps(reading)],
        "against": say(f"against_{against}"),
        "conclusion": say("mark") + conclusion,
        "score": round(found.overall / 5, 4),
    }
    return Verdict(found.overall, conclusion, detail)


def response_of(context: GradingContext) -> Response:
    """What an answer does, by its wording alone: the one place that says so where no model judges.

    That some of what was asked is left open counting cannot tell: it says `answered` of `partly`, too.
    """
    text, language, references = context.turn.answer.text, context.case.language, all_references(context.case)
    if not any(map(str.isalnum, text)):
        return "nothing"
    if refuses(text, references, language):
        return "handed_over" if acts.is_handover(text, language) else "declined"
    kinds = {part.act for part in acts.parts(text, language)}
    if "question" in kinds and kinds <= {"question", "courtesy"}:
        return "asked_back"
    # Of an answer that also passes the customer on the case says which of both is looked at.
    hands_over = context.case.handover != "optional" and acts.passes_on(text, language)
    return "handed_over" if hands_over else "answered"


def asks_for_nothing(reading: TurnEvidence) -> bool:
    """Whether the customer says but a word or two ("alright", "not quite"), and none of the matter."""
    line = reading.context.turn.user.strip()
    size = len(line) if reading.language == "ja" else len(line.split())
    if (
        reading.context.turn.index == 1
        or size > SHORT[reading.language]
        or acts.ends_with_question(line, reading.language)
    ):
        return False
    # A single word may name the matter ("Refund?"), and then asks for something.
    matter = content_units(" ".join((reading.case.question, reading.case.goal or "")))
    return not content_units(line) & matter


def _comforting(reading: TurnEvidence) -> Outcome:
    """A complaint needs an apology and a person, not an explanation."""
    if reading.handed_over:
        return (
            Outcome(5, 5, "complaint_good") if reading.apologises else Outcome(4, 5, "complaint_no_apology")
        )
    if reading.refused:
        return Outcome(2, 4, "complaint_refused")
    if reading.apologises and not acts.claims(reading.answer, reading.language):
        return Outcome(3, 5, "complaint_no_handover")
    grade = 2 if reading.apologises else 1
    return Outcome(grade, grade_of(reading.support.score, "groundedness"), "complaint_ignored")


def _declining(reading: TurnEvidence) -> Outcome:
    """A question that the material does not answer must be declined; what only states is invented."""
    agreed = best_agreement(reading.answer, all_references(reading.case), reading.language)
    if declines(reading.answer, reading.language) or agreed.recall >= DECLINES:
        return Outcome(5 if reading.has_contact else 4, 5, "rightly_refused")
    return Outcome(4, 4, "fair") if reading.hints_at_refusal else Outcome(2, 2, "invented")


def _answering(reading: TurnEvidence) -> Outcome:
    """Supported by the passages, and less so if it says hardly anything of the reference.

    Without passages it is the reference alone.
    """
    agreed, is_unsure = reading.agreed, False
    if reading.passages:
        least = ANSWERS_WITHOUT_NUMBER if agreed.lacks else ANSWERS
        lacks = bool(reading.wanted) and (agreed.score < least or reading.differs)
        lacks = lacks and not reading.already_answered
        wrong = OTHER_AMOUNT if lacks and agreed.instead else 1
        correct = grade_of(wrong * reading.support.score, "groundedness")
        beside = min(wrong, BESIDE_THE_POINT if lacks else 1)
        grade = grade_of(beside * reading.support.score, "groundedness")
        floor = least_grade(reading)
        is_unsure = grade < floor == UNSURE
        grade, correct = max(grade, floor), max(correct, floor)
    else:
        grade = correct = grade_of(agreed.score, "similarity")
    # Something could have been answered, so a refusal is at best a 2, however well it is put.
    if reading.refused and reading.wanted:
        needless = reading.handed_over and reading.case.handover == "forbidden"
        return Outcome(min(grade, 2), correct, "needless_handover" if needless else "wrongly_refused")
    if reading.case.handover == "required" and not reading.handed_over:
        return Outcome(min(grade, 3), correct, "no_handover")
    told = "unsure" if is_unsure else ("poor", "poor", "fair", "good", "good")[int(grade) - 1]
    return Outcome(grade, correct, told)


def _remarks(reading: TurnEvidence, found: Outcome) -> list[str]:
    """At most two sentences that a support lead can act on."""
    if found.conclusion == "rightly_refused":
        return [] if reading.has_contact else [reading.say("no_contact")]
    if reading.expected != "answer" or reading.refused:
        return []
    compared = [comparison(reading)] if reading.context.references else []
    return [*compared, *(unsupported(reading) if reading.passages else [])][:2]


def _steps(reading: TurnEvidence) -> list[str]:
    say = reading.say
    steps = [say("step_need", quote=quoted(reading.context.turn.user))]
    if reading.handed_over:
        steps.append(say("step_handed_over"))
    elif reading.refused:
        steps.append(say("step_refused"))
    else:
        steps.append(say("step_answer", count=str(len(sentences(reading.answer)))))
    if reading.context.references:
        steps.append(say("matched", share=percent(reading.agreement.recall)))
    else:
        steps.append(say("step_no_reference"))
    if reading.passages and not reading.refused:
        steps.append(say("supported", share=percent(reading.support.share)))
    return steps


# The judges of the shelf that have a stand-in.
STAND_INS: dict[str, Callable[[TurnEvidence], Verdict]] = {
    "turn": turn,
    "groundedness": groundedness,
    "similarity": similarity,
    "context_precision": context_precision,
    "context_recall": context_recall,
    "llm_similarity": llm_similarity,
    "llm_correctness": llm_correctness,
}


@cache
def rubric_of(judge: str) -> str:
    """The rubric of a lexical judge's scores: the formula, and a hash of all that decides its grades."""
    return f"lexical-{FORMULA}-{fingerprint(judge, repr(LIMITS), acts.FILE.read_text(encoding='utf-8'))}"


class LexicalJudge:
    """One judge of the shelf, played by counting: the same grade everywhere, with a reason."""

    def __init__(self, name: str) -> None:
        """`name` is one of STAND_INS."""
        self.name, self.rubric = name, rubric_of(name)
        self._verdict = STAND_INS[name]

    def grade(self, context: GradingContext) -> Score:
        """The score of one turn, on the judge's own scale; skipped if its evidence is missing."""
        reading = TurnEvidence(context)
        verdict = self._verdict(reading)
        graded = verdict.raw is not None
        return Score(
            judge=self.name,
            conversation=context.conversation,
            turn=context.turn.index,
            state="scored" if graded else "skipped",
            value=None if verdict.raw is None else share_of(verdict.raw, verdict.scale),
            raw=verdict.raw,
            scale=verdict.scale,
            reason=reading.say("mark") + verdict.reason if graded else verdict.reason,
            response=response_of(context) if self.name == "turn" else None,
            detail=verdict.detail,
            rubric=self.rubric,
        )
