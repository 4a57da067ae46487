"""Your LangChain or LangGraph runnable: --set target=bot.py:chain.

First the runnable and the bot that is made of it; then what it is given, by what it declares or by trying;
last how an answer is read from what it gave, whatever its shape.

    ChatPromptTemplate.from_template("{question}") | model   declares a field: {"question": ...}
    StateGraph(MessagesState).compile()                      declares messages: {"messages": [...]}
    RunnableLambda(f)                                        declares nothing: text, {"question"}, {"input"}
                                                             and {"messages"} are tried, and the first that
                                                             it takes is kept

    "It costs 5."                                  text, with what retrievers were seen to find on the way
    {"answer": "It costs 5.", "context": [...]}    the fields of a mapping, a data class, a pydantic object
    {"messages": [..., tool, ai]}                  the last message, with the artifacts of this turn's tools

Each conversation is a thread (`thread_id`, `session_id`). What keeps its own dialogue (a checkpointer, a
message history) is told each line once; all others are told the whole dialogue each time. What needs another
input is wrapped in a function, which may return anything that a function may.
"""

import asyncio
import contextlib
import dataclasses
import inspect
import typing
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from langchain_core.callbacks import BaseCallbackHandler, UsageMetadataCallbackHandler
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage

from simulator.extending import (
    Answer,
    BotFailure,
    ChatMessage,
    InputError,
    Message,
    Passage,
    Query,
    ToolCall,
    Usage,
    _,
    on_a_thread,
    passages_of,
    returned,
    tool_calls_in,
)

from .function import described, failure_of, load

# A query, and the dialogue before it that the runnable does not remember itself, as its input.
Form = Callable[[Query, Sequence[ChatMessage]], Any]

# Names of the field for the question, and for the dialogue before it, likeliest first.
_QUESTION = (
    "question", "input", "user_input", "user_message", "message", "query", "user_query", "utterance", "text",
)  # fmt: skip
_HISTORY = ("chat_history", "history", "conversation_history")

# Exceptions of a runnable that gets an input of the wrong shape; those of LangGraph by name, as it may not be
# installed.
_MISFIT = (TypeError, ValueError, LookupError, AttributeError)
_MISFIT_NAMES = ("InvalidUpdateError", "EmptyInputError")
_INTERRUPT = "__interrupt__"


async def connect(*, target: str) -> "RunnableBot":
    """The runnable `file.py:name` or `package.module:name`, or the one that a function of that name gives."""
    return await bot_of(load(target), target)


async def bot_of(thing: Any, target: str) -> "RunnableBot":
    """A runnable that is there already as a bot; `target` is what errors call it."""
    runnable = await _runnable(thing, target)
    try:
        return RunnableBot(target, runnable, _declared(runnable))
    except InputError as error:
        raise InputError(_("{target}: {problem}", target=target, problem=error)) from None


async def _runnable(thing: Any, target: str) -> Any:
    """The object itself, or what it returns when it is called without arguments."""
    name: Message | str = target
    if _runs(thing):
        return thing
    # The commonest slip: the graph is there, and what runs is what its compile() gives.
    if hasattr(thing, "compile"):
        msg = _(
            "{target} is not compiled: name what its compile() gives, as in app = graph.compile().",
            target=target,
        )
        raise InputError(msg)
    if callable(thing):
        try:
            runnable = thing()
            runnable = await runnable if inspect.isawaitable(runnable) else runnable
        except (Exception, SystemExit) as error:
            msg = _("{target}: it cannot be made: {error}", target=target, error=described(error, target))
            raise InputError(msg) from None
        if _runs(runnable):
            return runnable
        name, thing = _("what {target} gives", target=target), runnable
    raise InputError(
        _("{target} is {type}, not a runnable: it has no ainvoke().", target=name, type=type(thing).__name__)
    )


def _runs(thing: Any) -> bool:
    return (hasattr(thing, "ainvoke") or hasattr(thing, "invoke")) and not inspect.isclass(thing)


