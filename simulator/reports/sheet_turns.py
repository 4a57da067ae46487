"""The worksheets that hold turns: conversations in full, turns to review, turns to grade blind."""

import json
from collections.abc import Iterable, Iterator, Sequence

from simulator.core.document import JST
from simulator.core.translations import plain
from simulator.core.types import Conversation, Score, Turn
from simulator.reports.fix_words import cause_text
from simulator.reports.table import answer_text, expected_text, grade_text, mark_text
from simulator.reports.told import Told
from simulator.sheets.model import Column, LazyRows, Mark, Row, SheetCell, Worksheet, text_cell
from simulator.stats.red import RANK, worst
from simulator.stats.review import blind_sample
from simulator.stats.summary import QUOTED, turn_failure
from simulator.storage.results import StoredConversations, picked

# Earlier turns and passages that a row shows at most, in characters.
LONGEST = 4000
NOT_RED = 9
# In larger runs the reason stands in its own column only: notes are the larger part of what a workbook takes.
NOTED_TURNS = 5_000


def conversations_sheet(told: Told) -> Worksheet:
    """One row per conversation: config, then what was said and graded, turn by turn."""
    words, talks = told.words, _begun(told)
    longest = (
        1 if isinstance(talks, StoredConversations) else max((len(talk.turns) for talk in talks), default=0)
    )
    spoken = [
        Column(key=f"{kind}{n}", title=words("column", kind, n=n), width=34, wrap=True)
        for n in range(1, longest + 1)
        for kind in ("user", "assistant", "check")
    ]
    columns = (
        words.column("key", width=8),
        words.column("config", kind="json", width=24, wrap=True),
        *(() if not told.summary.rows else (words.column("reference", width=34, wrap=True),)),
        *spoken,
    )
    return Worksheet(
        name="conversations",
        title=words("sheet", "conversations"),
        columns=columns,
        rows=LazyRows(talks, lambda talk: _conversation(talk, told)),
        frozen_columns=2,
        help=words("help", "conversations"),
    )


def _begun(told: Told) -> Sequence[Conversation]:
    """The conversations with a turn; those of a large data set are read one by one."""
    talks = told.results.conversations
    return talks.begun() if isinstance(talks, StoredConversations) else [talk for talk in talks if talk.turns]


def _conversation(talk: Conversation, told: Told) -> Row:
    cells = {"config": SheetCell(text=config(talk, told))}
    if told.summary.rows:
        cells["reference"] = text_cell(expected_text(talk.case))
    for turn in talk.turns:
        red = told.red.get((talk.id, turn.index))
        verdict = told.scores.get((talk.id, turn.index), {}).get(told.summary.primary)
        mark, answer = _answer(talk, turn, told)
        note = plain((red.reason if red else "") or (verdict.reason if verdict else ""))
        cells[f"user{turn.index}"] = text_cell(turn.user)
        cells[f"assistant{turn.index}"] = SheetCell(text=answer, mark=mark, note=note)
        cells[f"check{turn.index}"] = _check(verdict, told)
    return Row(key=told.key(talk.id), cells=cells)


def config(talk: Conversation, told: Told) -> str:
    """What the conversation was held with, as the JSON of the first column; the time is that of Japan."""
    told_at = told.results.run.created.astimezone(JST)
    about = {
        "date": f"{told_at:%Y/%m/%d %H:%M:%S}",
        "persona": talk.persona,
        "case": talk.case.id,
        "run": told.results.run.id,
        "ended": talk.ended.value if talk.ended else None,
    }
    if told.summary.rows:
        about = {key: about[key] for key in ("date", "case", "run")}
    return plain(json.dumps(about, ensure_ascii=False))


def _answer(talk: Conversation, turn: Turn, told: Told) -> tuple[Mark, str]:
    """How the answer's cell is marked, and its text; a red one says so before its first word."""
    red = told.red.get((talk.id, turn.index))
    text = answer_text(turn, turn_failure(turn), told.names)
    return ("red", f"{mark_text(red, told.names)}\n{text}") if red else ("", text)


def _check(verdict: Score | None, told: Told) -> SheetCell:
    """The deciding judge's grade, conclusion and steps; or, on request, its form as it was filled in."""
    if verdict is None:
        return SheetCell(text=told.names("failed"), mark="failed")
    if told.check == "json":
        return text_cell(json.dumps(verdict.detail, ensure_ascii=False))
    graded = f"{told.names.name('judge', verdict.judge)} {grade_text(verdict, told.names).replace(' ', '')}"
    steps = verdict.detail.get("steps")
    listed = [f"{n}. {step}" for n, step in enumerate(steps if isinstance(steps, list) else [], start=1)]
    mark: Mark = "failed" if verdict.state == "failed" else ""
    return text_cell("\n".join([graded, verdict.reason, *listed]), mark)


def review_sheet(told: Told) -> Worksheet:
    """One row per turn, reddest first, with the columns in which the team answers.

    Of a large data set only the gravest red rows are there.
    """
    words = told.words
    columns = (
        words.column("key", width=8),
        words.column("severity", width=10),
        *(() if told.summary.rows else (words.column("persona", width=14),)),
        words.column("question", width=34, wrap=True),
        words.column("answer", width=44, wrap=True),
        words.column("reason", width=40, wrap=True),
        words.team("judge_is", "judge_is", width=16, help=words("column_help", "judge_is")),
        words.column("likely_cause", width=18),
        words.team("cause", "cause", width=14),
        words.team("correct_answer", width=34, wrap=True, help=words("column_help", "correct_answer")),
        words.team("comment", width=28, wrap=True),
        words.team("assignee", width=12),
        words.team("checked", kind="date", width=12),
        words.team("status", "status", width=14),
        words.column("scores", width=26, wrap=True),
        words.column("passages", width=44, wrap=True),
        words.column("earlier", width=34, wrap=True),
        words.column("run", width=16),
    )
    turns = sorted(_turns(told), key=lambda each: _gravity(each[0], each[1], told))
    return Worksheet(
        name="review",
        title=words("sheet", "review"),
        columns=columns,
        rows=LazyRows(turns, lambda each: _review(each[0], each[1], told)),
        frozen_columns=2,
        help=words("help", "review"),
    )


