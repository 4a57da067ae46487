"""What to fix first: red turns grouped by the change that fixes them, ranked by what the score gains.

From causes (results/causes.py) to a list that a team works off:

1. A turn with its cause has a place where it is fixed (`FixTarget`): an article, a line of the prompt, how
   articles are cut, the bot itself.
2. Turns with one cause and one place are one `Group`, because one change fixes them all.
3. A group gains what its turns lack of an average turn that is not red (`Gains`). 0.9 instead of 0.4 in a
   conversation of two turns adds 0.25 to that conversation's score; of ten conversations it is 2.5 points
   of 100.
4. Groups are ranked by that gain, then by gravity, then by how many customers and turns they concern.

The gains of all fixes add up to the score with all of them done, because each turn is in one group. They are
an expectation: a fixed turn may become better than average, or break another.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from math import fsum
from typing import Any, Literal, NamedTuple, get_args

from simulator.core.document import Text, excerpt
from simulator.core.messages import Message, _
from simulator.core.replies import LapseKind
from simulator.core.settings import Settings
from simulator.core.shelves import canonical_judge
from simulator.core.titles import TITLES
from simulator.core.types import PASSED, Language, Passage, Results, Severity, Value
from simulator.results.articles import Shelf, article_of, heading_of
from simulator.results.causes import (
    STANDINGS,
    Cause,
    RootCause,
    Standing,
    cause_sentence,
    root_causes,
    searched,
)
from simulator.results.figures import RedTurn, Summary, rounded
from simulator.results.knowledge import articles_of
from simulator.results.red import RANK, gravest_reason, placed_scores, red_marks, worst_severity
from simulator.results.red_answers import MAX_QUOTED
from simulator.results.rows import Key
from simulator.text.typography import language_of

PlaceKind = Literal["article", "cutting", "dialogue", "prompt", "case", "rows", "bot", "open"]
# The place of each turn on the report's page.
Anchors = Mapping[Key, str]

# Turns that a fix shows, and fixes that the reports of a run have: the others are counted. A run of 10,000
# questions can have a fix for each, and each quotes its turns.
EXAMPLES, MOST_FIXES = 3, 1_000
# The gain of a fix is estimated only with at least this many turns that are not red: what an average one is
# worth is known from these alone.
LEAST = 5
# Four of five, the lowest grade that is usually not red: the goal where every turn of a run is red.
ACCEPTABLE = 0.8
# By these judges an answer is right, 1, or wrong, 0.
RIGHT_OR_WRONG = frozenset({"label", "choice", "exact_match", "contains", PASSED})
# Fixed by a line of the prompt.
OF_THE_PROMPT: frozenset[Cause] = frozenset({
    "invented", "ignored", "tone", "should_refuse", "should_answer", "needless_question", "no_handover",
    "lost_thread", "tools", "expectations", *get_args(LapseKind),
})  # fmt: skip
# The line of the prompt for those who have to be passed on to a person.
HANDOVER = "handover"
OF_A_HANDOVER: frozenset[Cause] = frozenset({"should_refuse", "no_handover"})
# Causes by which an article was not found; where its question alone finds it, the search lost the thread:
# "and for students?" has none of the article's words.
OF_THE_SEARCH: frozenset[Cause] = frozenset({"retrieval", "spelling"})
# Where a turn of this cause is fixed when the article is not known.
_WITHOUT_ARTICLE: Mapping[Cause, PlaceKind] = {
    "knowledge": "case",
    "outdated": "case",
    "unclear": "case",
    "retrieval": "case",
    "spelling": "case",
    "forbidden": "prompt",
}

# Characters of a question and of an id in a sentence; English needs twice as many. Inner quotation marks
# become those of the second level.
_QUESTION: dict[Language, int] = {"ja": 40, "en": 80}
_NAME = 60
_INNER = str.maketrans("「」“”", "『』‘’")

# The place of a change, in a few words.
_WHERE: dict[PlaceKind, Message] = {
    "article": _("article {id}"),
    "cutting": _("how articles are cut"),
    "dialogue": _("the search in follow-ups"),
    "prompt": _("prompt"),
    "case": _("question {id}"),
    "rows": _("answers"),
    "open": _("answers"),
    "bot": _("the bot itself"),
}
# Whose work a change at that place is; of a question it depends on the cause.
_WHO: Mapping[PlaceKind, Message] = {
    "article": _("Article writer"),
    "cutting": _("Search engineer"),
    "dialogue": _("Search engineer"),
    "prompt": _("Prompt author"),
    "bot": _("Bot engineer"),
}
_PASS_ON = _(
    "Add to the prompt: “Apologise for complaints, and pass them on to a person, and whatever else only a"
    " person can do.”"
)
# What to do about a cause: by the kind of place, or by the failure of the bot or the line of the prompt.
_WHAT: dict[tuple[Cause, str], Message] = {
    ("no_answer", "bot"): _("Make the bot always return an answer (look for the error in the server's log)."),
    ("no_answer", "timeout"): _(
        "Make the bot answer in time (find the slow step, or review the seconds of --timeout)."
    ),
    ("no_answer", "empty"): _(
        "Never let the bot return an empty answer (give it a sentence for when it has none)."
    ),
    ("should_refuse", "prompt"): _(
        "Add to the prompt: “If the material does not answer the question, say so and name the desk to ask.”"
    ),
    ("should_refuse", HANDOVER): _PASS_ON,
    ("should_answer", "prompt"): _(
        "Add to the prompt: “When the material has the answer, give it; do not refuse.”"
    ),
    ("no_handover", HANDOVER): _PASS_ON,
    ("lost_thread", "prompt"): _(
        "Give the model the conversation so far, and add to the prompt: “Answer the "
        "customer's latest message; do not give an earlier answer again.”"
    ),
    ("needless_question", "prompt"): _(
        "Add to the prompt: “When the material has the answer, give it first; ask back only for what you"
        " cannot answer without.”"
    ),
    ("knowledge", "article"): _("Add the answer to “{question}” to {article}."),
    ("knowledge", "case"): _("Write an article that answers “{question}” (the present material has none)."),
    ("outdated", "article"): _(
        "Make {article} agree with the reference answer to “{question}”: correct the outdated one."
    ),
    ("outdated", "case"): _(
        "Make the reference answer to “{question}” and the retrieved passages agree: correct "
        "the outdated one."
    ),
    ("spelling", "article"): _("Add the customers' own words (“{question}”) to {article}."),
    ("spelling", "case"): _(
        "Register words of the same meaning, so that “{question}” finds the material, too."
    ),
    ("retrieval", "cutting"): _(
        "Cut the articles so that headings and answers stay together (such as the answer to “{question}”,"
        " which is cut off)."
    ),
    ("retrieval", "article"): _(
        "Let the search find {article}: add the words of “{question}” to its heading or text."
    ),
    ("retrieval", "dialogue"): _(
        "Search with the earlier messages as well, not with the last one alone: articles "
        "that the first question finds are lost as the conversation goes on."
    ),
    ("retrieval", "case"): _(
        "“{question}”: check whether an article answers it; let the search find it, or write one."
    ),
    ("ignored", "prompt"): _(
        "Add to the prompt: “Use the figures and conditions of the retrieved material as they stand.”"
    ),
    ("invented", "prompt"): _("Add to the prompt: “Do not say what is not in the material.”"),
    ("forbidden", "prompt"): _(
        "Put the rules that were broken into the prompt (they are listed under Rules of the desk)."
    ),
    ("tools", "prompt"): _("Say in the prompt when to call which tool, and which never."),
    ("expectations", "prompt"): _(
        "Put what is expected (for “{question}” and the like) into the prompt, and what it takes into the"
        " articles."
    ),
    ("tone", "prompt"): _(
        "Add to the prompt: “Be polite, and acknowledge how the customer feels before answering.”"
    ),
    ("forgotten", "prompt"): _(
        "Give the model the conversation so far, and add to the prompt: “Do not ask for what "
        "the customer has already said.”"
    ),
    ("contradictions", "prompt"): _(
        "Add to the prompt: “Keep to what you said before; if it was wrong, say so and correct it.”"
    ),
    ("loops", "prompt"): _(
        "Add to the prompt: “If an answer did not help, do not repeat it: ask what is missing, or pass the"
        " customer on.”"
    ),
    ("mixups", "prompt"): _(
        "Add to the prompt: “Before you speak of an order or a person, compare number and name with what the"
        " customer said.” Check that the bot is given this customer's data alone."
    ),
    ("closures", "prompt"): _(
        "Add to the prompt: “Say goodbye, or ask whether there is anything else, only when all that was asked"
        " is answered.”"
    ),
    ("overlooked", "prompt"): _(
        "Add to the prompt: “Where a customer asks for several things, answer each of them, or say which one"
        " comes next.”"
    ),
    ("promises", "prompt"): _(
        "Add to the prompt: “Announce only what you can do in this conversation, and do it.”"
    ),
    ("unclear", "article"): _(
        "Read the conversations and decide whether to change {article}, the search or the prompt."
    ),
    ("unclear", "case"): _(
        "Read the conversations about “{question}” and decide whether to change the material, the search"
        " or the prompt."
    ),
    ("unclear", "open"): _(
        "Read the answers whose cause was not looked into: {n}. In a run with a model the judge names it."
    ),
    ("unclear", "rows"): _(
        "Rows without a known cause: {n}. Read their answers and decide whether to change the material,"
        " the search or the prompt."
    ),
}
# The same for an article that was never retrieved: it may not exist.
_UNSEEN: dict[Cause, Message] = {
    "knowledge": _(
        "Write the article {id}, which the present material does not have (it answers “{question}” and the"
        " like)."
    ),
    "retrieval": _(
        "The article {id} (“{question}”) is not among what the bot retrieved: check whether it is there;"
        " let the search find it, or write it."
    ),
}


class Example(Value):
    """One turn behind a fix: `cause` is the sentence about it, `evidence` why; `reference` is a right answer.

    `reason` is the judge's. Texts are excerpts; a `reference` is empty where nobody wrote a right answer.
    """

    conversation: str
    turn: int
    persona: str
    case: str
    question: str
    answer: str
    failure: str | None
    reason: str
    cause: Text
    evidence: Text
    reference: str


class Fix(Value):
    """One change, and the red turns that it should fix.

    `key` is cause and place, the same in every run. `gain` (0..1) is what the run's score is expected to
    gain; the gains of all fixes of a run add up. `standings` say how sure the turns' causes are, the surest
    first. `rank` counts from 1. `article` is the id of
    the article to change. `who` does it, empty where nobody can tell.

    `title` is cause and place in a few words, `what` the change in a sentence, `where` the place alone.
    `disputed` counts turns of which people say that they should not be red.
    `severity` is that of the gravest turn; `examples` are at most `EXAMPLES`, from different questions, then
    customers, then conversations.
    """

    rank: int
    key: str
    cause: Cause
    standings: tuple[Standing, ...]
    severity: Severity
    title: Text
    what: Text
    where: Text
    who: Text
    turns: tuple[tuple[str, int], ...]
    personas: tuple[str, ...]
    cases: tuple[str, ...]
    examples: tuple[Example, ...]
    gain: float
    article: str = ""
    disputed: int = 0

    @property
    def is_disputed(self) -> bool:
        """Whether all of its turns are: then there is most likely nothing to fix."""
        return self.disputed == len(self.turns)

    @property
    def standing(self) -> Standing:
        """That of the least sure of the turns' causes."""
        return self.standings[-1]


