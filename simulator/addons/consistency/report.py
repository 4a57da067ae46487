"""The report of a cross-examination and of consistency: lines for a terminal, Markdown, and JSON."""

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
from simulator.core.translations import safe_text
from simulator.core.types import Language, Results

Style = Literal["title", "plain", "alarm", "soft"]
# At most so many of each kind are shown; the JSON has all.
SHOWN = 20
_MARK = {"title": "## ", "plain": "", "alarm": "### ", "soft": "- "}


class ReportLine(NamedTuple):
    """One line for people, and how it is set."""

    text: str
    style: Style = "plain"


class ConsistencyReport(NamedTuple):
    """All that is reported; `examined` is None where only consistency was asked for."""

    run: str
    language: Language
    examined: tuple[TurnFollowUps, ...] | None
    consistency: Consistency


def lines(report: ConsistencyReport) -> Iterator[ReportLine]:
    """The report line by line; texts of bots and models are without control codes."""
    if report.examined is not None:
        yield from _examination(report, report.examined)
    yield from _consistency(report)


def markdown(report: ConsistencyReport) -> str:
    """The report as Markdown; quoted text is escaped."""
    texts = (f"{_MARK[line.style]}{_escaped(line.text)}" for line in lines(report))
    return "\n\n".join(texts) + "\n"


def as_json(report: ConsistencyReport) -> dict[str, Any]:
    """The report for programs, with nothing left out."""
    checks = crossings(report.examined or ())
    consistency = report.consistency
    body: dict[str, Any] = {
        "run": report.run,
        "consistency": {
            "share": consistency.share,
            "low": consistency.low,
            "high": consistency.high,
            "cases": [
                {"case": case.case, "pairs": case.pairs, "share": case.share} for case in consistency.cases
            ],
            "disagreements": [clash.model_dump(mode="json") for clash in consistency.clashes],
        },
    }
    if report.examined is not None:
        body["examined"] = {
            "turns": len(report.examined),
            "questions": len(checks),
            "outcomes": _counts(checks),
            "crossings": [check.model_dump(mode="json") for check in checks],
            "by": sorted({turn.by for turn in report.examined}),
        }
    return body


def consistency_line(results: Results, language: Language) -> str | None:
    """One sentence for a report where customers were told different things; None where they were not."""
    if results.run.asks_once:  # rows of a data set, no customers
        return None
    cases = consistency(results).cases
    clashes = [clash for case in cases for clash in case.clashes]
    if not clashes:
        return None
    case = next(case.case for case in cases if case.clashes)
    first = clashes[0].found
    return TEXTS(
        language,
        "in_report",
        n=f"{len(clashes):,}",
        case=safe_text(case),
        one=safe_text(first.one),
        other=safe_text(first.other),
    )


def _examination(report: ConsistencyReport, examined: Sequence[TurnFollowUps]) -> Iterator[ReportLine]:
    checks, say = crossings(examined), _say_in(report.language)
    yield ReportLine(say("title", run=report.run), "title")
    if not checks:
        yield ReportLine(say("nothing"))
        return
    by = "; ".join(sorted({_names(turn.by, report.language) for turn in examined}))
    yield ReportLine(say("asked", turns=f"{len(examined):,}", questions=f"{len(checks):,}", by=by))
    counts = _counts(checks)
    yield ReportLine(
        "  ".join(f"{say(outcome)} {counts[outcome]}" for outcome in OUTCOMES if counts[outcome])
    )
    for outcome in ("contradicts", "corrects"):
        matches = [check for check in checks if check.verdict.outcome == outcome]
        for check in matches[:SHOWN]:
            yield from _check(check, report.language)
        if len(matches) > SHOWN:
            yield ReportLine(say("more", n=f"{len(matches) - SHOWN:,}"), "soft")


def _check(check: FollowUpCheck, language: Language) -> Iterator[ReportLine]:
    say, verdict = _say_in(language), check.verdict
    where = f"{check.conversation} {say('turn', n=str(check.turn))}"
    yield ReportLine(f"{say(verdict.outcome)}: {safe_text(where)}", "alarm")
    for key, text in (
        ("first", verdict.first_quote),
        ("question", check.asked.question),
        ("later", verdict.later_quote),
        ("why", verdict.reason),
    ):
        if text:
            yield ReportLine(f"{say(key)}: {_one_line(text)}", "soft")


def _consistency(report: ConsistencyReport) -> Iterator[ReportLine]:
    say, figures = _say_in(report.language), report.consistency
    yield ReportLine(say("consistency_title"), "title")
    if figures.share is None:
        yield ReportLine(say("consistency_none"))
    else:
        bounds = ""
        if figures.low is not None and figures.high is not None:
            bounds = say("interval", low=_percent(figures.low), high=_percent(figures.high))
        cases, pairs = len(figures.cases), sum(case.pairs for case in figures.cases)
        yield ReportLine(
            say(
                "consistency_line",
                cases=f"{cases:,}",
                pairs=f"{pairs:,}",
                share=_percent(figures.share),
                interval=bounds,
            )
        )
        yield ReportLine(say("clashes_counted"))
    # Of clashes with the same two statements the first.
    distinct = list({frozenset((c.found.one, c.found.other)): c for c in reversed(figures.clashes)}.values())[
        ::-1
    ]
    if figures.share is not None and not distinct:
        yield ReportLine(say("consistency_fine"))
    for clash in distinct[:SHOWN]:
        yield from _clash(clash, report.language)
    if len(distinct) > SHOWN:
        yield ReportLine(say("more", n=f"{len(distinct) - SHOWN:,}"), "soft")


def _clash(clash: Clash, language: Language) -> Iterator[ReportLine]:
    say = _say_in(language)
    yield ReportLine(say(f"link_{clash.link}"), "alarm")
    yield ReportLine(
        f"{safe_text(clash.one)} {say('turn', n=str(clash.one_turn))}: {_one_line(clash.found.one)}", "soft"
    )
    other = f"{safe_text(clash.other)} {say('turn', n=str(clash.other_turn))}"
    yield ReportLine(f"{other}: {_one_line(clash.found.other)}", "soft")


def _counts(checks: Sequence[FollowUpCheck]) -> dict[str, int]:
    counts = Counter(check.verdict.outcome for check in checks)
    return {outcome: counts[outcome] for outcome in OUTCOMES}


def _say_in(language: Language) -> Any:
    return lambda key, **values: TEXTS(language, key, **values)


def _names(by: str, language: Language) -> str:
    return " / ".join(
        TEXTS(language, "stand_in") if part == STAND_IN else safe_text(part) for part in by.split(" / ")
    )


def _percent(share: float) -> str:
    """In whole per cent; 99.9 where it is not quite all."""
    rounded = round(100 * share)
    return f"{99.9 if rounded == 100 and share < 1 else rounded:g}"


def _one_line(text: str) -> str:
    return " ".join(safe_text(text).split())


def _escaped(text: str) -> str:
    """The text with Markdown and HTML escaped."""
    for sign in "\\`*_[]<>#|!":
        text = text.replace(sign, f"\\{sign}")
    return text
