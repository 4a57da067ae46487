"""Which turns are red, and by which rule: the turns that people look at first.

Each mark is one reason why a turn is red, with a severity. One mark is enough, however high the other grades;
a severity that a judge gave itself goes before that of the rule. By the defaults of `RedRules`:

    mark           red when                                   major when
    no_answer      the bot failed, or said nothing            always, and then it is the only mark
    overall        the deciding judge is below 0.7            at 0.4 or less ("Low grade" in reports)
    groundedness   3 or less of 5                             at 2 or less
    correctness    2 or less of 5, in the verdict of `turn`   at 2 or less
    claims, facts  below 1                                    below 0.5, or as the judge says
    risk           a rule of the desk is broken               as the rule says
    tools          a tool is missing, or must not be called   always
    expectations   something that is expected was not met     if less than half of what came up was met
    conversation   at 0.5 or less                             at 0.25 or less
    mixups, contradictions, promises          the judge of whole conversations names one    always
    loops, forgotten, closures, overlooked    the same                                      never: moderate

The last six lines are about whole conversations. Their marks stand on the turn that the judge names: of a
lapse where it happened, of what was not settled where it was first asked for, of what is expected where it
was not met.

    turn 3 of 5 -> overall, moderate     turn 2 of 5 -> overall, major
    turn 4 of 5, groundedness 2 -> groundedness, major

Users see the table in docs/judges.md and set its limits in `[red]` of rehearsal.toml. Everything that ranks
red turns or questions is here as well, so that terminal, page and sheet show one order.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from operator import le, lt
from typing import Any, NamedTuple, TypeVar, get_args

from simulator.core.replies import LapseKind
from simulator.core.shelves import judge_name
from simulator.core.types import (
    CONVERSATION,
    EXPECTATIONS,
    MAIN_METRIC,
    PASSED,
    RETEST,
    RISK,
    TOOLS,
    Case,
    Conversation,
    Ended,
    RedRules,
    Results,
    Score,
    Severity,
    Turn,
)
from simulator.results.figures import RedTurn, Summary
from simulator.results.rows import Mark, MarkKind
from simulator.storage.results import cache_latest, conversations_with_scores

# In the order in which they are shown and counted; all but the first two are second marks.
KINDS: tuple[MarkKind, ...] = (
    "no_answer", "overall", "groundedness", "correctness", "claims", "facts", "risk", "tools",
    "expectations", "conversation", *get_args(LapseKind),
)  # fmt: skip
# What goes wrong between turns, as the judge of whole conversations lists it, in its order. What belongs to
# somebody else misleads, and so do one of two statements that contradict each other and a promise; what is
# asked or said again, or left open, annoys.
LAPSES: dict[MarkKind, Severity] = {
    "mixups": "major", "contradictions": "major", "promises": "major", "loops": "moderate",
    "forgotten": "moderate", "closures": "moderate", "overlooked": "moderate",
}  # fmt: skip
# What a judge held against the reference, which says nothing where a passage contradicts it.
_OF_THE_REFERENCE: frozenset[MarkKind] = frozenset({"overall", "correctness"})
# How a grade is held against a limit: below it, or at it as well.
_Compare = Callable[[float, float], bool]
# The gravest first, as lists are sorted.
RANK: dict[Severity, int] = {severity: rank for rank, severity in enumerate(get_args(Severity))}


# The judge that gives a verdict on each rule of the desk, and its verdicts.
RULE_VERDICTS = ("kept", "broken", "untested")


class RuleTally(NamedTuple):
    """How often a rule was kept, broken and untested, and the first turn that broke it, with its words.

    `counts` is over graded turns, by verdict; `example` is conversation, turn and quotation.
    """

    rule: str
    severity: Severity
    counts: Counter[str]
    example: tuple[str, int, str] | None = None

    def place(self) -> tuple[bool, int, int]:
        """Where it stands among others: broken ones first, then the gravest, then the most broken."""
        broken = self.counts["broken"]
        return not broken, RANK[self.severity], -broken


class UndecidedTurn(NamedTuple):
    """A turn that `turn` did not grade because `reference` and `passages` say different things."""

    case: Case
    turn: Turn
    reference: str
    passages: str


def primary_judge(judges: Iterable[str]) -> str:
    """The judge that decides score and colour: that of whole rows, `turn`, or else the first one named.

        relevance, turn -> turn     relevance, similarity -> relevance     conversation alone -> ""

    Judges of whole conversations never decide: most turns would have no grade.
    """
    names = [name for name in judges if name not in (CONVERSATION, EXPECTATIONS)]
    return next((name for name in (MAIN_METRIC, PASSED, "turn") if name in names), next(iter(names), ""))


def grading_judges(results: Results, named: Iterable[str]) -> tuple[str, ...]:
    """The judges that were named, then those that graded later and the panel's models by name.

    One that was named and graded nothing stays in the list: its grades are missing, which has to show. But
    `passed` does not decide where no output has a threshold, nor are single answers judged as conversations.
    """
    graded = results.scores.judges
    first = [name for name in map(judge_name, named) if name != PASSED or name in graded or not graded]
    every = (*first, *sorted(graded - set(first)))
    return tuple(name for name in every if name != CONVERSATION or not results.run.asks_once)


def last_score(by_turn: Mapping[int, Mapping[str, Score]], judge: str) -> Score | None:
    """The score of a judge of whole conversations, among those by turn and judge; it stands with the last."""
    return next((scores[judge] for scores in by_turn.values() if judge in scores), None)


# What becomes of a sentence that is expected, in the order in which it is counted.
OUTCOMES = ("met", "unmet", "open")


def expected_of(by_turn: Mapping[int, Mapping[str, Score]]) -> list[dict[str, Any]]:
    """What became of each sentence that a case expects, with `sentence`, `state`, `turn`, `quote` and `why`.

    Also where none of them came up; empty where no judge looked. From the scores of a conversation by turn.
    """
    score = last_score(by_turn, EXPECTATIONS)
    return verdicts_on(score) if score else []


def verdicts_on(score: Score) -> list[dict[str, Any]]:
    """The sentences in a score of the judge of what is expected, each with its verdict."""
    return detail_rows(score, EXPECTATIONS, "sentence", "turn", state=OUTCOMES)


def lapses_of(whole: Score) -> list[tuple[int, Mark]]:
    """The lapses that the judge of whole conversations names, in the order of `LAPSES`, each with its turn.

    One without a turn that exists stands on the last one.
    """
    lapses = []
    for kind, severity in LAPSES.items():
        for row in detail_rows(whole, "lapses", "what", kind=(kind,)):
            mark = Mark(kind, whole.severity or severity, str(row["what"]) or whole.reason)
            lapses.append((turn_of_row(row, whole.turn), mark))
    return lapses


def red_marks(
    scores: Iterable[Score], rules: RedRules, primary: str = "", *, turn: int | None = None
) -> tuple[Mark, ...]:
    """The marks of one turn, given its scores and no others; empty when the turn is not red.

    The score of the whole conversation may be among them: its marks are those that stand on this `turn`, or
    all of them without a number. A turn without an answer has the one mark `no_answer`, whatever the rules:
    it is the bot's own failure. Without `primary`, `turn` decides, or else the first judge among the scores.
    Where reference and passages contradict each other, nobody knows whether the answer is right
    (`_OF_THE_REFERENCE`); all else that makes it red still does. What was graded twice is as red as the
    milder of its two gradings.
    """
    several = list(scores)
    of_turn = [score for score in several if score.judge not in PLACED]
    marks = _milder(of_turn, lambda grading: _marks_of(grading, rules, primary))
    if any(mark.kind == "no_answer" for mark in marks):
        return marks
    wholes = [score for score in several if score.judge in PLACED]
    placed = _milder(wholes, lambda grading: _marks_of_whole(grading, rules))
    return (*marks, *(mark for at, mark in placed if turn in (None, at)))


# Judges of whole conversations, whose marks stand on the turn that they name.
PLACED = frozenset({CONVERSATION, TOOLS, EXPECTATIONS})
_Found = TypeVar("_Found", Mark, tuple[int, Mark])


def _milder(
    scores: Sequence[Score], marks_of: Callable[[Sequence[Score]], tuple[_Found, ...]]
) -> tuple[_Found, ...]:
    """The marks by the milder of two gradings; by the only one where nothing was graded twice."""
    marks = marks_of(scores)
    if not (marks and any(RETEST in score.detail for score in scores)):
        return marks
    again = marks_of([score.second or score for score in scores])

    def gravity(marks: tuple[_Found, ...]) -> int:
        return RANK[worst_severity(_mark(mark) for mark in marks)] if marks else len(RANK)

    # max keeps the first of equals: at equal gravity the grading with fewer marks.
    return max(sorted((marks, again), key=len), key=gravity)


def _mark(mark: Mark | tuple[int, Mark]) -> Mark:
    return mark if isinstance(mark, Mark) else mark[1]


def _marks_of(of_turn: Sequence[Score], rules: RedRules, primary: str) -> tuple[Mark, ...]:
    """The marks by one grading of a turn, in the order of `KINDS`."""
    scored = {score.judge: score for score in of_turn if score.state == "scored"}
    for score in scored.values():
        if is_unanswered(score):
            return (Mark(kind="no_answer", severity="major", reason=score.reason),)
    undecided = any(map(is_undecided, of_turn))
    verdict, turn = scored.get(primary or primary_judge(scored)), scored.get("turn")
    grounded, claims, facts, risk = map(scored.get, ("groundedness", "claims", "facts", "risk"))
    # Kind, score and its grade; where that is below (or at) the first limit it is red, the second, major.
    rows: tuple[tuple[MarkKind, Score | None, object, _Compare, float | None, _Compare, float], ...] = (
        ("overall", verdict, verdict and verdict.value, lt, rules.overall, le, 0.4),  # two of five points
        # A grade of 1 or 2 says that the passages contradict the answer.
        ("groundedness", grounded, grounded and grounded.raw, le, rules.groundedness, le, 2),
        # A 3 is a missing condition; what was invented or is wrong is a 2 or less.
        ("correctness", turn, turn and turn.detail.get("correctness"), le, rules.correctness, le, 2),
        ("claims", claims, claims and claims.value, lt, 1 if rules.claims else None, lt, 0.5),
        ("facts", facts, facts and facts.value, lt, 1 if rules.facts else None, lt, 0.5),
        ("risk", risk, risk and risk.value, lt, 1 if rules.risk else None, lt, 0.5),
    )
    marks = []
    for kind, judged, grade, is_red, limit, is_major, worst in rows:
        if undecided and kind in _OF_THE_REFERENCE:
            continue
        if judged and isinstance(grade, int | float) and limit is not None and is_red(grade, limit):
            # A severity that the judge gave itself wins over the rule's.
            severity: Severity = judged.severity or ("major" if is_major(grade, worst) else "moderate")
            decider = judged.judge if kind == "overall" and judged is not turn else ""
            marks.append(Mark(kind, severity, judged.reason, decider))
    return tuple(marks)


def _marks_of_whole(wholes: Sequence[Score], rules: RedRules) -> tuple[tuple[int, Mark], ...]:
    """The marks of a whole conversation, each with its turn: what was not settled, then the lapses.

    Of several marks of a kind in a turn the first is told.
    """
    marks: dict[tuple[int, MarkKind], Mark] = {}
    for whole in wholes:
        if whole.state == "scored" and whole.value is not None:
            for turn, mark in _marks_of_one(whole, whole.value, rules):
                marks.setdefault((turn, mark.kind), mark)
    return tuple((turn, mark) for (turn, _kind), mark in marks.items())


def _marks_of_one(whole: Score, value: float, rules: RedRules) -> Iterator[tuple[int, Mark]]:
    """The marks by one judge of whole conversations, each with its turn."""
    if whole.judge == TOOLS and rules.tools and value < 1:
        yield turn_of_row(whole.detail, whole.turn), Mark("tools", whole.severity or "major", whole.reason)
    if whole.judge == EXPECTATIONS and rules.expectations:
        unmet: Severity = "major" if value < 0.5 else "moderate"
        for row in verdicts_on(whole):
            if row["state"] == "unmet":
                yield turn_of_row(row, whole.turn), Mark("expectations", unmet, _unmet_reason(row))
    if whole.judge != CONVERSATION:
        return
    # 0 switches the rule off, though nothing of a conversation may have been settled.
    if rules.conversation and value <= rules.conversation:
        severity: Severity = whole.severity or ("major" if value <= 0.25 else "moderate")
        yield _unsettled_turn(whole), Mark("conversation", severity, whole.reason)
    if rules.lapses:
        yield from lapses_of(whole)


def _unmet_reason(row: Mapping[str, Any]) -> str:
    """The sentence that was not met and why, in the judge's words: "names the fee: It named none"."""
    return ": ".join(filter(None, (str(row["sentence"]).strip(), str(row.get("why", "")).strip())))