def _turns(told: Told) -> Iterator[tuple[Conversation, Turn]]:
    talks: Iterable[Conversation] = told.results.conversations
    if isinstance(talks, StoredConversations):  # nobody looks through more of them than these
        talks = talks.some([red.conversation for red in told.summary.reddest[:QUOTED]])
    for talk in talks:
        for turn in talk.turns:
            yield talk, turn


def _gravity(talk: Conversation, turn: Turn, told: Told) -> tuple[int, float, str, int]:
    """Red before the others, gravest first, then the lowest grade; ungraded turns before good ones."""
    red = told.red.get((talk.id, turn.index))
    verdict = told.scores.get((talk.id, turn.index), {}).get(told.summary.primary)
    value = verdict.value if verdict and verdict.value is not None else -1.0
    return RANK[worst(red.marks)] if red else NOT_RED, value, talk.id, turn.index


def _review(talk: Conversation, turn: Turn, told: Told) -> Row:
    red = told.red.get((talk.id, turn.index))
    verdict = told.scores.get((talk.id, turn.index), {}).get(told.summary.primary)
    mark, answer = _answer(talk, turn, told)
    reason = (red.reason if red else "") or (verdict.reason if verdict else "")
    note = plain(reason) if told.summary.turns <= NOTED_TURNS else ""
    cells = {
        "severity": SheetCell(text=told.words("severity", worst(red.marks)) if red else ""),
        **({} if told.summary.rows else {"persona": text_cell(told.names.name("persona", talk.persona))}),
        "question": text_cell(turn.user),
        "answer": SheetCell(text=answer, mark=mark, note=note),
        "reason": text_cell(reason),
        "likely_cause": _likely_cause(talk, turn, told),
        "scores": text_cell(scores_text(talk, turn, told)),
        "passages": text_cell(passages_text(turn)),
        "earlier": text_cell(earlier_text(talk, turn, told)),
        "run": SheetCell(text=told.results.run.id),
    }
    return Row(key=told.key(talk.id, turn.index), cells=cells)


def _likely_cause(talk: Conversation, turn: Turn, told: Told) -> SheetCell:
    """The cause that was found, as a suggestion beside the team's own; its note says why."""
    blame = told.causes.get((talk.id, turn.index))
    if blame is None:
        return SheetCell()
    return text_cell(cause_text(blame.cause, blame.sure, told.language), note=blame.evidence)


def scores_text(talk: Conversation, turn: Turn, told: Told) -> str:
    """Every judge's grade, one after the other."""
    graded = told.scores.get((talk.id, turn.index), {})
    listed = [name for name in told.summary.judges if name in graded]
    grades = [(told.names.name("judge", name), grade_text(graded[name], told.names)) for name in listed]
    return told.names("comma").join(f"{name} {grade.replace(' / ', '/')}" for name, grade in grades)


def passages_text(turn: Turn) -> str:
    """What the bot had retrieved, whole passages first come first served."""
    return "\n\n".join(f"[{passage.id}] {passage.text}" for passage in turn.answer.passages)[:LONGEST]


def earlier_text(talk: Conversation, turn: Turn, told: Told) -> str:
    """The turns before this one; the newest are kept where there are too many."""
    customer, desk = told.words("text", "customer"), told.words("text", "desk")
    lines = [
        line
        for before in talk.turns
        if before.index < turn.index
        for line in (f"{customer}: {before.user}", f"{desk}: {before.answer.text}")
    ]
    return "\n".join(lines)[-LONGEST:]


def blind_sheet(told: Told) -> Worksheet:
    """A sample to be graded without sight of any score, in an order that says nothing."""
    words = told.words
    scale = words("column_help", "grade")
    columns = (
        words.column("key", width=8),
        words.column("earlier", width=34, wrap=True),
        words.column("question", width=34, wrap=True),
        words.column("passages", width=44, wrap=True),
        words.column("answer", width=44, wrap=True),
        words.team("grade_1", "grade", width=14, help=scale),
        words.team("comment_1", width=28, wrap=True),
        words.team("grade_2", "grade", width=14, help=scale),
        words.team("comment_2", width=28, wrap=True),
    )
    sample = blind_sample(told.results, told.summary)
    drawn_from = picked(told.results, {drawn.conversation for drawn in sample})
    turns = {(talk.id, turn.index): (talk, turn) for _, talk in drawn_from for turn in talk.turns}
    return Worksheet(
        name="blind",
        title=words("sheet", "blind"),
        columns=columns,
        rows=tuple(_blind(*turns[drawn.conversation, drawn.turn], told) for drawn in sample),
        help=words("help", "blind"),
    )


def _blind(talk: Conversation, turn: Turn, told: Told) -> Row:
    cells = {
        "earlier": text_cell(earlier_text(talk, turn, told)),
        "question": text_cell(turn.user),
        "passages": text_cell(passages_text(turn)),
        "answer": text_cell(answer_text(turn, turn_failure(turn), told.names)),
    }
    return Row(key=told.key(talk.id, turn.index), cells=cells)
