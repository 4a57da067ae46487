"""What follows, by a persona's rules, from what its customer got."""

from collections.abc import Sequence

import pytest

from simulator.core import shelves
from simulator.core.types import Answer, Habits, Next, Persona, Reaction, Response, Turn
from simulator.users.rules import SHARES, cues_of, reactions_to, ruled, says_again, style_of

CALM, ANGRY, PERSON = (
    shelves.persona(name).model_copy(update={"habits": Habits()})
    for name in ("calm", "angry", "demands_person")
)
# Of a language in which people do what a persona sets.
AS_SET = dict.fromkeys((*SHARES, "fragments"), 1.0) | {"detail": 0.0, "figures": 0.0}
TELLS = shelves.persona("verbose")
HASTY = CALM.model_copy(update={"patience": 1})
SECRETIVE = CALM.model_copy(update={"discloses": "never", "counter_question": "asks_why"})
WARY = CALM.model_copy(update={"counter_question": "asks_why"})
DOUBTS = CALM.model_copy(update={"pushback": 2, "change_of_mind": 4})


def course(*got: Response | None, next_: Next = "stay", feeling: int = 0) -> list[Reaction]:
    """Reactions to answers that gave this, of which the last one is `next_` and `feeling`."""
    return [*(Reaction(got=each) for each in got[:-1]), Reaction(got=got[-1], next=next_, feeling=feeling)]


@pytest.mark.parametrize(
    ("persona", "got", "chosen", "follows"),
    [
        (CALM, ["answered"], "satisfied", "satisfied"),
        (CALM, ["answered"], "gave_up", "satisfied"),
        # Something else may be asked, once: then a full answer is the end.
        (CALM, ["answered"], "stay", "stay"),
        (CALM, ["answered", "answered"], "stay", "satisfied"),
        (CALM, ["answered", "declined", "answered"], "stay", "stay"),
        (CALM, ["handed_over"], "handed_over", "handed_over"),
        (CALM, ["handed_over"], "satisfied", "handed_over"),
        # Who was only told where to ask wants it here, as long as patience lasts.
        (CALM, ["handed_over"], "stay", "stay"),
        (CALM, ["handed_over", "handed_over", "handed_over"], "stay", "gave_up"),
        (CALM, ["nothing"], "satisfied", "stay"),
        (CALM, ["declined"], "satisfied", "stay"),
        (CALM, ["declined"], "handed_over", "stay"),
        (CALM, ["declined", "nothing", "declined"], "stay", "gave_up"),
        (CALM, ["partly"], "satisfied", "stay"),
        (CALM, ["partly", "partly"], "satisfied", "satisfied"),
        (CALM, ["partly", "partly"], "gave_up", "stay"),
        (CALM, ["answered", "nothing"], "handed_over", "stay"),
        # Who had all may leave with it, whatever became of what else they asked.
        (CALM, ["answered", "declined"], "satisfied", "satisfied"),
        (CALM, ["answered", "declined"], "stay", "stay"),
        (CALM, ["nothing", "nothing"], "gave_up", "stay"),
        (CALM, ["nothing", "nothing", "nothing"], "stay", "gave_up"),
        (CALM, ["nothing", "nothing", "asked_back", "nothing"], "stay", "gave_up"),
        (CALM, ["nothing", "nothing", "asked_back"], "stay", "gave_up"),
        (CALM, ["asked_back", "asked_back", "asked_back"], "stay", "gave_up"),
        (CALM, ["asked_back", "asked_back"], "gave_up", "stay"),
        (CALM, ["asked_back", "partly", "asked_back", "asked_back"], "gave_up", "stay"),
        (CALM, ["asked_back", "asked_back", "answered"], "satisfied", "satisfied"),
        (HASTY, ["asked_back"], "gave_up", "stay"),
        (HASTY, ["asked_back", "asked_back"], "stay", "gave_up"),
        (HASTY, ["nothing"], "stay", "gave_up"),
        (CALM, ["nothing", "partly", "nothing", "nothing"], "stay", "stay"),
        (CALM, [None], "gave_up", "gave_up"),
        (CALM, [None], "stay", "stay"),
        (PERSON, ["answered"], "satisfied", "stay"),
        (PERSON, ["answered", "answered"], "stay", "satisfied"),
        (PERSON, ["handed_over"], "handed_over", "handed_over"),
        (PERSON, ["answered"], "stay", "stay"),
        (DOUBTS, ["answered"], "satisfied", "stay"),
        (DOUBTS, ["answered", "answered"], "stay", "satisfied"),
        (DOUBTS, ["partly", "partly", "answered"], "satisfied", "stay"),
    ],
)
def test_who_leaves_and_who_stays(
    persona: Persona, got: Sequence[Response | None], chosen: Next, follows: Next
) -> None:
    """By what was got and the persona; a choice that breaks the rule is kept as overruled."""
    reaction = ruled(persona, course(*got, next_=chosen))

    assert reaction.next == follows
    assert reaction.overruled == (None if chosen == follows else chosen)


