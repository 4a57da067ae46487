"""The report of bias probes: a table for each kind of probe, and broken bounds in words.

For flipped facts the table says how many were caught (the grade fell by 2, the turn turned red) and how many
right answers were red before anything was changed, since a judge that calls everything wrong catches all of
them.
"""

from collections.abc import Callable, Iterator, Mapping
from itertools import groupby

from simulator.core.document import Cell, Line, Notes, Report, Section, Table, Text
from simulator.core.messages import Message, _, ngettext, pgettext
from simulator.core.templates import LANGUAGES
from simulator.core.titles import title
from simulator.core.types import Language
from simulator.lab.judging.bias import Bias
from simulator.lab.judging.rows import GraderKind, graded_by
from simulator.lab.judging.stored import FLIPPED, BiasRow, Kind
from simulator.lab.judging.trust import bias_text

_KINDS: Mapping[Kind, Message] = {
    "flipped_fact": pgettext("bias", "flipped fact"),
    "padding": pgettext("bias", "padding"),
    "angry": pgettext("bias", "angry customer"),
    "shuffled": pgettext("bias", "passages shuffled"),
}
# Whether a bound holds; None where none is set.
_VERDICTS = {
    True: pgettext("bias", "ok"),
    False: pgettext("bias", "CHECK"),
    None: pgettext("bias", "for information"),
}


def languages_of(bias: Bias) -> list[Language]:
    """The languages of the probes."""
    return [language for language in LANGUAGES if any(row.language == language for row in bias.rows)]


def probes_report(bias: Bias, language: Language, grader: GraderKind, model: str) -> Report:
    """The probes of one language: who graded, a table for each kind, broken bounds, and notes."""
    pairs = ngettext(
        "{n} pair, {all} answers graded. Means of grades from 1 to 5 are compared.",
        "{n} pairs, {all} answers graded. Means of grades from 1 to 5 are compared.",
        n=bias.probes,
        all=bias.contexts,
    )
    # A judge and its Correctness may both break a bound; each is told.
    broken = [
        _(
            "CHECK {judge}: {what}",
            judge=title("judge", row.judge.removesuffix(".correctness")),
            what=bias_text(row),
        )
        for row in bias.broken
        if row.language == language
    ]
    verdict = [Line(line, "alarm") for line in broken] or [Line(_("Every bound holds."))]
    return Report(
        title=_("Biases (pairs of answers whose difference is known)"),
        language=language,
        lead=(Line(pairs), Line(graded_by(grader, model))),
        sections=(*_kinds(bias, language), Section("verdict", "", (Notes(tuple(verdict)),))),
    )


def _kinds(bias: Bias, language: Language) -> Iterator[Section]:
    """A table for each kind of probe, with its bound; rows whose bound does not hold stand out."""
    of_language = (row for row in bias.rows if row.language == language)
    for kind, rows in groupby(of_language, key=lambda row: row.kind):
        group = list(rows)
        columns: dict[Message, Callable[[BiasRow], Text]] = {
            pgettext("bias", "judge"): lambda row: row.judge,
            pgettext("bias", "pairs"): _pairs,
        }
        # Means before and after say little of flips, of which each has its own size.
        if kind != FLIPPED:
            columns[pgettext("bias", "before")] = lambda row: _number(row.before, ".2f")
            columns[pgettext("bias", "after")] = lambda row: _number(row.after, ".2f")
        columns[pgettext("bias", "change")] = lambda row: _number(row.difference, "+.2f")
        columns[pgettext("bias", "95 % interval")] = lambda row: (
            "–" if row.interval is None else "..".join(f"{end:+.2f}" for end in row.interval)
        )
        if kind == FLIPPED:  # of facts that were flipped, how many were caught
            columns[pgettext("bias", "fell by 2")] = lambda row: _number(row.fell, ".0%")
            columns[pgettext("bias", "now needs review")] = lambda row: _number(row.turned, ".0%")
            columns[pgettext("bias", "good, yet marked for review")] = lambda row: _number(
                row.red_before, ".0%"
            )
        columns[pgettext("bias", "verdict")] = lambda row: _VERDICTS[row.held]
        cells = (
            [Cell(text=text(row), tone="alarm" if row.held is False else "") for text in columns.values()]
            for row in group
        )
        table = Table.of(kind, [*columns], cells, words=frozenset({len(columns) - 1}))
        # All rows of a kind have the same bound, or none.
        heading = _KINDS[kind]
        if (bound := next((row.bound for row in group if row.bound is not None), None)) is not None:
            within, falls = (
                pgettext("bias", "{kind}  (within {bound})"),
                pgettext("bias", "{kind}  (falls by {bound})"),
            )
            heading = (falls if kind == FLIPPED else within).format(kind=heading, bound=f"{bound:g}")
        yield Section(kind, heading, (table,))


def _pairs(row: BiasRow) -> Text:
    if not (row.failed or row.skipped):
        return str(row.n)
    left_out = pgettext("bias", "{n} (failed {failed}, skipped {skipped})")
    return left_out.format(n=row.n, failed=row.failed, skipped=row.skipped)


def _number(value: float | None, form: str) -> str:
    return "–" if value is None else format(value, form)
