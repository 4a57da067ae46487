"""The run file of an evaluation by lm_eval: made when the first requests are there, and gone on with later.

Every answer is committed as it arrives, so that nothing is asked twice after an interruption. lm_eval's own
cache is not used for it: it knows neither a dialogue nor a failure, and outlives the bot it was made with.
"""

import asyncio
import functools
import importlib
import json
import math
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Self

from datasets import Dataset
from lm_eval.api.filter import Filter
from lm_eval.api.registry import register_filter

from simulator.addons.lm_eval import tasks
from simulator.addons.lm_eval.model import RequestAnswerer, TaskRequest
from simulator.addons.lm_eval.tasks import (
    NOTE,
    OF_A_TASK,
    PLAIN,
    SCRIPTED,
    TEXT,
    Session,
    Sources,
    begin,
    check_known,
    current,
    documents,
    metric_name,
    row_of,
    say,
    sources_of,
)
from simulator.core.errors import InputError, RehearsalError, RunFileError
from simulator.core.replies import encodable
from simulator.core.settings import Settings
from simulator.core.shelves import ROOT, told
from simulator.core.types import (
    MAIN,
    Answer,
    Case,
    Conversation,
    Ended,
    Failure,
    GradingContext,
    Score,
    Status,
    Turn,
    Utterance,
)
from simulator.grading.outputs import object_within, text_at
from simulator.grading.panel import Grading
from simulator.runner.context import RunContext
from simulator.runner.run import Progress, create_run, first_of
from simulator.storage.run_file import RunFile, read_run


class RunBook:
    """Writes one run."""

    def __init__(self, session: Session, settings: Settings, asked: dict[str, Any]) -> None:
        """`settings` are stored with the run; `asked` says what is needed to go on with it."""
        self.session, self.settings, self.asked = session, settings, asked
        self.file: RunFile | None = None
        self._pending: dict[str, tuple[int, Utterance]] = {}
        self._known: dict[str, Conversation] = {}
        self._started = time.monotonic()

    def go_on(self, path: Path) -> None:
        """With a run that was interrupted."""
        self.file = RunFile.reopen(path)
        self.file.reopened()
        self._pending = self.file.unanswered()
        self._known = {conversation.id: conversation for conversation in self.file.conversations()}
        self.session.ledger.record = self.file.called

    @property
    def path(self) -> Path | None:
        """The run file, as soon as there is one."""
        return self.file.path if self.file else None

    def begun(self, conversations: Sequence[Conversation]) -> list[Conversation]:
        """The conversations as far as they have come; raises RunFileError when the task has changed since."""
        new = [conversation for conversation in conversations if conversation.id not in self._known]
        if self.file is None:
            self._create(tuple(new))
        elif new:
            self.file.also_planned(new)
        self._known |= {conversation.id: conversation for conversation in new}
        for conversation in conversations:
            if self._known[conversation.id].case != conversation.case:
                msg = f"{conversation.case.id}: the task has changed since this run began. Start a new run."
                raise RunFileError(msg)
        return [self._known[conversation.id] for conversation in conversations]

    def _create(self, plan: tuple[Conversation, ...]) -> None:
        present = {conversation.persona for conversation in plan}
        personas = tuple(each for each in self.session.whole.personas.values() if each.id in present)
        self.file = create_run(self.settings, self.session.whole, plan, personas)
        self.file.noted(NOTE, json.dumps(self.asked, ensure_ascii=False))
        self.session.ledger.record = self.file.called

    @property
    def _open(self) -> RunFile:
        if self.file is None:
            msg = "no conversation has begun."
            raise RunFileError(msg)
        return self.file

    @property
    def name(self) -> str:
        """What conversations of this run are called where a bot keeps them apart."""
        return self._open.path.parent.name

    def pending(self, conversation: Conversation) -> Utterance | None:
        """A line that the bot had not answered yet."""
        turn, line = self._pending.get(conversation.id, (0, None))
        return line if turn == len(conversation.turns) + 1 else None

    def said(self, conversation: str, turn: int, utterance: Utterance) -> None:
        """The customer's line of a turn."""
        self._open.said(conversation, turn, utterance)

    def answered(self, conversation: str, turn: int, answer: Answer) -> None:
        """The bot's answer of a turn."""
        self._open.answered(conversation, turn, answer)

    def ended(self, conversation: str, ended: Ended, reason: str, closing: str) -> None:
        """Why a conversation stopped."""
        self._open.ended(conversation, ended, reason, closing)

    def graded(self, scores: Iterable[Score], measured: dict[str, Any]) -> None:
        """The grades of all documents, and what lm_eval made of them."""
        self._open.graded(scores)
        self._open.noted(NOTE, json.dumps({**self.asked, **measured}, ensure_ascii=False))

    def close(self, status: Status) -> None:
        """How this sitting ended; nothing when nothing had begun."""
        if self.file is not None:
            self.file.settle()
            self.file.finish(status, time.monotonic() - self._started)
            self.file.close()


