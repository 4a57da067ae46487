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

_THOUGHT = re.compile(r"<think(?:ing)?>.*?</think(?:ing)?>", re.DOTALL | re.IGNORECASE)
_GRADE = re.compile(r"^\D{0,12}?([1-9]\d*)(?:\.0+)?\s*(?:/\s*5|点|点満点|out of 5)?\s*$")
_TRAILING_COMMA = re.compile(r",\s*([}\]])")


class Reply(BaseModel):
    """Base of every form a model fills in; what it adds beyond the form is ignored."""

    model_config = ConfigDict(extra="ignore", frozen=True)


def _grade(value: Any) -> Any:
    """4, 4.0, "4", "４", "4/5" and "4点" are the grade 4; anything else is left for the check."""
    if isinstance(value, bool):
        return None
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, str) and (found := _GRADE.match(unicodedata.normalize("NFKC", value).strip())):
        return int(found[1])
    return value


def _texts(value: Any) -> Any:
    """A single text where a list is asked for is a list of one."""
    return [value] if isinstance(value, str) else value


Grade = Annotated[
    int,
    BeforeValidator(_grade),
    Field(ge=1, le=5),
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
    """The form in what a model wrote: the last complete object that fits, else the repaired rest.

    Raises MalformedReply with one sentence that can be given back to the model.
    """
    plain = _THOUGHT.sub("", text).strip()
    problem = "there is no JSON object in the reply"
    for found in [*reversed(_objects(plain)), *_repaired(plain)]:
        try:
            return reply_form.model_validate(found)
        except ValidationError as error:
            problem = _problem(error)
    raise MalformedReply("malformed", problem, raw=text)


def _problem(error: ValidationError) -> str:
    first = error.errors(include_url=False, include_input=True)[0]
    where = ".".join(map(str, first["loc"])) or "reply"
    shown = f" (it was {str(first['input'])[:60]!r})" if first["type"] != "missing" else ""
    return f"{where}: {first['msg']}{shown}"


def _objects(text: str) -> list[dict[str, Any]]:
    """Every complete top-level JSON object in the text, in order."""
    decoder, found, at = json.JSONDecoder(strict=False), [], text.find("{")
    while at >= 0:
        try:
            value, end = decoder.raw_decode(text, at)
        except (json.JSONDecodeError, RecursionError):
            end = at + 1
        else:
            if isinstance(value, dict):
                found.append(value)
        at = text.find("{", end)
        if len(found) > 50 or end - at > 200_000:
            break
    return found


def _repaired(text: str) -> list[dict[str, Any]]:
    """The object from the first brace on, with doubled braces, trailing commas and a cut end mended."""
    start = text.find("{")
    if start < 0:
        return []
    body = text[start : start + 200_000]
    versions = [body, _TRAILING_COMMA.sub(r"\1", body)]
    if body.startswith("{{"):
        single = body.replace("{{", "{").replace("}}", "}")
        versions += [single, _TRAILING_COMMA.sub(r"\1", single)]
    return [value for version in versions if (value := _partial(version))]


def _partial(text: str) -> dict[str, Any] | None:
    end = text.rfind("}")
    for candidate in (text[: end + 1] if end > 0 else "", text):
        try:
            value = from_json(candidate, allow_partial=True) if candidate else None
        except ValueError:
            continue
        if isinstance(value, dict):
            return value
    return None
