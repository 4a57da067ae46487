"""JSON of settings and replies: templates that are filled after parsing, paths to a value.

    filled({"q": "$question", "h": ["$history", {"role": "user"}]}, ...)
        with the question 'say "hi"' and a history of two lines
        -> {"q": 'say "hi"', "h": [line, line, {"role": "user"}]}

    JsonPath("answer", "choices.0.message.content")   a list by place, also from its end (-1)
    JsonPath("passages", "sources[*].text")           all texts; an entry without one is left out
    JsonPath("answer", "body.reply")                  also where `body` is a text that holds JSON
    JsonPath("answer", "$")                           the whole reply
    Condition("until", "status=done|stopped")         one of these values
    Condition("until", "result")                      any value but null, "" and false

A path that leads nowhere says where it ended and what stands there: no 'text' in data, which has the keys
reply.
"""

import json
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path
from string import Template
from typing import Any

from simulator.extending import (
    BotFailure,
    InputError,
    Message,
    Transient,
    _,
    how_it_ended,
    kind,
    read_text_file,
)

# One step of a path: [*], [0], or a name up to the next dot or bracket.
_STEP = re.compile(r"\[(\*|-?\d+)\]|\.?([^.\[\]]+)")
_PLACE = re.compile(r"-?\d+", re.ASCII)
_REPLY = _("the reply")
# A text that is nothing but one variable: $history, ${history}.
_ALONE = re.compile(r"\$\{?([a-z]+)\}?")


def setting(name: str, text: str) -> str:
    """The value of a setting; of `@file`, what the file says."""
    if not text.startswith("@"):
        return text
    try:
        return read_text_file(Path(text[1:])).strip()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or _("it is not UTF-8 text")
        msg = _("{name}={text}: the file cannot be read ({reason}).", name=name, text=text, reason=reason)
        raise InputError(msg) from None


def parsed(name: str, text: str) -> Any:
    """The JSON of a setting, written out or in `@file.json`."""
    try:
        return json.loads(setting(name, text))
    except (ValueError, RecursionError) as error:
        msg = _(
            "{name} is not JSON: {error}. In a shell, use single quotes around it, or {name}=@file.json.",
            name=name,
            error=error,
        )
        raise InputError(msg) from None


def _texts_in(value: Any) -> Iterator[str]:
    """Every text in a JSON value; the names of fields are none."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, (list, dict)):
        for part in value.values() if isinstance(value, dict) else value:
            yield from _texts_in(part)


def filtered(value: Any, change: Callable[[str], str]) -> Any:
    """A JSON value with every text in it changed; tuples count as lists, names of fields stay."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, dict):
        return {key: filtered(part, change) for key, part in value.items()}
    return [filtered(part, change) for part in value] if isinstance(value, (list, tuple)) else value


def variables_in(name: str, value: Any) -> set[str]:
    """The `$variables` that a setting uses; raises InputError for a lone dollar.

    In the texts of the parsed JSON alone; the names of fields are none.
    """
    templates = [Template(text) for text in _texts_in(value)]
    if not all(template.is_valid() for template in templates):
        raise InputError(_("{name} has a lone dollar; write $$ for a plain one.", name=name))
    return {used for template in templates for used in template.get_identifiers()}


def filled(
    value: Any,
    texts: Mapping[str, str],
    lists: Mapping[str, list[Any]],
    absent: Collection[str] = (),
) -> Any:
    """A parsed template with its variables filled in, so that no quotation mark can break it.

    A text that is nothing but a variable of `lists` becomes that list; within a list, its entries.
    A field that is nothing but a variable of `absent` is left out.
    """
    if isinstance(value, str):
        named = lists.get(_alone(value))
        return Template(value).substitute(texts) if named is None else named
    if isinstance(value, dict):
        there = {key: part for key, part in value.items() if _alone(part) not in absent}
        return {key: filled(part, texts, lists, absent) for key, part in there.items()}
    if not isinstance(value, list):
        return value
    # A variable as an entry of a list becomes its entries: ["$history", question] is one list of lines.
    entries: list[Any] = []
    for item in value:
        named = lists.get(_alone(item))
        entries += [filled(item, texts, lists, absent)] if named is None else named
    return entries


def _alone(value: Any) -> str:
    """The variable that a text is nothing but; "" when it is more, or no text."""
    match = _ALONE.fullmatch(value.strip()) if isinstance(value, str) else None
    return match[1] if match else ""


