"""Keigo: is the answer as polite as a Japanese support desk must be? By patterns, without a model."""

from collections import Counter
from pathlib import Path

from judges._keigo_forms import Finding, listed, matches
from judges._keigo_reading import is_japanese, sentences
from judges._keigo_rules import blunt_refusal, missing_apology, plain_forms, repeats
from simulator import GradingContext, Score, Texts

TEXTS = Texts(Path(__file__).with_name("_keigo.toml"))
GRAVITY = ("major", "moderate", "minor")
# So many findings are named in the reason, and so many are kept.
NAMED, KEPT = 3, 30


def keigo(context: GradingContext, ng_words: tuple[str, ...] = ()) -> Score:
    """A grade of the politeness language, 5 (nothing found) to 1 (rude, or plain form throughout).

    4: one minor fault; 3: one moderate or several minor ones; 2: several moderate or a major one.
    What is right follows 『敬語の指針』 (Agency for Cultural Affairs, 2007). Quotations are not read;
    headings, list items and tables may be in plain form. An English answer is read for rude wording, a
    complaint without an apology and words of the NG list only.
    """
    found = findings(context, ng_words)
    grade = graded(found)
    return Score(
        judge="keigo",
        conversation=context.conversation,
        turn=context.turn.index,
        state="scored",
        value=grade / 5,
        raw=float(grade),
        severity=found[0].severity if found else None,
        reason=_reason(context, found),
        detail={"findings": [_shown(each) for each in found[:KEPT]]},
    )


def findings(context: GradingContext, ng_words: tuple[str, ...] = ()) -> list[Finding]:
    """All faults of an answer, the gravest first, then as they stand in it."""
    answer = context.turn.answer.text
    parts = sentences(answer)
    language_of_answer = "ja" if is_japanese(answer) else "en"
    found = [each for sentence in parts for each in matches(answer, sentence, language_of_answer)]
    if language_of_answer == "ja":
        found += [*plain_forms(answer, parts), *repeats(answer, parts)]
        found += blunt_refusal(answer, context.turn.user, parts)
    found += missing_apology(context)
    found += listed(answer, ng_words, TEXTS(context.case.language, "ng_better"))
    return sorted(found, key=lambda each: (GRAVITY.index(each.severity), each.start))


def graded(found: list[Finding]) -> int:
    """The grade 1..5 by the gravest faults and their number."""
    if any(each.severity == "major" and each.kind in ("rude", "plain_form") for each in found):
        return 1
    number = Counter(each.severity for each in found)
    if number["major"] or number["moderate"] > 1:
        return 2
    if number["moderate"] or number["minor"] > 1:
        return 3
    return 5 - number["minor"]


def _shown(finding: Finding) -> dict[str, str]:
    return {key: getattr(finding, key) for key in ("kind", "severity", "quote", "better")}


def _reason(context: GradingContext, found: list[Finding]) -> str:
    """One line that names the first few faults, with the better wording."""
    language = context.case.language
    if not found:
        return TEXTS(language, "none")
    items = [
        TEXTS(
            language,
            "item" if each.quote else "bare",
            severity=TEXTS(language, each.severity),
            kind=TEXTS(language, each.kind),
            **({"quote": " ".join(each.quote.split())} if each.quote else {}),
            better=each.better,
        )
        for each in found[:NAMED]
    ]
    rest = TEXTS(language, "more", count=str(len(found) - NAMED)) if len(found) > NAMED else ""
    return TEXTS(language, "some", items=TEXTS(language, "between").join(items) + rest)
