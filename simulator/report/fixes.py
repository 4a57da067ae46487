"""What a fix comes to, in the words that every report uses."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from simulator.core.document import escaped, stand_in
from simulator.core.templates import Texts
from simulator.core.translations import Say, Words, plain, points, saying
from simulator.core.types import Language
from simulator.diagnosis.evidence import Cause
from simulator.diagnosis.recommendations import LEAST, Example, Fix, Improvements, cause_name, certainty
from simulator.report.context import ReportContext
from simulator.sheets.model import LazyRows, Row, SheetCell, Worksheet, text_cell
from simulator.stats.figures import RedTurn, Summary
from simulator.stats.summary import excerpt

FIXES = Texts(Path(__file__).with_name("fixes.toml"))


def fixes_words(words: Words) -> Say:
    """The words around what to mend."""
    return saying(FIXES, "fixes", words.language, rows=words.rows)


def none_text(found: Improvements, words: Words) -> str:
    """That there is nothing to mend, or why nothing can be told."""
    key = "none_unsearched" if found.unsearched else "none_of_the_bot" if found.customer else "none"
    return fixes_words(words)(key)


def gain_text(fix: Fix, found: Improvements, language: Language) -> str:
    """'+4.2 点': what the run's score of a hundred would gain; empty where that cannot be foretold."""
    return FIXES(language, "gain", gain=f"{100 * fix.gain:.1f}") if fix.rank and found.foretells else ""


def counts_text(fix: Fix, words: Words) -> str:
    """How many turns, kinds of customer and questions a fix concerns; or how many rows."""
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
    """What the score would be with everything mended, or why nobody can tell; empty where nothing would."""
    if found.fixes and not found.foretells:
        return fixes_words(words)("too_few", green=f"{found.green:,}", least=str(LEAST))
    if found.mended is None or points(found.mended) == points(found.score):
        return ""
    return FIXES(found.language, "lead", score=points(found.score), mended=points(found.mended))


def how_text(found: Improvements, words: Words) -> str:
    """How gains are reckoned; empty where there are none."""
    shown = found.foretells and lead_text(found, words)
    return fixes_words(words)("how", goal=points(found.goal)) if shown else ""


def where_text(each: Example | RedTurn, words: Words) -> str:
    """Who asked which question, and in which turn it went wrong; or which row."""
    if words.rows:
        return each.case
    return f"{words.name('persona', each.persona)} · {each.case} · {words('turn_n', n=each.turn)}"


def told(each: Example, words: Words, *, brief: bool = False) -> Iterator[tuple[str, str]]:
    """An example as named lines: what was said, the judge's reason; unless `brief`, what else is known."""
    silent = words("no_answer", kind=words.name("failure", each.failure)) if each.failure else ""
    yield words("user"), each.question
    yield words("desk"), silent or each.answer
    language = words.language
    judged = "" if each.failure else each.reason
    known = [] if brief else [("why", each.evidence), ("reference", each.reference)]
    for key, text in (("judged", judged), *known):
        if text.strip():
            yield FIXES(language, key), text


# In the summary of a run, and in the list of its own.
SHOWN, LISTED = 3, 10
_INDENT = 4


class Item(NamedTuple):
    """A paragraph behind its marker; `loud` ones stand out, `soft` ones stand back."""

    text: str
    marker: str = ""
    indent: int = _INDENT
    loud: bool = False
    soft: bool = False


def summary_items(found: Improvements, run: str, words: Words) -> Iterator[Item]:
    """The best fixes with an example each, and where the others are."""
    if found.fixes and not found.foretells:
        yield Item(lead_text(found, words), "-", 2, soft=True)
    for fix in found.fixes[:SHOWN]:
        yield from _fix(fix, found, words, brief=True)
    left = len(found.fixes) - SHOWN
    spoilt = sum(len(fix.turns) for fix in found.customer)
    language = words.language
    more = [FIXES(language, "more", n=f"{left:,}")] if left > 0 else []
    more += [FIXES(language, "customer_line", turns=f"{spoilt:,}")] if spoilt else []
    line = [*more, FIXES(language, "more_command", run=run)]
    yield Item("  ".join(line), "-", 2, soft=True)


