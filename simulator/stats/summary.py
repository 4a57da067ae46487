"""The figures of a run that reports show, each with the number of grades behind it.

The bot's own failure is graded (lowest, by rule); a failure of a judge or of the simulator is counted, and
left out of the means. Nothing counts as 0 because it could not be graded. Turns that the simulated customer
spoilt count like any other, unless they are to be left out; both scores are kept either way.

Also here: how a judge's grades develop over the turns (`course`), and what the bot spent (`bot_usage`).
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby, islice
from math import fsum
from statistics import fmean
from typing import NamedTuple, TypeVar, get_args

from simulator.core.settings import stored_settings
from simulator.core.types import (
    PASSED,
    STOPPED_EARLY,
    Conversation,
    Ended,
    Failure,
    Language,
    Persona,
    RedRules,
    Results,
    Score,
    Spending,
    State,
    Turn,
    Usage,
    Value,
)
from simulator.models.pricing import Prices
from simulator.stats.agreement import panel_agreement, vote_agreement
from simulator.stats.corrected import StratifiedTurn, blind_grades, correct, labelled_turns, shortage
from simulator.stats.figures import (
    CaseSummary,
    CustomerSummary,
    JudgeSummary,
    Mean,
    PersonaSummary,
    RedTurn,
    SimulatorSummary,
    Summary,
    Total,
)
from simulator.stats.intervals import clustered_stderr, ends_of, interval_of_mean
from simulator.stats.red import (
    KINDS,
    RANK,
    Mark,
    deciding_judges,
    is_unanswered,
    is_undecided,
    primary_judge,
    red_marks,
    worst_severity,
)
from simulator.storage.results import (
    cache_latest,
    conversations_with_scores,
    turns_with_scores,
    without_superseded,
)

# The bundled bot: its model is one of the run's own roles, and its tokens are counted there.
_BUNDLED_BOT = "demo"
# Turns after this one are left out: few conversations come so far.
LAST_TURN = 12
# Of a large data set, the texts of so many red turns are kept; of the others only where they are.
MAX_QUOTED = 2_000
Item = TypeVar("Item")
LANGUAGES: tuple[Language, ...] = ("ja", "en")
# The five graded 1..5 whose raw means add up to the total.
RAG_METRICS = ("relevance", "groundedness", "similarity", "fluency", "cosine")
# A conversation that was cut off is not finished: it can be taken up again.
CUT_OFF = frozenset({Ended.BUDGET, Ended.INTERRUPTED})
EXCERPT = 160
CUSTOMERS_UNCHECKED = CustomerSummary()
# The mean to fix first is one of these judges' (beside the deciding one): they turn an answer red.
_REDDENING = ("groundedness", "claims", "facts")
# And it is below that of the other customers by at least this much: the lowest of ten that are alike is
# lowest by chance. Single customers have no interval of their own that could be used instead.
_APART = 0.05
_FAILURE_KINDS = frozenset(get_args(Failure.model_fields["kind"].annotation))


class Course(Value):
    """One judge at turn 1, 2, ...: `overall`, and by persona; a mean is 0..1, or on the judge's own scale."""

    judge: str
    overall: tuple[Mean, ...]
    personas: Mapping[str, tuple[Mean, ...]]

    @property
    def turns(self) -> int:
        """Up to which turn it goes."""
        return len(self.overall)


@dataclass(frozen=True, slots=True)
class ConversationRow:
    """One conversation that began, without its turns; `broken` are the guard's rules, message by message."""

    id: str
    case: str
    question: str
    persona: str
    ended: Ended | None
    broken: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class Grade:
    """What figures need of a score: no text.

    `rubric` is empty where a rule decided, `failure` says how grading failed. `undecided` means that the
    evidence conflicts, `of_output` that this grades one output of a row, without a threshold.
    """

    judge: str
    state: State
    value: float | None
    raw: float | None
    scale: tuple[float, float]
    rubric: str
    failure: str | None
    undecided: bool
    of_output: bool


