"""The page of a run: what to fix, the answers to review, and its conversations as far as there is room.

The templates beside the painters draw it. What they get is finished values, whose keys they name: nothing is
worked out while a page is drawn.

A page has room for about a thousand conversations. They are drawn in this order until it is full: those to
which something on the page links, red ones from the gravest on, then the others as they were planned. What is
left out is said above the list; figures are always of all conversations.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import Any, NamedTuple

from markupsafe import Markup

from simulator.core.document import Chart, Report, Section, Text, excerpt, points, zoned_time
from simulator.core.messages import _, ngettext, pgettext, safe_text
from simulator.core.types import Conversation, Turn
from simulator.report import fixes, tables
from simulator.report.context import ReportContext, change_text, lowest_text, score_lines
from simulator.report.conversations import Shelf, conversation_values
from simulator.report.gate import verdict, verdict_tone
from simulator.report.notes import notes
from simulator.report.painters.html import drawn, render
from simulator.report.people import decision_text, disputed_count, hit_rate
from simulator.report.run import run_report
from simulator.results.articles import heading_of
from simulator.results.certificate import standing_line
from simulator.results.figures import RedTurn
from simulator.results.recommendations import Fix
from simulator.results.red import RANK, red_questions, worst_severity
from simulator.results.review import review_findings
from simulator.results.rows import Key
from simulator.sheets.model import answer_key
from simulator.storage.results import conversations_with_scores, select_turns

# Bytes for the conversations of a page and their passages. With the rest it stays below 8 MB, so that it
# opens within a second or two and fits into a mail.
ROOM = 6_800_000
# So many questions are shown, at most so many of one fix, of each so many red answers, of so many turns.
SHOWN_QUESTIONS, OF_A_FIX, SHOWN_ANSWERS, READ_TURNS = 20, 6, 3, 15
# To so many more of each fix there are links.
LINKED_QUESTIONS = 50
# Characters of a red answer, and of the one that was expected, beside each other: nearly all are whole.
QUOTED_LENGTH = 500
# So many fixes are shown whole, so many folded; the rest is counted.
CARDS_SHOWN, CARDS_FOLDED = 3, 12
# Where links lead to a conversation that is not shown: to the list.
ELSEWHERE = "talks"
# The sections in sight, in this order; everything else is folded below them. Of these the first sheet on
# paper has fixes and coverage.
_FRONT = ("mends", "coverage", "reddest", "felt", "talks", "shelf")
# With more conversations than this, what is said in them is read by the browser when somebody opens one, or
# when it has time: the page is there at once.
AT_ONCE = 100
# With more red conversations than this, all of them start folded.
OPEN_AT_MOST = 6


def run_page(context: ReportContext, beside: str = "") -> bytes:
    """The page of a run, in UTF-8.

    `beside` is the address of the page that shows it beside the earlier run; empty where there is none.
    """
    results, summary, gate, mended = context.results, context.summary, context.gate, context.improvements
    report, questions = run_report(context), red_questions(summary)
    ranked = mended.fixes if mended else ()
    groups = _groups(questions, ranked)
    changes = mended.changes if mended else ()
    cards = changes[: CARDS_SHOWN + CARDS_FOLDED]
    # What the page links to has to be on it: examples of fixes, then red answers in sight.
    linked = [example.red.key for fix in cards for example in fix.examples]
    linked += [red.key for group in groups for reds in group.questions for red in reds[:READ_TURNS]]
    linked += [reds[0].key for group in groups for reds in group.others]
    shelf: Shelf = {}
    talks = _drawn(context, report, [id_ for id_, _turn in linked], shelf)
    anchors = tables.anchors_of(results, (key for key in linked if key[0] in talks))
    ahead, figures = _ordered(context, report, has_passages=bool(shelf))
    unshown = len(questions) - len(
        {reds[0].case for group in groups for reds in (*group.questions, *group.others)}
    )
    asked = {case.case: case.question for case in summary.scores.cases}
    return render(
        "run_page.html.j2",
        report,
        [*ahead, *figures],
        "report.js",
        folded_from=len(ahead),
        nav=[
            *(
                (section.key, _("Needs review") if section.key == "reddest" else section.title)
                for section in ahead
                if section.title
            ),
            *([("figures", _("Figures"))] if figures else []),
        ],
        run=results.run,
        created=zoned_time(results.run.created),
        summary=summary,
        gate=gate,
        rows=summary.rows,
        notes=notes(context),
        titles=context.titles,
        score=points(summary.scores.score, against=gate.target),
        verdict=verdict(gate, trial=summary.trial),
        verdict_tone=verdict_tone(gate, trial=summary.trial),
        undecided=gate.decision == "undecided",
        lowest=lowest_text(summary),
        score_lines=tuple(score_lines(context))[1:],
        decision=decision_text(decided) if (decided := results.release_decision) else "",
        change=change_text(context.change) if context.change else "",
        since=context.change.earlier if context.change else "",
        beside=beside,
        disputed=disputed_count(summary) or "",
        hits=hit_rate(review_findings(results, summary)) or "",
        red_kinds=_reasons(context),
        red_questions=len(questions),
        # Of stand-ins the notice says it.
        standing="" if summary.trial else standing_line(summary.standing),
        sheet_end="coverage" if any(section.key == "coverage" for section in ahead) else "mends",
        cards=fixes.cards(context, cards, anchors),
        cards_shown=CARDS_SHOWN,
        fixes=len(changes),
        fix_unclear=fixes.unclear_line(mended, summary) if mended else None,
        unclear=mended.unclear if mended else None,
        fix_lead=fixes.lead_text(mended) if mended else "",
        groups=[
            (
                group.fix,
                [_question(context, reds, anchors) for reds in group.questions],
                [(anchors.get(reds[0].key, ELSEWHERE), asked[reds[0].case]) for reds in group.others],
            )
            for group in groups
        ],
        # Where the answers of a fix stand, by its key.
        answers_of={group.fix.key: f"fix-{group.fix.rank}" for group in groups if group.fix},
        cause_label=pgettext("of a fix", "Cause"),
        questions_left=unshown,
        talks=talks.values(),
        part=_part(context, talks),
        passages=[
            {"anchor": anchor, "title": heading_of(text), "label": label, "text": text}
            for (label, text), anchor in shelf.items()
        ],
    )


def _reasons(context: ReportContext) -> Chart | None:
    """A bar for each reason why turns are red, which may stand beside another; None where none is."""
    kinds = sorted(context.summary.red.kinds.items(), key=lambda item: -item[1])
    counts = {context.titles("mark", kind): n for kind, n in kinds}
    title = _("Answers to review")
    return Chart.bars(title, counts, lambda n: ngettext("{n} answer", "{n} answers", n=n)) if counts else None


def _ordered(
    context: ReportContext, report: Report, *, has_passages: bool
) -> tuple[list[Section], list[Section]]:
    """The sections in sight and those below: first what is to be done, then what it rests on.

    Of a data set the sections that say something of it are the result, and come first.
    """
    own = [section.key for section in context.sections if section.line and section.key != "bot"]
    order = dict.fromkeys((*own, *_FRONT) if context.summary.rows else _FRONT)
    shown = {section.key: section for section in report.shown_in("page")}
    if not has_passages:
        del shown["shelf"]
    ahead = [shown.pop(key) for key in order if key in shown]
    return ahead, list(shown.values())


class _Group(NamedTuple):
    """The red answers that one fix mends, by question; `fix` is None of answers that no fix mends.

    `others` are questions for which there is no room but a link.
    """

    fix: Fix | None
    questions: list[list[RedTurn]]
    others: list[list[RedTurn]]


def _groups(questions: Iterable[list[RedTurn]], fixes: Sequence[Fix]) -> list[_Group]:
    """The red turns of the first questions by the fix that mends them, in the order of the fixes.

    So the first answer on the page belongs to the first fix. A question stands under every fix that one of
    its answers takes.
    """
    places = {key: at for at, fix in enumerate(fixes) for key in fix.turns}
    by_fix: dict[int, list[list[RedTurn]]] = {}
    for reds in questions:
        of_question: dict[int, list[RedTurn]] = {}
        for red in reds:
            of_question.setdefault(places.get(red.key, len(fixes)), []).append(red)
        for at, turns in of_question.items():
            by_fix.setdefault(at, []).append(turns)
    groups, room = list[_Group](), SHOWN_QUESTIONS
    for at, of_fix in sorted(by_fix.items()):
        shown = of_fix[: min(room, OF_A_FIX)]
        # A fix that has no card has no heading either.
        if shown or at < CARDS_SHOWN + CARDS_FOLDED or at == len(fixes):
            others = of_fix[len(shown) :][:LINKED_QUESTIONS]
            groups.append(_Group(fixes[at] if at < len(fixes) else None, shown, others))
            room -= len(shown)
    return groups


def _question(context: ReportContext, reds: Sequence[RedTurn], anchors: Mapping[Key, str]) -> dict[str, Any]:
    """A question and its red answers, each once, the gravest first.

    `reds` are its red turns from the gravest on, `anchors` where the page has them. Customers who got the
    same answer share an entry; a link to one that is not on the page leads to the list.
    """
    read = reds[:READ_TURNS]
    places = {red.key for red in read}
    turns = {(held[0].id, held[1].index): held for held in select_turns(context.results, places)}
    # By text and failure: two timeouts are one entry, and no entry with an empty answer.
    alike: dict[tuple[str, str | None], list[RedTurn]] = {}
    for red in read:
        alike.setdefault((turns[red.key][1].answer.text, red.failure), []).append(red)
    shown = sorted(alike.values(), key=lambda same: RANK[worst_severity(same[0].marks)])[:SHOWN_ANSWERS]
    return {
        "case": next(case for case in context.summary.scores.cases if case.case == reds[0].case),
        "severity": worst_severity(reds[0].marks),
        "entries": [_entry(context, same, *turns[same[0].key], anchors) for same in shown],
        "n": len(reds),
        "left": len(reds) - sum(map(len, shown)),
    }


def _entry(
    context: ReportContext,
    same: Sequence[RedTurn],
    talk: Conversation,
    turn: Turn,
    anchors: Mapping[Key, str],
) -> dict[str, Any]:
    """An answer that customers got, with what judge and people say of it, and where each got it."""
    red = same[0]
    return {
        "red": red,
        "answer": tables.failure_text(red.failure) or excerpt(turn.answer.text, QUOTED_LENGTH),
        "expected": tables.expected_at(talk.case, turn.index, QUOTED_LENGTH),
        "key": answer_key(talk.case, turn),
        "mark": tables.mark_text(red),
        "grade": _grade_text(context, red),
        "cause": context.cause_sentence(*red.key),
        "likely": context.likely_cause(*red.key),
        "words": context.words(*red.key),
        "customers": [(anchors.get(other.key, ELSEWHERE), other.persona, other.turn) for other in same],
    }


def _grade_text(context: ReportContext, red: RedTurn) -> Text:
    """What the deciding judge gave: "Overall 2 / 5"; empty where it gave nothing."""
    score = context.scores(*red.key).get(context.summary.scores.primary)
    if score is None or score.state != "scored":
        return ""
    return _("{name} {n}", name=context.titles("judge", score.judge), n=tables.grade_text(score))


def _drawn(context: ReportContext, report: Report, first: Iterable[str], shelf: Shelf) -> dict[str, Markup]:
    """The conversations of the page by id, the worst first; what was retrieved for them goes to the shelf.

    Those in `first` are drawn, then red ones, then others, one at a time, until the page is full.
    """
    scores, ids = context.summary.scores, context.results.conversations.ids
    # The gravest first.
    ranks: dict[str, int] = {}
    for answer in context.summary.red.answers:
        ranks.setdefault(answer.conversation, RANK[worst_severity(answer.marks)])
    red = dict.fromkeys((*first, *ranks))
    order = [*red, *(key for key in ids if key not in red)]
    numbers = {key: number for number, key in enumerate(ids, 1)}
    places = {case.case: at for at, case in enumerate(scores.cases, 1)}
    talks, room = dict[str, Markup](), ROOM
    for talk, by_turn in conversations_with_scores(context.results, order):
        # One that has not begun is nothing to show.
        if not (talk.turns or talk.ended):
            continue
        before = len(shelf)
        page = drawn(
            "conversation.html.j2",
            report,
            **conversation_values(context, talk, by_turn, shelf),
            case=talk.case,
            rows=context.summary.rows,
            titles=context.titles,
            anchor=tables.anchor(numbers[talk.id]),
            place=places.get(talk.case.id, 0),
            is_open=talk.id in ranks and len(ranks) <= OPEN_AT_MOST,
            is_late=len(ids) > AT_ONCE,
        )
        texts = (safe_text(text) for _label, text in islice(shelf, before, None))
        room -= sum(len(text.encode()) for text in (page, *texts))
        if room < 0:
            break
        talks[talk.id] = Markup(page)  # noqa: S704 - drawn by our template
    worst = sorted(talks, key=lambda id_: (ranks.get(id_, len(RANK)), scores.by_conversation.get(id_, 1.0)))
    return {id_: talks[id_] for id_ in worst}


def _part(context: ReportContext, talks: Mapping[str, Markup]) -> Text:
    """That the page shows a part of the run; empty where it shows all."""
    begun, red = context.results.conversations.select("begun").ids, context.summary.red
    if all(id_ in talks for id_ in begun):
        return ""
    return _(
        "The run is large: this page shows {n} of its {all} conversations, with the {red} "
        "most serious of {of} answers to review. The figures cover all conversations; "
        "exports such as --to xlsx hold every answer.",
        n=len(talks),
        all=len(begun),
        red=sum(answer.conversation in talks for answer in red.answers),
        of=red.count,
    )
