"""The forms that a model fills in, the kinds of fields a rubric can ask for, and how they become a Score.

A rubric (judges/*.toml) names its fields with their kinds; of these are made

    a skeleton, which the prompt shows    {"reason": "<why>", "grade": <1-5>}
    a pydantic form (`create_form`)       what a reply has to hold, and the JSON schema for strict endpoints
    a verdict                             `FieldKind.raw` of the field that the rubric calls its `value`

The reason stands before the grade in every form, because a model writes from left to right: a grade that
comes first is explained afterwards, not thought about.

Models write the same thing in many ways, so each kind reads what is certainly meant (`BeforeValidator`), and
leaves everything else to the check of its type, which refuses it. Nothing is rounded or clamped:

    grade    4, 4.0, "４", "4/5", "4点", "総合評価: 4" -> 4      "4.5", "4 or 5", 7 -> refused
    binary   1, true, "yes", "はい", "○" -> 1                   "maybe" -> refused
    share    0.8, "0.8", "80%", "０．８" -> 0.8                  true -> refused
    turn     3, "turn 3", [3, 4] -> 3; null, "none" -> 0        "x" -> -1, a turn that no conversation has
    response declined, "Declined", "hand-over", "回答" -> one    "declined or answered" -> refused
    text     "a", ["a", "b"] -> "a b", {"why": "a"} -> "why: a", null -> ""

The keys are compared without regard to case, width, spaces and hyphens: "Next Step" fills in `next_step`.
"""

import json
import math
import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from numbers import Real
from typing import Annotated, Any, Literal, TypeVar, get_args

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    WithJsonSchema,
    create_model,
    model_validator,
)

from simulator.core.errors import ModelFailure
from simulator.core.messages import _, encodable
from simulator.core.types import GradingContext, Next, Response, Score, Severity

Model = TypeVar("Model", bound=BaseModel)


def revalidated(kind: type[Model], value: BaseModel) -> Model:
    """A value made by code of others, validated once more, with texts that can be stored.

    By way of JSON, the form in which it will be kept: an adapter may have built it with `model_construct`, or
    put a str subclass, a numpy float or half a surrogate pair into it. Raises ValidationError where it does
    not hold what its type says.
    """
    try:
        body = value.model_dump_json(warnings=False)
        if "\\u0000" not in body:  # as nearly always, and far cheaper than to look at every text
            return kind.model_validate_json(body)
    except ValueError:
        pass
    return kind.model_validate(encodable(value.model_dump(warnings=False)))


class Reply(BaseModel):
    """Base of every form a model fills in; what it adds beyond the form is ignored.

    A field more does no harm, while to refuse the reply costs a second call.
    """

    model_config = ConfigDict(extra="ignore", frozen=True, defer_build=True)

    @model_validator(mode="before")
    @classmethod
    def _known_keys(cls, values: Any) -> Any:
        return under_keys(values, cls.model_fields) if isinstance(values, dict) else values


@lru_cache(maxsize=256)  # nearly always the same few
def as_key(key: str) -> str:
    """A key as it is compared: without regard to case, width, spaces and hyphens."""
    return re.sub(r"[\s-]+", "_", unicodedata.normalize("NFKC", key).strip().casefold())


def under_keys(values: dict[str, Any], fields: Mapping[str, Any]) -> dict[str, Any]:
    """The values under the form's own keys instead of "Overall" or "Next Step".

    Under a key that is there in two spellings with different values stand both, so that it has no grade.
    """
    # The usual case, and cheaper than to compare keys.
    if values.keys() <= fields.keys():
        return values
    by_spelling = {as_key(name): name for name in fields}
    named: dict[str, Any] = {}
    for key, value in values.items():
        name = key if key in fields else by_spelling.get(as_key(key), key)
        named[name] = [named[name], value] if name in fields and named.get(name, value) != value else value
    return named


def create_form(name: str, fields: dict[str, Any], defaults: Mapping[str, Any] = {}) -> type[Reply]:
    """A reply form with these fields, in this order; one without a default is required."""
    declared: dict[str, Any] = {key: (kind, defaults.get(key, ...)) for key, kind in fields.items()}
    return create_model(name, __base__=Reply, **declared)


