"""The rows of a data set, read one after the other; what is wrong with one leaves out that row only."""

import contextlib
import random
from array import array
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from simulator.cases import case_of, numbered
from simulator.core.errors import CaseFileError
from simulator.core.settings import Sample
from simulator.core.types import Case, Language
from simulator.datasets.checks import Need, lacking, outside, told_lacking
from simulator.datasets.choosing import Profile
from simulator.datasets.skipped import Skipped
from simulator.datasets.spool import Rows, Spool
from simulator.files.columns import has_question
from simulator.files.quoting import shown
from simulator.files.row import Row, RowFault, fault
from simulator.files.rows import read_rows

# The id of a row that has none of its own, until it is known how many there are; no file can hold it.
_UNNAMED = "\0"


class Wish(NamedTuple):
    """How the rows are to be read.

    `asks` is False where a prompt makes the question of a row. `labels` are all labels there are; without
    any, every label is right. `mask` is given each case and its number before the case is kept.
    `columns` are those of `--columns`; `lacks` says what a row has not got that its prompt needs.
    """

    language: Language | None = None
    strict: bool = False
    asks: bool = True
    labels: Collection[str] = ()
    mask: Callable[[Case, int], Case] = lambda case, _: case
    columns: Mapping[str, str] | None = None
    lacks: Callable[[Case], str | None] = lambda _: None


class DataSet:
    """The good rows of a file, what is wrong with the others, and what the good ones have."""

    def __init__(self, path: Path, wish: Wish) -> None:
        """No row yet: `read_dataset` and `dataset_of` fill it."""
        self.path, self.wish = path, wish
        self.profile, self.skipped = Profile(), Skipped()
        self._spool = Spool()
        self._lines, self._numbers, self._good = array("q"), array("q"), array("q")
        self._places: dict[str, int] = {}
        self._headers: dict[str, None] = {}
        self._sheet: str | None = None
        self._first: RowFault | None = None

    def wrong(self, found: RowFault) -> None:
        """A row that is left out. Raises CaseFileError when the first one is to stop everything."""
        self._first = self._first or found
        if self.wish.strict:
            raise CaseFileError(str(found)) from None
        self.skipped.add(found)

    def take(self, row: Row, case: Case) -> None:
        """A row as a case; raises RowFault where it cannot be one of this data set."""
        if said := outside(case, self.wish.labels):
            raise fault(self.path, row, said)
        if said := self.wish.lacks(case):
            raise fault(self.path, row, said)
        own = case.id != _UNNAMED
        if own and case.id in self._places:
            first = row._replace(line=self._places[case.id]).place
            what = f"the id {shown(case.id)} is already on {first}; give every row its own."
            raise fault(self.path, row, what)
        if own:
            self._places[case.id] = row.line
        self._sheet = row.sheet
        if not row.values.keys() <= self._headers.keys():
            self._headers |= dict.fromkeys(row.values)
        self.profile.add(case)
        self._good.append(len(self._spool))
        self._lines.append(row.line)
        self._numbers.append(0 if own else self.skipped.rows)
        self._spool.add(self.wish.mask(case, self.skipped.rows))

    def check(self, needs: Sequence[Collection[Need]], judges: Sequence[str]) -> None:
        """Leaves out the rows that not one of these judges can grade; `needs` are those of each."""
        every = {"references": self.profile.references, "label": self.profile.labels}
        complete = {need for need, count in every.items() if count == self.profile.rows}
        if any(complete >= set(each) for each in needs):
            return

        def problem(case: Case) -> str | None:
            need = lacking(case, needs)
            return None if need is None else told_lacking(need, judges, self._headers)

        self.leave_out(problem)

    def leave_out(self, problem: Callable[[Case], str | None]) -> None:
        """Leaves out the rows that something is wrong with: `problem` says what it is."""
        asked, self._good = self._good, array("q")
        for place in asked:
            if (said := problem(self._spool[place])) is None:
                self._good.append(place)
            else:
                self.wrong(self._fault(place, said))
        self._check_some()

    def rows(
        self, language: str | None = None, sample: Sample | None = None, limit: int | None = None
    ) -> Rows:
        """The good rows in a language (None and "all": any), of these so many by lot, of these the first."""
        there = self._in(language)
        if not there:
            msg = f"none of the {len(self._good)} rows is in '{language}': leave out --language."
            raise CaseFileError(msg)
        if sample is not None and sample.size < len(there):
            drawn = random.Random(sample.seed).sample(range(len(there)), sample.size)  # noqa: S311 - a lot
            there = [there[at] for at in drawn]
        return Rows(self._spool, there[:limit], self._name)

    def _in(self, language: str | None) -> Sequence[int]:
        if language in (None, "all"):
            return self._good
        return [place for place in self._good if self._spool[place].language == language]

    def spoken(self, language: str | None = None) -> int:
        """How many good rows there are in a language (None and "all": any)."""
        return len(self._in(language))

    def done(self) -> None:
        """All rows have been taken: raises CaseFileError where not one is left."""
        self._check_numbers()
        self._check_some()
        self._places.clear()

    def _name(self, place: int) -> str | None:
        """The id of a row that has none of its own."""
        return numbered(self._numbers[place], self.skipped.rows) if self._numbers[place] else None

    def _check_numbers(self) -> None:
        """A row without an id has its number, which another row may have for its id."""
        for place in list(self._good) if self._places else ():
            name = self._name(place)
            if name in self._places:
                first = Row(self._places[name], {}, sheet=self._sheet).place
                what = f"it has no id, and its number, {name}, is the id on {first}; give it one."
                self._good.remove(place)
                self.wrong(self._fault(place, what))

    def _check_some(self) -> None:
        if self._good:
            return
        if self._first is None:
            msg = f"{self.path}: no rows in it; write one per line below the column names."
            raise CaseFileError(msg)
        more = f" None of the {self.skipped.rows} rows can be used." if self.skipped.rows > 1 else ""
        raise CaseFileError(f"{self._first}{more}")

    def _fault(self, place: int, what: str) -> RowFault:
        return fault(self.path, Row(self._lines[place], {}, sheet=self._sheet), what)


