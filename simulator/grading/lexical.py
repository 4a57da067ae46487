"""The trial judges: stand-ins for rubrics where no model judges, which count words and figures.

A rubric that counting cannot judge has none, and skips: on public label sets offline grades of fluency,
relevance and the customer's feeling were no better than chance.

What is counted of a turn stands in `Counted`: which of the answer's words stand in the passages and
which of the reference's in the answer, the figures that differ, and what the answer does (`response_of`).
Each function below makes a `LexicalVerdict` of it; `LIMITS` makes grades of shares:

    groundedness    0.5 of the answer's words are in the passages     3.33
                    0.6                                               4
                    0.9                                               5

Counting knows no meaning. So a figure that differs weighs far more than words that do, an answer that shares
a few words with its reference is not red (`UNSURE`), and every reason says that it is a trial's. `make
bench-validity` measures how far these grades agree with people: about as far as word overlap does.
"""

from bisect import bisect_right
from collections.abc import Callable
from functools import cache, cached_property
from typing import Literal, NamedTuple

from pydantic import JsonValue

from simulator.core.replies import share_of
from simulator.core.templates import fingerprint
from simulator.core.types import Case, GradingContext, Language, Response, Score
from simulator.text import phrases
from simulator.text.figures import Figure, differing, figures
from simulator.text.overlap import content, coverage
from simulator.text.segments import normalise
from simulator.text.wording import percent, quoted, wording

# Raised when what is counted changes: it is part of the fingerprint that is kept with every grade, so that
# grades of different formulas are never mixed.
FORMULA = 10
# At which share (0..1) the grades 2, 3, 4 and 5 are reached; nothing is a 1. One setting for both languages,
# chosen by eye on the bundled questions, not fitted to anything.
LIMITS = {
    # of the answer's words that are in the passages, less what figures in none of them take from it
    "groundedness": (0.25, 0.45, 0.6, 0.85),
    # of the nearest reference that the answer says
    "similarity": (0.1, 0.22, 0.42, 0.62),
}
# Decimals of a grade: enough to tell answers apart, and few enough to read.
DECIMALS = 2
# What is left of a share where a figure is in no passage, where another one stands in the place of the
# reference's, and where that is left out.
INVENTED, WRONG, LEFT_OUT = 0.45, 0.1, 0.8
# How far an answer and a refusal agree.
BOTH_WAYS = 0.05
# Less than this share of the reference is chance: pairs of Japanese signs meet less often than words. From
# `PART` on an answer with all its figures says the same.
LITTLE: dict[Language, float] = {"ja": 0.15, "en": 0.3}
PART = 0.3
# The grades of an answer that says the same, and of one of which counting cannot tell, which is not red.
SAME, UNSURE = 4, 3.5
# A passage is of use that holds this share of a statement of the reference, or of the question.
HOLDS_REFERENCE, HOLDS_QUESTION = 0.6, 0.5
# A sentence of which a smaller share was found is worth quoting in a reason; of more sentences than this the
# first ones are looked at one by one.
WORTH_QUOTING, MOST = 0.6, 40

ExpectedResponse = Literal["comfort", "refuse", "answer"]


def grade_of(share: float, judge: str) -> float:
    """The grade (1 to 5) of a share (0..1), rising in straight lines from limit to limit.

    Of groundedness 0 -> 1.0, 0.5 -> 3.33, 0.6 -> 4.0, 0.9 -> 5.0.
    """
    knots = (0.0, *LIMITS[judge])
    at = bisect_right(knots, share)
    if at == len(knots):
        return 5.0
    return round(at + (share - knots[at - 1]) / (knots[at] - knots[at - 1]), DECIMALS)


def expected_response(case: Case) -> ExpectedResponse:
    """What a right answer does: `comfort` a complaint, `refuse` the unanswerable, or `answer`.

    A case that does not say whether it can be answered cannot be when all its references decline.
    """
    if case.is_complaint:
        return "comfort"
    wanted = [text for row in case.references for text in row]
    declined = bool(wanted) and all(phrases.turns_away(text, case.language) for text in wanted)
    return "refuse" if case.answerable is False or (case.answerable is None and declined) else "answer"


