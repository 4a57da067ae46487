"""What people say of a run: blind grades, whether the judge agrees, the score corrected by them, reviews.

The correction is prediction-powered inference. The judge has graded every turn and people some of them: what
the judge gives on average, less how far it is off where people looked (Angelopoulos et al., Science 2023).
Grades given on sight of the judge's own are never used, and what was graded by rule (no answer) needs no
correction.

Three kinds of things that people say, each with its own use:

- blind grades (worksheet Blind, `review --from`): a sample of turns, graded 1 to 5 with no score in sight.
  They say how far the judge can be trusted (`blind_agreement`) and correct the score (`correct`).
- reviews (worksheet Review): whether a red mark is right, the cause, the right answer. They were given with
  the grade in view, so they say what is to be done (`review_findings`) and never change a score.
- the release decision (worksheet Summary): is kept with the run, and has no part in any figure.

Blind grades in numbers: 40 turns are drawn (`blind_sample`), half of them at random, half where the judge is
likely to be wrong. Each turn remembers with which chance it was drawn, so that two of three doubtful turns
and one of ten others weigh as 1.5 and 10. From 50 grades on the score is corrected.
"""

import math
import random
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any, Literal, NamedTuple

import numpy as np

from simulator.core.types import Conversation, HumanVerdict, RedRules, Results, Score, Turn, Value
from simulator.results.agreement import auroc, quadratic_kappa
from simulator.results.draws import RESAMPLES, Draws, interval
from simulator.results.figures import ENOUGH_GRADES, CorrectedScore, Shortage, Stratum, Summary, rounded
from simulator.results.intervals import Floats, wilson
from simulator.results.red import is_flipped, is_red_alone
from simulator.results.rows import GradedTurn, Key
from simulator.results.same_faults import fault_keys
from simulator.sheets.model import RED
from simulator.storage.results import select_conversations
from simulator.storage.words import WORDS

# In each stratum that has as many turns, so many grades are needed: one has no variance.
MIN_PER_STRATUM = 2
TOP_GRADE = 5
STRATA: tuple[Stratum, ...] = ("red", "not_red")


class BlindGrade(NamedTuple):
    """People's blind grade of a turn: the mean over its reviewers (0..1), and its sampling rate.

    `graders` is how many of them graded it. `sampled` is None where a file of grades does not say how its
    turns were chosen; then it is taken to be the share of its kind (red, not red) that was graded.
    """

    value: float
    sampled: float | None = None
    graders: int = 1


class StratifiedTurn(NamedTuple):
    """A turn that the deciding judge gave `value` (0..1); without a stratum it was graded by rule."""

    case: str
    conversation: str
    value: float
    stratum: Stratum | None
    human: BlindGrade | None = None


def blind_verdicts(verdicts: Iterable[HumanVerdict]) -> dict[Key, list[HumanVerdict]]:
    """The grades that people gave without seeing a score, by conversation and turn."""
    by_turn: dict[Key, list[HumanVerdict]] = {}
    for verdict in verdicts:
        if verdict.source == "blind" and verdict.grade is not None:
            by_turn.setdefault(verdict.key, []).append(verdict)
    return by_turn


def blind_grades(verdicts: Iterable[HumanVerdict]) -> dict[Key, BlindGrade]:
    """The turns that people graded without seeing a score, by conversation and turn."""
    grades_by_turn = {}
    for key, graded in blind_verdicts(verdicts).items():
        grades = sorted(verdict.grade or 0.0 for verdict in graded)
        rate = next((verdict.sampled for verdict in graded if verdict.sampled is not None), None)
        grades_by_turn[key] = BlindGrade(sum(grades) / len(grades) / TOP_GRADE, rate, len(grades))
    return grades_by_turn


def by_people(verdicts: Iterable[HumanVerdict], graded: Iterable[GradedTurn], *, seed: int) -> dict[str, Any]:
    """What people's blind grades make of a run: `corrected`, `labels` and `shortage` of its summary."""
    people = blind_grades(verdicts)
    turns = [
        StratifiedTurn(
            case=turn.case,
            conversation=turn.conversation,
            value=turn.value,
            # Those without an answer are graded by rule.
            stratum=None if turn.failure else "red" if turn.marks else "not_red",
            human=people.get(turn.key),
        )
        for turn in graded
        if turn.value is not None
    ]
    corrected = correct(turns, seed=seed)
    return {"corrected": corrected, "labels": len(labelled_turns(turns)), "shortage": shortage(turns)}


