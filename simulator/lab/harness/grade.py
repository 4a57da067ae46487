"""Runs an evaluation by lm_eval: its run file, and lm_eval's metrics as scores.

Every answer is committed as it arrives, so that nothing is asked twice after an interruption. lm_eval's own
cache is not used for it: it has neither dialogues nor failures, and outlives the bot it was made with.

A metric of one document becomes a Score:

    0 to 1                                    value and raw as it is
    above 1 in some document, none over 100   value of 100
    outside its scale                         the nearest end, and the reason says so
    lower is better                           1 minus it
    a list, a tuple, not a number             skipped: it means something for all documents only (F1, BLEU)
    the bot failed                            0 by rule, major

What a task does not measure is `skipped` and not missing, or a run of two tasks would look half graded.
lm_eval's own table, with its standard errors, is kept as a note beside the scores.
"""

import itertools
import logging
import math
import os
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from lm_eval import evaluator
from lm_eval.loggers.utils import get_commit_from_path
from lm_eval.tasks import TaskManager

from simulator.core.errors import InputError, RehearsalError
from simulator.core.loading import describe_error
from simulator.core.messages import Message, _, encodable, language_of, localised, sentences
from simulator.core.settings import Settings, own_settings
from simulator.core.types import (
    MAIN_METRIC,
    Conversation,
    Score,
    Status,
)
from simulator.lab.harness.model import RehearsalLM, RunWriter
from simulator.lab.harness.tasks import (
    PLAIN,
    HarnessSession,
    Sources,
    TaskRequest,
    check_known,
    metric_name,
)
from simulator.runner.context import RunContext
from simulator.runner.run import Progress
from simulator.storage.run_file import read_run

# The same without starting git, which complains on stderr wherever there is no repository.
vars(evaluator)["get_git_commit_hash"] = lambda: get_commit_from_path(Path.cwd())
PERCENT = (0.0, 100.0)
Sample = Mapping[str, Any]
# Bootstrap samples for metrics whose standard error lm_eval does not have in closed form. Its default is
# 100,000, far more than an error with two digits needs.
BOOTSTRAP = 1000
# Shows the progress of the conversations of a context.
Watching = Callable[[Sequence[Conversation], RunContext], AbstractContextManager[Progress]]


def task_metrics(task: Any) -> list[str]:
    """The metrics of a task that are known before anything is asked, in order."""
    filters = [part.name for part in getattr(task, "_filters", ())] or [PLAIN]
    names = (metric_name(str(metric), part) for part in filters for metric in task.aggregation())
    return list(dict.fromkeys(names))


def main_metrics(tasks: Mapping[str, Any]) -> dict[str, str]:
    """Each task's first metric if they differ: then it becomes the primary judge, under the name MAIN."""
    # lm_eval lists a task's most important metric first.
    metrics = {name: next(iter(task_metrics(task)), "") for name, task in tasks.items()}
    return metrics if len(set(metrics.values())) > 1 else {}


def judge_names(tasks: Mapping[str, Any]) -> list[str]:
    """All judges of a run of these tasks, the primary one first."""
    mains = main_metrics(tasks)
    every = dict.fromkeys(name for task in tasks.values() for name in task_metrics(task))
    return [*([MAIN_METRIC] if mains else ()), *every]


def scores_of(session: HarnessSession, samples: Mapping[str, Sequence[Sample]]) -> list[Score]:
    """The grades of every document.

    What another task measures is skipped, so that it is not missing.
    """
    mains, scores = main_metrics(session.tasks), []
    for task, of_task in samples.items():
        for score in _scores_of_task(session, task, of_task):
            if score.judge == mains.get(task):
                scores.append(score.model_copy(update={"judge": MAIN_METRIC}))
            scores.append(score)
    return [*scores, *_not_asked(session, scores)]


def _not_asked(session: HarnessSession, scores: Sequence[Score]) -> Iterator[Score]:
    judges = dict.fromkeys([*judge_names(session.tasks), *(score.judge for score in scores)])
    filed: dict[str, set[str]] = {}
    for score in scores:
        filed.setdefault(score.conversation, set()).add(score.judge)
    reason = localised(_("This metric does not apply to this task."))
    for conversation in itertools.chain.from_iterable(session.conversations.values()):
        for judge in judges.keys() - filed.get(conversation.id, set()):
            yield Score(judge=judge, conversation=conversation.id, turn=1, state="skipped", reason=reason)


