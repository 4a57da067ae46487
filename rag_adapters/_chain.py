"""The demo bot as a LangChain chain: retrieves passages, then answers from them."""

from collections.abc import Awaitable, Callable
from typing import Any, TypedDict

from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import Runnable, RunnableConfig, RunnableLambda
from pydantic import ConfigDict

from rag_adapters._index import PassageIndex
from simulator import Answer, Passage, Query, passages_of

Answerer = Callable[[Query, tuple[Passage, ...]], Answer | Awaitable[Answer]]
# Characters of the earlier question that a follow-up ("And until when?") is searched with.
_EARLIER_LENGTH = 40


class FaissRetriever(BaseRetriever):
    """The `top` passages of a FAISS index that are nearest to a text."""

    model_config = ConfigDict(arbitrary_types_allowed=True, frozen=True)

    index: PassageIndex
    top: int

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun
    ) -> list[Document]:
        return [_document(passage) for passage in self.index.search(query, self.top)]


class Retrieved(TypedDict):
    """A query and its retrieved passages, between the two halves of the chain."""

    query: Query
    documents: list[Document]


def grounded_chain(index: PassageIndex, top: int, answer: Answerer) -> Runnable[Query, Answer]:
    """Query in, Answer out, over the `top` passages; `ainvoke` it when `answer` is async."""
    retriever = FaissRetriever(index=index, top=top)

    def retrieve(query: Query, config: RunnableConfig) -> Retrieved:
        return {"query": query, "documents": retriever.invoke(search_text(query), config)}

    def respond(retrieved: Retrieved) -> Any:
        return answer(retrieved["query"], passages_of(retrieved["documents"]))

    async def respond_async(retrieved: Retrieved) -> Any:
        result = respond(retrieved)
        return result if isinstance(result, Answer) else await result

    return RunnableLambda(retrieve) | RunnableLambda(respond, respond_async)


def search_text(query: Query) -> str:
    """The question, and the first 40 characters of the customer's line before it."""
    earlier = [message.content for message in query.history if message.role == "user"]
    return f"{query.text}\n{earlier[-1][:_EARLIER_LENGTH]}" if earlier else query.text


def _document(passage: Passage) -> Document:
    metadata = {"source": passage.source, "score": passage.score}
    return Document(id=passage.id, page_content=passage.text, metadata=metadata)
