"""The fields of a judge's reply: what is read as what, and how lists of findings become a grade."""

import json
from typing import Any

import pytest
from pydantic import ValidationError

from simulator.core import replies
from simulator.core.errors import MalformedReply
from simulator.core.replies import FIELD_KINDS, Claim, Statement, Usefulness
from simulator.core.types import Answer, GradingContext, Passage
from simulator.models.forms import strict_schema
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
    "text": [
        (["a", "", None, "b"], "a b"), ({"why": "a", "tone": ["b", "c"]}, "why: a tone: b c"), (None, ""),
        ({"1": "a", "step 2": "b", "longer 3": "c"}, "a b longer 3: c"), (5, "5"), (True, "true"),
        ([[[[["a"]]]]], "a"), ([[[[[["a"]]]]]], ""),
        ([[[{"1": {"2": "a"}}]]], "a"), ({"1": {"1": {"1": {"1": {"1": "a"}}}}}, "a"),
        ({"1": {"1": {"1": {"1": {"1": {"1": "a"}}}}}}, ""),
    ],
    "texts": [("a", ["a"]), ([None, "a", ["b", "c"]], ["a", "b c"]), ({"1": "a", "b": "c"}, ["a", "b: c"])],
    "grade": [
        (4.0, 4), ("４", 4), ("4/5", 4), ("4点", 4), ("総合評価: 4", 4), ("4 out of 5", 4),
        ("5点満点中4点", 4), ("4（5点満点）", 4),
        (1, 1), ("Score: 5" + " " * 32, 5),
    ],
    "binary": [(True, 1), ("no", 0), ("はい", 1), ("誤", 0), ("１", 1), (0.0, 0), (" ○ ", 1), (False, 0)],
    "share": [("0.8", 0.8), ("８０％", 0.8), (1, 1.0), (0, 0.0)],
    "feeling": [("+1", 1), ("−2", -2), ("－1", -1), (0.0, 0), (2, 2)],
    "response": [
        ("declined", "declined"), ("Hand-Over", "handed_over"), ("回答", "answered"), (["Partly"], "partly"),
        ("declined: it does not know", "declined"), ("<nothing>", "nothing"),
        ("answered 全部", "answered"), ("「聞き返し」。", "asked_back"), ("partly (" + "a" * 192, "partly"),
    ],
    "claims": [([], [])],
}  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "value", "expected"), [(kind, *pair) for kind, pairs in READ.items() for pair in pairs]
)
def test_what_models_write_is_read(kind: str, value: Any, expected: Any) -> None:
    """Words, full-width digits, signs and per cent are as good as the plain number."""
    assert read(kind, value) == expected


