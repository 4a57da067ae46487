"""A matrix in words: titles, the table of each data set and what it says, shared by every view."""

from collections.abc import Iterator
from pathlib import Path

from simulator.core.templates import Texts
from simulator.core.translations import Words, plain
from simulator.core.types import PASSED, Language
from simulator.matrix.figures import CellFigures, Compared, DataFigures, JudgeFigures, is_best
from simulator.report.comparison import signed
from simulator.report.tables import Cell, Section, Table, count
from simulator.stats.comparison import FEWEST_CASES

TEXTS = Texts(Path(__file__).with_name("matrix.toml"))
NOTHING = "–"


class Told:
    """A matrix in one language."""

    def __init__(self, found: Compared, language: Language | None = None) -> None:
        self.found, self.language = found, language or found.language
        self.words = Words(self.language)

    def say(self, key: str, /, **values: object) -> str:
        """A text of matrix.toml."""
        shown = {name: f"{v:,}" if isinstance(v, int) else str(v) for name, v in values.items()}
        return TEXTS(self.language, key, **shown)

    @property
    def title(self) -> str:
        """What the whole is called."""
        return plain(self.found.title) or self.say("title")

    def headline(self) -> str:
        """How much of it is done."""
        cells = self.found.cells
        return self.say("headline", cells=len(cells), finished=len(cells) - len(self.found.open))

    def total(self) -> str:
        """Money and time of all runs."""
        seconds = sum(cell.seconds for cell in self.found.cells)
        return self.say("total", cost=self.dollars(self.found.cost_usd), seconds=f"{seconds:,.1f}")

    def unfinished(self) -> Iterator[str]:
        """What became of the cells that are not finished, a line each."""
        for each in self.found.open:
            why = {"why": plain(each.error)} if each.state == "failed" else {}
            name = " × ".join(filter(None, (each.cell.data, each.cell.prompt, each.cell.model)))
            yield self.say(f"open_{each.state}", cell=plain(name), **why)

    def judge(self, name: str) -> str:
        """A judge as people call it."""
        return self.say("passed") if name == PASSED else self.words.name("judge", name)

    def name(self, cell: CellFigures) -> str:
        """A cell within its data set: prompt and model, or the data set where neither varies."""
        parts = [part for part in (cell.cell.prompt, cell.cell.model) if part]
        return plain(" × ".join(parts) or cell.cell.data)

    def sections(self) -> tuple[Section, ...]:
        """One for each data set."""
        return tuple(self.section(data, at) for at, data in enumerate(self.found.data, 1))

    def section(self, data: DataFigures, at: int) -> Section:
        """A data set: what it says in one line, and its table."""
        return Section(
            key=f"data-{at}",
            title=plain(data.name),
            line=self.line(data),
            tables=(self.table(data),),
        )

    def line(self, data: DataFigures) -> str:
        """Which cell is best by what decides, or that nobody can tell."""
        leading = next((cell for cell in data.cells if _leads(cell)), None)
        if leading is None or leading.against is None:
            return self.say("line_none")
        against, mean = leading.against, deciding(leading, data)
        named = self.say("f1") if data.by_f1 else self.judge(data.primary)
        told = {"cell": self.name(leading), "judge": named, "mean": figure(mean)}
        if against.verdict == "highest":
            told["open"] = str(against.open)
        if against.verdict == "not_enough":
            told["least"] = str(FEWEST_CASES)
        return self.say(f"line_{against.verdict}", **told)

    def table(self, data: DataFigures) -> Table:
        """The cells of a data set by judges; columns in which nothing stands are left out."""
        titles = [self.say("cell"), *map(self.judge, data.judges)]
        columns = [
            [Cell(text=self.name(cell)) for cell in data.cells],
            *([self.judged(cell, name) for cell in data.cells] for name in data.judges),
        ]
        for key, cells in self._more(data):
            if any(cell.text not in (NOTHING, "") for cell in cells):
                titles.append(self.say(key))
                columns.append(cells)
        rows = tuple(zip(*columns, strict=True))
        return Table(name="matrix", title="", columns=tuple(titles), rows=rows)

    def _more(self, data: DataFigures) -> Iterator[tuple[str, list[Cell]]]:
        cells = data.cells
        if data.by_f1:
            yield "f1", [_labels(cell, "f1", best=data.best) for cell in cells]
            yield "accuracy", [_labels(cell, "accuracy") for cell in cells]
        yield "not_extracted", [_some(cell.not_extracted) for cell in cells]
        yield "silent", [_some(cell.silent) for cell in cells]
        yield "answers_cost", [self._money(cell.answers_usd, told=cell.tokens_in > 0) for cell in cells]
        yield "cost", [self._money(cell.graded_usd, told=bool(cell.run)) for cell in cells]
        yield "seconds", [_seconds(cell.answer_seconds) for cell in cells]
        yield "gate", [Cell(text=self.gate(cell)) for cell in cells]
        yield "against", [Cell(text=self.verdict(cell)) for cell in cells]

    def judged(self, cell: CellFigures, name: str) -> Cell:
        """A mean with its error, how many rows it rests on, and a star where it is best beyond chance."""
        judge = cell.judges.get(name)
        if judge is None or judge.mean is None:
            return Cell(text=NOTHING)
        star = "★ " if is_best(cell, name) else ""
        rests = self.say("of", n=judge.n, planned=judge.planned)
        return Cell(text=f"{star}{mean_text(judge)}", number=judge.mean, note=rests)

    def verdict(self, cell: CellFigures) -> str:
        """How the cell stands to the highest one by what decides, or that it is not finished."""
        if cell.state == "failed":
            return self.say("failed")
        if cell.state != "finished":
            graded = max((judge.n for judge in cell.judges.values()), default=0)
            return self.say(cell.state, **({"n": graded} if cell.state == "begun" else {}))
        against = cell.against
        if against is None or against.verdict == "alone":
            return NOTHING
        if against.verdict in {"worse", "no_difference"}:
            return self.say(against.verdict, by=signed(against.difference))
        return self.say(against.verdict, **({"open": against.open} if against.verdict == "highest" else {}))

    def gate(self, cell: CellFigures) -> str:
        """The gate's verdict of a cell's own run; empty without a target."""
        if cell.passed is None:
            return ""
        key = "incomplete" if cell.incomplete else "passed" if cell.passed else "missed"
        return self.say(f"gate_{key}")

    def notes(self) -> Iterator[str]:
        """How to read the tables."""
        cells = self.found.cells
        yield self.say("note_scale")
        paired = [data for data in self.found.data if sum(c.state == "finished" for c in data.cells) > 1]
        if not all(data.by_f1 for data in paired):
            yield self.say("note_paired")
        held = {
            "note_f1": any(data.by_f1 for data in self.found.data),
            "note_not_extracted": any(cell.not_extracted for cell in cells),
            "note_silent": any(cell.silent for cell in cells),
            "note_offline": any(cell.offline for cell in cells),
        }
        yield from (self.say(key) for key, holds in held.items() if holds)

    def dollars(self, amount: float | None) -> str:
        """Dollars with the digits that small amounts need."""
        if amount is None:
            return self.say("unknown")
        return (
            f"{amount:,.2f}"
            if amount == 0 or amount >= 1
            else f"{amount:.4f}"
            if amount >= 0.01
            else f"{amount:.6f}"
        )

    def _money(self, amount: float | None, *, told: bool) -> Cell:
        """What was paid; nothing where nothing was, and unknown where only the price is."""
        free = amount == 0 or (amount is None and not told)
        return Cell(text=NOTHING) if free else Cell(text=self.dollars(amount), number=amount)


