"""What to fix first: red turns grouped by the change that fixes them, ranked by what the score gains.

From causes (results/causes.py) to a list that a team works off:

1. A turn with its cause has a place where it is fixed: an article, a line of the prompt, how articles are
   cut, the bot itself.
2. Turns with one cause and one place are one `Fix`, because one change fixes them all.
3. A fix gains what its turns lack of an average turn that is not red. 0.9 instead of 0.4 in a conversation
   of two turns adds 0.25 to that conversation's score; of ten conversations it is 2.5 points of 100.
4. Fixes are ranked by that gain, then by gravity, then by how many customers and turns they concern.

The gains of all fixes add up to the score with all of them done, because each turn is in one of them. They
are an expectation: a fixed turn may become better than average, or break another.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import fsum
from typing import Any, NamedTuple

from simulator.core.document import Text, excerpt
from simulator.core.messages import Message, _, changed
from simulator.core.types import Language, Results, Severity
from simulator.results.articles import Shelf, UnknownArticle
from simulator.results.causes import (
    STANDINGS,
    Cause,
    RootCause,
    Standing,
    cause_sentence,
    misnamed_of,
    root_causes,
    searched,
)
from simulator.results.figures import RedTurn, Summary, rounded
from simulator.results.red import RANK, worst_severity
from simulator.results.rows import Key
from simulator.text.typography import language_of

# Turns that a fix shows: the others are counted.
EXAMPLES = 3
# The gain of a fix is estimated only with at least this many turns that are not red: what an average one is
# worth is known from these alone.
LEAST = 5
# Characters of a question and of an id in a sentence; English needs twice as many. Inner quotation marks
# become those of the second level.
_QUESTION: dict[Language, int] = {"ja": 40, "en": 80}
_NAME = 60
_INNER = str.maketrans("「」“”", "『』‘’")

_WRITER, _SEARCH = _("Article writer"), _("Search engineer")
# Whose work a change is, by the kind of place where it is made.
_WORKERS: Mapping[str, Text] = {
    "article": _WRITER,
    "case": _SEARCH,
    "cutting": _SEARCH,
    "dialogue": _SEARCH,
    "prompt": _("Prompt author"),
    "bot": _("Bot engineer"),
    "open": "",
}
# These are fixed in an article, or in how it is found; the first two need an article, also where nobody knows
# which. All others are fixed by a line of the prompt, but for two.
_OF_WRITERS: frozenset[Cause] = frozenset({"knowledge", "outdated"})
_OF_ARTICLES = _OF_WRITERS | {"spelling", "retrieval"}
_ELSEWHERE: Mapping[Cause, str] = {"no_answer": "bot", "unclear": "open"}
# What to do about a cause; and at places that are fixed otherwise.
_REMEDIES: Mapping[Cause, Message] = {
    "no_answer": _("Make the bot always return an answer ({reason:clause})."),
    "knowledge": _("Add the answer to “{question}” to {article}."),
    "outdated": _(
        "Make {article} agree with the reference answer to “{question}”: correct the outdated one."
    ),
    "spelling": _("Add the customers' own words (“{question}”) to {article}."),
    "retrieval": _("Let the search find {article}: add the words of “{question}” to its heading or text."),
    "unclear": _("Read the answers whose cause is not known: {n}."),
    "should_refuse": _(
        "Add to the prompt: “If the material does not answer the question, say so and name the desk to ask.”"
    ),
    "should_answer": _("Add to the prompt: “When the material has the answer, give it; do not refuse.”"),
    "no_handover": _(
        "Add to the prompt: “Apologise for complaints, and pass them on to a person, and whatever else"
        " only a person can do.”"
    ),
    "lost_thread": _(
        "Give the model the conversation so far, and add to the prompt: “Answer the "
        "customer's latest message; do not give an earlier answer again.”"
    ),
    "needless_question": _(
        "Add to the prompt: “When the material has the answer, give it first; ask back only for what you"
        " cannot answer without.”"
    ),
    "ignored": _(
        "Add to the prompt: “Use the figures and conditions of the retrieved material as they stand.”"
    ),
    "invented": _("Add to the prompt: “Do not say what is not in the material.”"),
    "forbidden": _(
        "Put the rules that were broken into the prompt (they are listed under Rules of the desk)."
    ),
    "tools": _("Say in the prompt when to call which tool, and which never."),
    "expectations": _(
        "Put what is expected (for “{question}” and the like) into the prompt, and what it takes into the"
        " articles."
    ),
    "tone": _("Add to the prompt: “Be polite, and acknowledge how the customer feels before answering.”"),
    "forgotten": _(
        "Give the model the conversation so far, and add to the prompt: “Do not ask for what "
        "the customer has already said.”"
    ),
    "contradictions": _(
        "Add to the prompt: “Keep to what you said before; if it was wrong, say so and correct it.”"
    ),
    "loops": _(
        "Add to the prompt: “If an answer did not help, do not repeat it: ask what is missing, or pass"
        " the customer on.”"
    ),
    "mixups": _(
        "Add to the prompt: “Before you speak of an order or a person, compare number and name with what"
        " the customer said.” Check that the bot is given this customer's data alone."
    ),
    "closures": _(
        "Add to the prompt: “Say goodbye, or ask whether there is anything else, only when all that was"
        " asked is answered.”"
    ),
    "overlooked": _(
        "Add to the prompt: “Where a customer asks for several things, answer each of them, or say which"
        " one comes next.”"
    ),
    "promises": _("Add to the prompt: “Announce only what you can do in this conversation, and do it.”"),
}
_NEW_ARTICLE = _("Write an article that answers “{question}” (the present material has none).")
_AT: Mapping[str, Message] = {
    "cutting": _(
        "Cut the articles so that headings and answers stay together (such as the answer to “{question}”,"
        " which is cut off)."
    ),
    "dialogue": _(
        "Search with the earlier messages as well, not with the last one alone: articles "
        "that the first question finds are lost as the conversation goes on."
    ),
}


class Diagnosed(NamedTuple):
    """A red turn and its cause."""

    red: RedTurn
    cause: RootCause


@dataclass(frozen=True, slots=True, kw_only=True)
class Fix:
    """One change, and the red turns that it should fix.

    `key` is cause and place, the same in every run. `gain` (0..1) is what the run's score is expected to
    gain; the gains of all fixes of a run add up. `standing` is that of the least sure of the turns' causes.
    `rank` counts from 1. `what` is the change in a sentence; `who` does it, empty where nobody can tell.
    `article` is the id of the article to change.

    `disputed` counts turns of which people say that they should not be red. `severity` is that of the gravest
    turn; `examples` are at most `EXAMPLES`, of as many questions as there are.
    """

    key: str
    cause: Cause
    standing: Standing
    severity: Severity
    what: Message
    who: Text
    turns: tuple[Key, ...]
    personas: tuple[str, ...]
    cases: tuple[str, ...]
    examples: tuple[Diagnosed, ...]
    gain: float
    article: str
    disputed: int
    rank: int = 0

    @property
    def is_disputed(self) -> bool:
        """Whether all of its turns are: then there is most likely nothing to fix."""
        return self.disputed == len(self.turns)


@dataclass(frozen=True, slots=True, kw_only=True)
class Improvements:
    """All fixes of a run, best first.

    `goal` (0..1) is the expected grade of a fixed turn, `green` counts the turns that are not red. With too
    few of them no gain is estimated. `causes` are those of the turns, by conversation and turn. `unsearched`:
    rows are red, but nothing was retrieved for any of them. `misnamed` are ids that questions name and no
    article has.
    """

    score: float | None
    goal: float = 1.0
    green: int = 0
    fixes: tuple[Fix, ...] = ()
    causes: Mapping[Key, RootCause] = field(default_factory=dict)
    unsearched: bool = False
    misnamed: Mapping[str, UnknownArticle] = field(default_factory=dict)

    @property
    def changes(self) -> tuple[Fix, ...]:
        """The fixes without that of the answers whose cause is not known: there is nothing to do but read."""
        return tuple(fix for fix in self.fixes if fix.cause != "unclear")

    @property
    def unclear(self) -> Fix | None:
        """The answers whose cause is not known."""
        return next((fix for fix in self.fixes if fix.cause == "unclear"), None)

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
        return self.score + fsum(fix.gain for fix in self.fixes)


def as_json(
    improvements: Improvements,
    fixes: Sequence[Fix],
    anchors: Mapping[Key, str],
    text: Callable[[Text], str],
) -> dict[str, Any]:
    """The object of `--json`; figures are rounded to 4 decimals, and `text` shows what we say.

    `anchors` are the places of turns on the report's page.
    """

    def as_dict(fix: Fix) -> dict[str, Any]:
        return {
            "rank": fix.rank,
            "key": fix.key,
            "cause": fix.cause,
            "standing": fix.standing,
            "sure": fix.standing == "certain",
            "severity": fix.severity,
            "what": text(fix.what),
            "article": fix.article,
            "gain": rounded(fix.gain) if improvements.foretells else None,
            "turns": [{"conversation": conversation, "turn": turn} for conversation, turn in fix.turns],
            "personas": list(fix.personas),
            "cases": list(fix.cases),
            "disputed": fix.disputed,
            "examples": [example(*diagnosed) for diagnosed in fix.examples],
        }

    def example(red: RedTurn, cause: RootCause) -> dict[str, Any]:
        names = ("conversation", "turn", "persona", "case", "question", "answer", "failure", "reason")
        anchor = anchors.get(red.key)
        return {name: getattr(red, name) for name in (*names, "reference")} | {
            "cause": text(cause_sentence(cause)),
            "evidence": excerpt(text(cause.evidence)),
            "link": f"report.html#{anchor}" if anchor else None,
        }

    return {
        "score": rounded(improvements.score),
        "mended": rounded(improvements.mended),
        "goal": rounded(improvements.goal) if improvements.foretells else None,
        "fixes": list(map(as_dict, fixes)),
        "left_out": len(improvements.fixes) - len(fixes),
    }


def improvements_of(results: Results, summary: Summary, shelf: Shelf | None = None) -> Improvements:
    """The fixes of a run, from the causes in its file; `shelf` has the bot's articles."""
    if not searched(results, summary):
        # Nothing was retrieved for any row: there is neither an article nor a search to fix.
        return Improvements(score=summary.scores.score, unsearched=bool(summary.red.answers))
    misnamed = misnamed_of(summary.record, shelf.articles) if shelf else {}
    return replace(improvements(summary, root_causes(results, summary, shelf)), misnamed=misnamed)