def response_of(context: GradingContext) -> Response:
    """What an answer does, by its wording alone: the one place that says so where no model judges.

    That some of what was asked is left open counting cannot tell: it says `answered` of `partly`, too.
    """
    text, language = context.turn.answer.text, context.case.language
    if not any(map(str.isalnum, text)):
        return "nothing"
    if phrases.turns_away(text, language):
        return "handed_over" if phrases.names_contact(text, language) else "declined"
    if phrases.asks_back(text, language) and not phrases.statements(text, language):
        return "asked_back"
    # Of an answer that also passes the customer on the case says which of both is looked at.
    hands_over = context.case.handover != "optional" and phrases.hands_over(text, language)
    return "handed_over" if hands_over else "answered"


class Agreement(NamedTuple):
    """How far an answer says what a reference says (0..1): `share` by words alone, `score` with its figures.

    `lacks` are figures of the reference that the answer leaves out, `others` those that it gives instead.
    """

    score: float
    share: float
    lacks: tuple[Figure, ...] = ()
    others: tuple[Figure, ...] = ()

    @property
    def is_same(self) -> bool:
        """Whether it says the same, as far as can be counted."""
        return not self.lacks and self.score >= LIMITS["similarity"][2]


class Counted:
    """What is counted of one turn; nothing before it is asked for.

    An answer that was given before, to the same reference, is read as it was the first time: one answer, one
    colour. `references` are those of this turn, or of the case's question where it has none of its own.
    """

    def __init__(self, context: GradingContext) -> None:
        # Of the turn itself: its number, and whether it has a reference of its own.
        self.index, self.has_reference = context.turn.index, bool(context.references)
        self.context = context = _when_first_said(context)
        self.case, self.language, self.answer = context.case, context.case.language, context.turn.answer.text
        self.references = context.right_answers
        self.passages = tuple(passage.text for passage in context.turn.answer.passages)
        self.response, self.expected = response_of(context), expected_response(context.case)
        self.turned_away = phrases.turns_away(self.answer, self.language)
        self.say = wording(self.language)

    @cached_property
    def states(self) -> bool:
        """Whether it states anything that could be held against something."""
        return not self.turned_away and bool(phrases.statements(self.answer, self.language))

    @cached_property
    def asked(self) -> tuple[str, ...]:
        """What the customer said so far: its figures need no support."""
        said = (message.content for message in self.case.history if message.role == "user")
        return (*said, *(turn.user for turn in self.context.turns))

    @cached_property
    def support(self) -> float:
        """The share (0..1) of what it states that this turn's passages have, less what `invented` takes."""
        stated = "\n".join(phrases.statements(self.answer, self.language)) or self.answer
        return coverage(stated, self.passages) * (INVENTED if self.invented else 1)

    @cached_property
    def invented(self) -> tuple[Figure, ...]:
        """The figures of the answer that stand in no passage or reference, and that nobody named.

        Beside a right answer a single digit is no reason: it may be said in other words.
        """
        found = differing(self.answer, (*self.passages, *self.references, *self.asked))
        is_same = bool(self.references) and self.agreement.is_same
        return tuple(f for f in found if not is_same or sum(map(str.isdigit, f.text)) > 1)

    @cached_property
    def agreement(self) -> Agreement:
        """How far it says what the nearest reference says; several are alternatives."""
        every = [self.agreement_with(reference) for reference in self.references]
        return max(every, key=lambda agreement: agreement.score, default=Agreement(0.0, 0.0))

    def agreement_with(self, reference: str) -> Agreement:
        """How far it says what this reference says.

        Two that turn the customer away agree; one that does where the other answers hardly does.
        """
        declines = phrases.turns_away(reference, self.language)
        if declines or self.turned_away:
            share = 1.0 if declines and self.turned_away else BOTH_WAYS
            return Agreement(share, share)
        return agreement(self.answer, reference, self.asked)

    @cached_property
    def is_answerable(self) -> bool:
        """Whether something that was retrieved holds the reference, or without one what is asked."""
        return any(is_useful(self, text) for text in self.passages)


