"""The figures of a run that reports show, each with the number of grades behind it.

The bot's own failure is graded (lowest, by rule); a failure of a judge or of the simulator is counted, and
left out of the means. Nothing counts as 0 because it could not be graded. Turns that the simulated customer
spoilt count like any other, unless they are to be left out; both scores are kept either way.

How a score comes about, from the bottom up:

1. A turn has the deciding judge's grade as a share: 4 of 5 is 0.8, a share of 0..1 stays what it is.
2. A conversation has the mean of its graded turns; without one it has no score and counts as `missing`.
3. The run has the mean over conversations, so that long ones weigh no more than short ones.
4. The 95 % interval draws questions, because conversations about one question are not independent.

A judge's own mean, beside it in every table, is over turns (or over rows, or whole conversations), and may
therefore differ a little from the score of the same judge.

Memory: a run can have 100,000 conversations, which are read once, one after the other. What is kept of a turn
is its grades without their texts (`Grade`), each different one once; texts are fetched again for the red
turns that reports quote.

Also here: how a judge's grades develop over the turns (`course`), and what the bot spent (`bot_usage`).
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from math import fsum, inf, sqrt
from statistics import fmean
from typing import Any, TypeVar, get_args

from simulator.core.document import excerpt
from simulator.core.settings import Settings, stored_settings
from simulator.core.shelves import judge_name
from simulator.core.types import (
    COMPLETE,
    CONFLICTS_IGNORED,
    CONVERSATION,
    LAPSES_IGNORED,
    LEXICAL,
    PASSED,
    RETEST,
    Conversation,
    Ended,
    Failure,
    Language,
    RedRules,
    Results,
    Score,
    Spending,
    Turn,
    Value,
)
from simulator.models.pricing import Prices, usage_of
from simulator.results.customers import summarise_customers
from simulator.results.figures import (
    ENOUGH_ALIKE,
    CaseSummary,
    CustomerSummary,
    JudgeSummary,
    Mark,
    Mean,
    PersonaSummary,
    RedTurn,
    Reliability,
    RetestFigures,
    SimulatorScore,
    SimulatorSummary,
    Summary,
    Total,
    turn_failure,
)
from simulator.results.intervals import (
    clustered_stderr,
    ends_of,
    interval_of_mean,
    joint_interval,
    retest_variance,
)
from simulator.results.red import (
    KINDS,
    LAPSES,
    RANK,
    by_question,
    deciding_judges,
    gravest_reason,
    is_flipped,
    is_unanswered,
    is_undecided,
    lapses_of,
    placed_scores,
    primary_judge,
    red_marks,
    whole_score,
    worst_severity,
)
from simulator.results.review import by_people
from simulator.results.turns import ConversationRow, Grade, GradedTurn, Outcome, RunTurns
from simulator.storage.results import (
    cache_latest,
    conversations_with_scores,
    without_superseded,
)
from simulator.text.phrases import is_courtesy

# Of the adapter, the bundled bot: its model is one of the run's own roles, and its tokens are counted there.
_BUNDLED_BOT = "demo"
# Turns after this one are left out: few conversations come so far.
LAST_TURN = 12
# Of a large run, the texts of so many red turns are kept, and of as many of the first questions; of the
# others only where they are.
MAX_QUOTED, QUESTIONS_QUOTED = 2_000, 20
Item = TypeVar("Item")
# The five graded 1..5 whose raw means add up to the total, as the RAG contests add them up
# (results/contest.py).
RAG_METRICS = ("relevance", "groundedness", "similarity", "fluency", "cosine")
# A conversation that was cut off is not finished: it can be taken up again.
CUT_OFF = frozenset({Ended.BUDGET, Ended.INTERRUPTED})
# Where the red rule for whole conversations is switched off, this is still what counts as unresolved: no more
# than half of the customer's requests were settled.
_UNRESOLVED = 0.5
CUSTOMERS_UNCHECKED = CustomerSummary()
_FAILURE_KINDS = frozenset(get_args(Failure.model_fields["kind"].annotation))


class Course(Value):
    """One judge at turn 1, 2, ...: `overall`, and by persona; a mean is 0..1, or on the judge's own scale.

    All tuples are equally long: up to the last turn that the judge graded anywhere, at most `LAST_TURN`.
    """

    judge: str
    overall: tuple[Mean, ...]
    personas: Mapping[str, tuple[Mean, ...]]


def figures_of(results: Results, settings: Settings) -> Summary:
    """The figures of a run by these settings: first the judges they name, then whichever others graded it.

    The one way in which reports, gate and `diff` come to a summary, so that all show the same score.
    """
    # Conversations that were held once more, because a customer spoilt them, count in their second version
    # alone.
    results = without_superseded(results)
    played = CUSTOMERS_UNCHECKED
    # Phrases say what stands in the persona's file: only a model's customers are looked into.
    by_model = results.run.models.get("user", LEXICAL) != LEXICAL
    if not results.run.asks_once and (by_model or settings.customer_faults != "keep"):
        played = summarise_customers(results, settings.customer_faults)
    judges = grading_judges(results, tuple(map(judge_name, settings.judges)))
    if results.run.asks_once:
        judges = tuple(name for name in judges if name != CONVERSATION)
    return summarise(results, rules=settings.red, judges=judges, seed=settings.seed, customers=played)


def grading_judges(results: Results, named: tuple[str, ...]) -> tuple[str, ...]:
    """The judges that were named, then those that graded later and the panel's models by name.

    One that was named and graded nothing stays in the list: its grades are missing, which has to show.
    """
    graded = results.scores.judges
    return (*(first := deciding_judges(named, graded)), *sorted(graded - set(first)))


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
    # Whoever names no judges, as a test or a notebook, gets all that graded.
    names = judges or tuple(sorted(results.scores.judges))
    primary = primary_judge(names)
    every = run_turns(results, rules, primary)
    # Without grades and marks where a customer spoilt them; where the bot failed itself nobody did.
    spoilt = frozenset(customers.spoilt)
    kept = [
        replace(s, scores={}, value=None, marks=(), excluded=True)
        if (s.conversation, s.turn) in spoilt
        else s
        for s in every.turns
    ]
    # `spoken` is what counts; `kept` and all turns are both scored, so that either figure can be shown.
    spoken = kept if customers.handling == "exclude" else every.turns
    started = every.conversations
    means = _conversation_means(spoken)
    graded = [c for c in started if c.id in means]
    costs = [role.cost_usd for role in results.spending.values()]
    # The interval needs to know how low a grade can be: 1 of 5 is 0.2.
    scales = {
        s.scores[primary].scale for s in spoken if primary in s.scores and s.scores[primary].state == "scored"
    }
    red = sorted((s for s in spoken if s.marks), key=_worst_first)
    marks = Counter(mark.kind for s in red for mark in s.marks)
    is_whole = {name: name in every.whole or name.partition("@")[0] == CONVERSATION for name in names}
    ends = [s for s in spoken if s.is_last]
    left_satisfied = {c.id for c in started if c.ended is Ended.SATISFIED}
    # Of those that left content, what the judge of whole conversations says of them.
    wholes = [s.scores.get(CONVERSATION) for s in ends if s.conversation in left_satisfied]
    satisfied = [grade.value for grade in wholes if grade and grade.value is not None]
    # None of no conversation are no lapses that were looked for.
    wholly_graded = any((grade := s.scores.get(CONVERSATION)) and grade.value is not None for s in ends)
    # A judge of whole conversations has one grade for each, on its last turn.
    by_judge = {name: _judge(name, ends if whole else spoken) for name, whole in is_whole.items()}
    lengths = Counter(s.conversation for s in spoken if s.value is not None)
    retest = by_judge[primary].retest if primary in by_judge else None
    # A conversation's score is the mean of its turns' grades.
    noise = retest.variance * fmean(1 / lengths[c.id] for c in graded) if retest and graded else 0.0
    # Nobody plays the customers of rows or logs; of one model alone the score is the run's own.
    simulators = {
        model or results.run.models.get("user", LEXICAL): _of_simulator(
            [c for c in of_model if c.id in means], means, seed=seed, ends=ends_of(scales), noise=noise
        )
        for model, of_model in _grouped(started, lambda c: c.user_model).items()
        if not results.run.asks_once and results.run.settings.get("adapter") != "recorded"
    }
    raws = [by_judge[name].raw_mean for name in RAG_METRICS if name in by_judge]
    total = [raw for raw in raws if raw is not None]
    people = by_people(results.verdicts, spoken, seed=seed) if results.verdicts else {}
    # Logs without a single answer are read, not graded: they are not missing.
    nothing_to_grade = {s.conversation for s in spoken if s.unrecorded} - {
        s.conversation for s in spoken if not s.unrecorded
    }
    guarded = [broken for c in started for broken in c.broken]
    return Summary(
        run=results.run.id,
        status=results.run.status,
        offline=results.run.offline,
        primary=primary,
        rules=rules,
        score=_mean(means[c.id] for c in graded),
        answered_score=_mean(_conversation_means([s for s in spoken if not s.failure]).values()),
        interval=joint_interval(
            [simulator.interval for simulator in simulators.values()]
            or [_of_simulator(graded, means, seed=seed, ends=ends_of(scales), noise=noise).interval]
        ),
        conversation_scores=means,
        simulators=simulators,
        judges=by_judge,
        personas=() if results.run.asks_once else _personas(results, started, spoken, means, is_whole),
        cases=_cases(started, spoken, means),
        total=Total(value=fsum(total) if total else None, of=5 * len(total)),
        rows=results.run.asks_once,
        planned=results.planned,
        finished=sum(c.ended is not None and c.ended not in CUT_OFF for c in started),
        graded=len(means),
        missing=sum(
            c.ended is not None and c.id not in means and c.id not in nothing_to_grade for c in started
        ),
        unrecorded=sum(s.unrecorded for s in spoken),
        ended=dict(Counter(c.ended.value for c in started if c.ended)),
        turns=len(spoken),
        red=len(red),
        red_kinds={kind: marks[kind] for kind in KINDS if marks[kind]},
        red_second=sum(all(m.kind not in KINDS[:2] for m in s.marks) for s in red),
        reddest=tuple(_reddest(results, red, rules, primary)),
        bot_failures=dict(Counter(s.failure for s in spoken if s.failure)),
        reasoned=results.conversations.reasoned,
        satisfied_graded=len(satisfied),
        satisfied_unresolved=sum(value <= (rules.conversation or _UNRESOLVED) for value in satisfied),
        lapses={kind: every.lapses[kind] for kind in LAPSES} if wholly_graded else {},
        lapsed=every.lapsed,
        simulator=SimulatorSummary(
            guarded=len(guarded),
            failed=sum(c.ended in (Ended.USER_FAILED, Ended.ENDPOINT_FAILED) for c in started),
            overruled=sum(c.overruled for c in started),
            rules=dict(Counter(rule for broken in guarded for rule in broken)),
            customers=customers,
            with_spoilt=_mean(_conversation_means(every.turns).values()) if customers.spoilt else None,
            without_spoilt=_mean(_conversation_means(kept).values()) if customers.spoilt else None,
        ),
        score_noise=noise,
        reliability=_reliability(every, spoken, means, primary, every.unbegun),
        spending=results.spending,
        usage=results.usage,
        cost_usd=None if None in costs else fsum(cost for cost in costs if cost is not None),
        seconds=results.run.seconds,
        **people,
    )


def _of_simulator(
    graded: Sequence[ConversationRow], means: Mapping[str, float], **options: Any
) -> SimulatorScore:
    """The score in these conversations, with its interval (`options` of `interval_of_mean`)."""
    values = [means[c.id] for c in graded]
    interval = interval_of_mean(values, [c.case for c in graded], **options)
    return SimulatorScore(score=_mean(values), interval=interval, n=len(values))


def run_turns(results: Results, rules: RedRules, primary: str) -> RunTurns:
    """Every turn of the run, with the scores that belong to it; `primary` is the judge that decides.

    The turns of a conversation follow one another, which `_conversation_means` relies on.
    """
    run = RunTurns()
    # Equal grades and marks exist once, for a run has many.
    grades: dict[tuple[Grade, ...], dict[str, Grade]] = {}
    marks: dict[tuple[Mark, ...], tuple[Mark, ...]] = {}
    for conversation, by_turn in conversations_with_scores(results):
        run.repeats = max(run.repeats, conversation.repeat)
        if not (conversation.turns or conversation.ended):
            # Planned and not begun: interrupted before.
            run.unbegun += conversation.ended is None
            continue
        before = len(run.turns)
        whole = whole_score(by_turn)
        named = lapses_of(whole) if whole else []
        run.lapses.update(lapse.kind for lapse in named)
        run.lapsed += bool(named)
        for turn in conversation.turns:
            scores = by_turn.get(turn.index, {})
            run.judges |= scores.keys()
            run.whole |= {name for name, score in scores.items() if score.is_whole}
            grades_of_turn = tuple(_grade(score, rules) for score in scores.values())
            graded = grades.setdefault(grades_of_turn, {grade.judge: grade for grade in grades_of_turn})
            # Without their reasons, which are long.
            brief = tuple(
                replace(mark, reason="") for mark in _marks(conversation, turn, by_turn, rules, primary)
            )
            run.turns.append(
                GradedTurn(
                    conversation.id,
                    conversation.case.id,
                    conversation.persona,
                    turn.index,
                    graded,
                    graded[primary].value if primary in graded else None,
                    marks.setdefault(brief, brief),
                    turn_failure(turn),
                    unrecorded=turn.unrecorded,
                    courtesy=turn.unrecorded and is_courtesy(turn.user, conversation.case.language),
                    is_last=conversation.ended in COMPLETE and turn is conversation.turns[-1],
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
                sum(bool(reaction and reaction.overruled) for reaction in conversation.reactions),
                conversation.user_model,
            )
        )
    return run


def _marks(
    conversation: Conversation,
    turn: Turn,
    by_turn: Mapping[int, Mapping[str, Score]],
    rules: RedRules,
    primary: str,
) -> tuple[Mark, ...]:
    """The marks of a turn; one whose answer failed is red even while its grades are still missing."""
    scores = by_turn.get(turn.index, {})
    if (failure := turn_failure(turn)) and not any(is_unanswered(s) for s in scores.values()):
        return (Mark(kind="no_answer", severity="major", reason=f"no answer: {failure}"),)
    every = {**scores, **placed_scores(by_turn)}
    return red_marks(conversation.id, every.values(), rules, primary, turn=turn.index)


def _grade(score: Score, rules: RedRules) -> Grade:
    """What figures need of a score: without its texts, which would take most of the memory of a large run.

    A failure whose kind nobody knows, as that of a judge of one's own, is an `error`.
    """
    failure, second = None, None
    retest: Outcome = ""
    if RETEST in score.detail:
        second = score.second
        retest = "failed" if second is None else "flipped" if is_flipped(score, rules) else "same"
    if score.state == "failed":
        # A score without the kind in its detail may have it before the colon of its reason: "timeout: 60 s".
        kind = score.detail.get("kind") or score.reason.partition(":")[0].strip()
        failure = kind if isinstance(kind, str) and kind in _FAILURE_KINDS else "error"
    return Grade(
        score.judge,
        score.state,
        score.value,
        score.raw,
        score.scale,
        "" if score.by_rule else score.rubric,
        failure,
        score.reason if failure else "",
        is_undecided(score),
        _count(score, CONFLICTS_IGNORED),
        _count(score, LAPSES_IGNORED),
        "output" in score.detail and "passed" not in score.detail,
        retest,
        second.value if second else None,
    )


def _count(score: Score, key: str) -> int:
    """A number in the detail of a score; 0 where a judge of the user's own keeps something else there."""
    count = score.detail.get(key)
    return count if isinstance(count, int) else 0


