"""Articles as people know them: the whole document behind a passage, and its title."""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import fsum
from pathlib import Path
from typing import Any, Literal

from simulator.core.settings import Settings
from simulator.core.shelves import our_name
from simulator.core.templates import Texts
from simulator.core.types import PASSED, Language, Passage, Results, Severity, Value, compact
from simulator.diagnosis.evidence import Blame, Cause
from simulator.diagnosis.root_cause import articles_of, blames, found_before
from simulator.stats.figures import RedTurn, Summary
from simulator.stats.red import RANK, worst
from simulator.stats.summary import excerpt
from simulator.storage.results import english_share, retrieves

_PART = re.compile(r"#\d+\Z")
_HEADING = re.compile(r"\s*#{1,6}\s+(\S.*)")
# A first line that is longer than this is a sentence rather than a title.
_LONGEST_TITLE = 60
_SHOWN = 40


class Library:
    """The articles that a run knows of: what its bot retrieved, what its questions need, and `articles`."""

    def __init__(self, results: Results, articles: Iterable[Passage] = ()) -> None:
        """The titles of `articles`, the knowledge base itself, go before those of what was retrieved."""
        self._titles: dict[str, str] = {}
        self._ids = {key for conversation in results.conversations for key in conversation.case.passages}
        for passage in articles:
            self._add(passage)
        for conversation in results.conversations:
            for turn in conversation.turns:
                for passage in turn.answer.passages:
                    self._add(passage)

    def _add(self, passage: Passage) -> None:
        if passage.id not in self._titles:
            self._titles[passage.id] = heading_of(passage.text)
            self._ids.add(passage.id)

    def whole(self, passage: str) -> str:
        """The article of a passage: `ja/01-plans` of `ja/01-plans#2`; a row of a table is one by itself."""
        bare = _PART.sub("", passage)
        return bare if bare in self._ids else passage

    def title(self, article: str) -> str:
        """What the article is called; empty when nobody knows."""
        return self._titles.get(article, "")


def heading_of(text: str) -> str:
    """The heading that a text begins with, or its first line where that is short and more follows."""
    first, _, rest = text.lstrip().partition("\n")
    if heading := _HEADING.match(first):
        return excerpt(heading[1].rstrip("# "), _SHOWN)
    return excerpt(first, _SHOWN) if rest.strip() and len(first) <= _LONGEST_TITLE else ""


# Turns that are not red, at the least, for a forecast of what mending would bring.
LEAST = 5


class Example(Value):
    """One turn behind a fix: `evidence` says why this is its cause, `reference` what was right to say."""

    conversation: str
    turn: int
    persona: str
    case: str
    question: str
    answer: str
    failure: str | None
    reason: str
    evidence: str
    reference: str


class Fix(Value):
    """One thing to mend, and the red turns that it should mend.

    `key` is cause and place: the same fix has it in every run. `gain` (0..1) is what the run's score would
    gain, where that can be foretold; the gains of all fixes of a run add up. `sure` says whether the cause is
    certain for every one of the turns. `rank` counts from 1, and is 0 for what is no fix of the bot's.
    `article` is the id of the article to mend, `pair` the spelling to register: as it was asked, as the
    article writes it.
    """

    rank: int
    key: str
    cause: Cause
    sure: bool
    severity: Severity
    title: str
    what: str
    where: str
    turns: tuple[tuple[str, int], ...]
    personas: tuple[str, ...]
    cases: tuple[str, ...]
    examples: tuple[Example, ...]
    gain: float
    article: str = ""
    pair: tuple[str, str] | None = None