@dataclass(frozen=True, slots=True)
class GradedTurn:
    """One turn with its grades, and what the deciding judge says of it."""

    conversation: str
    case: str
    persona: str
    turn: int
    scores: Mapping[str, Grade]
    value: float | None
    marks: tuple[Mark, ...]
    failure: str | None
    excluded: bool = False
    unrecorded: bool = False


@dataclass(slots=True)
class RunTurns:
    """The conversations that began, their turns, how many did not begin, the judges, and votes.

    `graded` turns have a grade that no rule gave.
    """

    conversations: list[ConversationRow] = field(default_factory=list)
    turns: list[GradedTurn] = field(default_factory=list)
    unbegun: int = 0
    graded: int = 0
    judges: set[str] = field(default_factory=set)
    voted: list[Score] = field(default_factory=list)


def summarise(
    results: Results,
    *,
    rules: RedRules,
    judges: tuple[str, ...],
    seed: int,
    customers: CustomerSummary = CUSTOMERS_UNCHECKED,
) -> Summary:
    """The summary of a run as far as it has come; `judges` in the order in which they were named.

    `customers` says how the customers were played, and what is to be done with the turns they spoilt.
    """
    results = without_superseded(results)
    names = judges or tuple(sorted(results.scores.judges))
    primary, rows = primary_judge(names), results.run.asks_once
    every = run_turns(results, rules, primary)
    spoken = without_spoilt(every.turns, customers) if customers.handling == "exclude" else every.turns
    started = every.conversations
    means = _conversation_means(spoken)
    graded = [c for c in started if c.id in means]
    values, costs = [means[c.id] for c in graded], [role.cost_usd for role in results.spending.values()]
    scales = {
        s.scores[primary].scale for s in spoken if primary in s.scores and s.scores[primary].state == "scored"
    }
    red = sorted((s for s in spoken if s.marks), key=_worst_first)
    turns = _stratified_turns(results, spoken) if results.verdicts else []
    nothing_to_grade = {s.conversation for s in spoken if s.unrecorded} - {
        s.conversation for s in spoken if not s.unrecorded
    }
    return Summary(
        run=results.run.id,
        status=results.run.status,
        offline=results.run.offline,
        primary=primary,
        rules=rules,
        score=_mean(values),
        answered_score=_mean(_conversation_means([s for s in spoken if not s.failure]).values()),
        interval=interval_of_mean(values, [c.case for c in graded], seed=seed, ends=ends_of(scales)),
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
        reddest=tuple(_reddest(results, red, rules, primary)),
        bot_failures=dict(Counter(s.failure for s in spoken if s.failure)),
        panel=panel_agreement(results.scores) if any("@" in name for name in every.judges) else (),
        votes=vote_agreement(every.voted),
        corrected=correct(turns, seed=seed),
        labels=len(labelled_turns(turns)),
        shortage=shortage(turns),
        simulator=_simulator(started, every.turns, customers),
        graded_turns=every.graded,
        spending=results.spending,
        usage=results.usage,
        cost_usd=None if None in costs else fsum(cost for cost in costs if cost is not None),
        seconds=results.run.seconds,
    )


def grading_judges(results: Results, named: tuple[str, ...]) -> tuple[str, ...]:
    """The judges that were named, then those that graded later and the panel's models by name."""
    graded = results.scores.judges
    return (*(first := deciding_judges(named, graded)), *sorted(graded - set(first)))


def excerpt(text: str, length: int = EXCERPT) -> str:
    """The beginning of a text on one line."""
    line = " ".join(text[: 4 * length].split())
    return line if len(line) <= length else line[: length - 1].rstrip() + "…"


def turn_failure(turn: Turn) -> str | None:
    """The kind of the bot's failure in a turn; None when it answered, or when a log does not tell."""
    if turn.unrecorded:
        return None
    if turn.answer.error:
        return turn.answer.error.kind
    return None if turn.answer.text.strip() else "empty"


