"""Answers to be graded without sight of any score: the sample of the worksheet Blind, one at a time.

The page shows what a row of that worksheet shows, and what its reader graded before. What the judge or
anybody else said of an answer is not on it, and is not sent to it.
"""

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Annotated, Any

from pydantic import Field, StringConstraints

from simulator.core.document import Line, Report, Section
from simulator.core.errors import InputError
from simulator.core.messages import Message, _, pgettext
from simulator.core.types import HumanVerdict, Passage, Value
from simulator.report.worksheets import blind_sheet
from simulator.results.review import blind_sample
from simulator.results.rows import Key
from simulator.sheets.model import COLUMNS, GRADES, TABS, WORKSHEETS
from simulator.storage.results import select_turns
from simulator.storage.words import read_news, save_blind_grade
from simulator.web.review import LABELS, LONGEST, RunReview, Typed, plain_text

# What a reader sees of an answer, from the top down.
_SHOWN = ("earlier", "question", "passages", "answer")
_HEADING_MARK = re.compile(r"^#{1,6}[ \t]+", re.MULTILINE)
_AS_IN_REVIEW = (
    "name", "name_first", "next", "previous", "undo", "undone", "nothing_to_undo", "saving", "unsaved",
    "gone",
)  # fmt: skip
_LABELS: Mapping[str, Message | str] = {
    **{name: COLUMNS[name].title for name in (*_SHOWN, "comment")},
    **{name: LABELS[name] for name in _AS_IN_REVIEW},
    "title": TABS["blind"],
    **{str(grade): meaning for grade, meaning in GRADES.items()},
    "report": _("← Report"),
    "here": _("{n} of {of}", n="{n}", of="{of}"),
    "graded": _("{n} of {of} graded", n="{n}", of="{of}"),
    "saved": _("Saved."),
    "no_sample": _("There are no answers to grade."),
    "same_name": _("{name} has graded this answer somewhere else. Two people need two names.", name="{name}"),
    "grade": pgettext("on the page", "Grade"),
}


class SeenGrade(Value):
    """What a page saw of a reviewer's grade before it was changed."""

    grade: int | None = None
    comment: Typed = ""


class WrittenGrade(Value):
    """A blind grade (1..5; None takes it back) of the answer with this key, and a comment."""

    key: str
    by: Annotated[str, StringConstraints(min_length=1, max_length=80, strip_whitespace=True)]
    grade: Annotated[int, Field(ge=1, le=5)] | None
    comment: Typed = ""
    was: SeenGrade = SeenGrade()


def blind_report(review: RunReview) -> Report:
    """The page before its answers are asked for."""
    reading = review.reading
    return Report(
        title=TABS["blind"],
        language=reading.language,
        about=reading.run,
        sections=(Section("blind", "", (Line(WORKSHEETS["blind"].help),)),),
    )


def blind_state(review: RunReview, by: str) -> dict[str, Any]:
    """The answers of the sample in its order, and what `by` graded of them before."""
    reading = review.reading
    context = reading.outputs.context
    places = {place: key for key, (place, _chance) in _sample(review).items()}
    turns = {places[talk.id, turn.index]: turn for talk, turn in select_turns(context.results, places)}
    graded = {
        places[word.conversation, word.turn]: {"grade": word.grade, "comment": word.comment}
        for word in read_news(review.path).verdicts
        if word.source == "blind" and word.reviewer == by and (word.conversation, word.turn) in places
    }
    return {
        "run": reading.run,
        "language": reading.language,
        "labels": {name: reading.text(label) for name, label in _LABELS.items()},
        "answers": [
            {
                "key": row.key,
                **{name: row.cell(name).text for name in _SHOWN},
                "passages": "\n\n".join(map(_readable, turns[row.key].answer.passages)),
            }
            for row in blind_sheet(context).rows
        ],
        "grades": graded,
    }


def _readable(passage: Passage) -> str:
    """A passage without the marks of its headings."""
    return _HEADING_MARK.sub("", passage.text)[:LONGEST]


def save_grade(review: RunReview, written: WrittenGrade) -> None:
    """Saves a blind grade as the worksheet's would be.

    Raises InputError for what was not drawn, and OtherWord where the same name graded it elsewhere meanwhile.
    """
    drawn = _sample(review).get(written.key)
    if drawn is None:
        raise InputError(_("{run} has no such answer.", run=review.reading.run))
    (conversation, turn), chance = drawn
    verdict = HumanVerdict(
        conversation=conversation,
        turn=turn,
        sampled=chance,
        source="blind",
        reviewer=plain_text(written.by),
        given=datetime.now(UTC),
        grade=written.grade,
        comment=plain_text(written.comment),
    )
    save_blind_grade(review.path, verdict, (written.was.grade, plain_text(written.was.comment)))


def _sample(review: RunReview) -> dict[str, tuple[Key, float]]:
    """The turns of the sample and their chances, by the keys of their rows in the worksheet."""
    context = review.reading.outputs.context
    drawn = blind_sample(context.results, context.summary)
    return {context.key(*place): (place, chance) for place, chance in drawn.items()}