class Improvements(Value):
    """All fixes of a run, best first.

    `goal` (0..1) is the expected grade of a fixed turn, `green` counts the turns that are not red (`Gains`).
    With too few of them no gain is estimated. `left_out` counts further fixes, which gain `gain_left_out`
    together. `root_causes` are the causes, turn by turn. `unsearched`: rows are red, but nothing was
    retrieved for any of them.
    """

    score: float | None
    goal: float
    green: int = 0
    fixes: tuple[Fix, ...] = ()
    left_out: int = 0
    gain_left_out: float = 0.0
    root_causes: tuple[RootCause, ...] = ()
    unsearched: bool = False

    @property
    def causes(self) -> dict[Key, RootCause]:
        """The causes by conversation and turn."""
        return {(cause.conversation, cause.turn): cause for cause in self.root_causes}

    @property
    def foretells(self) -> bool:
        """Whether enough turns are not red to estimate gains."""
        return self.green >= LEAST

    @property
    def mended(self) -> float | None:
        """The expected score (0..1) with every fix done; None if no gain is estimated."""
        if not self.fixes:
            return self.score
        if self.score is None or not self.foretells:
            return None
        return self.score + fsum(fix.gain for fix in self.fixes) + self.gain_left_out


def as_json(
    improvements: Improvements, fixes: Sequence[Fix], anchors: Anchors, text: Callable[[Text], str]
) -> dict[str, Any]:
    """The object of `--json`; figures are rounded to 4 decimals, and `text` shows what we say."""

    def as_dict(fix: Fix) -> dict[str, Any]:
        fields = fix.model_dump(mode="json", exclude={"standings", "who", "turns", "examples", "gain"})
        return fields | {
            "standing": fix.standing,
            "sure": fix.standing == "certain",
            "title": text(fix.title),
            "what": text(fix.what),
            "where": text(fix.where),
            "gain": rounded(fix.gain) if improvements.foretells else None,
            "turns": [{"conversation": conversation, "turn": turn} for conversation, turn in fix.turns],
            "examples": [example(turn) for turn in fix.examples],
        }

    def example(turn: Example) -> dict[str, Any]:
        anchor = anchors.get((turn.conversation, turn.turn))
        return turn.model_dump(mode="json") | {
            "cause": text(turn.cause),
            "evidence": excerpt(text(turn.evidence)),
            "link": f"report.html#{anchor}" if anchor else None,
        }

    return {
        "score": rounded(improvements.score),
        "mended": rounded(improvements.mended),
        "goal": rounded(improvements.goal) if improvements.foretells else None,
        "fixes": list(map(as_dict, fixes)),
        "left_out": len(improvements.fixes) + improvements.left_out - len(fixes),
    }


