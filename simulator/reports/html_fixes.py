"""What to mend, as cards at the top of the page."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from simulator.core.translations import Words
from simulator.diagnosis.recommendations import Example, Fix, Improvements, cause_name, certainty
from simulator.reports.fix_words import FIXES, counts_text, gain_text, how_text, lead_text
from simulator.stats.summary import excerpt

# These are shown whole, these folded; the rest is counted.
SHOWN, FOLDED = 3, 12
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
    made = [_card(fix, found, anchors, words) for fix in found.fixes[: SHOWN + FOLDED]]
    left = len(found.fixes) - len(made)
    spoilt = sum(len(fix.turns) for fix in found.customer)
    language = words.language
    return {
        "cards": made[:SHOWN],
        "folded": made[SHOWN:],
        "more": FIXES(language, "more", n=f"{len(found.fixes) - SHOWN:,}") if made[SHOWN:] else "",
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
