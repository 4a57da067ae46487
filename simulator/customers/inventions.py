"""What a customer states that nobody has told them: numbers, dates, contacts, codes and names."""

from collections.abc import Iterator, Sequence
from decimal import Decimal, InvalidOperation
from itertools import combinations

from simulator.customers.lines import Lines
from simulator.text.entities import Specific, located, specifics_of
from simulator.text.entity_meaning import Date, Measure
from simulator.text.typography import straight

# Months of a year, and both ways of a price: what anyone works out in their head.
_IN_THE_HEAD = (Decimal(12), Decimal(2))


def inventions(line: str, told: Sequence[str], lines: Lines) -> list[str]:
    """The details that a line states and no text of `told` holds, as the line writes them.

    What is asked, supposed or to be confirmed is no statement, counts of what happens in the talk itself
    (the third time, ten minutes) are nothing made up, and what follows from two known numbers is known.
    """
    stated = "\n".join(lines.stated(line))
    found = [each.text for each in specifics_of(stated) if not _is_known(each, told, lines)]
    everything = straight("\n".join(told)).lower()
    return found + [name for name in lines.names(stated) if straight(name).lower() not in everything]


def _is_known(one: Specific, told: Sequence[str], lines: Lines) -> bool:
    if located(one, told) is not None or straight(one.text).lower() in straight("\n".join(told)).lower():
        return True
    if not isinstance(one.meaning, Measure):
        return isinstance(one.meaning, Date) and _is_day_of(one.meaning, told)
    if one.meaning.unit in lines.own_counts:
        return True
    return all(_follows(value, told) for value in one.meaning.values)


def _is_day_of(date: Date, told: Sequence[str]) -> bool:
    """Whether a told text has the same day or month, only said less fully."""
    known = [
        reading
        for text in told
        for each in specifics_of(text)
        if isinstance(each.meaning, Date)
        for reading in each.meaning.readings
    ]
    return any(told_of.is_part_of(own) for told_of in known for own in date.readings)


def _follows(value: str, told: Sequence[str]) -> bool:
    """Whether a number is one of the known ones, whatever it counts, or made of two of them."""
    wanted, known = _number(value), set(_numbers(told))
    if wanted is None or wanted in known:
        return wanted is not None
    known |= set(_IN_THE_HEAD)
    return any(wanted in _made_of(one, other) for one, other in combinations(sorted(known), 2))


def _made_of(one: Decimal, other: Decimal) -> Iterator[Decimal]:
    yield from (one + other, other - one, one * other)
    if one:
        yield other / one


def _numbers(told: Sequence[str]) -> Iterator[Decimal]:
    for text in told:
        for each in specifics_of(text):
            if isinstance(each.meaning, Measure):
                yield from (number for value in each.meaning.values if (number := _number(value)) is not None)


def _number(value: str) -> Decimal | None:
    try:
        return Decimal(value)
    except InvalidOperation:
        return None
