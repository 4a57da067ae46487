"""The room of data sets with labels, choices or outputs: classes, thresholds, a contest's scoring."""

from collections.abc import Callable

from simulator.core.document import Section
from simulator.core.settings import Settings
from simulator.core.types import Results
from simulator.lab.datasets import command
from simulator.lab.datasets.choice import choice
from simulator.lab.datasets.contest import contest_result, contest_settings, printed_result, ungraded_metrics
from simulator.lab.datasets.label import label
from simulator.lab.datasets.likelihood import LikelihoodChooser
from simulator.lab.datasets.outputs import OutputJudges
from simulator.lab.datasets.sections import choices_section, classes_section, contest_section, outputs_section
from simulator.plugins import Plugin, Printed, SectionBuilder, Subcommands
from simulator.results.figures import Summary


def printed(results: Results) -> Printed | None:
    """The result of a contest; None for any other run."""
    if results.run.settings.get("scoring") != "contest":
        return None
    result = contest_result(results)
    return Printed(printed_result(result), tuple(ungraded_metrics(result)))


def of_results(build: Callable[[Results], Section | None]) -> SectionBuilder:
    """A section that takes its figures from the results themselves."""

    def section(results: Results, _summary: Summary, _settings: Settings, /) -> Section | None:
        return build(results)

    return section


PLUGIN = Plugin(
    name="datasets",
    commands={"thresholds": Subcommands(about=command.ABOUT, commands=command.COMMANDS)},
    judges={"choice": choice, "label": label},
    sections=tuple(map(of_results, (contest_section, outputs_section, classes_section, choices_section))),
    settled=contest_settings,
    outputs=OutputJudges.of,
    chooser=LikelihoodChooser,
    printed=printed,
)
