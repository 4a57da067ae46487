"""Why a turn is red: what ids and marks prove, and what the judge's model said.

Whether a cause stands is as important as the cause:

    certain    ids, marks or the bot itself prove it: an article that the case names was not retrieved, what
               the case marks as unanswerable was answered, no answer came, a tool was not called
    likely     a mark and the judge's reading of the answer: what the case marks as answerable was declined,
               what it marks for a person was kept;
               an article that has the reference word for word was not retrieved; what only a stand-in read
    judge      the view of the judge's model (grading/cause.py), or of the judge that marked the turn
    open       nobody looked into it: there was no model, it was not asked, or it did not say

A certain cause stands, but for one: that an article did not come is certain, and that the customer's wording
kept it away is what a model can see. No rule compares words, and no model is asked here, so that a report can
be made again at any time and says the same (asking: results/asking.py).
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, get_args

from simulator.core.document import Text, excerpt
from simulator.core.messages import Message, _
from simulator.core.replies import LapseKind
from simulator.core.titles import TITLES
from simulator.core.types import GradingContext, Response, Results, Score, response_in
from simulator.grading.cause import CauseMaterial, JudgedCause, JudgedName
from simulator.results.articles import (
    Shelf,
    UnknownArticle,
    article_of,
    is_of,
    misnamed_articles,
    names_of,
    unknown_articles,
)
from simulator.results.figures import RedTurn, Summary, failure_reason
from simulator.results.red import LAPSES, RANK
from simulator.results.rows import ConversationRow, Key, MarkKind, RunTurns
from simulator.results.same_faults import fault_keys
from simulator.storage.results import turns_with_scores

Cause = Literal[
    "no_answer", JudgedName, "forbidden", "tools", "expectations", LapseKind,
]  # fmt: skip
# The surest first.
Standing = Literal["certain", "likely", "judge", "open"]
STANDINGS: tuple[Standing, ...] = get_args(Standing)
# Verdicts of the judge's model stand in a run's notes, each under this and the key of the fault.
NOTE = "cause:"
# Why not all were asked about: "budget", "endpoint"; empty or not there where all were.
STOPPED_NOTE = "causes_stopped"

STANDING_NAMES: Mapping[Standing, Message] = {
    "certain": _("certain"),
    "likely": _("likely"),
    "judge": _("the judge's view"),
    "open": TITLES["cause"]["unclear"],
}
# The causes that are called like the marks of lapses.
_CAUSE_OF_LAPSE: Mapping[MarkKind, Cause] = {kind: kind for kind in get_args(LapseKind)}
# Those in which an article has no part.
_WITHOUT_ARTICLES: frozenset[Cause] = frozenset(
    {"no_answer", "tools", "expectations", *_CAUSE_OF_LAPSE.values()}
)


# What an answer does that keeps a customer who needs a person; it may well ask for a number first.
_WITHOUT_HANDOVER: frozenset[Response | None] = frozenset({"answered", "partly", "declined"})


@dataclass(frozen=True, slots=True, kw_only=True)
class RootCause:
    """The cause of one red turn; `evidence` is a sentence.

    `article` is the id of the article that it is about, as a whole, and `title` what that is called, empty
    where nobody knows. `cut` says that only another piece of it was retrieved than the one with the answer.
    """

    cause: Cause
    standing: Standing
    evidence: Text
    article: str
    title: str
    cut: bool

    @property
    def sure(self) -> bool:
        """Whether ids or marks prove it."""
        return self.standing == "certain"


def cause_name(cause: Cause, standing: Standing) -> Message:
    """As "Not retrieved (certain)"."""
    how = STANDING_NAMES[standing]
    # A cause that nobody looked for has one word: "Unclear".
    return how if standing == "open" else _("{name} ({how})", name=TITLES["cause"][cause], how=how)


def cause_sentence(cause: RootCause) -> Text:
    """The cause, how sure it is, and why; the same wherever a red answer is shown."""
    return _("{name}: {why}", name=cause_name(cause.cause, cause.standing), why=cause.evidence)


class ArticleNames:
    """What the ids that cases name are worth: an id proves something only where it names something.

    `came` are what retrieved passages are called, `unknown` the ids that no article of the shelf has.
    """

    def __init__(self, record: RunTurns, shelf: Shelf) -> None:
        """Goes through the record once."""
        self.came = came = _names_that_came(record)
        self.has_shelf = bool(shelf)
        self.unknown = unknown_articles(_needed(record), shelf.articles, came)
        needed = {article for row in record.conversations for article in row.needed}
        # Of a bot that retrieves what is not on the shelf nobody knows what its articles are called.
        is_of_shelf = {id_ for turn in record.turns for id_, _source in turn.retrieved} <= shelf.ids
        self._are_comparable = bool(needed & came or (needed & shelf.ids and is_of_shelf))

    def is_known(self, article: str) -> bool:
        """Whether an article is called so."""
        return article in self.came or (self.has_shelf and article not in self.unknown)

    def may_be(self, article: str) -> bool:
        """Whether an article may be called so: ids are of one kind, and this one is no misspelt one."""
        unknown = self.unknown.get(article)
        return self._are_comparable and not (unknown and unknown.near)


def _needed(record: RunTurns) -> Iterator[tuple[str, tuple[str, ...]]]:
    return ((row.case, row.needed) for row in record.conversations)


def misnamed_of(record: RunTurns, articles: Collection[str]) -> dict[str, UnknownArticle]:
    """The ids that questions of a run name and neither these articles nor retrieved passages have."""
    came = _names_that_came(record)
    return {} if came and came.isdisjoint(articles) else misnamed_articles(_needed(record), articles, came)


def _names_that_came(record: RunTurns) -> set[str]:
    """What the articles of retrieved passages may be called."""
    retrieved = {passage for turn in record.turns for passage in turn.retrieved}
    return {name for passage in retrieved for name in names_of(*passage)}


class RedAnswer:
    """One red turn: `red` as reports rank it, `context` as judges saw it, `scores` what these said.

    Answers with the same `fault` have one cause, if a model is asked for it (results/same_faults.py).
    """

    def __init__(
        self,
        red: RedTurn,
        fault: str,
        context: GradingContext,
        scores: Mapping[str, Score],
        shelf: Shelf,
        *,
        names: ArticleNames,
        handed_over: bool = False,
    ) -> None:
        """`names` says what the ids that cases name are worth; `handed_over`, whether any answer did that."""
        self.red, self.fault, self.context, self.scores, self.shelf = red, fault, context, scores, shelf
        self.turn, self.case = context.turn, context.case
        self.passages = self.turn.answer.passages
        # A later line may ask something else, which these articles and marks are not about.
        self.is_first = self.turn.index == 1 or self.turn.user == self.case.question
        self.named = tuple(dict.fromkeys(self.case.passages)) if self.is_first else ()
        self.names, self.handed_over = names, handed_over
        self.needed = tuple(filter(names.may_be, self.named))
        self.missed = tuple(e for e in self.needed if not any(is_of(p, e) for p in self.passages))

    @property
    def is_open(self) -> bool:
        """Whether a model is asked: where nothing proves the cause, and for why an article did not come."""
        proved = self.proved
        return proved is None or proved.cause == "retrieval" or proved.standing == "likely"

    def material(self, most: int) -> CauseMaterial:
        """What a model is shown: at most so many articles beside the retrieved ones."""
        near = None
        if self.shelf:
            texts = (*self.context.right_answers, self.turn.user)
            near = self.shelf.nearest(texts, self.named, self.passages, most)
        return CauseMaterial(self.context, self.red.reason, near, self.needed, self.missed)

    def cause(self, verdict: JudgedCause | None) -> RootCause:
        """The cause by ids and marks, and by the verdict of a model where these do not prove it."""
        proved, named = self.proved, verdict.cause if verdict else None
        if verdict and named and self.is_open:
            if proved and named == proved.cause:  # the model knows the words
                return self._judged(verdict, named, proved.standing)
            if not proved or not proved.sure or named == "spelling":
                return self._judged(verdict, named, "judge")
        if proved:
            return proved
        asked, unasked = _("The judge did not say what caused it."), _("No model was asked.")
        return self._because("unclear", "open", asked if verdict else unasked)

    def _judged(self, verdict: JudgedCause, cause: Cause, standing: Standing) -> RootCause:
        """What a model said: its reason, with the article and its words where these are there."""
        said: Text = verdict.reason
        if verdict.article:
            place = self._named(verdict.article)
            if verdict.words:
                place = _("{article}: “{words}”", article=place, words=verdict.words)
            said = _("{name} ({how})", name=verdict.reason, how=place)
        return self._because(cause, standing, said, verdict.article or next(iter(self.missed), ""))

    @cached_property
    def proved(self) -> RootCause | None:
        """What ids and marks say; None where they say nothing, and only a model could."""
        if self.red.failure:
            return self._because("no_answer", "certain", failure_reason(self.turn))
        by_mark = self._by_mark()
        if by_mark and (by_mark.cause not in LAPSES or self._only_marked(*LAPSES, "conversation")):
            return by_mark
        by_case = self._by_case()
        return by_case if by_case and by_case.sure else by_mark or by_case

    def _only_marked(self, *kinds: str) -> bool:
        return {mark.kind for mark in self.red.marks} <= {*kinds}

    def _by_mark(self) -> RootCause | None:
        """The cause that a mark names by itself, without a look at the answer."""
        marks = {mark.kind: mark for mark in self.red.marks}
        if self._only_marked("conversation"):
            return self._because("unclear", "judge", self.red.reason)
        if "tools" in marks:
            return self._because("tools", "certain", marks["tools"].reason)
        if "expectations" in marks and self._only_marked("expectations", "conversation", *LAPSES):
            return self._because("expectations", "certain", marks["expectations"].reason)
        if "risk" in marks and self._only_marked("risk", *LAPSES):
            return self._because("forbidden", "judge", marks["risk"].reason)
        lapses = [mark for mark in self.red.marks if mark.kind in LAPSES]
        if not lapses:
            return None
        gravest = min(lapses, key=lambda mark: RANK[mark.severity])
        return self._because(_CAUSE_OF_LAPSE[gravest.kind], "judge", gravest.reason)

    def _by_case(self) -> RootCause | None:
        """The cause by what the case marks, and by the ids of the articles that it names."""
        response, first = response_in(self.scores), self.turn.index == 1
        if first and self.case.answerable is False and response in {"answered", "partly"}:
            said = _(
                "The articles do not answer this. The bot should have said so and named a contact;"
                " instead it said {quote}.",
                quote=_('"{text}"', text=excerpt(self.turn.answer.text)),
            )
            sure = self._is_read and response == "answered"
            return self._because("should_refuse", "certain" if sure else "likely", said)
        absent = None if self.case.answerable is False and self.is_first else self._absent()
        if absent and absent.sure:
            return absent
        if self.case.handover == "required" and not self.handed_over and response in _WITHOUT_HANDOVER:
            kept = _("This needs a person, and no answer hands the customer over.")
            return self._because("no_handover", "likely", kept)
        if absent or (self.case.answerable is False and self.is_first):
            return absent
        if first and self.case.answerable and response == "declined" and self._is_read:
            declined = _("This question can be answered, but the bot declined.")
            return self._because("should_answer", "likely", declined)
        return None

    @property
    def _is_read(self) -> bool:
        """Whether a model read what the answer does; a stand-in goes by its phrases."""
        return bool(
            response_in({k: s for k, s in self.scores.items() if not s.rubric.startswith("lexical-")})
        )

    def _absent(self) -> RootCause | None:
        """That what has the answer did not come: certain where no article came that the case names.

        Likely where only some of them are missing, where an article has the reference word for word, or where
        nobody knows an article of that id. Nothing where a passage has the right answer all the same.
        """
        references = self.context.right_answers
        if not self.turn.answer.shows_passages or Shelf(self.passages).holding(references):
            return None
        proved = [article for article in self.missed if self.names.is_known(article)]
        if missed := next(iter(proved if self.shelf else (*proved, *self.missed)), ""):
            said = _("This question needs {article}, which was not retrieved.", article=self._named(missed))
            is_sure = bool(proved) and self.missed == self.needed
            return self._because("retrieval", "certain" if is_sure else "likely", said, missed)
        if held := self.shelf.holding(references):
            said = _(
                "{article} has the reference answer word for word, in a part that was not retrieved.",
                article=self._named(article_of(held)),
            )
            return self._because("retrieval", "likely", said, held)
        for article in self.missed:
            lacking = _("This question needs the article {id}, which the bot does not have.", id=article)
            return self._because("knowledge", "likely", lacking, article)
        return None

    def _named(self, article: str) -> Text:
        """An article by title and id."""
        if name := self.shelf.title(article, self.passages):
            return _('"{title}" ({id})', title=name, id=article)
        return article

    def _because(self, cause: Cause, standing: Standing, evidence: Text, article: str = "") -> RootCause:
        if cause in _WITHOUT_ARTICLES:
            article = ""
        elif not article:
            article = next(iter(self.named), "")
        # A piece is of its article where that is one: a row of a table, `faq#2`, is one by itself.
        known = {*self.case.passages, *(passage.id for passage in self.passages)}
        whole = bare if (bare := article_of(article)) in known else self.shelf.article(article)
        return RootCause(
            cause=cause,
            standing=standing,
            evidence=evidence,
            article=whole,
            title=self.shelf.title(whole, self.passages) if whole else "",
            cut=cause == "retrieval" and any(is_of(passage, whole) for passage in self.passages),
        )


def red_answers(results: Results, summary: Summary, shelf: Shelf) -> Iterator[RedAnswer]:
    """The red turns with what is known of them, conversation by conversation.

    In the order of the run file, not of `reddest`: conversations are read one after the other, and large runs
    do not fit into memory at once.
    """
    came = _names_that_came(summary.record)
    # Where nothing of it ever came, it is the shelf of another bot, or its articles are called otherwise.
    if came and not shelf.ids & came:
        shelf = Shelf(())
    reddest, names = summary.red.by_turn, ArticleNames(summary.record, shelf)
    fault_of = fault_keys(results)
    handed_over = {row.id for row in summary.record.conversations if _hands_over(row)}
    for conversation, turn, scores in turns_with_scores(results, reddest):
        earlier = (before for before in conversation.turns if before.index < turn.index)
        context = GradingContext(
            conversation=conversation.id,
            case=conversation.case,
            persona=conversation.persona,
            turn=turn,
            earlier=tuple(earlier),
        )
        red, fault = reddest[conversation.id, turn.index], fault_of(conversation.case, turn)
        handed = conversation.id in handed_over
        yield RedAnswer(red, fault, context, scores, shelf, names=names, handed_over=handed)


def _hands_over(row: ConversationRow) -> bool:
    return any(turn.response == "handed_over" for turn in row.turns)


def root_causes(
    results: Results,
    summary: Summary,
    shelf: Shelf | None = None,
    judged: Mapping[str, JudgedCause] | None = None,
) -> dict[Key, RootCause]:
    """The cause of each red turn, in the order of `summary.red.answers`.

    `shelf` has the bot's articles. `judged` are verdicts of the judge's model by fault; by default those in
    the run file.
    """
    verdicts = stored_verdicts(results) if judged is None else judged
    answers = red_answers(results, summary, shelf or Shelf(()))
    causes = {answer.red.key: answer.cause(verdicts.get(answer.fault)) for answer in answers}
    return {key: causes[key] for key in summary.red.by_turn if key in causes}


def stored_verdicts(results: Results) -> dict[str, JudgedCause]:
    """What the judge's model said, by fault; what cannot be read is as good as not said."""
    verdicts = {}
    for key, body in results.notes.items():
        if key.startswith(NOTE):
            try:
                verdicts[key.removeprefix(NOTE)] = JudgedCause.model_validate(body)
            except ValueError:
                continue
    return verdicts


def searched(results: Results, summary: Summary) -> bool:
    """Whether there is a search to blame: not in a data set for whose rows nothing was retrieved."""
    return not (summary.rows and not results.conversations.select("with_passages"))
