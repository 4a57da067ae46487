"""What models fill in: a draft of a question, the check of it, what a dialogue was about, who speaks how."""

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from simulator.core.replies import Reply

_ANSWERS = {
    "はい": "yes", "true": "yes", "可": "yes", "いいえ": "no", "false": "no", "不可": "no",
    "partial": "partly", "partially": "partly", "一部": "partly",
}  # fmt: skip
_TRUE = frozenset({"true", "yes", "はい", "1"})


def _answer(value: Any) -> Any:
    """`Yes`, `true` and `はい` are yes."""
    said = str(value).strip().casefold() if isinstance(value, (str, bool)) else value
    return _ANSWERS.get(said, said)


def _truth(value: Any) -> Any:
    return value.strip().casefold() in _TRUE if isinstance(value, str) else value


def _texts(value: Any) -> Any:
    """One text where a list is asked for is a list of one; an empty one is none."""
    if isinstance(value, str):
        return [value] if value.strip() else []
    return [] if value is None else value


def _count(value: Any) -> Any:
    return int(value) if isinstance(value, str) and value.strip().isdigit() else value


Texts = Annotated[tuple[str, ...], BeforeValidator(_texts)]
Truth = Annotated[bool, BeforeValidator(_truth)]
Settled = Annotated[Literal["yes", "partly", "no"], BeforeValidator(_answer)]
# The bounds stand within: an endpoint's strict schemas know no others.
Patience = Annotated[Literal[1, 2, 3, 4, 5], BeforeValidator(_count)]


class Draft(Reply):
    """A question with its right answer; the fact it rests on is named first."""

    fact: str
    question: str
    reference: str
    goal: str
    knows: Texts = ()


class FollowUpDraft(Reply):
    """A question that needs the turn before it."""

    fact: str
    earlier_question: str
    earlier_answer: str
    question: str
    reference: str
    goal: str
    knows: Texts = ()


class Check(Reply):
    """Whether the gold passages answer a question, and how, without sight of the right answer."""

    reason: str
    answer: str
    answerable: Settled
    names_document: Truth = False


class Comparison(Reply):
    """Whether two answers to a question say the same."""

    differs: str
    same: Truth


class PairCheck(Check):
    """The same where two passages should be needed."""

    needed: Annotated[int, BeforeValidator(_count)] = 2


class FollowUpCheck(Check):
    """The same where the turn before should be needed."""

    clear_alone: Truth = False


class OutsideCheck(Reply):
    """Whether the knowledge base settles what should be out of its scope."""

    reason: str
    settled: Settled
    names_document: Truth = False


class Distilled(Reply):
    """What a recorded dialogue was about, and how the customer spoke."""

    goal: str
    knows: Texts = ()
    unknown: Texts = ()
    wording: Annotated[Literal["keigo", "plain", "casual", "keywords", "typed"], BeforeValidator(_answer)] = (
        "plain"
    )
    manner: str = ""


class Speaker(Reply):
    """One kind of customer, in both languages; `like` is the shelf's persona that lends its phrases."""

    id: str
    like: str = ""
    patience: Patience = 2
    name_ja: str
    voice_ja: str
    name_en: str
    voice_en: str


class Speakers(Reply):
    """The kinds of customers that were found in recorded dialogues."""

    personas: Annotated[list[Speaker], Field(min_length=1, max_length=6)]
