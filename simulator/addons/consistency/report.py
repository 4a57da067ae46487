"""What people read of a cross-examination and of consistency: lines for a terminal, Markdown, and JSON."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, Literal, NamedTuple

from simulator.addons.consistency.figures import Clash, Consistency, consistency
from simulator.addons.consistency.grade import (
    OUTCOMES,
    STAND_IN,
    TEXTS,
    FollowUpCheck,
    TurnFollowUps,
    crossings,
)
from simulator.core.translations import plain
from simulator.core.types import Language, Results

Style = Literal["title", "plain", "alarm", "soft"]
# What is shown of each kind at most; all is in the JSON.
SHOWN = 20
_MARK = {"title": "## ", "plain": "", "alarm": "### ", "soft": "- "}


class ReportLine(NamedTuple):
    """One line for people, and how it is set."""

    text: str
    style: Style = "plain"


class ConsistencyReport(NamedTuple):
    """All there is to tell; `examined` is None where only consistency was asked for."""

    run: str
    language: Language
    examined: tuple[TurnFollowUps, ...] | None
    consistency: Consistency


def lines(told: ConsistencyReport) -> Iterator[ReportLine]:
    """Everything, line by line; what bots and models said is without control codes."""
    if told.examined is not None:
        yield from _examination(told, told.examined)
    yield from _consistency(told)


def markdown(told: ConsistencyReport) -> str:
    """The same as Markdown; quoted text is shown as it is and cannot set itself."""
    shown = (f"{_MARK[line.style]}{_escaped(line.text)}" for line in lines(told))
    return "\n\n".join(shown) + "\n"


def as_json(told: ConsistencyReport) -> dict[str, Any]:
    """The same for programs, with nothing left out."""
    every = crossings(told.examined or ())
    found = told.consistency
    shown: dict[str, Any] = {
        "run": told.run,
        "consistency": {
            "share": found.share,
            "low": found.low,
            "high": found.high,
            "cases": [{"case": case.case, "pairs": case.pairs, "share": case.share} for case in found.cases],
            "disagreements": [clash.model_dump(mode="json") for clash in found.clashes],
        },
    }
    if told.examined is not None:
        shown["examined"] = {
            "turns": len(told.examined),
            "questions": len(every),
            "outcomes": _counted(every),
            "crossings": [crossing.model_dump(mode="json") for crossing in every],
            "by": sorted({each.by for each in told.examined}),
        }
    return shown


def consistency_line(results: Results, language: Language) -> str | None:
    """One sentence for a report where customers were told different things; None where they were not."""
    if results.run.asks_once:  # nobody is told anything: rows are asked
        return None
    found = consistency(results)
    counted = [clash for case in found.cases for clash in case.clashes]
    if not counted:
        return None
    case = next(case.case for case in found.cases if case.clashes)
    first = counted[0].found
    return TEXTS(
        language,
        "in_report",
        n=f"{len(counted):,}",
        case=plain(case),
        one=plain(first.one),
        other=plain(first.other),
    )


def _examination(told: ConsistencyReport, examined: Sequence[TurnFollowUps]) -> Iterator[ReportLine]:
    every, say = crossings(examined), _sayer(told.language)
    yield ReportLine(say("title", run=told.run), "title")
    if not every:
        yield ReportLine(say("nothing"))
        return
    by = "; ".join(sorted({_named(each.by, told.language) for each in examined}))
    yield ReportLine(say("asked", turns=f"{len(examined):,}", questions=f"{len(every):,}", by=by))
    counts = _counted(every)
    yield ReportLine(
        "  ".join(f"{say(outcome)} {counts[outcome]}" for outcome in OUTCOMES if counts[outcome])
    )
    for outcome in ("contradicts", "corrects"):
        found = [each for each in every if each.verdict.outcome == outcome]
        for crossing in found[:SHOWN]:
            yield from _crossing(crossing, told.language)
        if len(found) > SHOWN:
            yield ReportLine(say("more", n=f"{len(found) - SHOWN:,}"), "soft")


def _crossing(crossing: FollowUpCheck, language: Language) -> Iterator[ReportLine]:
    say, verdict = _sayer(language), crossing.verdict
    where = f"{crossing.conversation} {say('turn', n=str(crossing.turn))}"
    yield ReportLine(f"{say(verdict.outcome)}: {plain(where)}", "alarm")
    for key, text in (
        ("first", verdict.first_quote),
        ("question", crossing.asked.question),
        ("later", verdict.later_quote),
        ("why", verdict.reason),
    ):
        if text:
            yield ReportLine(f"{say(key)}: {_one_line(text)}", "soft")


def _consistency(told: ConsistencyReport) -> Iterator[ReportLine]:
    say, found = _sayer(told.language), told.consistency
    yield ReportLine(say("consistency_title"), "title")
    if found.share is None:
        yield ReportLine(say("consistency_none"))
    else:
        bounds = ""
        if found.low is not None and found.high is not None:
            bounds = say("interval", low=_percent(found.low), high=_percent(found.high))
        cases, pairs = len(found.cases), sum(case.pairs for case in found.cases)
        yield ReportLine(
            say(
                "consistency_line",
                cases=f"{cases:,}",
                pairs=f"{pairs:,}",
                share=_percent(found.share),
                interval=bounds,
            )
        )
        yield ReportLine(say("clashes_counted"))
    distinct = _distinct(found.clashes)
    if found.share is not None and not distinct:
        yield ReportLine(say("consistency_fine"))
    for clash in distinct[:SHOWN]:
        yield from _clash(clash, told.language)
    if len(distinct) > SHOWN:
        yield ReportLine(say("more", n=f"{len(distinct) - SHOWN:,}"), "soft")


def _clash(clash: Clash, language: Language) -> Iterator[ReportLine]:
    say = _sayer(language)
    yield ReportLine(say(f"link_{clash.link}"), "alarm")
    yield ReportLine(
        f"{plain(clash.one)} {say('turn', n=str(clash.one_turn))}: {_one_line(clash.found.one)}", "soft"
    )
    other = f"{plain(clash.other)} {say('turn', n=str(clash.other_turn))}"
    yield ReportLine(f"{other}: {_one_line(clash.found.other)}", "soft")


def _distinct(clashes: Sequence[Clash]) -> list[Clash]:
    """One of those with the same two statements."""
    return list({frozenset((each.found.one, each.found.other)): each for each in reversed(clashes)}.values())[
        ::-1
    ]


def _counted(every: Sequence[FollowUpCheck]) -> dict[str, int]:
    counts = Counter(each.verdict.outcome for each in every)
    return {outcome: counts[outcome] for outcome in OUTCOMES}


def _sayer(language: Language) -> Any:
    return lambda key, **values: TEXTS(language, key, **values)


def _named(by: str, language: Language) -> str:
    return " / ".join(
        TEXTS(language, "stand_in") if part == STAND_IN else plain(part) for part in by.split(" / ")
    )


def _percent(share: float) -> str:
    """In whole per cents; what is not quite all is never shown as all."""
    rounded = round(100 * share)
    return f"{99.9 if rounded == 100 and share < 1 else rounded:g}"


def _one_line(text: str) -> str:
    return " ".join(plain(text).split())


def _escaped(text: str) -> str:
    """Text in which Markdown and HTML mean nothing."""
    for sign in "\\`*_[]<>#|!":
        text = text.replace(sign, f"\\{sign}")
    return text
