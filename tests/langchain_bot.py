"""A user's module with a LangChain runnable in it, written to the test's folder."""

from pathlib import Path
from textwrap import dedent
from typing import Any

from simulator import Answer, Passage, Query
from simulator.core import shelves
from tests.asking import QUERY

PRICES = Passage(id="prices", text="マンションプランは月額4,180円です。", source="prices.md")

# What a user's module begins with: a retriever, and a model that says what it was given last.
PRELUDE = '''
from typing_extensions import TypedDict

from langchain_core.documents import Document
from langchain_core.language_models import SimpleChatModel
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate, MessagesPlaceholder
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnableLambda, RunnablePassthrough

PRICES = Document(
    id="prices", page_content="マンションプランは月額4,180円です。", metadata={"source": "prices.md"}
)


class Shelf(BaseRetriever):
    def _get_relevant_documents(self, query, *, run_manager):
        return [PRICES]


class Echo(SimpleChatModel):
    """Says how many messages it saw, and the last of them."""

    @property
    def _llm_type(self):
        return "echo"

    def _call(self, messages, stop=None, run_manager=None, **kwargs):
        return f"{len(messages)}: {messages[-1].content}"


def joined(documents):
    return "\\n".join(each.page_content for each in documents)

'''

# A graph that answers from its messages, with and without a memory.
MEMORY = """
    from langgraph.checkpoint.memory import InMemorySaver
    from langgraph.graph import START, MessagesState, StateGraph

    def reply(state):
        return {"messages": [Echo().invoke(state["messages"])]}

    graph = StateGraph(MessagesState).add_node(reply).add_edge(START, "reply")
    forgetful = graph.compile()
    bot = graph.compile(checkpointer=InMemorySaver())
    bound = bot.with_config(tags=["a"]).with_retry()
"""


def write(source: str) -> None:
    """The user's module, as bot.py."""
    Path("bot.py").write_text(PRELUDE + dedent(source), encoding="utf-8")


async def connected(source: str, name: str = "bot", **settings: str) -> Any:
    """The bot that a user's module makes, connected as in a rehearsal."""
    write(source)
    return await shelves.connect("runnable", {"target": f"bot.py:{name}", **settings}, {})


async def answer_of(source: str, query: Query = QUERY, **settings: str) -> Answer:
    """One question to the bot that a user's module makes."""
    bot = await connected(source, **settings)
    answer: Answer = await bot(query)
    return answer
