"""The customer without a model: phrases and short lines, chosen by the kind of answer that the desk gave.

Deterministic and quick: good enough to try everything, but it understands nothing.

Each answer is first put into a `Situation` by what can be counted (`text/phrases.py`, `text/overlap.py`):

    an error, or nothing                                     FAILED
    it passes the customer on to a person                    HANDED_OVER
    it declines, or names somebody to turn to alone          REFUSED
    0.6 of a reference is said in the last five answers      CONTENT
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
from simulator.core.types import (
    Answer,
    Case,
    Language,
    Next,
    Persona,
    Reaction,
    Response,
    Turn,
    Utterance,
)
from simulator.text.figures import differing
from simulator.text.overlap import coverage
from simulator.text.phrases import asks_back, declines, hands_over, turns_away, without_courtesies
from simulator.text.wording import wording
from simulator.users.details import asked_details, is_mentioned
from simulator.users.guard import guard_of
from simulator.users.rules import ruled, says_again, useless_in_a_row

# The share of the reference that has to be said (0..1) to be of use, and to content a customer; and what is
# left of it where a figure of the reference was left out, or another of its kind was said.
OF_USE, CONTENTING = 0.2, 0.6
LEFT_OUT, WRONG = 0.9, 0.2
# What is left without any reference: to take up a question is not to answer it.
ECHO = 0.8
# From this share (0..1) of an answer's content on, another one is about the same matter. Low, since the same
# thing is said in many words, and a wrong "no longer fits" costs the rest of a replay.
SAME_MATTER = 0.2
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
_GOT: dict[Situation, Response] = {
    Situation.FAILED: "nothing",
    Situation.REFUSED: "declined",
    Situation.USELESS: "nothing",
    Situation.HANDED_OVER: "handed_over",
    Situation.ASKED: "asked_back",
    Situation.PARTLY: "partly",
    Situation.CONTENT: "answered",
}
_FELT: dict[Response, int] = {
    "nothing": -1, "declined": -1, "asked_back": 0, "partly": 0, "answered": 2, "handed_over": 1,
}  # fmt: skip
# What a stand-in would do by itself; the rules know when it has to stay.
_LEAVES: dict[Response, Next] = {"answered": "satisfied", "handed_over": "handed_over"}


class PhraseUser:
    """Plays a persona from its phrases: reacts to the kind of answer it got, never says a line twice.

    The same case, persona and seed always give the same words.
    """

    def __init__(self, persona: Persona, seed: int, wanted: int = 0) -> None:
        """`wanted` see `wanted_turns`; `seed` belongs to this conversation."""
        self.persona, self.seed, self.wanted = persona, seed, wanted
        self._met: list[tuple[Turn, Situation]] = []  # of earlier calls: a conversation only grows

    async def __call__(self, case: Case, turns: tuple[Turn, ...]) -> Utterance:
        """The next line, or leaving, as the persona's rules have it: see `simulator.users.rules`."""
        if not turns:
            return Utterance(text=case.question)
        # By identity: turns are the same objects as long as the conversation is the same.
        pairs = zip(self._met, turns, strict=False)
        met = [entry for entry, _turn in takewhile(lambda pair: pair[0][0] is pair[1], pairs)]
        met += [(turns[at], self._situation(case, turns[: at + 1])) for at in range(len(met), len(turns))]
        self._met, situations = met, [situation for _turn, situation in met]
        course = self._course(situations, turns, case)
        line = self._line(case, turns, situations, course)
        return line.model_copy(update={"reaction": course[-1].model_copy(update={"next": line.next})})

    async def follow(self, case: Case, turns: tuple[Turn, ...], line: str, before: Answer) -> Utterance:
        """`line`, which replied to the answer `before`, if the last answer is of its kind; else another."""
        if still_fits(before, turns[-1].answer, case.language):
            return Utterance(text=line)
        return (await self(case, turns)).model_copy(update={"diverged": True})

    def _course(self, situations: Sequence[Situation], turns: Sequence[Turn], case: Case) -> list[Reaction]:
        """What the persona's rules make of each answer; a useless one annoys, a repetition twice as much."""
        course: list[Reaction] = []
        for at, situation in enumerate(situations):
            got = self._got(situation, case, turns[at])
            repeated = says_again(turns[at].answer.text, [turn.answer.text for turn in turns[:at]])
            before = course[-1].feeling if course else self.persona.feeling
            move = -2 if repeated and got not in _LEAVES else _FELT[got]
            feeling = max(-2, min(2, before + move))
            leaves = _LEAVES.get(got, "stay")
            if got == "answered" and at + 2 <= self.wanted:
                leaves = "stay"
            elif self.wanted and got in ("nothing", "declined") and _is_served(course):
                leaves = "satisfied"  # what else they asked can wait
            said = Reaction(got=got, feeling=feeling, next=leaves)
            reaction = ruled(self.persona, [*course, said], repeated=repeated, wanted=self.wanted)
            course.append(reaction.model_copy(update={"overruled": None}))  # there is no model to overrule
        return course

    def _got(self, situation: Situation, case: Case, turn: Turn) -> Response:
        """What an answer gave: one that tells a part and then asks has given the part."""
        is_part = situation is Situation.ASKED and _help(case, [turn]) >= OF_USE
        return "partly" if is_part else _GOT[situation]

    def _line(
        self, case: Case, turns: Sequence[Turn], situations: Sequence[Situation], course: Sequence[Reaction]
    ) -> Utterance:
        say, phrases = wording(case.language), self.persona.speaks(case.language).phrases
        last, how = situations[-1], course[-1].next
        if last is Situation.PARTLY and course[-1].got == "nothing":  # the same part again
            last = Situation.USELESS
        if how in ("handed_over", "satisfied"):
            had_trouble = "at_last" in phrases and any(
                reaction.got in ("nothing", "declined") for reaction in course
            )
            return self._leave(case, turns, how, "at_last" if had_trouble else "thanks", say(f"left_{how}"))
        if how == "gave_up":
            unhelpful = str(useless_in_a_row(course))
            return self._leave(case, turns, "gave_up", "leaving", say("left_gave_up", count=unhelpful))
        # And still here: a person is wanted, the answer doubted, or something else asked.
        if last is Situation.CONTENT:
            last = Situation.PARTLY
        text = None
        tells = last is Situation.ASKED or (len(turns) == 1 and self.persona.discloses == "at_once")
        if tells and self.persona.discloses != "never":  # the first fact that this persona has words for
            lines = (
                self._unused(case, turns, (Situation.ASKED,), fact.strip().rstrip(_ENDS))
                for fact in _to_tell(case, turns) or _unmentioned(case, turns)
            )
            text = next(filter(None, lines), None)
        elif asks_back(turns[-1].answer.text, case.language):
            text = self._plain(case, turns, "asked")
        is_served = course[-1].got == "answered"
        others = () if is_served else (Situation.USELESS, Situation.PARTLY)
        text = text or self._unused(case, turns, (last, *others))
        if text is None and is_served:
            return self._leave(case, turns, "satisfied", "thanks", say("left_satisfied"))
        if text is None:
            return self._leave(case, turns, "gave_up", "leaving", say("left_speechless"))
        return Utterance(text=text, reason=say(f"met_{last}"))

    def _situation(self, case: Case, turns: Sequence[Turn]) -> Situation:
        """What the last of these answers was, given the answers before it."""
        answer = turns[-1].answer
        match _kind(answer, case.language):
            case "nothing":
                return Situation.FAILED
            case "handover":
                return Situation.HANDED_OVER
            case "refusal" if _help(case, turns[-1:]) < CONTENTING:
                return Situation.REFUSED
        if _help(case, turns[-REMEMBERED:]) >= CONTENTING:
            return Situation.CONTENT
        if _to_tell(case, turns):
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
        # So of who is angry, or wants one thing.
        keeps_phrases = self.persona.feeling < 0 or self.persona.asks_for_person
        if keeps_phrases or draw("plain") >= table.get("share", 0.0) * 2**31:
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


