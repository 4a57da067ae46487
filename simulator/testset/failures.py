"""Answers that the team made tests in its review, as a question file that `--cases` reads.

    Review   "How much?" ... Right answer: 4,800 yen, Make it a test: Yes, Status: Fixed
    ->       {"id": "test-9d6f...", "question": "How much?", "references": [["4,800 yen"]],
              "tags": ["must-not-break"]}

A test asks what the customer said, after the dialogue so far; what the bot answered is no part of it. All its
texts are masked, whatever `--redact` says, and so is what its id is made of: a hash of a telephone number
would be guessed. An answer becomes one test, however often it is read. A line that is there keeps what people
made of it, but for what the team says in the review: its right answer, what it expects, and that it is fixed.
"""

import json
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from simulator.cases.case import record_of
from simulator.cases.fields import READERS, FileCell
from simulator.core.errors import InputError
from simulator.core.messages import _
from simulator.core.settings import stored_settings
from simulator.core.types import Case, ChatMessage, Conversation, Results, Turn
from simulator.core.writing import write_atomically
from simulator.privacy.redactor import Redactor, redacted_value
from simulator.report.review import SavedTests
from simulator.results.comparison import MUST_NOT_BREAK, is_guarded
from simulator.results.review import ReviewedTurn, ReviewFindings
from simulator.runner.masking import masked_case, redactor_of
from simulator.sheets.model import FIRST, LATER, RED, answer_key, question_key, question_of

_ID = "test-"
# With these the bot should answer rightly.
_FIXED = frozenset({"mended", "retested"})
# What a test keeps of the question from which it was made: neither recorded answers nor further lines.
_FIELDS = (
    "id", "question", "language", "history", "references", "expect", "passages", "answerable", "handover",
    "goal", "facts", "choices", "label", "tools", "personas", "tags",
)  # fmt: skip


class _Failure(NamedTuple):
    """A test as its line in the file.

    `answers` are the right answers that the team typed, `expect` what the team expects besides the case.
    """

    record: dict[str, Any]
    answers: tuple[str, ...]
    expect: tuple[str, ...]
    is_fixed: bool


def save_tests(
    results: Results, findings: ReviewFindings | None, closed: Collection[str], path: Path
) -> SavedTests | None:
    """Adds to the file what the team made tests in the review of a run; None where it says nothing of tests.

    `closed` are keys of rows of the review that were made tests, and that a later run answered rightly: those
    must not break again. Raises InputError for a file with a line that is no test, which stays as it is.
    """
    if not closed and not (findings and any(turn.said.make_test for turn in findings.turns)):
        return None
    redactor = redactor_of(stored_settings(results.run.settings))
    failures = _failures(findings, redactor) if findings else {}
    passed = set(_passed(results, closed, redactor)) if closed else set()
    if not failures and not passed:
        return None
    if path.suffix.lower() != ".jsonl":
        msg = _("--tests {path}: give a name that ends in {suffixes}.", path=path, suffixes=".jsonl")
        raise InputError(msg)
    lines = _lines(path)
    records = [_parsed(path, number, line) for number, line in enumerate(lines, 1)]
    there = {str(record.get("id")) for record in records}
    added = [failure.record for name, failure in failures.items() if name not in there]
    guarded = 0
    for record in (*records, *added):
        name = str(record.get("id"))
        failure = failures.get(name)
        if failure and failure.answers:
            record["references"] = [list(failure.answers)]
        if failure and failure.expect:
            there_already = READERS["expect"](FileCell("expect", record.get("expect", [])))
            record["expect"] = list(dict.fromkeys((*there_already, *failure.expect)))
        tags = READERS["tags"](FileCell("tags", record.get("tags", [])))
        if (name in passed or (failure and failure.is_fixed)) and not is_guarded(tags):
            record["tags"] = [*tags, MUST_NOT_BREAK]
            guarded += 1
    # A line in which nothing changed stays as people wrote it.
    written = [
        line if not record or record == json.loads(line) else json.dumps(record, ensure_ascii=False)
        for line, record in zip(lines, records, strict=True)
    ]
    written += [json.dumps(record, ensure_ascii=False) for record in added]
    if written != lines:
        write_atomically(path, "".join(f"{line}\n" for line in written))
    return SavedTests(path, len(added), len(failures) - len(added), guarded)