def red_rows(summary: Summary, words: Words) -> Iterator[Item]:
    """The gravest rows of a data set, where there is nothing to mend but the answers themselves."""
    for place, red in enumerate(summary.reddest[:SHOWN], 1):
        silent = words("no_answer", kind=words.name("failure", red.failure)) if red.failure else ""
        yield Item(f"{red.case}: {red.question}", f"{place}.", loud=True)
        yield Item(f"{words('desk')}: {silent or red.answer}")
        yield Item(red.reason, soft=True)


def all_items(found: Improvements, words: Words, top: int) -> Iterator[Item]:
    """Every fix, at most `top` of them, with its examples; then what the simulated customer spoilt."""
    language = words.language
    if lead := lead_text(found, words):
        yield Item(lead, indent=0)
    if how := how_text(found, words):
        yield Item(how, indent=0, soft=True)
    for fix in found.fixes[:top]:
        yield Item("")
        yield from _fix(fix, found, words)
    if not found.fixes:
        yield Item(none_text(found, words), indent=0)
    if (left := len(found.fixes) - top) > 0:
        yield Item("")
        yield Item(FIXES(language, "more", n=f"{left:,}"), indent=0, soft=True)
    if found.customer:
        yield Item("")
        yield Item(FIXES(language, "customer_title"), indent=0, loud=True)
    for fix in found.customer:
        yield from _fix(fix, found, words)


def _fix(fix: Fix, found: Improvements, words: Words, *, brief: bool = False) -> Iterator[Item]:
    """What to do, what it brings and for whom; one example whole, and unless `brief` where others are."""
    language = words.language
    yield Item(fix.what, f"{fix.rank}." if fix.rank else "-", loud=True)
    brings, cause = gain_text(fix, found, language), cause_text(fix.cause, fix.sure, language)
    yield Item("   ".join(filter(None, [brings, cause, counts_text(fix, words)])))
    first, *others = fix.examples
    yield Item(where_text(first, words), soft=True)
    for name, text in told(first, words, brief=brief):
        yield Item(f"{name}: {text}", indent=_INDENT + 2)
    for each in () if brief else others:
        yield Item(f"{where_text(each, words)}: {each.question}", soft=True)


# These are shown whole, these folded; the rest is counted.
HTML_FIXES_SHOWN, FOLDED = 3, 12
_BAR = 100
# Of a question, a little more than fits on a line of a card.
_LINK = 50


@dataclass(frozen=True, slots=True)
class Card:
    """A fix as the page shows it; `bar` is its gain out of a hundred of the best one's."""

    fix: Fix
    first: str
    cause: str
    sure: str
    counts: str
    gain: str
    bar: float
    links: tuple[tuple[str, str], ...]
    said: str


def cards(found: Improvements, anchors: Mapping[tuple[str, int], str], words: Words) -> dict[str, Any]:
    """Everything that the page's block of fixes is made of."""
    made = [_card(fix, found, anchors, words) for fix in found.fixes[: HTML_FIXES_SHOWN + FOLDED]]
    left = len(found.fixes) - len(made)
    spoilt = sum(len(fix.turns) for fix in found.customer)
    language = words.language
    return {
        "cards": made[:HTML_FIXES_SHOWN],
        "folded": made[HTML_FIXES_SHOWN:],
        "more": FIXES(language, "more", n=f"{len(found.fixes) - HTML_FIXES_SHOWN:,}")
        if made[HTML_FIXES_SHOWN:]
        else "",
        "left": FIXES(language, "more", n=f"{left:,}") if left else "",
        "lead": lead_text(found, words),
        "how": how_text(found, words),
        "customer": FIXES(language, "customer_line", turns=f"{spoilt:,}") if spoilt else "",
        "title": FIXES(language, "title"),
    }