def read_dataset(path: Path, wish: Wish) -> DataSet:
    """The data set of a CSV, TSV, JSONL, JSON, YAML or Excel file (also `.gz`).

    Raises CaseFileError for a file without one good row, and where it cannot be read any further.
    """
    found = DataSet(path, wish)

    def unreadable(wrong: RowFault) -> None:
        found.skipped.rows += 1
        found.wrong(wrong)

    for row in read_rows(path, has_question if wish.asks else _named, unreadable, wish.columns):
        found.skipped.rows += 1
        try:
            case = case_of(path, row, _UNNAMED, wish.language, with_values=True, asks=wish.asks)
            found.take(row, case)
        except RowFault as wrong:
            found.wrong(wrong)
    found.done()
    return found


def has_rows_in(
    path: Path, language: Language, *, asks: bool = True, columns: Mapping[str, str] | None = None
) -> bool:
    """Whether some row of a file is in a language; it is read no further than to the first one.

    Where nothing can be read, who reads it to ask its rows says why.
    """
    found = False
    with contextlib.suppress(CaseFileError):
        for case in good_cases(path, Wish(language, asks=asks, columns=columns)):
            found = True
            if case.language == language:
                return True
    return not found


def good_cases(path: Path, wish: Wish) -> Iterator[Case]:
    """The cases of the rows of a file that make one, as they are read; of the others nothing is said."""
    for row in read_rows(path, has_question if wish.asks else _named, lambda _: None, wish.columns):
        with contextlib.suppress(RowFault):
            yield case_of(path, row, _UNNAMED, wish.language, asks=wish.asks)


def dataset_of(name: str, cases: Iterable[Case], wish: Wish) -> DataSet:
    """The data set of cases that were read already: from a sheet, or from a workbook of ours."""
    found = DataSet(Path(name), wish)
    for number, case in enumerate(cases, 1):
        found.skipped.rows += 1
        try:
            found.take(Row(number, {}, sheet=""), case)
        except RowFault as wrong:
            found.wrong(wrong)
    found.done()
    return found


def _named(headers: Iterable[str]) -> bool:
    """Whether these can be the columns that a prompt makes a question of."""
    names = [header for header in headers if header]
    return has_question(names) or len(names) > 1
