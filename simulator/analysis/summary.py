"""What a run comes to: every figure that reports show, each with how many grades stand behind it.

Whose failure it is decides what it costs: the bot's own failure is graded (lowest, by rule), a
judge's or the simulator's is left out of the means and counted. Nothing is ever counted as 0
because it could not be graded. Turns that the simulated customer spoilt count like any other, unless
they are to be left out; both scores are kept either way.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
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
from simulator.analysis.intervals import clustered_stderr, ends_of, interval_of_mean
from simulator.analysis.outputs import is_of_another_output
from simulator.analysis.panel import side_by_side, votes
from simulator.analysis.red import KINDS, RANK, deciding, is_undecided, primary_judge, worst
from simulator.analysis.spoken import Held, Spoken, gathered, quoted, turn_failure, without_spoilt
from simulator.core.types import (
    STOPPED_EARLY,
    Ended,
    Failure,
    Language,
    Persona,
    RedRules,
    Results,
    Score,
    Spending,
    compact,
)
from simulator.storage.results import counted, judges_of

__all__ = ["everyone_who_graded", "excerpt", "summarise", "turn_failure"]

Item = TypeVar("Item")
LANGUAGES: tuple[Language, ...] = ("ja", "en")

# The five graded 1..5 whose raw means add up to the total.
RAG_METRICS = ("relevance", "groundedness", "similarity", "fluency", "cosine")
# A conversation that was cut off is not finished: it can be taken up again.
CUT_OFF = frozenset({Ended.BUDGET, Ended.INTERRUPTED})
EXCERPT = 160
NOBODY_LOOKED = Customers()
_FAILURE_KINDS = frozenset(get_args(Failure.model_fields["kind"].annotation))


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
    names = judges or tuple(sorted(judges_of(results)))
    primary, rows = primary_judge(names), results.run.asks_once
    every = gathered(results, rules, primary)
    spoken = without_spoilt(every.spoken, customers) if customers.handling == "exclude" else every.spoken
    started = every.held
    means = _conversation_means(spoken)
    values, clusters = _clustered(means, started)
    red = sorted((s for s in spoken if s.marks), key=_worst_first)
    turns = _graded_turns(results, spoken) if results.verdicts else []
    nothing_to_grade = {s.talk for s in spoken if s.unrecorded} - {s.talk for s in spoken if not s.unrecorded}
    return Summary(
        run=results.run.id,
        status=results.run.status,
        offline=results.run.offline,
        primary=primary,
        rules=rules,
        score=_mean(values),
        answered_score=_mean(_conversation_means([s for s in spoken if not s.failure]).values()),
        interval=interval_of_mean(values, clusters, seed=seed, ends=ends_of(_given(spoken, primary))),
        conversation_scores=means,
        judges={name: _judge(name, spoken) for name in names},
        personas=() if rows else _personas(results.personas, started, spoken, means, names),
        cases=_cases(started, spoken, means),
        total=_total(names, spoken),
        rows=rows,
        planned=results.planned,
        finished=sum(c.ended is not None and c.ended not in CUT_OFF for c in started),
        spared=every.unbegun if STOPPED_EARLY in results.notes else 0,
        graded=len(means),
        missing=sum(
            c.ended is not None and c.id not in means and c.id not in nothing_to_grade for c in started
        ),
        unrecorded=sum(s.unrecorded for s in spoken),
        ended=dict(Counter(c.ended.value for c in started if c.ended)),
        turns=len(spoken),
        red=len(red),
        red_kinds=_red_kinds(red),
        red_second=sum(all(m.kind not in KINDS[:2] for m in s.marks) for s in red),
        reddest=tuple(map(_red_turn, quoted(results, red, rules, primary))),
        bot_failures=dict(Counter(s.failure for s in spoken if s.failure)),
        panel=side_by_side(results.scores) if any("@" in name for name in every.judges) else (),
        votes=votes(every.voted),
        corrected=correct(turns, seed=seed),
        labels=len(labelled(turns)),
        shortage=shortage(turns),
        simulator=_simulator(started, every.spoken, customers),
        spending=results.spending,
        usage=results.usage,
        cost_usd=_cost(results.spending.values()),
        seconds=results.run.seconds,
    )


def everyone_who_graded(results: Results, named: tuple[str, ...]) -> tuple[str, ...]:
    """The judges that were named; those that graded the run later and the panel's models follow by name."""
    graded = judges_of(results)
    return (*(first := deciding(named, graded)), *sorted(graded - set(first)))


def _conversation_means(spoken: Iterable[Spoken]) -> dict[str, float]:
    """The score of each conversation that has one: the mean of its graded turns."""
    values: dict[str, list[float]] = {}
    for s in spoken:
        if s.value is not None:
            values.setdefault(s.talk, []).append(s.value)
    return {key: fsum(found) / len(found) for key, found in values.items()}


def _clustered(means: dict[str, float], started: Sequence[Held]) -> tuple[list[float], list[str]]:
    """The conversation scores beside the cases they belong to."""
    graded = [c for c in started if c.id in means]
    return [means[c.id] for c in graded], [c.case for c in graded]


def _given(spoken: Iterable[Spoken], judge: str) -> Iterator[Score]:
    """The grades that a judge gave."""
    given = (s.scores.get(judge) for s in spoken)
    return (score for score in given if score and score.state == "scored")


