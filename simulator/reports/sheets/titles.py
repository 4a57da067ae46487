"""What columns of a worksheet are called, in either language: all that is left of a copy."""

from collections.abc import Sequence

from simulator.reports.layouts import folded, layouts
from simulator.reports.worksheet import Column


class Titles:
    """The columns of a worksheet by their titles; `columns` are those that are pushed.

    `most` is how many of them a worksheet has to have to be taken for a copy.
    """

    def __init__(self, name: str, columns: Sequence[Column] = ()) -> None:
        self._layout = layouts().get(name)
        self._own = {folded(column.title): column.key for column in columns}
        known = set(self._own.values()) or set(self._layout.columns.values() if self._layout else ())
        self.most = max(3, len(known) * 2 // 3)

    def __call__(self, title: str) -> str | None:
        """The key of the column of that title."""
        key = folded(title)
        return self._own.get(key) or (self._layout.column(key) if self._layout and key else None)
