"""The evidence of a red turn: what it needed, where that was, and what its answer says."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from math import log
from typing import Literal, NamedTuple, TypeGuard

from simulator.core.document import Text
from simulator.core.types import Answer, GradingContext, Language, Passage, Score, Turn, Value
from simulator.stats.figures import RedTurn
from simulator.text.acts import claims, is_refusal
from simulator.text.evidence import (
    Agreement,
    Support,
    TurnEvidence,
    all_references,
    best_agreement,
    content_units,
    coverage,
    passage_contents,
    share,
    support,
    topic_units,
    total_weight,
)
from simulator.text.numerals import Quantity, quantities, unmatched
from simulator.text.segments import sentences
from simulator.users.faults import CustomerFault

# Saturation and length of BM25 (Robertson and Zaragoza, 2009), at their usual values.
SATURATION, LENGTH = 1.2, 0.75
# From this share of its content on, what a reference states is held by a text.
HELD = 0.6
# The same, where it is known which article is the right one, and this is another.
ELSEWHERE = 0.85
# From this share of what a reference states on, rare words weighing more, an article is taken to say it;
# below the other one, and with less than that of the question, no article is taken to.
SAID, NOWHERE, ASKED = 0.75, 0.4, 0.5
# Articles that are looked at closely for one text.
CLOSE = 5
TITLE = 30
# A retrieved passage of which this share is in an article is a piece of it, whatever it is called.
PIECE = 0.9
# Pieces that hold less than this share of what their whole article holds of a reference lack the answer.
ENOUGH = 0.8
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
# A claim of whose words less than this share is in the passages is doubtful.
DOUBTFUL = 0.4
# An answer that shares this much with an earlier one repeats it.
REPEATED = 0.9
# Questions that share this much of their content ask the same.
SAME = 0.5

Cause = Literal[
    "no_answer", "customer", "should_refuse", "should_answer", "misunderstood", "knowledge", "outdated",
    "spelling", "retrieval", "ignored", "invented", "tone", "unclear",
]  # fmt: skip


Extent = Literal["said", "doubtful", "nowhere"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RootCause:
    """The cause of one red turn; `sure` if a rule or asking again proves it, not likeness of words.

    `evidence` is one sentence; `articles` are the ids of the passages that the answer
    needed; `pair` is a spelling to register: as it was asked, as the article writes it. `cut` says that only
    another piece of the needed article was retrieved than the one with the answer.
    """

    conversation: str
    turn: int
    cause: Cause
    sure: bool = False
    evidence: Text
    articles: tuple[str, ...] = ()
    pair: tuple[str, str] | None = None
    cut: bool = False


class RetrievalCheck(Value):
    """What the bot retrieves when it is asked again: in the article's own words, and with one word replaced.

    `words` is what was asked; `ids` are the retrieved passages; `hit` says whether the needed article is
    among them. `pair` is the one word whose replacement alone brings the article. Of a bot that shows no
    passages `hit` is None: nobody knows.
    """

    words: str
    hit: bool | None
    ids: tuple[str, ...] = ()
    pair: tuple[str, str] | None = None


def article_of(passage: str) -> str:
    """The article that a passage is a piece of: `ja/01-plans#2` is of `ja/01-plans`."""
    return passage.partition("#")[0]


def title_of(text: str) -> str:
    """What an article calls itself: its first line, shortened."""
    first = next((line.strip("# ").strip() for line in text.splitlines() if line.strip("# ")), "")
    return first if len(first) <= TITLE else first[: TITLE - 1] + "…"


class Corpus:
    """A knowledge base that can be searched; `by_article` has its passages by article."""

    def __init__(self, passages: Sequence[Passage]) -> None:
        """Builds no index before the first search."""
        self.passages = tuple(passages)
        self.by_article: dict[str, list[Passage]] = {}
        for passage in passages:
            self.by_article.setdefault(article_of(passage.id), []).append(passage)
        self.ids = frozenset(passage.id for passage in passages)

    def knows(self, articles: Iterable[str]) -> bool:
        """Whether all of these articles are there."""
        return all(article_of(article) in self.by_article for article in articles)

    def shares_ids(self, articles: Iterable[str]) -> bool:
        """Whether these ids look like the knowledge base's own: they are in one of its folders."""
        folders = {article.rpartition("/")[0] for article in self.by_article}
        return any(article.rpartition("/")[0] in folders for article in map(article_of, articles))

    def texts(self, articles: Iterable[str]) -> tuple[str, ...]:
        """The texts of all passages of these articles."""
        return tuple(p.text for article in articles for p in self.by_article.get(article_of(article), ()))

    def title(self, article: str) -> str:
        """The title of an article, empty when it is not there."""
        return title_of(next(iter(self.texts([article])), ""))

    def ranked(self, text: str, most: int = CLOSE) -> list[Passage]:
        """The passages that have most of the words of a text, best first (BM25)."""
        scores: Counter[int] = Counter()
        for unit in topic_units(text):
            places = self._postings.get(unit, ())
            rarity = log(1 + (len(self.passages) - len(places) + 0.5) / (len(places) + 0.5))
            for place, count in places:
                norm = SATURATION * (1 - LENGTH + LENGTH * self._lengths[place] / self._mean)
                scores[place] += rarity * count * (SATURATION + 1) / (count + norm)  # type: ignore[assignment]
        return [self.passages[place] for place, _ in scores.most_common(most)]

    def finds(self, text: str, articles: Collection[str], most: int) -> bool:
        """Whether the words of a text bring a passage of these articles among the first `most`."""
        wanted = set(map(article_of, articles))
        return any(article_of(passage.id) in wanted for passage in self.ranked(text, most))

    def holding(self, references: Iterable[str], language: Language, least: float = HELD) -> tuple[str, ...]:
        """The articles that hold what these references state: at most one for each reference."""
        found: list[str] = []
        for reference in references:
            near = self.ranked(reference)
            best = max(near, key=lambda p: share_held(reference, [p.text], language), default=None)
            if best and share_held(reference, [best.text], language) >= least:
                found.append(article_of(best.id))
        return tuple(dict.fromkeys(found))

    def extent(
        self, references: Sequence[str], question: str, language: Language
    ) -> tuple[Extent, tuple[str, ...]]:
        """Whether any article says what a reference states, and the nearest article.

        `doubtful`: an article says part of it, says it without its amounts, or takes up the question; the
        answer may be there in other words, or follow from what is there.
        """
        near = (passage for text in (*references, question) for passage in self.ranked(text))
        found = [
            (max((self._said(each, article, language) for each in references), default=0.0), article)
            for article in dict.fromkeys(article_of(passage.id) for passage in near)
        ]
        said, nearest = max(found, default=(0.0, ""))
        asked = max((self._share(question, article) for _, article in found), default=0.0)
        amounts = quantities("\n".join(self.texts([nearest])))
        whole = any(not unmatched(quantities(each), amounts) for each in references)
        extent: Extent = "said" if said >= SAID and whole else "doubtful"
        return "nowhere" if said < NOWHERE and asked < ASKED else extent, (nearest,) if nearest else ()

    def _said(self, reference: str, article: str, language: Language) -> float:
        stated = claims(reference, language) or sentences(reference)
        weights = [(total_weight(topic_units(each)), self._share(each, article)) for each in stated]
        whole = sum(weight for weight, _ in weights)
        return sum(weight * found for weight, found in weights) / whole if whole else 0.0

    def _share(self, text: str, article: str) -> float:
        """The share of a text's content, by rarity, in the passage of an article that has most of it."""
        weights = {unit: self._rarity(unit) * count for unit, count in topic_units(text).items()}
        whole = sum(weights.values())
        found = (
            sum(weights[unit] for unit in weights.keys() & content_units(passage.text).keys())
            for passage in self.by_article[article]
        )
        return max(found, default=0.0) / whole if whole else 0.0

    def _rarity(self, unit: str) -> float:
        return log(1 + len(self.passages) / (1 + len(self._postings.get(unit, ()))))

    def supports(self, sentence: str) -> bool:
        """Whether one of the articles says this, with its numbers."""
        for passage in self.ranked(sentence):
            found = support(sentence, passage_contents((passage.text,)))
            if found.share >= HELD and not found.numbers:
                return True
        return False

    @cached_property
    def _postings(self) -> dict[str, list[tuple[int, int]]]:
        """By unit, the passages that have it and how often."""
        found: dict[str, list[tuple[int, int]]] = {}
        for place, passage in enumerate(self.passages):
            for unit, count in content_units(passage.text).items():
                found.setdefault(unit, []).append((place, count))
        return found

    @cached_property
    def _lengths(self) -> list[int]:
        return [content_units(passage.text).total() for passage in self.passages]

    @property
    def _mean(self) -> float:
        return max(1.0, sum(self._lengths) / max(1, len(self._lengths)))


