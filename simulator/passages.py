"""Whatever retrievers give (texts, mappings, LangChain documents) as the passages of an answer."""

import math
from collections.abc import Iterable, Mapping
from typing import Any

from simulator.errors import RagFailure
from simulator.types import Passage

_TEXT = ("text", "page_content", "content", "passage", "chunk", "document")
_ID = ("id", "doc_id", "document_id", "source", "url", "filepath", "title", "chunk_id")
_SOURCE = ("source", "url", "filepath", "title", "document_name")
_SCORE = ("score", "relevance_score", "similarity")


def passages_of(documents: Any) -> tuple[Passage, ...]:
    """One document or several as passages; what has no id of its own is numbered from 1.

    A document may be a text, a mapping, an object with `page_content` and `metadata`, a Passage, or
    a pair of one of these and its retrieval score. Raises RagFailure when it is none of them.
    """
    if documents is None or (isinstance(documents, str) and not documents.strip()):
        return ()
    if isinstance(documents, (str, Mapping, Passage)) or hasattr(documents, "page_content"):
        documents = [documents]
    if not isinstance(documents, Iterable):
        msg = f"passages must be texts, mappings or documents, not {type(documents).__name__}"
        raise RagFailure("malformed", msg)
    return tuple(_passage(document, number) for number, document in enumerate(documents, 1))


def _passage(document: Any, number: int) -> Passage:
    if isinstance(document, Passage):
        return document
    if isinstance(document, str):
        return Passage(id=str(number), text=document)
    if isinstance(document, (tuple, list)) and len(document) == 2 and _score(document[1]) is not None:
        return _passage(document[0], number).model_copy(update={"score": _score(document[1])})
    return _from_fields(_fields(document), number)


def _fields(document: Any) -> Mapping[str, Any]:
    """A document's fields in one mapping; what stands in its metadata gives way to its own."""
    if isinstance(document, Mapping):
        own = dict(document)
    elif hasattr(document, "page_content"):
        own = {"page_content": document.page_content, "id": getattr(document, "id", None)}
        own["metadata"] = getattr(document, "metadata", None)
    else:
        msg = f"a passage must be a text, a mapping or a document, not {type(document).__name__}"
        raise RagFailure("malformed", msg)
    metadata = own.pop("metadata", None)
    layers = (metadata if isinstance(metadata, Mapping) else {}, own)
    return {key: value for layer in layers for key, value in layer.items() if value is not None}


def _from_fields(fields: Mapping[str, Any], number: int) -> Passage:
    text = next((fields[name] for name in _TEXT if name in fields), None)
    if text is None:
        there = ", ".join(str(key)[:40] for key in list(fields)[:20]) or "nothing"
        msg = f"a passage has no text: expected one of {', '.join(_TEXT)}; there is {there}"
        raise RagFailure("malformed", msg)
    name, source = _first(fields, _ID), _first(fields, _SOURCE)
    return Passage(
        id=str(number if name is None else name),
        text=str(text),
        source=None if source is None else str(source),
        score=_score(_first(fields, _SCORE)),
    )


def _first(fields: Mapping[str, Any], names: tuple[str, ...]) -> Any:
    return next((fields[name] for name in names if fields.get(name, "") != ""), None)


def _score(value: Any) -> float | None:
    """Numbers of any library (numpy's too); what is no finite number is no score."""
    try:
        score = float(value)
    except (TypeError, ValueError):
        return None
    return score if math.isfinite(score) else None
