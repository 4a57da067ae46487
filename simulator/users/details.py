"""What customers can say of themselves where their case has no facts: drawn from personas/_details.toml.

A desk often has to know an order number, a plan or a date before it can answer. A customer who has none of
these says "I don't know" where people answer. So each conversation of such a case gets a few invented details
(`Case.details`) that fit what the question is about, where its words show that, and the persona; else only
those that anybody has. The seed, the persona and the case draw them: the same run, the same details.

    注文した商品が届きません   -> 注文番号は000-0147です / 注文したのは10日ほど前です / 名前は見本です ...
    営業時間を教えて           -> 名前は例田です / 電話番号は000-0000-0012です ...

They are stored with the conversation, shown as invented, and given to judges as what is true of the customer.
"""

import random
import re
from collections.abc import Iterator, Sequence
from functools import cache

from pydantic import Field, ValidationError

from simulator.core.errors import PromptError, value_problem
from simulator.core.messages import _
from simulator.core.shelves import PERSONAS
from simulator.core.templates import read_toml
from simulator.core.types import Case, Language, Persona, Text, Value
from simulator.text.overlap import coverage
from simulator.text.phrases import pieces
from simulator.users.guard import telling_numbers

FILE = PERSONAS / "_details.toml"
# More would make every prompt longer, and few desks ask for so many.
MOST = 6
# A fact counts as mentioned from this share (0..1) of its content on.
MENTIONED = 0.6
# Japanese keyboards type the second.
_NOT = ("!", "！")


class Detail(Value):
    """A row of the file: a thing that customers know of themselves, in one of several values."""

    about: str = ""
    unless: str = ""
    personas: tuple[Text, ...] = ()
    asked: Text
    says: tuple[Text, ...] = Field(min_length=1)

    def fits(self, case: Case, persona: Persona) -> bool:
        """Whether a customer of this kind with this case knows it; not what either calls unknown."""
        matter = f"{case.question}\n{case.goal or ''}"
        unknown = (*persona.speaks(case.language).unknown, *case.facts.unknown)
        return (
            (not self.about or _finds(self.about, matter))
            and not (self.unless and _finds(self.unless, matter))
            and is_for(self.personas, persona.id)
            and not any(_finds(self.asked, text) for text in unknown)
        )


class DetailsFile(Value):
    """The file: the rows of each language, and how a desk asks for something."""

    requests: dict[Language, Text]
    ja: tuple[Detail, ...]
    en: tuple[Detail, ...]

    def rows(self, language: Language) -> tuple[Detail, ...]:
        """The rows of a language."""
        return self.ja if language == "ja" else self.en


def fits(case: Case, persona: Persona) -> bool:
    """Whether customers of this kind have such a case: it is for them, and no word of it is not."""
    matter = "\n".join((case.question, case.goal or "", *case.tags)).casefold()
    words = persona.speaks(case.language).not_for
    return is_for(case.personas, persona.id) and not any(word.casefold() in matter for word in words)


def listed_personas(case: Case) -> list[str]:
    """The personas that a case names, wanted or not."""
    return [name.lstrip("".join(_NOT)).strip() for name in case.personas]


def is_for(names: Sequence[str], persona: str) -> bool:
    """Whether a list of personas means this one: it is named, or nobody is, and no `!name` excludes it."""
    excluded = {name[1:].strip() for name in names if name.startswith(_NOT)}
    named = [name for name in names if not name.startswith(_NOT)]
    return persona not in excluded and (not named or persona in named)


@cache
def details_file() -> DetailsFile:
    """The file; PromptError names the place of what is wrong in it."""
    try:
        return DetailsFile.model_validate(read_toml(FILE))
    except ValidationError as error:
        first = error.errors()[0]
        place, problem = ".".join(map(str, first["loc"])), value_problem(first)
        raise PromptError(_("{path}: {place}: {problem}.", path=FILE, place=place, problem=problem)) from None


def detailed(case: Case, persona: Persona, seed: int) -> Case:
    """The case with invented details for this persona; as it is, where it says itself what a customer knows.

    Lines that are fixed need none, nor do attackers and customers who never tell anything.
    """
    if case.facts.knows or case.script or persona.adversarial or persona.discloses == "never":
        return case
    rng = random.Random(f"{seed}/{persona.id}/{case.id}")  # noqa: S311 - a choice, not a secret
    # Each row draws, so that a row that does not fit changes nothing about the others.
    drawn = [(row, rng.choice(row.says)) for row in details_file().rows(case.language)]
    details = [text for row, text in drawn if row.fits(case, persona)][:MOST]
    return case.model_copy(update={"details": tuple(details)})


def asked_details(case: Case, answer: str) -> list[str]:
    """The details that an answer asks the customer for, in their order."""
    file = details_file()
    requests = [
        piece.text
        for piece in pieces(answer, case.language)
        if piece.kind == "question" or _finds(file.requests[case.language], piece.text)
    ]
    asked = {text: row.asked for row in file.rows(case.language) for text in row.says}
    return [
        detail
        for detail in case.details
        if detail in asked and any(_finds(asked[detail], request) for request in requests)
    ]


def is_mentioned(fact: str, said: Sequence[str]) -> bool:
    """Whether lines say a fact: its number, where it has one that tells something, else most of it."""
    numbers = telling_numbers(fact)
    return (
        numbers <= frozenset().union(*map(telling_numbers, said))
        if numbers
        else coverage(fact, said) >= MENTIONED
    )


def tells(case: Case, line: str) -> bool:
    """Whether a line says something that the customer knows of themselves."""
    return any(is_mentioned(fact, [line]) for fact in case.known)


def invented_values() -> Iterator[str]:
    """All texts of the file: they belong to nobody, and masking leaves them."""
    file = details_file()
    return (text for row in (*file.ja, *file.en) for text in row.says)


def _finds(pattern: str, text: str) -> bool:
    try:
        return re.search(pattern, text, re.IGNORECASE) is not None
    except re.error as error:
        raise PromptError(_("{path}: {place}: {problem}.", path=FILE, place=pattern, problem=error)) from None
