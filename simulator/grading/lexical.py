"""The lexical judges: stand-ins for rubrics that grade by counting, where no model judges.

A grade depends on the texts and on two TOML files alone, so that it is the same everywhere.
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
from simulator.core.messages import _
from simulator.core.replies import Statement, Usefulness, average_precision, recalled_share, share_of
from simulator.core.templates import fingerprint, read_toml
from simulator.core.types import GradingContext, Language, Passage, Score, Severity
from simulator.grading.disturbances import COSTS, disturbances
from simulator.text import acts
from simulator.text.evidence import (
    ANSWERED,
    CJK_TEXT,
    Agreement,
    PassageContents,
    SentenceSupport,
    Support,
    TurnEvidence,
    best_agreement,
    content_units,
    count_units,
    coverage,
    passage_contents,
    sentence_support,
    share,
    topic_units,
    total_weight,
)
from simulator.text.numerals import Quantity, quantities, unmatched
from simulator.text.segments import clauses, normalise, sentences
from simulator.text.typography import straight_pattern
from simulator.text.wording import percent, quoted

FILE = Path(__file__).with_name("grades.toml")
FEELINGS_FILE = Path(__file__).with_name("feelings.toml")
# Decimals of a grade: enough to tell answers apart, and few enough to read.
DECIMALS = 2

# Groundedness: from this share of invented claims on an answer is at most a 3; less is less grave.
MUCH_INVENTED = 0.25
# A claim of which a smaller share was found is worth quoting in the reason.
WORTH_QUOTING = 0.6
# Claims: a clause of less weight than this is no claim of its own, but stays with the one before it.
OWN_CLAIM = 24.0
# Each claim is compared with each passage: what exceeds these numbers is left out.
MOST_CLAIMS, MOST_PASSAGES = 40, 40
# Correctness: the grade of similarity from which on an answer says what its reference says.
SAME = 4
# Tone: what each list adds; what stands before a "but" counts half, and longer texts are cut.
WORTH = {"furious": -2.0, "unhappy": -1.0, "glad": 1.0, "delighted": 2.0}
ANGRY = -2.0
BEFORE_A_TURN = 0.5
LONGEST = 4000
# Turn: the weight of each category in Overall, before the rules that cap it.
WEIGHTS = {
    "understanding": 0.15,
    "relevance": 0.2,
    "completeness": 0.3,
    "correctness": 0.3,
    "coherence": 0.05,
}
# The highest Overall for grades 1 to 5 of completeness and of correctness, interpolated between them.
CAP_BY_COMPLETENESS = (2, 3, 4, 4, 5)
CAP_BY_CORRECTNESS = (1, 2, 3, 5, 5)


class GradeScale:
    """The map from shares to grades, read and checked once."""

    def __init__(self, path: Path = FILE) -> None:
        """Raises PromptError unless every judge's limits are four rising shares."""
        tables = read_toml(path)
        self.formula = tables.get("formula")
        if not isinstance(self.formula, int):
            raise PromptError(_("{path}: formula must be a whole number.", path=path))
        limits = _table(path, tables, "limits")
        self._knots = {name: (0.0, *_rising(path, name, each)) for name, each in limits.items()}
        self._thresholds = _table(path, tables, "thresholds")
        for name, value in self._thresholds.items():
            if not _is_share(value):
                raise PromptError(
                    _("{path}: [thresholds] {name} must be a share between 0 and 1.", path=path, name=name)
                )

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
        raise PromptError(_("{path}: the table [{key}] is missing.", path=path, key=key))
    return found


def _rising(path: Path, name: str, limits: Any) -> Sequence[float]:
    if (
        not isinstance(limits, list)
        or len(limits) != 4
        or not all(map(_is_share, limits))
        or any(low >= high for low, high in pairwise(limits))
    ):
        raise PromptError(
            _("{path}: [limits] {name} must be four rising shares between 0 and 1.", path=path, name=name)
        )
    return [float(limit) for limit in limits]