def figure(value: float | None) -> str:
    """A mean (0..1) out of 100, with one decimal."""
    return NOTHING if value is None else f"{100 * value:.1f}"


def mean_text(judge: JudgeFigures) -> str:
    """`82.5 ± 3.1`; without an error where one row has none."""
    return figure(judge.mean) if judge.stderr is None else f"{figure(judge.mean)} ± {figure(judge.stderr)}"


def deciding(cell: CellFigures, data: DataFigures) -> float | None:
    """The figure (0..1) by which the cells of a data set are held against each other."""
    if data.by_f1:
        return cell.labels.f1 if cell.labels else None
    found = cell.judges.get(data.primary)
    return found.mean if found else None


def _leads(cell: CellFigures) -> bool:
    """Whether this is the cell against which the others are held."""
    return cell.against is not None and cell.against.to in {"", cell.cell.key}


def _labels(cell: CellFigures, key: str, best: str = "") -> Cell:
    """With two decimals: models of labels often lie close together."""
    if cell.labels is None:
        return Cell(text=NOTHING)
    value, stderr = getattr(cell.labels, key), getattr(cell.labels, f"{key}_stderr")
    shown = " ± ".join(f"{100 * each:.2f}" for each in (value, stderr) if each is not None)
    return Cell(text=f"★ {shown}" if best == cell.cell.key else shown, number=value)


def _some(n: int) -> Cell:
    return count(n) if n else Cell(text=NOTHING)


def _seconds(value: float | None) -> Cell:
    if value is None:
        return Cell(text=NOTHING)
    return Cell(text=f"{value:.2f}" if value < 10 else f"{value:.1f}", number=value)
