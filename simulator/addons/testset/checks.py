"""Which made questions are rejected: by their form, by a reader of the passages, or as duplicates."""

import re
from collections.abc import Sequence
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Literal, NamedTuple

from simulator.addons.testset.near_duplicates import NearDuplicates
from simulator.addons.testset.plan import OUT_OF_SCOPE, Article, Kind
from simulator.addons.testset.prompts import Check, FollowUpCheck, OutsideCheck, PairCheck
from simulator.core.templates import read_toml
from simulator.core.types import Case, Language, Value
from simulator.data.files import language_of
from simulator.grading.lexical import grade_of
from simulator.text.evidence import best_agreement
from simulator.text.numerals import quantities, unmatched
from simulator.text.segments import tokens

Reason = Literal[
    "empty", "long", "language", "document", "copied", "unanswerable", "differs", "one_passage", "alone",
    "no_number", "unsupported", "answered", "no_name", "ambiguous", "duplicate",
]  # fmt: skip
CHECKS_FILE = Path(__file__).with_name("checks.toml")
LONGEST = {"ja": 160, "en": 400}
# So many characters (Japanese) or words in a row from a passage, and more than this share of the question,
# are a copy: names of products are shorter.
COPIED_RUN = {"ja": 16, "en": 9}
COPIED_SHARE = 0.6
# From which grade (1..5) of agreement on an answer from the passages alone says what the right answer says.
AGREES = 3


class RejectedQuestion(Value):
    """A question that was made and is not proposed; `detail` explains the reason `why`."""

    case: Case
    why: Reason
    detail: str = ""


class TestSet(NamedTuple):
    """Accepted cases, rejected questions, and failures of models as (id, kind of failure)."""

    cases: tuple[Case, ...]
    rejected: tuple[RejectedQuestion, ...] = ()
    failures: tuple[tuple[str, str], ...] = ()


class Acceptance:
    """Takes questions one after the other; of several that ask the same, the first is accepted."""

    def __init__(self) -> None:
        """No question yet."""
        self.cases: list[Case] = []
        self.rejected: list[RejectedQuestion] = []
        self.failures: list[tuple[str, str]] = []
        self._near = NearDuplicates()

    def consider(self, case: Case, fault: RejectedQuestion | None = None) -> bool:
        """Whether this question is accepted; `fault` is an earlier rejection of it."""
        if fault is None:
            # A follow-up is another question after another turn.
            earlier = [line.content for line in case.history if line.role == "user"]
            other = self._near.add("\n".join([*earlier, case.question]), case.id, case.passages)
            if other is not None:
                fault = RejectedQuestion(case=case, why="duplicate", detail=other)
        if fault is not None:
            self.rejected.append(fault)
            return False
        self.cases.append(case)
        return True

    def failed(self, id_: str, kind: str) -> None:
        """Counts a model's failure, of which there is no question."""
        self.failures.append((id_, kind))

    def test_set(self) -> TestSet:
        """All that was considered so far."""
        return TestSet(tuple(self.cases), tuple(self.rejected), tuple(self.failures))


def fault_of_form(
    case: Case, kind: Kind, articles: Sequence[Article], *, name: str = "", by_rule: bool = False
) -> RejectedQuestion | None:
    """What is wrong with a question by itself, before a model reads it; None where nothing is.

    Questions by rule consist of the articles' own words, so copying is no fault of theirs.
    """
    why = _fault_of_text(case) or _fault_of_figures(case, kind, articles)
    if why is None and not by_rule and _copies(case.question, articles, case.language):
        why = "copied"
    if why is None and kind == "competitor" and name and name not in case.question:
        why = "no_name"
    return RejectedQuestion(case=case, why=why) if why else None


def _fault_of_text(case: Case) -> Reason | None:
    question = case.question
    first = case.history[:1]
    if not any(map(str.isalnum, question)) or not any(map(str.strip, case.references_at(1))):
        return "empty"
    if len(question) > LONGEST[case.language] or question.count("\n") > 2:
        return "long"
    # Keywords may be a product's name in Latin letters.
    text = "\n".join([question, *case.references_at(1), *(line.content for line in first)])
    if language_of(text) != case.language:
        return "language"
    return "document" if _names_document(case.language).search(question) else None


@cache
def _names_document(language: Language) -> re.Pattern[str]:
    return re.compile("|".join(read_toml(CHECKS_FILE)[language]["document"]), re.IGNORECASE)


def _fault_of_figures(case: Case, kind: Kind, articles: Sequence[Article]) -> Reason | None:
    if kind in OUT_OF_SCOPE:
        return None
    stated = quantities("\n".join(chain.from_iterable(case.references)))
    if kind == "number" and not stated and not re.search(r"\d", "".join(case.references_at(1))):
        return "no_number"
    supported = quantities("\n".join([case.question, *(article.text for article in articles)]))
    # A sum of figures is a right answer, too, and a reader of the passages checks it.
    return "unsupported" if len(unmatched(stated, supported)) > max(1, len(stated) // 2) else None


def _copies(question: str, articles: Sequence[Article], language: Language) -> bool:
    words = tokens(question)
    longest = max((_longest_run(words, tokens(article.text)) for article in articles), default=0)
    return longest >= COPIED_RUN[language] and longest > COPIED_SHARE * len(words)


def _longest_run(one: list[str], other: list[str]) -> int:
    """How many tokens in a row both have in common."""
    best, before = 0, [0] * (len(other) + 1)
    for token in one:
        row = [0] * (len(other) + 1)
        for at, candidate in enumerate(other, 1):
            if token == candidate:
                row[at] = before[at - 1] + 1
                best = max(best, row[at])
        before = row
    return best


def fault_of_check(case: Case, check: Check | OutsideCheck) -> RejectedQuestion | None:
    """What a reader of the gold passages found wrong; None where they answer it as the right answer does."""
    why = _against_passages(check)
    if why is None and isinstance(check, Check):
        if says_the_same(check.answer, case.references_at(1), case.language):
            return None
        return RejectedQuestion(case=case, why="differs", detail=check.answer.strip())
    return RejectedQuestion(case=case, why=why, detail=check.reason.strip()) if why else None


def _against_passages(check: Check | OutsideCheck) -> Reason | None:
    if isinstance(check, OutsideCheck):
        faults: tuple[tuple[bool, Reason], ...] = ((check.settled != "no", "answered"),)
    else:
        faults = (
            (check.answerable != "yes", "unanswerable"),
            (isinstance(check, PairCheck) and check.needed < 2, "one_passage"),
            (isinstance(check, FollowUpCheck) and check.clear_alone, "alone"),
        )
    return next((why for holds, why in ((check.names_document, "document"), *faults) if holds), None)


def says_the_same(answer: str, references: Sequence[str], language: Language) -> bool:
    """Whether an answer agrees with the right one: same figures, and most of its content.

    An answer may leave out figures, or add some that are no answer to the same question.
    """
    agreement = best_agreement(answer, references, language)
    has_figures = _has_figures_of_one(answer, references)
    if agreement.instead and not has_figures:
        return False
    # Figures were looked at above: a further one for something else is no reason.
    score = max(agreement.score, agreement.recall) if has_figures else agreement.score
    return grade_of(score, "similarity") >= AGREES


def _has_figures_of_one(answer: str, references: Sequence[str]) -> bool:
    """Whether the answer has all figures of one of the references, which must have some."""
    in_answer = quantities(answer)
    return any(figures and not unmatched(figures, in_answer) for figures in map(quantities, references))
