"""From scores and labels to thresholds: for every judge, output and domain, and for a metric file."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from simulator.core.shelves import our_name
from simulator.grading.metric_file import DEFAULT, WHOLE, Outputs, number, write_thresholds
from simulator.stats.calibration import Method, Suggestion, suggest
from simulator.thresholds.judged import Evidence, Judged, of_output, parts


class How(NamedTuple):
    """By which method, and with which seed for the interval."""

    method: Method = "quantile"
    quantile: float = 0.05
    seed: int = 42

    def of(self, judged: Sequence[Judged]) -> Suggestion:
        """What these scores speak for; no threshold at the low end of a scale, which every answer reaches."""
        values, right = [each.value for each in judged], [each.right for each in judged]
        groups = [each.group for each in judged]
        found = suggest(values, right, groups, self.method, self.quantile, self.seed)
        if found.threshold is None or found.threshold > judged[0].scale[0]:
            return found
        nothing = dict.fromkeys(("threshold", "interval", "right_passing", "wrong_passing"))
        return found.model_copy(update=nothing)


class Suggested(NamedTuple):
    """A suggestion for a judge of an output, of all domains ("") or of one; `scale` is what it is on."""

    judge: str
    output: str
    domain: str
    scale: tuple[float, float]
    suggestion: Suggestion

    @property
    def name(self) -> str:
        """What it is about, in short."""
        about = self.judge if self.output == DEFAULT else f"{self.output}.{self.judge}"
        return f"{about} [{self.domain}]" if self.domain else about

    def as_json(self) -> dict[str, Any]:
        """Judge, output and domain (null: all), the threshold and what it rests on."""
        told = self.suggestion.model_dump(exclude={"method"})
        shares = {
            key: None if told[key] is None else round(told[key], 4)
            for key in ("right_passing", "wrong_passing")
        }
        about = {"judge": self.judge, "output": self.output, "domain": self.domain or None}
        return about | {"scale": list(self.scale)} | told | shares


class Change(NamedTuple):
    """A threshold of a metric file, before and after."""

    output: str
    judge: str
    before: float | None
    after: float

    def as_json(self) -> dict[str, Any]:
        """As `--json` shows it."""
        return self._asdict()


def suggestions(evidence: Evidence, how: How) -> list[Suggested]:
    """For every judge of every output, and of every domain where there are several."""
    return [
        Suggested(judge, output, domain, judged[0].scale, how.of(judged))
        for (judge, output, domain), judged in parts(evidence.judged).items()
    ]


def changes(evidence: Evidence, how: How, file: Outputs | None) -> Iterator[Change]:
    """What the metric file should say; without a file, every judge and output there is.

    Judges that say right or wrong keep their thresholds: there is nothing between 0 and 1 to choose.
    """
    known = {(o, m.name): m.threshold for o, metrics in file.named.items() for m in metrics} if file else {}
    wanted = known or dict.fromkeys((each.output, each.judge) for each in evidence.judged)
    for (output, judge), before in wanted.items():
        judged = of_output(evidence.judged, output, judge, file)
        if our_name(judge) in WHOLE or not judged:
            continue
        found = how.of(judged)
        if found.threshold is not None:
            low, high = judged[0].scale
            yield Change(output, judge, before, float(number(min(high, max(low, found.threshold)))))


def write(path: Path, wanted: Sequence[Change]) -> None:
    """Puts them into the metric file, in its own shape; makes the file where there is none."""
    write_thresholds(path, {(each.output, each.judge): each.after for each in wanted})
