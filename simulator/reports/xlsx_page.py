"""A worksheet of xlsxwriter's that holds no more of its rows and notes than it must.

Its own keeps the rows' heights twice, and every note until the end: more than the workbook is large.
"""

import json
from collections.abc import Iterator
from tempfile import SpooledTemporaryFile
from typing import Any

from xlsxwriter.comments import CommentType
from xlsxwriter.worksheet import Worksheet

# Of notes; those of a small run never reach the disk.
_BYTES_IN_MEMORY = 256_000
# Shapes that share a number in the file.
_BLOCK = 1024


class Page(Worksheet):  # type: ignore[misc]  # which publishes no types
    """A worksheet that is written from the top down, its notes in the order of their cells."""

    def __init__(self) -> None:
        """Empty."""
        super().__init__()
        self._heights: dict[float, list[Any]] = {}
        self._notes: Notes | None = None

    def set_row_pixels(
        self, row: int, height: float | None = None, cell_format: Any = None, options: Any = None
    ) -> int:
        """The height of a row; what is known of those that are written already is let go."""
        failed: int = super().set_row_pixels(row, height, cell_format, options)
        if not failed and height is not None:
            for written in [each for each in self.row_info if each < self.previous_row]:
                del self.row_info[written]
            # Where the notes' boxes stand rests on all heights; few of them differ.
            self.row_sizes[row] = self._heights.setdefault(height, self.row_sizes[row])
        return failed

    def write_comment(self, row: int, column: int, text: str, options: dict[str, Any]) -> int:
        """Keeps a note for the end; `options` are xlsxwriter's own."""
        if self._check_dimensions(row, column):
            return -1
        if self._notes is None:
            self._notes = Notes(self, self.tmpdir)
            self.has_vml = self.has_comments = True
        self._notes.add(row, column, text, options)
        return 0

    def let_go(self) -> None:
        """Closes what holds the notes."""
        if self._notes:
            self._notes.close()

    def _prepare_vml_objects(self, number: int, *others: int) -> int:
        """What xlsxwriter asks for at the end: how many notes there are, and what they are called."""
        super()._prepare_vml_objects(number, *others)
        if self._notes is None:
            return 0
        self.comments_list = self._notes
        count = len(self._notes)
        self.vml_data_id = ",".join(str(number + block) for block in range(count // _BLOCK + 1))
        return count


class Notes:
    """The notes of a page, beside the workbook on the disk; each is made anew for who goes through them."""

    def __init__(self, page: Page, folder: str | None) -> None:
        """None yet; their file is in this folder."""
        self._page, self._count = page, 0
        self._file = SpooledTemporaryFile(  # noqa: SIM115 - it is read when the workbook is closed
            _BYTES_IN_MEMORY, "w+", encoding="utf-8", newline="\n", dir=folder
        )

    def add(self, row: int, column: int, text: str, options: dict[str, Any]) -> None:
        """One more, below or to the right of those before it."""
        self._file.write(json.dumps([row, column, text, options], ensure_ascii=False) + "\n")
        self._count += 1

    def __len__(self) -> int:
        """How many there are."""
        return self._count

    def __iter__(self) -> Iterator[CommentType]:
        """As xlsxwriter wants them, each in its place on the page."""
        self._file.seek(0)
        for line in self._file:
            note = CommentType(*json.loads(line))
            note.author = self._page.comments_author
            note.vertices = self._page._comment_vertices(note)
            yield note

    def close(self) -> None:
        """Lets the file go."""
        self._file.close()
