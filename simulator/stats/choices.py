"""Multiple choice: accuracy by subject, what guessing would reach, and whether one letter is preferred.

The standard error is sqrt(p (1 - p) / (n - 1)), as lm-evaluation-harness prints it. No choice found in an
answer is a wrong answer, and counted.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from math import fsum, sqrt
from typing import Any, NamedTuple

from simulator.core.types import Case, Results, Score, Value
from simulator.stats.figures import rounded
from simulator.storage.results import conversations_with_scores
from simulator.text.choices import LETTERS, right_letter

CHOICE_JUDGE = "choice"


class Accuracy(Value):
    """How many of `n` questions were answered rightly; of `not_extracted` no choice could be read."""

    n: int
    right: int
    not_extracted: int = 0

    @property
    def value(self) -> float | None:
        """The share (0..1) of right answers."""
        return self.right / self.n if self.n else None

    @property
    def stderr(self) -> float | None:
        """The standard error of the share, sqrt(p (1 - p) / (n - 1)); None for a single question."""
        return standard_error(self.right, self.n)

    def as_json(self) -> dict[str, Any]:
        """Its figures, rounded to 4 decimals."""
        return {"accuracy": rounded(self.value), "stderr": rounded(self.stderr), **self.model_dump()}


class Choices(Value):
    """The figures of a run's multiple-choice questions.

    `subjects` are in the order of the data set; questions without one are under an empty name. `chosen`
    counts the letters that were answered, `right` those that would have been right. `chance` is what
    guessing reaches on average, `longest` what always taking the longest choice does.
    """

    accuracy: Accuracy
    subjects: dict[str, Accuracy]
    chosen: dict[str, int]
    right: dict[str, int]
    chance: float
    longest: float
    failed: int = 0

    def as_json(self) -> dict[str, Any]:
        """All of it, rounded to 4 decimals."""
        return {
            **self.accuracy.as_json(),
            "failed": self.failed,
            "subjects": {name: each.as_json() for name, each in self.subjects.items()},
            "chosen": self.chosen,
            "right_letters": self.right,
            "chance": rounded(self.chance),
            "longest_choice": rounded(self.longest),
        }


class _Row(NamedTuple):
    """What figures need of one question and its answer; many rows are equal."""

    subject: str
    right: str | None
    chosen: Any
    is_right: bool
    not_extracted: bool
    choices: int
    right_is_longest: bool


def standard_error(right: int, n: int) -> float | None:
    """The standard error of a share of `right` of `n`: sqrt(p (1 - p) / (n - 1)); None when n is below 2."""
    return sqrt((right / n) * (1 - right / n) / (n - 1)) if n > 1 else None


def choices(results: Results) -> Choices | None:
    """The figures of the judge `choice`; None where it graded nothing."""
    if not any(map(_is_choice, results.scores.judges)):
        return None
    rows: list[_Row] = []  # as the data set has them
    shared: dict[_Row, _Row] = {}  # equal rows are stored once
    failed = 0
    for conversation, by_turn in conversations_with_scores(results):
        scores = [each for by_judge in by_turn.values() for each in by_judge.values()]
        graded = [score for score in scores if conversation.case.choices and _is_choice(score.judge)]
        failed += sum(score.state == "failed" for score in graded)
        scored = [_row(conversation.case, score) for score in graded if score.state == "scored"]
        rows += [shared.setdefault(row, row) for row in scored[-1:]]
    if not rows:
        return None
    return Choices(
        accuracy=_accuracy(rows),
        subjects=_by_subject(rows),
        chosen=_letters(row.chosen for row in rows),
        right=_letters(row.right for row in rows),
        chance=fsum(1 / row.choices for row in rows) / len(rows),
        longest=sum(row.right_is_longest for row in rows) / len(rows),
        failed=failed,
    )


def _row(case: Case, score: Score) -> _Row:
    right = right_letter(case)
    return _Row(
        subject=subject_of(case),
        right=right,
        chosen=score.detail.get("letter"),
        is_right=score.value == 1,
        not_extracted="not_extracted" in score.detail,
        choices=len(case.choices),
        right_is_longest=_longest(case) == right,
    )


def _is_choice(judge: str) -> bool:
    """Also where it grades one output of an answer."""
    return judge == CHOICE_JUDGE or judge.endswith(f".{CHOICE_JUDGE}")


def _by_subject(rows: Iterable[_Row]) -> dict[str, Accuracy]:
    by_subject: dict[str, list[_Row]] = {}
    for row in rows:
        by_subject.setdefault(row.subject, []).append(row)
    return {subject: _accuracy(own) for subject, own in by_subject.items()}


def subject_of(case: Case) -> str:
    """The subject of a question: its first tag."""
    return case.tags[0] if case.tags else ""


def _accuracy(rows: Collection[_Row]) -> Accuracy:
    return Accuracy(
        n=len(rows),
        right=sum(row.is_right for row in rows),
        not_extracted=sum(row.not_extracted for row in rows),
    )


def _letters(letters: Iterable[Any]) -> dict[str, int]:
    """How often each letter occurs, in the order of the alphabet; what is no letter is left out."""
    counts: Mapping[Any, int] = Counter(letters)
    return {letter: counts[letter] for letter in LETTERS if counts.get(letter)}


def _longest(case: Case) -> str:
    """The letter of the longest choice, the first of them on a tie."""
    return LETTERS[max(range(len(case.choices)), key=lambda place: len(case.choices[place]))]
