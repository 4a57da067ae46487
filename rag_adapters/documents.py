"""Whatever retrievers give (texts, mappings, LangChain documents) as the passages of an answer."""

from simulator import passages_of

__all__ = ["passages_of"]