class Improvements(Value):
    """Everything that a run says should be mended, best first; `customer` are turns that are not the bot's.

    `goal` (0..1) is what a mended turn is taken to be graded: the mean over the turns that are not red. There
    are `green` of them; with too few nothing is foretold.
    `blames` are the causes, turn by turn. `unsearched`: rows are red, but nothing was retrieved for any.
    """

    language: Language
    score: float | None
    goal: float
    green: int = 0
    fixes: tuple[Fix, ...] = ()
    customer: tuple[Fix, ...] = ()
    blames: tuple[Blame, ...] = ()
    unsearched: bool = False

    @property
    def foretells(self) -> bool:
        """Whether enough turns are not red to say what mending would bring."""
        return self.green >= LEAST

    @property
    def mended(self) -> float | None:
        """What the score would be with every fix done (0..1); None where nothing is foretold."""
        if not self.fixes:
            return self.score
        if self.score is None or not self.foretells:
            return None
        return min(1.0, self.score + sum(fix.gain for fix in self.fixes))


Anchors = Mapping[tuple[str, int], str]


def as_json(found: Improvements, shown: Sequence[Fix], anchors: Anchors) -> dict[str, Any]:
    """Figures rounded to 4 decimals, like those of the run; `anchors` are the turns' places on its page."""
    return {
        "score": _rounded(found.score),
        "mended": _rounded(found.mended),
        "goal": _rounded(found.goal) if found.foretells else None,
        "fixes": [_fix(fix, found, anchors) for fix in shown],
        "left_out": len(found.fixes) - len(shown),
        "customer": [_fix(fix, found, anchors) for fix in found.customer],
    }


def _fix(fix: Fix, found: Improvements, anchors: Anchors) -> dict[str, Any]:
    told = fix.model_dump(mode="json", exclude={"turns", "examples", "gain"})
    return told | {
        "gain": _rounded(fix.gain) if found.foretells else None,
        "turns": [{"conversation": conversation, "turn": turn} for conversation, turn in fix.turns],
        "examples": [_example(each, anchors) for each in fix.examples],
    }


def _example(each: Example, anchors: Anchors) -> dict[str, Any]:
    anchor = anchors.get((each.conversation, each.turn))
    return each.model_dump(mode="json") | {"link": f"report.html#{anchor}" if anchor else None}


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 4)


# Four of five: the lowest grade that is usually not red. Taken for the order where every turn of a run is.
ACCEPTABLE = 0.8
FULL: frozenset[Cause] = frozenset({"should_refuse"})
# By these judges an answer is right, 1, or wrong, 0.
RIGHT_OR_WRONG = frozenset({"label", "choice", "exact_match", "contains", PASSED})

Key = tuple[str, int]


class Gains:
    """The gain of each turn, looked up once for a run."""

    def __init__(self, results: Results, summary: Summary) -> None:
        """Only what stands behind the summary's score counts."""
        red = {(turn.conversation, turn.turn) for turn in summary.reddest}
        self._values = _values(results, summary, red)
        self._graded = Counter(conversation for conversation, _ in self._values)
        judge = our_name(summary.primary.rpartition(".")[2])  # of one output, the judge alone
        good = [value for key, value in self._values.items() if key not in red]
        self.green = len(good)
        self.goal = fsum(good) / len(good) if good else 1.0 if judge in RIGHT_OR_WRONG else ACCEPTABLE

    def of(self, key: Key, cause: Cause) -> float:
        """How much the run's score (0..1) gains when this turn is mended; 0 for one without a grade."""
        value = self._values.get(key)
        if value is None:
            return 0.0
        missing = (1.0 if cause in FULL else self.goal) - value
        return max(0.0, missing) / (self._graded[key[0]] * len(self._graded))


def _values(results: Results, summary: Summary, red: Collection[Key]) -> dict[Key, float]:
    """What the deciding judge gave the turns that count."""
    spoken = {
        (conversation.id, turn.index) for conversation in results.conversations for turn in conversation.turns
    }
    customers = summary.simulator.customers
    left_out = set(customers.spoilt) - set(red) if customers.handling == "exclude" else set()
    counted = spoken - left_out
    return {
        key: score.value
        for score in results.scores
        if score.judge == summary.primary
        and score.value is not None
        and (key := (score.conversation, score.turn)) in counted
        and score.conversation in summary.conversation_scores
    }


PlaceKind = Literal["article", "cutting", "dialogue", "prompt", "pair", "case", "rows", "bot", "simulator"]

