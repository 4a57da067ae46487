"""The judge's model says whether an answer has the fault of another answer to the same question.

    first      Moving costs 20 pounds, and we come on Saturdays.
    second     You pay £20 for the move.        objection  The fee is 30 pounds, not 20.
    ->  same: both give 20 pounds as the fee.

It serves two ends: wrong answers that are one fault share a row of the review and a fix; and what a team said
of an earlier answer ("the judge is wrong") holds for a later one that says the same. Asked are only pairs
that differ in their texts (results/same_faults.py).
"""

from dataclasses import dataclass

from pydantic import StrictBool

from simulator.core import shelves
from simulator.core.errors import HOPELESS, ModelFailure
from simulator.core.replies import Reply, Text
from simulator.core.templates import LANGUAGES, Prompts, fingerprint, quote, request, seal_of, stable_int
from simulator.core.types import Language
from simulator.models.client import Model

# Characters of an answer that are shown: what comes after is rarely what is objected to.
LONGEST = 4_000
# With the first answers of so many faults of its question an answer is compared, and each of these with so
# many disputed ones: a bound on what a run can cost. What comes later is a fault of its own.
MOST_FAULTS, MOST_DISPUTES = 5, 4
_VARIABLES = {
    "system": set[str](),
    "material": {"asked", "first", "answered", "second", "objection"},
    "again": {"problem"},
}


class SameFaultReply(Reply):
    """What a model answers with: the reason first."""

    reason: Text
    same: StrictBool


def most_pairs(answers: int, disputes: int = 0) -> int:
    """How many pairs of these answers to a question are asked about at most, if no two are one fault.

    Four answers -> 6; with two that were disputed in earlier runs 14.
    """
    full = min(answers, MOST_FAULTS + 1)
    return full * (full - 1) // 2 + (answers - full) * MOST_FAULTS + answers * min(disputes, MOST_DISPUTES)


@dataclass(frozen=True)
class FaultyAnswer:
    """An answer with the customer's line before it, and what the judge objects to in it."""

    line: str
    answer: str
    objection: str


class SameFaultPrompt:
    """The request about a pair: what never changes first, then the material, quoted as data."""

    def __init__(self) -> None:
        """Reads judges/_same_fault.toml."""
        self.prompts = Prompts(shelves.JUDGES / "_same_fault.toml", _VARIABLES)

    def fingerprint(self) -> str:
        """Stands for the prompt in both languages."""
        texts = (self.prompts.text(language, "system") for language in LANGUAGES)
        return fingerprint(*texts, *(self.prompts.tables[language]["material"] for language in LANGUAGES))

    def messages(self, first: FaultyAnswer, second: FaultyAnswer, language: Language) -> list[dict[str, str]]:
        """The request whether the second answer has the fault of the first."""
        material = {
            "asked": ("question", first.line),
            "first": ("first", first.answer),
            "answered": ("question", second.line),
            "second": ("second", second.answer),
            "objection": ("objection", second.objection),
        }
        seal = seal_of(*(text for _tag, text in material.values()))
        quoted = {name: quote(tag, text[:LONGEST], seal) for name, (tag, text) in material.items()}
        text = self.prompts.text
        return request(text(language, "system"), text(language, "material", **quoted))


class SameFaultJudge:
    """Asks a model whether an answer has the fault of another one."""

    def __init__(self, model: Model, seed: int) -> None:
        """Raises PromptError where judges/_same_fault.toml is not what it should be."""
        self.model, self.seed, self.prompt = model, seed, SameFaultPrompt()

    async def __call__(self, first: FaultyAnswer, second: FaultyAnswer, language: Language) -> bool | None:
        """Whether the second has the fault of the first; None where the model did not say.

        Raises AccessDenied, Outage and BudgetSpent.
        """
        try:
            reply = await self.model.ask(
                self.prompt.messages(first, second, language),
                SameFaultReply,
                self.prompt.prompts.again(language),
                seed=stable_int(self.seed, first.answer, second.answer),
            )
        except HOPELESS:
            raise
        except ModelFailure:
            return None
        return reply.same
