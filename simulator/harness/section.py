"""What lm_eval measured, as a part of every report of the run."""

from collections.abc import Iterator
from typing import Any

from simulator.core.translations import plain
from simulator.core.types import Language, Results
from simulator.harness.naming import NOTE, TEXT, metric_name
from simulator.report.tables import Cell, Section, Table, count


def section(results: Results, language: Language) -> Section | None:
    """Tasks and groups with their metrics; None in a run that lm_eval has not measured, or not yet."""
    note: Any = results.notes.get(NOTE)
    if not isinstance(note, dict) or not isinstance(note.get("results"), list):
        return None
    found: list[Any] = note["results"]
    tasks = [each for each in found if not each["group"]]
    told = {"version": str(note.get("lm_eval")), "tasks": str(len(tasks)), "n": f"{_documents(tasks):,}"}
    return Section(
        key=NOTE,
        title=TEXT(language, "title"),
        line=TEXT(language, "line", **told),
        tables=(_table(found, language),),
        notes=(TEXT(language, "note"),),
        figures={key: note[key] for key in ("lm_eval", "tasks", "results") if key in note},
    )


def _documents(tasks: list[Any]) -> int:
    return sum(each.get("n") or 0 for each in tasks)


def _table(found: list[Any], language: Language) -> Table:
    return Table(
        name="tasks",
        title="",
        columns=tuple(TEXT(language, key) for key in ("task", "value", "n", "shots")),
        rows=tuple(row for each in found for row in _rows(each, language)),
    )


def _rows(each: Any, language: Language) -> Iterator[tuple[Cell, ...]]:
    name = TEXT(language, "group", name=each["name"]) if each["group"] else each["name"]
    for metric in each["metrics"]:
        error = "" if metric["stderr"] is None else f" ± {metric['stderr']:.4f}"
        value = Cell(text=f"{metric['value']:.4f}{error}", number=round(metric["value"], 4))
        measured = plain(f"{name} · {metric_name(metric['metric'], metric['filter'])}")
        yield Cell(text=measured), value, _count(each["n"]), _count(each["shots"])


def _count(value: Any) -> Cell:
    return count(value) if isinstance(value, int) else Cell(text="–")