def test_the_angry_and_the_hurried_leave_before_the_regular_and_the_old() -> None:
    """After as many useless answers in a row as their own file says."""
    stand = {name: shelves.persona(name).patience for name in shelves.customers()}

    assert (
        stand["angry"]
        == stand["hurried"]
        < min(n for name, n in stand.items() if name not in ("angry", "hurried"))
    )
    assert stand["elderly"] > stand["regular"] > stand["calm"]
    for name, most in stand.items():
        useless = [
            ruled(shelves.persona(name), [Reaction(got="nothing")] * n).next for n in range(1, most + 1)
        ]
        assert useless == ["stay"] * (most - 1) + ["gave_up"]


@pytest.mark.parametrize(
    ("persona", "got", "felt", "said", "bounded"),
    [
        (CALM, ["nothing"], 2, {}, 0),
        (CALM, ["nothing"], -2, {}, -2),
        (CALM, ["declined"], 2, {}, 0),
        (CALM, ["declined"], -2, {}, -2),
        (CALM, ["nothing"], 0, {"repeated": True}, -1),
        (CALM, ["declined"], 0, {"repeated": True}, -1),
        (CALM, ["partly"], 2, {"repeated": True}, -1),
        (CALM, ["handed_over"], -2, {}, -1),
        (CALM, ["handed_over"], 2, {}, 2),
        (CALM, ["asked_back"], -2, {}, -1),
        (CALM, ["asked_back"], 2, {}, 1),
        (CALM, ["partly"], -2, {}, 0),
        (CALM, ["partly"], 2, {}, 1),
        (CALM, ["answered"], -2, {}, 1),
        (CALM, [None], -2, {}, -2),
        (ANGRY, ["answered"], -2, {}, 0),
        (ANGRY, ["answered"], 2, {}, 1),
        (ANGRY, ["handed_over"], -2, {}, -2),
        (ANGRY, ["nothing"], 0, {}, -1),
        (ANGRY, ["nothing", "partly"], -2, {}, 0),
    ],
)
def test_the_feeling_moves_as_far_as_the_answer_allows(
    persona: Persona, got: Sequence[Response | None], felt: int, said: dict[str, bool], bounded: int
) -> None:
    """From the one before, or from what the persona begins with: nobody is angry without cause."""
    assert ruled(persona, course(*got, feeling=felt), **said).feeling == bounded


