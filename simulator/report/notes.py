"""What to know before relying on the figures of a run.

Notes come in two tones, in this order: alarms, without which the figures are misread ("Fluency, failed
grades: 1 of 13 ..."), and small print, which says what shaped the figures. A summary in brief shows three
alarms at most, and no small print.
"""

from collections import Counter
from collections.abc import Collection, Iterator
from functools import partial

from simulator.core.document import Line, Text, count_text, excerpt
from simulator.core.messages import Message, _, changed, safe_text, sentences
from simulator.core.settings import Settings
from simulator.core.titles import title
from simulator.core.types import RISK, TURN, Ended
from simulator.grading.desk import DESK
from simulator.grading.panel import NO_MODEL
from simulator.privacy.patterns import mask
from simulator.report.context import ReportContext, counts_text, expectations_text
from simulator.report.coverage import unknown_text
from simulator.report.gate import doubts
from simulator.results.causes import STOPPED_NOTE, misnamed_of
from simulator.results.figures import JudgeSummary, Summary
from simulator.runner.masking import masks_of
from simulator.storage.run_file import EARLY_NOTE, replay_of

# Characters of why something failed: an error of a user's own judge ends with its file and line, a bot's
# with what to do, which is what they need.
_LONGEST_REASON = 600
# How conversations end where the simulated customer fails.
_FAILED = (Ended.USER_FAILED, Ended.ENDPOINT_FAILED)
# The grade of `groundedness` where only details have no support.
_DETAILS_ONLY = 4


def notes(context: ReportContext) -> tuple[Line, ...]:
    """Everything that is missing from the figures or shaped them, alarms first.

    That the target was missed is not among them: it is the verdict itself. Of a run that is graded later
    there is only that, and what the bot left out.
    """
    summary = context.summary
    if context.ungraded:
        texts = (*failures(context), context.ungraded, *_unanswered(context))
        return tuple(Line(text, "alarm") for text in texts)
    modelless = tuple(_modelless(context))
    alarms: list[Text] = [
        *failures(context),
        *([_("{judges}: not graded, because that takes a model.", judges=modelless)] if modelless else []),
        *_misnamed(context),
        *doubts(context.gate, summary.scores.interval),
        *_all_alike(summary),
        *_ungraded(context),
        *_unanswered(context),
        *_unchecked(summary),
        *_disagreements(context),
    ]
    if any(summary.red.lapses.values()):
        kinds = counts_text({kind: n for kind, n in summary.red.lapses.items() if n}, "lapse")
        text = _("Lapses between answers: {kinds} (in {n} conversations).", kinds=kinds, n=summary.red.lapsed)
        alarms.append(text)
    remarks: list[Text] = []
    if outcomes := summary.red.expectations:
        (alarms if outcomes["unmet"] else remarks).append(expectations_text(outcomes))
    remarks += [*_skipped(summary, modelless), *_record(context)]
    return (
        *(Line(text, "alarm") for text in alarms),
        *sorted(context.remarks, key=lambda note: note.tone != "alarm"),
        *_unasked_causes(context),
        *(Line(text, "soft") for text in remarks),
    )


def _unchecked(summary: Summary) -> Iterator[Message]:
    """That nobody said what is right, where that is what the deciding judge asks."""
    run = summary.record
    is_asked = summary.scores.primary == TURN and summary.scores.score is not None
    if is_asked and run.answers and not run.references:
        yield _("No question has a reference answer: whether answers are right was not checked.")


def failures(context: ReportContext) -> Iterator[Text]:
    """What everything failed for, and so what to do first: of run, grades, bot and simulated customer."""
    summary, results = context.summary, context.results
    stopped = results.notes.get(EARLY_NOTE)
    if isinstance(stopped, dict) and results.run.status != "finished":
        yield _(
            "The run stopped: {why}",
            why=safe_text(excerpt(str(stopped.get(context.language)), _LONGEST_REASON)),
        )
    _reason, shared = _shared_reason(context)
    if shared:
        yield shared
    # A bot that was never reached has the lowest score there is, which is easily taken for a verdict on it.
    if 0 < summary.turns == sum(summary.bot_failures.values()):
        yield _(
            "The bot never answered ({kinds}). The score is the lowest there is, by rule, and says nothing"
            " about its answers. Why: {reason}",
            kinds=counts_text(summary.bot_failures, "failure"),
            reason=changed(context.failure_reason, partial(excerpt, length=_LONGEST_REASON)),
        )
    if summary.customers.failed == summary.finished:
        yield from _failed_customers(context)


