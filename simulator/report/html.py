"""The report as one page that needs nothing else: no network and no server.

Everything that a bot, a model or a customer wrote is untrusted: it is escaped, its control codes are removed,
and the page's policy allows no script and no style but the page's own.
"""

import json
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from markupsafe import Markup
from pydantic import JsonValue

from simulator.core.document import Section, local_time
from simulator.core.translations import Words, target_points, words_of
from simulator.core.types import Conversation, Language, Results, Score, TurnScores
from simulator.diagnosis.recommendations import Improvements, improvements_of
from simulator.report import answerable, customers, fixes, html_charts, html_conversations, tables
from simulator.report.context import corrected_line, lowest_score, notes, verdict
from simulator.report.extras import load_block
from simulator.report.gate import conditions_table
from simulator.report.html_comparison import PageParts, comparison_sections
from simulator.report.html_conversations import (
    PAGE,
    ConversationPainter,
    ConversationView,
    RedQuestion,
    anchors_of,
    page_words,
    red_questions,
)
from simulator.report.judges import UNKNOWN, JudgeTrusts, blocks, heading, with_notes
from simulator.report.painters.html import part, policy, template
from simulator.report.sections import sections
from simulator.stats.comparison import RunComparison
from simulator.stats.figures import JudgeSummary, Summary
from simulator.stats.gate import Gate
from simulator.storage.results import conversations_with_scores, select_conversations

# A page stays below this, in bytes; a larger one is rendered again, with fewer conversations.
LARGEST = 8_000_000
ATTEMPTS = 4
# Room for the conversations of the first attempt, and the estimated markup around each part of one.
_CONVERSATIONS_SIZE = 6_800_000
_CONVERSATION_MARKUP, _TURN_MARKUP, _GRADE_MARKUP = 900, 500, 130

SHOWN_QUESTIONS = 20
# The questions after these start folded, and with more red conversations than this, all conversations do.
OPEN_QUESTIONS = 3
OPEN_AT_MOST = 6
# Notes that are no alarms are folded when there are more.
OPEN_NOTES = 2
# Red turns that are printed beside those that stand under their question: paper is limited.
ON_PAPER = 60


def render(  # noqa: PLR0917 - a run's three parts, the language, and two things that may stand beside it
    results: Results,
    summary: Summary,
    gate: Gate,
    language: Language,
    trusts: JudgeTrusts = UNKNOWN,
    other: tuple[Results, Summary, Gate] | None = None,
    changes: RunComparison | None = None,
    improvements: Improvements | None = None,
) -> str:
    """The whole page as one string of HTML; `other` is an earlier run that this one is compared with.

    `changes` are the statistics of the two, and `improvements` what to fix; both are worked out where they
    are not passed.
    """
    improvements = improvements or improvements_of(results, summary, language)
    run, first, share = PageParts(results, summary, gate), _linked(summary, improvements), 1.0
    for _ in range(ATTEMPTS):
        shown = shown_conversations(results, summary, first, share)
        page = _page(run, language, trusts, other, changes, improvements, shown)
        size = len(page.encode("utf-8"))
        if size <= LARGEST:
            break
        share *= 0.9 * LARGEST / size
    return page


def side_by_side(  # noqa: PLR0917 - two runs, the language, and what is known of them already
    before: PageParts,
    after: PageParts,
    language: Language,
    trusts: JudgeTrusts = UNKNOWN,
    changes: RunComparison | None = None,
    improvements: Improvements | None = None,
) -> str:
    """The page of the run `after`, with the section that compares it to `before`."""
    return render(*after, language, trusts, before, changes, improvements)


def _linked(summary: Summary, improvements: Improvements) -> list[str]:
    """The conversations that other parts of the page lead to."""
    questions = red_questions(summary)[:SHOWN_QUESTIONS]
    red = [turn for question in questions for turn in (*question.whole, *question.brief)]
    shown_fixes = improvements.fixes[: fixes.CARDS_SHOWN + fixes.CARDS_FOLDED]
    examples = [example for fix in shown_fixes for example in fix.examples]
    return [*(example.conversation for example in examples), *(turn.conversation for turn in red)]


def _page(  # noqa: PLR0917 - as `render`
    run: PageParts,
    language: Language,
    trusts: JudgeTrusts,
    other: tuple[Results, Summary, Gate] | None,
    changes: RunComparison | None,
    improvements: Improvements,
    shown: Collection[str],
) -> str:
    """The page with the conversations that are to be shown."""
    results, summary, gate = run
    words = words_of(summary, language)
    painter = ConversationPainter(results, summary, words, shown)
    conversations = [painter.conversation(i, c) for i, c in select_conversations(results, shown)]
    style, script = part("report.css"), part("report.js")
    return template("report.html.j2").render(
        **_figures(results, summary, gate, words),
        **_red(red_questions(summary), conversations),
        **_judged(summary, trusts, gate, painter, words),
        **_conversations(conversations, painter, summary),
        part=_part_note(results, conversations, summary, words),
        fixes=fixes.cards(improvements, anchors_of(results, shown), words),
        compared=_compared(run, other, conversations, words, changes),
        style=Markup(style), script=Markup(script), policy=policy(style, script),  # noqa: S704 - ours
    )  # fmt: skip


