"""The adapter of LangChain runnables: chains, LangGraph graphs and agents."""

import pytest

from simulator import Answer, BotFailure, ChatMessage, InputError, Passage, Query, ToolCall, Usage
from simulator.runner.conversation import ask
from tests.asking import FIRST, QUERY
from tests.langchain_bot import MEMORY, PRICES, answer_of, connected


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("bot = RunnableLambda(lambda text: text.upper() + '!')", "料金は？!"),
        ("bot = RunnableLambda(lambda given: given['question'])", "料金は？"),
        ("bot = RunnableLambda(lambda given: given['frage'])", "料金は？"),
        ("def f(text: str) -> str: return text\nbot = RunnableLambda(f)", "料金は？"),
        ("key = 'input'\ndef f(given): return given[key][:2]\nbot = RunnableLambda(f)", "料金"),
        ("key = 'messages'\ndef f(x): return x[key][-1].content\nbot = RunnableLambda(f)", "料金は？"),
        (
            "class Shy(RunnableLambda):\n    def get_input_jsonschema(self, **kwargs): raise OSError\n"
            "bot = Shy(lambda given: given['question'])",
            "料金は？",
        ),
        ("bot = Echo()", "3: 料金は？"),
        ("bot = ChatPromptTemplate.from_template('Q: {question}') | Echo()", "1: Q: 料金は？"),
        (
            "bot = ChatPromptTemplate.from_messages([('system', 's'), MessagesPlaceholder('chat_history'),"
            " ('human', '{input}')]) | Echo()",
            "4: 料金は？",
        ),
        (
            "bot = ChatPromptTemplate.from_messages([MessagesPlaceholder('history', optional=True),"
            " ('human', '{query}')]) | Echo()",
            "3: 料金は？",
        ),
        ("async def f(text: str) -> str: return text\nbot = RunnableLambda(f)", "料金は？"),
    ],
)
async def test_the_input_is_found_from_what_is_declared_or_by_trying(source: str, said: str) -> None:
    """A string, one field, a field beside the history, a list of messages: whichever it takes."""
    assert (await answer_of(source)).text == said


@pytest.mark.parametrize(
    "returned",
    [
        "{'answer': 'a', 'context': [PRICES]}",
        "{'answer': AIMessage('a'), 'documents': [PRICES]}",
        "{'result': 'a', 'source_documents': [PRICES]}",
        "{'output': 'a', 'documents': {'not': 'documents'}, 'context': [PRICES]}",
        "{'messages': [HumanMessage('q'), AIMessage('a')], 'documents': [PRICES]}",
        "{'messages': [{'role': 'user', 'content': 'q'}, {'type': 'ai', 'content': 'a'}], 'context': PRICES}",
        "{'messages': [HumanMessage('q')], 'generation': 'a', 'documents': [PRICES]}",
        "{'messages': [HumanMessage('q'), tool('t'), AIMessage('a')]}",
        "{'messages': [HumanMessage('q'), tool('a')]}",
        "('a', [PRICES])",
        "Out('a', [PRICES])",
        "Model(answer='a', documents=[PRICES])",
    ],
)
async def test_documents_are_found_where_chains_and_graphs_keep_them(returned: str) -> None:
    """In a mapping, beside or within messages, in a dataclass or a pydantic object."""
    source = f"""
        from dataclasses import dataclass
        from pydantic import BaseModel

        @dataclass
        class Out:
            answer: str
            documents: list

        class Model(BaseModel):
            answer: str
            documents: list

        def tool(text): return ToolMessage(text, tool_call_id="1", artifact=[PRICES])
        def f(question: str): return {returned}
        bot = RunnableLambda(f)
    """
    answer = await answer_of(source)

    assert (answer.text, answer.passages) == ("a", (PRICES,))


@pytest.mark.parametrize(
    "returned",
    [
        "{'answer': 'a', 'context': []}",
        "{'result': 'a', 'source_documents': None}",
        "{'answer': 'a', 'documents': ''}",
        "{'messages': [HumanMessage('q'), AIMessage('a')], 'answer': 'a', 'documents': ()}",
        "('a', [])",
        "Answer(text='a')",
    ],
)
async def test_an_empty_retrieval_shows_that_nothing_was_found(returned: str) -> None:
    """The answer is graded as resting on nothing, not as one that shows nothing."""
    source = f"""
        from simulator import Answer

        def f(question: str): return {returned}
        bot = RunnableLambda(f)
    """
    bot = await connected(source)

    assert (await ask(bot, QUERY, 5)).model_copy(update={"seconds": None}) == Answer(text="a")


