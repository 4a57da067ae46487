"""lm_eval's results as a section of every report."""

from collections.abc import Iterator
from typing import Any

from simulator.core.document import Cell, Section, Table, Text, figures_section
from simulator.core.messages import _, ngettext
from simulator.core.settings import Settings
from simulator.core.types import Results
from simulator.lab.harness.tasks import metric_name
from simulator.report.tables import figure_cell
from simulator.results.figures import Summary
from simulator.storage.run_file import HARNESS_NOTE


def section(results: Results, _summary: Summary, _settings: Settings) -> Section | None:
    """Tasks and groups with their metrics; None for a run without results of lm_eval."""
    note: Any = results.notes.get(HARNESS_NOTE)
    if not isinstance(note, dict) or not isinstance(note.get("results"), list):
        return None
    results_of_tasks: list[Any] = note["results"]
    # Documents of a group are those of its tasks, and would be counted twice.
    tasks = [result for result in results_of_tasks if not result["group"]]
    line = ngettext(
        "Measured by lm_eval {version}: {n} task, {documents} documents.",
        "Measured by lm_eval {version}: {n} tasks, {documents} documents.",
        n=len(tasks),
        version=str(note.get("lm_eval")),
        documents=sum(task.get("n") or 0 for task in tasks),
    )
    columns = (_("task · metric"), _("Mean ± standard error"), _("documents"), _("shots"))
    rows = (row for result in results_of_tasks for row in _rows(result))
    remark = _(
        "Standard errors are computed by lm_eval. Documents that could not be graded are not in the means."
    )
    return figures_section(
        key=HARNESS_NOTE,
        title="lm-evaluation-harness",
        line=line,
        tables=(Table.of("tasks", columns, rows),),
        notes=(remark,),
        figures={key: note[key] for key in ("lm_eval", "tasks", "results") if key in note},
    )


def _rows(task: Any) -> Iterator[tuple[Text | Cell | int | None, ...]]:
    name: Text = _("{name} (group)", name=task["name"]) if task["group"] else task["name"]
    for metric in task["metrics"]:
        measured = _("{name} · {metric}", name=name, metric=metric_name(metric["metric"], metric["filter"]))
        yield measured, figure_cell(metric["value"], metric["stderr"]), task["n"], task["shots"]