def counted_turns(results: Results, summary: Summary) -> Iterator[tuple[Conversation, Turn]]:
    """Every turn whose grade counts: all, or those that no customer spoilt; a silent bot always does.

    That is what the conditions of a target and `diff` go by, so that they count what the score counts.
    """
    customers = summary.simulator.customers
    spoilt = frozenset(customers.spoilt if customers.handling == "exclude" else ())
    for conversation in results.conversations:
        for turn in conversation.turns:
            if (conversation.id, turn.index) not in spoilt:
                yield conversation, turn


def _worst_first(s: GradedTurn) -> tuple[int, int, float, int]:
    """Gravest first; at equal gravity what was answered before what was not, then the lowest.

    All missing answers are alike, and one look tells their cause; wrong answers each need reading.
    """
    value = inf if s.value is None else s.value
    return RANK[worst_severity(s.marks)], bool(s.failure), value, -len(s.marks)


def _reddest(results: Results, red: Sequence[GradedTurn], rules: RedRules, primary: str) -> Iterator[RedTurn]:
    """The red turns with their texts; of a large run those of the first turns and questions.

    The others are there, with empty texts: every red turn is counted, ranked and linked to.
    """
    bare = [
        RedTurn(
            conversation=s.conversation,
            turn=s.turn,
            persona=s.persona,
            case=s.case,
            question="",
            answer="",
            value=s.value,
            reason="",
            failure=s.failure,
            marks=s.marks,
        )
        for s in red
    ]
    shown = bare
    if results.is_sampled:
        first, most = by_question(bare)[:QUESTIONS_QUOTED], MAX_QUOTED // QUESTIONS_QUOTED
        shown = [*bare[:MAX_QUOTED], *(red_turn for turns in first for red_turn in turns[:most])]
    # Their texts are read in one further pass, conversation by conversation.
    quoted = {(red_turn.conversation, red_turn.turn) for red_turn in shown}
    ids = {conversation for conversation, _turn in quoted}
    texts: dict[tuple[str, int], dict[str, Any]] = {
        (conversation.id, turn.index): {
            "question": excerpt(turn.user),
            "answer": excerpt(turn.answer.text),
            "reason": gravest_reason(marks := _marks(conversation, turn, by_turn, rules, primary)),
            "marks": marks,
        }
        for conversation, by_turn in conversations_with_scores(
            results, [key for key in results.conversations.ids if key in ids]
        )
        for turn in conversation.turns
        if (conversation.id, turn.index) in quoted
    }
    for red_turn in bare:
        yield replace(red_turn, **texts.get((red_turn.conversation, red_turn.turn), {}))


