"""The metric file: which judges grade which output, and the scores from which on it is right.

`{"default": ["em"], "path": [{"name": "gpt_similarity", "threshold": 1}]}` as JSON; new
thresholds are written into it.

    "em"                                      exact_match, right at the top of its scale (1)
    "rougeL"                                  measured, and nothing decided: no threshold
    {"name": "rougeL", "threshold": 0.4}      right from 0.4 on
    {"name": "./mine.toml", "threshold": 4}   a rubric of the user's, on its own scale of 1 to 5

A key of the file is an output; `default` stands for all that it does not name, and for plain texts. Scores
are filed under the name that the file gives the judge (`path.gpt_similarity`), since that is the name people
look for.

Judges are loaded while the file is read, so that a misspelt name or a threshold of 80 on a scale of 0 to 1 is
reported before the first call.
"""

import json
import shutil
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, FiniteFloat, StringConstraints, ValidationError

from simulator.cases.files import read_text
from simulator.core import shelves
from simulator.core.errors import CaseFileError, InputError, UnknownName
from simulator.core.messages import Message, _, printable, quote
from simulator.core.shelves import ARTICLE_NAMES, canonical_judge
from simulator.core.templates import fingerprint
from simulator.core.types import Value
from simulator.core.writing import replaced
from simulator.grading.panel import scale_of
from simulator.grading.rubric import Rubric, load_judge

# These say right or wrong: without a threshold of their own they are right at the top of their scale.
BINARY_JUDGES = frozenset({"exact_match", "contains", "llm_correctness", "label", "choice"})
# These compare texts. A text that is the reference after normalisation is right for them, whatever their
# score (METEOR of identical texts is below 1) and whatever the threshold.
COMPARING_JUDGES = frozenset({
    "exact_match", "contains", "token_f1", "rouge_l", "meteor", "chrf", "cosine", "cosine_similarity",
})  # fmt: skip
# Stands for the outputs that the file does not name, and for an answer that is plain text.
DEFAULT = "default"
# Thresholds by output and judge, as the file names both.
Thresholds = Mapping[tuple[str, str], float]


class Metric(Value):
    """A judge of an output, under the name that the file gives it.

    A score (on the judge's own `scale`) at or above `threshold` is right; without a threshold the output is
    measured, and nothing is decided.
    """

    name: str
    judge: str
    scale: tuple[float, float]
    threshold: float | None = None

    @property
    def score_name(self) -> str:
        """The name of its scores after that of the output: as in the file, without a folder."""
        return self.name if canonical_judge(self.name) != self.name else shelves.judge_name(self.name)


class MetricFile(Value):
    """The judges of the outputs that the file names, and of all others."""

    path: str
    named: dict[str, tuple[Metric, ...]]

    @property
    def default(self) -> tuple[Metric, ...]:
        """The judges of the outputs that the file does not name."""
        return self.named.get(DEFAULT, ())

    def metrics(self, output: str) -> tuple[Metric, ...]:
        """The judges of an output."""
        return self.named.get(output, self.default)

    @property
    def decides(self) -> bool:
        """Whether there is any threshold, and so a verdict on whole rows."""
        return any(metric.threshold is not None for metrics in self.named.values() for metric in metrics)

    def files(self, name: str) -> bool:
        """Whether a score may have this name: OUTPUT.JUDGE."""
        output, _unused, judge = name.rpartition(".")
        return bool(output) and judge in [metric.score_name for metric in self.metrics(output)]

    @property
    def fingerprint(self) -> str:
        """A hash of all judges and thresholds."""
        judges = {name: [(m.name, m.threshold) for m in metrics] for name, metrics in self.named.items()}
        return fingerprint(json.dumps(judges, ensure_ascii=False))


# --- Reading ---


class _Entry(Value):
    """A judge as the file writes it."""

    name: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
    threshold: Annotated[FiniteFloat, Field(strict=True)] | None = None


def read_metric_file(path: str | Path) -> MetricFile:
    """The metric file; CaseFileError names the file, the output and what is wrong there."""
    path = Path(path)
    named: dict[str, tuple[Metric, ...]] = {}
    for output, value in _tables(path).items():
        # It becomes a name of scores, columns and conditions.
        if not output.strip() or printable(output) != output:
            raise _fault(path, _("{output} is not a valid name for an output.", output=quote(output)))
        metrics: dict[str, Metric] = {}
        for item in value if isinstance(value, list) else [value]:
            try:
                metric = _metric(item)
                # em and exact_match are one judge, whose scores would be filed under two names.
                if metric.judge in metrics:
                    raise InputError(_("{metric} is listed twice.", metric=metric.name))
            except InputError as error:
                problem = _("{output}: {problem}", output=output, problem=error.message)
                raise _fault(path, problem) from None
            metrics[metric.judge] = metric
        if not metrics:
            raise _fault(path, _("{output}: names no judge.", output=output))
        named[output] = tuple(metrics.values())
    if not named:
        raise _fault(path, _('it names no output; write {{"{default}": ["em"]}}.', default=DEFAULT))
    return MetricFile(path=str(path), named=named)


