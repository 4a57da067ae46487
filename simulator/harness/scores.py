"""What lm_eval measured as grades of a run: each metric of each document a Score."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from simulator.core.replies import encodable
from simulator.core.types import MAIN, Conversation, Score
from simulator.harness.documents import row_of
from simulator.harness.graders import Extracted, graded_of, names_of_task
from simulator.harness.naming import PLAIN, TEXT, metric_name
from simulator.harness.session import Session

PERCENT = (0.0, 100.0)
# Pairs of a document's log-likelihood and its length.
_PERPLEXITIES = frozenset({"word_perplexity", "byte_perplexity", "bits_per_byte"})
Sample = Mapping[str, Any]


def metrics_of(name: str, task: Any) -> list[str]:
    """The metrics of a task as far as they are known before anything is asked, in order."""
    filters = [each.name for each in getattr(task, "_filters", ())] or [PLAIN]
    if getattr(task.config, "process_results", None) is not None and (ours := names_of_task(name, filters)):
        return ours
    names = (metric_name(str(metric), each) for each in filters for metric in task.aggregation())
    return list(dict.fromkeys(names))


def mains_of(tasks: Mapping[str, Any]) -> dict[str, str]:
    """Each task's first metric, where the tasks differ in it: then it decides, under one name for all."""
    found = {name: next(iter(metrics_of(name, task)), "") for name, task in tasks.items()}
    return found if len(set(found.values())) > 1 else {}


def names_of(tasks: Mapping[str, Any]) -> list[str]:
    """All judges of a run of these tasks, the one that decides first."""
    mains = mains_of(tasks)
    every = dict.fromkeys(name for task in tasks for name in metrics_of(task, tasks[task]))
    return [*([MAIN] if mains else ()), *every]


def scores_of(session: Session, samples: Mapping[str, Sequence[Sample]]) -> list[Score]:
    """The grades of every document; those of our own judges as they were given, reasons and all.

    What another task measures, or another turn of a dialogue, is skipped, so that it is not missing.
    """
    mains, found = mains_of(session.tasks), []
    for task, of_task in samples.items():
        for score in _scores_of_task(session, task, of_task):
            if score.judge == mains.get(task):
                found.append(score.model_copy(update={"judge": MAIN}))
            found.append(score)
    return [*found, *_not_asked(session, found)]


def _not_asked(session: Session, found: Sequence[Score]) -> Iterator[Score]:
    judges = dict.fromkeys([*names_of(session.tasks), *(score.judge for score in found)])
    filed: dict[tuple[str, int], set[str]] = {}
    for score in found:
        filed.setdefault((score.conversation, score.turn), set()).add(score.judge)
    for talk in (talk for talks in session.talks.values() for talk in talks):
        reason = TEXT(talk.case.language, "not_asked")
        for turn in talk.turns:
            for judge in judges.keys() - filed.get((talk.id, turn.index), set()):
                bare = Score(judge=judge, conversation=talk.id, turn=turn.index, state="skipped")
                yield bare.model_copy(update={"reason": reason})


def _scores_of_task(session: Session, task: str, samples: Sequence[Sample]) -> Iterator[Score]:
    scales, better = _scales(samples), _higher_is_better(session, task)
    for sample in samples:
        talks = session.talks.get((task, int(sample["doc_id"])), ())
        if talks and _is_ours(sample):
            yield from _given(sample, talks[0])
        elif talks:
            yield from _measured(sample, talks[0], scales, better)


def _is_ours(sample: Sample) -> bool:
    return row_of(sample["doc"]) is not None and bool(graded_of(sample["doc"], _text(sample)))


def _text(sample: Sample) -> Any:
    first = sample["filtered_resps"][0]
    return first[0] if isinstance(first, (list, tuple)) and first else first