Asked = tuple[Mapping[str, Any], str]


class ExtractedPart(str):
    """A part of an answer, which knows of which output it is and what the whole answer was."""

    output: str
    whole: str

    @classmethod
    def of(cls, whole: str, output: str) -> Self:
        """The output's text; empty where the answer has none."""
        made = cls(text_at(object_within(whole, (output,)) or {}, output) or "")
        made.whole, made.output = whole, output
        return made


class Grader:
    """The judges of one task. What it graded is kept, with reasons and all, until the process ends."""

    def __init__(self, task: str, settings: Settings) -> None:
        """`settings` are the task's own; models, money and limits are those of the session."""
        self.task, self.settings = task, settings
        self.scores: dict[tuple[str, str], list[Score]] = {}
        self._grading: tuple[Session, Grading] | None = None

    def grade(self, asked: Sequence[Asked]) -> None:
        """Grades what has not been graded yet, as many answers at a time as there may be calls."""
        waiting = {self._key(doc, text): (doc, text) for doc, text in asked}
        still = [each for key, each in waiting.items() if key not in self.scores]
        if still:
            current().run(self._grade(still))
            self._say_failures(still)

    def metrics(self, doc: Mapping[str, Any], text: str) -> dict[str, float]:
        """The grades of an answer (of its filter's output), or of part of it, by judge."""
        if self._key(doc, text) not in self.scores:
            self.grade([(doc, text)])
        values: dict[str, list[float]] = {}
        for score in self.scores[self._key(doc, text)]:
            if score.state == "scored" and score.value is not None and (name := self._name(score, text)):
                values.setdefault(name, []).append(score.value)
        return {name: sum(each) / len(each) for name, each in values.items()}

    def graded(self, doc: Mapping[str, Any], text: str) -> list[Score]:
        """The grades themselves; none where nobody has graded this answer."""
        return self.scores.get(self._key(doc, text), [])

    def names(self, filters: Sequence[str]) -> list[str]:
        """What the grades come to be called with these filters: outputs have one each."""
        outputs = self.grading.outputs
        named = outputs.file.named if outputs else {}
        whole = [name for name in filters if name not in named]
        found = [metric_name(each, name) for name in whole for each in self.grading.names]
        return found + [f"{name}.{metric.filed}" for name in filters for metric in named.get(name, ())]

    def _key(self, doc: Mapping[str, Any], text: str) -> tuple[str, str]:
        return str(doc["id"]), text.whole if isinstance(text, ExtractedPart) else str(text)

    @property
    def grading(self) -> Grading:
        """The judges, at the models of the session of this process."""
        session = current()
        if self._grading is None or self._grading[0] is not session:
            own = {name: getattr(self.settings, name) for name in OF_A_TASK}
            settings = session.settings.model_copy(update=own)
            self._grading = (session, Grading(settings, session.context.models_of))
        return self._grading[1]

    async def _grade(self, asked: Sequence[Asked]) -> None:
        waiting = iter(asked)

        async def one_after_the_other() -> None:
            for doc, text in waiting:
                self.scores[self._key(doc, text)] = await self._graded(doc, text)

        try:
            async with asyncio.TaskGroup() as tasks:
                for _ in range(self.grading.settings.calls):
                    tasks.create_task(one_after_the_other())
        except ExceptionGroup as group:
            raise first_of(group) from None

    async def _graded(self, doc: Mapping[str, Any], text: str) -> list[Score]:
        whole = text.whole if isinstance(text, ExtractedPart) else str(text)
        scores: list[Score] = []
        for context in contexts(doc, whole):
            scores += await self.grading.panel.grade(context)
        return scores

    def _name(self, score: Score, text: str) -> str:
        """What a grade is called in the filter of this text; "" where it belongs to another one."""
        output = str(score.detail.get("output", ""))
        if isinstance(text, ExtractedPart):
            return score.judge.removeprefix(f"{output}.") if output == text.output else ""
        return "" if output in self._filtered else score.judge

    @functools.cached_property
    def _filtered(self) -> frozenset[str]:
        """The outputs that have a filter of their own."""
        outputs = self.grading.outputs
        return frozenset(outputs.file.named) if outputs else frozenset()

    def _say_failures(self, asked: Sequence[Asked]) -> None:
        found = [score for doc, text in asked for score in self.graded(doc, text)]
        failed = sum(score.state == "failed" for score in found)
        if failed and failed == sum(score.state != "skipped" for score in found):
            why = next(score.reason for score in found if score.state == "failed")
            msg = f"{self.task}: no judge could grade anything: {why}"
            raise RehearsalError(msg)
        if failed:
            say(f"{self.task}: {failed:,} of {len(found):,} grades failed; they are in no mean.")


