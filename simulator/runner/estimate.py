"""What a run will take: calls, tokens and dollars of every role, told before anything is paid.

The calls of each conversation are counted with the run's real prompts; lines, answers and passages that do
not exist yet are filler text. The range has two ends. The least: every customer leaves after the first
answer, a bot that may show no passages shows none, texts are short. The most: everybody stays to the last
turn, passages are shown, texts are long. A reply that has to be asked for once more is not counted. Beside
the most stand the calls about red answers: what caused each, and which of them are one fault, as if all were
red and no two the same.

How a range comes about:

1. `_sample` keeps a few conversations of each kind that makes the same calls.
2. `_held` makes each of them as if it had been held, in filler text, for either end of the range.
3. `_calls` renders the prompts of every call in it, with the code that renders them in the run, and counts
   their tokens; `_grades` does so for judges.
4. `_priced` multiplies them by how many conversations each stands for, sums them up and prices the sums.

So a longer rubric, another persona or one judge more shows in the forecast without a line here. What it
cannot know is how long customers stay: that is why there are two ends and no mean.
"""

import inspect
import math
import random
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import cache, lru_cache
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol

from simulator.core import shelves
from simulator.core.patterns import LazyPattern
from simulator.core.roles import Endpoint
from simulator.core.templates import read_toml
from simulator.core.types import (
    Answer,
    Conversation,
    Ended,
    GradingContext,
    Language,
    Passage,
    Role,
    Spending,
    Turn,
)
from simulator.grading.cause import NEAREST, CauseMaterial, CausePrompt
from simulator.grading.grading import Grading
from simulator.grading.rubric import ReplySchema
from simulator.grading.same_fault import FaultyAnswer, SameFaultPrompt, most_pairs
from simulator.models.pricing import Ledger, total_spending
from simulator.runner.context import RunContext, embeds
from simulator.runner.conversation import grading_contexts
from simulator.runner.plan import cases_of_plan
from simulator.sheets.model import FIRST, LATER, question_key
from simulator.users.persona import PersonaUser

# Answers, passages and lines that do not exist yet are assumed to have at most this many characters: a long
# answer of a desk, a paragraph of an article, a customer who explains. Japanese says the same in half as
# many.
ANSWER = {"ja": 160, "en": 420}
PASSAGE = {"ja": 300, "en": 700}
PASSAGES = 4
LINE = {"ja": 40, "en": 80}
# Tokens of a filled-in form at most: of several grades, of each further one, of leaving beside the line.
GRADES, GRADE, LEAVING = 420, 90, 40
# Of the cause of a red answer; of whether two are one fault.
CAUSE, SAME_FAULT = 110, 60
# A judge that embeds what a model filled in compares this many texts with the customer's line.
FILLED_TEXTS = 3
# Of conversations that make the same calls, so many are measured, and stand for the others. Their questions
# and references differ in length; of ten, the mean is near enough, and a million rows take no longer.
MEASURED = 10
# Adapters without costs of their own: the demo's model is a role of the run, recorded answers cost nothing.
_FREE_ADAPTERS = frozenset({"demo", "recorded"})


_CJK = LazyPattern(r"[\u3040-\u30ff\u3400-\u9fff\uff00-\uffef]+")


class Grades(Protocol):
    """What grades are made with: a `RunContext`, or what grades a finished run."""

    @property
    def endpoints(self) -> Mapping[Role, Endpoint | None]:
        """The endpoint of each role."""
        ...

    @property
    def grading(self) -> Grading:
        """Its judges."""
        ...

    @property
    def ledger(self) -> Ledger:
        """Its prices."""
        ...


RoleModel = tuple[Role, str]
ByModel = Mapping[RoleModel, Spending]


class _ForecastCalls(NamedTuple):
    """Calls to one model, and the tokens in and out of all of them; means need not be whole."""

    model: RoleModel
    number: float
    tokens_in: float
    tokens_out: float

    def times(self, factor: float) -> "_ForecastCalls":
        """So many times as many."""
        return _ForecastCalls(self.model, *(factor * size for size in self[1:]))


@lru_cache(maxsize=256)  # the rules of a judge are counted with every turn
def tokens(text: str) -> int:
    """A rough count without a tokenizer: 1.1 characters a token in Japanese, 4 in English.

    月額はいくらですか。 -> 9, How much is it a month? -> 6. A tokenizer would have to be the model's own,
    which for most endpoints nobody knows.
    """
    cjk = 0 if text.isascii() else sum(map(len, _CJK.findall(text)))
    return math.ceil(cjk / 1.1 + (len(text) - cjk) / 4)


