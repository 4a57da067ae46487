"""One run at work: its page, what the team says of its answers, and what is written there.

The page is the report's own; its controls are made in the browser (open.js), which asks for the state of the
run and writes each word as it is said. A word is about an answer, and counts wherever the bot gave it: for
the turns that a row of the worksheet Review stands for.
"""

import re
from collections.abc import Iterator, Mapping
from difflib import SequenceMatcher
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, StringConstraints

from simulator.api.outputs import BESIDE, RunOutputs
from simulator.core.errors import InputError
from simulator.core.messages import Message, _, pgettext, safe_text, shown
from simulator.core.settings import stored_settings
from simulator.core.types import HumanVerdict, ReleaseDecision, Value
from simulator.report.people import decision_text
from simulator.report.run_page import run_page
from simulator.report.tables import anchor
from simulator.results.red import red_questions
from simulator.results.review import review_findings, turns_of_answers
from simulator.sheets.model import CHOICES, COLUMNS, RED, TABS, answer_key
from simulator.storage.run_file import is_held, read_run
from simulator.storage.words import WORDS, Edit, Place, Word, decide_release, read_news, save_words
from simulator.testset.failures import save_tests

# What is typed on a page is no longer than this, in characters.
LONGEST = 20_000
Typed = Annotated[str, StringConstraints(max_length=LONGEST)]
Name = Annotated[str, StringConstraints(max_length=80)]
# What stays whole in a difference: figures, Latin words, and Japanese of one script.
_PIECE = re.compile(r"\d+(?:[.,]\d+)*|[A-Za-zÀ-ɏ']+|[ぁ-ゖ]+|[ァ-ヺー]+|[一-鿿]+|.", re.DOTALL)
# Texts that share less (0..1) are two texts, and so are texts of more pieces, which take seconds to compare.
_ALIKE, _MOST_PIECES = 0.3, 4_000

# What the controls say, with places that the page fills. What the worksheet Review has is called as there.
LABELS: Mapping[str, Message | str] = {
    **{name: COLUMNS[name].title for name in ("judge_is", *WORDS) if name in COLUMNS},
    "expect": pgettext("a column", "Expectation"),
    "decision": COLUMNS["decision"].title,
    "approver": COLUMNS["approver"].title,
    "why": COLUMNS["why"].title,
    "decided": COLUMNS["decided"].title,
    "say": _("Your view of this answer"),
    "more": _("Reference answer, expectation, comment"),
    "difference": _("Compared with the bot's answer:"),
    "saving": _("Saving …"),
    "saved": pgettext("on the page", "Saved: {who}", who="{who}"),
    "last": _("Written by {who}", who="{who}"),
    "unsaved": _("Not saved: {why}", why="{why}"),
    "gone": _("the program has ended. Start it again with: rehearsal open"),
    "left": _("written before the page was left"),
    "retry": pgettext("a button", "Save now"),
    "sheet": pgettext("who wrote a word", "no name"),
    "conflict": _("Meanwhile somebody else wrote: {who}", who="{who}"),
    "nothing_overwritten": _("choose which word counts"),
    "theirs": _("theirs"),
    "mine": _("yours"),
    "keep_theirs": _("Keep theirs"),
    "write_mine": _("Write yours"),
    "field": _("{name}: {text}", name="{name}", text="{text}"),
    "empty": _("(empty)"),
    "yes": CHOICES["make_test"]["yes"],
    "no": CHOICES["make_test"]["no"],
    "judged": _("{n} of {of} judged", n="{n}", of="{of}"),
    "here": _("no. {n}", n="{n}"),
    "none_left": _("No other answer matches this filter."),
    "undone": _("Taken back: {what}", what="{what}"),
    "nothing_to_undo": _(
        "There is nothing to undo. Only what was entered since this page was opened can be taken back."
    ),
    "next": pgettext("a button", "Next"),
    "previous": pgettext("a button", "Back"),
    "undo": _("Undo"),
    "keys": pgettext("a button", "Keys"),
    "runs": _("All runs"),
    "blind": TABS["blind"],
    "again": _("Ask again"),
    "again_cost": _("{cost} No score changes.", cost="{cost}"),
    "again_go": pgettext("a button", "Ask"),
    "asking": _("Asking …"),
    "again_at": _("Asked again, {when}", when="{when}"),
    "again_before": _("In this run"),
    "again_none": _("Nothing more was said."),
    "again_same": _("The same answer."),
    "running": _("In progress: {n} of {of} conversations.", n="{n}", of="{of}"),
    "show": _("Show what is new"),
    "finished": _("The run is over."),
    "bar": pgettext("a bar of buttons", "Review"),
    "filter": _("Filter"),
    "filtered": _("Filter: {n} of {of} answers", n="{n}", of="{of}"),
    "filter_all": _("All answers"),
    "filter_open": pgettext("answers", "Open"),
    "filter_mine": pgettext("answers", "Mine"),
    "filter_disputed": pgettext("answers", "Disputed"),
    "name": _("Your name"),
    "no_name": _("Your name?"),
    "name_first": _("Type your name first."),
    "name_title": _("Who reviews?"),
    "name_why": _("Your name is shown with what you write. It is asked once."),
    "save": _("Save"),
    "cancel": _("Cancel"),
    "close": _("Close"),
    "decision_saved": _("The decision is saved."),
    "decision_other": _("Not saved. Meanwhile somebody else decided: {what}", what="{what}"),
    "key_judge": _("right, wrong, unsure"),
    "key_again": _("ask the bot again (the cost is shown first)"),
    "key_leave": _("leave a field; what you typed is saved"),
    "key_done": _("leave a field, and on to the next answer"),
}


