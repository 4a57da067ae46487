"""The worksheet of what to mend: one row per fix, the same row in every run, so that the team can keep it."""

from simulator.core.translations import plain
from simulator.diagnosis.recommendations import Fix, cause_name, certainty
from simulator.reports.told import Told
from simulator.sheets.model import LazyRows, Row, SheetCell, Worksheet, text_cell


def fixes_sheet(told: Told) -> Worksheet:
    """What to mend, what brings most first; what the simulated customer spoilt stands below, unranked."""
    words = told.words
    columns = (
        words.column("key", width=8),
        words.column("rank", kind="number", width=8),
        words.column("what", width=52, wrap=True),
        words.column("where", width=24, wrap=True),
        words.column("found_cause", width=14),
        words.column("sure", width=10),
        words.column("gain", kind="number", width=12, help=words("column_help", "gain")),
        words.column("turns", kind="number", width=10),
        *(() if told.summary.rows else (words.column("customers", kind="number", width=12),)),
        words.column("question", width=34, wrap=True),
        words.column("answer", width=44, wrap=True),
        words.column("reason", width=40, wrap=True),
        words.team("assignee", width=12),
        words.team("status", "status", width=14),
        words.team("memo", width=28, wrap=True),
        words.column("run", width=16),
    )
    found = told.improvements
    return Worksheet(
        name="fixes",
        title=words("sheet", "fixes"),
        columns=columns,
        rows=LazyRows((*found.fixes, *found.customer), lambda fix: _row(fix, told)),
        frozen_columns=2,
        help=words("help", "fixes"),
    )


def _row(fix: Fix, told: Told) -> Row:
    first, language = fix.examples[0], told.language
    silent = told.names("no_answer", kind=told.names.name("failure", first.failure)) if first.failure else ""
    cells = {
        "what": text_cell(fix.what),
        "where": text_cell(fix.where),
        "found_cause": text_cell(cause_name(fix.cause, language), note=first.evidence),
        "sure": SheetCell(text=certainty(fix.sure, language)),
        "turns": _number(len(fix.turns)),
        **({} if told.summary.rows else {"customers": _number(len(fix.personas))}),
        "question": text_cell(first.question),
        "answer": text_cell(silent or first.answer),
        "reason": text_cell(first.reason),
        "run": text_cell(told.results.run.id),
    }
    if fix.rank:
        cells |= {"rank": _number(fix.rank)}
    if fix.rank and told.improvements.foretells:
        cells |= {"gain": _number(round(100 * fix.gain, 1))}
    return Row(key=plain(fix.key), cells=cells)


def _number(n: float) -> SheetCell:
    return SheetCell(text=f"{n:g}", number=n)
