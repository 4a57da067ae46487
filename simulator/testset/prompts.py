"""The prompts by which a model writes and checks test questions, and the replies to them.

The prompts are in questions.toml. Passages, questions and answers are quoted as data: each under a tag whose
seal is made of all that is quoted, so no document can close its own quotation. What never changes comes
first, so that endpoints can cache it; the form of the reply stands at the end.

    write     task -> Draft or FollowUpDraft: the fact it rests on first, then question and right answer
    check     question and passages, without the right answer -> Check and its kinds, or OutsideCheck
    compare   two answers to one question -> Comparison
    distil    a dialogue -> DialogueSummary
    speakers  numbered ways of speaking -> Speakers, one to six kinds of customers

Replies are read as models write them: はい for yes, one text for a list of one, "2" for 2. What a reply only
guesses at (how a customer left, how patient they are) falls back to "unclear" instead of asking again.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from string import Template
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, Field

from simulator.core.replies import Reply
from simulator.core.templates import (
    LANGUAGES,
    check_languages,
    quote,
    quote_lines,
    request,
    seal_of,
)
from simulator.core.templates import Prompts as PromptFile
from simulator.core.types import Case, ChatMessage, Language
from simulator.models.client import Messages
from simulator.testset.plan import OUT_OF_SCOPE, Article, Kind, Task

# What each template of questions.toml may use; checked in both languages when the file is read.
_VARIABLES: dict[str, set[str]] = {
    "write_system": set(),
    "write": {"kind", "wording", "passages", "focus", "form"},
    "focus": {"sentence"},
    "nothing": set(),
    "check_system": set(),
    "check": {"passages", "history", "question", "form"},
    "compare_system": set(),
    "compare": {"question", "first", "second", "form"},
    "again": {"problem"},
    "distil_system": set(),
    "distil": {"dialogue", "form"},
    "speakers": {"manners", "form"},
}
# What models write instead of yes, partly and no.
_ANSWERS = {
    "はい": "yes", "true": "yes", "可": "yes", "いいえ": "no", "false": "no", "不可": "no",
    "partial": "partly", "partially": "partly", "一部": "partly",
}  # fmt: skip


def _answer(value: Any) -> Any:
    """`Yes`, `true` and `はい` are yes."""
    word = str(value).strip().casefold() if isinstance(value, (str, bool)) else value
    return _ANSWERS.get(word, word)


def _texts(value: Any) -> Any:
    """A single text as a list of one; an empty text as an empty list."""
    if isinstance(value, str):
        return [value] if value.strip() else []
    return [] if value is None else value


def _count(value: Any) -> Any:
    return int(value) if isinstance(value, str) and value.strip().isdigit() else value


def _to_five(value: Any) -> Any:
    count = _count(value)
    return max(0, min(5, count)) if isinstance(count, int) else 0


def _numbers(value: Any) -> Any:
    """Whole numbers of a list, also as text; whatever else is in it is left out."""
    listed = value if isinstance(value, list) else [value]
    return [int(number) for number in listed if str(number).strip().isdecimal()]


def _or_else(default: Any, *choices: Any) -> BeforeValidator:
    """What is not one of these counts as the default: one guess less is no reason to ask again."""
    return BeforeValidator(lambda value: value if value in choices else default)


Texts = Annotated[tuple[str, ...], BeforeValidator(_texts)]
Settled = Annotated[Literal["yes", "partly", "no"], BeforeValidator(_answer)]


# A model is sent the docstrings of these replies, and the names of those within others, in the JSON schema.
class QuestionDraft(Reply):
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
    names_document: bool = False


class PairCheck(Check):
    """The same where two passages should be needed."""

    needed: int = 2


class FollowUpQuestionCheck(Check):
    """The same where the turn before should be needed."""

    clear_alone: bool = False


class OutsideCheck(Reply):
    """Whether the knowledge base settles what should be out of its scope."""

    reason: str
    settled: Settled
    names_document: bool = False


class AnswerComparison(Reply):
    """Whether two answers to a question say the same."""

    differs: str
    same: bool


class DialogueSummary(Reply):
    """What a recorded dialogue was about, and how the customer spoke, told of themselves and left."""

    goal: str
    knows: Texts = ()
    unknown: Texts = ()
    wording: Annotated[Literal["keigo", "plain", "casual", "keywords", "typed"], BeforeValidator(_answer)] = (
        "plain"
    )
    told: Annotated[
        Literal["at_once", "when_asked", "never", "none"],
        _or_else("none", "at_once", "when_asked", "never"),
    ] = "none"
    useless: Annotated[Literal[0, 1, 2, 3, 4, 5], BeforeValidator(_to_five)] = 0
    left: Annotated[
        Literal["satisfied", "gave_up", "person", "unclear"],
        _or_else("unclear", "satisfied", "gave_up", "person"),
    ] = "unclear"
    manner: str = ""


class Speaker(Reply):
    """One kind of customer, in both languages; `like` is the shelf's persona that lends its phrases.

    `members` are the numbers of those who speak like this.
    """

    id: str
    members: Annotated[tuple[int, ...], BeforeValidator(_numbers)] = ()
    like: str = ""
    # A Literal, because strict schemas of endpoints know no bounds of numbers.
    patience: Annotated[Literal[1, 2, 3, 4, 5], BeforeValidator(_count)] = 2
    name_ja: str
    voice_ja: str
    name_en: str
    voice_en: str


class Speakers(Reply):
    """The kinds of customers that were found in recorded dialogues."""

    personas: Annotated[list[Speaker], Field(min_length=1, max_length=6)]


def draft_form(kind: Kind) -> type[QuestionDraft | FollowUpDraft]:
    """The reply in which a model writes a question of this kind."""
    return FollowUpDraft if kind == "follow-up" else QuestionDraft


def check_form(kind: Kind) -> type[Check | OutsideCheck]:
    """The reply in which a model checks a question of this kind."""
    if kind in OUT_OF_SCOPE:
        return OutsideCheck
    if kind == "two-passages":
        return PairCheck
    return FollowUpQuestionCheck if kind == "follow-up" else Check


class QuestionPrompts(PromptFile):
    """The prompts of questions.toml in both languages; checked when they are read."""

    def __init__(self) -> None:
        path = Path(__file__).with_name("questions.toml")
        super().__init__(path, _VARIABLES)
        for table in ("kinds", "wordings"):
            parts: dict[str, Any] = {language: self.tables[language][table] for language in LANGUAGES}
            check_languages(path, parts, {key: set[str]() for key in parts["ja"]})

    def write(self, task: Task) -> Messages:
        """Asks for one question."""
        language = task.language
        texts = _numbered(task.articles)
        seal = seal_of(*texts, task.sentence or "")
        focus = quote("sentence", task.sentence, seal) if task.sentence else ""
        user = self.text(
            language,
            "write",
            passages="\n".join(quote("document", text, seal) for text in texts),
            focus=self.text(language, "focus", sentence=focus) + "\n" if focus else "",
            kind=self.tables[language]["kinds"][task.kind],
            wording=self.tables[language]["wordings"][task.wording],
            form=self.form(language, "fields", draft_form(task.kind)),
        )
        return request(self.text(language, "write_system"), user)

    def check(self, case: Case, kind: Kind, articles: Sequence[Article]) -> Messages:
        """Asks whether these articles answer the question, without showing the right answer."""
        language = case.language
        texts = _numbered(articles)
        history = [f"{line.role}: {line.content}" for line in case.history]
        seal = seal_of(*texts, *history, case.question)
        nothing = self.text(language, "nothing")
        user = self.text(
            language,
            "check",
            passages="\n".join(quote("document", text, seal) for text in texts) or nothing,
            history=quote_lines(_spoken(case.history), seal) or nothing,
            question=quote("question", case.question, seal),
            form=self.form(language, "check_fields", check_form(kind)),
        )
        return request(self.text(language, "check_system"), user)

    def compare(self, case: Case, answer: str) -> Messages:
        """Asks whether the right answer and that of the check say the same."""
        language, reference = case.language, "|".join(case.references_at(1))
        seal = seal_of(case.question, reference, answer)
        user = self.text(
            language,
            "compare",
            question=quote("question", case.question, seal),
            first=quote("answer", answer, seal),
            second=quote("answer", reference, seal),
            form=self.form(language, "check_fields", AnswerComparison),
        )
        return request(self.text(language, "compare_system"), user)

    def distil(self, lines: Sequence[ChatMessage], language: Language) -> Messages:
        """Asks what a recorded dialogue was about."""
        dialogue = quote_lines(_spoken(lines), seal_of(*(line.content for line in lines)))
        form = self.form(language, "distil_fields", DialogueSummary)
        user = self.text(language, "distil", dialogue=dialogue, form=form)
        return request(self.text(language, "distil_system"), user)

    def speakers(self, manners: Sequence[str], language: Language, names: Sequence[str]) -> Messages:
        """Asks for the kinds of customers behind these ways of speaking, numbered from 1.

        `names` are the shelf's personas.
        """
        fields = json.loads(self.form(language, "speaker_fields", Speaker, names=", ".join(names)))
        form = json.dumps({"personas": [fields]}, ensure_ascii=False, indent=1)
        # Ways of speaking come out of logs, so they are quoted like everything that others wrote.
        lines = "\n".join(f"{n}. {manner}" for n, manner in enumerate(manners, 1))
        listed = quote("manners", lines, seal_of(lines))
        user = self.text(language, "speakers", manners=listed, form=form)
        return request(self.text(language, "distil_system"), user)

    def form(self, language: Language, table: str, form: type[BaseModel], **values: str) -> str:
        """The form as JSON, with what each key means.

        In the order of the reply's fields, reasons before verdicts, because a model fills it from the top.
        """
        meanings: Mapping[str, str | list[str]] = self.tables[language][table]
        filled = {
            key: Template(meaning).safe_substitute(values) if isinstance(meaning, str) else meaning
            for key, meaning in ((key, meanings[key]) for key in form.model_fields)
        }
        return json.dumps(filled, ensure_ascii=False, indent=1)


def _numbered(articles: Sequence[Article]) -> list[str]:
    return [f"[{number}] {article.text}" for number, article in enumerate(articles, 1)]


def _spoken(lines: Sequence[ChatMessage]) -> list[tuple[str, str]]:
    return [("customer" if line.role == "user" else "desk", line.content) for line in lines]