# What lowers these grades is wrong, or stands nowhere.
_INVENTED: frozenset[MarkKind] = frozenset({"groundedness", "correctness", "claims", "facts"})
# A conversation is unresolved where no more than this share (0..1) of its requests was settled, even if the
# red rule for whole conversations is switched off.
_UNRESOLVED = 0.5


def ending_of(
    conversation: Conversation,
    marks: Iterable[Mark],
    by_turn: Mapping[int, Mapping[str, Score]],
    rules: RedRules,
) -> str:
    """How a conversation ended, as reports count it: the value of `Ended`, empty while it is held.

    Who left satisfied counts as no satisfied customer where judges say otherwise: `satisfied_wrong` with an
    answer that is wrong or made up (`marks` are those of all turns), `satisfied_unresolved` without what they
    came for.
    """
    if conversation.ended is not Ended.SATISFIED:
        return conversation.ended.value if conversation.ended else ""
    if any(mark.kind in _INVENTED for mark in marks):
        return "satisfied_wrong"
    whole = last_score(by_turn, CONVERSATION)
    is_open = whole and whole.value is not None and whole.value <= (rules.conversation or _UNRESOLVED)
    return "satisfied_unresolved" if is_open else "satisfied"


# The requests that make a conversation unsettled, the gravest first.
_UNSETTLED = ("not", "partly")


