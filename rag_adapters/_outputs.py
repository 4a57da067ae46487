"""What a LangChain or LangGraph runnable gave, whatever its shape, as an answer with its passages."""

import contextlib
import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from langchain_core.callbacks import BaseCallbackHandler, UsageMetadataCallbackHandler
from langchain_core.documents import Document

from rag_adapters._json import JsonPath
from simulator import Answer, BotFailure, Passage, Usage, _, passages_of, returned

_ANSWER_KEYS = (*returned.ANSWER_KEYS, "response", "generation", "final_answer")
_INTERRUPT = "__interrupt__"


class Watch(BaseCallbackHandler):
    """Sees what retrievers find on the way to an answer that does not show it, and what models count."""

    run_inline = True

    def __init__(self) -> None:
        self.documents: list[Document] = []
        self.retrieved = False
        self.counted = UsageMetadataCallbackHandler()
        self.counted.run_inline = True
        self._retrieving: set[UUID] = set()

    def on_retriever_start(
        self, serialized: dict[str, Any], query: str, *, run_id: UUID, **_told: Any
    ) -> None:
        """Remembers who searches: what a retriever asks of others is its own affair."""
        self._retrieving.add(run_id)

    def on_retriever_end(
        self, documents: Sequence[Document], *, parent_run_id: UUID | None = None, **_told: Any
    ) -> None:
        """Keeps what was found, once."""
        self.retrieved = True
        if parent_run_id not in self._retrieving:
            self.documents += [each for each in documents if each not in self.documents]

    @property
    def usage(self) -> Usage | None:
        """The tokens of all models together, where they tell."""
        counts = self.counted.usage_metadata
        if not counts:
            return None
        asked = sum(each["input_tokens"] for each in counts.values())
        said = sum(each["output_tokens"] for each in counts.values())
        return Usage(model=", ".join(counts), tokens_in=asked, tokens_out=said)


@dataclasses.dataclass(frozen=True)
class OutputPaths:
    """Where the settings say that answer and passages stand; None where that is to be found."""

    answer: JsonPath | None = None
    passages: JsonPath | None = None

    def read(self, output: Any, watch: Watch) -> Answer:
        """The answer in an output; raises BotFailure when there is none."""
        fields = _fields_of(output)
        if _INTERRUPT in fields:
            asked = [str(getattr(each, "value", each)) for each in fields[_INTERRUPT]]
            raise BotFailure(
                "error", _("the graph stopped for a person: {asked}", asked="; ".join(asked)[:200])
            )
        said = self._said(output, fields)
        if self.passages:
            passages, shows = passages_of(self.passages.within(fields)), True
        else:
            passages = said.passages or _passages(fields, watch, said.text)
            shows = bool(passages) or watch.retrieved or said.shows_passages or _shows_none(fields)
        told = {"passages": passages, "shows_passages": shows}
        return said.model_copy(update=told | {"usage": said.usage or watch.usage})

    def _said(self, output: Any, fields: Mapping[str, Any]) -> Answer:
        if not self.answer and not fields:
            return returned.answer_of(output)
        text = returned.text_of(self.answer.of(fields)) if self.answer else _text(fields)
        return Answer(text=text, shows_passages=False)


def _fields_of(output: Any) -> Mapping[str, Any]:
    """The fields of a mapping, a dataclass or a pydantic object; an answer or a message is read as it is."""
    if isinstance(output, Mapping):
        return output
    if isinstance(output, Answer) or hasattr(output, "content"):
        return {}
    if dataclasses.is_dataclass(output) and not isinstance(output, type):
        return {each.name: getattr(output, each.name) for each in dataclasses.fields(output)}
    return dict(output) if hasattr(output, "model_fields_set") else {}


def _text(fields: Mapping[str, Any]) -> str:
    messages = fields.get("messages")
    last = messages[-1] if isinstance(messages, Sequence) and messages else None
    # A tool may give the answer itself, with no word of the model after it.
    if _of(last, "type") == "tool":
        return _tool_text(last)
    own = next((fields[key] for key in _ANSWER_KEYS if fields.get(key)), None)
    if last is not None and (own is None or _of(last, "type") == "ai"):
        return returned.last_said(messages)
    return returned.answer_of(dict(fields)).text if own is None else returned.text_of(own)


def _shows_none(fields: Mapping[str, Any]) -> bool:
    """Whether a field for passages holds none of them; what is no passage says nothing of passages."""
    for name in returned.PASSAGE_KEYS:
        with contextlib.suppress(BotFailure):
            if name in fields and not passages_of(fields[name]):
                return True
    return False


def _passages(fields: Mapping[str, Any], watch: Watch, answer: str) -> tuple[Passage, ...]:
    """Documents among the fields, else in tools' artifacts, else seen on the way, else what tools said."""
    tools = _tools_of_this_turn(fields.get("messages"))
    sources = [fields.get(name) for name in returned.PASSAGE_KEYS]
    sources.append([each for tool in tools for each in _lenient(_of(tool, "artifact"))])
    sources.append(watch.documents)
    found = next(filter(None, map(_lenient, sources)), ())
    return found or tuple(
        each for each in map(_words, tools, range(1, len(tools) + 1)) if each.text != answer
    )


def _lenient(documents: Any) -> tuple[Passage, ...]:
    """Passages, where the value is such; other fields may have these names too."""
    try:
        return passages_of(documents)
    except BotFailure:
        return ()


def _tools_of_this_turn(messages: Any) -> list[Any]:
    """What tools said since the customer did."""
    found: list[Any] = []
    for message in reversed(messages if isinstance(messages, Sequence) else ()):
        kind = _of(message, "type")
        if kind == "human":
            break
        if kind == "tool" and _of(message, "status") != "error":
            found.insert(0, message)
    return found


def _words(tool: Any, number: int) -> Passage:
    name = _of(tool, "name") or "tool"
    return Passage(id=f"{name}-{number}", text=_tool_text(tool), source=name)


def _tool_text(tool: Any) -> str:
    return returned.text_of(returned.joined(_of(tool, "content")))


def _of(message: Any, name: str) -> Any:
    """A field of a message; graphs elsewhere send them as mappings."""
    return message.get(name) if isinstance(message, Mapping) else getattr(message, name, None)