def run_turns(results: Results, rules: RedRules, primary: str) -> RunTurns:
    """Every turn of the run, with the scores that belong to it; `primary` is the judge that decides."""
    run, grades = RunTurns(), _Grades()
    for conversation, by_turn in conversations_with_scores(results):
        if not (conversation.turns or conversation.ended):
            run.unbegun += conversation.ended is None
            continue
        before = len(run.turns)
        for turn in conversation.turns:
            scores = by_turn.get(turn.index, {})
            run.judges |= scores.keys()
            run.graded += any(s.state == "scored" and not s.by_rule for s in scores.values())
            run.voted += [s for s in scores.values() if isinstance(s.detail.get("votes"), list)]
            graded = grades.of(scores.values())
            verdict = graded.get(primary)
            run.turns.append(
                GradedTurn(
                    conversation.id,
                    conversation.case.id,
                    conversation.persona,
                    turn.index,
                    graded,
                    verdict.value if verdict else None,
                    grades.marks(_marks(conversation, turn, scores, rules, primary)),
                    turn_failure(turn),
                    unrecorded=turn.unrecorded,
                )
            )
        red = any(s.marks for s in run.turns[before:])
        run.conversations.append(
            ConversationRow(
                conversation.id,
                conversation.case.id,
                conversation.case.question if red or not results.is_sampled else "",
                conversation.persona,
                conversation.ended,
                tuple(turn.broken_rules for turn in conversation.turns if turn.broken_rules),
            )
        )
    return run


def _marks(
    conversation: Conversation, turn: Turn, scores: Mapping[str, Score], rules: RedRules, primary: str
) -> tuple[Mark, ...]:
    """A turn whose answer failed is red even while its grades are still missing."""
    if (failure := turn_failure(turn)) and not any(is_unanswered(s) for s in scores.values()):
        return (Mark(kind="no_answer", severity="major", reason=f"no answer: {failure}"),)
    return red_marks(conversation.id, scores.values(), rules, primary)


class _Grades:
    """Grades and marks without texts; equal ones exist once, for a run has many."""

    def __init__(self) -> None:
        self._grades: dict[Grade, Grade] = {}
        self._by_judge: dict[tuple[int, ...], dict[str, Grade]] = {}
        self._marks: dict[tuple[Mark, ...], tuple[Mark, ...]] = {}

    def of(self, scores: Iterable[Score]) -> dict[str, Grade]:
        """The grades of a turn by judge."""
        grades = [self._grades.setdefault(grade, grade) for grade in map(_grade, scores)]
        return self._by_judge.setdefault(tuple(map(id, grades)), {grade.judge: grade for grade in grades})

    def marks(self, marks: Iterable[Mark]) -> tuple[Mark, ...]:
        """The marks without their reasons."""
        brief = tuple(Mark(kind=mark.kind, severity=mark.severity) for mark in marks)
        return self._marks.setdefault(brief, brief)


def _grade(score: Score) -> Grade:
    return Grade(
        score.judge,
        score.state,
        score.value,
        score.raw,
        score.scale,
        "" if score.by_rule else score.rubric,
        _failure_kind(score) if score.state == "failed" else None,
        is_undecided(score),
        "output" in score.detail and "passed" not in score.detail,
    )


def _failure_kind(score: Score) -> str:
    kind = score.detail.get("kind") or score.reason.partition(":")[0].strip()
    return kind if isinstance(kind, str) and kind in _FAILURE_KINDS else "error"


def without_spoilt(spoken: Iterable[GradedTurn], customers: CustomerSummary) -> list[GradedTurn]:
    """The turns, without grades and marks where a customer spoilt them and the bot did not fail itself."""
    spoilt = frozenset(customers.spoilt)
    return [
        replace(s, scores={}, value=None, marks=(), excluded=True)
        if (s.conversation, s.turn) in spoilt and not s.failure
        else s
        for s in spoken
    ]


