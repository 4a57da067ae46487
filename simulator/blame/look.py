"""All that is known about one red turn, looked at once: what it needed, what it says, how it was graded."""

from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple, TypeGuard

from simulator.blame.cause import Found
from simulator.blame.corpus import Corpus, article_of, title_of
from simulator.blame.need import Need, is_retrieved, need_of, references_of
from simulator.core.types import Answer, GradingContext, Score, Turn
from simulator.stats.figures import RedTurn
from simulator.text.evidence import (
    Agreement,
    Finding,
    Reading,
    best_agreement,
    content_units,
    coverage,
    mass,
    share,
    topic_units,
)
from simulator.text.numerals import Quantity
from simulator.users.faults import CustomerFault

# From this agreement on, with nothing left out, an answer says what the reference says.
RIGHT = 0.6
# Judges that compare letters and words: another wording of the same is worth less to them.
BY_LETTERS = frozenset({
    "exact_match", "contains", "token_f1", "rouge_l", "meteor", "chrf", "cosine_similarity",
})  # fmt: skip
# Grades of a model from which on it vouches for an answer.
VOUCHED = 4
# An answer that takes up this much more of another question answers that one.
FITS_BETTER = 0.25
# A sentence of less content than this states no fact that could be made up.
SAYS_SOMETHING = 5
# An answer that shares this much with an earlier one repeats it.
REPEATED = 0.9
# Questions that share this much of their content ask the same.
SAME = 0.5


class Unsupported(NamedTuple):
    """Something an answer says that nothing bears out; `key` is the sentence of words.toml that tells it."""

    key: str
    text: str
    numbers: tuple[Quantity, ...] = ()


