"""Estimates the calls, tokens and dollars of a run before it begins.

Prompts that all conversations share (frames, rubrics, forms, personas) are rendered and counted once; lines
and answers that do not exist yet have assumed lengths. An earlier run like it, or a few questions asked of
the bot, make the estimate better.
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

from simulator.core import replies, shelves
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
from simulator.models.pricing import total_spending
from simulator.runner.context import RunContext
from simulator.runner.plan import cases_of_plan
from simulator.storage.run_file import RUN_FILE, read_run

# Lines, answers and passages that do not exist yet are assumed to have at most this many characters.
ANSWER = {"ja": 160, "en": 420}
PASSAGE = {"ja": 300, "en": 700}
PASSAGES = 4
LINE = {"ja": 40, "en": 80}
# Tokens of a filled-in form at most, without the customer's line.
GRADES, GRADE, LEAVING = 420, 90, 40

_OR = re.compile(r"\s*[|｜]\s*")
_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uff00-\uffef]")
# A judge that embeds what a model filled in compares this many texts with the customer's line.
FILLED_TEXTS = 3
# How many of the newest runs are searched, and the size (bytes) of the largest file that is read.
NEWEST, LARGEST = 50, 100 * 2**20
# After this many decisions a persona's own share of leaving customers weighs as much as everybody's.
DECISIONS = 10
_LEFT = (Ended.SATISFIED, Ended.GAVE_UP, Ended.HANDED_OVER)
# Settings that decide which calls a run makes, beside its models.
_DECISIVE_SETTINGS = (
    "adapter", "judges", "judging", "votes", "panel", "guidelines", "voice_opening", "script", "replay",
    "protocol", "prompt", "outputs",
)  # fmt: skip
# Values of settings that runs of earlier versions did not store.
_EARLIER_DEFAULTS = {"protocol": "dialogue"}
# Adapters without costs of their own: the demo's model is a role of the run, recorded answers cost nothing.
_FREE_ADAPTERS = frozenset({"demo", "recorded"})
# The narrowest range, as a share to each side: models do not write the same twice.
NARROWEST = 0.05
# Conversations that are searched for the language of most questions.
_SEARCHED = 1000


class Lengths(NamedTuple):
    """Assumed lengths in one language, in tokens; `items` is the number of items in a list."""

    answer: float
    passage: float
    line: float
    leaving: float
    sentence: float
    items: float


# What the prompts ask for: a line of 15 to 45 characters or 5 to 18 words; reasons are half as long again as
# in the worked examples.
_USUAL = {"ja": Lengths(64, 235, 26, 32, 20, 3), "en": Lengths(42, 170, 16, 28, 14, 3)}
# Lengths are seldom below this share of the usual ones, with one item in each list.
_LEAST = 1 / 3


def tokens(text: str) -> int:
    """A rough count without a tokenizer: 1.1 characters a token in Japanese, 4 in English."""
    return math.ceil(_size(text))


def _size(text: str) -> float:
    cjk = 0 if text.isascii() else len(_CJK.findall(text))
    return cjk / 1.1 + (len(text) - cjk) / 4


class TokenRange(NamedTuple):
    """A number of tokens: at least, usually, and at most."""

    least: float
    usual: float
    most: float


class SampledAnswers(NamedTuple):
    """The sizes of a bot's answers to a few questions in one language, in tokens for each answer.

    `number` is how many passages an answer has, `reports_retrieval` whether the bot says what it retrieved,
    `asked` the number of questions, `on` their date (UTC), "" for today.
    """

    answer: TokenRange
    passages: TokenRange
    number: int
    reports_retrieval: bool
    asked: int = 1
    on: str = ""


class Assumptions(NamedTuple):
    """Assumptions about lengths: which bound is used, and answers sampled from the bot, by language.

    `shows` is whether the bot returns passages, where that is not known.
    """

    bound: Literal["least", "usual", "most"] = "usual"
    shows: bool = True
    samples: Mapping[Language, SampledAnswers] = MappingProxyType({})


def longest(language: Language) -> Lengths:
    """Lengths that are seldom exceeded; those of forms are GRADES and GRADE."""
    letter = "あ" if language == "ja" else "a"
    answer, passage, line = (tokens(letter * each[language]) for each in (ANSWER, PASSAGE, LINE))
    return Lengths(answer, passage, line, LEAVING, 0, 0)


def usual(language: Language, cases: Iterable[Case]) -> Lengths:
    """The lengths that the prompts ask for; answers are as long as the references, if there are any."""
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
    """Lengths that are seldom undercut."""
    return Lengths(*(_LEAST * each for each in lengths))._replace(items=1)


def shows_passages(context: RunContext) -> bool | None:
    """Whether the bot returns passages, by its adapter's settings; None if they do not say."""
    adapter = context.settings.adapter
    if adapter == "http":
        return "passages" in context.settings.set
    return True if adapter in ("demo", "recorded") else None