def share_held(reference: str, texts: Sequence[str], language: Language) -> float:
    """The share (0..1) of what a reference states that these texts hold.

    Each statement has to be in one of them: many texts together have most words of anything. A number
    that is missing halves it.
    """
    stated = claims(reference, language) or sentences(reference)
    weights = [(total_weight(topic_units(each)), _best(each, texts)) for each in stated]
    whole = sum(weight for weight, _ in weights)
    return sum(weight * found for weight, found in weights) / whole if whole else 0.0


def _best(statement: str, texts: Sequence[str]) -> float:
    """How much of a statement the text holds that has most of it."""
    wanted, numbers = topic_units(statement), quantities(statement)
    return max(
        (
            share(wanted, content_units(text)) * (0.5 if unmatched(numbers, quantities(text)) else 1)
            for text in texts
        ),
        default=0.0,
    )


def holds(references: Iterable[str], texts: Sequence[str], language: Language, least: float = HELD) -> bool:
    """Whether these texts hold one of the references."""
    return bool(texts) and any(share_held(reference, texts, language) >= least for reference in references)


Place = Literal["retrieved", "not_retrieved", "lacking", "doubtful", "outside", "hidden", "unknown"]


class NeededArticles(NamedTuple):
    """The articles that an answer needed (ids), and where they were.

    `retrieved`: among the passages of the turn; `not_retrieved`: in the knowledge base only; `lacking`: not
    even there, nor does any other article come near; `doubtful`: words do not tell whether it is there;
    `outside`: not retrieved, and the knowledge base is not known; `hidden`: the bot does not show what it
    retrieves; `unknown`: neither gold nor reference say what was needed. `exact`: the case names the article,
    and the knowledge base has it by that name, so that no words were compared. `cut` says that pieces of the
    article were retrieved, and the piece with the answer was not.
    """

    place: Place
    articles: tuple[str, ...] = ()
    exact: bool = False
    cut: bool = False


