"""What was retrieved, counted: which passages are of use, and how much of the reference they hold."""

from pydantic import JsonValue

from simulator.core.replies import Statement, Usefulness, average_precision, found_share
from simulator.counting.grades import grades
from simulator.counting.verdicts import Verdict, without
from simulator.text.acts import claims
from simulator.text.evidence import Reading, content_units, coverage, share, topic_units
from simulator.text.numerals import quantities, unmatched
from simulator.text.wording import quoted


def context_precision(reading: Reading) -> Verdict:
    """Whether the useful passages come first: average precision (0..1, RAGAS) in the retriever's order."""
    passages = reading.exhibit.turn.answer.passages
    if not passages:
        return without(reading, "passages")
    judged = [Usefulness(id=each.id, useful=int(is_useful(reading, each.text))) for each in passages]
    raw = average_precision(judged, reading.exhibit)
    useless = [each.text for each, verdict in zip(passages, judged, strict=True) if not verdict.useful]
    told: list[JsonValue] = [each.model_dump() for each in judged]
    said = [reading.say("useful", found=str(len(passages) - len(useless)), count=str(len(passages)))]
    if useless:
        said.append(reading.say("useless", quote=quoted(useless[0])))
    return Verdict(raw, reading.say.together(said), {"passages": told, "score": round(raw, 4)}, (0, 1))


def context_recall(reading: Reading) -> Verdict:
    """The share (0..1, RAGAS) of what the reference states that a passage holds."""
    if not reading.exhibit.references:
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
    references = reading.exhibit.references
    nearest = max(references, key=lambda text: coverage(text, [reading.answer]), default="")
    return list(claims(nearest, reading.language))


def is_useful(reading: Reading, passage: str) -> bool:
    """Whether a passage holds most of a statement of the reference; without one, of what is asked."""
    units, reaches = content_units(passage), grades().reaches
    stated = statements(reading)
    if stated:
        return any(reaches(share(topic_units(text), units), "holds_reference") for text in stated)
    asked = (reading.exhibit.turn.user, reading.case.question)
    return any(reaches(coverage(need, [passage]), "holds_question") for need in asked)


def found_in(reading: Reading, statement: str) -> Statement:
    """Where a statement of the reference is found: the passage with its numbers that holds most of it."""
    wanted, numbers = topic_units(statement), quantities(statement)
    whole = [
        (share(wanted, content_units(passage.text)), passage.id)
        for passage in reading.exhibit.turn.answer.passages
        if not unmatched(numbers, quantities(passage.text))
    ]
    best, where = max(whole, default=(0.0, ""))
    found = grades().reaches(best, "found")
    return Statement(text=statement, passage=where if found else "", found=int(found))
