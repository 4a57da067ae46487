"""From what a model wrote to a checked value: strict when it can be, repaired when it must be."""

import json
import re
import unicodedata
from collections.abc import Mapping
from typing import Annotated, Any, Literal, TypeVar

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    WithJsonSchema,
    create_model,
)
from pydantic_core import from_json

from simulator.errors import MalformedReply

Form = TypeVar("Form", bound=BaseModel)

# Reasoning before the first object, closed or cut off; and up to a mark whose opening was in the prompt.
_REASONING = re.compile(
    r"\A(?:[^{[<]++|<think(?:ing)?>.*?(?:</think(?:ing)?>|\Z)|<|\[(?!\s*+\{))*+", re.DOTALL | re.IGNORECASE
)
_REASONED = re.compile(r"\A.*</think(?:ing)?>[ \t]*(?:\r?\n|\Z)", re.DOTALL | re.IGNORECASE)
_GRADE = re.compile(
    r"(?:(?:grade|score|rating|評価|評点|点数|スコア)\s*[:=]?\s*)?"
    r"([1-9]\d*)(?:\.0+)?(?:\s*点)?(?:\s*(?:/|out of)\s*5(?:\.0+)?(?:\s*点)?)?",
    re.IGNORECASE,
)
# Where an object, or a list of objects, may begin; a brace in a sentence does not.
_OPENING = re.compile(r'\{\s*+["{}]|\[\s*+\{')
_STRING = re.compile(r'("(?:[^"\\]++|\\.?)*+(?:"|\Z))', re.DOTALL)
_TRAILING_COMMA = re.compile(r",(?=\s*+[}\]])")
_FULL_WIDTH = str.maketrans("０１２３４５６７８９：，｛｝［］", "0123456789:,{}[]")
_CONTROLS = {code: f"\\u{code:04x}" for code in range(32)}
_DECODER = json.JSONDecoder(strict=False)  # line breaks within strings are common


class Reply(BaseModel):
    """Base of every form a model fills in; what it adds beyond the form is ignored."""

    model_config = ConfigDict(extra="ignore", frozen=True)