def references_of(context: GradingContext) -> tuple[str, ...]:
    """What a right answer says: the references of the turn, or else of the case; refusals say nothing."""
    language = context.case.language
    texts = context.references or all_references(context.case)
    return tuple(text for text in texts if not is_refusal(text, language))


def need_of(context: GradingContext, corpus: Corpus | None) -> NeededArticles:
    """The articles that this turn needed, and where they were."""
    answer, language = context.turn.answer, context.case.language
    references = references_of(context)
    articles, exact = _needed(context, references, corpus)
    if not articles and not references:
        return NeededArticles("unknown")
    if not answer.shows_passages:
        absent = corpus and not articles and _elsewhere(context, references, (), corpus).place == "lacking"
        return (
            NeededArticles("lacking")
            if absent
            else NeededArticles("hidden", articles or context.case.passages)
        )
    if is_retrieved(articles, references, answer.passages, context, corpus):
        return NeededArticles("retrieved", articles)
    if corpus is None:
        return NeededArticles("outside", articles)
    there = corpus.texts(articles)
    if not there or (references and not holds(references, there, language) and not _is_faint(context)):
        return _elsewhere(context, references, articles, corpus)
    cut = is_cut_off(articles, references, answer.passages, context, corpus)
    return NeededArticles("not_retrieved", _absent(articles, answer.passages, corpus) or articles, exact, cut)


