"""Which conversations a page shows: all of them, or as many as a browser can still be used with."""

from collections.abc import Collection, Iterable, Iterator, Sequence

from simulator.core.types import Conversation, Results, Score
from simulator.stats.figures import Summary
from simulator.storage.results import StoredConversations

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
    talks: StoredConversations, summary: Summary, first: Iterable[str], room: float
) -> Collection[str]:
    """The same of more rows than a page can hold, looking at no more of them than it will."""
    red = dict.fromkeys((*first, *(each.conversation for each in summary.reddest)))
    keys = [*red, *_spread([key for key in talks.ids if key not in red])]
    kept, shelf = set(), set[tuple[str, str]]()
    for talk, by_turn in talks.with_scores(keys):
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