def metric_file_of(names: Iterable[str]) -> MetricFile:
    """The same judges for every output and for plain texts, without any file."""
    try:
        metrics = {metric.judge: metric for metric in map(_metric, names)}
    except InputError as error:
        raise InputError(_("--judges: {problem}", problem=error.message)) from None
    return MetricFile(path="--judges", named={DEFAULT: tuple(metrics.values())})


def _metric(item: Any) -> Metric:
    """The metric with its judge's scale, on which its threshold lies. Raises InputError."""
    try:
        entry = _Entry.model_validate({"name": item} if isinstance(item, str) else item)
    except ValidationError:
        shown = json.dumps(item, ensure_ascii=False, default=str)
        raise InputError(
            _('{entry} is not a judge; write "em", or {{"name": "em", "threshold": 1}}.', entry=quote(shown))
        ) from None
    own_name = canonical_judge(entry.name)
    try:
        judge = load_judge(own_name)
    except UnknownName:
        names = {*shelves.judge_names(), *ARTICLE_NAMES}
        raise UnknownName(_("judge"), entry.name, names, listed=shelves.LISTED) from None
    lowest, highest = judge.scale if isinstance(judge, Rubric) else scale_of(judge)
    # 0 of 0 and 1 is wrong, so there is only one threshold that makes sense.
    threshold = entry.threshold
    if threshold is None and own_name in BINARY_JUDGES:
        threshold = highest
    if threshold is not None and not lowest <= threshold <= highest:
        what = _(
            "{name}: threshold {threshold} is outside of its scale, {lowest} to {highest}.",
            name=entry.name,
            threshold=f"{threshold:g}",
            lowest=f"{lowest:g}",
            highest=f"{highest:g}",
        )
        raise InputError(what)
    return Metric(name=entry.name, judge=own_name, scale=(lowest, highest), threshold=threshold)


def _tables(path: Path) -> dict[str, Any]:
    """The outputs of the file and their judges, as they are written. Raises CaseFileError."""

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        # json would take the last one in silence.
        for name, times in Counter(name for name, _value in pairs).items():
            if times > 1:
                what = _("{output} is listed twice; put its judges in one list.", output=quote(name))
                raise _fault(path, what)
        return dict(pairs)

    try:
        whole = json.loads(read_text(path), object_pairs_hook=unique)
    except json.JSONDecodeError as error:
        what = _("not valid JSON ({problem}, character {column:d}).", problem=error.msg, column=error.colno)
        raise CaseFileError(
            _("{path}, line {line:d}: {what}", path=path, line=error.lineno, what=what)
        ) from None
    except (RecursionError, ValueError):
        what = _("not valid JSON (nested too deeply, or a number of too many digits).")
        raise _fault(path, what) from None
    if not isinstance(whole, dict):
        raise _fault(path, _('not an object; write {{"{default}": ["em"]}}.', default=DEFAULT))
    return whole


def _fault(path: Path, what: Message) -> InputError:
    return CaseFileError(_("{path}: {what}", path=path, what=what))


# --- Writing ---


def write_thresholds(path: Path, thresholds: Thresholds) -> None:
    """Writes these thresholds into a metric file, atomically; creates a missing one.

    All else that the file says stays, but not its line breaks.
    """
    tables = json.loads(read_text(path)) if path.exists() else {output: [] for output, _name in thresholds}
    for (output, name), value in thresholds.items():
        items = tables[output] if isinstance(tables[output], list) else [tables[output]]
        names = [item if isinstance(item, str) else item["name"] for item in items]
        # Rounded as it is shown, so that file and table agree.
        entry = {"name": name, "threshold": float(threshold_text(value))}
        at = names.index(name) if name in names else len(items)
        tables[output] = [*items[:at], entry, *items[at + 1 :]]
    with replaced(path) as new:
        new.write_text(json.dumps(tables, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")
        if path.exists():
            shutil.copymode(path, new)


def threshold_text(value: float) -> str:
    """A threshold as people write it, with at most four decimals."""
    return f"{value:.4f}".rstrip("0").rstrip(".")