@pytest.mark.parametrize(
    ("persona", "earlier", "last", "cues"),
    [
        (CALM, [], "answered", ("settled",)),
        (CALM, [], "asked_back", ("asked_answers",)),
        (CALM, [], "handed_over", ("handed_over",)),
        # What has to be done in a line stands alone, whatever the desk said: but a question is answered.
        (DOUBTS, [], "answered", ("pushback",)),
        (DOUBTS, [], "declined", ("pushback",)),
        (DOUBTS, [], "asked_back", ("asked_answers",)),
        (DOUBTS, ["partly", "partly"], "partly", ("change_of_mind",)),
        (TELLS, [], "nothing", ("disclose",)),
        (TELLS, [], "answered", ("settled",)),
        (PERSON, ["nothing"], "answered", ("person",)),
        (PERSON, ["nothing"], "declined", ("person",)),
        (PERSON, ["answered"], "answered", ("settled",)),
        # The end of patience, once more of no use: after a question only where it is the end, too.
        (CALM, ["nothing", "declined"], "nothing", ("last_chance",)),
        (CALM, ["nothing", "declined"], "declined", ("last_chance",)),
        (CALM, ["nothing", "asked_back"], "asked_back", ("last_chance",)),
        (PERSON, ["nothing", "nothing"], "nothing", ("last_chance",)),
        (PERSON, ["nothing", "nothing"], "partly", ("person",)),
        (CALM, ["asked_back"], "asked_back", ("asked_answers",)),
        (HASTY, [], "declined", ("last_chance",)),
        (HASTY, [], "asked_back", ("asked_answers",)),
        (SECRETIVE, [], "asked_back", ("asked_refuses",)),
        (WARY, [], "asked_back", ("asked_asks_why",)),
    ],
)
def test_what_matters_in_a_line_depends_on_what_the_answer_did(
    persona: Persona, earlier: Sequence[Response], last: Response, cues: tuple[str, ...]
) -> None:
    """Which is known only when it is written: the customer is told for each case."""
    assert cues_of(persona, [Reaction(got=got) for got in earlier], 1, AS_SET)[last] == cues


def test_nobody_is_blamed_for_a_first_good_reply() -> None:
    """By who begins angry; what is of no use may be blamed."""
    cues = [cues_of(ANGRY, [], seed, AS_SET) for seed in range(50)]

    assert all(drawn["partly"][1:] == ("no_reproach",) for drawn in cues)
    assert {drawn["declined"] for drawn in cues} == {("ask",), ("tell",)}
    assert not any(
        "no_reproach" in cues_of(ANGRY, [Reaction()], 1, AS_SET)[got] for got in ("partly", "nothing")
    )


@pytest.mark.parametrize(
    ("got", "chosen", "follows"),
    [
        ("nothing", "gave_up", "gave_up"),
        ("asked_back", "gave_up", "gave_up"),
        ("partly", "satisfied", "satisfied"),
        ("nothing", "satisfied", "stay"),
        ("nothing", "stay", "stay"),
        ("answered", "gave_up", "satisfied"),
    ],
)
def test_after_the_last_turn_nobody_is_kept(got: Response, chosen: Next, follows: Next) -> None:
    """Who gives up has given up; but nobody is content with nothing."""
    assert ruled(CALM, course(got, next_=chosen), is_last=True).next == follows
    assert ruled(CALM, course(got, next_=chosen)).next == ("satisfied" if got == "answered" else "stay")


def test_after_the_last_turn_nothing_more_is_asked() -> None:
    """Who has all is content with it, whatever else they would have asked."""
    assert ruled(CALM, course("answered", next_="stay"), is_last=True).next == "satisfied"


@pytest.mark.parametrize(
    ("got", "given"),
    [("partly", "nothing"), ("asked_back", "nothing"), ("declined", "declined"), ("answered", "answered")],
)
def test_what_was_said_before_gives_nothing(got: Response, given: Response) -> None:
    """A part or a question again wears patience down; who has all is content with it."""
    again = ruled(CALM, course("partly", got), repeated=True)

    assert again.got == given
    worn = ruled(CALM, [*course("partly", "nothing", "nothing"), Reaction(got="partly")], repeated=True)
    assert worn.next == "gave_up"