class CaseSizes(NamedTuple):
    """Tokens of a case's texts, and of the answer that is assumed for it."""

    question: float
    goal: float
    facts: float
    history: float
    references: tuple[float, ...]
    answer: float
    passages: float
    reports_retrieval: bool


class JudgePrompts(NamedTuple):
    """The calls that grade one turn, with the tokens of all their prompts and replies.

    `apart` is the number of calls that show the answer without question, passages and earlier turns.
    """

    calls: int
    prompts: float
    replies: float
    apart: int = 0


class Sizes:
    """The prompts of one run in one language."""

    def __init__(
        self, context: RunContext, language: Language, usual_lengths: Lengths, assumptions: Assumptions
    ) -> None:
        """`usual_lengths` are those of this plan; `assumptions` says which bound of them is used."""
        self.context, self.language, self.assumptions = context, language, assumptions
        self.samples = assumptions.samples.get(language)
        bounds = {"least": shortest(usual_lengths), "usual": usual_lengths, "most": longest(language)}
        self.lengths = bounds[assumptions.bound]
        if self.samples:
            self.lengths = self.lengths._replace(answer=getattr(self.samples.answer, assumptions.bound))
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
            reports_retrieval=self.samples.reports_retrieval if self.samples else passages > 0,
        )

    def customer(self, persona: str) -> float:
        """The tokens of a customer's instructions, without those that the case adds."""
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
        """The tokens of the request for a first question in the persona's voice, without the question."""
        if conversation.persona not in self._openings:
            case = conversation.case.model_copy(update={"question": "?"})
            messages = self.context.openings.messages(case, self.context.personas[conversation.persona])
            self._openings[conversation.persona] = _size_of(messages)
        return self._openings[conversation.persona]

    @cached_property
    def bot(self) -> float:
        """The tokens of the demo bot's prompt, without passages and dialogue."""
        texts = read_toml(shelves.ADAPTERS / "demo_prompt.toml")[self.language]
        return _size(texts["system"]) + _size(texts["user"])

    @cached_property
    def _passages(self) -> float:
        if self.samples:
            return float(getattr(self.samples.passages, self.assumptions.bound))
        return self._passages_shown * self.lengths.passage

    @cached_property
    def _passages_shown(self) -> int:
        """How many passages an answer has: as sampled, none if none are returned, else `top` or PASSAGES."""
        if self.samples:
            return self.samples.number
        is_shown = shows_passages(self.context)
        if not (self.assumptions.shows if is_shown is None else is_shown):
            return 0
        adapter, settings = self.context.settings.adapter, self.context.settings.set
        top = settings.get("top", "") if adapter == "demo" else ""
        return int(top) if top.isdecimal() else PASSAGES

    def grading(self, *, referenced: bool, passages: bool, tells: bool) -> tuple[JudgePrompts, JudgePrompts]:
        """The calls for one turn: of rubrics (for each model and vote), and of function judges."""
        key = (referenced, passages, tells)
        if key not in self._grading:
            grading = self.context.grading
            has = {"reference": referenced, "passages": passages, "retrieval": tells}
            rubrics = [each for each in grading.rubrics if all(has[need] for need in each.needs)]
            forms = [each for each in grading.forms if all(has[need] for need in each.needs)]
            combined = grading.is_combined
            groups = [rubrics] * bool(rubrics) if combined else [[each] for each in rubrics]
            self._grading[key] = (
                self._judge_prompts(groups, referenced=referenced, alone=not combined),
                self._judge_prompts([[form] for form in forms], referenced=referenced, alone=True),
            )
        return self._grading[key]

    def _judge_prompts(
        self, groups: Sequence[Sequence[ReplySchema]], *, referenced: bool, alone: bool
    ) -> JudgePrompts:
        prompts = [self._prompt_tokens(group, referenced=referenced, alone=alone) for group in groups]
        apart = sum(self._sees_answer_only(group) for group in groups)
        return JudgePrompts(len(groups), sum(prompts), sum(map(self._reply_tokens, groups)), apart)

    def _sees_answer_only(self, forms: Sequence[ReplySchema]) -> bool:
        context = self._seen_context(forms, self._placeholder_context(referenced=True, earlier=1))
        return not (context.earlier or context.turn.answer.passages)

    def _seen_context(self, forms: Sequence[ReplySchema], context: GradingContext) -> GradingContext:
        judge = dict(self.context.grading.judges_per_turn).get(forms[0].name)
        return context if judge is None or isinstance(judge, Rubric) else model_context(judge, context)

    @cached_property
    def before(self) -> float:
        """The tokens that an earlier turn adds to a judge's prompt beside its text."""
        forms = [*self.context.grading.rubrics, *self.context.grading.forms][:1]
        return self._prompt_tokens(forms, earlier=2) - self._prompt_tokens(forms, earlier=1) if forms else 0.0

    def _prompt_tokens(
        self, forms: Sequence[ReplySchema], *, referenced: bool = False, alone: bool = True, earlier: int = 0
    ) -> float:
        """The tokens of a judge's prompt without question, answer, references and the text of passages."""
        context = self._seen_context(forms, self._placeholder_context(referenced=referenced, earlier=earlier))
        return _size_of(self.context.grading.frame.prompt(context, forms, alone=alone))

    def _placeholder_context(self, *, referenced: bool, earlier: int) -> GradingContext:
        count = self._passages_shown
        passages = tuple(Passage(id=f"{self.language}/{n:02}-passage", text="") for n in range(count))
        turn = Turn(index=1, user="", answer=Answer(text="", passages=passages))
        references = ((".",),) if referenced else ()
        case = Case(id="size", question="?", language=self.language, references=references)
        return GradingContext(
            conversation="size", case=case, persona="", turn=turn, earlier=(turn,) * earlier
        )

    def _reply_tokens(self, forms: Sequence[ReplySchema]) -> float:
        """The tokens of a judge's reply: its forms, filled in."""
        if self.assumptions.bound != "most":
            return sum(self._form_tokens(form) + (len(forms) > 1) * 4 for form in forms)
        first = GRADES if len(forms) > 1 or forms[0].name == "turn" else GRADE
        return first + GRADE * (len(forms) - 1)

    def _form_tokens(self, form: ReplySchema) -> float:
        fields = ((key, *each) for key, each in form.field_meanings(self.language).items())
        return 2 + sum(_size(key) + 2 + self._field_tokens(kind, meaning) for key, kind, meaning in fields)

    def _field_tokens(self, name: str, meaning: replies.Meaning) -> float:
        kind = replies.FIELD_KINDS[name]
        if name == "text" and (words := _alternatives(meaning)):
            return max(map(_size, words))
        if name == "conflicts":  # usually an empty list
            return _size("[]")
        if name == "texts" or kind.items:
            return self.lengths.items * self.lengths.sentence
        return 1.0 if kind.scale else self.lengths.sentence