# Mended by a line of the prompt, unless one article alone brings it about.
OF_THE_PROMPT: frozenset[Cause] = frozenset({
    "invented", "ignored", "tone", "should_refuse", "should_answer",
})  # fmt: skip
# The line of the prompt for those who have to be passed on to a person.
HANDOVER = "handover"
OF_A_HANDOVER: frozenset[Cause] = frozenset({"should_refuse", "misunderstood"})
# Causes that one mend of an article covers: it is found under the customers' words; what it says is plain.
COVERED: tuple[frozenset[Cause], ...] = (
    frozenset({"retrieval", "spelling", "misunderstood"}),
    frozenset({"ignored", "invented", "should_answer"}),
)
# Causes by which an article was not found; where its question alone finds it, the search lost the thread.
OF_THE_SEARCH: frozenset[Cause] = COVERED[0]
# Where a turn of this cause is mended when nobody knows the article.
_WITHOUT_ARTICLE: Mapping[Cause, PlaceKind] = {
    "knowledge": "case",
    "outdated": "case",
    "unclear": "case",
    "retrieval": "case",
    "spelling": "case",
    "misunderstood": "prompt",
    "ignored": "prompt",
}


@dataclass(frozen=True, slots=True)
class FixTarget:
    """Where a change is made; `name` is the article's, the pair's, the case's, the failure's.

    Of the prompt it names the line, where a cause has several.
    """

    kind: PlaceKind
    name: str = ""

    def __str__(self) -> str:
        """As it stands in the key of a fix."""
        return f"{self.kind}:{self.name}" if self.name else self.kind


@dataclass(frozen=True, slots=True)
class DiagnosedTurn:
    """A red turn, its cause and the article that it takes, as a whole document.

    `handover` says that this customer should have been passed on to a person.
    """

    red: RedTurn
    blame: Blame
    article: str = ""
    handover: bool = False


@dataclass(frozen=True, slots=True)
class Group:
    """Red turns that one change mends, gravest first."""

    cause: Cause
    place: FixTarget
    members: tuple[DiagnosedTurn, ...]


def groups(blamed: Sequence[DiagnosedTurn], *, rows: bool = False) -> list[Group]:
    """The turns by what mends them, in the order of each group's gravest turn.

    `rows`: of a single-turn data set, whose rows without a known cause are one group, to be read.
    """
    alone, missed = _single_articles(blamed), _missed_at_once(blamed)
    found: dict[tuple[Cause, FixTarget], list[DiagnosedTurn]] = {}
    for each in blamed:
        place = FixTarget("dialogue") if _lost_the_thread(each, missed) else _place(each, alone)
        if rows and each.blame.cause == "unclear" and place.kind == "case":
            place = FixTarget("rows")
        cause: Cause = "retrieval" if place.kind == "dialogue" else each.blame.cause
        found.setdefault((cause, place), []).append(each)
    return _merged([Group(cause, place, tuple(members)) for (cause, place), members in found.items()])


def _single_articles(blamed: Iterable[DiagnosedTurn]) -> dict[Cause, str]:
    """The article of each cause of the prompt all of whose turns come from that one."""
    articles: dict[Cause, set[str]] = {}
    for each in blamed:
        if each.blame.cause in OF_THE_PROMPT and not _is_handover(each):
            articles.setdefault(each.blame.cause, set()).add(each.article)
    return {cause: next(iter(found)) for cause, found in articles.items() if len(found) == 1}


def _missed_at_once(blamed: Iterable[DiagnosedTurn]) -> set[tuple[str, str]]:
    """Case and article of each first question whose article was not found."""
    return {
        (each.red.case, each.article)
        for each in blamed
        if each.red.turn == 1 and each.blame.cause in OF_THE_SEARCH
    }


def _lost_the_thread(each: DiagnosedTurn, missed: set[tuple[str, str]]) -> bool:
    """Whether a follow-up was searched for by its own words, though the question itself finds the article."""
    of_the_search = each.blame.cause in OF_THE_SEARCH and not (each.blame.pair or each.blame.cut)
    return each.red.turn > 1 and of_the_search and (each.red.case, each.article) not in missed


