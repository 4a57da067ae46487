"""The words of the worksheets, and cells made of what people must be able to read."""

import tomllib
from functools import lru_cache
from pathlib import Path
from string import Template

from simulator.core.translations import instead, plain
from simulator.core.types import Language
from simulator.reports.worksheet import Choice, Column, Mark, SheetCell

FILE = Path(__file__).with_name("worksheets.toml")


class SheetWords:
    """The words of one language: `words("column", "question")`."""

    def __init__(self, language: Language, *, rows: bool = False) -> None:
        self.language, self.rows = language, rows

    def __call__(self, table: str, key: str, /, **values: object) -> str:
        """The text of a key, with its variables filled; an unknown key is a bug and raises."""
        shown = {name: f"{v:,}" if isinstance(v, int) else str(v) for name, v in values.items()}
        own = instead(table, self.language).get(key) if self.rows else None
        return Template(own or _tables()[table][key][self.language]).substitute(shown)

    def choices(self, table: str) -> tuple[Choice, ...]:
        """A dropdown: every id of the table with its title."""
        return tuple(Choice(id=key, title=texts[self.language]) for key, texts in _tables()[table].items())

    def column(self, key: str, **settings: object) -> Column:
        """A column of the program's, titled."""
        return Column.model_validate({"key": key, "title": self("column", key), **settings})

    def team(self, key: str, choices: str = "", **settings: object) -> Column:
        """A column of the team's, with a dropdown where `choices` names a table."""
        listed = self.choices(choices) if choices else ()
        kind = {"kind": "choice", "choices": listed} if choices else {}
        return self.column(key, owner="team", **kind, **settings)


def title_ids(table: str) -> dict[str, str]:
    """What people may have picked from a dropdown, in either language, and what it means."""
    return {title: key for key, texts in _tables()[table].items() for title in (key, *texts.values())}


def text_cell(text: str, mark: Mark = "", note: str = "") -> SheetCell:
    """Text of others, without control codes."""
    return SheetCell(text=plain(text), mark=mark, note=plain(note))


@lru_cache(maxsize=1)
def _tables() -> dict[str, dict[str, dict[str, str]]]:
    return tomllib.loads(FILE.read_text(encoding="utf-8"))
