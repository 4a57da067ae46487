"""Runs an evaluation by lm_eval: its run file, its grades by our judges, and lm_eval's metrics as scores.

Every answer is committed as it arrives, so that nothing is asked twice after an interruption. lm_eval's own
cache is not used for it: it has neither dialogues nor failures, and outlives the bot it was made with.
"""

import itertools
import logging
import math
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import cached_property
from pathlib import Path
from typing import Any, Self

from datasets import Dataset
from lm_eval import evaluator
from lm_eval.api.filter import Filter
from lm_eval.api.registry import register_filter
from lm_eval.loggers.utils import get_commit_from_path
from lm_eval.tasks import TaskManager

from simulator.addons.lm_eval.model import RehearsalLM, RunWriter
from simulator.addons.lm_eval.task_files import TaskRequest
from simulator.addons.lm_eval.tasks import (
    PLAIN,
    Session,
    Sources,
    begin_session,
    check_known,
    current_session,
    documents,
    metric_name,
    row_key,
)
from simulator.core.concurrency import for_each
from simulator.core.errors import InputError, RehearsalError
from simulator.core.messages import Message, _, encodable, say, sentences, shown
from simulator.core.settings import Settings
from simulator.core.shelves import ROOT, describe_error
from simulator.core.types import (
    MAIN_METRIC,
    SCRIPTED,
    Answer,
    Case,
    Conversation,
    Failure,
    GradingContext,
    Score,
    Status,
    Turn,
)
from simulator.grading.outputs import object_within, text_at
from simulator.grading.panel import Grading
from simulator.runner.context import RunContext
from simulator.runner.conversation import grading_context
from simulator.runner.run import Progress
from simulator.storage.run_file import read_run

# The same without starting git, which complains on stderr wherever there is no repository.
vars(evaluator)["get_git_commit_hash"] = lambda: get_commit_from_path(Path.cwd())
PERCENT = (0.0, 100.0)
# Pairs of a document's log-likelihood and its length.
_PERPLEXITIES = frozenset({"word_perplexity", "byte_perplexity", "bits_per_byte"})
Sample = Mapping[str, Any]
# Bootstrap samples for metrics whose standard error lm_eval does not have in closed form.
BOOTSTRAP = 1000
# Shows the progress of the conversations of a context.
Watching = Callable[[Sequence[Conversation], RunContext], AbstractContextManager[Progress]]


# A document and the bot's answer, or an output of it; and by what its grades are kept.
Asked = tuple[Mapping[str, Any], str]
AnswerKey = tuple[str, str]


class ExtractedPart(str):
    """One output of an answer; `whole` is the whole answer."""

    output: str
    whole: str

    @classmethod
    def of(cls, whole: str, output: str) -> Self:
        """The output's text; empty if the answer has none."""
        part = cls(text_at(object_within(whole, (output,)) or {}, output) or "")
        part.whole, part.output = whole, output
        return part


class Grader:
    """The judges of one task; their scores are kept until the process ends."""

    def __init__(self, task: str, settings: Settings) -> None:
        """`settings` are the task's own."""
        self.task, self.settings = task, settings
        self.scores: dict[AnswerKey, list[Score]] = {}

    def grade(self, asked: Iterable[Asked]) -> None:
        """Grades the answers that have no scores yet, `--calls` at a time."""
        rows = {self._key(doc, text): doc for doc, text in asked}
        ungraded = {key: doc for key, doc in rows.items() if key not in self.scores}

        async def grade(answer: tuple[AnswerKey, Mapping[str, Any]]) -> None:
            key, doc = answer
            graded = [await self.grading.panel.grade(context) for context in contexts(doc, key[1])]
            self.scores[key] = [score for of_turn in graded for score in of_turn]

        if ungraded:
            current_session().run(for_each(ungraded.items(), grade, self.grading.settings.calls))
            self._report_failures([score for key in ungraded for score in self.scores[key]])

    def metrics(self, doc: Mapping[str, Any], text: str) -> dict[str, float]:
        """The grades of an answer (or of one of its outputs) by judge, from 0 to 1."""
        self.grade([(doc, text)])
        values: dict[str, list[float]] = {}
        for score in self.scores[self._key(doc, text)]:
            if score.state == "scored" and score.value is not None and (name := self._name(score, text)):
                values.setdefault(name, []).append(score.value)
        return {name: sum(each) / len(each) for name, each in values.items()}

    def graded(self, doc: Mapping[str, Any], text: str) -> list[Score]:
        """The scores of an answer; empty if it was not graded."""
        return self.scores.get(self._key(doc, text), [])

    def names(self, filters: Sequence[str]) -> list[str]:
        """The names of the metrics with these filters; every output has one of its own."""
        named = self._named
        whole = [name for name in filters if name not in named]
        found = [metric_name(each, name) for name in whole for each in self.grading.names]
        return found + [f"{name}.{metric.score_name}" for name in filters for metric in named.get(name, ())]

    def _key(self, doc: Mapping[str, Any], text: str) -> AnswerKey:
        return str(doc["id"]), text.whole if isinstance(text, ExtractedPart) else str(text)

    @cached_property
    def grading(self) -> Grading:
        """The judges, with the models of the session in which they are first needed."""
        return current_session().grading(self.settings)

    def _name(self, score: Score, text: str) -> str:
        """The name of a score's metric in the filter of this text; "" if it belongs to another filter."""
        output = str(score.detail.get("output", ""))
        if isinstance(text, ExtractedPart):
            return score.judge.removeprefix(f"{output}.") if output == text.output else ""
        return "" if output in self._named else score.judge

    @property
    def _named(self) -> Mapping[str, Any]:
        """The metrics of each output that has a filter of its own."""
        outputs = self.grading.outputs
        return outputs.file.named if outputs else {}

    def _report_failures(self, scores: Sequence[Score]) -> None:
        failed = sum(score.state == "failed" for score in scores)
        if failed and failed == sum(score.state != "skipped" for score in scores):
            why = next(score.reason for score in scores if score.state == "failed")
            raise RehearsalError(_("{task}: no judge could grade anything: {why}", task=self.task, why=why))
        if failed:
            say(
                _(
                    "{task}: {failed} of {n} grades failed; they are in no mean.",
                    task=self.task,
                    failed=failed,
                    n=len(scores),
                )
            )


