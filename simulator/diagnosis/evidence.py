"""The evidence of a red turn: what it needed, where that was, and what its answer says.

Everything here compares plain words (characters and their pairs in Japanese), details (amounts, dates, times,
addresses, by what they mean) and ids; nothing is inferred from what a sentence means. Where judges that are
models said what is unsupported, that is taken.

Three questions are answered, each when it is first asked:

- What did the answer need, and where was it (`_Need`, `NeededArticles`)? By the ids that the case names, else
  by what its reference says: retrieved, in the knowledge base only, in neither, or nobody knows.
- What of the right answer does it say (`RedTurnEvidence.agreement`), and is it right (`is_right`)?
- What does it say that nothing bears out (`unsupported`)?

A worked example. The reference is "The cancellation fee is 1,100 yen.", the knowledge base has an article
`fees` with that sentence.

- The bot retrieved `hours` and answered "It is 2,200 yen.": the need is `fees`, its place `not_retrieved`.
  The answer lacks 1,100 yen and has 2,200 yen instead. That is wrong, but not made up: it stands in for a
  figure that never came (`_is_attempt`).
- The bot retrieved `fees` and answered the same: the place is `retrieved`, and 2,200 yen is unsupported.

diagnosis/root_cause.py makes causes of that, "not retrieved" and "made up".

The shares below were set on the `build` desks of `make bench-causes` and moved by what went wrong on `held`;
the `fresh` desks only measure. About 82 % of planted causes are named rightly, and all of those called
certain.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import pairwise
from math import log
from typing import Any, Literal, NamedTuple

from simulator.core.document import Text
from simulator.core.types import Answer, GradingContext, Language, Passage, Score, Turn, Value, response_in
from simulator.stats.answerability import turn_outcome
from simulator.stats.figures import RedTurn
from simulator.stats.summary import heading_of
from simulator.text.acts import claims, is_handover, is_refusal, parts
from simulator.text.entities import (
    DetailIndex,
    Hours,
    Measure,
    Specific,
    details_of,
    follows,
    index_of,
    is_alike,
    lacking,
    located,
    required,
)
from simulator.text.evidence import (
    SAME,
    Agreement,
    agreement,
    content_units,
    declines_wrongly,
    is_another_matter,
    is_follow_up,
    share,
    statements,
    topic_units,
    total_weight,
)
from simulator.text.segments import sentences, tokens
from simulator.users.faults import CustomerFault

# Saturation and length of BM25 (Robertson and Zaragoza, 2009), at their usual values: the tenth occurrence of
# a word adds little, and a long article needs more of them.
SATURATION, LENGTH = 1.2, 0.75
# From this share of its content on, what a reference states is held by a text.
HELD = 0.6
# The same, where it is known which article is the right one, and this is another: neighbours of an article
# share most of its words.
ELSEWHERE = 0.85
# From this share of what a reference states on, rare words weighing more, an article is taken to say it;
# below the other one, and with less than that of the question, no article is taken to.
SAID, NOWHERE, ASKED = 0.75, 0.45, 0.65
# From this share on, a text that has every detail of a reference says it: short references share few words,
# and "1,100 yen" is more telling than what stands around it.
WITH_DETAILS = 0.35
# From this share of a question on that an article has, the search ought to have found it; below, the question
# was put in other words than the article's.
IN_ITS_WORDS = 0.25
# Details that stand in many articles: that a desk's number is there says nothing of what an article is about.
CONTACTS = frozenset({"phone", "email", "url", "hours"})
# Articles that are looked at closely for one text.
CLOSE = 5
# A retrieved passage of which this share is in an article is a piece of it, whatever it is called.
PIECE = 0.9
# Pieces that hold less than this share of what their whole article holds of a reference lack the answer.
ENOUGH = 0.8
# From this share of a reference's content on, with its numbers and no others, an answer says what it says.
RIGHT = 0.6
# Grades of a model from which on it vouches for an answer.
VOUCHED = 4
# A sentence of less content than this states no fact that could be made up: "Of course.", "Let me explain."
SAYS_SOMETHING = 5
# Less of a statement than this is found in what an answer may rest on: it is made up.
INVENTED = 0.3
# An answer that shares this much with an earlier one repeats it; or retells it, where it lacks what is asked.
REPEATED, RETOLD = 0.9, 0.55

# The causes that a turn can have (diagnosis/root_cause.py), how much of a reference an article says, and
# where what was needed was (`NeededArticles`).
Cause = Literal[
    "no_answer", "customer", "should_refuse", "should_answer", "misunderstood", "knowledge", "outdated",
    "spelling", "retrieval", "ignored", "invented", "forbidden", "tone", "unclear",
    "forgotten", "contradictions", "loops", "promises",
]  # fmt: skip
Extent = Literal["said", "doubtful", "nowhere"]
Place = Literal["retrieved", "not_retrieved", "lacking", "doubtful", "outside", "hidden", "unknown"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RootCause:
    """The cause of one red turn; `sure` if a rule or asking again proves it, not likeness of words.

    `evidence` is one sentence; `articles` are the ids of the passages that the answer
    needed; `pair` is a spelling to register: as it was asked, as the article writes it. `cut` says that only
    another piece of the needed article was retrieved than the one with the answer.

    A cause that is not `sure` is shown as likely, and gives way to what a model says (diagnosis/asking.py).
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


