"""What an update of the bot's articles moved: the questions of two runs, by what became of their facts.

Both runs keep the articles that their bot had (`Results.articles`); what the bot itself searches is its own
index, of which only the retrieved passages are seen. So the two may differ, and that is what is looked for:

    the earlier answer has the old fact, the later one the new fact          moved, as it should
    the later answer has the old fact                                        stale
    the later answer has facts of an article that is gone                    withdrawn
    nothing that the question needs or retrieved differs, its colour does    strayed

    reference has the old fact: it is of before the update                   to be fixed, counts on no side
    every retrieved text of a changed article is the old one                 the index was not rebuilt

Ids and texts prove, words do not: an answer is stale for certain where a passage with the old sentence was
retrieved for it, else likely. Where a model judged the later answer by a reference that has the new fact, and
did not mark it, the answer is not stale, whatever its words. An old figure may still be right elsewhere: it
is the old fact only where question and answer are nearer to the old sentence than to any that is there now.
"""

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import Any, Literal, NamedTuple

from pydantic import Field

from simulator.core.document import excerpt
from simulator.core.types import Case, Conversation, Passage, Response, Results, StoredArticle, Turn, Value
from simulator.results.article_changes import (
    TELLING,
    ArticleChange,
    FactChange,
    article_changes,
    denies,
    facts_of,
    has_fact,
    plain_text,
)
from simulator.results.articles import names_of
from simulator.results.figures import Summary
from simulator.text.figures import figures
from simulator.text.overlap import content
from simulator.text.segments import CJK, normalise, sentences

Fate = Literal["moved", "stale", "withdrawn", "strayed"]
# Why a reference is to be fixed: it has the old fact, a sum or another multiple of it, a yes that became a
# no; its article is gone; the case is marked as unanswerable, and a new article answers it.
Fault = Literal["fact", "sum", "denied", "withdrawn", "answerable"]
# A sentence that is copied whole, in characters.
_COPIED = 12
# Two folders of which less than this share goes on are not one desk before and after.
_SAME_DESK = 0.2
_CJK = re.compile(f"[{CJK}]")
_TIMES = (*range(2, 13), 24, 36)
_YES, _NO = ("はい", "yes"), ("いいえ", "no,", "no.", "no ")
_ANSWERED: frozenset[Response | None] = frozenset({"answered", "partly"})

Pair = tuple[Conversation, Conversation]


class AffectedQuestion(Value):
    """A question and what became of it; `old` and `new` are the sentences of the article before and now.

    `conversation` and `turn` are those of the later run, `answer` is an excerpt of what was said there.
    `certain`: ids and texts prove it; `gone`: its article was withdrawn.
    """

    fate: Fate
    case: str
    question: str
    article: str = ""
    title: str = ""
    old: str = ""
    new: str = ""
    conversation: str
    turn: int
    before: str = ""
    answer: str
    certain: bool = False
    gone: bool = False


class ReferenceFault(Value):
    """A reference, or another mark of a case, that says what no longer holds, and what holds now."""

    case: str
    question: str
    fault: Fault
    article: str
    title: str
    reference: str
    old: str = ""
    new: str = ""


