"""The FAISS index of the demo bot."""

import pytest
from simulator.shelves.rag_adapters.demo import build

from simulator import Passage

PASSAGES = (
    Passage(id="fees", text="マンション1ギガは、月額4,180円です。", source="fees.md"),
    Passage(id="cancel", text="光の解約は、毎月20日までに申し込むと、その月の末日で完了します。"),
    Passage(id="router", text="E-205 means that the connection ID or password is wrong."),
)


@pytest.mark.parametrize(
    ("question", "expected"),
    [("月額はいくら", "fees"), ("解約したい", "cancel"), ("Router shows E-205", "router")],
)
def test_the_nearest_passage_comes_first(question: str, expected: str) -> None:
    """Scores fall from the first to the last and are cosines."""
    found = build(PASSAGES).search(question, 3)
    scores = [passage.score or 0.0 for passage in found]

    assert found[0].id == expected
    assert sorted(scores, reverse=True) == scores
    assert 0 < scores[0] <= 1


@pytest.mark.parametrize("count", [1, 500, 3000])
def test_large_knowledge_stays_small(count: int) -> None:
    """A vector has fewer places the more passages there are: 3,000 passages take at most 25 MB."""
    made = build([Passage(id=str(number), text=f"番号{number}の案内です。") for number in range(count)])

    assert made.vectors.d * 4 * count <= 25_000_000
    assert made.search(f"番号{count - 1}の案内", 1)[0].id == str(count - 1)
