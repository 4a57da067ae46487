"""How many tokens the prompts of a run have, and what has not been said yet is taken to have.

What is the same for every conversation (frames, criteria, forms, personas) is rendered and counted once.
"""

import inspect
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

from simulator.core import replies as kinds
from simulator.core import shelves
from simulator.core.templates import read_toml
from simulator.core.types import Answer, Case, Conversation, GradingContext, Language, Passage, Turn
from simulator.grading.rubric import ReplySchema, Rubric
from simulator.stage import Stage

# What has not been said yet is taken to be this long at most: (Japanese, English) characters.
ANSWER = {"ja": 160, "en": 420}
PASSAGE = {"ja": 300, "en": 700}
PASSAGES = 4
LINE = {"ja": 40, "en": 80}
# Tokens a filled-in form takes at most, beside the words of the customer.
GRADES, GRADE, LEAVING = 420, 90, 40

_OR = re.compile(r"\s*[|｜]\s*")
_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uff00-\uffef]")


def tokens(text: str) -> int:
    """A rough count without a tokenizer: 1.1 characters a token in Japanese, 4 in English."""
    return math.ceil(_size(text))


def _size(text: str) -> float:
    cjk = 0 if text.isascii() else len(_CJK.findall(text))
    return cjk / 1.1 + (len(text) - cjk) / 4


class Lengths(NamedTuple):
    """Tokens, in one language, of what nobody has said yet."""

    answer: float
    passage: float
    line: float
    leaving: float
    sentence: float
    items: float


class Bounds(NamedTuple):
    """Tokens at least, as usual, and at most."""

    least: float
    usual: float
    most: float


class Heard(NamedTuple):
    """What a bot answered when it was asked a few questions of one language, in tokens an answer.

    `number` is how many passages an answer came with; `tells`: whether the bot says what it had retrieved;
    `asked` are the questions; `on` is the day (UTC), unless it was just now.
    """

    answer: Bounds
    passages: Bounds
    number: int
    tells: bool
    asked: int = 1
    on: str = ""


class Guess(NamedTuple):
    """How long what nobody has said yet is taken to be; `heard` is known of the bot, by language.

    `shows`: whether a bot shows passages of which nobody knows it.
    """

    bound: Literal["least", "usual", "most"] = "usual"
    shows: bool = True
    heard: Mapping[Language, Heard] = MappingProxyType({})


def longest(language: Language) -> Lengths:
    """Seldom exceeded; forms are taken whole (GRADES, GRADE)."""
    letter = "あ" if language == "ja" else "a"
    answer, passage, line = (tokens(letter * each[language]) for each in (ANSWER, PASSAGE, LINE))
    return Lengths(answer, passage, line, LEAVING, 0, 0)


# As the prompts ask for: a line of 15 to 45 characters or 5 to 18 words; reasons half as long again as those
# of the worked examples.
_USUAL = {"ja": Lengths(64, 235, 26, 32, 20, 3), "en": Lengths(42, 170, 16, 28, 14, 3)}


# Seldom undercut: this share of the usual, and one item of each list.
_LEAST = 1 / 3


def usual(language: Language, cases: Iterable[Case]) -> Lengths:
    """As long as the prompts ask for, and answers as long as the references are."""
    references = [
        _size(text)
        for case in cases
        if case.language == language
        for turn in case.references
        for text in turn
    ]
    lengths = _USUAL[language]
    return lengths._replace(answer=sum(references) / len(references)) if references else lengths


def shortest(lengths: Lengths) -> Lengths:
    """Much shorter than usual."""
    return Lengths(*(_LEAST * each for each in lengths))._replace(items=1)


def shows_passages(stage: Stage) -> bool | None:
    """Whether the bot shows passages, as far as its adapter's settings tell."""
    adapter = stage.settings.adapter
    if adapter == "http":
        return "passages" in stage.settings.set
    return True if adapter in ("demo", "recorded") else None


class CaseSizes(NamedTuple):
    """Tokens of what a case brings, and of what a bot is taken to answer to it."""

    question: float
    goal: float
    facts: float
    history: float
    references: tuple[float, ...]
    answer: float
    passages: float
    tells: bool


class Asked(NamedTuple):
    """What is asked about one turn: the calls, and the tokens of all their prompts and replies.

    `apart`: how many of the calls show the answer without question, passages and earlier turns.
    """

    calls: int
    prompts: float
    replies: float
    apart: int = 0