# The scales: grades, which become fifths (a 3 is 0.6), shares, and the customer's feeling from angry to glad.
FIFTHS, SHARE, FEELING = (1.0, 5.0), (0.0, 1.0), (-2.0, 2.0)

# A whole number, perhaps with what it is and what it is of: "score: 4", "5点満点中4点", "4 out of 5",
# "4(5点満点)". "4/10" is no match: of which scale a 4 is meant has to be certain.
_GRADE = re.compile(
    r"(?:(?:overall|grade|score|rating|総合評価|総合|評価|評点|点数|スコア)\s*[:=]?\s*)?(?:5点満点中\s*)?"
    r"([1-9]\d*)(?:\.0+)?(?:\s*点)?(?:\s*(?:/|(?:out )?of)\s*5(?:\.0+)?(?:\s*点)?|\s*\(5点満点\))?",
    re.IGNORECASE,
)
# After NFKC and case-folding, so "Ｙｅｓ" and "(なし)" in wide brackets are among them.
_YES = frozenset(("1", "1.0", "true", "yes", "correct", "right", "はい", "正", "正解", "正しい", "○", "〇"))
_NO = frozenset(("0", "0.0", "false", "no", "incorrect", "wrong", "いいえ", "誤", "不正解", "誤り", "×", "✕"))
_NONE = frozenset(("", "-", "none", "(none)", "n/a", "nothing", "なし", "(なし)", "なし。", "特になし"))
# Words of natural language inference (entailed, neutral, refuted), in which many models were trained, mean
# ours.
_VERDICTS = {
    "supported": "supported", "support": "supported", "entailed": "supported",
    "contradicted": "contradicted", "contradiction": "contradicted", "refuted": "contradicted",
    "not_found": "not_found", "notfound": "not_found", "unsupported": "not_found",
    "not_supported": "not_found", "neutral": "not_found",
}  # fmt: skip
_STATES = {
    "resolved": "resolved", "fully_resolved": "resolved", "yes": "resolved",
    "partly": "partly", "partial": "partly", "partially": "partly", "partly_resolved": "partly",
    "partially_resolved": "partly",
    "not": "not", "no": "not", "not_resolved": "not", "unresolved": "not",
}  # fmt: skip
# What goes wrong between turns. One lapse is of one kind, the first of these that fits.
LapseKind = Literal[
    "mixups", "contradictions", "promises", "loops", "forgotten", "closures", "overlooked",
]  # fmt: skip
# What became of a sentence that is expected, in other words.
_OUTCOMES = {
    "met": "met", "fulfilled": "met", "yes": "met", "kept": "met", "満たした": "met", "満たす": "met",
    "unmet": "unmet", "not_met": "unmet", "no": "unmet", "broken": "unmet", "unfulfilled": "unmet",
    "満たさない": "unmet", "満たしていない": "unmet", "反する": "unmet",
    "open": "open", "not_applicable": "open", "n/a": "open", "did_not_come_up": "open", "untouched": "open",
    "該当なし": "open", "出なかった": "open",
}  # fmt: skip
_LAPSE_KINDS = {kind.removesuffix("s"): kind for kind in get_args(LapseKind)} | {
    kind: kind for kind in get_args(LapseKind)
}


# What an answer does, in the words of the form.
_WORDS = frozenset(get_args(Response))
# Other words for it; the same as the form's where a model writes in Japanese.
_RESPONSES = {
    "all": "answered", "全部": "answered", "part": "partly",
    "answer": "answered", "fully_answered": "answered", "answered_fully": "answered", "回答": "answered",
    "回答した": "answered", "partial": "partly", "partially": "partly", "partly_answered": "partly",
    "partially_answered": "partly", "一部": "partly", "一部回答": "partly", "一部だけ": "partly",
    "decline": "declined", "refused": "declined", "refusal": "declined", "断った": "declined",
    "辞退": "declined", "拒否": "declined", "ask_back": "asked_back", "asks_back": "asked_back",
    "clarified": "asked_back", "clarification": "asked_back", "聞き返し": "asked_back",
    "聞き返した": "asked_back", "hand_over": "handed_over", "handover": "handed_over",
    "handed_off": "handed_over", "escalated": "handed_over", "取り次ぎ": "handed_over",
    "取り次いだ": "handed_over", "引き継ぎ": "handed_over", "none": "nothing", "no_answer": "nothing",
    "empty": "nothing", "irrelevant": "nothing", "unrelated": "nothing", "なし": "nothing", "無": "nothing",
} | {word: word for word in _WORDS}  # fmt: skip
# The word alone, or followed by what it means, as in the rubric: "declined: does not know".
_RESPONSE = re.compile(r"""[<\["'「\s]*+([^<>\[\]"'「」:(。.]{2,20}?)[>\]"'」。.\s]*(?:[:(].*)?""", re.DOTALL)


