"""What follows, by a persona's rules, from what its customer got."""

from collections.abc import Sequence

import pytest

from simulator.core import shelves
from simulator.core.types import Answer, Got, Next, Persona, Reaction, Turn
from simulator.users.rules import SHARES, cues_of, reactions_to, ruled, style_of

CALM, ANGRY, PERSON = (shelves.persona(name) for name in ("calm", "angry", "demands_person"))
# Of a language in which people do what a persona sets.
AS_SET = dict.fromkeys((*SHARES, "fragments"), 1.0) | {"detail": 0.0, "figures": 0.0}
TELLS = shelves.persona("verbose")
HASTY = CALM.model_copy(update={"patience": 1})
DOUBTS = CALM.model_copy(update={"pushback": 2, "change_of_mind": 4})


def course(*got: Got | None, next_: Next = "stay", feeling: int = 0) -> list[Reaction]:
    """Reactions to answers that gave this, of which the last one is `next_` and `feeling`."""
    return [*(Reaction(got=each) for each in got[:-1]), Reaction(got=got[-1], next=next_, feeling=feeling)]


@pytest.mark.parametrize(
    ("persona", "got", "chosen", "follows"),
    [
        (CALM, ["all"], "stay", "satisfied"),
        (CALM, ["handed_over"], "stay", "handed_over"),
        (CALM, ["nothing"], "satisfied", "stay"),
        (CALM, ["part"], "satisfied", "stay"),
        (CALM, ["part", "part"], "satisfied", "satisfied"),
        (CALM, ["part", "part"], "gave_up", "stay"),
        (CALM, ["all", "nothing"], "handed_over", "stay"),
        (CALM, ["nothing", "nothing"], "gave_up", "stay"),
        (CALM, ["nothing", "nothing", "nothing"], "stay", "gave_up"),
        (CALM, ["nothing", "nothing", "asked_back", "nothing"], "stay", "gave_up"),
        (CALM, ["nothing", "nothing", "asked_back"], "stay", "gave_up"),
        (CALM, ["asked_back", "asked_back", "asked_back"], "stay", "gave_up"),
        (CALM, ["asked_back", "asked_back"], "gave_up", "stay"),
        (CALM, ["asked_back", "part", "asked_back", "asked_back"], "gave_up", "stay"),
        (CALM, ["asked_back", "asked_back", "all"], "stay", "satisfied"),
        (HASTY, ["asked_back"], "gave_up", "stay"),
        (HASTY, ["asked_back", "asked_back"], "stay", "gave_up"),
        (HASTY, ["nothing"], "stay", "gave_up"),
        (CALM, ["nothing", "part", "nothing", "nothing"], "stay", "stay"),
        (CALM, [None], "gave_up", "gave_up"),
        (CALM, [None], "stay", "stay"),
        (PERSON, ["all"], "satisfied", "stay"),
        (PERSON, ["all", "all"], "stay", "satisfied"),
        (PERSON, ["handed_over"], "stay", "handed_over"),
        (DOUBTS, ["all"], "satisfied", "stay"),
        (DOUBTS, ["all", "all"], "stay", "satisfied"),
        (DOUBTS, ["part", "part", "all"], "satisfied", "stay"),
    ],
)
def test_who_leaves_and_who_stays(
    persona: Persona, got: Sequence[Got | None], chosen: Next, follows: Next
) -> None:
    """By what was got and the persona; a choice that breaks the rule is kept as overruled."""
    reaction = ruled(persona, course(*got, next_=chosen))

    assert reaction.next == follows
    assert reaction.overruled == (None if chosen == follows else chosen)


@pytest.mark.parametrize("name", ["angry", "hurried", "demands_person"])
def test_a_useless_bot_hears_two_lines_of_the_impatient(name: str) -> None:
    """Question aside, before they leave."""
    useless = [Reaction(got="nothing")] * 3

    assert [ruled(shelves.persona(name), useless[:n]).next for n in (1, 2, 3)] == ["stay", "stay", "gave_up"]


@pytest.mark.parametrize(
    ("persona", "got", "felt", "said", "bounded"),
    [
        (CALM, ["nothing"], 2, {}, 0),
        (CALM, ["nothing"], -2, {}, -2),
        (CALM, ["nothing"], 2, {"apologised": True}, 0),
        (CALM, ["nothing"], -2, {"apologised": True}, -1),
        (CALM, ["nothing"], 0, {"repeated": True}, -1),
        (CALM, ["asked_back"], -2, {}, -1),
        (CALM, ["asked_back"], 2, {}, 1),
        (CALM, ["part"], -2, {}, 0),
        (CALM, ["part"], 2, {}, 1),
        (CALM, ["all"], -2, {}, 1),
        (CALM, [None], -2, {}, -2),
        (ANGRY, ["all"], -2, {}, 0),
        (ANGRY, ["all"], 2, {}, 1),
        (ANGRY, ["handed_over"], -2, {}, 0),
        (ANGRY, ["nothing"], 0, {}, -1),
        (ANGRY, ["nothing", "part"], -2, {}, 0),
    ],
)
def test_the_feeling_moves_as_far_as_the_answer_allows(
    persona: Persona, got: Sequence[Got | None], felt: int, said: dict[str, bool], bounded: int
) -> None:
    """From the one before, or from what the persona begins with: nobody is angry without cause."""
    assert ruled(persona, course(*got, feeling=felt), **said).feeling == bounded