# A heading of Markdown, "## Fees" or "# Fees #", but not "#fees", which is a tag.
_HEADING = re.compile(r"\s*#{1,6}\s+(\S.*)")
_TITLE, _LONGEST_TITLE = 40, 60  # a longer first line is a sentence rather than a title


def heading_of(text: str) -> str:
    """The heading at the start of a text, or its first line if that is short and more follows; else "".

    A line that stands alone is the text itself, not its title.
    """
    first, _, rest = text.lstrip().partition("\n")
    if heading := _HEADING.match(first):
        return excerpt(heading[1].rstrip("# "), _TITLE)
    return excerpt(first, _TITLE) if rest.strip() and len(first) <= _LONGEST_TITLE else ""


def _conversation_means(spoken: Iterable[GradedTurn]) -> dict[str, float]:
    """The score of each conversation that has one: the mean of its graded turns, which follow one another."""
    return {
        conversation: score
        for conversation, turns in groupby(spoken, lambda s: s.conversation)
        if (score := _mean(s.value for s in turns)) is not None
    }


def _mean(values: Iterable[float | None]) -> float | None:
    """The mean of the values that are known; None without any."""
    numbers = [value for value in values if value is not None]
    return fsum(numbers) / len(numbers) if numbers else None


def _judge(name: str, spoken: Sequence[GradedTurn]) -> JudgeSummary:
    """One judge over all spoken turns; of a judge of whole conversations, over their last turns."""
    scored = [s for s in spoken if (score := s.scores.get(name)) and score.state == "scored"]
    values = [s.scores[name].value or 0.0 for s in scored]
    # A failure counts only where a grade was due.
    due = [s for s in spoken if not (s.excluded or s.unrecorded)]
    failures = Counter(kind for s in due if (kind := _failure(name, s.scores)))
    reasons = Counter(grade.reason for s in due if (grade := s.scores.get(name)) and grade.failure)
    undecided = [s for s in due if (score := s.scores.get(name)) and score.undecided]
    graded = {(s.conversation, s.turn) for s in scored}
    unanswered = [
        s for s in spoken if s.unrecorded and not s.courtesy and (s.conversation, s.turn) not in graded
    ]
    failed = [s for s in due if _failure(name, s.scores)]
    # `--retest`: graded again, whether that failed, flipped or came out the same.
    twice = [s.scores[name] for s in scored if s.scores[name].retest]
    outcomes = Counter(grade.retest for grade in twice)
    pairs = [(g.value, g.second) for g in twice if g.value is not None and g.second is not None]
    retest = RetestFigures(
        n=len(twice) - outcomes["failed"],
        flips=outcomes["flipped"],
        failed=outcomes["failed"],
        variance=retest_variance(pairs),
    )
    stderr = clustered_stderr(values, [s.case for s in scored])
    if twice and stderr is not None:
        stderr = sqrt(stderr**2 + retest.variance / len(values))
    return JudgeSummary(
        mean=_mean(values),
        raw_mean=_mean(s.scores[name].raw for s in scored),
        stderr=stderr,
        n=len(scored),
        planned=len(spoken),
        skipped=len(due) - len(scored) - failures.total(),
        failed=failures.total(),
        failures=dict(failures),
        failure_reason=max(reasons, key=lambda reason: (reasons[reason], reason), default=""),
        rubrics=tuple(dict.fromkeys(s.scores[name].rubric for s in scored if s.scores[name].rubric)),
        excluded=sum(s.excluded for s in spoken),
        undecided=len(undecided),
        conflicts_ignored=sum(s.scores[name].conflicts_ignored for s in due if name in s.scores),
        lapses_ignored=sum(s.scores[name].lapses_ignored for s in due if name in s.scores),
        retest=retest if twice else None,
        unanswered=len(unanswered),
        same_grade=_same_grade(s.scores[name] for s in scored),
        cases=len({s.case for s in scored}),
        cases_due=len({s.case for s in (*scored, *failed, *undecided, *unanswered)}),
    )