def _reddest(results: Results, red: Sequence[GradedTurn], rules: RedRules, primary: str) -> Iterator[RedTurn]:
    """The red turns with their texts; of a large data set only the first `MAX_QUOTED` have them."""
    quoted = {(s.conversation, s.turn): s for s in (red[:MAX_QUOTED] if results.is_sampled else red)}
    with_texts = dict[tuple[str, int], RedTurn]()
    for conversation, turn, scores in turns_with_scores(results, quoted):
        key, marks = (conversation.id, turn.index), _marks(conversation, turn, scores, rules, primary)
        with_texts[key] = _red_turn(quoted[key], marks, excerpt(turn.user), excerpt(turn.answer.text))
    for s in red:
        yield with_texts.get((s.conversation, s.turn)) or _red_turn(s, s.marks)


def _conversation_means(spoken: Iterable[GradedTurn]) -> dict[str, float]:
    """The score of each conversation that has one: the mean of its graded turns, which follow one another."""
    return {
        conversation: score
        for conversation, turns in groupby(spoken, lambda s: s.conversation)
        if (score := _mean(s.value for s in turns)) is not None
    }


def _stratified_turns(results: Results, spoken: Iterable[GradedTurn]) -> list[StratifiedTurn]:
    """The graded turns beside what people gave them blind; those without an answer are graded by rule."""
    people = blind_grades(results.verdicts)
    return [
        StratifiedTurn(
            case=s.case,
            conversation=s.conversation,
            value=s.value,
            stratum=None if s.failure else "red" if s.marks else "not_red",
            human=people.get((s.conversation, s.turn)),
        )
        for s in spoken
        if s.value is not None
    ]


def _mean(values: Iterable[float | None]) -> float | None:
    """The mean of the values that are known; None without any."""
    known = [value for value in values if value is not None]
    return fsum(known) / len(known) if known else None


def _judge(name: str, spoken: Sequence[GradedTurn]) -> JudgeSummary:
    """One judge over all spoken turns."""
    scored = [s for s in spoken if (score := s.scores.get(name)) and score.state == "scored"]
    values = [s.scores[name].value or 0.0 for s in scored]
    excluded = sum(s.excluded for s in spoken)
    due = [s for s in spoken if not (s.excluded or s.unrecorded)]
    failures = Counter(kind for s in due if (kind := _failure(name, s.scores)))
    graded = (s.scores[name] for s in scored)
    rubrics = dict.fromkeys(grade.rubric for grade in graded if grade.rubric)
    return JudgeSummary(
        mean=_mean(values),
        answered_mean=_mean(s.scores[name].value for s in scored if not s.failure),
        raw_mean=_mean(s.scores[name].raw for s in scored),
        stderr=clustered_stderr(values, [s.case for s in scored]),
        n=len(scored),
        planned=len(spoken),
        skipped=len(due) - len(scored) - failures.total(),
        failed=failures.total(),
        failures=dict(failures),
        rubrics=tuple(rubrics),
        excluded=excluded,
        undecided=sum(name in s.scores and s.scores[name].undecided for s in due),
    )


def _failure(judge: str, grades: Mapping[str, Grade]) -> str | None:
    """How the grading of a turn failed; `missing` when its score was never written although it was due."""
    if (grade := grades.get(judge)) is not None:
        return grade.failure
    of_another = "." in judge and (PASSED in grades or any(grade.of_output for grade in grades.values()))
    return None if of_another else "missing"


def _personas(
    known: Sequence[Persona],
    started: Sequence[ConversationRow],
    spoken: Sequence[GradedTurn],
    means: dict[str, float],
    judges: Sequence[str],
) -> tuple[PersonaSummary, ...]:
    """One row per persona that took part, in order of appearance."""
    names = {p.id: {language: p.speaks(language).name for language in LANGUAGES} for p in known}
    by_persona = _grouped(started, lambda c: c.persona)
    turns = _grouped(spoken, lambda s: s.persona)
    return tuple(
        PersonaSummary(
            persona=persona,
            names=names.get(persona, {}),
            score=_mean(means.get(c.id) for c in own),
            conversations=len(own),
            graded=sum(c.id in means for c in own),
            turns=len(turns.get(persona, [])),
            red=sum(bool(s.marks) for s in turns.get(persona, [])),
            judges={judge: _judge_mean(judge, turns.get(persona, [])) for judge in judges},
        )
        for persona, own in by_persona.items()
    )