class JudgedCause(Value):
    """What a model said caused a red turn: `reason` in one or two sentences, or why it gave no `cause`."""

    cause: Cause | None
    reason: str
    rubric: str = ""


def article_of(passage: str) -> str:
    """The article that a passage is a piece of: `ja/01-plans#2` is of `ja/01-plans`.

    The reader of knowledge bases numbers pieces that way; an id without "#" is an article of one piece.
    """
    return passage.partition("#")[0]


class Corpus:
    """A knowledge base that can be searched; `by_article` has its passages by article.

    The search is a plain BM25 over words, not the bot's: what it finds, the bot's search could have found as
    well, and what it does not, may still be found by meaning. So it is never certain of a missing article by
    its words alone.
    """

    def __init__(self, passages: Sequence[Passage]) -> None:
        """Builds no index before the first search."""
        self.passages = tuple(passages)
        self.by_article: dict[str, list[Passage]] = {}
        for passage in passages:
            self.by_article.setdefault(article_of(passage.id), []).append(passage)
        self.ids = frozenset(passage.id for passage in passages)
        # The same questions and right answers are searched with, turn after turn.
        self._ranked: dict[tuple[str, int], list[int]] = {}

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

    @cached_property
    def _details(self) -> DetailIndex:
        """The details of all passages together."""
        return index_of(passage.text for passage in self.passages)

    def has(self, detail: Specific) -> bool:
        """Whether any passage has this detail, by what it means: 1万円 is there where 10,000 yen is."""
        if not detail.meaning.is_in(self._details):
            return False
        # Several values, or the ends of opening hours, may stand in several passages.
        meaning = detail.meaning
        several = isinstance(meaning, Hours) or (isinstance(meaning, Measure) and len(meaning.values) > 1)
        return not several or located(detail, [passage.text for passage in self.passages]) is not None

    def knows(self, articles: Iterable[str]) -> bool:
        """Whether all of these articles are there."""
        return all(article_of(article) in self.by_article for article in articles)

    def has_folders_of(self, articles: Iterable[str]) -> bool:
        """Whether these ids are in folders, and all of them in the knowledge base's own.

        Beside `en/01` the id `en/99` is of the same library, so that it is missing from it; `kb-4711` may be
        the same article by the name of another system.
        """
        folders = {article.rpartition("/")[0] for article in self.by_article} - {""}
        return folders >= {article_of(article).rpartition("/")[0] for article in articles}

    def texts(self, articles: Iterable[str]) -> tuple[str, ...]:
        """The texts of all passages of these articles."""
        return tuple(p.text for article in articles for p in self.by_article.get(article_of(article), ()))

    def ranked(self, text: str, most: int = CLOSE) -> list[Passage]:
        """The passages that have most of the words of a text, best first (BM25); none without any of them."""
        if (text, most) not in self._ranked:
            self._ranked[text, most] = self._places(text)[:most]
        return [self.passages[place] for place in self._ranked[text, most]]

    def _places(self, text: str) -> list[int]:
        mean = max(1.0, sum(self._lengths) / max(1, len(self._lengths)))
        scores: dict[int, float] = {}
        for unit in topic_units(text):
            places = self._postings.get(unit, ())
            rarity = log(1 + (len(self.passages) - len(places) + 0.5) / (len(places) + 0.5))
            for place, count in places:
                norm = SATURATION * (1 - LENGTH + LENGTH * self._lengths[place] / mean)
                scores[place] = scores.get(place, 0.0) + rarity * count * (SATURATION + 1) / (count + norm)
        return sorted(scores, key=scores.__getitem__, reverse=True)

    def finds(self, text: str, articles: Collection[str], most: int) -> bool:
        """Whether the words of a text bring a passage of these articles among the first `most`.

        That is, whether a plain search would have found them.
        """
        wanted = set(map(article_of, articles))
        return any(article_of(passage.id) in wanted for passage in self.ranked(text, most))

    def has_words_of(self, text: str, articles: Iterable[str]) -> bool:
        """Whether one of these articles has enough of a question's words."""
        units = topic_units(text)
        return any(share(units, content_units(each)) >= IN_ITS_WORDS for each in self.texts(articles))

    def holding(self, references: Iterable[str], language: Language, least: float = HELD) -> tuple[str, ...]:
        """The articles that hold what these references state: at most one for each reference.

        The best of the nearest passages, if it holds at least the share `least`.
        """
        found: list[str] = []
        for reference in references:
            # A passage by itself: two articles that hold half each are none that holds it.
            held = [(share_held(reference, [p.text], language), p.id) for p in self.ranked(reference)]
            best, passage = max(held, key=lambda each: each[0], default=(0.0, ""))
            if best >= least and passage:
                found.append(article_of(passage))
        return tuple(dict.fromkeys(found))

    def extent(
        self, references: Sequence[str], question: str, language: Language
    ) -> tuple[Extent, tuple[str, ...]]:
        """Whether any article says what a reference states, and the nearest article.

        `doubtful`: an article says part of it, says it without its amounts, or takes up the question; the
        answer may be there in other words, or follow from what is there. `nowhere` takes both: nothing of the
        answer, and little of the question.
        """
        # By the right answer and by the question: an article may say the one in words of the other.
        near = {p.id: p.text for text in (*references, question) for p in self.ranked(text)}
        held = [
            (share_held(each, [text], language), article_of(name), text, each)
            for name, text in near.items()
            for each in references
        ]
        said, nearest, nearest_text, reference = max(held, default=(0.0, "", "", ""))
        whole = not lacking(reference, [nearest_text])
        # A reference with figures is told by these; one without has to be there in its words.
        least = WITH_DETAILS if details_of(reference) else SAID
        # An article that takes up the question may answer it in words that nobody compared.
        asked = max(
            (share(topic_units(question), content_units(text)) for text in near.values()), default=0.0
        )
        extent: Extent = "said" if said >= least and whole else "doubtful"
        if extent == "doubtful" and said < NOWHERE and asked < ASKED:
            extent = "nowhere"
        return extent, (nearest,) if nearest else ()