def prompt_tokens(messages: Sequence[Mapping[str, str]]) -> int:
    """The tokens of a prompt."""
    return sum(tokens(message["content"]) for message in messages)


class End(NamedTuple):
    """One end of the range: whether customers stay to the last turn, and passages are shown if unknown.

    `length` is the share of the longest assumed lengths and numbers that texts and passages have.
    """

    stays: bool
    shows: bool
    length: float


LEAST, MOST = End(stays=False, shows=False, length=0.2), End(stays=True, shows=True, length=1.0)


class Forecast(NamedTuple):
    """Calls, tokens and dollars by role and model, at least and at most, of what is still to be held.

    `answers` is how many the bot gives at most; their costs are the bot's own and not included. `rows`: a
    single-turn data set; `offline`: no role has a model. `causes` are the calls about red answers, if all are
    red: their causes, and which are one fault; they come last, so that no conversation waits for them.
    """

    low: ByModel
    high: ByModel
    answers: int = 0
    rows: bool = False
    offline: bool = False
    language: Language = "en"
    causes: ByModel = MappingProxyType({})

    @property
    def most(self) -> ByModel:
        """The most with the calls about red answers."""
        return {
            key: total_spending([spending[key] for spending in (self.high, self.causes) if key in spending])
            for key in {**self.high, **self.causes}
        }


def forecast(context: RunContext, plan: Sequence[Conversation], disputed: Iterable[str] = ()) -> Forecast:
    """The forecast of a plan; `disputed` are the keys of earlier answers that people did not find wrong."""
    settings = context.settings
    sample = _sample(context, plan)
    low, high = (
        _priced(context, (calls.times(n) for place, n in sample for calls in _calls(context, place, end)))
        for end in (LEAST, MOST)
    )
    return Forecast(
        low=low,
        high=high,
        answers=0 if settings.adapter in _FREE_ADAPTERS else len(plan) * settings.turns,
        rows=not context.has_customers,
        offline=context.offline and bool(context.models()),
        language=_language(settings.language, sample),
        causes=_priced(context, _red_calls(context, plan, sample, disputed)),
    )


def _priced(context: Grades, calls: Iterable[_ForecastCalls]) -> ByModel:
    sums: dict[RoleModel, tuple[float, float, float]] = {}
    for model, number, tokens_in, tokens_out in calls:
        before = sums.get(model, (0.0, 0.0, 0.0))
        sums[model] = before[0] + number, before[1] + tokens_in, before[2] + tokens_out
    return {
        (role, model): context.ledger.prices.spending(model, round(number), tokens_in, tokens_out)
        for (role, model), (number, tokens_in, tokens_out) in sums.items()
    }


def _language(setting: str | None, sample: Sequence[tuple[Conversation, float]]) -> Language:
    """The setting, or the language of most conversations; Japanese on a tie."""
    if setting == "ja":
        return "ja"
    english = sum(times if place.case.language == "en" else -times for place, times in sample)
    return "en" if setting == "en" or english > 0 else "ja"


def by_role(by_model: ByModel) -> dict[Role, Spending]:
    """The sums over all models of each role."""
    roles = dict.fromkeys(role for role, _ in by_model)
    return {
        role: total_spending([spent for (r, _), spent in by_model.items() if r == role]) for role in roles
    }


# --- Counted with the real prompts ---


def _sample(context: RunContext, plan: Sequence[Conversation]) -> list[tuple[Conversation, float]]:
    """Conversations that stand for all of a plan, each with the number of those that it stands for.

    Only conversations with the same calls stand for one another, so that calls are exact. A plan may be a
    data set of a million rows: it is read once, and no more than the sample is kept.
    """
    counts: Counter[Any] = Counter()
    kept: dict[Any, list[Conversation]] = {}
    rng = random.Random(0)  # noqa: S311 - a sample, not a secret
    for conversation in plan:
        case = conversation.case
        has = (bool(case.history), bool(case.answer), bool(case.expect), *map(bool, case.references))
        turns = context.turns(conversation)
        twice = [context.grading.is_graded_twice(conversation.id, n) for n in range(1, turns[0] + 1)]
        # The first and the last turn are graded alone and, if the conversation ends there, as part of it.
        who = conversation.persona, conversation.user_model
        # Whatever decides how many calls it makes, and of what size, belongs into this key: else
        # conversations with more calls are drawn more or less often than they occur, and the forecast is off
        # by chance.
        kind = (case.language, who, turns, has, twice[0], twice[-1], sum(twice))
        counts[kind] += 1
        sample = kept.setdefault(kind, [])
        if len(sample) < MEASURED:
            sample.append(conversation)
        # Reservoir sampling (Vitter's algorithm R): every row is as likely to be kept.
        elif (place := rng.randrange(counts[kind])) < MEASURED:
            sample[place] = conversation
    # How many outputs a row has depends on its reference, so all rows are looked at once.
    if context.grading.outputs:
        context.grading.outputs.expect(conversation.case for conversation in plan)
    return [(place, counts[kind] / len(sample)) for kind, sample in kept.items() for place in sample]