def improvements(summary: Summary, causes: Mapping[Key, RootCause]) -> Improvements:
    """The fixes of the bot, best first: what people dispute and what is not known come last."""
    goal, green, gains = _gains(summary)
    questions = {case.case: case.question for case in summary.scores.cases}
    # In the order of `summary.red.answers`, so that each fix begins with its gravest turn.
    diagnosed = [Diagnosed(red, causes[red.key]) for red in summary.red.answers if red.key in causes]
    members_by_place: dict[tuple[Cause, str], list[Diagnosed]] = {}
    for cause, place, member in _placed(diagnosed):
        members_by_place.setdefault((cause, place), []).append(member)
    fixes = [
        _fix(cause, place, members, gains, questions) for (cause, place), members in members_by_place.items()
    ]
    ranked = enumerate(sorted(fixes, key=_best_first), 1)
    return Improvements(
        score=summary.scores.score,
        goal=goal,
        green=green,
        fixes=tuple(replace(fix, rank=rank) for rank, fix in ranked),
        causes=causes,
    )


def _best_first(fix: Fix) -> tuple[bool, bool, float, int, int, str]:
    is_open, severity = fix.cause == "unclear", RANK[fix.severity]
    return fix.is_disputed, is_open, -round(fix.gain, 4), severity, -len(fix.turns), fix.key


