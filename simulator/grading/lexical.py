"""Judging by counting: the measures and the wording of the stand-ins that need no model.

Nothing here does I/O beyond reading its own two TOML files, and everything is a function of its texts.
"""

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal, NamedTuple

from pydantic import JsonValue

from simulator.core.errors import PromptError
from simulator.core.replies import Statement, Usefulness, average_precision, found_share, share_of
from simulator.core.templates import fingerprint, read_toml
from simulator.core.types import GradingContext, Language, Passage, Score, Severity
from simulator.grading.disturbances import COSTS, disturbances
from simulator.text import acts
from simulator.text.acts import claims
from simulator.text.evidence import (
    ANSWERED,
    CJK_TEXT,
    Agreement,
    Finding,
    PassageContents,
    Reading,
    Support,
    best_agreement,
    content_units,
    count_units,
    coverage,
    finding,
    known_of,
    mass,
    share,
    topic_units,
)
from simulator.text.numerals import Quantity, quantities, unmatched
from simulator.text.segments import clauses, normalise, sentences
from simulator.text.typography import straight_pattern
from simulator.text.wording import percent, quoted

FILE = Path(__file__).with_name("grades.toml")
# Grades have so many decimals: enough to tell answers apart, and few enough to read.
DECIMALS = 2


class GradeScale:
    """The map from shares to grades, read and checked once."""

    def __init__(self, path: Path = FILE) -> None:
        """Raises PromptError unless every judge's limits are four rising shares."""
        tables = read_toml(path)
        self.formula = tables.get("formula")
        if not isinstance(self.formula, int):
            raise PromptError(f"{path}: formula must be a whole number.")
        limits = _table(path, tables, "limits")
        self._knots = {name: (0.0, *_rising(path, name, each)) for name, each in limits.items()}
        self._thresholds = _table(path, tables, "thresholds")
        for name, value in self._thresholds.items():
            if not _is_share(value):
                raise PromptError(f"{path}: [thresholds] {name} must be a share between 0 and 1.")

    def grade(self, share: float, judge: str, most: float = 5) -> float:
        """The grade (1 to `most`) of a share (0..1), rising in straight lines from limit to limit.

        `most` narrows the whole range instead of cutting its top off: what is capped keeps its order.
        """
        knots = self._knots[judge]
        at = bisect_right(knots, share)
        if at == len(knots):
            grade = float(at)
        else:
            grade = at + max(0.0, share - knots[at - 1]) / (knots[at] - knots[at - 1]) if at else 1.0
        return round(capped(grade, most), DECIMALS)

    def reaches(self, share: float, threshold: str) -> bool:
        """Whether a share is at or above a named threshold."""
        return share >= float(self._thresholds[threshold])


def capped(grade: float, most: float) -> float:
    """A grade (1..5) in the narrower range from 1 to `most`, in its order."""
    return 1 + (grade - 1) * (most - 1) / 4


@cache
def grades() -> GradeScale:
    """The shipped map."""
    return GradeScale()


def grade_of(share: float, judge: str, most: float = 5) -> float:
    """The grade (1 to `most`, at most 5) of a share (0..1) by the shipped map."""
    return grades().grade(share, judge, most)


