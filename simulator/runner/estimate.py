"""How many tokens the prompts of a run have, and what has not been said yet is taken to have.

What is the same for every conversation (frames, criteria, forms, personas) is rendered and counted once.
"""

import inspect
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property, partial
from itertools import islice
from pathlib import Path
from statistics import fmean, pstdev
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

from simulator.core import replies as kinds
from simulator.core import shelves
from simulator.core.errors import RunFileError
from simulator.core.templates import read_toml
from simulator.core.types import (
    Answer,
    Case,
    Conversation,
    Ended,
    GradingContext,
    Language,
    Passage,
    Results,
    Role,
    Run,
    Spending,
    Turn,
)
from simulator.grading.rubric import ReplySchema, Rubric
from simulator.models.pricing import together
from simulator.runner.context import RunContext
from simulator.storage.run_file import NAME, read_run

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


class TokenRange(NamedTuple):
    """Tokens at least, as usual, and at most."""

    least: float
    usual: float
    most: float


class SampledAnswers(NamedTuple):
    """What a bot answered when it was asked a few questions of one language, in tokens an answer.

    `number` is how many passages an answer came with; `tells`: whether the bot says what it had retrieved;
    `asked` are the questions; `on` is the day (UTC), unless it was just now.
    """

    answer: TokenRange
    passages: TokenRange
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
    heard: Mapping[Language, SampledAnswers] = MappingProxyType({})


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


def shows_passages(context: RunContext) -> bool | None:
    """Whether the bot shows passages, as far as its adapter's settings tell."""
    adapter = context.settings.adapter
    if adapter == "http":
        return "passages" in context.settings.set
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


class JudgePrompts(NamedTuple):
    """What is asked about one turn: the calls, and the tokens of all their prompts and replies.

    `apart`: how many of the calls show the answer without question, passages and earlier turns.
    """

    calls: int
    prompts: float
    replies: float
    apart: int = 0


class Sizes:
    """The prompts of one run in one language."""

    def __init__(self, context: RunContext, language: Language, usually: Lengths, guess: Guess) -> None:
        """`usually` is how long things are in this plan, and `guess` what is made of that."""
        self.context, self.language, self.guess = context, language, guess
        self.heard = guess.heard.get(language)
        bounds = {"least": shortest(usually), "usual": usually, "most": longest(language)}
        self.lengths = bounds[guess.bound]
        if self.heard:
            self.lengths = self.lengths._replace(answer=getattr(self.heard.answer, guess.bound))
        self._customers: dict[str, float] = {}
        self._openings: dict[str, float] = {}
        self._grading: dict[tuple[bool, bool, bool], tuple[JudgePrompts, JudgePrompts]] = {}

    def case(self, case: Case) -> CaseSizes:
        """The sizes of one question."""
        recorded = self.context.settings.adapter == "recorded" and case.answer is not None
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
            voice, prompts = self.context.personas[persona].speaks(self.language), self.context.prompts
            system = prompts.text(
                self.language,
                "system",
                name=voice.name,
                voice=voice.voice,
                **prompts.about(self.language, voice.knows, voice.unknown, "", ""),
                turns_left="1",
                form=prompts.form(self.language),
            )
            self._customers[persona] = _size(system) + _size(self.context.greeting(self.language))
        return self._customers[persona]

    def opening(self, conversation: Conversation) -> float:
        """The request to put a first question in the persona's voice, without the question."""
        if conversation.persona not in self._openings:
            case = conversation.case.model_copy(update={"question": "?"})
            asked = self.context.openings.messages(case, self.context.personas[conversation.persona])
            self._openings[conversation.persona] = _size_of(asked)
        return self._openings[conversation.persona]

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
        known = shows_passages(self.context)
        if not (self.guess.shows if known is None else known):
            return 0
        adapter, told = self.context.settings.adapter, self.context.settings.set
        top = told.get("top", "") if adapter == "demo" else ""
        return int(top) if top.isdecimal() else PASSAGES

    def grading(self, *, referenced: bool, passages: bool, tells: bool) -> tuple[JudgePrompts, JudgePrompts]:
        """What is asked about one turn: by rubrics (of each model, for each vote), and by function judges."""
        key = (referenced, passages, tells)
        if key not in self._grading:
            grading = self.context.grading
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

    def _asked(
        self, groups: Sequence[Sequence[ReplySchema]], *, referenced: bool, alone: bool
    ) -> JudgePrompts:
        prompts = [self._rendered(group, referenced=referenced, alone=alone) for group in groups]
        apart = sum(self._stands_apart(group) for group in groups)
        return JudgePrompts(len(groups), sum(prompts), sum(map(self._filled, groups)), apart)

    def _stands_apart(self, forms: Sequence[ReplySchema]) -> bool:
        """Whether a judge has the model see nothing but the answer."""
        shown = self._shown(forms, self._exhibit(referenced=True, earlier=1))
        return not (shown.earlier or shown.turn.answer.passages)

    def _shown(self, forms: Sequence[ReplySchema], context: GradingContext) -> GradingContext:
        judge = dict(self.context.grading.asked).get(forms[0].name)
        return context if judge is None or isinstance(judge, Rubric) else seen(judge, context)

    @cached_property
    def before(self) -> float:
        """What an earlier turn adds to a judge's prompt beside its words: the marks of two quotations."""
        asked = [*self.context.grading.rubrics, *self.context.grading.forms][:1]
        if not asked:
            return 0.0
        return (self._rendered(asked, earlier=2) - self._rendered(asked, earlier=1)) if asked else 0.0

    def _rendered(
        self, forms: Sequence[ReplySchema], *, referenced: bool = False, alone: bool = True, earlier: int = 0
    ) -> float:
        """A judge's prompt without question, answer, references and the text of passages."""
        context = self._shown(forms, self._exhibit(referenced=referenced, earlier=earlier))
        return _size_of(self.context.grading.frame.prompt(context, forms, alone=alone))

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


