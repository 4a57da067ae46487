"""`harness`: lm-evaluation-harness asks the bot, and what it measures becomes a run like any other."""

import contextlib
import re
import sys
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TextIO

import typer

from simulator.cli.options import OF_DIALOGUES, PANELS, takes
from simulator.core.errors import InputError
from simulator.core.secrets import restored
from simulator.core.settings import NOT_OF_THE_RUN, Settings, from_run, load

if TYPE_CHECKING:
    from simulator.addons.lm_eval.model import TaskRequest

Cases = Annotated[
    list[str] | None,
    typer.Argument(metavar="CASES", help="Data sets that become tasks of lm_eval.", show_default=False),
]
Tasks = Annotated[
    list[str] | None,
    typer.Option("--tasks", metavar="NAME,...", help="lm_eval's own tasks, or your FILE.yaml; repeatable."),
]
Include = Annotated[
    list[str] | None,
    typer.Option("--include", metavar="FOLDER", help="A folder of task files, to name them by their names."),
]
Write = Annotated[
    str | None,
    typer.Option(
        "--write-task", metavar="FILE.yaml", help="Write the task and what belongs to it; ask nothing."
    ),
]
Filters = Annotated[
    list[str] | None,
    typer.Option("--filter", metavar="NAME=REGEX", help="Grade what this finds in the answer; repeatable."),
]
# What neither lm_eval nor a written task has a place for.
_NOT_HERE = frozenset({
    "cases", "repeats", "replay", "check", "sequential", "knowledge", "shard", "engine", "scheduler",
    "workers", "dry_run", "ask_bot", *(OF_DIALOGUES - {"turns", "user_model", "user_temperature"}),
})  # fmt: skip
_TAKEN = tuple(name for names in PANELS.values() for name in names if name not in _NOT_HERE)


@takes(*_TAKEN)
def command(  # noqa: PLR0917 - one parameter for each option
    flags: dict[str, Any],
    cases: Cases = None,
    tasks: Tasks = None,
    include: Include = None,
    write_task: Write = None,
    filters: Filters = None,
) -> int:
    """Have lm-evaluation-harness evaluate the bot: its tasks or yours, as a run with reports.

    python run.py harness --tasks gsm8k --limit 50 --adapter openai_chat --set model=...

    python run.py harness --write-task faq.yaml faq.csv --judges exact_match,rouge_l
    """
    from simulator.addons.lm_eval.tasks import check_installed
    from simulator.cli.evaluate import of_rows
    from simulator.cli.sinks import check_sinks

    settings = load(flags)
    patterns, data = _patterns(filters or ()), tuple(cases or ())
    check_sinks(settings)
    if write_task:
        return _write(Path(write_task), data, of_rows(settings), patterns)
    check_installed()
    if settings.resume:
        return _resume(settings)
    from simulator.addons.lm_eval.model import TaskRequest

    named = tuple(name.strip() for given in tasks or () for name in given.split(",") if name.strip())
    folders = tuple(include or ())
    _check_bot(settings, (*named, *data))
    asked = TaskRequest.of(of_rows(settings), patterns, tasks=named, include=folders, cases=data)
    return _evaluate(settings, asked)


def _check_bot(settings: Settings, names: Sequence[str]) -> None:
    """Raises InputError where tasks or rows that are not ours would be asked of the demo bot unsaid."""
    from simulator.runner.whose_bot import is_bundled, which_bot

    if "adapter" not in settings.model_fields_set and names and not all(map(is_bundled, names)):
        raise which_bot(", ".join(names))


def _check_target(settings: Settings) -> None:
    """Raises InputError where models are named as judges, and stand-ins would decide about the target."""
    from simulator.core.roles import check_players, endpoints
    from simulator.grading.rubric import Rubric, load_judge

    named = settings.judges if "judges" in settings.model_fields_set else ()
    if any(isinstance(load_judge(name), Rubric) for name in named):
        check_players(settings, endpoints(settings), ["judge"])