def share_held(reference: str, texts: Sequence[str], language: Language) -> float:
    """The share (0..1) of what a reference states that these texts hold.

    Each statement has to be in one of them: many texts together have most words of anything. A detail
    that is missing halves it.

        "The fee is 1,100 yen." in "The cancellation fee is 1,100 yen."   0.93
        "The fee is 2,200 yen." in the same                               0.26
    """
    held = whole = 0.0
    for statement in claims(reference, language) or sentences(reference):
        wanted = topic_units(statement)
        best = 0.0
        for text in texts:
            found = share(wanted, content_units(text))
            best = max(best, found / 2 if lacking(statement, [text]) else found)
        whole += total_weight(wanted)
        held += total_weight(wanted) * best
    return held / whole if whole else 0.0


def borne_out(statement: str, texts: Sequence[str]) -> float:
    """The share (0..1) of a statement's words, and of its pairs of characters, that are in some texts.

    Single characters of Japanese are in nearly any text; their pairs are not. 解約金は1100円です is 1.0 of a
    text that says it, and 0.51 of 金利は解約時に円で計算, which has its characters only.
    """
    words = share(content_units(statement), frozenset().union(*map(content_units, texts)))
    pairs = _character_pairs(statement)
    if not pairs:
        return words
    found = set().union(*map(_character_pairs, texts))
    return (words + sum(pair in found for pair in pairs) / len(pairs)) / 2


