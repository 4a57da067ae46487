"""lm_eval's own evaluation of our bot, and what it measured as a run of ours."""

import importlib
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from simulator.core.errors import InputError, RehearsalError
from simulator.core.settings import Settings
from simulator.core.shelves import ROOT, told
from simulator.core.types import Conversation, Status
from simulator.harness import library
from simulator.harness.asked import Asked
from simulator.harness.asking import Asking
from simulator.harness.book import RunBook
from simulator.harness.scores import names_of, number, scores_of
from simulator.harness.session import begin
from simulator.harness.sources import Sources, check_known, sources_of
from simulator.runner.context import RunContext
from simulator.runner.run import Progress
from simulator.storage.run_file import read_run

# Draws for those metrics whose error lm_eval does not have in closed form.
BOOTSTRAP = 1000


# Who is told how the conversations go on, with the stage they are held on.
Watching = Callable[[Sequence[Conversation], RunContext], AbstractContextManager[Progress]]


def evaluate(
    settings: Settings,
    asked: Asked,
    written: Sequence[Path],
    watching: Watching,
    resumed: Path | None = None,
) -> tuple[Path, str | None]:
    """Has lm_eval evaluate the bot; gives the run file, and why it stopped early if it did.

    `written` are the task files of data sets, and `resumed` is a run to go on with. Raises InputError for
    tasks that cannot be loaded; nothing is written then.
    """
    sources = sources_of([*asked.tasks, *map(str, written)], asked.include)
    library.check_installed()
    library.prepare(online=sources.online)
    evaluator = library.evaluator()
    session = begin(settings, read_run(resumed) if resumed else None)
    try:
        manager, loaded = _loaded(sources)
        session.tasks = loaded["tasks"]
        judges = tuple(names_of(session.tasks))
        stored = settings.model_copy(update={"protocol": "single_turn", "judges": judges or settings.judges})
        book = RunBook(session, stored, asked.model_dump(mode="json"))
        if resumed:
            book.go_on(resumed)
        asking = Asking(session, book, lambda plan: watching(plan, session.stage))
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
        if _is_ours(error):
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


def _is_ours(error: BaseException) -> bool:
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


def _evaluated(evaluator: Any, manager: Any, asking: Asking, asked: Asked, loaded: Mapping[str, Any]) -> Any:
    model = importlib.import_module("simulator.harness.model").RehearsalLM(asking)
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
