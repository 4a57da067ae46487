"""What to fix, for every report: terminal, cards of the page, Markdown and a worksheet.

What a fix is, its cause and its gain come from `results/recommendations.py`. In the summary one reads

    1. Add to the prompt: "Do not say what is not in the material."
       +9.3 points · Made up (likely) · Prompt author · 7 answers · 3 questions
    2 more · see all: python run.py fixes RUN

and in `fixes`, below the counts, the gravest example with the judge's reason, what the cause rests on, and
the right answer. The gain is of the run's score, of 100, if the fixed turns were graded like the average turn
that is not red.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from simulator.core.document import (
    BRIEF,
    TEXT,
    Fact,
    Item,
    Items,
    Line,
    Report,
    Section,
    Text,
    Tone,
    brief_reason,
    excerpt,
    points,
)
from simulator.core.messages import Message, _, changed, ngettext, pgettext, sentences
from simulator.core.titles import Titles
from simulator.core.types import Language
from simulator.report.context import ReportContext, trial_notice
from simulator.report.coverage import unknown_text
from simulator.report.tables import failure_text, mark_text, turn_text
from simulator.results.causes import RootCause, cause_name, cause_sentence
from simulator.results.figures import RedTurn, Summary
from simulator.results.recommendations import LEAST, Fix, Improvements
from simulator.results.red import red_questions

# In the summary of a run: three red questions and three fixes, with all else, are 40 lines.
SHOWN = 3
# Characters. The question in a link is cut to a little more than fits on a line of a card.
_LINK_LENGTH = 50
# In the summary of a run a question and a quotation are cut to a line; Japanese takes twice the room.
_QUESTION, _LINE = 46, 30


def none_text(improvements: Improvements) -> Message:
    """That there is nothing to fix, or why that cannot be known."""
    if improvements.unsearched:
        return _(
            "Nothing was retrieved, so there is no article or search to fix. The report lists "
            "the rows to review."
        )
    return _("Nothing to fix: no answer needs review.")


def gain_text(fix: Fix, improvements: Improvements) -> Text:
    """'+4.2 点': what the run's score (of 100) would gain; empty where that cannot be forecast."""
    return _("+{gain} points", gain=f"{100 * fix.gain:.1f}") if improvements.foretells else ""


def counts_text(fix: Fix) -> Message:
    """The number of questions of a fix, and of its answers where these are more."""
    n, cases = len(fix.turns), len(fix.cases)
    turns = ngettext("{n} answer", "{n} answers", n=n) if n > cases else ""
    questions = ngettext("{n} question", "{n} questions", n=cases)
    disputed = _("{n} disputed", n=fix.disputed) if fix.disputed else ""
    return _("{parts:dots}", parts=tuple(filter(None, (turns, questions, disputed))))


def lead_text(improvements: Improvements) -> Text:
    """The score with all of it fixed and how that is estimated, or why it is not; empty if it stays."""
    if improvements.fixes and not improvements.foretells:
        return _(
            "Too few for an estimate: it takes {least} answers that need no review, and this run has"
            " {green}.",
            least=LEAST,
            green=improvements.green,
        )
    score, mended = points(improvements.score), points(improvements.mended)
    if improvements.mended is None or mended == score:
        return ""
    return sentences(
        _("With all of it fixed the score should go from {score} to {mended}.", score=score, mended=mended),
        _(
            "This is an estimate: fixed answers are assumed to score {goal}, like those that need no review.",
            goal=points(improvements.goal),
        ),
    )