async def test_the_words_of_tools_count_where_there_are_no_documents() -> None:
    """Of this turn only, and not those of a tool that failed."""
    source = """
        def tool(text, status="success"):
            return ToolMessage(text, name="search", tool_call_id="1", status=status)

        def f(question: str):
            said = [HumanMessage("q"), tool("earlier"), AIMessage("a"), HumanMessage("q")]
            reply = AIMessage([{"type": "reasoning"}, {"type": "text", "text": "b"}])
            return {"messages": [*said, tool("boom", "error"), tool("今"), reply]}

        bot = RunnableLambda(f)
    """

    assert await answer_of(source) == Answer(
        text="b",
        passages=(Passage(id="search-1", text="今", source="search"),),
        tools=(ToolCall(name="search", result="今"),),
    )


async def test_tokens_of_all_models_are_counted() -> None:
    """Whatever becomes of the message afterwards."""
    source = """
        from langchain_core.language_models import FakeMessagesListChatModel

        usage = {"input_tokens": 7, "output_tokens": 3, "total_tokens": 10}
        said = AIMessage("a", usage_metadata=usage, response_metadata={"model_name": "m-1"})
        bot = FakeMessagesListChatModel(responses=[said]) | StrOutputParser()
    """

    assert (await answer_of(source)).usage == Usage(model="m-1", tokens_in=7, tokens_out=3)


@pytest.mark.parametrize(
    "source",
    [
        "def bot(): return RunnableLambda(lambda text: text.strip())",
        "async def bot(): return RunnableLambda(lambda text: text.strip())",
        "def bot(k=1, **more): return RunnableLambda(lambda text: text.strip())",
        "class bot(Shelf):\n    async def ainvoke(self, text, config=None): return text",
    ],
)
async def test_what_makes_a_runnable_is_called_first(source: str) -> None:
    """A function, sync or async, or a class, called without arguments."""
    assert (await answer_of(source)).text == "料金は？"


@pytest.mark.parametrize(
    ("source", "kind", "said"),
    [
        ("def f(text: str): raise OSError('down')", "error", "OSError: down"),
        ("def f(text: str): raise TimeoutError('slow')", "timeout", "TimeoutError: slow"),
        ("def f(text: str): return None", "empty", "returned None"),
        ("def f(text: str): return 3", "malformed", "the bot answered with int"),
        ("def f(text: str): return [PRICES]", "malformed", "the bot answered with list"),
        (
            "def f(text: str): return {'reply': 'a'}",
            "malformed",
            "needs the key 'answer', but it has the keys reply",
        ),
        ("def f(text: str): return {'messages': [HumanMessage('q')]}", "empty", "no entry of the assistant"),
        (
            "def f(x): return x + 1",
            "malformed",
            "none of the usual inputs (text: TypeError, question: TypeError,",
        ),
        ("def f(x): raise OSError('down')", "error", "OSError: down"),
    ],
)
async def test_what_is_no_answer_is_typed(source: str, kind: str, said: str) -> None:
    """The message says what came, and where in the user's own code."""
    with pytest.raises(BotFailure) as caught:
        await answer_of(f"{source}\nbot = RunnableLambda(f)")

    assert caught.value.failure.kind == kind
    assert said in str(caught.value.failure.message)
    assert "\n" not in str(caught.value.failure.message)


@pytest.mark.parametrize(
    ("source", "settings", "said"),
    [
        ("bot = 3", {}, "bot.py:bot is int, not a runnable: it has no ainvoke()"),
        ("def bot(): return 3", {}, "what bot.py:bot gives is int, not a runnable"),
        (
            "def bot(question): return question",
            {},
            "bot.py:bot: it cannot be made: TypeError: bot() missing 1 required",
        ),
        ("def bot(): return {}['key']", {}, "bot.py:bot: it cannot be made: KeyError: 'key' (bot.py, line"),
        ("app = Echo()\nclass Z: ...", {"target": "bot.py:ap"}, "name in bot.py: 'ap'. Did you mean app?"),
        (MEMORY, {"target": "bot.py:graph"}, "bot.py:graph is not compiled"),
        (
            "bot = ChatPromptTemplate.from_template('{context} {topic}') | Echo()",
            {},
            "bot.py:bot: it takes context, topic: wrap it in a function",
        ),
        (
            "bot = ChatPromptTemplate.from_template('{context} {question}') | Echo()",
            {},
            "it takes context: wrap it in a function",
        ),
        ("bot = Echo()", {"retries": "-1"}, "--set retries=-1"),
    ],
)
async def test_slips_are_told_before_the_start(source: str, settings: dict[str, str], said: str) -> None:
    """Whatever the user can mend is said by `connect`, in one line."""
    with pytest.raises(InputError) as caught:
        await connected(source, **settings)

    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


GRAPH = """
    import typing
    from langgraph.graph import START, StateGraph

    class State({typed}.TypedDict):
        question: str
        documents: list[Document]
        answer: str

    def retrieve(state):
        return {{"documents": Shelf().invoke(state["question"])}}

    async def generate(state):
        return {{"answer": f"{{state['question']}} {{joined(state['documents'])}}"}}

    graph = StateGraph(State).add_sequence([retrieve, generate]).add_edge(START, "retrieve")
    bot = graph.compile()
"""


