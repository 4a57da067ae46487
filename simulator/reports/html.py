"""The report as one page that needs nothing else: no network, no script to be read, no server.

Everything that a bot, a model or a customer said is untrusted: it is escaped, its control codes are
stripped, and the page's policy runs no script and no style but the page's own.
"""

import json
from base64 import b64encode
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template
from markupsafe import Markup
from pydantic import JsonValue

from simulator.analysis.figures import RedTurn, Summary
from simulator.analysis.gate import Gate
from simulator.reports import table
from simulator.reports.notes import corrected_line, notes, points, verdict
from simulator.reports.standing import UNKNOWN, Standings, blocks, heading, with_notes
from simulator.reports.words import Words, plain, words_of
from simulator.types import Conversation, Language, Passage, Results, Score, Turn

FOLDER = Path(__file__).parent
SHOWN_RED = 20
SHOWN_FIXES = 3
# More than this of one text is for the run file, not for a page that people read.
LONGEST = 6000
# With more red conversations than this, all start folded.
OPEN_AT_MOST = 6

_JUDGED_BY = {"groundedness": "groundedness", "correctness": "", "claims": "claims", "facts": "facts"}


@dataclass(frozen=True, slots=True)
class _Grade:
    """One grade as the page shows it."""

    title: str
    chip: str
    shown: str
    reason: str
    detail: str
    red: bool
    by_rule: bool


@dataclass(frozen=True, slots=True)
class _Turn:
    """One turn, ready to be painted."""

    anchor: str
    user: str
    answer: str
    silent: bool
    seconds: str
    rewritten: str
    red: RedTurn | None
    mark: str
    why: str
    grades: list[_Grade]
    skipped: str
    incorrect: str
    steps: list[str]
    passages: list[tuple[str, str, str]]


@dataclass(frozen=True, slots=True)
class _Talk:
    """One conversation, ready to be painted."""

    anchor: str
    conversation: Conversation
    persona: str
    ending: str
    score: float | None
    red: int
    greeting: str
    turns: list[_Turn]


def render(
    results: Results, summary: Summary, gate: Gate, language: Language, standings: Standings = UNKNOWN
) -> str:
    """The whole page as one string of HTML."""
    words = words_of(summary, language)
    shelf: dict[tuple[str, str], str] = {}
    painter = _Painter(results, summary, words, shelf)
    talks = [painter.talk(i, c) for i, c in enumerate(results.conversations, 1) if c.turns or c.ended]
    anchors = {
        (t.conversation.id, turn.index): view.anchor
        for t in talks
        for turn, view in zip(t.conversation.turns, t.turns, strict=True)
    }
    style, script = _part("report.css"), _part("report.js")
    return _page().render(
        words=words, mark_text=table.mark_text, language=language, run=results.run, summary=summary,
        best=summary.corrected or summary, corrected=corrected_line(summary, gate.target, words),
        gate=gate, verdict=verdict(gate, summary.score, words),
        notes=with_notes(notes(summary, gate, words), standings),
        standing=blocks(standings, words), trust=heading(language),
        talks=talks, anchors=anchors, passages=shelf, personas=table.personas_table(summary, language),
        usage=table.usage_table(summary, language), facts=_facts(results, summary, words),
        open_red=sum(t.red > 0 for t in talks) <= OPEN_AT_MOST,
        fixes=[case for case in summary.cases if case.red], fixes_shown=SHOWN_FIXES, red_shown=SHOWN_RED,
        style=Markup(style), script=Markup(script), policy=_policy(style, script),  # noqa: S704 - our own files
    )  # fmt: skip


class _Painter:
    """Turns conversations into views; passages are collected on one shelf, each text once."""

    def __init__(
        self, results: Results, summary: Summary, words: Words, shelf: dict[tuple[str, str], str]
    ) -> None:
        self._summary, self._words, self._shelf = summary, words, shelf
        self._greeting = results.run.settings.get("greeting")
        self._red = {(red.conversation, red.turn): red for red in summary.reddest}
        self._scores: dict[tuple[str, int], dict[str, Score]] = {}
        for score in results.scores:
            self._scores.setdefault((score.conversation, score.turn), {})[score.judge] = score

    def talk(self, number: int, c: Conversation) -> _Talk:
        """The view of a conversation; `number` makes its anchor, as ids are not ours to trust."""
        anchor = f"c{number}"
        return _Talk(
            anchor=anchor,
            conversation=c,
            persona=self._words.name("persona", c.persona),
            ending=table.ending(c, self._words),
            score=self._summary.conversation_scores.get(c.id),
            red=sum((c.id, turn.index) in self._red for turn in c.turns),
            greeting=_in_language(self._greeting, c.case.language),
            turns=[self._turn(anchor, c, turn) for turn in c.turns],
        )

    def _turn(self, talk: str, c: Conversation, turn: Turn) -> _Turn:
        """The view of a turn."""
        words, key = self._words, (c.id, turn.index)
        scores, red = self._scores.get(key, {}), self._red.get(key)
        graded = [scores[name] for name in self._summary.judges if name in scores]
        failure = red.failure if red else None
        return _Turn(
            anchor=f"{talk}t{turn.index}",
            user=_cut(turn.user, words),
            answer=_cut(table.answer_text(turn, failure, words), words),
            silent=failure is not None,
            seconds="" if turn.answer.seconds is None else f"{turn.answer.seconds:.1f}",
            rewritten=words("comma").join(words.name("rule", rule) for rule in turn.broken_rules),
            red=red,
            mark=table.mark_text(red, words) if red else "",
            why=why(red, turn, words) if red else "",
            grades=[self._grade(score, red) for score in graded],
            skipped=words("comma").join(words.name("judge", s.judge) for s in graded if s.state == "skipped"),
            incorrect=_incorrect(scores.get("turn"), red),
            steps=_steps(scores.get("turn"), words),
            passages=[self._passage(passage) for passage in turn.answer.passages],
        )

    def _grade(self, score: Score, red: RedTurn | None) -> _Grade:
        """The view of a grade; red when one of the turn's marks rests on it. Skipped ones show nothing."""
        deciding = {_JUDGED_BY.get(mark.kind, self._summary.primary) for mark in red.marks} if red else set()
        shown = table.grade_text(score, self._words)
        return _Grade(
            title=self._words.name("judge", score.judge),
            chip=shown.partition(" / ")[0] if score.state == "scored" else "–",
            shown="" if score.state == "skipped" else shown,
            reason=_cut(score.reason, self._words),
            detail=_detail(score, self._words),
            red=score.judge in deciding and score.state == "scored",
            by_rule=score.by_rule,
        )

    def _passage(self, passage: Passage) -> tuple[str, str, str]:
        """Label, retrieval score and anchor of a passage; its text goes on the shelf once."""
        anchor = self._shelf.setdefault(
            (passage.source or passage.id, passage.text), f"p{len(self._shelf) + 1}"
        )
        return passage.source or passage.id, "" if passage.score is None else f"{passage.score:.2f}", anchor