class Update(Value):
    """What became of the articles between two runs, and of the questions that need them or retrieved them.

    `comparable` is false where the two folders have hardly an article in common, `texts` where a run kept
    none. `old_passages` and `new_passages` count what the later bot retrieved of changed articles, by text.
    `unknown` are ids that cases name and no article has now, each with the ids that the article goes by
    since. `lacking` is the only run of the two that does not know its articles.
    """

    changes: tuple[ArticleChange, ...]
    comparable: bool = True
    texts: bool = True
    old_passages: int = 0
    new_passages: int = 0
    questions: tuple[AffectedQuestion, ...] = ()
    references: tuple[ReferenceFault, ...] = ()
    unknown: dict[str, tuple[str, ...]] = Field(default={})
    lacking: str = ""

    def of(self, fate: Fate) -> tuple[AffectedQuestion, ...]:
        """The questions with this fate, certain ones first."""
        some = (question for question in self.questions if question.fate == fate)
        return tuple(sorted(some, key=lambda question: not question.certain))

    @property
    def apart(self) -> frozenset[str]:
        """The cases whose reference is of before the update: no grade by it says anything."""
        return frozenset(fault.case for fault in self.references)

    @property
    def index_is_old(self) -> bool:
        """Whether the bot still searches the texts of before the update, and none of the new ones."""
        return bool(self.old_passages) and not self.new_passages

    @property
    def regression(self) -> bool:
        """Whether the update did not arrive: proved by texts that the bot retrieved."""
        late = (*self.of("stale"), *self.of("withdrawn"))
        return self.index_is_old or any(question.certain for question in late)

    def as_json(self) -> dict[str, Any]:
        """The object that `--json` prints."""
        fates: tuple[Fate, ...] = ("moved", "stale", "withdrawn", "strayed")
        return {
            "comparable": self.comparable,
            "changes": [
                {
                    **change.model_dump(include={"id", "title", "kind"}),
                    "now": list(change.now),
                    "facts": [{"old": fact.old, "new": fact.new} for fact in change.facts]
                    if change.kind not in ("added", "withdrawn")
                    else [],
                }
                for change in self.changes
            ],
            "index_is_old": self.index_is_old,
            "passages": {"old": self.old_passages, "new": self.new_passages},
            **{fate: [q.model_dump(exclude={"fate"}) for q in self.of(fate)] for fate in fates},
            "references": [fault.model_dump() for fault in self.references],
            "unknown": {id_: list(now) for id_, now in self.unknown.items()},
        }


def update_of(
    before: tuple[Results, Summary], after: tuple[Results, Summary], pairs: Iterable[Pair]
) -> Update | None:
    """What the update moved; None where no article differs, or neither run knows its articles.

    `pairs` are conversations of the same question and customer, of the earlier and of the later run.
    """
    earlier, later = before[0].articles, after[0].articles
    if _digests(earlier) == _digests(later):
        return None
    if not (earlier and later):
        lacking = (after if earlier else before)[0].run.id
        return Update(changes=(), comparable=False, lacking=lacking)
    changes = article_changes(earlier, later)
    gone = sum(change.kind == "withdrawn" for change in changes)
    if len(earlier) - gone < _SAME_DESK * min(len(earlier), len(later)):
        return Update(changes=(), comparable=False)
    if not all(article.packed for article in (*earlier, *later)):
        return Update(changes=changes, texts=False)
    desk = _Desk(changes, earlier, later)
    return _Drill(desk, before[1], after[1], list(pairs)).update()


def _digests(articles: Iterable[StoredArticle]) -> set[tuple[str, str]]:
    return {(article.id, article.digest) for article in articles}