def labelled_turns(turns: Iterable[StratifiedTurn]) -> list[StratifiedTurn]:
    """The turns whose human grade counts."""
    return [turn for turn in turns if turn.stratum and turn.human]


def shortage(turns: Sequence[StratifiedTurn]) -> Shortage | None:
    """What is missing for a correction; None when nothing is, or when nobody has graded anything.

    It takes 50 grades, two turns of each stratum, and more than one question: cases are what is drawn.
    """
    with_labels = labelled_turns(turns)
    if not with_labels:
        return None
    lacking = {}
    for name in STRATA:
        of_stratum = [turn for turn in turns if turn.stratum == name]
        labelled = sum(turn.human is not None for turn in of_stratum)
        lacking[name] = max(0, min(MIN_PER_STRATUM, len(of_stratum)) - labelled)
    grades = sum(turn.human.graders for turn in with_labels if turn.human)
    more = max(ENOUGH_GRADES - grades, sum(lacking.values()), 0)
    if not more and len({turn.case for turn in turns}) > 1:
        return None
    return Shortage(
        labels=grades, more=more, **lacking, turns=sum(turn.stratum is not None for turn in turns)
    )


def correct(
    turns: Sequence[StratifiedTurn], *, seed: int, resamples: int = RESAMPLES
) -> CorrectedScore | None:
    """The corrected score of a run; None without enough labels.

    The correction is the mean of human less judge, each label weighed by how many turns it stands for; the
    judge's part is weighed for the smallest variance (PPI++, Angelopoulos, Duchi and Zrnic 2023). The
    interval is the percentile bootstrap's, cases being drawn with all their turns, and widened a little for
    few labelled cases. In simulated runs it held the true score in 93 to 97 %, and the judge's own score
    missed it in more than half.
    """
    labelled = labelled_turns(turns)
    if not labelled or shortage(turns):
        return None
    cases, table = _by_case(turns)
    drawn = _estimates(Draws(cases, seed=seed, resamples=resamples).sums(list(table.T)))
    # Two columns: people's score, and what the judge's grades of all turns add to it.
    power = _power(drawn)
    mean = float(_estimates(table.sum(axis=0)[None, :])[0] @ (1, power))
    bounds = interval(drawn @ (1, power))
    if bounds is None:
        return None
    # Student's t over the normal quantile, to first order: few cases make the interval wider.
    free = max(1, len({turn.case for turn in labelled}) - 1)
    wider = (1 + (1.96**2 + 1) / (4 * free)) * math.sqrt((free + 1) / free)
    score, low, high = np.clip([mean, *(mean + wider * (bound - mean) for bound in bounds)], 0, 1)
    # Judge less people by stratum, for the sentence beside the score; sorted, so that float sums never drift.
    apart = {
        name: sorted(
            turn.value - turn.human.value for turn in labelled if turn.stratum == name and turn.human
        )
        for name in STRATA
    }
    return CorrectedScore(
        score=float(score),
        interval=(float(low), float(high)),
        n=len(labelled),
        bias={
            name: sum(differences) / len(differences) for name, differences in apart.items() if differences
        },
    )


def _power(drawn: Floats) -> float:
    """How much of the judge's part keeps the variance smallest: it is a control variate of people's.

    1 takes the judge at its word wherever nobody looked; 0 leaves people's grades alone to speak, as for a
    judge whose grades have nothing to do with theirs.
    """
    finite = drawn[np.isfinite(drawn).all(axis=1)]
    if len(finite) < 2 or finite[:, 1].var() < 1e-18:
        return 1.0
    covariance = np.cov(finite.T)
    return float(np.clip(-covariance[0, 1] / covariance[1, 1], 0, 1))


def _estimates(sums: Floats) -> Floats:
    """From sums over cases: the score by people's grades alone, and what the judge's grades add to it.

    NaN for a draw without labels. `sums` has the columns of `_by_case`.
    """
    whole, judged, by_rule, graded, labels, human, judge = sums.T
    with np.errstate(invalid="ignore", divide="ignore"):
        people, labelled = (by_rule + graded * part / labels for part in (human, judge))
    return np.column_stack([people / whole, (judged - labelled) / whole])


def _by_case(turns: Sequence[StratifiedTurn]) -> tuple[list[str], Floats]:
    """The cases by name, and a row of sums for each.

    Of all turns: weight, weighted grades, and the part of these that a rule gave; the weight of those that a
    judge graded; of the labels: weight, weighted grades of people and of the judge. The run score is the mean
    of conversation means, so a turn weighs its share of its conversation; a label weighs as many such turns
    as it stands for.
    """
    sizes = Counter(turn.conversation for turn in turns)
    of_kind, labelled = Counter(turn.stratum for turn in turns), Counter(t.stratum for t in turns if t.human)
    rows = []
    for turn in turns:
        weight = 1 / sizes[turn.conversation]
        by_rule = turn.stratum is None
        row = [
            weight,
            weight * turn.value,
            weight * turn.value * by_rule,
            weight * (not by_rule),
            0.0,
            0.0,
            0.0,
        ]
        if turn.human and not by_rule:
            label = weight / (turn.human.sampled or labelled[turn.stratum] / of_kind[turn.stratum])
            row[4:] = [label, label * turn.human.value, label * turn.value]
        rows.append((turn.case, row))
    # In one fixed order, so that float sums never drift with the order of the turns.
    rows.sort()
    cases, places = np.unique([case for case, _row in rows], return_inverse=True)
    table = np.zeros((len(cases), len(rows[0][1])))
    np.add.at(table, places, [row for _case, row in rows])
    return list(cases), table


# Turns that are sampled for blind grading: ten more by a second reviewer make the 50 grades that a correction
# takes.
SAMPLE_SIZE = 40
# How far from the line of red answers a grade (0..1) is near it: 3 and 4 of 5.
NEAR = 0.1
# Where the rule for Overall is switched off, this is still where people's grades turn red.
RED_LINE = 0.7
# People who give this or less would have stopped an answer; who give this or more would have sent it.
LOW, HIGH = 2, 4
# Means of grades in floating point: what is as near as this is the same.
_SAME = 1e-9
# Statuses that leave something to do; without a status nobody has taken a point up.
PENDING = ("open", "doing", "")
# What the team says of a turn in the review.
_SAID = set[str](WORDS)


class SampledTurn(Value):
    """A turn of the sample; `sampled` (0..1) is the share of its stratum that was drawn.

    Both stay with the turn in the worksheet and in files, because the next run's rules may call it not red.
    """

    conversation: str
    turn: int
    stratum: Stratum
    sampled: float

    @property
    def key(self) -> Key:
        """Conversation and turn."""
        return self.conversation, self.turn


class ComparedTurn(Value):
    """A turn that people and the judge graded, both 1..5; of people the mean, and the first `comment`.

    `weight` says how many turns of the run it stands for; 0 where nobody knows.
    """

    conversation: str
    turn: int
    question: str
    answer: str
    human: float
    judge: float
    red: bool
    weight: float
    verdicts: tuple[HumanVerdict, ...]

    @property
    def comment(self) -> str:
        """The first that anybody made."""
        return next((verdict.comment for verdict in self.verdicts if verdict.comment), "")


class Reviewers(Value):
    """How people agree with each other on the `turns` that several of them graded, pair by pair.

    `within_one` is the share of pairs at most one grade apart, `kappa` is quadratically weighted.
    """

    turns: int
    within_one: float
    kappa: float | None


class BlindAgreement(Value):
    """The judge beside people on the `turns` both have graded (`grades` by people in all).

    `within_one` is the share of turns at most one grade apart, `same_side` the share on which both are on
    the same side of the red line, `kappa` is quadratically weighted, `auroc` says how well the judge's grades
    part what people call red from the rest, and `difference` is judge less people, 0..1: positive is lenient.
    With `weighted`, a turn that was sampled less often counts for more. `missed` are turns that were not red
    although people gave 2 or less, about `missed_in_run` of them in the whole run; `overcalled` ones were
    red although people gave 4 or more.
    """

    turns: int
    grades: int
    reviewers: dict[str, int]
    weighted: bool
    within_one: float
    same_side: float
    kappa: float | None
    auroc: float | None
    difference: float
    missed: tuple[ComparedTurn, ...]
    missed_in_run: float
    overcalled: tuple[ComparedTurn, ...]
    between: Reviewers | None


class ReviewedTurn(Value):
    """A turn with what the team said of it; `value` (0..1) is the deciding judge's grade.

    Turns with the same `key` have the same answer. `judge_is` is about the red mark, or about its absence;
    the other texts are what the team wrote, empty where it wrote nothing. `cause` and `status` are ids of the
    dropdowns, or words of the team's own.
    """

    key: str
    conversation: str
    turn: int
    persona: str
    question: str
    answer: str
    red: bool
    value: float | None
    judge_is: Literal["right", "wrong", "unsure"] | None
    cause: str
    status: str
    correct_answer: str
    expect: str
    comment: str
    assignee: str
    checked: str
    make_test: bool

    @property
    def false_alarm(self) -> bool:
        """Whether the turn is red and should not be."""
        return self.red and self.judge_is == "wrong"

    @property
    def confirmed(self) -> bool:
        """Whether the team says that the red mark is right; to name a cause of it says so, too."""
        return self.red and (self.judge_is == "right" or (self.judge_is is None and bool(self.cause)))

    @property
    def point(self) -> bool:
        """Whether there is something to improve in the bot."""
        return not self.false_alarm and (self.confirmed or bool(self.cause or self.correct_answer))

    @property
    def pending(self) -> bool:
        """Whether something is left to do about it: a status says so, or is due and not given yet."""
        return self.status in PENDING and (self.point or bool(self.status))


class Point(Value):
    """How many points of improvement have that cause and status; "" where the team gave none."""

    cause: str
    status: str
    n: int


class PendingReviews(Value):
    """What one person ("": nobody) has left to do, by status; `unset` is what has no status yet."""

    assignee: str
    open: int
    doing: int
    unset: int

    @property
    def n(self) -> int:
        """All of it."""
        return self.open + self.doing + self.unset


class ReviewFindings(Value):
    """The result of a review: of all `turns` that the team reviewed, and of their distinct `answers`.

    What people say of an answer is said once, however many customers got it: `right`, `wrong` and `unsure`
    count red answers, `points`, `pending` and `missed` answers. `red` counts the run's red turns, of which
    the team has `judged` some;
    `precision` (0..1) is right / (right + wrong) with the 95 % interval of Wilson (1927); `missed` are
    answers that are not red and, as the team says, should be.
    """

    turns: tuple[ReviewedTurn, ...]
    answers: tuple[ReviewedTurn, ...]
    red: int
    right: int
    wrong: int
    unsure: int
    precision: float | None
    interval: tuple[float, float] | None
    points: tuple[Point, ...]
    pending: tuple[PendingReviews, ...]

    @property
    def judged(self) -> int:
        """Red turns of which the team said whether the mark is right."""
        return sum(turn.red and turn.judge_is is not None for turn in self.turns)

    @property
    def wrong_turns(self) -> tuple[ReviewedTurn, ...]:
        """A turn of each answer on which the judge was wrong: what its next version has to get right."""
        return tuple(turn for turn in self.answers if turn.judge_is == "wrong")

    @property
    def missed(self) -> int:
        """Answers that are not red although the team says that the judge was wrong."""
        return sum(not turn.red for turn in self.wrong_turns)


def blind_sample(results: Results, summary: Summary, size: int = SAMPLE_SIZE) -> tuple[SampledTurn, ...]:
    """The same turns for the same run, whenever it is asked; shuffled, so that their order tells nothing.

    Half are drawn at random, so that shares are those of the run; half where the judge is likely to be wrong,
    of which most is to be learned. Each knows its chance: a figure that weighs by it is unbiased (Horvitz and
    Thompson, 1952).

    Turns without an answer or without a grade of the deciding judge are left out: there is nothing to
    compare. Without enough turns of one kind the other fills the sample.

    The lot is the run's id, so that a sheet that is pushed twice has the same turns, and what was already
    graded in it is not lost.
    """
    red = summary.red.by_turn
    scores = {(s.conversation, s.turn): s for s in results.scores.of_judge(summary.scores.primary)}
    spoken = ((talk.id, turn) for talk in results.conversations for turn in talk.turns)
    answered = ((id_, t.index) for id_, t in spoken if t.answer.text.strip() and not t.answer.error)
    turns = [turn for turn in answered if turn in scores]
    lot = random.Random(results.run.id)  # noqa: S311 - a sample, no secret
    doubted = _doubted(results, summary, {turn: scores[turn] for turn in turns}, red)
    doubtful, clear = ([turn for turn in turns if (turn in doubted) is which] for which in (True, False))
    whole = min(size, len(turns))
    # Half at random: the clear ones get their share of it, the doubtful ones theirs and the other half.
    others = min(len(clear), max(round(whole / 2 * len(clear) / max(1, len(turns))), whole - len(doubtful)))
    drawn = [
        SampledTurn(
            conversation=conversation,
            turn=turn,
            stratum="red" if (conversation, turn) in red else "not_red",
            sampled=wanted / len(members),
        )
        for members, wanted in ((doubtful, whole - others), (clear, others))
        for conversation, turn in lot.sample(members, wanted)
    ]
    lot.shuffle(drawn)
    return tuple(drawn)


