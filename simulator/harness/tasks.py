"""What the task files that `harness --write-task` writes call: their rows, and our judges as their metrics.

lm_eval asks for metrics document by document. So that a model as judge need not be waited for a thousand
times, all documents of a task are graded at once where all their answers are there: in the last filter.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from datasets import Dataset
from lm_eval.api.filter import Filter
from lm_eval.api.registry import register_filter

from simulator.harness.documents import row_of
from simulator.harness.graders import Extracted, grader_of, new_grader
from simulator.harness.rows import documents
from simulator.harness.session import say


def rows(*, rehearsal: Mapping[str, Any], **_: Any) -> dict[str, Dataset]:
    """The documents of a task (`custom_dataset`), read anew from the data set itself."""
    task = str(rehearsal["task"])
    found = documents(task, rehearsal["settings"])
    if found.skipped:
        say(f"{task}: rows left out: {found.skipped:,} (`evaluate` says why).")
    new_grader(task, found.settings)
    return {"test": Dataset.from_list(found.rows)}


def judged(doc: Mapping[str, Any], results: Sequence[Any]) -> dict[str, float]:
    """A document's metrics (`process_results`): its grades from 0 to 1 by judge, as far as it was graded."""
    return grader_of(doc).metrics(doc, _text(results))


@register_filter("rehearsal_judges")
class Judged(Filter):  # type: ignore[misc]
    """Changes nothing: grades all answers of a task, many at a time."""

    def apply(self, resps: Iterable[Any], docs: Sequence[Mapping[str, Any]]) -> list[Any]:
        """The answers as they are."""
        found = list(resps)
        ours = [(doc, _text([each])) for doc, each in zip(docs, found, strict=True) if row_of(doc)]
        if ours:
            grader_of(ours[0][0]).grade(ours)
        return found


@register_filter("rehearsal_output")
class Output(Filter):  # type: ignore[misc]
    """One named output of a JSON answer; the text is empty where there is none."""

    def __init__(self, output: str) -> None:
        """`output` is its key; `address.city` leads inside."""
        self.output = output

    def apply(self, resps: Iterable[Any], docs: Sequence[Mapping[str, Any]]) -> list[Extracted]:
        """The output's text of each answer, which remembers the whole one."""
        return [Extracted.of(_text([each]), self.output) for each in resps]


def _text(results: Sequence[Any]) -> Any:
    """A document's answer; the first one where it was asked for several times."""
    first = results[0] if results else ""
    return _text(first) if isinstance(first, (list, tuple)) else first
