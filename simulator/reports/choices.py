"""Multiple choice for reports: accuracy by subject, and which letters were chosen."""

from collections.abc import Iterator
from pathlib import Path

from simulator.core.templates import Texts
from simulator.core.translations import plain
from simulator.core.types import Language, Results
from simulator.reports.section import Section
from simulator.reports.table import Cell, Table, count
from simulator.stats.choices import Accuracy, Choices, choices
from simulator.text.choices import LETTERS

TEXT = Texts(Path(__file__).with_suffix(".toml"))


def section(results: Results, language: Language) -> Section | None:
    """What came of the multiple-choice questions; None in a run without any."""
    found = choices(results)
    if found is None:
        return None
    return Section(
        key="choices",
        title=TEXT(language, "title"),
        line=_line(found, language),
        tables=(_subjects(found, language), _letters(found, language)),
        notes=tuple(_notes(found, language)),
        figures=found.as_json(),
    )


def accuracy_text(accuracy: Accuracy) -> str:
    """`0.8213 ± 0.0042`, and without its error where one question has none."""
    if accuracy.value is None:
        return "–"
    error = accuracy.stderr
    return f"{accuracy.value:.4f}" if error is None else f"{accuracy.value:.4f} ± {error:.4f}"


def _line(found: Choices, language: Language) -> str:
    baselines = {"chance": f"{found.chance:.3f}", "longest": f"{found.longest:.3f}"}
    told = {"accuracy": accuracy_text(found.accuracy), "n": f"{found.accuracy.n:,}"}
    return TEXT(language, "line", **told, **baselines)


def _subjects(found: Choices, language: Language) -> Table:
    rows = [_row(name or TEXT(language, "no_subject"), each) for name, each in found.subjects.items()]
    if len(rows) > 1:
        rows.append(_row(TEXT(language, "all"), found.accuracy))
    return Table(
        name="subjects",
        title=TEXT(language, "by_subject"),
        columns=tuple(TEXT(language, key) for key in ("subject", "accuracy", "right", "n", "not_extracted")),
        rows=tuple(rows),
    )


def _row(name: str, each: Accuracy) -> tuple[Cell, ...]:
    value = None if each.value is None else round(each.value, 4)
    figure = Cell(text=accuracy_text(each), number=value)
    return Cell(text=plain(name)), figure, count(each.right), count(each.n), count(each.not_extracted)


def _letters(found: Choices, language: Language) -> Table:
    shown = [letter for letter in LETTERS if letter in found.chosen or letter in found.right]
    rows = [
        _letter(letter, found.chosen.get(letter, 0), found.right.get(letter, 0), found) for letter in shown
    ]
    return Table(
        name="letters",
        title=TEXT(language, "by_letter"),
        columns=tuple(TEXT(language, key) for key in ("letter", "chosen", "would_be_right")),
        rows=tuple(rows),
    )


def _letter(letter: str, chosen: int, right: int, found: Choices) -> tuple[Cell, ...]:
    shares = (f"{100 * each / found.accuracy.n:.1f}%" for each in (chosen, right))
    return Cell(text=letter), *(
        Cell(text=f"{n:,}", number=n, note=share) for n, share in zip((chosen, right), shares, strict=True)
    )


def _notes(found: Choices, language: Language) -> Iterator[str]:
    yield TEXT(language, "note_stderr")
    if found.accuracy.not_extracted:
        share = f"{100 * found.accuracy.not_extracted / found.accuracy.n:.1f}"
        yield TEXT(language, "note_not_extracted", n=f"{found.accuracy.not_extracted:,}", share=share)
    if found.failed:
        yield TEXT(language, "note_failed", n=f"{found.failed:,}")