def why(red: RedTurn, turn: Turn, words: Words) -> str:
    """The judge's reason for the gravest mark; for a turn without an answer, what went wrong."""
    if red.failure is None:
        return plain(red.reason)
    kind = words.name("failure", red.failure)
    return f"{kind}: {plain(turn.answer.error.message)}" if turn.answer.error else kind


def _detail(score: Score, words: Words) -> str:
    """The figures behind a grade: the turn judge's categories, a cosine before it was binned."""
    figures = {
        name: value
        for name, value in score.detail.items()
        if isinstance(value, int | float) and not isinstance(value, bool) and name != "overall"
    }
    return " · ".join(f"{words.name('category', name)} {value:.4g}" for name, value in figures.items())


def _incorrect(score: Score | None, red: RedTurn | None) -> str:
    """The grade for Correctness, where it made the turn red."""
    marked = red is not None and any(mark.kind == "correctness" for mark in red.marks)
    return f"{score.detail['correctness']}" if score and marked else ""


def _steps(score: Score | None, words: Words) -> list[str]:
    """The turn judge's reasoning, step by step."""
    steps = score.detail.get("steps") if score else None
    return [_cut(str(step), words) for step in steps] if isinstance(steps, list) else []


def _facts(results: Results, summary: Summary, words: Words) -> list[tuple[str, list[tuple[str, str]]]]:
    """The technical details: titled lists of name and value."""
    run = results.run
    about = [
        (words("run"), run.id),
        (words("started"), run.created.isoformat(" ", "seconds")),
        (words("duration"), words("seconds_n", n=f"{run.seconds:,.1f}")),
        (words("status_line"), words.name("status", run.status)),
        (words("red_rules"), table.rules_text(summary.rules, words)),
    ]
    return [
        (words("run"), about),
        (words("models"), [(words.name("role", role), model) for role, model in run.models.items()]),
        (words("settings"), [(key, _json(value)) for key, value in run.settings.items()]),
        (words("prompts"), list(run.prompts.items())),
        (words("versions"), list(run.versions.items())),
    ]


def _json(value: JsonValue) -> str:
    """A setting as people write it."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _in_language(greeting: JsonValue, language: Language) -> str:
    """The desk's first line: one for all, or one per language; empty when none is set."""
    said = greeting.get(language) if isinstance(greeting, dict) else greeting
    return said if isinstance(said, str) else ""


def _cut(text: str, words: Words) -> str:
    """A text that fits on a page, without control codes."""
    text = plain(text)
    return text if len(text) <= LONGEST else text[:LONGEST] + words("cut", n=f"{len(text) - LONGEST:,}")


def _shade(value: float | None) -> str:
    """The class of a mean's colour, from reddest (0) to greenest (5)."""
    return "none" if value is None else str(min(5, max(0, int(value * 10 + 1e-9) - 4)))


def _clean(value: Any) -> Any:
    """What every expression of the page passes through: text loses its control codes."""
    return plain(value) if isinstance(value, str) and not isinstance(value, Markup) else value


@lru_cache(maxsize=1)
def _page() -> Template:
    """The template, ready to render."""
    env = Environment(
        loader=FileSystemLoader(FOLDER, encoding="utf-8"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_clean,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    env.filters |= {"points": points, "shade": _shade}
    return env.get_template("report.html.j2")


@lru_cache(maxsize=2)
def _part(name: str) -> str:
    """Style or script, as inlined."""
    return (FOLDER / name).read_text(encoding="utf-8").strip()


def _policy(style: str, script: str) -> str:
    """A content security policy that allows exactly this style and this script, and no network."""
    hashes = [b64encode(sha256(part.encode()).digest()).decode() for part in (style, script)]
    return (
        f"default-src 'none'; style-src 'sha256-{hashes[0]}'; script-src 'sha256-{hashes[1]}';"
        " img-src data:; base-uri 'none'; form-action 'none'"
    )
