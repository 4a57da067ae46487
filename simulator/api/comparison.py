"""Whether a bot got better from one run to a later one: two runs side by side, without any call of a model.

It is worked out in `results/comparison.py` and worded in `report/comparison.py`.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from simulator.api.outputs import BESIDE
from simulator.core.document import Report
from simulator.core.errors import InputError, RehearsalError
from simulator.core.messages import Message, _, sentences
from simulator.core.settings import stored_settings
from simulator.core.types import RedRules
from simulator.report.comparison import comparison_report
from simulator.results.comparison import RunComparison, RunFigures
from simulator.results.disputes import read_results
from simulator.results.gate import gate_of
from simulator.results.history import last_comparable
from simulator.results.summary import figures_of
from simulator.storage.results import report_language
from simulator.storage.run_file import find_run, run_ids


@dataclass(frozen=True)
class Difference:
    """Two runs compared, and where the page about it belongs.

    `page` is the address that report and JSON name; empty where it is not written.
    """

    compared: RunComparison
    path: Path
    page: str

    @cached_property
    def report(self) -> Report:
        """The comparison as painters draw it."""
        later = self.compared.after
        gate = gate_of(*later, stored_settings(later.results.run.settings))
        return comparison_report(self.compared, report_language(later.results), self.page, gate=gate)

    def without_page(self) -> "Difference":
        """The same, where the page is not written."""
        return replace(self, page="")

    def as_json(self) -> dict[str, Any]:
        """The object of --json."""
        said = self.report.text(self.report.sections[0].line)
        return {**self.compared.as_json(), "said": said, "page": self.page or None}


def difference(before: str, after: str, runs: Path) -> Difference:
    """Compares two runs of the folder, by the later one's rules for red.

    Where `latest` is compared with itself, it is with the last run before it that can be compared.

    Raises InputError where both are the same, or have no question in common, and RehearsalError where that is
    because one was cut short.
    """
    other, path = (find_run(name, runs) for name in (before, after))
    is_same = other.resolve().parent == path.resolve().parent
    if is_same and after != "latest":
        same = _("Both are the same run, {one}.", one=path.resolve().parent.name)
        raise _no_other_run(path, runs, same)
    # The later run first: its rules for red hold for both.
    later = _figures(path)
    earlier = last_comparable(later, path) if is_same else _figures(other, later.summary.red.rules)
    if earlier is None:
        none = _(
            "No run before {run} has the same questions, customers, bot and rubric.", run=later.results.run.id
        )
        raise _no_other_run(path, runs, none)
    compared = RunComparison(earlier, later)
    if not (compared.pairs or compared.apart):
        names = dict(zip(("before", "after"), compared.ids, strict=True))
        apart = _("{before} and {after} have no question in common.", **names)
        if compared.cut_short:
            cut = " ".join(run.run for run in compared.cut_short)
            raise RehearsalError(sentences(apart, _("Not finished: {names}", names=cut)))
        raise InputError(apart)
    page = path.with_name(BESIDE)
    return Difference(compared, page, str(page))


def _no_other_run(path: Path, runs: Path, problem: Message) -> InputError:
    """That there is nothing to compare a run with, and which runs there are."""
    ids, name = run_ids(runs), path.resolve().parent.name
    older = ids[: ids.index(name)] if name in ids else []
    previous = _("The one before it: {run}.", run=older[-1]) if older else None
    return InputError(sentences(problem, _("All runs: python run.py history."), previous))


def _figures(path: Path, rules: RedRules | None = None) -> RunFigures:
    """A finished run with its figures, red by its own settings or by the rules of the other one.

    Both are held to the rules of the later run: no turn turns red because a limit was moved.
    """
    results = read_results(path)
    settings = stored_settings(results.run.settings, **({"red": rules} if rules else {}))
    return RunFigures(results, figures_of(results, settings))
