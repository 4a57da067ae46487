"""What a run comes to: every figure that reports show, each with how many grades stand behind it.

Whose failure it is decides what it costs: the bot's own failure is graded (lowest, by rule), a
judge's or the simulator's is left out of the means and counted. Nothing is ever counted as 0
because it could not be graded. Turns that the simulated customer spoilt count like any other, unless
they are to be left out; both scores are kept either way.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from math import fsum
from typing import TypeVar, get_args

from simulator.analysis.corrected import GradedTurn, blind_grades, correct, labelled, shortage
from simulator.analysis.figures import (
    CaseSummary,
    Customers,
    JudgeSummary,
    Mean,
    PersonaSummary,
    RedTurn,
    SimulatorSummary,
    Summary,
    Total,
)
from simulator.analysis.intervals import bootstrap_interval, clustered_stderr
from simulator.analysis.panel import side_by_side, votes
from simulator.analysis.red import KINDS, RANK, Mark, is_unanswered, primary_judge, red_marks, worst
from simulator.compact import compact
from simulator.types import (
    STOPPED_EARLY,
    SUPERSEDED,
    Conversation,
    Ended,
    Failure,
    Language,
    Persona,
    RedRules,
    Results,
    Score,
    Spending,
    Turn,
)

Item = TypeVar("Item")
LANGUAGES: tuple[Language, ...] = ("ja", "en")

# The five graded 1..5 whose raw means add up to the total.
RAG_METRICS = ("relevance", "groundedness", "similarity", "fluency", "cosine")
# A conversation that was cut off is not finished: it can be taken up again.
CUT_OFF = frozenset({Ended.BUDGET, Ended.INTERRUPTED})
EXCERPT = 160
NOBODY_LOOKED = Customers()
_FAILURE_KINDS = frozenset(get_args(Failure.model_fields["kind"].annotation))


@dataclass(frozen=True, slots=True)
class _Spoken:
    """One turn with its scores, and what the deciding judge says of it."""

    conversation: Conversation
    turn: Turn
    scores: dict[str, Score]
    value: float | None
    marks: tuple[Mark, ...]
    failure: str | None
    excluded: bool = False


def summarise(
    results: Results,
    *,
    rules: RedRules,
    judges: tuple[str, ...],
    seed: int,
    customers: Customers = NOBODY_LOOKED,
) -> Summary:
    """The summary of a run as far as it has come; `judges` in the order in which they were named.

    `customers` says how the customers were played, and what is to be done with the turns they spoilt.
    """
    results = counted(results)
    names = judges or tuple(sorted({score.judge for score in results.scores}))
    primary = primary_judge(names)
    every = _spoken(results, rules, primary)
    spoken = _without_spoilt(every, customers) if customers.handling == "exclude" else every
    started = [c for c in results.conversations if c.turns or c.ended]
    means = _conversation_means(spoken)
    values, clusters = _clustered(means, started)
    red = sorted((s for s in spoken if s.marks), key=_worst_first)
    turns = _graded_turns(results, spoken)
    return Summary(
        run=results.run.id,
        status=results.run.status,
        offline=results.run.offline,
        primary=primary,
        rules=rules,
        score=_mean(values),
        answered_score=_mean(_conversation_means([s for s in spoken if not s.failure]).values()),
        interval=bootstrap_interval(values, clusters, seed=seed),
        conversation_scores=means,
        judges={name: _judge(name, spoken) for name in names},
        personas=_personas(results.personas, started, spoken, means, names),
        cases=_cases(started, spoken, means),
        total=_total(names, spoken),
        planned=results.planned,
        finished=sum(c.ended is not None and c.ended not in CUT_OFF for c in started),
        spared=_spared(results),
        graded=len(means),
        missing=sum(c.ended is not None and c.id not in means for c in started),
        ended=dict(Counter(c.ended.value for c in started if c.ended)),
        turns=len(spoken),
        red=len(red),
        red_kinds=_red_kinds(red),
        red_second=sum(all(m.kind not in KINDS[:2] for m in s.marks) for s in red),
        reddest=tuple(_red_turn(s) for s in red),
        bot_failures=dict(Counter(s.failure for s in spoken if s.failure)),
        panel=side_by_side(results.scores),
        votes=votes(results.scores),
        corrected=correct(turns, seed=seed),
        labels=len(labelled(turns)),
        shortage=shortage(turns),
        simulator=_simulator(started, every, customers),
        spending=results.spending,
        usage=results.usage,
        cost_usd=_cost(results.spending.values()),
        seconds=results.run.seconds,
    )


def counted(results: Results) -> Results:
    """The run without the conversations that were held once more because of their customer."""
    held_again = results.notes.get(SUPERSEDED)
    if not isinstance(held_again, dict) or not held_again:
        return results
    talks = tuple(talk for talk in results.conversations if talk.id not in held_again)
    scores = tuple(score for score in results.scores if score.conversation not in held_again)
    gone = len(results.conversations) - len(talks)
    left = {"planned": results.planned - gone, "conversations": talks, "scores": scores}
    return results.model_copy(update=left) if gone else results


def _spared(results: Results) -> int:
    """The conversations that were never held because the gate's answer was certain before."""
    if STOPPED_EARLY not in results.notes:
        return 0
    return sum(talk.ended is None and not talk.turns for talk in results.conversations)


