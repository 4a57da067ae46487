"""What every report of a run shares: its context, the gate in words, notes to read before relying on it.

`ReportContext` is what the page, worksheets, Markdown and files are made from. It is made once for a run
(`api/outputs.py`), and what is costly about it is made at the first look: titles, sections, causes.

Notes come in two tones, in this order: alarms, without which the figures are misread ("Fluency, failed
grades: 1 of 13 ..."), and small print, which says what shaped the figures. A summary in brief shows three
alarms at most, and no small print.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, NamedTuple, Protocol

from simulator.core.document import Line, Section, Text, excerpt, points
from simulator.core.messages import Message, _, listed, safe_text, sentences, shown
from simulator.core.replies import FIFTHS, share_of
from simulator.core.titles import Titles, title
from simulator.core.types import (
    CONFLICTS_IGNORED,
    EXPECTATIONS,
    EXPECTATIONS_IGNORED,
    LAPSES_IGNORED,
    RISK,
    HumanVerdict,
    Language,
    Results,
    Score,
    TurnScores,
)
from simulator.grading.desk import DESK
from simulator.privacy.patterns import mask
from simulator.report.gate import doubts, reasons
from simulator.report.judges import by_rule, family_notes
from simulator.report.people import dispute_text, words_text
from simulator.report.sections import answerable_sections, sections
from simulator.report.tables import replay_note
from simulator.results.answerability import answerability, handovers, unjudged_reason
from simulator.results.causes import STOPPED_NOTE, RootCause, cause_sentence
from simulator.results.comparison import Change, RunComparison, RunFigures
from simulator.results.figures import JudgeSummary, RedTurn, Summary
from simulator.results.gate import Gate
from simulator.results.recommendations import Improvements
from simulator.results.red import expected_of
from simulator.results.review import desk_questions
from simulator.runner.masking import masks_of
from simulator.storage.results import select_conversations

STAND_INS = _(
    "A trial run: the customers used stock phrases and simple scoring (no AI) graded. Do "
    "not judge the bot by these grades and marks."
)
# The same where a model played the customers.
_COUNTED = _("A trial run: simple scoring (no AI) graded. Do not judge the bot by these grades and marks.")
# What a judge named and nobody counted, by the field of its figures.
_IGNORED: Mapping[str, Message] = {
    CONFLICTS_IGNORED: _(
        "{judge}: contradictions between reference and passages, not counted because the quotation is in"
        " neither: {n}."
    ),
    LAPSES_IGNORED: _(
        "{judge}: problems between answers, not counted because the quotation is not in that message: {n}."
    ),
    EXPECTATIONS_IGNORED: _(
        "{judge}, sentences without a verdict that counts (none was given, or its words are not in the"
        " conversation): {n}."
    ),
}
# Characters of a question that the lead is asked about.
QUESTION = 60
# Characters of why grades failed: an error of a user's own judge ends with its file and line, which is what
# they need.
_LONGEST_REASON = 600


def lowest_score(summary: Summary) -> float | None:
    """The lowest possible score (0..1); None where the deciding judge's scale reaches down to 0.

    Grades from 1 to 5 are divided by 5, so that a bot that is always wrong has 20 of 100. Whoever does not
    know that takes 40 for nearly half right.
    """
    grades = (turn.scores.get(summary.scores.primary) for turn in summary.record.turns)
    scales = (grade.scale for grade in grades if grade and grade.is_scored)
    return share_of(FIFTHS[0], FIFTHS) if next(scales, None) == FIFTHS else None


def counts_text(numbers: Mapping[str, int], group: str) -> Message:
    """'timeout 3, error 1', most frequent first; `group` is the one in which they have their titles."""
    ranked = sorted(numbers.items(), key=lambda item: -item[1])
    parts = [_("{name} {n}", name=title(group, kind), n=n) for kind, n in ranked]
    return listed(parts, len(parts)) if parts else _("none")


def lapses_text(lapses: Mapping[str, int], conversations: int) -> Message:
    """How many lapses of each kind there are: "Contradiction 2, Forgotten 1 (in 3 conversations)"."""
    counts = {kind: n for kind, n in lapses.items() if n}
    kinds = counts_text(counts, "lapse")
    return _("Lapses between answers: {kinds} (in {n} conversations).", kinds=kinds, n=conversations)


class _Judged(Protocol):
    """A run as a whole: whether a model took part, and whether one judged."""

    @property
    def offline(self) -> bool: ...

    @property
    def trial(self) -> bool: ...


def trial_notice(run: _Judged, *, rows: bool = False) -> Text:
    """What to know of a run that no model judged; empty for others. Nobody plays the customer of `rows`."""
    return STAND_INS if run.offline and not rows else _COUNTED if run.trial else ""


def change_text(pair: Change) -> Message:
    """The pair of numbers that every view shows: "Questions needing review 27 → 15, score 64 → 83"."""
    (red_before, red_now), (before, now) = pair.questions, pair.score
    return _(
        "Questions needing review {red_before} → {red_now}, score {before} → {now}",
        red_before=f"{red_before:,}",
        red_now=f"{red_now:,}",
        before=points(before),
        now=points(now),
    )


# Where judges say otherwise than a customer who left satisfied.
_CONTRADICTED = {
    "satisfied_wrong": _("Customers who left satisfied with a wrong or invented answer: {n} of {of}."),
    "satisfied_unresolved": _("Customers who left satisfied without what they came for: {n} of {of}."),
}


def notes(summary: Summary, gate: Gate) -> tuple[Line, ...]:
    """Everything that is missing from the figures or shaped them, alarms first.

    That the target was missed is not among them: it is the verdict itself.
    """
    alarms = [
        *_shared_reason(summary),
        *doubts(gate, summary.scores.interval),
        *_all_alike(summary),
        *_alarms(summary),
    ]
    of = sum(n for how, n in summary.ended.items() if how.startswith("satisfied"))
    for how, text in _CONTRADICTED.items():
        if n := summary.ended.get(how):
            alarms.append(text.format(n=n, of=of))
    if any(summary.red.lapses.values()):
        alarms.append(lapses_text(summary.red.lapses, summary.red.lapsed))
    remarked: list[Text] = []
    if outcomes := summary.red.expectations:
        (alarms if outcomes["unmet"] else remarked).append(expectations_text(outcomes))
    elif (judge := summary.scores.judges.get(EXPECTATIONS)) and judge.skipped and summary.trial:
        alarms.append(_("What the questions expect was not judged: that takes a model."))
    remarks = (*remarked, *_remarks(summary))
    first = [Line(text, "alarm") for text in alarms]
    return (*first, *(Line(text, "soft") for text in remarks))


def _shared_reason(summary: Summary) -> Iterator[Message]:
    """What most of the grades failed for, where it is one thing: what to do first."""
    reasons = Counter[str]()
    for judge in summary.scores.judges.values():
        reasons[judge.failure_reason] += judge.failed
    failed, graded = reasons.total(), sum(judge.n for judge in summary.scores.judges.values())
    if failed <= graded:
        return
    reason, count = reasons.most_common(1)[0]
    if reason and 2 * count > failed:
        why = safe_text(excerpt(reason, _LONGEST_REASON))
        yield _("{failed} of {n} grades failed: {reason}", failed=failed, n=failed + graded, reason=why)


def _all_alike(summary: Summary) -> Iterator[Message]:
    """The judges that gave every answer the same grade."""
    for name, judge in summary.scores.judges.items():
        # Stand-ins are a trial as a whole, and whoever counts by rule may well find all answers alike.
        if judge.same_grade is None or summary.offline or by_rule(name):
            continue
        yield _(
            "{judge} gave every answer the same grade ({grade}), so it tells good ones from bad ones nowhere:"
            " read some of them, or calibrate the judge, before you rely on the score.",
            judge=title("judge", name),
            grade=f"{judge.same_grade:g}",
        )


def _missing_grades(judge_title: Text, judge: JudgeSummary) -> Iterator[Message]:
    """How many grades failed and why, and how many the run did not reach."""
    if judge.failed:
        failed_grades = _(
            "{judge}, failed grades: {failed} of {n} ({kinds}); they are not part of the mean.",
            judge=judge_title,
            failed=judge.failed,
            n=judge.n + judge.failed,
            kinds=counts_text(judge.failures, "failure"),
        )
        reason = safe_text(excerpt(judge.failure_reason, _LONGEST_REASON))
        yield sentences(failed_grades, _("Why: {reason}", reason=reason) if reason else None)
    if judge.unreached:
        yield _(
            "{judge}, grades that the run did not reach: {n} of {due}; they are not part of the mean.",
            judge=judge_title,
            n=judge.unreached,
            due=judge.due,
        )


def _alarms(summary: Summary) -> Iterator[Message]:
    """What decides whether the figures can be used: what was not answered, and what was not graded."""
    for name, judge in summary.scores.judges.items():
        judge_title = title("judge", name)
        yield from _missing_grades(judge_title, judge)
        if (n := len(judge.rubrics)) > 1:
            mixed = _("{judge}: grades of {n} different rubrics are mixed; take the mean with care.")
            yield mixed.format(judge=judge_title, n=n)
    if n := sum(judge.undecided for judge in summary.scores.judges.values()):
        yield _(
            "Answers left undecided because reference answer and passages contradict each other: "
            "{n}. Correct one of the two.",
            n=n,
        )
    yield from _ignored_findings(summary)
    if summary.scores.missing:
        yield _(
            "Conversations without a grade, which are not part of the score: {n}.", n=summary.scores.missing
        )
    if summary.bot_failures:
        failed, kinds = sum(summary.bot_failures.values()), counts_text(summary.bot_failures, "failure")
        text = _(
            "Messages that the bot did not answer: {failed} of {n} ({kinds}); these get the "
            "lowest grade by rule."
        )
        # A bot that was never reached has the lowest score there is, which is easily taken for a verdict on
        # it.
        if failed == summary.turns:
            text = _(
                "The bot never answered ({kinds}). The score is the lowest there is, by rule, and says"
                " nothing about its answers: see first whether it can be reached."
            )
        yield text.format(failed=failed, n=summary.turns, kinds=kinds)
    if 0 < summary.unrecorded == summary.turns:
        yield _(
            "The log has no answer at all, so nothing was graded. If it does have answers, name their column"
            " answer."
        )
    if n := summary.customers.failed:
        yield _("Conversations cut short because the simulated customer failed: {n}.", n=n)


def _ignored_findings(summary: Summary) -> Iterator[Message]:
    """How many findings a judge named in words that do not stand where it says, judge by judge."""
    for name, judge in summary.scores.judges.items():
        for key, text in _IGNORED.items():
            if n := getattr(judge, key):
                yield text.format(judge=title("judge", name), n=n)


def expectations_text(outcomes: Mapping[str, int]) -> Message:
    """How many of the sentences that cases expect were met, and how many not: "met 31, not met 2, ..."."""
    parts = [_("{name} {n}", name=title("outcome", state), n=n) for state, n in outcomes.items()]
    return _("Expectations: {kinds}.", kinds=parts)


def _remarks(summary: Summary) -> Iterator[Message]:
    """What shaped the figures: what was left out, how judges agree, how the customer behaved."""
    if 0 < summary.unrecorded < summary.turns:
        unanswered = _(
            "Customer messages without an answer in the log, neither graded nor held against the "
            "bot: {unrecorded} of {n}."
        )
        yield unanswered.format(n=summary.turns, unrecorded=summary.unrecorded)
    if n := summary.reasoned:
        thought = _(
            "Answers from which what the bot thought aloud (<think>...</think>) was left out: {n} of {all}."
        )
        yield thought.format(n=n, all=summary.turns)
    judges = [
        _("{judge} ({n}/{planned})", judge=title("judge", name), n=judge.n, planned=judge.planned)
        for name, judge in summary.scores.judges.items()
        # Skipped because undecided is an alarm of its own. Not all answers have every output; not every
        # answer tests a rule, and the table of rules says so.
        if judge.skipped > judge.undecided and "." not in name and (summary.offline or name != RISK)
    ]
    if judges:
        skipped = _("{judges}: answers without a reference answer or passages were skipped.")
        if summary.offline:
            skipped = _("{judges}: skipped where a reference, passages or a model is missing.")
        yield skipped.format(judges=judges)
    if any(judge.retest for judge in summary.scores.judges.values()):
        yield _(
            "Answers that the model graded twice (--retest) need review only if both grades say "
            "so; the interval includes the changes."
        )
    if n := summary.customers.guarded:
        yield _(
            "Messages of the simulated customer that were rewritten before the bot saw them: {n} of {turns}"
            " ({kinds}).",
            n=n,
            turns=summary.turns,
            kinds=counts_text(summary.customers.rules, "rule"),
        )


# The grade of `groundedness` where only details have no support.
_DETAILS_ONLY = 4


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
    def reasons(self) -> list[str]:
        """What keeps the run from passing, in English, most serious first; empty if it passed."""
        return list(map(str, reasons(self.gate)))

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
    def notes(self) -> tuple[Line, ...]:
        """What to know before relying on the figures, alarms first."""
        listed = (
            *notes(self.summary, self.gate),
            *self.remarks,
            *self._judging_note(),
            *self._desk_notes(),
            *self._details_note(),
            *self._unjudged,
            *self._causes_note(),
        )
        return tuple(sorted(listed, key=lambda note: note.tone != "alarm"))

    def _desk_notes(self) -> Iterator[Line]:
        """That the judges graded by what was learned, and where people differ so that nothing can be."""
        if digits := self.results.run.prompts.get(DESK):
            yield Line(_("Judges graded by the rules of desk.toml, too ({digits}).", digits=digits), "soft")
        if questions := tuple(asked.question for asked in self.contested if not asked.answer):
            text = _(
                "Reviewers call the same answer good and bad. What does the desk want here? Write a rule into"
                " Expectation on the page, or into the sheet's Summary, for `learn` to try: {questions}"
            )
            yield Line(text.format(questions=questions), "alarm")

    @cached_property
    def contested(self) -> tuple[DeskQuestion, ...]:
        """What the lead is asked: where people who graded blind call one answer good and bad."""
        answers = desk_questions(self.results.verdicts, self.summary.red.rules)
        talks = select_conversations(self.results, {conversation for conversation, _turn in answers})
        return tuple(
            DeskQuestion(self.key(conversation.id, turn.index), excerpt(turn.user, QUESTION), answer)
            for _at, conversation in talks
            for turn in conversation.turns
            if (answer := answers.get((conversation.id, turn.index))) is not None
        )

    @property
    def _unjudged(self) -> tuple[Line, ...]:
        """That nobody was asked whether the bot declines and hands over where it should."""
        if self.summary.record.asks_responses:
            return ()
        run = self.summary.record
        places = (answerability(run), handovers(run))
        why = unjudged_reason(max(condition.unjudged for condition in places), run)
        return (Line(_("Refusals and handovers: {why}", why=why), "alarm"),) if why else ()

    def _judging_note(self) -> Iterator[Line]:
        """That the judge was asked in short prompts: its grades do not compare with others'."""
        run = self.results.run
        if run.settings.get("judging") == "small" and not run.offline:
            yield Line(_("Graded with the short prompts for small models (--judging small)."), "soft")

    def _details_note(self) -> Iterator[Line]:
        """How many answers state details that nothing retrieved supports, though they are not red for it."""
        if self.results.run.offline or (self.summary.red.rules.groundedness or 0) >= _DETAILS_ONLY:
            return
        grounded = (turn.scores.get("groundedness") for turn in self.summary.record.turns)
        if n := sum(grade.raw == _DETAILS_ONLY for grade in grounded if grade):
            text = _(
                "Answers with details that no passage supports, though not marked for it "
                "(groundedness 4): {n}.",
                n=n,
            )
            yield Line(text, "soft")

    def _causes_note(self) -> Iterator[Line]:
        """That the judge's model could not be asked about all red answers, and how it still can be."""
        stopped = self.results.notes.get(STOPPED_NOTE)
        n = sum(cause.standing == "open" for cause in self.causes.values())
        if stopped and n:
            why = _("the budget is spent") if stopped == "budget" else _("its endpoint did not answer")
            yield Line(
                _(
                    "Answers to review whose cause was not determined: {n} ({why}). To ask the judge: "
                    "python run.py grade {run}",
                    n=n,
                    why=why,
                    run=self.results.run.id,
                )
            )

    @cached_property
    def sections(self) -> tuple[Section, ...]:
        """What only some runs have, in the order in which reports show it."""
        return sections(self.results, self.summary, [section for section in self.added if not section.folded])

    @property
    def folded(self) -> tuple[Section, ...]:
        """Sections of plug-ins that are folded: small print, below what all runs have."""
        return tuple(section for section in self.added if section.folded)

    @cached_property
    def answerable(self) -> tuple[Section, ...]:
        """Whether the bot answers, declines and hands over where it should."""
        return tuple(answerable_sections(self.summary.record))

    @cached_property
    def causes(self) -> Mapping[tuple[str, int], RootCause]:
        """The causes of the red turns."""
        return self.improvements.causes if self.improvements else {}

    def cause_sentence(self, conversation: str, turn: int) -> Text:
        """The sentence about the cause of a red turn, the same in every report; empty where it is not red."""
        cause = self.causes.get((conversation, turn))
        return cause_sentence(cause) if cause else ""

    @cached_property
    def said(self) -> dict[tuple[str, int], HumanVerdict]:
        """What the team says of turns."""
        words = (verdict for verdict in self.results.verdicts if verdict.source != "blind")
        return {verdict.key: verdict for verdict in words}

    def words(self, conversation: str, turn: int) -> tuple[Text, ...]:
        """What people say of a turn: in which run it was disputed, and what the team wrote of it."""
        red, said = self.red.get((conversation, turn)), self.said.get((conversation, turn))
        is_inherited = red and red.dispute and red.dispute.dispute.run != self.results.run.id
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


def record_remarks(results: Results, language: Language) -> Iterator[Line]:
    """What its record says of a run: that judge and bot are of one family, that it replays, what it masks."""
    yield from family_notes(results.run.settings, results.run.models)
    if replay := replay_note(results.run):
        yield Line(replay, "soft")
    if masked := masks_of(results):
        kinds = [_("{name} {n}", name=mask(kind, language), n=n) for kind, n in masked.items()]
        yield Line(_("Personal data is masked: {kinds}.", kinds=kinds), "soft")
    elif masked is not None:
        yield Line(_("Personal data would be masked; none was found."), "soft")


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
