"""How consistent the answers of a run are: which answers to the same question disagree, and how often."""

import re
from collections import defaultdict
from itertools import combinations, product
from typing import Any, Literal

from pydantic import TypeAdapter, ValidationError

from simulator.addons.consistency.disagreement import Disagreement, across_languages, disagreement
from simulator.core.errors import RunFileError
from simulator.core.messages import _
from simulator.core.types import Case, Conversation, Results, Turn, Value
from simulator.stats.intervals import interval_of_mean

# Why two answers must agree: the same case; or the same question in other words or another language.
Link = Literal["same_case", "same_question"]
VARIANT = "variant:"
# The note of a run with what models made of the answers to its questions.
NOTE = "consistency"
SEED = 42
_LANGUAGE_PART = re.compile(r"[-_./](?:ja|en)(?=$|[-_./])|^(?:ja|en)[-_./]")


class Clash(Value):
    """Two answers that cannot both hold, with the statements word for word."""

    link: Link
    one: str
    one_turn: int
    other: str
    other_turn: int
    found: Disagreement


class JudgedQuestion(Value):
    """What the model `by` made of the answers to one question: who was told what contradicts what.

    `conversations` are all whose answers it compared.
    """

    by: str
    conversations: tuple[str, ...]
    clashes: tuple[Clash, ...] = ()


class CaseConsistency(Value):
    """The pairs of conversations about one question, and those among them that disagree."""

    case: str
    pairs: int
    clashes: tuple[Clash, ...] = ()

    @property
    def share(self) -> float:
        """The share (0..1) of pairs that agree."""
        return 1 - len(self.clashes) / self.pairs if self.pairs else 1.0


class Consistency(Value):
    """The consistency of a run: the mean share of agreeing pairs over its questions, 0..1.

    `low` and `high` are its 95 % interval over questions; None for too few of them. `judged` names the models
    that compared answers to the same question, and is empty where only figures and yes or no were compared.
    """

    cases: tuple[CaseConsistency, ...] = ()
    judged: tuple[str, ...] = ()
    low: float | None = None
    high: float | None = None

    @property
    def share(self) -> float | None:
        """The mean over the questions; None when nothing was asked twice."""
        return sum(case.share for case in self.cases) / len(self.cases) if self.cases else None

    @property
    def clashes(self) -> tuple[Clash, ...]:
        """Every disagreement."""
        return tuple(clash for case in self.cases for clash in case.clashes)

    def as_json(self) -> dict[str, Any]:
        """The figures for `--json`, with every disagreement."""
        return {
            "share": self.share,
            "low": self.low,
            "high": self.high,
            "cases": [{"case": case.case, "pairs": case.pairs, "share": case.share} for case in self.cases],
            "disagreements": [clash.model_dump(mode="json") for clash in self.clashes],
            "judged_by": self.judged,
        }


def consistency(results: Results) -> Consistency:
    """Compares a run's answers to the same questions; asks no bot and no model."""
    groups: dict[str, list[str]] = defaultdict(list)
    for conversation in results.conversations:
        if answered(conversation):
            groups[subject(conversation.case)].append(conversation.id)
    questions = judged_of(results)
    judged = {(clash.one, clash.other): clash for question in questions for clash in question.clashes}
    cases = []
    for case, members in groups.items():
        if len(members) < 2:
            continue
        pairs = list(combinations(results.conversations.with_ids(members), 2))
        clashes = tuple(
            clash
            for one, other in pairs
            if (
                clash := judged.get((one.id, other.id))
                or judged.get((other.id, one.id))
                or _clash(one, other)
            )
        )
        cases.append(CaseConsistency(case=case, pairs=len(pairs), clashes=clashes))
    shares, names = [case.share for case in cases], [case.case for case in cases]
    low, high = interval_of_mean(shares, names, seed=SEED) or (None, None)
    by = tuple(sorted({question.by for question in questions}))
    return Consistency(cases=tuple(cases), judged=by, low=low, high=high)


def judged_of(results: Results) -> tuple[JudgedQuestion, ...]:
    """What models made of the answers to one question; raises RunFileError for an unreadable note."""
    try:
        return TypeAdapter(tuple[JudgedQuestion, ...]).validate_python(results.notes.get(NOTE, []))
    except ValidationError:
        msg = _("the cross-examination in this run file is of another version: cross-examine RUN --again.")
        raise RunFileError(msg) from None


def subject(case: Case) -> str:
    """What a case asks, the same for its wordings: its tag `variant:ID`, or its id without the language."""
    tagged = next((tag.removeprefix(VARIANT) for tag in case.tags if tag.startswith(VARIANT)), "")
    return tagged or _LANGUAGE_PART.sub("", case.id) or case.id


def _clash(one: Conversation, other: Conversation) -> Clash | None:
    """The first disagreement of two conversations; turns of the same number first, which are most alike.

    In two languages only the first answers are compared: they are the ones to the same question.
    """
    expected = (*one.case.references_at(1), *other.case.references_at(1))
    pairs = product(answered(one), answered(other))
    for turn, against in sorted(pairs, key=lambda pair: abs(pair[0].index - pair[1].index)):
        texts = turn.answer.text, against.answer.text
        found = None
        if one.case.language == other.case.language:
            found = disagreement(*texts)
        elif turn.index == against.index == 1:
            found = across_languages(*texts, expected)
        if found:
            turns = {"one_turn": turn.index, "other_turn": against.index}
            return Clash(link=link_of(one, other), one=one.id, other=other.id, found=found, **turns)
    return None


def link_of(one: Conversation, other: Conversation) -> Link:
    """Why the answers of these two must agree."""
    return "same_case" if one.case.id == other.case.id else "same_question"


def answered(conversation: Conversation) -> list[Turn]:
    """The turns that got an answer."""
    return [turn for turn in conversation.turns if not turn.answer.error and turn.answer.text.strip()]
