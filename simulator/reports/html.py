"""The report as one page that needs nothing else: no network, no script to be read, no server.

Everything that a bot, a model or a customer said is untrusted: it is escaped, its control codes are
stripped, and the page's policy runs no script and no style but the page's own.
"""

from collections.abc import Collection, Sequence
from functools import partial
from typing import Any

from markupsafe import Markup

from simulator.core.document import local
from simulator.core.translations import Words, goal, words_of
from simulator.core.types import Language, Results
from simulator.diagnosis.recommendations import Improvements, improvements_of
from simulator.reports import (
    answerable,
    customers,
    html_course,
    html_details,
    html_fixes,
    html_page,
    html_shelf,
    table,
)
from simulator.reports.extras import load_block
from simulator.reports.floor import lowest
from simulator.reports.gate_table import conditions_table
from simulator.reports.html_choice import LARGEST, chosen
from simulator.reports.html_heat import heat_map
from simulator.reports.html_pair import Painted, comparison
from simulator.reports.html_red import RedQuestion, red_questions
from simulator.reports.html_talks import LONGEST, Talk, TalkPainter, anchors_of, page_words, why
from simulator.reports.notes import corrected_line, notes, verdict
from simulator.reports.sections import sections
from simulator.reports.standing import UNKNOWN, Standings, blocks, heading, with_notes
from simulator.stats.comparison import Changes
from simulator.stats.figures import Summary
from simulator.stats.gate import Gate
from simulator.storage.results import picked

__all__ = ["LONGEST", "Painted", "render", "side_by_side", "why"]

SHOWN_QUESTIONS = 20
# The questions after these start folded, and with more red conversations than this, all conversations do.
OPEN_QUESTIONS = 3
OPEN_AT_MOST = 6
# Notes that are no alarms are folded when there are more.
OPEN_NOTES = 2
# Red turns that are printed beside those that stand under their question: paper ends somewhere.
ON_PAPER = 60
# How often a page that came out too large is painted with fewer conversations.
ATTEMPTS = 4


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
    found = mends or improvements_of(results, summary, language)
    run, first, share = Painted(results, summary, gate), _first(summary, found), 1.0
    for _ in range(ATTEMPTS):
        talks = chosen(results, summary, first, share)
        page = _page(run, language, standings, other, changes, found, talks)
        size = len(page.encode("utf-8"))
        if size <= LARGEST:
            break
        share *= 0.9 * LARGEST / size
    return page


def _first(summary: Summary, found: Improvements) -> list[str]:
    """The conversations that other parts of the page lead to."""
    shown = [red for each in red_questions(summary)[:SHOWN_QUESTIONS] for red in (*each.whole, *each.brief)]
    examples = [e for fix in found.fixes[: html_fixes.SHOWN + html_fixes.FOLDED] for e in fix.examples]
    return [*(each.conversation for each in examples), *(red.conversation for red in shown)]


def _page(  # noqa: PLR0917 - as `render`
    run: Painted,
    language: Language,
    standings: Standings,
    other: tuple[Results, Summary, Gate] | None,
    changes: Changes | None,
    found: Improvements,
    shown: Collection[str],
) -> str:
    """The page with the conversations that are to be shown."""
    results, summary, gate = run
    words = words_of(summary, language)
    painter = TalkPainter(results, summary, words, shown)
    talks = [painter.talk(i, c) for i, c in picked(results, shown)]
    style, script = html_page.part("report.css"), html_page.part("report.js")
    return html_page.page().render(
        **_figures(results, summary, gate, words),
        **_red(red_questions(summary), talks),
        **_judged(summary, standings, gate, painter, words),
        **_talks(talks, painter, summary),
        part=_part(results, talks, summary, words),
        fixes=html_fixes.cards(found, anchors_of(results, shown), words),
        compared=_compared(run, other, talks, words, changes),
        style=Markup(style), script=Markup(script), policy=html_page.policy(style, script),  # noqa: S704 - ours
    )  # fmt: skip


def _part(results: Results, talks: list[Talk], summary: Summary, words: Words) -> str:
    """What the page says when it does not show every conversation."""
    held = summary.graded + summary.missing + summary.unrecorded
    if not summary.rows:
        held = sum(bool(talk.turns or talk.ended) for talk in results.conversations)
    if len(talks) == held:
        return ""
    red = sum(talk.red for talk in talks)
    key = "part_red" if red < summary.red else "part_others"
    told = {"n": f"{len(talks):,}", "all": f"{held:,}", "red": f"{red:,}", "of": f"{summary.red:,}"}
    return page_words(words)(key, **told)


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
    return {
        "words": words,
        "say": page_words(words),
        "language": language,
        "mark_text": table.mark_text,
        "expected_text": table.expected_text,
        "run": results.run,
        "began": f"{local(results.run.created):%Y-%m-%d %H:%M %Z}",
        "summary": summary,
        "gate": gate,
        "best": summary.corrected or summary,
        "corrected": corrected_line(summary, gate.target, words),
        "verdict": verdict(gate, summary.score, words),
        "conditions": conditions_table(gate, words),
        "lowest": lowest(results, summary),
        "charts": [] if summary.rows else html_course.charts(results, summary, words),
        "size": (html_course.AXIS, html_course.HEIGHT),
        "usage": table.usage_table(summary, language),
        "load": load_block(results, summary, words),
        "played": None if summary.rows else customers.block(summary.simulator, words),
        "played_text": partial(customers.TEXT, language),
        "sections": sections(results, language),
        "answerable": answerable.grids(results, language),
        "answerable_text": partial(answerable.TEXT, language),
        "statistics": html_details.statistics(results, summary, words),
        "facts": html_details.facts(results, summary, words),
    }


def _red(questions: Sequence[RedQuestion], talks: Sequence[Talk]) -> dict[str, Any]:
    """The red turns by question; `paper` are those that are printed with their conversation instead."""
    quoted = {(red.conversation, red.turn) for q in questions[:SHOWN_QUESTIONS] for red in q.whole}
    red = [(turn.red.conversation, turn.red.turn) for talk in talks for turn in talk.turns if turn.red]
    paper = set([key for key in red if key not in quoted][:ON_PAPER])
    return {
        "questions": questions[:SHOWN_QUESTIONS],
        "questions_open": OPEN_QUESTIONS,
        "questions_left": questions[SHOWN_QUESTIONS:],
        "paper": paper,
        "printed": {conversation for conversation, _ in paper},
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
    return [goal(value) for value in sorted({0.4, 0.6, 0.8, 1.0, *([limit] if limit else [])})]


def _talks(talks: list[Talk], painter: TalkPainter, summary: Summary) -> dict[str, Any]:
    """The conversations, where their turns are, and the passages that they name."""
    return {
        "talks": talks,
        "anchors": {
            (talk.conversation.id, turn.index): view.anchor
            for talk in talks
            for turn, view in zip(talk.conversation.turns, talk.turns, strict=True)
        },
        "elsewhere": "talks",
        "passages": html_shelf.kept(painter.shelf, talks),
        "passages_open": html_shelf.SHOWN,
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
    """The comparison with an earlier run, or nothing; what the page leaves out is sought in its list."""
    if other is None:
        return None
    anchors = dict.fromkeys((talk.id for talk in run.results.conversations), "talks")
    anchors |= {talk.conversation.id: talk.anchor for talk in talks}
    return comparison(Painted(*other), run, anchors, words, changes)
