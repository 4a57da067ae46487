"""The keys of rows in the worksheet to review: one for each distinct answer, and the same in every run.

They rest on what was said, never on ids: these may be the numbers of rows, and change when rows are added.
"""

import hashlib
import json
from typing import Any

from simulator.core.types import Case, Turn
from simulator.sheets.model import folded

# What ends the key of an answer that is red for somebody, and stands in that of an answer to a first line.
RED, FIRST = "-red", "-first-"
_START = "answer-"


def question_key(case: Case) -> str:
    """What the keys of all answers to a question begin with."""
    history = [[line.role, folded(line.content)] for line in case.history]
    return _START + _digest(folded(case.question), history)


def answer_key(case: Case, turn: Turn) -> str:
    """Turns have the same key where the bot gave the same answer to the same line about the same question."""
    answer = turn.answer
    said = _digest(turn.user, case.contexts, case.choices, answer.text, answer.error and answer.error.kind)
    return f"{question_key(case)}{FIRST if turn.index == 1 else '-later-'}{said}"


def is_answer_key(key: str) -> bool:
    """Whether this is the key of a distinct answer; in earlier worksheets every turn had a row."""
    return key.startswith(_START) and "/" not in key


def _digest(*parts: Any) -> str:
    return hashlib.blake2s(json.dumps(parts).encode(), digest_size=8).hexdigest()
