"""Many rows in little memory: beyond some megabytes they wait in a temporary file that nobody else sees."""

import tempfile
import weakref
from array import array
from collections.abc import Callable, Sequence
from typing import overload

from simulator.core.errors import InputError
from simulator.core.types import Case, Conversation, compact

# What is held in memory before a file is made.
_HELD = 8_000_000


class Spool:
    """Cases in the order in which they were added; each is made anew when it is asked for."""

    def __init__(self) -> None:
        """Empty."""
        self._file = tempfile.SpooledTemporaryFile(max_size=_HELD)  # noqa: SIM115 - lives as long as the run
        weakref.finalize(self, self._file.close)
        self._starts = array("Q", [0])

    def __len__(self) -> int:
        """How many there are."""
        return len(self._starts) - 1

    def add(self, case: Case) -> None:
        """One more."""
        body = case.model_dump_json(exclude_defaults=True).encode()
        try:
            self._file.seek(self._starts[-1])
            self._file.write(body)
        except OSError as error:
            msg = (
                f"the rows cannot be kept beside each other ({error.strerror}); set TMPDIR to a larger disk."
            )
            raise InputError(msg) from None
        self._starts.append(self._starts[-1] + len(body))

    def __getitem__(self, at: int) -> Case:
        """The one that was added as number `at`, from 0."""
        self._file.seek(self._starts[at])
        return Case.model_validate_json(self._file.read(self._starts[at + 1] - self._starts[at]))


class Rows(Sequence[Case]):
    """Some of the cases of a spool, in an order of their own; none is held here."""

    def __init__(self, spool: Spool, order: Sequence[int], name: Callable[[int], str | None]) -> None:
        """`order` are their places in the spool; `name` gives the id of one that has none of its own."""
        self._spool, self._order, self._name = spool, order, name
        self._places: dict[str, int] = {}
        self._at = 0

    def __len__(self) -> int:
        """How many there are."""
        return len(self._order)

    @overload
    def __getitem__(self, at: int) -> Case: ...

    @overload
    def __getitem__(self, at: slice) -> "Rows": ...

    def __getitem__(self, at: int | slice) -> "Case | Rows":
        """One of them, or some."""
        if isinstance(at, slice):
            return Rows(self._spool, self._order[at], self._name)
        place = self._order[at]
        name = self._name(place)
        return self._spool[place] if name is None else compact(self._spool[place], id=name)

    def of_id(self, key: str) -> Case | None:
        """The one of this id, if there is one. Mostly they are asked for in their order."""
        for at in (self._at, self._at + 1):
            if at < len(self) and (case := self[at]).id == key:
                self._at = at
                return case
        if not self._places:
            self._places = {case.id: at for at, case in enumerate(self)}
        self._at = self._places.get(key, -1)
        return None if self._at < 0 else self[self._at]


class RowPlan(Sequence[Conversation]):
    """One conversation of one turn for each row and repeat; none is held here."""

    def __init__(self, rows: Rows, persona: str, repeats: int) -> None:
        """All repeats of a row stand together."""
        self.cases, self._persona, self._repeats = rows, persona, repeats

    def __len__(self) -> int:
        """How many there are."""
        return len(self.cases) * self._repeats

    @overload
    def __getitem__(self, at: int) -> Conversation: ...

    @overload
    def __getitem__(self, at: slice) -> list[Conversation]: ...

    def __getitem__(self, at: int | slice) -> Conversation | list[Conversation]:
        """One of them, or some."""
        if isinstance(at, slice):
            return [self[each] for each in range(*at.indices(len(self)))]
        row, repeat = divmod(range(len(self))[at], self._repeats)
        case = self.cases[row]
        key = f"{self._persona}/{case.id}#{repeat + 1}"
        return Conversation(id=key, case=case, persona=self._persona, repeat=repeat + 1)