def _elsewhere(
    context: GradingContext, references: Sequence[str], articles: tuple[str, ...], corpus: Corpus
) -> NeededArticles:
    """Where the answer is when the needed articles are not there, or do not say it in these words."""
    own = bool(context.references) and context.turn.index > 1
    question = context.turn.meant if own else context.case.question
    extent, nearest = corpus.extent(references, question, context.case.language)
    if extent == "said":
        came = any(is_of(passage, nearest[0], corpus) for passage in context.turn.answer.passages)
        return NeededArticles("retrieved" if came else "not_retrieved", nearest)
    if extent == "nowhere" and not corpus.texts(articles) and not (references and _is_faint(context)):
        return NeededArticles("lacking", articles)
    return NeededArticles("doubtful", articles if corpus.texts(articles) else nearest)


def is_retrieved(
    articles: Sequence[str],
    references: Sequence[str],
    passages: Sequence[Passage],
    context: GradingContext,
    corpus: Corpus | None,
) -> bool:
    """Whether the passages hold what is needed: by their ids, or by what the reference says."""
    texts = [passage.text for passage in passages]
    least = ELSEWHERE if articles else HELD
    if references and holds(references, texts, context.case.language, least):
        return True
    found = [article for article in articles if any(is_of(p, article, corpus) for p in passages)]
    if not articles or len(found) < len(articles):
        return False
    # The right article, but another piece of it: only what the reference says can tell.
    if corpus is None or not references:
        return True
    if any(len(corpus.by_article.get(article_of(a), ())) > 1 for a in articles):
        return holds(references, texts, context.case.language)
    return not is_cut_off(articles, references, passages, context, corpus)


def is_cut_off(
    articles: Sequence[str],
    references: Sequence[str],
    passages: Sequence[Passage],
    context: GradingContext,
    corpus: Corpus,
) -> bool:
    """Whether pieces of the needed articles were retrieved that lack what the whole articles say."""
    pieces = [p.text for p in passages if any(is_of(p, article, corpus) for article in articles)]
    whole, language = corpus.texts(articles), context.case.language
    if not pieces or not holds(references, whole, language):
        return False
    return all(
        share_held(reference, pieces, language) < ENOUGH * share_held(reference, whole, language)
        for reference in references
    )


def _absent(articles: Sequence[str], passages: Sequence[Passage], corpus: Corpus) -> tuple[str, ...]:
    """Those articles of which no passage was retrieved."""
    return tuple(each for each in articles if not any(is_of(p, each, corpus) for p in passages))


def is_of(passage: Passage, article: str, corpus: Corpus | None) -> bool:
    """Whether a retrieved passage is a piece of an article: by id, by source, or by its text."""
    wanted = article_of(article)
    names = {article_of(passage.id), passage.source or "", _without_suffix(passage.source or "")}
    if wanted in names:
        return True
    texts = corpus.texts([article]) if corpus and passage.id not in corpus.ids else ()
    units = content_units(passage.text)
    return any(share(units, content_units(text)) >= PIECE for text in texts)


def _needed(
    context: GradingContext, references: Sequence[str], corpus: Corpus | None
) -> tuple[tuple[str, ...], bool]:
    """The needed articles, and whether they are known exactly: by gold ids on the turn they belong to."""
    own = bool(context.references) and context.turn.index > 1
    gold = context.case.passages
    if gold and not own and (corpus is None or corpus.knows(gold)):
        first = context.turn.index == 1 or context.turn.meant == context.case.question
        return _unique(gold), first and corpus is not None
    strange = own or not gold or not (corpus and corpus.shares_ids(gold))
    least = HELD if strange else ELSEWHERE
    holding = corpus.holding(references, context.case.language, least) if corpus else ()
    return holding or (() if own else _unique(gold)), False


