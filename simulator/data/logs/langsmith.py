"""LangSmith: exported runs, what its SDK sends, and data sets."""

from collections.abc import Iterator
from typing import Any

from simulator.core.messages import _
from simulator.data.logs.talks import (
    Skipped,
    Talk,
    Trace,
    Turn,
    answered_in,
    asked_in,
    decoded,
    get,
    inner,
    objects,
    passages_in,
    seconds,
    talks_of_traces,
)

NAME = "LangSmith"
_TALKS = ("session_id", "thread_id", "conversation_id")


def matches(record: Any) -> bool:
    """A run, a batch of them, or an example of a data set."""
    first = next(iter([*objects(record.get("runs")), *objects(record.get("post"))]), record)
    return (
        "run_type" in first
        or ("post" in record and "patch" in record)
        or ({"inputs", "outputs"} <= record.keys() and "run_type" not in record and "model" not in record)
    )


def read(records: Iterator[Any], skipped: Skipped) -> Iterator[Talk]:
    """The outermost runs by thread; examples of a data set are questions with their right answer."""
    runs: dict[str, dict[str, Any]] = {}
    for number, record in enumerate(records, 1):
        batch = [*objects(record.get("runs")), *objects(record.get("post")), *objects(record.get("patch"))]
        if not batch and "run_type" not in record:
            _earlier, question = asked_in(record.get("inputs"))
            if question:
                reference = answered_in(record.get("outputs"))
                split = get(record, "metadata.dataset_split")
                tags = [str(each) for each in (split if isinstance(split, list) else [split]) if each]
                yield Talk(str(record.get("id") or number), [Turn(question, reference=reference)], tags=tags)
            else:
                skipped.note(_("examples without a question"))
        for run in batch or ([record] if "run_type" in record else []):
            known = runs.setdefault(str(run.get("id") or number), {})
            known |= {key: value for key, value in run.items() if value not in (None, {}, [], "")}
    yield from talks_of_traces(_traces(runs), skipped, _("traces without a question"))


def _traces(runs: dict[str, dict[str, Any]]) -> Iterator[Trace]:
    by_trace: dict[str, list[dict[str, Any]]] = {}
    for key, run in runs.items():
        by_trace.setdefault(str(run.get("trace_id") or run.get("parent_run_id") or key), []).append(run)
    for trace, its in by_trace.items():
        its.sort(key=lambda run: (str(run.get("dotted_order") or ""), seconds(run.get("start_time")) or 0.0))
        known = {str(run.get("id")) for run in its}
        root = next((run for run in its if str(run.get("parent_run_id")) not in known), its[0])
        metadata = [decoded(get(run, "extra.metadata")) for run in (root, *its)]
        threads = (each.get(key) for each in metadata if isinstance(each, dict) for key in _TALKS)
        feedback = inner(root, "feedback_stats")
        searches = [run for run in its if run.get("run_type") == "retriever"]
        ratings = {
            str(key): each.get("values") if each.get("avg") is None else each["avg"]
            for key, each in feedback.items()
            if isinstance(each, dict)
        }
        yield Trace(
            trace, str(next(filter(None, threads), "")), seconds(root.get("start_time")) or 0.0,
            root.get("inputs"), root.get("outputs"),
            tuple(passage for run in searches for passage in passages_in(run.get("outputs"))), ratings,
            error=str(root.get("error") or "") if not root.get("outputs") else "",
        )  # fmt: skip
