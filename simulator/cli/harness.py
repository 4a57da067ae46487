"""`harness`: lm-evaluation-harness asks the bot, and what it measures becomes a run like any other."""

import contextlib
import re
import sys
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from simulator.addons.lm_eval.task_files import TaskRequest, bot_settings, write_tasks
from simulator.addons.lm_eval.tasks import begin_session, check_installed, evaluation, sources_of
from simulator.cli.destinations import check_destinations
from simulator.cli.options import OWN_SETTINGS, PANELS, argument, option, takes
from simulator.cli.preflight import check_folder, run_settings
from simulator.cli.progress import progress_on_stderr
from simulator.cli.publish import publish
from simulator.cli.terminal import DONE, say, stdout_to_stderr
from simulator.core.errors import InputError
from simulator.core.messages import _
from simulator.core.roles import check_players, endpoints
from simulator.core.secrets import restore_secrets
from simulator.core.settings import NOT_STORED, Settings, load_settings, stored_settings
from simulator.grading.rubric import Rubric, load_judge
from simulator.runner.bot_choice import is_bundled, unknown_bot_error
from simulator.storage.run_file import find_run, read_run
from simulator.storage.runs import HARNESS_NOTE

# Settings that neither lm_eval nor a task file has.
_WITHOUT = frozenset({
    "cases", "repeats", "replay", "check", "sequential", "knowledge", "shard", "engine", "scheduler",
    "workers", "dry_run",
    *(OWN_SETTINGS["dialogue"] - {"turns", "user_model", "user_temperature"}),
})  # fmt: skip
_OPTIONS = tuple(name for names in PANELS.values() for name in names if name not in _WITHOUT)


@takes(*_OPTIONS)
def command(  # noqa: PLR0917 - one parameter for each option
    flags: dict[str, Any],
    cases: list[str] | None = argument("CASES", "Data sets to evaluate as tasks of lm_eval."),
    tasks: list[str] | None = option(
        "--tasks NAME,...", "Tasks of lm_eval, or your own FILE.yaml; repeatable."
    ),
    include: list[str] | None = option(
        "--include FOLDER", "A folder of task files, which --tasks can then name."
    ),
    write_task: str | None = option(
        "--write-task FILE.yaml", "Write the task and the files it needs; ask nothing."
    ),
    filters: list[str] | None = option(
        "--filter NAME=REGEX", "Grade only what this finds in the answer; repeatable."
    ),
) -> int:
    """Evaluate the bot with lm-evaluation-harness: its tasks or yours, as a run with reports.

    python run.py harness --tasks gsm8k --limit 50 --adapter openai_chat --set model=...

    python run.py harness --write-task faq.yaml faq.csv --judges exact_match,rouge_l
    """
    settings = load_settings(flags)
    of_rows = run_settings(settings, "single_turn")
    patterns, data = _patterns(filters or ()), tuple(cases or ())
    check_destinations(settings)
    if write_task:
        return _write(Path(write_task), data, of_rows, patterns)
    check_installed()
    if settings.resume:
        return _resume(settings)
    names = tuple(name.strip() for listed in tasks or () for name in listed.split(",") if name.strip())
    folders = tuple(include or ())
    asked = (*names, *data)
    if "adapter" not in settings.model_fields_set and asked and not all(map(is_bundled, asked)):
        raise unknown_bot_error(", ".join(asked))  # else they would go to the demo bot
    request = TaskRequest.of(of_rows, patterns, tasks=names, include=folders, cases=data)
    return _evaluate(settings, request)


def _evaluate(settings: Settings, request: TaskRequest, resumed: Path | None = None) -> int:
    check_folder(Path(settings.runs))
    named = settings.judges if "judges" in settings.model_fields_set else ()
    if any(isinstance(load_judge(name), Rubric) for name in named):
        check_players(settings, endpoints(settings), ["judge"])
    say(_("lm_eval evaluates {title}; bot: {adapter}.", title=request.title, adapter=settings.adapter))
    with tempfile.TemporaryDirectory(prefix="rehearsal-") as folder, stdout_to_stderr():
        task_files = _task_files(request, settings, Path(folder))
        sources = sources_of([*request.tasks, *map(str, task_files)], request.include)
        evaluate = evaluation(online=sources.online).evaluate
        path, stopped = evaluate(bot_settings(settings), request, sources, progress_on_stderr, resumed)
    return publish(path, _as_stored(path, settings), stopped, "harness --resume {run}")


def _task_files(request: TaskRequest, settings: Settings, folder: Path) -> tuple[Path, ...]:
    """Writes the task files of the data sets; returns the one that names all of them."""
    if not request.cases:
        return ()
    file = Path(request.cases[0].partition("#")[0])
    name = "rows" if len(request.cases) > 1 else file.name.partition(".")[0]
    task_settings = request.task_settings(settings)
    with contextlib.closing(begin_session(bot_settings(settings))):
        return write_tasks(folder / f"{name}.yaml", request.cases, task_settings, request.filters)[-1:]


def _write(target: Path, cases: Sequence[str], settings: Settings, filters: dict[str, str]) -> int:
    """Writes the task files of --write-task, and prints their names."""
    if not cases:
        msg = _(
            "--write-task {target}: a data set is missing: harness --write-task {target} questions.jsonl",
            target=target,
        )
        raise InputError(msg)
    with contextlib.closing(begin_session(bot_settings(settings))):
        paths = write_tasks(target, cases, settings, filters)
    sys.stdout.write("".join(f"{path}\n" for path in paths))
    return DONE


def _resume(settings: Settings) -> int:
    """Continues a run with the options it was started with; reports and secrets are today's."""
    path = find_run(str(settings.resume), Path(settings.runs))
    results = read_run(path)
    note = results.notes.get(HARNESS_NOTE)
    if not isinstance(note, dict):
        msg = _("{run} is not a run of lm_eval: python run.py --resume {run}", run=results.run.id)
        raise InputError(msg)
    stored = _as_stored(path, settings)
    if results.run.status == "finished":
        return publish(path, stored)
    adapter_settings = restore_secrets(stored_settings(results.run.settings).set, settings.set)
    request = TaskRequest.model_validate({key: note[key] for key in TaskRequest.model_fields if key in note})
    return _evaluate(stored.model_copy(update={"set": adapter_settings}), request, path)


def _as_stored(path: Path, settings: Settings) -> Settings:
    """The settings of a run, with today's reports and budget."""
    today = {name: getattr(settings, name) for name in NOT_STORED}
    budget = {"budget": settings.budget} if settings.budget else {}
    return stored_settings(read_run(path).run.settings, **today, **budget)


def _patterns(filters: Iterable[str]) -> dict[str, str]:
    """The regular expressions of `--filter NAME=REGEX` by name; raises InputError for an invalid one."""
    patterns: dict[str, str] = {}
    for given in filters:
        name, equals, pattern = given.partition("=")
        try:
            re.compile(pattern)
        except re.error as error:
            msg = _("--filter {option}: invalid regular expression ({error}).", option=given, error=error)
            raise InputError(msg) from None
        if not (name.strip() and equals and pattern):
            msg = _("--filter {option}: write NAME=REGEX, as in number=([0-9.]+).", option=given)
            raise InputError(msg)
        patterns[name.strip()] = pattern
    return patterns
