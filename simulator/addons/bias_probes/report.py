"""The report of bias probes: a table for each kind of probe, and broken bounds in words."""

from collections.abc import Iterable, Iterator
from itertools import groupby

from simulator.core.document import Cell, Line, Notes, Report, Section, Table
from simulator.core.messages import _, ngettext
from simulator.core.templates import LANGUAGES
from simulator.core.titles import title
from simulator.core.types import Language
from simulator.report.judges import bias_text
from simulator.runner.labelled_answers import GraderKind
from simulator.stats.bias import Bias, bias_table

# Columns of the table of biases that are shown: of facts that were flipped also how many were caught.
_STAYS, _FALLS = (2, 3, 4, 5, 6, 7, 12), (2, 3, 6, 7, 8, 9, 10, 12)
_KIND, _BOUND = 1, 11


def languages_of(bias: Bias) -> list[Language]:
    """The languages of the probes."""
    return [each for each in LANGUAGES if any(row.language == each for row in bias.rows)]


def probes_report(
    bias: Bias, language: Language, grader: GraderKind, model: str, notes: Iterable[Line]
) -> Report:
    """The probes of one language: who graded, a table for each kind, broken bounds, and notes."""
    pairs = ngettext(
        "{n} pair, {all} answers graded. Means of grades from 1 to 5 are compared.",
        "{n} pairs, {all} answers graded. Means of grades from 1 to 5 are compared.",
        n=bias.probes,
        all=bias.contexts,
    )
    graded_by = {
        "by_model": _("Graded by {model}", model=model),
        "by_stand_in": _("Graded by an offline stand-in (word overlap, no language model)"),
        "by_function": _("Computed, no language model"),
    }
    broken = [
        _(
            "CHECK {judge}: {what}",
            judge=title("judge", row.judge.removesuffix(".correctness")),
            what=bias_text(row),
        )
        for row in bias.broken
        if row.language == language and row.judge
    ]
    verdict = [Line(each, "alarm") for each in broken] or [Line(_("Every bound holds."))]
    return Report(
        title=_("Biases (pairs of answers whose difference is known)"),
        language=language,
        lead=(Line(pairs), Line(graded_by[grader])),
        sections=(*_kinds(bias, language), Section("verdict", "", (Notes((*verdict, *notes)),))),
    )


def _kinds(bias: Bias, language: Language) -> Iterator[Section]:
    """A table for each kind of probe, with its bound; rows whose bound does not hold stand out."""
    rows = tuple(row for row in bias.rows if row.language == language)
    head, *texts = bias_table(bias.model_copy(update={"rows": rows}), language)
    for kind, pairs in groupby(zip(rows, texts, strict=True), key=lambda pair: pair[0].kind):
        group = list(pairs)
        bound = next((texts[_BOUND] for row, texts in group if row.bound is not None), "")
        places = _FALLS if group[0][0].expects == "falls" else _STAYS
        cells = (
            [Cell(text=texts[place], tone="alarm" if row.held is False else "") for place in places]
            for row, texts in group
        )
        table = Table.of(kind, [head[place] for place in places], cells, words=frozenset({len(places) - 1}))
        yield Section(kind, f"{group[0][1][_KIND]}{f'  ({bound})' if bound else ''}", (table,))