def brief_sections(
    improvements: Improvements, run: str, summary: Summary, language: Language
) -> Iterator[Section]:
    """The gravest turn of each of the reddest questions with its reason, and the best fixes.

    On a later turn the question is followed by what the customer said there.
    """
    titles, gravest = summary.titles(language), [turns[0] for turns in red_questions(summary)]
    asked = {case.case: case.question for case in summary.scores.cases}
    items = []
    for red in gravest[:SHOWN]:
        where = turn_text(red.persona, red.case, red.turn, titles)
        # The question above is the case's; without the line itself nobody knows what was answered here.
        if red.turn > 1:
            where = _("{where}: “{line}”", where=where, line=excerpt(red.question, _LINE))
        marked = _("{mark} · {where}", mark=mark_text(red), where=where)
        reason = failure_text(red.failure) or brief_reason(red.reason, language)
        cause = improvements.causes.get(red.key)
        why: Text = ""
        if cause and cause.standing != "open" and not red.failure:
            why = changed(cause_sentence(cause), lambda text: brief_reason(text, language))
        facts = tuple(Fact("", text) for text in (marked, reason, why) if text)
        question = excerpt(asked.get(red.case) or red.question, _QUESTION)
        items.append(Item(question, facts, _tone(red.is_disputed)))
    title = _("Worst questions")
    if len(gravest) > SHOWN:
        title = _("Worst questions ({shown} of {n})", shown=SHOWN, n=len(gravest))
    yield Section("reddest", title, (Items(tuple(items), numbered=True),), views=BRIEF | TEXT)
    if improvements.fixes:
        best = tuple(
            Item(fix.what, (Fact("", _figures(fix, improvements)),), _tone(fix.is_disputed))
            for fix in improvements.changes[:SHOWN]
        )
        unclear = unclear_line(improvements, summary)
        blocks = (
            Items(best, rest_text(len(improvements.changes) - SHOWN, run), numbered=True),
            *((Line(unclear),) if unclear else ()),
        )
        yield Section("fix", _("Fix first"), blocks, views=BRIEF | TEXT)


def unclear_line(improvements: Improvements, summary: Summary) -> Message | None:
    """How many answers no fix is known for, what these would bring, and what to do; None without any.

    "Also: 14 answers whose cause is not known (+29.4 points). ..."
    """
    if not (fix := improvements.unclear):
        return None
    text = _unclear_text(fix, improvements)
    if improvements.changes:
        text = _("Also: {what}", what=text)
    return sentences(_("{reason:sentence}", reason=text), _advice(summary))


def _unclear_text(fix: Fix, improvements: Improvements) -> Message:
    text = ngettext(
        "{n} answer whose cause is not known", "{n} answers whose cause is not known", n=len(fix.turns)
    )
    gain = gain_text(fix, improvements)
    return _("{name} ({how})", name=text, how=gain) if gain else text


def _advice(summary: Summary) -> Message:
    """What finds causes that are not known: a model, or ids; where both are there, people."""
    if any(row.needed for row in summary.record.conversations):
        find = _("To find causes, let a model judge.")
    else:
        find = _(
            "To find causes, let a model judge, or name the articles that questions need in the column"
            " passages, with --knowledge."
        )
    return find if summary.trial else _("Read them: why they are wrong is not known.")


def _tone(is_disputed: bool) -> Tone:
    """What people dispute is grey."""
    return "soft" if is_disputed else "strong"


def rest_text(left: int, run: str) -> Message:
    """How many more fixes there are, if any, and the command that shows all.

    "2 more · see all: python run.py fixes latest"
    """
    more = _("{n} more", n=left) if left > 0 else ""
    shown = _("see all: python run.py fixes {run}", run=run)
    return _("{parts:dots}", parts=tuple(filter(None, (more, shown))))


def _figures(fix: Fix, improvements: Improvements) -> Message:
    """The gain of a fix, its cause, who does it and what it counts."""
    gain, cause = gain_text(fix, improvements), cause_name(fix.cause, fix.standing)
    return _("{parts:dots}", parts=tuple(filter(None, (gain, cause, fix.who, counts_text(fix)))))