def _table(path: Path, tables: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    found = tables.get(key)
    if not isinstance(found, Mapping):
        raise PromptError(f"{path}: the table [{key}] is missing.")
    return found


def _rising(path: Path, name: str, limits: Any) -> Sequence[float]:
    if (
        not isinstance(limits, list)
        or len(limits) != 4
        or not all(map(_is_share, limits))
        or any(low >= high for low, high in pairwise(limits))
    ):
        raise PromptError(f"{path}: [limits] {name} must be four rising shares between 0 and 1.")
    return [float(limit) for limit in limits]


def _is_share(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < 1


# From this share of its claims on that are invented an answer is at most a 3; less is less grave.
MUCH_INVENTED = 0.25
# Which part of an answer is worth quoting as not found.
WORTH_QUOTING = 0.6


class Verdict(NamedTuple):
    """What a stand-in finds: `raw` on `scale` (None: not graded), its reason, and what it was made of."""

    raw: float | None
    reason: str
    detail: dict[str, JsonValue]
    scale: tuple[float, float] = (1, 5)
    severity: Severity | None = None


def without(reading: Reading, lacking: str) -> Verdict:
    """No grade, for want of a `reference`, `passages` or `statements`."""
    return Verdict(None, reading.say(f"no_{lacking}", turn=str(reading.context.turn.index)), {})


def supported_grade(support: Support) -> float:
    """The grade of what is borne out of the claims; 5 when there are none.

    A figure that is found nowhere, or much that is invented, allows at most 3; a contradiction at most 2.
    These narrow the range, so that the answers below a cap still differ.
    """
    most = 2 if support.contradicted else 3 if support.numbers else 5 - 2 * _much(support)
    return grade_of(support.claimed, "groundedness", most)


def _much(support: Support) -> float:
    return min(1.0, support.invented / MUCH_INVENTED)


def groundedness(reading: Reading) -> Verdict:
    """How far the passages of this turn hold what the answer claims; in detail the shares and what lacks."""
    support, say = reading.support, reading.say
    detail: dict[str, JsonValue] = {
        "score": round(support.score, 4),
        "claimed": round(support.claimed, 4),
        "claims": len(support.claims),
        "missing_numbers": [*reading.shown(support.numbers)],
        "contradicted": list(support.contradicted),
    }
    if not support.claims:
        asks = reading.only_asks
        return Verdict(4 if asks else 5, say("asked_back" if asks else "nothing_claimed"), detail)
    if not reading.passages:
        return Verdict(1, say("nothing_found"), detail)
    found = say("supported", share=percent(_found(reading)))
    return Verdict(supported_grade(support), say.together([found, *lacking(reading)]), detail)


def lacking(reading: Reading) -> list[str]:
    """Sentences that say what of the answer no passage bears out, the gravest first."""
    support, say = reading.support, reading.say
    worst = min(support.claims, key=lambda claim: claim.share, default=None)
    said = []
    if support.contradicted:
        said.append(say("contradicted", quote=quoted(support.contradicted[0])))
    if support.numbers:
        said.append(say("numbers", items=say.listed(reading.shown(support.numbers))))
    if worst is not None and worst.share < WORTH_QUOTING:
        said.append(say("lacking", quote=quoted(worst.text)))
    return said


def similarity(reading: Reading) -> Verdict:
    """How far the answer says what the nearest reference says. Figures and yes or no weigh most."""
    if not reading.context.references:
        return without(reading, "reference")
    return Verdict(agreed_grade(reading.agreement), compared(reading), agreement_detail(reading))


def agreed_grade(found: Agreement) -> float:
    """The grade of an agreement; another amount or the opposite allows at most 2."""
    return grade_of(found.score, "similarity", 2 if found.instead or found.contradicted else 5)


def compared(reading: Reading) -> str:
    """What answer and reference have in common, and what not."""
    found, say = reading.agreement, reading.say
    if reading.refused or reading.reference_refuses:
        return say("both_refuse" if reading.refused and reading.reference_refuses else "only_one_refuses")
    return say.together([say("matched", share=percent(found.recall)), *differing(reading, found)])


def agreement_detail(reading: Reading) -> dict[str, JsonValue]:
    """The agreement with the nearest reference, and what is against it."""
    found = reading.agreement
    return {
        "score": round(found.score, 4),
        "recall": round(found.recall, 4),
        "missing_numbers": [*reading.shown(found.numbers)],
        "contradicted": list(found.contradicted),
    }


def differing(reading: Reading, found: Agreement) -> list[str]:
    """Sentences that say what differs from the reference."""
    say, said = reading.say, []
    if found.contradicted:
        said.append(say("opposite", quote=quoted(found.contradicted[0])))
    if found.numbers:
        said.append(say("wrong_numbers", items=say.listed(reading.shown(found.numbers))))
    if found.missing:
        said.append(say("unsaid", quote=quoted(found.missing[0])))
    return said


def relevance(reading: Reading) -> Verdict:
    """How far the answer, or the passage that it is taken from, takes up what was asked."""
    say = reading.say
    detail: dict[str, JsonValue] = {"score": round(reading.relevance, 4)}
    if reading.handed_over:
        return Verdict(4, say("handed_over"), detail)
    if reading.refused:
        if reading.has_contact:
            return Verdict(4, say("refused_with_contact"), detail)
        return Verdict(3, say("refused"), detail)
    if reading.only_asks:
        return Verdict(4, say("asked_back"), detail)
    reason = say("covered", share=percent(reading.covered))
    return Verdict(grade_of(reading.relevance, "relevance"), reason, detail)


def fluency(reading: Reading) -> Verdict:
    """How undisturbed it reads. Only signs that need no reading are looked for, so most texts get a 5."""
    found, say = disturbances(reading.answer, reading.language), reading.say
    cost = sum(COSTS[name] for name in found)
    detail: dict[str, JsonValue] = {"score": max(0.0, 1 - cost / 5), "signs": list(found)}
    if not found:
        return Verdict(5, say("fluent"), detail)
    named = say.listed([say.disturbance(name) for name in found])
    return Verdict(max(1, 5 - cost), say("disturbed", items=named), detail)


def _found(reading: Reading) -> float:
    """The share of the claims' words that are in the passages, before anything is taken off."""
    claims = reading.support.claims
    whole = sum(claim.weight for claim in claims)
    return sum(claim.share * claim.weight for claim in claims) / whole if whole else 1.0


# A clause of less weight than this is no claim of its own: it stays with the one before it.
OWN_CLAIM = 24.0
# An answer beyond this many claims is cut: each is compared with each passage.
MOST_CLAIMS, MOST_PASSAGES = 40, 40

Outcome = Literal["supported", "contradicted", "not_found"]


class CheckedClaim(NamedTuple):
    """A claim, the passage nearest to it, if any, and what the passages say of it."""

    text: str
    passage: str
    outcome: Outcome


def claimwise_claims(reading: Reading) -> Verdict:
    """The share (0..1) of the claims that the passages bear out; 1 when nothing is claimed."""
    checked = check(reading)
    wrong = [each for each in checked if each.outcome != "supported"]
    outcomes = {each.outcome for each in checked}
    severity: Severity | None = (
        "major" if "contradicted" in outcomes else "moderate" if "not_found" in outcomes else None
    )
    told: list[JsonValue] = [
        {"claim": each.text, "passage": each.passage, "verdict": each.outcome} for each in checked
    ]
    raw = 1 - len(wrong) / len(checked) if checked else 1.0
    detail: dict[str, JsonValue] = {"claims": told, "score": round(reading.support.claimed, 4)}
    return Verdict(raw, _reason(reading, checked), detail, (0, 1), severity)


def check(reading: Reading) -> list[CheckedClaim]:
    """The claims of an answer in their order, each held against this turn's passages."""
    passages = reading.context.turn.answer.passages[:MOST_PASSAGES]
    told = quantities(reading.context.turn.user)
    everything = _with(known_of(tuple(passage.text for passage in passages)), told)
    return [_checked(text, passages, everything, told) for text in split(reading)]


def split(reading: Reading) -> list[str]:
    """What the answer states: its sentences, and their clauses where these say something of their own."""
    found: list[str] = []
    for sentence in acts.claims(reading.answer, reading.language):
        found += _clauses(sentence)
    return found[:MOST_CLAIMS]


def _clauses(sentence: str) -> list[str]:
    """A light clause at the start goes with the next one, any other with the one before it."""
    groups: list[list[str]] = []
    heavy = 0.0
    for clause in clauses(sentence):
        weight = mass(count_units(clause))
        if groups and min(weight, heavy) < OWN_CLAIM:
            groups[-1].append(clause)
            heavy += weight
        else:
            groups.append([clause])
            heavy = weight
    return [("" if CJK_TEXT.search(sentence) else " ").join(group) for group in groups]


def _checked(
    text: str, passages: Iterable[Passage], everything: PassageContents, told: Iterable[Quantity]
) -> CheckedClaim:
    each = [(passage, finding(text, _with(known_of((passage.text,)), told))) for passage in passages]
    if not each:
        return CheckedClaim(text, "", "not_found")
    nearest, found = max(each, key=lambda pair: pair[1].support)
    whole = finding(text, everything)
    reaches = grades().reaches
    if (found.contradicted and whole.contradicted) or _other_figure(text, found, nearest):
        return CheckedClaim(text, nearest.id, "contradicted")
    if reaches(whole.share, "supported") and not whole.numbers and not whole.contradicted:
        return CheckedClaim(text, nearest.id, "supported")
    return CheckedClaim(text, "", "not_found")


def _other_figure(text: str, found: Finding, nearest: Passage) -> bool:
    """Whether a sentence that is else alike has another amount in the unit of one that the passage lacks."""
    units = {number.unit for number in found.numbers} - {""}
    if not units:
        return False
    wanted, said, reaches = topic_units(text), quantities(text), grades().reaches
    return any(
        units & {number.unit for number in quantities(sentence) - said}
        and reaches(share(wanted, content_units(sentence)), "near")
        for sentence in sentences(nearest.text)
    )


def _with(known: PassageContents, numbers: Iterable[Quantity]) -> PassageContents:
    """What is known, and the numbers that the customer gave."""
    return known._replace(numbers=known.numbers | frozenset(numbers))


def _reason(reading: Reading, checked: list[CheckedClaim]) -> str:
    say = reading.say
    if not checked:
        return say("nothing_claimed")
    borne_out = sum(each.outcome == "supported" for each in checked)
    said = [say("claims", found=str(borne_out), count=str(len(checked)))]
    for outcome, key in (("contradicted", "contradicted"), ("not_found", "lacking")):
        first = next((each.text for each in checked if each.outcome == outcome), None)
        said += [say(key, quote=quoted(first))] if first else []
    return say.together(said)


FEELINGS_FILE = Path(__file__).with_name("feelings.toml")
ANGRY = -2.0
# What each list adds; what is said before a turn ("thank you, but ...") counts half.
WORTH = {"furious": -2.0, "unhappy": -1.0, "glad": 1.0, "delighted": 2.0}
BEFORE_A_TURN = 0.5
# A text longer than this is cut.
LONGEST = 4000


class Felt(NamedTuple):
    """The feeling (-2..2, not rounded) and the words that show it."""

    strength: float
    words: tuple[str, ...]


class _Words:
    """The compiled lists of one language."""

    def __init__(self, language: Language) -> None:
        table = read_toml(FEELINGS_FILE)[language]
        self.lists = {
            name: re.compile(straight_pattern("|".join(f"(?:{word})" for word in table[name])))
            for name in WORTH
        }
        self.cancels, self.turn, self.louder = (
            re.compile(straight_pattern(table[name])) for name in ("cancels", "turn", "louder")
        )


def felt(text: str, language: Language) -> Felt:
    """What feeling the words show: angry words outweigh thanks, and what follows a "but" what precedes it."""
    words = _words(language)
    plain = words.cancels.sub(" ", normalise(text[:LONGEST]))
    parts = [part for part in words.turn.split(plain) if part.strip()]
    found: list[str] = []
    worst = best = 0.0
    for at, part in enumerate(parts):
        kept = 1.0 if at == len(parts) - 1 else BEFORE_A_TURN
        for name, worth in WORTH.items():
            said = [match[0] for match in words.lists[name].finditer(part)]
            found += said
            if said:
                worst, best = min(worst, worth * kept), max(best, worth * kept)
    strength = worst + best if worst > ANGRY else worst
    if strength and words.louder.search(plain):
        strength += 1 if strength > 0 else -1
    return Felt(max(-2.0, min(2.0, strength)), tuple(dict.fromkeys(found)))


def tone(reading: Reading) -> Verdict:
    """The customer's feeling in this turn, from -2 (angry) over 0 (even) to 2 (delighted)."""
    found, say = felt(reading.context.turn.user, reading.language), reading.say
    raw = _whole(found.strength)
    detail: dict[str, JsonValue] = {
        "feeling": raw,
        "words": list(found.words),
        "score": round((found.strength + 2) / 4, 4),
    }
    if not found.words:
        return Verdict(raw, say("even"), detail, (-2, 2))
    side = "unhappy" if raw < 0 else "glad" if raw > 0 else "mixed"
    items = say.listed([quoted(word) for word in found.words])
    return Verdict(raw, say(side, items=items), detail, (-2, 2))


def _whole(strength: float) -> int:
    """Rounded away from 0: half a feeling is one."""
    return int(strength + (0.5 if strength > 0 else -0.5))


@cache
def _words(language: Language) -> _Words:
    return _Words(language)


# The grade of similarity from which on an answer says what its reference says.
SAME = 4


def llm_similarity(reading: Reading) -> Verdict:
    """How far (0..1) the answer says what the nearest reference says."""
    if not reading.context.references:
        return without(reading, "reference")
    return Verdict(round(reading.agreement.score, 4), compared(reading), agreement_detail(reading), (0, 1))


def llm_correctness(reading: Reading) -> Verdict:
    """1 when the answer says what the nearest reference says, and neither another amount nor the opposite."""
    if not reading.context.references:
        return without(reading, "reference")
    found = reading.agreement
    differs = bool(found.instead or found.contradicted)
    right = grade_of(found.score, "similarity") >= SAME and not differs
    return Verdict(float(right), compared(reading), agreement_detail(reading), (0, 1))


def context_precision(reading: Reading) -> Verdict:
    """Whether the useful passages come first: average precision (0..1, RAGAS) in the retriever's order."""
    passages = reading.context.turn.answer.passages
    if not passages:
        return without(reading, "passages")
    judged = [Usefulness(id=each.id, useful=int(is_useful(reading, each.text))) for each in passages]
    raw = average_precision(judged, reading.context)
    useless = [each.text for each, verdict in zip(passages, judged, strict=True) if not verdict.useful]
    told: list[JsonValue] = [each.model_dump() for each in judged]
    said = [reading.say("useful", found=str(len(passages) - len(useless)), count=str(len(passages)))]
    if useless:
        said.append(reading.say("useless", quote=quoted(useless[0])))
    return Verdict(raw, reading.say.together(said), {"passages": told, "score": round(raw, 4)}, (0, 1))


def context_recall(reading: Reading) -> Verdict:
    """The share (0..1, RAGAS) of what the reference states that a passage holds."""
    if not reading.context.references:
        return without(reading, "reference")
    if not reading.passages:
        return without(reading, "passages")
    stated = statements(reading)
    if not stated:
        return without(reading, "statements")
    judged = [found_in(reading, text) for text in stated]
    raw = found_share(judged)
    absent = [each.text for each in judged if not each.found]
    told: list[JsonValue] = [each.model_dump() for each in judged]
    said = [reading.say("recalled", found=str(len(judged) - len(absent)), count=str(len(judged)))]
    if absent:
        said.append(reading.say("lacking", quote=quoted(absent[0])))
    return Verdict(raw, reading.say.together(said), {"statements": told, "score": round(raw, 4)}, (0, 1))


def statements(reading: Reading) -> list[str]:
    """What the nearest reference of this turn states, sentence by sentence; none when it declines."""
    references = reading.context.references
    nearest = max(references, key=lambda text: coverage(text, [reading.answer]), default="")
    return list(claims(nearest, reading.language))


def is_useful(reading: Reading, passage: str) -> bool:
    """Whether a passage holds most of a statement of the reference; without one, of what is asked."""
    units, reaches = content_units(passage), grades().reaches
    stated = statements(reading)
    if stated:
        return any(reaches(share(topic_units(text), units), "holds_reference") for text in stated)
    asked = (reading.context.turn.user, reading.case.question)
    return any(reaches(coverage(need, [passage]), "holds_question") for need in asked)


def found_in(reading: Reading, statement: str) -> Statement:
    """Where a statement of the reference is found: the passage with its numbers that holds most of it."""
    wanted, numbers = topic_units(statement), quantities(statement)
    whole = [
        (share(wanted, content_units(passage.text)), passage.id)
        for passage in reading.context.turn.answer.passages
        if not unmatched(numbers, quantities(passage.text))
    ]
    best, where = max(whole, default=(0.0, ""))
    found = grades().reaches(best, "found")
    return Statement(text=statement, passage=where if found else "", found=int(found))


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
    return "reference" if reading.context.references else "passages" if reading.passages else "neither"


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
    if reading.context.references:
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
    if not reading.passages and not reading.context.references:
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
        said += differing(reading, reading.agreement) if reading.context.references else []
        said += lacking(reading) if reading.passages else []
    if reading.repeats:
        said.append(reading.say("repeated"))
    return said[:2]


def _steps(reading: Reading) -> list[str]:
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
    if reading.support.claims and reading.passages:
        steps.append(say("supported", share=percent(reading.support.claimed)))
    return steps


# What decides grades, and so is part of their fingerprint.
DECISIVE = (FILE, acts.FILE, FEELINGS_FILE, acts.STANCES_FILE)
# The judges of the shelf that have a stand-in.
STAND_INS: dict[str, Callable[[Reading], Verdict]] = {
    "turn": turn,
    "relevance": relevance,
    "groundedness": groundedness,
    "claims": claimwise_claims,
    "similarity": similarity,
    "fluency": fluency,
    "tone": tone,
    "context_precision": context_precision,
    "context_recall": context_recall,
    "llm_similarity": llm_similarity,
    "llm_correctness": llm_correctness,
}


@cache
def rubric_of(judge: str, files: Sequence[Path] = DECISIVE) -> str:
    """What a stand-in's grades are filed under: formula, judge and all that decides grades, hashed."""
    texts = [path.read_text(encoding="utf-8") for path in files]
    return f"lexical-{GradeScale(files[0]).formula}-{fingerprint(judge, *texts)}"


class LexicalJudge:
    """Plays one judge of the shelf by counting: the same grade everywhere, and a reason that says why."""

    def __init__(self, name: str) -> None:
        """`name` is one of STAND_INS."""
        self.name, self.rubric = name, rubric_of(name)
        self._verdict = STAND_INS[name]

    async def __call__(self, context: GradingContext) -> Score:
        """As `graded`."""
        return self.graded(context)

    def graded(self, context: GradingContext) -> Score:
        """The grade of one turn, on the judge's scale; skipped where what it compares with is missing."""
        reading = Reading(context)
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
            severity=verdict.severity,
            reason=reading.say("mark") + verdict.reason if graded else verdict.reason,
            detail=verdict.detail,
            rubric=self.rubric,
        )