class _JudgeCall(Exception):
    """A judge is about to ask a model."""


def seen(judge: Callable[..., Any], context: GradingContext) -> GradingContext:
    """What of a turn a function judge shows a model: it is called, up to where it would ask one."""

    async def fill(shown: GradingContext, _: str) -> None:
        raise _JudgeCall(shown)

    material = {"references": context.references, "passages": context.turn.answer.passages}
    wanted = inspect.signature(judge).parameters
    given = {
        name: value for name, value in {**material, "fill": fill, "embed": None}.items() if name in wanted
    }
    try:
        judge(context, **given).send(None)
    except _JudgeCall as asking:
        shown: GradingContext = asking.args[0]
        return shown
    except Exception:  # it asks nobody, or not like that: then it is taken to show all there is
        return context
    return context


def embeds(judge: Any) -> bool:
    """Whether a judge asks for embeddings: a function that has a parameter `embed`."""
    return not isinstance(judge, Rubric) and "embed" in inspect.signature(judge).parameters


def wants_references(judge: Any) -> bool:
    """Whether a function judge grades only the turns that have a reference."""
    return "references" in inspect.signature(judge).parameters


Who = tuple[Role, str]
# A judge that embeds what a model filled in compares so many texts with what the customer said.
FILLED_TEXTS = 3


@dataclass(slots=True)
class Amounts:
    """Calls and tokens of one model in one role; expected values need not be whole."""

    calls: float = 0.0
    tokens_in: float = 0.0
    tokens_out: float = 0.0

    def add(self, calls: float, tokens_in: float, tokens_out: float) -> None:
        """So many calls, with the tokens of all of them."""
        self.calls += calls
        self.tokens_in += tokens_in
        self.tokens_out += tokens_out


class Course(NamedTuple):
    """How far a conversation comes: its turns, and the share (0..1) of customers who leave after each."""

    turns: int
    leaving: float = 0.0


@cache
def _shares(course: Course) -> tuple[float, ...]:
    """How likely each turn is to be reached."""
    return tuple((1 - course.leaving) ** turn for turn in range(course.turns))


class Way(NamedTuple):
    """One way in which a run may go: how long things are, and how far each conversation comes."""

    guess: Guess = Guess()
    course: Callable[[Conversation], Course] | None = None