def _graded_turns(results: Results, spoken: Iterable[Spoken]) -> list[GradedTurn]:
    """The graded turns beside what people gave them blind; those without an answer are graded by rule."""
    people = blind_grades(results.verdicts)
    return [
        GradedTurn(
            case=s.case,
            conversation=s.talk,
            value=s.value,
            stratum=None if s.failure else "red" if s.marks else "not_red",
            human=people.get((s.talk, s.turn)),
        )
        for s in spoken
        if s.value is not None
    ]


def _mean(values: Iterable[float | None]) -> float | None:
    """The mean of what is there; None when nothing is."""
    there = [value for value in values if value is not None]
    return fsum(there) / len(there) if there else None


def _judge(name: str, spoken: Sequence[Spoken]) -> JudgeSummary:
    """One judge over all spoken turns."""
    scored = [s for s in spoken if (score := s.scores.get(name)) and score.state == "scored"]
    values = [s.scores[name].value or 0.0 for s in scored]
    excluded = sum(s.excluded for s in spoken)
    asked = [s for s in spoken if not (s.excluded or s.unrecorded)]
    failures = Counter(kind for s in asked if (kind := _failure_kind(name, s.scores)))
    rubrics = _unique(score.rubric for s in scored if (score := s.scores[name]).rubric and not score.by_rule)
    return JudgeSummary(
        mean=_mean(values),
        answered_mean=_mean(s.scores[name].value for s in scored if not s.failure),
        raw_mean=_mean(s.scores[name].raw for s in scored),
        stderr=clustered_stderr(values, [s.case for s in scored]),
        n=len(scored),
        planned=len(spoken),
        skipped=len(asked) - len(scored) - failures.total(),
        failed=failures.total(),
        failures=dict(failures),
        rubrics=tuple(rubrics),
        excluded=excluded,
        undecided=sum(name in s.scores and is_undecided(s.scores[name]) for s in asked),
    )


def _failure_kind(judge: str, scores: Mapping[str, Score]) -> str | None:
    """How the grading of a turn failed; `missing` when its score was never written although it was due."""
    if (score := scores.get(judge)) is None:
        return None if is_of_another_output(judge, scores) else "missing"
    if score.state != "failed":
        return None
    kind = score.detail.get("kind") or score.reason.partition(":")[0].strip()
    return kind if isinstance(kind, str) and kind in _FAILURE_KINDS else "error"


def _personas(
    known: Sequence[Persona],
    started: Sequence[Held],
    spoken: Sequence[Spoken],
    means: dict[str, float],
    judges: Sequence[str],
) -> tuple[PersonaSummary, ...]:
    """One row per persona that took part, in order of appearance."""
    names = {p.id: {language: p.speaks(language).name for language in LANGUAGES} for p in known}
    held = _grouped(started, lambda c: c.persona)
    turns = _grouped(spoken, lambda s: s.persona)
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


def _cell(judge: str, turns: Sequence[Spoken]) -> Mean:
    """The mean of one judge over some turns."""
    values = [s.scores[judge].value for s in turns if judge in s.scores and s.scores[judge].state == "scored"]
    return Mean(mean=_mean(values), n=len(values), planned=len(turns))


def _cases(
    started: Sequence[Held], spoken: Sequence[Spoken], means: dict[str, float]
) -> tuple[CaseSummary, ...]:
    """The questions, those with most red turns first."""
    held = _grouped(started, lambda c: c.case)
    turns = _grouped(spoken, lambda s: s.case)
    rows = [_case(found, turns.get(case, []), means) for case, found in held.items()]
    return tuple(sorted(rows, key=lambda row: (-row.red, 2.0 if row.score is None else row.score)))


def _case(held: Sequence[Held], turns: Sequence[Spoken], means: dict[str, float]) -> CaseSummary:
    """One question over all the conversations that began with it."""
    red = sorted((s for s in turns if s.marks), key=_worst_first)
    row = CaseSummary(
        case=held[0].case,
        question=held[0].question,
        score=_mean(means.get(c.id) for c in held),
        conversations=len(held),
        turns=len(turns),
        red=len(red),
        worst=(red[0].talk, red[0].turn) if red else None,
    )
    return compact(row)


def _total(judges: Iterable[str], spoken: Sequence[Spoken]) -> Total:
    """The sum of the RAG metrics' raw means."""
    raws = [
        raw for name in RAG_METRICS if name in judges and (raw := _judge(name, spoken).raw_mean) is not None
    ]
    return Total(value=fsum(raws) if raws else None, of=5 * len(raws))


def _worst_first(s: Spoken) -> tuple[int, int, float, int]:
    """Gravest first; at equal gravity what was answered before what was not, then the lowest."""
    value = 2.0 if s.value is None else s.value
    return RANK[worst(s.marks)], bool(s.failure), value, -len(s.marks)


def _red_turn(s: Spoken) -> RedTurn:
    """The turn as a row of the list of red turns."""
    turn = RedTurn(
        conversation=s.talk,
        turn=s.turn,
        persona=s.persona,
        case=s.case,
        question=excerpt(s.said.user) if s.said else "",
        answer=excerpt(s.said.answer.text) if s.said else "",
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


def _red_kinds(red: Iterable[Spoken]) -> dict[str, int]:
    """How many turns carry each kind of mark, in the order of the rules."""
    found = Counter(mark.kind for s in red for mark in s.marks)
    return {kind: found[kind] for kind in KINDS if found[kind]}


def _simulator(started: Sequence[Held], every: Sequence[Spoken], customers: Customers) -> SimulatorSummary:
    """What the guard of the simulated customer had to do, and what it let through."""
    guarded = [rules for c in started for rules in c.broken]
    kept = without_spoilt(every, customers) if customers.spoilt else []
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
