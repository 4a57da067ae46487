"""What a persona's rules make of a customer's reactions: how they feel, whether they stay, how they write.

Pure functions of the persona and the reactions so far, the same for a customer whom a model plays and for
one with phrases. The model, or the stand-in, says what the customer `got` from each answer; the rules decide
what follows from it:

    course = [*reactions_to(turns), Reaction(got="nothing")]     # oldest first, one for each answer
    reaction = ruled(persona, course)                            # .next, .feeling, .overruled
    cues = cues_of(persona, course[:-1], seed, usual)            # before the line is written

`cues_of` names what matters in the next line, at most two things, as they stand under [xx.cues] of
personas/_user.toml, and `style_of` how this customer writes; `usual` is that of [xx.usual] there.

What follows from an answer, for a customer with a patience of 3:

    nothing, and the model would leave content    stay        (overruled: satisfied)
    nothing for the third time in a row           gave_up     whatever the model says
    asked back for the third time, nothing else   gave_up     it gives as little
    a part that was said before                   is nothing
    anything, at the last turn, and gives up      gave_up
    all, and the model would stay                 satisfied   (overruled: stay)
    all, and the line asks something else         stay        it is asked
    a part, and the model would leave content     stay        satisfied, where there was a part before
    handed over to a person                       handed_over

The rules decide and not the model, because models are too easily content: they thank for a refusal and leave.
Every draw is by the seed of the conversation and the number of the turn, so that a run can be held again.
"""

from collections.abc import Mapping, Sequence
from itertools import takewhile

from simulator.core.templates import stable_int
from simulator.core.types import Next, Persona, Reaction, Turn

# What can matter in a line: how it is put, or what is done in it.
CUES = (
    "short", "ask", "tell", "long", "thank", "figure", "disclose", "pushback", "change_of_mind",
    "asked_answers", "asked_asks_why", "asked_refuses", "last_chance", "person", "no_reproach",
)  # fmt: skip
# What is done even where the matter is settled.
ALWAYS_DONE = frozenset({"pushback", "change_of_mind", "person"})
# A persona's shares (0..1) of its lines.
SHARES = ("brevity", "questions", "politeness")
# What leaves a customer where they were.
_GIVE_NOTHING = frozenset({"nothing", "asked_back"})
# How far an answer that gave this can move the feeling, from the one before: at least, at most. Nobody is
# gladder for a useless answer, nor annoyed by a full one; to be asked back may do either.
_MOVES = {
    "nothing": (-2, 0),
    "asked_back": (-1, 1),
    "part": (0, 1),
    "all": (1, 2),
    "handed_over": (1, 2),
    None: (-2, 2),
}


def reactions_to(turns: Sequence[Turn]) -> list[Reaction]:
    """The customer's reactions to all answers but the last; a line that nobody decided on knows none."""
    return [turn.reaction or Reaction() for turn in turns[1:]]


def useless_in_a_row(course: Sequence[Reaction]) -> int:
    """How many of the last answers gave nothing; to be asked back, and no more, gives nothing either."""
    return sum(1 for _useless in takewhile(lambda reaction: reaction.got in _GIVE_NOTHING, reversed(course)))


def is_out_of_patience(persona: Persona, course: Sequence[Reaction]) -> bool:
    """Whether the customer has had as many useless answers in a row as they stand.

    A desk may have to know something first: one question alone makes nobody leave.
    """
    asked_once = len(course) == 1 and course[-1].got == "asked_back"
    return useless_in_a_row(course) >= persona.patience and not asked_once


def ruled(
    persona: Persona,
    course: Sequence[Reaction],
    *,
    repeated: bool = False,
    apologised: bool = False,
    asks: bool = False,
    is_last: bool = False,
) -> Reaction:
    """The last reaction of `course` as this persona's rules have it.

    Who was handed over, has all or is out of patience leaves, and nobody else: but a first full answer does
    not content who asks for a person, or who doubts at this turn (`pushback`, `change_of_mind`), and who
    `asks` something else stays to hear of it. A part is enough for who had one before. Where no further line
    can be said (`is_last`) nobody is kept who gives up, or is content with a part. Where nobody said what was
    `got`, the choice stands. The feeling moves as far as the answer allows: a useless one softens nobody
    unless it `apologised`. One that only `repeated` what was said before gives nothing, unless that was all,
    and annoys.
    """
    *earlier, last = course
    if repeated and last.got in ("part", "asked_back"):
        last = last.model_copy(update={"got": "nothing"})
    # The model says how it feels, within what the answer can have done to it.
    low, high = _MOVES[last.got]
    if last.got == "nothing":
        high -= repeated
        low += apologised
    before = earlier[-1].feeling if earlier else persona.feeling
    low, high = (max(-2, min(2, before + move)) for move in (low, high))
    chosen = _next(persona, earlier, last, asks=asks, is_last=is_last)
    return last.model_copy(
        update={
            "feeling": max(low, min(high, last.feeling)),
            "next": chosen,
            "overruled": last.next if chosen != last.next else None,
        }
    )