def _evaluate(settings: Settings, asked: "TaskRequest", resumed: Path | None = None) -> int:
    from simulator.addons.lm_eval.grade import evaluate
    from simulator.addons.lm_eval.model import of_the_bot
    from simulator.cli.announce import check_folder
    from simulator.cli.progress import progress_on_stderr
    from simulator.cli.publish import publish
    from simulator.core.translations import plain

    check_folder(Path(settings.runs))
    _check_target(settings)
    sys.stderr.write(f"lm_eval evaluates {plain(asked.title)}; bot: {settings.adapter}.\n")
    with tempfile.TemporaryDirectory(prefix="rehearsal-") as folder, _aside():
        written = _written(asked, settings, Path(folder))
        path, stopped = evaluate(of_the_bot(settings), asked, written, progress_on_stderr, resumed)
    return publish(path, _as_stored(path, settings), stopped, "harness --resume {run}")


def _written(asked: "TaskRequest", settings: Settings, folder: Path) -> tuple[Path, ...]:
    """The task files of the data sets that were named."""
    from simulator.addons.lm_eval.model import of_the_bot
    from simulator.addons.lm_eval.report import write_tasks
    from simulator.addons.lm_eval.tasks import begin

    if not asked.cases:
        return ()
    name = "rows" if len(asked.cases) > 1 else Path(asked.cases[0].partition("#")[0]).name.partition(".")[0]
    session = begin(of_the_bot(settings))
    try:
        of_rows = asked.task_settings(settings)
        return write_tasks(folder / f"{name}.yaml", asked.cases, of_rows, asked.filters)[-1:]
    finally:
        session.close()


def _write(target: Path, cases: Sequence[str], settings: Settings, filters: dict[str, str]) -> int:
    """Leaves the task files where they were asked for, and says how lm_eval runs them."""
    from simulator.addons.lm_eval.model import of_the_bot
    from simulator.addons.lm_eval.report import write_tasks
    from simulator.addons.lm_eval.tasks import begin

    if not cases:
        msg = f"--write-task {target}: name a data set: harness --write-task {target} questions.jsonl"
        raise InputError(msg)
    session = begin(of_the_bot(settings))
    try:
        written = write_tasks(target, cases, settings, filters)
    finally:
        session.close()
    for path in written:
        sys.stdout.write(f"{path}\n")
    return 0


def _resume(settings: Settings) -> int:
    """Goes on with a run as it was begun; how to show it, and secrets, are today's."""
    from simulator.addons.lm_eval.model import TaskRequest
    from simulator.addons.lm_eval.tasks import NOTE
    from simulator.cli.publish import publish
    from simulator.storage.run_file import find_run, read_run

    path = find_run(str(settings.resume), Path(settings.runs))
    results = read_run(path)
    note = results.notes.get(NOTE)
    if not isinstance(note, dict):
        msg = f"{results.run.id} was not measured by lm_eval: python run.py --resume {results.run.id}"
        raise InputError(msg)
    stored = _as_stored(path, settings)
    if results.run.status == "finished":
        return publish(path, stored)
    given = restored(from_run(results.run.settings).set, settings.set)
    asked = TaskRequest.model_validate({key: note[key] for key in TaskRequest.model_fields if key in note})
    return _evaluate(stored.model_copy(update={"set": given}), asked, path)


def _as_stored(path: Path, settings: Settings) -> Settings:
    """The settings of a run, shown as was asked for today."""
    from simulator.storage.run_file import read_run

    now = {name: getattr(settings, name) for name in NOT_OF_THE_RUN}
    budget = {"budget": settings.budget} if settings.budget else {}
    return from_run(read_run(path).run.settings, **now, **budget)


def _patterns(given: Iterable[str]) -> dict[str, str]:
    """`--filter NAME=REGEX` by name, checked."""
    found: dict[str, str] = {}
    for each in given:
        name, equals, pattern = each.partition("=")
        try:
            re.compile(pattern)
        except re.error as error:
            msg = f"--filter {each}: not a regular expression ({error})."
            raise InputError(msg) from None
        if not (name.strip() and equals and pattern):
            msg = f"--filter {each}: write NAME=REGEX, as in number=([0-9.]+)."
            raise InputError(msg)
        found[name.strip()] = pattern
    return found


def _aside() -> contextlib.redirect_stdout[TextIO]:
    """What lm_eval and a bot print goes to stderr: stdout is for the summary, or for one JSON object."""
    return contextlib.redirect_stdout(sys.stderr)
