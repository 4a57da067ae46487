"""A run as a classifier: what the judge `label` read from each answer, held against the row's own label."""

from collections import Counter

from simulator.analysis.classification import Classification, Graded, classify
from simulator.core.types import Case, Results, Score
from simulator.storage.results import judges_of, with_scores

JUDGE = "label"
# More labels than that are no classes: each row chooses among texts of its own.
MOST_LABELS = 100


def classifications(results: Results) -> tuple[Classification, ...]:
    """One for each judge `label` that graded the run, also where it graded one output of an answer.

    Answers that failed count as not extracted; grades that failed, and rows without a label, do not count.
    """
    if not any(map(is_label, judges_of(results))):
        return ()
    found: dict[str, _Found] = {}
    for talk, by_turn in with_scores(results):
        for by_judge in by_turn.values():
            for judge in filter(is_label, by_judge):
                found.setdefault(judge, _Found()).add(talk.case, by_judge[judge])
    made = (_classification(judge, each, results) for judge, each in found.items())
    return tuple(each for each in made if each is not None)


def is_label(judge: str) -> bool:
    """Whether scores are those of `label`, of a whole answer or of one output of it."""
    return judge == JUDGE or judge.endswith(f".{JUDGE}")


class _Found:
    """What one judge read from the answers, row by row, without the rows themselves."""

    def __init__(self) -> None:
        self.rows: list[Graded] = []
        self.chosen: dict[str, None] = {}
        self.states: Counter[str] = Counter()
        self.by_likelihood = 0
        self._words: dict[str, str] = {}

    def add(self, case: Case, score: Score) -> None:
        """One more row."""
        self.states[score.state] += 1
        self.by_likelihood += score.detail.get("read") == "likelihood"
        if case.label in case.choices:
            self.chosen |= dict.fromkeys(case.choices)
        expected, predicted = score.detail.get("expected", case.label), score.detail.get("predicted")
        if score.state == "scored" and expected is not None:
            said = None if predicted is None else self._once(str(predicted))
            self.rows.append(Graded(self._once(str(expected)), said, case.id))

    def _once(self, label: str) -> str:
        return self._words.setdefault(label, label)


def _classification(judge: str, found: _Found, results: Results) -> Classification | None:
    labels = _labels(found, results)
    if not found.rows or len(labels) > MOST_LABELS:
        return None
    positive = results.run.settings.get("positive")
    return classify(
        found.rows,
        labels,
        positive=positive if isinstance(positive, str) and positive in labels else "",
        judge=judge,
        by_likelihood=found.by_likelihood,
        failed=found.states["failed"],
        skipped=found.states["skipped"],
    )


def _labels(found: _Found, results: Results) -> tuple[str, ...]:
    """The run's labels in their order; then the rows' own choices, and whatever else occurs."""
    known = results.run.settings.get("labels")
    named = list(known) if isinstance(known, dict) else []
    said = {label for row in found.rows for label in (row.expected, row.predicted) if label is not None}
    return tuple(dict.fromkeys([*named, *found.chosen, *sorted(said)]))