def _gains(summary: Summary) -> tuple[float, int, dict[Key, float]]:
    """What a fixed turn is expected to get (0..1), the turns that are not red, and what each red one gains.

    A fixed turn is expected to be as good as those that are not red, each with its weight in the score; where
    all are red, as good as can be. Only turns that count for the score can gain.
    """
    graded = [(turn, turn.value) for turn in summary.record.turns if turn.value is not None]
    lengths = Counter(turn.conversation for turn, _value in graded)
    # The mean over the turns of a conversation, then over conversations: the score's own arithmetic.
    weights = {turn.key: 1 / (lengths[turn.conversation] * len(lengths)) for turn, _value in graded}
    good = {turn.key: value for turn, value in graded if not turn.marks}
    total = fsum(weights[key] for key in good)
    goal = fsum(value * weights[key] for key, value in good.items()) / total if good else 1.0
    gains = {turn.key: max(0.0, goal - value) * weights[turn.key] for turn, value in graded if turn.marks}
    return goal, len(good), gains


def _placed(diagnosed: Sequence[Diagnosed]) -> Iterator[tuple[Cause, str, Diagnosed]]:
    """Each turn with its cause and the place where it is fixed, as `article:ID`, `case:ID` or `prompt`."""
    # Questions and articles that were not found for the question itself.
    missed = {(red.case, root.article) for red, root in diagnosed if _is_of_search(root) and red.turn == 1}
    for member in diagnosed:
        red, root = member
        if root.cause not in _OF_ARTICLES:
            yield root.cause, _ELSEWHERE.get(root.cause, "prompt"), member
        elif root.cut:
            yield root.cause, "cutting", member
        elif _is_of_search(root) and red.turn > 1 and (red.case, root.article) not in missed:
            # "And for students?" has none of the article's words, and the question itself finds it.
            yield "retrieval", "dialogue", member
        else:
            yield root.cause, f"article:{root.article}" if root.article else f"case:{red.case}", member