def _same_grade(grades: Iterable[Grade]) -> float | None:
    """The one grade that a judge gave to all answers; None where they differ, or are too few to tell.

    A turn without an answer has the lowest grade by rule, whoever judges: it is none of the judge's own.
    """
    raws = [grade.raw for grade in grades if grade.rubric]
    return raws[0] if len(raws) >= ENOUGH_ALIKE and len(set(raws)) == 1 else None


def _failure(judge: str, grades: Mapping[str, Grade]) -> str | None:
    """How the grading of a turn failed; `missing` when its score was never written although it was due.

    Of a data set with outputs a judge named `path.em` grades the rows whose reference has a `path`: in other
    rows its score is absent, not missing.
    """
    if (grade := grades.get(judge)) is not None:
        return grade.failure
    of_another = "." in judge and (PASSED in grades or any(grade.of_output for grade in grades.values()))
    return None if of_another else "missing"


def _reliability(
    run: RunTurns, spoken: Sequence[GradedTurn], means: Mapping[str, float], primary: str, unbegun: int
) -> Reliability | None:
    """How often each question passed; None where each customer asked it once.

    `unbegun` are the conversations that were never held.
    """
    if run.repeats < 2:
        return None
    # A red turn is enough to fail; a turn without a grade leaves open whether the conversation passed.
    red = {s.conversation for s in spoken if s.marks}
    unknown = {s.conversation for s in spoken if not s.unrecorded and _failure(primary, s.scores)}

    def passed(c: ConversationRow) -> bool | None:
        if c.ended not in COMPLETE or c.id not in means or (c.id in unknown and c.id not in red):
            return None
        return c.id not in red

    return Reliability.of(((c.case, passed(c)) for c in run.conversations), run.repeats, unbegun)