class _Desk:
    """The articles before and after, by what passages, answers and references are held against."""

    def __init__(
        self,
        changes: Sequence[ArticleChange],
        before: Sequence[StoredArticle],
        after: Sequence[StoredArticle],
    ) -> None:
        self.changes, self.before, self.after = changes, before, after
        texts, texts_now = ({article.id: article.text for article in side} for side in (before, after))
        self.texts = texts
        whole, whole_now = ("\n".join(map(plain_text, side.values())) for side in (texts, texts_now))
        # Sentences that only one of the folders has, anywhere.
        self.old_only = [_only((change.id,), texts, whole_now) for change in changes]
        self.new_only = [_only(change.now, texts_now, whole) for change in changes]
        self.named: dict[str, set[int]] = defaultdict(set)
        for at, change in enumerate(changes):
            for id_ in change.ids:
                self.named[id_].add(at)
        self._evidence: dict[tuple[str, str, str], tuple[frozenset[int], frozenset[int], frozenset[int]]] = {}

    def of_passage(self, passage: Passage) -> tuple[frozenset[int], frozenset[int], frozenset[int]]:
        """The changes that a passage is about, then those whose old text it has, and whose new text."""
        key = (passage.id, passage.source or "", passage.text)
        if key not in self._evidence:
            named = {at for name in names_of(*key[:2]) for at in self.named.get(name, ())}
            plain = plain_text(passage.text)
            # A bot with ids of its own is known by its texts alone.
            where = named or range(len(self.changes))
            old, new = (
                frozenset(at for at in where if any(sentence in plain for sentence in only[at]))
                for only in (self.old_only, self.new_only)
            )
            self._evidence[key] = frozenset(named | old | new), old, new
        return self._evidence[key]

    @cached_property
    def current(self) -> Mapping[str, list[frozenset[str]]]:
        """What sentences that are there now are about, by the facts that they share with old sentences."""
        gone = frozenset(f for change in self.changes for fact in change.facts for f in fact.gone)
        current: dict[str, list[frozenset[str]]] = defaultdict(list)
        for article in self.after:
            for sentence in sentences(article.text):
                if shared := facts_of(sentence) & gone:
                    about = _about(f"{article.title} {sentence}")
                    for fact in shared:
                        current[fact].append(about)
        return current

    @cached_property
    def _amounts(self) -> frozenset[str]:
        texts = (article.text for side in (self.before, self.after) for article in side)
        return frozenset(f.value for text in texts for f in figures(text) if f.kind == "amount")

    def worked_out(self, fact: FactChange, text: str, case: Case) -> tuple[str, str] | None:
        """An amount of a text that rests on an old one of the articles of its case (`_worked_out`)."""
        needed = (self.texts.get(name, "") for id_ in case.passages for name in names_of(id_, id_))
        return _worked_out(fact, text, needed, self._amounts)

    def says_old(self, change: ArticleChange, fact: FactChange, text: str, case: Case) -> bool:
        """Whether a text says what the article said before, of that and of nothing else."""
        if _is_copied(fact.old, text):
            return self._is_of(change, fact.old, case)
        if fact.denied and not fact.gone:
            return self._denial(fact, text, case.question) is denies(fact.old)
        old = _about(f"{change.title} {fact.old}")
        for sentence in sentences(text):
            stated = [gone for gone in fact.gone if has_fact(sentence, (gone,))]
            if stated:
                context = _about(f"{case.question} {sentence}")
                rivals = (_alike(context, about) for gone in stated for about in self.current.get(gone, ()))
                if _alike(context, old) > max(rivals, default=0.0):
                    return True
        return False

    def _is_of(self, change: ArticleChange, sentence: str, case: Case) -> bool:
        """Whether a case is about a changed article, and not about one that has this old sentence still.

        The articles that the case names decide; of a case that names none of them, their titles.
        """
        standing = self._standing.get(plain_text(sentence), {})
        named = {name for id_ in case.passages for name in names_of(id_, id_)}
        if named & (change.ids | standing.keys()):
            return not named & standing.keys()
        context = _about(f"{case.question} {sentence}")
        of_change, *others = (
            _alike(context, _about(f"{title} {sentence}")) for title in (change.title, *standing.values())
        )
        return all(of_change > other for other in others)

    @cached_property
    def _standing(self) -> Mapping[str, Mapping[str, str]]:
        """The articles that have a sentence now, by its plain text: their titles by their ids."""
        standing: dict[str, dict[str, str]] = defaultdict(dict)
        for article in self.after:
            for sentence in sentences(article.text):
                standing[plain_text(sentence)][article.id] = article.title
        return standing

    def says_new(self, fact: FactChange, text: str, question: str) -> bool:
        """Whether a text says what the article says now."""
        if fact.denied and not fact.came:
            return _is_copied(fact.new, text) or self._denial(fact, text, question) is denies(fact.new)
        return _is_copied(fact.new, text) or has_fact(text, fact.came)

    def _denial(self, fact: FactChange, text: str, question: str) -> bool | None:
        """Whether a text denies what a sentence is about; None where another sentence is nearer to it."""
        said = sentences(text)
        about = max(_about(fact.old), _about(fact.new), key=len)
        nearest = max(said, key=lambda sentence: _alike(_about(sentence), about), default="")
        context = _about(f"{question} {nearest}")
        if len(context & about) < 0.5 * len(about):
            return None
        own = max(_alike(context, _about(sentence)) for sentence in (fact.old, fact.new))
        if any(_alike(context, other) > own for plain, other in self._sentences if plain != fact.new):
            return None
        plain = normalise(text).strip()
        return False if plain.startswith(_YES) else True if plain.startswith(_NO) else denies(nearest)

    @cached_property
    def _sentences(self) -> list[tuple[str, frozenset[str]]]:
        """What each sentence that is there now is about."""
        return [(s, _about(s)) for article in self.after for s in sentences(article.text)]


@lru_cache(maxsize=16384)
def _about(text: str) -> frozenset[str]:
    """What a text is about, by which it is nearer to one sentence than to another.

    Names in hiragana are no content elsewhere: of Japanese all pairs of characters count.
    """
    pairs = frozenset(map("".join, pairwise(plain_text(text)))) if _CJK.search(text) else frozenset[str]()
    return content(text) | pairs


