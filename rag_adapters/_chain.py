"""The demo bot as a LangChain chain: the passages that fit the question, then an answer from them."""

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
# A follow-up ("And until when?") is looked up with the start of what was said before it.
_LITTLE = 40


class FaissRetriever(BaseRetriever):
    """The `top` passages of a FAISS index that are nearest to a text."""

    model_config = ConfigDict(arbitrary_types_allowed=True, frozen=True)

    index: PassageIndex
    top: int

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun
    ) -> list[Document]:
        return [_document(passage) for passage in self.index.search(query, self.top)]


class Found(TypedDict):
    """A question and the passages that fit it: what the second half of the chain is given."""

    query: Query
    documents: list[Document]


def grounded_chain(index: PassageIndex, top: int, answer: Answerer) -> Runnable[Query, Answer]:
    """Query in, Answer out, over the `top` passages; `ainvoke` it when `answer` is async."""
    retriever = FaissRetriever(index=index, top=top)

    def retrieve(query: Query, config: RunnableConfig) -> Found:
        return {"query": query, "documents": retriever.invoke(search_text(query), config)}

    def answered(found: Found) -> Any:
        return answer(found["query"], passages_of(found["documents"]))

    async def answered_later(found: Found) -> Any:
        result = answered(found)
        return result if isinstance(result, Answer) else await result

    return RunnableLambda(retrieve) | RunnableLambda(answered, answered_later)


def search_text(query: Query) -> str:
    """The last thing the customer said, and the first 40 characters of what they said before."""
    earlier = [message.content for message in query.history if message.role == "user"]
    return f"{query.text}\n{earlier[-1][:_LITTLE]}" if earlier else query.text


def _document(passage: Passage) -> Document:
    told = {"source": passage.source, "score": passage.score}
    return Document(id=passage.id, page_content=passage.text, metadata=told)
