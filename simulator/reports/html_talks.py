"""Conversations as the page shows them: bubbles, underlined words, grades with reasons, passages by name."""

from collections.abc import Container, Mapping
from dataclasses import dataclass
from pathlib import Path

from pydantic import JsonValue

from simulator.core.templates import Texts
from simulator.core.translations import Say, Words, plain, saying, told_in
from simulator.core.types import Conversation, Language, Passage, Results, Score, Turn
from simulator.reports import table
from simulator.reports.html_marks import Flaw, Span, flaws, marked
from simulator.stats.figures import RedTurn, Summary
from simulator.stats.red import RANK, worst
from simulator.storage.results import overview_scores_of, picked

PAGE = Texts(Path(__file__).with_name("page.toml"))
# More than this of one text is for the run file, not for a page that people read.
LONGEST = 6000
FEELING = "tone"
_JUDGED_BY = {"groundedness": "groundedness", "correctness": "", "claims": "claims", "facts": "facts"}


def page_words(words: Words) -> Say:
    """The words that only the page shows."""
    return saying(PAGE, "html", words.language, rows=words.rows)


class _Everything(Container[str]):
    def __contains__(self, _: object) -> bool:
        return True


EVERYTHING = _Everything()


@dataclass(frozen=True, slots=True)
class Grade:
    """One grade as the page shows it; `chip` is its short form, `beside` a further model's."""

    title: str
    chip: str
    shown: str
    reason: str
    figures: str
    votes: str
    steps: list[str]
    red: bool
    by_rule: bool
    beside: bool


@dataclass(frozen=True, slots=True)
class Note:
    """What is wrong with some words of the answer, and the passage that says otherwise."""

    flaw: Flaw
    title: str
    judge: str
    label: str
    anchor: str
    lost: bool