def contexts(doc: Mapping[str, Any], text: str) -> list[GradingContext]:
    """An answer before its judges: with its passages and earlier turns where the bot was asked here."""
    row = row_of(doc)
    conversation = current().of_rows.get(row) if row else None
    if conversation is None:
        conversation = _told(doc, text)
    last = conversation.turns[-1]
    cut = last.model_copy(update={"answer": last.answer.model_copy(update={"text": text})})
    turns = (*conversation.turns[:-1], cut)
    return [
        GradingContext(
            conversation=conversation.id,
            case=conversation.case,
            persona=conversation.persona,
            turn=turn,
            earlier=turns[:at],
        )
        for at, turn in enumerate(turns)
    ]


def _told(doc: Mapping[str, Any], text: str) -> Conversation:
    """What any other model of lm_eval said."""
    case = Case.model_validate_json(doc["case"])
    silent = None if text.strip() else Failure(kind="empty", message="empty answer")
    answer = Answer(text=text, shows_passages=False, error=silent)
    turns = (Turn(index=1, user=case.question, answer=answer),)
    return Conversation(id=f"{SCRIPTED}/{case.id}#1", case=case, persona=SCRIPTED, repeat=1, turns=turns)


_GRADERS: dict[str, Grader] = {}


def new_grader(task: str, settings: Settings) -> Grader:
    """The judges of a task from now on."""
    _GRADERS[task] = Grader(task, settings)
    return _GRADERS[task]


def grader_of(doc: Mapping[str, Any]) -> Grader:
    """The judges of the task that a document belongs to."""
    return _GRADERS[str(doc["task"])]


def names_of_task(task: str, filters: Sequence[str]) -> list[str] | None:
    """What the grades of a task of ours are called; None for a task of others."""
    grader = _GRADERS.get(task)
    return grader.names(filters) if grader else None


def graded_of(doc: Mapping[str, Any], text: str) -> list[Score]:
    """The grades of an answer to a row of ours; none where it was not our judges who graded."""
    grader = _GRADERS.get(str(doc["task"]))
    return grader.graded(doc, text) if grader else []


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
    for conversation in (
        conversation for conversations in session.conversations.values() for conversation in conversations
    ):
        reason = TEXT(conversation.case.language, "not_asked")
        for turn in conversation.turns:
            for judge in judges.keys() - filed.get((conversation.id, turn.index), set()):
                bare = Score(judge=judge, conversation=conversation.id, turn=turn.index, state="skipped")
                yield bare.model_copy(update={"reason": reason})