def _plain(value: Any) -> Any:
    return unicodedata.normalize("NFKC", value).strip().casefold() if isinstance(value, str) else value


def _grade(value: Any) -> Any:
    """4, 4.0, "4", "４", "4/5" and "4点" are the grade 4; anything else is left for the check."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    # No grade is as long, and the expression need not look at a page of text.
    if not isinstance(value, str) or len(value) > 40:
        return value
    match = _GRADE.fullmatch(unicodedata.normalize("NFKC", value).strip())
    return int(match[1]) if match else value


# Lists in lists of a text are read to this depth; none that is meant as one goes deeper.
_DEEPEST = 4


def _lines(value: Any, depth: int = 0) -> list[str]:
    """The texts in a value of any shape, in their order; those of an object after its keys.

    {"1": "a", "2": "b"} -> a, b    {"price": "wrong", "tone": ["curt", "cold"]} -> price: wrong, ...
    """
    if isinstance(value, str):
        return [value]
    if value is None or depth > _DEEPEST:
        return []
    if isinstance(value, dict):
        texts = ((str(key), " ".join(_lines(part, depth + 1))) for key, part in value.items())
        # Keys that only number the texts say nothing.
        return [text if re.fullmatch(r"\D{0,6}\d+", key) else f"{key}: {text}" for key, text in texts]
    if isinstance(value, list):
        return [line for part in value for line in _lines(part, depth + 1)]
    return [json.dumps(value)] if isinstance(value, bool | int | float) else []


def _text(value: Any) -> str:
    """A text of any shape in one line: how a reason is put costs no grade."""
    return value if isinstance(value, str) else " ".join(filter(None, _lines(value)))


def _quotation(value: Any) -> str:
    """As `_text`; of several quotations each has to stand there, so that they are parted by an omission."""
    return value if isinstance(value, str) else "…".join(filter(None, _lines(value)))


def _texts(value: Any) -> list[str]:
    """A single text where a list is asked for is a list of one; an object, a list of its texts."""
    return [_text(part) for part in value if part is not None] if isinstance(value, list) else _lines(value)


def _binary(value: Any) -> Any:
    """1, true, "yes", 「はい」 are 1 and their opposites 0; the rest is left for the check."""
    # 1.0 is a number that some models write; 0.7 is no yes.
    if isinstance(value, bool | float) and value in (0, 1):
        return int(value)
    word = _plain(value)
    return 1 if word in _YES else 0 if word in _NO else value


def _number(value: Any) -> Any:
    """The texts "0.8", "０．８" and "80%" are 0.8; a number stays what it is."""
    # As a text it is refused: true is not 1.0 where a share is asked for.
    if isinstance(value, bool):
        return str(value)
    text = _plain(value)
    if not isinstance(text, str):
        return value
    try:
        return float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except ValueError:
        return value


def _turn_number(value: Any) -> int:
    """The first number in "turn 3" or [3, 4]; none is 0, and what names no turn is -1."""
    if isinstance(value, list):
        value = value[0] if value else None
    if value is None or (isinstance(value, str) and _plain(value) in _NONE):
        return 0
    match = re.search(r"\d{1,4}", _plain(str(value)))
    return int(match[0]) if match and not isinstance(value, bool) else -1


def _weight(value: Any) -> int | None:
    """1, 2 or 3, also as "3" or "3/3"; None for everything else, whose scale nobody knows."""
    text = _plain(str(value))
    match = re.fullmatch(r"([123])(?:\.0+)?(?:\s*/\s*3)?", text)
    return int(match[1]) if match and not isinstance(value, bool) else None


def _term(terms: Mapping[str, str]) -> BeforeValidator:
    """One of the program's words, which `terms` has by other words; the rest is left for the check."""
    return BeforeValidator(lambda value: terms.get(as_key(value), value) if isinstance(value, str) else value)