def _unsettled_turn(whole: Score) -> int:
    """Where the gravest request that was not settled was first asked for; the last turn if none is listed.

    Graver is what was not settled at all, then what matters more, then what was asked first. What was asked
    before the first turn could first have been settled there.
    """
    asked = [
        (_UNSETTLED.index(row["state"]), -weight if isinstance(weight, int) else 0, turn)
        for row in detail_rows(whole, "requests", state=_UNSETTLED)
        for weight, turn in [(row.get("weight"), row.get("turn"))]
        if isinstance(turn, int)
    ]
    return min(max(1, min(asked)[2]), whole.turn) if asked else whole.turn


def turn_of_row(row: Mapping[str, Any], last: int) -> int:
    """The turn that a finding names, and the last one where it names none that there is."""
    turn = row.get("turn")
    return turn if isinstance(turn, int) and 0 < turn <= last else last


def detail_rows(score: Score, key: str, *needed: str, **choices: Collection[str]) -> list[dict[str, Any]]:
    """The items of a list in the detail that have the keys `needed`, and of each of `choices` one of these.

    A judge of the user's own may keep something else there.
    """
    rows: Any = score.detail.get(key)
    return [
        row
        for row in (rows if isinstance(rows, list) else ())
        if isinstance(row, dict)
        and row.keys() >= {*needed}
        and all(row.get(name) in values for name, values in choices.items())
    ]