class Sizes:
    """The prompts of one run in one language."""

    def __init__(self, stage: Stage, language: Language, usually: Lengths, guess: Guess) -> None:
        """`usually` is how long things are in this plan, and `guess` what is made of that."""
        self.stage, self.language, self.guess = stage, language, guess
        self.heard = guess.heard.get(language)
        bounds = {"least": shortest(usually), "usual": usually, "most": longest(language)}
        self.lengths = bounds[guess.bound]
        if self.heard:
            self.lengths = self.lengths._replace(answer=getattr(self.heard.answer, guess.bound))
        self._customers: dict[str, float] = {}
        self._openings: dict[str, float] = {}
        self._grading: dict[tuple[bool, bool, bool], tuple[Asked, Asked]] = {}

    def case(self, case: Case) -> CaseSizes:
        """The sizes of one question."""
        recorded = self.stage.settings.adapter == "recorded" and case.answer is not None
        question = _size(case.question)
        passages = sum(map(_size, map(str, case.contexts))) if recorded else self._passages
        return CaseSizes(
            question=question,
            goal=_size(case.goal) if case.goal else question,
            facts=sum(_size(f"- {fact}\n") for fact in (*case.facts.knows, *case.facts.unknown)),
            history=sum(_size(message.content) for message in case.history),
            references=tuple(sum(map(_size, turn)) for turn in case.references),
            answer=_size(case.answer or "") if recorded else self.lengths.answer,
            passages=passages,
            tells=self.heard.tells if self.heard else passages > 0,
        )

    def customer(self, persona: str) -> float:
        """The instructions of a customer, without what the case adds to them."""
        if persona not in self._customers:
            voice, prompts = self.stage.personas[persona].speaks(self.language), self.stage.prompts
            system = prompts.text(
                self.language,
                "system",
                name=voice.name,
                voice=voice.voice,
                **prompts.about(self.language, voice.knows, voice.unknown, "", ""),
                turns_left="1",
                form=prompts.form(self.language),
            )
            self._customers[persona] = _size(system) + _size(self.stage.greeting(self.language))
        return self._customers[persona]

    def opening(self, talk: Conversation) -> float:
        """The request to put a first question in the persona's voice, without the question."""
        if talk.persona not in self._openings:
            case = talk.case.model_copy(update={"question": "?"})
            asked = self.stage.openings.messages(case, self.stage.personas[talk.persona])
            self._openings[talk.persona] = _size_of(asked)
        return self._openings[talk.persona]

    @cached_property
    def bot(self) -> float:
        """What the demo bot is told beside passages and dialogue."""
        texts = read_toml(shelves.ADAPTERS / "demo_prompt.toml")[self.language]
        return _size(texts["system"]) + _size(texts["user"])

    @cached_property
    def _passages(self) -> float:
        if self.heard:
            return float(getattr(self.heard.passages, self.guess.bound))
        return self._passages_shown * self.lengths.passage

    @cached_property
    def _passages_shown(self) -> int:
        """How many passages an answer has: as heard; none where there are none to be shown; `top` or four."""
        if self.heard:
            return self.heard.number
        known = shows_passages(self.stage)
        if not (self.guess.shows if known is None else known):
            return 0
        adapter, told = self.stage.settings.adapter, self.stage.settings.set
        top = told.get("top", "") if adapter == "demo" else ""
        return int(top) if top.isdecimal() else PASSAGES

    def grading(self, *, referenced: bool, passages: bool, tells: bool) -> tuple[Asked, Asked]:
        """What is asked about one turn: by rubrics (of each model, for each vote), and by function judges."""
        key = (referenced, passages, tells)
        if key not in self._grading:
            grading = self.stage.grading
            has = {"reference": referenced, "passages": passages, "retrieval": tells}
            rubrics = [each for each in grading.rubrics if all(has[need] for need in each.needs)]
            forms = [each for each in grading.forms if all(has[need] for need in each.needs)]
            combined = grading.together
            groups = [rubrics] * bool(rubrics) if combined else [[each] for each in rubrics]
            self._grading[key] = (
                self._asked(groups, referenced=referenced, alone=not combined),
                self._asked([[form] for form in forms], referenced=referenced, alone=True),
            )
        return self._grading[key]

    def _asked(self, groups: Sequence[Sequence[ReplySchema]], *, referenced: bool, alone: bool) -> Asked:
        prompts = [self._rendered(group, referenced=referenced, alone=alone) for group in groups]
        apart = sum(self._stands_apart(group) for group in groups)
        return Asked(len(groups), sum(prompts), sum(map(self._filled, groups)), apart)

    def _stands_apart(self, forms: Sequence[ReplySchema]) -> bool:
        """Whether a judge has the model see nothing but the answer."""
        shown = self._shown(forms, self._exhibit(referenced=True, earlier=1))
        return not (shown.earlier or shown.turn.answer.passages)

    def _shown(self, forms: Sequence[ReplySchema], exhibit: GradingContext) -> GradingContext:
        judge = dict(self.stage.grading.asked).get(forms[0].name)
        return exhibit if judge is None or isinstance(judge, Rubric) else seen(judge, exhibit)

    @cached_property
    def before(self) -> float:
        """What an earlier turn adds to a judge's prompt beside its words: the marks of two quotations."""
        asked = [*self.stage.grading.rubrics, *self.stage.grading.forms][:1]
        if not asked:
            return 0.0
        return (self._rendered(asked, earlier=2) - self._rendered(asked, earlier=1)) if asked else 0.0

    def _rendered(
        self, forms: Sequence[ReplySchema], *, referenced: bool = False, alone: bool = True, earlier: int = 0
    ) -> float:
        """A judge's prompt without question, answer, references and the text of passages."""
        exhibit = self._shown(forms, self._exhibit(referenced=referenced, earlier=earlier))
        return _size_of(self.stage.grading.frame.prompt(exhibit, forms, alone=alone))

    def _exhibit(self, *, referenced: bool, earlier: int) -> GradingContext:
        count = self._passages_shown
        shown = tuple(Passage(id=f"{self.language}/{n:02}-passage", text="") for n in range(count))
        turn = Turn(index=1, user="", answer=Answer(text="", passages=shown))
        references = ((".",),) if referenced else ()
        case = Case(id="size", question="?", language=self.language, references=references)
        return GradingContext(
            conversation="size", case=case, persona="", turn=turn, earlier=(turn,) * earlier
        )

    def _filled(self, forms: Sequence[ReplySchema]) -> float:
        """A judge's reply: the forms filled in."""
        if self.guess.bound != "most":
            return sum(self._form(form) + (len(forms) > 1) * 4 for form in forms)
        first = GRADES if len(forms) > 1 or forms[0].name == "turn" else GRADE
        return first + GRADE * (len(forms) - 1)

    def _form(self, form: ReplySchema) -> float:
        told = form.described(self.language)
        fields = ((key, *each) for key, each in told.items())
        return 2 + sum(_size(key) + 2 + self._field(kind, meaning) for key, kind, meaning in fields)

    def _field(self, name: str, meaning: kinds.Meaning) -> float:
        kind = kinds.KINDS[name]
        if name == "text" and (words := _alternatives(meaning)):
            return max(map(_size, words))
        if name == "conflicts":  # there seldom are any
            return _size("[]")
        if name == "texts" or kind.items:
            return self.lengths.items * self.lengths.sentence
        return 1.0 if kind.scale else self.lengths.sentence


