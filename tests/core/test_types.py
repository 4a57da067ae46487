"""The words of a rehearsal are immutable, checked and storable."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from simulator.core.messages import encodable
from simulator.core.types import (
    Answer,
    Case,
    Conversation,
    Facts,
    GradingContext,
    Habits,
    HumanVerdict,
    Query,
    Reaction,
    RedRules,
    Run,
    Score,
    Spending,
    Traits,
    Turn,
    Usage,
    response_in,
    traits_of,
    usage_told,
)

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


@pytest.mark.parametrize(
    ("told", "counted"),
    [
        ({"prompt_tokens": 9, "completion_tokens": 2}, (9, 2, 0)),
        # Reasoning is paid for, also where the count of the reply leaves it out.
        ({"prompt_tokens": 9, "completion_tokens": 2, "total_tokens": 511}, (9, 502, 0)),
        (
            {"prompt_tokens": 9, "completion_tokens": 2,
             "completion_tokens_details": {"reasoning_tokens": 500}},
            (9, 502, 0),
        ),
        ({"prompt_tokens": 9, "completion_tokens": 5, "reasoning_tokens": 5}, (9, 5, 0)),
        ({"prompt_tokens": 9, "completion_tokens": 5, "reasoning_tokens": 6}, (9, 11, 0)),
        # From the endpoint's cache: a part of what went in, or beside it.
        ({"prompt_tokens": 9, "prompt_tokens_details": {"cached_tokens": 4}}, (9, 0, 4)),
        ({"prompt_tokens": 9, "prompt_cache_hit_tokens": 8}, (9, 0, 8)),
        ({"prompt_tokens": 9, "cached_tokens": 12}, (9, 0, 9)),
        ({"input_tokens": 1, "output_tokens": 3, "cache_read_input_tokens": 8}, (9, 3, 8)),
        ({"input_tokens": 1, "cache_read_input_tokens": 8, "cache_creation_input_tokens": 5}, (14, 0, 8)),
        ({"input_tokens": 1, "prompt_tokens": 9, "cache_read_input_tokens": 8}, (9, 0, 8)),
        ({"input_tokens": 1, "cached_tokens": 8}, (1, 0, 1)),
        # Embeddings tell a total alone; what cannot be a count is none.
        ({"total_tokens": 7}, (7, 0, 0)), ({"total_tokens": 7, "completion_tokens": 9}, (0, 9, 0)),
        ({"prompt_tokens": -1, "completion_tokens": 10**9 + 1, "input_tokens": "9.5"}, (0, 0, 0)),
        ({"prompt_tokens": "9", "completion_tokens": "-2"}, (9, 0, 0)),  # as some gateways write them
        ({"prompt_tokens": 10**9, "completion_tokens": 2.0, "prompt_tokens_details": 5}, (10**9, 2, 0)),
        ({}, (0, 0, 0)), ([], None), (None, None),
    ],
)  # fmt: skip
def test_tokens_are_counted_as_every_provider_tells_them(
    told: object, counted: tuple[int, int, int] | None
) -> None:
    """What went in, what came out, and what of the former was in the endpoint's own cache."""
    usage = usage_told(told, "m")

    if counted is None:
        assert usage is None
    else:
        assert usage == Usage(
            model="m", tokens_in=counted[0], tokens_out=counted[1], tokens_cached=counted[2]
        )


def test_a_sum_in_which_a_cost_is_missing_is_none() -> None:
    """What is known of it stands beside, also where both costs are unknown."""
    paid, unknown = Spending(1, 2, 3, 4, 5, 0.5), Spending(1, 0, 10, 10, 0, None, 0.25, 1)

    assert paid + paid == Spending(2, 4, 6, 8, 10, 1.0)
    assert paid + unknown == unknown + paid == Spending(2, 2, 13, 14, 5, None, 0.75, 1)
    assert unknown + unknown == Spending(2, 0, 20, 20, 0, None, 0.5, 2)
    assert Spending() == Spending(0, 0, 0, 0, 0, 0.0, 0.0, 0)
    assert (paid.least_usd, unknown.least_usd) == (0.5, 0.25)


CASE = Case(
    id="1", question="?", language="en", references=(("a",),), facts=Facts(knows=("k",)), details=("d",)
)


def test_what_a_case_and_a_turn_know() -> None:
    """The facts with those that were invented, whose a complaint is, and the right answers of a turn."""
    turns = tuple(Turn(index=n, user="?", answer=Answer(text="!")) for n in (1, 2))
    context = GradingContext(conversation="c", case=CASE, persona="calm", turn=turns[1], earlier=turns[:1])

    assert CASE.known == ("k", "d")
    complaint = CASE.model_copy(update={"handover": "required"})
    cases = (CASE, complaint, complaint.model_copy(update={"answerable": True}))
    assert [case.is_complaint for case in cases] == [False, True, False]
    assert (context.turns, context.references, context.right_answers) == (turns, (), ("a",))
    assert Query(text=" a \n\nb").messages == ("a", "b")


