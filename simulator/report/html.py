"""The report as one page that needs nothing else: no network, no script to be read, no server.

Everything that a bot, a model or a customer said is untrusted: it is escaped, its control codes are
stripped, and the page's policy runs no script and no style but the page's own.
"""

import json
from base64 import b64encode
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from hashlib import sha256
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template
from markupsafe import Markup
from pydantic import JsonValue

from simulator.core.document import local
from simulator.core.translations import Words, goal, plain, points, words_of
from simulator.core.types import Conversation, Language, Results, Score
from simulator.diagnosis.recommendations import Improvements, improvements_of
from simulator.report import customers, features, fixes, html_charts, html_conversations, tables
from simulator.report.context import corrected_line, notes, verdict
from simulator.report.extras import load_block
from simulator.report.html_charts import heat_map
from simulator.report.html_comparison import PageParts, comparison
from simulator.report.html_conversations import (
    LONGEST,
    PAGE,
    ConversationView,
    RedQuestion,
    TalkPainter,
    anchors_of,
    page_words,
    red_questions,
    why,
)
from simulator.report.judges import UNKNOWN, JudgeTrusts, blocks, heading, with_notes
from simulator.report.run import conditions_table, lowest, sections
from simulator.stats.comparison import Changes
from simulator.stats.figures import JudgeSummary, Summary
from simulator.stats.gate import Gate
from simulator.storage.results import StoredConversations, picked

# A page must stay under this, in bytes.
LARGEST = 8_000_000
# What the conversations of a first attempt may come to, by estimate.
_AIMED_AT = 6_800_000
# Markup around a conversation, a turn and a grade, in bytes.
_TALK, _TURN, _GRADE = 900, 500, 130


def chosen(results: Results, summary: Summary, first: Iterable[str], share: float = 1.0) -> Collection[str]:
    """The ids of the conversations to show: everything if it fits, else red ones and a sample of the others.

    Those named `first` come before the red ones, these gravest first; the sample is spread evenly over the
    plan. `share` (0..1) shrinks what they may come to, where an estimate was too low.
    """
    room = _AIMED_AT * share
    if isinstance(results.conversations, StoredConversations):
        return _of_many(results.conversations, summary, first, room)
    sizes = _sizes(results)
    if sum(sizes.values()) <= room:
        return sizes.keys()
    red = dict.fromkeys((*first, *(each.conversation for each in summary.reddest)))
    others = [key for key in sizes if key not in red]
    kept = set()
    for key in (*red, *_spread(others)):
        room -= sizes.get(key, 0)
        if room < 0:
            break
        kept.add(key)
    return kept


def _of_many(
    conversations: StoredConversations, summary: Summary, first: Iterable[str], room: float
) -> Collection[str]:
    """The same of more rows than a page can hold, looking at no more of them than it will."""
    red = dict.fromkeys((*first, *(each.conversation for each in summary.reddest)))
    keys = [*red, *_spread([key for key in conversations.ids if key not in red])]
    kept, shelf = set(), set[tuple[str, str]]()
    for talk, by_turn in conversations.with_scores(keys):
        graded = (score for by_judge in by_turn.values() for score in by_judge.values())
        room -= _spoken(talk, shelf) + sum(map(_graded, graded))
        if room < 0:
            break
        kept.add(talk.id)
    return kept


def _spread(keys: Sequence[str]) -> Iterator[str]:
    """All of them, so that the first few are spread over the whole: every 64th, then those between."""
    step = 64
    for start in range(step):
        yield from keys[start::step]


def _sizes(results: Results) -> dict[str, int]:
    """Bytes that each conversation takes on a page, by estimate; passages count where they are new."""
    shelf: set[tuple[str, str]] = set()
    sizes = {talk.id: _spoken(talk, shelf) for talk in results.conversations if talk.turns or talk.ended}
    for score in results.scores:
        if score.conversation in sizes:
            sizes[score.conversation] += _graded(score)
    return sizes


