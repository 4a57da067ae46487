"""The adapter of runnables with LangGraph graphs and agents."""

import pytest

from simulator import BotFailure, Message, Query
from tests.asking import FIRST, QUERY
from tests.langchain_bot import MEMORY, PRICES, answer_of, connected

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
    said = (Message(role="user", content="料金は？"), Message(role="assistant", content=first.text))
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