def _place(each: DiagnosedTurn, alone: Mapping[Cause, str]) -> FixTarget:
    cause, pair = each.blame.cause, each.blame.pair
    if cause == "customer":
        return FixTarget("simulator")
    if cause == "no_answer":
        return FixTarget("bot", each.red.failure or "")
    if cause == "spelling" and pair:
        return FixTarget("pair", "=".join(pair))
    if _is_handover(each):
        return FixTarget("prompt", HANDOVER)
    if cause in OF_THE_PROMPT:
        return FixTarget("article", alone[cause]) if alone.get(cause) else FixTarget("prompt")
    kind: PlaceKind = "article" if each.article else _WITHOUT_ARTICLE[cause]
    kind = "cutting" if each.blame.cut else kind
    return FixTarget(kind, {"article": each.article, "case": each.red.case}.get(kind, ""))


def _is_handover(each: DiagnosedTurn) -> bool:
    """Whether the bot should have passed a customer on, rather than said anything else."""
    return each.handover and each.blame.cause in OF_A_HANDOVER


def _merged(found: list[Group]) -> list[Group]:
    """Fixes of one turn each join where they take the same article and one mend covers both."""
    joined = {at: places for places in _coverable(found) if len(places) > 1 for at in places}
    return [
        _join([found[each] for each in joined[at]]) if at in joined else group
        for at, group in enumerate(found)
        if at not in joined or joined[at][0] == at
    ]


def _coverable(found: list[Group]) -> Iterable[list[int]]:
    """Groups of one turn by article and family of causes; of several pairs, the first: each is a mend."""
    together: dict[tuple[str, frozenset[Cause]], list[int]] = {}
    paired: set[str] = set()
    for at, group in enumerate(found):
        article, is_pair = group.members[0].article, group.place.kind == "pair"
        family = next((family for family in COVERED if group.cause in family), None)
        if len(group.members) > 1 or not family or not article or (is_pair and article in paired):
            continue
        together.setdefault((article, family), []).append(at)
        if is_pair:
            paired.add(article)
    return together.values()


def _join(singles: list[Group]) -> Group:
    """The gravest of them gives the cause; a pair of the dictionary is kept, it mends the most."""
    leading = next((group for group in singles if group.place.kind == "pair"), singles[0])
    members = tuple(member for group in singles for member in group.members)
    return Group(leading.cause, leading.place, members)


WORDS = Texts(Path(__file__).with_name("fixes.toml"))
# Characters of a question and of an id in a sentence; English takes twice as many to say the same.
_QUESTION: dict[Language, int] = {"ja": 40, "en": 80}
_NAME = 60
_INNER = str.maketrans("「」“”", "『』‘’")
# Failures of the bot, and a line of the prompt, that have a sentence of their own.
_OWN_WORDS = frozenset({"timeout", "empty", HANDOVER})
# What is said of an article that nobody has seen: it may not be there.
_UNSEEN: dict[Cause, str] = {"knowledge": "what_knowledge_missing", "retrieval": "what_retrieval_unseen"}
# Sentences on conversations, which are others where answers to rows are meant.
_OF_ANSWERS = frozenset({"what_unclear_article"})


def cause_name(cause: Cause, language: Language) -> str:
    """What people call a cause."""
    return WORDS(language, f"cause_{cause}")


def certainty(sure: bool, language: Language) -> str:
    """Whether the cause is certain, in a word."""
    return WORDS(language, "sure" if sure else "likely")


def where(group: Group, language: Language) -> str:
    """The place of a change, short."""
    kind, name = group.place.kind, group.place.name
    named = {"id": excerpt(name, _NAME)} if kind in ("article", "case") else {}
    return WORDS(language, f"where_{kind}", **named)


def title(group: Group, language: Language) -> str:
    """Cause and place, as a heading."""
    return WORDS(language, "title", cause=cause_name(group.cause, language), where=where(group, language))


