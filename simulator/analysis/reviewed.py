"""What the team's review says: how often a red mark is right, and what to mend in the bot's knowledge.

These verdicts were given on sight of the judge's, and only where people looked. They tell how good the
red marks are and where the knowledge fails; they never tell how far people and judge agree.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Literal

from simulator.analysis.figures import Summary
from simulator.core.types import Conversation, HumanVerdict, Results, Turn, Value

# Causes for which somebody has to change what the bot knows or finds.
OF_THE_KNOWLEDGE = frozenset({"knowledge", "retrieval", "ignored", "invented"})
# Statuses that leave something to do; without a status nobody has taken a point up.
PENDING = ("open", "doing", "")
_Z = 1.959964


class Reviewed(Value):
    """A turn with what the team said of it; `value` (0..1) is the deciding judge's grade."""

    conversation: str
    turn: int
    persona: str
    question: str
    answer: str
    red: bool
    value: float | None
    judge_is: Literal["right", "wrong", "unsure"] | None
    cause: str
    status: str
    correct_answer: str
    comment: str
    assignee: str
    checked: str

    @property
    def false_alarm(self) -> bool:
        """Whether the turn is red and should not be."""
        return self.red and self.judge_is == "wrong"

    @property
    def confirmed(self) -> bool:
        """Whether the team says that the red mark is right; to name a cause of it says so, too."""
        return self.red and (self.judge_is == "right" or (self.judge_is is None and bool(self.cause)))

    @property
    def point(self) -> bool:
        """Whether there is something to improve in the bot."""
        return not self.false_alarm and (self.confirmed or bool(self.cause or self.correct_answer))

    @property
    def pending(self) -> bool:
        """Whether something is left to do about it."""
        return self.status in PENDING and (self.point or bool(self.status))


class Point(Value):
    """How many points of improvement have that cause and status; "" where the team gave none."""

    cause: str
    status: str
    n: int


class Article(Value):
    """A passage behind confirmed red turns: retrieved in them, or the gold one of their questions.

    `turns` are those turns by conversation and number, each counted once; `causes` counts them by cause.
    """

    passage: str
    source: str
    turns: tuple[tuple[str, int], ...]
    causes: dict[str, int]
    retrieved: int
    gold: int


class Pending(Value):
    """What one person ("": nobody) has left to do, by status; `unset` is what has no status yet."""

    assignee: str
    open: int
    doing: int
    unset: int

    @property
    def n(self) -> int:
        """All of it."""
        return self.open + self.doing + self.unset


class Findings(Value):
    """What the review came to. Of the run's `red` turns the team judged right + wrong + unsure.

    `precision` (0..1) is right / (right + wrong) with the 95 % interval of Wilson (1927); `missed` are turns
    that are not red and, as the team says, should be. `articles` are ranked by confirmed red turns.
    """

    turns: tuple[Reviewed, ...]
    red: int
    right: int
    wrong: int
    unsure: int
    precision: float | None
    interval: tuple[float, float] | None
    points: tuple[Point, ...]
    articles: tuple[Article, ...]
    pending: tuple[Pending, ...]

    @property
    def judged(self) -> int:
        """Red turns of which the team said whether the mark is right."""
        return self.right + self.wrong + self.unsure

    @property
    def wrong_turns(self) -> tuple[Reviewed, ...]:
        """The turns on which the judge was wrong: what its next version has to get right."""
        return tuple(turn for turn in self.turns if turn.judge_is == "wrong")

    @property
    def missed(self) -> int:
        """Turns that are not red although the team says that the judge was wrong."""
        return sum(not turn.red for turn in self.wrong_turns)


def findings(results: Results, summary: Summary) -> Findings | None:
    """What the team's review says of the run; None where it has not begun."""
    turns = tuple(_reviewed(results, summary))
    if not turns:
        return None
    judged = Counter(turn.judge_is for turn in turns if turn.red)
    right, wrong = judged["right"], judged["wrong"]
    return Findings(
        turns=turns,
        red=summary.red,
        right=right,
        wrong=wrong,
        unsure=judged["unsure"],
        precision=right / (right + wrong) if right + wrong else None,
        interval=wilson(right, right + wrong),
        points=_points(turns),
        articles=_articles(results, turns),
        pending=_pending(turns),
    )


def wilson(hits: int, n: int) -> tuple[float, float] | None:
    """The 95 % interval of a share (Wilson, 1927); None without trials."""
    if not n:
        return None
    share, spread = hits / n, _Z * ((hits * (n - hits) / n + _Z**2 / 4) ** 0.5)
    middle, width = n * share + _Z**2 / 2, n + _Z**2
    return max(0.0, (middle - spread) / width), min(1.0, (middle + spread) / width)


