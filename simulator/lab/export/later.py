"""`--grade later`: a run holds its conversations, and a batch grades them afterwards."""

from typing import Any

from simulator.lab.export.settings import ExportSettings
from simulator.runner.context import RunContext
from simulator.runner.run import Runner
from simulator.storage.run_file import RunFile


class HeldRunner(Runner):
    """A Runner that asks no judge."""

    def _grade_later(self, *_args: Any, **_more: Any) -> None:
        """Leaves every turn to `grade`."""


def runner(file: RunFile, context: RunContext, *parts: Any) -> Runner:
    """What holds the conversations of a run: without its judges where these are asked later."""
    is_later = ExportSettings.of(context.settings).grade == "later"
    return (HeldRunner if is_later else Runner)(file, context, *parts)
