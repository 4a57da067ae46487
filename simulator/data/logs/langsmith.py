"""LangSmith: exported runs, what its SDK sends, feedback, and data sets."""

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
    grouped,
    inner,
    objects,
    passages_in,
    seconds,
    talks_of_traces,
)

NAME = "LangSmith"
_TALKS = ("session_id", "thread_id", "conversation_id")


def matches(record: Any) -> bool:
    """A run, a batch of them, feedback, or an example of a data set."""
    return (
        "run_type" in record
        or {"post", "patch"} <= record.keys()
        or {"run_id", "key", "score"} <= record.keys()
        or ({"inputs", "outputs"} <= record.keys() and "model" not in record)
    )


def read(records: Iterator[Any], skipped: Skipped) -> Iterator[Talk]:
    """The outermost runs by thread; examples of a data set are questions with their right answer."""
    examples: list[Talk] = []

    def runs() -> Iterator[dict[str, Any]]:
        for number, record in enumerate(records, 1):
            if "run_type" in record or "run_id" in record:
                yield from _with_children(record)
            elif batch := [*objects(record.get("post")), *objects(record.get("patch"))]:
                yield from batch
            elif question := asked_in(record.get("inputs"))[1]:
                reference = answered_in(record.get("outputs"))
                split = get(decoded(record.get("metadata")), "dataset_split")
                tags = [str(each) for each in (split if isinstance(split, list) else [split]) if each]
                examples.append(
                    Talk(str(record.get("id") or number), [Turn(question, reference=reference)], tags=tags)
                )
            else:
                skipped.note(_("examples without a question"))

    names = ("trace_id", "run_id", "parent_run_id", "id")
    grouping = grouped(runs(), lambda run: next(filter(None, map(run.get, names)), ""))
    traces = (trace for id_, its in grouping if (trace := _trace(id_, its, skipped)))
    yield from talks_of_traces(traces, skipped, _("traces without a question"))
    yield from examples


def _with_children(run: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield run
    for child in objects(run.get("child_runs")):
        yield from _with_children({"trace_id": run.get("trace_id") or run.get("id")} | child)


def _trace(id_: str, records: list[dict[str, Any]], skipped: Skipped) -> Trace | None:
    """A trace of its runs, of which a batch may hold two halves."""
    runs: dict[str, dict[str, Any]] = {}
    ratings: dict[str, Any] = {}
    for each in records:
        if "run_type" not in each and {"key", "score"} <= each.keys():
            score = each["value"] if each.get("score") is None else each["score"]
            ratings[str(each["key"])] = score
        else:
            known = runs.setdefault(str(each.get("id")), {})
            known |= {key: value for key, value in each.items() if value not in (None, {}, [], "")}
    if not runs:
        skipped.note(_("feedback without its runs (the export of runs has the texts)"), len(records))
        return None
    its = sorted(
        runs.values(),
        key=lambda run: (str(run.get("dotted_order") or ""), seconds(run.get("start_time")) or 0.0),
    )
    root = next((run for run in its if str(run.get("parent_run_id")) not in runs), its[0])
    about = [(get(decoded(run.get("extra")), "metadata"), run.get("metadata")) for run in (root, *its)]
    told = [{"thread_id": root.get("thread_id")}, *(decoded(each) for pair in about for each in pair)]
    threads = (each.get(key) for each in told if isinstance(each, dict) for key in _TALKS)
    for key, each in inner({"stats": decoded(root.get("feedback_stats"))}, "stats").items():
        if isinstance(each, dict):
            ratings[key] = each.get("values") if each.get("avg") is None else each["avg"]
    searches = [run for run in its if run.get("run_type") == "retriever"]
    return Trace(
        id_, str(next(filter(None, threads), "")), seconds(root.get("start_time")) or 0.0,
        root.get("inputs"), root.get("outputs"),
        tuple(passage for run in searches for passage in passages_in(run.get("outputs"))), ratings,
        error=str(root.get("error") or "") if not root.get("outputs") else "",
    )  # fmt: skip
