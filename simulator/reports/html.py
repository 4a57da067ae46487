"""The report as one page that needs nothing else: no network, no script to be read, no server.

Everything that a bot, a model or a customer said is untrusted: it is escaped, its control codes are
stripped, and the page's policy runs no script and no style but the page's own.
"""

from functools import partial
from typing import Any

from markupsafe import Markup

from simulator.analysis.figures import Summary
from simulator.analysis.gate import Gate
from simulator.changes.compared import Changes
from simulator.fixes.fix import Improvements
from simulator.fixes.of_run import improvements_of
from simulator.reports import answerable, customers, html_course, html_details, html_fixes, html_page, table
from simulator.reports.gate_table import conditions_table
from simulator.reports.html_heat import heat_map
from simulator.reports.html_pair import Painted, comparison
from simulator.reports.html_red import red_questions
from simulator.reports.html_talks import LONGEST, PAGE, Talk, TalkPainter, anchors_of, why
from simulator.reports.notes import corrected_line, notes, points, verdict
from simulator.reports.standing import UNKNOWN, Standings, blocks, heading, with_notes
from simulator.reports.words import Words, words_of
from simulator.types import Language, Results

__all__ = ["LONGEST", "Painted", "render", "side_by_side", "why"]

SHOWN_QUESTIONS = 20
# The questions after these start folded, and with more red conversations than this, all conversations do.
OPEN_QUESTIONS = 3
OPEN_AT_MOST = 6
# Notes that are no alarms are folded when there are more.
OPEN_NOTES = 2


def render(  # noqa: PLR0917 - a run's three parts, the language, and two things that may stand beside it
    results: Results,
    summary: Summary,
    gate: Gate,
    language: Language,
    standings: Standings = UNKNOWN,
    other: tuple[Results, Summary, Gate] | None = None,
    changes: Changes | None = None,
    mends: Improvements | None = None,
) -> str:
    """The whole page as one string of HTML; `other` is an earlier run that this one is held against.

    `changes` are the statistics of the two, and `mends` what to mend, where they are known already.
    """
    words = words_of(summary, language)
    found = mends or improvements_of(results, summary, language)
    painter = TalkPainter(results, summary, words)
    talks = [painter.talk(i, c) for i, c in enumerate(results.conversations, 1) if c.turns or c.ended]
    style, script = html_page.part("report.css"), html_page.part("report.js")
    return html_page.page().render(
        **_figures(results, summary, gate, words),
        **_judged(summary, standings, gate, painter, words),
        **_talks(talks, painter, summary),
        fixes=html_fixes.cards(found, anchors_of(results), words),
        compared=_compared(Painted(results, summary, gate), other, talks, words, changes),
        style=Markup(style), script=Markup(script), policy=html_page.policy(style, script),  # noqa: S704 - ours
    )  # fmt: skip


def side_by_side(  # noqa: PLR0917 - two runs, the language, and what is known of them already
    before: Painted,
    after: Painted,
    language: Language,
    standings: Standings = UNKNOWN,
    changes: Changes | None = None,
    mends: Improvements | None = None,
) -> str:
    """The page of the run `after`, with the section that compares it to `before`."""
    return render(*after, language, standings, before, changes, mends)


def _figures(results: Results, summary: Summary, gate: Gate, words: Words) -> dict[str, Any]:
    """What the page says of the whole run."""
    language = words.language
    questions = red_questions(summary)
    return {
        "words": words,
        "say": partial(PAGE, language),
        "language": language,
        "mark_text": table.mark_text,
        "run": results.run,
        "summary": summary,
        "gate": gate,
        "best": summary.corrected or summary,
        "corrected": corrected_line(summary, gate.target, words),
        "verdict": verdict(gate, summary.score, words),
        "conditions": conditions_table(gate, words),
        "charts": html_course.charts(results, summary, words),
        "size": (html_course.WIDTH, html_course.HEIGHT, html_course.LEFT),
        "questions": questions[:SHOWN_QUESTIONS],
        "questions_open": OPEN_QUESTIONS,
        "questions_left": questions[SHOWN_QUESTIONS:],
        "usage": table.usage_table(summary, language),
        "played": customers.block(summary.simulator, words),
        "played_text": partial(customers.TEXT, language),
        "answerable": answerable.grids(results, language),
        "answerable_text": partial(answerable.TEXT, language),
        "statistics": html_details.statistics(results, summary, words),
        "facts": html_details.facts(results, summary, words),
    }


def _judged(
    summary: Summary, standings: Standings, gate: Gate, painter: TalkPainter, words: Words
) -> dict[str, Any]:
    """What the judges say, and how far they are to be trusted."""
    return {
        "heat": heat_map(summary, standings, painter.judges, words),
        "judges": [words.name("judge", name) for name in painter.judges],
        "grades": _thresholds(summary.rules.overall),
        "notes": with_notes(notes(summary, gate, words), standings),
        "notes_open": OPEN_NOTES,
        "standing": blocks(standings, words),
        "trust": heading(words.language),
    }


def _thresholds(limit: float | None) -> list[str]:
    """The grades below which conversations can be looked for, of 100."""
    return [points(value) for value in sorted({0.4, 0.6, 0.8, 1.0, *([limit] if limit else [])})]


def _talks(talks: list[Talk], painter: TalkPainter, summary: Summary) -> dict[str, Any]:
    """The conversations, where their turns are, and the passages that they name."""
    return {
        "talks": talks,
        "anchors": {
            (talk.conversation.id, turn.index): view.anchor
            for talk in talks
            for turn, view in zip(talk.conversation.turns, talk.turns, strict=True)
        },
        "passages": painter.shelf,
        "numbers": {each.persona: place for place, each in enumerate(summary.personas, 1)},
        "open_red": sum(talk.red > 0 for talk in talks) <= OPEN_AT_MOST,
        "flawed": any(turn.flaws for talk in talks for turn in talk.turns),
    }


def _compared(
    run: Painted,
    other: tuple[Results, Summary, Gate] | None,
    talks: list[Talk],
    words: Words,
    changes: Changes | None,
) -> Any:
    """The comparison with an earlier run, or nothing."""
    if other is None:
        return None
    anchors = {talk.conversation.id: talk.anchor for talk in talks}
    return comparison(Painted(*other), run, anchors, words, changes)
