"""The words that people see in reports, in Japanese and English, and text made safe to show."""

import re
import tomllib
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING

from simulator.datasets.names import our_name
from simulator.prompts import one
from simulator.reports.row_words import instead
from simulator.types import Language

if TYPE_CHECKING:
    from simulator.analysis.figures import Summary

FILE = Path(__file__).with_name("words.toml")

# A whole terminal sequence goes, not only its escape: "\x1b[31m" must not leave "[31m" behind.
# Then controls (but line break and tab), and marks that reverse the direction of what follows.
_SEQUENCES = r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]|\x1b[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)?|\x1b[ -/]*[0-~]?"
_CONTROLS = r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]"
_UNSAFE = re.compile(f"{_SEQUENCES}|{_CONTROLS}")
_LONE = re.compile("[\ud800-\udfff]")


def plain(text: str) -> str:
    """The text without control codes; half a surrogate pair becomes the replacement character."""
    text = text.replace("\r\n", "\n")
    if _UNSAFE.search(text):
        text = _UNSAFE.sub("", text)
    return _LONE.sub("\ufffd", text)


class Words:
    """The words of one language: `words("score")`, `words("of", n="3", all="4")`.

    `names` holds titles from the run itself (personas); other ids are looked up in the file, and an
    id that nobody has named is shown as it is. `rows`: the report is on a single-turn data set.
    """

    def __init__(
        self, language: Language, names: Mapping[str, str] | None = None, *, rows: bool = False
    ) -> None:
        self.language, self.rows = language, rows
        self._texts = _texts(language, rows)
        self._names = names or {}

    def __call__(self, key: str, /, **values: object) -> str:
        """The text of a key, with its variables filled; an unknown key is a bug and raises."""
        shown = {name: f"{v:,}" if isinstance(v, int) else str(v) for name, v in values.items()}
        text = self._texts[key]
        return Template(one(text, shown) if self.language == "en" else text).substitute(shown)

    def name(self, group: str, name: str) -> str:
        """The title of an id in a group (persona, judge, ended, failure, rule, role, mark)."""
        bare, beside, model = name.partition("@")
        if beside and group == "judge":
            return f"{self.name(group, bare)} ({plain(model)})"
        output, dot, judge = name.rpartition(".")
        if dot and output and group == "judge":  # of one output of an answer
            return f"{plain(output)}: {self.name(group, judge)}"
        known = f"{group}.{our_name(name) if group == 'judge' else name}"
        return plain(self._names.get(known) or self._texts.get(known) or name)


def words_of(summary: "Summary", language: Language) -> Words:
    """The words of a language, with the run's own names of its personas."""
    names = {f"persona.{p.persona}": p.names.get(language, "") for p in summary.personas}
    return Words(language, names, rows=summary.rows)


@lru_cache(maxsize=4)
def _texts(language: Language, rows: bool) -> dict[str, str]:
    """All texts of a language; those of a table are filed under `table.key`. Of rows, their own where any."""
    texts: dict[str, str] = {}
    for table, entries in tomllib.loads(FILE.read_text(encoding="utf-8")).items():
        prefix = "" if table == "page" else f"{table}."
        texts |= {f"{prefix}{key}": pair[language] for key, pair in entries.items()}
        if rows:
            texts |= {f"{prefix}{key}": text for key, text in instead(table, language).items()}
    return texts