def amounts(context: RunContext, plan: Sequence[Conversation], way: Way) -> dict[Who, Amounts]:
    """Calls and tokens of the whole plan, if it goes that way; without a course all take all their turns."""
    return amounts_of_each(context, plan, [way])[0]


def amounts_of_each(
    context: RunContext, plan: Sequence[Conversation], ways: Sequence[Way]
) -> list[dict[Who, Amounts]]:
    """The same for several ways, for which a long plan is read but once, and once for its references."""
    if context.grading.outputs:
        context.grading.outputs.expect(conversation.case for conversation in plan)

    @cache
    def usually(language: Language) -> Lengths:
        return usual(language, (conversation.case for conversation in plan))

    countings = [_CallCounter(context, usually, way.guess) for way in ways]
    for conversation in plan:
        turns, plays = context.turns(conversation)
        for way, counting in zip(ways, countings, strict=True):
            counting.count(
                conversation, way.course(conversation) if way.course else Course(turns), plays=plays
            )
    return [{who: each for who, each in found.found.items() if each.calls} for found in countings]


@dataclass(slots=True)
class _Turns:
    """Expected numbers over the turns of a conversation that have, or lack, a reference."""

    number: float = 0.0
    words: float = 0.0  # tokens said by both sides before each of these turns, and the question
    before: float = 0.0  # turns before each of these turns
    references: float = 0.0

    def __add__(self, other: "_Turns") -> "_Turns":
        return _Turns(
            self.number + other.number,
            self.words + other.words,
            self.before + other.before,
            self.references + other.references,
        )


@dataclass
class _CallCounter:
    context: RunContext
    usually: Callable[[Language], Lengths]
    guess: Guess
    found: dict[Who, Amounts] = field(default_factory=dict)
    _sizes: dict[Language, Sizes] = field(default_factory=dict)
    _last: tuple[Case, CaseSizes] | None = None

    def count(self, conversation: Conversation, course: Course, *, plays: bool) -> None:
        """All calls of one conversation."""
        sizes = self._in(conversation.case.language)
        if self._last is None or self._last[0] is not conversation.case:  # all about a case stand together
            self._last = conversation.case, sizes.case(conversation.case)
        case = self._last[1]
        referenced, bare = _turns(case, sizes, _shares(course))
        every = referenced + bare
        if self._user is not None and plays:
            self._customer(self._user, conversation, case, every)
        if self._demo is not None:
            told = sizes.bot + case.passages + case.history
            self._demo.add(every.number, every.number * told + every.words, every.number * case.answer)
        if self._judging:
            self._grades(sizes, case, referenced, with_reference=True)
            self._grades(sizes, case, bare, with_reference=False)
        if self._embed is not None:
            for compares in self._embedding:
                self._embed.add(*_embedded(sizes, case, referenced if compares else every, compares), 0)

    def _in(self, language: Language) -> Sizes:
        if language not in self._sizes:
            self._sizes[language] = Sizes(self.context, language, self.usually(language), self.guess)
        return self._sizes[language]

    def _customer(self, user: Amounts, conversation: Conversation, case: CaseSizes, every: _Turns) -> None:
        sizes = self._in(conversation.case.language)
        system = sizes.customer(conversation.persona) + case.question + case.goal + case.facts + case.history
        reply = sizes.lengths.line + sizes.lengths.leaving
        # A customer has heard the answer of the turn itself, too.
        user.add(every.number, every.number * (system + case.answer) + every.words, every.number * reply)
        if self.context.settings.voice_opening:
            user.add(1, sizes.opening(conversation) + case.question, reply)

    def _grades(self, sizes: Sizes, case: CaseSizes, turns: _Turns, *, with_reference: bool) -> None:
        if not turns.number:
            return
        around = turns.number * (case.passages + case.history)
        around += turns.words + turns.references + turns.before * sizes.before
        rubrics, forms = sizes.grading(
            referenced=with_reference, passages=case.passages > 0, tells=case.tells
        )
        votes = self.context.settings.votes
        for judge, asked, times in (
            *((judge, rubrics, votes) for judge in self._judging),
            (self._judging[0], forms, 1),
        ):
            judge.add(
                times * turns.number * asked.calls,
                times
                * (
                    turns.number * (asked.prompts + asked.calls * case.answer)
                    + (asked.calls - asked.apart) * around
                ),
                times * turns.number * asked.replies,
            )

    @cached_property
    def _user(self) -> Amounts | None:
        return self._of("user")

    @cached_property
    def _demo(self) -> Amounts | None:
        return self._of("demo") if self.context.settings.adapter == "demo" else None

    @cached_property
    def _embed(self) -> Amounts | None:
        return self._of("embed") if self._embedding else None

    @cached_property
    def _embedding(self) -> list[bool]:
        """The judges that embed: whether they compare with references, so that they need some."""
        return [wants_references(judge) for _, judge in self.context.grading.asked if embeds(judge)]

    @cached_property
    def _judging(self) -> list[Amounts]:
        """The judge's model, and the further ones of the panel."""
        first = self._of("judge")
        beside = [self._at("judge", each.model) for each in self.context.grading.panelists]
        return [first, *beside] if first else []

    def _of(self, role: Role) -> Amounts | None:
        endpoint = self.context.endpoints[role]
        return self._at(role, endpoint.model) if endpoint else None

    def _at(self, role: Role, model: str) -> Amounts:
        return self.found.setdefault((role, model), Amounts())