def _is_copied(sentence: str, text: str) -> bool:
    plain = plain_text(sentence)
    return len(plain) >= _COPIED and plain in plain_text(text)


def _only(ids: Iterable[str], texts: Mapping[str, str], other: str) -> tuple[str, ...]:
    """The sentences of articles, as they are compared, that the other folder has nowhere."""
    plain = (plain_text(sentence) for id_ in ids for sentence in sentences(texts.get(id_, "")))
    return tuple(sentence for sentence in plain if len(sentence) >= TELLING and sentence not in other)


def _alike(first: frozenset[str], second: frozenset[str]) -> float:
    return 2 * len(first & second) / (len(first) + len(second)) if first and second else 0.0


def _worked_out(
    fact: FactChange, text: str, among: Iterable[str], written: Collection[str]
) -> tuple[str, str] | None:
    """An amount of a text that was worked out with the old amount, and what it comes to now; None without.

    A sum with another amount of the needed articles (`among`), or a multiple; amounts that are `written`
    somewhere are not worked out.
    """
    old, new = ([f for f in figures(s) if f.kind == "amount"] for s in (fact.old, fact.new))
    gone = [figure.value for figure in old if figure.value in fact.gone]
    came = [figure.value for figure in new if figure.value in fact.came]
    if len(gone) != 1 or len(came) != 1:
        return None
    unit, was, now = gone[0][-1], _number(gone[0]), _number(came[0])
    others = {_number(f.value) for other in among for f in figures(other) if f.value.endswith(unit)}
    for figure in figures(text):
        if figure.kind != "amount" or figure.value in written or figure.value[-1] != unit:
            continue
        said = _number(figure.value)
        times = next((times for times in _TIMES if said == was * times), None)
        if times:
            return figure.value, f"{_plain(now * times)}{unit}"
        if said - was in others:
            return figure.value, f"{_plain(said - was + now)}{unit}"
    return None


def _number(value: str) -> Decimal:
    return Decimal(value[:-1])


def _plain(number: Decimal) -> str:
    return f"{number.normalize():f}"


class _ChangedFact(NamedTuple):
    """A fact that a question may be about; `at` is the place of its change, `named` by the question."""

    at: int
    change: ArticleChange
    fact: FactChange
    named: bool


