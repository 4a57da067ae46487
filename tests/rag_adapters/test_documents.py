"""Passages from whatever retrievers give."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from langchain_core.documents import Document

from simulator import BotFailure, Passage, passages_of

PASSAGE = Passage(id="faq-1", text="料金は月額990円です。", source="faq.md", score=0.5)


@dataclass
class Chunk:
    page_content: str
    metadata: dict[str, Any] = field(default_factory=dict)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (None, ()),
        ([], ()),
        ("一つだけ", (Passage(id="1", text="一つだけ"),)),
        (["a", "b"], (Passage(id="1", text="a"), Passage(id="2", text="b"))),
        ((text for text in ["a"]), (Passage(id="1", text="a"),)),
        (PASSAGE, (PASSAGE,)),
        ({"text": "a", "id": 7, "score": "0.5"}, (Passage(id="7", text="a", score=0.5),)),
        ({"content": "a", "title": "T"}, (Passage(id="T", text="a", source="T"),)),
        ([{"text": "", "id": "x"}], (Passage(id="x", text=""),)),
        ([{"text": "a", "metadata": None}], (Passage(id="1", text="a"),)),
        ([("a", 0.25)], (Passage(id="1", text="a", score=0.25),)),
        ([("a", np.float32(0.25))], (Passage(id="1", text="a", score=0.25),)),
        ([{"text": "a", "score": float("nan")}], (Passage(id="1", text="a"),)),
        ([Chunk("a", {"source": None, "title": "T"})], (Passage(id="T", text="a", source="T"),)),
        (  # a document's own id goes before its metadata's source
            [Document(id="d1", page_content="a", metadata={"source": "s.md", "score": 0.5})],
            (Passage(id="d1", text="a", source="s.md", score=0.5),),
        ),
        ([Chunk("a", {"source": "s.md"})], (Passage(id="s.md", text="a", source="s.md"),)),
    ],
)
def test_documents_of_every_shape(given: Any, expected: tuple[Passage, ...]) -> None:
    """Each shape becomes the passages that it plainly means, numbered where it has no ids."""
    assert passages_of(given) == expected


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (3, "not int"),
        ([3], "not int"),
        ([{"page": 3, "ref": "x"}], "there is page, ref"),
        ([["a", "b", "c"]], "not list"),
    ],
)
def test_what_is_no_document_is_malformed(given: Any, said: str) -> None:
    """The message says what was there instead."""
    with pytest.raises(BotFailure, match=said) as caught:
        passages_of(given)

    assert caught.value.failure.kind == "malformed"