class JsonPath:
    """`data.reply`, `choices.0.message.content`, `sources[*].text`; `$` alone is the whole reply.

    Places in a list count from 0, or from its end: `messages[-1].content`.
    """

    def __init__(self, name: str, text: str) -> None:
        """Raises InputError when `text` is no path."""
        self.text = text
        path = text.removeprefix("$").removeprefix(".")
        steps = list(_STEP.finditer(path))
        # What the steps leave over is no path: a dot too many, an open bracket.
        if "".join(match[0] for match in steps) != path or not text:
            msg = _(
                "{name}={text}: not a path. Write it like data.reply, choices.0.text or sources[*].",
                name=name,
                text=text,
            )
            raise InputError(msg)
        self.steps = tuple(match[1] or match[2] for match in steps)

    def of(self, value: Any) -> Any:
        """What stands at this path; raises BotFailure that lists what is there instead."""
        try:
            return _follow(value, self.steps, _REPLY)
        except _Missing as missing:
            raise BotFailure("malformed", missing.sentence()) from None

    def missing(self, value: Any, place: Message | str = _REPLY) -> Message | None:
        """What `place` has instead; None where something is there, or nothing (null, []) on the way."""
        try:
            _follow(value, self.steps, place)
        except _Missing as missing:
            is_root = missing.place is place
            return missing.sentence() if is_root or missing.value else None
        return None

    def within(self, value: Any, default: Any = None) -> Any:
        """What stands at this path, else `default`."""
        try:
            return _follow(value, self.steps, _REPLY)
        except _Missing:
            return default


class AnswerCondition:
    """`status=completed|done`: a path has one of these values. `result` alone: it has any at all."""

    def __init__(self, name: str, text: str) -> None:
        """Raises InputError when `text` does not begin with a path."""
        path, equals, values = text.partition("=")
        self.text = text
        self.path = JsonPath(name, path.strip())
        self.values = frozenset(value_text.strip() for value_text in values.split("|")) if equals else None

    def holds(self, reply: Any) -> bool:
        """Whether the reply meets it."""
        value = self.path.within(reply)
        text = value if value is None or isinstance(value, str) else as_json(value)
        # A path alone holds for any value but those that say no.
        return text in self.values if self.values is not None else text not in (None, "", "false")


def check_end(finish_reason: Any) -> None:
    """Raises BotFailure for a chat completion that is not whole: filtered, cut off at its limit of tokens."""
    ended = how_it_ended(finish_reason)
    if ended == "filtered":
        msg = _("a filter of the service took the reply away (finish_reason {reason})", reason=finish_reason)
        raise BotFailure("refused", msg)
    if ended == "cut":
        msg = _("the reply was cut off at its limit of tokens (finish_reason {reason})", reason=finish_reason)
        raise BotFailure("error", msg)
    if ended == "failed":
        raise Transient("error", _("the provider failed (finish_reason {reason})", reason=finish_reason))


# Under which names APIs say how a reply ended: OpenAI's, Google's, Anthropic's, Bedrock's and Ollama's.
_ENDINGS = frozenset({"finish_reason", "finishReason", "stop_reason", "stopReason", "done_reason"})
_DEEPEST = 6


def endings_in(value: Any, depth: int = 0) -> Iterator[str]:
    """How replies say that they ended, in their order."""
    if depth > _DEEPEST:
        return
    if isinstance(value, list):
        for part in value:
            yield from endings_in(part, depth + 1)
    elif isinstance(value, dict):
        for key, part in value.items():
            if key in _ENDINGS and isinstance(part, str) and part:
                yield part
            else:
                yield from endings_in(part, depth + 1)


def as_json(value: Any) -> str:
    """A value as JSON, Japanese unescaped."""
    return json.dumps(value, ensure_ascii=False)


class _Missing(Exception):
    """A step leads nowhere; many a reply lacks something, and few are told about."""

    def __init__(self, step: str, place: Message | str, value: Any) -> None:
        self.step, self.place, self.value = step, place, value

    def sentence(self) -> Message:
        """What was wanted, and what is there instead."""
        wanted = _("list") if self.step == "*" else f"'{self.step}'"
        return _(
            "no {wanted} in {place}, which {kind}", wanted=wanted, place=self.place, kind=kind(self.value)
        )


def _follow(value: Any, steps: tuple[str, ...], place: Message | str) -> Any:
    if not steps:
        return value
    step, rest = steps[0], steps[1:]
    # Gateways wrap a reply as a text: {"statusCode": 200, "body": "{\\"reply\\": ...}"}.
    value = _unwrapped(value)
    here = step if isinstance(place, Message) else f"{place}.{step}"
    if step == "*" and isinstance(value, list):
        return _each(value, rest, here)
    if isinstance(value, dict) and step in value:
        return _follow(value[step], rest, here)
    if isinstance(value, list) and _PLACE.fullmatch(step) and -len(value) <= int(step) < len(value):
        return _follow(value[int(step)], rest, here)
    raise _Missing(step, place, value)


def _unwrapped(value: Any) -> Any:
    """The object or list that a text holds as JSON; anything else as it is."""
    if not isinstance(value, str) or not value.lstrip().startswith(("{", "[")):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return value


def _each(values: list[Any], rest: tuple[str, ...], place: Message | str) -> list[Any]:
    """The rest of a path in every entry that has it; an entry of another kind may lack it.

    Lists of lists are joined. Raises the first miss where no entry has it.
    """
    results: list[Any] = []
    missing: _Missing | None = None
    for value in values:
        try:
            followed = _follow(value, rest, place)
        except _Missing as error:
            missing = missing or error
            continue
        results += followed if "*" in rest else [followed]
    if missing and not results:
        raise missing
    return results