def test_a_conversation_draws_as_those_of_other_models() -> None:
    """Its id without the model; the reactions are those to each answer."""
    first, last = Reaction(why="a"), Reaction(why="b")
    turns = tuple(
        Turn(index=n, user="?", answer=Answer(text="!"), reaction=reaction)
        for n, reaction in ((1, None), (2, first))
    )
    talk = Conversation(
        id="calm@m/x@m/1", case=CASE, persona="calm", turns=turns, reaction=last, user_model="m"
    )

    assert (talk.like_others, talk.reactions) == ("calm/x@m/1", (first, last))
    assert talk.model_copy(update={"user_model": ""}).like_others == "calm@m/x@m/1"


def test_a_second_grade_differs_in_what_it_says() -> None:
    """None where it failed, and where a judge of the user's own keeps something else under its name."""
    score = Score(judge="turn@m", conversation="c", turn=1, state="scored", value=0.8, raw=4)

    def with_detail(detail: object) -> Score | None:
        return score.model_copy(update={"detail": {"retest": detail}}).second

    assert with_detail({"value": 0.2, "raw": 1}) == score.model_copy(update={"value": 0.2, "raw": 1})
    assert (
        score.second
        is with_detail({"state": "failed"})
        is with_detail({"value": 7})
        is with_detail(5)
        is None
    )
    whole = [
        score.model_copy(update={"judge": judge}) for judge in ("conversation", "conversation@m", "turn")
    ]
    assert [each.is_whole for each in whole] == [True, True, False]
    assert score.model_copy(update={"detail": {"turns_graded": 2}}).is_whole


def test_the_judge_of_turns_says_what_an_answer_does() -> None:
    """Else the first judge that does, by name; further models decide nothing."""
    scores = {
        judge: Score(state="skipped", response=response)
        for judge, response in (
            ("tone", "partly"),
            ("turn@m", "nothing"),
            ("facts", "declined"),
            ("turn", "answered"),
        )
    }

    assert response_in(scores) == "answered"
    assert response_in({name: scores[name] for name in ("tone", "turn@m", "facts")}) == "declined"
    assert response_in({"turn": Score(state="skipped"), "tone": scores["tone"]}) == "partly"
    assert response_in({"turn@m": scores["turn@m"]}) is None


@pytest.mark.parametrize(
    ("model", "name", "within", "beyond"),
    [
        (RedRules, "overall", (0, 1), (-0.1, 1.1)), (RedRules, "correctness", (0, 5), (-0.1, 5.1)),
        (RedRules, "conversation", (0, 1), (2,)), (Habits, "typos", (0, 1), (-0.1, 1.1)),
        (Reaction, "feeling", (-2, 2), (-3, 3)), (Answer, "reasoning", (0,), (-1,)),
        (HumanVerdict, "grade", (1, 5), (0.9, 5.1)), (HumanVerdict, "sampled", (0.1, 1), (0, 1.1)),
    ],
)  # fmt: skip
def test_what_is_no_share_and_no_grade_is_refused(
    model: type, name: str, within: tuple[float, ...], beyond: tuple[float, ...]
) -> None:
    """The ends are allowed."""
    of_verdict = {"conversation": "c", "turn": 1, "source": "blind"}
    base = {"text": ""} if model is Answer else of_verdict if model is HumanVerdict else {}
    for value in within:
        assert getattr(model.model_validate(base | {name: value}), name) == value  # type: ignore[attr-defined]
    for value in beyond:
        with pytest.raises(ValidationError, match=name):
            model.model_validate(base | {name: value})  # type: ignore[attr-defined]


def test_habits_are_shares_of_the_same_lines() -> None:
    """Together no more than all of them; a rounding error is none."""
    assert Habits(typos=0.7, emoji=0.1, rants=0.2).rants == 0.2
    with pytest.raises(ValidationError, match=r"add up to 1\.1, and 1 is the most"):
        Habits(typos=0.7, emoji=0.2, rants=0.2)


@pytest.mark.parametrize(("year", "valid"), [(1, False), (2, True), (9998, True), (9999, False)])
def test_a_run_was_made_on_a_day_of_every_time_zone(year: int, valid: bool) -> None:
    """At the ends of the calendar some zone has no such day."""
    try:
        Run.model_validate({"id": "r", "created": f"{year:04}-01-01T00:00:00Z", "settings": {}})
    except ValidationError:
        assert not valid
    else:
        assert valid


class Proxy:
    """A bot that has every attribute, or raises for it."""

    def __init__(self, traits: object) -> None:
        self.value = traits

    @property
    def traits(self) -> object:
        """Whatever it was given."""
        if isinstance(self.value, Exception):
            raise self.value
        return self.value


def test_a_bot_without_sound_traits_has_the_usual_ones() -> None:
    """A mock, a proxy, a function; one of an adapter has its own."""
    own = Traits(takes=frozenset({"history"}), at_once=True)

    assert traits_of(Proxy(own)) is own
    assert traits_of(Proxy(5)) == traits_of(Proxy(RuntimeError())) == traits_of(len) == Traits()
