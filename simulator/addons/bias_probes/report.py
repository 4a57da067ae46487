"""The report of bias probes: a table for each kind of probe, and broken bounds in words."""

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import groupby
from pathlib import Path

from simulator.core.document import Cell, Line, Notes, Report, Section, Table
from simulator.core.templates import LANGUAGES, Texts
from simulator.core.translations import Words
from simulator.core.types import Language
from simulator.report.context import Note
from simulator.report.judges import bias_text
from simulator.stats.bias import Bias, BiasRow, bias_table

TEXTS = Texts(Path(__file__).with_name("report.toml"))
# Columns of the table of biases that are shown: of facts that were flipped also how many were caught.
_STAYS, _FALLS = (2, 3, 4, 5, 6, 7, 12), (2, 3, 6, 7, 8, 9, 10, 12)
_KIND, _BOUND = 1, 11


def languages_of(bias: Bias) -> list[Language]:
    """The languages of the probes."""
    return [each for each in LANGUAGES if any(row.language == each for row in bias.rows)]


def probes_report(bias: Bias, language: Language, grader: str, notes: Iterable[Note]) -> Report:
    """The probes of one language: who graded, the tables, broken bounds, and notes on the models."""
    say = partial(TEXTS, language)
    verdict = (*_verdict(bias, language), *(Line(note.text, "alarm" if note.alarm else "") for note in notes))
    return Report(
        title=say("title"),
        language=language,
        lead=(Line(say("of", n=bias.probes, all=bias.contexts)), Line(grader)),
        sections=(*_kinds(bias, language), Section("verdict", "", (Notes(verdict),))),
    )


def _kinds(bias: Bias, language: Language) -> Iterator[Section]:
    """A table for each kind of probe, with its bound."""
    rows = tuple(row for row in bias.rows if row.language == language)
    head, *texts = bias_table(bias.model_copy(update={"rows": rows}), language)
    for kind, pairs in groupby(zip(rows, texts, strict=True), key=lambda pair: pair[0].kind):
        group = list(pairs)
        bound = next((texts[_BOUND] for row, texts in group if row.bound is not None), "")
        title = f"{group[0][1][_KIND]}{f'  ({bound})' if bound else ''}"
        yield Section(kind, title, (_table(kind, head, group),))


def _table(kind: str, head: Sequence[str], group: Sequence[tuple[BiasRow, Sequence[str]]]) -> Table:
    places = _FALLS if group[0][0].expects == "falls" else _STAYS
    return Table(
        name=kind,
        title="",
        columns=tuple(head[place] for place in places),
        rows=tuple(
            tuple(Cell(text=texts[place], tone="alarm" if row.held is False else "") for place in places)
            for row, texts in group
        ),
        words=frozenset({len(places) - 1}),
    )


def _verdict(bias: Bias, language: Language) -> Iterator[Line]:
    """The rows whose bound does not hold, in words (要注意)."""
    broken = [row for row in bias.broken if row.language == language and row.judge]
    if not broken:
        yield Line(TEXTS(language, "held"))
    words = Words(language)
    for row in broken:
        name = words.name("judge", row.judge.removesuffix(".correctness"))
        text = bias_text(row, words.name("category", "correctness"), language)
        yield Line(TEXTS(language, "broken", judge=name, what=text), "alarm")