def _is_faint(context: GradingContext) -> bool:
    """Whether the references are too short to tell by their words whether an article holds them."""
    return all(len(text) < 12 for text in references_of(context))


def _unique(ids: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(map(article_of, ids)))


def _without_suffix(source: str) -> str:
    head, dot, tail = source.rpartition(".")
    return head if dot and "/" not in tail else source


UnsupportedKind = Literal["contradicted", "numbers", "unsupported"]


class UnsupportedStatement(NamedTuple):
    """An unsupported statement of an answer."""

    kind: UnsupportedKind
    text: str
    numbers: tuple[Quantity, ...] = ()


class RedTurnEvidence:
    """One red turn with all the evidence of its cause, computed when it is first needed."""

    def __init__(  # noqa: PLR0917 - all that is known about a turn
        self,
        red: RedTurn,
        context: GradingContext,
        scores: Mapping[str, Score],
        corpus: Corpus | None,
        check: RetrievalCheck | None,
        customer_fault: CustomerFault | None,
    ) -> None:
        """`check` is what the bot retrieved when it was asked again; None if nobody asked."""
        self.red, self.context, self.scores, self.corpus = red, context, scores, corpus
        self.check, self.customer_fault = check, customer_fault
        self.case, self.turn = context.case, context.turn
        self.language, self.asked = context.case.language, context.turn.meant
        self.reading = TurnEvidence(context)

    @cached_property
    def need(self) -> NeededArticles:
        """The articles that the answer needed, and where they were."""
        return need_of(self.context, self.corpus)

    @cached_property
    def words(self) -> str:
        """The question of this turn; the case's own question if the line only presses for an answer."""
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
        return best_agreement(self.turn.answer.text, references_of(self.context), self.language)

    @cached_property
    def is_right(self) -> bool:
        """Whether the content is what it should be, whatever else is wrong."""
        grades = self._model_grades()
        if grades:
            return min(grades) >= VOUCHED
        said = self.agreement
        whole = said.score >= RIGHT and not (said.instead or said.numbers)
        return whole and not said.missing

    @property
    def read_by_anyone(self) -> bool:
        """Whether any judge did more than compare the letters of answer and reference."""
        return not self.scores or not self.scores.keys() <= BY_LETTERS

    @cached_property
    def unsupported(self) -> tuple[UnsupportedStatement, ...]:
        """The claims that neither passages nor references support, the gravest first."""
        if not self.turn.answer.shows_passages:
            return ()
        by_model = self._by_model()
        return by_model if by_model is not None else self._by_words()

    @cached_property
    def doubtful(self) -> str:
        """The first claim of whose words hardly half are in the passages, and no article has; or "".

        Too coarse to call an answer wrong, but the likeliest reason if nothing else is wrong.
        """
        known = passage_contents(self.reading.passages)
        for text in claims(self.turn.answer.text, self.language):
            if total_weight(topic_units(text)) < SAYS_SOMETHING or not self.reading.passages:
                continue
            if support(text, known).share < DOUBTFUL and not (self.corpus and self.corpus.supports(text)):
                return text
        return ""

    @property
    def searched(self) -> int:
        """The number of passages that a search is taken to bring: the turn's own, and at least 3."""
        return max(3, len(self.turn.answer.passages))

    @property
    def found_by_id(self) -> bool:
        """Whether ids alone tell what was needed, what came, and what came when the bot was asked again."""
        if not (self.corpus and self.check and self.need.exact):
            return False
        came = [passage.id for passage in self.turn.answer.passages]
        hit = any(article_of(each) in self.need.articles for each in self.check.ids)
        return self.corpus.knows([*came, *self.check.ids]) and hit == self.check.hit

    def title(self, article: str) -> str:
        """What an article is called: in the knowledge base, or as it was retrieved."""
        if self.corpus and (title := self.corpus.title(article)):
            return title
        passages = (p for t in (*self.context.earlier, self.turn) for p in t.answer.passages)
        return next((title_of(p.text) for p in passages if p.id == article), "")

    def found_earlier(self) -> bool:
        """Whether an earlier turn of the conversation had retrieved what this one needed."""
        wanted, references = self.need.articles, references_of(self.context)
        return any(
            is_retrieved(wanted, references, turn.answer.passages, self.context, self.corpus)
            for turn in self.context.earlier
        )

    def searched_again(self) -> str:
        """The earlier question whose passages came again although something else was asked, or ""."""
        ids = {passage.id for passage in self.turn.answer.passages}
        for turn in self._other_questions():
            before = {passage.id for passage in turn.answer.passages}
            if ids and len(ids & before) >= 0.75 * len(ids):
                return turn.meant
        return ""

    def repeats(self, question: str) -> bool:
        """Whether the answer is the one that this earlier question got."""
        said = content_units(self.turn.answer.text)
        before = [turn for turn in _with_history(self.context) if turn.meant == question]
        return any(share(said, content_units(turn.answer.text)) >= REPEATED for turn in before)

    def answers_earlier(self) -> str:
        """The earlier question that the answer fits better than the one asked now, or ""."""
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
        return [turn for turn in reversed(_with_history(self.context)) if not _same(self.asked, turn.meant)]

    def _asks_anew(self) -> bool:
        """Whether the turn has a right answer of its own, or its words lead to another article."""
        if self.context.references:
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

    def _by_model(self) -> tuple[UnsupportedStatement, ...] | None:
        """The statements that models found unsupported; None if no model judged that."""
        claims, grounded = self.scores.get("claims"), self.scores.get("groundedness")
        if _is_graded(claims) and not _is_stand_in(claims):
            rows = [each for each in _rows(claims, "claims") if each.get("verdict") != "supported"]
            found = [
                UnsupportedStatement(
                    "contradicted" if each.get("verdict") == "contradicted" else "unsupported",
                    str(each.get("claim", "")),
                )
                for each in rows
            ]
            return tuple(sorted(found, key=lambda each: each.kind != "contradicted"))
        if _is_graded(grounded) and not _is_stand_in(grounded):
            low = grounded.raw is not None and grounded.raw < VOUCHED
            return (UnsupportedStatement("unsupported", self.turn.answer.text),) if low else ()
        return None

    def _by_words(self) -> tuple[UnsupportedStatement, ...]:
        """Claims with figures or statements that are in no passage and no reference."""
        known = passage_contents((*self.reading.passages, *self.context.references))
        stated = claims(self.turn.answer.text, self.language)
        found = (self._unsupported(support(text, known, self.turn.user)) for text in stated)
        return tuple(sorted(filter(None, found), key=lambda each: each.kind != "numbers"))

    def _unsupported(self, claim: Support) -> UnsupportedStatement | None:
        if not (claim.numbers or claim.is_invented):
            return None
        if self.corpus and self.corpus.supports(claim.text):
            return None
        if claim.numbers:
            return UnsupportedStatement("numbers", claim.text, claim.numbers)
        return UnsupportedStatement("unsupported", claim.text)


def _with_history(context: GradingContext) -> list[Turn]:
    """The earlier turns, those of the case's own history first."""
    lines = context.case.history
    pairs = [
        (user.content, desk.content)
        for user, desk in pairwise(lines)
        if user.role == "user" and desk.role == "assistant"
    ]
    history = [Turn(index=1, user=user, answer=Answer(text=desk)) for user, desk in pairs]
    return [*history, *context.earlier]


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


def _rows(score: Score | None, key: str) -> Sequence[Mapping[str, object]]:
    rows = score.detail.get(key) if score else None
    return [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []
