"""What people say of a run: blind grades, whether the judge agrees, reviews.

Three kinds of things that people say, each with its own use:

- blind grades (worksheet Blind, `review --from`): a sample of turns, graded 1 to 5 with no score in sight.
  They say how far the judge can be trusted (`blind_agreement`, and results/standing.py).
- reviews (worksheet Review): whether a red mark is right, the cause, the right answer. They were given with
  the grade in view, so they say what is to be done (`review_findings`) and never change a score.
- the release decision (worksheet Summary): is kept with the run, and has no part in any figure.

40 turns are drawn for blind grades (`blind_sample`), half of them at random, half where the judge is likely
to be wrong. Each turn remembers with which chance it was drawn, so that two of three doubtful turns and one
of ten others weigh as 1.5 and 10.
"""

import random
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np

from simulator.core.types import Conversation, HumanVerdict, RedRules, Results, Score, Turn
from simulator.results.figures import Summary, rounded
from simulator.results.red import is_flipped, is_red_alone
from simulator.results.rows import Key
from simulator.results.same_faults import fault_keys
from simulator.sheets.model import RED
from simulator.storage.results import select_turns
from simulator.storage.words import WORDS

TOP_GRADE = 5


class BlindGrade(NamedTuple):
    """People's blind grade of a turn: the mean over its reviewers (0..1), and its sampling rate.

    `sampled` is None where a file of grades does not say how its turns were chosen; then it is taken to be
    the share of its kind (red, not red) that was graded.
    """

    value: float
    sampled: float | None


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
        grades_by_turn[key] = BlindGrade(sum(grades) / len(grades) / TOP_GRADE, rate)
    return grades_by_turn


# Turns that are sampled for blind grading.
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


class ComparedTurn(NamedTuple):
    """A turn that people and the judge graded, both 1..5; of people the mean, and the first `comment`.

    `weight` says how many turns of the run it stands for; 0 where nobody knows. `grades` are people's.
    """

    conversation: str
    turn: int
    question: str
    answer: str
    human: float
    judge: float
    red: bool
    weight: float
    grades: int
    comment: str


class BlindAgreement(NamedTuple):
    """The judge beside people on the `turns` both have graded (`grades` by people in all).

    `same_side` is the share on which both are on the same side of the red line, `difference` is judge less
    people, 0..1: positive is lenient. Turns that were sampled less often count for more. `missed` are turns
    that were not red although people gave 2 or less; `overcalled` ones were red although people gave 4 or
    more.
    """

    turns: int
    grades: int
    same_side: float
    difference: float
    missed: tuple[ComparedTurn, ...]
    overcalled: tuple[ComparedTurn, ...]

    def as_json(self) -> dict[str, Any]:
        """What `review --json` prints of it, figures rounded to 4 decimals.

        Without the texts of turns: what is printed often ends in a log, and the run file has them.
        """
        shown = ("conversation", "turn", "human", "judge", "comment")

        def places(turns: Sequence[ComparedTurn]) -> dict[str, Any]:
            return {"n": len(turns), "turns": [{name: getattr(t, name) for name in shown} for t in turns]}

        lists = {"missed": places(self.missed), "overcalled": places(self.overcalled)}
        return rounded(self._asdict() | lists)  # type: ignore[no-any-return]


class ReviewedTurn(NamedTuple):
    """A turn with what the team `said` of it; `value` (0..1) is the deciding judge's grade.

    Turns with the same `key` have the same answer.
    """

    key: str
    conversation: Conversation
    turn: Turn
    red: bool
    value: float | None
    said: HumanVerdict

    @property
    def point(self) -> bool:
        """Whether there is something to improve in the bot; nothing where the mark is a false alarm."""
        if self.red and self.said.judge_is in ("right", "wrong"):
            return self.said.judge_is == "right"
        return bool(self.said.cause or self.said.correct_answer)

    @property
    def pending(self) -> bool:
        """Whether something is left to do about it: a status says so, or is due and not given yet."""
        return self.said.status in PENDING and (self.point or bool(self.said.status))