def _alternatives(meaning: replies.Meaning) -> list[str]:
    """The words that a field may be, if its meaning lists them: `against: reference | passages`."""
    if not isinstance(meaning, str) or not _OR.search(meaning):
        return []
    return _OR.split(re.split("[:：]", meaning)[-1])


def _size_of(messages: Sequence[dict[str, str]]) -> float:
    return sum(_size(message["content"]) for message in messages)


class _JudgeCall(Exception):
    """A judge is about to ask a model."""


def model_context(judge: Callable[..., Any], context: GradingContext) -> GradingContext:
    """The context that a function judge shows a model; found by calling it up to its first request."""

    async def fill(shown: GradingContext, _: str) -> None:
        raise _JudgeCall(shown)

    material = {"references": context.references, "passages": context.turn.answer.passages}
    parameters = inspect.signature(judge).parameters
    available = {**material, "fill": fill, "embed": None}
    arguments = {name: value for name, value in available.items() if name in parameters}
    try:
        judge(context, **arguments).send(None)
    except _JudgeCall as asking:
        shown: GradingContext = asking.args[0]
        return shown
    except Exception:  # it asks no model, or in another way: assume that it shows everything
        return context
    return context


def embeds(judge: Any) -> bool:
    """Whether a judge asks for embeddings: a function that has a parameter `embed`."""
    return not isinstance(judge, Rubric) and "embed" in inspect.signature(judge).parameters