def _is_of_search(root: RootCause) -> bool:
    """Whether the article is there and did not come."""
    return root.cause in ("retrieval", "spelling") and not root.cut


def _fix(
    cause: Cause,
    place: str,
    members: Sequence[Diagnosed],
    gains: Mapping[Key, float],
    questions: Mapping[str, str],
) -> Fix:
    reds = [red for red, _cause in members]
    kind, _colon, name = place.partition(":")
    question = questions.get(reds[0].case) or reds[0].question
    title = members[0].cause.title
    article = _("the article “{title}” ({id})") if title else _("the article {id}")
    if kind == "case":
        article = _("an article that answers it")
    # What is missing from an article that nobody has read is one to write.
    is_new = cause == "knowledge" and not title
    # Of bots that give no answer, why they mostly do not.
    [(reason, _n)] = Counter(member.cause.evidence for member in members).most_common(1)
    by_question: dict[str, Diagnosed] = {}
    for member in members:
        by_question.setdefault(member.red.case, member)
    return Fix(
        key=f"{cause}/{place}",
        cause=cause,
        standing=max((root.standing for _red, root in members), key=STANDINGS.index),
        severity=worst_severity(mark for red in reds for mark in red.marks),
        what=(_NEW_ARTICLE if is_new else _AT.get(kind) or _REMEDIES[cause]).format(
            n=len(reds),
            reason=changed(reason, excerpt),
            article=article.format(title=title, id=excerpt(name, _NAME)),
            # Within quotation marks, inner ones are others.
            question=excerpt(question, _QUESTION[language_of(question)]).translate(_INNER),
        ),
        who=_WRITER if cause in _OF_WRITERS else _WORKERS[kind],
        turns=tuple(red.key for red in reds),
        personas=tuple(dict.fromkeys(red.persona for red in reds)),
        cases=tuple(by_question),
        examples=tuple(by_question.values())[:EXAMPLES],
        gain=fsum(gains.get(red.key, 0.0) for red in reds),
        article=name if kind == "article" else "",
        disputed=sum(red.is_disputed for red in reds),
    )
