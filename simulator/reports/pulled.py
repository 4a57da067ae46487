"""What people wrote into worksheets, as it is read back from a Google Sheet or an Excel workbook."""

from collections.abc import Mapping

from pydantic import Field

from simulator.core.types import Value


class PulledRow(Value):
    """A row by its key ("" for one that people added); `number` counts from 1 as people see it.

    Cells are by column key: texts as shown, without blanks around them; what was picked, by its id; days in
    ISO 8601.
    """

    key: str
    number: int
    cells: Mapping[str, str] = Field(default_factory=dict)


class Pulled(Value):
    """The rows of each worksheet that is there, and lines about what was passed over."""

    rows: Mapping[str, tuple[PulledRow, ...]]
    notes: tuple[str, ...] = ()
