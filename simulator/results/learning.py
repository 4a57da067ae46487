"""What `learn` may conclude from labels: which questions are kept aside, and whether a rubric got better.

Labels are split by question: rules are proposed from one half, and tried on the other, which no prompt ever
shows. They are accepted only where questions of the held half on which the judge got better outnumber those
on which it got worse by more than luck gives (exact sign test of Dixon and Mood, 1946, which for one answer a
question is McNemar's; one-sided, 5 %):

    5 better, 0 worse    p = 1/32    accepted
    3 better, 1 worse    p = 5/16    not better
    8 better, 1 worse    p = 10/512  accepted
"""

import random
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from simulator.core.messages import Message
from simulator.core.types import GradingContext, HumanVerdict, RedRules, Results
from simulator.grading.desk import PATH, Clause
from simulator.grading.proposing import LabelledRow, Proposed
from simulator.results.review import TOP_GRADE, is_called_bad, red_line
from simulator.results.significance import ALPHA, sign_test

# So many labelled questions are needed in each half.
LEAST_QUESTIONS = 10


class Halves(NamedTuple):
    """The labels to learn from, and those that are kept aside."""

    learn: tuple[LabelledRow, ...]
    held: tuple[LabelledRow, ...]


def halves(rows: Sequence[LabelledRow], seed: int, learned: Collection[str] = ()) -> Halves:
    """The rows by question, half and half, questions with a bad answer spread over both.

    Questions that were `learned` from before stay in the learn half: they can show nothing any more.
    """
    bad = {row.question for row in rows if row.bad}
    questions = sorted({row.question for row in rows} - {*learned})
    random.Random(seed).shuffle(questions)  # noqa: S311 - a split, no secret
    ordered = sorted(questions, key=lambda question: question in bad)
    held = set(ordered[::2])
    return Halves(
        tuple(row for row in rows if row.question not in held),
        tuple(row for row in rows if row.question in held),
    )


class RubricComparison(NamedTuple):
    """Two rubrics on the held rows: questions on which the new one is right more often, and less often.

    `before` and `after` count rows that each judged as people do, of `rows`.
    """

    better: int
    worse: int
    before: int
    after: int
    rows: int

    @property
    def p(self) -> float:
        """How likely so many are better by luck alone."""
        return sign_test(self.better, self.worse)

    @property
    def is_better(self) -> bool:
        """Whether that is unlikely enough."""
        return self.p <= ALPHA


def compare_rubrics(rows: Iterable[tuple[str, bool, bool, bool]]) -> RubricComparison:
    """Rows of question, bad, marked before, marked after: how many questions went which way."""
    gains: dict[str, int] = {}
    before = after = n = 0
    for question, bad, was_marked, is_marked in rows:
        old, new = was_marked == bad, is_marked == bad
        gains[question] = gains.get(question, 0) + new - old
        before, after, n = before + old, after + new, n + 1
    signs = [*gains.values()]
    return RubricComparison(sum(g > 0 for g in signs), sum(g < 0 for g in signs), before, after, n)


def labels_of_run(
    results: Results, contexts: Mapping[tuple[str, int], tuple[str, GradingContext]], rules: RedRules
) -> list[LabelledRow]:
    """What people said of the answers of a run: `contexts` are these, each with its question's id.

    Blind grades count before opinions, for nobody was led by a verdict in them.
    """
    rows = []
    verdicts: dict[tuple[str, int], list[HumanVerdict]] = {}
    for verdict in results.verdicts:
        verdicts.setdefault(verdict.key, []).append(verdict)
    for place, said in verdicts.items():
        if place not in contexts or (votes := votes_of(said, rules)) is None:
            continue
        question, context = contexts[place]
        comments = tuple(filter(None, (v.comment.strip() for v in said)))
        answers = tuple(f"→ {v.correct_answer.strip()}" for v in said if v.correct_answer.strip())
        label = f"{results.run.id}/{place[0]}/{place[1]}"
        row = row_of(label, question, context, votes, comments + answers)
        expected = next((" ".join(v.expect.split()) for v in said if v.expect), "")
        rows.append(row._replace(expected=expected if row.split else ""))
    return rows


def votes_of(verdicts: Sequence[HumanVerdict], rules: RedRules) -> list[bool] | None:
    """Whether each person calls the answer bad; None where nobody said so or the opposite."""
    blind = [verdict.grade for verdict in verdicts if verdict.source == "blind" and verdict.grade is not None]
    if blind:
        return [grade / TOP_GRADE < red_line(rules) for grade in blind]
    opinions = [bad for bad in map(is_called_bad, verdicts) if bad is not None]
    return opinions[-1:] or None


def row_of(
    label: str, question: str, context: GradingContext, votes: Sequence[bool], comments: tuple[str, ...]
) -> LabelledRow:
    """A row by its votes: any vote against the others is a split."""
    bad = sum(votes) * 2 > len(votes)
    return LabelledRow(label, question, context, bad, comments, split=len({*votes}) > 1)


class Learned(NamedTuple):
    """What came of it: `why` it was refused (None: it was accepted), and what was tried.

    `labels` people gave on `questions`, of which the judge saw `differing` otherwise in the learn half;
    `comparison` is that of the held half. `unclear` are what the lead is asked, with the labels it is about.
    """

    judge: str
    model: str
    labels: int
    questions: int
    differing: int
    unclear: tuple[Clause, ...]
    proposed: Proposed = Proposed()
    comparison: RubricComparison | None = None
    why: Message | None = None

    @property
    def agrees(self) -> bool:
        """Whether there was nothing to learn."""
        return self.why is not None and not self.differing

    def as_json(self) -> dict[str, Any]:
        """The object of --json."""
        compared = self.comparison
        return {
            "accepted": self.why is None,
            "why": self.why and str(self.why),
            "judge": self.judge,
            "model": self.model,
            "labels": self.labels,
            "questions": self.questions,
            "disagreements": self.differing,
            "clauses": [clause.model_dump() for clause in self.proposed.clauses],
            "examples": [example.model_dump() for example in self.proposed.examples],
            "held": compared and {**compared._asdict(), "p": round(compared.p, 4)},
            "unclear": [clause.model_dump() for clause in self.unclear],
            "written": str(PATH) if self.why is None else None,
        }
