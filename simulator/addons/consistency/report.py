"""The report of a cross-examination and of consistency, and its JSON."""

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

from simulator.addons.consistency.figures import Clash, Consistency, consistency
from simulator.addons.consistency.grade import (
    OUTCOMES,
    STAND_IN,
    TEXTS,
    FollowUpCheck,
    TurnFollowUps,
    crossings,
)
from simulator.core.document import Block, Fact, Item, Items, Line, Report, Section
from simulator.core.translations import safe_text
from simulator.core.types import Language, Results

# At most so many of each kind are shown; the JSON has all.
SHOWN = 20


class ConsistencyOutcome(NamedTuple):
    """All that is reported; `examined` is None where only consistency was asked for."""

    run: str
    language: Language
    examined: tuple[TurnFollowUps, ...] | None
    consistency: Consistency


def consistency_report(outcome: ConsistencyOutcome) -> Report:
    """What the bot said about its own claims, and whether the run told every customer the same."""
    return _Builder(outcome).report()


def as_json(outcome: ConsistencyOutcome) -> dict[str, Any]:
    """The report for programs, with nothing left out."""
    checks = crossings(outcome.examined or ())
    consistency = outcome.consistency
    body: dict[str, Any] = {
        "run": outcome.run,
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
    if outcome.examined is not None:
        body["examined"] = {
            "turns": len(outcome.examined),
            "questions": len(checks),
            "outcomes": _counts(checks),
            "crossings": [check.model_dump(mode="json") for check in checks],
            "by": sorted({turn.by for turn in outcome.examined}),
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
        n=len(clashes),
        case=safe_text(case),
        one=safe_text(first.one),
        other=safe_text(first.other),
    )


class _Builder:
    """A cross-examination in one language."""

    def __init__(self, outcome: ConsistencyOutcome) -> None:
        self.outcome, self.say = outcome, partial(TEXTS, outcome.language)

    def report(self) -> Report:
        """The cross-examination, where there was one, and consistency."""
        title = self.say("consistency_title")
        if self.outcome.examined is None:
            return Report(title, self.outcome.language, tuple(self._consistency()))
        return Report(
            title=self.say("title", run=self.outcome.run),
            language=self.outcome.language,
            lead=tuple(self._examination(self.outcome.examined)),
            sections=(Section("consistency", title, tuple(self._consistency())),),
        )

    def _examination(self, examined: Sequence[TurnFollowUps]) -> Iterator[Block]:
        checks, say = crossings(examined), self.say
        if not checks:
            yield Line(say("nothing"))
            return
        by = "; ".join(sorted({self._names(turn.by) for turn in examined}))
        yield Line(say("asked", turns=len(examined), questions=len(checks), by=by))
        counts = _counts(checks)
        yield Line("  ".join(f"{say(name)} {counts[name]}" for name in OUTCOMES if counts[name]))
        for outcome in ("contradicts", "corrects"):
            items = [self._check(check) for check in checks if check.verdict.outcome == outcome]
            if items:
                yield self._shown(items)

    def _shown(self, items: Sequence[Item]) -> Items:
        more = len(items) - SHOWN
        return Items(tuple(items[:SHOWN]), self.say("more", n=more) if more > 0 else "")

    def _names(self, by: str) -> str:
        return " / ".join(self.say("stand_in") if part == STAND_IN else part for part in by.split(" / "))

    def _check(self, check: FollowUpCheck) -> Item:
        verdict, say = check.verdict, self.say
        quotes = (
            Fact(say("first"), _one_line(verdict.first_quote)),
            Fact(say("question"), _one_line(check.asked.question)),
            Fact(say("later"), _one_line(verdict.later_quote)),
            Fact(say("why"), _one_line(verdict.reason)),
        )
        where = f"{check.conversation} {say('turn', n=check.turn)}"
        facts = tuple(fact for fact in quotes if fact.text)
        return Item(f"{say(verdict.outcome)}: {where}", facts, "alarm")

    def _consistency(self) -> Iterator[Block]:
        figures, say = self.outcome.consistency, self.say
        if figures.share is None:
            yield Line(say("consistency_none"))
        else:
            interval = ""
            if figures.low is not None and figures.high is not None:
                interval = say("interval", low=_percent(figures.low), high=_percent(figures.high))
            cases, pairs = len(figures.cases), sum(case.pairs for case in figures.cases)
            share = _percent(figures.share)
            yield Line(say("consistency_line", cases=cases, pairs=pairs, share=share, interval=interval))
            yield Line(say("clashes_counted"), "soft")
        # Of clashes with the same two statements the first.
        distinct: dict[frozenset[str], Clash] = {}
        for clash in figures.clashes:
            distinct.setdefault(frozenset((clash.found.one, clash.found.other)), clash)
        if distinct:
            yield self._shown([self._clash(clash) for clash in distinct.values()])
        elif figures.share is not None:
            yield Line(say("consistency_fine"))

    def _clash(self, clash: Clash) -> Item:
        one = Fact(f"{clash.one} {self.say('turn', n=clash.one_turn)}", _one_line(clash.found.one))
        other = Fact(f"{clash.other} {self.say('turn', n=clash.other_turn)}", _one_line(clash.found.other))
        links = {
            "same_case": self.say("link_same_case"),
            "same_question": self.say("link_same_question"),
            "same_passages": self.say("link_same_passages"),
        }
        return Item(links[clash.link], (one, other), "alarm")


def _counts(checks: Sequence[FollowUpCheck]) -> dict[str, int]:
    counts = Counter(check.verdict.outcome for check in checks)
    return {outcome: counts[outcome] for outcome in OUTCOMES}


def _percent(share: float) -> str:
    """In whole per cent; 99.9 where it is not quite all."""
    rounded = round(100 * share)
    return f"{99.9 if rounded == 100 and share < 1 else rounded:g}"


def _one_line(text: str) -> str:
    return " ".join(text.split())
