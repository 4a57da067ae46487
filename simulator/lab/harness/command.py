"""`harness`: lm-evaluation-harness asks the bot, and what it measures becomes a run like any other."""

from pathlib import Path
from typing import Any

from simulator.api.destinations import check_destinations
from simulator.api.progress import stdout_to_stderr
from simulator.api.resume import as_started
from simulator.api.run import check_folder, progress_on_stderr, run_settings
from simulator.cli.options import option, takes
from simulator.cli.publish import publish
from simulator.cli.terminal import say
from simulator.core.errors import InputError
from simulator.core.messages import _
from simulator.core.settings import Settings, groups, load_settings, own_settings
from simulator.lab.harness.tasks import TaskRequest, check_installed, prepare_library, sources_of
from simulator.runner.bot_choice import is_bundled, unknown_bot_error
from simulator.storage.run_file import HARNESS_NOTE, find_run, read_run

# Settings that the tasks of lm_eval have themselves, or that it has no use for.
_WITHOUT = frozenset({
    "cases", "repeats", "replay", "check", "knowledge", "shard", "scheduler",
    "workers", "dry_run", "judges", "judging", "panel", "guidelines", "contacts", "ng_words",
    "rules", "columns", "worksheet",
    *own_settings("single_turn"),
    *(own_settings("dialogue") - {"turns", "user_model"}),
})  # fmt: skip
_OPTIONS = tuple(name for names in groups().values() for name in names if name not in _WITHOUT)


@takes(*_OPTIONS)
def command(
    flags: dict[str, Any],
    tasks: list[str] | None = option(
        "--tasks NAME,...", "Tasks of lm_eval, or your own FILE.yaml; repeatable."
    ),
    include: list[str] | None = option(
        "--include FOLDER", "A folder of task files, which --tasks can then name."
    ),
    shots: int | None = option(
        "--shots N", "Examples before each question, instead of the task's number.", lowest=0
    ),
) -> int:
    """Evaluate the bot with lm-evaluation-harness: its tasks or yours, as a run with reports.

    python run.py harness --tasks gsm8k --limit 50 --adapter openai_chat --set model=...
    """
    settings = run_settings(load_settings(flags), "single_turn")
    check_destinations(settings)
    check_installed()
    if settings.resume:
        return _resume(settings)
    names = [name.strip() for listed in tasks or () for name in listed.split(",") if name.strip()]
    if not names:
        raise InputError(_("harness needs tasks: --tasks NAME or FILE.yaml."))
    if "adapter" not in settings.model_fields_set and not all(map(is_bundled, names)):
        # Else they would go to the demo bot, and be taken for results of the user's.
        raise unknown_bot_error(", ".join(names))
    return _evaluate(settings, TaskRequest.of(names, include or (), settings.limit, shots))


def _evaluate(settings: Settings, request: TaskRequest, resumed: Path | None = None) -> int:
    """Has lm_eval ask the bot, and publishes the run; `resumed` is the file of one that was interrupted.

    lm_eval is imported here, and prints as it likes: stdout is kept for the summary.
    """
    check_folder(settings.runs)
    say(_("lm_eval evaluates {title}; bot: {adapter}.", title=request.title, adapter=settings.adapter))
    with stdout_to_stderr():
        sources = sources_of(request.tasks, request.include)
        prepare_library(own=sources.own)
        from simulator.lab.harness.grade import evaluate

        path, stopped = evaluate(settings, request, sources, progress_on_stderr, resumed)
    return publish(path, as_started(read_run(path).run, settings), stopped, "harness --resume {run}")


def _resume(settings: Settings) -> int:
    """Continues a run with the options it was started with; reports and secrets are today's."""
    path = find_run(str(settings.resume), settings.runs)
    results = read_run(path)
    note = results.notes.get(HARNESS_NOTE)
    if not isinstance(note, dict):
        raise InputError(_("{run} is not a run of lm_eval: python run.py --resume {run}", run=results.run.id))
    started = as_started(results.run, settings)
    if results.run.status == "finished":
        return publish(path, started)
    request = TaskRequest.model_validate({key: note[key] for key in TaskRequest.model_fields if key in note})
    return _evaluate(started, request, path)
