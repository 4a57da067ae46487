"""The judge's model is asked which unwritten rules of a desk explain why people and the judge differ.

    people: bad     judge: good     "I am afraid I cannot say."        comment: no number to call
    people: bad     judge: good     "That is not in our records."
    ->  An answer that cannot help and names no contact is bad. (1, 2)

Questions, answers and comments are quoted as data. What comes back is checked: a rule has to rest on answers
to two questions among those that were shown, an example is one of these answers, and neither holds personal
data. What a rule may never do is decide alone: it counts only where held labels show that it helps
(results/learning.py).
"""

import re
from collections.abc import Iterable, Sequence
from typing import Annotated, Any, NamedTuple

from pydantic import BeforeValidator, Field

from simulator.core import shelves
from simulator.core.messages import encodable
from simulator.core.replies import Reply, Text
from simulator.core.templates import Prompts, quote, request, seal_of
from simulator.core.types import GradingContext, Language
from simulator.grading.desk import LONGEST, MOST_CLAUSES, MOST_EXAMPLES, Clause, DeskExample, DeskRules
from simulator.models.client import Model
from simulator.privacy.redactor import Redactor
from simulator.text.segments import normalise

# As many disagreements and agreements are shown, and so many characters of each text.
MOST_DIFFERING, MOST_AGREED, LONGEST_TEXT = 40, 12, 1200
_VARIABLES: dict[str, set[str]] = {
    "system": set(),
    "material": {"guidelines", "clauses", "withdrawn", "differing", "agreed"},
    "case": {"number", "people", "judge", "pieces"},
    "again": {"problem"},
    **{name: set() for name in ("good", "bad", "nothing")},
}


def _numbers(value: Any) -> list[int]:
    """Numbers of cases, also as "3, 7" or "No. 3"."""
    return [int(number) for number in re.findall(r"\d{1,4}", str(value))]


def _items(value: Any) -> list[Any]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


Numbers = Annotated[list[int], BeforeValidator(_numbers)]


class ClauseDraft(Reply):
    """A rule and the numbers of the answers that it rests on."""

    text: Text = ""
    cases: Numbers = Field(default=[])


class ExampleDraft(Reply):
    """The number of an answer, and why people call it good or bad."""

    case: Numbers = Field(default=[])
    because: Text = ""


class UnclearDraft(Reply):
    """Answers on which people differ from each other, and what to ask the lead."""

    cases: Numbers = Field(default=[])
    question: Text = ""


class Proposal(Reply):
    """What a model answers with: what it saw first, then the rules."""

    findings: Any = None
    clauses: Annotated[list[ClauseDraft], BeforeValidator(_items)] = Field(default=[])
    examples: Annotated[list[ExampleDraft], BeforeValidator(_items)] = Field(default=[])
    unclear: Annotated[list[UnclearDraft], BeforeValidator(_items)] = Field(default=[])


class LabelledRow(NamedTuple):
    """An answer that people called good or bad, whatever they saw of a judge's grade.

    `label` is the id of what they said: run, conversation and turn, or the row of a file. `split` says that
    they differ from each other: `bad` is then what most of them said, and nothing is learned from it but
    what the lead says that the desk expects there (`expected`, empty where the lead was not asked). `marked`
    and `reason` are the judge's, once it has graded the answer.
    """

    label: str
    question: str
    context: GradingContext
    bad: bool
    comments: tuple[str, ...] = ()
    split: bool = False
    expected: str = ""
    marked: bool = False
    reason: str = ""


class Proposed(NamedTuple):
    """The rules and examples that may be tried, and questions for the lead, each with ids of labels."""

    clauses: tuple[Clause, ...] = ()
    examples: tuple[DeskExample, ...] = ()
    unclear: tuple[Clause, ...] = ()


