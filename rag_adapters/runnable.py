"""Your LangChain or LangGraph runnable: --set target=bot.py:chain.

First the runnable and the bot that is made of it; then what it is given (by what it declares, by a setting,
or by trying). What it gave is read by _output.py.

    ChatPromptTemplate.from_template("{question}") | model   declares a field: {"question": ...}
    StateGraph(MessagesState).compile()                      declares messages: {"messages": [...]}
    RunnableLambda(f)                                        declares nothing: text, {"question"}, {"input"}
                                                             and {"messages"} are tried, and the first that
                                                             it takes is kept

Each conversation is a thread (`thread_id`, `session_id`). What keeps its own dialogue (a checkpointer, a
message history) is told each line once; all others are told the whole dialogue each time.
"""

import asyncio
import dataclasses
import inspect
import typing
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from langchain_core.callbacks import BaseCallbackHandler, UsageMetadataCallbackHandler
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage

from simulator.extending import Answer, BotFailure, ChatMessage, InputError, Message, Query, _, on_a_thread

from ._host import Seen
from ._json import JsonPath
from ._output import answer_in
from .function import described, failure_of, load

# A query, and the dialogue before it that the runnable does not remember itself, as its input.
Form = Callable[[Query, Sequence[ChatMessage]], Any]

AUTO = "auto"
# Names of the field for the question, and for the dialogue before it, likeliest first.
_QUESTION = (
    "question", "input", "user_input", "user_message", "message", "query", "user_query", "utterance", "text",
)  # fmt: skip
_HISTORY = ("chat_history", "history", "conversation_history")

# Exceptions of a runnable that gets an input of the wrong shape; those of LangGraph by name, as it may not be
# installed.
_MISFIT = (TypeError, ValueError, LookupError, AttributeError)
_MISFIT_NAMES = ("InvalidUpdateError", "EmptyInputError")


async def connect(
    *,
    target: str,
    input: str = AUTO,  # noqa: A002 - the setting's name is what users know it by
    history: str = "",
    answer: str = "",
    passages: str = "",
) -> "RunnableBot":
    """The runnable `file.py:name` or `package.module:name`, or the one that a function of that name returns.

    `input` is the form of its input: text, list, messages, the name of a field (`history` is then that of the
    dialogue before). `answer` and `passages` are paths in its output.
    """
    return await bot_of(load(target), target, input=input, history=history, answer=answer, passages=passages)


async def bot_of(
    thing: Any,
    target: str,
    *,
    input: str = AUTO,  # noqa: A002 - as of `connect`
    history: str = "",
    answer: str = "",
    passages: str = "",
) -> "RunnableBot":
    """A runnable that is there already as a bot; `target` is what errors call it. See `connect`."""
    runnable = await _runnable(thing, target)
    try:
        form = form_of(input, history, runnable)
    except InputError as error:
        msg = f"{target}: {error}"
        raise InputError(msg) from None
    answer_path = JsonPath("answer", answer) if answer else None
    passages_path = JsonPath("passages", passages) if passages else None
    return RunnableBot(target, runnable, form, answer_path, passages_path)


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

    def __init__(
        self,
        target: str,
        runnable: Any,
        form: Form | None,
        answer: JsonPath | None,
        passages: JsonPath | None,
    ) -> None:
        """`target` is how it was named.

        `answer` and `passages` say where these stand in the output; None where that is to be found.
        """
        self.target, self.runnable, self.form = target, runnable, form
        self.answer, self.passages = answer, passages
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
        return answer_in(output, watch.seen(), self.answer, self.passages)

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
            _("it takes none of the usual inputs ({tried}); say which: --set input=...", tried=tried),
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


def form_of(form: str, history: str, runnable: Any) -> Form | None:
    """How `runnable` is asked by the settings `input` and `history`; None when that has to be tried.

        text                      the question
        list                      the dialogue as messages
        messages                  {"messages": the dialogue}
        question, history=past    {"question": the question, "past": the dialogue before it}
        auto                      what it declares

    Raises InputError when the settings do not fit, or when what it declares leaves open what to give.
    """
    if form == AUTO:
        return _declared(runnable, history)
    if form in ("text", "list", "messages") and history:
        msg = _("history={history} goes with the name of a field: --set input=question.", history=history)
        raise InputError(msg)
    if form in ("text", "list"):
        return as_text if form == "text" else as_list
    if form == "messages":
        return Fields(messages="messages")
    if form.startswith(("{", "[", "@")):
        msg = _(
            "input is a name, not JSON: if the runnable takes more than the question, wrap it "
            "(bot = RunnableLambda(...) | chain), or name your function (--adapter "
            "bot.py:answer)."
        )
        raise InputError(msg)
    return Fields(form, history)


def _declared(runnable: Any, history: str) -> Form | None:
    state = _state_of(runnable)
    if state:
        return _fields(state, (), history)
    schema = _schema_of(runnable)
    # A model takes a text, a list or messages; any of them that is declared will do.
    options = [option.get("type") for option in (schema, *schema.get("anyOf", ()))]
    if "array" in options:
        return as_list
    if "string" in options:
        return as_text
    properties = tuple(schema.get("properties", ()))
    return _fields(properties, tuple(schema.get("required", ())), history) if properties else None


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


def _fields(there: Sequence[str], required: Sequence[str], history: str) -> Form:
    """Which of the fields are given what; of a graph's state, none is required: others it fills itself.

    A lone required field is the question, whatever it is called. Raises InputError where several could be,
    and where more is required than question and dialogue.
    """
    messages = "messages" if "messages" in there else ""
    before = history or next((name for name in _HISTORY if name in there), "")
    open_ = [name for name in required or there if name not in (messages, before)]
    question = next((name for name in _QUESTION if name in there), "")
    if not question and not messages and len(open_) == 1:
        question = open_[0]
    if not question and not messages:
        msg = _(
            "it takes {there}: say which of them is the question: --set input=NAME.", there=", ".join(there)
        )
        raise InputError(msg)
    if missing := [name for name in open_ if required and name != question]:
        msg = _(
            "it takes {missing} too: wrap it so that it takes the question alone"
            " (bot = RunnableLambda(...) | chain).",
            missing=", ".join(missing),
        )
        raise InputError(msg)
    return Fields(question, before, messages)


# --- What it gave ---


class Watch(Seen, BaseCallbackHandler):
    """What retrievers find on the way to an answer that does not show it, and what models count."""

    def __init__(self) -> None:
        super().__init__()
        self.counted = UsageMetadataCallbackHandler()
        self.counted.run_inline = True
