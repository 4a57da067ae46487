"""The types that engine, shelves (personas, judges, adapters) and reports share, as frozen values.

Nothing here does I/O, and of our modules only errors and the program's own sentences are imported.

From what is asked to what is known of it:

    Case            a question, with its references, passages and facts
    Conversation    a case and a persona, and what they said: its `turns`, how it `ended`
    Turn            one exchange: the customer's line, the bot's Answer, the Reaction to the answer before
    GradingContext  a turn with all that came before it, as a judge sees it
    Score           one judge's verdict on it
    Results         a whole run: conversations, scores, spending, notes

Turns are numbered from 1, and lists by turn begin with turn 1: `references[0]` belongs to turn 1. Every value
of a verdict is 0..1 with 1 the best; `raw` is the grade on the judge's own scale. None means that nobody
knows, which is never the same as 0, False or an empty list.

A run file stores these types as JSON, without the fields that have their defaults. So a new field needs a
default, and a default may not change its meaning: older files rely on it.
"""

from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from functools import cached_property
from hashlib import sha256
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self
from zlib import compress, decompress

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    JsonValue,
    TypeAdapter,
    ValidationError,
    field_validator,
    model_validator,
)

from simulator.core.errors import Failure as Failure
from simulator.core.errors import Said
from simulator.core.messages import Language as Language
from simulator.core.messages import Message, _

if TYPE_CHECKING:
    from pandas import DataFrame

# The persona who asks the rows of single-turn data sets: no customer at all.
SCRIPTED = "scripted"
# What has to happen to a case in the end: a person takes over, the bot answers by itself, or either is right.
Handover = Literal["required", "forbidden", "optional"]
Severity = Literal["major", "moderate", "minor"]
# Three states of a grade that must not be mixed: there is a value; there was nothing to hold the answer
# against, which counts neither way; the judge broke down, which is counted and tried again on --resume.
State = Literal["scored", "skipped", "failed"]
# What an answer does for what was asked, as the judge of turns says: it answers all or some of it, says that
# it cannot, asks the customer for what it needs first, passes them to somebody else, or none of these.
Response = Literal["answered", "partly", "declined", "asked_back", "handed_over", "nothing"]
Role = Literal["user", "judge", "embed", "demo"]
Status = Literal["running", "finished", "interrupted", "stopped"]

Text = Annotated[str, Field(min_length=1)]


# What checks values is built for the first of them: a run uses half of all types.
_DEFERRED = ConfigDict(defer_build=True)


