"""The customer without a model: phrases and short lines, chosen by the kind of answer that the desk gave.

Deterministic and quick: good enough to try everything, but it understands nothing.

Each answer is first put into a `Situation` by what can be counted (`text/acts.py`, `text/evidence.py`):

    an error, or nothing                                     FAILED
    it passes the customer on to a person                    HANDED_OVER
    it refuses                                               REFUSED
    0.55 of a reference is said, in the last five answers    CONTENT
    it ends with a question, and there is something to tell  ASKED
    0.2 of a reference is said                               PARTLY
    anything else                                            USELESS

then the rules of all customers (users/rules.py) say what follows, and a phrase of the persona for that
situation is said which was not said before. The seed of the conversation draws it: the same run, the same
words.
"""

from collections.abc import Sequence
from enum import StrEnum
from functools import cache, partial
from itertools import takewhile
from string import Template
from typing import Any

from simulator.core.shelves import PERSONAS
from simulator.core.templates import read_toml, stable_int
from simulator.core.types import Case, Got, Language, Persona, Reaction, Turn, Utterance
from simulator.text.acts import apologises, ends_with_question, is_refusal, parts, passes_on
from simulator.text.evidence import (
    CHANCE,
    all_references,
    best_agreement,
    coverage,
    refuses,
    says_it_again,
)
from simulator.text.wording import wording
from simulator.users.guard import guard_of, telling_numbers
from simulator.users.rules import ruled, useless_in_a_row

# The share of the reference that has to be said (0..1) to be of use, and to content a customer. The second is
# `faults.ANSWERED`, by which it is judged afterwards whether a customer left too early.
OF_USE, CONTENTING = 0.2, 0.55
# A fact counts as mentioned from this share (0..1) of its content on.
MENTIONED = 0.6
_PLAINLY = ("$fact",)
# The customer puts together what this many answers say.
REMEMBERED = 5
# A question longer than this is cut where a phrase quotes it.
LONGEST_QUESTION = 60
_ENDS = "。．.？?！!、, 　"


class Situation(StrEnum):
    """What the desk's last answer means to the customer; mostly named like the table of phrases for it."""

    FAILED = "failed"
    REFUSED = "refused"
    HANDED_OVER = "handed_over"
    ASKED = "telling"
    USELESS = "pressing"
    PARTLY = "followup"
    CONTENT = "satisfied"


# What each gives the customer, and how far that moves the feeling.
_GOT: dict[Situation, Got] = {
    Situation.FAILED: "nothing",
    Situation.REFUSED: "nothing",
    Situation.USELESS: "nothing",
    Situation.HANDED_OVER: "handed_over",
    Situation.ASKED: "asked_back",
    Situation.PARTLY: "part",
    Situation.CONTENT: "all",
}
_FELT: dict[Got, int] = {"nothing": -1, "asked_back": 0, "part": 0, "all": 2, "handed_over": 1}