def _alternatives(meaning: kinds.Meaning) -> list[str]:
    """The words of which a field has one, where its meaning lists them: `against: reference | passages`."""
    if not isinstance(meaning, str) or not _OR.search(meaning):
        return []
    return _OR.split(re.split("[:：]", meaning)[-1])


def _size_of(messages: Sequence[dict[str, str]]) -> float:
    return sum(_size(message["content"]) for message in messages)


class _Asking(Exception):
    """A judge is about to ask a model."""


def seen(judge: Callable[..., Any], exhibit: GradingContext) -> GradingContext:
    """What of a turn a function judge shows a model: it is called, up to where it would ask one."""

    async def fill(shown: GradingContext, _: str) -> None:
        raise _Asking(shown)

    material = {"references": exhibit.references, "passages": exhibit.turn.answer.passages}
    wanted = inspect.signature(judge).parameters
    given = {
        name: value for name, value in {**material, "fill": fill, "embed": None}.items() if name in wanted
    }
    try:
        judge(exhibit, **given).send(None)
    except _Asking as asking:
        shown: GradingContext = asking.args[0]
        return shown
    except Exception:  # it asks nobody, or not like that: then it is taken to show all there is
        return exhibit
    return exhibit


def embeds(judge: Any) -> bool:
    """Whether a judge asks for embeddings: a function that has a parameter `embed`."""
    return not isinstance(judge, Rubric) and "embed" in inspect.signature(judge).parameters


def wants_references(judge: Any) -> bool:
    """Whether a function judge grades only the turns that have a reference."""
    return "references" in inspect.signature(judge).parameters
