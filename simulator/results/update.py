"""What an update of the bot's articles moved: the questions of two runs, by what became of their facts.

Both runs keep the articles that their bot had (`Results.articles`); what the bot itself searches is its own
index, of which only the retrieved passages are seen. So the two may differ, and that is what is looked for:

    the earlier answer has the old fact, the later one the new fact          moved, as it should
    the later answer has the old fact                                        stale
    the later answer has facts of an article that is gone                    withdrawn
    nothing that the question needs or retrieved differs, its colour does    strayed

    reference has the old fact: it is of before the update                   to be fixed, counts on no side
    every retrieved text of a changed article is the old one                 the index was not rebuilt

Ids and texts prove. An answer is held against the articles that its case names, or, where it names none,
those that were retrieved; of others only against an old sentence that was retrieved and repeated. It has the
old fact where it repeats the sentence, states a figure that the articles have nowhere any more, or says yes
where they say no now. It is stale for certain where a passage with the old sentence was retrieved for it,
else likely. Where a model judged the later answer by a reference that has the new fact, and did not mark it,
it is not stale, whatever its words.

`_Desk` says what a text has of the articles before and after, `_Question` what became of one question.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from functools import cached_property
from itertools import chain, product
from typing import Any, Literal, NamedTuple, get_args

from simulator.core.document import excerpt
from simulator.core.messages import Message, _
from simulator.core.types import Conversation, Passage, Response, Results, StoredArticle, Turn
from simulator.results.article_changes import (
    ALIKE,
    TELLING,
    ArticleChange,
    FactChange,
    article_changes,
    denies,
    facts_of,
    has_fact,
    plain_text,
    similarity,
)
from simulator.results.articles import names_of
from simulator.results.figures import Summary
from simulator.results.right_answers import same_but_masked
from simulator.results.rows import GradedTurn, Key
from simulator.text.figures import figures
from simulator.text.segments import normalise, sentences

# A reference is to be fixed where it has an old fact, or one worked out with it, and where its article is
# gone; so is the mark of a case that is unanswerable no more.
Fate = Literal["moved", "stale", "withdrawn", "strayed", "reference"]
# A sentence that is copied whole, in characters.
_COPIED = 12
# Two folders of which less than this share goes on are not one desk before and after.
_SAME_DESK = 0.2
_TIMES = (*range(2, 13), 24, 36)
_YES, _NO = ("はい", "yes"), ("いいえ", "no,", "no.", "no ")
_ANSWERED: frozenset[Response | None] = frozenset({"answered", "partly"})

_NO_FACT = FactChange("", "")
# Conversations of the same question and customer, of the earlier and of the later run.
Pair = tuple[Conversation, Conversation]


class AffectedQuestion(NamedTuple):
    """A question and what became of it; `old` and `new` are the sentences of the article before and now.

    `before` and `answer` are excerpts of what was said in both runs. Of a reference to be fixed `answer` is
    the reference, empty where the case is only marked. `certain`: ids and texts prove it.
    """

    fate: Fate
    case: str
    question: str
    article: str
    title: str
    old: str
    new: str
    before: str
    answer: str
    certain: bool


class Update(NamedTuple):
    """What became of the articles between two runs, and of the questions that need them or retrieved them.

    `problem` says why no question was looked at. `old_passages` and `new_passages` count what the later bot
    retrieved of changed articles, by text. `unknown` are ids that cases name and no article has now, each
    with the ids that the article goes by since. Certain `questions` come first; one whose reference is to be
    fixed is among them twice if something became of its answer.
    """

    changes: tuple[ArticleChange, ...] = ()
    problem: Message | None = None
    old_passages: int = 0
    new_passages: int = 0
    questions: tuple[AffectedQuestion, ...] = ()
    unknown: Mapping[str, tuple[str, ...]] = {}

    def of(self, *fates: Fate) -> list[AffectedQuestion]:
        """The questions with one of these fates."""
        return [question for question in self.questions if question.fate in fates]

    @property
    def apart(self) -> frozenset[str]:
        """The cases whose reference is of before the update: no grade by it says anything."""
        return frozenset(question.case for question in self.of("reference"))

    @property
    def renamed(self) -> Mapping[str, tuple[str, ...]]:
        """The ids that articles go by since, by those that they had."""
        return {change.id: change.now for change in self.changes if change.kind in ("renamed", "split")}

    @property
    def index_is_old(self) -> bool:
        """Whether the bot still searches the texts of before the update, and none of the new ones."""
        return bool(self.old_passages) and not self.new_passages

    @property
    def late(self) -> int:
        """How many answers are proved to be of before the update, by texts that the bot retrieved."""
        return sum(question.certain for question in self.of("stale", "withdrawn"))

    @property
    def regression(self) -> bool:
        """Whether the update did not arrive."""
        return self.index_is_old or bool(self.late)

    def as_json(self) -> dict[str, Any]:
        """The object that `--json` prints."""
        return {
            "comparable": self.problem is None,
            "changes": [
                {
                    "id": change.id,
                    "title": change.title,
                    "kind": change.kind,
                    "now": change.now,
                    "facts": [{"old": fact.old, "new": fact.new} for fact in change.differing],
                }
                for change in self.changes
            ],
            "index_is_old": self.index_is_old,
            "passages": {"old": self.old_passages, "new": self.new_passages},
            **{fate: [question._asdict() for question in self.of(fate)] for fate in get_args(Fate)},
            "unknown": self.unknown,
        }


def update_of(
    before: tuple[Results, Summary], after: tuple[Results, Summary], pairs: Iterable[Pair]
) -> Update | None:
    """What the update moved; None where no article differs, or neither run knows its articles."""
    later = after[0].articles
    now = {article.id: article for article in later}
    # Where only one of the runs masks personal data, no article was changed by that.
    earlier = tuple(
        now[article.id]
        if article.id in now and same_but_masked(article.text, now[article.id].text)
        else article
        for article in before[0].articles
    )
    if {(article.id, article.digest) for article in earlier} == {(a.id, a.digest) for a in later}:
        return None
    if not (earlier and later):
        run = (after if earlier else before)[0].run.id
        unknown = _("Not comparable: {run} does not know the bot's articles (--knowledge).", run=run)
        return Update(problem=unknown)
    changes = article_changes(earlier, later)
    gone = sum(change.kind == "withdrawn" for change in changes)
    if len(earlier) - gone < _SAME_DESK * min(len(earlier), len(later)):
        other = _("The articles of both runs have hardly anything in common: not comparable.")
        return Update(problem=other)
    if not all(article.packed for article in (*earlier, *later)):
        large = _("A run kept no texts of its articles, which are too large: what they say was not compared.")
        return Update(changes, large)
    desk = _Desk(changes, earlier, later)
    graded = tuple({turn.key: turn for turn in summary.record.turns} for _results, summary in (before, after))
    by_case: dict[str, list[Pair]] = defaultdict(list)
    evidence: dict[tuple[str, str, str], _Evidence] = {}
    for earlier_talk, later_talk in pairs:
        by_case[later_talk.case.id].append((earlier_talk, later_talk))
        for passage in (passage for turn in later_talk.turns for passage in turn.answer.passages):
            evidence[passage.id, passage.source or "", passage.text] = desk.of_passage(passage)
    questions = [_Question(desk, of_case, *graded, trial=after[1].trial) for of_case in by_case.values()]
    affected = filter(None, chain.from_iterable((q.reference, q.affected()) for q in questions))
    return Update(
        changes,
        old_passages=sum(bool(shown.old and not shown.new) for shown in evidence.values()),
        new_passages=sum(bool(shown.new) for shown in evidence.values()),
        questions=tuple(sorted(affected, key=lambda question: not question.certain)),
        unknown={id_: now for question in questions for id_, now in question.unknown.items()},
    )


class _Evidence(NamedTuple):
    """The changes that a passage is about, those whose old text it has, and those whose new text."""

    about: frozenset[int]
    old: frozenset[int]
    new: frozenset[int]


class _Desk:
    """The articles before and after, by what passages and texts are held against.

    A change is known by its place in `changes`.
    """

    def __init__(
        self,
        changes: Sequence[ArticleChange],
        before: Sequence[StoredArticle],
        after: Sequence[StoredArticle],
    ) -> None:
        self.changes = changes
        self.texts = {article.id: article.text for article in before}
        self.there = {article.id: article.text for article in after}
        whole, whole_now = ("\n".join(map(plain_text, t.values())) for t in (self.texts, self.there))
        # Sentences that only one of the folders has, anywhere.
        self.old_only = [_only((change.id,), self.texts, whole_now) for change in changes]
        self.new_only = [_only(change.now, self.there, whole) for change in changes]
        self._named: dict[str, set[int]] = defaultdict(set)
        for at, change in enumerate(changes):
            for id_ in change.ids:
                self._named[id_].add(at)
        self._evidence: dict[tuple[str, str, str], _Evidence] = {}

    def of_id(self, id_: str) -> set[int]:
        """The changes of the article that a case calls so."""
        return {at for name in names_of(id_, id_) for at in self._named.get(name, ())}

    def of_passage(self, passage: Passage) -> _Evidence:
        """What a retrieved passage shows."""
        key = (passage.id, passage.source or "", passage.text)
        if key not in self._evidence:
            named = {at for name in names_of(*key[:2]) for at in self._named.get(name, ())}
            plain = plain_text(passage.text)
            # A bot with ids of its own is known by its texts alone.
            where = named or range(len(self.changes))
            old, new = (
                frozenset(at for at in where if any(sentence in plain for sentence in only[at]))
                for only in (self.old_only, self.new_only)
            )
            self._evidence[key] = _Evidence(frozenset(named) | old | new, old, new)
        return self._evidence[key]

    def of_turn(self, turn: Turn) -> set[int]:
        """The changes that the passages of a turn are about."""
        return {at for passage in turn.answer.passages for at in self.of_passage(passage).about}

    def having(self, sentence: str) -> set[str]:
        """The ids of the articles that have a sentence now."""
        return self._standing.get(plain_text(sentence), set())

    @cached_property
    def _standing(self) -> Mapping[str, set[str]]:
        standing: dict[str, set[str]] = defaultdict(set)
        for id_, text in self.there.items():
            for sentence in sentences(text):
                standing[plain_text(sentence)].add(id_)
        return standing

    @cached_property
    def amounts(self) -> frozenset[str]:
        """The amounts that are written somewhere: these are not worked out."""
        texts = chain(self.texts.values(), self.there.values())
        return frozenset(chain.from_iterable(map(_amounts, texts)))


class _Both(NamedTuple):
    """An answer of the later run, and the one in its place before; None where there was none."""

    earlier: Conversation
    later: Conversation
    was: Turn | None
    turn: Turn

    @property
    def before(self) -> str:
        """What was answered before."""
        return self.was.answer.text if self.was else ""

    @property
    def is_comparable(self) -> bool:
        """Whether both answer the same message."""
        return self.was is not None and (self.turn.index == 1 or self.was.user == self.turn.user)


class _Question:
    """A question of both runs: what became of it, and whether its reference holds.

    `named` are the changes of articles that its case names, `retrieved` those that came for it, and
    `concerned` those that it is held against.
    """

    def __init__(
        self,
        desk: _Desk,
        pairs: Sequence[Pair],
        before: Mapping[Key, GradedTurn],
        after: Mapping[Key, GradedTurn],
        *,
        trial: bool,
    ) -> None:
        self.desk, self.before, self.after, self.trial = desk, before, after, trial
        self.case = pairs[0][1].case
        talks = [talk for pair in pairs for talk in pair]
        self.answers = [
            _Both(earlier, later, next((was for was in earlier.turns if was.index == turn.index), None), turn)
            for earlier, later in pairs
            for turn in later.turns
        ]
        self.firsts = [both for both in self.answers if both.turn.index == 1]
        self.named = {at for talk in talks for id_ in talk.case.passages for at in desk.of_id(id_)}
        self.retrieved = {at for talk in talks for turn in talk.turns for at in desk.of_turn(turn)}
        self.concerned = self.named if self.case.passages else self.retrieved
        # Facts of named articles come first.
        places = sorted(self.named | self.retrieved, key=lambda at: at not in self.named)
        self.facts = [(at, fact) for at in places for fact in desk.changes[at].facts]
        self.reference = self._reference()

    # --- what a text says ---

    @cached_property
    def _needed(self) -> set[str]:
        """All that the articles which the case names may be called."""
        return {name for id_ in self.case.passages for name in names_of(id_, id_)}

    @cached_property
    def _current(self) -> str:
        """What the articles say now that the case needs, or, where none is there, those that came."""
        ids = self._needed | {id_ for at in self.named for id_ in self.desk.changes[at].now}
        if needed := [self.desk.there[id_] for id_ in ids if id_ in self.desk.there]:
            return "\n".join(needed)
        passages = (passage for both in self.answers for passage in both.turn.answer.passages)
        return "\n".join(passage.text for passage in passages if not self.desk.of_passage(passage).old)

    def says_old(self, at: int, fact: FactChange, text: str) -> bool:
        """Whether a text says what an article said before, and what no article says now."""
        if not fact.old:
            return False
        if _is_copied(fact.old, text):
            return not self.desk.having(fact.old) & (self._needed or self.desk.there.keys())
        if at not in self.concerned:
            return False
        if fact.denied and not fact.gone:
            return self._denial(fact, text) is denies(fact.old)
        return has_fact(text, fact.gone - facts_of(self._current))

    def says_new(self, fact: FactChange, text: str) -> bool:
        """Whether a text says what an article says now."""
        if _is_copied(fact.new, text):
            return True
        if fact.denied and not fact.came:
            return self._denial(fact, text) is denies(fact.new)
        return has_fact(text, fact.came)

    def came(self, fact: FactChange, before: str, text: str) -> bool:
        """Whether a text says what the article says since; a figure that was said `before` is another one."""
        return self.says_new(fact, text) and not (before and self.says_new(fact, before))

    def contradicts(self, at: int, fact: FactChange, text: str, before: str = "") -> bool:
        """Whether a text has an old fact, or what was worked out with it, and not the new one."""
        is_old = self.says_old(at, fact, text)
        if not is_old and at in self.named:
            needed = (self.desk.texts.get(name, "") for name in self._needed)
            amount = _worked_out(fact, text, needed, self.desk.amounts)
            is_old = amount is not None and amount not in facts_of(text)
        return is_old and not self.came(fact, before, text)

    def _denial(self, fact: FactChange, text: str) -> bool | None:
        """Whether a text denies what a sentence says; None where neither it nor the question is about it."""
        nearest = max(sentences(text), key=lambda sentence: similarity(fact.old, sentence), default="")
        if max(similarity(fact.old, said) for said in (nearest, self.case.question)) < ALIKE:
            return None
        plain = normalise(text).strip()
        return False if plain.startswith(_YES) else True if plain.startswith(_NO) else denies(nearest)

    # --- what became of it ---

    @property
    def unknown(self) -> dict[str, tuple[str, ...]]:
        """Ids that the case names and no article has now, with those that it goes by since."""
        changes = self.desk.changes
        return {
            id_: tuple(dict.fromkeys(now for at in sorted(self.desk.of_id(id_)) for now in changes[at].now))
            for id_ in self.case.passages
            if not self._is_there(id_)
        }

    def _is_there(self, id_: str) -> bool:
        return any(name in self.desk.there for name in names_of(id_, id_))

    def affected(self) -> AffectedQuestion | None:
        """What became of the question; the gravest of its conversations counts."""
        late = sorted(self._late(), key=lambda question: not question.certain)
        is_untouched = not (self.reference or self.named or self.retrieved)
        strayed = self._strayed() if is_untouched else ()
        return next(chain(late, self._moved(), strayed), None)

    def _late(self) -> Iterator[AffectedQuestion]:
        """The answers that still say what an article said before."""
        answers = (both for both in self.answers if not both.turn.answer.error)
        for both, (at, fact) in product(answers, self.facts):
            if not self._is_late(both, at, fact):
                continue
            certain = any(
                at in self.desk.of_passage(passage).old and _is_copied(fact.old, passage.text)
                for passage in both.turn.answer.passages
            )
            is_gone = self.desk.changes[at].kind == "withdrawn"
            # Words alone prove nothing of what the question does not need.
            if certain or at in (self.named if is_gone else self.concerned):
                yield self._answer("withdrawn" if is_gone else "stale", both, at, fact, certain=certain)

    def _is_late(self, both: _Both, at: int, fact: FactChange) -> bool:
        if not self.contradicts(at, fact, both.turn.answer.text, both.before):
            return False
        index = both.turn.index
        graded = self.after[both.later.id, index]
        is_judged = not self.trial and graded.value is not None and not graded.marks
        return not (is_judged and any(self.says_new(fact, text) for text in self.case.references_at(index)))

    def _moved(self) -> Iterator[AffectedQuestion]:
        """The answers that have the new fact now, in the place of the old one."""
        answers = (both for both in self.answers if both.is_comparable)
        for both, (at, fact) in product(answers, self.facts):
            change = self.desk.changes[at]
            came = self.came(fact, both.before, both.turn.answer.text)
            # What could not be answered is answered from a new article.
            before, now = self._responses(both)
            is_answered = change.kind == "added" and before == "declined" and now in _ANSWERED
            is_new = came and is_answered and at in self.desk.of_turn(both.turn)
            gone = self.says_old(at, fact, both.before) and (came or change.kind == "withdrawn")
            if is_new or gone:
                yield self._answer("moved", both, at, fact)

    def _strayed(self) -> Iterator[AffectedQuestion]:
        """First answers that are red now and were not, or the reverse, or do something else."""
        for both in (both for both in self.firsts if both.was):
            responses = self._responses(both)
            red = self.before[both.earlier.id, 1].marks, self.after[both.later.id, 1].marks
            if bool(red[0]) != bool(red[1]) or (all(responses) and responses[0] != responses[1]):
                yield self._answer("strayed", both)

    def _responses(self, both: _Both) -> tuple[Response | None, Response | None]:
        """What both answers do, as their judges say."""
        before, now = (both.earlier.id, both.turn.index), (both.later.id, both.turn.index)
        return self.before[before].response, self.after[now].response

    def _answer(
        self, fate: Fate, both: _Both, at: int | None = None, fact: FactChange = _NO_FACT, *,
        certain: bool = False,
    ) -> AffectedQuestion:  # fmt: skip
        text = both.turn.answer.text
        return self._affected(fate, at, fact, text, before=both.before, certain=certain)

    def _affected(
        self, fate: Fate, at: int | None, fact: FactChange, answer: str, *,
        before: str = "", certain: bool = True,
    ) -> AffectedQuestion:  # fmt: skip
        change = None if at is None else self.desk.changes[at]
        return AffectedQuestion(
            fate=fate,
            case=self.case.id,
            question=excerpt(self.case.question),
            article=change.id if change else "",
            title=change.title if change else "",
            old=excerpt(fact.old),
            new=excerpt(fact.new),
            before=excerpt(before),
            answer=excerpt(answer),
            certain=certain,
        )

    # --- whether its reference holds ---

    def _reference(self) -> AffectedQuestion | None:
        """What of the case is of before the update."""
        case = self.case
        said = [*(text for texts in case.references for text in texts), *case.expect]
        for at in sorted(self.concerned):
            change = self.desk.changes[at]
            if change.kind == "withdrawn":
                needed = [id_ for id_ in case.passages if at not in self.desk.of_id(id_)]
                if at in self.named and case.answerable is not False and not any(map(self._is_there, needed)):
                    return self._affected("reference", at, _NO_FACT, said[0] if said else "")
                continue
            for fact, text in product(change.facts, said):
                if self.contradicts(at, fact, text):
                    return self._affected("reference", at, fact, text)
        return self._answerable() if case.answerable is False else None

    def _answerable(self) -> AffectedQuestion | None:
        """That a case marked as unanswerable was answered from an article that is new."""
        graded = ((both, self.after[both.later.id, 1]) for both in self.firsts)
        for both in (both for both, turn in graded if turn.response in _ANSWERED):
            for at in sorted(self.desk.of_turn(both.turn)):
                change = self.desk.changes[at]
                for fact in change.facts if change.kind == "added" else ():
                    if self.says_new(fact, both.turn.answer.text):
                        return self._affected("reference", at, fact, "")
        return None


def _is_copied(sentence: str, text: str) -> bool:
    plain = plain_text(sentence)
    return len(plain) >= _COPIED and plain in plain_text(text)


def _only(ids: Iterable[str], texts: Mapping[str, str], other: str) -> tuple[str, ...]:
    """The sentences of articles, as they are compared, that the other folder has nowhere."""
    plain = (plain_text(sentence) for id_ in ids for sentence in sentences(texts.get(id_, "")))
    return tuple(sentence for sentence in plain if len(sentence) >= TELLING and sentence not in other)


def _worked_out(fact: FactChange, text: str, among: Iterable[str], written: Collection[str]) -> str | None:
    """What an amount of a text comes to now that was worked out with the old amount; None without one.

    A sum with another amount of the needed articles (`among`), or a multiple; amounts that are `written`
    somewhere are not worked out.
    """
    gone = [amount for amount in _amounts(fact.old) if amount in fact.gone]
    came = [amount for amount in _amounts(fact.new) if amount in fact.came]
    if len(gone) != 1 or len(came) != 1:
        return None
    (was, unit), (now, _unit) = (_number(amount) for amount in (*gone, *came))
    others = {_number(amount) for other in among for amount in _amounts(other)}
    for amount in _amounts(text):
        said, unit_said = _number(amount)
        if amount in written or unit_said != unit:
            continue
        times = next((times for times in _TIMES if said == was * times), None)
        if times or (said - was, unit) in others:
            then = now * times if times else said - was + now
            return f"{then.normalize():f}{unit}"
    return None


def _amounts(text: str) -> Iterator[str]:
    return (figure.value for figure in figures(text) if figure.kind == "amount")


def _number(amount: str) -> tuple[Decimal, str]:
    """An amount without its unit, and that: "1300円"."""
    return Decimal(amount[:-1]), amount[-1]
