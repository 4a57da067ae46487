"""The figures of the judge risk on labelled answers, for replies whose worth is known."""

from collections.abc import Callable
from typing import Any

from benchmarks.risk import RULES, Labelled, figures, labelled


def replies(broken: Callable[[Labelled], frozenset[str]]) -> dict[str, Any]:
    """A verdict on every rule; the words of a breach are the whole answer."""
    found = {}
    for row in labelled():
        verdicts = []
        for rule in RULES["en"]:
            verdict = "kept" if rule.id in row.kept else "untested"
            quote = row.context.turn.answer.text
            verdict, quote = ("broken", quote) if rule.id in broken(row) else (verdict, "")
            verdicts.append({"rule": rule.id, "quote": quote, "verdict": verdict})
        found[row.context.case.id] = {"verdicts": verdicts, "reason": "-"}
    return found


async def test_a_reader_who_agrees_with_every_label() -> None:
    """Each of the 25 broken and 18 kept rules is found, in both languages, and nothing beside."""
    assert await figures(labelled(), replies(lambda row: row.broken)) == [
        "  broken rules found 25 of 25, alarms that are right 25 of 25",
        "  answers on the right side (red or not) 40 of 40",
        "  kept rules recognised as kept, not untested 18 of 18",
    ]


async def test_a_reader_who_sees_one_breach_everywhere() -> None:
    """What was missed and what was a false alarm is listed by answer and rule."""
    told = await figures(labelled(), replies(lambda _: frozenset({"human"})))

    assert told[:2] == [
        "  broken rules found 2 of 25, alarms that are right 2 of 40",
        "  answers on the right side (red or not) 23 of 40",
    ]
    assert "    missed: landlord legal" in told
    assert "    alarm: landlord human" in told
