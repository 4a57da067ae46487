"""What a persona's rules make of a customer's reactions: how they feel, whether they stay, how they write.

Pure functions of the persona and the reactions so far, the same for a customer whom a model plays and for
one with phrases. The model, or the stand-in, says what the customer `got` from each answer, in the words of
the judge of turns; the rules decide what follows from it:

    course = [*reactions_to(turns), Reaction(got="declined")]    # oldest first, one for each answer
    reaction = ruled(persona, course)                            # .next, .feeling, .overruled
    cues = cues_of(persona, course[:-1], seed, usual)            # before the line is written

`cues_of` says what matters in the next line for each thing that the last answer can have done, since that is
known only when the line is written; the cues stand under [xx.cues] of personas/_user.toml. `style_of` is how
this customer writes; `usual` is that of [xx.usual] there.

What follows from an answer, for a customer with a patience of 3:

    declined or nothing, and the model is content  stay        (overruled: satisfied)
    either for the third time in a row             gave_up     whatever the model says
    asked back for the third time, nothing else    gave_up     it gives as little
    told where to ask, and wants it here           stay        it gives as little
    a part, in the very words of an earlier answer is nothing
    anything, at the last turn, and gives up       gave_up
    answered, and the model asks something else    stay        once: satisfied after the next full answer
    a part, and the model is content               stay        satisfied, where there was a part before
    handed over to a person                        handed_over

The rules decide and not the model, because models are too easily content: they thank for a refusal and leave.
Every draw is by the seed of the conversation and the number of the turn, so that a run can be held again.
"""

from collections.abc import Mapping, Sequence
from itertools import takewhile

from simulator.core.templates import stable_int
from simulator.core.types import Habits, Language, Next, Persona, Reaction, Response, Turn
from simulator.text.segments import normalise

# What can matter in a line: how it is put, or what is done in it.
CUES = (
    "short", "ask", "tell", "long", "thank", "figure", "disclose", "pushback", "change_of_mind",
    "asked_answers", "asked_asks_why", "asked_refuses", "last_chance", "person", "no_reproach",
    "settled", "later", "handed_over", *Habits.model_fields,
)  # fmt: skip
# Habits that are a line of their own after an answer of no use, and what is done after one that was of use.
# All others are how any line is written.
_AFTER_NOTHING, _AFTER_SOMETHING = frozenset({"nudges", "rants"}), frozenset({"second_matter"})
# What the guard lets through for a habit.
_ALLOWS = {"emoji": "emoji", "language": "language", "rants": "list"}
# How many turns people take with a desk that serves them, each number as likely as another: the quartiles of
# the public sets (JMultiWOZ and ASDC; STAR and MultiDoGO). Where no more than `FEW` can be taken, customers
# leave as soon as they are served.
TURNS: dict[Language, tuple[int, ...]] = {
    "ja": (4, 5, 6, 7, 7, 8, 9, 10),
    "en": (5, 6, 7, 8, 8, 9, 10, 11),
}
FEW = 3
# A persona's shares (0..1) of its lines.
SHARES = ("brevity", "questions", "politeness")
# What leaves a customer where they were; who is handed over and stays wanted more than an address.
_GIVE_NOTHING = frozenset({"declined", "nothing", "asked_back", "handed_over"})
# How far an answer that gave this can move the feeling, from the one before: at least, at most. Nobody is
# gladder for a useless answer, nor annoyed by a full one; to be asked back or passed on may do either.
_MOVES: dict[Response | None, tuple[int, int]] = {
    "nothing": (-2, 0),
    "declined": (-2, 0),
    "asked_back": (-1, 1),
    "partly": (0, 1),
    "answered": (1, 2),
    "handed_over": (-1, 2),
    None: (-2, 2),
}


def reactions_to(turns: Sequence[Turn]) -> list[Reaction]:
    """The customer's reactions to all answers but the last; a line that nobody decided on knows none."""
    return [turn.reaction or Reaction() for turn in turns[1:]]


def says_again(answer: str, earlier: Sequence[str]) -> bool:
    """Whether an answer is one of the earlier ones, letter by letter; marks and blanks aside."""
    said = _letters(answer)
    return bool(said) and said in map(_letters, earlier)


def _letters(text: str) -> str:
    return "".join(filter(str.isalnum, normalise(text)))


def useless_in_a_row(course: Sequence[Reaction]) -> int:
    """How many of the last answers gave nothing; to be asked back, and no more, gives nothing either."""
    return sum(1 for _useless in takewhile(lambda reaction: reaction.got in _GIVE_NOTHING, reversed(course)))