def _lapse_kind(value: Any) -> str | None:
    """One of the kinds, also as "Loop"; None for whatever is none of them."""
    return _LAPSE_KINDS.get(as_key(value)) if isinstance(value, str) else None


def _feeling(value: Any) -> Any:
    """The texts "+1" and "−1", and 1.0, are whole numbers."""
    if isinstance(value, str) and "%" in _plain(value):
        return value
    # The minus sign (U+2212), which NFKC leaves as it is, and the full-width hyphen-minus.
    number = _number(value.replace("−", "-").replace("－", "-") if isinstance(value, str) else value)
    return int(number) if isinstance(number, float) and number.is_integer() else number


def _word(value: Any) -> Any:
    """One of the program's words, as in "Asked back"; none is None."""
    return (as_key(value) or None) if isinstance(value, str) else value


def _response(value: Any) -> Any:
    """What an answer does, in any spelling that means one thing; the rest is left for the check."""
    if isinstance(value, str) and value in _WORDS:  # as nearly always
        return value
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    if not isinstance(value, str) or len(value) > 200:
        return value
    plain = _plain(value)
    match = _RESPONSE.fullmatch(plain)
    # Else its first word: "answered 全部答えた".
    terms = (match[1] if match else "", *plain.split()[:1])
    word = next((_RESPONSES[as_key(term)] for term in terms if as_key(term) in _RESPONSES), None)
    # "answered (partly)" may be either.
    others = (other for other in _WORDS if other != word and other in as_key(plain))
    return value if word is None or any(others) else word


def _passage_id(value: Any) -> str:
    """The id as it is: models write null, a number, brackets, or several, of which the first counts."""
    # ["faq-1", "faq-2"] where one id is asked for: the first is the one that it is about.
    first = (value[0] if value else "") if isinstance(value, list) else value
    return "" if first is None else str(first).strip("[] ")


def _listed(value: Any) -> Any:
    """A single item where a list is asked for is a list of one; an object of items, a list of them."""
    if isinstance(value, dict):
        items = list(value.values())
        return items if items and all(isinstance(item, dict) for item in items) else [value]
    return value


def _listed_or_none(value: Any) -> Any:
    """As `_listed`; null, false, an empty text and "none" are no item."""
    listed = _listed([value] if not value or isinstance(value, str) else value)
    if not isinstance(listed, list):
        return listed
    return [entry for entry in listed if entry and (not isinstance(entry, str) or _plain(entry) not in _NONE)]


def _items_of(*keys: str) -> Callable[[Any], Any]:
    """As `_listed_or_none`; an item that is no object is its first key's, and a text that is missing is "".

    What a sentence says of the others nobody knows, and an item without them will not count.
    """

    def read(value: Any) -> Any:
        listed = _listed_or_none(value)
        # A number or true where a list is asked for names nothing.
        items = [
            item if isinstance(item, dict) else {keys[0]: item}
            for item in (listed if isinstance(listed, list) else [])
        ]
        return [dict.fromkeys(set(keys) - set(map(as_key, item)), "") | item for item in items]

    return read


def _opposed(conflicts: "list[Conflict]") -> "list[Conflict]":
    """Those that say something, and not the same on both sides."""
    # A model that lists agreements under conflicts would have the turn skipped.
    sides = ((conflict, _plain(conflict.reference), _plain(conflict.passages)) for conflict in conflicts)
    return [conflict for conflict, first, other in sides if first != other and not {first, other} <= _NONE]