class ProposalPrompt:
    """The request: what never changes first, then the material, quoted as data."""

    def __init__(self) -> None:
        """Reads judges/_learn.toml."""
        self.prompts = Prompts(shelves.JUDGES / "_learn.toml", _VARIABLES)

    def messages(
        self,
        differing: Sequence[LabelledRow],
        agreed: Sequence[LabelledRow],
        desk: DeskRules,
        guidelines: str,
        language: Language,
    ) -> list[dict[str, str]]:
        """The request about these answers; both lists are numbered on, from 1."""
        text, cases = self.prompts.text, [*differing, *agreed]
        pieces = [list(_pieces(case)) for case in cases]
        written = [clause.text for clause in (*desk.clauses, *desk.withdrawn)]
        seal = seal_of(guidelines, *written, *(part for piece in pieces for _tag, part in piece))

        def shown(numbers: Iterable[int]) -> str:
            return "\n".join(
                text(
                    language,
                    "case",
                    number=str(number),
                    people=text(language, "bad" if cases[number - 1].bad else "good").strip(),
                    judge=text(language, "bad" if cases[number - 1].marked else "good").strip(),
                    pieces="\n".join(quote(tag, part, seal) for tag, part in pieces[number - 1]),
                )
                for number in numbers
            ) or text(language, "nothing")

        def quoted(tag: str, clauses: Sequence[Clause]) -> str:
            lines = (quote(tag, clause.text, seal) for clause in clauses)
            return "\n".join(lines) or text(language, "nothing")

        material = text(
            language,
            "material",
            guidelines=quote("guidelines", guidelines, seal),
            clauses=quoted("rule", desk.clauses),
            withdrawn=quoted("withdrawn", desk.withdrawn),
            differing=shown(range(1, len(differing) + 1)),
            agreed=shown(range(len(differing) + 1, len(cases) + 1)),
        )
        return request(text(language, "system"), material)


def _pieces(case: LabelledRow) -> Iterable[tuple[str, str]]:
    """What is shown of an answer: tag and text, shortened."""
    turn = case.context.turn
    yield "question", turn.user[:LONGEST_TEXT]
    for reference in case.context.references[:1]:
        yield "reference", reference[:LONGEST_TEXT]
    yield "answer", turn.answer.text[:LONGEST_TEXT]
    if case.reason:
        yield "judge", case.reason[:LONGEST]
    for comment in case.comments:
        yield "comment", comment[:LONGEST]


async def propose(
    model: Model,
    *,
    seed: int,
    differing: Sequence[LabelledRow],
    agreed: Sequence[LabelledRow],
    desk: DeskRules,
    guidelines: str,
    language: Language,
) -> Proposed:
    """What the model proposes, checked. Raises ModelFailure."""
    prompt, differing, agreed = ProposalPrompt(), differing[:MOST_DIFFERING], agreed[:MOST_AGREED]
    messages = prompt.messages(differing, agreed, desk, guidelines, language)
    reply = await model.ask(messages, Proposal, prompt.prompts.again(language), seed=seed)
    return checked(reply, differing, desk, language)


def checked(
    reply: Proposal, differing: Sequence[LabelledRow], desk: DeskRules, language: Language
) -> Proposed:
    """What of a reply may be tried: rules that rest on answers to two questions, and answers as examples.

    A rule in the words of one that stands there already, or that a person withdrew, is left out.
    """

    def line(text: str) -> str:
        return one_line(text, language)

    def cases_of(numbers: Iterable[int]) -> list[LabelledRow]:
        return [differing[number - 1] for number in dict.fromkeys(numbers) if 0 < number <= len(differing)]

    written = {normalise(clause.text) for clause in (*desk.clauses, *desk.withdrawn)}
    clauses = dict[str, Clause]()
    for draft in reply.clauses:
        text, cases = line(draft.text), cases_of(draft.cases)
        if text and normalise(text) not in written and len({case.question for case in cases}) > 1:
            clause = Clause(text=text, labels=tuple(case.label for case in cases))
            clauses.setdefault(normalise(text), clause)
    examples = [
        DeskExample(
            question=line(case.context.turn.user),
            answer=line(case.context.turn.answer.text),
            good=not case.bad,
            because=line(draft.because),
            labels=(case.label,),
        )
        for draft in reply.examples
        for case in cases_of(draft.case)[:1]
    ]
    unclear = (
        Clause(text=line(draft.question), labels=tuple(case.label for case in cases_of(draft.cases)))
        for draft in reply.unclear
        if draft.question.strip()
    )
    # An example without a rule would only say that one answer is good or bad.
    kept = examples[:MOST_EXAMPLES] if clauses else []
    return Proposed(tuple(clauses.values())[:MOST_CLAUSES], tuple(kept), tuple(unclear))


def one_line(text: str, language: Language) -> str:
    """A text as a rule may have it: masked, in one line, and not too long."""
    return Redactor().redact(" ".join(str(encodable(text)).split()), language).text[:LONGEST]
