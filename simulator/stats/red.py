"""Which turns are red, and by which rule: the turns that people look at first."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from simulator.core.types import (
    MAIN_METRIC,
    PASSED,
    Case,
    RedRules,
    Results,
    Score,
    Severity,
    Turn,
)
from simulator.storage.results import cache_latest, conversations_with_scores

Kind = Literal["no_answer", "overall", "groundedness", "correctness", "claims", "facts"]
# In the order in which they are shown and counted; all but the first two are second marks.
KINDS: tuple[Kind, ...] = ("no_answer", "overall", "groundedness", "correctness", "claims", "facts")
RANK: dict[Severity, int] = {"major": 0, "moderate": 1, "minor": 2}


@dataclass(frozen=True, slots=True)
class Mark:
    """One reason why a turn is red; `reason` is the judge's own sentence."""

    kind: Kind
    severity: Severity
    reason: str = ""


class UndecidedTurn(NamedTuple):
    """A turn without a grade because its evidence conflicts: what `reference` and `passages` say."""

    case: Case
    turn: Turn
    reference: str
    passages: str


def primary_judge(judges: Iterable[str]) -> str:
    """The judge that decides score and colour: that of whole rows, `turn`, or else the first one named."""
    names = list(judges)
    return next((name for name in (MAIN_METRIC, PASSED, "turn") if name in names), next(iter(names), ""))


def deciding_judges(named: Iterable[str], graded: Collection[str]) -> tuple[str, ...]:
    """The judges that were named, without `passed` where no output has a threshold and so none decides."""
    return tuple(name for name in named if name != PASSED or name in graded or not graded)


def red_marks(
    conversation: str, scores: Iterable[Score], rules: RedRules, primary: str = ""
) -> tuple[Mark, ...]:
    """The marks of one turn, given its scores; empty when the turn is not red.

    A turn without an answer has the one mark `no_answer`, whatever the rules: it is the bot's own
    failure. Without `primary`, `turn` decides, or else the first judge among the scores. Where reference and
    passages contradict each other, neither they nor what is held against them make it red.
    """
    of_turn = [score for score in scores if score.conversation == conversation]
    scored = {score.judge: score for score in of_turn if score.state == "scored"}
    for score in scored.values():
        if is_unanswered(score):
            return (Mark(kind="no_answer", severity="major", reason=score.reason),)
    if any(map(is_undecided, of_turn)):
        return ()
    verdict = scored.get(primary or primary_judge(scored))
    found = (
        _overall(verdict, rules.overall),
        _groundedness(scored.get("groundedness"), rules.groundedness),
        _correctness(scored.get("turn"), rules.correctness),
        _share("claims", scored.get("claims"), rules.claims),
        _share("facts", scored.get("facts"), rules.facts),
    )
    return tuple(mark for mark in found if mark)


def is_unanswered(score: Score) -> bool:
    """Whether the score is the scale's minimum by rule, because the bot gave no answer."""
    return score.by_rule and score.raw == score.scale[0] and "not_extracted" not in score.detail


def is_undecided(score: Score) -> bool:
    """Whether the turn judge gave no grade because reference and passages contradict each other."""
    return score.judge == "turn" and score.state == "skipped" and "conflicts" in score.detail


def worst_severity(marks: Iterable[Mark]) -> Severity:
    """The gravest severity among some marks; `minor` when there are none."""
    return min((mark.severity for mark in marks), key=RANK.__getitem__, default="minor")


def _overall(score: Score | None, limit: float | None) -> Mark | None:
    """Red below the limit; at most two of five points is major."""
    if limit is None or score is None or score.value is None or score.value >= limit:
        return None
    return _mark("overall", score, major=score.value <= 0.4)


def _groundedness(score: Score | None, limit: float | None) -> Mark | None:
    """Red at or below the limit; a grade of 1 or 2 says that the passages contradict the answer."""
    if limit is None or score is None or score.raw is None or score.raw > limit:
        return None
    return _mark("groundedness", score, major=score.raw <= 2)


def _correctness(score: Score | None, limit: float | None) -> Mark | None:
    """Red when the turn judge's Correctness is at or below the limit."""
    grade = score.detail.get("correctness") if score else None
    if limit is None or score is None or not isinstance(grade, int | float) or grade > limit:
        return None
    return _mark("correctness", score, major=grade <= 1)


def _share(kind: Kind, score: Score | None, on: bool) -> Mark | None:
    """Red when less than the whole is supported; less than half is major."""
    if not on or score is None or score.value is None or score.value >= 1:
        return None
    return _mark(kind, score, major=score.value < 0.5)


def _mark(kind: Kind, score: Score, *, major: bool) -> Mark:
    """A mark; a severity that the judge gave itself wins over the rule's."""
    severity: Severity = score.severity or ("major" if major else "moderate")
    return Mark(kind=kind, severity=severity, reason=score.reason)


@cache_latest
def undecided_turns(results: Results) -> list[UndecidedTurn]:
    """The turns on which the turn judge found reference and passages in conflict, in the order of the run."""
    undecided = filter(is_undecided, results.scores.of_judge("turn", "skipped"))
    ids = {score.conversation for score in undecided}
    in_order = [key for key in results.conversations.ids if key in ids]
    return [
        UndecidedTurn(conversation.case, turn, *_sides(score))
        for conversation, by_turn in conversations_with_scores(results, in_order)
        for turn in conversation.turns
        for score in by_turn.get(turn.index, {}).values()
        if is_undecided(score)
    ]


def _sides(score: Score) -> tuple[str, str]:
    """What reference and passages say where they contradict each other first."""
    conflicts: Any = score.detail["conflicts"]
    return str(conflicts[0]["reference"]), str(conflicts[0]["passages"])