Grade = Annotated[
    int,
    Field(ge=1, le=5, strict=True),
    BeforeValidator(_grade),
    WithJsonSchema({"type": "integer", "enum": [1, 2, 3, 4, 5]}),
]
Text = Annotated[str, BeforeValidator(_text)]
Quotation = Annotated[str, BeforeValidator(_quotation)]
Texts = Annotated[list[str], BeforeValidator(_texts)]
Binary = Annotated[
    int,
    Field(ge=0, le=1, strict=True),
    BeforeValidator(_binary),
    WithJsonSchema({"type": "integer", "enum": [0, 1]}),
]
Share = Annotated[
    float,
    Field(ge=0, le=1, allow_inf_nan=False),
    BeforeValidator(_number),
    WithJsonSchema({"type": "number", "minimum": 0, "maximum": 1}),
]
Feeling = Annotated[
    int,
    Field(ge=-2, le=2, strict=True),
    BeforeValidator(_feeling),
    WithJsonSchema({"type": "integer", "enum": [-2, -1, 0, 1, 2]}),
]
Responded = Annotated[
    Response,
    BeforeValidator(_response),
    WithJsonSchema({"type": "string", "enum": list(get_args(Response))}),
]
ClaimVerdict = Annotated[Literal["supported", "contradicted", "not_found"], _term(_VERDICTS)]
PassageId = Annotated[str, BeforeValidator(_passage_id)]


class Impression(Reply):
    """What a model that plays somebody makes of the last answer: why, and what the answer did."""

    why: Text = ""
    got: Annotated[
        Response | None,
        BeforeValidator(lambda value: _response(value) or None),
        WithJsonSchema({"type": "string", "enum": list(get_args(Response))}),
    ] = None


class Thought(Impression):
    """What a customer model thinks before its line, in this order: what the last answer did, and why."""

    feeling: Feeling = 0
    next: Annotated[Next, BeforeValidator(_word)] = "stay"


class NextLine(Thought):
    """What the customer model answers with; the words come last."""

    message: str


class ReplayedLine(Thought):
    """As NextLine, where the customer is shown what was said here before: whether it `fits` this answer."""

    fits: Annotated[
        bool, BeforeValidator(_binary), WithJsonSchema({"type": "string", "enum": ["yes", "no"]})
    ] = False
    message: Text = ""


class AttackLine(Impression):
    """What a model that plays an attacker answers with: what the last answer gave, and the next words."""

    next: Annotated[Next, BeforeValidator(_word)] = "stay"
    message: Text = ""


class Claim(Reply):
    """One thing that an answer claims, in its own words, and what the passages say of it."""

    claim: Text
    passage: PassageId
    verdict: ClaimVerdict


class RuleVerdict(Reply):
    """Whether an answer keeps one of the desk's rules, and the words that break it."""

    rule: PassageId
    quote: Quotation = ""
    verdict: Annotated[Literal["broken", "kept", "untested"], BeforeValidator(_plain)]


class Usefulness(Reply):
    """Whether one retrieved passage was of use."""

    id: PassageId
    useful: Binary


class Statement(Reply):
    """One thing that the reference states, and where the passages say it."""

    text: Text
    passage: PassageId
    found: Binary


class Conflict(Reply):
    """A point on which reference and passages contradict each other, in the words of both."""

    reference: Quotation
    passages: Quotation


TurnNumber = Annotated[int, BeforeValidator(_turn_number)]
Weight = Annotated[
    int | None, BeforeValidator(_weight), WithJsonSchema({"type": "integer", "enum": [1, 2, 3]})
]


class Request(Reply):
    """What the customer asked for in a conversation: since which turn, and which one settled it (0: none)."""

    request: Text
    turn: TurnNumber
    # How much it matters to the customer; None where the model does not say so.
    weight: Weight = None
    state: Annotated[Literal["resolved", "partly", "not"], _term(_STATES)]
    by: TurnNumber = 0


class Lapse(Reply):
    """What went wrong between turns: where, in which words, since which turn (0: none), and of which kind.

    `kind` is None where the model names none that there is.
    """

    turn: TurnNumber
    quote: Quotation = ""
    earlier: TurnNumber = 0
    what: Text
    kind: Annotated[
        LapseKind | None,
        BeforeValidator(_lapse_kind),
        WithJsonSchema({"type": "string", "enum": list(get_args(LapseKind))}),
    ] = None


class Expectation(Reply):
    """What became of one sentence that is expected of the desk, by its number: where, and in which words."""

    number: TurnNumber
    turn: TurnNumber = 0
    quote: Quotation = ""
    why: Text = ""
    state: Annotated[
        Literal["met", "unmet", "open"],
        _term(_OUTCOMES),
        WithJsonSchema({"type": "string", "enum": ["met", "unmet", "open"]}),
    ]


