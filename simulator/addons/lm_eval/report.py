"""lm_eval's results as a section of every report."""

from collections.abc import Iterator
from typing import Any

from simulator.addons.lm_eval.tasks import HARNESS_NOTE, TEXT, metric_name
from simulator.core.document import Cell, Section, Table, count_cell, figures_section
from simulator.core.translations import safe_text
from simulator.core.types import Language, Results


def section(results: Results, language: Language) -> Section | None:
    """Tasks and groups with their metrics; None for a run without results of lm_eval."""
    note: Any = results.notes.get(HARNESS_NOTE)
    if not isinstance(note, dict) or not isinstance(note.get("results"), list):
        return None
    results_of_tasks: list[Any] = note["results"]
    tasks = [each for each in results_of_tasks if not each["group"]]
    counts = {
        "version": str(note.get("lm_eval")),
        "tasks": str(len(tasks)),
        "n": f"{sum(each.get('n') or 0 for each in tasks):,}",
    }
    return figures_section(
        key=HARNESS_NOTE,
        title=TEXT(language, "title"),
        line=TEXT(language, "line", **counts),
        tables=(_table(results_of_tasks, language),),
        notes=(TEXT(language, "note"),),
        figures={key: note[key] for key in ("lm_eval", "tasks", "results") if key in note},
    )


def _table(results: list[Any], language: Language) -> Table:
    return Table(
        name="tasks",
        title="",
        columns=tuple(TEXT(language, key) for key in ("task", "value", "n", "shots")),
        rows=tuple(row for each in results for row in _rows(each, language)),
    )


def _rows(each: Any, language: Language) -> Iterator[tuple[Cell, ...]]:
    name = TEXT(language, "group", name=each["name"]) if each["group"] else each["name"]
    for metric in each["metrics"]:
        error = "" if metric["stderr"] is None else f" ± {metric['stderr']:.4f}"
        value = Cell(text=f"{metric['value']:.4f}{error}", number=round(metric["value"], 4))
        measured = safe_text(f"{name} · {metric_name(metric['metric'], metric['filter'])}")
        yield Cell(text=measured), value, _count(each["n"]), _count(each["shots"])


def _count(value: Any) -> Cell:
    return count_cell(value) if isinstance(value, int) else Cell(text="–")