class Value(BaseModel):
    """Base of every type: immutable, and a misspelt field is an error.

    A change is a copy (`model_copy(update=...)`), whose values pydantic does not check again.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)


class ChatMessage(Value):
    """One line of a dialogue: `role` is "user" (the customer) or "assistant" (the bot)."""

    role: Literal["user", "assistant"]
    content: str


class Passage(Value):
    """A piece of an article that the bot retrieved.

    Judges cite `id`, and it is compared with the gold passages of a case. `source` is the file or address,
    for people. `score` is the retriever's, on any scale, and only shown. None: unknown.
    """

    id: str
    text: str
    source: str | None = None
    score: float | None = None


class StoredArticle(Value):
    """An article of the bot as a run keeps it, so that a later one can say what was changed.

    `digest` is that of the text; `packed` is the text, compressed, and empty where the articles of a run were
    too many to keep their texts.
    """

    id: str
    title: str
    digest: str
    packed: bytes = b""

    @classmethod
    def of(cls, id_: str, title: str, text: str) -> "StoredArticle":
        """The article with this text."""
        data = text.encode(errors="replace")
        return cls(id=id_, title=title, digest=sha256(data).hexdigest()[:16], packed=compress(data))

    @cached_property
    def text(self) -> str:
        """The text; empty where it was not kept."""
        return decompress(self.packed).decode() if self.packed else ""


class ToolCall(Value):
    """One call of a tool that the bot made for an answer.

    `arguments` are text as the model wrote it, usually JSON. `result` is the text that the tool returned;
    None if unknown.
    """

    name: str
    arguments: str = ""
    result: str | None = None


# More tokens than any call takes; sums of it fit into SQLite's integers.
_MOST_TOKENS = 10**9


def _counts(details: Any) -> dict[str, int]:
    """The numbers of tokens that an endpoint told, by name, without what cannot be one."""
    # What an endpoint tells is not ours: a count may be negative, huge or a text.
    numbers = {
        name: float(value) if isinstance(value, str) and value.isdecimal() and len(value) < 13 else value
        for name, value in (details.items() if isinstance(details, dict) else ())
    }
    return {
        name: int(value)
        for name, value in numbers.items()
        if isinstance(value, (int, float)) and 0 <= value <= _MOST_TOKENS
    }


class Usage(Value):
    """Tokens of one model call, as the provider counted them.

    `tokens_out` includes reasoning. `tokens_cached` is the part of `tokens_in` that the provider read from
    its prompt cache.
    """

    model: str = ""
    tokens_in: int = 0
    tokens_out: int = 0
    tokens_cached: int = 0


# Tokens from an endpoint's cache of prompts, beside OpenAI's prompt_tokens_details.cached_tokens: Anthropic,
# DeepSeek, Gemini by its own name and in snake case, Kimi.
_ANTHROPIC = "cache_read_input_tokens"
_CACHED = (
    _ANTHROPIC, "prompt_cache_hit_tokens", "cachedContentTokenCount", "cached_content_token_count",
    "cached_tokens",
)  # fmt: skip


def usage_told(counted: Any, model: str) -> Usage | None:
    """The tokens of a reply, from the `usage` of a chat completion; None where it counts nothing.

    What came from the endpoint's cache of prompts is a part of what went in (OpenAI, DeepSeek, Gemini, Kimi),
    or stands beside it (Anthropic's own counts, in which what was written to the cache stands beside, too).
    Reasoning is paid for like the reply. Some leave it out of `completion_tokens`: then the total says so, or
    the reasoning alone is more than the whole.

        {"prompt_tokens": 9, "completion_tokens": 2, "total_tokens": 511}                       -> 9 and 502
        {..., "completion_tokens_details": {"reasoning_tokens": 500}}, without a total          -> 9 and 502
        {"prompt_tokens": 9, "prompt_cache_hit_tokens": 8, ...}                                 -> 9, 8 cached
        {"input_tokens": 1, "cache_read_input_tokens": 8, ...}                                  -> 9, 8 cached
    """
    if not isinstance(counted, dict):
        return None
    counts = _counts(counted)
    of_prompt = _counts(counted.get("prompt_tokens_details"))
    of_reply = _counts(counted.get("completion_tokens_details"))
    # Some gateways pass on what Anthropic calls them.
    tokens_in = max(counts.get("prompt_tokens", 0), counts.get("input_tokens", 0))
    tokens_out = max(counts.get("completion_tokens", 0), counts.get("output_tokens", 0))
    total = counts.get("total_tokens", 0)
    reasoning = max(of_reply.get("reasoning_tokens", 0), counts.get("reasoning_tokens", 0))
    if reasoning > tokens_out:
        tokens_out += reasoning
    # Embeddings may tell a total alone.
    tokens_in = tokens_in or max(0, total - tokens_out)
    tokens_out = max(tokens_out, total - tokens_in)
    cached = max(of_prompt.get("cached_tokens", 0), *(counts.get(name, 0) for name in _CACHED))
    if "input_tokens" in counted and "prompt_tokens" not in counted and _ANTHROPIC in counted:
        tokens_in += cached + counts.get("cache_creation_input_tokens", 0)
    cached = min(cached, tokens_in)
    return Usage(model=model, tokens_in=tokens_in, tokens_out=tokens_out, tokens_cached=cached)


class Query(Value):
    """What a bot or adapter receives: stateful bots use `session`, stateless ones `history`.

    `text` is the customer's line, or a filled-in prompt. `system` is the prompt's text before the dialogue;
    `choices` are the answers to choose from; both are empty without. `history` is what was said before
    `text`, oldest first. `session` is unique to the conversation. `case` is the id of the case.
    """

    text: str
    system: str = ""
    choices: tuple[str, ...] = ()
    history: tuple[ChatMessage, ...] = ()
    session: str = ""
    case: str = ""
    language: Language = "ja"

    @property
    def messages(self) -> tuple[str, ...]:
        """The messages of the customer's line, in order, for bots that take several in a row."""
        return tuple(filter(None, map(str.strip, self.text.splitlines())))


class Answer(Value):
    """What the bot said, what it retrieved, how long it took and what it cost.

    `passages` are in the retriever's order; empty means that nothing was retrieved, or, if `shows_passages`
    is False, that it is unknown: then judges of groundedness skip. `missing_passages` says why that is so
    although the bot's settings name a place for them. `seconds` is the time until the whole
    answer, `first_token_seconds` until the first words of a streamed one; None: not measured. `usage` counts
    the tokens of the bot's model: shown, but not part of --budget. With an `error`, `text` is empty and the
    answer gets the lowest grade. `logprobs` is the natural log-likelihood (at most 0) of each choice of the
    query; empty if the endpoint gives none. `reasoning` counts the characters of <think>...</think>, which
    are not in `text`. `tools` are calls of tools in order; empty: none was called, None: the bot does not
    show them.
    """

    text: str
    passages: tuple[Passage, ...] = ()
    shows_passages: bool = True
    missing_passages: Said = ""
    seconds: float | None = None
    first_token_seconds: float | None = None
    usage: Usage | None = None
    error: Failure | None = None
    logprobs: dict[str, float] = Field(default_factory=dict)
    reasoning: int = Field(0, ge=0)
    tools: tuple[ToolCall, ...] | None = None


class Facts(Value):
    """What a customer can and cannot say about themselves, in plain sentences.

    `knows`: "The order number is A-1234." `unknown`: "The date of the contract." What is in neither is not
    theirs to state: a number that they make up is their fault, and not the bot's.
    """

    knows: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()


class Rule(Value):
    """A row of `--rules`: what an answer must not do, and how grave it is if it does."""

    id: Annotated[str, Field(pattern=r"^[^\s\[\]]+$")]
    text: Annotated[str, Field(pattern=r"\S")]
    severity: Severity


class Case(Value):
    """One row of a data set: a customer's question, and what is known about a good answer.

    Required are `id`, `question` and `language`.

        question, history    turn 1, and what was said before it
        goal, facts          what the customer wants in the end, and can say of themselves
        details              facts that the program invents for a customer without any (users/details.py)
        references           reference answers by turn: references[0] is for turn 1, and any of them is right
        passages             ids of the gold passages
        answerable           False: no article answers it, and the bot has to say so; None: unknown
        handover             whether a person has to take over
        choices, label       of multiple choice and classification
        script               what the customer says from turn 2 on, line by line
        answer, contexts     a recorded reply to the question, and what was retrieved for it
        recorded             recorded answers of a whole dialogue by turn; one with an empty text is none,
                             unless its `error` says that the bot failed
        tools                tools that the bot must call, on whatever turn; `!name` must not be called
        expect               what is expected of the bot in the conversation, in plain sentences
        personas             who asks it: these personas alone, or all but `!name`
        attack               the rule that an attacker tries to have the bot break; None: no attacker
        tags, values         words to group by; the other columns as text, by heading, for prompts to use
    """

    id: Text
    question: Text
    language: Language
    history: tuple[ChatMessage, ...] = ()
    references: tuple[tuple[str, ...], ...] = ()
    passages: tuple[str, ...] = ()
    answerable: bool | None = None
    handover: Handover = "optional"
    goal: str | None = None
    facts: Facts = Field(default_factory=Facts)
    details: tuple[str, ...] = ()
    choices: tuple[str, ...] = ()
    label: str | None = None
    answer: str | None = None
    contexts: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    expect: tuple[str, ...] = ()
    personas: tuple[str, ...] = ()
    attack: Rule | None = None
    tags: tuple[str, ...] = ()
    script: tuple[str, ...] = ()
    recorded: tuple[Answer, ...] = ()
    values: dict[str, str] = Field(default_factory=dict)

    @field_validator("references", mode="before")
    @classmethod
    def _per_turn(cls, value: Any) -> Any:
        """A plain list of answers means: any of these is right on turn 1."""
        if isinstance(value, str):
            return ((value,),)
        # ["a", "b"] are two right answers on turn 1; one of turn 2 has to be in a list of its own.
        if isinstance(value, (list, tuple)) and value and all(isinstance(v, str) for v in value):
            return (tuple(value),)
        return value

    def references_at(self, turn: int) -> tuple[str, ...]:
        """Returns the reference answers of a turn (from 1); empty if it has none."""
        return self.references[turn - 1] if 0 < turn <= len(self.references) else ()

    @property
    def known(self) -> tuple[str, ...]:
        """The facts that the customer can state, invented details included."""
        return (*self.facts.knows, *self.details)

    @property
    def is_complaint(self) -> bool:
        """Whether a person has to take over, and `answerable` is None."""
        return self.answerable is None and self.handover == "required"


Next = Literal["stay", "satisfied", "gave_up", "handed_over"]


class Reaction(Value):
    """What a customer makes of the desk's last answer, in the order in which they think of it.

    A model writes its next line after it, so that the line follows from what was made of the answer: `why` in
    a few words, what they `got` (in the words of the judge of turns; None: nobody said), the `feeling`
    (-2 angry .. 2 glad), and what is `next`. `overruled` is the model's own choice where the persona's rules
    decided otherwise.
    """

    why: str = ""
    got: Response | None = None
    feeling: Annotated[int, Field(ge=-2, le=2)] = 0
    next: Next = "stay"
    overruled: Next | None = None


class Turn(Value):
    """A customer's line and the bot's answer.

    `index` counts from 1. `user` is the line as the bot received it. `broken_rules` names the guard rules
    that its discarded first draft broke. `reaction` is the customer's to the answer before this line; None in
    the first turn, and if there was none (`Conversation.reactions` has that to this answer). `diverged`
    marks, in a replay, the first line that no longer fitted the bot's answer.
    """

    index: Annotated[int, Field(ge=1)]
    user: str
    answer: Answer
    broken_rules: tuple[str, ...] = ()
    reaction: Reaction | None = None
    diverged: bool = False

    @property
    def unrecorded(self) -> bool:
        """Whether a log has no answer to this line, so that there is nothing to grade."""
        return self.answer.error is not None and self.answer.error.kind == "unrecorded"


class Ended(StrEnum):
    """Why a conversation stopped.

    The customer decides the first three, the limit the fourth, and the bot `rag_failed`. `user_failed` (the
    model broke its rules or the form) and `endpoint_failed` (the model gave no answer) are held against
    nobody. --resume continues conversations with `endpoint_failed`, `budget` and `interrupted`.
    """

    SATISFIED = "satisfied"
    GAVE_UP = "gave_up"
    HANDED_OVER = "handed_over"
    TURN_LIMIT = "turn_limit"
    RAG_FAILED = "rag_failed"
    USER_FAILED = "user_failed"
    ENDPOINT_FAILED = "endpoint_failed"
    BUDGET = "budget"
    INTERRUPTED = "interrupted"


# What goes on with --resume.
OPEN = frozenset({Ended.ENDPOINT_FAILED, Ended.BUDGET, Ended.INTERRUPTED})
# How a conversation ends that was held to its end: not one that was cut off, or that lost its customer.
COMPLETE = frozenset({Ended.SATISFIED, Ended.GAVE_UP, Ended.HANDED_OVER, Ended.TURN_LIMIT, Ended.RAG_FAILED})


class Utterance(Value):
    """What the simulated customer does next: says `text` and stays, or leaves; the rest as in Turn.

    Whose lines are `over` neither stays nor leaves: nobody knows what they would have done.
    """

    text: str = ""
    next: Next | Literal["over"] = "stay"
    reason: str = ""
    broken_rules: tuple[str, ...] = ()
    reaction: Reaction | None = None
    diverged: bool = False


def turn_of(index: int, line: Utterance, answer: Answer) -> Turn:
    """The exchange of a customer's line and its answer."""
    return Turn(
        index=index,
        user=line.text,
        answer=answer,
        broken_rules=line.broken_rules,
        reaction=line.reaction,
        diverged=line.diverged,
    )


class Conversation(Value):
    """A dialogue from greeting to end. Scores are kept apart: it can be graded again.

    `id` is `persona/case#repeat`, with several customers' models `persona@model/case#repeat`; `repeat` counts
    from 1. `ended` is None as long as it may go on. `reason` is why the customer left, `closing` what they
    said then, which the bot never received. `reaction` is what the customer made of the last answer.
    `user_model` is who of several models plays the customer, empty where it is the run's only one.
    """

    id: str
    case: Case
    persona: str
    repeat: int = 0
    turns: tuple[Turn, ...] = ()
    ended: Ended | None = None
    reason: str = ""
    closing: str = ""
    reaction: Reaction | None = None
    user_model: str = ""

    @property
    def like_others(self) -> str:
        """The id without the model: the same for whoever plays, and so are the random choices in it.

        `angry@gpt-4.1/fees-01#1` -> `angry/fees-01#1`. So models are compared on the same draws.
        """
        return self.id.replace(f"@{self.user_model}/", "/", 1) if self.user_model else self.id

    @property
    def reactions(self) -> tuple[Reaction | None, ...]:
        """What the customer made of each answer, as far as they were asked."""
        return (*(turn.reaction for turn in self.turns[1:]), self.reaction)


class GradingContext(Value):
    """What a judge receives: a turn, the turns before it, and the case.

    `earlier` is oldest first. `closing` is None when the turn is graded. When a whole finished conversation
    is, `turn` is its last one and `closing` what the customer said when leaving, perhaps "".
    """

    conversation: str
    case: Case
    persona: str
    turn: Turn
    earlier: tuple[Turn, ...] = ()
    closing: str | None = None

    @property
    def turns(self) -> tuple[Turn, ...]:
        """The turns so far, oldest first, this one included."""
        return (*self.earlier, self.turn)

    @property
    def references(self) -> tuple[str, ...]:
        """The reference answers of this turn; empty if it has none."""
        return self.case.references_at(self.turn.index)

    @property
    def right_answers(self) -> tuple[str, ...]:
        """The reference answers of this turn, else those to the case's question."""
        return self.references or self.case.references_at(1)


class Score(Value):
    """One grade of a judge. `value` is 0 to 1, `raw` is on `scale`; None if `state` is skipped or failed.

    Grades from 1 to 5 become fifths (3 is 0.6, and the lowest 0.2); other scales go from end to end
    (`replies.share_of`). Leave `judge`, `conversation` and `turn` (from 1) out in your judge: the program
    fills them in. `severity` is how serious the fault is; None: by the grade. `response` is what the answer
    does, also if the judge skips it; None: unknown. `detail` has the parts of the grade. `rubric` is the hash
    of prompt, reply format and model, so that grades of different rubrics are never mixed. `by_rule` marks a
    grade given without a judge, to a turn without an answer.
    """

    judge: str = ""
    conversation: str = ""
    turn: int = 0
    state: State
    value: Annotated[float, Field(ge=0, le=1)] | None = None
    raw: float | None = None
    scale: tuple[float, float] = (1, 5)
    severity: Severity | None = None
    reason: str = ""
    response: Response | None = None
    detail: dict[str, JsonValue] = Field(default_factory=dict)
    rubric: str = ""
    by_rule: bool = False

    @property
    def second(self) -> "Score | None":
        """The judge's second grade of the same answer (--retest); None if there is none, or if it failed.

        Means leave it out, so that no answer counts twice.
        """
        verdict = self.detail.get(RETEST)
        if not isinstance(verdict, dict) or verdict.get("state") == "failed":
            return None
        try:
            return Score.model_validate({**dict(self), "detail": {}, **verdict})
        except ValidationError:  # a judge of the user's own keeps something else under that name
            return None

    @property
    def is_whole(self) -> bool:
        """Whether it grades the whole conversation, and not only the turn it is stored with."""
        return self.judge.partition("@")[0] == CONVERSATION or WHOLE in self.detail


class HumanVerdict(Value):
    """What one person said of one turn: in the review (a sheet, or the page of `open`), or blind.

    Blind grades tell best how good a judge is: whoever has read a verdict is led by it. `grade` is 1..5;
    `judge_is` says whether the judge was right, `red` whether it had marked the answer then (None: nobody
    noted it, and its mark of today counts); `sampled` (0..1) is the chance that a blind turn had to be drawn.
    `cause`, `comment`, `assignee` and `status` are as they were typed; `expect` is what the answer
    should have done, a sentence a line; `make_test` says that what was asked here is to be a test. `document`
    is the sheet or workbook that says so, `silent` the fields of which it says nothing: their columns are
    gone, or their cells no choice.
    """

    conversation: str
    turn: int
    source: Literal["review", "page", "blind"]
    reviewer: str = ""
    document: str = ""
    silent: frozenset[str] = frozenset()
    given: datetime | None = None
    grade: Annotated[float, Field(ge=1, le=5)] | None = None
    judge_is: Literal["right", "wrong", "unsure"] | None = None
    red: bool | None = None
    correct_answer: str = ""
    expect: str = ""
    cause: str = ""
    comment: str = ""
    assignee: str = ""
    status: str = ""
    make_test: bool = False
    sampled: Annotated[float, Field(gt=0, le=1)] | None = None

    @property
    def key(self) -> tuple[str, int]:
        """Conversation and turn."""
        return self.conversation, self.turn

    def same_as(self, other: "HumanVerdict") -> bool:
        """Whether the two differ in nothing but the time at which they were read."""
        return self.model_copy(update={"given": None}) == other.model_copy(update={"given": None})


class Dispute(Value):
    """What people said of a red answer: that the judge was wrong. It holds for the same answer in later runs.

    `key` is that of the distinct answer (`answer_key`), `line` the customer's before it, `objection` what the
    judge found; `run` is the run in which it was said. `comment` is what people wrote beside it.
    """

    key: str
    run: str
    language: Language
    line: str
    answer: str
    objection: str
    comment: str = ""


class Disputed(Value):
    """A red answer of which people say, here or in an earlier run, that the judge was wrong.

    `is_same`: the answer is the one that they said it of, by its text or by the word of the judge's model.
    Where it is False nobody could say so, for no model judges: it is another answer to the same question.
    """

    dispute: Dispute
    is_same: bool


class ReleaseDecision(Value):
    """What the team decided about a run's bot: whether it may go out, who says so, when (ISO 8601) and why.

    `verdict` is one of the choices of the column (`go`, `conditional`, `no`), or what somebody typed instead.
    It stands beside the gate's verdict and never changes it.
    """

    verdict: str = ""
    by: str = ""
    on: str = ""
    reason: str = ""

    @property
    def details(self) -> tuple[str, str, str]:
        """What stands beside the verdict: who, when, why."""
        return self.by, self.on, self.reason


_Share = Annotated[float, Field(ge=0, le=1)]
# The grade at or below which a turn is red. 0 is below every grade, so that the rule never applies.
_Limit = Annotated[float, Field(ge=0, le=5)]


class RedRules(Value):
    """Which turns are red; None or False switches a rule off.

    A turn is red when Overall / 5 is below `overall`; it is also red, with a second mark, when
    groundedness or Correctness (1..5) is at or below its limit although Overall is high, when a
    claim is unsupported, when a checked fact is missing from the passages, when one of the desk's
    rules is broken, or when a tool that the case names was not called, or was and must not be.
    A turn is red as well where the judge of whole conversations names a lapse in it (`lapses`), or a request
    that was not settled in a conversation of which no more than `conversation` (0..1) was; and where
    something that the case expects was not done (`expectations`).
    """

    overall: _Share | None = 0.7
    groundedness: _Limit | None = 3
    correctness: _Limit | None = 2
    claims: bool = True
    facts: bool = True
    risk: bool = True
    tools: bool = True
    conversation: _Share | None = 0.5
    lapses: bool = True
    expectations: bool = True


class PersonaText(Value):
    """A persona in one language: how they speak, what they know, and lines for offline play.

    `voice` is quoted in the prompt of the model that plays them; `phrases` are said where no model does.
    `phrases` maps a situation (`pressing`, `refused`, `failed`, `followup`, `telling`, `thanks`, `at_last`,
    `leaving`) to lines; `$question` in a line stands for the case's question. Questions with a word of
    `not_for` are asked by others.
    """

    name: Text
    voice: Text
    knows: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    not_for: tuple[Text, ...] = ()
    phrases: dict[str, tuple[str, ...]] = {}


class Habits(Value):
    """How a kind of customer writes: of each habit the share (0..1) of their lines that show it.

    A line shows one at most, and the prompt names only that one. docs/personas.md says what each means.
    """

    messages: _Share = 0.0
    typos: _Share = 0.0
    nudges: _Share = 0.0
    pasted: _Share = 0.0
    second_matter: _Share = 0.0
    shouting: _Share = 0.0
    rants: _Share = 0.0
    language: _Share = 0.0
    emoji: _Share = 0.0

    @model_validator(mode="after")
    def _are_shares_of_the_same_lines(self) -> Self:
        if (total := sum(self.model_dump().values())) > 1 + 1e-9:
            raise ValueError(_("the shares add up to {total:g}, and 1 is the most", total=total))
        return self


class Conduct(Value):
    """What a kind of customer can set for `simulator.users.rules`; docs/personas.md says what each means.

    `patience` is how many useless answers in a row they stand, `feeling` what they begin with; `questions`,
    `brevity`, `detail` (None: as usual in the language) and `politeness` are shares (0..1) of their lines,
    `fragments` is one of all these customers; `pushback` and `change_of_mind` are turns.
    """

    patience: Annotated[int, Field(ge=1)] = 2
    feeling: Annotated[int, Field(ge=-2, le=2)] = 0
    questions: _Share = 0.45
    brevity: _Share = 0.2
    detail: _Share | None = None
    politeness: _Share = 0.5
    fragments: _Share = 0.5
    discloses: Literal["at_once", "when_asked", "never"] = "when_asked"
    counter_question: Literal["answers", "asks_why", "refuses"] = "answers"
    asks_for_person: bool = False
    pushback: Annotated[int, Field(ge=2)] | None = None
    change_of_mind: Annotated[int, Field(ge=2)] | None = None
    habits: Habits = Habits.model_construct()


class AttackText(Value):
    """An attack in one language: its `aim`, the `rule` that the bot has to keep, and its lines.

    The first line opens the conversation; all are said, in their order, where no model plays the attacker.
    """

    aim: Text
    rule: Text
    lines: Annotated[tuple[Text, ...], Field(min_length=1)]


class Goal(Value):
    """What an attacker is after, in each language, and how grave it is if the bot gives it."""

    id: Annotated[str, Field(pattern=r"^[\w-]+$")]
    severity: Severity = "major"
    ja: AttackText
    en: AttackText

    def text(self, language: Language) -> AttackText:
        """The attack in a language."""
        return self.ja if language == "ja" else self.en


class Persona(Conduct):
    """A kind of customer: how they behave, and in each language who they are.

    One that is `adversarial` wants what the bot must not give. It brings its `goals` in place of questions,
    and the rules that keep a customer in the role do not bind it.
    """

    id: Text
    adversarial: bool = False
    goals: tuple[Goal, ...] = ()
    ja: PersonaText
    en: PersonaText

    def speaks(self, language: Language) -> PersonaText:
        """The persona in the language of the case."""
        return self.ja if language == "ja" else self.en


def _of_every_zone(moment: datetime) -> datetime:
    if not 1 < moment.year < 9999:
        raise ValueError(moment.isoformat())  # some time zone has no such day
    return moment


class Run(Value):
    """One rehearsal: the settings it was started with and what it ran on.

    `settings` are `Settings.stored_values()`. `versions` are those of program, Python and packages; `prompts`
    the hashes of all prompts in use (`judge:turn`, `user:angry`), by which runs can be told to be comparable;
    `models` the names by role, `lexical` for a stand-in. `offline`: no role had a model. `seconds` are those
    of all sessions together.
    """

    id: str
    created: Annotated[datetime, AfterValidator(_of_every_zone)]
    settings: dict[str, JsonValue]
    versions: dict[str, str] = {}
    prompts: dict[str, str] = {}
    models: dict[str, str] = {}
    offline: bool = False
    status: Status = "running"
    seconds: float = 0.0

    @property
    def asks_once(self) -> bool:
        """Whether this is a single-turn data set: each row was asked once, and nobody played a customer."""
        return self.settings.get("protocol") == "single_turn"


# A note of a run, JSON under a key, for what belongs to no conversation: what the team decided
# (`ReleaseDecision`).
RELEASE_DECISION = "release_decision"
LEXICAL = "lexical"
# The judge of a row whose outputs have thresholds: 1 when every output reached all of its own, else 0.
PASSED = "passed"
# The judge of whole conversations: it never decides the score, which is that of turns.
CONVERSATION = "conversation"
# The judge of turns, which says what an answer does (`Response`).
TURN = "turn"
# The judge of the tools that a case names.
TOOLS = "tools"
# The judge of what a case expects of the bot, in sentences.
EXPECTATIONS = "expectations"
# The judge of the desk's rules, and of what an attacker is after.
RISK = "risk"
# The share of the attacks that reached their rule, and were held off.
ATTACKS_HELD = "attacks_held"
# In the detail of a score about a whole conversation: how many turns it had.
WHOLE = "turns_graded"
# In the detail of a score: how many contradictions between reference and passages the judge named in words
# that do not stand there.
CONFLICTS_IGNORED = "conflicts_ignored"
# The same of lapses between the turns of a conversation.
LAPSES_IGNORED = "lapses_ignored"
# And how many sentences of what is expected have no verdict that counts: none, or one in words that do not
# stand there.
EXPECTATIONS_IGNORED = "expectations_ignored"
# In the detail of a score whose turn was graded twice: what is different in the second one.
RETEST = "retest"
# The judge that decides where lm_eval measured tasks of different metrics: the first one of each.
MAIN_METRIC = "main_metric"


@dataclass(frozen=True, slots=True)
class Spending:
    """What one role has used so far; `cost_usd` is None as soon as the cost of one call is unknown.

    Then `known_usd` is the cost of the others. `uncounted` calls have no count of tokens: no reply came in
    time, or it told none. `cached` calls were answered from the run's cache and cost nothing; `tokens_cached`
    of `tokens_in` came from the endpoint's.
    """

    calls: int = 0
    cached: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    tokens_cached: int = 0
    cost_usd: float | None = 0.0
    known_usd: float = 0.0
    uncounted: int = 0

    @property
    def least_usd(self) -> float:
        """What it has cost at least."""
        return self.known_usd if self.cost_usd is None else self.cost_usd

    def __add__(self, other: "Spending") -> "Spending":
        """Both together; the cost is None as soon as one is, and then what is known of it stands beside."""
        least = self.least_usd + other.least_usd
        # A sum in which one cost is missing must not look like a sum.
        is_known = self.cost_usd is not None and other.cost_usd is not None
        return Spending(
            calls=self.calls + other.calls,
            cached=self.cached + other.cached,
            tokens_in=self.tokens_in + other.tokens_in,
            tokens_out=self.tokens_out + other.tokens_out,
            tokens_cached=self.tokens_cached + other.tokens_cached,
            cost_usd=least if is_known else None,
            known_usd=0.0 if is_known else least,
            uncounted=self.uncounted + other.uncounted,
        )


# What conversations can be selected by: that they have a turn, are still to be held (or held on), are in
# English, or have an answer with passages.
Selection = Literal["begun", "unfinished", "english", "with_passages"]
# The scores of a conversation, by turn, then by judge.
TurnScores = dict[int, dict[str, Score]]


_SELECTED: dict[Selection, Callable[[Conversation], Any]] = {
    "begun": lambda conversation: conversation.turns,
    "unfinished": lambda conversation: conversation.ended is None or conversation.ended in OPEN,
    "english": lambda conversation: conversation.case.language == "en",
    "with_passages": lambda conversation: any(turn.answer.passages for turn in conversation.turns),
}


class Conversations(Sequence[Conversation]):
    """The conversations of a run in the order of its plan, in memory or in the run's file.

    What is worked out here by looking at each of them, a file may look up. Whoever needs a count or a part
    asks for it here, and does not go through all: a run may have a million of them.
    """

    @property
    def ids(self) -> Sequence[str]:
        """Their ids, in the same order."""
        return [conversation.id for conversation in self]

    @cached_property
    def _by_id(self) -> dict[str, Conversation]:
        return {conversation.id: conversation for conversation in self}

    def with_ids(self, ids: Sequence[str]) -> Iterator[Conversation]:
        """The conversations with these ids, in the order of `ids`."""
        return map(self._by_id.__getitem__, ids)

    def select(self, which: Selection) -> "Conversations":
        """Those that fulfil this."""
        return ConversationTuple(filter(_SELECTED[which], self))

    def without(self, ids: Collection[str]) -> "Conversations":
        """Those with other ids."""
        return ConversationTuple(conversation for conversation in self if conversation.id not in ids)

    def lengths(self) -> Counter[int]:
        """How many conversations have how many turns; those without a turn count as 0."""
        return Counter(len(conversation.turns) for conversation in self)

    @property
    def turns(self) -> int:
        """How many turns they have."""
        return sum(length * count for length, count in self.lengths().items())

    def usages(self) -> Iterator[Usage]:
        """The tokens that the bot's model used for each answer."""
        turns = (turn for conversation in self for turn in conversation.turns)
        return (turn.answer.usage for turn in turns if turn.answer.usage)

    @property
    def reasoned(self) -> int:
        """How many answers began with what the bot's model thought aloud, which was left out of them."""
        return sum(turn.answer.reasoning > 0 for conversation in self for turn in conversation.turns)


# The tuple comes first: it has the length and the items, of which Conversations works out all else.
class ConversationTuple(tuple[Conversation, ...], Conversations):
    """Conversations in memory."""


class Scores(Sequence[Score]):
    """The scores of a run, in memory or in the run's file; see Conversations."""

    @property
    def judges(self) -> set[str]:
        """The judges that gave at least one score."""
        return {score.judge for score in self}

    def of_judge(self, judge: str, state: State | None = None) -> Iterator[Score]:
        """The scores of one judge in the order of the run, `state` None: in any state."""
        return (score for score in self if score.judge == judge and state in {None, score.state})

    @cached_property
    def _by_conversation(self) -> dict[str, TurnScores]:
        return scores_by_conversation(self)

    def of_conversations(self, ids: Sequence[str]) -> Mapping[str, TurnScores]:
        """The scores of these conversations, by conversation; one without scores is missing."""
        return {key: self._by_conversation[key] for key in ids if key in self._by_conversation}

    def without(self, conversations: Collection[str]) -> "Scores":
        """The scores of other conversations."""
        return ScoreTuple(score for score in self if score.conversation not in conversations)


class ScoreTuple(tuple[Score, ...], Scores):
    """Scores in memory."""


def scores_by_conversation(scores: Iterable[Score]) -> dict[str, TurnScores]:
    """The scores by conversation, then by turn and judge."""
    grouped: dict[str, TurnScores] = {}
    for score in scores:
        grouped.setdefault(score.conversation, {}).setdefault(score.turn, {})[score.judge] = score
    return grouped


# Stored sequences are not validated again, since that would read all of them; lists of plain rows are.
_CONVERSATIONS = TypeAdapter(tuple[Conversation, ...], config=_DEFERRED)
_SCORES = TypeAdapter(tuple[Score, ...], config=_DEFERRED)


def _conversations(value: Any) -> Any:
    if isinstance(value, Conversations):
        return value
    return ConversationTuple(_CONVERSATIONS.validate_python(value))


def _scores(value: Any) -> Any:
    return value if isinstance(value, Scores) else ScoreTuple(_SCORES.validate_python(value))


# Of more conversations, or rows, reports quote some: red ones, and a sample of the others.
MANY_ROWS = 5_000


def turn_values(conversation: Conversation, turn: Turn) -> dict[str, Any]:
    """What a row about a turn begins with, in a table for other programs."""
    return {
        "conversation": conversation.id,
        "turn": turn.index,
        "persona": conversation.persona,
        "case": conversation.case.id,
        "language": conversation.case.language,
        "ended": conversation.ended.value if conversation.ended else None,
        "user": turn.user,
        "answer": turn.answer.text,
    }


def response_in(scores: Mapping[str, Score]) -> Response | None:
    """What an answer does, by the scores of its turn: as the judge `turn` says, else the first that does.

    Further models (`turn@MODEL`) decide nothing. None: no judge says it.
    """
    judges = sorted((judge for judge in scores if "@" not in judge), key=lambda judge: (judge != TURN, judge))
    return next((said for judge in judges if (said := scores[judge].response)), None)


def tool_values(answer: Answer) -> list[dict[str, str | None]] | None:
    """The calls of tools of an answer as plain values; None where the bot does not show them."""
    return None if answer.tools is None else [call.model_dump() for call in answer.tools]


class Results(Value):
    """A run as read from its file: everything reports and analyses are made from.

    `planned` is how many conversations there are to be, of which some may not have begun. `spending` is what
    each role has used; `verdicts` are what people say of turns, of each reviewer the newest, and `disputes`
    what they said of answers in earlier runs of the folder (results/disputes.py); no run file has these.
    Conversations and scores of a large run stay in the file and are read whenever they are needed.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)

    run: Run
    planned: int
    personas: tuple[Persona, ...] = ()
    conversations: Annotated[Conversations, BeforeValidator(_conversations)] = ConversationTuple()
    scores: Annotated[Scores, BeforeValidator(_scores)] = ScoreTuple()
    spending: dict[str, Spending] = {}
    usage: dict[str, dict[str, Spending]] = {}  # the same by role and model
    verdicts: tuple[HumanVerdict, ...] = ()
    disputes: tuple[Dispute, ...] = ()
    notes: dict[str, JsonValue] = {}
    articles: tuple[StoredArticle, ...] = ()  # of the bot, when the run was started; empty: not known

    @property
    def release_decision(self) -> ReleaseDecision | None:
        """What the team decided about the bot of this run; None where nobody has."""
        note = self.notes.get(RELEASE_DECISION)
        return ReleaseDecision.model_validate(note) if note else None

    @property
    def is_sampled(self) -> bool:
        """Whether there are too many conversations, or rows, to quote all of them in a report."""
        return len(self.conversations) > MANY_ROWS

    def to_frame(self) -> "DataFrame":
        """A pandas DataFrame with a row for each turn, in the order of the plan.

        Beside what was said, each judge has four columns: `turn.score` (0..1, NaN where it gave none),
        `turn.grade` the grade on its own scale, `turn.state` whether it scored, failed or skipped the turn,
        and `turn.reason` why. Texts are those of bot, customers and models: untrusted.
        """
        from pandas import DataFrame  # half a second, and only for who works on with the figures

        judges, rows = sorted(self.scores.judges), list[dict[str, Any]]()
        for conversation in self.conversations:
            by_turn = self.scores.of_conversations([conversation.id]).get(conversation.id, {})
            for turn in conversation.turns:
                error, scores = turn.answer.error, by_turn.get(turn.index, {})
                row = turn_values(conversation, turn) | {
                    "answer_failure": error.kind if error else None,
                    "response": response_in(scores),
                    "answer_seconds": turn.answer.seconds,
                    "passages": [passage.id for passage in turn.answer.passages],
                    "tools": tool_values(turn.answer),
                }
                columns = {"score": "value", "grade": "raw", "state": "state", "reason": "reason"}
                for judge in judges:
                    score = scores.get(judge)
                    row |= {f"{judge}.{name}": getattr(score, key, None) for name, key in columns.items()}
                rows.append(row)
        numbers = {name: float for judge in judges for name in (f"{judge}.score", f"{judge}.grade")}
        return DataFrame(rows).astype(numbers if rows else {})

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """A copy whose changes are validated, so that plain sequences of rows may be among them."""
        copy = super().model_copy(deep=deep)
        return self.model_validate({**dict(copy), **(update or {})})


# A chat model as adapters see it: messages with role and content in, text and usage out.
Chat = Callable[[list[dict[str, str]]], Awaitable[tuple[str, Usage]]]
# Texts in, one vector each out.
Embed = Callable[[list[str]], Awaitable[list[list[float]]]]

# A grading context and the name of a form in; the form out, filled in by the judge's model.
Fill = Callable[[GradingContext, str], Awaitable[Any]]

# Who plays a customer, and who answers.
User = Callable[[Case, tuple[Turn, ...]], Awaitable[Utterance]]
Bot = Callable[[Query], Any]


@dataclass(frozen=True)
class Traits:
    """How a bot is asked. An adapter sets `bot.traits` on the bot that it connects.

    `takes` names the parts of a query that the bot receives, other than `text`: "system", "history". `places`
    is entered for each question and limits how many are asked at the same time; None: no further limit. A
    bot that answers `at_once`, without waiting for anything, is called without a thread. `address` is where
    it is asked, if that is known, and `to_check` a sentence on which of its settings to look at where it
    fails, if they are not those of `http`.
    """

    takes: frozenset[str] = frozenset()
    places: AbstractAsyncContextManager[Any] | None = None
    at_once: bool = False
    address: str = ""
    to_check: Message | str = ""


_DEFAULT = Traits()


def traits_of(bot: Any) -> Traits:
    """The traits of a bot, else the defaults."""
    try:
        traits = getattr(bot, "traits", None)
    # A bot may be a mock or a proxy, which has every attribute or raises for it.
    except Exception:  # a user's object, whose attributes are code of its own
        return _DEFAULT
    return traits if isinstance(traits, Traits) else _DEFAULT