def _shared_reason(context: ReportContext) -> tuple[str, Text]:
    """What grades failed for, and the sentence: where most failed for one thing, or too many are missing."""
    reasons, judges = Counter[str](), context.summary.scores.judges.values()
    for judge in judges:
        reasons[judge.failure_reason] += judge.failed
    failed, graded, missing = reasons.total(), sum(j.n for j in judges), context.gate.found("missing")
    if not failed or (failed <= graded and not missing):
        return "", ""
    reason, count = reasons.most_common(1)[0]
    if not reason or (2 * count <= failed and not missing):
        return "", ""
    text = _("{failed} of {n} grades failed: {reason}")
    if 2 * count <= failed:
        text = _("{failed} of {n} grades failed, most often: {reason}")
    why = safe_text(excerpt(reason, _LONGEST_REASON))
    return reason, text.format(failed=failed, n=failed + graded, reason=why)


def _misnamed(context: ReportContext) -> Iterator[Message]:
    """The ids that questions name and no article has, as they were when the run was started."""
    articles = [article.id for article in context.results.articles]
    if misnamed := misnamed_of(context.summary.record, articles):
        yield unknown_text(misnamed)


def _modelless(context: ReportContext) -> Iterator[Text]:
    """The judges that graded nothing because there was no model; of a trial's usual ones it is no news."""
    usual = Settings.model_fields["judges"].default
    asked = context.results.run.settings.get("judges", usual)
    is_usual = asked in (usual, list(usual)) and context.summary.scores.score is not None
    for name, judge in context.summary.scores.judges.items():
        if context.summary.offline and judge.skipped and not judge.n and not (is_usual and name in usual):
            skipped = context.results.scores.of_judge(name, "skipped")
            if any(NO_MODEL in score.detail for score in skipped):
                yield title("judge", name)


def _all_alike(summary: Summary) -> Iterator[Message]:
    """The judges that gave every answer the same grade."""
    for name, judge in summary.scores.judges.items():
        # Stand-ins are a trial as a whole.
        if judge.same_grade is None or summary.offline:
            continue
        yield _(
            "{judge} gave every answer the same grade ({grade}), so it tells good ones from bad ones nowhere:"
            " read some of them, or calibrate the judge, before you rely on the score.",
            judge=title("judge", name),
            grade=f"{judge.same_grade:g}",
        )


def _ungraded(context: ReportContext) -> Iterator[Message]:
    """What was not graded, or not by one measure: it decides whether the figures can be used."""
    summary, (shared, _sentence) = context.summary, _shared_reason(context)
    for name, judge in summary.scores.judges.items():
        yield from _missing_grades(title("judge", name), judge, is_said=judge.failure_reason == shared)
    if n := sum(judge.undecided for judge in summary.scores.judges.values()):
        yield _(
            "Answers left undecided because reference answer and passages contradict each other: "
            "{n}. Correct one of the two.",
            n=n,
        )
    if summary.scores.missing:
        yield _(
            "Conversations without a grade, which are not part of the score: {n}.", n=summary.scores.missing
        )


def _missing_grades(judge_title: Text, judge: JudgeSummary, *, is_said: bool) -> Iterator[Message]:
    """How many grades failed and why, unless that is said; those not reached, and what does not count."""
    if judge.failed:
        failed_grades = _(
            "{judge}, failed grades: {failed} of {n} ({kinds}); they are not part of the mean.",
            judge=judge_title,
            failed=judge.failed,
            n=judge.n + judge.failed,
            kinds=counts_text(judge.failures, "failure"),
        )
        reason = safe_text(excerpt(judge.failure_reason, _LONGEST_REASON))
        yield sentences(failed_grades, None if is_said else _("Why: {reason}", reason=reason))
    if judge.unreached:
        yield _(
            "{judge}, grades that the run did not reach: {n} of {due}; they are not part of the mean.",
            judge=judge_title,
            n=judge.unreached,
            due=judge.due,
        )
    if (n := len(judge.rubrics)) > 1:
        mixed = _("{judge}: grades of {n} different rubrics are mixed; take the mean with care.")
        yield mixed.format(judge=judge_title, n=n)
    if judge.ignored:
        yield _(
            "{judge}, findings that do not count because their quotation stands nowhere: {n}.",
            judge=judge_title,
            n=judge.ignored,
        )