@lru_cache(maxsize=1024)
def _character_pairs(text: str) -> tuple[str, ...]:
    return tuple(a + b for a, b in pairwise(tokens(text)) if len(a) == len(b) == 1)


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
    """What a right answer says: the references of the turn, or else of the case; refusals say nothing.

    The case's references are of its first question. On later turns they are what there is to go by.
    """
    texts = context.references or [text for row in context.case.references for text in row]
    return tuple(text for text in texts if not is_refusal(text, context.case.language))


def is_of(passage: Passage, article: str, corpus: Corpus | None) -> bool:
    """Whether a retrieved passage is a piece of an article: by id, by source, or by its text.

    Bots name passages as they like: "docs/fees.md" is a piece of `docs/fees`, and a passage with an id of the
    bot's own is one where nine tenths of it stand in the article.
    """
    source = passage.source or ""
    head, dot, tail = source.rpartition(".")
    if article_of(article) in {article_of(passage.id), source, head if dot and "/" not in tail else source}:
        return True
    texts = corpus.texts([article]) if corpus and passage.id not in corpus.ids else ()
    units = content_units(passage.text)
    return any(share(units, content_units(text)) >= PIECE for text in texts)


class _Need:
    """Where what a turn needed was; one for each turn, for what its references and articles are.

    `own`: a later turn has references of its own, so that the case's articles are not what it needs. `exact`:
    ids alone say what was needed, which is what certain causes rest on.
    """

    def __init__(self, context: GradingContext, corpus: Corpus | None) -> None:
        self.context, self.corpus, self.language = context, corpus, context.case.language
        self.references = references_of(context)
        self.own = bool(context.references) and context.turn.index > 1
        self.exact = False
        self.articles = self._articles()

    def _articles(self) -> tuple[str, ...]:
        """The needed articles; `exact` by gold ids on the turn that they belong to.

        Ids that the knowledge base does not have are looked for by what the reference says, and kept if
        nothing else says it: an article under another name, or one that is missing.
        """
        case, turn, corpus = self.context.case, self.context.turn, self.corpus
        gold = tuple(dict.fromkeys(map(article_of, case.passages)))
        if gold and not self.own and (corpus is None or corpus.knows(gold)):
            self.exact = corpus is not None and (turn.index == 1 or turn.meant == case.question)
            return gold
        least = HELD if self.own or not gold else ELSEWHERE
        holding = corpus.holding(self.references, self.language, least) if corpus else ()
        return holding or (() if self.own else gold)

    def holds(self, texts: Sequence[str], least: float = HELD) -> bool:
        """Whether these texts hold one of the references, or what its details follow from.

        Following is only asked where the case names no article: where it does, that article is looked for.
        """
        return bool(texts) and any(
            share_held(each, texts, self.language) >= least
            or (not self.context.case.passages and self.leads_to(each, texts))
            for each in self.references
        )

    def leads_to(self, reference: str, texts: Sequence[str]) -> bool:
        """Whether these texts are about the same and every detail of a reference is in them or follows.

        "25,300 yen in total" follows from 3,300 and 22,000 yen. A telephone number alone leads nowhere: it
        stands in every article.
        """
        known = frozenset().union(*map(content_units, (*texts, self.context.turn.meant)))
        is_near = share(topic_units(reference), known) >= WITH_DETAILS
        telling = any(each.kind not in CONTACTS for each in details_of(reference))
        return is_near and telling and not self.gaps(reference, texts)

    def gaps(self, reference: str, texts: Sequence[str]) -> list[Specific]:
        """The details of a reference that are not in these texts, and cannot be worked out from them."""
        # What the customer said counts as known: the number of months to multiply by is often theirs.
        known, counts = [*texts, self.context.turn.meant], f"{self.context.turn.meant} {reference}"
        return [
            each
            for each in required(reference, known)
            if located(each, known) is None and not follows(each, known, counts)
        ]

    def is_retrieved(self, passages: Sequence[Passage]) -> bool:
        """Whether the passages hold what is needed: by their ids, or by what the reference says.

        The reference goes first. Another article that says it as well is as good as the one that the case
        names.
        """
        texts, corpus = [passage.text for passage in passages], self.corpus
        if self.holds(texts, ELSEWHERE if self.articles else HELD):
            return True
        found = all(any(is_of(p, article, corpus) for p in passages) for article in self.articles)
        if not self.articles or not found:
            return False
        # The right article, but another piece of it: only what the reference says can tell.
        if corpus is None or not self.references:
            return True
        if any(len(corpus.by_article.get(article, ())) > 1 for article in self.articles):
            return self.holds(texts)
        return not self.is_cut_off(passages, corpus)

    def is_cut_off(self, passages: Sequence[Passage], corpus: Corpus) -> bool:
        """Whether pieces of the needed articles were retrieved that lack what the whole articles say.

        A heading in one piece and its answer in the next is how articles are cut in the wrong place.
        """
        pieces = [p.text for p in passages if any(is_of(p, article, corpus) for article in self.articles)]
        whole = corpus.texts(self.articles)
        if not pieces or not self.holds(whole):
            return False
        return all(
            share_held(each, pieces, self.language) < ENOUGH * share_held(each, whole, self.language)
            for each in self.references
        )

    def elsewhere(self, corpus: Corpus, articles: tuple[str, ...]) -> NeededArticles:
        """Where the answer is when the needed articles are not there, or do not say it in these words.

        Only two things make it `lacking`: a named article that its own library does not have, or a right
        answer of which no article says anything. All else is doubtful, because words cannot tell a missing
        answer from one in other words, and no desk may be sent to write an article that it has.
        """
        context = self.context
        question = context.turn.meant if self.own else context.case.question
        extent, nearest = corpus.extent(self.references, question, self.language)
        if extent == "said":
            came = any(is_of(passage, nearest[0], corpus) for passage in context.turn.answer.passages)
            return NeededArticles("retrieved" if came else "not_retrieved", nearest)
        there = corpus.texts(articles)
        named = articles and not there and corpus.has_folders_of(articles)
        if extent == "doubtful" and named and not self.may_be_worked_out(corpus):
            return NeededArticles("lacking", articles)
        if extent == "nowhere" and not there:
            return NeededArticles("lacking", articles)
        return NeededArticles("doubtful", articles if there else nearest)

    def may_be_worked_out(self, corpus: Corpus) -> bool:
        """Whether a detail of a reference is a multiple or a share of one in an article that comes near."""
        texts = (*self.references, self.context.turn.meant)
        near = list(dict.fromkeys(passage.text for text in texts for passage in corpus.ranked(text)))
        return any(
            follows(each, near, reference, sums=False)
            for reference in self.references
            for each in lacking(reference, near)
        )

    def found(self) -> NeededArticles:
        """The need of the turn. Each question takes for granted that those before it were answered no."""
        answer, articles, corpus = self.context.turn.answer, self.articles, self.corpus
        if not articles and not self.references:
            return NeededArticles("unknown")
        if not answer.shows_passages:
            absent = corpus and not articles and self.elsewhere(corpus, ()).place == "lacking"
            gold = articles or self.context.case.passages
            return NeededArticles("lacking") if absent else NeededArticles("hidden", gold)
        if self.is_retrieved(answer.passages):
            return NeededArticles("retrieved", articles)
        if corpus is None:
            return NeededArticles("outside", articles)
        there = corpus.texts(articles)
        if not there or (self.references and not self.holds(there)):
            return self.elsewhere(corpus, articles)
        absent_ones = [a for a in articles if not any(is_of(p, a, corpus) for p in answer.passages)]
        cut = self.is_cut_off(answer.passages, corpus)
        return NeededArticles("not_retrieved", tuple(absent_ones) or articles, self.exact, cut)