def _personas(
    results: Results,
    started: Sequence[ConversationRow],
    spoken: Sequence[GradedTurn],
    means: Mapping[str, float],
    judges: Mapping[str, bool],
) -> tuple[PersonaSummary, ...]:
    """One row per persona that took part, in order of appearance.

    `judges` come with whether they grade whole conversations.
    """
    languages: tuple[Language, ...] = ("ja", "en")
    names = {p.id: {language: p.speaks(language).name for language in languages} for p in results.personas}
    turns_by_persona = _grouped(spoken, lambda s: s.persona)
    rows = []
    for persona, of_persona in _grouped(started, lambda c: c.persona).items():
        turns = turns_by_persona.get(persona, [])
        # A judge may lack turns, or have grades without a value; both show as n below planned.
        grades = {judge: [s.scores[judge] for s in turns if judge in s.scores] for judge in judges}
        values = {j: [g.value for g in every if g.state == "scored"] for j, every in grades.items()}
        due = {
            judge: sum(s.is_last for s in turns) if whole else len(turns) for judge, whole in judges.items()
        }
        row = PersonaSummary(
            persona=persona,
            names=names.get(persona, {}),
            score=_mean(means.get(c.id) for c in of_persona),
            conversations=len(of_persona),
            graded=sum(c.id in means for c in of_persona),
            turns=len(turns),
            red=sum(bool(s.marks) for s in turns),
            judges={j: Mean(mean=_mean(v), n=len(v), planned=due[j]) for j, v in values.items()},
        )
        rows.append(row)
    return tuple(rows)