class Library:
    """The articles that a run mentions, and their titles; an article is the whole document of a passage.

    Without `--knowledge` only what was retrieved or named by a case is known, and often enough for a title.
    """

    def __init__(self, results: Results, articles: Iterable[Passage] = ()) -> None:
        """Titles from `articles`, the knowledge base, go before those of retrieved passages."""
        self.titles = {passage.id: heading_of(passage.text) for passage in articles}
        self._ids = set(self.titles)
        for conversation in results.conversations:
            self._ids.update(conversation.case.passages)
            for passage in (p for turn in conversation.turns for p in turn.answer.passages):
                if passage.id not in self.titles:
                    self.titles[passage.id] = heading_of(passage.text)
        self._ids |= self.titles.keys()

    def whole(self, passage: str) -> str:
        """The article of a passage: `ja/01-plans` of `ja/01-plans#2`; a row of a table is one by itself.

        `faq.csv#12` stays what it is, because there is no article `faq.csv` to be changed as a whole.
        """
        bare = article_of(passage)
        return bare if bare in self._ids else passage


class Gains:
    """What the run's score gains from each fixed turn.

    `goal` is what a fixed turn is expected to get: the mean of the turns that have nothing to gain, each with
    its weight in the score. These are the turns that are not red, `green` of them, and red ones that are
    graded better than that mean. So a fixed turn never brings more than `goal`, and a run scores just that
    with all its red turns fixed. Where every turn is red it is 0.8, or 1 of a judge that knows right and
    wrong only.
    """

    def __init__(self, summary: Summary) -> None:
        """Only turns that count for the summary's score can gain."""
        graded = [turn for turn in summary.record.turns if turn.value is not None]
        lengths = Counter(turn.conversation for turn in graded)
        # The mean over the turns of a conversation, then over conversations: the score's own arithmetic.
        self._turns = {
            turn.key: (turn.value or 0.0, 1 / (lengths[turn.conversation] * len(lengths))) for turn in graded
        }
        marked = summary.red.by_turn
        good = [turn for key, turn in self._turns.items() if key not in marked]
        judge = canonical_judge(summary.scores.primary.rpartition(".")[2])  # of one output, the judge alone
        self.green = len(good)
        self.goal = 1.0 if judge in RIGHT_OR_WRONG else ACCEPTABLE
        if not good:
            return
        total, weights = fsum(value * weight for value, weight in good), fsum(weight for _v, weight in good)
        red = (turn for key, turn in self._turns.items() if key in marked)
        for value, weight in sorted(red, reverse=True):
            if value * weights <= total:
                break
            total, weights = total + value * weight, weights + weight
        self.goal = total / weights

    def of(self, red: RedTurn) -> float:
        """How much the run's score (0..1) gains if this turn is fixed; 0 for a turn without a grade."""
        value, weight = self._turns.get(red.key, (1.0, 0.0))
        return max(0.0, self.goal - value) * weight