def _turns(case: CaseSizes, sizes: Sizes, shares: Sequence[float]) -> tuple[_Turns, _Turns]:
    """The turns that have a reference, and those that have none."""
    referenced, bare = _Turns(), _Turns()
    first = case.references[0] if case.references else 0.0
    exchange = sizes.lengths.line + case.answer
    for before, share in enumerate(shares):
        reference = case.references[before] if before < len(case.references) else 0.0
        turns = referenced if reference else bare
        turns.number += share
        turns.words += share * (case.question + before * exchange)
        turns.before += share * before
        # Without one of its own a later turn shows the first question with its reference.
        turns.references += share * (reference or (first and case.question + first))
    return referenced, bare


def _embedded(sizes: Sizes, case: CaseSizes, turns: _Turns, compares: bool) -> tuple[float, float]:
    """Calls and tokens of a judge that embeds an answer and its references, or questions."""
    if compares:
        return turns.number, turns.number * case.answer + turns.references
    return turns.number, turns.number * (case.question + FILLED_TEXTS * sizes.lengths.line)


# Of the newest runs so many are looked at, and a file larger than this (bytes) is not read for a forecast.
NEWEST, LARGEST = 50, 100 * 2**20
# A persona's own share of leaving customers counts for as much as everybody's after so many decisions.
DECISIONS = 10
_LEFT = (Ended.SATISFIED, Ended.GAVE_UP, Ended.HANDED_OVER)
# What decides which calls a run makes, beside its models.
_ALIKE = (
    "adapter", "judges", "judging", "votes", "panel", "guidelines", "voice_opening", "script", "replay",
    "protocol", "prompt", "outputs",
)  # fmt: skip
# What runs of earlier versions do not tell.
_UNTOLD = {"protocol": "dialogue"}


class Ratios(NamedTuple):
    """What was counted over what would have been forecast: calls, and tokens in and out of each call."""

    calls: float = 1.0
    tokens_in: float = 1.0
    tokens_out: float = 1.0


class Experience(NamedTuple):
    """Learnt from `run`; `leaving` is the share (0..1) of customers who leave after a turn, by persona.

    `held` is how many conversations it had, and `varying` the coefficient of variation of their sizes.
    """

    run: str
    leaving: Mapping[str, float]
    ratios: Mapping[Who, Ratios]
    held: int = 1
    varying: float = 1.0

    def spread(self, planned: int) -> float:
        """How far, as a share, so many conversations may be from what these foretell: two deviations."""
        return 2 * self.varying * math.sqrt(1 / self.held + 1 / max(1, planned))

    def course(self, context: RunContext, conversation: Conversation) -> Course:
        """How far a conversation will probably come."""
        turns, plays = context.turns(conversation)
        return Course(turns, self.leaving.get(conversation.persona, self.leaving[""]) if plays else 0.0)