def _doubted(
    results: Results, summary: Summary, scores: Mapping[Key, Score], red: Container[Key]
) -> set[Key]:
    """Where the judge is likely to be wrong.

    Its grade is near the line of red answers, another judge or a further model makes of it what it does not,
    or a second grading said something else.
    """
    rules, primary = summary.red.rules, summary.scores.primary
    alone = {place: is_red_alone(score, rules) for place, score in scores.items()}
    doubted = {
        place
        for place, score in scores.items()
        if (score.value is not None and abs(score.value - red_line(rules)) <= NEAR + 2 * _SAME)
        or alone[place] != (place in red)
        or is_flipped(score, rules)
    }
    for judge in results.scores.judges:
        if judge != primary and judge.partition("@")[0] == primary:
            for score in results.scores.of_judge(judge, "scored"):
                place = score.conversation, score.turn
                if alone.get(place) != is_red_alone(score.model_copy(update={"judge": primary}), rules):
                    doubted.add(place)
    return doubted


def blind_agreement(results: Results, summary: Summary) -> BlindAgreement | None:
    """The judge beside people's blind grades; None where no turn has both."""
    both = _compared_turns(results, summary)
    if not both:
        return None
    # Sampling rates count only where all are known.
    weights = np.array([b.weight for b in both] if all(b.weight for b in both) else [1.0] * len(both))
    human, judge = np.array([b.human for b in both]), np.array([b.judge for b in both])
    line = TOP_GRADE * red_line(summary.red.rules)
    # People call good what would not be red if they were the deciding judge.
    good, red = human >= line, np.array([b.red for b in both])
    missed = ~red & (human <= LOW)
    reviewers = Counter(v.reviewer for b in both for v in b.verdicts)
    return BlindAgreement(
        turns=len(both),
        grades=sum(len(b.verdicts) for b in both),
        reviewers=dict(sorted(reviewers.items())),
        weighted=len({round(weight, 9) for weight in weights.tolist()}) > 1,
        within_one=float(np.average(np.abs(judge - human) <= 1 + _SAME, weights=weights)),
        same_side=float(np.average(good != red, weights=weights)),
        kappa=quadratic_kappa(judge, human, weights),
        auroc=auroc(judge, good, weights),
        difference=float(np.average(judge - human, weights=weights)) / TOP_GRADE,
        missed=tuple(
            both[at] for at in sorted(np.flatnonzero(missed), key=lambda at: (human[at], -judge[at]))
        ),
        missed_in_run=float(weights[missed].sum()),
        overcalled=tuple(b for b in both if b.red and b.human >= HIGH),
        between=_between([b.verdicts for b in both]),
    )


def red_line(rules: RedRules) -> float:
    """The grade (0..1) below which people call an answer bad: that below which it would be red."""
    return (RED_LINE if rules.overall is None else rules.overall) - _SAME


def split_votes(verdicts: Iterable[HumanVerdict], rules: RedRules) -> set[Key]:
    """The turns of which one blind grade is below the line of red answers and another is not."""
    line = TOP_GRADE * red_line(rules)
    return {
        place
        for place, given in blind_verdicts(verdicts).items()
        if len({(verdict.grade or 0.0) < line for verdict in given}) > 1
    }


def desk_questions(verdicts: Iterable[HumanVerdict], rules: RedRules) -> dict[Key, str]:
    """The turns about which reviewers differ, each with what the team says that the desk expects there.

    Empty where it has not said so: the lead is asked.
    """
    verdicts = tuple(verdicts)
    expected = {v.key: v.expect for v in verdicts if v.source != "blind"}
    return {place: expected.get(place, "") for place in split_votes(verdicts, rules)}


def is_called_bad(verdict: HumanVerdict, *, marked: bool | None = None) -> bool | None:
    """Whether an opinion about the judge calls the answer bad; None where it says nothing of it.

    "Right" of a mark is "bad", and "wrong" is "good". `marked` stands in where nobody noted the mark.
    """
    red = marked if verdict.red is None else verdict.red
    if verdict.source == "blind" or red is None or verdict.judge_is not in {"right", "wrong"}:
        return None
    return red == (verdict.judge_is == "right")