def _scores_of_task(session: HarnessSession, task: str, samples: Sequence[Sample]) -> Iterator[Score]:
    scales, loaded = _scales(samples), session.tasks.get(task)
    lower = (
        {metric for metric, higher in loaded.higher_is_better().items() if higher is False} if loaded else ()
    )
    for sample in samples:
        conversation = next(iter(session.conversations.get((task, int(sample["doc_id"])), ())), None)
        if conversation is not None:
            for metric in sample["metrics"]:
                yield _measured(sample, metric, conversation, scales, metric in lower)


def _measured(
    sample: Sample,
    metric: str,
    conversation: Conversation,
    scales: Mapping[str, tuple[float, float]],
    is_lower_better: bool,
) -> Score:
    """A metric of one document as a score: its share of the metric's scale."""
    last = conversation.turns[-1]
    raw, low, high = number(sample[metric]), *scales.get(metric, (0.0, 1.0))
    notes: list[Message] = []
    changes: dict[str, Any] = {"state": "scored"}
    share = 0.0
    if raw is None:
        changes["state"] = "skipped"
        notes.append(_("{metric} is only defined for all documents of a task together.", metric=metric))
    elif last.answer.error is not None:
        raw, low, high = 0.0, 0.0, 1.0
        changes |= {"by_rule": True, "severity": "major"}
        notes.append(_("no answer: {kind}", kind=last.answer.error.kind))
    else:
        # Values outside the scale count as its end, and the reason says so.
        share = (min(max(raw, low), high) - low) / (high - low)
        shown_value = f"{raw:g}"
        if not low <= raw <= high:
            notes.append(
                _("Its value {raw} is outside the scale and counts as the nearest end.", raw=shown_value)
            )
        if is_lower_better:
            share = 1 - share
            notes.append(_("Lower is better for this metric (value: {raw}).", raw=shown_value))
    if raw is not None:
        changes |= {"raw": raw, "value": share, "scale": (min(low, raw), max(high, raw))}
    return Score(
        judge=metric_name(metric, str(sample["filter"])),
        conversation=conversation.id,
        turn=last.index,
        reason=str(encodable(localised(sentences(*notes)))) if notes else "",
        **changes,
    )


def number(value: Any) -> float | None:
    """A metric's value of one document; None if it means something only for all documents together."""
    # Before float(), which reads "1" as a number.
    if isinstance(value, (str, bytes, list, tuple, dict)) or value is None:
        return None
    try:
        parsed = float(value)
    except (TypeError, ValueError):
        return None
    return parsed if math.isfinite(parsed) else None


def _scales(samples: Iterable[Sample]) -> dict[str, tuple[float, float]]:
    """0 to 1, or 0 to 100 for a metric that has values above 1 and none above 100."""
    by_metric: dict[str, list[float]] = {}
    for sample in samples:
        for metric in sample["metrics"]:
            if (value := number(sample[metric])) is not None:
                by_metric.setdefault(metric, []).append(value)
    return {
        metric: PERCENT if 1 < max(values) <= PERCENT[1] and min(values) >= 0 else (0.0, 1.0)
        for metric, values in by_metric.items()
    }


def evaluate(
    settings: Settings,
    asked: TaskRequest,
    sources: Sources,
    watching: Watching,
    resumed: Path | None = None,
) -> tuple[Path, str | None]:
    """Has lm_eval evaluate the bot; returns the run file, and why it stopped early, None if it did not.

    `sources` are its tasks, and `resumed` is a run to continue.
    Raises InputError for tasks that cannot be loaded; nothing is written then.
    """
    logging.getLogger("lm_eval").setLevel(logging.ERROR)
    # Prompts, judges and the like are the tasks' own, whatever rehearsal.toml says of rows.
    of_tasks = (*own_settings("single_turn") & Settings.model_fields.keys(), "protocol", "judges", "cases")
    defaults = {name: Settings.model_fields[name].get_default() for name in of_tasks}
    settings = settings.model_copy(update=defaults)
    # The tasks' metrics grade: no judge of ours takes part, nor a stand-in for one.
    ungraded = settings.model_copy(update={"judges": ()})
    session = HarnessSession(ungraded, read_run(resumed) if resumed else None)
    try:
        manager, loaded = _loaded(sources)
        session.tasks = loaded["tasks"]
        judges = tuple(judge_names(session.tasks))
        # Reports are in the language of who asked, whatever that of the tasks is.
        chosen = {"judges": judges or settings.judges, "language": language_of(os.environ)}
        stored = settings.model_copy(update={"protocol": "single_turn", **chosen})
        writer = RunWriter(session, stored, asked.model_dump(mode="json"), resumed)
        groups = loaded.get("groups") or {}
        # A group brings its tasks along; given beside it they would be asked twice.
        inside = {name for group in groups.values() for name in group.child_names}
        every = {**groups, **loaded["tasks"]}

        def evaluated() -> Any:
            return evaluator.simple_evaluate(
                model=RehearsalLM(writer, lambda plan: watching(plan, session.context)),
                tasks=[task for name, task in every.items() if name not in inside],
                num_fewshot=asked.shots,
                limit=asked.limit,
                bootstrap_iters=BOOTSTRAP,
                log_samples=True,
                task_manager=manager,
                torch_random_seed=None,
            )

        return _written(writer, evaluated)
    finally:
        session.close()


