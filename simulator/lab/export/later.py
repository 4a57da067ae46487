"""`--grade later`: a run holds its conversations, and a batch grades them afterwards."""

from typing import Any

from simulator.core.messages import _, localised, ngettext, sentences
from simulator.core.types import Results
from simulator.lab.export.settings import ExportSettings
from simulator.plugins import Printed
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


def printed(results: Results) -> Printed | None:
    """What a run says that was held and not graded; None for any other."""
    if results.run.settings.get("grade") != "later" or results.scores.judges:
        return None
    held = ngettext(
        "{n} conversation was held.", "{n} conversations were held.", n=len(results.conversations)
    )
    on = _("Grade them at half the price: python run.py grade {run} --batch", run=results.run.id)
    return Printed(localised(sentences(held, on)), is_ungraded=True)