class FixTarget(NamedTuple):
    """Where a change is made; `name` is that of the article, pair, case, failure or line of the prompt."""

    kind: PlaceKind
    name: str = ""

    def __str__(self) -> str:
        """As it stands in the key of a fix: `article:en/12-late-payment`, `prompt`."""
        return f"{self.kind}:{self.name}" if self.name else self.kind


class DiagnosedTurn(NamedTuple):
    """A red turn, its cause and the article that it needs, as a whole document.

    `handover` says that this customer should have been passed on to a person, rather than told anything else.
    """

    red: RedTurn
    root_cause: RootCause
    article: str
    handover: bool


class Group(NamedTuple):
    """Red turns that one change fixes, gravest first."""

    cause: Cause
    place: FixTarget
    members: tuple[DiagnosedTurn, ...]

    @property
    def key(self) -> str:
        """Cause and place, the same in every run."""
        return f"{self.cause}/{self.place}"


def groups(diagnosed: Sequence[DiagnosedTurn], *, rows: bool = False) -> list[Group]:
    """The turns by the change that fixes them, in the order of each group's gravest turn.

    `rows`: of a single-turn data set, whose rows without a known cause are one group. Two thousand rows would
    otherwise be two thousand fixes that say the same. So are turns into which nobody has looked.
    """
    # Case and article of each first question whose article was not found.
    missed = {
        (turn.red.case, turn.article)
        for turn in diagnosed
        if turn.red.turn == 1 and turn.root_cause.cause in OF_THE_SEARCH
    }
    members_by_fix: dict[tuple[Cause, FixTarget], list[DiagnosedTurn]] = {}
    for turn in diagnosed:
        cause = turn.root_cause.cause
        lost = cause in OF_THE_SEARCH and not turn.root_cause.cut
        # A follow-up was searched for by its own words, though the question itself finds the article.
        if lost and turn.red.turn > 1 and (turn.red.case, turn.article) not in missed:
            cause, place = "retrieval", FixTarget("dialogue")
        else:
            place = _place(turn)
            if rows and cause == "unclear" and place.kind == "case":
                place = FixTarget("rows")
            elif turn.root_cause.standing == "open":
                place = FixTarget("open")
        members_by_fix.setdefault((cause, place), []).append(turn)
    return [Group(cause, place, tuple(members)) for (cause, place), members in members_by_fix.items()]