class WrittenEdit(Value):
    """What a page saw in a field, and what it is to be."""

    was: Typed | bool | None
    now: Typed | bool | None


class WrittenWords(Value):
    """What somebody says of the answer that was given at a place."""

    conversation: str
    turn: int
    by: Name = ""
    changes: Annotated[dict[Word, WrittenEdit], Field(min_length=1)]


class WrittenDecision(Value):
    """A decision, and the one that was seen before it."""

    was: ReleaseDecision
    now: ReleaseDecision


class Compared(Value):
    """A text to be held against the answer that was given at a place."""

    conversation: str
    turn: int
    text: Typed


class WrittenAgain(Value):
    """A conversation to be held once more; `agreed` once its cost was seen."""

    conversation: str
    agreed: bool = False


class Reading:
    """A run as it was when it was read: its page, and which turns have which answer."""

    def __init__(self, path: Path) -> None:
        """The page is drawn when it is asked for."""
        self.outputs = RunOutputs(path, stored_settings(read_run(path).run.settings))
        context = self.outputs.context
        self.run, self.language = context.results.run.id, context.language
        # By the key of their row, with the mark of each; and the key of each turn.
        self.turns = turns_of_answers(context.results, context.summary)
        self.keys = {place: key for key, places in self.turns.items() for place in places}

    @cached_property
    def page(self) -> bytes:
        """The page of the run, with a link to the one beside it."""
        context = self.outputs.context
        return run_page(context, BESIDE if context.earlier else "")

    @cached_property
    def beside(self) -> bytes:
        """The page of the run beside the one before it; empty where there is none."""
        return self.outputs.beside().encode()

    @cached_property
    def answers(self) -> list[dict[str, Any]]:
        """Where the answers to look at were given first, worst first, each once; `key` is as on the page."""
        firsts: dict[str, Place] = {}
        for turns in red_questions(self.outputs.context.summary):
            for red in turns:
                firsts.setdefault(self.keys[red.key], red.key)
        talks = self.outputs.context.results.conversations.with_ids([*dict(firsts.values())])
        keys = {(talk.id, turn.index): answer_key(talk.case, turn) for talk in talks for turn in talk.turns}
        return [
            {"conversation": talk, "turn": turn, "key": keys[talk, turn]} for talk, turn in firsts.values()
        ]

    @property
    def talks(self) -> dict[str, str]:
        """Where a conversation stands on the page, if it is on it: its anchor there."""
        ids = self.outputs.context.results.conversations.ids
        return {talk: anchor(number) for number, talk in enumerate(ids, 1)}

    def text(self, message: Message | str) -> str:
        """A message in the language of the run."""
        return shown(message, self.language)

    def answer(self, place: Place) -> str:
        """What the bot said there."""
        talk, number = place
        (conversation,) = self.outputs.context.results.conversations.with_ids([talk])
        return next(turn.answer.text for turn in conversation.turns if turn.index == number)