def agreement(answer: str, reference: str, asked: tuple[str, ...] = ()) -> Agreement:
    """How far an answer says what a reference says, both of them statements.

    Figures that the customer `asked` with need not be said again, and are nobody's mistake.
    """
    share = coverage(reference, [answer])
    # A sentence on something else may have the same figure by chance; one that is a figure alone has not.
    words = coverage(_words(reference), [answer]) if content(_words(answer)) else 1.0
    lacks = differing(reference, (answer, *asked))
    kinds = {figure.kind for figure in lacks}
    others = tuple(figure for figure in differing(answer, (reference, *asked)) if figure.kind in kinds)
    if figures(reference) and not lacks and words >= PART:
        return Agreement(max(share, LIMITS["similarity"][3]), share)
    return Agreement(share * (WRONG if others else LEFT_OUT if lacks else 1), share, lacks, others)


def _words(text: str) -> str:
    """A text without its figures, under NFKC in lower case."""
    plain = normalise(text)
    for figure in figures(text):
        plain = plain.replace(figure.text, " ")
    return plain


def _when_first_said(context: GradingContext) -> GradingContext:
    """The turn of this answer, or the first one that gave it where the same reference was wanted."""
    for at, turn in enumerate(context.earlier):
        first = context.model_copy(update={"turn": turn, "earlier": context.earlier[:at]})
        said_again = turn.answer.text.strip() == context.turn.answer.text.strip()
        if said_again and first.right_answers == context.right_answers:
            return first
    return context


class LexicalVerdict(NamedTuple):
    """A grade: `raw` on `scale` (None: not graded), its reason, and of `turn` what it is made of."""

    raw: float | None
    reason: str
    scale: tuple[float, float] = (1, 5)
    detail: dict[str, JsonValue] | None = None


def without(counted: Counted, lacking: str) -> LexicalVerdict:
    """No grade, because a `reference`, a `claim` or all `evidence` are missing."""
    return LexicalVerdict(None, counted.say(f"no_{lacking}", turn=str(counted.index)))


def groundedness(counted: Counted) -> LexicalVerdict:
    """The share of what is stated that this turn's passages have; a figure in none of them costs half.

    An answer that states nothing has nothing to be grounded, and no grade.
    """
    if not counted.states:
        return without(counted, "claim")
    if not counted.passages:
        return LexicalVerdict(1, counted.say("nothing_found"))
    grade = grade_of(counted.support, "groundedness")
    if counted.support >= PART and not counted.invented and counted.agreement.is_same:
        grade = max(grade, SAME)
    return LexicalVerdict(grade, counted.say.together(supported(counted)))


def sentences(text: str, language: Language) -> tuple[str, ...]:
    """The first `MOST` different sentences that state something."""
    return tuple(dict.fromkeys(phrases.statements(text, language)))[:MOST]


def supported(counted: Counted) -> list[str]:
    """Sentences on what the passages have of an answer, and what they have not."""
    say, stated = counted.say, sentences(counted.answer, counted.language)
    said = [say("supported", share=percent(coverage("\n".join(stated), counted.passages)))]
    if counted.invented:
        said.append(say("numbers", items=say.listed([figure.text for figure in counted.invented])))
    share, worst = min((coverage(text, counted.passages), text) for text in stated)
    return [*said, say("lacking", quote=quoted(worst))] if share < WORTH_QUOTING else said