def contexts(doc: Mapping[str, Any], text: str) -> list[GradingContext]:
    """What judges see of an answer: with its passages and earlier turns if this program asked the bot."""
    row = row_key(doc)
    conversation = current_session().of_rows.get(row) if row else None
    if conversation is None:
        conversation = _single_turn(doc, text)
    last = conversation.turns[-1]
    cut = last.model_copy(update={"answer": last.answer.model_copy(update={"text": text})})
    turns = (*conversation.turns[:-1], cut)
    conversation = conversation.model_copy(update={"turns": turns})
    return [grading_context(conversation, index) for index in range(1, len(turns) + 1)]


def _single_turn(doc: Mapping[str, Any], text: str) -> Conversation:
    """The answer of another model of lm_eval as a conversation of one turn."""
    case = Case.model_validate_json(doc["case"])
    silent = None if text.strip() else Failure(kind="empty", message=_("empty answer"))
    answer = Answer(text=text, shows_passages=False, error=silent)
    turns = (Turn(index=1, user=case.question, answer=answer),)
    return Conversation(id=f"{SCRIPTED}/{case.id}#1", case=case, persona=SCRIPTED, repeat=1, turns=turns)


# The judges of our own tasks, by the task's name; lm_eval calls `rows` first, which makes them.
_GRADERS: dict[str, Grader] = {}


def task_metrics(name: str, task: Any) -> list[str]:
    """The metrics of a task that are known before anything is asked, in order."""
    filters = [each.name for each in getattr(task, "_filters", ())] or [PLAIN]
    if getattr(task.config, "process_results", None) is not None and name in _GRADERS:
        return _GRADERS[name].names(filters)
    names = (metric_name(str(metric), each) for each in filters for metric in task.aggregation())
    return list(dict.fromkeys(names))


def main_metrics(tasks: Mapping[str, Any]) -> dict[str, str]:
    """Each task's first metric if they differ: then it becomes the primary judge, under the name MAIN."""
    metrics = {name: next(iter(task_metrics(name, task)), "") for name, task in tasks.items()}
    return metrics if len(set(metrics.values())) > 1 else {}


def judge_names(tasks: Mapping[str, Any]) -> list[str]:
    """All judges of a run of these tasks, the primary one first."""
    mains = main_metrics(tasks)
    every = dict.fromkeys(name for task in tasks for name in task_metrics(task, tasks[task]))
    return [*([MAIN_METRIC] if mains else ()), *every]


def scores_of(session: Session, samples: Mapping[str, Sequence[Sample]]) -> list[Score]:
    """The grades of every document; those of our own judges as they were given, reasons and all.

    What another task measures, or another turn of a dialogue, is skipped, so that it is not missing.
    """
    mains, found = main_metrics(session.tasks), []
    for task, of_task in samples.items():
        for score in _scores_of_task(session, task, of_task):
            if score.judge == mains.get(task):
                found.append(score.model_copy(update={"judge": MAIN_METRIC}))
            found.append(score)
    return [*found, *_not_asked(session, found)]


