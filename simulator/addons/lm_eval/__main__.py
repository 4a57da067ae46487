"""lm_eval's own command line, which here knows `--model rehearsal` and the filters of our tasks.

python -m simulator.addons.lm_eval run --model rehearsal --model_args adapter=demo --tasks faq
"""

import functools
import importlib
import sys
from typing import Any

from simulator.addons.lm_eval.tasks import check_installed, evaluation, sources_of
from simulator.core.errors import InputError, RehearsalError
from simulator.core.messages import _, say


def main() -> int:
    """lm_eval's exit code; errors that are ours to explain are one line and code 2, or 3."""
    try:
        check_installed()
        evaluation(online=True)
        if not _needs_own_tasks(importlib.import_module("lm_eval._cli").HarnessCLI().parse_args()):
            tasks = importlib.import_module("lm_eval.tasks")
            vars(tasks)["TaskManager"] = functools.partial(tasks.TaskManager, include_defaults=False)
        importlib.import_module("lm_eval.__main__").cli_evaluate()
    except RehearsalError as error:
        say(_("error: {message}", message=error))
        return 2 if isinstance(error, InputError) else 3
    return 0


def _needs_own_tasks(given: Any) -> bool:
    """Whether lm_eval has to read its own 14,000 tasks first, which takes seconds."""
    tasks, include = getattr(given, "tasks", None) or (), getattr(given, "include_path", None) or ()
    listed = [tasks] if isinstance(tasks, str) else [str(each) for each in tasks]
    names = [name for each in listed for name in each.split(",")]
    folders = [str(each) for each in ([include] if isinstance(include, str) else include)]
    try:
        return not names or sources_of(names, folders).own
    except InputError:
        return True


if __name__ == "__main__":
    sys.exit(main())