def what(group: Group, library: Library, language: Language, *, rows: bool = False) -> str:
    """What to do, in one sentence; `rows`: of a single-turn data set, which has no conversations to read."""
    asked = min(group.members, key=lambda each: each.red.turn)  # later turns repeat it, or complain
    known = {"question": _quotable(excerpt(asked.red.question, _QUESTION[language]))}
    if group.place.kind == "article":
        known["article"] = _article(group.place.name, library, language)
    if pair := next((each.blame.pair for each in group.members if each.blame.pair), None):
        known["asked"], known["written"] = (excerpt(word, _QUESTION[language]) for word in pair)
    if group.place.kind == "article" and group.cause in _UNSEEN and not library.title(group.place.name):
        return WORDS(language, _UNSEEN[group.cause], id=excerpt(group.place.name, _NAME), **known)
    if group.place.kind == "rows":
        known["n"] = f"{len(group.members):,}"
    key = _key(group)
    said = WORDS(language, f"{key}_rows" if rows and key in _OF_ANSWERS else key, **known)
    return said[0].upper() + said[1:]


def _quotable(text: str) -> str:
    """With other marks for quotations of its own: it stands within quotation marks."""
    return text.translate(_INNER)


def _key(group: Group) -> str:
    """The sentence's key; a failure of the bot without a sentence of its own takes the common one."""
    named = group.place.name if group.place.kind in ("bot", "prompt") else ""
    named = named if named in _OWN_WORDS else ""
    return f"what_{group.cause}_{named or group.place.kind}"


def _article(article: str, library: Library, language: Language) -> str:
    named = library.title(article)
    key = "article" if named else "article_untitled"
    return WORDS(language, key, id=excerpt(article, _NAME), **({"title": named} if named else {}))


EXAMPLES = 3


def fixes(
    results: Results, summary: Summary, blames: Sequence[Blame], *, articles: Iterable[Passage] = ()
) -> tuple[Fix, ...]:
    """What to mend in the bot; `articles`, the knowledge base, only lends its titles."""
    return improvements(results, summary, blames, articles=articles).fixes


def improvements(
    results: Results,
    summary: Summary,
    blames: Sequence[Blame],
    *,
    articles: Iterable[Passage] = (),
    language: Language | None = None,
) -> Improvements:
    """What to mend in the bot, and apart from it what the simulated customer spoilt.

    Fixes are ranked by what they bring the run's score (to a hundredth of a point), then by the gravest of
    their turns, then by how many kinds of customer, and how many turns, they concern. Without a `language`
    sentences are in the one that most conversations are held in.
    """
    spoken = language or _language(results)
    library, gains = Library(results, articles), Gains(results, summary)
    made = _Maker(results, library, gains, spoken)
    red = _blamed(results, summary, blames, library)
    found = [made.fix(group) for group in groups(red, rows=summary.rows)]
    ranked = sorted((fix for fix in found if fix.cause != "customer"), key=_best_first)
    return Improvements(
        language=spoken,
        score=summary.score,
        goal=gains.goal,
        green=gains.green,
        fixes=tuple(compact(fix, rank=rank) for rank, fix in enumerate(ranked, 1)),
        customer=tuple(fix for fix in found if fix.cause == "customer"),
        blames=tuple(blames),
    )


def _blamed(
    results: Results, summary: Summary, blames: Iterable[Blame], library: Library
) -> list[DiagnosedTurn]:
    """The red turns that have a cause, gravest first, with their articles as whole documents."""
    known = {(blame.conversation, blame.turn): blame for blame in blames}
    passed_on = {
        conversation.id for conversation in results.conversations if conversation.case.handover == "required"
    }
    return [
        DiagnosedTurn(
            red=red,
            blame=blame,
            article=library.whole(blame.articles[0]) if blame.articles else "",
            handover=red.conversation in passed_on,
        )
        for red in summary.reddest
        if (blame := known.get((red.conversation, red.turn)))
    ]


