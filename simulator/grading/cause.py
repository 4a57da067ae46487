"""The judge's model says why a red answer is red: one call, one cause, and the article that shows it.

    question   How much is the van?            passage [van-1]   The van is free for 4 hours.
    reference  Free for 4 hours.               answer            It is £20.
    ->  invented: The answer names a price that is written nowhere. (“van-1”: “free for 4 hours”)

What the model names is checked: an article has to be among those that it was shown, and a quotation has to
stand there as it is quoted. What does not is left out of the sentence that people read.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Annotated, Any, Literal, get_args

from pydantic import BeforeValidator, WithJsonSchema

from simulator.core import shelves
from simulator.core.errors import HOPELESS, ModelFailure
from simulator.core.messages import encodable, shown
from simulator.core.replies import Reply, Text, as_key
from simulator.core.templates import (
    LANGUAGES,
    Prompts,
    fingerprint,
    quote,
    quote_lines,
    request,
    seal_of,
    stable_int,
)
from simulator.core.types import GradingContext, Language, Passage, Value
from simulator.grading.rubric import LONGEST_MATERIAL, earlier_lines, within
from simulator.models.client import Model
from simulator.text.segments import normalise

# Articles beside the retrieved ones that a model is shown, and characters of a reason that are kept.
NEAREST, LONGEST_REASON = 4, 400
JudgedName = Literal[
    "should_refuse", "no_handover", "lost_thread", "outdated", "knowledge", "spelling", "retrieval",
    "should_answer", "needless_question", "invented", "ignored", "tone", "unclear",
]  # fmt: skip
JUDGED_NAMES: tuple[JudgedName, ...] = get_args(JudgedName)
_NUMBER = re.compile(r"\A\d+[\W_]*")
# The texts that judges/_cause.toml has in both languages, with the variables of each.
_VARIABLES: dict[str, set[str]] = {
    "system": set(),
    "material": {
        "history", "question", "reference", "answer", "verdict", "passages", "articles", "records",
    },
    "again": {"problem"},
    **{name: set() for name in ("nothing", "answerable", "unanswerable", "to_a_person", "unknown", "hidden")},
    **{name: {"ids"} for name in ("needed", "came", "missed")},
}  # fmt: skip


def _name(value: Any) -> Any:
    """A cause without its number in the list, as in "10 invented" or "Lost thread"."""
    return _NUMBER.sub("", as_key(value)) if isinstance(value, str) else value


class CauseReply(Reply):
    """What a model answers with: the reason first."""

    reason: Text
    article: Text = ""
    words: Text = ""
    cause: Annotated[
        JudgedName,
        BeforeValidator(_name),
        WithJsonSchema({"type": "string", "enum": list(JUDGED_NAMES)}),
    ]


class JudgedCause(Value):
    """What a model said of a red answer: the `reason` in one or two sentences, or why it gave no `cause`.

    `article` is the id of a passage or article that it was shown, `words` a quotation from it; both are empty
    where there was none. `rubric` stands for prompt and model.
    """

    cause: JudgedName | None
    reason: str
    article: str = ""
    words: str = ""
    rubric: str = ""


@dataclass(frozen=True)
class CauseMaterial:
    """A red answer with all that a model is shown of it.

    `verdict` is what the judge said, `near` are articles that were not retrieved; None where the bot's
    articles are not known. `needed` are the ids of the articles that the case names for this turn, `missed`
    those that were not retrieved.
    """

    context: GradingContext
    verdict: str
    near: tuple[Passage, ...] | None = None
    needed: tuple[str, ...] = ()
    missed: tuple[str, ...] = ()

    @property
    def language(self) -> Language:
        """The case's."""
        return self.context.case.language


def context_key(context: GradingContext) -> str:
    """The same for every customer who got this answer, with these passages, to this question."""
    turn, case = context.turn, context.case
    passages = [text for passage in turn.answer.passages for text in (passage.id, passage.text)]
    asked = case.language, case.id, case.question, turn.user
    return fingerprint(*asked, turn.answer.text, *context.right_answers, *passages)