def is_red_alone(score: Score, rules: RedRules) -> bool:
    """Whether a grade alone makes its turn red: by the rule of its judge, or else as the one that decides."""
    primary = "turn" if score.judge in KINDS else score.judge
    return bool(red_marks((score,), rules, primary))


def is_flipped(score: Score, rules: RedRules) -> bool:
    """Whether a second grading gave another grade, or is red where the first is not, or the reverse.

    False without a second grading. A grade that moves from 5 to 4 is a flip, though neither is red:
    `--retest` asks how steady a judge is, not only how steady its colour.
    """
    if (second := score.second) is None:
        return False
    first = score.model_copy(update={"detail": {k: v for k, v in score.detail.items() if k != RETEST}})
    # On the judge's own scale: 4 and 5 of 5 differ, however close their values.
    if (first.state, first.raw) != (second.state, second.raw):
        return True
    return is_red_alone(first, rules) != is_red_alone(second, rules)


def is_unanswered(score: Score) -> bool:
    """Whether the score is the scale's minimum by rule, because the bot gave no answer.

    An answer from which no label could be read is the minimum by rule as well, but it was given.
    """
    return score.by_rule and score.raw == score.scale[0] and "not_extracted" not in score.detail


def is_undecided(score: Score) -> bool:
    """Whether the turn judge gave no grade because reference and passages contradict each other."""
    return score.judge == "turn" and score.state == "skipped" and "conflicts" in score.detail