def _part_note(
    results: Results, conversations: list[ConversationView], summary: Summary, words: Words
) -> str:
    """That the page shows only some of the conversations; empty where it shows all."""
    total = summary.graded + summary.missing + summary.unrecorded
    if not summary.rows:
        total = sum(bool(conversation.turns or conversation.ended) for conversation in results.conversations)
    if len(conversations) == total:
        return ""
    red = sum(view.red for view in conversations)
    counts = {"n": len(conversations), "all": total, "red": red, "of": summary.red}
    key = "part_red" if red < summary.red else "part_others"
    return page_words(words)(key, **{name: f"{n:,}" for name, n in counts.items()})


def _figures(results: Results, summary: Summary, gate: Gate, words: Words) -> dict[str, Any]:
    """The variables of the template that are about the whole run."""
    language = words.language
    return {
        "words": words,
        "say": page_words(words),
        "language": language,
        "mark_text": tables.mark_text,
        "expected_text": tables.expected_text,
        "run": results.run,
        "began": f"{local_time(results.run.created):%Y-%m-%d %H:%M %Z}",
        "summary": summary,
        "gate": gate,
        "best": summary.corrected or summary,
        "corrected": corrected_line(summary, gate.target, words),
        "verdict": verdict(gate, summary.score, words),
        "conditions": conditions_table(gate, words),
        "lowest": lowest_score(results, summary),
        "charts": [] if summary.rows else html_charts.charts(results, summary, words),
        "size": (html_charts.AXIS, html_charts.HEIGHT),
        "usage": tables.usage_table(summary, language),
        "load": load_block(results, summary, words),
        "played": None if summary.rows else customers.block(summary.simulator, words),
        "played_text": partial(customers.TEXTS, language),
        "sections": sections(results, language),
        "answerable": answerable.grids(results, language),
        "answerable_text": partial(answerable.TEXTS, language),
        "statistics": statistics(results, summary, words),
        "facts": facts(results, summary, words),
    }


def _red(questions: Sequence[RedQuestion], conversations: Sequence[ConversationView]) -> dict[str, Any]:
    """The red turns by question; `paper` are those that are printed with their conversation instead."""
    quoted = {(red.conversation, red.turn) for q in questions[:SHOWN_QUESTIONS] for red in q.whole}
    red = [
        (turn.red.conversation, turn.red.turn) for view in conversations for turn in view.turns if turn.red
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
    summary: Summary, trusts: JudgeTrusts, gate: Gate, painter: ConversationPainter, words: Words
) -> dict[str, Any]:
    """The judges' means, notes on them, and how far they are to be trusted."""
    limit = summary.rules.overall
    thresholds = sorted({0.4, 0.6, 0.8, 1.0, *([limit] if limit else [])})
    return {
        "heat": html_charts.heat_map(summary, trusts, painter.judges, words),
        "judges": [words.name("judge", name) for name in painter.judges],
        "grades": [target_points(threshold) for threshold in thresholds],
        "notes": with_notes(notes(summary, gate, words), trusts),
        "notes_open": OPEN_NOTES,
        "trust_blocks": blocks(trusts, words),
        "trust_title": heading(words.language),
    }


def _conversations(
    conversations: list[ConversationView], painter: ConversationPainter, summary: Summary
) -> dict[str, Any]:
    """The conversations, where their turns are, and the passages that they name."""
    return {
        "conversations": conversations,
        "anchors": {
            (view.conversation.id, turn.index): turn_view.anchor
            for view in conversations
            for turn, turn_view in zip(view.conversation.turns, view.turns, strict=True)
        },
        "elsewhere": "talks",
        "passages": html_conversations.passage_entries(painter.passages, conversations),
        "passages_open": html_conversations.PASSAGES_OPEN,
        "numbers": {each.persona: place for place, each in enumerate(summary.personas, 1)},
        "open_red": sum(view.red > 0 for view in conversations) <= OPEN_AT_MOST,
        "flawed": any(turn.flaws for view in conversations for turn in view.turns),
    }


def _compared(
    run: PageParts,
    other: tuple[Results, Summary, Gate] | None,
    conversations: list[ConversationView],
    words: Words,
    changes: RunComparison | None,
) -> list[Section] | None:
    """The comparison with an earlier run, or None; conversations that are not shown link to the list."""
    if other is None:
        return None
    anchors = dict.fromkeys(run.results.conversations.ids, "talks")
    anchors |= {view.conversation.id: view.anchor for view in conversations}
    return comparison_sections(PageParts(*other), run, anchors, words, changes)