class ReviewFindings(NamedTuple):
    """The result of a review: of all `turns` that the team reviewed, and of their distinct `answers`.

    What people say of an answer is said once, however many customers got it. `red` counts the run's distinct
    answers that need review.
    """

    turns: tuple[ReviewedTurn, ...]
    answers: tuple[ReviewedTurn, ...]
    red: int

    def marks(self, judge_is: Literal["right", "wrong", "unsure"]) -> int:
        """Red answers of whose mark the team says so."""
        return sum(answer.red and answer.said.judge_is == judge_is for answer in self.answers)

    @property
    def precision(self) -> float | None:
        """The share (0..1) of right marks among those that are right or wrong; None without any."""
        right, wrong = self.marks("right"), self.marks("wrong")
        return right / (right + wrong) if right + wrong else None

    @property
    def judged(self) -> int:
        """Distinct red answers of which the team said whether the mark is right."""
        return len({turn.key for turn in self.turns if turn.red and turn.said.judge_is})

    @property
    def wrong_turns(self) -> tuple[ReviewedTurn, ...]:
        """A turn of each answer on which the judge was wrong: what its next version has to get right."""
        return tuple(answer for answer in self.answers if answer.said.judge_is == "wrong")

    @property
    def missed(self) -> int:
        """Answers that are not red although the team says that the judge was wrong."""
        return sum(not answer.red for answer in self.wrong_turns)

    @property
    def pending(self) -> dict[str, int]:
        """How many answers each person ("": nobody) has left to do something about.

        Most first, what nobody has taken up last.
        """
        counts = Counter(answer.said.assignee for answer in self.answers if answer.pending)
        return dict(sorted(counts.items(), key=lambda item: (not item[0], -item[1], item[0])))

    def as_json(self) -> dict[str, Any]:
        """What `review --json` prints of it, figures rounded to 4 decimals.

        Without the texts of turns, but with what the team wrote about those on which the judge was wrong.
        """
        right, wrong, unsure = self.marks("right"), self.marks("wrong"), self.marks("unsure")
        precision = {"precision": rounded(self.precision), "n": right + wrong}
        return {
            "turns": len(self.turns),
            "red": self.red,
            "red_judged": self.judged,
            "precision_of_red": precision | {"right": right, "wrong": wrong, "unsure": unsure},
            "pending": [{"assignee": who, "n": n} for who, n in self.pending.items()],
            "judge_wrong": [
                {
                    "conversation": turn.conversation.id,
                    "turn": turn.turn.index,
                    "red": turn.red,
                    "value": turn.value,
                    "comment": turn.said.comment,
                    "correct_answer": turn.said.correct_answer,
                }
                for turn in self.wrong_turns
            ],
        }


def blind_sample(results: Results, summary: Summary, size: int = SAMPLE_SIZE) -> dict[Key, float]:
    """Turns to be graded blind, each with the chance (0..1) that it had to be drawn.

    Half are drawn at random, so that shares are those of the run; half where the judge is likely to be wrong,
    of which most is to be learned. A figure that weighs by the chances is unbiased (Horvitz and Thompson,
    1952). They are shuffled, so that their order tells nothing.

    Turns without an answer or without a grade of the deciding judge are left out: there is nothing to
    compare. Without enough turns of one kind the other fills the sample.

    The lot is the run's id, so that a sheet that is pushed twice has the same turns, and what was already
    graded in it is not lost.
    """
    scores = {(s.conversation, s.turn): s for s in results.scores.of_judge(summary.scores.primary)}
    spoken = ((talk.id, turn) for talk in results.conversations for turn in talk.turns)
    answered = ((id_, t.index) for id_, t in spoken if t.answer.text.strip() and not t.answer.error)
    turns = [turn for turn in answered if turn in scores]
    lot = random.Random(results.run.id)  # noqa: S311 - a sample, no secret
    doubted = _doubted(results, summary, {turn: scores[turn] for turn in turns}, summary.red.by_turn)
    doubtful, clear = ([turn for turn in turns if (turn in doubted) is which] for which in (True, False))
    whole = min(size, len(turns))
    # Half at random: the clear ones get their share of it, the doubtful ones theirs and the other half.
    others = min(len(clear), max(round(whole / 2 * len(clear) / max(1, len(turns))), whole - len(doubtful)))
    drawn = [
        (turn, wanted / len(members))
        for members, wanted in ((doubtful, whole - others), (clear, others))
        for turn in lot.sample(members, wanted)
    ]
    lot.shuffle(drawn)
    return dict(drawn)


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
    # People call good what would not be red if they were the deciding judge.
    good, red = human >= TOP_GRADE * red_line(summary.red.rules), np.array([b.red for b in both])
    return BlindAgreement(
        turns=len(both),
        grades=sum(b.grades for b in both),
        same_side=float(np.average(good != red, weights=weights)),
        difference=float(np.average(judge - human, weights=weights)) / TOP_GRADE,
        missed=tuple(
            sorted((b for b in both if not b.red and b.human <= LOW), key=lambda b: (b.human, -b.judge))
        ),
        overcalled=tuple(b for b in both if b.red and b.human >= HIGH),
    )