def everyone_who_graded(results: Results, named: tuple[str, ...]) -> tuple[str, ...]:
    """The judges that were named; those that graded the run later and the panel's models follow by name."""
    return (*named, *sorted({score.judge for score in results.scores} - set(named)))


def _spoken(results: Results, rules: RedRules, primary: str) -> list[_Spoken]:
    """Every turn of the run, with the scores that belong to it."""
    scores: dict[tuple[str, int], dict[str, Score]] = {}
    for score in results.scores:
        scores.setdefault((score.conversation, score.turn), {})[score.judge] = score
    return [
        _one(c, turn, scores.get((c.id, turn.index), {}), rules, primary)
        for c in results.conversations
        for turn in c.turns
    ]


def _one(c: Conversation, turn: Turn, scores: dict[str, Score], rules: RedRules, primary: str) -> _Spoken:
    """A turn whose answer failed is red even while its grades are still missing."""
    failure = turn_failure(turn)
    verdict = scores.get(primary)
    marks = red_marks(c.id, scores.values(), rules, primary)
    if failure and not any(is_unanswered(s) for s in scores.values()):
        marks = (Mark(kind="no_answer", severity="major", reason=f"no answer: {failure}"),)
    return _Spoken(c, turn, scores, verdict.value if verdict else None, marks, failure)


def _without_spoilt(spoken: Iterable[_Spoken], customers: Customers) -> list[_Spoken]:
    """The turns, those that a customer spoilt without grade and mark; a silent bot is the bot's own fault."""
    spoilt = frozenset(customers.spoilt)
    return [
        replace(s, scores={}, value=None, marks=(), excluded=True)
        if (s.conversation.id, s.turn.index) in spoilt and not s.failure
        else s
        for s in spoken
    ]


def turn_failure(turn: Turn) -> str | None:
    """The kind of the bot's failure in a turn, or None when it answered."""
    if turn.answer.error:
        return turn.answer.error.kind
    return None if turn.answer.text.strip() else "empty"


def _conversation_means(spoken: Iterable[_Spoken]) -> dict[str, float]:
    """The score of each conversation that has one: the mean of its graded turns."""
    values: dict[str, list[float]] = {}
    for s in spoken:
        if s.value is not None:
            values.setdefault(s.conversation.id, []).append(s.value)
    return {key: fsum(found) / len(found) for key, found in values.items()}


def _clustered(means: dict[str, float], started: Sequence[Conversation]) -> tuple[list[float], list[str]]:
    """The conversation scores beside the cases they belong to."""
    graded = [c for c in started if c.id in means]
    return [means[c.id] for c in graded], [c.case.id for c in graded]