def _reviewed(results: Results, summary: Summary) -> Iterator[Reviewed]:
    """The turns of which the team said anything, red ones first as they are ranked."""
    said = {(v.conversation, v.turn): v for v in results.verdicts if v.source == "review" and _says(v)}
    values = {(s.conversation, s.turn): s.value for s in results.scores if s.judge == summary.primary}
    turns = {(talk.id, turn.index): (talk, turn) for talk in results.conversations for turn in talk.turns}
    red = dict.fromkeys((turn.conversation, turn.turn) for turn in summary.reddest)
    for at in [*red, *(at for at in turns if at not in red)]:
        if at in said and at in turns:
            yield _one(*turns[at], said[at], values.get(at), red=at in red)


def _says(verdict: HumanVerdict) -> bool:
    told = (verdict.cause, verdict.status, verdict.correct_answer, verdict.comment, verdict.assignee)
    return any((verdict.judge_is, verdict.checked, *told))


def _one(talk: Conversation, turn: Turn, said: HumanVerdict, value: float | None, *, red: bool) -> Reviewed:
    kept = ("judge_is", "cause", "status", "correct_answer", "comment", "assignee", "checked")
    return Reviewed(
        conversation=talk.id,
        turn=turn.index,
        persona=talk.persona,
        question=turn.user,
        answer=turn.answer.text,
        red=red,
        value=value,
        **said.model_dump(include=set(kept)),
    )


def _points(turns: Iterable[Reviewed]) -> tuple[Point, ...]:
    """Points of improvement by cause and status, the most frequent first."""
    found = Counter((turn.cause, turn.status) for turn in turns if turn.point)
    return tuple(Point(cause=cause, status=status, n=n) for (cause, status), n in found.most_common())


def _articles(results: Results, reviewed: Iterable[Reviewed]) -> tuple[Article, ...]:
    """The passages behind confirmed red turns; of equals the gold ones first, then by name."""
    turns = {(talk.id, turn.index): (talk, turn) for talk in results.conversations for turn in talk.turns}
    behind: dict[str, list[tuple[Reviewed, bool, bool]]] = {}
    for said in reviewed:
        if said.confirmed and said.cause in OF_THE_KNOWLEDGE:
            talk, turn = turns[said.conversation, said.turn]
            retrieved, gold = {p.id for p in turn.answer.passages}, set(talk.case.passages)
            for passage in retrieved | gold:
                behind.setdefault(passage, []).append((said, passage in retrieved, passage in gold))
    sources = {p.id: p.source for _, turn in turns.values() for p in turn.answer.passages if p.source}
    articles = [_article(passage, sources.get(passage, ""), found) for passage, found in behind.items()]
    return tuple(sorted(articles, key=lambda a: (-len(a.turns), -a.gold, a.passage)))


def _article(passage: str, source: str, found: Sequence[tuple[Reviewed, bool, bool]]) -> Article:
    return Article(
        passage=passage,
        source=source,
        turns=tuple((said.conversation, said.turn) for said, _, _ in found),
        causes=dict(Counter(said.cause for said, _, _ in found).most_common()),
        retrieved=sum(retrieved for _, retrieved, _ in found),
        gold=sum(gold for _, _, gold in found),
    )


def _pending(turns: Iterable[Reviewed]) -> tuple[Pending, ...]:
    """Who has how much left, most first, what nobody has taken up last."""
    left: dict[str, Counter[str]] = {}
    for turn in turns:
        if turn.pending:
            left.setdefault(turn.assignee, Counter())[turn.status] += 1
    found = [Pending(assignee=who, open=n["open"], doing=n["doing"], unset=n[""]) for who, n in left.items()]
    return tuple(sorted(found, key=lambda each: (not each.assignee, -each.n, each.assignee)))


def as_json(found: Findings | None) -> dict[str, Any] | None:
    """What `review --json` prints of it, figures rounded to 4 decimals, without the texts of turns."""
    if found is None:
        return None
    interval = found.interval and [round(end, 4) for end in found.interval]
    precision = None if found.precision is None else round(found.precision, 4)
    told = {"conversation", "turn", "red", "value", "comment", "correct_answer"}
    return {
        "turns": len(found.turns),
        "red": found.red,
        "red_judged": found.judged,
        "precision_of_red": {
            "precision": precision, "interval": interval, "n": found.right + found.wrong,
            "right": found.right, "wrong": found.wrong, "unsure": found.unsure,
        },
        "points": [point.model_dump() for point in found.points],
        "articles": [_article_json(article) for article in found.articles],
        "pending": [each.model_dump() for each in found.pending],
        "judge_wrong": [turn.model_dump(include=told) for turn in found.wrong_turns],
    }  # fmt: skip


def _article_json(article: Article) -> dict[str, Any]:
    places = [{"conversation": talk, "turn": turn} for talk, turn in article.turns]
    return {**article.model_dump(), "n": len(article.turns), "turns": places}