def experience(context: RunContext, plan: Sequence[Conversation], runs: Path) -> Experience | None:
    """From the newest finished run with the same bot, judges, models and languages; None without one."""
    if not runs.is_dir():
        return None
    from simulator.storage.runs import read_heads  # the first run of all does without it

    languages = {conversation.case.language for conversation in plan}
    for at, run in enumerate(read_heads(runs)):
        path = runs / run.id / NAME
        if at >= NEWEST:
            break
        if not _is_like(context, run) or path.stat().st_size > LARGEST:
            continue
        try:
            results = read_run(path)
        except RunFileError:
            continue
        held = [
            conversation
            for conversation in results.conversations
            if conversation.turns and conversation.persona in context.personas
        ]
        if held and {conversation.case.language for conversation in held} == languages:
            leaving = _leaving(held, int(str(run.settings["turns"])))
            foreseen = amounts(
                context, held, Way(course=lambda conversation: Course(len(conversation.turns)))
            )
            ratios = _ratios(foreseen, results)
            return Experience(run.id, leaving, ratios, len(held), _varying(held, foreseen))
    return None


def _is_like(context: RunContext, run: Run) -> bool:
    settings, own = context.settings.of_the_run(), context.models()
    roles = ("user", "judge", "embed", *(("demo",) if context.settings.adapter == "demo" else ()))
    return (
        run.status == "finished"
        and not run.offline
        and all(run.models.get(role) == own.get(role) for role in roles)
        and all(run.settings.get(name, _UNTOLD.get(name)) == settings[name] for name in _ALIKE)
    )


def _leaving(held: Sequence[Conversation], turns: int) -> dict[str, float]:
    """How many of those who were asked to go on left instead; `""` stands for everybody."""
    asked: dict[str, int] = {"": 0}
    left: dict[str, int] = {"": 0}
    for conversation in held:
        for who in ("", conversation.persona):
            asked[who] = asked.get(who, 0) + min(len(conversation.turns), turns - 1)
            left[who] = left.get(who, 0) + (conversation.ended in _LEFT and len(conversation.turns) < turns)
    every = left[""] / asked[""] if asked[""] else 0.0
    return {
        who: (left[who] + every * DECISIONS) / (asked[who] + DECISIONS) if who else every for who in asked
    }


def _varying(held: Sequence[Conversation], foreseen: Mapping[Who, Amounts]) -> float:
    """How much conversations differ: what every turn takes alike, and the words of each."""
    if len(held) == 1:
        return 1.0  # nobody knows
    alike = sum(each.tokens_in for each in foreseen.values()) / sum(
        len(conversation.turns) for conversation in held
    )
    sizes = [len(conversation.turns) * alike + _words(conversation) for conversation in held]
    return pstdev(sizes) / fmean(sizes)


def _words(conversation: Conversation) -> int:
    said = (text for turn in conversation.turns for text in (turn.user, turn.answer.text, *_shown(turn)))
    return sum(map(tokens, said))


def _shown(turn: Turn) -> list[str]:
    return [passage.text for passage in turn.answer.passages]


def _ratios(foreseen: Mapping[Who, Amounts], results: Results) -> dict[Who, Ratios]:
    found: dict[Who, Ratios] = {}
    for (role, model), each in foreseen.items():
        spent = results.usage.get(role, {}).get(model, Spending())
        calls = (spent.calls + spent.cached) / each.calls
        if spent.calls:
            share = spent.calls / each.calls
            found[role, model] = Ratios(
                calls,
                spent.tokens_in / (share * each.tokens_in) if each.tokens_in else 1.0,
                spent.tokens_out / (share * each.tokens_out) if each.tokens_out else 1.0,
            )
        elif calls:
            found[role, model] = Ratios(calls)
    return found


__all__ = [
    "ANSWER",
    "GRADE",
    "GRADES",
    "PASSAGE",
    "PASSAGES",
    "Forecast",
    "UnknownCost",
    "forecast",
    "tokens",
]