def _graded_turns(results: Results, spoken: Iterable[_Spoken]) -> list[GradedTurn]:
    """The graded turns beside what people gave them blind; those without an answer are graded by rule."""
    people = blind_grades(results.verdicts)
    return [
        GradedTurn(
            case=s.conversation.case.id,
            conversation=s.conversation.id,
            value=s.value,
            stratum=None if s.failure else "red" if s.marks else "not_red",
            human=people.get((s.conversation.id, s.turn.index)),
        )
        for s in spoken
        if s.value is not None
    ]


def _mean(values: Iterable[float | None]) -> float | None:
    """The mean of what is there; None when nothing is."""
    there = [value for value in values if value is not None]
    return fsum(there) / len(there) if there else None


def _judge(name: str, spoken: Sequence[_Spoken]) -> JudgeSummary:
    """One judge over all spoken turns."""
    scored = [s for s in spoken if (score := s.scores.get(name)) and score.state == "scored"]
    values = [s.scores[name].value or 0.0 for s in scored]
    excluded = sum(s.excluded for s in spoken)
    asked = [s for s in spoken if not s.excluded]
    failures = Counter(kind for s in asked if (kind := _failure_kind(s.scores.get(name))))
    rubrics = _unique(score.rubric for s in scored if (score := s.scores[name]).rubric and not score.by_rule)
    return JudgeSummary(
        mean=_mean(values),
        answered_mean=_mean(s.scores[name].value for s in scored if not s.failure),
        raw_mean=_mean(s.scores[name].raw for s in scored),
        stderr=clustered_stderr(values, [s.conversation.case.id for s in scored]),
        n=len(scored),
        planned=len(spoken),
        skipped=len(asked) - len(scored) - failures.total(),
        failed=failures.total(),
        failures=dict(failures),
        rubrics=tuple(rubrics),
        excluded=excluded,
    )


def _failure_kind(score: Score | None) -> str | None:
    """How the grading of a turn failed; `missing` when its score was never written."""
    if score is None:
        return "missing"
    if score.state != "failed":
        return None
    kind = score.detail.get("kind") or score.reason.partition(":")[0].strip()
    return kind if isinstance(kind, str) and kind in _FAILURE_KINDS else "error"


def _personas(
    known: Sequence[Persona],
    started: Sequence[Conversation],
    spoken: Sequence[_Spoken],
    means: dict[str, float],
    judges: Sequence[str],
) -> tuple[PersonaSummary, ...]:
    """One row per persona that took part, in order of appearance."""
    names = {p.id: {language: p.speaks(language).name for language in LANGUAGES} for p in known}
    held = _grouped(started, lambda c: c.persona)
    turns = _grouped(spoken, lambda s: s.conversation.persona)
    return tuple(
        PersonaSummary(
            persona=persona,
            names=names.get(persona, {}),
            score=_mean(means.get(c.id) for c in mine),
            conversations=len(mine),
            graded=sum(c.id in means for c in mine),
            turns=len(turns.get(persona, [])),
            red=sum(bool(s.marks) for s in turns.get(persona, [])),
            judges={judge: _cell(judge, turns.get(persona, [])) for judge in judges},
        )
        for persona, mine in held.items()
    )


def _cell(judge: str, turns: Sequence[_Spoken]) -> Mean:
    """The mean of one judge over some turns."""
    values = [s.scores[judge].value for s in turns if judge in s.scores and s.scores[judge].state == "scored"]
    return Mean(mean=_mean(values), n=len(values), planned=len(turns))


def _cases(
    started: Sequence[Conversation], spoken: Sequence[_Spoken], means: dict[str, float]
) -> tuple[CaseSummary, ...]:
    """The questions, those with most red turns first."""
    held = _grouped(started, lambda c: c.case.id)
    turns = _grouped(spoken, lambda s: s.conversation.case.id)
    rows = [_case(found, turns.get(case, []), means) for case, found in held.items()]
    return tuple(sorted(rows, key=lambda row: (-row.red, 2.0 if row.score is None else row.score)))