def _place(turn: DiagnosedTurn) -> FixTarget:
    """Where a turn is fixed: by its cause where that is enough, else in its article, else by its question."""
    cause = turn.root_cause.cause
    if cause == "no_answer":
        return FixTarget("bot", turn.red.failure or "")
    if turn.handover or cause == "no_handover":
        return FixTarget("prompt", HANDOVER)
    if cause in OF_THE_PROMPT:
        return FixTarget("prompt")
    if turn.root_cause.cut:
        return FixTarget("cutting")
    in_article = turn.article and cause != "forbidden"  # no article says what the bot must not say
    kind: PlaceKind = "article" if in_article else _WITHOUT_ARTICLE[cause]
    return FixTarget(kind, {"article": turn.article, "case": turn.red.case}.get(kind, ""))


def who(cause: Cause, kind: PlaceKind) -> Text:
    """Whose work the change is; empty where conversations have to be read first to know it."""
    if cause == "unclear":
        return ""
    if kind == "case":
        return _WHO["article"] if cause in ("knowledge", "outdated") else _WHO["cutting"]
    return _WHO.get(kind, "")


def what(group: Group, library: Library, question: str) -> Message:
    """What to do about this `question`, in one sentence.

    The sentence is chosen by cause and place. An article without a title was never read, so that the sentence
    for it leaves open whether it exists.
    """
    cause, kind, name = group.cause, group.place.kind, group.place.name
    length = _QUESTION[language_of(question)]
    title = library.titles.get(name, "") if kind == "article" else ""
    article = _("the article “{title}” ({id})", title=title, id=excerpt(name, _NAME))
    sentence = _WHAT.get((cause, name if kind in ("bot", "prompt") else "")) or _WHAT[cause, kind]
    if kind == "article" and not title:
        article = _("the article {id}", id=excerpt(name, _NAME))
        sentence = _UNSEEN.get(cause, sentence)
    return sentence.format(
        id=excerpt(name, _NAME),
        n=len(group.members),
        article=article,
        # Within quotation marks, inner ones are others.
        question=excerpt(question, length).translate(_INNER),
    )