def _is_served(course: Sequence[Reaction]) -> bool:
    return any(reaction.got == "answered" for reaction in course)


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


def still_fits(before: Answer, now: Answer, language: Language) -> bool:
    """Whether a line that replied to one answer also replies to another, as far as can be counted.

    Both must be of a kind: no answer, a refusal, a person promised, a question to the customer, or a
    statement; and questions and statements of the same matter.

        月額990円です。                月額は990円になります。             it fits
        月額990円です。                申し訳ございませんが、分かりかねます。   it does not: a refusal
        ご契約のプランはお分かりですか？  月額990円です。                  it does not: no question any more
    """
    kinds = {_kind(answer, language) for answer in (before, now)}
    if len(kinds) > 1 or kinds <= {"nothing", "refusal", "handover"}:
        return len(kinds) == 1
    return coverage(without_courtesies(before.text, language), [now.text]) >= SAME_MATTER


def _kind(answer: Answer, language: Language) -> str:
    if answer.error is not None or not answer.text.strip():
        return "nothing"
    if hands_over(answer.text, language):
        return "handover"
    if turns_away(answer.text, language):
        return "refusal"
    return "question" if asks_back(answer.text, language) else "statement"


def _help(case: Case, turns: Sequence[Turn]) -> float:
    """How much (0..1) of the needed answer these answers give together.

    That is the case's reference; without one, an answer that takes up the question and its goal. For a
    complaint no answer is of use.
    """
    texts = [turn.answer.text for turn in turns if turn.answer.error is None]
    if case.is_complaint:
        return 0.0
    # A reference that declines says nothing that a customer could be given.
    references = (text for row in case.references for text in row if not declines(text, case.language))
    wanted = [without_courtesies(text, case.language) for text in references]
    if wanted:
        return max(coverage(text, texts) * _right(text, texts, case.question) for text in wanted)
    return ECHO * max(coverage(need, texts) for need in (case.question, case.goal or case.question))


def _right(wanted: str, texts: Sequence[str], question: str) -> float:
    """What is left (0..1) of an answer by the figures of a reference that it has not."""
    lacking = {figure.kind for figure in differing(wanted, [*texts, question])}
    others = {figure.kind for text in texts for figure in differing(text, [wanted, question])}
    return WRONG if lacking & others else LEFT_OUT if lacking else 1.0


def _to_tell(case: Case, turns: Sequence[Turn]) -> list[str]:
    """What the desk's last answer has the customer tell: details that it asks for, also again, then facts."""
    answer = turns[-1].answer.text
    facts = _unmentioned(case, turns) if asks_back(answer, case.language) else []
    return [*asked_details(case, answer), *facts]


def _unmentioned(case: Case, turns: Sequence[Turn]) -> list[str]:
    """The facts that the customer has not mentioned yet, first those that the desk's last line is about."""
    said = [case.question, *(turn.user for turn in turns)]
    left = [fact for fact in case.facts.knows if not is_mentioned(fact, said)]
    return sorted(left, key=lambda fact: -coverage(fact, [turns[-1].answer.text]))