def _spoken(talk: Conversation, shelf: set[tuple[str, str]]) -> int:
    texts = [talk.case.question, talk.closing, talk.reason, *(line.content for line in talk.case.history)]
    for turn in talk.turns:
        texts += [turn.user, turn.answer.text]
        for passage in turn.answer.passages:
            if (key := (passage.source or passage.id, passage.text)) not in shelf:
                shelf.add(key)
                texts.append(passage.text)
    return _TALK + _TURN * len(talk.turns) + sum(map(_bytes, texts))


def _graded(score: Score) -> int:
    steps = score.detail.get("steps")
    listed = map(str, steps) if isinstance(steps, list) else ()
    return _GRADE + _bytes(score.reason) + sum(map(_bytes, listed))


def _bytes(text: str) -> int:
    """Bytes of a text in UTF-8, near enough, without encoding it."""
    return len(text) if text.isascii() else 3 * len(text)


@dataclass(frozen=True, slots=True)
class Statistics:
    """A table of judges, and single figures by name."""

    columns: list[str]
    rows: list[list[str]]
    figures: list[tuple[str, str]]


def statistics(results: Results, summary: Summary, words: Words) -> Statistics:
    """Means with their errors and coverage, rubrics, intervals, and what grading a turn took."""
    language = words.language
    keys = ("judge", "mean", "stderr", "raw_mean", "graded", "skipped", "failed", "rubric")
    rows = [
        [words.name("judge", name), *_html_details_figures(each)] for name, each in summary.judges.items()
    ]
    corrected = summary.corrected
    figures = [
        ("score_interval", _interval(summary.interval)),
        ("corrected_interval", _interval(corrected.interval if corrected else None)),
        ("tokens_per_turn", tokens_per_turn(results, words)),
    ]
    return Statistics(
        columns=[PAGE(language, key) for key in keys],
        rows=rows,
        figures=[(page_words(words)(key), value or PAGE(language, "none")) for key, value in figures],
    )


def tokens_per_turn(results: Results, words: Words) -> str:
    """What the judges read per graded turn, in tokens; empty when no model graded."""
    spent = results.spending.get("judge")
    if spent is None or not spent.tokens_in:
        return ""
    graded = {(s.conversation, s.turn) for s in results.scores if s.state == "scored" and not s.by_rule}
    if not graded:
        return ""
    told = {"each": f"{spent.tokens_in / len(graded):,.0f}", "tokens": f"{spent.tokens_in:,}"}
    return page_words(words)("tokens_of", turns=f"{len(graded):,}", **told)


def facts(results: Results, summary: Summary, words: Words) -> list[tuple[str, list[tuple[str, str]]]]:
    """The technical details: titled lists of name and value."""
    run = results.run
    about = [
        (words("run"), run.id),
        (words("started"), local(run.created).isoformat(" ", "seconds")),
        (words("duration"), words("seconds_n", n=f"{run.seconds:,.1f}")),
        (words("status_line"), words.name("status", run.status)),
        (words("red_rules"), tables.rules_text(summary.rules, words)),
    ]
    return [
        (words("run"), about),
        (words("models"), [(words.name("role", role), model) for role, model in run.models.items()]),
        (words("settings"), [(key, _json(value)) for key, value in run.settings.items()]),
        (words("prompts"), list(run.prompts.items())),
        (words("versions"), list(run.versions.items())),
    ]


def _html_details_figures(judge: JudgeSummary) -> list[str]:
    means = ["–" if each is None else f"{each:.3f}" for each in (judge.mean, judge.stderr)]
    raw = "–" if judge.raw_mean is None else f"{judge.raw_mean:.2f}"
    counts = [f"{judge.n:,} / {judge.planned:,}", f"{judge.skipped:,}", f"{judge.failed:,}"]
    return [*means, raw, *counts, ", ".join(judge.rubrics) or "–"]


def _interval(ends: tuple[float, float] | None) -> str:
    return f"{100 * ends[0]:.1f} – {100 * ends[1]:.1f}" if ends else ""