class Look:
    """One red turn with everything that bears on its cause; each figure is counted when it is asked for."""

    def __init__(  # noqa: PLR0917 - what there is to know of a turn
        self,
        red: RedTurn,
        exhibit: GradingContext,
        scores: Mapping[str, Score],
        corpus: Corpus | None,
        found: Found | None,
        fault: CustomerFault | None,
    ) -> None:
        """Counts nothing yet."""
        self.red, self.exhibit, self.scores, self.corpus = red, exhibit, scores, corpus
        self.found, self.fault = found, fault
        self.case, self.turn = exhibit.case, exhibit.turn
        self.language, self.asked = exhibit.case.language, exhibit.turn.meant
        self.reading = Reading(exhibit)

    @cached_property
    def need(self) -> Need:
        """The articles that the answer needed, and where they were."""
        return need_of(self.exhibit, self.corpus)

    @cached_property
    def words(self) -> str:
        """What is asked in this turn: of a line that only presses on, what the case asks."""
        if self.turn.index == 1 or self._asks_anew():
            return self.asked
        return self.case.question

    @property
    def asks_the_same(self) -> bool:
        """Whether the line has the case's question in it."""
        return self.turn.index == 1 or _same(self.asked, self.case.question)

    @cached_property
    def agreement(self) -> Agreement:
        """How far the answer says what the references of the turn, or of the case, say."""
        return best_agreement(self.turn.answer.text, references_of(self.exhibit), self.language)

    @cached_property
    def is_right(self) -> bool:
        """Whether the content is what it should be, whatever else is wrong."""
        grades = self._model_grades()
        if grades:
            return min(grades) >= VOUCHED
        said = self.agreement
        whole = said.score >= RIGHT and not (said.instead or said.contradicted or said.numbers)
        return whole and not said.missing

    @property
    def read_by_anyone(self) -> bool:
        """Whether any judge read the answer, instead of only comparing its letters with the reference's."""
        return not self.scores or not self.scores.keys() <= BY_LETTERS

    @cached_property
    def unsupported(self) -> tuple[Unsupported, ...]:
        """What the answer claims that neither passages nor references bear out, the gravest first."""
        if not self.turn.answer.shows_passages:
            return ()
        told = self._by_model()
        return told if told is not None else self._by_words()

    @cached_property
    def doubtful(self) -> str:
        """The first claim that the stand-in did not find in the passages, and no article has; or nothing.

        Too coarse to call an answer wrong, but where nothing else is wrong it is the likeliest reason.
        """
        for each in _list(self.scores.get("claims"), "claims"):
            text = str(each.get("claim", ""))
            if mass(topic_units(text)) < SAYS_SOMETHING:
                continue
            if each.get("verdict") != "supported" and not (self.corpus and self.corpus.bears_out(text)):
                return text
        return ""

    @property
    def searched(self) -> int:
        """How many passages the bot looks at."""
        return max(3, len(self.turn.answer.passages))

    @property
    def found_by_id(self) -> bool:
        """Whether ids alone tell what was needed, what came, and what came when the bot was asked again."""
        if not (self.corpus and self.found and self.need.exact):
            return False
        came = [passage.id for passage in self.turn.answer.passages]
        hit = any(article_of(each) in self.need.articles for each in self.found.ids)
        return self.corpus.knows([*came, *self.found.ids]) and hit == self.found.hit

    def title(self, article: str) -> str:
        """What an article is called: in the knowledge base, or as it was retrieved."""
        if self.corpus and (title := self.corpus.title(article)):
            return title
        passages = (p for t in (*self.exhibit.earlier, self.turn) for p in t.answer.passages)
        return next((title_of(p.text) for p in passages if p.id == article), "")

    def found_earlier(self) -> bool:
        """Whether an earlier turn of the conversation had retrieved what this one needed."""
        wanted, references = self.need.articles, references_of(self.exhibit)
        return any(
            is_retrieved(wanted, references, turn.answer.passages, self.exhibit, self.corpus)
            for turn in self.exhibit.earlier
        )

    def searched_again(self) -> str:
        """The earlier question whose passages came again although something else was asked; or nothing."""
        ids = {passage.id for passage in self.turn.answer.passages}
        for turn in self._other_questions():
            before = {passage.id for passage in turn.answer.passages}
            if ids and len(ids & before) >= 0.75 * len(ids):
                return turn.meant
        return ""

    def repeats(self, question: str) -> bool:
        """Whether the answer is the one that this earlier question got."""
        said = content_units(self.turn.answer.text)
        before = [turn for turn in _with_history(self.exhibit) if turn.meant == question]
        return any(share(said, content_units(turn.answer.text)) >= REPEATED for turn in before)

    def answers_earlier(self) -> str:
        """The earlier question that the answer fits better than the one asked now; or nothing."""
        said = self.turn.answer.text
        now = coverage(self.asked, [said])
        for turn in self._other_questions():
            if self.repeats(turn.meant) or coverage(turn.meant, [said]) - now >= FITS_BETTER:
                return turn.meant
        return ""

    def _other_questions(self) -> list[Turn]:
        """Earlier turns in which something else was asked, when this turn asks something of its own."""
        if not self._asks_anew():
            return []
        return [turn for turn in reversed(_with_history(self.exhibit)) if not _same(self.asked, turn.meant)]

    def _asks_anew(self) -> bool:
        """Whether the turn has a right answer of its own, or its words lead to another article."""
        if self.exhibit.references:
            return True
        if self.corpus is None:
            return False
        now = self.corpus.ranked(self.asked, 1)
        before = self.corpus.ranked(self.case.question, 1)
        return bool(now) and now != before and coverage(self.asked, [now[0].text]) >= SAME

    def _model_grades(self) -> list[float]:
        """Completeness and correctness by the turn judge, where a model gave them."""
        score = self.scores.get("turn")
        if score is None or _is_stand_in(score):
            return []
        grades = [score.detail.get(name) for name in ("completeness", "correctness")]
        return [float(grade) for grade in grades if isinstance(grade, int | float)]

    def _by_model(self) -> tuple[Unsupported, ...] | None:
        """What models found unsupported; None when none looked at it."""
        claims, grounded = self.scores.get("claims"), self.scores.get("groundedness")
        if _is_graded(claims) and not _is_stand_in(claims):
            told = [each for each in _list(claims, "claims") if each.get("verdict") != "supported"]
            keys = {"contradicted": "contradicted", "not_found": "unsupported"}
            found = [
                Unsupported(keys.get(str(each.get("verdict")), "unsupported"), str(each.get("claim", "")))
                for each in told
            ]
            return tuple(sorted(found, key=lambda each: each.key != "contradicted"))
        if _is_graded(grounded) and not _is_stand_in(grounded):
            low = grounded.raw is not None and grounded.raw < VOUCHED
            return (Unsupported("unsupported", self.turn.answer.text),) if low else ()
        return None

    def _by_words(self) -> tuple[Unsupported, ...]:
        """Claims with figures or statements that are in no passage, or the opposite of one."""
        found = [each for claim in self.reading.evidence.claims if (each := self._unsupported(claim))]
        order = ("contradicted", "numbers", "unsupported")
        return tuple(sorted(found, key=lambda each: order.index(each.key)))

    def _unsupported(self, claim: Finding) -> Unsupported | None:
        if not (claim.contradicted or claim.numbers or claim.is_invented):
            return None
        if self.corpus and self.corpus.bears_out(claim.text):
            return None
        if claim.contradicted:
            return Unsupported("contradicted", claim.text)
        if claim.numbers:
            return Unsupported("numbers", claim.text, claim.numbers)
        return Unsupported("unsupported", claim.text)


def _with_history(exhibit: GradingContext) -> list[Turn]:
    """The earlier turns, those of the case's own history first."""
    lines = exhibit.case.history
    pairs = [
        (user.content, desk.content)
        for user, desk in pairwise(lines)
        if user.role == "user" and desk.role == "assistant"
    ]
    told = [Turn(index=1, user=user, answer=Answer(text=desk)) for user, desk in pairs]
    return [*told, *exhibit.earlier]


def _same(one: str, other: str) -> bool:
    """Whether two lines ask the same; one may quote the other."""
    return (
        share(topic_units(one), content_units(other)) >= SAME
        or share(topic_units(other), content_units(one)) >= 0.8
    )


def _is_graded(score: Score | None) -> TypeGuard[Score]:
    return score is not None and score.state == "scored"


def _is_stand_in(score: Score | None) -> bool:
    """Whether the grade was counted, not given by a model."""
    return score is None or score.by_rule or score.rubric.startswith("lexical-")


def _list(score: Score | None, key: str) -> Sequence[Mapping[str, object]]:
    told = score.detail.get(key) if score else None
    return [each for each in told if isinstance(each, dict)] if isinstance(told, list) else []