def wants_references(judge: Any) -> bool:
    """Whether a function judge grades only the turns that have a reference."""
    return "references" in inspect.signature(judge).parameters


RoleModel = tuple[Role, str]


@dataclass(slots=True)
class CallTotals:
    """Calls and tokens of one model in one role; expected values need not be whole."""

    calls: float = 0.0
    tokens_in: float = 0.0
    tokens_out: float = 0.0

    def add(self, calls: float, tokens_in: float, tokens_out: float) -> None:
        """Adds calls, with the tokens of all of them."""
        self.calls += calls
        self.tokens_in += tokens_in
        self.tokens_out += tokens_out


class ConversationLength(NamedTuple):
    """The turns of a conversation at most, and the share (0..1) of customers who leave after each."""

    turns: int
    leaving: float = 0.0


@cache
def _shares(length: ConversationLength) -> tuple[float, ...]:
    """For each turn, the probability (0..1) that it is reached."""
    return tuple((1 - length.leaving) ** turn for turn in range(length.turns))


class Scenario(NamedTuple):
    """One way in which a run may go: the lengths of texts, and of conversations (None: all turns)."""

    assumptions: Assumptions = Assumptions()
    length: Callable[[Conversation], ConversationLength] | None = None


def count_scenario(
    context: RunContext, plan: Sequence[Conversation], scenario: Scenario
) -> dict[RoleModel, CallTotals]:
    """Calls and tokens of the whole plan in one scenario, by role and model."""
    return count_calls(context, plan, [scenario])[0]


def count_calls(
    context: RunContext, plan: Sequence[Conversation], scenarios: Sequence[Scenario]
) -> list[dict[RoleModel, CallTotals]]:
    """The same for several scenarios; a long plan is read only once for all of them."""
    if context.grading.outputs:
        context.grading.outputs.expect(conversation.case for conversation in plan)

    @cache
    def usual_lengths(language: Language) -> Lengths:
        return usual(language, (conversation.case for conversation in plan))

    counters = [_CallCounter(context, usual_lengths, scenario.assumptions) for scenario in scenarios]
    for conversation in plan:
        turns, plays = context.turns(conversation)
        for scenario, counter in zip(scenarios, counters, strict=True):
            counter.count(
                conversation,
                scenario.length(conversation) if scenario.length else ConversationLength(turns),
                plays=plays,
            )
    return [{key: each for key, each in counter.totals.items() if each.calls} for counter in counters]