def test_shares_come_true_over_a_run() -> None:
    """Of many conversations, by their seeds, as often as is usual in the language."""
    usual = {
        "brevity": 2.0,
        "detail": 0.5,
        "questions": 0.5,
        "politeness": 0.4,
        "figures": 0.5,
        "fragments": 0.0,
    }
    drawn = [cues_of(CALM, [], seed, usual)["partly"] for seed in range(2000)]
    longer, without_thanks = 1 - 2 * CALM.brevity, 1 - CALM.politeness * 0.4 / (1 - 2 * CALM.brevity)

    shares = {
        "short": 2 * CALM.brevity,
        "ask": CALM.questions / 2,
        "long": longer / 2,
        "thank": CALM.politeness * 0.4 / 2,
        "figure": longer / 2 * without_thanks / 2,
    }
    for cue, share in shares.items():
        assert sum(cue in cues for cues in drawn) / 2000 == pytest.approx(share, abs=0.03)


@pytest.mark.parametrize(
    ("name", "usual", "share"),
    [("calm", 1.0, 0.4), ("hurried", 1.0, 1.0), ("elderly", 1.0, 0.0), ("hurried", 0.0, 0.0)],
)
def test_as_many_write_in_fragments_as_persona_and_language_say(
    name: str, usual: float, share: float
) -> None:
    """Who is in a hurry always does, who is old never; in a language where nobody does, no one."""
    persona = shelves.persona(name)
    styles = [style_of(persona, seed, {"fragments": usual}) for seed in range(2000)]

    assert styles.count("fragments") / 2000 == pytest.approx(share, abs=0.03)


def test_nobody_answers_a_refusal_with_a_word_or_thanks_when_annoyed() -> None:
    """A useless answer is asked about again, as often as usual, and thanks are for who is not annoyed."""
    usual = {
        "brevity": 2.0,
        "detail": 0.0,
        "questions": 0.5,
        "politeness": 1.0,
        "figures": 1.0,
        "fragments": 0.0,
    }
    drawn = [cues_of(CALM, [], seed, usual) for seed in range(2000)]
    asked = sum(cues["declined"][0] == "ask" for cues in drawn) / 2000
    annoyed = [Reaction(got="nothing", feeling=-1)]

    assert {cues["declined"][0] for cues in drawn} == {"ask", "tell"}
    assert "short" in {cues["partly"][0] for cues in drawn}
    assert all(cues["declined"] == cues["nothing"] for cues in drawn)
    assert asked == pytest.approx(CALM.questions / 2 / (1 - 2 * CALM.brevity), abs=0.03)
    assert not any("thank" in cues_of(CALM, annoyed, seed, usual)["partly"] for seed in range(200))


def test_who_complains_tells_more_and_asks_less() -> None:
    """Half as much as others."""
    asked = [
        sum("ask" in cues_of(CALM, [], seed, AS_SET, complains=complains)["partly"] for seed in range(2000))
        for complains in (False, True)
    ]

    assert asked[1] / asked[0] == pytest.approx(0.5, abs=0.05)


@pytest.mark.parametrize(
    ("answer", "earlier", "again"),
    [
        ("解約金は4,800円です。", ["請求書は10日です。", "解約金は４，８００円です"], True),
        ("The fee is 4800 yen.", ["the fee is 4,800 yen!"], True),
        ("承知しました。解約金は4,800円です。", ["解約金は4,800円です。"], False),
        ("解約できません。", ["解約できます。"], False),
        ("……", ["。"], False),
        ("はい", [], False),
    ],
)
def test_only_the_same_letters_are_the_same_answer(answer: str, earlier: list[str], *, again: bool) -> None:
    """Whatever means the same is for the customer to say."""
    assert says_again(answer, earlier) is again


def test_a_line_that_nobody_decided_on_says_nothing() -> None:
    """Those of scripts, and the first one."""
    turns = [Turn(index=n, user="?", answer=Answer(text="!")) for n in (1, 2)]

    assert reactions_to(turns) == [Reaction()]