def shown_conversations(
    results: Results, summary: Summary, first: Iterable[str], share: float = 1.0
) -> Collection[str]:
    """The ids of the conversations to show: everything if it fits, else red ones and a sample of the others.

    Those in `first` come before the red ones, these gravest first; the sample is spread evenly over the plan.
    `share` (0..1) shrinks the room for them, where an estimate was too low.
    """
    room = _CONVERSATIONS_SIZE * share
    if results.is_sampled:
        return _shown_of_many(results, summary, first, room)
    sizes = _sizes(results)
    if sum(sizes.values()) <= room:
        return sizes.keys()
    red = dict.fromkeys((*first, *(each.conversation for each in summary.reddest)))
    others = [key for key in sizes if key not in red]
    shown = set()
    for key in (*red, *_spread(others)):
        room -= sizes.get(key, 0)
        if room < 0:
            break
        shown.add(key)
    return shown


def _shown_of_many(results: Results, summary: Summary, first: Iterable[str], room: float) -> Collection[str]:
    """The same for a large data set, reading no more conversations than the page can hold."""
    red = dict.fromkeys((*first, *(each.conversation for each in summary.reddest)))
    keys = [*red, *_spread([key for key in results.conversations.ids if key not in red])]
    shown, passages = set(), set[tuple[str, str]]()
    for conversation, by_turn in conversations_with_scores(results, keys):
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


def _sizes(results: Results) -> dict[str, int]:
    """The estimated bytes of each conversation on a page; a passage counts once, where it is first shown."""
    passages: set[tuple[str, str]] = set()
    return {
        conversation.id: _size(conversation, by_turn, passages)
        for conversation, by_turn in conversations_with_scores(results)
        if conversation.turns or conversation.ended
    }


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


@dataclass(frozen=True, slots=True)
class Statistics:
    """A table of judges, and single figures by name."""

    columns: list[str]
    rows: list[list[str]]
    figures: list[tuple[str, str]]


def statistics(results: Results, summary: Summary, words: Words) -> Statistics:
    """Means with their errors and coverage, rubrics, intervals, and the tokens of a graded turn."""
    language = words.language
    keys = ("judge", "mean", "stderr", "raw_mean", "graded", "skipped", "failed", "rubric")
    rows = [[words.name("judge", name), *_judge_figures(judge)] for name, judge in summary.judges.items()]
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
    """The judges' input tokens per graded turn; empty when no model graded."""
    spent = results.spending.get("judge")
    if spent is None or not spent.tokens_in:
        return ""
    graded = results.scores.graded_turns
    if not graded:
        return ""
    each, tokens = f"{spent.tokens_in / graded:,.0f}", f"{spent.tokens_in:,}"
    return page_words(words)("tokens_of", each=each, tokens=tokens, turns=f"{graded:,}")


def facts(results: Results, summary: Summary, words: Words) -> list[tuple[str, list[tuple[str, str]]]]:
    """The technical details: titled lists of name and value."""
    run = results.run
    about = [
        (words("run"), run.id),
        (words("started"), local_time(run.created).isoformat(" ", "seconds")),
        (words("duration"), words("seconds_n", n=f"{run.seconds:,.1f}")),
        (words("status_line"), words.name("status", run.status)),
        (words("red_rules"), tables.rules_text(summary.rules, words)),
    ]
    return [
        (words("run"), about),
        (words("models"), [(words.name("role", role), model) for role, model in run.models.items()]),
        (words("settings"), [(key, _setting_text(value)) for key, value in run.settings.items()]),
        (words("prompts"), list(run.prompts.items())),
        (words("versions"), list(run.versions.items())),
    ]


def _judge_figures(judge: JudgeSummary) -> list[str]:
    means = ["–" if each is None else f"{each:.3f}" for each in (judge.mean, judge.stderr)]
    raw = "–" if judge.raw_mean is None else f"{judge.raw_mean:.2f}"
    counts = [f"{judge.n:,} / {judge.planned:,}", f"{judge.skipped:,}", f"{judge.failed:,}"]
    return [*means, raw, *counts, ", ".join(judge.rubrics) or "–"]


def _interval(ends: tuple[float, float] | None) -> str:
    return f"{100 * ends[0]:.1f} – {100 * ends[1]:.1f}" if ends else ""


def _setting_text(value: JsonValue) -> str:
    """A string as it is, everything else as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def prepare() -> None:
    """Compiles the template of the report and its parts, so that rendering need not."""
    environment = template("report.html.j2").environment
    for name in environment.list_templates(filter_func=lambda name: name.startswith("report")):
        if name.endswith(".j2"):
            environment.get_template(name)