class PhraseUser:
    """Plays a persona from its phrases: reacts to the kind of answer it got, never says a line twice.

    The same case, persona and seed always give the same words.
    """

    def __init__(self, persona: Persona, seed: int) -> None:
        """`seed` belongs to this conversation."""
        self.persona, self.seed = persona, seed
        self._met: list[tuple[Turn, Situation]] = []  # of earlier calls: a conversation only grows

    async def __call__(self, case: Case, turns: tuple[Turn, ...]) -> Utterance:
        """The next line, or leaving, as the persona's rules have it: see `simulator.users.rules`."""
        if not turns:
            return Utterance(text=case.question)
        # By identity: turns are the same objects as long as the conversation is the same.
        pairs = zip(self._met, turns, strict=False)
        known = [met for met, _turn in takewhile(lambda pair: pair[0][0] is pair[1], pairs)]
        known += [(turns[at], self._situation(case, turns[: at + 1])) for at in range(len(known), len(turns))]
        self._met, situations = known, [situation for _turn, situation in known]
        course = self._course(situations, turns, case)
        line = self._line(case, turns, situations, course)
        return line.model_copy(update={"reaction": course[-1].model_copy(update={"next": line.next})})

    def _course(self, situations: Sequence[Situation], turns: Sequence[Turn], case: Case) -> list[Reaction]:
        """What the persona's rules make of each answer; a useless one annoys, a repetition twice as much."""
        course: list[Reaction] = []
        for at, situation in enumerate(situations):
            answer, got = turns[at].answer.text, self._got(situation, case, turns[at])
            repeated = says_it_again(answer, [turn.answer.text for turn in turns[:at]], case.language)
            if repeated and got in ("part", "asked_back"):
                got = "nothing"
            apologised = apologises(answer, case.language) and not is_refusal(answer, case.language)
            before = course[-1].feeling if course else self.persona.feeling
            move = _FELT[got] - (repeated and got == "nothing") + (apologised and got == "nothing")
            said = Reaction(got=got, feeling=max(-2, min(2, before + move)))
            reaction = ruled(self.persona, [*course, said], repeated=repeated, apologised=apologised)
            course.append(reaction.model_copy(update={"overruled": None}))  # there is no model to overrule
        return course

    def _got(self, situation: Situation, case: Case, turn: Turn) -> Got:
        """What an answer gave: one that tells a part and then asks has given the part."""
        is_part = situation is Situation.ASKED and _help(case, [turn]) >= OF_USE
        return "part" if is_part else _GOT[situation]

    def _line(
        self, case: Case, turns: Sequence[Turn], situations: Sequence[Situation], course: Sequence[Reaction]
    ) -> Utterance:
        say, phrases = wording(case.language), self.persona.speaks(case.language).phrases
        last, how = situations[-1], course[-1].next
        if last is Situation.PARTLY and course[-1].got == "nothing":  # the same part again
            last = Situation.USELESS
        if how in ("handed_over", "satisfied"):
            had_trouble = "at_last" in phrases and any(each.got == "nothing" for each in course)
            return self._leave(case, turns, how, "at_last" if had_trouble else "thanks", say(f"left_{how}"))
        if how == "gave_up":
            unhelpful = str(useless_in_a_row(course))
            return self._leave(case, turns, "gave_up", "leaving", say("left_gave_up", count=unhelpful))
        if last is Situation.CONTENT:  # and still here: a person is wanted, or the answer doubted
            last = Situation.PARTLY
        text = None
        tells = last is Situation.ASKED or (len(turns) == 1 and self.persona.discloses == "at_once")
        if tells and self.persona.discloses != "never":  # the first fact that this persona has words for
            told = (
                self._unused(case, turns, (Situation.ASKED,), fact.strip().rstrip(_ENDS))
                for fact in _unmentioned(case, turns)
            )
            text = next(filter(None, told), None)
        elif ends_with_question(turns[-1].answer.text, case.language):
            text = self._plain(case, turns, "asked")
        text = text or self._unused(case, turns, (last, Situation.USELESS, Situation.PARTLY))
        if text is None:
            return self._leave(case, turns, "gave_up", "leaving", say("left_speechless"))
        return Utterance(text=text, reason=say(f"met_{last}"))

    def _situation(self, case: Case, turns: Sequence[Turn]) -> Situation:
        """What the last of these answers was, given the answers before it."""
        answer = turns[-1].answer
        if answer.error is not None or not answer.text.strip():
            return Situation.FAILED
        if passes_on(answer.text, case.language):
            return Situation.HANDED_OVER
        if refuses(answer.text, all_references(case), case.language):
            return Situation.REFUSED
        if _help(case, turns[-REMEMBERED:]) >= CONTENTING:
            return Situation.CONTENT
        acts = [part.act for part in parts(answer.text, case.language) if part.act != "courtesy"]
        if acts and acts[-1] == "question" and _unmentioned(case, turns):  # the desk ends with a question
            return Situation.ASKED
        return Situation.PARTLY if _help(case, turns[-1:]) >= OF_USE else Situation.USELESS

    def _leave(self, case: Case, turns: Sequence[Turn], how: str, phrases: str, reason: str) -> Utterance:
        words = self._unused(case, turns, (phrases,)) or ""
        return Utterance.model_validate({"text": words, "next": how, "reason": reason})

    def _plain(self, case: Case, turns: Sequence[Turn], situation: str) -> str | None:
        """A short line that was not said yet, for as many lines as the file says; None for the others."""
        table = _plain_lines(case.language)
        draw = partial(stable_int, self.seed, case.id, self.persona.id, len(turns))
        # Their phrases are what makes them; short plain lines would make them like the others.
        own = self.persona.feeling < 0 or self.persona.asks_for_person  # who is angry, or wants one thing
        if own or draw("plain") >= table.get("share", 0.0) * 2**31:
            return None
        said = {turn.user for turn in turns}
        left = [line for line in table.get(situation, ()) if line not in said]
        return left[draw(situation) % len(left)] if left else None

    def _unused(
        self, case: Case, turns: Sequence[Turn], situations: Sequence[str], fact: str = ""
    ) -> str | None:
        """A phrase for the first situation that has an unused one; None if all are used up."""
        if not fact and (plain := self._plain(case, turns, situations[0])):
            return plain
        guard, said = guard_of(case.language), [case.question, *(turn.user for turn in turns)]
        # From the most fitting to the most general, until one has a phrase left.
        for situation in situations:
            phrases = self.persona.speaks(case.language).phrases.get(situation, ())
            phrases = phrases or (_PLAINLY if situation == Situation.ASKED and fact else ())
            lines = [
                filled(phrase, case.question, fact) for phrase in phrases if fact or "$fact" not in phrase
            ]
            # A stand-in must not repeat itself either, once the question is filled in.
            left = [line for line in lines if guard.broken_rule(line, said) is None]
            if left:
                draw = stable_int(self.seed, case.id, self.persona.id, len(turns), situation)
                return left[draw % len(left)]
        return None


