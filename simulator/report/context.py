"""What every report of a run shares: the run with its figures, and the words that several reports say.

`ReportContext` is what the page, worksheets, Markdown and files are made from. It is made once for a run
(`api/outputs.py`), and what is costly about it is made at the first look: titles, sections, causes.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import islice
from typing import Any, NamedTuple

from simulator.core.document import Line, Section, Text, count_text, excerpt, points, target_points
from simulator.core.messages import Message, _, listed, safe_text, shown
from simulator.core.replies import FIFTHS, share_of
from simulator.core.titles import Titles, title
from simulator.core.types import LEXICAL, HumanVerdict, Language, Results, Score, TurnScores
from simulator.report.gate import reasons
from simulator.report.people import dispute_text, words_text
from simulator.report.sections import sections
from simulator.results.causes import RootCause, cause_sentence
from simulator.results.comparison import Change, RunComparison, RunFigures
from simulator.results.figures import RedTurn, Summary, failure_reason
from simulator.results.gate import Gate
from simulator.results.recommendations import Improvements
from simulator.results.red import expected_of
from simulator.results.review import desk_questions
from simulator.storage.results import select_turns

STAND_INS = _(
    "A trial run: the customers used stock phrases and simple scoring (no AI) graded. Do "
    "not judge the bot by these grades and marks."
)
# The same where a model played the customers.
_COUNTED = _("A trial run: simple scoring (no AI) graded. Do not judge the bot by these grades and marks.")
# Where every question counts on neither side.
NOTHING_LEFT = _(
    "No question is left to compare: all have another reference answer than before, or one of before an"
    " update of the articles."
)
# Characters of a question that the lead is asked about.
QUESTION = 60


def lowest_text(summary: Summary) -> Message | None:
    """That 20 is the lowest possible score; None where the deciding judge's scale reaches down to 0.

    Grades from 1 to 5 are divided by 5, so that a bot that is always wrong has 20 of 100. Whoever does not
    know that takes 40 for nearly half right.
    """
    grades = (turn.scores.get(summary.scores.primary) for turn in summary.record.turns)
    scales = (grade.scale for grade in grades if grade and grade.is_scored)
    if next(scales, None) != FIFTHS:
        return None
    n = target_points(share_of(FIFTHS[0], FIFTHS))
    return _("Scores here run from {n} to 100.", n=n)


def counts_text(numbers: Mapping[str, int], group: str) -> Message:
    """'timeout 3, error 1', most frequent first; `group` is the one in which they have their titles."""
    ranked = sorted(numbers.items(), key=lambda item: -item[1])
    parts = [count_text(title(group, kind), n) for kind, n in ranked]
    return listed(parts, len(parts)) if parts else _("none")


def trial_notice(summary: Summary) -> Text:
    """What to know of a run that no model judged; empty for others. Nobody plays the customer of rows."""
    return STAND_INS if summary.offline and not summary.rows else _COUNTED if summary.trial else ""


def change_text(pair: Change) -> Message:
    """The pair of numbers that every view shows: "Questions needing review 27 → 15, score 64 → 83".

    It says how many questions are in neither number, and if no other is left, that alone; then which judges
    graded by other words.
    """
    if not pair.asked and pair.apart:
        return NOTHING_LEFT
    (red_before, red_now), (before, now) = pair.questions, pair.score
    numbers = _(
        "Questions needing review {red_before} → {red_now}, score {before} → {now}",
        red_before=f"{red_before:,}",
        red_now=f"{red_now:,}",
        before=points(before),
        now=points(now),
    )
    if pair.apart:
        text = _("{numbers} (without {n} questions that count on neither side)")
        numbers = text.format(numbers=numbers, n=pair.apart)
    if not pair.rubrics:
        return numbers
    judges = tuple(title("judge", name) for name in pair.rubrics)
    return _("{numbers} (other rubric or rules: {judges})", numbers=numbers, judges=judges)


def expectations_text(outcomes: Mapping[str, int]) -> Message:
    """How many of the sentences that cases expect were met, and how many not: "met 31, not met 2, ..."."""
    parts = [count_text(title("outcome", state), n) for state, n in outcomes.items()]
    return _("Expectations: {kinds}.", kinds=parts)


class DeskQuestion(NamedTuple):
    """What the lead is asked about an answer, by the key of its turn, and the answer; empty where it is open.

    `question` is the customer's, shortened.
    """

    key: str
    question: str
    answer: str


@dataclass(frozen=True)
class ReportContext:
    """All that reports of a run are made from: its figures, and what to fix.

    `improvements` are None where no turn is red. `page` is where its page is written, empty where there is
    none. `added` are sections of plug-ins, `remarks` further lines of the notes. `earlier` is the last run
    that can be compared with this one, None without any.
    """

    results: Results
    summary: Summary
    gate: Gate
    language: Language
    improvements: Improvements | None
    page: str = ""
    added: tuple[Section, ...] = ()
    remarks: tuple[Line, ...] = ()
    earlier: RunFigures | None = None

    @property
    def change(self) -> Change | None:
        """The pair of numbers beside those of the earlier run."""
        return self.compared.change if self.compared else None

    @cached_property
    def compared(self) -> RunComparison | None:
        """The earlier run and this one, compared; None without an earlier one."""
        after = RunFigures(self.results, self.summary)
        return RunComparison(self.earlier, after) if self.earlier else None

    @property
    def ungraded(self) -> Message | None:
        """How to grade a run with `--grade later`; None for any other, and once it is graded."""
        run = self.results.run
        if run.settings.get("grade") != "later" or self.results.scores.judges:
            return None
        # A batch is for a model.
        if run.models.get("judge") in (None, LEXICAL):
            return _("Not graded yet: python run.py grade {run}.", run=run.id)
        return _("Not graded yet: python run.py grade {run} --batch.", run=run.id)

    @property
    def reasons(self) -> list[str]:
        """What keeps the run from passing, in English, most serious first; empty if it passed."""
        return list(map(str, reasons(self.gate)))

    @cached_property
    def failure_reason(self) -> Text:
        """Why the bot gave no answer, of the first that fails as most do; empty where all answered."""
        kinds = self.summary.bot_failures
        most = max(kinds, key=lambda kind: kinds[kind], default=None)
        failed = (turn.key for turn in self.summary.record.turns if most and turn.failure == most)
        for conversation, index in islice(failed, 1):
            [held] = self.results.conversations.with_ids([conversation])
            return next(failure_reason(turn) for turn in held.turns if turn.index == index)
        return ""

    @property
    def wording(self) -> str:
        """Of reports on single-turn rows, "rows": other words stand for some."""
        return "rows" if self.summary.rows else ""

    def text(self, text: Message | str) -> str:
        """A text in the language of the reports, without control codes."""
        return safe_text(shown(text, self.language, self.wording))

    @cached_property
    def titles(self) -> Titles:
        """The titles of judges, personas, endings and marks."""
        return self.summary.titles(self.language)

    @cached_property
    def endings(self) -> dict[str, str]:
        """How each conversation ended, by its id: see `simulator.results.red.ending_of`."""
        return {row.id: row.ending for row in self.summary.record.conversations}

    def scores(self, conversation: str, turn: int) -> Mapping[str, Score]:
        """The scores of a turn by judge; rows follow the plan, so one conversation at a time is kept."""
        return self._scores_of(conversation).get(turn, {})

    def expected(self, conversation: str) -> list[dict[str, Any]]:
        """What became of each sentence that the case of a conversation expects (`expected_of`)."""
        return expected_of(self._scores_of(conversation))

    @cached_property
    def _scores_of(self) -> Callable[[str], TurnScores]:
        scores = self.results.scores
        # Worksheets ask turn by turn: the scores of one conversation are one query, those of all would not
        # fit.
        return lru_cache(maxsize=1)(lambda id_: scores.of_conversations([id_]).get(id_, {}))

    @cached_property
    def contested(self) -> tuple[DeskQuestion, ...]:
        """What the lead is asked: where people who graded blind call one answer good and bad."""
        answers = desk_questions(self.results.verdicts, self.summary.red.rules)
        return tuple(
            DeskQuestion(self.key(*place), excerpt(turn.user, QUESTION), answers[place])
            for conversation, turn in select_turns(self.results, answers)
            for place in [(conversation.id, turn.index)]
        )

    @cached_property
    def sections(self) -> tuple[Section, ...]:
        """What only some runs have, in the order in which reports show it; what is folded stands last."""
        return sections(self.results, self.summary, self.added)

    @cached_property
    def causes(self) -> Mapping[tuple[str, int], RootCause]:
        """The causes of the red turns."""
        return self.improvements.causes if self.improvements else {}

    def cause_sentence(self, conversation: str, turn: int) -> Text:
        """The sentence about the cause of a red turn, the same in every report; empty where it is not red."""
        cause = self.causes.get((conversation, turn))
        return cause_sentence(cause) if cause else ""

    def likely_cause(self, conversation: str, turn: int) -> str:
        """The cause of a red turn by its name in worksheets; empty where nobody knows it."""
        cause = self.causes.get((conversation, turn))
        return cause.cause if cause and cause.standing != "open" else ""

    @cached_property
    def said(self) -> dict[tuple[str, int], HumanVerdict]:
        """What the team says of turns."""
        words = (verdict for verdict in self.results.verdicts if verdict.source != "blind")
        return {verdict.key: verdict for verdict in words}

    def words(self, conversation: str, turn: int) -> tuple[Text, ...]:
        """What people say of a turn: in which run it was disputed, and what the team wrote of it."""
        red, said = self.red.get((conversation, turn)), self.said.get((conversation, turn))
        is_inherited = said is None or said.judge_is != "wrong"
        lines = (
            dispute_text(red.dispute) if red and red.dispute and is_inherited else None,
            said and words_text(said),
        )
        return tuple(line for line in lines if line)

    @cached_property
    def red(self) -> dict[tuple[str, int], RedTurn]:
        """The red turns."""
        return self.summary.red.by_turn

    def key(self, *parts: object) -> str:
        """A row's key: it names the run, so that the rows of several runs can stand in one worksheet."""
        return "/".join(map(str, (self.results.run.id, *parts)))


def interval_text(context: ReportContext) -> Message | None:
    """Between what the score may lie, one range in every view: that which decided, else the 95 % interval.

    None where neither is known, as with fewer than five questions.
    """
    gate, interval = context.gate, context.summary.scores.interval
    if gate.bounds:
        low, high = (points(end, against=gate.target) for end in gate.bounds)
        sure = f"{100 * (gate.confidence or 0):.4g}"
        return _("{low}–{high} ({sure} % sure of either end)", low=low, high=high, sure=sure)
    if interval is None:
        return None
    low, high = map(points, interval)
    return _("95 % interval {low}–{high}", low=low, high=high)


def score_lines(context: ReportContext) -> Iterator[Message]:
    """The score with its interval and its coverage.

    "Score 70 / 100", "95 % interval 52–86", "6 of 6 conversations graded": each a phrase of one line.
    """
    summary, target = context.summary, context.gate.target
    if summary.scores.score is None:
        yield _("Score {score}", score=_("No grade"))
    else:
        yield _("Score {score} / 100", score=points(summary.scores.score, against=target))
        yield interval_text(context) or _("no interval (it takes five questions)")
    yield _("{n} of {planned} conversations graded", n=summary.scores.graded, planned=summary.planned)