def _unanswered(context: ReportContext) -> Iterator[Message]:
    """What the bot, the log or the simulated customer left out."""
    summary, unsourced = context.summary, context.summary.record.unsourced
    if 0 < (failed := sum(summary.bot_failures.values())) < summary.turns:
        yield _(
            "Messages that the bot did not answer: {failed} of {n} ({kinds}); these get the "
            "lowest grade by rule. Why: {reason}",
            failed=failed,
            n=summary.turns,
            kinds=counts_text(summary.bot_failures, "failure"),
            reason=changed(context.failure_reason, partial(excerpt, length=_LONGEST_REASON)),
        )
    for reason, n in unsourced.most_common(1):
        yield _(
            "Answers not graded for groundedness, because their passages are not where the settings say:"
            " {n} of {of}. Why: {reason}",
            n=n,
            of=summary.turns,
            reason=changed(reason, excerpt),
        )
    if 0 < summary.unrecorded == summary.turns:
        yield _(
            "The log has no answer at all, so nothing was graded. If it does have answers, name their column"
            " answer."
        )
    if summary.customers.failed < summary.finished:
        yield from _failed_customers(context)


def _failed_customers(context: ReportContext) -> Iterator[Message]:
    """How many conversations the simulated customer cut short, and why the first of them."""
    failed = [row.id for row in context.summary.record.conversations if row.ended in _FAILED]
    for talk in context.results.conversations.with_ids(failed[:1]):
        text = _("Conversations cut short because the simulated customer failed: {n}.", n=len(failed))
        reason = safe_text(excerpt(talk.reason, _LONGEST_REASON))
        yield sentences(text, _("Why: {reason}", reason=reason) if reason else None)


def _disagreements(context: ReportContext) -> Iterator[Message]:
    """Where people differ, so that nothing can be learned."""
    if questions := tuple(asked.question for asked in context.contested if not asked.answer):
        text = _(
            "Reviewers call the same answer good and bad. What does the desk want here? Write a rule into"
            " Expectation on the page, or into the sheet's Summary, for `learn` to try: {questions}"
        )
        yield text.format(questions=questions)


def _unasked_causes(context: ReportContext) -> Iterator[Line]:
    """That the judge's model could not be asked about all red answers, and how it still can be."""
    stopped = context.results.notes.get(STOPPED_NOTE)
    n = sum(cause.standing == "open" for cause in context.causes.values())
    if stopped and n:
        why = _("the budget is spent") if stopped == "budget" else _("its endpoint did not answer")
        text = _(
            "Answers to review whose cause was not determined: {n} ({why}). To ask the judge: "
            "python run.py grade {run}"
        )
        yield Line(text.format(n=n, why=why, run=context.results.run.id))


def _skipped(summary: Summary, modelless: Collection[Text]) -> Iterator[Message]:
    """What was left out for want of something to hold it against; of these judges the reason was said."""
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
    judges = tuple(
        _("{judge} ({n}/{planned})", judge=title("judge", name), n=judge.n, planned=judge.planned)
        for name, judge in summary.scores.judges.items()
        # Skipped because undecided is an alarm of its own. Not all answers have every output; not every
        # answer tests a rule, and the table of rules says so.
        if judge.skipped > judge.undecided and "." not in name and (summary.offline or name != RISK)
        if title("judge", name) not in modelless
    )
    if judges:
        yield _("{judges}: answers without a reference answer or passages were skipped.", judges=judges)


def _record(context: ReportContext) -> Iterator[Message]:
    """What its record says of a run: rewritten messages, how it was judged, what is replayed and masked."""
    results, summary = context.results, context.summary
    if n := summary.customers.guarded:
        yield _(
            "Messages of the simulated customer that were rewritten before the bot saw them: {n} of {turns}"
            " ({kinds}).",
            n=n,
            turns=summary.turns,
            kinds=counts_text(summary.customers.rules, "rule"),
        )
    if not summary.offline and (summary.red.rules.groundedness or 0) < _DETAILS_ONLY:
        grounded = (turn.scores.get("groundedness") for turn in summary.record.turns)
        if n := sum(grade.raw == _DETAILS_ONLY for grade in grounded if grade):
            text = _(
                "Answers with details that no passage supports, though not marked for it (groundedness 4):"
                " {n}."
            )
            yield text.format(n=n)
    if results.run.settings.get("judging") == "small" and not results.run.offline:
        yield _("Graded with the short prompts for small models (--judging small).")
    if digits := results.run.prompts.get(DESK):
        yield _("Judges graded by the rules of desk.toml, too ({digits}).", digits=digits)
    if origin := replay_of(results.run):
        yield _("This run replays {run}: the customers say what they said there.", run=origin)
    if masked := masks_of(results):
        kinds = [count_text(mask(kind, context.language), n) for kind, n in masked.items()]
        yield _("Personal data is masked: {kinds}.", kinds=kinds)
