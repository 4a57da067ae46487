"""The page of a run, and which conversations it has room for."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from simulator.core.document import Chart, Report, Section, Series, Text, local_time, points
from simulator.core.messages import _
from simulator.core.types import Conversation, Results, Score, Severity, TurnScores
from simulator.diagnosis.recommendations import CAUSE_NAMES, Fix, certainty
from simulator.report import fixes, tables
from simulator.report.context import ReportContext, corrected_line, lowest_score, verdict
from simulator.report.html_comparison import PageParts, comparison_sections
from simulator.report.html_conversations import (
    FEELING,
    ConversationView,
    ConversationViews,
    anchors_of,
    cut,
    passage_entries,
    red_questions,
)
from simulator.report.painters.html import render
from simulator.report.run import run_report, score_lines
from simulator.stats.comparison import RunComparison
from simulator.stats.figures import CaseSummary, RedTurn, Summary
from simulator.stats.red import worst_severity
from simulator.stats.summary import excerpt, weakest_mean
from simulator.storage.results import conversations_with_scores

# Room for the conversations of a page, in bytes, and the estimated markup around each part of one.
_CONVERSATIONS_SIZE = 6_800_000
_CONVERSATION_MARKUP, _TURN_MARKUP, _GRADE_MARKUP = 900, 500, 130
# So many questions are shown, of each so many red turns whole, and so many more by their reason.
SHOWN_QUESTIONS, SHOWN_WHOLE, SHOWN_BRIEF = 20, 3, 12
# So many fixes are shown whole, so many folded; the rest is counted.
CARDS_SHOWN, CARDS_FOLDED = 3, 12
# The question in a link is cut to a little more than fits on a line of a card.
_LINK_LENGTH = 50
# Where links lead to a conversation that is not shown: to the list.
ELSEWHERE = "talks"
# What the head of a page leads to, beside the sections that only some runs have.
_LEADS = {"before", "heat", "course", "reddest", "talks", "technical"}


class FixCard(NamedTuple):
    """A fix; `bar` is its gain in % of the best, `links` anchor, customer and question of its examples."""

    what: Text
    cause: Text
    sure: Text
    counts: Text
    gain: Text
    bar: float
    reason: Text
    links: list[tuple[str, Text, str]]


class RedEntry(NamedTuple):
    """A red turn below its question; `reply` is the answer, or that there was none."""

    red: RedTurn
    mark: Text
    reply: Text
    anchor: str


class RedQuestion(NamedTuple):
    """A question with its red turns, the gravest first."""

    case: CaseSummary
    severity: Severity
    entries: list[RedEntry]


def run_page(
    context: ReportContext,
    share: float = 1.0,
    earlier: PageParts | None = None,
    changes: RunComparison | None = None,
) -> bytes:
    """The page of a run, with what fits into this share (0..1) of the room for conversations.

    `earlier` is a run that this one is compared with, and `changes` are the statistics of the two, which are
    worked out where they are not passed.
    """
    results, summary, gate = context.results, context.summary, context.gate
    improvements, every = context.improvements, red_questions(summary)
    questions, mends = every[:SHOWN_QUESTIONS], improvements.fixes[: CARDS_SHOWN + CARDS_FOLDED]
    linked = [example.conversation for fix in mends for example in fix.examples]
    linked += [red.conversation for turns in questions for red in turns[: SHOWN_WHOLE + SHOWN_BRIEF]]
    shown = shown_conversations(results, summary, linked, share)
    quoted = {(red.conversation, red.turn) for turns in questions for red in turns[:SHOWN_WHOLE]}
    anchors = anchors_of(results, shown)
    views = ConversationViews(context, shown, anchors, quoted)
    numbers = {key: number for number, key in enumerate(results.conversations.ids, 1) if key in shown}
    scored = conversations_with_scores(results, list(numbers))
    talks = [views.conversation(numbers[c.id], c, by_turn) for c, by_turn in scored]
    report, endings = run_report(context, anchors), list(_endings(context))
    passages = passage_entries(views.passages, talks)
    # Sections without blocks, which the template fills, and leaves out where there is nothing to fill in.
    filled = {"shelf": passages, "endings": endings}
    best = summary.corrected or summary
    return render(
        "run_page.html.j2",
        report,
        [each for each in report.shown_in("page") if filled.get(each.key, True)],
        "report.js",
        nav=_nav(context, report),
        compared=_compared(context, earlier, talks, changes) if earlier else [],
        run=results.run,
        created=f"{local_time(results.run.created):%Y-%m-%d %H:%M %Z}",
        summary=summary,
        gate=gate,
        titles=context.titles,
        trusts=context.trusts.judges,
        notes=context.notes,
        score=points(best.score, against=gate.target),
        best=best,
        verdict=verdict(gate, summary.score),
        lowest=lowest_score(results, summary),
        corrected=corrected_line(summary, gate.target),
        score_lines=list(score_lines(context))[1:],
        red_kinds=_red_kinds(context),
        cards=[_fix_card(fix, context, anchors) for fix in mends],
        fix_lead=fixes.lead_text(improvements),
        fix_below=[text for text in (fixes.spoilt_text(improvements), fixes.how_text(improvements)) if text],
        cards_shown=CARDS_SHOWN,
        improvements=improvements,
        table=tables.personas_table(summary, context.titles),
        weakest=weakest_mean(summary),
        feeling=FEELING,
        endings=endings,
        questions=[_red_question(turns, summary, anchors) for turns in questions],
        questions_left=every[SHOWN_QUESTIONS:],
        whole=SHOWN_WHOLE,
        brief=SHOWN_BRIEF,
        talks=talks,
        flawed=any(turn.flaws for talk in talks for turn in talk.turns),
        personas={each.persona: str(at) for at, each in enumerate(summary.personas, 1)},
        part=_part(context, talks),
        judges=views.judges,
        grades=sorted({0.4, 0.6, 0.8, 1.0, summary.rules.overall or 1.0}),
        passages=passages,
        cut=cut,
    )


def _nav(context: ReportContext, report: Report) -> list[tuple[str, Text]]:
    """What the head of the page leads to."""
    leads = _LEADS | {section.key for section in context.sections}
    return [
        (section.key, _("Red") if section.key == "reddest" else section.title)
        for section in report.shown_in("page")
        if section.key in leads
    ]


def _red_kinds(context: ReportContext) -> Chart | None:
    """A bar for each reason why turns are red, which may stand beside another."""
    kinds = sorted(context.summary.red_kinds.items(), key=lambda item: -item[1])
    names = tuple(context.titles("mark", kind) for kind, _n in kinds)
    bars = Series("", tuple(float(n) for _kind, n in kinds), tuple(f"{n:,}" for _kind, n in kinds))
    return Chart("bars", "", _("Red turns"), names, (bars,)) if kinds else None


def _fix_card(fix: Fix, context: ReportContext, anchors: Mapping[tuple[str, int], str]) -> FixCard:
    best = max(each.gain for each in context.improvements.fixes)
    links = [
        (
            anchor,
            each.case if context.summary.rows else context.titles("persona", each.persona),
            excerpt(each.question, _LINK_LENGTH),
        )
        for each in fix.examples
        if (anchor := anchors.get((each.conversation, each.turn)))
    ]
    first = fix.examples[0]
    return FixCard(
        what=fix.what,
        cause=CAUSE_NAMES[fix.cause],
        sure=certainty(fix.sure),
        counts=fixes.counts_text(fix),
        gain=fixes.gain_text(fix, context.improvements),
        bar=round(100 * fix.gain / best, 1) if best else 0.0,
        reason=fixes.failure_text(first) or first.reason,
        links=links,
    )


def _red_question(
    turns: Sequence[RedTurn], summary: Summary, anchors: Mapping[tuple[str, int], str]
) -> RedQuestion:
    entries = [
        RedEntry(
            red,
            tables.mark_text(red),
            fixes.failure_text(red) or red.answer,
            anchors.get((red.conversation, red.turn), ELSEWHERE),
        )
        for red in turns
    ]
    case = next(case for case in summary.cases if case.case == turns[0].case)
    return RedQuestion(case, worst_severity(turns[0].marks), entries)


def _endings(context: ReportContext) -> Iterator[tuple[str, Text, int]]:
    """How conversations ended: value in the filter, name and number; and last those that have not."""
    summary = context.summary
    for how, n in summary.ended.items():
        yield how, context.titles("ended", how), n
    if (left := summary.planned - sum(summary.ended.values())) > 0:
        yield "", _("not finished"), left


def _part(context: ReportContext, talks: Sequence[ConversationView]) -> Text:
    """That the page shows only some of the conversations; empty where it shows all."""
    summary = context.summary
    total = summary.graded + summary.missing + summary.unrecorded
    if not summary.rows:
        total = sum(case.conversations for case in summary.cases)
    if len(talks) == total:
        return ""
    red = sum(len(talk.reds) for talk in talks)
    text = _(
        "The run is large: this page shows {n} of its {all} conversations, with all {of} red turns and a"
        " sample of the others, spread evenly. The figures are of all conversations; --to xlsx and its like"
        " write every turn."
    )
    if red < summary.red:
        text = _(
            "The run is large: this page shows {n} of its {all} conversations, with the gravest {red} of {of}"
            " red turns. The figures are of all conversations; --to xlsx and its like write every turn."
        )
    return text.format(n=len(talks), all=total, of=summary.red, red=red)


def _compared(
    context: ReportContext,
    earlier: PageParts,
    talks: Sequence[ConversationView],
    changes: RunComparison | None,
) -> list[Section]:
    """The comparison with an earlier run; conversations that are not shown link to the list."""
    anchors = dict.fromkeys(context.results.conversations.ids, ELSEWHERE)
    anchors |= {talk.conversation.id: talk.anchor for talk in talks}
    later = PageParts(context.results, context.summary, context.gate)
    return comparison_sections(earlier, later, anchors, context.language, changes)


def shown_conversations(
    results: Results, summary: Summary, first: Iterable[str], share: float = 1.0
) -> Collection[str]:
    """The ids of the conversations to show: everything if it fits, else red ones and a sample of the others.

    Those in `first` come before the red ones, these gravest first; the sample is spread evenly over the plan.
    `share` (0..1) shrinks the room for them, where an estimate was too low. No more conversations are read
    than the page can hold.
    """
    room = _CONVERSATIONS_SIZE * share
    red = dict.fromkeys((*first, *(each.conversation for each in summary.reddest)))
    keys = [*red, *_spread([key for key in results.conversations.ids if key not in red])]
    # A passage takes room once, where it is first shown.
    shown, passages = set(), set[tuple[str, str]]()
    for conversation, by_turn in conversations_with_scores(results, keys):
        if conversation.turns or conversation.ended:
            room -= _size(conversation, by_turn, passages)
            if room < 0:
                break
            shown.add(conversation.id)
    return shown


def _spread(keys: Sequence[str]) -> Iterator[str]:
    """All keys in an order whose first ones are spread over the whole: every 64th, then those between."""
    step = 64
    for start in range(step):
        yield from keys[start::step]


def _size(conversation: Conversation, by_turn: TurnScores, passages: set[tuple[str, str]]) -> int:
    grades = sum(_grade_size(score) for by_judge in by_turn.values() for score in by_judge.values())
    case = conversation.case
    texts = [
        case.question,
        conversation.closing,
        conversation.reason,
        *(line.content for line in case.history),
    ]
    for turn in conversation.turns:
        texts += [turn.user, turn.answer.text]
        for passage in turn.answer.passages:
            if (key := (passage.source or passage.id, passage.text)) not in passages:
                passages.add(key)
                texts.append(passage.text)
    return _CONVERSATION_MARKUP + _TURN_MARKUP * len(conversation.turns) + sum(map(_bytes, texts)) + grades


def _grade_size(score: Score) -> int:
    steps = score.detail.get("steps")
    listed = map(str, steps) if isinstance(steps, list) else ()
    return _GRADE_MARKUP + _bytes(score.reason) + sum(map(_bytes, listed))


def _bytes(text: str) -> int:
    """Roughly the bytes of a text in UTF-8, without encoding it."""
    return len(text) if text.isascii() else 3 * len(text)