ByModel = dict[Who, Spending]
Hearing = Callable[[], Mapping[Language, SampledAnswers]]
# Bots without calls of their own: the demo's model is one of the run's roles, recorded answers are there.
_NOT_ITS_OWN = frozenset({"demo", "recorded"})
# No range is narrower than this share to each side: models do not write alike twice.
NARROWEST = 0.05
# Conversations that are looked at to tell in which language to speak of them.
_LOOKED_AT = 1000


class UnknownCost(NamedTuple):
    """What nobody knows before the run, and the dollars (None: unknown) it comes to one way and the other.

    `passages`: the bot shows none, or shows them; `leaving`: every customer leaves after the first answer, or
    stays to the last turn; `lengths`: of answers and grades, which have no dollars of their own.
    """

    what: Literal["passages", "leaving", "lengths"]
    low: float | None = None
    high: float | None = None


class Forecast(NamedTuple):
    """Calls, tokens and dollars by role and model.

    `at_most`: every customer stays to the last turn, and answers and replies are long. `expected`: as in
    the earlier run `like`; without one nobody leaves early either, answers are as long as those `heard`
    or else the references, and a bot of which nobody knows it is half taken to show passages.
    `low` and `high`: between these it will be; `unknown` says why they are apart.
    `answers` is how many the bot is asked for at most: what these take is its own, and no part of this.
    `rows`: of a single-turn data set; `offline`: stand-ins play whoever plays. `cases`: how many questions;
    `asks_a_bot`: whether there is a bot to be asked before; `unheard`: it was not, for `like` tells.
    """

    at_most: ByModel
    expected: ByModel
    like: str | None = None
    answers: int = 0
    rows: bool = False
    offline: bool = False
    low: Mapping[Who, Spending] = MappingProxyType({})
    high: Mapping[Who, Spending] = MappingProxyType({})
    unknown: tuple[UnknownCost, ...] = ()
    heard: Mapping[Language, SampledAnswers] = MappingProxyType({})
    language: Language = "en"
    cases: int = 0
    asks_a_bot: bool = False
    unheard: bool = False


def forecast(
    context: RunContext, plan: Sequence[Conversation], runs: Path | None = None, hear: Hearing | None = None
) -> Forecast:
    """What the plan takes; `runs` is the folder of earlier runs to learn from.

    Where none of them is like it, `hear` asks the bot, if it is given.
    """
    settings = context.settings
    known = experience(context, plan, runs) if runs else None
    heard = hear() if hear and known is None else {}
    found = _as_known(context, plan, known) if known else _unknown(context, plan, heard)
    return found._replace(
        answers=0 if settings.adapter in _NOT_ITS_OWN else len(plan) * settings.turns,
        rows=context.asks_once,
        offline=context.offline and bool(context.models()),
        heard=heard,
        unheard=settings.ask_bot and known is not None,
        language=_language(settings.language, plan),
        asks_a_bot=settings.adapter != "recorded",
        cases=len(plan) // settings.repeats
        if context.asks_once
        else len({conversation.case.id for conversation in plan}),
    )


def _language(told: str | None, plan: Sequence[Conversation]) -> Language:
    """The language most questions are in; Japanese on a tie."""
    if told == "ja":
        return "ja"
    found = Counter(conversation.case.language for conversation in islice(plan, _LOOKED_AT))
    return "en" if told == "en" or found["en"] > found["ja"] else "ja"


def _as_known(context: RunContext, plan: Sequence[Conversation], known: Experience) -> Forecast:
    """As in an earlier run; the range never leaves what would be if all left at once, or all were long."""
    course = partial(known.course, context)
    ways = (Way(Guess("most")), Way(), Way(course=course), Way(course=partial(_at_once, context)))
    most, whole, usual, soon = amounts_of_each(context, plan, ways)
    learnt = {who: _of_both(max, each, _as_in(known, who, whole[who])) for who, each in most.items()}
    expected = {who: _as_in(known, who, each) for who, each in usual.items()}
    apart = max(NARROWEST, known.spread(len(plan)))
    low = {
        who: _of_both(max, _times(each, 1 - apart), _as_in(known, who, soon.get(who, Amounts())))
        for who, each in expected.items()
    }
    high = {who: _of_both(min, _times(each, 1 + apart), learnt[who]) for who, each in expected.items()}
    at_most, told, least, greatest = (_priced(context, each) for each in (learnt, expected, low, high))
    return Forecast(at_most, told, known.run, low=least, high=greatest)