def _scores_of_task(session: Session, task: str, samples: Sequence[Sample]) -> Iterator[Score]:
    scales, better = _scales(samples), _higher_is_better(session, task)
    for sample in samples:
        conversations = session.conversations.get((task, int(sample["doc_id"])), ())
        if conversations and _is_ours(sample):
            yield from _given(sample, conversations[0])
        elif conversations:
            yield from _measured(sample, conversations[0], scales, better)


def _is_ours(sample: Sample) -> bool:
    return row_of(sample["doc"]) is not None and bool(graded_of(sample["doc"], _text(sample)))


def _text(sample: Sample) -> Any:
    first = sample["filtered_resps"][0]
    return first[0] if isinstance(first, (list, tuple)) and first else first


def _given(sample: Sample, conversation: Conversation) -> Iterator[Score]:
    """The judges' own grades; those of an output came with the whole answer already."""
    if isinstance(_text(sample), ExtractedPart):
        return
    for score in graded_of(sample["doc"], _text(sample)):
        name = metric_name(score.judge, str(sample["filter"]))
        yield score.model_copy(update={"judge": name, "conversation": conversation.id})


def _measured(
    sample: Sample,
    conversation: Conversation,
    scales: Mapping[str, tuple[float, float]],
    better: Mapping[str, bool],
) -> Iterator[Score]:
    last = conversation.turns[-1]
    language = conversation.case.language
    for metric in sample["metrics"]:
        name = metric_name(metric, str(sample["filter"]))
        bare = Score(judge=name, conversation=conversation.id, turn=last.index, state="skipped")
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


# Draws for those metrics whose error lm_eval does not have in closed form.
BOOTSTRAP = 1000


# Who is told how the conversations go on, with the stage they are held on.
Watching = Callable[[Sequence[Conversation], RunContext], AbstractContextManager[Progress]]


def evaluate(
    settings: Settings,
    asked: TaskRequest,
    written: Sequence[Path],
    watching: Watching,
    resumed: Path | None = None,
) -> tuple[Path, str | None]:
    """Has lm_eval evaluate the bot; gives the run file, and why it stopped early if it did.

    `written` are the task files of data sets, and `resumed` is a run to go on with. Raises InputError for
    tasks that cannot be loaded; nothing is written then.
    """
    sources = sources_of([*asked.tasks, *map(str, written)], asked.include)
    tasks.check_installed()
    tasks.prepare(online=sources.online)
    evaluator = tasks.evaluator()
    session = begin(settings, read_run(resumed) if resumed else None)
    try:
        manager, loaded = _loaded(sources)
        session.tasks = loaded["tasks"]
        judges = tuple(names_of(session.tasks))
        stored = settings.model_copy(update={"protocol": "single_turn", "judges": judges or settings.judges})
        book = RunBook(session, stored, asked.model_dump(mode="json"))
        if resumed:
            book.go_on(resumed)
        asking = RequestAnswerer(session, book, lambda plan: watching(plan, session.context))
        return _written(book, lambda: _evaluated(evaluator, manager, asking, asked, loaded))
    finally:
        session.close()


def _written(book: RunBook, evaluated: Callable[[], Any]) -> tuple[Path, str | None]:
    """The run, finished or broken off; what broke it off before it began is raised."""
    status: Status = "interrupted"
    try:
        found = evaluated()
        book.graded(scores_of(book.session, found["samples"]), measured(found))
        status = "finished"
    except KeyboardInterrupt:
        if book.path is None:
            raise
        return book.path, "interrupted"
    except RehearsalError as error:
        if isinstance(error, InputError) or book.path is None:
            raise
        status = "stopped"
        return book.path, str(error)
    except Exception as error:  # lm_eval and a task's own code raise what they like
        if _evaluation_is_ours(error):
            raise
        msg = f"lm_eval stopped: {_said(error)}"
        raise InputError(msg) from None
    finally:
        book.close(status)
    return _there(book), None


def _said(error: BaseException) -> str:
    """What was raised, and where in a task's own code; that we called the library says nothing."""
    said, here, _ = told(error).partition(f" ({ROOT / 'simulator'}")
    return f"{said}." if here else said


