"""What a chat completion says: a text, or the form in a field where a model has put it instead.

{"message": {"content": "..."}}                                    the text, also of a list of parts
{"message": {"content": null, "tool_calls": [{"function": ...}]}}  the form, if the arguments are one
{"message": {"content": "", "reasoning_content": "{...}"}}         the form, if that is nothing else
{"message": {"refusal": "I will not."}}, "content_filter"          a failure: refused
anything else                                                      a failure: malformed
"""

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from pydantic import BaseModel

from simulator.core.answers import kind
from simulator.core.messages import Message, _, encodable
from simulator.models.exchange import NotJson
from simulator.models.reading import lone_form, names_key_of
from simulator.models.refusals import how_it_ended

# Fields of a message for what was thought, by servers and gateways.
REASONING = ("reasoning_content", "reasoning", "thinking")
# Characters of a reply; a longer one is an error, because no model writes as much at once.
LONGEST_REPLY = 1_000_000


class Said(NamedTuple):
    """A text; whether its limit of tokens cut it; and why it is none although there are words elsewhere."""

    text: str
    is_cut: bool = False
    elsewhere: Message | None = None


class Unusable(Exception):
    """A completion without a text, its kind of failure and why; `is_foreign`: it is no completion at all."""

    def __init__(self, kind: str, words: Message | str, *, is_foreign: bool = False) -> None:
        super().__init__(kind, words)
        self.kind, self.words, self.is_foreign = kind, words, is_foreign


def text_in(data: Any, reply_form: type[BaseModel] | None) -> Said:
    """The text of a completion. Raises Unusable for a refusal, or where there is none."""
    try:
        choice = data["choices"][0]
        reason = choice.get("finish_reason")
        ended = how_it_ended(reason)
        is_filtered = ended == "filtered"
        message = choice["message"] if not is_filtered else choice.get("message") or {}
        refusal, text = message.get("refusal"), _text(message.get("content"))
        elsewhere = None
        if not text.strip():
            text, elsewhere = _besides_content(message, reply_form)
    except (KeyError, IndexError, TypeError, AttributeError) as error:
        raise Unusable("malformed", _foreign(data), is_foreign=True) from error
    # Of structured outputs: a model that will not fill in the form says so in a field of its own.
    if refusal:
        raise Unusable("refused", str(refusal))
    if is_filtered:
        msg = _("a filter of the service took the reply away (finish_reason {reason})", reason=reason)
        raise Unusable("refused", msg)
    if elsewhere and reply_form is None:
        raise Unusable("malformed", elsewhere)
    if len(text) > LONGEST_REPLY:
        raise Unusable("malformed", _("a reply of {n} characters", n=len(text)))
    return Said(text, ended == "cut", elsewhere)


def _foreign(data: Any) -> Message:
    """What came that is no chat completion."""
    if not isinstance(data, NotJson):
        return _("the reply is not a chat completion: it {kind}", kind=kind(data))
    return _("the reply is not JSON: {text}", text=data.text) if data.text else _("the reply is empty")


def _besides_content(
    message: Mapping[str, Any], reply_form: type[BaseModel] | None
) -> tuple[str, Message | None]:
    """The form that a message without content has elsewhere; or "", and why nothing else in it is read.

    Some models call a tool instead of answering, and some servers take the whole answer for reasoning. But
    what is thought is not said: of reasoning only what is nothing but the form counts.
    """
    calls = message.get("tool_calls")
    called = calls if isinstance(calls, list) and calls else [message.get("function_call")]
    functions = [each.get("function") or each for each in called if isinstance(each, dict)]
    if functions:
        given = [each.get("arguments") for each in functions]
        text = "\n".join(each if isinstance(each, str) else json.dumps(each) for each in given)
        if reply_form is not None and names_key_of(text, reply_form):
            return text, None
        names = ", ".join(str(each.get("name"))[:40] for each in functions[:3])
        return "", _("the reply has no text, only calls of tools ({names})", names=names)
    for name in REASONING:
        if thought := _text(message.get(name)).strip():
            if reply_form is not None and (form := lone_form(thought)):
                return form, None
            msg = _(
                "the reply holds only reasoning ({field}) and no answer: switch thinking off, or the "
                "server's parser of reasoning",
                field=name,
            )
            return "", msg
    # An answer, which is no form, may be empty.
    return "", None if reply_form is None else _("the reply is empty")


def _text(content: Any) -> str:
    """The text of a message, also of one that is a list of parts, or the form itself."""
    # Of reasoning models, what was thought is a part without a text.
    if isinstance(content, list):
        content = "".join(part if isinstance(part, str) else str(part.get("text") or "") for part in content)
    elif isinstance(content, dict):
        content = json.dumps(content, ensure_ascii=False)
    return str(encodable(str(content or "")))
