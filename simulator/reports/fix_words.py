"""What a fix comes to, in the words that every report uses."""

from collections.abc import Iterator
from pathlib import Path

from simulator.core.templates import Texts
from simulator.core.translations import Say, Words, points, saying
from simulator.core.types import Language
from simulator.diagnosis.evidence import Cause
from simulator.diagnosis.recommendations import LEAST, Example, Fix, Improvements, cause_name, certainty
from simulator.stats.figures import RedTurn

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