class _Drill:
    """Sorts the questions of two runs."""

    def __init__(self, desk: _Desk, before: Summary, after: Summary, pairs: Sequence[Pair]) -> None:
        self.desk, self.pairs, self.trial = desk, pairs, after.trial
        self.before, self.after = ({turn.key: turn for turn in s.record.turns} for s in (before, after))

    def update(self) -> Update:
        """All that is to be said."""
        passages = {
            (passage.id, passage.source or "", passage.text): passage
            for _earlier, later in self.pairs
            for turn in later.turns
            for passage in turn.answer.passages
        }
        evidence = [self.desk.of_passage(passage) for passage in passages.values()]
        by_case: dict[str, list[Pair]] = defaultdict(list)
        for pair in self.pairs:
            by_case[pair[1].case.id].append(pair)
        questions, faults = list[AffectedQuestion](), list[ReferenceFault]()
        for pairs in by_case.values():
            named, retrieved = self._named(pairs), self._retrieved(pairs)
            fault = self._fault(pairs, named, named or retrieved)
            affected = self._affected(pairs, list(self._facts(named, retrieved)))
            if affected is None and fault is None and not named | retrieved:
                affected = self._strayed(pairs)
            faults += [fault] if fault else []
            questions += [affected] if affected else []
        return Update(
            changes=tuple(self.desk.changes),
            old_passages=sum(bool(old and not new) for _about, old, new in evidence),
            new_passages=sum(bool(new) for _about, _old, new in evidence),
            questions=tuple(questions),
            references=tuple(faults),
            unknown=self._unknown(by_case),
        )

    def _named(self, pairs: Sequence[Pair]) -> set[int]:
        """The changes that a question names."""
        return {at for pair in pairs for talk in pair for id_ in talk.case.passages for at in self._of(id_)}

    def _retrieved(self, pairs: Iterable[Pair]) -> set[int]:
        """Those that were retrieved for it."""
        return {at for pair in pairs for talk in pair for turn in talk.turns for at in self._came(turn)}

    def _facts(self, named: set[int], retrieved: set[int]) -> Iterator[_ChangedFact]:
        """The facts of these changes, those of named ones first."""
        for at in sorted(named | retrieved, key=lambda at: at not in named):
            change = self.desk.changes[at]
            yield from (_ChangedFact(at, change, fact, at in named) for fact in change.facts)

    def _came(self, turn: Turn) -> set[int]:
        """The changes that the passages of a turn are about."""
        return {at for passage in turn.answer.passages for at in self.desk.of_passage(passage)[0]}

    def _affected(self, pairs: Sequence[Pair], facts: Sequence[_ChangedFact]) -> AffectedQuestion | None:
        """What became of a question; the gravest of its conversations counts."""
        looks = (look(*pair, facts) for look in (self._late, self._moved) for pair in pairs)
        return next(filter(None, looks), None)

    def _late(
        self, earlier: Conversation, later: Conversation, facts: Sequence[_ChangedFact]
    ) -> AffectedQuestion | None:
        likely: AffectedQuestion | None = None
        said = {turn.index: turn.answer.text for turn in earlier.turns}
        for turn in (turn for turn in later.turns if not turn.answer.error):
            for at, change, fact, named in facts:
                if not self._is_late(change, fact, said.get(turn.index, ""), turn, later, named=named):
                    continue
                certain = any(
                    at in self.desk.of_passage(passage)[1] and _is_copied(fact.old, passage.text)
                    for passage in turn.answer.passages
                )
                # Of what was not retrieved and not named, words alone prove nothing.
                if not (certain or named or change.kind != "withdrawn"):
                    continue
                fate: Fate = "withdrawn" if change.kind == "withdrawn" else "stale"
                late = _affected(fate, change, fact, earlier, later, turn, certain=certain)
                if certain:
                    return late
                likely = likely or late
        return likely

    def _is_late(
        self, change: ArticleChange, fact: FactChange, before: str, turn: Turn, later: Conversation,
        *, named: bool,
    ) -> bool:  # fmt: skip
        """Whether an answer still says what an article said before."""
        if not fact.old:
            return False
        text, question, graded = turn.answer.text, later.case.question, self.after[later.id, turn.index]
        old = self.desk.says_old(change, fact, text, later.case)
        if not old and named:
            worked_out = self.desk.worked_out(fact, text, later.case)
            old = worked_out is not None and worked_out[1] not in facts_of(text)
        if not old or self._is_new(fact, before, text, question):
            return False
        right = later.case.references_at(turn.index)
        judged = not self.trial and graded.value is not None and not graded.marks
        return not (judged and any(self.desk.says_new(fact, reference, question) for reference in right))

    def _is_new(self, fact: FactChange, before: str, text: str, question: str) -> bool:
        """Whether an answer says what the article says since: a figure that it had before is another one."""
        return self.desk.says_new(fact, text, question) and not self.desk.says_new(fact, before, question)

    def _moved(
        self, earlier: Conversation, later: Conversation, facts: Sequence[_ChangedFact]
    ) -> AffectedQuestion | None:
        for was, turn in zip(earlier.turns, later.turns, strict=False):
            if turn.index > 1 and was.user != turn.user:
                break
            responses = self._responses(earlier, was, later, turn)
            is_answered = responses[0] == "declined" and responses[1] in _ANSWERED
            for at, change, fact, _named in facts:
                said_old = bool(fact.old) and self.desk.says_old(change, fact, was.answer.text, later.case)
                says_new = self._is_new(fact, was.answer.text, turn.answer.text, later.case.question)
                # What could not be answered is answered from a new article.
                is_new = change.kind == "added" and says_new and is_answered and at in self._came(turn)
                if is_new or (said_old and (says_new or change.kind == "withdrawn")):
                    return _affected("moved", change, fact, earlier, later, turn)
        return None

    def _responses(
        self, earlier: Conversation, was: Turn, later: Conversation, turn: Turn
    ) -> tuple[Response | None, Response | None]:
        """What both answers do, as their judges say."""
        return self.before[earlier.id, was.index].response, self.after[later.id, turn.index].response

    def _strayed(self, pairs: Sequence[Pair]) -> AffectedQuestion | None:
        for earlier, later in pairs:
            for was, turn in zip(earlier.turns[:1], later.turns[:1], strict=False):
                responses = self._responses(earlier, was, later, turn)
                red, is_red = self.before[earlier.id, was.index].marks, self.after[later.id, turn.index].marks
                if bool(red) != bool(is_red) or (all(responses) and responses[0] != responses[1]):
                    return _affected("strayed", None, None, earlier, later, turn)
        return None

    def _fault(self, pairs: Sequence[Pair], named: set[int], related: set[int]) -> ReferenceFault | None:
        """What of the later run's case is of before the update."""
        later = pairs[0][1]
        case = later.case
        said = [*(text for texts in case.references for text in texts), *case.expect]
        # Named articles prove; of a case that names none those that were retrieved for it may.
        for at in sorted(related):
            change = self.desk.changes[at]
            if change.kind == "withdrawn" and at in named and case.answerable is not False:
                if all(at in self._of(id_) or not self._is_there(id_) for id_ in case.passages):
                    return _fault(case, "withdrawn", change, said[0] if said else "")
                continue
            for fact in change.facts:
                for text in said:
                    if kind := self._contradiction(change, fact, text, case):
                        return _fault(case, kind, change, text, fact)
        if case.answerable is False:
            return self._answerable(pairs)
        return None

    def _contradiction(self, change: ArticleChange, fact: FactChange, text: str, case: Case) -> Fault | None:
        if not fact.old or change.kind == "withdrawn":
            return None
        if self.desk.says_old(change, fact, text, case):
            return (
                None if self.desk.says_new(fact, text, case.question) else "denied" if fact.denied else "fact"
            )
        is_sum = change.ids & {name for id_ in case.passages for name in names_of(id_, id_)}
        return "sum" if is_sum and self.desk.worked_out(fact, text, case) else None

    def _answerable(self, pairs: Sequence[Pair]) -> ReferenceFault | None:
        """That a case marked as unanswerable was answered from an article that is new."""
        for _earlier, later in pairs:
            for turn in later.turns[:1]:
                if self.after[later.id, turn.index].response not in _ANSWERED:
                    continue
                for at in sorted(self._came(turn)):
                    change = self.desk.changes[at]
                    for fact in change.facts if change.kind == "added" else ():
                        if self.desk.says_new(fact, turn.answer.text, later.case.question):
                            return _fault(later.case, "answerable", change, "", fact)
        return None

    def _of(self, id_: str) -> set[int]:
        return {at for name in names_of(id_, id_) for at in self.desk.named.get(name, ())}

    def _is_there(self, id_: str) -> bool:
        there = {article.id for article in self.desk.after}
        return any(name in there for name in names_of(id_, id_))

    def _unknown(self, by_case: Mapping[str, Sequence[Pair]]) -> dict[str, tuple[str, ...]]:
        """Ids that cases name and no article has now, with those that it goes by since."""
        there = {article.id for article in self.desk.after}
        named = dict.fromkeys(id_ for pairs in by_case.values() for id_ in pairs[0][1].case.passages)
        return {
            id_: tuple(
                dict.fromkeys(now for at in sorted(self._of(id_)) for now in self.desk.changes[at].now)
            )
            for id_ in named
            if not any(name in there for name in names_of(id_, id_))
        }


