"""One score beside what people say of the answer: what thresholds are suggested from."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from simulator.core.shelves import our_name
from simulator.core.types import Score
from simulator.grading.metric_file import COMPARES, DEFAULT, Outputs


class Judged(NamedTuple):
    """A score on the judge's own scale, of an answer (or of one `output` of it) that is right or wrong.

    Rows of the same `group` are not independent; `domain` is what the row is about.
    """

    judge: str
    output: str
    domain: str
    value: float
    scale: tuple[float, float]
    right: bool
    group: str


class Evidence(NamedTuple):
    """All scores of a file or a run, and what became of the rest: unlabelled, skipped and failed rows."""

    judged: tuple[Judged, ...]
    unlabelled: int = 0
    skipped: int = 0
    failed: int = 0

    @property
    def judges(self) -> list[str]:
        """Who graded, in the order of the scores."""
        return list(dict.fromkeys(each.judge for each in self.judged))


def measured(score: Score, judge: str, *, same: bool) -> float | None:
    """The score that is held against thresholds; None where there is none, or where none is held.

    What could not be extracted is wrong whatever the threshold. A text that is its reference is right
    whatever the threshold, so a comparison is taken to have the top of its scale.
    """
    if score.state != "scored" or score.raw is None or score.by_rule:
        return None
    return score.scale[1] if same and our_name(judge) in COMPARES else score.raw


def of_output(judged: Sequence[Judged], output: str, judge: str, file: Outputs | None) -> list[Judged]:
    """The scores that speak for the threshold of a judge of an output, as a metric file names both.

    Those of this very output, or of a domain of that name; for `default` those of all outputs that the file
    does not name.
    """
    mine = [each for each in judged if our_name(each.judge) == our_name(judge)]
    if exact := [each for each in mine if each.output == output]:
        return exact
    if output == DEFAULT:
        named = set(file.named) if file else set()
        return [each for each in mine if each.output not in named]
    return [each for each in mine if each.domain == output]


def parts(judged: Iterable[Judged]) -> dict[tuple[str, str, str], list[Judged]]:
    """The scores by judge, output and domain; with several domains also those of all of them ("")."""
    found: dict[tuple[str, str, str], list[Judged]] = {}
    every = list(judged)
    several = len({each.domain for each in every}) > 1
    for each in every:
        found.setdefault((each.judge, each.output, ""), []).append(each)
    for each in every if several else ():
        found.setdefault((each.judge, each.output, each.domain or "-"), []).append(each)
    return dict(
        sorted(found.items(), key=lambda item: (item[0][1] != DEFAULT, item[0][1], item[0][0], item[0][2]))
    )