def need_of(context: GradingContext, corpus: Corpus | None) -> NeededArticles:
    """The articles that this turn needed, and where they were."""
    return _Need(context, corpus).found()


FlawKind = Literal["contradicted", "numbers", "unsupported"]
# By the verdict of the judge `claims`, gravest first.
_KINDS: Mapping[str, FlawKind] = {"contradicted": "contradicted", "not_found": "unsupported"}


class UnsupportedStatement(NamedTuple):
    """A statement of an answer that nothing bears out, or that has details which are nowhere."""

    kind: FlawKind
    text: str
    details: tuple[Specific, ...] = ()


class RedTurnEvidence:
    """One red turn with all the evidence of its cause, computed when it is first needed.

    `red` is the turn as reports rank it, `context` what judges saw of it, `scores` what they said, by judge.
    `asked` is the customer's line as it was meant, `said` the answer. `refused`, `only_asks` and
    `handed_over` say what the answer does, whatever it says.
    """

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
        self.case, self.turn, self.references = context.case, context.turn, references_of(context)
        self.language, self.asked = context.case.language, context.turn.meant
        self.said = context.turn.answer.text
        outcome = turn_outcome(context.turn, response_in(scores))
        self.refused = declines_wrongly(self.said, self.references, self.agreement, self.language)
        self.only_asks = outcome == "asked_back"
        self.handed_over = is_handover(self.said, self.language)

    @property
    def answerable(self) -> bool | None:
        """Whether this turn can be answered, by the case; None on a later turn that asks something else."""
        return None if self._is_follow_up else self.case.answerable

    @cached_property
    def _is_follow_up(self) -> bool:
        """Whether it asks something else than the case, or a passage is about what only it asks."""
        if self.turn.index == 1 or is_follow_up(self.context):
            return self.turn.index > 1
        topic = topic_units(self.asked)
        is_met = any(share(topic, content_units(passage)) >= SAME for passage in self.passages)
        return is_met and is_another_matter(self.context)

    @property
    def should_refuse(self) -> bool:
        """Whether a right answer declines: by the case, or because all the references do."""
        if self._is_follow_up:
            return bool(self.context.references) and not self.references
        if self.case.answerable is None and self.case.handover != "required":
            return any(self.case.references) and not self.references
        return self.case.answerable is False

    @cached_property
    def _need(self) -> _Need:
        return _Need(self.context, self.corpus)

    @cached_property
    def passages(self) -> list[str]:
        """The texts that were retrieved for this turn."""
        return [passage.text for passage in self.turn.answer.passages]

    @cached_property
    def said_before(self) -> list[str]:
        """All earlier lines, the customer's and the bot's."""
        turns = (text for turn in self.context.earlier for text in (turn.meant, turn.answer.text))
        return [*(message.content for message in self.case.history), *turns]

    @cached_property
    def need(self) -> NeededArticles:
        """The articles that the answer needed, and where they were."""
        return self._need.found()

    @cached_property
    def words(self) -> str:
        """The question of this turn; the case's own question if the line only presses for an answer."""
        return self.asked if self.turn.index == 1 or self._asks_anew else self.case.question

    @cached_property
    def agreement(self) -> Agreement:
        """How much of the nearest reference of the turn, or of the case, the answer says.

        The nearest is the one whose details it does not contradict; of several the one it says most of. 0 of
        everything where there is no reference.
        """
        known = (*self.passages, self.asked)
        found = (agreement(self.said, reference, self.language, known) for reference in self.references)
        return max(found, key=lambda each: (not each.instead, each.recall), default=Agreement(0.0, 0.0))

    @cached_property
    def is_right(self) -> bool:
        """Whether the content is right, whatever else is wrong: by a model's grades, or by words.

        A model vouches with completeness and correctness of 4 or more. By words all details have to be there,
        and enough of the rest.
        """
        score = self.scores.get("turn")
        if score and not is_stand_in(score):
            grades = [score.detail.get(name) for name in ("completeness", "correctness")]
            if given := [grade for grade in grades if isinstance(grade, int | float)]:
                return min(given) >= VOUCHED
        found = self.agreement
        least = WITH_DETAILS if found.has_details else RIGHT
        return not self.refused and found.recall >= least and not (found.missing or found.lacks)

    @cached_property
    def unsupported(self) -> tuple[UnsupportedStatement, ...]:
        """What neither passages nor references support, the gravest first: as models say, or by words.

        In turn: claim by claim, as the judge `claims` has it; as a whole, as `groundedness` has it; else
        sentence by sentence. Empty for a bot that does not show its passages: nobody knows what it read.
        """
        if not self.turn.answer.shows_passages:
            return ()
        judged, grounded = self.scores.get("claims"), self.scores.get("groundedness")
        if judged and judged.state == "scored" and not is_stand_in(judged):
            rows: Any = judged.detail.get("claims")
            claimed = [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []
            return tuple(
                UnsupportedStatement(kind, str(row.get("claim", "")))
                for verdict, kind in _KINDS.items()
                for row in claimed
                if row.get("verdict") == verdict
            )
        if grounded and grounded.state == "scored" and not is_stand_in(grounded):
            low = grounded.raw is not None and grounded.raw < VOUCHED
            return (UnsupportedStatement("unsupported", self.said),) if low else ()
        # By words: what an answer may rest on is what came, what is right, and what was said before.
        known = [*self.passages, *self.references, *self.said_before, self.turn.user, self.asked]
        found = []
        for statement in statements(self.said, self.language):
            written = [passage.text for passage in (self.corpus.ranked(statement) if self.corpus else ())]
            details = tuple(
                each
                for each in lacking(statement, [*known, *written])
                if not self.follows(each) and not self._is_attempt(each)
            )
            is_short = total_weight(content_units(statement)) < SAYS_SOMETHING
            # A figure that stands nowhere is graver than words that do: words may say the same otherwise.
            if details:
                found.append(UnsupportedStatement("numbers", statement, details))
            elif is_short or borne_out(statement, known) >= INVENTED:
                continue
            elif all(borne_out(statement, [text]) < HELD for text in written):
                found.append(UnsupportedStatement("unsupported", statement))
        return tuple(sorted(found, key=lambda each: each.kind == "unsupported"))

    def follows(self, detail: Specific, *, sums: bool = True) -> bool:
        """Whether a detail can be worked out from the passages and the question.

        Dates and times follow from too much: only where the right answer has one that no passage has. With
        `sums` two details may be added; without, it has to be a multiple or a share of one.
        """
        known = [*self.passages, self.asked]
        if not isinstance(detail.meaning, Measure) and not any(
            is_alike(detail, each) for text in self.references for each in lacking(text, known)
        ):
            return False
        return follows(detail, known, " ".join((self.asked, *self.references)), sums=sums)

    def _is_attempt(self, detail: Specific) -> bool:
        """Whether an answer gives this in place of what had to be worked out: got wrong, not made up."""
        return any(
            is_alike(detail, each) and located(each, self.passages) is None for each in self.agreement.lacks
        )

    @cached_property
    def came_whole(self) -> bool:
        """Whether ids alone show that all that the case names was retrieved, and came as it is written.

        Word for word, because a bot may cut or rewrite what it shows. Most certain causes rest on this.
        """
        if not self.corpus or not self._need.exact:
            return False
        texts = {passage.id: passage.text for passage in self.turn.answer.passages}
        return all(
            texts.get(passage.id) == passage.text
            for name in self.case.passages
            for passage in self.corpus.by_article[article_of(name)]
            if name in {passage.id, article_of(name)}
        )

    @property
    def says_no(self) -> bool:
        """Whether the answer refuses in so many words, and does not only send the customer elsewhere."""
        return any(part.act == "refusal" for part in parts(self.said, self.language))

    @cached_property
    def only_states(self) -> bool:
        """Whether the answer does nothing but state something: it neither declines, refers nor asks.

        Only then is it certain that a bot which had to decline did not.
        """
        stated = statements(self.said, self.language)
        if any(each.act not in {"claim", "courtesy"} for each in parts(self.said, self.language)):
            return False
        # Without a figure of its own it may be a refusal in words that nobody has listed.
        return any(lacking(each, [self.asked]) for each in stated)

    def corpus_has(self, detail: Specific) -> bool:
        """Whether any article has this detail."""
        return self.corpus is not None and self.corpus.has(detail)

    @property
    def is_unwritten(self) -> bool:
        """Whether the right answer has details, and no article has any of them.

        Nor any from which they follow. That is what makes a missing article certain. What the customer said
        themselves does not count.
        """
        telling = [e for text in self.references for e in details_of(text) if e.kind not in CONTACTS]
        asked = [self.asked, *self.said_before]
        telling = [each for each in telling if located(each, asked) is None]
        return bool(telling) and not any(self.follows(each) or self.corpus_has(each) for each in telling)

    def nearest(self, most: int) -> list[Passage]:
        """The articles nearest to the right answer and the question that were not retrieved whole.

        A model that is asked for a cause sees them beside the passages: those that were needed come first.
        """
        came = {passage.text for passage in self.turn.answer.passages}
        named = {article_of(each) for each in self.need.articles}
        texts = (*self.references, self.asked)
        ranked = [p for text in texts for p in (self.corpus.ranked(text, most) if self.corpus else ())]
        needed = [p for name in named for p in (self.corpus.by_article.get(name, ()) if self.corpus else ())]
        open_ones = (passage for passage in (*needed, *ranked) if passage.text not in came)
        return list({passage.id: passage for passage in open_ones}.values())[:most]

    @property
    def searched(self) -> int:
        """The number of passages that a search is taken to bring: the turn's own, and at least 3.

        A bot that showed none at all would otherwise find nothing by definition.
        """
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
        """What an article is called, in the knowledge base or as retrieved; empty where neither says."""
        texts = self.corpus.texts([article]) if self.corpus else ()
        seen = (p for t in (*self.context.earlier, self.turn) for p in t.answer.passages)
        return heading_of(next(iter(texts), "")) or next(
            (heading_of(p.text) for p in seen if p.id == article), ""
        )

    def answers_earlier(self) -> Turn | None:
        """The newest earlier turn, with another question, whose answer this one repeats.

        None where this turn asks nothing of its own: it only presses for the earlier answer.
        """
        if not self._asks_anew:
            return None
        pairs = [
            Turn(index=1, user=user.content, answer=Answer(text=desk.content))
            for user, desk in pairwise(self.case.history)
            if user.role == "user" and desk.role == "assistant"
        ]
        earlier = reversed([*pairs, *self.context.earlier])
        # The newest first. A question that shares half of its content with this one is the same one.
        others = (
            turn for turn in earlier if share(topic_units(self.asked), content_units(turn.meant)) < SAME
        )
        return next((turn for turn in others if self.repeats(turn) or self._retells(turn)), None)

    def repeats(self, earlier: Turn) -> bool:
        """Whether the answer is the one of this earlier turn."""
        return share(content_units(self.said), content_units(earlier.answer.text)) >= REPEATED

    def _retells(self, earlier: Turn) -> bool:
        """Whether the answer says in other words what this earlier turn said, and not what is asked now."""
        lines = f"{earlier.meant}\n{earlier.answer.text}"
        # Question and answer of before together: a retold answer takes up the words of either.
        retold = share(topic_units(self.said), content_units(lines))
        is_new = self.agreement.recall >= SAME or self.agreement.has_details
        return bool(self.references) and not is_new and retold >= RETOLD

    @cached_property
    def _asks_anew(self) -> bool:
        """Whether the turn has a right answer of its own, or its words lead to another article."""
        if self.context.references or self.corpus is None:
            return bool(self.context.references)
        # Without references the knowledge tells: does this line alone lead to an article of its own?
        now, before = self.corpus.ranked(self.asked, 1), self.corpus.ranked(self.case.question, 1)
        return (
            bool(now) and now != before and share(topic_units(self.asked), content_units(now[0].text)) >= SAME
        )


def is_stand_in(score: Score) -> bool:
    """Whether the grade was counted, not given by a model: by rule, or by a stand-in (`lexical-...`)."""
    return score.by_rule or score.rubric.startswith("lexical-")
