"""What a made question must be before it is proposed: by its form, and against its gold passages."""

import re
from collections.abc import Sequence
from functools import cache
from itertools import chain
from pathlib import Path

from simulator.core.templates import read_toml
from simulator.core.types import Case, Language
from simulator.data.files import language_of
from simulator.grading.lexical import grade_of
from simulator.making.articles import Article
from simulator.making.forms import Check, FollowUpCheck, OutsideCheck, PairCheck
from simulator.making.kinds import OUT_OF_SCOPE, Kind, Rejected, Why
from simulator.text.evidence import best_agreement
from simulator.text.numerals import quantities, unmatched
from simulator.text.segments import normalise, tokens

FILE = Path(__file__).with_name("checks.toml")
LONGEST = {"ja": 160, "en": 400}
# So many characters (Japanese) or words in a row from a passage, and more than this share of the question,
# are a copy: names of products are shorter.
RUN = {"ja": 16, "en": 9}
COPIED = 0.6
# From which grade (1..5) of agreement on an answer from the passages alone says what the right answer says.
AGREES = 3


def fault_of_form(
    case: Case, kind: Kind, articles: Sequence[Article], *, name: str = "", by_rule: bool = False
) -> Rejected | None:
    """What is wrong with a question as it stands, before anybody is asked; None for nothing.

    Questions by rule are made of the articles' own words, so these are not looked for in them.
    """
    why = _form(case) or _figures(case, kind, articles)
    if why is None and not by_rule and _copies(case.question, articles, case.language):
        why = "copied"
    if why is None and kind == "competitor" and name and name not in case.question:
        why = "no_name"
    return Rejected(case=case, why=why) if why else None


def fault_of_check(case: Case, check: Check | OutsideCheck) -> Rejected | None:
    """What a reader of the gold passages found wrong; None when they answer it as the right answer does."""
    why = _against_passages(check)
    if why is None and isinstance(check, Check):
        if says_the_same(check.answer, case.references_at(1), case.language):
            return None
        return Rejected(case=case, why="differs", detail=check.answer.strip())
    return Rejected(case=case, why=why, detail=check.reason.strip()) if why else None


def _against_passages(check: Check | OutsideCheck) -> Why | None:
    """What the reader of the passages said, the first thing first."""
    if isinstance(check, OutsideCheck):
        found: tuple[tuple[bool, Why], ...] = ((check.settled != "no", "answered"),)
    else:
        found = (
            (check.answerable != "yes", "unanswerable"),
            (isinstance(check, PairCheck) and check.needed < 2, "one_passage"),
            (isinstance(check, FollowUpCheck) and check.clear_alone, "alone"),
        )
    return next((why for holds, why in ((check.names_document, "document"), *found) if holds), None)


def says_the_same(answer: str, references: Sequence[str], language: Language) -> bool:
    """Whether an answer agrees with the right one: same figures, no opposite, and most of its content.

    An answer may leave out figures, or add some that are no answer to the same question.
    """
    found = best_agreement(answer, references, language)
    if found.contradicted or (found.instead and not _shares_figure(answer, references)):
        return False
    # Figures were looked at above: one that stands for another thing beside it is no reason.
    lenient = max(found.score, found.recall) if _shares_figure(answer, references) else found.score
    return grade_of(lenient, "similarity") >= AGREES


def _shares_figure(answer: str, references: Sequence[str]) -> bool:
    """Whether every figure of some right answer is in the answer, and there is one."""
    given = quantities(answer)
    for reference in references:
        wanted = quantities(reference)
        if wanted and not unmatched(wanted, given):
            return True
    return False


def _form(case: Case) -> Why | None:
    question = case.question
    first = case.history[:1]
    if not any(map(str.isalnum, question)) or not any(map(str.strip, case.references_at(1))):
        return "empty"
    if len(question) > LONGEST[case.language] or question.count("\n") > 2:
        return "long"
    # Keywords may be a product's name in Latin letters.
    said = "\n".join([question, *case.references_at(1), *(line.content for line in first)])
    if language_of(said) != case.language:
        return "language"
    return "document" if _names_document(case.language).search(question) else None


def _figures(case: Case, kind: Kind, articles: Sequence[Article]) -> Why | None:
    if kind in OUT_OF_SCOPE:
        return None
    stated = quantities("\n".join(chain.from_iterable(case.references)))
    if kind == "number" and not stated and not re.search(r"\d", "".join(case.references_at(1))):
        return "no_number"
    known = quantities("\n".join([case.question, *(article.text for article in articles)]))
    # A sum of figures is a right answer, too, and a reader of the passages checks it.
    return "unsupported" if len(unmatched(stated, known)) > max(1, len(stated) // 2) else None


def _copies(question: str, articles: Sequence[Article], language: Language) -> bool:
    said = tokens(question)
    longest = max((_longest_run(said, tokens(article.text)) for article in articles), default=0)
    return longest >= RUN[language] and longest > COPIED * len(said)


def _longest_run(said: list[str], known: list[str]) -> int:
    """How many tokens in a row stand in both."""
    best, before = 0, [0] * (len(known) + 1)
    for token in said:
        row = [0] * (len(known) + 1)
        for at, other in enumerate(known, 1):
            if token == other:
                row[at] = before[at - 1] + 1
                best = max(best, row[at])
        before = row
    return best


@cache
def _names_document(language: Language) -> re.Pattern[str]:
    return re.compile("|".join(read_toml(FILE)[language]["document"]), re.IGNORECASE)


def names_document(question: str, language: Language) -> bool:
    """Whether a question speaks of the document it was made from."""
    return bool(_names_document(language).search(normalise(question)))