def is_out_of_patience(persona: Persona, course: Sequence[Reaction]) -> bool:
    """Whether the customer has had as many useless answers in a row as they stand.

    A desk may have to know something first: one question alone makes nobody leave.
    """
    asked_once = len(course) == 1 and course[-1].got == "asked_back"
    return useless_in_a_row(course) >= persona.patience and not asked_once


def wanted_turns(language: Language, seed: int, most: int) -> int:
    """How many of at most `most` turns this customer takes with a desk that serves them, as people do.

    0 where they leave as soon as they are served.
    """
    lengths = TURNS[language]
    return min(most, lengths[int(_draw("turns", seed, 0) * len(lengths))]) if most > FEW else 0


def lets_through(persona: Persona) -> frozenset[str]:
    """The rules of the guard that the persona's habits may break."""
    return frozenset(rule for habit, rule in _ALLOWS.items() if getattr(persona.habits, habit))


def ruled(
    persona: Persona,
    course: Sequence[Reaction],
    *,
    repeated: bool = False,
    is_last: bool = False,
    wanted: int = 0,
) -> Reaction:
    """The last reaction of `course` as this persona's rules have it.

    Who was handed over, has all or is out of patience leaves, and nobody else: but a first full answer does
    not content who asks for a person, who doubts at this turn (`pushback`, `change_of_mind`), or who asks
    something else, as often as they like in the first `wanted` turns, and who is only told where to ask may
    stay. A part is enough for who had one before, and anything for who had all. Where
    no further line can be said (`is_last`) nobody is kept who gives up, or is content with a part. Where
    nobody said what was `got`, the choice stands. The feeling moves as far as the answer allows. One that
    only `repeated` what was said before gives nothing, unless that was all, and annoys.
    """
    *earlier, last = course
    if repeated and last.got in ("partly", "asked_back"):
        last = last.model_copy(update={"got": "nothing"})
    # The model says how it feels, within what the answer can have done to it.
    low, high = _MOVES[last.got]
    if repeated and last.got in ("nothing", "declined"):
        high -= 1
    before = earlier[-1].feeling if earlier else persona.feeling
    low, high = (max(-2, min(2, before + move)) for move in (low, high))
    chosen = _next(persona, earlier, last, is_last=is_last, wanted=wanted)
    return last.model_copy(
        update={
            "feeling": max(low, min(high, last.feeling)),
            "next": chosen,
            "overruled": last.next if chosen != last.next else None,
        }
    )


def _next(
    persona: Persona, earlier: Sequence[Reaction], last: Reaction, *, is_last: bool, wanted: int
) -> Next:
    had = {reaction.got for reaction in earlier}
    if last.got is None:
        return last.next
    if last.got == "handed_over" and last.next != "stay":
        return "handed_over"
    if last.got == "answered":
        # The line that is written next is that of turn len(earlier) + 2: the first reaction is to the answer
        # of turn 1.
        turn = len(earlier) + 2
        doubts = turn in (persona.pushback, persona.change_of_mind)
        wants_person = persona.asks_for_person and "answered" not in had
        asks_on = turn <= wanted or not (earlier and earlier[-1].got == "answered")
        asks_more = last.next == "stay" and not is_last and asks_on
        return "stay" if doubts or wants_person or asks_more else "satisfied"
    # A part is enough for who had one before, or can say no more; who had all came for nothing else.
    is_enough = "answered" in had or (last.got == "partly" and (is_last or "partly" in had))
    if (last.next == "satisfied" and is_enough) or (last.next == "gave_up" and is_last):
        return last.next
    return "gave_up" if is_out_of_patience(persona, [*earlier, last]) else "stay"