def _given(sample: Sample, talk: Conversation) -> Iterator[Score]:
    """The judges' own grades; those of an output came with the whole answer already."""
    if isinstance(_text(sample), Extracted):
        return
    for score in graded_of(sample["doc"], _text(sample)):
        name = metric_name(score.judge, str(sample["filter"]))
        yield score.model_copy(update={"judge": name, "conversation": talk.id})


def _measured(
    sample: Sample, talk: Conversation, scales: Mapping[str, tuple[float, float]], better: Mapping[str, bool]
) -> Iterator[Score]:
    last = talk.turns[-1]
    language = talk.case.language
    for metric in sample["metrics"]:
        name = metric_name(metric, str(sample["filter"]))
        bare = Score(judge=name, conversation=talk.id, turn=last.index, state="skipped")
        raw = number(sample[metric])
        if (share := _likelihood(metric, sample[metric])) is not None:
            scored = _scored(bare, share, (0.0, 1.0), TEXT(language, "inverse"))
            yield scored.model_copy(update={"value": share})
        elif raw is None:
            yield bare.model_copy(update={"reason": TEXT(language, "whole_task", metric=metric)})
        elif last.answer.error is not None:
            reason = TEXT(language, "no_answer", kind=last.answer.error.kind)
            yield _scored(bare, 0.0, (0.0, 1.0), reason).model_copy(
                update={"by_rule": True, "severity": "major"}
            )
        else:
            yield _on_scale(bare, raw, scales[metric], better.get(metric, True), language)


def _on_scale(bare: Score, raw: float, scale: tuple[float, float], higher: bool, language: Any) -> Score:
    """The grade as a share of its scale; what lies outside is put at its end, and said."""
    low, high = scale
    share = (min(max(raw, low), high) - low) / (high - low)
    told = [] if low <= raw <= high else [TEXT(language, "clamped", raw=f"{raw:g}")]
    told += [] if higher else [TEXT(language, "lower", raw=f"{raw:g}")]
    shown = scale if low <= raw <= high else (min(low, raw), max(high, raw))
    scored = _scored(bare, raw, shown, " ".join(told))
    return scored.model_copy(update={"value": share if higher else 1 - share})


def _scored(bare: Score, raw: float, scale: tuple[float, float], reason: str) -> Score:
    changes = {"state": "scored", "raw": raw, "value": 0.0, "scale": scale, "reason": str(encodable(reason))}
    return bare.model_copy(update=changes)


def _likelihood(metric: str, value: Any) -> float | None:
    """The mean likelihood of a word or byte of one document: 1 / perplexity; None for other metrics."""
    if metric == "perplexity" and (own := number(value)) is not None:
        return math.exp(min(0.0, own))
    if metric not in _PERPLEXITIES or not isinstance(value, (list, tuple)) or len(value) != 2:
        return None
    total, weight = number(value[0]), number(value[1])
    return math.exp(min(0.0, total / weight)) if total is not None and weight else None


def number(value: Any) -> float | None:
    """A metric's value of one document; None for what only means something for all of them together."""
    if isinstance(value, (str, bytes, list, tuple, dict)) or value is None:
        return None
    try:
        found = float(value)
    except (TypeError, ValueError):
        return None
    return found if math.isfinite(found) else None


def _scales(samples: Iterable[Sample]) -> dict[str, tuple[float, float]]:
    """0 to 1, or 0 to 100 for a metric that has values above 1 and none above 100."""
    found: dict[str, list[float]] = {}
    for sample in samples:
        for metric in sample["metrics"]:
            if (value := number(sample[metric])) is not None:
                found.setdefault(metric, []).append(value)
    return {
        metric: PERCENT if 1 < max(values) <= PERCENT[1] and min(values) >= 0 else (0.0, 1.0)
        for metric, values in found.items()
    }


def _higher_is_better(session: Session, task: str) -> Mapping[str, bool]:
    found = session.tasks.get(task)
    told = found.higher_is_better() if found is not None else {}
    return {str(metric): better is not False for metric, better in told.items()}