def compared(counted: Counted) -> list[str]:
    """Sentences on what answer and reference have in common, and how they differ."""
    say, nearest = counted.say, counted.agreement
    declines = all(phrases.turns_away(text, counted.language) for text in counted.references)
    if declines or counted.turned_away:
        return [say("both_refuse" if declines and counted.turned_away else "only_one_refuses")]
    said = [say("matched", share=percent(nearest.share))]
    if nearest.lacks:
        said.append(say("wrong_numbers", items=say.listed([figure.text for figure in nearest.lacks])))
    return said


def _similar(
    counted: Counted, raw: Callable[[Agreement], float], scale: tuple[float, float] = (0, 1)
) -> LexicalVerdict:
    if not counted.has_reference:
        return without(counted, "reference")
    return LexicalVerdict(raw(counted.agreement), counted.say.together(compared(counted)), scale)


def similarity(counted: Counted) -> LexicalVerdict:
    """How far the answer says what the nearest reference says; another figure leaves a tenth of it."""
    return _similar(counted, lambda nearest: grade_of(nearest.score, "similarity"), (1, 5))


def llm_similarity(counted: Counted) -> LexicalVerdict:
    """The same as a share (0..1)."""
    return _similar(counted, lambda nearest: round(nearest.score, 4))


def llm_correctness(counted: Counted) -> LexicalVerdict:
    """1 when the answer says what the nearest reference says, and no other figure."""
    return _similar(counted, lambda nearest: float(nearest.is_same))


def wanted_statements(counted: Counted) -> tuple[str, ...]:
    """What the nearest reference states, sentence by sentence; none when it declines."""
    answers = [text for text in counted.references if not phrases.turns_away(text, counted.language)]
    nearest = max(answers, key=lambda text: coverage(text, [counted.answer]), default="")
    return sentences(nearest, counted.language)


def is_useful(counted: Counted, passage: str) -> bool:
    """Whether a passage holds most of a statement of the reference; without one, of what is asked."""
    if wanted := wanted_statements(counted):
        return any(coverage(text, [passage]) >= HOLDS_REFERENCE for text in wanted)
    needs = (counted.context.turn.user, counted.case.question)
    return any(coverage(need, [passage]) >= HOLDS_QUESTION for need in needs)


class Outcome(NamedTuple):
    """What became of a turn: two grades (1..5), and the key of the sentence that says it."""

    overall: float
    correctness: float
    conclusion: str


def turn(counted: Counted) -> LexicalVerdict:
    """How far the answer does what the desk should do here: comfort, decline or answer.

    An answer is held against the reference, if there is one, and against the passages; with neither there is
    nothing to count, and no grade.
    """
    if counted.expected == "answer" and not (counted.passages or counted.references):
        return without(counted, "evidence")
    rule = {"comfort": _comforting, "refuse": _declining, "answer": _answering}[counted.expected]
    found, say = rule(counted), counted.say
    against = "reference" if counted.references else "passages" if counted.passages else "neither"
    remarks = [
        *(compared(counted) if counted.references else []),
        *(supported(counted) if counted.states else []),
    ]
    explains = found.conclusion in ("good", "fair", "unsure", "poor", "beside")
    conclusion = say.together([say(found.conclusion), *(remarks[:2] if explains else [])])
    step = say(f"step_{counted.response}", quote=quoted(counted.answer))
    detail: dict[str, JsonValue] = {
        "correctness": found.correctness,
        "overall": found.overall,
        "steps": [say("step_need", quote=quoted(counted.context.turn.user)), step],
        "against": say(f"against_{against}"),
        "conclusion": say("mark") + conclusion,
    }
    return LexicalVerdict(found.overall, conclusion, detail=detail)


def _comforting(counted: Counted) -> Outcome:
    """A complaint needs an apology and a person, not an explanation."""
    is_sorry = phrases.apologises(counted.answer, counted.language)
    if phrases.hands_over(counted.answer, counted.language):
        return Outcome(5, 5, "complaint_good") if is_sorry else Outcome(4, 5, "complaint_no_apology")
    if counted.turned_away:
        return Outcome(2, 4, "complaint_refused")
    if is_sorry and not counted.states:
        return Outcome(3, 5, "complaint_no_handover")
    return Outcome(2 if is_sorry else 1, 3, "complaint_ignored")