def _grade(value: Any) -> Any:
    """4, 4.0, "4", "４", "4/5" and "4点" are the grade 4; anything else is left for the check."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, str) and (found := _GRADE.fullmatch(unicodedata.normalize("NFKC", value).strip())):
        return int(found[1])
    return value


def _texts(value: Any) -> Any:
    """A single text where a list is asked for is a list of one."""
    return [value] if isinstance(value, str) else value


Grade = Annotated[
    int,
    BeforeValidator(_grade),
    Field(ge=1, le=5, strict=True),
    WithJsonSchema({"type": "integer", "enum": [1, 2, 3, 4, 5]}),
]
KINDS: dict[str, Any] = {
    "text": str,
    "texts": Annotated[list[str], BeforeValidator(_texts)],
    "grade": Grade,
}


class NextLine(Reply):
    """What the customer model answers with: the words first, then whether it stays."""

    message: str
    next: Literal["stay", "satisfied", "gave_up", "handed_over"] = "stay"
    reason: str = ""


def form(name: str, fields: dict[str, Any]) -> type[Reply]:
    """A reply form with these fields, in this order, all required."""
    declared: dict[str, Any] = {key: (kind, ...) for key, kind in fields.items()}
    return create_model(name, __base__=Reply, **declared)


Described = Mapping[str, "tuple[str, str] | Described"]


def skeleton(described: Described, indent: str = "") -> str:
    """The form as a model reads it: JSON with what each key means in place of its value.

    `described` maps a key to its kind (text, texts, grade) and meaning, or to a nested form.
    """
    inner = indent + "  "
    lines = [f'{inner}"{key}": {_described(value, inner)}' for key, value in described.items()]
    return "{\n" + ",\n".join(lines) + f"\n{indent}}}"


def _described(value: "tuple[str, str] | Described", indent: str) -> str:
    if not isinstance(value, tuple):
        return skeleton(value, indent)
    kind, meaning = value
    return {"text": f'"<{meaning}>"', "texts": f'["<{meaning}>", ...]', "grade": f"<{meaning}>"}[kind]


def strict_schema(reply_form: type[BaseModel]) -> dict[str, Any]:
    """The form as the JSON schema that strict endpoints accept: closed objects, everything required."""
    return _strict(reply_form.model_json_schema())  # type: ignore[no-any-return]


def _strict(node: Any) -> Any:
    if isinstance(node, list):
        return [_strict(item) for item in node]
    if not isinstance(node, dict):
        return node
    closed = {key: _strict(value) for key, value in node.items() if key not in {"title", "default"}}
    if "properties" in closed:
        closed |= {"additionalProperties": False, "required": list(closed["properties"])}
    return closed


def read(text: str, reply_form: type[Form]) -> Form:
    """The form in what a model wrote: the last complete object that fills it in, else the cut-off one.

    What is said last is binding: an unusable last verdict is no reason to take an earlier one. Raises
    MalformedReply with one sentence that can be given back to the model.
    """
    found, rest = _values(_after_reasoning(text))
    if rest:
        mended, rest = _values(_mended(rest))
        found += mended
    value = _binding(found, rest, reply_form)
    if isinstance(value, str):
        raise MalformedReply("malformed", value, raw=text)
    try:
        return reply_form.model_validate(value)
    except ValidationError as error:
        raise MalformedReply("malformed", _problem(error), raw=text) from None


def _problem(error: ValidationError) -> str:
    first = error.errors(include_url=False, include_input=True)[0]
    where = ".".join(map(str, first["loc"])) or "reply"
    shown = f" (it was {str(first['input'])[:60]!r})" if first["type"] != "missing" else ""
    return f"{where}: {first['msg']}{shown}"


def _after_reasoning(text: str) -> str:
    reasoned = _REASONED.match(text)
    text = text[reasoned.end() :] if reasoned else text
    return text[_REASONING.match(text).end() :]  # type: ignore[union-attr]


def _values(text: str) -> tuple[list[Any], str]:
    """The complete objects (and lists of objects) in order, and the rest from the first that is not.

    It is never looked into that rest: what stands there may be a quotation.
    """
    found: list[Any] = []
    at = 0
    while opening := _OPENING.search(text, at):
        try:
            value, at = _DECODER.raw_decode(text, opening.start())
        except (ValueError, RecursionError):
            return found, text[opening.start() :]
        found.append(value[0] if isinstance(value, list) and len(value) == 1 else value)
    return found, ""


def _mended(text: str) -> str:
    """Without doubled braces, trailing commas, full-width digits and a closing fence outside its strings."""
    parts = _STRING.split(text)
    doubled = text.startswith("{{")
    for place, part in enumerate(parts):
        if place % 2:
            parts[place] = part.translate(_CONTROLS)
        else:
            syntax = part.translate(_FULL_WIDTH).replace("```", "")
            syntax = syntax.replace("{{", "{").replace("}}", "}") if doubled else syntax
            parts[place] = _TRAILING_COMMA.sub("", syntax)
    return "".join(parts)


def _binding(found: list[Any], rest: str, reply_form: type[BaseModel]) -> Any:
    """The value that counts, or one sentence on why there is none."""
    fields = reply_form.model_fields
    attempts = [value for value in found if _has_any(value, fields)]
    if any(f'"{name}"' in rest for name in fields):
        cut = _cut_off(rest)
        if cut is None:
            return _restarted(rest) or "the JSON object in the reply is broken"
        if not attempts:
            # A default must not stand in for what was cut away.
            whole = all(name in cut for name, field in fields.items() if field.default != "")
            return cut if whole else "the JSON object in the reply is cut off"
    return (attempts or found or ["there is no JSON object in the reply"])[-1]


def _has_any(value: Any, fields: Mapping[str, Any]) -> bool:
    items = value if isinstance(value, list) else [value]
    return any(isinstance(item, dict) and not fields.keys().isdisjoint(item) for item in items)


def _restarted(rest: str) -> dict[str, Any] | None:
    """The object that begins a line after a broken one and ends the text."""
    start = rest.rfind("\n{")
    if start < 0 or rest.startswith("["):
        return None
    try:
        value, end = _DECODER.raw_decode(rest, start + 1)
    except (ValueError, RecursionError):
        return None
    return value if not rest[end:].strip() else None


def _cut_off(text: str) -> dict[str, Any] | None:
    """What is whole of an object that ends too early; None when it is broken in another way."""
    if not _ends_too_early(text):
        return None
    try:
        value = from_json(text, allow_partial=True)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def _ends_too_early(text: str) -> bool:
    """Whether the end is all that is missing: "4/5" or "4 or 5" without quotes is not a cut-off 4."""
    try:
        _DECODER.raw_decode(text)
    except json.JSONDecodeError as error:
        return error.msg.startswith("Unterminated string") or not text[error.pos :].strip()
    except (ValueError, RecursionError):
        pass
    return False