def _affected(  # noqa: PLR0917 - both conversations with what is said of them
    fate: Fate,
    change: ArticleChange | None,
    fact: FactChange | None,
    earlier: Conversation,
    later: Conversation,
    turn: Turn,
    *,
    certain: bool = False,
) -> AffectedQuestion:
    was = next((t.answer.text for t in earlier.turns if t.index == turn.index), "")
    return AffectedQuestion(
        fate=fate,
        case=later.case.id,
        question=excerpt(later.case.question),
        article=change.id if change else "",
        title=change.title if change else "",
        old=excerpt(fact.old) if fact else "",
        new=excerpt(fact.new) if fact else "",
        conversation=later.id,
        turn=turn.index,
        before=excerpt(was),
        answer=excerpt(turn.answer.text),
        certain=certain,
        gone=bool(change and change.kind == "withdrawn"),
    )


def _fault(
    case: Case, fault: Fault, change: ArticleChange, reference: str, fact: FactChange | None = None
) -> ReferenceFault:
    return ReferenceFault(
        case=case.id,
        question=excerpt(case.question),
        fault=fault,
        article=change.id,
        title=change.title,
        reference=excerpt(reference),
        old=excerpt(fact.old) if fact else "",
        new=excerpt(fact.new) if fact else "",
    )
