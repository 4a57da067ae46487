"""How many tokens the prompts of a run have, and what has not been said yet is taken to have.

What is the same for every conversation (frames, criteria, forms, personas) is rendered and counted once.
"""

import inspect
import math
import re
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any, NamedTuple

from simulator import find, kinds
from simulator.prompts import read_toml
from simulator.rubrics import Form, Rubric
from simulator.stage import Stage
from simulator.types import Answer, Case, Conversation, Exhibit, Language, Passage, Turn

# What has not been said yet is taken to be this long at most: (Japanese, English) characters.
ANSWER = {"ja": 160, "en": 420}
PASSAGE = {"ja": 300, "en": 700}
PASSAGES = 4
LINE = {"ja": 40, "en": 80}
# Tokens a filled-in form takes at most, beside the words of the customer.
GRADES, GRADE, LEAVING = 420, 90, 40

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
    items: int


def longest(language: Language) -> Lengths:
    """Seldom exceeded; forms are taken whole (GRADES, GRADE)."""
    letter = "あ" if language == "ja" else "a"
    answer, passage, line = (tokens(letter * each[language]) for each in (ANSWER, PASSAGE, LINE))
    return Lengths(answer, passage, line, LEAVING, 0, 0)


# As the prompts ask for: a line of 15 to 45 characters or 5 to 18 words; reasons half as long again as those
# of the worked examples.
_USUAL = {"ja": Lengths(64, 235, 26, 32, 20, 3), "en": Lengths(42, 170, 16, 28, 14, 3)}


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


class CaseSizes(NamedTuple):
    """Tokens of what a case brings, and of what a bot is taken to answer to it."""

    question: float
    goal: float
    facts: float
    history: float
    references: tuple[float, ...]
    answer: float
    passages: float


class Asked(NamedTuple):
    """What is asked about one turn: the calls, and the tokens of all their prompts and replies."""

    calls: int
    prompts: float
    replies: float


class Sizes:
    """The prompts of one run in one language."""

    def __init__(self, stage: Stage, language: Language, lengths: Lengths, *, exact: bool) -> None:
        """`exact`: filled-in forms are counted field by field, else taken to be as long as they get."""
        self.stage, self.language, self.lengths, self.exact = stage, language, lengths, exact
        self._customers: dict[str, float] = {}
        self._openings: dict[str, float] = {}
        self._grading: dict[tuple[bool, bool], tuple[Asked, Asked]] = {}

    def case(self, case: Case) -> CaseSizes:
        """The sizes of one question."""
        recorded = self.stage.settings.adapter == "recorded" and case.answer is not None
        question = _size(case.question)
        return CaseSizes(
            question=question,
            goal=_size(case.goal) if case.goal else question,
            facts=sum(_size(f"- {fact}\n") for fact in (*case.facts.knows, *case.facts.unknown)),
            history=sum(_size(message.content) for message in case.history),
            references=tuple(sum(map(_size, turn)) for turn in case.references),
            answer=_size(case.answer or "") if recorded else self.lengths.answer,
            passages=sum(map(_size, map(str, case.contexts))) if recorded else self._passages,
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
                knows="\n".join(f"- {each}" for each in voice.knows),
                unknown="\n".join(f"- {each}" for each in voice.unknown),
                question="",
                goal="",
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
        texts = read_toml(find.ADAPTERS / "demo_prompt.toml")[self.language]
        return _size(texts["system"]) + _size(texts["user"])

    @cached_property
    def _passages(self) -> float:
        return self._passages_shown * self.lengths.passage

    @cached_property
    def _passages_shown(self) -> int:
        """How many passages an answer has: none where the adapter is told of none, else `top` or four."""
        adapter, told = self.stage.settings.adapter, self.stage.settings.set
        if self.exact and (adapter == "openai_chat" or (adapter == "http" and "passages" not in told)):
            return 0
        top = told.get("top", "") if adapter == "demo" else ""
        return int(top) if top.isdecimal() else PASSAGES

    def grading(self, *, referenced: bool, passages: bool) -> tuple[Asked, Asked]:
        """What is asked about one turn: by rubrics (of each model, for each vote), and by function judges."""
        key = (referenced, passages)
        if key not in self._grading:
            grading = self.stage.grading
            has = {"reference": referenced, "passages": passages, "retrieval": passages}
            rubrics = [each for each in grading.rubrics if all(has[need] for need in each.needs)]
            forms = [each for each in grading.forms if all(has[need] for need in each.needs)]
            combined = grading.together
            groups = [rubrics] * bool(rubrics) if combined else [[each] for each in rubrics]
            self._grading[key] = (
                self._asked(groups, referenced=referenced, alone=not combined),
                self._asked([[form] for form in forms], referenced=referenced, alone=True),
            )
        return self._grading[key]

    def _asked(self, groups: Sequence[Sequence[Form]], *, referenced: bool, alone: bool) -> Asked:
        prompts = [self._rendered(group, referenced=referenced, alone=alone) for group in groups]
        return Asked(len(groups), sum(prompts), sum(map(self._filled, groups)))

    @cached_property
    def before(self) -> float:
        """What an earlier turn adds to a judge's prompt beside its words: the marks of two quotations."""
        asked = [*self.stage.grading.rubrics, *self.stage.grading.forms][:1]
        if not asked:
            return 0.0
        return (self._rendered(asked, earlier=2) - self._rendered(asked, earlier=1)) if asked else 0.0

    def _rendered(
        self, forms: Sequence[Form], *, referenced: bool = False, alone: bool = True, earlier: int = 0
    ) -> float:
        """A judge's prompt without question, answer, references and the text of passages."""
        count = self._passages_shown
        shown = tuple(Passage(id=f"{self.language}/{n:02}-passage", text="") for n in range(count))
        turn = Turn(index=1, user="", answer=Answer(text="", passages=shown))
        references = ((".",),) if referenced else ()
        case = Case(id="size", question="?", language=self.language, references=references)
        exhibit = Exhibit(conversation="size", case=case, persona="", turn=turn, earlier=(turn,) * earlier)
        return _size_of(self.stage.grading.frame.prompt(exhibit, forms, alone=alone))

    def _filled(self, forms: Sequence[Form]) -> float:
        """A judge's reply: the forms filled in."""
        if self.exact:
            return sum(self._form(form) + (len(forms) > 1) * 4 for form in forms)
        first = GRADES if len(forms) > 1 or forms[0].name == "turn" else GRADE
        return first + GRADE * (len(forms) - 1)

    def _form(self, form: Form) -> float:
        return 2 + sum(_size(key) + 2 + self._field(kind) for key, kind in form.fields.items())

    def _field(self, name: str) -> float:
        kind = kinds.KINDS[name]
        if name == "texts" or kind.items:
            return self.lengths.items * self.lengths.sentence
        return 1.0 if kind.scale else self.lengths.sentence


def _size_of(messages: Sequence[dict[str, str]]) -> float:
    return sum(_size(message["content"]) for message in messages)


def embeds(judge: Any) -> bool:
    """Whether a judge asks for embeddings: a function that has a parameter `embed`."""
    return not isinstance(judge, Rubric) and "embed" in inspect.signature(judge).parameters


def wants_references(judge: Any) -> bool:
    """Whether a function judge grades only the turns that have a reference."""
    return "references" in inspect.signature(judge).parameters
