"""What to fix, for every report: terminal, cards of the page, Markdown and a worksheet."""

from collections.abc import Iterator
from pathlib import Path

from simulator.core.document import MARKDOWN, TERMINAL, TEXT, Fact, Item, Items, Line, Report, Section
from simulator.core.templates import Texts
from simulator.core.translations import TextLookup, Words, points, safe_text, text_lookup
from simulator.core.types import Language
from simulator.diagnosis.evidence import Cause
from simulator.diagnosis.recommendations import LEAST, Example, Fix, Improvements, cause_name, certainty
from simulator.report.context import ReportContext
from simulator.report.tables import mark_text
from simulator.sheets.model import LazyRows, Row, SheetCell, Worksheet, text_cell
from simulator.stats.figures import RedTurn, Summary

FIXES = Texts(Path(__file__).with_name("fixes.toml"))
# In the summary of a run.
SHOWN = 3
# Red turns that Markdown quotes; the rest is on the page.
QUOTED = 10


def fixes_words(words: Words) -> TextLookup:
    """The words around what to fix."""
    return text_lookup(FIXES, "fixes", words.language, rows=words.rows)


def none_text(found: Improvements, words: Words) -> str:
    """That there is nothing to fix, or why that cannot be known."""
    key = "none_unsearched" if found.unsearched else "none_of_the_bot" if found.customer else "none"
    return fixes_words(words)(key)


def gain_text(fix: Fix, found: Improvements, language: Language) -> str:
    """'+4.2 点': what the run's score (of 100) would gain; empty where that cannot be forecast."""
    return FIXES(language, "gain", gain=f"{100 * fix.gain:.1f}") if fix.rank and found.foretells else ""


def counts_text(fix: Fix, words: Words) -> str:
    """The number of turns, kinds of customer and questions of a fix; or of its rows."""
    return fixes_words(words)(
        "counts",
        turns=f"{len(fix.turns):,}",
        personas=f"{len(fix.personas):,}",
        cases=f"{len(fix.cases):,}",
    )


def cause_text(cause: Cause, sure: bool, language: Language) -> str:
    """'検索漏れ（推定）': the cause, and whether it is certain."""
    return FIXES(language, "cause", name=cause_name(cause, language), how=certainty(sure, language))


def lead_text(found: Improvements, words: Words) -> str:
    """The score with all of it fixed, or why it cannot be forecast; empty if it would not change."""
    if found.fixes and not found.foretells:
        return fixes_words(words)("too_few", green=f"{found.green:,}", least=str(LEAST))
    if found.mended is None or points(found.mended) == points(found.score):
        return ""
    return FIXES(found.language, "lead", score=points(found.score), mended=points(found.mended))


def how_text(found: Improvements, words: Words) -> str:
    """How gains are calculated; empty where there are none."""
    if not (found.foretells and lead_text(found, words)):
        return ""
    return fixes_words(words)("how", goal=points(found.goal))


def where_text(turn: Example | RedTurn, words: Words) -> str:
    """Persona, case and number of a turn; or the case of a row."""
    if words.rows:
        return turn.case
    return f"{words.name('persona', turn.persona)} · {turn.case} · {words('turn_n', n=turn.turn)}"


def failure_text(turn: Example | RedTurn, words: Words) -> str:
    """That the bot gave no answer, and why; empty where it did."""
    return words("no_answer", kind=words.name("failure", turn.failure)) if turn.failure else ""


def example_lines(example: Example, words: Words, *, brief: bool = False) -> Iterator[tuple[str, str]]:
    """An example as named lines: question, answer, the judge's reason, and unless `brief` more."""
    failure = failure_text(example, words)
    yield words("user"), example.question
    yield words("desk"), failure or example.answer
    details = [] if brief else [("why", example.evidence), ("reference", example.reference)]
    for key, text in (("judged", "" if failure else example.reason), *details):
        if text.strip():
            yield FIXES(words.language, key), text


def fixes_section(found: Improvements, run: str, words: Words) -> Section | None:
    """The best fixes with an example each, and where the others are; None where nothing is to be fixed."""
    if not (found.fixes or found.customer):
        return None
    language = words.language
    left, spoilt = len(found.fixes) - SHOWN, sum(len(fix.turns) for fix in found.customer)
    more = [FIXES(language, "more", n=f"{left:,}")] if left > 0 else []
    more += [FIXES(language, "customer_line", turns=f"{spoilt:,}")] if spoilt else []
    more.append(FIXES(language, "more_command", run=run))
    items = tuple(_item(fix, found, words, brief=True) for fix in found.fixes[:SHOWN])
    lead = [] if found.foretells or not found.fixes else [Line(lead_text(found, words), "soft")]
    return Section(
        "fix", words("fix_first"), (*lead, Items(items, " · ".join(more), numbered=True)), views=TEXT
    )