def _json(value: JsonValue) -> str:
    """A setting as people write it."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


FOLDER = Path(__file__).parent


def shade(value: float | None, against: float | None = None) -> str:
    """The class of a mean's colour, from reddest (0) to greenest (5); figures that read the same share it."""
    if value is None:
        return "none"
    shown = float(points(value, against=against))
    return str(min(5, max(0, int(shown // 10) - 4)))


def page() -> Template:
    """The template of a run's report, ready to render."""
    return template("report.html.j2")


def prepare() -> None:
    """Compiles the template and its parts, so that rendering need not."""
    environment = page().environment
    for name in environment.list_templates(filter_func=lambda name: name.startswith("report")):
        if name.endswith(".j2"):
            environment.get_template(name)


@lru_cache(maxsize=2)
def template(name: str) -> Template:
    """A template of this folder, ready to render."""
    env = Environment(
        loader=FileSystemLoader(FOLDER, encoding="utf-8"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_clean,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    env.filters |= {"points": points, "goal": goal, "shade": shade}
    return env.get_template(name)


@lru_cache(maxsize=2)
def part(name: str) -> str:
    """Style or script, as inlined."""
    return (FOLDER / name).read_text(encoding="utf-8").strip()


def policy(style: str, script: str) -> str:
    """A content security policy that allows exactly this style and this script, and no network."""
    hashes = [b64encode(sha256(text.encode()).digest()).decode() for text in (style, script)]
    return (
        f"default-src 'none'; style-src 'sha256-{hashes[0]}'; script-src 'sha256-{hashes[1]}';"
        " img-src data:; base-uri 'none'; form-action 'none'"
    )


def _clean(value: Any) -> Any:
    """What every expression of the page passes through: text loses its control codes."""
    return plain(value) if isinstance(value, str) and not isinstance(value, Markup) else value


__all__ = ["LONGEST", "PageParts", "render", "side_by_side", "why"]

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
    standings: JudgeTrusts = UNKNOWN,
    other: tuple[Results, Summary, Gate] | None = None,
    changes: Changes | None = None,
    mends: Improvements | None = None,
) -> str:
    """The whole page as one string of HTML; `other` is an earlier run that this one is held against.

    `changes` are the statistics of the two, and `mends` what to mend, where they are known already.
    """
    found = mends or improvements_of(results, summary, language)
    run, first, share = PageParts(results, summary, gate), _first(summary, found), 1.0
    for _ in range(ATTEMPTS):
        conversations = chosen(results, summary, first, share)
        page = _page(run, language, standings, other, changes, found, conversations)
        size = len(page.encode("utf-8"))
        if size <= LARGEST:
            break
        share *= 0.9 * LARGEST / size
    return page


def _first(summary: Summary, found: Improvements) -> list[str]:
    """The conversations that other parts of the page lead to."""
    shown = [red for each in red_questions(summary)[:SHOWN_QUESTIONS] for red in (*each.whole, *each.brief)]
    examples = [e for fix in found.fixes[: fixes.HTML_FIXES_SHOWN + fixes.FOLDED] for e in fix.examples]
    return [*(each.conversation for each in examples), *(red.conversation for red in shown)]


def _page(  # noqa: PLR0917 - as `render`
    run: PageParts,
    language: Language,
    standings: JudgeTrusts,
    other: tuple[Results, Summary, Gate] | None,
    changes: Changes | None,
    found: Improvements,
    shown: Collection[str],
) -> str:
    """The page with the conversations that are to be shown."""
    results, summary, gate = run
    words = words_of(summary, language)
    painter = TalkPainter(results, summary, words, shown)
    conversations = [painter.conversation(i, c) for i, c in picked(results, shown)]
    style, script = part("report.css"), part("report.js")
    return page().render(
        **_figures(results, summary, gate, words),
        **_red(red_questions(summary), conversations),
        **_judged(summary, standings, gate, painter, words),
        **_talks(conversations, painter, summary),
        part=_part(results, conversations, summary, words),
        fixes=fixes.cards(found, anchors_of(results, shown), words),
        compared=_compared(run, other, conversations, words, changes),
        style=Markup(style), script=Markup(script), policy=policy(style, script),  # noqa: S704 - ours
    )  # fmt: skip


def _part(results: Results, conversations: list[ConversationView], summary: Summary, words: Words) -> str:
    """What the page says when it does not show every conversation."""
    held = summary.graded + summary.missing + summary.unrecorded
    if not summary.rows:
        held = sum(bool(talk.turns or talk.ended) for talk in results.conversations)
    if len(conversations) == held:
        return ""
    red = sum(talk.red for talk in conversations)
    key = "part_red" if red < summary.red else "part_others"
    told = {"n": f"{len(conversations):,}", "all": f"{held:,}", "red": f"{red:,}", "of": f"{summary.red:,}"}
    return page_words(words)(key, **told)


def side_by_side(  # noqa: PLR0917 - two runs, the language, and what is known of them already
    before: PageParts,
    after: PageParts,
    language: Language,
    standings: JudgeTrusts = UNKNOWN,
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
        "mark_text": tables.mark_text,
        "expected_text": tables.expected_text,
        "run": results.run,
        "began": f"{local(results.run.created):%Y-%m-%d %H:%M %Z}",
        "summary": summary,
        "gate": gate,
        "best": summary.corrected or summary,
        "corrected": corrected_line(summary, gate.target, words),
        "verdict": verdict(gate, summary.score, words),
        "conditions": conditions_table(gate, words),
        "lowest": lowest(results, summary),
        "charts": [] if summary.rows else html_charts.charts(results, summary, words),
        "size": (html_charts.AXIS, html_charts.HEIGHT),
        "usage": tables.usage_table(summary, language),
        "load": load_block(results, summary, words),
        "played": None if summary.rows else customers.block(summary.simulator, words),
        "played_text": partial(customers.TEXT, language),
        "sections": sections(results, language),
        "answerable": features.grids(results, language),
        "answerable_text": partial(features.TEXT, language),
        "statistics": statistics(results, summary, words),
        "facts": facts(results, summary, words),
    }


def _red(questions: Sequence[RedQuestion], conversations: Sequence[ConversationView]) -> dict[str, Any]:
    """The red turns by question; `paper` are those that are printed with their conversation instead."""
    quoted = {(red.conversation, red.turn) for q in questions[:SHOWN_QUESTIONS] for red in q.whole}
    red = [
        (turn.red.conversation, turn.red.turn) for talk in conversations for turn in talk.turns if turn.red
    ]
    paper = set([key for key in red if key not in quoted][:ON_PAPER])
    return {
        "questions": questions[:SHOWN_QUESTIONS],
        "questions_open": OPEN_QUESTIONS,
        "questions_left": questions[SHOWN_QUESTIONS:],
        "paper": paper,
        "printed": {conversation for conversation, _ in paper},
    }


def _judged(
    summary: Summary, standings: JudgeTrusts, gate: Gate, painter: TalkPainter, words: Words
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


def _talks(conversations: list[ConversationView], painter: TalkPainter, summary: Summary) -> dict[str, Any]:
    """The conversations, where their turns are, and the passages that they name."""
    return {
        "talks": conversations,
        "anchors": {
            (talk.conversation.id, turn.index): view.anchor
            for talk in conversations
            for turn, view in zip(talk.conversation.turns, talk.turns, strict=True)
        },
        "elsewhere": "talks",
        "passages": html_conversations.kept(painter.shelf, conversations),
        "passages_open": html_conversations.SHOWN,
        "numbers": {each.persona: place for place, each in enumerate(summary.personas, 1)},
        "open_red": sum(talk.red > 0 for talk in conversations) <= OPEN_AT_MOST,
        "flawed": any(turn.flaws for talk in conversations for turn in talk.turns),
    }


def _compared(
    run: PageParts,
    other: tuple[Results, Summary, Gate] | None,
    conversations: list[ConversationView],
    words: Words,
    changes: Changes | None,
) -> Any:
    """The comparison with an earlier run, or nothing; what the page leaves out is sought in its list."""
    if other is None:
        return None
    anchors = dict.fromkeys((talk.id for talk in run.results.conversations), "talks")
    anchors |= {talk.conversation.id: talk.anchor for talk in conversations}
    return comparison(PageParts(*other), run, anchors, words, changes)