@dataclass(slots=True)
class _Turns:
    """Expected sums over those turns of a conversation that have a reference, or over those without."""

    number: float = 0.0
    words: float = 0.0  # tokens of both sides before each of these turns, and of the question
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
    usual_lengths: Callable[[Language], Lengths]
    assumptions: Assumptions
    totals: dict[RoleModel, CallTotals] = field(default_factory=dict)
    _sizes: dict[Language, Sizes] = field(default_factory=dict)
    _last: tuple[Case, CaseSizes] | None = None

    def count(self, conversation: Conversation, length: ConversationLength, *, plays: bool) -> None:
        """All calls of one conversation."""
        sizes = self._in(conversation.case.language)
        if (
            self._last is None or self._last[0] is not conversation.case
        ):  # conversations of a case are neighbours
            self._last = conversation.case, sizes.case(conversation.case)
        case = self._last[1]
        referenced, bare = _turns(case, sizes, _shares(length))
        every = referenced + bare
        if self._user is not None and plays:
            self._count_customer(self._user, conversation, case, every)
        if self._demo is not None:
            prompt = sizes.bot + case.passages + case.history
            self._demo.add(every.number, every.number * prompt + every.words, every.number * case.answer)
        if self._judging:
            self._count_grades(sizes, case, referenced, with_reference=True)
            self._count_grades(sizes, case, bare, with_reference=False)
        if self._embed is not None:
            for compares in self._embedding:
                self._embed.add(*_embedded(sizes, case, referenced if compares else every, compares), 0)

    def _in(self, language: Language) -> Sizes:
        if language not in self._sizes:
            self._sizes[language] = Sizes(
                self.context, language, self.usual_lengths(language), self.assumptions
            )
        return self._sizes[language]

    def _count_customer(
        self, user: CallTotals, conversation: Conversation, case: CaseSizes, every: _Turns
    ) -> None:
        sizes = self._in(conversation.case.language)
        system = sizes.customer(conversation.persona) + case.question + case.goal + case.facts + case.history
        reply = sizes.lengths.line + sizes.lengths.leaving
        # The customer also sees the answer of the turn itself.
        user.add(every.number, every.number * (system + case.answer) + every.words, every.number * reply)
        if self.context.settings.voice_opening:
            user.add(1, sizes.opening(conversation) + case.question, reply)

    def _count_grades(self, sizes: Sizes, case: CaseSizes, turns: _Turns, *, with_reference: bool) -> None:
        if not turns.number:
            return
        around = turns.number * (case.passages + case.history)
        around += turns.words + turns.references + turns.before * sizes.before
        rubrics, forms = sizes.grading(
            referenced=with_reference, passages=case.passages > 0, tells=case.reports_retrieval
        )
        votes = self.context.settings.votes
        for judge, prompts, times in (
            *((judge, rubrics, votes) for judge in self._judging),
            (self._judging[0], forms, 1),
        ):
            judge.add(
                times * turns.number * prompts.calls,
                times
                * (
                    turns.number * (prompts.prompts + prompts.calls * case.answer)
                    + (prompts.calls - prompts.apart) * around
                ),
                times * turns.number * prompts.replies,
            )

    @cached_property
    def _user(self) -> CallTotals | None:
        return self._role_totals("user")

    @cached_property
    def _demo(self) -> CallTotals | None:
        return self._role_totals("demo") if self.context.settings.adapter == "demo" else None

    @cached_property
    def _embed(self) -> CallTotals | None:
        return self._role_totals("embed") if self._embedding else None

    @cached_property
    def _embedding(self) -> list[bool]:
        """For each judge that embeds, whether it compares with references."""
        return [wants_references(judge) for _, judge in self.context.grading.judges_per_turn if embeds(judge)]

    @cached_property
    def _judging(self) -> list[CallTotals]:
        """The judge's model, and the others of the panel."""
        first = self._role_totals("judge")
        beside = [self._totals("judge", each.model) for each in self.context.grading.panelists]
        return [first, *beside] if first else []

    def _role_totals(self, role: Role) -> CallTotals | None:
        endpoint = self.context.endpoints[role]
        return self._totals(role, endpoint.model) if endpoint else None

    def _totals(self, role: Role, model: str) -> CallTotals:
        return self.totals.setdefault((role, model), CallTotals())


def _turns(case: CaseSizes, sizes: Sizes, shares: Sequence[float]) -> tuple[_Turns, _Turns]:
    """Sums over the turns with a reference, and over those without."""
    referenced, bare = _Turns(), _Turns()
    first = case.references[0] if case.references else 0.0
    exchange = sizes.lengths.line + case.answer
    for before, share in enumerate(shares):
        reference = case.references[before] if before < len(case.references) else 0.0
        turns = referenced if reference else bare
        turns.number += share
        turns.words += share * (case.question + before * exchange)
        turns.before += share * before
        # A later turn without its own reference shows the first question with its reference.
        turns.references += share * (reference or (first and case.question + first))
    return referenced, bare


def _embedded(sizes: Sizes, case: CaseSizes, turns: _Turns, compares: bool) -> tuple[float, float]:
    """Calls and tokens of a judge that embeds an answer with its references, or questions."""
    if compares:
        return turns.number, turns.number * case.answer + turns.references
    return turns.number, turns.number * (case.question + FILLED_TEXTS * sizes.lengths.line)


class Ratios(NamedTuple):
    """What a run needed, divided by what would have been estimated: calls, and tokens of each call."""

    calls: float = 1.0
    tokens_in: float = 1.0
    tokens_out: float = 1.0