def _judge_mean(judge: str, turns: Sequence[GradedTurn]) -> Mean:
    """The mean of one judge over some turns."""
    values = [s.scores[judge].value for s in turns if judge in s.scores and s.scores[judge].state == "scored"]
    return Mean(mean=_mean(values), n=len(values), planned=len(turns))


def _cases(
    started: Sequence[ConversationRow], spoken: Sequence[GradedTurn], means: dict[str, float]
) -> tuple[CaseSummary, ...]:
    """The questions, those with most red turns first."""
    order = {case: place for place, case in enumerate(dict.fromkeys(c.case for c in started))}
    counts = Counter(s.case for s in spoken)
    turns = iter(sorted(spoken, key=lambda s: order[s.case]))
    by_case = groupby(sorted(started, key=lambda c: order[c.case]), lambda c: c.case)
    rows = [_case(list(own), list(islice(turns, counts[case])), means) for case, own in by_case]
    return tuple(sorted(rows, key=lambda row: (-row.red, 2.0 if row.score is None else row.score)))


def _case(
    conversations: Sequence[ConversationRow], turns: Sequence[GradedTurn], means: dict[str, float]
) -> CaseSummary:
    """One question over all the conversations that began with it."""
    red = sorted((s for s in turns if s.marks), key=_worst_first)
    return CaseSummary(
        case=conversations[0].case,
        question=conversations[0].question,
        score=_mean(means.get(c.id) for c in conversations),
        conversations=len(conversations),
        turns=len(turns),
        red=len(red),
        worst=(red[0].conversation, red[0].turn) if red else None,
    )


def _total(judges: Iterable[str], spoken: Sequence[GradedTurn]) -> Total:
    """The sum of the RAG metrics' raw means."""
    raws = [
        raw for name in RAG_METRICS if name in judges and (raw := _judge(name, spoken).raw_mean) is not None
    ]
    return Total(value=fsum(raws) if raws else None, of=5 * len(raws))


def _worst_first(s: GradedTurn) -> tuple[int, int, float, int]:
    """Gravest first; at equal gravity what was answered before what was not, then the lowest."""
    value = 2.0 if s.value is None else s.value
    return RANK[worst_severity(s.marks)], bool(s.failure), value, -len(s.marks)


def _red_turn(s: GradedTurn, marks: tuple[Mark, ...], question: str = "", answer: str = "") -> RedTurn:
    """The turn as a row of the list of red turns."""
    return RedTurn(
        conversation=s.conversation,
        turn=s.turn,
        persona=s.persona,
        case=s.case,
        question=question,
        answer=answer,
        value=s.value,
        reason=next((m.reason for m in sorted(marks, key=lambda m: RANK[m.severity]) if m.reason), ""),
        failure=s.failure,
        marks=marks,
    )


def _red_kinds(red: Iterable[GradedTurn]) -> dict[str, int]:
    """How many turns carry each kind of mark, in the order of the rules."""
    found = Counter(mark.kind for s in red for mark in s.marks)
    return {kind: found[kind] for kind in KINDS if found[kind]}


def _simulator(
    started: Sequence[ConversationRow], every: Sequence[GradedTurn], customers: CustomerSummary
) -> SimulatorSummary:
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


def _grouped(items: Iterable[Item], key: Callable[[Item], str]) -> dict[str, list[Item]]:
    """The items by key, in order of the keys' first appearance."""
    groups: dict[str, list[Item]] = {}
    for item in items:
        groups.setdefault(key(item), []).append(item)
    return groups