CLAIM = {"claim": "月額980円", "passage": "p1", "verdict": "supported"}
REFUSED: dict[str, list[Any]] = {
    "grade": [0, 6, 4.5, "4.5", "4/10", "4 or 5", True, "Score: 5" + " " * 33],
    "binary": [2, -1, "maybe", 0.5],
    "share": [1.2, -0.1, "高い", True, "nan"],
    "feeling": [3, -3, 0.5, "50%"],
    "response": [
        "maybe",
        "declined or answered",
        "answered (partly)",
        ["partly", "nothing"],
        5,
        None,
        "partly (" + "a" * 193,
    ],
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


ASKED: dict[str, Any] = {"request": "返金", "turn": 1, "state": "resolved"}
LAPSE: dict[str, Any] = {"turn": 2, "quote": "三日以内に", "what": "遅れ", "kind": "promises"}


@pytest.mark.parametrize(
    ("kind", "item", "key", "written"),
    [
        ("requests", ASKED, "turn", [("turn 3", 3), ([3, 4], 3), ([], 0), (None, 0), ("なし", 0), ("x", -1),
                                     (True, -1), ("Turn ２", 2), ("12345", 1234)]),
        ("requests", ASKED, "weight", [("3", 3), ("2/3", 2), ("１．０", 1), (4, None), (True, None)]),
        ("requests", ASKED, "state", [("Fully resolved", "resolved"), ("partial", "partly"), ("no", "not")]),
        ("lapses", LAPSE, "kind", [("Loop", "loops"), ("mixups", "mixups"), ("rude", None), (3, None)]),
        ("lapses", LAPSE, "quote", [(["a", "b"], "a…b"), (None, "")]),
        ("expectations", {"number": 1, "state": "met"}, "state", [("満たした", "met"), ("not-met", "unmet"),
                                                                  ("N/A", "open")]),
        ("verdicts", {"rule": "r", "verdict": "kept"}, "verdict", [("Broken", "broken"), ("kept", "kept")]),
        ("claims", CLAIM, "passage", [(["p1", "p2"], "p1"), ([], ""), ("[p 1]", "p 1")]),
        ("claims", CLAIM, "verdict", [("Entailed", "supported"), ("neutral", "not_found")]),
        ("usefulness", {"id": "a", "useful": 1}, "useful", [("yes", 1), (False, 0)]),
    ],
)  # fmt: skip
def test_items_of_lists_are_read_as_models_write_them(
    kind: str, item: dict[str, Any], key: str, written: list[tuple[Any, Any]]
) -> None:
    """What a number of a turn, a weight, a state or a kind means; what means nothing certain is none."""
    assert [getattr(read(kind, [item | {key: value}])[0], key) for value, _means in written] == [
        means for _value, means in written
    ]


@pytest.mark.parametrize(("reply", "grade"), [
    ({"it": 4, "It": 4}, 4), ({"it": 4, "It": 5}, None), ({"IT ": 4, "note": 1, "Note": 2}, 4),
    ({"i-t": 4}, None),
])  # fmt: skip
def test_a_key_in_two_spellings_has_no_value_where_they_differ(
    reply: dict[str, Any], grade: int | None
) -> None:
    """Case, width and spaces make no other key; what stands beside the form does not matter."""
    form = replies.create_form("mine", {"it": FIELD_KINDS["grade"].type})
    if grade is None:
        with pytest.raises(MalformedReply):
            parse_reply(json.dumps(reply), form)
    else:
        assert parse_reply(json.dumps(reply), form).it == grade  # type: ignore[attr-defined]


def test_lists_are_read_in_other_shapes() -> None:
    """One item alone, or under keys; a sentence is its first key's, and "none" is no item."""
    claim = Claim.model_validate(CLAIM)
    conflict, same = {"reference": "5日", "passages": "3日"}, {"reference": "５日", "passages": "5日"}

    assert read("claims", CLAIM) == read("claims", {"1": CLAIM}) == [claim]
    assert read("claims", {"1": CLAIM, "2": CLAIM}) == [claim, claim]
    for nothing in (None, False, "", "なし", [None, "none"], 5):
        assert read("lapses", nothing) == read("conflicts", nothing) == []
    assert [(lapse.what, lapse.turn) for lapse in read("lapses", "遅れた")] == [("遅れた", 0)]
    capitals = {key.title(): value for key, value in LAPSE.items()}
    assert read("lapses", ["遅れた", capitals])[1] == replies.Lapse.model_validate(LAPSE)
    assert [(lapse.what, lapse.turn) for lapse in read("lapses", ["遅れた", LAPSE])] == [
        ("遅れた", 0),
        ("遅れ", 2),
    ]
    found = read("conflicts", [conflict, same, "5日", {"Reference": "なし", "passages": "none"}])
    assert [(each.reference, each.passages) for each in found] == [("5日", "3日"), ("5日", "")]
    assert read("requests", ASKED)[0].by == 0


def held(turns: int, *expect: str) -> GradingContext:
    """A whole conversation of so many turns, of which so much is expected."""
    earlier = tuple(a_turn(index) for index in range(1, turns))
    context = an_exhibit(turn=a_turn(turns)).model_copy(update={"earlier": earlier})
    return context.model_copy(update={"case": context.case.model_copy(update={"expect": expect})})


def test_requests_are_settled_by_their_weights() -> None:
    """One of weight 3 that was and one of 1 that was not are 3 of 4; without a weight all count the same."""
    settled, half, lost = (
        replies.Request(request="x", turn=turn, weight=weight, state=state, by=9)
        for turn, weight, state in ((1, 3, "resolved"), (2, 2, "partly"), (4, 1, "not"))
    )
    bare = half.model_copy(update={"weight": None})

    assert replies.settled_share([settled, lost]) == 0.75
    assert replies.settled_share([settled, half, lost]) == pytest.approx(4 / 6)
    assert replies.settled_share([settled, bare, lost]) == 0.5
    kept = replies.with_known_turns([settled, half, lost], held(3))
    assert [(request.turn, request.by) for request in kept] == [(1, 0), (2, 0), (0, 0)]
    assert replies.with_known_turns([lost], held(4))[0].turn == 4


def test_of_several_verdicts_on_a_sentence_the_gravest_counts() -> None:
    """In the order of the sentences; a verdict on none of them is dropped, and a turn that is not there."""
    told = [
        replies.Expectation(number=number, turn=turn, state=state)
        for number, turn, state in (
            (2, 1, "met"),
            (1, 3, "open"),
            (2, 2, "unmet"),
            (1, 4, "met"),
            (4, 1, "met"),
        )
    ]
    kept = replies.by_sentence(told, held(3, "a", "b", "c"))

    assert [(verdict.number, verdict.turn, verdict.state) for verdict in kept] == [
        (1, 0, "met"),
        (2, 2, "unmet"),
    ]
    assert replies.met_share(kept) == 0.5
    assert replies.met_share([*kept, *told[1:2]]) == 0.5
    assert replies.met_share(told[1:2]) is None


def test_a_lapse_counts_once_and_where_it_can_be() -> None:
    """Of a kind and of turns that there are; the same words of a turn are one lapse, of the first kind."""
    told = [
        replies.Lapse.model_validate(LAPSE | change)
        for change in (
            {"kind": "loops"}, {"quote": "「三日 以内に」返します"}, {"turn": 3}, {"kind": "rude"},
            {"turn": 4}, {"earlier": 4}, {"quote": "別のこと", "earlier": 3},
        )
    ]  # fmt: skip

    assert replies.certain_lapses(told, held(3)) == [told[1], told[2], told[6]]


def test_passages_that_were_never_shown_are_none() -> None:
    """A claim keeps its verdict, and loses the id."""
    claims = [Claim(claim="x", passage=key, verdict="supported") for key in ("a", "z")]

    assert [c.passage for c in replies.without_unknown_passages(claims, retrieved("a", "b"))] == ["a", ""]


def test_an_answer_that_code_of_others_made_is_checked_once_more() -> None:
    """What it holds is read as its type says; what cannot be stored in a text is shown as missing."""
    for text, kept in (("ab", "ab"), ("a\0b", "a\ufffdb"), ("a\ud83d", "a\ufffd")):
        made = Answer.model_construct(text=text, seconds="1.5")  # type: ignore[arg-type]
        assert replies.revalidated(Answer, made) == Answer(text=kept, seconds=1.5)
    with pytest.raises(ValidationError):
        replies.revalidated(Answer, Answer.model_construct(text=5))  # type: ignore[arg-type]


def test_what_strict_endpoints_are_told_of_a_field() -> None:
    """The values that a field may have; what may be read beyond them stands in no schema."""
    fields = {kind: FIELD_KINDS[kind].type for kind in ("grade", "binary", "share", "feeling", "response")}
    schema = strict_schema(replies.create_form("scalars", fields))
    request, lapse, expectation, line = (
        strict_schema(form)["properties"]
        for form in (replies.Request, replies.Lapse, replies.Expectation, replies.ReplayedLine)
    )
    does = ["answered", "partly", "declined", "asked_back", "handed_over", "nothing"]

    assert schema["properties"] == {
        "grade": {"type": "integer", "enum": [1, 2, 3, 4, 5]},
        "binary": {"type": "integer", "enum": [0, 1]},
        "share": {"type": "number", "minimum": 0, "maximum": 1},
        "feeling": {"type": "integer", "enum": [-2, -1, 0, 1, 2]},
        "response": {"type": "string", "enum": does},
    }
    assert request["weight"] == {"type": "integer", "enum": [1, 2, 3]}
    assert request["state"]["enum"] == ["resolved", "partly", "not"]
    assert lapse["kind"]["enum"][:2] == ["mixups", "contradictions"]
    assert expectation["state"] == {"type": "string", "enum": ["met", "unmet", "open"]}
    assert (line["fits"], line["got"]) == (
        {"type": "string", "enum": ["yes", "no"]},
        {"type": "string", "enum": does},
    )


@pytest.mark.parametrize(("raw", "scale", "share"), [(4, (1, 5), 0.8), (0, (0, 1), 0), (1, (-2, 2), 0.75)])
def test_every_scale_becomes_a_share(raw: float, scale: tuple[float, float], share: float) -> None:
    """Grades by fifths, so that 1 is .2; other scales from end to end."""
    assert replies.share_of(raw, scale) == share