def _best_first(fix: Fix) -> tuple[float, int, int, int, str]:
    return -round(fix.gain, 4), RANK[fix.severity], -len(fix.personas), -len(fix.turns), fix.key


class _Maker:
    """Makes fixes of groups, for one run."""

    def __init__(self, results: Results, library: Library, gains: Gains, language: Language) -> None:
        self._library, self._gains, self._language = library, gains, language
        self._rows = results.run.asks_once
        self._references = {
            conversation.id: conversation.case.references_at for conversation in results.conversations
        }

    def fix(self, group: Group) -> Fix:
        """One thing to mend, not ranked yet."""
        members, language = group.members, self._language
        keys = [(each.red.conversation, each.red.turn) for each in members]
        gains = [self._gains.of(key, each.blame.cause) for key, each in zip(keys, members, strict=True)]
        return Fix(
            rank=0,
            key=f"{group.cause}/{group.place}",
            cause=group.cause,
            sure=all(each.blame.sure for each in members),
            severity=worst(mark for each in members for mark in each.red.marks),
            title=title(group, language),
            what=what(group, self._library, language, rows=self._rows),
            where=where(group, language),
            turns=tuple(keys),
            personas=_distinct(each.red.persona for each in members),
            cases=_distinct(each.red.case for each in members),
            examples=tuple(self._example(each) for each in _varied(members)),
            gain=0.0 if group.cause == "customer" else fsum(gains),
            article=group.place.name if group.place.kind == "article" else "",
            pair=next((each.blame.pair for each in members if each.blame.pair), None),
        )

    def _example(self, each: DiagnosedTurn) -> Example:
        red = each.red
        references = self._references.get(red.conversation, _nothing)(red.turn)
        example = Example(
            conversation=red.conversation,
            turn=red.turn,
            persona=red.persona,
            case=red.case,
            question=red.question,
            answer=red.answer,
            failure=red.failure,
            reason=excerpt(red.reason),
            evidence=excerpt(each.blame.evidence),
            reference=excerpt(references[0]) if references else "",
        )
        return compact(example)


def _nothing(_: int) -> tuple[str, ...]:
    return ()


def _varied(members: Sequence[DiagnosedTurn]) -> list[DiagnosedTurn]:
    """The gravest turn, then those of other questions, other customers, other conversations."""
    shown: list[DiagnosedTurn] = []
    for tell in (_case, _persona, _conversation):
        told = {tell(each.red) for each in shown}
        for each in members:
            if len(shown) < EXAMPLES and tell(each.red) not in told:
                shown.append(each)
                told.add(tell(each.red))
    return shown


def _case(red: RedTurn) -> object:
    return red.case


def _persona(red: RedTurn) -> object:
    return red.persona


def _conversation(red: RedTurn) -> object:
    return red.conversation


def _distinct(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names))


def _language(results: Results) -> Language:
    """The language that most conversations are in; Japanese on a tie."""
    return "en" if english_share(results) > 0.5 else "ja"


def improvements_of_run(
    results: Results, summary: Summary, settings: Settings, language: Language | None = None
) -> Improvements:
    """With the bot's own articles, where the settings name them, and what it said when it was asked again.

    Raises InputError when the knowledge that `--knowledge` names cannot be read.
    """
    if summary.rows and not retrieves(results):
        return _none(summary, language or "ja")
    articles = (articles_of(settings) or ()) if summary.reddest else ()
    found = blames(results, summary, articles=articles or None, found=found_before(results))
    return improvements(results, summary, found, articles=articles, language=language)


def improvements_of(results: Results, summary: Summary, language: Language | None = None) -> Improvements:
    """From the run alone: what depends on the knowledge base is told as likely."""
    if summary.rows and not retrieves(results):
        return _none(summary, language or "ja")
    return improvements(results, summary, blames(results, summary), language=language)


# Where nothing was retrieved for any row, there is neither an article nor a search to mend.
def _none(summary: Summary, language: Language) -> Improvements:
    return Improvements(language=language, score=summary.score, goal=1.0, unsearched=bool(summary.reddest))
