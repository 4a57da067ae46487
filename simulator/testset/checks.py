"""Which made questions are rejected: by their form, by a reader of the passages, or as duplicates.

empty, long, language       no question, too long a one, or in another language than its article
document                    "according to the article": nobody at a desk says so
unanswerable, differs       the reader finds no answer in the passages, or another one
one_passage, alone          two passages, or the turn before, were not needed after all
answered                    out of scope, and yet the knowledge base answers it
duplicate                   asks what an accepted question asks
"""

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from itertools import count
from typing import Literal, TypeVar

from simulator.core.concurrency import for_each
from simulator.core.errors import HOPELESS, ModelFailure
from simulator.core.types import Case, Value
from simulator.grading.lexical import agreement, grade_of
from simulator.testset.prompts import Check, FollowUpQuestionCheck, OutsideCheck, PairCheck
from simulator.text.segments import normalise
from simulator.text.typography import language_of

Reason = Literal[
    "empty", "long", "language", "document", "unanswerable", "differs", "one_passage", "alone", "answered",
    "duplicate",
]  # fmt: skip
LONGEST = {"ja": 160, "en": 400}
# From which grade (1..5) of agreement on an answer from the passages alone says what the right answer says.
AGREES = 3
# What a spreadsheet takes for a formula at the beginning of a cell, and spaces that may stand before it.
FORMULA = "=+-@＝＋－＠\t\r \u3000"
# The share (0..1) of common trigrams (Jaccard) from which two questions are the same.
SAME = 0.75
# The same of questions on different passages: those for two similar products differ in a word only.
SAME_ELSEWHERE = 0.9


def bare(text: str) -> str:
    """A line without the quotation marks around it and the signs before it that models put there.

    「料金はいくら？」 and "How much?" lose their marks, =SUM(1) its sign: what is left begins with nothing
    that a spreadsheet takes for a formula.
    """
    plain = text.strip().lstrip(FORMULA)
    for opening, closing in ("「」", '""', "“”", "''"):
        inside = plain[1:-1]
        if len(plain) > 2 and plain[0] == opening and plain[-1] == closing and closing not in inside:
            plain = inside.strip().lstrip(FORMULA)
    return plain


class RejectedQuestion(Value):
    """A question that was made and is not proposed; `detail` explains the reason `why`."""

    case: Case
    why: Reason
    detail: str = ""


Item = TypeVar("Item")


class TestSet:
    """Accepted cases, rejected questions, and failures of models as (id, kind of failure)."""

    def __init__(self) -> None:
        self.cases: list[Case] = []
        self.rejected: list[RejectedQuestion] = []
        self.failures: list[tuple[str, str]] = []
        self._near = NearDuplicates()

    def consider(self, case: Case, fault: RejectedQuestion | None = None) -> None:
        """Accepts a question, unless it has a fault or asks what an earlier one asks."""
        if fault is None:
            # A follow-up is another question after another turn.
            earlier = [line.content for line in case.history if line.role == "user"]
            other = self._near.add("\n".join([*earlier, case.question]), case.id, case.passages)
            if other is None:
                self.cases.append(case)
                return
            fault = RejectedQuestion(case=case, why="duplicate", detail=other)
        self.rejected.append(fault)

    async def collect(
        self,
        items: Mapping[str, Item],
        make: Callable[[Item], Awaitable[tuple[Case, RejectedQuestion | None]]],
        at_once: int,
        progress: Callable[[int, int], None],
    ) -> None:
        """Makes a question of each item, `at_once` together, and considers them in the items' order.

        So the same questions are accepted whichever reply comes first. What a model fails at is counted.
        AccessDenied, BudgetSpent and unexpected errors end all and are raised; what was finished is kept: an
        expired key after thirty questions costs none of them.
        """
        results: dict[str, tuple[Case, RejectedQuestion | None]] = {}
        before = len(self.cases)
        finished = count(before + 1)

        async def work_on(id_: str) -> None:
            try:
                results[id_] = await make(items[id_])
            except HOPELESS:
                raise
            except ModelFailure as error:
                self.failures.append((id_, error.failure.kind))
            progress(next(finished), before + len(items))

        try:
            await for_each(tuple(items), work_on, at_once)
        finally:
            for id_ in filter(results.__contains__, items):
                self.consider(*results[id_])


class NearDuplicates:
    """Short texts so far, by their trigrams.

    Each new one is compared with all before it, which a few hundred questions allow. Two are the same from
    `SAME` of common trigrams on (Jaccard), or from `SAME_ELSEWHERE` where they are about different passages.
    """

    def __init__(self) -> None:
        self._known: list[tuple[str, frozenset[str], list[str], tuple[str, ...]]] = []

    def add(self, text: str, name: str, about: tuple[str, ...] = ()) -> str | None:
        """The name of an earlier text that says the same; None where there is none, and this one is added.

        `about` names the passages; texts about different passages must be more alike. Texts with different
        numbers never say the same: 1 giga is not 10 giga.
        """
        plain = normalise(text)
        numbers = re.findall(r"\d+", plain)
        plain = " " + re.sub(r"[\W_]+", "", plain) + " "
        grams = frozenset(plain[at : at + 3] for at in range(max(1, len(plain) - 2)))
        for twin, other, digits, passages in self._known:
            same = SAME if passages == about else SAME_ELSEWHERE
            if numbers == digits and len(grams & other) / len(grams | other) >= same:
                return twin
        self._known.append((name, grams, numbers, about))
        return None


def fault_of_form(case: Case) -> RejectedQuestion | None:
    """What is wrong with a question by itself, before a model reads it; None where nothing is."""
    why: Reason | None = None
    question = case.question
    # Keywords may be a product's name in Latin letters.
    first = [line.content for line in case.history[:1]]
    spoken = language_of("\n".join([question, *case.references_at(1), *first]))
    if not any(map(str.isalnum, question)) or not any(map(str.strip, case.references_at(1))):
        why = "empty"
    # Longer than a customer types, or a list: models answer the prompt instead of asking.
    elif len(question) > LONGEST[case.language] or question.count("\n") > 2:
        why = "long"
    elif spoken != case.language:
        why = "language"
    return RejectedQuestion(case=case, why=why) if why else None


def fault_of_check(case: Case, check: Check | OutsideCheck) -> RejectedQuestion | None:
    """What a reader of the gold passages found wrong; None where they answer it as the right answer does."""
    why: Reason | None = None
    match check:
        case OutsideCheck() | Check() if check.names_document:
            why = "document"
        # "partly" is enough: a question that half has an answer is not out of scope.
        case OutsideCheck() if check.settled != "no":
            why = "answered"
        case Check() if check.answerable != "yes":
            why = "unanswerable"
        case PairCheck() if check.needed < 2:
            why = "one_passage"
        case FollowUpQuestionCheck() if check.clear_alone:
            why = "alone"
        case Check() if not says_the_same(check.answer, case.references_at(1)):
            return RejectedQuestion(case=case, why="differs", detail=check.answer.strip())
    return RejectedQuestion(case=case, why=why, detail=check.reason.strip()) if why else None


def says_the_same(answer: str, references: Sequence[str]) -> bool:
    """Whether an answer agrees with one of the right ones: the same figures, and some of its words.

    An answer may add figures that are no answer to the same question.
    """
    agreements = (agreement(answer, reference) for reference in references)
    return any(
        grade_of(max(one.score, 0 if one.lacks else one.share), "similarity") >= AGREES for one in agreements
    )