def _card(fix: Fix, found: Improvements, anchors: Mapping[tuple[str, int], str], words: Words) -> Card:
    language, best = words.language, max(each.gain for each in found.fixes)
    there = [each for each in fix.examples if _key(each) in anchors]
    links = tuple((anchors[_key(each)], _where(each, words)) for each in there)
    first = fix.examples[0]
    silent = words("no_answer", kind=words.name("failure", first.failure)) if first.failure else ""
    return Card(
        fix=fix,
        first=links[0][0] if links else "",
        cause=cause_name(fix.cause, language),
        sure=certainty(fix.sure, language),
        counts=counts_text(fix, words),
        gain=gain_text(fix, found, language),
        bar=round(_BAR * fix.gain / best, 1) if best else 0.0,
        links=links,
        said=silent or first.reason,
    )


def _key(each: Example) -> tuple[str, int]:
    return each.conversation, each.turn


def _where(each: Example, words: Words) -> str:
    """Who asked what: a link that says where it leads."""
    who = each.case if words.rows else words.name("persona", each.persona)
    return f"{who}: {excerpt(each.question, _LINK)}"


MARKDOWN_FIXES_SHOWN = 3


def fixes_section(found: Improvements, words: Words) -> str:
    """The best fixes in a few lines; empty when there are none."""
    if not found.fixes:
        return ""
    lines = [f"### {escaped(FIXES(words.language, 'title'))}", ""]
    lines += [] if found.foretells else [escaped(lead_text(found, words)), ""]
    lines += [_line(fix, found, words) for fix in found.fixes[:MARKDOWN_FIXES_SHOWN]]
    if left := len(found.fixes) - MARKDOWN_FIXES_SHOWN:
        lines += ["", escaped(FIXES(words.language, "more", n=f"{left:,}"))] if left > 0 else []
    return "\n".join(lines)


def fixes_markdown(
    found: Improvements, run: str, words: Words, top: int | None = None, *, offline: bool = False
) -> str:
    """All fixes with their examples, and what the simulated customer spoilt; `offline`: stand-ins judged."""
    language = words.language
    parts = [f"## {escaped(FIXES(language, 'all_title'))}", f"`{run}`"]
    parts += [stand_in(words)] if offline else []
    parts += [escaped(lead)] if (lead := lead_text(found, words)) else []
    shown = found.fixes[:top]
    parts += [_whole(fix, found, words) for fix in shown]
    parts += [] if shown else [escaped(none_text(found, words))]
    if left := len(found.fixes) - len(shown):
        parts.append(escaped(FIXES(language, "more", n=f"{left:,}")))
    if found.customer:
        parts.append(f"### {escaped(FIXES(language, 'customer_title'))}")
        parts += [_whole(fix, found, words) for fix in found.customer]
    parts += [f"_{escaped(how)}_"] if (how := how_text(found, words)) else []
    return "\n\n".join(parts) + "\n"


def _line(fix: Fix, found: Improvements, words: Words) -> str:
    """One fix: what it brings, what to do, why."""
    known = f"{cause_text(fix.cause, fix.sure, words.language)} · {counts_text(fix, words)}"
    gain = gain_text(fix, found, words.language)
    brings = f"**{escaped(gain)}** " if gain else ""
    return f"{fix.rank}. {brings}{escaped(fix.what)} ({escaped(known)})"


def _whole(fix: Fix, found: Improvements, words: Words) -> str:
    head = _line(fix, found, words) if fix.rank else f"- {escaped(fix.what)}"
    return "\n".join([head, *(line for each in fix.examples for line in _example(each, words))])


def _example(each: Example, words: Words) -> Iterator[str]:
    yield f"   - {escaped(where_text(each, words))}"
    for name, text in told(each, words):
        yield f"     - {escaped(name)}: {escaped(text)}"


def fixes_sheet(told: ReportContext) -> Worksheet:
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


def _row(fix: Fix, told: ReportContext) -> Row:
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