def red_line(rules: RedRules) -> float:
    """The grade (0..1) below which people call an answer bad: that below which it would be red."""
    return (RED_LINE if rules.overall is None else rules.overall) - _SAME


def desk_questions(verdicts: Iterable[HumanVerdict], rules: RedRules) -> dict[Key, str]:
    """The turns of which one blind grade is below the line of red answers, and another is not.

    Each with what the team says that the desk expects there; where that is empty the lead is asked.
    """
    verdicts, line = tuple(verdicts), TOP_GRADE * red_line(rules)
    expected = {v.key: v.expect for v in verdicts if v.source != "blind"}
    return {
        place: expected.get(place, "")
        for place, given in blind_verdicts(verdicts).items()
        if len({(verdict.grade or 0.0) < line for verdict in given}) > 1
    }


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
    for conversation, turn in select_turns(results, given):
        key = (conversation.id, turn.index)
        verdicts, value = given[key], values.get(key)
        if value is not None:
            compared = ComparedTurn(
                conversation=conversation.id,
                turn=turn.index,
                question=turn.user,
                answer=turn.answer.text,
                human=sum(v.grade or 0.0 for v in verdicts) / len(verdicts),
                judge=TOP_GRADE * value,
                red=key in red,
                weight=next((1 / v.sampled for v in verdicts if v.sampled), 0.0),
                grades=len(verdicts),
                comment=next((v.comment for v in verdicts if v.comment), ""),
            )
            compared_turns.append(compared)
    return compared_turns


def review_findings(results: Results, summary: Summary) -> ReviewFindings | None:
    """What the team's review says of the run; None where it has not begun."""
    turns = tuple(_reviewed(results, summary))
    if not turns:
        return None
    fault_of = fault_keys(results)
    red = {fault_of(talk.case, turn) for talk, turn in select_turns(results, summary.red.by_turn)}
    return ReviewFindings(turns, tuple(_distinct(turns)), len(red))


def review_keys(results: Results, summary: Summary) -> Callable[[Conversation, Turn], str]:
    """The key of the row in which a turn is reviewed: that of its fault, marked where it is red for anybody.

    Answers that are one fault (results/same_faults.py) share the row of the first of them.

    What people say of a mark is carried from run to run only while the mark is the same: "the judge is wrong"
    about a red answer says nothing once the answer is no longer red.
    """
    red = summary.red.by_turn
    fault_of = fault_keys(results)
    answers = {fault_of(conversation.case, turn) for conversation, turn in select_turns(results, red)}

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
        judge_is, *others = (getattr(turn.said, name) for name in WORDS)
        judgements = judgements_by_turn.setdefault((turn.key, *others), set())
        # Where others with that answer are red, nothing is said of the mark of one that is not.
        if judge_is not in judgements and (judge_is or not judgements):
            judgements.add(judge_is)
            yield turn


def _reviewed(results: Results, summary: Summary) -> Iterator[ReviewedTurn]:
    """The turns that the team reviewed, red ones first in their rank."""
    words = (v for v in results.verdicts if v.source != "blind")
    # A verdict in which none of this stands is no review.
    said = {v.key: v for v in words if any(getattr(v, name) for name in WORDS)}
    values = {(s.conversation, s.turn): s.value for s in results.scores.of_judge(summary.scores.primary)}
    turns = {(held[0].id, held[1].index): held for held in select_turns(results, said)}
    red, fault_of = summary.red.by_turn, fault_keys(results)
    for at in [*red, *(at for at in turns if at not in red)]:
        if at in turns:
            conversation, turn = turns[at]
            key = fault_of(conversation.case, turn)
            yield ReviewedTurn(key, conversation, turn, at in red, values.get(at), said[at])