class RunnableBot:
    """A runnable as the bot; if it declares no input, the first question finds out the form."""

    def __init__(self, target: str, runnable: Any, form: Form | None) -> None:
        """`target` is how it was named."""
        self.target, self.runnable, self.form = target, runnable, form
        self._form_lock = asyncio.Lock()

    async def __call__(self, query: Query) -> Answer:
        """The runnable's answer. Raises BotFailure."""
        watch = Watch()
        # Graphs identify a conversation by its thread, chains with a message history by its session.
        ids = {"thread_id": query.session, "session_id": query.session}
        config = {"configurable": ids, "callbacks": [watch, watch.counted]}
        try:
            output = await self._output(query, config)
        except Exception as error:
            raise failure_of(error, self.target) from error
        return answer_in(output, watch)

    async def _output(self, query: Query, config: dict[str, Any]) -> Any:
        # What keeps the dialogue itself must not be told it twice.
        earlier = await self._unremembered(query, config)
        if self.form is None:
            async with self._form_lock:
                if self.form is None:
                    return await self._try_forms(query, earlier, config)
        return await self._invoked(self.form(query, earlier), config)

    async def _invoked(self, value: Any, config: dict[str, Any]) -> Any:
        """What it gives; an object that has no more than a plain `invoke` runs on a thread."""
        if hasattr(self.runnable, "ainvoke"):
            return await self.runnable.ainvoke(value, config)
        # An object of one's own may have invoke(question) alone.
        takes_config = len(inspect.signature(self.runnable.invoke).parameters) > 1
        return await on_a_thread(self.runnable.invoke, value, *([config] if takes_config else []))

    async def _try_forms(self, query: Query, earlier: Sequence[ChatMessage], config: dict[str, Any]) -> Any:
        """The output for the first form of input that the runnable accepts.

        Only errors that an input of the wrong shape causes lead to the next form; any other one is the bot's.
        Under a lock, so that many customers at the start do not try all forms at once.
        """
        misfits = []
        for name, form in CANDIDATES.items():
            try:
                output = await self._invoked(form(query, earlier), config)
            except Exception as error:
                if not isinstance(error, _MISFIT) and type(error).__name__ not in _MISFIT_NAMES:
                    raise
                misfits.append(f"{name}: {type(error).__name__}")
            else:
                self.form = form
                return output
        tried = ", ".join(misfits)
        raise BotFailure(
            "malformed",
            _(
                "it takes none of the usual inputs ({tried}); wrap it in a function",
                tried=tried,
            ),
        )

    async def _unremembered(self, query: Query, config: dict[str, Any]) -> Sequence[ChatMessage]:
        """The dialogue that it has to be told: none when it keeps the conversation itself."""
        if not query.history:
            return ()
        runnable: Any = self.runnable
        while runnable is not None:
            if hasattr(runnable, "get_session_history"):
                return ()
            if hasattr(getattr(runnable, "checkpointer", None), "aget_tuple"):
                # A checkpointer that lost its memory (another process, a resumed run) is told the dialogue
                # before.
                return () if (await runnable.aget_state(config)).values else query.history
            # A chain with options is wrapped in another runnable; the memory is inside.
            runnable = getattr(runnable, "bound", None)
        return query.history


# --- What it is given ---


def as_messages(history: Sequence[ChatMessage]) -> list[BaseMessage]:
    """A dialogue as LangChain's messages."""
    return [
        HumanMessage(message.content) if message.role == "user" else AIMessage(message.content)
        for message in history
    ]


def as_text(query: Query, _earlier: Sequence[ChatMessage]) -> str:
    """The question alone."""
    return query.text


def as_list(query: Query, earlier: Sequence[ChatMessage]) -> list[BaseMessage]:
    """The dialogue with the question at its end."""
    return [*as_messages(earlier), HumanMessage(query.text)]


@dataclasses.dataclass(frozen=True)
class Fields:
    """A mapping: which keys hold the question, the dialogue before it, and both; "" for none."""

    question: str = ""
    history: str = ""
    messages: str = ""

    def __call__(self, query: Query, earlier: Sequence[ChatMessage]) -> dict[str, Any]:
        """The input for this query."""
        given: dict[str, Any] = {}
        if self.question:
            given[self.question] = query.text
        if self.history:
            given[self.history] = as_messages(earlier)
        if self.messages:
            given[self.messages] = as_list(query, earlier)
        return given


# Tried in this order on what does not say what it takes.
CANDIDATES: Mapping[str, Form] = {
    "text": as_text,
    "question": Fields("question"),
    "input": Fields("input"),
    "messages": Fields(messages="messages"),
}


