"""What to mend, line by line for a terminal; the painter of the summary prints them."""

from collections.abc import Iterator
from typing import NamedTuple

from simulator.core.translations import Words
from simulator.diagnosis.recommendations import Fix, Improvements
from simulator.reports.fix_words import (
    FIXES,
    cause_text,
    counts_text,
    gain_text,
    how_text,
    lead_text,
    none_text,
    told,
    where_text,
)
from simulator.stats.figures import Summary

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