class SimilarRun(NamedTuple):
    """An earlier run. `leaving` is the share (0..1) of customers who leave after a turn, by persona.

    `conversations` is how many it had, and `variation` the coefficient of variation of their sizes.
    """

    run: str
    leaving: Mapping[str, float]
    ratios: Mapping[RoleModel, Ratios]
    conversations: int = 1
    variation: float = 1.0

    def spread(self, planned: int) -> float:
        """How far, as a share, a plan of this size may be from the estimate: two standard deviations."""
        return 2 * self.variation * math.sqrt(1 / self.conversations + 1 / max(1, planned))

    def length(self, context: RunContext, conversation: Conversation) -> ConversationLength:
        """The probable length of a conversation."""
        turns, plays = context.turns(conversation)
        return ConversationLength(
            turns, self.leaving.get(conversation.persona, self.leaving[""]) if plays else 0.0
        )


def similar_run(context: RunContext, plan: Sequence[Conversation], runs: Path) -> SimilarRun | None:
    """The newest finished run with the same bot, judges, models and languages; None without one."""
    if not runs.is_dir():
        return None
    from simulator.storage.runs import read_newest  # not needed for a first run

    languages = {conversation.case.language for conversation in plan}
    for run in islice(read_newest(runs), NEWEST):
        path = runs / run.id / RUN_FILE
        if not _is_like(context, run) or path.stat().st_size > LARGEST:
            continue
        try:
            results = read_run(path)
        except RunFileError:
            continue
        conversations = [
            conversation
            for conversation in results.conversations
            if conversation.turns and conversation.persona in context.personas
        ]
        if conversations and {conversation.case.language for conversation in conversations} == languages:
            leaving = _leaving(conversations, int(str(run.settings["turns"])))
            foreseen = count_scenario(
                context,
                conversations,
                Scenario(length=lambda conversation: ConversationLength(len(conversation.turns))),
            )
            ratios = _ratios(foreseen, results)
            variation = _variation(conversations, foreseen)
            return SimilarRun(run.id, leaving, ratios, len(conversations), variation)
    return None


def _is_like(context: RunContext, run: Run) -> bool:
    settings, own = context.settings.stored_values(), context.models()
    roles = ("user", "judge", "embed", *(("demo",) if context.settings.adapter == "demo" else ()))
    return (
        run.status == "finished"
        and not run.offline
        and all(run.models.get(role) == own.get(role) for role in roles)
        and all(
            run.settings.get(name, _EARLIER_DEFAULTS.get(name)) == settings[name]
            for name in _DECISIVE_SETTINGS
        )
    )


def _leaving(conversations: Sequence[Conversation], turns: int) -> dict[str, float]:
    """The share of customers who left instead of going on, by persona; `""` stands for everybody."""
    asked: dict[str, int] = {"": 0}
    left: dict[str, int] = {"": 0}
    for conversation in conversations:
        for key in ("", conversation.persona):
            asked[key] = asked.get(key, 0) + min(len(conversation.turns), turns - 1)
            left[key] = left.get(key, 0) + (conversation.ended in _LEFT and len(conversation.turns) < turns)
    every = left[""] / asked[""] if asked[""] else 0.0
    return {
        key: (left[key] + every * DECISIONS) / (asked[key] + DECISIONS) if key else every for key in asked
    }


def _variation(conversations: Sequence[Conversation], foreseen: Mapping[RoleModel, CallTotals]) -> float:
    """The coefficient of variation of the sizes: what every turn needs, and the texts of each."""
    if len(conversations) == 1:
        return 1.0  # not known from one conversation
    alike = sum(each.tokens_in for each in foreseen.values()) / sum(
        len(conversation.turns) for conversation in conversations
    )
    sizes = [len(conversation.turns) * alike + _words(conversation) for conversation in conversations]
    return pstdev(sizes) / fmean(sizes)


def _words(conversation: Conversation) -> int:
    return sum(
        tokens(text)
        for turn in conversation.turns
        for text in (turn.user, turn.answer.text, *(passage.text for passage in turn.answer.passages))
    )


def _ratios(foreseen: Mapping[RoleModel, CallTotals], results: Results) -> dict[RoleModel, Ratios]:
    ratios: dict[RoleModel, Ratios] = {}
    for (role, model), each in foreseen.items():
        spent = results.usage.get(role, {}).get(model, Spending())
        calls = (spent.calls + spent.cached) / each.calls
        if spent.calls:
            share = spent.calls / each.calls
            ratios[role, model] = Ratios(
                calls,
                spent.tokens_in / (share * each.tokens_in) if each.tokens_in else 1.0,
                spent.tokens_out / (share * each.tokens_out) if each.tokens_out else 1.0,
            )
        elif calls:
            ratios[role, model] = Ratios(calls)
    return ratios