def _declared(runnable: Any) -> Form | None:
    """The input that a runnable declares; None when that has to be tried. Raises InputError."""
    state = _state_of(runnable)
    if state:
        return _fields(state, ())
    schema = _schema_of(runnable)
    # A model takes a text, a list or messages; any of them that is declared will do.
    options = [option.get("type") for option in (schema, *schema.get("anyOf", ()))]
    if "array" in options:
        return as_list
    if "string" in options:
        return as_text
    properties = tuple(schema.get("properties", ()))
    return _fields(properties, tuple(schema.get("required", ()))) if properties else None


def _state_of(runnable: Any) -> tuple[str, ...]:
    """The keys of a graph's input; its JSON schema cannot always be made."""
    declared = getattr(getattr(runnable, "builder", None), "input_schema", None)
    if declared is None:
        return ()
    return tuple(getattr(declared, "model_fields", None) or typing.get_type_hints(declared))


def _schema_of(runnable: Any) -> dict[str, Any]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            schema = runnable.get_input_jsonschema()
    except Exception:  # it is asked for a hint, and the runnable is not our code
        return {}
    # pydantic puts a model's schema among the definitions, and points to it.
    named = str(schema.get("$ref", "")).rpartition("/")[2]
    return schema.get("$defs", {}).get(named, schema) if named else schema  # type: ignore[no-any-return]


def _fields(there: Sequence[str], required: Sequence[str]) -> Form:
    """Which of the fields are given what; of a graph's state, none is required: others it fills itself.

    A lone required field is the question, whatever it is called. Raises InputError where several could be,
    and where more is required than question and dialogue.
    """
    messages = "messages" if "messages" in there else ""
    before = next((name for name in _HISTORY if name in there), "")
    open_ = [name for name in required or there if name not in (messages, before)]
    question = next((name for name in _QUESTION if name in there), "")
    if not question and not messages and len(open_) == 1:
        question = open_[0]
    more = [name for name in open_ if required and name != question]
    if more or not (question or messages):
        takes = more or there
        raise InputError(
            _("it takes {fields}: wrap it in a function of the question alone.", fields=", ".join(takes))
        )
    return Fields(question, before, messages)


# --- What it gave ---


class Watch(BaseCallbackHandler):
    """What retrievers find on the way to an answer that does not show it, and what models count.

    `retrieved` says that somebody searched, though nothing was found: then the answer rests on nothing, which
    is not the same as an answer that shows no passages. Runs in line, so nothing arrives after the answer.
    """

    run_inline = True

    def __init__(self) -> None:
        self.documents: list[Any] = []
        self.retrieved = False
        self._retrieving: set[Any] = set()
        self.counted = UsageMetadataCallbackHandler()
        self.counted.run_inline = True

    def on_retriever_start(self, serialized: Any, query: str, *, run_id: Any, **_told: Any) -> None:
        """Remembers who searches: what a retriever asks of others is its own affair."""
        self._retrieving.add(run_id)

    def on_retriever_end(self, documents: Any, *, parent_run_id: Any = None, **_told: Any) -> None:
        """Keeps what was found, once."""
        self.retrieved = True
        if parent_run_id not in self._retrieving:
            self.documents += [document for document in documents if document not in self.documents]

    @property
    def usage(self) -> Usage | None:
        """The tokens of all models together, where they tell."""
        counts = self.counted.usage_metadata
        if not counts:
            return None
        return Usage(
            model=", ".join(counts),
            tokens_in=sum(count["input_tokens"] for count in counts.values()),
            tokens_out=sum(count["output_tokens"] for count in counts.values()),
        )