def _case(held: Sequence[Conversation], turns: Sequence[_Spoken], means: dict[str, float]) -> CaseSummary:
    """One question over all the conversations that began with it."""
    red = sorted((s for s in turns if s.marks), key=_worst_first)
    row = CaseSummary(
        case=held[0].case.id,
        question=held[0].case.question,
        score=_mean(means.get(c.id) for c in held),
        conversations=len(held),
        turns=len(turns),
        red=len(red),
        worst=(red[0].conversation.id, red[0].turn.index) if red else None,
    )
    return compact(row)


def _total(judges: Iterable[str], spoken: Sequence[_Spoken]) -> Total:
    """The sum of the RAG metrics' raw means."""
    raws = [
        raw for name in RAG_METRICS if name in judges and (raw := _judge(name, spoken).raw_mean) is not None
    ]
    return Total(value=fsum(raws) if raws else None, of=5 * len(raws))


def _worst_first(s: _Spoken) -> tuple[int, int, float, int]:
    """Gravest first; at equal gravity what was answered before what was not, then the lowest."""
    value = 2.0 if s.value is None else s.value
    return RANK[worst(s.marks)], bool(s.failure), value, -len(s.marks)


def _red_turn(s: _Spoken) -> RedTurn:
    """The turn as a row of the list of red turns."""
    turn = RedTurn(
        conversation=s.conversation.id,
        turn=s.turn.index,
        persona=s.conversation.persona,
        case=s.conversation.case.id,
        question=excerpt(s.turn.user),
        answer=excerpt(s.turn.answer.text),
        value=s.value,
        reason=next((m.reason for m in sorted(s.marks, key=lambda m: RANK[m.severity]) if m.reason), ""),
        failure=s.failure,
        marks=s.marks,
    )
    return compact(turn)


def excerpt(text: str, length: int = EXCERPT) -> str:
    """The beginning of a text on one line."""
    line = " ".join(text[: 4 * length].split())
    return line if len(line) <= length else line[: length - 1].rstrip() + "…"


def _red_kinds(red: Iterable[_Spoken]) -> dict[str, int]:
    """How many turns carry each kind of mark, in the order of the rules."""
    found = Counter(mark.kind for s in red for mark in s.marks)
    return {kind: found[kind] for kind in KINDS if found[kind]}


def _simulator(
    started: Sequence[Conversation], every: Sequence[_Spoken], customers: Customers
) -> SimulatorSummary:
    """What the guard of the simulated customer had to do, and what it let through."""
    guarded = [turn.broken_rules for c in started for turn in c.turns if turn.broken_rules]
    kept = _without_spoilt(every, customers) if customers.spoilt else []
    return SimulatorSummary(
        guarded=len(guarded),
        failed=sum(c.ended is Ended.USER_FAILED for c in started),
        rules=dict(Counter(rule for rules in guarded for rule in rules)),
        customers=customers,
        with_spoilt=_mean(_conversation_means(every).values()) if kept else None,
        without_spoilt=_mean(_conversation_means(kept).values()) if kept else None,
    )


def _cost(spending: Iterable[Spending]) -> float | None:
    """Dollars of all roles; None as soon as one is unknown."""
    costs = [role.cost_usd for role in spending]
    return None if None in costs else fsum(cost for cost in costs if cost is not None)


def _unique(names: Iterable[str]) -> list[str]:
    """The names without repetition, in order."""
    return list(dict.fromkeys(names))


def _grouped(items: Iterable[Item], key: Callable[[Item], str]) -> dict[str, list[Item]]:
    """The items by key, in order of the keys' first appearance."""
    found: dict[str, list[Item]] = {}
    for item in items:
        found.setdefault(key(item), []).append(item)
    return found
