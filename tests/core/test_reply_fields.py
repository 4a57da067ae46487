"""The fields of a judge's reply: what is read as what, and how lists of findings become a grade."""

import json
from typing import Any

import pytest

from simulator.core import replies
from simulator.core.errors import MalformedReply
from simulator.core.replies import FIELD_KINDS, Claim, Statement, Usefulness
from simulator.core.types import Answer, GradingContext, Passage
from simulator.models.reading import parse_reply
from tests.run_helpers import a_turn, an_exhibit


def read(kind: str, value: Any) -> Any:
    """What a reply with this value in one field of that kind is read as."""
    form = replies.create_form("mine", {"it": FIELD_KINDS[kind].type})
    return parse_reply(json.dumps({"it": value}, ensure_ascii=False), form).it  # type: ignore[attr-defined]


def retrieved(*ids: str) -> GradingContext:
    """A turn with these passages."""
    passages = tuple(Passage(id=key, text="…") for key in ids)
    return an_exhibit(turn=a_turn(1).model_copy(update={"answer": Answer(text="はい。", passages=passages)}))


READ: dict[str, list[tuple[Any, Any]]] = {
    "binary": [(True, 1), ("no", 0), ("はい", 1), ("誤", 0), ("１", 1), (0.0, 0)],
    "share": [("0.8", 0.8), ("８０％", 0.8), (1, 1.0)],
    "feeling": [("+1", 1), ("−2", -2), (0.0, 0)],
    "claims": [([], [])],
}


@pytest.mark.parametrize(
    ("kind", "value", "expected"), [(kind, *pair) for kind, pairs in READ.items() for pair in pairs]
)
def test_what_models_write_is_read(kind: str, value: Any, expected: Any) -> None:
    """Words, full-width digits, signs and per cent are as good as the plain number."""
    assert read(kind, value) == expected


CLAIM = {"claim": "月額980円", "passage": "p1", "verdict": "supported"}
REFUSED: dict[str, list[Any]] = {
    "binary": [2, "maybe", 0.5],
    "share": [1.2, "高い", True],
    "feeling": [3, 0.5],
    "usefulness": [[]],
    "statements": [[]],
    "claims": [[CLAIM | {"verdict": "perhaps"}], [{"claim": "月額980円", "verdict": "supported"}]],
}


@pytest.mark.parametrize(
    ("kind", "value"), [(kind, value) for kind, values in REFUSED.items() for value in values]
)
def test_what_is_off_the_scale_is_not_guessed(kind: str, value: Any) -> None:
    """A value outside the scale, an unknown verdict and an empty list where something must stand fail."""
    with pytest.raises(MalformedReply):
        read(kind, value)


def test_passage_ids_are_read_as_models_write_them() -> None:
    """Brackets, numbers and null stand for the id, or for none."""
    claims = [
        {"claim": "a", "passage": "[p1]", "verdict": "Supported"},
        {"claim": "b", "passage": 3, "verdict": "not found"},
        {"claim": "c", "passage": None, "verdict": "NOT_FOUND"},
    ]

    assert [(c.passage, c.verdict) for c in read("claims", claims)] == [
        ("p1", "supported"), ("3", "not_found"), ("", "not_found"),
    ]  # fmt: skip


def test_a_claim_counts_when_it_is_supported() -> None:
    """Two of three claims are two thirds; a contradiction is graver than silence; no claims are a whole."""
    claims = [
        Claim(claim=verdict, passage="", verdict=verdict)
        for verdict in ("supported", "supported", "not_found")
    ]
    contradicted = Claim(claim="x", passage="p", verdict="contradicted")

    assert replies.supported_share(claims) == pytest.approx(2 / 3)
    assert replies.gravest_claim(claims) == "moderate"
    assert replies.gravest_claim([*claims, contradicted]) == "major"
    assert (replies.supported_share([]), replies.gravest_claim([])) == (1.0, None)


def test_average_precision_goes_by_the_retrievers_order() -> None:
    """Useful at ranks 1 and 3 is (1/1 + 2/3) / 2, however the judge orders its list; unnamed is useless."""
    told = [Usefulness(id="c", useful=1), Usefulness(id="a", useful=1), Usefulness(id="zz", useful=1)]

    assert replies.average_precision(told, retrieved("a", "b", "c")) == pytest.approx((1 + 2 / 3) / 2)
    assert replies.average_precision([Usefulness(id="a", useful=0)], retrieved("a")) == 0


def test_recall_is_the_share_of_statements_found() -> None:
    """One of two."""
    told = [Statement(text="a", passage="p", found=1), Statement(text="b", passage="", found=0)]

    assert replies.recalled_share(told) == 0.5


@pytest.mark.parametrize(("raw", "scale", "share"), [(4, (1, 5), 0.8), (0, (0, 1), 0), (1, (-2, 2), 0.75)])
def test_every_scale_becomes_a_share(raw: float, scale: tuple[float, float], share: float) -> None:
    """Grades by fifths, so that 1 is .2; other scales from end to end."""
    assert replies.share_of(raw, scale) == share
