"""Multiple choice: accuracy by subject, what guessing would reach, and whether one letter is preferred.

The standard error is sqrt(p (1 - p) / (n - 1)), as lm-evaluation-harness prints it. No choice found in an
answer is a wrong answer, and counted.
"""

from collections import Counter
from typing import Any

from simulator.core.types import Results, Value
from simulator.stats.figures import rounded
from simulator.stats.intervals import standard_error
from simulator.storage.results import conversations_with_scores
from simulator.text.choices import LETTERS, right_letter

CHOICE_JUDGE = "choice"


class Accuracy(Value):
    """How many of `n` questions were answered rightly; of `not_extracted` no choice could be read."""

    n: int
    right: int = 0
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


def choices(results: Results) -> Choices | None:
    """The figures of the judge `choice`, also of one output of an answer; None where it graded nothing."""
    judges = [judge for judge in results.scores.judges if judge.rpartition(".")[2] == CHOICE_JUDGE]
    subjects: dict[str, Counter[str]] = {}
    chosen, right, sizes = Counter[Any](), Counter[Any](), Counter[int]()
    longest = failed = 0
    for conversation, by_turn in conversations_with_scores(results) if judges else ():
        case = conversation.case
        every = [score for by_judge in by_turn.values() for score in by_judge.values()]
        graded = [score for score in every if score.judge in judges and case.choices]
        failed += sum(score.state == "failed" for score in graded)
        scored = [score for score in graded if score.state == "scored"]
        if not scored:
            continue
        last, letter = scored[-1], right_letter(case)
        counts = subjects.setdefault(case.tags[0] if case.tags else "", Counter())
        counts.update(n=1, right=last.value == 1, not_extracted="not_extracted" in last.detail)
        chosen[last.detail.get("letter")] += 1
        right[letter] += 1
        sizes[len(case.choices)] += 1
        # The first of the longest on a tie.
        longest += LETTERS[max(range(len(case.choices)), key=lambda at: len(case.choices[at]))] == letter
    if not subjects:
        return None
    n = sizes.total()
    return Choices(
        accuracy=Accuracy(**sum(subjects.values(), Counter())),
        subjects={name: Accuracy(**counts) for name, counts in subjects.items()},
        chosen={letter: chosen[letter] for letter in LETTERS if chosen[letter]},
        right={letter: right[letter] for letter in LETTERS if right[letter]},
        chance=sum(rows / size for size, rows in sizes.items()) / n,
        longest=longest / n,
        failed=failed,
    )