@pytest.mark.parametrize("typed", ["typing", "__import__('typing_extensions')"])
async def test_a_graph_with_a_state_of_its_own(typed: str) -> None:
    """Question in; answer and documents are read from the state it ends with."""
    answer = await answer_of(GRAPH.format(typed=typed))

    assert answer.text == "料金は？ マンションプランは月額4,180円です。"
    assert answer.passages == (PRICES,)


@pytest.mark.parametrize("name", ["bot", "bound"])
async def test_a_graph_with_a_memory_is_told_each_line_once(name: str) -> None:
    """Its thread is the session; a thread that it does not know yet is told the dialogue before."""
    bot = await connected(MEMORY, name)

    first = await bot(FIRST)
    said = (ChatMessage(role="user", content="料金は？"), ChatMessage(role="assistant", content=first.text))
    second = await bot(Query(text="それで？", history=said, session="s1"))
    other = await bot(QUERY.model_copy(update={"session": "s2"}))

    assert [first.text, second.text, other.text] == ["1: 料金は？", "3: それで？", "3: 料金は？"]


async def test_an_agent_with_a_tool_that_retrieves() -> None:
    """The documents are the tool's artifact; the answer is the agent's last word."""
    source = """
        from langchain.agents import create_agent
        from langchain_core.language_models import GenericFakeChatModel
        from langchain_core.tools import tool

        class Model(GenericFakeChatModel):
            def bind_tools(self, tools, **kwargs):
                return self

        @tool(response_format="content_and_artifact")
        def search(query: str):
            "Searches."
            found = Shelf().invoke(query)
            return joined(found), found

        call = {"name": "search", "args": {"query": "料金"}, "id": "1", "type": "tool_call"}
        said = [AIMessage("", tool_calls=[call]), AIMessage("月額4,180円です。")]
        bot = create_agent(Model(messages=iter(said)), tools=[search])
    """

    answer = await answer_of(source)

    assert (answer.text, answer.passages) == ("月額4,180円です。", (PRICES,))


async def test_a_graph_that_waits_for_a_person_has_not_answered() -> None:
    """What it wants from the person is in the message."""
    source = (
        MEMORY
        + """
    from langgraph.types import interrupt

    def ask(state):
        interrupt("返金してよいですか")

    bot = StateGraph(MessagesState).add_node(ask).add_edge(START, "ask").compile(checkpointer=InMemorySaver())
    """
    )
    with pytest.raises(BotFailure, match="stopped for a person: 返金してよいですか"):
        await answer_of(source)


async def test_a_chain_with_a_message_history_is_told_the_question_alone() -> None:
    """It keeps the dialogue itself, by the session."""
    source = """
        import warnings
        from langchain_core.chat_history import BaseChatMessageHistory
        from langchain_core.runnables.history import RunnableWithMessageHistory

        class Kept(BaseChatMessageHistory):
            def __init__(self):
                self.messages = []

            def add_messages(self, messages):
                self.messages += messages

            def clear(self):
                self.messages = []

        histories = {}
        lines = [MessagesPlaceholder("history"), ("human", "{input}")]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            bot = RunnableWithMessageHistory(
                ChatPromptTemplate.from_messages(lines) | Echo(),
                lambda session: histories.setdefault(session, Kept()),
                input_messages_key="input",
                history_messages_key="history",
            )
    """
    bot = await connected(source)

    assert [(await bot(query)).text for query in (FIRST, QUERY)] == ["1: 料金は？", "3: 料金は？"]


AGENT = """
    def run(state):
        call = {"name": "refund", "args": {"order": 1}, "id": "c1"}
        said = [AIMessage("", tool_calls=[call]), ToolMessage("ok", tool_call_id="c1", name="refund")]
        return {"messages": [*state["messages"], *(said if CALLS else []), AIMessage("はい")]}

    bot = RunnableLambda(run)
"""


@pytest.mark.parametrize(
    ("calls", "seen"),
    [(True, (ToolCall(name="refund", arguments='{"order": 1}', result="ok"),)), (False, None)],
)
async def test_the_tools_that_an_agent_calls_are_seen(calls: bool, seen: tuple[ToolCall, ...] | None) -> None:
    """With what they gave back; of an agent that never called any nobody knows whether it could."""
    answer = await answer_of(AGENT.replace("CALLS", str(calls)))

    assert (answer.text, answer.tools) == ("はい", seen)


async def test_a_chain_whose_model_calls_a_tool_and_says_nothing() -> None:
    """The call is kept, and no text made up."""
    call = "[{'name': 'refund', 'args': {}, 'id': 'c1'}]"
    answer = await answer_of(f"bot = RunnableLambda(lambda text: AIMessage('', tool_calls={call}))")

    assert (answer.text, answer.tools) == ("", (ToolCall(name="refund", arguments="{}"),))