def _unknown(
    context: RunContext, plan: Sequence[Conversation], heard: Mapping[Language, SampledAnswers]
) -> Forecast:
    """Without an earlier run: in the middle, and at either end, of what nobody knows yet."""
    shown, at_once = _forecast_shown(context, heard), partial(_at_once, context)
    usual = [Way(Guess(shows=shows, heard=heard)) for shows in shown]
    ends = [Way(Guess("most", heard=heard)), Way(Guess("least", shows=False, heard=heard), at_once)]
    early = [way._replace(course=at_once) for way in usual]
    most, least, *rest = amounts_of_each(context, plan, [*ends, *usual, *early])
    late, soon = rest[: len(usual)], rest[len(usual) :]
    at_most, low, expected, left = (
        _priced(context, each) for each in (most, least, _middle(late), _middle(soon))
    )
    unknown = []
    if len(shown) > 1:
        unknown.append(_between("passages", *(_priced(context, each) for each in late)))
    if left != expected:
        unknown.append(_between("leaving", left, expected))
    lengths = (UnknownCost("lengths"),) if at_most else ()
    return Forecast(at_most, expected, low=low, high=at_most, unknown=(*unknown, *lengths))


def _forecast_shown(context: RunContext, heard: Mapping[Language, SampledAnswers]) -> tuple[bool, ...]:
    """Whether the bot shows passages; both where nobody knows, and a chat endpoint mostly does not."""
    if heard or shows_passages(context) is not None:
        return (True,)
    return (False,) if context.settings.adapter == "openai_chat" else (False, True)


def _at_once(context: RunContext, conversation: Conversation) -> Course:
    """The customer leaves as soon as they may: after the first answer."""
    turns, plays = context.turns(conversation)
    return Course(1 if plays else turns)


def _middle(ways: Sequence[Mapping[Who, Amounts]]) -> dict[Who, Amounts]:
    found: dict[Who, Amounts] = {}
    for way in ways:
        for who, each in _forecast_shares(way, 1 / len(ways)):
            found.setdefault(who, Amounts()).add(each.calls, each.tokens_in, each.tokens_out)
    return found


def _forecast_shares(way: Mapping[Who, Amounts], share: float) -> list[tuple[Who, Amounts]]:
    return [(who, _times(each, share)) for who, each in way.items()]


def _between(what: Literal["passages", "leaving"], low: ByModel, high: ByModel) -> UnknownCost:
    ends = (together(list(each.values())).cost_usd for each in (low, high))
    return UnknownCost(what, *ends)


def by_role(found: Mapping[Who, Spending]) -> dict[Role, Spending]:
    """The models of a role put together."""
    roles = dict.fromkeys(role for role, _ in found)
    return {role: together([each for (r, _), each in found.items() if r == role]) for role in roles}


def _as_in(known: Experience, who: Who, each: Amounts) -> Amounts:
    ratios = known.ratios.get(who, Ratios())
    return Amounts(
        each.calls * ratios.calls,
        each.tokens_in * ratios.calls * ratios.tokens_in,
        each.tokens_out * ratios.calls * ratios.tokens_out,
    )


def _times(each: Amounts, factor: float) -> Amounts:
    return Amounts(each.calls * factor, each.tokens_in * factor, each.tokens_out * factor)


def _of_both(choose: Callable[..., float], one: Amounts, other: Amounts) -> Amounts:
    return Amounts(
        choose(one.calls, other.calls),
        choose(one.tokens_in, other.tokens_in),
        choose(one.tokens_out, other.tokens_out),
    )


def _priced(context: RunContext, found: Mapping[Who, Amounts]) -> ByModel:
    prices = context.ledger.prices
    return {
        who: prices.spending(who[1], round(each.calls), each.tokens_in, each.tokens_out)
        for who, each in found.items()
    }
