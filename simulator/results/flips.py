"""Why a question passed once and failed another time: the search, or the wording of the answer.

Two conversations of one customer with one question are put side by side at the first turn that is red in one
of them. Where the same passages came for both, the bot worded its answer otherwise; where others came, the
search did not find the same.
"""

from collections import defaultdict
from collections.abc import Iterator
from itertools import product
from typing import Literal

from simulator.results.rows import ConversationRow, RunTurns

Flip = Literal["wording", "retrieval"]


def flips(run: RunTurns) -> dict[str, Flip]:
    """The questions that passed sometimes, and what flipped; none where the bot shows no passages.

    Of a question in which both happened, the search is named: wording is looked at once that is steady.
    """
    rows: dict[tuple[str, str, str], list[ConversationRow]] = defaultdict(list)
    for row in run.conversations:
        if row.turns:
            rows[row.case, row.persona, row.user_model].append(row)
    flipped: dict[str, Flip] = {}
    for (case, *_customer), of_customer in rows.items():
        kinds = set(_kinds(of_customer))
        if kinds and flipped.get(case) != "retrieval":
            flipped[case] = "retrieval" if "retrieval" in kinds else "wording"
    return flipped


def _kinds(rows: list[ConversationRow]) -> Iterator[Flip]:
    red = [(row, at) for row in rows for at, turn in enumerate(row.turns) if turn.marks]
    first = {row.id: (row, at) for row, at in reversed(red)}
    passed = [row for row in rows if row.id not in first]
    for (failed, at), other in product(first.values(), passed):
        if at < len(other.turns):
            came, came_there = (row.turns[at].retrieved for row in (failed, other))
            if came or came_there:
                yield "wording" if set(came) == set(came_there) else "retrieval"