def _cases(
    started: Sequence[ConversationRow], spoken: Sequence[GradedTurn], means: Mapping[str, float]
) -> tuple[CaseSummary, ...]:
    """The questions, over all the conversations that began with one; those with most red turns first."""
    turns_by_case = _grouped(spoken, lambda s: s.case)
    rows = []
    for case, of_case in _grouped(started, lambda c: c.case).items():
        turns = turns_by_case.get(case, [])
        score, red = _mean(means.get(c.id) for c in of_case), sum(bool(s.marks) for s in turns)
        rows.append(CaseSummary(case, of_case[0].question, score, len(of_case), len(turns), red))
    return tuple(sorted(rows, key=lambda row: (-row.red, 2.0 if row.score is None else row.score)))


def _grouped(items: Iterable[Item], key: Callable[[Item], str]) -> dict[str, list[Item]]:
    """The items by key, in order of the keys' first appearance."""
    groups: dict[str, list[Item]] = {}
    for item in items:
        groups.setdefault(key(item), []).append(item)
    return groups


def course(results: Results, judge: str, *, raw: bool = False) -> Course | None:
    """The course of a judge, `raw` on its own scale; None when it graded no second turn.

    A mean's `planned` is how many turns of that index were spoken. Later turns have fewer customers, those
    who were not content before: a falling line need not mean that answers get worse.
    """
    if max(results.conversations.lengths(), default=0) < 2:
        return None
    turns = _spoken(results)
    grades = {
        (s.conversation, s.turn): s.raw if raw else s.value for s in results.scores.of_judge(judge, "scored")
    }
    # One turn is no course.
    last = max((index for conversation, index, _ in turns if (conversation, index) in grades), default=0)
    if last < 2:
        return None

    def means(turns_of_group: Sequence[tuple[str, int, str]]) -> tuple[Mean, ...]:
        """The mean at each turn index."""
        values: list[list[float | None]] = [[] for _turn in range(last)]
        for conversation, index, _persona in turns_of_group:
            if index <= last:
                values[index - 1].append(grades.get((conversation, index)))
        n = [sum(value is not None for value in at) for at in values]
        return tuple(Mean(mean=_mean(at), n=k, planned=len(at)) for at, k in zip(values, n, strict=True))

    by_persona = _grouped(turns, lambda turn: turn[2])
    return Course(
        judge=judge,
        overall=means(turns),
        personas={name: means(turns_of_persona) for name, turns_of_persona in by_persona.items()},
    )