def _declining(counted: Counted) -> Outcome:
    """A question that the material does not answer must be declined; what only states is invented."""
    if counted.turned_away:
        named = counted.response == "handed_over"
        return Outcome(5 if named else 4, 5, "rightly_refused" if named else "no_contact")
    return Outcome(4, 4, "asked_back") if counted.response == "asked_back" else Outcome(2, 2, "invented")


def _answering(counted: Counted) -> Outcome:
    """By the reference, where there is one, else by the passages."""
    if counted.case.handover == "required" and counted.response != "nothing":
        done = phrases.names_contact(counted.answer, counted.language)
        return Outcome(4, 5, "handed_over") if done else Outcome(3, 4, "no_handover")
    if counted.turned_away:
        return _turning_away(counted)
    if counted.response == "asked_back":
        return Outcome(UNSURE, UNSURE, "asked_back")
    return _stating(counted) if counted.response == "answered" else Outcome(1, 1, "poor")


def _turning_away(counted: Counted) -> Outcome:
    """Who declines what could be answered is at best a 2: still more than an answer to something else.

    Where nothing that was retrieved answers, and nobody says what is right, it is honest.
    """
    if counted.case.handover == "forbidden" and counted.response == "handed_over":
        return Outcome(2, 4, "needless_handover")
    if counted.is_answerable:
        return Outcome(2, 4, "wrongly_refused")
    known = counted.references or counted.case.answerable
    return Outcome(2, 4, "nothing_to_answer") if known else Outcome(4, 5, _declining(counted).conclusion)


def _stating(counted: Counted) -> Outcome:
    """Another figure is at most a 2, another matter a 1; other words alone are not red."""
    nearest = counted.agreement
    if not counted.references:
        return _outcome_of(grade_of(counted.support, "groundedness"))
    if nearest.share < LITTLE[counted.language] and not nearest.is_same:
        return Outcome(1, 1, "beside")
    if nearest.others or counted.invented:
        return Outcome(2, 2, "poor")
    if nearest.is_same:
        return _outcome_of(max(SAME, grade_of(nearest.score, "similarity")))
    return Outcome(UNSURE, UNSURE, "unsure")


def _outcome_of(grade: float) -> Outcome:
    return Outcome(grade, grade, ("poor", "poor", "fair", "good", "good")[int(grade) - 1])


# The judges of the shelf that have a stand-in.
STAND_INS: dict[str, Callable[[Counted], LexicalVerdict]] = {
    "turn": turn,
    "groundedness": groundedness,
    "similarity": similarity,
    "llm_similarity": llm_similarity,
    "llm_correctness": llm_correctness,
}


@cache
def rubric_of(judge: str) -> str:
    """The rubric of a lexical judge's scores: the formula, and a hash of all that decides its grades."""
    return f"lexical-{FORMULA}-{fingerprint(judge, repr(LIMITS), phrases.FILE.read_text(encoding='utf-8'))}"


def lexical_score(name: str, context: GradingContext) -> Score:
    """One of STAND_INS, played by counting: the score of a turn on the judge's own scale, with a reason.

    Skipped if its evidence is missing.
    """
    counted = Counted(context)
    verdict = STAND_INS[name](counted)
    graded = verdict.raw is not None
    return Score(
        judge=name,
        conversation=context.conversation,
        turn=context.turn.index,
        state="scored" if graded else "skipped",
        value=None if verdict.raw is None else share_of(verdict.raw, verdict.scale),
        raw=verdict.raw,
        scale=verdict.scale,
        reason=counted.say("mark") + verdict.reason if graded else verdict.reason,
        response=counted.response if name == "turn" else None,
        detail=verdict.detail or {},
        rubric=rubric_of(name),
    )