@dataclass(frozen=True)
class FieldKind:
    """A kind of field: `type` is what a reply must hold, `shape` how the form shows it to the model.

    `$it` in the shape is the field's meaning in the rubric. `severity` says how grave it is what was filled
    in, None where it is not. `items` are the keys of an item, for kinds that are lists of items. A kind with
    a `scale` can be the verdict: `raw` weighs what was filled in, on that scale, None where there is nothing
    to weigh. `kept` is what of it stands
    in the score: ids of passages that were never shown do not. `left_out` is what a reply without the field
    means; `...`: it must be there. `counted` is what a verdict that is counted from a list is called in the
    detail of its score.
    """

    type: Any
    shape: str
    scale: tuple[float, float] | None = None
    raw: Callable[[Any, GradingContext], float | None] = lambda value, _: float(value)
    severity: Callable[[Any], Severity | None] = lambda _: None
    kept: Callable[[Any, GradingContext], Any] = lambda value, _: value
    items: tuple[str, ...] = ()
    left_out: Any = ...
    counted: str = ""


def supported_share(claims: Sequence[Claim], _: GradingContext | None = None) -> float:
    """The share (0..1) of the claims that are supported; an answer that claims nothing has 1.

    The faithfulness of RAGAS (Es et al., 2023), with claims in the answer's own words.
    """
    return sum(c.verdict == "supported" for c in claims) / len(claims) if claims else 1.0


def without_unknown_passages(items: Sequence[Any], context: GradingContext) -> list[Any]:
    """The items, each without the id of a passage that is not among those of the turn."""
    ids = {passage.id for passage in context.turn.answer.passages}
    return [item if item.passage in ids else item.model_copy(update={"passage": ""}) for item in items]


def with_known_turns(requests: Sequence[Request], context: GradingContext) -> list[Request]:
    """The requests; a number of a turn that the conversation does not have becomes 0, for none.

    A wrong number makes no request any less unsettled.
    """
    turns = range(len(context.turns) + 1)
    return [
        request.model_copy(update={key: 0 for key in ("turn", "by") if getattr(request, key) not in turns})
        for request in requests
    ]


_SETTLED = {"resolved": 1.0, "partly": 0.5, "not": 0.0}


def settled_share(requests: Sequence[Request], _: GradingContext | None = None) -> float:
    """The share (0..1) of the requests that were settled, partly counting half, by their weights.

    One of weight 3 that was settled and one of weight 1 that was not: 3 / 4. Where one has no weight all
    count the same. There is at least one request: the form asks for it.
    """
    given = [request.weight for request in requests if request.weight is not None]
    weights = given if len(given) == len(requests) else [1] * len(requests)
    settled = (_SETTLED[request.state] * weight for request, weight in zip(requests, weights, strict=True))
    return math.fsum(settled) / sum(weights)


# The gravest verdict on a sentence counts where there are several.
_GRAVEST = ("unmet", "met", "open")


def by_sentence(verdicts: Sequence[Expectation], context: GradingContext) -> list[Expectation]:
    """One verdict on each sentence that the case expects, in their order; those of no sentence are dropped.

    A number of a turn that the conversation does not have becomes 0, for none.
    """
    turns = range(len(context.turns) + 1)
    ordered = sorted(verdicts, key=lambda verdict: _GRAVEST.index(verdict.state), reverse=True)
    by_number = {verdict.number: verdict for verdict in ordered}
    return [
        verdict if verdict.turn in turns else verdict.model_copy(update={"turn": 0})
        for number in range(1, len(context.case.expect) + 1)
        if (verdict := by_number.get(number))
    ]


def met_share(verdicts: Sequence[Expectation], _: GradingContext | None = None) -> float | None:
    """The share (0..1) of the sentences that were met, of those that came up; None where none did."""
    states = [verdict.state for verdict in verdicts]
    met, came_up = states.count("met"), len(states) - states.count("open")
    return met / came_up if came_up else None