def _next(
    persona: Persona, earlier: Sequence[Reaction], last: Reaction, *, asks: bool, is_last: bool
) -> Next:
    # A model of earlier versions, or one that leaves it out.
    if last.got is None:
        return last.next
    if last.got == "handed_over":
        return "handed_over"
    had = {each.got for each in earlier}
    if last.got == "all":
        # The line that is written next is that of turn len(earlier) + 2: the first reaction is to the answer
        # of turn 1.
        doubts = asks or len(earlier) + 2 in (persona.pushback, persona.change_of_mind)
        return "stay" if doubts or (persona.asks_for_person and "all" not in had) else "satisfied"
    if last.got == "part" and last.next == "satisfied" and had & {"part", "all"}:
        return "satisfied"
    if is_last and (last.next == "gave_up" or (last.next == "satisfied" and last.got == "part")):
        return last.next
    return "gave_up" if is_out_of_patience(persona, [*earlier, last]) else "stay"


def cues_of(
    persona: Persona,
    earlier: Sequence[Reaction],
    seed: int,
    usual: Mapping[str, float],
    *,
    asked_back: bool = False,
    refused: bool = False,
    has_figure: bool = False,
    complains: bool = False,
) -> tuple[str, ...]:
    """What matters in the customer's next line, drawn by the conversation's `seed`.

    `earlier` are the reactions to all answers but the last one, which `asked_back`, `refused` or did neither.
    What has to be done in the line stands alone, or beside the end of patience for who is asked; else the
    line's form and perhaps its length, thanks, or a figure of an answer that `has_figure`. To a refusal
    nobody says but a word, and nobody thanks for one or when annoyed; who writes fragments writes none at
    length. The persona's `SHARES` are multiplied with what is `usual` in the language, which also has the
    shares of lines at length and with a figure. Who complains (`complains`) tells more and asks less.
    """
    turn = len(earlier) + 2
    had_all = any(each.got == "all" for each in earlier)
    last = Reaction(got="asked_back" if asked_back else "nothing")
    is_last_chance = is_out_of_patience(persona, [*earlier, last])
    duties = {
        "asked_refuses": asked_back and persona.discloses == "never",
        f"asked_{persona.counter_question}": asked_back,
        "pushback": turn == persona.pushback and not refused,
        "change_of_mind": turn == persona.change_of_mind,
        "last_chance": is_last_chance,
        "person": persona.asks_for_person and not had_all,
        "disclose": turn == 2 and persona.discloses == "at_once",
    }
    # The first that is due stands alone: a line that does two things at once is no line of a chat.
    for cue, is_due in duties.items():
        if is_due:
            return ("last_chance", cue) if is_last_chance and cue.startswith("asked_") else (cue,)
    brevity, questions, politeness = (getattr(persona, share) * usual[share] for share in SHARES)
    feeling = earlier[-1].feeling if earlier else persona.feeling
    brevity = 0 if refused else brevity
    detail = usual["detail"] if persona.detail is None else persona.detail
    detail = 0 if style_of(persona, seed, usual) == "fragments" else detail
    # Shares are of all lines, so those that may thank do so the more often.
    thanks = 0 if refused or feeling < 0 else politeness / (1 - brevity)
    # One draw for the form, others for what stands beside it: so each share is kept by itself.
    draw = _draw("form", seed, turn)
    asks = draw < brevity + questions / (1 + complains)
    cues = ["short" if draw < brevity else "ask" if asks else "tell"]
    if turn == 2 and persona.feeling < 0:
        cues.append("no_reproach")
    elif draw >= brevity and _draw("length", seed, turn) < detail:
        cues.append("long")
    elif draw >= brevity and _draw("courtesy", seed, turn) < thanks:
        cues.append("thank")  # a line of a word has no room for it: the others thank the more often
    elif draw >= brevity and has_figure and _draw("figure", seed, turn) < usual["figures"]:
        cues.append("figure")
    return tuple(cues)


def style_of(persona: Persona, seed: int, usual: Mapping[str, float]) -> str:
    """How this customer writes from the first line to the last, as [xx.styles] has it.

    Real customers of one desk write whole sentences, those of another hardly any: customers who all write
    alike, in between, resemble neither.
    """
    return "fragments" if _draw("style", seed, 0) < persona.fragments * usual["fragments"] else "sentences"


def _draw(what: str, seed: int, turn: int) -> float:
    """A share (0..1) for this turn, the same for the same seed."""
    return stable_int(what, seed, turn) / 2**31