def _written(writer: RunWriter, evaluated: Callable[[], Any]) -> tuple[Path, str | None]:
    """Saves the results; returns the run file and why it stopped. Errors before the run began are raised."""
    # Whatever is not caught below leaves a run that can be resumed.
    status: Status = "interrupted"
    stopped: str | None = "interrupted"
    try:
        results = evaluated()
        if writer.file:
            writer.file.save_scores(scores_of(writer.session, results["samples"]))
        writer.save_note(measured(results))
        status, stopped = "finished", None
    except KeyboardInterrupt:
        if writer.file is None:
            raise
    except RehearsalError as error:
        if isinstance(error, InputError) or writer.file is None:
            raise
        status, stopped = "stopped", str(error)
    except Exception as error:  # lm_eval and a task's own code raise what they like
        if _is_ours(traceback.extract_tb(error.__traceback__)[-1].filename):
            raise
        raise InputError(_("lm_eval stopped: {error}", error=describe_error(error))) from None
    finally:
        writer.close(status)
    if writer.file is None:
        raise InputError(_("these tasks asked nothing."))
    return writer.file.path, stopped


def _is_ours(file: str) -> bool:
    """Whether it is a file of this program: an error raised there is a bug."""
    return Path(file).is_relative_to(Path(__file__).resolve().parents[2])


def _loaded(sources: Sources) -> tuple[Any, Mapping[str, Any]]:
    """lm_eval's task manager, and the tasks and groups; raises InputError if one cannot be loaded."""
    manager = TaskManager(
        include_path=[str(path) for path in sources.include] or None, include_defaults=not sources.own
    )
    names = check_known(sources.specs, manager.all_tasks, manager.match_tasks)
    try:
        return manager, manager.load(names)
    except RehearsalError:
        raise
    except Exception as error:  # lm_eval, the libraries below it and a task's own code raise what they like
        failure = _(
            "--tasks {names}: cannot be loaded: {error}", names=",".join(names), error=describe_error(error)
        )
        offline = _("It was loaded offline; HF_HUB_OFFLINE=0 fetches data.") if sources.own else None
        raise InputError(sentences(failure, offline)) from None


def measured(results: Mapping[str, Any]) -> dict[str, Any]:
    """lm_eval's results: for each task and group, the metrics with their standard errors."""
    versions = results.get("versions") or {}
    return {
        "lm_eval": str(results.get("lm_eval_version", "")),
        "results": [
            {
                "name": name,
                "group": name in (results.get("groups") or {}),
                "version": str(versions.get(name, "")),
                "shots": (results.get("n-shot") or {}).get(name),
                "n": (results.get("n-samples") or {}).get(name, {}).get("effective"),
                "metrics": list(_metrics(figures)),
            }
            for name, figures in results["results"].items()
        ],
    }


def _metrics(figures: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """`acc,none` and `acc_stderr,none` as one entry."""
    for key, value in figures.items():
        metric, comma, filter_name = key.partition(",")
        # Keys without a comma are names and aliases.
        if comma and not metric.endswith("_stderr") and (figure := number(value)) is not None:
            error = number(figures.get(f"{metric}_stderr,{filter_name}"))
            yield {"metric": metric, "filter": filter_name, "value": figure, "stderr": error}
