"""The room of data sets with labels, choices or outputs: classes, thresholds, a contest's scoring."""

from simulator.core.choosing import Choosing
from simulator.core.errors import InputError
from simulator.core.messages import _
from simulator.core.settings import Settings
from simulator.core.types import Results
from simulator.lab.datasets import command
from simulator.lab.datasets.choice import choice
from simulator.lab.datasets.contest import contest_result, contest_settings, printed_result, ungraded_metrics
from simulator.lab.datasets.label import label
from simulator.lab.datasets.likelihood import LikelihoodChooser
from simulator.lab.datasets.outputs import OutputJudges
from simulator.lab.datasets.rows import CHOICE_ROWS
from simulator.lab.datasets.sections import choices_section, classes_section, contest_section, outputs_section
from simulator.lab.datasets.settings import DatasetSettings
from simulator.plugins import Plugin, Printed, Subcommands


def printed(results: Results) -> Printed | None:
    """The result of a contest; None for any other run."""
    if results.run.settings.get("scoring") != "contest":
        return None
    result = contest_result(results)
    return Printed(printed_result(result), tuple(ungraded_metrics(result)))


def choosing(settings: Settings) -> Choosing | None:
    """How choices are weighed; None where the model writes its answers."""
    how = DatasetSettings.of(settings).choosing
    refusal = _(
        "--choosing likelihood needs a --prompt, and an adapter that returns log-likelihoods (openai_chat)."
    )
    return (
        None if how == "generation" else Choosing(LikelihoodChooser, refusal if how == "likelihood" else None)
    )


def check(settings: Settings) -> None:
    """Raises InputError for choosing without a prompt."""
    choice = choosing(settings)
    if choice and choice.refusal and not settings.prompt:
        raise InputError(choice.refusal)


PLUGIN = Plugin(
    name="datasets",
    commands={"thresholds": Subcommands(about=command.ABOUT, commands=command.COMMANDS)},
    judges={"choice": choice, "label": label},
    sections=(contest_section, outputs_section, classes_section, choices_section),
    settled=contest_settings,
    check=check,
    outputs=OutputJudges.of,
    choosing=choosing,
    choice_rows=CHOICE_ROWS,
    printed=printed,
)
