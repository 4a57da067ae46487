"""What the fields of a judge's reply may be, and how the field that carries the verdict becomes a grade."""

import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, JsonValue, WithJsonSchema

from simulator.replies import Reply
from simulator.types import Exhibit, Severity

FIFTHS, SHARE, FEELING = (1.0, 5.0), (0.0, 1.0), (-2.0, 2.0)

_GRADE = re.compile(
    r"(?:(?:overall|grade|score|rating|総合評価|総合|評価|評点|点数|スコア)\s*[:=]?\s*)?(?:5点満点中\s*)?"
    r"([1-9]\d*)(?:\.0+)?(?:\s*点)?(?:\s*(?:/|(?:out )?of)\s*5(?:\.0+)?(?:\s*点)?|\s*\(5点満点\))?",
    re.IGNORECASE,
)
_YES = frozenset(("1", "1.0", "true", "yes", "correct", "right", "はい", "正", "正解", "正しい", "○", "〇"))
_NO = frozenset(("0", "0.0", "false", "no", "incorrect", "wrong", "いいえ", "誤", "不正解", "誤り", "×", "✕"))
_NONE = frozenset(("", "-", "none", "(none)", "n/a", "nothing", "なし", "(なし)", "なし。", "特になし"))
_VERDICTS = {
    "supported": "supported", "support": "supported", "entailed": "supported",
    "contradicted": "contradicted", "contradiction": "contradicted", "refuted": "contradicted",
    "not_found": "not_found", "not found": "not_found", "notfound": "not_found",
    "unsupported": "not_found", "not_supported": "not_found", "neutral": "not_found",
}  # fmt: skip


def _plain(value: Any) -> Any:
    return unicodedata.normalize("NFKC", value).strip().casefold() if isinstance(value, str) else value


def _grade(value: Any) -> Any:
    """4, 4.0, "4", "４", "4/5" and "4点" are the grade 4; anything else is left for the check."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if not isinstance(value, str) or len(value) > 40:
        return value
    found = _GRADE.fullmatch(unicodedata.normalize("NFKC", value).strip())
    return int(found[1]) if found else value


def _texts(value: Any) -> Any:
    """A single text where a list is asked for is a list of one."""
    return [value] if isinstance(value, str) else value


def _binary(value: Any) -> Any:
    """1, true, "yes", 「はい」 are 1 and their opposites 0; the rest is left for the check."""
    if isinstance(value, bool | float) and value in (0, 1):
        return int(value)
    said = _plain(value)
    return 1 if said in _YES else 0 if said in _NO else value


def _number(value: Any) -> Any:
    """The texts "0.8", "０．８" and "80%" are 0.8; a number stays what it is."""
    if isinstance(value, bool):
        return str(value)
    said = _plain(value)
    if not isinstance(said, str):
        return value
    try:
        return float(said.removesuffix("%")) / (100 if said.endswith("%") else 1)
    except ValueError:
        return value


def _feeling(value: Any) -> Any:
    """The texts "+1" and "−1", and 1.0, are whole numbers."""
    if isinstance(value, str) and "%" in _plain(value):
        return value
    number = _number(value.replace("−", "-").replace("－", "-") if isinstance(value, str) else value)
    return int(number) if isinstance(number, float) and number.is_integer() else number


def _verdict(value: Any) -> Any:
    said = _plain(value)
    return _VERDICTS.get(said.replace("-", "_"), value) if isinstance(said, str) else value


def _passage_id(value: Any) -> str:
    """The id as it is: models write null, a number, brackets, or several, of which the first counts."""
    first = (value[0] if value else "") if isinstance(value, list) else value
    return "" if first is None else str(first).strip("[] ")


def _listed(value: Any) -> Any:
    """A single finding where a list is asked for is a list of one."""
    return [value] if isinstance(value, dict) else value


def _listed_or_none(value: Any) -> Any:
    """As `_listed`; null, an empty text and "none" are no finding."""
    listed = _listed([value] if value is None or isinstance(value, str) else value)
    if not isinstance(listed, list):
        return listed
    return [
        each
        for each in listed
        if each is not None and (not isinstance(each, str) or _plain(each) not in _NONE)
    ]


def _opposed(conflicts: "list[Conflict]") -> "list[Conflict]":
    """Those of which both sides say something, and not the same."""
    sides = ((each, _plain(each.reference), _plain(each.passages)) for each in conflicts)
    return [each for each, one, other in sides if one != other and not {one, other} & _NONE]


Grade = Annotated[
    int,
    BeforeValidator(_grade),
    Field(ge=1, le=5, strict=True),
    WithJsonSchema({"type": "integer", "enum": [1, 2, 3, 4, 5]}),
]
Texts = Annotated[list[str], BeforeValidator(_texts)]
Binary = Annotated[
    int,
    BeforeValidator(_binary),
    Field(ge=0, le=1, strict=True),
    WithJsonSchema({"type": "integer", "enum": [0, 1]}),
]
Share = Annotated[
    float,
    BeforeValidator(_number),
    Field(ge=0, le=1, allow_inf_nan=False),
    WithJsonSchema({"type": "number", "minimum": 0, "maximum": 1}),
]
Feeling = Annotated[
    int,
    BeforeValidator(_feeling),
    Field(ge=-2, le=2, strict=True),
    WithJsonSchema({"type": "integer", "enum": [-2, -1, 0, 1, 2]}),
]
Finding = Annotated[Literal["supported", "contradicted", "not_found"], BeforeValidator(_verdict)]
PassageId = Annotated[str, BeforeValidator(_passage_id)]


class Claim(Reply):
    """One thing that an answer claims, in its own words, and what the passages say of it."""

    claim: str
    passage: PassageId
    verdict: Finding


class Usefulness(Reply):
    """Whether one retrieved passage was of use."""

    id: PassageId
    useful: Binary


class Statement(Reply):
    """One thing that the reference states, and where the passages say it."""

    text: str
    passage: PassageId
    found: Binary


class Conflict(Reply):
    """A point on which reference and passages contradict each other, in the words of both."""

    reference: str
    passages: str


@dataclass(frozen=True)
class Kind:
    """A kind of field: `type` is what a reply must hold, `shape` how the form shows it to the model.

    A kind with a `scale` can be the verdict: `raw` weighs what was filled in, on that scale. `kept` is what
    of it stands in the score: ids of passages that were never shown do not. `left_out` is what a reply
    without the field means; `...`: it must be there.
    """

    type: Any
    shape: str
    scale: tuple[float, float] | None = None
    raw: Callable[[Any, Exhibit], float] = lambda value, _: float(value)
    severity: Callable[[Any], Severity | None] = lambda _: None
    kept: Callable[[Any, Exhibit], Any] = lambda value, _: value
    items: tuple[str, ...] = ()
    left_out: Any = ...


def supported_share(claims: Sequence[Claim], _: Exhibit | None = None) -> float:
    """The share (0..1) of the claims that are supported; an answer that claims nothing has 1.

    The faithfulness of RAGAS (Es et al., 2023), with claims in the answer's own words.
    """
    return sum(c.verdict == "supported" for c in claims) / len(claims) if claims else 1.0


def with_shown_passages(found: Sequence[Any], exhibit: Exhibit) -> list[Any]:
    """The findings, each without the id of a passage that is not among those of the turn."""
    shown = {passage.id for passage in exhibit.turn.answer.passages}
    return [each if each.passage in shown else each.model_copy(update={"passage": ""}) for each in found]


def gravest_claim(claims: Sequence[Claim]) -> Severity | None:
    """A contradiction of the passages is major, what they do not say is moderate."""
    verdicts = {claim.verdict for claim in claims}
    return "major" if "contradicted" in verdicts else "moderate" if "not_found" in verdicts else None


def average_precision(verdicts: Sequence[Usefulness], exhibit: Exhibit) -> float:
    """The average precision (0..1) of the retrieved passages in the retriever's order; 0 when none is of use.

    Mean over the useful ranks k of precision@k (context precision of RAGAS). A passage that the judge
    passed over counts as of no use.
    """
    useful = {verdict.id for verdict in verdicts if verdict.useful}
    hits = [passage.id in useful for passage in exhibit.turn.answer.passages]
    precisions = [sum(hits[:rank]) / rank for rank, hit in enumerate(hits, start=1) if hit]
    return sum(precisions) / len(precisions) if precisions else 0.0


def found_share(statements: Sequence[Statement], _: Exhibit | None = None) -> float:
    """The share (0..1) of the reference's statements that the passages hold (context recall of RAGAS)."""
    return sum(s.found for s in statements) / len(statements)


