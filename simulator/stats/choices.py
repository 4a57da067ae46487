"""Multiple choice: accuracy by subject, what guessing would reach, and whether one letter is preferred.

The standard error is sqrt(p (1 - p) / (n - 1)), as lm-evaluation-harness prints it. No choice found in an
answer is a wrong answer, and counted.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from simulator.core.types import Results, Value
from simulator.stats.figures import rounded
from simulator.stats.intervals import standard_error
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
        return None if self.value is None else standard_error(self.value, self.n)

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


def choices(results: Results) -> Choices | None:
    """The figures of the judge `choice`, also of one output of an answer; None where it graded nothing."""
    judges = [j for j in results.scores.judges if j == CHOICE_JUDGE or j.endswith(f".{CHOICE_JUDGE}")]
    rows, failed = Counter[_Row](), 0  # in the order of the data set
    for conversation, by_turn in conversations_with_scores(results) if judges else ():
        case = conversation.case
        every = [score for by_judge in by_turn.values() for score in by_judge.values()]
        graded = [score for score in every if score.judge in judges and case.choices]
        failed += sum(score.state == "failed" for score in graded)
        for score in [score for score in graded if score.state == "scored"][-1:]:
            right = right_letter(case)
            # The first of the longest on a tie.
            longest = max(range(len(case.choices)), key=lambda place: len(case.choices[place]))
            row = _Row(
                subject=case.tags[0] if case.tags else "",
                right=right,
                chosen=score.detail.get("letter"),
                is_right=score.value == 1,
                not_extracted="not_extracted" in score.detail,
                choices=len(case.choices),
                right_is_longest=LETTERS[longest] == right,
            )
            rows[row] += 1
    if not rows:
        return None
    by_subject: dict[str, Counter[_Row]] = {}
    for row, n in rows.items():
        by_subject.setdefault(row.subject, Counter())[row] = n
    return Choices(
        accuracy=_accuracy(rows),
        subjects={subject: _accuracy(own) for subject, own in by_subject.items()},
        chosen=_letters((row.chosen, n) for row, n in rows.items()),
        right=_letters((row.right, n) for row, n in rows.items()),
        chance=sum(n / row.choices for row, n in rows.items()) / rows.total(),
        longest=sum(n * row.right_is_longest for row, n in rows.items()) / rows.total(),
        failed=failed,
    )


def _accuracy(rows: Mapping[_Row, int]) -> Accuracy:
    return Accuracy(
        n=sum(rows.values()),
        right=sum(n * row.is_right for row, n in rows.items()),
        not_extracted=sum(n * row.not_extracted for row, n in rows.items()),
    )


def _letters(counted: Iterable[tuple[Any, int]]) -> dict[str, int]:
    """How often each letter occurs, in the order of the alphabet; what is no letter is left out."""
    counts = Counter[Any]()
    for letter, n in counted:
        counts[letter] += n
    return {letter: counts[letter] for letter in LETTERS if counts[letter]}
