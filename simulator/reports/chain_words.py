"""A chain in words: one table of its links and of the whole, for every view that a matrix has."""

from collections.abc import Iterator
from functools import cache
from pathlib import Path

from simulator.core.templates import Texts, read_toml
from simulator.core.translations import plain
from simulator.core.types import PASSED, Language
from simulator.matrix.figures import CellFigures, Compared, DataFigures, JudgeFigures
from simulator.matrix.plan import Cell as Place
from simulator.report.tables import Cell, Table, count
from simulator.reports.matrix_words import NOTHING, Told, figure, mean_text
from simulator.runner.chains import WHOLE

TEXTS = Texts(Path(__file__).with_name("chain.toml"))


class ToldChain(Told):
    """The runs of a chain in one language: they stand in one table, and none is held against another."""

    def __init__(self, found: Compared, language: Language | None = None) -> None:
        """`found` has each of them as a data set of its own."""
        super().__init__(found, language)
        self._deciding = {data.name: _deciding(data) for data in found.data}
        self.found = _one_table(found, self.title)

    def say(self, key: str, /, **values: object) -> str:
        """A text of chain.toml, else of matrix.toml."""
        if key not in _keys():
            return super().say(key, **values)
        shown = {name: f"{v:,}" if isinstance(v, int) else str(v) for name, v in values.items()}
        return TEXTS(self.language, key, **shown)

    def name(self, cell: CellFigures) -> str:
        """A link's name; the whole is called so."""
        return self.say("whole") if cell.cell.prompt == WHOLE else super().name(cell)

    def line(self, data: DataFigures) -> str:
        """What the whole comes to, and which link is lowest by itself."""
        graded = [cell for cell in data.cells if self._mean(cell) is not None]
        whole = next((cell for cell in graded if cell.cell.prompt == WHOLE), None)
        links = [cell for cell in graded if cell is not whole]
        lowest = min(links, key=lambda cell: self._mean(cell) or 0.0, default=None)
        told = {"whole": self._told(whole), "link": self._told(lowest)}
        if lowest and len(links) > 1:
            return self.say("line_both" if whole else "line_links", **told)
        return self.say("line_one", **told) if links or whole else self.say("line_none")

    def table(self, data: DataFigures) -> Table:
        """A row for each link and one for the whole: its rows, how many passed, and what its judges gave."""
        columns = {
            "cell": [Cell(text=self.name(cell)) for cell in data.cells],
            "rows": [count(cell.rows) for cell in data.cells],
            "passed": [self.judged(cell, PASSED) for cell in data.cells],
            "judges": [self._judges(cell, data) for cell in data.cells],
            **dict(self._more(data)),
        }
        shown = {key: cells for key, cells in columns.items() if _says_something(cells) and key != "against"}
        titles = tuple(self.say(key) for key in shown)
        return Table(name="chain", title="", columns=titles, rows=tuple(zip(*shown.values(), strict=True)))

    def unfinished(self) -> Iterator[str]:
        """What became of the runs that are not finished, a line each."""
        for each in self.found.open:
            why = {"why": plain(each.error)} if each.state == "failed" else {}
            yield self.say(f"open_{each.state}", cell=self.name(each), **why)

    def notes(self) -> Iterator[str]:
        """How to read the table; nothing in it is compared with anything."""
        paired = self.say("note_paired")
        yield from (note for note in super().notes() if note != paired)

    def _judges(self, cell: CellFigures, data: DataFigures) -> Cell:
        """Each judge of a run with its mean."""
        if cell.error:
            return Cell(text=self.say("failed", why=plain(cell.error)))
        means = {name: cell.judges[name] for name in data.judges if name in cell.judges and name != PASSED}
        shown = [self.say("mean", judge=self.judge(name), mean=mean_text(j)) for name, j in means.items()]
        return Cell(text=self.say("comma").join(shown) or NOTHING)

    def _told(self, cell: CellFigures | None) -> str:
        if cell is None:
            return ""
        judge = self.judge(self._deciding[cell.cell.prompt])
        return self.say("mean_of", name=self.name(cell), judge=judge, mean=figure(self._mean(cell)))

    def _mean(self, cell: CellFigures) -> float | None:
        found: JudgeFigures | None = cell.judges.get(self._deciding[cell.cell.prompt])
        return found.mean if found else None


@cache
def _keys() -> frozenset[str]:
    return frozenset(read_toml(TEXTS.path)["ja"])


def _deciding(data: DataFigures) -> str:
    """By what a run is read: the share that passed its thresholds, else the judge that decides."""
    return PASSED if PASSED in data.judges else data.primary


def _one_table(found: Compared, title: str) -> Compared:
    """All runs as the cells of one data set, in the order of the chain."""
    judges = tuple(dict.fromkeys(judge for data in found.data for judge in data.judges))
    cells = tuple(
        cell.model_copy(
            update={
                "cell": Place(data=title, prompt=data.name),
                "against": None,
                "judges": {n: j.model_copy(update={"against": None}) for n, j in cell.judges.items()},
            }
        )
        for data in found.data
        for cell in data.cells
    )
    primary = PASSED if PASSED in judges else next((data.primary for data in found.data), "")
    return found.model_copy(
        update={"data": (DataFigures(name=title, judges=judges, primary=primary, cells=cells),)}
    )


def _says_something(cells: list[Cell]) -> bool:
    return any(cell.text not in (NOTHING, "") for cell in cells)