def fixes_report(
    found: Improvements, run: str, words: Words, top: int | None = None, *, offline: bool = False
) -> Report:
    """At most `top` fixes with examples, then faults of the customer; `offline`: judged by stand-ins."""
    language, shown = words.language, found.fixes[:top]
    lead = [Line(lead)] if (lead := lead_text(found, words)) else []
    lead += [Line(how, "soft")] if (how := how_text(found, words)) else []
    left = len(found.fixes) - len(shown)
    more = FIXES(language, "more", n=f"{left:,}") if left else ""
    items = Items(tuple(_item(fix, found, words) for fix in shown), more, numbered=True)
    faults = Items(tuple(_item(fix, found, words) for fix in found.customer))
    customer = Section("customer", FIXES(language, "customer_title"), (faults,))
    return Report(
        title=FIXES(language, "all_title"),
        language=language,
        lead=tuple(lead),
        sections=(
            Section("fixes", "", (items if found.fixes else Line(none_text(found, words)),)),
            *([customer] if found.customer else []),
        ),
        about=run,
        notice=(words("standin"), words("standin_why")) if offline else None,
    )


def _item(fix: Fix, found: Improvements, words: Words, *, brief: bool = False) -> Item:
    """What to do, its gain and its counts; one example whole and, unless `brief`, where the others are."""
    gain, cause = gain_text(fix, found, words.language), cause_text(fix.cause, fix.sure, words.language)
    first, *others = fix.examples
    facts = [
        Fact("", " · ".join(filter(None, [gain, cause, counts_text(fix, words)]))),
        Fact("", where_text(first, words)),
        *(Fact(name, text) for name, text in example_lines(first, words, brief=brief)),
        *(Fact("", f"{where_text(each, words)}: {each.question}") for each in (() if brief else others)),
    ]
    return Item(fix.what, tuple(facts), "strong")


def red_turns_section(summary: Summary, words: Words, *, folded: bool) -> Section | None:
    """The gravest red turns with what was said, folded and only for Markdown where fixes say it already."""
    if not summary.reddest:
        return None
    shown, judged = summary.reddest[: QUOTED if folded else SHOWN], FIXES(words.language, "judged")
    items = tuple(
        Item(
            f"{mark_text(red, words)} · {where_text(red, words)}",
            (
                Fact(words("user"), red.question),
                Fact(words("desk"), failure_text(red, words) or red.answer),
                Fact(judged, red.reason),
            ),
            "strong",
        )
        for red in shown
    )
    title, views = f"{words('reddest_short')} ({len(shown)}/{summary.red})", MARKDOWN if folded else TERMINAL
    return Section("gravest", title, (Items(items, numbered=True),), views=views, folded=folded)


def fixes_sheet(context: ReportContext) -> Worksheet:
    """What to fix, the largest gain first; faults of the simulated customer stand below, without a rank."""
    words = context.words
    columns = (
        words.column("key", width=8),
        words.column("rank", kind="number", width=8),
        words.column("what", width=52, wrap=True),
        words.column("where", width=24, wrap=True),
        words.column("found_cause", width=14),
        words.column("sure", width=10),
        words.column("gain", kind="number", width=12, help=words("column_help", "gain")),
        words.column("turns", kind="number", width=10),
        *(() if context.summary.rows else (words.column("customers", kind="number", width=12),)),
        words.column("question", width=34, wrap=True),
        words.column("answer", width=44, wrap=True),
        words.column("reason", width=40, wrap=True),
        words.team("assignee", width=12),
        words.team("status", "status", width=14),
        words.team("memo", width=28, wrap=True),
        words.column("run", width=16),
    )
    found = context.improvements
    return Worksheet(
        name="fixes",
        title=words("sheet", "fixes"),
        columns=columns,
        rows=LazyRows((*found.fixes, *found.customer), lambda fix: _row(fix, context)),
        frozen_columns=2,
        help=words("help", "fixes"),
    )


def _row(fix: Fix, context: ReportContext) -> Row:
    first, language = fix.examples[0], context.language
    cells = {
        "what": text_cell(fix.what),
        "where": text_cell(fix.where),
        "found_cause": text_cell(cause_name(fix.cause, language), note=first.evidence),
        "sure": SheetCell(text=certainty(fix.sure, language)),
        "turns": _number(len(fix.turns)),
        **({} if context.summary.rows else {"customers": _number(len(fix.personas))}),
        "question": text_cell(first.question),
        "answer": text_cell(failure_text(first, context.names) or first.answer),
        "reason": text_cell(first.reason),
        "run": text_cell(context.results.run.id),
    }
    if fix.rank:
        cells |= {"rank": _number(fix.rank)}
    if fix.rank and context.improvements.foretells:
        cells |= {"gain": _number(round(100 * fix.gain, 1))}
    return Row(key=safe_text(fix.key), cells=cells)


def _number(n: float) -> SheetCell:
    return SheetCell(text=f"{n:g}", number=n)
