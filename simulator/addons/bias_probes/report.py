"""The result of bias probes for a terminal: a table for each kind of probe, and broken bounds in words."""

from collections.abc import Mapping, Sequence
from itertools import groupby
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from simulator.core.document import wrap
from simulator.core.templates import LANGUAGES, Texts
from simulator.core.translations import Words, safe_text
from simulator.core.types import Language
from simulator.report.context import Note
from simulator.report.judges import bias_text
from simulator.stats.bias import Bias, BiasRow, bias_table

WORDS = Texts(Path(__file__).with_name("report.toml"))
# Columns of the table of biases that are shown: of facts that were flipped also how many were caught.
_STAYS, _FALLS = (2, 3, 4, 5, 6, 7, 12), (2, 3, 6, 7, 8, 9, 10, 12)
_KIND, _JUDGE, _INTERVAL, _BOUND, _HELD = 1, 2, 7, 11, 12
_ALARM, _SOFT = "bold red", "dim"


class ProbeReport:
    """One set of probes on one console, in the language of the probes: both where there are both."""

    def __init__(self, bias: Bias, console: Console) -> None:
        """`bias` is what is reported, on `console`."""
        self.bias, self.console = bias, console
        self.languages = [each for each in LANGUAGES if any(row.language == each for row in bias.rows)]

    def paint(self, graders: Mapping[Language, str], notes: Mapping[Language, Sequence[Note]]) -> None:
        """Prints for each language who graded, the tables, broken bounds, and notes on the models."""
        for language in self.languages:
            self._line("")
            self._line(WORDS(language, "title"), "bold underline")
            self._line(WORDS(language, "of", n=f"{self.bias.probes:,}", all=f"{self.bias.contexts:,}"))
            self._line(graders[language])
            self._tables(language)
            self._line("")
            self._verdict(language)
            for note in notes[language]:
                self._line(f"{'!' if note.alarm else '-'} {note.text}", _ALARM if note.alarm else "")

    def _tables(self, language: Language) -> None:
        rows = [row for row in self.bias.rows if row.language == language]
        head, *texts = bias_table(self.bias.model_copy(update={"rows": tuple(rows)}), language)
        for _, group in groupby(zip(rows, texts, strict=True), key=lambda pair: pair[0].kind):
            self._kind(head, list(group))

    def _kind(self, head: Sequence[str], group: Sequence[tuple[BiasRow, Sequence[str]]]) -> None:
        columns = _FALLS if group[0][0].expects == "falls" else _STAYS
        bound = next((texts[_BOUND] for row, texts in group if row.bound is not None), "")
        grid = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False)
        for place in columns:
            left, title = place in (_JUDGE, _HELD), Text(self._fit(head[place]), _SOFT)
            whole = place in (_JUDGE, _INTERVAL, _HELD)
            grid.add_column(title, justify="left" if left else "right", overflow="fold", no_wrap=whole)
        for row, texts in group:
            style = _ALARM if row.held is False else ""
            grid.add_row(*(Text(self._fit(texts[place]), style) for place in columns))
        self._line("")
        self._line(f"{group[0][1][_KIND]}{f'  ({bound})' if bound else ''}", "bold")
        self.console.print(grid, highlight=False)

    def _verdict(self, language: Language) -> None:
        """The rows whose bound does not hold, in words (要注意)."""
        broken = [row for row in self.bias.broken if row.language == language and row.judge]
        if not broken:
            self._line(WORDS(language, "held"))
        words = Words(language)
        for row in broken:
            name = words.name("judge", row.judge.removesuffix(".correctness"))
            text = bias_text(row, words.name("category", "correctness"), language)
            self._line("! " + WORDS(language, "broken", judge=name, what=text), _ALARM)

    def _line(self, text: str, style: str = "") -> None:
        for line in wrap(self._fit(text), self.console.width):
            self.console.print(Text(line, style=style), highlight=False)

    def _fit(self, text: str) -> str:
        encoding = self.console.encoding
        return safe_text(text).encode(encoding, "replace").decode(encoding)