def _compared_turns(results: Results, summary: Summary) -> list[ComparedTurn]:
    """The turns that people and the deciding judge have graded, in the order of the run."""
    red = summary.red.by_turn
    values = {(s.conversation, s.turn): s.value for s in results.scores.of_judge(summary.scores.primary)}
    given = blind_verdicts(results.verdicts)
    compared_turns = []
    for _at, conversation in select_conversations(results, {key for key, _turn in given}):
        for turn in conversation.turns:
            key = (conversation.id, turn.index)
            verdicts, value = given.get(key), values.get(key)
            if verdicts and value is not None:
                compared = ComparedTurn(
                    conversation=conversation.id,
                    turn=turn.index,
                    question=turn.user,
                    answer=turn.answer.text,
                    human=sum(v.grade or 0.0 for v in verdicts) / len(verdicts),
                    judge=TOP_GRADE * value,
                    red=key in red,
                    weight=next((1 / v.sampled for v in verdicts if v.sampled), 0.0),
                    verdicts=tuple(verdicts),
                )
                compared_turns.append(compared)
    return compared_turns


def _between(graded: Iterable[Sequence[HumanVerdict]]) -> Reviewers | None:
    """Every pair of reviewers of one turn, in the order of their names.

    Kappa takes two pairs at least: a single one has no variance to hold the difference against.
    """
    several = [sorted(verdicts, key=lambda v: v.reviewer) for verdicts in graded if len(verdicts) > 1]
    pairs = [(a.grade or 0.0, b.grade or 0.0) for verdicts in several for a, b in combinations(verdicts, 2)]
    if not pairs:
        return None
    within = sum(abs(a - b) <= 1 + _SAME for a, b in pairs) / len(pairs)
    kappa = quadratic_kappa(*zip(*pairs, strict=True)) if len(pairs) > 1 else None
    return Reviewers(turns=len(several), within_one=within, kappa=kappa)


def agreement_json(review: BlindAgreement | None) -> dict[str, Any] | None:
    """What `review --json` prints of it, figures rounded to 4 decimals; None of None.

    Without the texts of turns: what is printed often ends in a log, and the run file has them.
    """
    if review is None:
        return None

    def places(turns: Iterable[ComparedTurn]) -> list[dict[str, Any]]:
        include = {"conversation", "turn", "human", "judge"}
        return [turn.model_dump(include=include) | {"comment": turn.comment} for turn in turns]

    shown = review.model_dump(exclude={"missed", "missed_in_run", "overcalled", "between"})
    missed = {"n": len(review.missed), "in_run": rounded(review.missed_in_run)}
    return {
        **rounded(shown),
        "missed": missed | {"turns": places(review.missed)},
        "overcalled": {"n": len(review.overcalled), "turns": places(review.overcalled)},
        "between_reviewers": review.between and rounded(review.between.model_dump()),
    }


def review_findings(results: Results, summary: Summary) -> ReviewFindings | None:
    """What the team's review says of the run; None where it has not begun."""
    turns = tuple(_reviewed(results, summary))
    if not turns:
        return None
    answers = tuple(_distinct(turns))
    judged = Counter(turn.judge_is for turn in answers if turn.red)
    right, wrong = judged["right"], judged["wrong"]
    points = Counter((turn.cause, turn.status) for turn in answers if turn.point)
    left = Counter((turn.assignee, turn.status) for turn in answers if turn.pending)
    pending = [
        PendingReviews(assignee=who, open=left[who, "open"], doing=left[who, "doing"], unset=left[who, ""])
        for who in dict.fromkeys(who for who, _status in left)
    ]
    return ReviewFindings(
        turns=turns,
        answers=answers,
        red=summary.red.count,
        right=right,
        wrong=wrong,
        unsure=judged["unsure"],
        precision=right / (right + wrong) if right + wrong else None,
        interval=wilson(right, right + wrong),
        # The most frequent first.
        points=tuple(Point(cause=cause, status=status, n=n) for (cause, status), n in points.most_common()),
        # Most first, what nobody has taken up last.
        pending=tuple(sorted(pending, key=lambda row: (not row.assignee, -row.n, row.assignee))),
    )