class CausePrompt:
    """The request for a cause: what never changes first, then the material, quoted as data."""

    def __init__(self) -> None:
        """Reads judges/_cause.toml."""
        self.prompts = Prompts(shelves.JUDGES / "_cause.toml", _VARIABLES)

    def fingerprint(self) -> str:
        """Stands for the prompt in both languages."""
        return fingerprint(*(self.prompts.text(language, "system") for language in LANGUAGES))

    def messages(self, material: CauseMaterial) -> list[dict[str, str]]:
        """The request about one answer."""
        language, text, turn = material.language, self.prompts.text, material.context.turn
        nothing = text(language, "nothing")
        passages, articles = _shown(material)
        history = earlier_lines(material.context)
        references = material.context.right_answers
        parts = [turn.user, turn.answer.text, material.verdict, *references]
        texts = [f"[{passage.id}] {passage.text}" for passage in (*passages, *articles)]
        records = "\n".join(self._records(material))
        seal = seal_of(*parts, *texts, *(said for _tag, said in history), records)

        def quoted(tag: str, texts: Iterable[str]) -> str:
            return "\n".join(quote(tag, text, seal) for text in texts) or nothing

        filled = text(
            language,
            "material",
            history=quote_lines(history, seal) or nothing,
            question=quote("question", turn.user, seal),
            reference=quoted("reference", references),
            answer=quote("answer", turn.answer.text, seal),
            verdict=quote("verdict", material.verdict, seal),
            passages=quoted("passage", texts[: len(passages)]),
            articles=quoted("article", texts[len(passages) :]),
            records=quoted("records", filter(None, [records])),
        )
        return request(text(language, "system"), filled)

    def _records(self, material: CauseMaterial) -> Iterator[str]:
        """What the case and ids prove: facts that a model need not guess at."""
        language, text, case = material.language, self.prompts.text, material.context.case
        if material.context.turn.index == 1 and case.answerable is not None:
            yield text(language, "answerable" if case.answerable else "unanswerable")
        if case.handover == "required":
            yield text(language, "to_a_person")
        for key, ids in (
            ("needed", material.needed),
            ("came", [id_ for id_ in material.needed if id_ not in material.missed]),
            ("missed", material.missed),
        ):
            if ids:
                yield text(language, key, ids=", ".join(ids))
        if not material.context.turn.answer.shows_passages:
            yield text(language, "hidden")
        elif material.near is None:
            yield text(language, "unknown")


def _shown(material: CauseMaterial) -> tuple[list[Passage], list[Passage]]:
    """The passages and articles that fit, whole ones."""
    passages, _unused = within(material.context.turn.answer.passages, LONGEST_MATERIAL)
    articles, _unused = within(material.near or (), LONGEST_MATERIAL)
    return passages, articles


class CauseJudge:
    """Asks a model for the cause of a red answer."""

    def __init__(self, model: Model, seed: int) -> None:
        """Raises PromptError where judges/_cause.toml is not what it should be."""
        self.model, self.seed, self.prompt = model, seed, CausePrompt()
        self.rubric = fingerprint(self.prompt.fingerprint(), model.endpoint.model)

    async def __call__(self, material: CauseMaterial) -> JudgedCause:
        """The cause of an answer, or why there is none. Raises AccessDenied, Outage and BudgetSpent.

        Any other failure of the model costs this answer alone.
        """
        try:
            reply = await self.model.ask(
                self.prompt.messages(material),
                CauseReply,
                self.prompt.prompts.again(material.language),
                seed=stable_int(self.seed, context_key(material.context)),
            )
        except HOPELESS:
            raise
        except ModelFailure as error:
            return JudgedCause(cause=None, reason=_line(shown(error.failure.message, material.language)))
        return checked(reply, material).model_copy(update={"rubric": self.rubric})


def checked(reply: CauseReply, material: CauseMaterial) -> JudgedCause:
    """The reply without an article that was not shown, and without words that do not stand in it."""
    passages = {passage.id: passage.text for pieces in _shown(material) for passage in pieces}
    article, reason = reply.article.strip().strip("[]［］").strip(), _line(reply.reason)
    words = _line(reply.words).strip("\"'“”‘’「」『』 ")
    if article not in passages:
        # Nor is it named by the reason.
        reason = reason.replace(article, "…") if len(article) > 1 else reason
        return JudgedCause(cause=reply.cause, reason=reason)
    is_there = bool(words) and _plain(words) in _plain(passages[article])
    return JudgedCause(cause=reply.cause, reason=reason, article=article, words=words if is_there else "")


def _line(text: str) -> str:
    text = " ".join(str(encodable(text)).split())
    return text if len(text) <= LONGEST_REASON else f"{text[: LONGEST_REASON - 1]}…"


def _plain(text: str) -> str:
    """A text as quotations are compared: without regard to case, width and spaces."""
    return "".join(normalise(text).split())