def worst_severity(marks: Iterable[Mark]) -> Severity:
    """The gravest severity among some marks; `minor` when there are none."""
    return min((mark.severity for mark in marks), key=RANK.__getitem__, default="minor")


def red_questions(summary: Summary) -> list[list[RedTurn]]:
    """The red turns of each question; the gravest first, then those with most grave turns.

    In this order every report shows them. Within a question the first turns are different answers, so that
    whoever reads three sees three things.
    """
    return list(map(_varied, by_question(summary.red.answers)))


def by_question(reddest: Iterable[RedTurn]) -> list[list[RedTurn]]:
    """The same, the turns of each question as they come; questions that are wholly disputed come last."""
    by_case: dict[str, list[RedTurn]] = {}
    for red in reddest:
        by_case.setdefault(red.case, []).append(red)

    def gravity(turns: list[RedTurn]) -> tuple[bool, int, int, int]:
        ranks = [RANK[worst_severity(red.marks)] for red in turns]
        is_disputed = all(red.is_disputed for red in turns)
        return is_disputed, min(ranks), -ranks.count(min(ranks)), -len(turns)

    return sorted(by_case.values(), key=gravity)


def gravest_reason(marks: Iterable[Mark]) -> str:
    """The reason of the gravest mark that has one; empty without any."""
    return next((m.reason for m in sorted(marks, key=lambda m: RANK[m.severity]) if m.reason), "")


def _varied(turns: list[RedTurn]) -> list[RedTurn]:
    """The gravest first, and among equals other answers, then other customers, before more of the same."""
    answers, personas = Counter[tuple[int, str]](), Counter[tuple[int, str]]()
    places = []
    for red in turns:
        rank = RANK[worst_severity(red.marks)]
        answers[rank, red.answer] += 1
        personas[rank, red.persona] += 1
        places.append((rank, answers[rank, red.answer], personas[rank, red.persona]))
    return [turns[at] for at in sorted(range(len(turns)), key=places.__getitem__)]


@cache_latest
def undecided_turns(results: Results) -> list[UndecidedTurn]:
    """The turns on which the turn judge found reference and passages in conflict, in the order of the run."""
    undecided = filter(is_undecided, results.scores.of_judge("turn", "skipped"))
    ids = {score.conversation for score in undecided}
    # Scores are stored in the order in which they came.
    in_order = [key for key in results.conversations.ids if key in ids]
    turns = []
    for conversation, by_turn in conversations_with_scores(results, in_order):
        for turn in conversation.turns:
            for score in filter(is_undecided, by_turn.get(turn.index, {}).values()):
                first: Any = score.detail["conflicts"]
                sides = str(first[0]["reference"]), str(first[0]["passages"])
                turns.append(UndecidedTurn(conversation.case, turn, *sides))
    return turns


@cache_latest
def rule_tallies(results: Results) -> tuple[list[RuleTally], int]:
    """The rules of the desk, the most and gravest broken first, and how many verdicts the judge lost.

    Lost are verdicts on rules that do not exist, and breaches whose words are not in the answer. The judge
    counts both in the detail of its score instead of failing: its other verdicts still hold.
    """
    tallies: dict[str, RuleTally] = {}
    lost = 0
    for score in results.scores.of_judge(RISK):
        lost += sum(int(n) for key in ("unknown", "unquoted") if isinstance(n := score.detail.get(key), int))
        for row in rule_rows(score):
            tally = tallies.setdefault(row["rule"], RuleTally(row["rule"], row["severity"], Counter()))
            tally.counts[row["verdict"]] += 1
            if row["verdict"] == "broken" and not tally.example:
                example = (score.conversation, score.turn, row["quote"])
                tallies[row["rule"]] = tally._replace(example=example)
    return sorted(tallies.values(), key=RuleTally.place), lost


def rule_rows(score: Score) -> list[dict[str, Any]]:
    """The verdicts in a score on the rules of the desk."""
    return detail_rows(score, "rules", "rule", "quote", verdict=RULE_VERDICTS, severity=tuple(RANK))