ByModel = dict[RoleModel, Spending]
BotSampler = Callable[[], Mapping[Language, SampledAnswers]]


class UnknownCost(NamedTuple):
    """Something unknown before the run, with the dollars (None: unknown) of its two extremes.

    `passages`: the bot returns none, or some; `leaving`: every customer leaves after the first answer, or
    stays to the last turn; `lengths`: of answers and grades, without dollars of their own.
    """

    what: Literal["passages", "leaving", "lengths"]
    low: float | None = None
    high: float | None = None


class Forecast(NamedTuple):
    """Calls, tokens and dollars by role and model.

    `at_most`: every customer stays to the last turn, and answers and replies are long. `expected`: as in
    the earlier run `like`; without one, nobody leaves early, answers are as long as the `samples` or else the
    references, and if it is unknown whether the bot returns passages, half of its answers do.
    `low` and `high` are the range, and `unknown` the reasons for it. `answers` is how many the bot gives at
    most; their costs are the bot's own and not included. `rows`: a single-turn data set; `offline`: no role
    has a model. `cases` is the number of questions; `asks_a_bot`: there is a bot that could be asked first;
    `sample_skipped`: it was not, because `like` is better.
    """

    at_most: ByModel
    expected: ByModel
    like: str | None = None
    answers: int = 0
    rows: bool = False
    offline: bool = False
    low: Mapping[RoleModel, Spending] = MappingProxyType({})
    high: Mapping[RoleModel, Spending] = MappingProxyType({})
    unknown: tuple[UnknownCost, ...] = ()
    samples: Mapping[Language, SampledAnswers] = MappingProxyType({})
    language: Language = "en"
    cases: int = 0
    asks_a_bot: bool = False
    sample_skipped: bool = False


def forecast(
    context: RunContext,
    plan: Sequence[Conversation],
    runs: Path | None = None,
    sample_bot: BotSampler | None = None,
) -> Forecast:
    """Estimates the plan; `runs` is the folder of earlier runs to learn from.

    If none of them is similar, `sample_bot` (where given) returns answers sampled from the bot.
    """
    settings = context.settings
    earlier = similar_run(context, plan, runs) if runs else None
    samples = sample_bot() if sample_bot and earlier is None else {}
    if earlier:
        estimate = _forecast_like(context, plan, earlier)
    else:
        estimate = _forecast_without_run(context, plan, samples)
    return estimate._replace(
        answers=0 if settings.adapter in _FREE_ADAPTERS else len(plan) * settings.turns,
        rows=not context.has_customers,
        offline=context.offline and bool(context.models()),
        samples=samples,
        sample_skipped=settings.ask_bot and earlier is not None,
        language=_language(settings.language, plan),
        asks_a_bot=settings.adapter != "recorded",
        cases=len(cases_of_plan(plan)),
    )


def _language(setting: str | None, plan: Sequence[Conversation]) -> Language:
    """The setting, or the language of most questions; Japanese on a tie."""
    if setting == "ja":
        return "ja"
    counts = Counter(conversation.case.language for conversation in islice(plan, _SEARCHED))
    return "en" if setting == "en" or counts["en"] > counts["ja"] else "ja"


def _forecast_like(context: RunContext, plan: Sequence[Conversation], earlier: SimilarRun) -> Forecast:
    """As in an earlier run; the range ends where all leave at once, and where everything is long."""
    length = partial(earlier.length, context)
    scenarios = (
        Scenario(Assumptions("most")),
        Scenario(),
        Scenario(length=length),
        Scenario(length=partial(_shortest_conversation, context)),
    )
    most, whole, usual, soon = count_calls(context, plan, scenarios)
    learnt = {key: _combined(max, each, _corrected(earlier, key, whole[key])) for key, each in most.items()}
    expected = {key: _corrected(earlier, key, each) for key, each in usual.items()}
    apart = max(NARROWEST, earlier.spread(len(plan)))
    low = {
        key: _combined(
            max, _scaled_totals(each, 1 - apart), _corrected(earlier, key, soon.get(key, CallTotals()))
        )
        for key, each in expected.items()
    }
    high = {
        key: _combined(min, _scaled_totals(each, 1 + apart), learnt[key]) for key, each in expected.items()
    }
    at_most, usual_costs, least, greatest = (_priced(context, each) for each in (learnt, expected, low, high))
    return Forecast(at_most, usual_costs, earlier.run, low=least, high=greatest)