@cache_latest
def _spoken(results: Results) -> list[tuple[str, int, str]]:
    """Conversation, number and persona of each turn up to `LAST_TURN`."""
    turns = ((c.id, turn.index, c.persona) for c in results.conversations for turn in c.turns)
    return [turn for turn in turns if turn[1] <= LAST_TURN]


def bot_usage(results: Results) -> dict[str, Spending]:
    """What the bot itself spent by model: calls, tokens, dollars; empty where no answer states its tokens.

    Without a model's name the cost is unknown (None), and not 0 as that of a stand-in. The bundled bot has
    no row: its calls are among those of the run (role `demo`).
    """
    # Its tokens are counted by the ledger; counting them here would show them twice.
    if results.run.settings.get("adapter", _BUNDLED_BOT) == _BUNDLED_BOT:
        return {}
    used: dict[str, Counter[str]] = {}
    for usage in results.conversations.usages():
        tokens = {key: getattr(usage, key) for key in ("tokens_in", "tokens_out", "tokens_cached")}
        used.setdefault(usage.model, Counter()).update(tokens, calls=1)
    prices, spending = Prices.of(stored_settings(results.run.settings)) if used else None, {}
    for model, counted in used.items():
        spent = Spending(**counted)
        cost = prices.cost_usd(usage_of(model, spent)) if prices and model else None
        spending[model] = replace(spent, cost_usd=cost)
    return spending