def improvements(
    results: Results,
    summary: Summary,
    root_causes: Sequence[RootCause],
    *,
    articles: Iterable[Passage] = (),
    most: int | None = None,
) -> Improvements:
    """At most so many fixes of the bot.

    `articles`, the knowledge base, only provides titles. Fixes whose turns are all disputed come last. Others
    are ranked by their gain (to four decimals),
    then by the gravest of their turns, then by the number of personas and of turns.
    """
    library, gains = Library(results, articles), Gains(summary)
    # In the order of `reddest`, so that each group begins with its gravest turn.
    causes = {(cause.conversation, cause.turn): cause for cause in root_causes}
    to_hand_over = {row.id for row in summary.record.conversations if row.handover == "required"}
    diagnosed = []
    for red in summary.red.answers:
        if cause := causes.get(red.key):
            article = library.whole(cause.articles[0]) if cause.articles else ""
            handover = red.conversation in to_hand_over and cause.cause in OF_A_HANDOVER
            diagnosed.append(DiagnosedTurn(red, cause, article, handover))
    groups_of_turns = groups(diagnosed, rows=summary.rows)

    def best_first(fix: tuple[Group, float]) -> tuple[bool, bool, float, int, int, int, str]:
        (group, gain), reds = fix, [member.red for member in fix[0].members]
        severity = worst_severity(mark for red in reds for mark in red.marks)
        is_open = group.place.kind == "open"
        return (
            all(red.is_disputed for red in reds),
            is_open,
            -round(gain, 4),
            RANK[severity],
            -len({red.persona for red in reds}),
            -len(reds),
            group.key,
        )

    gaining = [(group, fsum(gains.of(member.red) for member in group.members)) for group in groups_of_turns]
    ranked = sorted(gaining, key=best_first)
    shown, example = ranked[:most], partial(_example, results=results, summary=summary)
    return Improvements(
        score=summary.scores.score,
        goal=gains.goal,
        green=gains.green,
        fixes=tuple(
            _fix(*group_and_gain, rank, library, example) for rank, group_and_gain in enumerate(shown, 1)
        ),
        left_out=len(ranked) - len(shown),
        gain_left_out=fsum(gain for _group, gain in ranked[len(shown) :]),
        # Of a large run, those of the turns that are quoted.
        root_causes=tuple(root_causes[:MAX_QUOTED] if results.is_sampled else root_causes),
    )