def _forecast_without_run(
    context: RunContext, plan: Sequence[Conversation], samples: Mapping[Language, SampledAnswers]
) -> Forecast:
    """Without an earlier run: the middle and both ends of everything that is unknown."""
    shown, at_once = _passage_assumptions(context, samples), partial(_shortest_conversation, context)
    usual = [Scenario(Assumptions(shows=shows, samples=samples)) for shows in shown]
    ends = [
        Scenario(Assumptions("most", samples=samples)),
        Scenario(Assumptions("least", shows=False, samples=samples), at_once),
    ]
    early = [scenario._replace(length=at_once) for scenario in usual]
    most, least, *rest = count_calls(context, plan, [*ends, *usual, *early])
    late, soon = rest[: len(usual)], rest[len(usual) :]
    at_most, low, expected, left = (
        _priced(context, each) for each in (most, least, _mean(late), _mean(soon))
    )
    unknown = []
    if len(shown) > 1:
        unknown.append(_unknown_cost("passages", *(_priced(context, each) for each in late)))
    if left != expected:
        unknown.append(_unknown_cost("leaving", left, expected))
    lengths = (UnknownCost("lengths"),) if at_most else ()
    return Forecast(at_most, expected, low=low, high=at_most, unknown=(*unknown, *lengths))


def _passage_assumptions(context: RunContext, samples: Mapping[Language, SampledAnswers]) -> tuple[bool, ...]:
    """Whether the bot returns passages: both values if unknown, except that chat endpoints mostly do not."""
    if samples or shows_passages(context) is not None:
        return (True,)
    return (False,) if context.settings.adapter == "openai_chat" else (False, True)


def _shortest_conversation(context: RunContext, conversation: Conversation) -> ConversationLength:
    """The length of a conversation whose customer leaves after the first answer."""
    turns, plays = context.turns(conversation)
    return ConversationLength(1 if plays else turns)


def _mean(scenarios: Sequence[Mapping[RoleModel, CallTotals]]) -> dict[RoleModel, CallTotals]:
    totals: dict[RoleModel, CallTotals] = {}
    for scenario in scenarios:
        for key, each in _scaled(scenario, 1 / len(scenarios)):
            totals.setdefault(key, CallTotals()).add(each.calls, each.tokens_in, each.tokens_out)
    return totals


def _scaled(scenario: Mapping[RoleModel, CallTotals], share: float) -> list[tuple[RoleModel, CallTotals]]:
    return [(key, _scaled_totals(each, share)) for key, each in scenario.items()]


def _unknown_cost(what: Literal["passages", "leaving"], low: ByModel, high: ByModel) -> UnknownCost:
    ends = (total_spending(list(each.values())).cost_usd for each in (low, high))
    return UnknownCost(what, *ends)


def by_role(by_model: Mapping[RoleModel, Spending]) -> dict[Role, Spending]:
    """The sums over all models of each role."""
    roles = dict.fromkeys(role for role, _ in by_model)
    return {role: total_spending([each for (r, _), each in by_model.items() if r == role]) for role in roles}


def _corrected(earlier: SimilarRun, key: RoleModel, each: CallTotals) -> CallTotals:
    ratios = earlier.ratios.get(key, Ratios())
    return CallTotals(
        each.calls * ratios.calls,
        each.tokens_in * ratios.calls * ratios.tokens_in,
        each.tokens_out * ratios.calls * ratios.tokens_out,
    )


def _scaled_totals(each: CallTotals, factor: float) -> CallTotals:
    return CallTotals(each.calls * factor, each.tokens_in * factor, each.tokens_out * factor)


def _combined(choose: Callable[..., float], one: CallTotals, other: CallTotals) -> CallTotals:
    return CallTotals(
        choose(one.calls, other.calls),
        choose(one.tokens_in, other.tokens_in),
        choose(one.tokens_out, other.tokens_out),
    )


def _priced(context: RunContext, by_model: Mapping[RoleModel, CallTotals]) -> ByModel:
    prices = context.ledger.prices
    return {
        key: prices.spending(key[1], round(each.calls), each.tokens_in, each.tokens_out)
        for key, each in by_model.items()
    }