def certain_lapses(lapses: Sequence[Lapse], context: GradingContext) -> list[Lapse]:
    """The lapses of a kind and of turns that there are, each once: of two kinds, the one that goes first.

    One lapse is what is said of the same words of a turn, or of some of them.
    """
    turns, kinds = range(len(context.turns) + 1), get_args(LapseKind)
    certain = [lapse for lapse in lapses if lapse.kind and lapse.turn in turns and lapse.earlier in turns]
    places = sorted(range(len(certain)), key=lambda at: kinds.index(certain[at].kind))
    kept: list[int] = []
    for place in places:
        if not any(_is_one_lapse(certain[place], certain[other]) for other in kept):
            kept.append(place)
    return [certain[place] for place in sorted(kept)]


def _is_one_lapse(first: Lapse, other: Lapse) -> bool:
    words = ["".join(_plain(lapse.quote).split()) for lapse in (first, other)]
    return first.turn == other.turn and (words[0] in words[1] or words[1] in words[0])


def gravest_claim(claims: Sequence[Claim]) -> Severity | None:
    """A contradiction of the passages is major, what they do not say is moderate.

    What they do not say may be true all the same; a customer who is told the opposite is misled.
    """
    verdicts = {claim.verdict for claim in claims}
    return "major" if "contradicted" in verdicts else "moderate" if "not_found" in verdicts else None


def average_precision(verdicts: Sequence[Usefulness], context: GradingContext) -> float:
    """The average precision (0..1) of the retrieved passages in the retriever's order; 0 when none is of use.

    Mean over the useful ranks k of precision@k (context precision of RAGAS). A passage that the judge
    passed over counts as of no use. Of three passages of which the first and the last are useful:
    (1/1 + 2/3) / 2 = 0.833.
    """
    useful = {verdict.id for verdict in verdicts if verdict.useful}
    hits = [passage.id in useful for passage in context.turn.answer.passages]
    precisions = [sum(hits[:rank]) / rank for rank, hit in enumerate(hits, start=1) if hit]
    return sum(precisions) / len(precisions) if precisions else 0.0


def recalled_share(statements: Sequence[Statement], _: GradingContext | None = None) -> float:
    """The share (0..1) of the reference's statements that the passages hold (context recall of RAGAS).

    There is at least one statement: the form asks for one.
    """
    return sum(s.found for s in statements) / len(statements)


FIELD_KINDS: dict[str, FieldKind] = {
    "text": FieldKind(Text, '"<$it>"'),
    "texts": FieldKind(Texts, '["<$it>", ...]'),
    "grade": FieldKind(Grade, "<$it>", FIFTHS),
    "binary": FieldKind(Binary, "<$it>", SHARE),
    "share": FieldKind(Share, "<$it>", SHARE),
    "feeling": FieldKind(Feeling, "<$it>", FEELING),
    "response": FieldKind(Responded, '"<$it>"'),
    "claims": FieldKind(
        Annotated[list[Claim], BeforeValidator(_listed)], "", SHARE, supported_share, gravest_claim,
        without_unknown_passages, tuple(Claim.model_fields),
    ),
    "usefulness": FieldKind(
        Annotated[list[Usefulness], BeforeValidator(_listed), Field(min_length=1)],
        "", SHARE, average_precision,
        items=tuple(Usefulness.model_fields),
    ),
    "conflicts": FieldKind(
        Annotated[
            list[Conflict], BeforeValidator(_items_of("reference", "passages")), AfterValidator(_opposed)
        ],
        "", items=tuple(Conflict.model_fields), left_out=[],
    ),
    "verdicts": FieldKind(
        Annotated[list[RuleVerdict], BeforeValidator(_listed), Field(min_length=1)], "",
        items=tuple(RuleVerdict.model_fields),
    ),
    "requests": FieldKind(
        Annotated[list[Request], BeforeValidator(_listed_or_none), Field(min_length=1)],
        "", SHARE, settled_share, kept=with_known_turns,
        items=tuple(Request.model_fields), counted="resolved",
    ),
    "lapses": FieldKind(
        Annotated[list[Lapse], BeforeValidator(_items_of("what", "turn"))], "", kept=certain_lapses,
        items=tuple(Lapse.model_fields), left_out=[],
    ),
    "expectations": FieldKind(
        Annotated[list[Expectation], BeforeValidator(_listed), Field(min_length=1)],
        "", SHARE, met_share, kept=by_sentence, items=tuple(Expectation.model_fields),
    ),
    "statements": FieldKind(
        Annotated[list[Statement], BeforeValidator(_listed), Field(min_length=1)], "", SHARE, recalled_share,
        kept=without_unknown_passages,
        items=tuple(Statement.model_fields),
    ),
}  # fmt: skip