@pytest.mark.parametrize(
    ("persona", "got", "asked_back", "first"),
    [
        (DOUBTS, [], False, "pushback"),
        (DOUBTS, [], True, "asked_answers"),
        (DOUBTS, ["part", "part"], False, "change_of_mind"),
        (TELLS, [], False, "disclose"),
        (CALM, [], True, "asked_answers"),
        (CALM, ["nothing", "nothing"], False, "last_chance"),
        (CALM, ["nothing", "asked_back"], False, "last_chance"),
        (PERSON, ["nothing"], False, "person"),
        (ANGRY, [], False, "no_reproach"),
    ],
)
def test_what_has_to_be_done_in_a_line_stands_alone(
    persona: Persona, got: Sequence[Got], asked_back: bool, first: str
) -> None:
    """The desk's question, then a turn of its own, then the end of patience."""
    cues = cues_of(persona, [Reaction(got=each) for each in got], 1, AS_SET, asked_back=asked_back)

    assert first in cues
    assert len(cues) == (2 if first == "no_reproach" else 1)


def test_who_is_asked_when_patience_ends_is_told_both() -> None:
    """How to reply, and that a question is no answer; one question alone is nobody's last."""
    asked = [Reaction(got="asked_back")] * 2

    assert cues_of(CALM, asked, 1, AS_SET, asked_back=True) == ("last_chance", "asked_answers")
    assert cues_of(CALM, asked[:1], 1, AS_SET, asked_back=True) == ("asked_answers",)
    assert cues_of(HASTY, [], 1, AS_SET, asked_back=True) == ("asked_answers",)


@pytest.mark.parametrize(
    ("got", "chosen", "follows"),
    [
        ("nothing", "gave_up", "gave_up"),
        ("asked_back", "gave_up", "gave_up"),
        ("part", "satisfied", "satisfied"),
        ("nothing", "satisfied", "stay"),
        ("nothing", "stay", "stay"),
        ("all", "gave_up", "satisfied"),
    ],
)
def test_after_the_last_turn_nobody_is_kept(got: Got, chosen: Next, follows: Next) -> None:
    """Who gives up has given up; but nobody is content with nothing."""
    assert ruled(CALM, course(got, next_=chosen), is_last=True).next == follows
    assert ruled(CALM, course(got, next_=chosen)).next == ("satisfied" if got == "all" else "stay")


def test_who_has_all_and_asks_something_else_stays_to_hear_of_it() -> None:
    """As nobody does who has all and asks nothing."""
    assert ruled(CALM, course("all", next_="stay"), asks=True).overruled is None
    assert ruled(CALM, course("all", next_="stay")).next == "satisfied"
    assert ruled(CALM, course("nothing", "nothing", "nothing"), asks=True).next == "gave_up"


@pytest.mark.parametrize(("got", "given"), [("part", "nothing"), ("asked_back", "nothing"), ("all", "all")])
def test_what_was_said_before_gives_nothing(got: Got, given: Got) -> None:
    """A part or a question again wears patience down; who has all is content with it."""
    again = ruled(CALM, course("part", got), repeated=True)

    assert again.got == given
    worn = ruled(CALM, [*course("part", "nothing", "nothing"), Reaction(got="part")], repeated=True)
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
    drawn = [cues_of(CALM, [], seed, usual, has_figure=True) for seed in range(2000)]
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
    assert "person" not in cues_of(PERSON, course("all"), 1, AS_SET)


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
    """A useless answer is asked about again, and thanks are for who is not annoyed."""
    usual = {
        "brevity": 2.0,
        "detail": 0.0,
        "questions": 0.5,
        "politeness": 1.0,
        "figures": 1.0,
        "fragments": 0.0,
    }
    to_a_refusal = {cue for seed in range(200) for cue in cues_of(CALM, [], seed, usual, refused=True)}
    annoyed = [Reaction(got="nothing", feeling=-1)]

    assert to_a_refusal == {"ask", "tell"}
    assert "thank" not in {cue for seed in range(200) for cue in cues_of(CALM, annoyed, seed, usual)}
    assert "pushback" not in cues_of(DOUBTS, [], 1, usual, refused=True)


def test_a_line_that_nobody_decided_on_says_nothing() -> None:
    """Those of scripts, and the first one."""
    turns = [Turn(index=n, user="?", answer=Answer(text="!")) for n in (1, 2)]

    assert reactions_to(turns) == [Reaction()]
