"""`--columns references=answer`: columns of a file that are taken for others than their names say."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

from pydantic import JsonValue

from simulator.core.errors import UnknownName
from simulator.files.columns import COLUMNS, field_of
from simulator.files.row import Row, Wrong
from simulator.files.tables import Fits

# How a source gives its rows, the headers that are needed and who is told of wrong rows being known.
Reading = Callable[[Fits, Wrong], Iterator[Row]]

# Of our own names the one whose cell is a single text: a line break in `references` begins another one.
_HEADERS = {"references": "reference"}


class Mapped:
    """Fields of a case with the columns that fill them; other columns for these fields are not used."""

    def __init__(self, columns: Mapping[str, str]) -> None:
        """`columns` is what was given; raises UnknownName for what is no column of a case."""
        self.columns: dict[str, str] = {}
        for ours, theirs in columns.items():
            field = field_of(ours)
            if field is None:
                raise UnknownName("case column in --columns", ours, COLUMNS)
            self.columns[field] = theirs

    def renamed(self, values: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
        """The values of a row under our names."""
        named = frozenset(self.columns.values())
        kept = {key: value for key, value in values.items() if key not in named and not self._is_ousted(key)}
        given = {field: values[theirs] for field, theirs in self.columns.items() if theirs in values}
        return kept | {_HEADERS.get(field, field): value for field, value in given.items()}

    def _is_ousted(self, header: str) -> bool:
        return field_of(header) in self.columns

    def rows(self, path: Path, read: Reading, fits: Fits, wrong: Wrong) -> Iterator[Row]:
        """The rows that `read` gives, under our names; raises UnknownName for a column that is in none."""
        named = frozenset(self.columns.values())

        def fitting(headers: Iterable[str]) -> bool:
            return fits(list(self.renamed(dict.fromkeys(headers))))

        # Also where only some of the columns are there: to say which one is not.
        self._check(path, read(lambda headers: fitting(headers) or bool(named & {*headers}), lambda _: None))
        return (row._replace(values=self.renamed(row.values)) for row in read(fitting, wrong))

    def _check(self, path: Path, rows: Iterable[Row]) -> None:
        missing, seen = dict.fromkeys(self.columns.values()), dict[str, None]()
        for row in rows:
            seen |= dict.fromkeys(row.values)
            missing = {name: None for name in missing if name not in seen}
            if not missing:
                return
        if seen:
            raise UnknownName(f"column of {path} in --columns", next(iter(missing)), seen)