def _not_asked(session: Session, found: Sequence[Score]) -> Iterator[Score]:
    judges = dict.fromkeys([*judge_names(session.tasks), *(score.judge for score in found)])
    filed: dict[tuple[str, int], set[str]] = {}
    for score in found:
        filed.setdefault((score.conversation, score.turn), set()).add(score.judge)
    for conversation in itertools.chain.from_iterable(session.conversations.values()):
        reason = shown(_("This task or turn is not measured by it."), conversation.case.language)
        for turn in conversation.turns:
            for judge in judges.keys() - filed.get((conversation.id, turn.index), set()):
                bare = Score(judge=judge, conversation=conversation.id, turn=turn.index, state="skipped")
                yield bare.model_copy(update={"reason": reason})


def _scores_of_task(session: Session, task: str, samples: Sequence[Sample]) -> Iterator[Score]:
    scales, loaded = _scales(samples), session.tasks.get(task)
    lower = (
        {metric for metric, higher in loaded.higher_is_better().items() if higher is False} if loaded else ()
    )
    for sample in samples:
        doc, text = sample["doc"], _answer_of(sample["filtered_resps"])
        conversation = next(iter(session.conversations.get((task, int(sample["doc_id"])), ())), None)
        graded = _GRADERS[doc["task"]].graded(doc, text) if row_key(doc) and doc["task"] in _GRADERS else []
        if conversation is None:
            continue
        if not graded:
            for metric in sample["metrics"]:
                yield _measured(sample, metric, conversation, scales, metric in lower)
        elif not isinstance(text, ExtractedPart):  # an output's are among those of the whole answer
            for score in graded:
                name = metric_name(score.judge, str(sample["filter"]))
                yield score.model_copy(update={"judge": name, "conversation": conversation.id})


def _measured(
    sample: Sample,
    metric: str,
    conversation: Conversation,
    scales: Mapping[str, tuple[float, float]],
    is_lower_better: bool,
) -> Score:
    """A metric of one document as a score: its share of the metric's scale."""
    last, language = conversation.turns[-1], conversation.case.language
    raw, low, high = number(sample[metric]), *scales.get(metric, (0.0, 1.0))
    notes: list[Message] = []
    changes: dict[str, Any] = {"state": "scored"}
    if (share := _likelihood(metric, sample[metric])) is not None:
        raw, low, high = share, 0.0, 1.0
        notes.append(_("The value is 1 / perplexity: the mean likelihood of a word or byte."))
    elif raw is None:
        changes["state"] = "skipped"
        notes.append(_("{metric} is only defined for all documents of a task together.", metric=metric))
    elif last.answer.error is not None:
        raw, share, low, high = 0.0, 0.0, 0.0, 1.0
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
        reason=str(encodable(shown(sentences(*notes), language))) if notes else "",
        **changes,
    )


def _likelihood(metric: str, value: Any) -> float | None:
    """The mean likelihood of a word or byte of one document: 1 / perplexity; None for other metrics."""
    if metric == "perplexity" and (own := number(value)) is not None:
        return math.exp(min(0.0, own))
    if metric not in _PERPLEXITIES or not isinstance(value, (list, tuple)) or len(value) != 2:
        return None
    total, weight = number(value[0]), number(value[1])
    return math.exp(min(0.0, total / weight)) if total is not None and weight else None


def number(value: Any) -> float | None:
    """A metric's value of one document; None if it means something only for all documents together."""
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