class RunReview:
    """A run that is worked on; what takes a while is done for one request at a time."""

    def __init__(self, path: Path) -> None:
        """`path` is the run file."""
        self.path = path
        self._reading: tuple[tuple[int, ...], Reading] | None = None

    @property
    def mark(self) -> tuple[int, ...]:
        """What changes whenever something is written into the run."""
        return mark_of(self.path)

    @property
    def reading(self) -> Reading:
        """The run as it is now."""
        mark = self.mark
        if self._reading is None or self._reading[0] != mark:
            self._reading = mark, Reading(self.path)
        return self._reading[1]

    @property
    def _read(self) -> Reading:
        """The run as it was read last: words change nothing about its language, figures and answers."""
        return self._reading[1] if self._reading else self.reading

    def state(self) -> dict[str, Any]:
        """What the page asks for first: its labels, the answers to look at, and what is said of them."""
        reading = self.reading
        return {
            "run": reading.run,
            "language": reading.language,
            "labels": {name: reading.text(label) for name, label in LABELS.items()},
            "choices": {
                name: [[choice, reading.text(title)] for choice, title in CHOICES[name].items()]
                for name in ("judge_is", "cause", "status", "decision")
            },
            "answers": reading.answers,
            "talks": reading.talks,
            **self.news(),
        }

    def news(self) -> dict[str, Any]:
        """What may change while the page is open."""
        news = read_news(self.path)
        return {
            "words": [word_json(word) for word in news.verdicts if word.source != "blind"],
            "decision": (news.decision or ReleaseDecision()).model_dump(),
            "decided": self._decided(news.decision),
            "running": news.status == "running" and is_held(self.path.parent),
            "ended": news.ended,
            "planned": news.planned,
            "again": news.again,
        }

    def write(self, written: WrittenWords, tests: Path) -> list[dict[str, Any]]:
        """Saves what somebody says of an answer; returns what counts then, by turn.

        An answer that is to be a test is written to the question file `tests`, too. Raises OtherWord, and
        InputError for such a file that cannot be read; the word is saved then.
        """
        place = written.conversation, written.turn
        red, places = self._answer_at(place)
        changes = {
            name: Edit(_plain(change.was), _plain(change.now)) for name, change in written.changes.items()
        }
        words = save_words(self.path, {place: True, **places}, changes, plain_text(written.by), red=red)
        if any(word.make_test for word in words):
            self._save_tests(tests)
        return list(map(word_json, words))

    def _save_tests(self, tests: Path) -> None:
        """Writes what the team made tests in this run, as `review` does."""
        results = read_run(self.path)
        save_tests(results, review_findings(results, self._read.outputs.context.summary), (), tests)

    def decide(self, written: WrittenDecision) -> dict[str, Any]:
        """Saves the team's decision; returns it in words. Raises OtherWord."""
        fields = {field: _plain(value) for field, value in written.now.model_dump().items()}
        now = ReleaseDecision.model_validate(fields)
        decide_release(self.path, written.was, now)
        return {"decided": self._decided(now)}

    def _decided(self, decision: ReleaseDecision | None) -> str:
        return self._read.text(decision_text(decision)) if decision else ""

    def difference(self, compared: Compared) -> dict[str, Any]:
        """From the bot's answer to a text, in pieces: taken out (`del`), put in (`ins`), or kept ("")."""
        place = compared.conversation, compared.turn
        return {"pieces": list(_difference(self._with(place).answer(place), compared.text))}

    def _answer_at(self, place: Place) -> tuple[bool, dict[Place, bool]]:
        """Whether the answer given there is red; and all turns with it, True for those marked alike."""
        reading = self._with(place)
        key = reading.keys[place]
        marked = reading.turns[key]
        return key.endswith(RED) == marked[place], {
            other: mark == marked[place] for other, mark in marked.items()
        }

    def _with(self, place: Place) -> Reading:
        """The run, read at a time when it had this turn.

        Raises InputError for a turn that the run does not have.
        """
        reading = self._read if place in self._read.keys else self.reading
        if place not in reading.keys:
            raise InputError(_("{run} has no such answer.", run=reading.run))
        return reading


def mark_of(path: Path) -> tuple[int, ...]:
    """Figures that change whenever something is written into a run file."""
    files = (path, path.with_name(f"{path.name}-wal"))
    stats = [file.stat() for file in files if file.exists()]
    return tuple(figure for stat in stats for figure in (stat.st_mtime_ns, stat.st_size))


def word_json(word: HumanVerdict) -> dict[str, Any]:
    """What the page knows of a word: its turn, its fields, who wrote it and when."""
    fields = word.model_dump(mode="json", include={"conversation", "turn", "source", "grade", *WORDS})
    return fields | {"by": word.reviewer, "at": word.given and word.given.isoformat()}


def current_json(current: HumanVerdict | ReleaseDecision | None) -> dict[str, Any] | None:
    """What counts in the place of a word that was refused, as the page knows it; None where nothing does."""
    if current is None:
        return None
    return word_json(current) if isinstance(current, HumanVerdict) else current.model_dump()


def plain_text(text: str) -> str:
    """A text without control codes and blanks around it."""
    return safe_text(text).strip()


def _plain(value: str | bool | None) -> str | bool | None:
    return plain_text(value) if isinstance(value, str) else value


def _difference(before: str, after: str) -> Iterator[tuple[str, str]]:
    pieces = _PIECE.findall(before), _PIECE.findall(after)
    matcher = SequenceMatcher(None, *pieces, autojunk=False)
    are_two = max(map(len, pieces)) > _MOST_PIECES or matcher.ratio() < _ALIKE
    blocks = [("replace", 0, None, 0, None)] if are_two else matcher.get_opcodes()
    for kind, start, end, begin, stop in blocks:
        removed, added = "".join(pieces[0][start:end]), "".join(pieces[1][begin:stop])
        if kind == "equal":
            yield "", removed
            continue
        if removed:
            yield "del", removed
        if added:
            yield "ins", added