def course(results: Results, judge: str, *, raw: bool = False) -> Course | None:
    """The course of a judge, `raw` on its own scale; None when it graded no second turn.

    A mean's `planned` is how many turns of that index were spoken.
    """
    if max(results.conversations.lengths(), default=0) < 2:
        return None
    turns = _spoken(results)
    grades = {
        (s.conversation, s.turn): s.raw if raw else s.value for s in results.scores.of_judge(judge, "scored")
    }
    last = max((index for conversation, index, _ in turns if (conversation, index) in grades), default=0)
    if last < 2:
        return None
    personas = dict.fromkeys(persona for *_, persona in turns)
    return Course(
        judge=judge,
        overall=_means(turns, grades, last),
        personas={p: _means((key for key in turns if key[2] == p), grades, last) for p in personas},
    )


@cache_latest
def _spoken(results: Results) -> list[tuple[str, int, str]]:
    """Conversation, number and persona of each turn up to `LAST_TURN`."""
    turns = ((c.id, turn.index, c.persona) for c in results.conversations for turn in c.turns)
    return [turn for turn in turns if turn[1] <= LAST_TURN]


def _means(
    turns: Iterable[tuple[str, int, str]], grades: Mapping[tuple[str, int], float | None], last: int
) -> tuple[Mean, ...]:
    """The mean at each turn index up to `last`."""
    by_turn: list[list[float]] = [[] for _ in range(last)]
    planned = [0] * last
    for conversation, index, _ in turns:
        if index <= last:
            planned[index - 1] += 1
            if (value := grades.get((conversation, index))) is not None:
                by_turn[index - 1].append(value)
    return tuple(
        Mean(mean=fmean(values) if values else None, n=len(values), planned=n)
        for values, n in zip(by_turn, planned, strict=True)
    )


class WeakestMean(NamedTuple):
    """The mean of one judge for one persona, which is at this place in the summary."""

    persona: int
    judge: str
    mean: Mean


def weakest_mean(summary: Summary) -> WeakestMean | None:
    """Where most points are lost, among low means that stand apart; None where there is none."""
    limit = summary.rules.overall
    deciding = [name for name in (summary.primary, *_REDDENING) if name in summary.judges]
    means = [
        WeakestMean(place, judge, persona.judges[judge])
        for place, persona in enumerate(summary.personas)
        for judge in deciding
    ]
    low = [m for m in means if limit is not None and m.mean.mean is not None and m.mean.mean < limit]
    apart = [each for each in low if _is_apart(each, means)]
    # What all graded turns together lack for full marks.
    return max(apart, key=lambda each: (1 - (each.mean.mean or 0.0)) * each.mean.n, default=None)


def _is_apart(weak: WeakestMean, means: Sequence[WeakestMean]) -> bool:
    """Whether a mean is well below that of all other customers together; one customer alone is not."""
    others = [m.mean for m in means if m.judge == weak.judge and m.persona != weak.persona and m.mean.n]
    graded = sum(each.n for each in others)
    if weak.mean.mean is None or not graded:
        return False
    together = sum((each.mean or 0.0) * each.n for each in others) / graded
    return together - weak.mean.mean >= _APART - 1e-9


def bot_usage(results: Results) -> dict[str, Spending]:
    """What the bot itself spent by model: calls, tokens, dollars; empty where no answer states its tokens."""
    if results.run.settings.get("adapter", _BUNDLED_BOT) == _BUNDLED_BOT:
        return {}
    used: dict[str, tuple[int, int, int]] = {}
    for usage in results.conversations.usages():
        calls, tokens_in, tokens_out = used.get(usage.model, (0, 0, 0))
        used[usage.model] = calls + 1, tokens_in + usage.tokens_in, tokens_out + usage.tokens_out
    if not used:
        return {}
    prices = Prices.of(stored_settings(results.run.settings))
    return {model: _spent(model, figures, prices) for model, figures in used.items()}


def _spent(model: str, figures: tuple[int, int, int], prices: Prices) -> Spending:
    """Without a model's name the cost is unknown (None), and not 0 as that of a stand-in."""
    calls, tokens_in, tokens_out = figures
    cost = prices.cost_usd(Usage(model=model, tokens_in=tokens_in, tokens_out=tokens_out)) if model else None
    return Spending(calls=calls, tokens_in=tokens_in, tokens_out=tokens_out, cost_usd=cost)