def _lines(path: Path) -> list[str]:
    try:
        # Not splitlines(): that also parts lines at U+2028, which may stand in a JSON text.
        text = path.read_text(encoding="utf-8-sig") if path.exists() else ""
    except (OSError, UnicodeDecodeError):
        raise InputError(_("{path}: cannot be read as UTF-8 text; no test was added.", path=path)) from None
    return text.removesuffix("\n").split("\n") if text else []


def _parsed(path: Path, number: int, line: str) -> dict[str, Any]:
    """The object of a line; an empty one has nothing in it."""
    if not line.strip():
        return {}
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        record = None
    if not isinstance(record, dict):
        msg = _("{path}, line {n:d}: not a JSON object; fix it, no test was added.", path=path, n=number)
        raise InputError(msg)
    return record


def _failures(findings: ReviewFindings, redactor: Redactor) -> dict[str, _Failure]:
    """By id; of the turns with one answer the gravest, of several answers to one question the first."""
    marked: dict[str, ReviewedTurn] = {}
    for reviewed in findings.turns:
        if reviewed.said.make_test:
            marked.setdefault(reviewed.key, reviewed)
    failures: dict[str, _Failure] = {}
    for row in marked.values():
        case = _test(row.conversation, row.turn, redactor)
        typed = redactor.redact(row.said.correct_answer, case.language).text
        sentences = (redactor.redact(line, case.language).text for line in row.said.expect.splitlines())
        before = failures.get(case.id)
        answers = dict.fromkeys([*(before.answers if before else ()), *filter(None, [typed])])
        expect = dict.fromkeys([*(before.expect if before else ()), *filter(None, map(str.strip, sentences))])
        is_fixed = row.said.status in _FIXED and (before is None or before.is_fixed)
        record = before.record if before else record_of(case, _FIELDS)
        failures[case.id] = _Failure(record, tuple(answers), tuple(expect), is_fixed)
    return failures


def _test(conversation: Conversation, turn: Turn, redactor: Redactor) -> Case:
    """The case that asks what was asked in a turn, after what was said before it; masked."""
    case, is_first = conversation.case, turn.index == 1
    asked = case.model_copy(
        update={
            "id": _name(conversation, turn, redactor),
            "question": case.question if is_first else turn.user,
            "history": (*case.history, *(() if is_first else _said_before(conversation, turn))),
            "references": tuple(filter(None, (case.references_at(turn.index),))),
            # What was made up for this customer stands in what was said before, and stays true.
            "facts": case.facts.model_copy(update={"knows": case.facts.knows if is_first else case.known}),
            "details": (),
            "values": {},
        }
    )
    return masked_case(asked, 0, redactor)


def _said_before(conversation: Conversation, turn: Turn) -> Iterator[ChatMessage]:
    for before in (earlier for earlier in conversation.turns if earlier.index < turn.index):
        yield ChatMessage(role="user", content=before.user)
        # A missing answer leaves no message.
        if before.answer.text.strip():
            yield ChatMessage(role="assistant", content=before.answer.text)


def _name(conversation: Conversation, turn: Turn, redactor: Redactor) -> str:
    """The id of a test: a test that fails again is the same one."""
    case = conversation.case
    if case.id.startswith(_ID) and turn.index == 1:
        return case.id
    masked = masked_case(case, 0, redactor)
    return _id_of(answer_key(masked, redacted_value(turn, redactor, case.language)[0]))


def _id_of(key: str) -> str:
    """The id of the test that the row of the review with this key became, if masking changes nothing in it.

    Several wrong answers to a first question are one test; what is said later depends on what was said.
    """
    question = _ID + question_of(key).partition("-")[2]
    return question if FIRST in key else f"{question}-{key.removesuffix(RED).partition(LATER)[2]}"


def _passed(results: Results, closed: Collection[str], redactor: Redactor) -> Iterator[str]:
    """The ids of the tests that these rows became, also where they were masked or are tests already."""
    yield from map(_id_of, closed)
    questions = {question_of(key) for key in closed if FIRST in key}
    for conversation in results.conversations:
        if conversation.turns and question_key(conversation.case) in questions:
            yield _name(conversation, conversation.turns[0], redactor)