def _fix(
    group: Group, gain: float, rank: int, library: Library, example: Callable[[DiagnosedTurn], Example]
) -> Fix:
    """The fix of a group."""
    members = group.members
    reds = [member.red for member in members]
    where = _WHERE[group.place.kind].format(id=excerpt(group.place.name, _NAME))
    # The gravest turn is shown, then those of other questions, other customers, other conversations.
    shown: list[DiagnosedTurn] = []
    for name in ("case", "persona", "conversation"):
        for member in members:
            seen = {getattr(other.red, name) for other in shown}
            if len(shown) < EXAMPLES and getattr(member.red, name) not in seen:
                shown.append(member)
    # Later turns repeat the question, or complain.
    first, *examples = [example(member) for member in (min(members, key=lambda m: m.red.turn), *shown)]
    return Fix(
        rank=rank,
        key=group.key,
        cause=group.cause,
        standings=tuple(sorted({member.root_cause.standing for member in members}, key=STANDINGS.index)),
        severity=worst_severity(mark for red in reds for mark in red.marks),
        title=_("{cause}: {where}", cause=TITLES["cause"][group.cause], where=where),
        what=what(group, library, first.question),
        where=where,
        who=who(group.cause, group.place.kind),
        turns=tuple(red.key for red in reds),
        personas=tuple(dict.fromkeys(red.persona for red in reds)),
        cases=tuple(dict.fromkeys(red.case for red in reds)),
        examples=tuple(examples),
        gain=gain,
        article=group.place.name if group.place.kind == "article" else "",
        disputed=sum(red.is_disputed for red in reds),
    )


def _example(red_answer: DiagnosedTurn, results: Results, summary: Summary) -> Example:
    red, reason = red_answer.red, red_answer.red.reason
    if not reason and results.is_sampled:  # it is not quoted elsewhere
        scores = results.scores.of_conversations([red.conversation]).get(red.conversation, {})
        judged = {**scores.get(red.turn, {}), **placed_scores(scores)}
        marks = red_marks(
            red.conversation, judged.values(), summary.red.rules, summary.scores.primary, turn=red.turn
        )
        reason = gravest_reason(marks)
    (conversation,) = results.conversations.with_ids([red.conversation])
    turn = next(turn for turn in conversation.turns if turn.index == red.turn)
    references = conversation.case.references_at(red.turn)
    return Example(
        conversation=red.conversation,
        turn=red.turn,
        persona=red.persona,
        case=red.case,
        question=excerpt(turn.user),
        answer=excerpt(turn.answer.text),
        failure=red.failure,
        reason=excerpt(reason),
        cause=cause_sentence(red_answer.root_cause),
        evidence=red_answer.root_cause.evidence,
        reference=excerpt(references[0]) if references else "",
    )


def improvements_of_run(
    results: Results, summary: Summary, settings: Settings, most: int | None = None
) -> Improvements:
    """At most so many fixes of a run, with the bot's own articles if the settings name them.

    Raises InputError if the knowledge of `--knowledge` cannot be read.
    """
    return improvements_of(results, summary, articles_of(settings) if summary.red.answers else None, most)


def improvements_of(
    results: Results, summary: Summary, shelf: Shelf | None = None, most: int | None = None
) -> Improvements:
    """At most so many fixes of a run, from the causes in its file; `shelf` has the bot's articles."""
    if not searched(results, summary):
        # Nothing was retrieved for any row: there is neither an article nor a search to fix.
        return Improvements(score=summary.scores.score, goal=1.0, unsearched=bool(summary.red.answers))
    articles = shelf.passages if shelf else ()
    return improvements(results, summary, root_causes(results, summary, shelf), articles=articles, most=most)