def fixes_report(
    improvements: Improvements, run: str, summary: Summary, language: Language, top: int | None = None
) -> Report:
    """At most `top` fixes with an example of each."""
    titles, lead = summary.titles(language), lead_text(improvements)
    misnamed = improvements.misnamed and unknown_text(improvements.misnamed)
    changes = improvements.changes
    made = (_item(fix, improvements, titles) for fix in changes)
    items = Items.first(len(changes) if top is None else top, made, _("{n} more"), numbered=True)
    sections = [Section("fixes", "", (items if changes else Line(none_text(improvements)),))]
    if unclear := improvements.unclear:
        listed = _unclear_section(unclear, improvements, summary, language, top)
        sections = [*(sections if changes else ()), listed]
    return Report(
        title=_("What to fix, by points gained"),
        language=language,
        lead=(*((Line(misnamed, "alarm"),) if misnamed else ()), *((Line(lead),) if lead else ())),
        sections=tuple(sections),
        about=run,
        notice=trial_notice(summary),
        wording="rows" if summary.rows else "",
    )


def _unclear_section(
    fix: Fix, improvements: Improvements, summary: Summary, language: Language, top: int | None
) -> Section:
    """The answers whose cause is not known, the worst first, and what would find their causes."""
    titles = summary.titles(language)
    reds = [summary.red.by_turn[key] for key in fix.turns]
    quoted = [red for red in reds if red.question]
    made = (
        Item(red.question, tuple(_said(red, titles, improvements.causes[red.key])), _tone(red.is_disputed))
        for red in quoted
    )
    items = Items.first(len(quoted) if top is None else top, made, _("{n} more"), numbered=True)
    title = _unclear_text(fix, improvements)
    return Section("unclear", title, (Line(_advice(summary)), items))


def _said(red: RedTurn, titles: Titles, cause: RootCause) -> Iterator[Fact]:
    """The answer below its question: whose and where, what the judge and people say of it."""
    yield Fact("", turn_text(red.persona, red.case, red.turn, titles))
    yield Fact(pgettext("who speaks", "Bot"), failure_text(red.failure) or red.answer)
    if red.reason.strip() and not red.failure:
        yield Fact(pgettext("the model that grades", "Judge"), red.reason)
    if cause.standing != "open":
        yield Fact(pgettext("of a fix", "Cause"), changed(cause_sentence(cause), excerpt))
    if red.reference.strip():
        yield Fact(pgettext("of a fix", "Reference answer"), red.reference)


def _item(fix: Fix, improvements: Improvements, titles: Titles) -> Item:
    """What to do, its gain and its counts; the gravest example with reason, cause and the right answer."""
    red, cause = fix.examples[0]
    where, *said = _said(red, titles, cause)
    question = Fact(pgettext("who speaks", "Customer"), red.question)
    facts = (Fact("", _figures(fix, improvements)), where, question, *said)
    return Item(fix.what, facts, _tone(fix.is_disputed))


def cards(
    context: ReportContext, fixes: Iterable[Fix], anchors: Mapping[tuple[str, int], str]
) -> list[dict[str, Any]]:
    """What the page shows of these fixes; `anchors` are where it has its turns.

    `width` is the gain as a bar (0..100, of the largest gain); `links` lead to the examples, each with its
    customer and question.
    """
    improvements = context.improvements
    if improvements is None:
        return []
    # The bar of a fix is a share of the best one's, also where that is not among those shown.
    best = max((fix.gain for fix in improvements.fixes), default=0.0)
    return [
        {
            "key": fix.key,
            "what": fix.what,
            "links": [
                (
                    anchor,
                    red.case if context.summary.rows else context.titles("persona", red.persona),
                    excerpt(red.question, _LINK_LENGTH),
                )
                for red, _cause in fix.examples
                if (anchor := anchors.get(red.key))
            ],
            "gain": gain_text(fix, improvements),
            "width": round(100 * fix.gain / best, 1) if best else 0.0,
            "who": fix.who,
            "counts": counts_text(fix),
            "disputed": fix.is_disputed,
            "said": changed(cause_sentence(fix.examples[0].cause), excerpt),
        }
        for fix in fixes
    ]