def _evaluation_is_ours(error: BaseException) -> bool:
    """Whether it was raised in this program, and is a bug."""
    frames = traceback.extract_tb(error.__traceback__)
    return bool(frames) and Path(frames[-1].filename).is_relative_to(ROOT / "simulator")


def _there(book: RunBook) -> Path:
    if book.path is None:
        msg = "these tasks asked nothing."
        raise InputError(msg)
    return book.path


def _loaded(sources: Sources) -> tuple[Any, Mapping[str, Any]]:
    """lm_eval's own task manager, and the tasks and groups; whatever is wrong with one is told in a line."""
    manager_of = importlib.import_module("lm_eval.tasks").TaskManager
    manager = manager_of(
        include_path=[str(each) for each in sources.include] or None, include_defaults=sources.own
    )
    names = check_known(sources.specs, manager.all_tasks, manager.match_tasks)
    try:
        return manager, manager.load(names)
    except RehearsalError:
        raise
    except Exception as error:  # lm_eval, the libraries below it and a task's own code raise what they like
        offline = "" if sources.online else " It was loaded offline."
        msg = f"--tasks {','.join(names)}: cannot be loaded: {_said(error)}{offline}"
        raise InputError(msg) from None


def _evaluated(
    evaluator: Any, manager: Any, asking: RequestAnswerer, asked: TaskRequest, loaded: Mapping[str, Any]
) -> Any:
    model = importlib.import_module("simulator.addons.lm_eval.model").RehearsalLM(asking)
    return evaluator.simple_evaluate(
        model=model,
        tasks=_roots(loaded),
        num_fewshot=asked.shots,
        limit=asked.limit,
        bootstrap_iters=BOOTSTRAP,
        log_samples=True,
        task_manager=manager,
        torch_random_seed=None,
    )


def _roots(loaded: Mapping[str, Any]) -> list[Any]:
    """The groups that are in no other, and the tasks that are in none."""
    groups = loaded.get("groups") or {}
    inside = {name for group in groups.values() for name in group.child_names}
    every = {**groups, **loaded["tasks"]}
    return [each for name, each in every.items() if name not in inside]


def measured(found: Mapping[str, Any]) -> dict[str, Any]:
    """What lm_eval made of all documents: per task and group its metrics with their errors."""
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
                "metrics": list(_metrics(told)),
            }
            for name, told in found["results"].items()
        ],
    }


def _metrics(told: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """`acc,none` and `acc_stderr,none` as one entry."""
    for key, value in told.items():
        metric, comma, filter_name = key.partition(",")
        if comma and not metric.endswith("_stderr") and (figure := number(value)) is not None:
            error = number(told.get(f"{metric}_stderr,{filter_name}"))
            yield {"metric": metric, "filter": filter_name, "value": figure, "stderr": error}


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
    return grader_of(doc).metrics(doc, _tasks_text(results))


@register_filter("rehearsal_judges")
class BatchedTask(Filter):  # type: ignore[misc]
    """Changes nothing: grades all answers of a task, many at a time."""

    def apply(self, resps: Iterable[Any], docs: Sequence[Mapping[str, Any]]) -> list[Any]:
        """The answers as they are."""
        found = list(resps)
        ours = [(doc, _tasks_text([each])) for doc, each in zip(docs, found, strict=True) if row_of(doc)]
        if ours:
            grader_of(ours[0][0]).grade(ours)
        return found


@register_filter("rehearsal_output")
class Output(Filter):  # type: ignore[misc]
    """One named output of a JSON answer; the text is empty where there is none."""

    def __init__(self, output: str) -> None:
        """`output` is its key; `address.city` leads inside."""
        self.output = output

    def apply(self, resps: Iterable[Any], docs: Sequence[Mapping[str, Any]]) -> list[ExtractedPart]:
        """The output's text of each answer, which remembers the whole one."""
        return [ExtractedPart.of(_tasks_text([each]), self.output) for each in resps]


def _tasks_text(results: Sequence[Any]) -> Any:
    """A document's answer; the first one where it was asked for several times."""
    first = results[0] if results else ""
    return _tasks_text(first) if isinstance(first, (list, tuple)) else first