def _is_share(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < 1


class Verdict(NamedTuple):
    """A grade: `raw` on `scale` (None: not graded), its reason, and the figures behind it."""

    raw: float | None
    reason: str
    detail: dict[str, JsonValue]
    scale: tuple[float, float] = (1, 5)
    severity: Severity | None = None


def without(reading: TurnEvidence, lacking: str) -> Verdict:
    """No grade, because a `reference`, `passages` or `statements` are missing."""
    return Verdict(None, reading.say(f"no_{lacking}", turn=str(reading.context.turn.index)), {})


def supported_grade(support: Support) -> float:
    """The grade (1..5) of the share of the claims that is supported; 5 without any claim.

    A figure that is found nowhere, or much that is invented, allows at most 3; a contradiction at most 2.
    A cap narrows the range, so that answers below it still differ.
    """
    invented = min(1.0, support.invented / MUCH_INVENTED)
    most = 2 if support.contradicted else 3 if support.numbers else 5 - 2 * invented
    return grade_of(support.claimed, "groundedness", most)


def groundedness(reading: TurnEvidence) -> Verdict:
    """How far the passages of this turn support what the answer claims."""
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
    weight = sum(claim.weight for claim in support.claims)
    share_found = sum(claim.share * claim.weight for claim in support.claims) / weight if weight else 1.0
    supported = say("supported", share=percent(share_found))
    return Verdict(supported_grade(support), say.together([supported, *unsupported(reading)]), detail)


def unsupported(reading: TurnEvidence) -> list[str]:
    """Sentences on what no passage supports in the answer, the gravest first."""
    support, say = reading.support, reading.say
    worst = min(support.claims, key=lambda claim: claim.share, default=None)
    parts = []
    if support.contradicted:
        parts.append(say("contradicted", quote=quoted(support.contradicted[0])))
    if support.numbers:
        parts.append(say("numbers", items=say.listed(reading.shown(support.numbers))))
    if worst is not None and worst.share < WORTH_QUOTING:
        parts.append(say("lacking", quote=quoted(worst.text)))
    return parts


def similarity(reading: TurnEvidence) -> Verdict:
    """How far the answer says what the nearest reference says; figures and yes or no weigh most."""
    if not reading.context.references:
        return without(reading, "reference")
    return Verdict(agreement_grade(reading.agreement), comparison(reading), agreement_detail(reading))


def agreement_grade(agreement: Agreement) -> float:
    """The grade of an agreement; another amount or the opposite allows at most 2."""
    return grade_of(agreement.score, "similarity", 2 if agreement.instead or agreement.contradicted else 5)


def comparison(reading: TurnEvidence) -> str:
    """The sentences of a reason: what answer and reference have in common, and how they differ."""
    found, say = reading.agreement, reading.say
    if reading.refused or reading.reference_refuses:
        return say("both_refuse" if reading.refused and reading.reference_refuses else "only_one_refuses")
    return say.together([say("matched", share=percent(found.recall)), *differences(reading, found)])


def agreement_detail(reading: TurnEvidence) -> dict[str, JsonValue]:
    """The agreement with the nearest reference, and what is against it."""
    found = reading.agreement
    return {
        "score": round(found.score, 4),
        "recall": round(found.recall, 4),
        "missing_numbers": [*reading.shown(found.numbers)],
        "contradicted": list(found.contradicted),
    }


def differences(reading: TurnEvidence, found: Agreement) -> list[str]:
    """Sentences on how the answer differs from the reference."""
    say, parts = reading.say, []
    if found.contradicted:
        parts.append(say("opposite", quote=quoted(found.contradicted[0])))
    if found.numbers:
        parts.append(say("wrong_numbers", items=say.listed(reading.shown(found.numbers))))
    if found.missing:
        parts.append(say("unsaid", quote=quoted(found.missing[0])))
    return parts


def relevance(reading: TurnEvidence) -> Verdict:
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


def fluency(reading: TurnEvidence) -> Verdict:
    """How fluent the answer is; only signs that need no understanding count, so most texts get a 5."""
    found, say = disturbances(reading.answer, reading.language), reading.say
    cost = sum(COSTS[name] for name in found)
    detail: dict[str, JsonValue] = {"score": max(0.0, 1 - cost / 5), "signs": list(found)}
    if not found:
        return Verdict(5, say("fluent"), detail)
    named = say.listed([say.disturbance(name) for name in found])
    return Verdict(max(1, 5 - cost), say("disturbed", items=named), detail)


Outcome = Literal["supported", "contradicted", "not_found"]


class CheckedClaim(NamedTuple):
    """A claim, the id of the nearest passage ("" if none has it), and what the passages say about it."""

    text: str
    passage: str
    outcome: Outcome


def claims(reading: TurnEvidence) -> Verdict:
    """The share (0..1) of the claims that the passages support; 1 when nothing is claimed."""
    checked = check_claims(reading)
    wrong = [each for each in checked if each.outcome != "supported"]
    outcomes = {each.outcome for each in checked}
    severity: Severity | None = (
        "major" if "contradicted" in outcomes else "moderate" if "not_found" in outcomes else None
    )
    rows: list[JsonValue] = [
        {"claim": each.text, "passage": each.passage, "verdict": each.outcome} for each in checked
    ]
    raw = 1 - len(wrong) / len(checked) if checked else 1.0
    detail: dict[str, JsonValue] = {"claims": rows, "score": round(reading.support.claimed, 4)}
    return Verdict(raw, _claims_reason(reading, checked), detail, (0, 1), severity)


def check_claims(reading: TurnEvidence) -> list[CheckedClaim]:
    """The claims of an answer in their order, each compared with this turn's passages."""
    passages = reading.context.turn.answer.passages[:MOST_PASSAGES]
    asked = quantities(reading.context.turn.user)
    everything = _with(passage_contents(tuple(passage.text for passage in passages)), asked)
    return [_checked(text, passages, everything, asked) for text in split_claims(reading)]


def split_claims(reading: TurnEvidence) -> list[str]:
    """The claims of the answer: its sentences, split into clauses that say something of their own."""
    found: list[str] = []
    for sentence in acts.claims(reading.answer, reading.language):
        found += _clauses(sentence)
    return found[:MOST_CLAIMS]


def _clauses(sentence: str) -> list[str]:
    """A light clause at the start goes with the next one, any other with the one before it."""
    groups: list[list[str]] = []
    heavy = 0.0
    for clause in clauses(sentence):
        weight = total_weight(count_units(clause))
        if groups and min(weight, heavy) < OWN_CLAIM:
            groups[-1].append(clause)
            heavy += weight
        else:
            groups.append([clause])
            heavy = weight
    return [("" if CJK_TEXT.search(sentence) else " ").join(group) for group in groups]


def _checked(
    text: str, passages: Iterable[Passage], everything: PassageContents, asked: Iterable[Quantity]
) -> CheckedClaim:
    each = [
        (passage, sentence_support(text, _with(passage_contents((passage.text,)), asked)))
        for passage in passages
    ]
    if not each:
        return CheckedClaim(text, "", "not_found")
    nearest, found = max(each, key=lambda pair: pair[1].support)
    whole = sentence_support(text, everything)
    reaches = grades().reaches
    if (found.contradicted and whole.contradicted) or _other_figure(text, found, nearest):
        return CheckedClaim(text, nearest.id, "contradicted")
    if reaches(whole.share, "supported") and not whole.numbers and not whole.contradicted:
        return CheckedClaim(text, nearest.id, "supported")
    return CheckedClaim(text, "", "not_found")


def _other_figure(text: str, found: SentenceSupport, nearest: Passage) -> bool:
    """Whether a sentence that is else alike has another amount in the unit of one that the passage lacks."""
    units = {number.unit for number in found.numbers} - {""}
    if not units:
        return False
    topic, own_numbers, reaches = topic_units(text), quantities(text), grades().reaches
    return any(
        units & {number.unit for number in quantities(sentence) - own_numbers}
        and reaches(share(topic, content_units(sentence)), "near")
        for sentence in sentences(nearest.text)
    )


def _with(known: PassageContents, numbers: Iterable[Quantity]) -> PassageContents:
    """The contents with the numbers that the customer gave, which are no inventions."""
    return known._replace(numbers=known.numbers | frozenset(numbers))


def _claims_reason(reading: TurnEvidence, checked: list[CheckedClaim]) -> str:
    say = reading.say
    if not checked:
        return say("nothing_claimed")
    supported = sum(each.outcome == "supported" for each in checked)
    parts = [say("claims", found=str(supported), count=str(len(checked)))]
    for outcome, key in (("contradicted", "contradicted"), ("not_found", "lacking")):
        first = next((each.text for each in checked if each.outcome == outcome), None)
        parts += [say(key, quote=quoted(first))] if first else []
    return say.together(parts)


class Feeling(NamedTuple):
    """The feeling (-2..2, not rounded) and the words that show it."""

    strength: float
    words: tuple[str, ...]


class _FeelingWords:
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


def feeling_of(text: str, language: Language) -> Feeling:
    """The feeling that the words show: anger outweighs thanks, what follows a "but" what precedes it."""
    words = _feeling_words(language)
    plain = words.cancels.sub(" ", normalise(text[:LONGEST]))
    parts = [part for part in words.turn.split(plain) if part.strip()]
    found: list[str] = []
    worst = best = 0.0
    for at, part in enumerate(parts):
        weight = 1.0 if at == len(parts) - 1 else BEFORE_A_TURN
        for name, worth in WORTH.items():
            matches = [match[0] for match in words.lists[name].finditer(part)]
            found += matches
            if matches:
                worst, best = min(worst, worth * weight), max(best, worth * weight)
    strength = worst + best if worst > ANGRY else worst
    if strength and words.louder.search(plain):
        strength += 1 if strength > 0 else -1
    return Feeling(max(-2.0, min(2.0, strength)), tuple(dict.fromkeys(found)))


def tone(reading: TurnEvidence) -> Verdict:
    """The customer's feeling in this turn, from -2 (angry) through 0 (neutral) to 2 (delighted)."""
    found, say = feeling_of(reading.context.turn.user, reading.language), reading.say
    raw = int(found.strength + (0.5 if found.strength > 0 else -0.5))  # half a feeling is one
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


@cache
def _feeling_words(language: Language) -> _FeelingWords:
    return _FeelingWords(language)


def llm_similarity(reading: TurnEvidence) -> Verdict:
    """How far (0..1) the answer says what the nearest reference says."""
    if not reading.context.references:
        return without(reading, "reference")
    return Verdict(round(reading.agreement.score, 4), comparison(reading), agreement_detail(reading), (0, 1))


def llm_correctness(reading: TurnEvidence) -> Verdict:
    """1 when the answer says what the nearest reference says, and neither another amount nor the opposite."""
    if not reading.context.references:
        return without(reading, "reference")
    found = reading.agreement
    differs = bool(found.instead or found.contradicted)
    right = grade_of(found.score, "similarity") >= SAME and not differs
    return Verdict(float(right), comparison(reading), agreement_detail(reading), (0, 1))


def context_precision(reading: TurnEvidence) -> Verdict:
    """Whether the useful passages come first: average precision (0..1, RAGAS) in the retriever's order."""
    passages = reading.context.turn.answer.passages
    if not passages:
        return without(reading, "passages")
    judged = [Usefulness(id=each.id, useful=int(is_useful(reading, each.text))) for each in passages]
    raw = average_precision(judged, reading.context)
    useless = [each.text for each, verdict in zip(passages, judged, strict=True) if not verdict.useful]
    rows: list[JsonValue] = [each.model_dump() for each in judged]
    parts = [reading.say("useful", found=str(len(passages) - len(useless)), count=str(len(passages)))]
    if useless:
        parts.append(reading.say("useless", quote=quoted(useless[0])))
    return Verdict(raw, reading.say.together(parts), {"passages": rows, "score": round(raw, 4)}, (0, 1))


def context_recall(reading: TurnEvidence) -> Verdict:
    """The share (0..1, RAGAS) of the reference's statements that the passages hold."""
    if not reading.context.references:
        return without(reading, "reference")
    if not reading.passages:
        return without(reading, "passages")
    stated = statements(reading)
    if not stated:
        return without(reading, "statements")
    judged = [found_in(reading, text) for text in stated]
    raw = recalled_share(judged)
    absent = [each.text for each in judged if not each.found]
    rows: list[JsonValue] = [each.model_dump() for each in judged]
    parts = [reading.say("recalled", found=str(len(judged) - len(absent)), count=str(len(judged)))]
    if absent:
        parts.append(reading.say("lacking", quote=quoted(absent[0])))
    return Verdict(raw, reading.say.together(parts), {"statements": rows, "score": round(raw, 4)}, (0, 1))


def statements(reading: TurnEvidence) -> list[str]:
    """What the nearest reference of this turn states, sentence by sentence; none when it declines."""
    references = reading.context.references
    nearest = max(references, key=lambda text: coverage(text, [reading.answer]), default="")
    return list(acts.claims(nearest, reading.language))


def is_useful(reading: TurnEvidence, passage: str) -> bool:
    """Whether a passage holds most of a statement of the reference; without one, of what is asked."""
    units, reaches = content_units(passage), grades().reaches
    stated = statements(reading)
    if stated:
        return any(reaches(share(topic_units(text), units), "holds_reference") for text in stated)
    asked = (reading.context.turn.user, reading.case.question)
    return any(reaches(coverage(need, [passage]), "holds_question") for need in asked)


def found_in(reading: TurnEvidence, statement: str) -> Statement:
    """The passage that holds most of a statement of the reference, and all its numbers."""
    wanted, numbers = topic_units(statement), quantities(statement)
    whole = [
        (share(wanted, content_units(passage.text)), passage.id)
        for passage in reading.context.turn.answer.passages
        if not unmatched(numbers, quantities(passage.text))
    ]
    best, where = max(whole, default=(0.0, ""))
    found = grades().reaches(best, "found")
    return Statement(text=statement, passage=where if found else "", found=int(found))


class TurnGrades(NamedTuple):
    """All categories except coherence, the highest Overall, and the conclusion (a key of wording).

    Grades by rule are whole numbers, and so is Overall then; measured ones have decimals.
    """

    understanding: float
    relevance: float
    completeness: float
    correctness: float
    most: float
    conclusion: str
    is_measured: bool = False


def turn(reading: TurnEvidence) -> Verdict:
    """How far the answer does what the desk should do here: comfort, decline or answer."""
    grades = {"comfort": _comforting, "refuse": _declining, "answer": _answering}[reading.expected](reading)
    by_name = {**grades._asdict(), "coherence": _coherence(reading)}
    weighed = sum(weight * by_name[name] for name, weight in WEIGHTS.items())
    overall = capped(weighed, grades.most) if grades.is_measured else min(grades.most, round(weighed))
    overall = _shown(max(1.0, overall))
    # Correctness is judged against the turn's reference, or else its passages.
    evidence = "reference" if reading.context.references else "passages" if reading.passages else "neither"
    conclusion = reading.say.together([reading.say(grades.conclusion), *_remarks(reading, grades)])
    detail = {name: _shown(by_name[name]) for name in WEIGHTS}
    return Verdict(
        overall,
        conclusion,
        {
            **detail,
            "overall": overall,
            "steps": list(_steps(reading)),
            "against": reading.say(f"against_{evidence}"),
            "conclusion": reading.say("mark") + conclusion,
            "score": round(weighed / 5, 4),
        },
    )


def _shown(grade: float) -> float:
    """A grade with two decimals; an int if it is whole."""
    rounded = round(grade, DECIMALS)
    return int(rounded) if rounded == int(rounded) else rounded


def _comforting(reading: TurnEvidence) -> TurnGrades:
    """A complaint needs an apology and a person, not an explanation."""
    if reading.handed_over:
        grade = 5 if reading.apologises else 4
        return TurnGrades(
            grade, grade, grade, 5, grade, "complaint_good" if grade == 5 else "complaint_no_apology"
        )
    if reading.refused:
        return TurnGrades(2, 2, 2, 4, 2, "complaint_refused")
    if reading.apologises and not reading.support.claims:
        return TurnGrades(4, 3, 2, 5, 3, "complaint_no_handover")
    grade = 2 if reading.apologises else 1
    return TurnGrades(grade, grade, grade, supported_grade(reading.support), grade, "complaint_ignored")


def _declining(reading: TurnEvidence) -> TurnGrades:
    """A question that the material does not answer must be declined; any other answer is invented."""
    agreed = best_agreement(reading.answer, reading.known, reading.language)
    if reading.refused or reading.handed_over or agreed.recall >= 0.6:
        return TurnGrades(
            5, 5, 5 if reading.has_contact else 4, 5, 5 if reading.has_contact else 4, "rightly_refused"
        )
    if reading.only_asks:
        return TurnGrades(4, 4, 3, 4, 4, "fair")
    return TurnGrades(3, min(3, grade_of(reading.relevance, "relevance")), 2, 2, 2, "invented")


def _answering(reading: TurnEvidence) -> TurnGrades:
    """A question that can be answered must be answered; declining or handing over leaves it open."""
    if reading.refused:
        return _refusing(reading)
    if reading.only_asks:
        return TurnGrades(4, 4, 2, 5, 3, "fair")
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
    return TurnGrades(
        max(relevant, complete), relevant, complete, correct, most, conclusion, is_measured=True
    )


def _between(caps: Sequence[float], grade: float) -> float:
    """The cap of a grade (1..5) that lies between those with a cap of their own."""
    below = int(grade)
    return caps[below - 1] + (grade - below) * (caps[min(below, 4)] - caps[below - 1])


def _refusing(reading: TurnEvidence) -> TurnGrades:
    """A declined question that can be answered; less grave if an earlier turn has answered it."""
    again = reading.already_answered
    needless = reading.handed_over and reading.case.handover == "forbidden"
    complete = 2 if again or reading.has_contact else 1
    conclusion = "needless_handover" if needless else "wrongly_refused"
    return TurnGrades(3, 3, complete, 3, 3 if again else 2, conclusion)


def _completeness(reading: TurnEvidence, relevant: float) -> float:
    """How much of the turn's reference the answer says.

    A turn without one is judged half by the question and half by the case's references, if it has any;
    while no turn has said anything of these, at most 2.
    """
    if reading.context.references:
        return grade_of(reading.agreement.recall, "similarity")
    if not reading.known:
        return relevant
    agreed = grade_of(best_agreement(reading.answer, reading.known, reading.language).recall, "similarity")
    most = 2 if agreed < 2 and not reading.already_answered else 5
    return min(most, (relevant + agreed) / 2)


def _correctness(reading: TurnEvidence) -> float:
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


def _coherence(reading: TurnEvidence) -> int:
    if reading.contradicts_itself:
        return 2
    cost = sum(COSTS[name] for name in disturbances(reading.answer, reading.language))
    return max(1, 5 - cost - (2 if reading.repeats else 0))


def _remarks(reading: TurnEvidence, grades: TurnGrades) -> list[str]:
    """At most two sentences that a support lead can act on."""
    parts = []
    if reading.expected == "refuse" and grades.conclusion == "rightly_refused" and not reading.has_contact:
        parts.append(reading.say("no_contact"))
    if reading.expected == "answer" and not reading.refused:
        parts += differences(reading, reading.agreement) if reading.context.references else []
        parts += unsupported(reading) if reading.passages else []
    if reading.repeats:
        parts.append(reading.say("repeated"))
    return parts[:2]


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
    if reading.support.claims and reading.passages:
        steps.append(say("supported", share=percent(reading.support.claimed)))
    return steps


# The files that decide grades, and so are part of their fingerprint.
DECISIVE = (FILE, acts.ACTS_FILE, FEELINGS_FILE, acts.STANCES_FILE)
# The judges of the shelf that have a stand-in.
STAND_INS: dict[str, Callable[[TurnEvidence], Verdict]] = {
    "turn": turn,
    "relevance": relevance,
    "groundedness": groundedness,
    "claims": claims,
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
    """The rubric of a lexical judge's scores: the formula, and a hash of all that decides its grades."""
    texts = [path.read_text(encoding="utf-8") for path in files]
    return f"lexical-{GradeScale(files[0]).formula}-{fingerprint(judge, *texts)}"


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
            severity=verdict.severity,
            reason=reading.say("mark") + verdict.reason if graded else verdict.reason,
            detail=verdict.detail,
            rubric=self.rubric,
        )