def grading_estimate(context: Grades, judges: AbstractSet[str], turns: Iterable[GradingContext]) -> Spending:
    """What these judges take at most for some turns; nothing if no model grades."""
    if (endpoint := context.endpoints["judge"]) is None:
        return Spending()
    calls = (calls for seen in turns for calls in _grades(context, endpoint.model, seen, MOST, judges))
    return total_spending(_priced(context, calls).values())


def _calls(context: RunContext, conversation: Conversation, end: End) -> Iterator[_ForecastCalls]:
    """All calls of one conversation."""
    case, models = conversation.case, context.endpoints
    turns, plays = context.turns(conversation)
    held = _held(context, conversation, turns if end.stays or not plays else 1, end)
    line = tokens(_filler(case.language, LINE, end))
    customer = context.persona_user(conversation) if plays else None
    if isinstance(customer, PersonaUser):
        user: RoleModel = ("user", customer.model.endpoint.model)
        prompts = [customer.messages(case, held.turns[: turn.index]) for turn in held.turns]
        if context.settings.voice_opening:
            prompts.append(context.openings.messages(case, customer.persona))
        for messages in prompts:
            # A line, and the fields before it (`NextLine`).
            yield _ForecastCalls(user, 1, prompt_tokens(messages), line + LEAVING * end.length)
    if context.settings.adapter == "demo" and (demo := models["demo"]):
        texts = read_toml(shelves.ADAPTERS / "demo_prompt.toml")[case.language]
        framing = tokens(texts["system"]) + tokens(texts["user"])
        # The demo bot is sent the whole dialogue each time, so its prompts grow with the turns.
        said = sum(tokens(message.content) for message in case.history)
        for turn in held.turns:
            answer, shown = turn.answer, sum(tokens(passage.text) for passage in turn.answer.passages)
            said += tokens(turn.user)
            yield _ForecastCalls(("demo", demo.model), 1, framing + shown + said, tokens(answer.text))
            said += tokens(answer.text)
    for seen in () if _is_graded_later(context) else grading_contexts(held):
        if judge := models["judge"]:
            yield from _grades(context, judge.model, seen, end)
        embedding = models["embed"] if seen.closing is None else None
        for _unused, grader in context.grading.judges_per_turn if embedding else ():
            if embedding and embeds(grader) and (size := _embedded(grader, seen, line)):
                yield _ForecastCalls(("embed", embedding.model), 1, size, 0)


def _is_graded_later(context: RunContext) -> bool:
    """Whether the run only holds its conversations: `--grade later`."""
    return context.settings.added.get("grade") == "later"