def cues_of(
    persona: Persona,
    earlier: Sequence[Reaction],
    seed: int,
    usual: Mapping[str, float],
    *,
    complains: bool = False,
    wanted: int = 0,
) -> dict[Response, tuple[str, ...]]:
    """What matters in the customer's next line, by what the last answer does, drawn by the `seed`.

    `earlier` are the reactions to all answers but the last one. What has to be done in the line stands alone,
    else the line's form and perhaps its length, thanks, or a figure. To a refusal or nothing nobody says but
    a word, and nobody thanks who is annoyed; who writes fragments writes none at length. The persona's
    `SHARES` are multiplied with what is `usual` in the language, which also has the shares of lines at length
    and with a figure. Who complains (`complains`) tells more and asks less. Who takes more turns (`wanted`)
    goes on after a full answer. One of the persona's habits may be drawn in place of what stands beside the
    form of a line.
    """
    turn = len(earlier) + 2
    had_all = any(reaction.got == "answered" for reaction in earlier)
    # The first that is due stands alone: a line that does two things at once is no line of a chat.
    duties = {
        "pushback": turn == persona.pushback,
        "change_of_mind": turn == persona.change_of_mind,
        "person": persona.asks_for_person and not had_all,
        "disclose": turn == 2 and persona.discloses == "at_once",
    }
    duty = next((cue for cue, is_due in duties.items() if is_due), None)
    useful, useless = (
        ((duty,), (duty,)) if duty else _form(persona, earlier, seed, usual, complains=complains)
    )
    ends = {
        got: is_out_of_patience(persona, [*earlier, Reaction(got=got)]) for got in ("nothing", "asked_back")
    }
    refuses = persona.discloses == "never"
    asked = "asked_refuses" if refuses else f"asked_{persona.counter_question}"
    habit = None if duty else _habit(persona, seed, turn)
    # A rant is no line of bare words.
    habit = None if habit == "rants" and style_of(persona, seed, usual) == "fragments" else habit
    asking: tuple[str, ...] = (asked,)
    # What is told at once, and how the rest is put, matters no more once the matter is settled.
    answered: tuple[str, ...] = (duty,) if duty not in (None, "disclose") else ("settled",)
    if habit in _AFTER_SOMETHING:
        useful, answered = (*useful[:1], habit), (habit,)
    elif habit in _AFTER_NOTHING:
        useless = (habit,)
    elif habit:
        useful = useful if "no_reproach" in useful else (*useful[:1], habit)
        useless = (*useless[:1], habit)
        asking = (asked, habit) if habit == "pasted" else asking
    if turn <= wanted and answered == ("settled",):
        answered = useful
    # What else they asked can wait.
    useless = ("later",) if wanted and had_all and not duty else useless
    useless = ("last_chance",) if ends["nothing"] else useless
    return {
        "answered": answered,
        "partly": useful,
        "declined": useless,
        "nothing": useless,
        "asked_back": ("last_chance",) if ends["asked_back"] else asking,
        "handed_over": ("handed_over",),
    }


def _form(
    persona: Persona, earlier: Sequence[Reaction], seed: int, usual: Mapping[str, float], *, complains: bool
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """How a line is put after an answer that is of use, and after one that is of none."""
    turn = len(earlier) + 2
    brevity, questions, politeness = (getattr(persona, share) * usual[share] for share in SHARES)
    feeling = earlier[-1].feeling if earlier else persona.feeling
    detail = usual["detail"] if persona.detail is None else persona.detail
    detail = 0 if style_of(persona, seed, usual) == "fragments" else detail
    # Shares are of all lines, so those that may thank do so the more often.
    thanks = 0 if feeling < 0 else politeness / (1 - brevity)
    # One draw for the form, others for what stands beside it: so each share is kept by itself.
    draw, asks = _draw("form", seed, turn), questions / (1 + complains)
    if draw < brevity:
        # A line of a word has no room for thanks: the others thank the more often.
        useful = ["short"]
        useless = ["ask" if draw / brevity < asks / (1 - brevity) else "tell"]
    else:
        useful = ["ask" if draw < brevity + asks else "tell"]
        if _draw("length", seed, turn) < detail:
            useful.append("long")
        elif _draw("courtesy", seed, turn) < thanks:
            useful.append("thank")
        elif _draw("figure", seed, turn) < usual["figures"]:
            useful.append("figure")
        useless = useful
    if turn == 2 and persona.feeling < 0:
        useful, useless = [useful[0], "no_reproach"], useless[:1]
    return tuple(useful), tuple(useless)


def _habit(persona: Persona, seed: int, turn: int) -> str | None:
    """The habit that shows in this line; each in its share of lines, and most lines show none."""
    draw = _draw("habit", seed, turn)
    for habit, share in persona.habits:
        if draw < share:
            return str(habit)
        draw -= share
    return None


def style_of(persona: Persona, seed: int, usual: Mapping[str, float]) -> str:
    """How this customer writes from the first line to the last, as [xx.styles] has it.

    Who never writes fragments writes in full. Real customers of one desk write whole sentences, those of
    another hardly any: customers who all write alike, in between, resemble neither.
    """
    if not persona.fragments:
        return "full"
    return "fragments" if _draw("style", seed, 0) < persona.fragments * usual["fragments"] else "sentences"


def _draw(what: str, seed: int, turn: int) -> float:
    """A share (0..1) for this turn, the same for the same seed."""
    return stable_int(what, seed, turn) / 2**31