def review_keys(results: Results, summary: Summary) -> Callable[[Conversation, Turn], str]:
    """The key of the row in which a turn is reviewed: that of its fault, marked where it is red for anybody.

    Answers that are one fault (results/same_faults.py) share the row of the first of them.

    What people say of a mark is carried from run to run only while the mark is the same: "the judge is wrong"
    about a red answer says nothing once the answer is no longer red.
    """
    red = summary.red.by_turn
    fault_of = fault_keys(results)
    answers = {
        fault_of(conversation.case, turn)
        for _at, conversation in select_conversations(results, {conversation for conversation, _turn in red})
        for turn in conversation.turns
        if (conversation.id, turn.index) in red
    }

    def key_of(conversation: Conversation, turn: Turn) -> str:
        key = fault_of(conversation.case, turn)
        return f"{key}{RED}" if key in answers else key

    return key_of


def turns_of_answers(results: Results, summary: Summary) -> dict[str, dict[Key, bool]]:
    """The turns that each row of the review stands for, by its key, and whether they have its mark.

    An answer can be red for one customer and not for another; "the judge is wrong" is about the mark in the
    row.
    """
    turns_by_key = dict[str, dict[Key, bool]]()
    red = summary.red.by_turn
    key_of = review_keys(results, summary)
    for conversation in results.conversations:
        for turn in conversation.turns:
            at, key = (conversation.id, turn.index), key_of(conversation, turn)
            turns_by_key.setdefault(key, {})[at] = key.endswith(RED) == (at in red)
    return turns_by_key


def _distinct(turns: Iterable[ReviewedTurn]) -> Iterator[ReviewedTurn]:
    """Of turns with the same answer, of which the same was said, the first; red ones come first.

    One row of the review stands for all turns with its answer, and became a verdict of each. Counted as they
    are, an answer that eleven customers got would be eleven points to improve.
    """
    judgements_by_turn: dict[tuple[Any, ...], set[str | None]] = {}
    for turn in turns:
        said = turn.model_dump(include=_SAID - {"judge_is"})
        judgements = judgements_by_turn.setdefault((turn.key, *said.values()), set())
        # Where others with that answer are red, nothing is said of the mark of one that is not.
        if turn.judge_is not in judgements and (turn.judge_is or not judgements):
            judgements.add(turn.judge_is)
            yield turn


def _reviewed(results: Results, summary: Summary) -> Iterator[ReviewedTurn]:
    """The turns that the team reviewed, red ones first in their rank."""
    reviewed = [(v, v.model_dump(include=_SAID)) for v in results.verdicts if v.source != "blind"]
    # A verdict in which none of this stands is no review.
    verdicts = {v.key: fields for v, fields in reviewed if any(fields.values())}
    values = {(s.conversation, s.turn): s.value for s in results.scores.of_judge(summary.scores.primary)}
    turns = {
        (conversation.id, turn.index): (conversation, turn)
        for _at, conversation in select_conversations(results, {key for key, _turn in verdicts})
        for turn in conversation.turns
    }
    red = summary.red.by_turn
    fault_of = fault_keys(results)
    for at in [*red, *(at for at in turns if at not in red)]:
        if at in verdicts and at in turns:
            conversation, turn = turns[at]
            yield ReviewedTurn(
                key=fault_of(conversation.case, turn),
                conversation=conversation.id,
                turn=turn.index,
                persona=conversation.persona,
                question=turn.user,
                answer=turn.answer.text,
                red=at in red,
                value=values.get(at),
                **verdicts[at],
            )


def findings_json(findings: ReviewFindings | None) -> dict[str, Any] | None:
    """What `review --json` prints of it, figures rounded to 4 decimals; None of None.

    Without the texts of turns, but with what the team wrote about those on which the judge was wrong.
    """
    if findings is None:
        return None
    shown = {"conversation", "turn", "red", "value", "comment", "correct_answer"}
    return {
        "turns": len(findings.turns),
        "red": findings.red,
        "red_judged": findings.judged,
        "precision_of_red": {
            "precision": rounded(findings.precision),
            "interval": rounded(findings.interval),
            "n": findings.right + findings.wrong,
            **findings.model_dump(include={"right", "wrong", "unsure"}),
        },
        "points": [point.model_dump() for point in findings.points],
        "pending": [row.model_dump() for row in findings.pending],
        "judge_wrong": [turn.model_dump(include=shown) for turn in findings.wrong_turns],
    }