def evaluate(
    settings: Settings,
    asked: TaskRequest,
    sources: Sources,
    watching: Watching,
    resumed: Path | None = None,
) -> tuple[Path, str | None]:
    """Has lm_eval evaluate the bot; returns the run file, and why it stopped early, None if it did not.

    `sources` are all its tasks, those written from data sets among them, and `resumed` is a run to continue.
    Raises InputError for tasks that cannot be loaded; nothing is written then.
    """
    logging.getLogger("lm_eval").setLevel(logging.ERROR)
    session = begin_session(settings, read_run(resumed) if resumed else None)
    try:
        manager, loaded = _loaded(sources)
        session.tasks = loaded["tasks"]
        judges = tuple(judge_names(session.tasks))
        stored = settings.model_copy(update={"protocol": "single_turn", "judges": judges or settings.judges})
        writer = RunWriter(session, stored, asked.model_dump(mode="json"), resumed)
        groups = loaded.get("groups") or {}
        inside = {name for group in groups.values() for name in group.child_names}
        every = {**groups, **loaded["tasks"]}

        def evaluated() -> Any:
            return evaluator.simple_evaluate(
                model=RehearsalLM(writer, lambda plan: watching(plan, session.context)),
                tasks=[each for name, each in every.items() if name not in inside],
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
        raise InputError(_("lm_eval stopped: {error}", error=_error_text(error))) from None
    finally:
        writer.close(status)
    if writer.file is None:
        raise InputError(_("these tasks asked nothing."))
    return writer.file.path, stopped


def _error_text(error: BaseException) -> Message:
    """The error and where it is in a task's own code; a place in this program is left out."""
    told = describe_error(error)
    values = dict(told.values)
    return _("{error}.", error=values["error"]) if _is_ours(str(values.get("file", ""))) else told


def _is_ours(file: str) -> bool:
    """Whether it is a file of this program: an error raised there is a bug."""
    return Path(file).is_relative_to(ROOT / "simulator")


def _loaded(sources: Sources) -> tuple[Any, Mapping[str, Any]]:
    """lm_eval's task manager, and the tasks and groups; raises InputError if one cannot be loaded."""
    manager = TaskManager(
        include_path=[str(each) for each in sources.include] or None, include_defaults=sources.own
    )
    names = check_known(sources.specs, manager.all_tasks, manager.match_tasks)
    try:
        return manager, manager.load(names)
    except RehearsalError:
        raise
    except Exception as error:  # lm_eval, the libraries below it and a task's own code raise what they like
        failure = _(
            "--tasks {names}: cannot be loaded: {error}", names=",".join(names), error=_error_text(error)
        )
        offline = None if sources.online else _("It was loaded offline.")
        raise InputError(sentences(failure, offline)) from None


def measured(found: Mapping[str, Any]) -> dict[str, Any]:
    """lm_eval's results: for each task and group, the metrics with their standard errors."""
    versions = found.get("versions") or {}
    return {
        "lm_eval": str(found.get("lm_eval_version", "")),
        "results": [
            {
                "name": name,
                "group": name in (found.get("groups") or {}),
                "version": str(versions.get(name, "")),
                "shots": (found.get("n-shot") or {}).get(name),
                "n": (found.get("n-samples") or {}).get(name, {}).get("effective"),
                "metrics": list(_metrics(figures)),
            }
            for name, figures in found["results"].items()
        ],
    }


def _metrics(figures: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """`acc,none` and `acc_stderr,none` as one entry."""
    for key, value in figures.items():
        metric, comma, filter_name = key.partition(",")
        if comma and not metric.endswith("_stderr") and (figure := number(value)) is not None:
            error = number(figures.get(f"{metric}_stderr,{filter_name}"))
            yield {"metric": metric, "filter": filter_name, "value": figure, "stderr": error}


def rows(*, rehearsal: Mapping[str, Any], **_others: Any) -> dict[str, Dataset]:
    """The documents of a task (`custom_dataset`), read from the data set itself."""
    task = str(rehearsal["task"])
    found = documents(task, rehearsal["settings"])
    if found.skipped:
        say(_("{task}: rows left out: {skipped} (`evaluate` says why).", task=task, skipped=found.skipped))
    _GRADERS[task] = Grader(task, found.settings)
    return {"test": Dataset.from_list(found.rows)}


def judged(doc: Mapping[str, Any], results: Sequence[Any]) -> dict[str, float]:
    """A document's metrics (`process_results`): its grades from 0 to 1 by judge."""
    return _GRADERS[str(doc["task"])].metrics(doc, _answer_of(results))


@register_filter("rehearsal_judges")
class BatchedTask(Filter):  # type: ignore[misc]
    """Changes nothing: grades all answers of a task, many at a time."""

    def apply(self, resps: Iterable[Any], docs: Sequence[Mapping[str, Any]]) -> list[Any]:
        """The answers as they are."""
        answers = list(resps)
        ours = [(doc, _answer_of(each)) for doc, each in zip(docs, answers, strict=True) if row_key(doc)]
        if ours:
            _GRADERS[str(ours[0][0]["task"])].grade(ours)
        return answers


@register_filter("rehearsal_output")
class Output(Filter):  # type: ignore[misc]
    """One named output of a JSON answer; the text is empty where there is none."""

    def __init__(self, output: str) -> None:
        """`output` is its key; `address.city` leads inside."""
        self.output = output

    def apply(self, resps: Iterable[Any], docs: Sequence[Mapping[str, Any]]) -> list[ExtractedPart]:
        """The output's text of each answer, with the whole answer."""
        return [ExtractedPart.of(_answer_of(each), self.output) for each in resps]


def _answer_of(results: Any) -> Any:
    """A document's answer; the first one where it was asked for several times."""
    while isinstance(results, (list, tuple)):
        results = results[0] if results else ""
    return results