@cache
def _plain_lines(language: Language) -> dict[str, Any]:
    path = PERSONAS / f"_plain_{language}.toml"
    return read_toml(path) if path.exists() else {}


def filled(phrase: str, question: str, fact: str = "") -> str:
    """A phrase with the case's question for `$question`, cut if it is long, and with `$fact`.

    Its end mark stays only where the phrase ends with it: of 月額はいくらですか？

        $questionと聞いているんです。 -> 月額はいくらですかと聞いているんです。
        もう一度：$question           -> もう一度：月額はいくらですか？
    """
    asked = question.strip()
    if len(asked) > LONGEST_QUESTION:
        asked = asked[: LONGEST_QUESTION - 1].rstrip(_ENDS) + "…"
    bare = asked.rstrip(_ENDS) or asked
    ends_with_it = phrase.rstrip().endswith(("$question", "${question}"))
    if ends_with_it:
        phrase = phrase.rstrip().removesuffix("$question").removesuffix("${question}")
    start = Template(phrase).safe_substitute(question=bare, **({"fact": fact} if fact else {}))
    return start + asked if ends_with_it else start


def _help(case: Case, turns: Sequence[Turn]) -> float:
    """How much (0..1) of the needed answer these answers give together.

    That is the case's reference; without one, an answer that takes up the question and its goal. For a
    complaint no answer is of use.
    """
    texts = [turn.answer.text for turn in turns if turn.answer.error is None]
    if case.is_complaint:
        return 0.0
    # A reference that declines says nothing that a customer could be given.
    known = [text for text in all_references(case) if not is_refusal(text, case.language)]
    if known:
        return best_agreement("\n".join(texts), known, case.language).score
    chance = CHANCE[case.language]
    met = max(coverage(need, texts) for need in (case.question, case.goal or case.question))
    return max(0.0, (met - chance) / (1 - chance))


def _unmentioned(case: Case, turns: Sequence[Turn]) -> list[str]:
    """The facts that the customer has not mentioned yet, first those that the desk's last line is about.

    One with a telephone number, an order's or the like is mentioned once this is said, in whatever words.
    """
    said = [case.question, *(turn.user for turn in turns)]
    told = frozenset().union(*map(telling_numbers, said))

    def is_mentioned(fact: str) -> bool:
        numbers = telling_numbers(fact)
        return numbers <= told if numbers else coverage(fact, said) >= MENTIONED

    left = [fact for fact in case.facts.knows if not is_mentioned(fact)]
    return sorted(left, key=lambda fact: -coverage(fact, [turns[-1].answer.text]))
