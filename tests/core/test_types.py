"""The words of a rehearsal are immutable, checked and storable."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from simulator.core.messages import encodable
from simulator.core.types import Case, Score

ANYTHING = st.text(st.characters(exclude_categories=[]))


@pytest.mark.parametrize(
    ("given_references", "first", "second"),
    [
        ("a", ("a",), ()),
        (["a", "b"], ("a", "b"), ()),
        ([["a"], ["b", "c"]], ("a",), ("b", "c")),
        ([], (), ()),
        ([[], ["b"]], (), ("b",)),
    ],
)
def test_references_belong_to_turns(
    given_references: object, first: tuple[str, ...], second: tuple[str, ...]
) -> None:
    """A text or a list of texts is for turn 1; a list of lists is per turn; other turns have none."""
    case = Case.model_validate({"id": "1", "question": "?", "language": "en", "references": given_references})

    assert (case.references_at(1), case.references_at(2)) == (first, second)
    assert case.references_at(0) == case.references_at(3) == ()


@pytest.mark.parametrize("value", [-0.1, 1.1, float("nan")])
def test_a_score_is_a_share(value: float) -> None:
    """Values outside 0..1 are refused, and so is what is not a number."""
    with pytest.raises(ValidationError, match="value"):
        Score(judge="turn", conversation="c", turn=1, state="scored", value=value)


@settings(deadline=None)
@given(ANYTHING)
def test_anything_can_be_made_storable(text: str) -> None:
    """Whatever a bot or a model says becomes text that UTF-8 and JSON can hold, and stays so."""
    clean = encodable(text)

    assert json.loads(json.dumps(clean, ensure_ascii=False).encode()) == clean
    assert "\0" not in clean
    assert encodable(clean) == clean


def test_halves_of_a_character_find_each_other() -> None:
    """A surrogate pair in two pieces is the one character; a lone half is U+FFFD, wherever it stands."""
    assert encodable("\ud83d\ude00") == "😀"
    assert encodable({"\ud800": ["a\0", ("\udfff",)], "n": 1}) == {"\ufffd": ["a\ufffd", ["\ufffd"]], "n": 1}
