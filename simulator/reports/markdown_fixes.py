"""What to mend as Markdown: a part of the run's, and a file of its own to hand on."""

from collections.abc import Iterator

from simulator.core.document import escaped, stand_in
from simulator.core.translations import Words
from simulator.diagnosis.recommendations import Example, Fix, Improvements
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

SHOWN = 3


def fixes_section(found: Improvements, words: Words) -> str:
    """The best fixes in a few lines; empty when there are none."""
    if not found.fixes:
        return ""
    lines = [f"### {escaped(FIXES(words.language, 'title'))}", ""]
    lines += [] if found.foretells else [escaped(lead_text(found, words)), ""]
    lines += [_line(fix, found, words) for fix in found.fixes[:SHOWN]]
    if left := len(found.fixes) - SHOWN:
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