Meaning = str | Mapping[str, str]
Described = Mapping[str, "tuple[str, Meaning] | Described"]


def skeleton(described: Described, indent: str = "") -> str:
    """The form as a model reads it: JSON with what each key means in place of its value.

    `described` maps a key to its kind and meaning (of a list's items, a meaning for each key), or to
    a nested form.
    """
    inner = indent + " "
    lines = [f'{inner}"{key}": {_described(value, inner)}' for key, value in described.items()]
    return "{\n" + ",\n".join(lines) + f"\n{indent}}}"


def _described(value: "tuple[str, Meaning] | Described", indent: str) -> str:
    if not isinstance(value, tuple):
        return skeleton(value, indent)
    kind, meaning = value
    if isinstance(meaning, str):
        return FIELD_KINDS[kind].shape.replace("$it", meaning)
    shapes = {key: f"<{text}>" if (kind, key) in _NUMBERS else f'"<{text}>"' for key, text in meaning.items()}
    item = ", ".join(f'"{key}": {shape}' for key, shape in shapes.items())
    return f"[{{{item}}}, ...]"


_NUMBERS = {
    ("usefulness", "useful"), ("statements", "found"), ("requests", "turn"), ("requests", "weight"),
    ("requests", "by"), ("lapses", "earlier"), ("lapses", "turn"), ("expectations", "number"),
    ("expectations", "turn"),
}  # fmt: skip


def share_of(raw: float, scale: tuple[float, float]) -> float:
    """A raw value as 0..1: grades from 1 to 5 by fifths (3 is .6), every other scale from end to end.

    3 on (1, 5) -> 0.6; 1 -> 0.2; 0.5 on (-2, 2) -> 0.625. By fifths because
    people read a score of 80 as "mostly 4".
    """
    low, high = scale
    return raw / high if scale == FIFTHS else (raw - low) / (high - low)


Scale = tuple[float, float]


def score_of(verdict: Any, scale: Scale) -> Score:
    """The verdict as a score on the judge's scale, or on its own; raises ModelFailure, in one line, else."""
    if isinstance(verdict, Score):
        return _sound(verdict, scale)
    reason = ""
    if isinstance(verdict, tuple) and len(verdict) == 2 and isinstance(verdict[1], str):
        verdict, reason = verdict
    if type(verdict).__module__ == "numpy":  # its scalars are no numbers and no bool of Python's
        verdict = verdict.item()
    if isinstance(verdict, bool):  # yes is the top of the scale, no its bottom
        raw = scale[verdict]
    elif isinstance(verdict, Real):
        raw = float(verdict)
    else:
        msg = _(
            "the judge returned {type}, not a Score, a number, True or False, or one of these with a reason",
            type=type(verdict).__name__,
        )
        raise ModelFailure("malformed", msg)
    if not scale[0] <= raw <= scale[1]:  # not a number is on no scale, either
        msg = _(
            "the judge returned {value:g}, which is not on {lowest:g} to {highest:g}",
            value=raw,
            lowest=scale[0],
            highest=scale[1],
        )
        raise ModelFailure("off_scale", msg)
    return Score(state="scored", value=share_of(raw, scale), raw=raw, scale=scale, reason=reason)


def _sound(score: Score, scale: Scale) -> Score:
    """The judge's own Score, on the module's scale where it names none."""
    if not math.isfinite(score.value or 0.0):  # stored, it would be no value at all
        raise ModelFailure("off_scale", _("the judge returned {score}", score=score.value))
    if (score.state == "scored") == (score.value is None):
        values = {"state": score.state, "value": score.value}
        msg = _("the judge returned a Score that is {state} and has the value {value}", **values)
        raise ModelFailure("malformed", msg)
    return score if "scale" in score.model_fields_set else score.model_copy(update={"scale": scale})