KINDS: dict[str, Kind] = {
    "text": Kind(str, '"<$it>"'),
    "texts": Kind(Texts, '["<$it>", ...]'),
    "grade": Kind(Grade, "<$it>", FIFTHS),
    "binary": Kind(Binary, "<$it>", SHARE),
    "share": Kind(Share, "<$it>", SHARE),
    "feeling": Kind(Feeling, "<$it>", FEELING),
    "claims": Kind(
        Annotated[list[Claim], BeforeValidator(_listed)], "", SHARE, supported_share, gravest_claim,
        with_shown_passages, tuple(Claim.model_fields),
    ),
    "usefulness": Kind(
        Annotated[list[Usefulness], BeforeValidator(_listed), Field(min_length=1)],
        "", SHARE, average_precision,
        items=tuple(Usefulness.model_fields),
    ),
    "conflicts": Kind(
        Annotated[list[Conflict], BeforeValidator(_listed_or_none), AfterValidator(_opposed)], "",
        items=tuple(Conflict.model_fields), left_out=[],
    ),
    "statements": Kind(
        Annotated[list[Statement], BeforeValidator(_listed), Field(min_length=1)], "", SHARE, found_share,
        kept=with_shown_passages,
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
    inner = indent + "  "
    lines = [f'{inner}"{key}": {_described(value, inner)}' for key, value in described.items()]
    return "{\n" + ",\n".join(lines) + f"\n{indent}}}"


def _described(value: "tuple[str, Meaning] | Described", indent: str) -> str:
    if not isinstance(value, tuple):
        return skeleton(value, indent)
    name, meaning = value
    if isinstance(meaning, str):
        return KINDS[name].shape.replace("$it", meaning)
    item = ", ".join(f'"{key}": {_item(name, key, said)}' for key, said in meaning.items())
    return f"[{{{item}}}, ...]"


def _item(kind: str, key: str, meaning: str) -> str:
    return f"<{meaning}>" if (kind, key) in _NUMBERS else f'"<{meaning}>"'


_NUMBERS = {("usefulness", "useful"), ("statements", "found")}


def share_of(raw: float, scale: tuple[float, float]) -> float:
    """A raw value as 0..1: grades from 1 to 5 by fifths (3 is .6), every other scale from end to end."""
    low, high = scale
    return raw / high if scale == FIFTHS else (raw - low) / (high - low)


def told(filled: Reply) -> dict[str, JsonValue]:
    """A filled-in form as it is kept in a score's detail."""
    return filled.model_dump(mode="json")