def _red_calls(
    context: RunContext,
    plan: Sequence[Conversation],
    sample: Sequence[tuple[Conversation, float]],
    disputed: Iterable[str],
) -> Iterator[_ForecastCalls]:
    """Calls for the cause of every answer and for pairs of them, as if each were red and no two alike."""
    judge, settings = context.endpoints["judge"], context.settings
    if _is_graded_later(context):
        return
    if judge is None or settings.causes != "model" or not context.is_played("judge"):
        return
    model: RoleModel = ("judge", judge.model)
    for conversation, times in sample:
        for seen in grading_contexts(_held(context, conversation, context.turns(conversation)[0], MOST)):
            # Where rows are asked and nothing is retrieved, there is no search to blame.
            if seen.closing is None and (context.has_customers or seen.turn.answer.passages):
                yield _ForecastCalls(model, 1, _cause_tokens(seen), CAUSE).times(times)
    if pairs := _pairs(context, plan, disputed):
        language = _language(settings.language, sample)
        text = _filler(language, ANSWER, MOST)
        answer = FaultyAnswer(text[: len(text) // 2], text, text)
        messages = _same_fault_prompt().messages(answer, answer, language)
        yield _ForecastCalls(model, 1, prompt_tokens(messages), SAME_FAULT).times(pairs)


def _pairs(context: RunContext, plan: Sequence[Conversation], disputed: Iterable[str]) -> int:
    """The pairs of answers to one question, those to first lines and to later ones apart."""
    answers, disputes = Counter[str](), Counter(key.rpartition("-")[0] for key in disputed)
    starts = {case.id: question_key(case) for case in cases_of_plan(plan)} if disputes else {}
    for conversation in plan:
        start = starts.get(conversation.case.id, conversation.case.id)
        answers[f"{start}{FIRST}"] += 1
        answers[f"{start}{LATER}"] += context.turns(conversation)[0] - 1
    return sum(most_pairs(n, disputes[kind.removesuffix("-")]) for kind, n in answers.items())


def _held(context: RunContext, conversation: Conversation, turns: int, end: End) -> Conversation:
    """The conversation as if it had been held, in filler text; recorded answers are there already."""
    case, settings = conversation.case, context.settings
    if settings.adapter == "recorded" and case.answer is not None:
        answer, texts = case.answer, list(map(str, case.contexts))
    else:
        answer = _filler(case.language, ANSWER, end)
        shows = _shows_passages(context)
        top = settings.set.get("top", "") if settings.adapter == "demo" else ""
        number = max(1, round((int(top) if top.isdecimal() else PASSAGES) * end.length))
        if not (end.shows if shows is None else shows):
            number = 0
        texts = [_filler(case.language, PASSAGE, end)] * number
    passages = tuple(Passage(id=f"{case.language}/{n:02}-passage", text=text) for n, text in enumerate(texts))
    line = _filler(case.language, LINE, end)
    held = (
        Turn(
            index=index,
            user=line if index > 1 else case.question,
            answer=Answer(text=answer, passages=passages, shows_passages=bool(passages)),
        )
        for index in range(1, turns + 1)
    )
    return conversation.model_copy(update={"turns": tuple(held), "ended": Ended.TURN_LIMIT})


def _filler(language: Language, characters: Mapping[str, int], end: End) -> str:
    return ("あ" if language == "ja" else "a") * round(characters[language] * end.length)


def _shows_passages(context: RunContext) -> bool | None:
    """Whether the bot returns passages, by its adapter's settings; None if they do not say."""
    adapter = context.settings.adapter
    if adapter == "http":
        return "passages" in context.settings.set
    return True if adapter in ("demo", "recorded") else None


def _grades(
    context: Grades,
    first: str,
    seen: GradingContext,
    end: End,
    judges: AbstractSet[str] | None = None,
) -> Iterator[_ForecastCalls]:
    """The calls that grade a turn, or the whole: of rubrics by every model, of functions by one.

    `judges` are those that are asked; with None, all. A call that judges share is made for any of them.
    """
    grading, whole = context.grading, seen.closing is not None
    calls = [grading.rubrics] if grading.is_combined else [[rubric] for rubric in grading.rubrics]
    calls, forms_filled = (grading.conversation_rubrics, []) if whole else (calls, grading.forms)
    asked = ([rubric for rubric in call if rubric.missing(seen) is None] for call in calls)
    groups = list(filter(None, asked))
    gradings = 1 + grading.is_graded_twice(seen.conversation, seen.turn.index)
    forms: list[tuple[str, Sequence[ReplySchema], bool, int]] = [
        (model, group, len(group) == 1 if whole else not grading.is_combined, times)
        for model, times in (
            (first, gradings),
            *((panelist.model, 1) for panelist in grading.panelists),
        )
        for group in groups
    ]
    forms += [(first, [form], True, gradings) for form in forms_filled if form.missing(seen) is None]
    for model, group, alone, times in forms:
        if judges is not None and judges.isdisjoint(judge.name for judge in group):
            continue
        size = prompt_tokens(grading.frame.prompt(seen, group, alone=alone))
        reply = GRADES if whole or len(group) > 1 or group[0].name == "turn" else GRADE
        reply += GRADE * (len(group) - 1)
        yield _ForecastCalls(("judge", model), 1, size, reply * end.length).times(times)


def _cause_tokens(seen: GradingContext) -> int:
    """The tokens of the request for the cause of a red answer."""
    language = seen.case.language
    verdict, article = _filler(language, ANSWER, MOST), _filler(language, PASSAGE, MOST)
    near = tuple(Passage(id=f"{n:02}-article", text=article) for n in range(NEAREST))
    return prompt_tokens(_cause_prompt().messages(CauseMaterial(seen, verdict, near)))


@cache
def _cause_prompt() -> CausePrompt:
    return CausePrompt()


@cache
def _same_fault_prompt() -> SameFaultPrompt:
    return SameFaultPrompt()


def _embedded(judge: Any, seen: GradingContext, line: int) -> int:
    """The tokens that a judge embeds: the answer and its references, or lines; 0 where it lacks these."""
    if "references" not in inspect.signature(judge).parameters:
        return tokens(seen.case.question) + FILLED_TEXTS * line
    return tokens(seen.turn.answer.text) + sum(map(tokens, seen.references)) if seen.references else 0