def answer_in(output: Any, watch: Watch) -> Answer:
    """The answer in an output; raises BotFailure when there is none.

    It is found by the fields of a mapping, data class or pydantic object; else as whatever a function may
    return. Passages are looked for beside the answer, in a field that usually holds them, in tools'
    artifacts, in what retrievers were seen to find, in the words of tools; they count as shown only where
    something says that there was a search.
    """
    fields = _fields_of(output)
    # It waits for a person to approve something, and the customer has no answer.
    if _INTERRUPT in fields:
        asked = [str(_of(interrupt, "value") or interrupt) for interrupt in fields[_INTERRUPT]]
        raise BotFailure("error", _("the graph stopped for a person: {asked}", asked="; ".join(asked)[:200]))
    said = Answer(text=_text(fields), shows_passages=False) if fields else returned.answer_of(output)
    passages = said.passages or _passages(fields, watch.documents, said.text)
    shows = bool(passages) or watch.retrieved or said.shows_passages or _shows_none(fields)
    return said.model_copy(
        update={
            "passages": passages,
            "shows_passages": shows,
            "usage": said.usage or watch.usage,
            "tools": _tools(fields) if said.tools is None else said.tools,
        }
    )


def _fields_of(output: Any) -> Mapping[str, Any]:
    """The fields of a mapping, a dataclass or a pydantic object; an answer or a message is read as it is."""
    if isinstance(output, Mapping):
        return output
    if isinstance(output, Answer) or hasattr(output, "content"):
        return {}
    if dataclasses.is_dataclass(output) and not isinstance(output, type):
        return {field.name: getattr(output, field.name) for field in dataclasses.fields(output)}
    return dict(output) if hasattr(output, "model_fields_set") else {}


def _text(fields: Mapping[str, Any]) -> str:
    messages = fields.get("messages")
    last = messages[-1] if isinstance(messages, Sequence) and messages else None
    # A tool may give the answer itself, with no word of the model after it.
    if _of(last, "type") == "tool":
        return _tool_text(last)
    # A field that is called answer goes before the messages, unless the model's own words are the last of
    # them.
    text = next((fields[key] for key in returned.ANSWER_KEYS if fields.get(key)), None)
    if last is not None and (text is None or _of(last, "type") == "ai"):
        return returned.last_said(messages)
    return returned.answer_of(dict(fields)).text if text is None else returned.text_of(text)


def _tools(fields: Mapping[str, Any]) -> tuple[ToolCall, ...] | None:
    """The calls of this turn, by a field of their own or in the messages; None where none is ever called."""
    shown = returned.shown_tools(fields)
    return tool_calls_in(fields.get("messages")) if shown is None else shown


def _shows_none(fields: Mapping[str, Any]) -> bool:
    """Whether a field for passages holds none of them; what is no passage says nothing of passages."""
    for name in returned.PASSAGE_KEYS:
        with contextlib.suppress(BotFailure):
            if name in fields and not passages_of(fields[name]):
                return True
    return False


def _passages(fields: Mapping[str, Any], documents: Any, answer: str) -> tuple[Passage, ...]:
    """Documents among the fields, else in tools' artifacts, else seen on the way, else what tools said.

    Only tools of this turn count, and none whose words are the answer itself.
    """
    tools = _tools_of_this_turn(fields.get("messages"))
    sources = [fields.get(name) for name in returned.PASSAGE_KEYS]
    sources.append([passage for tool in tools for passage in _lenient(_of(tool, "artifact"))])
    sources.append(documents)
    retrieved = next(filter(None, map(_lenient, sources)), ())
    return retrieved or tuple(
        passage for passage in map(_words, tools, range(1, len(tools) + 1)) if passage.text != answer
    )


def _lenient(documents: Any) -> tuple[Passage, ...]:
    """Passages, where the value is such; other fields may have these names too."""
    try:
        return passages_of(documents)
    except BotFailure:
        return ()


def _tools_of_this_turn(messages: Any) -> list[Any]:
    """What tools said since the customer did."""
    tools: list[Any] = []
    for message in reversed(messages if isinstance(messages, Sequence) else ()):
        kind = _of(message, "type")
        if kind == "human":
            break
        if kind == "tool" and _of(message, "status") != "error":
            # Walked from the end to the customer's line; in the order of the calls again.
            tools.insert(0, message)
    return tools


def _words(tool: Any, number: int) -> Passage:
    name = _of(tool, "name") or "tool"
    return Passage(id=f"{name}-{number}", text=_tool_text(tool), source=name)


def _tool_text(tool: Any) -> str:
    return returned.text_of(returned.joined(_of(tool, "content")))


def _of(message: Any, name: str) -> Any:
    """A field of a message; graphs elsewhere send them as mappings."""
    return message.get(name) if isinstance(message, Mapping) else getattr(message, name, None)