@dataclass(frozen=True, slots=True)
class TurnView:
    """One turn, ready to be painted."""

    anchor: str
    user: str
    feeling: str
    said: list[Span]
    silent: bool
    seconds: str
    rewritten: str
    red: RedTurn | None
    severity: str
    mark: str
    why: str
    flaws: list[Note]
    grades: list[Grade]
    skipped: str
    incorrect: str
    passages: list[tuple[str, str, str]]
    steps: list[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Talk:
    """One conversation, ready to be painted; `lows` has the lowest grade (0..100) of each judge."""

    anchor: str
    conversation: Conversation
    persona: str
    ending: str
    ended: str
    score: float | None
    red: int
    severity: str
    lows: str
    greeting: str
    turns: list[TurnView]


class TalkPainter:
    """Turns conversations into views; passages are collected on one shelf, each text once."""

    def __init__(
        self, results: Results, summary: Summary, words: Words, shown: Container[str] = EVERYTHING
    ) -> None:
        """`shown` are the ids of the conversations that will be asked for."""
        self._summary, self._words = summary, words
        self.shelf: dict[tuple[str, str], str] = {}
        self._greeting = results.run.settings.get("greeting")
        self._red = {(red.conversation, red.turn): red for red in summary.reddest}
        self._scores: dict[tuple[str, int], dict[str, Score]] = {}
        for score in overview_scores_of(results, shown):
            self._scores.setdefault((score.conversation, score.turn), {})[score.judge] = score
        self.judges = beside_their_own(summary.judges)

    def talk(self, number: int, c: Conversation) -> Talk:
        """The view of a conversation; `number` makes its anchor, as ids are not ours to trust."""
        anchor = _anchor(number)
        red = [self._red[c.id, turn.index] for turn in c.turns if (c.id, turn.index) in self._red]
        return Talk(
            anchor=anchor,
            conversation=c,
            persona=self._words.name("persona", c.persona),
            ending=table.ending(c, self._words),
            ended=c.ended.value if c.ended else "",
            score=self._summary.conversation_scores.get(c.id),
            red=len(red),
            severity=worst(mark for each in red for mark in each.marks) if red else "",
            lows=self._lows(c),
            greeting=_in_language(self._greeting, c.case.language),
            turns=[self._turn(anchor, c, turn) for turn in c.turns],
        )

    def _lows(self, c: Conversation) -> str:
        """The lowest grade of every judge, 0..100, in their order; nothing where it gave none."""
        found = [self._scores.get((c.id, turn.index), {}) for turn in c.turns]
        lows = []
        for judge in self.judges:
            values = [
                score.value
                for scores in found
                if (score := scores.get(judge)) and score.state == "scored" and score.value is not None
            ]
            lows.append(f"{100 * min(values):.4g}" if values else "")
        return ",".join(lows)

    def _turn(self, talk: str, c: Conversation, turn: Turn) -> TurnView:
        """The view of a turn."""
        words, key, anchor = self._words, (c.id, turn.index), _turn_anchor(talk, turn.index)
        scores, red = self._scores.get(key, {}), self._red.get(key)
        graded = [scores[name] for name in self.judges if name in scores]
        failure = red.failure if red else None
        said, found = marked(_cut(table.answer_text(turn, failure, words), words), flaws(scores))
        return TurnView(
            anchor=anchor,
            user=_cut(turn.user, words),
            feeling=feeling(scores.get(FEELING), words.language),
            said=said,
            silent=failure is not None,
            seconds="" if turn.answer.seconds is None else f"{turn.answer.seconds:.1f}",
            rewritten=words("comma").join(words.name("rule", rule) for rule in turn.broken_rules),
            red=red,
            severity=worst(red.marks) if red else "",
            mark=table.mark_text(red, words) if red else "",
            why=why(red, turn, words) if red else "",
            flaws=[self._note(flaw, said, turn) for flaw in found],
            grades=[self._grade(score, red) for score in graded],
            skipped=words("comma").join(words.name("judge", s.judge) for s in graded if s.state == "skipped"),
            incorrect=_incorrect(scores.get("turn"), red),
            passages=[self._passage(passage) for passage in turn.answer.passages],
            steps=[(step.link, _cut(step.text, words)) for step in turn.answer.steps],
        )

    def _note(self, flaw: Flaw, said: list[Span], turn: Turn) -> Note:
        """What stands below an answer about words of it that are not borne out."""
        named = next((p for p in turn.answer.passages if flaw.passage and p.id == flaw.passage), None)
        label, _, anchor = self._passage(named) if named else ("", "", "")
        language, judge = self._words.language, self._words.name("judge", flaw.judge)
        where = PAGE(language, "flaw_where", passage=label) if label else ""
        what = PAGE(language, flaw.kind)
        title = PAGE(language, "flaw_title", number=str(flaw.number), what=what, judge=judge, where=where)
        return Note(flaw, title, judge, label, anchor, lost=not any(span.flaw == flaw for span in said))

    def _grade(self, score: Score, red: RedTurn | None) -> Grade:
        """The view of a grade; red when one of the turn's marks rests on it. Skipped ones show nothing."""
        deciding = {_JUDGED_BY.get(mark.kind, self._summary.primary) for mark in red.marks} if red else set()
        shown = grade_text(score, self._words)
        return Grade(
            title=self._words.name("judge", score.judge),
            chip=shown.partition(" / ")[0] if score.state == "scored" else "–",
            shown="" if score.state == "skipped" else shown,
            reason=_cut(score.reason, self._words),
            figures=_figures(score, self._words),
            votes=_votes(score, self._words.language),
            steps=_steps(score, self._words),
            red=score.judge in deciding and score.state == "scored",
            by_rule=score.by_rule,
            beside=is_beside(score.judge, self._summary.judges),
        )

    def _passage(self, passage: Passage) -> tuple[str, str, str]:
        """Label, retrieval score and anchor of a passage; its text goes on the shelf once."""
        anchor = self.shelf.setdefault(
            (passage.source or passage.id, passage.text), f"p{len(self.shelf) + 1}"
        )
        return passage.source or passage.id, "" if passage.score is None else f"{passage.score:.2f}", anchor


def anchors_of(results: Results, shown: Container[str] = EVERYTHING) -> dict[tuple[str, int], str]:
    """Where the page of a run has each turn that it shows."""
    return {
        (talk.id, turn.index): _turn_anchor(_anchor(number), turn.index)
        for number, talk in picked(results, shown)
        for turn in talk.turns
    }


def _anchor(number: int) -> str:
    return f"c{number}"


def _turn_anchor(talk: str, turn: int) -> str:
    return f"{talk}-t{turn}"


def beside_their_own(judges: Mapping[str, object]) -> list[str]:
    """The judges in their order, each followed by the panel's further models that grade as it does."""
    own = [name for name in judges if not is_beside(name, judges)]
    of = {name: [n for n in judges if n not in own and n.partition("@")[0] == name] for name in own}
    return [each for name in own for each in (name, *of[name])]


def is_beside(name: str, judges: Container[str]) -> bool:
    """Whether a further model of the panel grades under this name, beside one of the judges."""
    judge, beside, _ = name.partition("@")
    return bool(beside) and judge in judges


def grade_text(score: Score, words: Words) -> str:
    """A grade as people read it: '4 / 5', a share as '67%', a feeling with its sign."""
    if score.state != "scored" or score.raw is None:
        return table.grade_text(score, words)
    if score.scale[0] < 0:
        return _signed(score.raw)
    if score.scale == (0, 1):
        return PAGE(words.language, "percent", n=f"{100 * score.raw:.0f}")
    return table.grade_text(score, words)


def feeling(score: Score | None, language: Language) -> str:
    """How the customer felt in a turn: '−2 怒り'; empty when nobody read it."""
    if score is None or score.state != "scored" or score.raw is None:
        return ""
    nearest = max(-2, min(2, round(score.raw)))
    return f"{_signed(score.raw)} {PAGE(language, f'feel_{nearest}')}"


def why(red: RedTurn, turn: Turn, words: Words) -> str:
    """The judge's reason for the gravest mark; for a turn without an answer, what went wrong."""
    if red.failure is None:
        return plain(red.reason)
    kind = words.name("failure", red.failure)
    error = turn.answer.error
    return f"{kind}: {plain(told_in(words.language, error.message))}" if error else kind


def gravity(red: RedTurn) -> tuple[int, int]:
    """What sorts red turns: the gravest mark first, then how many marks there are."""
    return RANK[worst(red.marks)], -len(red.marks)


def _signed(value: float) -> str:
    """`+1`, `−2`, `0`, with a minus that is as wide as a plus."""
    return f"{value:+.3g}".replace("-", "−") if round(value, 2) else "0"


def _figures(score: Score, words: Words) -> str:
    """The figures behind a grade: the turn judge's categories, a cosine before it was binned."""
    figures = {
        name: value
        for name, value in score.detail.items()
        if isinstance(value, int | float)
        and not isinstance(value, bool)
        and name not in {"overall", "failed_votes", "spread", FEELING, "feeling"}
    }
    return " · ".join(f"{words.name('category', name)} {value:.4g}" for name, value in figures.items())


def _votes(score: Score, language: Language) -> str:
    """How each vote of the judge went, and whether they lie far apart."""
    votes = score.detail.get("votes")
    if not isinstance(votes, list):
        return ""
    shown = ", ".join(f"{vote:g}" for vote in votes if isinstance(vote, int | float))
    text = PAGE(language, "votes_apart" if score.detail.get("disagreement") else "votes", votes=shown)
    failed = score.detail.get("failed_votes")
    return f"{text} · {PAGE(language, 'failed_votes', n=str(failed))}" if failed else text


def _incorrect(score: Score | None, red: RedTurn | None) -> str:
    """The grade for Correctness, where it made the turn red."""
    marked_so = red is not None and any(mark.kind == "correctness" for mark in red.marks)
    return f"{score.detail['correctness']}" if score and marked_so else ""


def _steps(score: Score, words: Words) -> list[str]:
    """The judge's reasoning, step by step."""
    steps = score.detail.get("steps")
    return [_cut(str(step), words) for step in steps] if isinstance(steps, list) else []


def _in_language(greeting: JsonValue, language: Language) -> str:
    """The desk's first line: one for all, or one per language; empty when none is set."""
    said = greeting.get(language) if isinstance(greeting, dict) else greeting
    return said if isinstance(said, str) else ""


def _cut(text: str, words: Words) -> str:
    """A text that fits on a page, without control codes."""
    text = plain(text)
    return text if len(text) <= LONGEST else text[:LONGEST] + words("cut", n=f"{len(text) - LONGEST:,}")
